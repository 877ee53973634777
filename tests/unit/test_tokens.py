"""Tests of token estimates: by script at first, then calibrated by reported usage."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.messages import Image
from memory.text.tokens import IMAGE_TOKENS, MESSAGE_OVERHEAD, TokenCounter
from tests.support.talk import calls, user

ENGLISH = "The quick brown fox jumps over the lazy dog. " * 20
UKRAINIAN = "Швидка бура лисиця стрибає через ледачого пса. " * 20
JAPANESE = "すばやい茶色の狐がのろまな犬を飛び越える。" * 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("x" * 400, 100),
        ("é" * 8, 2),
        ("你好世界", 4),
        ("안녕하세요", 5),
        ("こんにちは", 5),
        ("\U0001f600\U0001f680", 2),
        ("abcd你好", 3),
        ("привіт світе", 3),
    ],
)
def test_estimate_is_four_latin_characters_or_one_cjk_per_token(text: str, expected: int) -> None:
    assert TokenCounter().count(text) == expected


@given(st.text(max_size=200), st.text(max_size=200))
def test_longer_text_never_costs_less(one: str, two: str) -> None:
    counter = TokenCounter()
    assert counter.count(one + two) >= max(counter.count(one), counter.count(two))
    assert (counter.count(one) > 0) == bool(one)


def test_picture_costs_the_maximum() -> None:
    shown = replace(user("x" * 40), images=(Image("image/png", b"any"),) * 2)
    assert TokenCounter().count_messages([shown]) == 10 + MESSAGE_OVERHEAD + 2 * IMAGE_TOKENS


def test_messages_cost_text_tool_calls_and_overhead() -> None:
    counter = TokenCounter()
    assert counter.count_messages([user("x" * 40), user("x" * 40)]) == 2 * (10 + MESSAGE_OVERHEAD)
    assert counter.count_messages([calls("1")]) > counter.count_messages([user("")])


@given(st.floats(0.1, 1.5), st.sampled_from([ENGLISH, UKRAINIAN, JAPANESE]))
def test_counter_learns_the_reported_rate(rate: float, text: str) -> None:
    counter = TokenCounter()
    actual = round(len(text) * rate)
    for _ in range(25):
        counter.observe("scripted", [text], actual + MESSAGE_OVERHEAD)
    assert counter.count(text, "scripted") == pytest.approx(actual, rel=0.02, abs=1)


def test_rates_of_scripts_are_learned_from_mixed_conversations() -> None:
    counter = TokenCounter()
    rates = {ENGLISH: 0.22, UKRAINIAN: 0.45, JAPANESE: 0.8}
    for n in range(120):
        texts = [text for i, text in enumerate(rates) if i != n % 3]
        reported = round(sum(len(text) * rates[text] for text in texts)) + MESSAGE_OVERHEAD * len(texts)
        counter.observe("scripted", texts, reported)
    for text, rate in rates.items():
        assert counter.count(text, "scripted") == pytest.approx(len(text) * rate, rel=0.1)


def test_rates_are_learned_separately_for_each_model() -> None:
    counter = TokenCounter()
    before = counter.count(ENGLISH, "other")
    for _ in range(20):
        counter.observe("scripted", [ENGLISH], 2 * before)
    assert counter.count(ENGLISH, "scripted") == pytest.approx(2 * before, rel=0.05)
    assert counter.count(ENGLISH, "other") == counter.count(ENGLISH) == before


def test_model_is_calibrated_after_its_first_report() -> None:
    counter = TokenCounter()
    assert not counter.is_calibrated("scripted")
    counter.observe("scripted", [ENGLISH], 250)
    assert counter.is_calibrated("scripted")
    assert not counter.is_calibrated("other")


@pytest.mark.parametrize(("texts", "reported"), [([], 100), ([""], 100), ([ENGLISH], 0), ([ENGLISH], -5)])
def test_empty_report_is_ignored(texts: list[str], reported: int) -> None:
    counter = TokenCounter()
    counter.observe("scripted", texts, reported)
    assert not counter.is_calibrated("scripted")
    assert counter.count(ENGLISH, "scripted") == counter.count(ENGLISH)


@given(st.lists(st.tuples(st.text(min_size=1, max_size=40), st.integers(1, 10**9)), max_size=10))
def test_absurd_reports_leave_a_usable_estimate(reports: list[tuple[str, int]]) -> None:
    counter = TokenCounter()
    for text, reported in reports:
        counter.observe("scripted", [text], reported)
    assert len(ENGLISH) * 0.04 <= counter.count(ENGLISH, "scripted") <= len(ENGLISH) * 3
