"""Tests of reading conversations in LoCoMo's format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.locomo_data import Dialogue, Form, read_dialogues, store_dialogue
from memory.store.database import Database


@pytest.fixture
def dialogue(tmp_path: Path) -> Dialogue:
    """Return two sessions of two people with questions."""
    said = [("D1:1", "Ann", "Hi Bob"), ("D1:2", "Ann", "I am back"), ("D1:3", "Bob", "Welcome")]
    later = [("D2:1", "Bob", "My boat sank"), ("D2:2", "Ann", "Oh no")]
    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"dia_id": key, "speaker": who, "text": text} for key, who, text in said],
        "session_2_date_time": "9:00 am on 9 May, 2023",
        "session_2": [{"dia_id": key, "speaker": who, "text": text} for key, who, text in later],
    }
    asked = [
        {"question": "What happened to Bob's boat when Ann was back?", "evidence": ["D1:2; D2:01", "D"], "category": 1},
        {"question": "Nothing said so", "evidence": ["D9:9"], "category": 2},
        {"question": "Has no answer", "evidence": ["D1:1"], "category": 5},
    ]
    path = tmp_path / "dialogues.json"
    path.write_text(json.dumps([{"conversation": conversation, "qa": asked}]), encoding="utf-8")
    return read_dialogues(path)[0]


def test_evidence_that_names_several_places_is_split(dialogue: Dialogue) -> None:
    assert [question.evidence for question in dialogue.questions] == [{"D1:2", "D2:1"}]


def test_first_speaker_asks_the_second_in_first_and_second_person(dialogue: Dialogue) -> None:
    (question,) = dialogue.read_questions(Form.PERSONAL)
    assert question.text == "What happened to your boat when I was back?"


@pytest.mark.parametrize(
    ("form", "turns"),
    [(Form.GROUP, [["user"]] * 5), (Form.PRIVATE, [["user", "user", "assistant"], ["assistant"], ["user"]])],
)
async def test_private_turn_ends_before_the_user_speaks_again(
    dialogue: Dialogue, database: Database, form: Form, turns: list[list[str]]
) -> None:
    session = await store_dialogue(database, dialogue, "1", form)
    rows = await database.rows("SELECT turn_id, role, speaker FROM messages ORDER BY id")
    kept: dict[int, list[str]] = {}
    for row in rows:
        kept.setdefault(row["turn_id"], []).append(row["role"])
    assert [*kept.values()] == turns
    assert {row["speaker"] for row in rows} == ({"Ann", "Bob"} if form is Form.GROUP else {None})
    assert session.owner == "locomo:1"
