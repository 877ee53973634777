"""Tests of deploy/: its checks pass, and its values match the program."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
needs_shellcheck = pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")


async def run_check(folder: Path) -> tuple[int, str]:
    """Run deploy/check.sh of a folder and return status and output."""
    process = await asyncio.create_subprocess_exec(
        folder / "check.sh", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said = (await process.communicate())[0].decode()
    assert process.returncode is not None
    return process.returncode, said


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the folder."""
    return Path(shutil.copytree(DEPLOY, tmp_path / "deploy"))


@needs_systemd
@needs_shellcheck
async def test_scripts_and_units_pass_their_checks() -> None:
    status, said = await run_check(DEPLOY)
    assert status == 0, said
    assert said.count("Overall exposure") == len(UNITS) == 4


@needs_systemd
@pytest.mark.parametrize(
    ("line", "instead", "complaint"),
    [
        ("WatchdogSec=120", "WatchdogSecs=120", "WatchdogSecs"),
        ("Type=notify", "Type=notice", "notice"),
        ("NoNewPrivileges=yes", "", "Overall exposure"),
    ],
)
async def test_check_notices_a_broken_unit(copy: Path, line: str, instead: str, complaint: str) -> None:
    unit = copy / "mneme.service"
    text = unit.read_text(encoding="utf-8")
    if complaint == "Overall exposure":
        text = re.sub(
            r"(?m)^(NoNewPrivileges|ProtectSystem|Private\w+|CapabilityBoundingSet|SystemCallFilter)=.*$", "", text
        )
    unit.write_text(text.replace(line, instead), encoding="utf-8")
    status, said = await run_check(copy)
    assert status != 0
    assert complaint in said


@needs_shellcheck
async def test_check_notices_a_careless_script(copy: Path) -> None:
    with (copy / "install.sh").open("a", encoding="utf-8") as script:
        script.write("rm -rf $release/*\n")
    status, said = await run_check(copy)
    assert status != 0
    assert "SC2086" in said


def test_units_have_equal_hardening() -> None:
    def hardening(unit: Path) -> set[str]:
        lines = unit.read_text(encoding="utf-8").partition("# what it may see and do\n")[2].partition("\n\n")[0]
        return {line for line in lines.splitlines() if not line.startswith("RestrictAddressFamilies")}

    first = hardening(UNITS[0])
    assert len(first) > 25
    assert all(hardening(unit) == first for unit in UNITS)


async def test_installer_refuses_unknown_arguments_before_acting() -> None:
    for arguments, said in (
        (["--everything"], "--everything is not known"),
        (["--bot"], "--bot needs a value"),
        (["--bot", "../x"], "../x is not"),
        (["--replica"], "--replica needs a value"),
        (["--replica", "sftp://anna:password@example.org/x"], "A replica is at"),
    ):
        process = await asyncio.create_subprocess_exec(
            DEPLOY / "install.sh", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, complaint = await process.communicate()
        assert (process.returncode, out) == (1, b"")
        assert said in complaint.decode()
        assert complaint.count(b"\n") == 1


@pytest.mark.parametrize("script", ["install.sh", "uninstall.sh", "cells.sh"])
async def test_script_shows_its_help_without_root(script: str) -> None:
    for option in ("-h", "--help"):
        process = await asyncio.create_subprocess_exec(
            DEPLOY / script, option, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, complaint = await process.communicate()
        assert (process.returncode, complaint) == (0, b"")
        assert f"sudo deploy/{script}" in out.decode()
        assert "set -euo" not in out.decode()


def test_compose_file_builds_the_dockerfile_and_keeps_the_memory() -> None:
    """Parse the file, since Docker may be missing."""
    folder = DEPLOY / "docker"
    compose = yaml.safe_load((folder / "compose.yaml").read_text(encoding="utf-8"))
    service = compose["services"]["mneme"]
    dockerfile = (folder / service["build"]["context"] / service["build"]["dockerfile"]).resolve()
    assert dockerfile == folder / "Dockerfile"
    assert f"data:{service['environment']['MNEME_DATA_DIR']}" in service["volumes"]
    assert "data" in compose["volumes"]
    assert service["restart"] == "unless-stopped"
    text = dockerfile.read_text(encoding="utf-8")
    assert "HEALTHCHECK" in text
    for copied in re.findall(r"^COPY (?!--from)(?!\$)(.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / name).exists() for name in copied.split())


async def link_program(home: Path, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        DEPLOY / "link_program",
        *arguments,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode()


async def test_link_is_only_created_with_consent(tmp_path: Path) -> None:
    link = tmp_path / ".local" / "bin" / "mneme"
    assert (await link_program(tmp_path), await link_program(tmp_path, "no")) == ("", "")
    assert not link.parent.exists()
    assert "was created" in await link_program(tmp_path, "yes")
    assert link.readlink() == ROOT / ".venv" / "bin" / "mneme"
    assert await link_program(tmp_path, "yes") == ""


async def test_link_does_not_replace_another_program(tmp_path: Path) -> None:
    other = tmp_path / ".local" / "bin" / "mneme"
    other.parent.mkdir(parents=True)
    other.write_text("another program")
    assert "was not changed" in await link_program(tmp_path, "yes")
    assert other.read_text() == "another program"


def test_unit_timeouts_exceed_those_of_the_program() -> None:
    text = (DEPLOY / "mneme.service").read_text(encoding="utf-8")
    seconds = {
        name: int(value) for name, value in re.findall(r"^(Timeout\w+Sec|WatchdogSec)=(\d+)$", text, re.MULTILINE)
    }
    assert seconds["TimeoutStartSec"] > 30
    assert seconds["TimeoutStopSec"] > 15
    assert seconds["WatchdogSec"] > 30
