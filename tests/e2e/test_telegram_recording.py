"""Tests that tests/recordings/telegram.md matches a replay and includes every command."""

from __future__ import annotations

import re

import pytest

from bot.kernel import App
from config.texts import LANGUAGES
from tests.recordings.telegram import PAGE, SPOKEN, record
from tests.support.features import whole_program

pytestmark = pytest.mark.slow

RECORDED = PAGE.read_text("utf-8")


@whole_program
@pytest.mark.usefixtures("reminded_often")
@pytest.mark.parametrize("language", SPOKEN)
async def test_page_matches_its_replay(language: str) -> None:
    assert await record(language) in RECORDED, "`python -m tests.recordings` records it again"


@pytest.mark.parametrize("language", SPOKEN)
async def test_page_includes_every_command(language: str, app: App) -> None:
    part = RECORDED.partition(f"# {LANGUAGES[language]}\n")[2]
    played = set(re.findall(r"^> /([a-z]+)", part, re.MULTILINE))
    pressed = {"confirm", "edit", "done", "snooze", "letin", "notices"}
    """Commands that the page runs by buttons. Users can also type them."""
    named = {name for name, command in app.runner.commands.items() if command.listed}
    assert named <= played | pressed
