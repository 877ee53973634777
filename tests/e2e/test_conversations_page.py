"""Tests that docs/conversations.md matches a replay of its scripted part."""

from __future__ import annotations

from docs.record_conversations import PAGE, scripted_part
from docs.record_family import PAGE as FAMILY
from docs.record_family import week


async def test_scripted_day_matches_its_replay() -> None:
    assert await scripted_part() in PAGE.read_text(encoding="utf-8"), "`python -m docs.record_conversations`"


async def test_family_week_matches_its_replay() -> None:
    assert await week() in FAMILY.read_text(encoding="utf-8"), "`python -m docs.record_family`"
