"""Tests of converting chats from REALTALK's format to LoCoMo's."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.locomo_data import read_dialogues
from benchmarks.realtalk_to_locomo import convert


def create_message(key: str, speaker: str, text: str, **more: object) -> dict[str, object]:
    return {"clean_text": text, "speaker": speaker, "date_time": "29.12.2023, 22:42:04", "dia_id": key, **more}


def test_chat_is_read_with_speakers_times_pictures_and_evidence(tmp_path: Path) -> None:
    chat = {
        "name": {"speaker_1": "Ann", "speaker_2": "Bo"},
        "session_1": [
            create_message("D1:1", "Ann", "I row"),
            create_message("D1:2", "Bo", "", blip_caption="a photo of a boat"),
            create_message("D1:3", "Ann", "Every day"),
        ],
        "events_session_1": {"agent_a": []},
        "session_1_date_time": "29.12.2023, 22:42:04",
        "session_2": [],
        "qa": [
            {"question": "How often?", "answer": "daily", "evidence": ["D1:1-D1:3"], "category": 1},
            {"question": "What?", "answer": "a boat", "evidence": ["D1:2; D1:3."], "category": 3},
        ],
    }
    path = tmp_path / "chats.json"
    path.write_text(json.dumps([convert(chat)]))
    (dialogue,) = read_dialogues(path)
    assert dialogue.speakers == ("Ann", "Bo")
    assert dialogue.texts == {"D1:1": "I row", "D1:2": " [a photo of a boat]", "D1:3": "Every day"}
    assert dialogue.sessions[0][0].at == datetime(2023, 12, 29, 22, 42, tzinfo=UTC)
    assert [sorted(question.evidence) for question in dialogue.questions] == [
        ["D1:1", "D1:2", "D1:3"],
        ["D1:2", "D1:3"],
    ]
