"""Numbers and days of a fact that nobody said, and that can't be worked out from what was said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.text.days import fits, names, speaks_of_time, written_days
from memory.text.numbers import mentions, readings, times_of_day

if TYPE_CHECKING:
    from datetime import date, datetime

    from memory.evidence.evidence import Evidence
    from memory.evidence.fact import Fact

_AN_HOUR = re.compile(r"hour|stunde|час|годин|\bhora|heure|小时|小時|钟头|鐘頭", re.IGNORECASE)
_QUARTERS = re.compile(r"quarter|viertel|четверть|чверть|cuarto|\bquart|刻", re.IGNORECASE)


def missing_numbers(text: str, evidence: Evidence) -> int:
    """How many numbers of a fact were not said, in whatever form, and can't be worked out."""
    near = evidence.said
    said = readings(near) | times_of_day(near)
    digits = re.sub(r"\D", "", near)
    may_be_worked_out = speaks_of_time(evidence.message) or speaks_of_time(text)
    missing = 0
    for one in mentions(written_days(text)[1]):  # a day fits or does not as a whole
        if is_small_word(one, text) or one & said or _is_converted(one, said, near):
            continue
        longest = max(one, key=len)
        if len(longest) > 3 and longest in digits:
            continue
        missing += not (may_be_worked_out and any(_is_near_date(number, evidence.at, said) for number in one))
    return missing


def is_small_word(one: set[str], text: str) -> bool:
    """Whether a number may be none: `one` and `two` as words are articles and pronouns as well."""
    return bool(one & {"0", "1", "2"}) and not any(re.search(rf"(?<!\d){number}(?!\d)", text) for number in one)


def _is_converted(one: set[str], said: set[str], near: str) -> bool:
    """Whether a number says one of those said in another way: 90 for an hour and a half, 17 for five o'clock."""
    values = [0.5] + [float(number) for number in said if re.fullmatch(r"\d+(?:\.\d+)?", number)]
    wanted = {float(number) for number in one if re.fullmatch(r"\d+(?:\.\d+)?", number)}
    clocks = {tuple(int(part) for part in number.split(":")) for number in said if ":" in number}
    made = {60.0 * hour + minute for hour, minute in clocks} | {float(hour) for hour, _ in clocks}
    made |= {30.0, 60.0, 90.0} if _AN_HOUR.search(near) else set()
    made |= {15.0, 45.0, 25.0, 75.0} if _QUARTERS.search(near) else set()
    for value in values:
        halves = {value + 0.5, value}
        made |= {scale * half for half in halves for scale in (12, 60, 1_000, 1_000_000)}
        made |= {
            value + 0.5,
            value + 12,
            value + 1900,
            value + 2000,
            7 * value,
            value / 60,
            value / 1000,
            value * 100,
            value / 2,
        }
        made |= {60 * value + other for other in values}
    return bool(wanted & made) or any(
        float(number.split(":")[0]) % 12 in {value % 12 for value in values}
        for number in one
        if re.fullmatch(r"\d+:(?:00|15|30|45)", number)
    )


def _is_near_date(number: str, at: datetime, said: set[str]) -> bool:
    """Whether a number may be part of a day near the message, or a year counted back from it."""
    if not number.isdigit() or len(number) > 4:
        return False
    value = int(number)
    counted = [int(one) for one in said if one.isdigit() and len(one) < 4]
    years = {at.year + one * sign for one in counted for sign in (1, -1)}
    return value <= 31 or abs(value - at.year) <= 1 or any(abs(value - year) <= 1 for year in years)


def days_fit(fact: Fact, evidence: Evidence) -> bool:
    """Whether the days that a fact names may have been worked out from what was said."""
    near, all_said = f"{evidence.quote}\n{evidence.message}", "\n".join((evidence.message, *evidence.before))
    # the day of the wedding was said before what is said of it now
    return all(
        any(fits(day, near, evidence.at) or names(day, all_said, evidence.at) for day in days) for days in _days(fact)
    )


def _days(fact: Fact) -> list[set[date]]:
    """The days of a fact, each as what it may mean."""
    return [*written_days(fact.text)[0], *({day} for day in (fact.since, fact.until) if day is not None)]
