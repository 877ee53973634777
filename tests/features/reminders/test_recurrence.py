"""Tests of recurring times on the wall clock of a zone, over clock changes in both directions."""

from __future__ import annotations

import contextlib
import itertools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.features.reminders.request import MAX_AHEAD, ONCE, Rhythm, read_request, read_rhythm
from bot.features.reminders.wording import format_duration
from config.texts import format_day_and_hour
from memory.errors import MemoryRefused
from memory.recurrence import Repeat, Rule
from memory.transfer.import_fields import MAX_REMINDER_CHARS

KYIV = ZoneInfo("Europe/Kyiv")
NOW = datetime(2026, 2, 7, 12, 15, tzinfo=UTC)
# Offsets of half and quarter hours, a skipped midnight, and a day that Samoa left out.
ZONES = [
    "UTC",
    "Europe/Kyiv",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "America/Santiago",
    "Africa/Cairo",
    "Pacific/Apia",
    "Antarctica/Troll",
]


def parse_wall_time(text: str) -> datetime:
    """Parse a naive wall-clock time."""
    return datetime.fromisoformat(text)


def parse_utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _exists(local: datetime, zone: ZoneInfo) -> bool:
    return local.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) == local


@pytest.mark.parametrize(
    ("repeat", "first", "days", "after", "expected"),
    [
        # A daily 9:00 stays 9:00. Summer time in Kyiv begins on 29 March 2026 at 3:00 and ends on 25 October at 4:00.
        (Repeat.DAILY, "2026-02-08T09:00", (), "2026-03-28T07:00", "2026-03-29T06:00"),
        (Repeat.DAILY, "2026-02-08T09:00", (), "2026-10-24T06:00", "2026-10-25T07:00"),
        # In this night, 03:30 is skipped, and the reminder comes an hour later.
        (Repeat.DAILY, "2026-02-08T03:30", (), "2026-03-28T01:30", "2026-03-29T01:30"),
        (Repeat.DAILY, "2026-02-08T03:30", (), "2026-03-29T01:30", "2026-03-30T00:30"),
        # In this night, 03:30 occurs twice. The first time counts.
        (Repeat.DAILY, "2026-02-08T03:30", (), "2026-10-24T00:30", "2026-10-25T00:30"),
        (Repeat.DAILY, "2026-02-08T03:30", (), "2026-10-25T00:30", "2026-10-26T01:30"),
        (Repeat.WEEKLY, "2026-02-09T09:00", (0, 4), "2026-02-09T07:00", "2026-02-13T07:00"),
        (Repeat.WEEKLY, "2026-02-09T09:00", (), "2026-02-09T07:00", "2026-02-16T07:00"),
        (Repeat.MONTHLY, "2026-01-31T09:00", (), "2026-01-31T07:00", "2026-02-28T07:00"),
        (Repeat.MONTHLY, "2026-01-31T09:00", (), "2026-02-28T07:00", "2026-03-31T06:00"),
        (Repeat.MONTHLY, "2026-12-15T09:00", (), "2026-12-15T07:00", "2027-01-15T07:00"),
        (Repeat.YEARLY, "2024-02-29T09:00", (), "2026-02-07T07:00", "2026-02-28T07:00"),
        (Repeat.YEARLY, "2024-02-29T09:00", (), "2027-03-01T07:00", "2028-02-29T07:00"),
    ],
)
def test_next_time_follows_the_rule_over_clock_changes(
    repeat: Repeat, first: str, days: tuple[int, ...], after: str, expected: str
) -> None:
    rule = Rule(repeat, datetime.fromisoformat(first), KYIV, days)
    assert rule.find_next(parse_utc(after)) == parse_utc(expected)


@given(
    repeat=st.sampled_from([r for r in Repeat if r is not Repeat.ONCE]),
    first=st.datetimes(parse_wall_time("2005-01-01"), parse_wall_time("2040-01-01")),
    zone=st.sampled_from(ZONES).map(ZoneInfo),
    days=st.lists(st.integers(0, 6), unique=True, max_size=7).map(lambda days: tuple(sorted(days))),
    moment=st.datetimes(parse_wall_time("2005-01-01"), parse_wall_time("2040-01-01"), timezones=st.just(UTC)),
)
@example(Repeat.DAILY, parse_wall_time("2011-12-01T10:00"), ZoneInfo("Pacific/Apia"), (), parse_utc("2011-12-29T21:00"))
@example(
    Repeat.DAILY,
    parse_wall_time("2026-01-01T02:15"),
    ZoneInfo("Australia/Lord_Howe"),
    (),
    parse_utc("2026-10-03T12:00"),
)
def test_next_time_is_at_the_wall_clock_hour_without_gaps(
    repeat: Repeat, first: datetime, zone: ZoneInfo, days: tuple[int, ...], moment: datetime
) -> None:
    rule = Rule(repeat, first, zone, days if repeat is Repeat.WEEKLY else ())
    coming = rule.find_next(moment)
    assert coming is not None
    assert coming > moment
    local = coming.astimezone(zone)
    shown = local.replace(tzinfo=None, fold=0)
    if shown.time() != first.time().replace(fold=0):
        # The hour may only differ if it is skipped on that day. It is later by the length of the gap.
        assert any(
            not _exists(datetime.combine(shown.date() - timedelta(days=back), first.time()), zone) for back in (0, 1)
        )
    else:
        assert local.fold == 0
    assert coming >= first.replace(tzinfo=zone).astimezone(UTC)
    if repeat is Repeat.WEEKLY and shown.time() == first.time() and zone.key != "Pacific/Apia":
        assert shown.weekday() in (rule.days or (first.weekday(),))
    if repeat is Repeat.DAILY and moment > first.replace(tzinfo=zone).astimezone(UTC):
        assert coming - moment <= timedelta(hours=50)
    # Every moment in between leads to the same time, and that time leads to another one.
    between = moment + (coming - moment) / 2
    assert rule.find_next(between) == coming
    assert (rule.find_next(coming) or coming) > coming


@given(
    zone=st.sampled_from(ZONES).map(ZoneInfo),
    start=st.datetimes(parse_wall_time("2010-01-01"), parse_wall_time("2030-01-01")),
)
def test_daily_rule_has_one_time_on_every_existing_day(zone: ZoneInfo, start: datetime) -> None:
    rule = Rule(Repeat.DAILY, start, zone)
    since = start.replace(tzinfo=zone).astimezone(UTC)
    times, at = [], since
    while (coming := rule.find_next(at)) is not None and coming <= since + timedelta(days=400):
        times.append(coming)
        at = coming
    days = [at.astimezone(zone).date() for at in times]
    if zone.key != "Pacific/Apia":  # Samoa skipped a day.
        gaps = [(late - early).days for early, late in itertools.pairwise(days)]
        # Late in the evening a gap may lead into the next day.
        assert all(gap == 1 or start.hour == 23 for gap in gaps)
    assert times == sorted(set(times))


@pytest.mark.parametrize(
    ("when", "says"),
    [
        ("2026-02-08T09:00", "Sunday, 8 February 2026, 09:00"),
        (" 2026-02-08 09:00 ", "Sunday, 8 February 2026, 09:00"),
        ("2026-02-08T09:00:00Z", "Sunday, 8 February 2026, 11:00"),
        ("2026-02-08T09:00+05:30", "Sunday, 8 February 2026, 05:30"),
        ("2026-03-29T03:30", "Sunday, 29 March 2026, 04:30"),
        ("2026-10-25T03:30", "Sunday, 25 October 2026, 03:30"),
    ],
)
def test_time_without_an_offset_is_in_the_chats_zone(when: str, says: str) -> None:
    wish = read_request("call", when, ONCE, now=NOW, zone=KYIV)
    assert format_day_and_hour(wish.at, KYIV) == says


def test_repeated_hour_is_the_first_unless_an_offset_says_otherwise() -> None:
    first = read_request("call", "2026-10-25T03:30", ONCE, now=NOW, zone=KYIV)
    second = read_request("call", "2026-10-25T03:30+02:00", ONCE, now=NOW, zone=KYIV)
    assert second.at - first.at == timedelta(hours=1)


def test_daily_hour_missing_on_the_first_day_is_kept() -> None:
    wish = read_request("call", "2026-03-29T03:30", Rhythm(Repeat.DAILY, ""), now=NOW, zone=KYIV)
    assert wish.rule.find_next(parse_utc("2026-04-01T12:00")) == parse_utc("2026-04-02T00:30")


@pytest.mark.parametrize(
    ("when", "repeat", "days", "complaint"),
    [
        (
            "tomorrow",
            "once",
            "",
            "'tomorrow' isn't a valid time: write day and hour as 2026-02-08T09:00, on the",
        ),
        ("", "once", "", "'' isn't a valid time"),
        ("1770465600", "once", "", "'1770465600' isn't a valid time"),
        ("2026-02-08", "once", "", "'2026-02-08' has no hour: write day and hour as 2026-02-08T09:00"),
        ("20260208", "once", "", "'20260208' has no hour"),
        ("09:00", "once", "", "'09:00' isn't a valid time"),
        ("2026-02-30T09:00", "once", "", "'2026-02-30T09:00' isn't a valid time"),
        (
            "2026-02-07T14:15",
            "once",
            "",
            "Saturday, 7 February 2026, 14:15 is past, it is Saturday, 7 February 2026, 14:15",
        ),
        ("2020-01-01T09:00", "once", "", "Wednesday, 1 January 2020, 09:00 is past"),
        ("9999-12-31T23:59", "once", "", "'9999-12-31T23:59' is more than 20 years away"),
        ("0001-01-01T00:00+14:00", "once", "", "'0001-01-01T00:00+14:00' isn't a valid time"),
        ("2026-02-08T09:00", "daily", "mon", "Days go with repeat weekly, and this is daily"),
        ("2026-02-08T09:00", "weekly", "mon, t", "'t' isn't a day of the week"),
        ("2026-02-08T09:00", "weekly", "weekend", "'weekend' isn't a day of the week"),
    ],
)
def test_invalid_wish_is_answered_with_the_expected_format(when: str, repeat: str, days: str, complaint: str) -> None:
    with pytest.raises(MemoryRefused) as refused:
        read_request("call", when, Rhythm(Repeat(repeat), days), now=NOW, zone=KYIV)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_recurring_wish_may_begin_in_the_past() -> None:
    assert read_request("x", "2026-02-07T09:00", Rhythm(Repeat.DAILY, ""), now=NOW, zone=KYIV).at == parse_utc(
        "2026-02-08T07:00"
    )
    weekly = read_request("x", "2026-02-02T09:00", Rhythm(Repeat.WEEKLY, "Mon, FRIDAY"), now=NOW, zone=KYIV)
    assert (weekly.rule.days, weekly.at) == ((0, 4), parse_utc("2026-02-09T07:00"))
    assert str(weekly.rule) == "weekly on Monday, Friday"


@given(st.text(), st.sampled_from(Repeat), st.text(max_size=20))
def test_any_wish_is_a_future_time_or_one_sentence(when: str, repeat: Repeat, days: str) -> None:
    answer = ""
    with contextlib.suppress(MemoryRefused):
        wish = read_request("call", when, Rhythm(repeat, days), now=NOW, zone=KYIV)
        answer = format_day_and_hour(wish.at, KYIV)
        assert NOW < wish.at <= NOW + MAX_AHEAD + timedelta(days=366)
    if not answer:
        with pytest.raises(MemoryRefused, match=r"^[^\n]{20,400}$"):
            read_request("call", when, Rhythm(repeat, days), now=NOW, zone=KYIV)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (" \n ", "needs a text"),
        ("x" * (MAX_REMINDER_CHARS + 1), "at most 500 characters, and this one has 501"),
        ("my password is hunter22", "looks like a password"),
    ],
)
def test_wish_text_is_validated(text: str, complaint: str) -> None:
    with pytest.raises(MemoryRefused, match=complaint):
        read_request(text, "2026-02-08T09:00", ONCE, now=NOW, zone=KYIV)


@pytest.mark.parametrize(
    ("length", "says"),
    [(timedelta(minutes=5), "5 min"), (timedelta(hours=3, minutes=50), "3 h"), (timedelta(days=2), "2 days")],
)
def test_span_is_shown_in_its_largest_unit(length: timedelta, says: str) -> None:
    assert format_duration(length) == says


@pytest.mark.parametrize(
    ("rhythm", "when", "expected", "words"),
    [
        (Rhythm(Repeat.DAILY, every=3), "2026-02-08T09:00", ["02-08", "02-11", "02-14"], "every 3 days"),
        (
            Rhythm(Repeat.WEEKLY, "tue", every=2),
            "2026-02-10T09:00",
            ["02-10", "02-24", "03-10"],
            "every 2 weeks on Tuesday",
        ),
        (
            Rhythm(Repeat.WEEKLY, "mon, fri", every=2),
            "2026-02-09T09:00",
            ["02-09", "02-13", "02-23", "02-27"],
            "every 2 weeks on Monday, Friday",
        ),
        (Rhythm(Repeat.MONTHLY, every=3), "2026-02-28T09:00", ["02-28", "05-28", "08-28"], "every 3 months on day 28"),
        (
            Rhythm(Repeat.MONTHLY, "mon", nth="first"),
            "2026-02-08T09:00",
            ["03-02", "04-06", "05-04"],
            "monthly on the first Monday",
        ),
        (
            Rhythm(Repeat.MONTHLY, "fri", nth="last"),
            "2026-02-08T09:00",
            ["02-27", "03-27", "04-24"],
            "monthly on the last Friday",
        ),
        (
            Rhythm(Repeat.MONTHLY, nth="last"),
            "2026-02-08T09:00",
            ["02-28", "03-31", "04-30"],
            "monthly on the last day",
        ),
    ],
)
def test_rhythm_is_kept_and_described(rhythm: Rhythm, when: str, expected: list[str], words: str) -> None:
    wish = read_request("call", when, rhythm, now=NOW, zone=KYIV)
    times, at = [wish.at], wish.at
    while len(times) < len(expected):
        coming = wish.rule.find_next(at)
        assert coming is not None
        times.append(coming)
        at = coming
    assert [f"{time.astimezone(KYIV):%m-%d}" for time in times] == expected
    assert str(wish.rule) == words


@pytest.mark.parametrize(
    ("rhythm", "complaint"),
    [
        (Rhythm(Repeat.ONCE, every=2), "every is a number from 1 to 99, with repeat"),
        (Rhythm(Repeat.DAILY, every=0), "every is a number from 1 to 99, with repeat"),
        (Rhythm(Repeat.WEEKLY, "mon", nth="first"), "nth goes with repeat monthly and days"),
        (Rhythm(Repeat.MONTHLY, nth="second"), "nth goes with repeat monthly and days"),
        (Rhythm(Repeat.MONTHLY, "mon", nth="fifth"), "'fifth' is none of first"),
    ],
)
def test_impossible_rhythm_is_refused_in_a_sentence(rhythm: Rhythm, complaint: str) -> None:
    with pytest.raises(MemoryRefused, match=complaint):
        read_request("call", "2026-02-08T09:00", rhythm, now=NOW, zone=KYIV)


@given(
    repeat=st.sampled_from([Repeat.DAILY, Repeat.WEEKLY, Repeat.MONTHLY, Repeat.YEARLY]),
    every=st.integers(1, 99),
    nth=st.sampled_from([-1, 1, 2, 3, 4]),
    weekday=st.integers(0, 6),
    first=st.datetimes(parse_wall_time("2005-01-01"), parse_wall_time("2040-01-01")),
    moment=st.datetimes(parse_wall_time("2005-01-01"), parse_wall_time("2040-01-01"), timezones=st.just(UTC)),
)
def test_times_of_a_rhythm_do_not_depend_on_the_moment(
    repeat: Repeat, every: int, nth: int, weekday: int, first: datetime, moment: datetime
) -> None:
    zone = ZoneInfo("UTC")
    monthly = repeat is Repeat.MONTHLY
    rule = Rule(repeat, first, zone, (weekday,) if monthly else (), every, nth if monthly else 0)
    coming = rule.find_next(moment)
    assert coming is not None
    assert coming > moment
    assert coming.replace(tzinfo=None) >= first
    assert rule.find_next(coming - timedelta(microseconds=1)) == coming
    if repeat is Repeat.DAILY:
        assert (coming.date() - first.date()).days % every == 0
    elif repeat is Repeat.WEEKLY:
        assert (coming.date() - first.date()).days % (7 * every) == 0
    elif monthly:
        assert coming.weekday() == weekday
        week = (coming.day - 1) // 7 + 1
        assert week == nth if nth > 0 else (coming + timedelta(days=7)).month != coming.month
        assert ((coming.year - first.year) * 12 + coming.month - first.month) % every == 0


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ("last fri", Rhythm(Repeat.MONTHLY, "fri", 2, "last")),
        ("Last day", Rhythm(Repeat.MONTHLY, "", 2, "last")),
        ("first mon", Rhythm(Repeat.MONTHLY, "mon", 2, "first")),
        ("", Rhythm(Repeat.MONTHLY, "", 2)),
    ],
)
def test_days_of_a_monthly_rhythm_name_which_of_them(days: str, expected: Rhythm) -> None:
    assert read_rhythm(Repeat.MONTHLY, days, 2) == expected
