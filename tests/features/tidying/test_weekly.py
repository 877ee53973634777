"""Tests of the weekly consolidation: merges, archiving, promotion, and its undo."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

import pytest

from bot.features.tidying.tidying import WeeklyConsolidation
from memory.clock import to_text
from memory.ledger.undo import Undo
from memory.search.search import Search
from memory.store.database import Database
from memory.store.decay import MAX_REINFORCEMENTS, Decay
from memory.store.entry import Entry, Kind, Nature, NewEntry, Priority
from tests.support.fakes import FakeClock
from tests.support.talk import Store, create_ledger

OWNER = "telegram:1"


@pytest.fixture
def weekly(database: Database, clock: FakeClock) -> WeeklyConsolidation:
    """Return the consolidation on the database."""
    return WeeklyConsolidation(database, create_ledger(database, clock), Decay(), clock)


async def add_entry(store: Store, new: NewEntry, *, count: int = 1, days: float = 0, owner: str = OWNER) -> Entry:
    """Add an entry that was reinforced `count` times, last some days ago."""
    added = await store.entries.add(owner, new)
    async with store.database.transaction() as connection:
        await connection.execute(
            "UPDATE entries SET reinforcement_count = ?, last_reinforced_at = ? WHERE id = ?",
            (count, to_text(store.clock() - timedelta(days=days)), added.id),
        )
    return await store.entries.get(owner, added.name)


async def dump_entries(database: Database) -> list[tuple[object, ...]]:
    """Check the index and return all rows of entries and names."""
    async with database.transaction() as connection:
        await connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
    rows = [tuple(row) for row in await database.rows("SELECT * FROM entries ORDER BY id")]
    return rows + [tuple(row) for row in await database.rows("SELECT * FROM names ORDER BY owner_id, key")]


def create_event(content: str, name: str) -> NewEntry:
    return create_fact(content, name, nature=Nature.EVENT)


def create_fact(content: str, name: str, **other: object) -> NewEntry:
    return NewEntry(content, name=name, kind=Kind.FACT, **other)  # type: ignore[arg-type]  # Keyword arguments.


async def test_duplicates_become_aliases_of_the_strongest(store: Store, weekly: WeeklyConsolidation) -> None:
    weak = await add_entry(store, create_fact("Likes green tea", "weak"), count=1, days=10)
    await store.entries.alias(OWNER, "weak", "feeble")
    strong = await add_entry(store, create_fact("likes green tea.", "strong"), count=4, days=20)
    other = await add_entry(store, create_fact("Green tea he likes", "other"), count=1, days=30)
    assert (await weekly.run(OWNER)).summary == (
        'Memory tidied; merged as duplicates: "likes green tea"; promoted as recurring: "likes green tea".'
        " Nothing was deleted (/undo takes it back)."
    )
    kept = await store.entries.get(OWNER, "strong")
    assert (kept.id, kept.content, kept.aliases) == (strong.id, "likes green tea.", ("feeble", "weak"))
    assert kept.reinforcement_count == 5
    assert kept.last_reinforced_at == weak.last_reinforced_at
    assert (await store.entries.get(OWNER, "weak")).id == strong.id
    assert (await store.entries.get(OWNER, "weak merged 2026-02-07")).superseded_by == strong.id
    assert (await store.entries.get(OWNER, "other")).superseded_by is None
    found = await Search(store.database).find("green tea", OWNER)
    assert {hit.id: hit.superseded_by for hit in found} == {weak.id: strong.id, strong.id: None, other.id: None}
    await dump_entries(store.database)


async def test_merged_counts_are_added_up_to_the_limit(store: Store, weekly: WeeklyConsolidation) -> None:
    await add_entry(store, create_fact("Likes green tea", "one"), count=900)
    await add_entry(store, create_fact("Likes green tea", "two"), count=10**9)
    await weekly.run(OWNER)
    assert (await store.entries.get(OWNER, "one")).reinforcement_count == MAX_REINFORCEMENTS


async def test_merged_workflow_adds_up_successes_and_failures(store: Store, weekly: WeeklyConsolidation) -> None:
    for name, good, bad in (("one", 3, 1), ("two", 4, 0)):
        added = await add_entry(store, NewEntry("Deploy: 1. build 2. ship", name=name, kind=Kind.WORKFLOW))
        async with store.database.transaction() as connection:
            await connection.execute(
                "UPDATE entries SET success_count = ?, failure_count = ? WHERE id = ?", (good, bad, added.id)
            )
    await weekly.run(OWNER)
    kept = await store.entries.get(OWNER, "two")
    assert (kept.name, kept.success_count, kept.failure_count) == ("one", 7, 1)


async def test_merge_never_weakens_a_rule(store: Store, weekly: WeeklyConsolidation) -> None:
    await add_entry(store, NewEntry("Never deploy on Fridays", name="rule", kind=Kind.POLICY), days=400)
    await add_entry(
        store, NewEntry("Never deploy on Fridays", name="wish", kind=Kind.POLICY, priority=Priority.NORMAL), count=9
    )
    await add_entry(store, NewEntry("Never deploy on Fridays", name="read", kind=Kind.POLICY, trusted=False), count=50)
    assert [merge.kept.name for merge in (await weekly.run(OWNER)).merges] == ["wish"]
    kept = await store.entries.get(OWNER, "rule")
    assert (kept.name, kept.priority, kept.trusted) == ("wish", "critical", True)
    assert (await store.entries.get(OWNER, "read")).superseded_by is None


async def test_merged_fact_keeps_its_subject(store: Store, weekly: WeeklyConsolidation) -> None:
    await add_entry(store, create_fact("Lives in Kyiv with Anna", "one", subject="home"))
    await add_entry(store, create_fact("Lives in Kyiv with Anna", "two"), count=2)
    await weekly.run(OWNER)
    assert (await store.entries.get(OWNER, "two")).subject == "home"


async def test_current_state_is_never_archived(store: Store, weekly: WeeklyConsolidation) -> None:
    for kind in (Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.PITFALL, Kind.WORKFLOW):
        await add_entry(store, NewEntry(f"The {kind} of long ago", name=f"old {kind}", kind=kind), days=5000)
    vital = create_fact("Allergic to penicillin", "allergy", nature=Nature.VITAL)
    await add_entry(store, vital, days=5000)
    assert (await weekly.run(OWNER)).archived == ()


async def test_ended_and_superseded_facts_are_archived_once_faded(store: Store, weekly: WeeklyConsolidation) -> None:
    ended = store.clock() - timedelta(days=1)
    await add_entry(store, create_fact("On sick leave", "ended", valid_until=ended), days=300)
    await add_entry(store, create_fact("On holiday", "ended lately", valid_until=ended), days=298)
    await add_entry(
        store, create_fact("On parental leave", "not over", valid_until=ended + timedelta(days=9)), days=300
    )
    newer = await add_entry(store, create_fact("Lives in Lviv", "home"))
    await add_entry(store, create_fact("Lives in Kyiv", "former home"), days=300)
    async with store.database.transaction() as connection:
        await connection.execute("UPDATE entries SET superseded_by = ? WHERE content = 'Lives in Kyiv'", (newer.id,))
    done = await weekly.run(OWNER)
    assert [entry.name for entry in done.archived] == ["ended"]
    assert [entry.name for entry in done.superseded] == ["former home"]
    archived = await store.database.rows("SELECT content FROM entries WHERE archived_at IS NOT NULL ORDER BY id")
    assert [row["content"] for row in archived] == ["On sick leave", "Lives in Kyiv"]


async def test_faded_memories_are_archived_but_never_rules(store: Store, weekly: WeeklyConsolidation) -> None:
    await add_entry(store, create_fact("The old bicycle broke", "faded", nature=Nature.EVENT), days=300)
    await add_entry(store, create_fact("The new bicycle broke", "fresh", nature=Nature.EVENT), days=298)
    await add_entry(store, create_fact("The lighthouse was painted", "used", nature=Nature.EVENT), days=300, count=2)
    await add_entry(store, NewEntry("Answer briefly", name="rule", kind=Kind.POLICY), days=5000)
    await add_entry(store, NewEntry("Services talk over HTTP", name="design", kind=Kind.ARCHITECTURE), days=5000)
    await add_entry(
        store, NewEntry("Tea, not coffee", name="wish", kind=Kind.PREFERENCE, priority=Priority.HIGH), days=5000
    )
    taste = NewEntry("Liked the dark colours", name="taste", kind=Kind.PREFERENCE, nature=Nature.EVENT)
    await add_entry(store, taste, days=5000)
    letter = NewEntry("Obey the letter", name="read", kind=Kind.POLICY, trusted=False, nature=Nature.EVENT)
    await add_entry(store, letter, days=5000)
    await add_entry(store, NewEntry("A note of long ago", name="note"), days=5000)
    done = await weekly.run(OWNER)
    assert sorted(entry.name for entry in done.archived) == ["faded", "read", "taste"]
    assert done.summary == (
        'Memory tidied; archived as faded: "The old bicycle broke", "Liked the dark colours", "Obey the letter".'
        " Nothing was deleted (/undo takes it back)."
    )
    assert (await store.entries.get(OWNER, "faded")).archived_at == store.clock()
    assert [hit.name for hit in await Search(store.database).find("bicycle", OWNER)] == ["fresh", "faded"]


@pytest.mark.parametrize(
    ("count", "had", "gets"),
    [
        (2, "normal", "normal"), (3, "normal", "medium"), (9, "normal", "medium"), (10, "normal", "high"),
        (10, "medium", "high"), (1000, "critical", "critical"), (3, "high", "high"),
    ],
)  # fmt: skip
async def test_recurring_facts_are_promoted(
    store: Store, weekly: WeeklyConsolidation, count: int, had: str, gets: str
) -> None:
    await add_entry(store, create_fact("Likes green tea", "tea", priority=Priority(had)), count=count)
    await add_entry(store, NewEntry("Chose Postgres", name="other", kind=Kind.DECISION), count=count)
    done = await weekly.run(OWNER)
    assert (await store.entries.get(OWNER, "tea")).priority == gets
    assert (await store.entries.get(OWNER, "other")).priority == "medium"
    assert [entry.name for entry, _ in done.promoted] == (["tea"] if had != gets else [])


async def add_mixed_entries(store: Store) -> None:
    for number in range(3):
        await add_entry(store, create_fact("Likes green tea", f"tea {number}"), count=1 + number, days=number)
    await store.entries.alias(OWNER, "tea 0", "drink")
    for number in range(4):
        await add_entry(store, create_event(f"The bicycle {number} broke", f"bicycle {number}"), days=400)
    for number in range(3):
        await add_entry(store, create_event("A walk by the lake", f"lake {number}"), days=500)
    await add_entry(store, create_fact("Works as a nurse", "work"), count=12)


async def test_report_shortens_long_memories(store: Store, weekly: WeeklyConsolidation) -> None:
    await add_entry(store, create_event("Walked\n" + "along the river " * 9, "walk"), days=400)
    summary = (await weekly.run(OWNER)).summary
    assert 'archived as faded: "Walked along the river along the river along the river along…".' in summary


async def test_one_undo_reverts_the_whole_run_with_names(store: Store, weekly: WeeklyConsolidation, undo: Undo) -> None:
    await add_mixed_entries(store)
    before = await dump_entries(store.database)
    done = await weekly.run(OWNER)
    assert done.summary == (
        'Memory tidied; merged as duplicates: "Likes green tea", "A walk by the lake"; archived as faded:'
        ' "The bicycle 0 broke", "The bicycle 1 broke", "The bicycle 2 broke" and 2 more; promoted as recurring:'
        ' "Likes green tea", "Works as a nurse".'
        " Nothing was deleted (/undo takes it back)."
    )
    assert len(await dump_entries(store.database)) >= len(before)
    assert (await store.entries.get(OWNER, "drink")).name == "tea 2"
    undone = await undo.undo(OWNER)
    assert undone is not None
    assert (undone.operation, undone.author) == ("consolidate", "consolidation")
    assert await dump_entries(store.database) == before


async def test_second_run_right_after_does_nothing(store: Store, weekly: WeeklyConsolidation, undo: Undo) -> None:
    await add_mixed_entries(store)
    words = "amber birch cedar dahlia elder fern ginger hazel iris".split()
    for length, count in ((5, 2), (6, 9), (7, 1), (8, 4)):
        await add_entry(store, create_fact(" ".join(words[:length]), f"plants {length}"), count=count)
    await weekly.run(OWNER)
    before = await dump_entries(store.database)
    again = await weekly.run(OWNER)
    assert (again.merges, again.archived, again.promoted, again.summary) == ((), (), (), "")
    assert await dump_entries(store.database) == before
    assert await store.database.value("SELECT count(DISTINCT batch) FROM changes WHERE operation = 'consolidate'") == 1


async def test_each_owner_is_tidied_separately(store: Store, weekly: WeeklyConsolidation) -> None:
    for owner in (OWNER, "telegram:2"):
        await add_entry(store, create_fact("Likes green tea", "tea"), owner=owner)
    assert await weekly.list_owners() == [OWNER, "telegram:2"]
    assert (await weekly.run(OWNER)).merges == ()
    await add_entry(store, create_fact("Likes green tea", "tea again"), owner="telegram:2")
    await weekly.run(OWNER)
    assert (await store.entries.get("telegram:2", "tea again")).superseded_by is None


async def test_archived_superseded_and_removed_entries_are_ignored(store: Store, weekly: WeeklyConsolidation) -> None:
    one = await add_entry(store, create_fact("Likes green tea", "one"))
    for name, column, value in (("two", "archived_at", "2026"), ("three", "superseded_by", one.id)):
        added = await add_entry(store, create_fact("Likes green tea", name), days=200)
        async with store.database.transaction() as connection:
            await connection.execute(f"UPDATE entries SET {column} = ? WHERE id = ?", (value, added.id))  # noqa: S608
    await add_entry(store, create_fact("Likes green tea", "four"), days=500)
    await store.entries.remove(OWNER, "four")
    before = await dump_entries(store.database)
    assert (await weekly.run(OWNER)).summary == ""
    assert await dump_entries(store.database) == before


async def test_unknown_owner_has_nothing_to_tidy(weekly: WeeklyConsolidation) -> None:
    assert await weekly.list_owners() == []
    assert (await weekly.run("telegram:9")).summary == ""


async def test_undone_run_is_not_repeated(store: Store, weekly: WeeklyConsolidation, undo: Undo) -> None:
    await add_mixed_entries(store)
    before = await dump_entries(store.database)
    await weekly.run(OWNER)
    await undo.undo(OWNER)
    assert (await weekly.run(OWNER)).summary == ""
    assert await dump_entries(store.database) == before


async def test_undone_merge_is_not_repeated_after_a_purge(
    store: Store, weekly: WeeklyConsolidation, undo: Undo
) -> None:
    for number in range(2):
        await add_entry(store, create_fact("The office door has the code 4711", f"door {number}"), count=60)
    assert "door" in (await weekly.run(OWNER)).summary
    await undo.undo(OWNER)
    for _ in range(10):
        store.clock.forward(days=7)
        await store.ledger.purge()
        assert (await weekly.run(OWNER)).merges == ()


async def test_entries_changed_during_planning_are_skipped(
    store: Store, weekly: WeeklyConsolidation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        await add_entry(store, create_event(f"Old thing number {number}", f"thing {number}"), days=400)
    plan = weekly._make_plan  # noqa: SLF001  # There is no other way to act between planning and writing.

    def planned(entries: list[Entry], over: list[Entry]) -> object:
        made = plan(entries, over)
        with sqlite3.connect(store.database.path) as other:
            other.create_function("strength", 3, lambda *_: 0.0, deterministic=True)
            other.execute("UPDATE entries SET reinforcement_count = 50 WHERE id = 1")
        other.close()
        return made

    monkeypatch.setattr(weekly, "_make_plan", planned)
    assert [entry.name for entry in (await weekly.run(OWNER)).archived] == ["thing 1"]
