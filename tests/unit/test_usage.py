"""Tests of today's tokens and cost. A day begins at midnight in the installation's zone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from config.prices import Price, Rates
from memory.clock import now_text
from memory.runtime.usage import Quota, TokenUse, UsageLog, UsageTotal
from memory.store.database import Database
from tests.support.fakes import FakeClock


def create_use(prompt: int, completion: int = 0) -> TokenUse:
    return TokenUse("scripted", "turn", prompt, completion)


async def test_tokens_today_include_prompt_and_completion(database: Database, clock: FakeClock) -> None:
    log = UsageLog(database, clock, ZoneInfo("UTC"))
    assert await log.count_tokens_today() == 0
    await log.record(TokenUse("scripted", "turn", 1000, 50, cached_tokens=900, session_id="telegram:1"))
    await log.record(TokenUse("scripted", "summary", 200, 20))
    assert await log.count_tokens_today() == 1270


@pytest.mark.parametrize(
    ("zone", "before", "after"),
    [
        ("UTC", "2026-02-07T23:59:59", "2026-02-08T00:00:00"),
        ("Europe/Kyiv", "2026-02-07T21:59:59", "2026-02-07T22:00:00"),
        ("America/Los_Angeles", "2026-02-08T07:59:59", "2026-02-08T08:00:00"),
        ("Asia/Kathmandu", "2026-02-07T18:14:59", "2026-02-07T18:15:00"),
        # On this day the clocks go forward at midnight, so it begins at one o'clock.
        ("Africa/Cairo", "2026-04-23T21:59:59", "2026-04-23T22:00:00"),
    ],
)
async def test_tokens_today_restart_at_midnight_in_the_zone(
    database: Database, clock: FakeClock, zone: str, before: str, after: str
) -> None:
    log = UsageLog(database, clock, ZoneInfo(zone))
    clock.now = datetime.fromisoformat(before).replace(tzinfo=UTC)
    await log.record(create_use(100))
    assert await log.count_tokens_today() == 100
    clock.now = datetime.fromisoformat(after).replace(tzinfo=UTC)
    assert await log.count_tokens_today() == 0
    await log.record(create_use(7))
    clock.forward(hours=22)
    assert await log.count_tokens_today() == 7


async def test_day_with_a_repeated_first_hour_counts_both(database: Database, clock: FakeClock) -> None:
    log = UsageLog(database, clock, ZoneInfo("Atlantic/Azores"))  # On 2026-10-25 one o'clock becomes midnight.
    clock.now = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    await log.record(create_use(100))
    clock.forward(hours=1)
    assert await log.count_tokens_today() == 100


async def test_tokens_today_survive_a_restart(database: Database, clock: FakeClock) -> None:
    await UsageLog(database, clock, ZoneInfo("UTC")).record(create_use(100))
    assert await UsageLog(database, clock, ZoneInfo("UTC")).count_tokens_today() == 100


PRICE = Price((Rates(input=2, output=10, cached=0.5), Rates(input=4, output=20, cached=1, above=200_000)))


@pytest.mark.parametrize(
    ("prompt", "cached", "completion", "cost"),
    [
        (1_000, 0, 100, 0.003),
        (1_000, 1_000, 0, 0.0005),
        (200_000, 0, 0, 0.4),
        (200_001, 200_000, 1_000, 0.220004),
        (10, 50, 0, 0.000005),  # No provider can cache more than it received.
    ],
)
def test_cost_of_a_call_depends_on_length_and_cache(prompt: int, cached: int, completion: int, cost: float) -> None:
    assert PRICE.compute(prompt, completion, cached) == pytest.approx(cost)


def test_cached_tokens_cost_the_usual_price_if_unpriced() -> None:
    assert Price((Rates(input=2, output=10),)).compute(1_000, 0, 500) == pytest.approx(0.002)


async def test_cost_today_sums_priced_calls_and_names_other_models(database: Database, clock: FakeClock) -> None:
    log = UsageLog(database, clock, ZoneInfo("UTC"), {"dear": PRICE}.get)
    assert await log.sum_today() == UsageTotal(0, 0, priced=False, unpriced=())
    await log.record(TokenUse("dear", "turn", 1_000, 100))
    await log.record(TokenUse("other", "turn", 500, 50))
    await log.record(TokenUse("dear", "summary", 1_000, 100, cached_tokens=1_000))
    await log.record(TokenUse("other", "summary", 500, 50))
    spent = await log.sum_today()
    assert spent.cost == pytest.approx(0.0045)
    assert (spent.tokens, spent.priced, spent.unpriced) == (3_300, True, ("other",))


async def test_call_keeps_the_price_of_its_day(database: Database, clock: FakeClock) -> None:
    await UsageLog(database, clock, ZoneInfo("UTC"), {"dear": PRICE}.get).record(TokenUse("dear", "turn", 1_000, 0))
    spent = await UsageLog(database, clock, ZoneInfo("UTC")).sum_today()
    assert spent.cost == pytest.approx(0.002)


async def test_chat_day_follows_its_zone_and_includes_all_topics(database: Database, clock: FakeClock) -> None:
    zones = {"telegram:1": ZoneInfo("Asia/Tokyo"), "telegram:-2": ZoneInfo("America/Los_Angeles")}
    log = UsageLog(database, clock, ZoneInfo("UTC"), {"dear": PRICE}.get, Quota(tokens=100), zones.__getitem__)
    for moment in ("2026-02-07T14:59:59", "2026-02-07T15:00:01", "2026-02-08T07:59:59", "2026-02-08T08:00:01"):
        clock.now = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        for session in ("telegram:1", "telegram:-2:7", "telegram:-23"):
            await log.record(replace(create_use(60), session_id=session))
    assert (await log.sum_today("telegram:1")).tokens == 180  # Since 15:00 UTC of the day before.
    assert (await log.sum_today("telegram:-2")).tokens == 60  # Since 8:00 UTC.
    assert await log.has_used_up("telegram:1")
    assert not await log.has_used_up("telegram:-2:7")
    clock.now = datetime(2026, 2, 8, 15, 0, tzinfo=UTC)
    assert not await log.has_used_up("telegram:1")
    assert await log.list_chats_today() == ["telegram:1", "telegram:-2", "telegram:-23"]


async def test_cost_reported_by_provider_replaces_the_computed_one(database: Database, clock: FakeClock) -> None:
    log = UsageLog(database, clock, ZoneInfo("UTC"), {"dear": PRICE}.get, Quota(cost=0.5))
    for model in ("dear", "other"):
        told = TokenUse(model, "turn", 1_000, 100, session_id="telegram:1", cost_usd=0.25)
        assert log.compute_cost(told) == 0.25
        assert not await log.has_used_up("telegram:1")
        await log.record(told)
    assert await log.has_used_up("telegram:1")
    assert await log.sum_today("telegram:1") == UsageTotal(2_200, 0.5, priced=True, unpriced=())


async def test_reported_cost_of_zero_is_free(database: Database, clock: FakeClock) -> None:
    log = UsageLog(database, clock, ZoneInfo("UTC"), {"dear": PRICE}.get)
    await log.record(TokenUse("dear", "turn", 1_000, 100, cost_usd=0.0))
    assert await log.sum_today() == UsageTotal(1_100, 0.0, priced=True, unpriced=())


@pytest.mark.parametrize("nonsense", [-1.0, float("nan"), float("inf")])
async def test_invalid_reported_cost_leaves_the_computed_one(
    database: Database, clock: FakeClock, nonsense: float
) -> None:
    log = UsageLog(database, clock, ZoneInfo("UTC"), {"dear": PRICE}.get)
    await log.record(TokenUse("dear", "turn", 1_000, 100, cost_usd=nonsense))
    assert (await log.sum_today()).cost == pytest.approx(0.003)


async def test_usage_of_first_format_keeps_its_cost(tmp_path: Path, clock: FakeClock) -> None:
    old = await Database.open(tmp_path / "old.db", ())
    await old.write(
        "INSERT INTO usage (at, session_id, purpose, model, prompt_tokens, cached_tokens, completion_tokens, cost)"
        " VALUES (?, 'telegram:1', 'turn', 'dear', 1000, 0, 100, 0.75)",
        (now_text(clock),),
    )
    await old.close()
    new = await Database.open(tmp_path / "old.db")
    try:
        log = UsageLog(new, clock, ZoneInfo("UTC"))
        await log.record(TokenUse("dear", "turn", 1_000, 100, cost_usd=0.25))
        assert (await log.sum_today()).cost == pytest.approx(1.0)
    finally:
        await new.close()


async def test_money_quota_counts_priced_calls_only(database: Database, clock: FakeClock) -> None:
    log = UsageLog(database, clock, ZoneInfo("UTC"), {"dear": PRICE}.get, Quota(cost=0.01))
    await log.record(replace(create_use(1_000_000), session_id="telegram:1"))  # A model without a price.
    assert not await log.has_used_up("telegram:1")
    await log.record(TokenUse("dear", "turn", 1_000_000, 0, session_id="telegram:1"))
    assert await log.has_used_up("telegram:1")
