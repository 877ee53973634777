"""Tests that the recordings of conversations, the family and the pictures match a replay."""

from __future__ import annotations

import pytest

from tests.recordings import conversations, excerpts, family, pictures
from tests.recordings.chat_picture import drawn
from tests.recordings.player import section
from tests.support.features import whole_program

pytestmark = [pytest.mark.slow, whole_program]


async def test_scripted_day_matches_its_replay() -> None:
    recorded = conversations.PAGE.read_text(encoding="utf-8")
    assert await conversations.scripted_part() in recorded, "`python -m tests.recordings` records it again"


async def test_family_week_matches_its_replay() -> None:
    recorded = family.PAGE.read_text(encoding="utf-8")
    assert await family.week() in recorded, "`python -m tests.recordings` records it again"


@pytest.mark.parametrize("name", pictures.RECORDINGS)
async def test_chat_and_its_picture_match_the_replay(name: str) -> None:
    shown = await pictures.play(pictures.RECORDINGS[name])
    assert section(f"docs/{name}", shown) in pictures.PAGE.read_text(encoding="utf-8")
    assert (excerpts.DOCS / name).read_text(encoding="utf-8") == drawn(shown, "Mneme")
