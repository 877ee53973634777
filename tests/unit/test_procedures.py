"""Tests of workflows: named steps for a task, and the record of their runs."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from memory.errors import MemoryRefused
from memory.facts.learning import MAX_STEPS, Learning, Procedures
from memory.ledger.undo import Undo
from memory.search.search import Search
from memory.store.database import Database
from memory.store.entry import MAX_RECORDED_RUNS, Author, Kind, NewEntry
from tests.support.fakes import FakeClock
from tests.support.talk import Store, create_ledger

ANN, BEN = "telegram:1", "telegram:2"
UTC_ZONE = ZoneInfo("UTC")
STEPS = ["run the tests", "tag", "push"]


@pytest.fixture
def procedures(database: Database, clock: FakeClock) -> Procedures:
    return Procedures(create_ledger(database, clock))


async def test_workflow_is_found_by_its_task_and_steps(procedures: Procedures, database: Database) -> None:
    saved = await procedures.save(
        ANN, " deploy ", " release the site ", [" run  the\ntests ", "", "push"], Author.MODEL
    )
    assert (saved.name, saved.kind, saved.priority, saved.author) == ("deploy", Kind.WORKFLOW, "high", "model")
    assert saved.content == "release the site: 1. run the tests 2. push"
    assert saved.steps == ("run the tests", "push")
    for word in ("release", "tests", "deploy"):
        assert [hit.id for hit in await Search(database).find(word, ANN)] == [saved.id]
    assert (await procedures.save(ANN, "other", "", ["push"], Author.MODEL)).content == "1. push"


async def test_new_steps_keep_the_record_and_restore_the_workflow(
    procedures: Procedures, database: Database, clock: FakeClock
) -> None:
    first = await procedures.save(ANN, "deploy", "release", STEPS, Author.MODEL)
    for success in (True, True, False):
        await procedures.record(ANN, "deploy", Author.MODEL, success=success)
    async with database.transaction() as connection:
        await connection.execute("UPDATE entries SET archived_at = created_at")
    clock.forward(days=50)
    again = await procedures.save(ANN, "Deploy", "release", ["ask Ann"], Author.USER)
    assert (again.id, again.name, again.steps) == (first.id, "deploy", ("ask Ann",))
    assert (again.success_count, again.failure_count, again.reinforcement_count) == (2, 1, 4)
    assert (again.last_reinforced_at, again.archived_at) == (clock(), None)
    found = await Search(database).find("tests Ann", ANN)
    assert [hit.content for hit in found] == ["release: 1. ask Ann"]


async def test_workflow_is_found_by_its_alias(procedures: Procedures, store: Store) -> None:
    saved = await procedures.save(ANN, "deploy", "", STEPS, Author.MODEL)
    await store.entries.alias(ANN, "deploy", "release")
    assert (await procedures.record(ANN, "release", Author.MODEL, success=True)).id == saved.id
    assert (await procedures.save(ANN, "release", "", ["push"], Author.MODEL)).id == saved.id


async def test_each_change_can_be_undone(procedures: Procedures, store: Store, undo: Undo, database: Database) -> None:
    await procedures.save(ANN, "deploy", "", STEPS, Author.MODEL)
    await procedures.record(ANN, "deploy", Author.MODEL, success=True)
    recorded = await store.entries.get(ANN, "deploy")
    await procedures.save(ANN, "deploy", "", ["push"], Author.MODEL)
    assert await undo.undo(ANN)
    assert await store.entries.get(ANN, "deploy") == recorded
    assert [hit.id for hit in await Search(database).find("tests", ANN)] == [recorded.id]
    undone = await undo.undo(ANN)
    assert undone is not None
    assert (undone.operation, undone.names) == ("record", ("deploy",))
    entry = await store.entries.get(ANN, "deploy")
    assert (entry.success_count, entry.reinforcement_count) == (0, 1)
    assert await undo.undo(ANN)
    assert await store.entries.list(ANN) == []
    assert await undo.undo(ANN) is None


@pytest.mark.parametrize(
    ("name", "steps", "says"),
    [
        ("deploy", [], "needs steps"),
        ("deploy", [" ", "\n"], "needs steps"),
        ("deploy", ["x"] * (MAX_STEPS + 1), "at most 50 steps, and this one has 51: split it"),
        ("deploy", ["x" * 20_001], "at most 20,000 characters"),
        ("deploy", ["log in, the password is hunter2!x"], "looks like a password"),
        (" ", STEPS, "A name can't be empty"),
        ("x" * 121, STEPS, "can't be longer than 120 characters"),
        ("shopping", STEPS, "The name 'shopping' is taken by a note"),
    ],
)
async def test_invalid_workflow_is_refused_unchanged(
    procedures: Procedures, store: Store, name: str, steps: list[str], says: str
) -> None:
    await store.entries.add(ANN, NewEntry("milk", name="shopping"))
    with pytest.raises(MemoryRefused, match=says):
        await procedures.save(ANN, name, "", steps, Author.MODEL)
    assert [entry.content for entry in await store.entries.list(ANN)] == ["milk"]


async def test_only_an_own_workflow_can_be_recorded(procedures: Procedures, store: Store) -> None:
    await procedures.save(ANN, "deploy", "", STEPS, Author.MODEL)
    await store.entries.add(ANN, NewEntry("milk", name="shopping"))
    for owner, name, says in (
        (ANN, "deplyo", "I don't remember anything called 'deplyo': did you mean deploy?"),
        (ANN, "shopping", "shopping is a note and no workflow"),
        (BEN, "deploy", "I don't remember anything called 'deploy'"),
    ):
        with pytest.raises(MemoryRefused, match=says):
            await procedures.record(owner, name, Author.MODEL, success=True)
    assert (await store.entries.get(ANN, "deploy")).success_count == 0


async def test_superseded_workflow_is_neither_saved_nor_recorded(
    procedures: Procedures, database: Database, clock: FakeClock
) -> None:
    await procedures.save(ANN, "deploy", "", STEPS, Author.MODEL)
    learning = Learning(database, Search(database), create_ledger(database, clock))
    await learning.learn(ANN, NewEntry("just push", kind=Kind.WORKFLOW), "deploy")
    with pytest.raises(MemoryRefused, match="was superseded: use the workflow that took its place"):
        await procedures.save(ANN, "deploy until 2026-02-07", "", STEPS, Author.MODEL)
    with pytest.raises(MemoryRefused, match="was superseded"):
        await procedures.record(ANN, "deploy until 2026-02-07", Author.MODEL, success=True)
    assert (await procedures.record(ANN, "deploy", Author.MODEL, success=True)).content == "just push"


async def test_run_counts_are_limited(procedures: Procedures, database: Database) -> None:
    await procedures.save(ANN, "deploy", "", STEPS, Author.MODEL)
    async with database.transaction() as connection:
        await connection.execute("UPDATE entries SET success_count = ?, failure_count = ?", (2**63 - 1, 2**63 - 1))
    await procedures.record(ANN, "deploy", Author.MODEL, success=True)
    entry = await procedures.record(ANN, "deploy", Author.MODEL, success=False)
    assert (entry.success_count, entry.failure_count) == (MAX_RECORDED_RUNS, MAX_RECORDED_RUNS)
