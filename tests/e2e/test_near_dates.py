"""A remembered date that comes near is offered as a reminder, once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from memory.clock import system_clock
from memory.mail.pruning import Pruning
from memory.store.entry import Kind, NewEntry
from tests.support.fakes import FakeClock, Person
from tests.support.reminding import memory_of
from tests.support.servers.model import Says
from tests.support.tool_use import OWNER

if TYPE_CHECKING:
    from bot.app import App
    from tests.conftest import OpenApp
    from tests.support.servers.model import ModelServer
    from tests.support.servers.telegram import BotApiServer


async def knows(app: App, content: str, until: str | None = None, *, trusted: bool = True, name: str = "it") -> None:
    ends = datetime.fromisoformat(until).replace(tzinfo=UTC) if until else None
    new = NewEntry(content, name=name, kind=Kind.FACT, trusted=trusted, valid_until=ends)
    await memory_of(app).entries.add(OWNER, new)


@pytest.mark.parametrize(
    ("content", "until", "asked"),
    [
        (
            "The passport is valid until March",
            "2026-03-01",
            "This ends on Sunday, 1 March 2026. Shall I remind you on Sunday, 22 February 2026, 09:00 of: The passp",
        ),
        ("The ticket ends", "2026-02-09", "This ends on Monday, 9 February 2026. Shall I remind you on Sunday, 8 Feb"),
        ("The ticket ends", "2026-04-09", None),
        ("The ticket ends", "2026-02-08", None),
        (
            "Olga's birthday is 12 February",
            None,
            "12 February 2026, 09:00, yearly on 12 February, of: Olga's birthday is 12 February? /remind_1 sets it._",
        ),
        ("День рождения Ольги 12 февраля", None, "Thursday, 12 February 2026, 09:00, yearly"),
        ("Olgas Geburtstag ist am 12. Februar", None, "Thursday, 12 February 2026, 09:00, yearly"),
        ("奥尔加的生日是2月12日", None, "Thursday, 12 February 2026, 09:00, yearly"),
        ("Our wedding anniversary: 2010-02-28", None, "Saturday, 28 February 2026, 09:00, yearly"),
        ("Olga's birthday is 12 July", None, None),
        ("Olga came on 12 February", None, None),
        ("Olga's birthday is 99.99", None, None),
    ],
)
async def test_a_date_that_comes_near_is_offered_under_the_next_answer(
    start: OpenApp, model: ModelServer, content: str, until: str | None, asked: str | None
) -> None:
    model.otherwise = lambda _: Says("Fine.")
    async with start() as app:
        person = Person(app)
        await person.says("hello")
        await knows(app, content, until)
        await memory_of(app).near_dates.offer()
        said = await person.says("hello")
    assert said == "Fine." if asked is None else asked in said


async def test_it_is_offered_once_and_one_a_day(
    start: OpenApp, model: ModelServer, clock: FakeClock, telegram: BotApiServer
) -> None:
    model.otherwise = lambda _: Says("Fine.")
    async with start() as app:
        person = Person(app)
        await person.says("hello")
        await knows(app, "Olga's birthday is 12 February", name="olga")
        await knows(app, "Ivan's birthday is 14 February", name="ivan")
        await knows(app, "Eve's birthday is 15 February", trusted=False, name="eve")
        near = memory_of(app).near_dates
        assert [await near.offer() for _ in range(4)] == [1, 1, 0, 0]
        said = await person.says("hello")
        assert "Olga" in said
        assert "Ivan" in said
        assert "Eve" not in said
        assert await person.says("/cancel_2") == "Cancelled: Ivan's birthday is 14 February"
        assert (await person.says("/remind_1")).startswith("I will remind you on Thursday, 12 February 2026, 09:00")
        clock.forward(days=358)
        await Pruning(app.database, clock).prune()
        assert await near.offer() == 0


async def test_dates_are_looked_for_once_a_day_also_over_a_restart(start: OpenApp, clock: FakeClock) -> None:
    from bot.jobs.scheduled import DateOffers

    async with start() as app:
        memory = memory_of(app)
        offers = [DateOffers(memory.near_dates, memory.jobs, memory.notices_of.tells, clock) for _ in range(2)]
        assert [await offers[0].run_if_due() for _ in range(3)] == [True, False, False]
        assert not await offers[1].run_if_due()
        clock.forward(days=1)
        assert [await offers[0].run_if_due() for _ in range(2)] == [True, False]


def test_the_systems_own_clock_gives_moments_in_utc() -> None:
    assert system_clock().tzinfo is UTC
