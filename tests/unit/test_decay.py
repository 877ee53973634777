"""Tests of decay: the score of a memory, and the strength that orders the store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.services import create_decay
from config.settings import Settings
from memory.clock import from_text, to_text
from memory.search.activation import set_half_life
from memory.store.database import Database
from memory.store.decay import MAX_REINFORCEMENTS, TYPE_WEIGHTS, Decay, compute_strength
from memory.store.entry import NewEntry
from memory.transfer.exporting import Exporter
from memory.transfer.importing import Importer
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.talk import NOON, Store

OWNER = "telegram:1"
STRENGTHS = "SELECT id, strength, reinforcement_count, last_reinforced_at FROM entries ORDER BY id"
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  # Hypothesis needs naive datetimes.
counts = st.integers(1, MAX_REINFORCEMENTS)


async def find_differing_ids(database: Database, half_life: float = 90) -> list[int]:
    """Return the ids of entries with a stored strength that differs from the computed one."""
    rows = await database.rows(STRENGTHS)
    return [
        row["id"]
        for row in rows
        if row["strength"] != compute_strength(row["reinforcement_count"], row["last_reinforced_at"], half_life)
    ]


@pytest.mark.parametrize(("days", "score"), [(0, 2.0), (90, 1.0), (180, 0.5), (45, 2 / 2**0.5)])
def test_score_halves_every_90_days(days: int, score: float) -> None:
    assert Decay().score("policy", 1, NOON - timedelta(days=days), NOON) == pytest.approx(score)


def test_score_grows_with_reinforcement_and_kind_weight() -> None:
    assert Decay().score("fact", 5, NOON, NOON) == 5
    assert [Decay().score(kind, 1, NOON, NOON) for kind in TYPE_WEIGHTS] == list(TYPE_WEIGHTS.values())
    assert Decay().score("recipe", 1, NOON, NOON) == 1


def test_future_timestamp_counts_as_now() -> None:
    assert Decay().score("fact", 1, NOON + timedelta(days=900), NOON) == 1


@pytest.mark.parametrize("count", [-5, 0, 1, 1_000, 1_000_000_000, 2**63 - 1])
def test_count_out_of_range_is_clamped(count: int) -> None:
    assert Decay().score("fact", count, NOON, NOON) == min(max(count, 1), MAX_REINFORCEMENTS)
    assert compute_strength(count, to_text(NOON), 90) == compute_strength(min(max(count, 1), 1_000), to_text(NOON), 90)


def test_most_used_memory_fades_too() -> None:
    assert Decay().score("fact", 10**9, NOON - timedelta(days=365 * 4), NOON) < Decay().archive_below


@given(counts, moments, counts, moments, st.floats(0, 36_500), st.sampled_from([1.0, 30.0, 90.0, 36_500.0]))
def test_stronger_memory_has_the_higher_score_at_any_time(
    count: int, last: datetime, other_count: int, other_last: datetime, days: float, half_life: float
) -> None:
    last, other_last = from_text(to_text(last)), from_text(to_text(other_last))
    decay, now = Decay(half_life_days=half_life), max(last, other_last) + timedelta(days=days)
    strength = compute_strength(count, to_text(last), half_life)
    other = compute_strength(other_count, to_text(other_last), half_life)
    if strength - other > 1e-6:
        score, less = decay.score("fact", count, last, now), decay.score("fact", other_count, other_last, now)
        assert score > less or score == less == 0  # The greater score may underflow too.


def test_settings_change_weights_half_life_and_bounds() -> None:
    decay = create_decay(
        Settings.model_validate(
            {
                "memory_type_weights": "preference=1.5, fact = 0.5",
                "memory_half_life_days": 10,
                "memory_threshold": 0.7,
                "memory_archive_below": 0.2,
            }
        )
    )
    assert decay.score("fact", 1, NOON - timedelta(days=10), NOON) == 0.25
    assert decay.get_weight("preference") == 1.5
    assert decay.get_weight("policy") == TYPE_WEIGHTS["policy"]
    assert (decay.threshold, decay.archive_below) == (0.7, 0.2)


async def test_huge_count_in_the_database_is_clamped(store: Store) -> None:
    added = await store.entries.add(OWNER, NewEntry("apple", kind="fact"))
    async with store.database.transaction() as connection:
        await connection.execute("UPDATE entries SET reinforcement_count = 1000000000")
    assert await store.database.value("SELECT strength FROM entries") == compute_strength(
        MAX_REINFORCEMENTS, to_text(added.last_reinforced_at), 90
    )


async def test_stored_strength_follows_every_write(start: OpenApp, clock: FakeClock, tmp_path: Path) -> None:
    async with start() as app:
        store = Store.create(app.database, clock)
        await store.entries.add("console:local", NewEntry("apple", name="one", kind="fact"))
        clock.forward(days=3)
        await store.entries.add("console:local", NewEntry("pear", name="two", kind="policy"))
        first = [row["strength"] for row in await app.database.rows(STRENGTHS)]
        assert first[0] < first[1]
        assert await find_differing_ids(app.database) == []
        async with app.database.transaction() as connection:
            await connection.execute("UPDATE entries SET reinforcement_count = 7 WHERE id = 1")
        assert await find_differing_ids(app.database) == []
        assert (await app.database.rows(STRENGTHS))[0]["strength"] > first[0]
        await store.entries.remove("console:local", "one")
        async with app.database.transaction() as connection:
            await connection.execute("UPDATE entries SET reinforcement_count = 9 WHERE id = 1")
    async with start(memory_half_life_days=30) as app:
        assert await find_differing_ids(app.database, 30) == []
        await Person(app).says("/undo")
        assert (await app.database.rows(STRENGTHS))[0]["reinforcement_count"] == 7
        assert await find_differing_ids(app.database, 30) == []
        await Exporter(app.database, tmp_path / "data" / "memory").export(tmp_path / "out")
    other = await Database.open(tmp_path / "other" / "mneme.db")
    await Importer(other, tmp_path / "other" / "memory").run(tmp_path / "out")
    assert len(await other.rows(STRENGTHS)) == 2
    assert await find_differing_ids(other) == []
    await other.close()


async def test_strengths_are_recomputed_only_after_a_half_life_change(store: Store) -> None:
    await store.entries.add(OWNER, NewEntry("apple", kind="fact"))
    before = await store.database.value("SELECT total_changes()")
    await set_half_life(store.database, 90)
    assert await store.database.value("SELECT total_changes()") == before
    await set_half_life(store.database, 45)
    assert await find_differing_ids(store.database, 45) == []
