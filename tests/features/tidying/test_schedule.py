"""Tests of the weekly schedule: when it is due, that it runs once, and its report."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.features.tidying.feature import TidyingFeature
from bot.features.tidying.job import WEEKLY, WeeklySchedule, create_weekly_rule
from bot.features.tidying.tidying import WeeklyConsolidation
from bot.kernel import App
from bot.languages import Languages
from bot.services import MemoryServices
from bot.tasks import BackgroundTasks
from config.settings import Settings
from memory.runtime.jobs import JobLog
from memory.store.database import Database
from memory.store.entry import Kind, Nature, NewEntry
from memory.text.tokens import TokenCounter
from tests.conftest import OpenApp
from tests.e2e.conftest import WallClock
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_weekly_schedule
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says
from tests.support.talk import Store

OWNER = "console:local"
# The test clock starts on Saturday 2026-02-07 12:15. The hour is Sunday 04:00.


def create_schedule(database: Database, clock: FakeClock, day: str = "sun", hour: int = 4) -> WeeklySchedule:
    memory = MemoryServices(Settings(), database, TokenCounter(), clock)
    at = create_weekly_rule(day, hour, ZoneInfo("UTC"))
    languages = Languages(memory.preferences)
    weekly = WeeklyConsolidation(database, memory.ledger, memory.decay, clock, memory.view)
    return WeeklySchedule(weekly, memory.jobs, memory.notices, languages, clock, at)


@pytest.fixture
def schedule(database: Database, clock: FakeClock) -> WeeklySchedule:
    """Return the schedule on a fresh database."""
    return create_schedule(database, clock)


async def add_fact(app: App, content: str, owner: str = OWNER) -> None:
    memory = MemoryServices(app.settings, app.database, TokenCounter(), app.clock)
    await memory.entries.add(owner, NewEntry(content, kind=Kind.FACT, nature=Nature.EVENT))


@pytest.mark.parametrize(
    ("zone", "day", "hour", "after", "expected"),
    [
        ("UTC", "sun", 4, "2026-02-07T12:15", "2026-02-08T04:00"),
        ("UTC", "sun", 4, "2026-02-08T04:00", "2026-02-15T04:00"),
        ("UTC", "sat", 12, "2026-02-07T12:15", "2026-02-14T12:00"),
        ("UTC", "sat", 13, "2026-02-07T12:15", "2026-02-07T13:00"),
        ("Europe/Kyiv", "sun", 4, "2026-02-07T12:15", "2026-02-08T02:00"),
        ("Asia/Kathmandu", "mon", 0, "2026-02-07T12:15", "2026-02-08T18:15"),
        ("America/Los_Angeles", "sat", 23, "2026-02-07T12:15", "2026-02-08T07:00"),
        # 03:00 does not exist on that day.
        ("Europe/Kyiv", "sun", 3, "2026-03-25T12:00", "2026-03-29T01:00"),
        ("Europe/Kyiv", "sun", 3, "2026-03-29T01:00", "2026-04-05T00:00"),
        # 03:00 comes twice on this day.
        ("Europe/Kyiv", "sun", 3, "2026-10-21T12:00", "2026-10-25T00:00"),
        ("Europe/Kyiv", "sun", 3, "2026-10-25T00:00", "2026-11-01T01:00"),
        ("Europe/Kyiv", "sun", 3, "2026-10-25T00:30", "2026-11-01T01:00"),
    ],
)
def test_hour_comes_once_a_week_in_its_zone(zone: str, day: str, hour: int, after: str, expected: str) -> None:
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    assert create_weekly_rule(day, hour, ZoneInfo(zone)).find_next(moment) == datetime.fromisoformat(
        expected + "+00:00"
    )


async def test_first_start_only_records_the_time(schedule: WeeklySchedule, clock: FakeClock) -> None:
    assert not await schedule.run_if_due()
    clock.forward(hours=15, minutes=44)
    assert not await schedule.run_if_due()
    clock.forward(minutes=1)
    assert await schedule.run_if_due()
    assert not await schedule.run_if_due()
    clock.forward(days=6, hours=23)
    assert not await schedule.run_if_due()
    clock.forward(hours=1)
    assert await schedule.run_if_due()


async def test_downtime_of_a_month_is_caught_up_once(schedule: WeeklySchedule, clock: FakeClock) -> None:
    await schedule.run_if_due()
    clock.forward(days=31)
    assert await schedule.run_if_due()
    assert not await schedule.run_if_due()


async def test_clock_set_back_does_not_repeat_the_run(schedule: WeeklySchedule, clock: FakeClock) -> None:
    await schedule.run_if_due()
    clock.forward(days=8)
    assert await schedule.run_if_due()
    clock.forward(days=-300)
    assert [await schedule.run_if_due() for _ in range(3)] == [False] * 3
    clock.forward(days=7)
    assert [await schedule.run_if_due() for _ in range(3)] == [True, False, False]


async def test_two_processes_tidy_and_report_once(database: Database, clock: FakeClock, tmp_path: Path) -> None:
    store = Store.create(database, clock)
    await store.entries.add(OWNER, NewEntry("Likes green tea", kind=Kind.FACT, nature=Nature.EVENT))
    other = await Database.open(tmp_path / "data" / "mneme.db")
    schedules = [create_schedule(database, clock), create_schedule(other, clock)]
    await schedules[0].run_if_due()
    clock.forward(days=400)
    await asyncio.gather(*(one.run_if_due() for one in schedules))
    assert not await schedules[0].run_if_due()
    assert len(await database.rows("SELECT id FROM notices")) == 1
    assert await database.value("SELECT count(*) FROM changes WHERE operation = 'consolidate'") == 1
    await other.close()


async def test_failure_of_one_owner_does_not_affect_others(start: OpenApp, clock: FakeClock) -> None:
    async with start() as app:
        for owner in ("telegram:1", OWNER, "telegram:2"):
            await add_fact(app, "Likes green tea", owner)
        async with app.database.transaction() as connection:
            await connection.execute("UPDATE entries SET tags = 'no list' WHERE id = 2")
        await find_weekly_schedule(app).run_if_due()
        clock.forward(days=400)
        assert await find_weekly_schedule(app).run_if_due()
        archived = await app.database.rows("SELECT id FROM entries WHERE archived_at IS NOT NULL")
        assert [row["id"] for row in archived] == [1, 3]


async def test_report_is_below_the_next_reply_also_after_restart(
    start: OpenApp, model: ModelServer, clock: FakeClock
) -> None:
    model.otherwise = lambda _: Says("Fine.")
    report = '_Memory tidied; archived as faded: "Likes green tea". Nothing was deleted (/undo takes it back)._'
    async with start() as app:
        await add_fact(app, "Likes green tea")
        await find_weekly_schedule(app).run_if_due()
        clock.forward(days=400)
        await find_weekly_schedule(app).run_if_due()
    async with start() as app:
        assert await Person(app).says("Hello") == f"Fine.\n\n{report}"
        assert await Person(app).says("Hello") == "Fine."
        assert await Person(app).says("/undo") == "Restored: Likes green tea"


async def test_run_without_notices_is_silent(start: OpenApp, model: ModelServer, clock: FakeClock) -> None:
    model.otherwise = lambda _: Says("Fine.")
    async with start(memory_notices=False) as app:
        await add_fact(app, "Likes green tea")
        await find_weekly_schedule(app).run_if_due()
        clock.forward(days=400)
        assert await find_weekly_schedule(app).run_if_due()
        assert await app.database.value("SELECT count(*) FROM entries WHERE archived_at IS NOT NULL") == 1
        assert await Person(app).says("Hello") == "Fine."


async def test_start_catches_up_and_close_leaves_the_run_due(
    start: OpenApp, database: Database, clock: FakeClock
) -> None:
    async with start() as app:
        await add_fact(app, "Likes green tea")
        await find_weekly_schedule(app).run_if_due()
    noted = await JobLog(database).find_last_run(WEEKLY)
    clock.forward(days=400)
    async with start() as app, app.database.transaction():  # Blocks the run in its first write.
        app.start_background_work()
        await asyncio.wait([asyncio.create_task(app.database.rows("SELECT 1"))])
        # Closing ends the run at any point.
    ran_at = await JobLog(database).find_last_run(WEEKLY)
    archived = await database.value("SELECT count(*) FROM entries WHERE archived_at IS NOT NULL")
    assert ran_at == noted or (ran_at == clock() and archived == 1)
    async with start() as app:
        app.start_background_work()
        async with asyncio.timeout(20):
            while not await database.value("SELECT count(*) FROM entries WHERE archived_at IS NOT NULL"):
                await asyncio.wait([asyncio.create_task(app.database.rows("SELECT 1"))])


@pytest.mark.parametrize("steps", range(0, 40, 3))
async def test_run_cancelled_at_any_step_is_done_or_due(database: Database, clock: FakeClock, steps: int) -> None:
    schedule = create_schedule(database, clock)
    memory = MemoryServices(Settings(), database, TokenCounter(), clock)
    await memory.entries.add(OWNER, NewEntry("Likes green tea", kind=Kind.FACT, nature=Nature.EVENT))
    await schedule.run_if_due()
    clock.forward(days=400)
    run = asyncio.create_task(schedule.run_if_due())
    for _ in range(steps):
        await asyncio.wait([run, asyncio.create_task(database.rows("SELECT 1"))], return_when="FIRST_COMPLETED")
    run.cancel()
    await asyncio.wait([run])
    await schedule.run_if_due()
    assert not await schedule.run_if_due()
    assert await database.value("SELECT count(*) FROM entries WHERE archived_at IS NOT NULL") == 1


async def test_schedule_runs_in_the_background(start: OpenApp) -> None:
    async with start() as app, asyncio.timeout(20):
        app.start_background_work()
        while await JobLog(app.database).find_last_run(WEEKLY) is None:
            pass


async def test_schedule_is_off_without_memory(start: OpenApp) -> None:
    async with start(memory_enabled=False) as app:
        assert not any(isinstance(feature, TidyingFeature) for feature in app.features)


async def test_f35_run_comes_at_its_hour_after_clock_change(
    database: Database, clock: FakeClock, wall_clock: WallClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.features.tidying.job.MINUTE_SECONDS", 0.02)
    schedule, jobs = create_schedule(database, clock), JobLog(database)

    async def noted(moment: datetime) -> None:
        async with asyncio.timeout(20):
            while await jobs.find_last_run(WEEKLY) != moment:
                pass

    tasks = BackgroundTasks()
    schedule.start(tasks)
    await noted(clock())
    for days in (-30, 7):
        wall_clock.forward(days=days)
        clock.forward(days=days)
        await noted(clock())
    await tasks.close()
