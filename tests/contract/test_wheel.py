"""Tests of the wheel: its content, and that the command runs from it alone."""

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


def run_command(*command: str | Path, **environment: str) -> str:
    """Run a command that must succeed and return its output."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # It may name this checkout.
    done = subprocess.run(  # noqa: S603  # Constants.
        [*map(str, command)], capture_output=True, text=True, check=False, env=plain | environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of this checkout."""
    target = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    name = subprocess.run(  # noqa: S603  # Constants.
        [sys.executable, "-c", build, str(target)], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return target / name.strip().splitlines()[-1]


def test_wheel_contains_the_four_packages_and_their_data_only(wheel: Path) -> None:
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


def test_wheel_installs_alone_and_its_command_runs(wheel: Path, tmp_path: Path) -> None:
    """Install into a new environment that sees the libraries of this one but not this checkout."""
    fresh = tmp_path / "fresh"
    run_command(sys.executable, "-m", "venv", "--without-pip", fresh)
    run_command(sys.executable, "-m", "pip", "--python", fresh / "bin" / "python", "install", "-q", "--no-deps", wheel)
    (site,) = fresh.glob("lib/python3*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    mneme = fresh / "bin" / "mneme"
    assert "A self-hosted Telegram bot that remembers." in run_command(mneme, "--help", COLUMNS="120")
    assert run_command(mneme, "--version").startswith("mneme 0.")
    where = "import bot, json, memory; print(json.dumps([bot.__file__, memory.__file__]))"
    places = json.loads(run_command(fresh / "bin" / "python", "-P", "-c", where))
    assert all(Path(place).is_relative_to(fresh) for place in places)
    # Creating a database needs data files of the packages.
    assert "has format" in run_command(mneme, "migrate", MNEME_DATA_DIR=str(tmp_path / "data"))


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_github_files_are_yaml_and_name_existing_files(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text)
    for named in ("deploy/docker/Dockerfile", ".ci/run", "requirements-replica.lock", "CHANGELOG.md", "docs/tools.md"):
        assert named not in text or (ROOT / named).exists()
