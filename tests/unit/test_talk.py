"""The talk that the benchmark puts around questions."""

from __future__ import annotations

import pytest

from benchmarks.talk import HALVES, Place, inside_talk

QUESTION = "When did Ann move to Leeds?"


@pytest.mark.parametrize("place", Place)
def test_a_question_stands_in_at_least_24_words_of_talk_the_same_at_every_run(place: Place) -> None:
    message = inside_talk(QUESTION, place)
    assert message == inside_talk(QUESTION, place)
    assert QUESTION[1:] in message
    assert len(message.split()) >= 24 + len(QUESTION.split())
    assert "?" not in inside_talk(QUESTION, place, is_marked=False)


def test_the_talk_is_varied_and_asks_nothing() -> None:
    halves = HALVES.strip().splitlines()
    assert len({*halves}) == len(halves) > 30
    assert "?" not in HALVES
    assert len({inside_talk(f"Who keeps dog {number}?", Place.BEFORE)[:20] for number in range(50)}) > 15
