"""What lies in deploy/: checked as `make check` checks it, and in step with what the program does."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
needs_shellcheck = pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")


async def checked(folder: Path) -> tuple[int, str]:
    """What deploy/check.sh says of a folder."""
    process = await asyncio.create_subprocess_exec(
        folder / "check.sh", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said = (await process.communicate())[0].decode()
    assert process.returncode is not None
    return process.returncode, said


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the folder to break."""
    return Path(shutil.copytree(DEPLOY, tmp_path / "deploy"))


@needs_systemd
@needs_shellcheck
async def test_scripts_and_units_pass_their_checks() -> None:
    status, said = await checked(DEPLOY)
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
async def test_the_check_notices_a_broken_unit(copy: Path, line: str, instead: str, complaint: str) -> None:
    unit = copy / "mneme.service"
    text = unit.read_text(encoding="utf-8")
    if complaint == "Overall exposure":
        text = re.sub(
            r"(?m)^(NoNewPrivileges|ProtectSystem|Private\w+|CapabilityBoundingSet|SystemCallFilter)=.*$", "", text
        )
    unit.write_text(text.replace(line, instead), encoding="utf-8")
    status, said = await checked(copy)
    assert status != 0
    assert complaint in said


@needs_shellcheck
async def test_the_check_notices_a_careless_script(copy: Path) -> None:
    with (copy / "install.sh").open("a", encoding="utf-8") as script:
        script.write("rm -rf $release/*\n")
    status, said = await checked(copy)
    assert status != 0
    assert "SC2086" in said


def test_all_units_are_hardened_alike() -> None:
    def hardening(unit: Path) -> set[str]:
        lines = unit.read_text(encoding="utf-8").partition("# what it may see and do\n")[2].partition("\n\n")[0]
        return {line for line in lines.splitlines() if not line.startswith("RestrictAddressFamilies")}

    first = hardening(UNITS[0])
    assert len(first) > 25
    assert all(hardening(unit) == first for unit in UNITS)


async def test_the_installer_refuses_what_it_does_not_know_before_it_does_anything() -> None:
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


def test_the_unit_waits_longer_for_a_stop_and_a_start_than_the_program_takes() -> None:
    text = (DEPLOY / "mneme.service").read_text(encoding="utf-8")
    seconds = {
        name: int(value) for name, value in re.findall(r"^(Timeout\w+Sec|WatchdogSec)=(\d+)$", text, re.MULTILINE)
    }
    assert seconds["TimeoutStartSec"] > 30
    assert seconds["TimeoutStopSec"] > 15
    assert seconds["WatchdogSec"] > 30
