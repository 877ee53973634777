"""The talk that the benchmark puts around questions."""

from __future__ import annotations

import pytest

from benchmarks.talk import LONG, PARTS, SHORT, Place, Style, as_transcript, inside_talk, wordings

QUESTION = "When did Ann move to Leeds?"


@pytest.mark.parametrize("place", Place)
@pytest.mark.parametrize("words", PARTS)
def test_a_question_stands_in_so_many_words_of_talk_the_same_at_every_run(place: Place, words: int) -> None:
    message = inside_talk(QUESTION, place, words)
    assert message == inside_talk(QUESTION, place, words)
    assert QUESTION[1:] in message
    assert words <= len(message.split()) - len(QUESTION.split()) <= 1.5 * words
    assert "?" not in inside_talk(QUESTION, place, words, Style.UNMARKED)
    spoken = inside_talk(QUESTION, place, words, Style.TRANSCRIPT)
    assert as_transcript(QUESTION) in spoken
    assert spoken == spoken.lower()
    assert all(letter.isalnum() or letter in " '’" for letter in spoken)


def test_the_talk_is_varied_and_asks_nothing() -> None:
    for lines in (LONG.strip().splitlines(), SHORT.strip().splitlines()):
        assert len({*lines}) == len(lines) > 15
    assert "?" not in LONG + SHORT
    assert len({inside_talk(f"Who keeps dog {number}?", Place.BEFORE)[:20] for number in range(50)}) > 15


def test_a_question_is_reworded_at_most_five_times_with_no_word_of_another() -> None:
    assert wordings("Which hobbies has Ann taken up in Leeds?") == [
        "Which hobbies has Ann taken up in Leeds?",
        "hobbies ann taken leeds",
        "hobbies ann",
        "taken leeds",
        "leeds hobbies",
    ]
    assert wordings("Why?") == ["Why?", "why"]
