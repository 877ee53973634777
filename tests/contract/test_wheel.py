"""The wheel: what is in it, and that the command runs where nothing but it and what it needs is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PACKAGES = {"bot", "pipeline", "memory", "config"}


def said(*command: str | Path, **environment: str) -> str:
    """What a command prints; it has to end well."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # which may name this checkout
    done = subprocess.run(  # noqa: S603  # our own words
        [*map(str, command)], capture_output=True, text=True, check=False, env=plain | environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    target = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    name = subprocess.run(  # noqa: S603  # our own words
        [sys.executable, "-c", build, str(target)], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return target / name.strip().splitlines()[-1]


def test_the_wheel_holds_the_four_packages_with_what_they_read_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    in_tree = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == in_tree
    assert wheel.name.startswith("mneme_bot-")


def test_the_wheel_installs_alone_and_the_command_runs_from_it(wheel: Path, tmp_path: Path) -> None:
    """In a fresh environment, which sees the libraries of this one and not this checkout."""
    fresh = tmp_path / "fresh"
    said(sys.executable, "-m", "venv", "--without-pip", fresh)
    said(sys.executable, "-m", "pip", "--python", fresh / "bin" / "python", "install", "-q", "--no-deps", wheel)
    (site,) = fresh.glob("lib/python3*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    mneme = fresh / "bin" / "mneme"
    assert "A self-hosted Telegram bot that remembers." in said(mneme, "--help", COLUMNS="120")
    assert said(mneme, "--version").startswith("mneme 0.")
    where = "import bot, json, memory; print(json.dumps([bot.__file__, memory.__file__]))"
    places = json.loads(said(fresh / "bin" / "python", "-P", "-c", where))
    assert all(Path(place).is_relative_to(fresh) for place in places)
    # it makes a database, which takes files of the packages that are no Python
    assert "has format" in said(mneme, "migrate", MNEME_DATA_DIR=str(tmp_path / "data"))


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_what_the_forge_reads_is_yaml_and_names_files_that_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text)
    for named in ("deploy/docker/Dockerfile", ".ci/run", "requirements-replica.lock", "CHANGELOG.md", "docs/tools.md"):
        assert named not in text or (ROOT / named).exists()
