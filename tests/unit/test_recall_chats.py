"""Tests of the chats for the recall benchmark: complete, in two halves, with every answer in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.recall_chats import KINDS, SPEAKERS, read_chat, read_chats

HALVES = ("tune", "kept")


@pytest.mark.parametrize("half", HALVES)
def test_chats_contain_each_answer_and_kind_of_question(half: str) -> None:
    chats = read_chats(half)
    assert [chat.language for chat in chats] == ["de", "en", "ru"]
    for chat in chats:
        for question in chat.dialogue.questions:
            assert question.evidence <= chat.dialogue.texts.keys(), question
            assert bool(question.evidence) == (KINDS[question.category] != "never")
        assert {KINDS[question.category] for question in chat.dialogue.questions} == set(KINDS)
        assert len(chat.off_topic) == len(chat.small_talk) == 5
        moments = [said.at for session in chat.dialogue.sessions for said in session]
        assert moments == sorted(moments)
        assert len(chat.dialogue.texts) == len(moments)


def test_halves_share_no_question() -> None:
    asked = [question.text for half in HALVES for chat in read_chats(half) for question in chat.dialogue.questions]
    assert len(asked) == len(set(asked)) >= 60


def test_chat_file_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "tune-en.txt"
    path.write_text("# about\n== 2025-01-11 09:30\nU I row {row}\nA Fine\n? fact row: Do I row?\n~ A poem?\n- Hi\n")
    chat = read_chat(path)
    said, answered = chat.dialogue.sessions[0]
    assert (said.key, said.speaker, said.text, answered.speaker) == ("row", SPEAKERS[0], "I row", SPEAKERS[1])
    assert (chat.off_topic, chat.small_talk) == (("A poem?",), ("Hi",))
    assert chat.dialogue.questions[0].evidence == {"row"}
    path.write_text("? guess: What?\n")
    with pytest.raises(ValueError, match="guess"):
        read_chat(path)
