"""Tests of the README and the user pages: their commands run, and their tables are complete."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from config.groups import list_setting_names
from tests.conftest import OpenApp
from tests.support.features import whole_program
from tests.support.servers.model import ModelServer
from tests.support.starter import run_mneme

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ("using", "memory", "settings", "troubleshooting")
FOR_USERS = "\n".join([README, *((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8") for page in PAGES)])
COMMANDS = [
    line.removeprefix("$ ")
    for block in re.findall(r"```console\n(.*?)```", FOR_USERS, flags=re.DOTALL)
    for line in block.splitlines()
]
SERVES_OR_ASKS = ("mneme run", "mneme setup", "git clone")


@whole_program
@pytest.mark.slow
async def test_documented_commands_work_in_their_order(model: ModelServer, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENAI_BASE_URL": model.url, "LLM_MODEL": "scripted"}
    mneme = [
        command for command in COMMANDS if "bin/mneme" in command and not any(s in command for s in SERVES_OR_ASKS)
    ]
    assert len(mneme) >= 16
    for command in mneme:
        arguments = shlex.split(command)[1:]
        status, _, complaint = await asyncio.to_thread(run_mneme, *arguments, environment=environment, folder=tmp_path)
        assert status == 0, (command, complaint)


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make ")])
async def test_documented_make_targets_exist(command: str) -> None:
    make = shutil.which("make")
    assert make is not None
    process = await asyncio.create_subprocess_exec(
        make, "--dry-run", *shlex.split(command)[1:], cwd=ROOT, stdout=asyncio.subprocess.DEVNULL
    )
    assert await process.wait() == 0


@whole_program
async def test_documented_slash_commands_are_complete(start: OpenApp) -> None:
    named = set(re.findall(r"`/([a-z]+)", FOR_USERS))
    # These settings enable all commands except /tools, which needs an MCP server
    async with start(memory_scope="family", llm_speech_model="tts-1") as app:
        offered = set(app.runner.commands) - {"start", "help", "withdraw", "reshare"}
        assert named - {"start", "help", "quit", "tools"} == offered


@whole_program
def test_documented_settings_exist() -> None:
    named = set(re.findall(r"`([A-Z][A-Z0-9]*_[A-Z_]+)`", FOR_USERS))
    assert len(named) > 30
    assert named <= set(list_setting_names())


def test_ci_runs_the_documented_command() -> None:
    assert "make check" in COMMANDS
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("make check")
