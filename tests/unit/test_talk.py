"""Tests of the talk that the benchmark puts around questions."""

from __future__ import annotations

import pytest

from benchmarks.talk import LONG, PARTS, SHORT, Style, TalkPosition, generate_wordings, put_inside_talk, to_transcript

QUESTION = "When did Ann move to Leeds?"


@pytest.mark.parametrize("place", TalkPosition)
@pytest.mark.parametrize("words", PARTS)
def test_question_is_surrounded_by_reproducible_talk_of_a_length(place: TalkPosition, words: int) -> None:
    message = put_inside_talk(QUESTION, place, words)
    assert message == put_inside_talk(QUESTION, place, words)
    assert QUESTION[1:] in message
    assert words <= len(message.split()) - len(QUESTION.split()) <= 1.5 * words
    assert "?" not in put_inside_talk(QUESTION, place, words, Style.UNMARKED)
    spoken = put_inside_talk(QUESTION, place, words, Style.TRANSCRIPT)
    assert to_transcript(QUESTION) in spoken
    assert spoken == spoken.lower()
    assert all(letter.isalnum() or letter in " '’" for letter in spoken)


def test_talk_is_varied_and_asks_nothing() -> None:
    for lines in (LONG.strip().splitlines(), SHORT.strip().splitlines()):
        assert len({*lines}) == len(lines) > 15
    assert "?" not in LONG + SHORT
    assert len({put_inside_talk(f"Who keeps dog {number}?", TalkPosition.BEFORE)[:20] for number in range(50)}) > 15


def test_question_has_at_most_five_wordings_of_its_own_words() -> None:
    assert generate_wordings("Which hobbies has Ann taken up in Leeds?") == [
        "Which hobbies has Ann taken up in Leeds?",
        "hobbies ann taken leeds",
        "hobbies ann",
        "taken leeds",
        "leeds hobbies",
    ]
    assert generate_wordings("Why?") == ["Why?", "why"]
