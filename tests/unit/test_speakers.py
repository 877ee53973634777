"""Tests of the names of group members, also after they change them."""

from __future__ import annotations

from dataclasses import replace

from memory.consolidation.extractor import format_raw_history
from memory.consolidation.parts import Part
from memory.consolidation.selection import find_statements, parse_selection
from memory.files.notes import format_exchange_notes
from memory.log.compaction import extract
from memory.log.speakers import Speakers
from memory.messages import Completion
from memory.store.database import Database
from tests.support.fakes import FakeClock
from tests.support.talk import assistant, in_utc, user

GROUP = "telegram:-100"


async def test_name_of_a_renamed_member_stays(database: Database) -> None:
    speakers = Speakers(database)
    assert await speakers.choose_name(GROUP, "7", "Anna") == "Anna"
    assert await speakers.choose_name(GROUP, "7", "Anna (on holiday)") == "Anna"
    assert await speakers.choose_name(GROUP, "8", "Anna") == "Anna 2"
    assert await speakers.choose_name(GROUP, "8", "ANNA") == "Anna 2"
    assert await speakers.choose_name("telegram:-200", "7", "Anja") == "Anja"


async def test_name_of_a_member_of_a_former_version_stays(database: Database) -> None:
    speakers = Speakers(database)
    await speakers.choose_name(GROUP, "7", "Anna")
    await database.write("UPDATE speakers SET name = NULL")
    assert await speakers.choose_name(GROUP, "7", "anna") == "anna"
    assert await speakers.choose_name(GROUP, "7", "Hanna") == "anna"


def test_notes_history_and_summaries_name_the_speaker(clock: FakeClock) -> None:
    said = replace(user("I am allergic to nuts.", clock()), speaker="Anna", turn_id=1)
    answer = replace(assistant("Noted.", clock()), turn_id=1)
    (note,) = format_exchange_notes([said, answer], in_utc(GROUP))
    assert "User: Anna: I am allergic to nuts. | Assistant: Noted." in note
    assert "Anna: I am allergic" in format_raw_history([said, answer])
    assert "Anna: I am allergic" in extract(None, [said])
    chosen = parse_selection(Completion('{"keep": {"1": "allergy"}}'), find_statements(Part((said, answer), (), None)))
    assert chosen is not None
    assert chosen.history_entry == "Anna said: I am allergic to nuts."
