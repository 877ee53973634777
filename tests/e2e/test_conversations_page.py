"""docs/conversations.md is what is said: its scripted part is played again."""

from __future__ import annotations

from docs.record_conversations import PAGE, scripted_part
from docs.record_family import PAGE as FAMILY
from docs.record_family import week


async def test_the_scripted_day_is_what_is_said() -> None:
    assert await scripted_part() in PAGE.read_text(encoding="utf-8"), "`python -m docs.record_conversations`"


async def test_the_week_of_the_family_is_what_is_said_there() -> None:
    assert await week() in FAMILY.read_text(encoding="utf-8"), "`python -m docs.record_family`"
