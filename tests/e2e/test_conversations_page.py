"""docs/conversations.md is what is said: its scripted part is played again."""

from __future__ import annotations

from docs.record_conversations import PAGE, scripted_part


async def test_the_scripted_day_is_what_is_said() -> None:
    assert await scripted_part() in PAGE.read_text(encoding="utf-8"), "`python -m docs.record_conversations`"
