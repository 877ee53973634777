"""Tests of finding candidate sentences for a later consolidation."""

from __future__ import annotations

import pytest

from bot.features.capture.statements import find_candidates

MAY_LAST = """
    what can i cook without lactose, i'm intolerant?
    write a birthday card for my wife Olga, she turns 40
    she's a vet
    night shifts at the hospital again
    no wait, thursday
    продали наконец дачу
    у сестры кот, она ветеринар
    ми розійшлися
    Könnten Sie eine Rede für meine Großeltern Wilma und Hinnerk schreiben?
    lana no uso, zapatos de cuero sí
    oui Ghita, elle répare des montres
    我们家孩子下个月上小学
"""
NOTHING = """
    thanks, that was great
    what is the capital of Peru
    can you make it shorter
    how does a fridge work?
    спасибо большое
    скільки коштує квиток?
    wie spät ist es?
    merci beaucoup
    你好
"""


@pytest.mark.parametrize("text", [line.strip() for line in MAY_LAST.strip().splitlines()])
def test_sentence_that_may_last_is_returned_as_typed(text: str) -> None:
    assert find_candidates(text) == (text,)


@pytest.mark.parametrize("text", [line.strip() for line in NOTHING.strip().splitlines()])
def test_question_request_or_thanks_is_no_candidate(text: str) -> None:
    assert find_candidates(text) == ()


def test_only_sentences_that_may_last_are_returned() -> None:
    assert find_candidates("Hello! We sold the Volvo. What is the capital of Peru?") == ("We sold the Volvo.",)


def test_quotations_and_code_are_no_candidates() -> None:
    assert find_candidates("> I live in Cork\n```\nmy = 1\n```") == ()
