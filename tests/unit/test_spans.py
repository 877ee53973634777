"""Tests of parsing spans of days."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.text.spans import WrongDate, parse_span

KYIV = ZoneInfo("Europe/Kyiv")


@pytest.mark.parametrize(
    ("since", "until", "first", "last"),
    [
        ("2026-02-07", "2026-02-07", date(2026, 2, 7), date(2026, 2, 8)),
        ("2026-02", "2026-02", date(2026, 2, 1), date(2026, 3, 1)),
        ("2026-12", "2026-12", date(2026, 12, 1), date(2027, 1, 1)),
        ("2026", "2026", date(2026, 1, 1), date(2027, 1, 1)),
        (" 2026-2-7 ", "2026-02-07T09:30", date(2026, 2, 7), date(2026, 2, 8)),
    ],
)
def test_span_includes_its_last_day_in_the_zone(since: str, until: str, first: date, last: date) -> None:
    assert parse_span(since, until, KYIV) == tuple(datetime.combine(day, time(), KYIV) for day in (first, last))


def test_span_may_be_open_at_either_end() -> None:
    assert parse_span("", " ", KYIV) == (None, None)
    assert parse_span("2026", "", KYIV) == (datetime(2026, 1, 1, tzinfo=KYIV), None)


@given(st.dates(min_value=date(1000, 1, 1), max_value=date(9998, 1, 1)), st.integers(0, 1000))
def test_days_in_order_are_a_span(day: date, days: int) -> None:
    begins, ends = parse_span(f"{day}", f"{day + timedelta(days=days)}", KYIV)
    assert begins is not None
    assert ends is not None
    assert (ends.date() - begins.date()).days == days + 1


@given(st.text(min_size=1).filter(lambda text: text.strip()))
def test_any_text_is_a_span_or_explained_in_a_sentence(text: str) -> None:
    begins, told = None, ""
    try:
        begins, _ = parse_span(text, "", KYIV)
    except WrongDate as error:
        told = str(error)
    assert begins is not None or "isn't a date: write it as 2026-02-28" in told
