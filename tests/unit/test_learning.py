"""Tests of typed memories: new ones are added, known ones reinforced, corrected ones superseded."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.kernel import App
from memory.errors import MemoryRefused
from memory.facts.learning import Learning
from memory.ledger.undo import Undo
from memory.search.search import Search
from memory.store.database import Database
from memory.store.decay import MAX_REINFORCEMENTS
from memory.store.entry import Author, Entry, Kind, NewEntry, Priority
from memory.store.reinforcement import Reinforcement
from memory.transfer.exporting import Exporter
from memory.transfer.importing import Importer
from tests.support.fakes import FakeClock, Person
from tests.support.talk import Store, create_ledger

ANN, BEN = "telegram:1", "telegram:2"
UTC_ZONE = ZoneInfo("UTC")
STRENGTHS = (
    "SELECT count(*) FROM entries WHERE abs(strength - strength(reinforcement_count, last_reinforced_at, 90)) > 1e-9"
)


@pytest.fixture
def learning(database: Database, clock: FakeClock) -> Learning:
    return Learning(database, Search(database), create_ledger(database, clock))


async def learn(learning: Learning, content: str, kind: Kind = Kind.FACT, owner: str = ANN) -> Entry:
    return (await learning.learn(owner, NewEntry(content, kind=kind, stem=kind))).entry


async def count_rows(database: Database) -> int:
    return int(await database.value("SELECT (SELECT count(*) FROM entries) + (SELECT count(*) FROM changes)"))


async def current_contents(database: Database) -> set[str]:
    found = await database.rows("SELECT content FROM entries WHERE superseded_by IS NULL AND deleted_at IS NULL")
    return {row["content"] for row in found}


@pytest.mark.parametrize(
    ("kind", "priority"),
    [
        (Kind.POLICY, "critical"),
        (Kind.WORKFLOW, "high"),
        (Kind.PITFALL, "high"),
        (Kind.ARCHITECTURE, "high"),
        (Kind.DECISION, "medium"),
        (Kind.PREFERENCE, "medium"),
        (Kind.FACT, "normal"),
    ],
)
async def test_each_kind_has_its_default_priority(learning: Learning, kind: Kind, priority: str) -> None:
    assert (await learn(learning, "Tests run before a release", kind)).priority == priority
    for given in Priority:
        new = NewEntry(f"Something else of {given} importance", kind=kind, priority=given)
        assert (await learning.learn(ANN, new)).entry.priority == given


@pytest.mark.parametrize("again", ["The user likes tea.", "the user LIKES tea", "The user  likes tea!"])
async def test_known_memory_is_reinforced(learning: Learning, database: Database, clock: FakeClock, again: str) -> None:
    known = await learn(learning, "The user likes tea.", Kind.PREFERENCE)
    before = await count_rows(database)
    clock.forward(days=10)
    learned = await learning.learn(ANN, NewEntry(again, kind=Kind.PREFERENCE))
    assert learned.known
    assert learned.entry.id == known.id
    assert (learned.entry.reinforcement_count, learned.entry.last_reinforced_at) == (2, clock())
    assert await count_rows(database) == before
    assert await database.value(STRENGTHS) == 0


async def test_same_text_of_another_kind_or_scope_is_separate(learning: Learning, database: Database) -> None:
    said = "Imports run one way"
    for kind, scope in ((Kind.FACT, None), (Kind.POLICY, None), (Kind.POLICY, "src/**"), (Kind.POLICY, "docs/**")):
        assert not (await learning.learn(ANN, NewEntry(said, kind=kind, scope=scope))).known
        assert (await learning.learn(ANN, NewEntry(said, kind=kind, scope=scope))).known
    assert await database.value("SELECT count(*) FROM entries") == 4


async def test_reinforcement_is_not_undone(learning: Learning, store: Store, undo: Undo) -> None:
    await learn(learning, "The user likes tea.")
    await learn(learning, "The user likes tea.")
    assert await undo.undo(ANN)
    assert await undo.undo(ANN) is None
    assert await store.entries.list(ANN) == []


async def test_concurrent_equal_memories_are_stored_once(learning: Learning, database: Database) -> None:
    await asyncio.gather(*(learn(learning, "The user likes tea.") for _ in range(5)))
    assert await database.value("SELECT count(*), reinforcement_count FROM entries") == 1
    assert await database.value("SELECT reinforcement_count FROM entries") == 5


async def test_replacement_keeps_names_subject_scope_and_both_dates(
    learning: Learning, store: Store, clock: FakeClock
) -> None:
    new = NewEntry("We deploy on Fridays", name="deploy day", kind=Kind.POLICY, scope="deploy/**", subject="day")
    former = (await learning.learn(ANN, new)).entry
    await store.entries.alias(ANN, "deploy day", "release day")
    await store.entries.alias(ANN, "deploy day", "deploy day until 2026-02-17")
    clock.forward(days=10)
    learned = await learning.learn(ANN, NewEntry("We deploy on Mondays", kind=Kind.POLICY), "release day")
    assert learned.superseded is not None
    assert (learned.known, learned.superseded.id) == (False, former.id)
    newer = await store.entries.get(ANN, "deploy day")
    assert (newer.content, newer.subject, newer.scope) == ("We deploy on Mondays", "day", "deploy/**")
    assert set(newer.aliases) == {"release day", "deploy day until 2026-02-17"}
    old = await store.entries.get(ANN, "deploy day until 2026-02-17-2")
    assert (old.id, old.superseded_by, old.content) == (former.id, newer.id, "We deploy on Fridays")
    assert (old.valid_from, newer.valid_from) == (former.valid_from, clock())


async def test_one_undo_reverts_a_replacement_completely(learning: Learning, store: Store, undo: Undo) -> None:
    await learn(learning, "We deploy on Fridays")
    await store.entries.alias(ANN, "fact-deploy-fridays", "release day")
    before = await store.entries.list(ANN)
    await learning.learn(ANN, NewEntry("We deploy on Mondays", kind=Kind.FACT), "release day")
    assert await undo.undo(ANN)
    assert await store.entries.list(ANN) == before
    assert await store.database.value(STRENGTHS) == 0


async def test_known_memory_that_replaces_another_is_separated_by_undo(
    learning: Learning, store: Store, undo: Undo, database: Database
) -> None:
    new = NewEntry("The user lives in Kyiv.", name="home", kind=Kind.FACT, subject="home")
    kyiv = (await learning.learn(ANN, new)).entry
    lviv = await learn(learning, "The user lives in Lviv.")
    before = await store.entries.list(ANN)
    learned = await learning.learn(ANN, NewEntry("The user lives in Lviv", kind=Kind.FACT), "home")
    assert learned.known
    assert learned.superseded is not None
    assert (learned.entry.id, learned.superseded.id, learned.entry.subject) == (lviv.id, kyiv.id, "home")
    assert (await store.entries.get(ANN, "home")).id == lviv.id
    assert await current_contents(database) == {"The user lives in Lviv."}
    assert await undo.undo(ANN)
    assert await store.entries.list(ANN) == before


async def test_memory_that_replaces_itself_is_only_reinforced(learning: Learning, database: Database) -> None:
    home = await learn(learning, "The user lives in Kyiv.")
    learned = await learning.learn(ANN, NewEntry("The user lives in Kyiv", kind=Kind.FACT), home.name)
    assert (learned.known, learned.superseded, learned.entry.id) == (True, None, home.id)
    assert await database.value("SELECT count(*) FROM changes") == 1


async def test_impossible_replacement_is_refused_without_a_change(
    learning: Learning, store: Store, database: Database
) -> None:
    home = await learn(learning, "The user lives in Kyiv.")
    await learning.learn(ANN, NewEntry("The user lives in Lviv.", kind=Kind.FACT), home.name)
    await store.entries.add(ANN, NewEntry("milk", name="shopping"))
    archive = await store.archive(ANN, "They talked of boats.")
    before = await count_rows(database)
    for name, says in (
        (f"{home.name} until 2026-02-07", "was already replaced"),
        ("shopping", "is a note, which no memory replaces"),
        (archive.name, "is an archive, which no memory replaces"),
        ("shoping", "I don't remember anything called 'shoping': did you mean shopping"),
    ):
        with pytest.raises(MemoryRefused, match=says):
            await learning.learn(ANN, NewEntry("The user lives in Odesa.", kind=Kind.FACT), name)
    assert await count_rows(database) == before


@pytest.mark.parametrize(
    ("new", "says"),
    [
        (NewEntry("the password is hunter2!x"), "looks like a password"),
        (NewEntry("wifi", tags=("the password is hunter2!x",)), "looks like a password"),
        (NewEntry("wifi", scope="the password is hunter2!x"), "looks like a password"),
        (NewEntry("wifi", name="the password is hunter2!x"), "looks like a password"),
        (NewEntry(" \n\x00"), "I can't remember an empty text"),
        (NewEntry("x" * 20_001), "at most 20,000 characters"),
        (NewEntry("wifi", scope="src/[a-z"), "isn't a path pattern"),
        (NewEntry("wifi", scope="x" * 201), "at most 200 characters"),
    ],
)
async def test_invalid_memory_is_refused_without_a_change(
    learning: Learning, database: Database, new: NewEntry, says: str
) -> None:
    with pytest.raises(MemoryRefused, match=says):
        await learning.learn(ANN, new)
    assert await database.value("SELECT (SELECT count(*) FROM entries) + (SELECT count(*) FROM owners)") == 0


async def test_learning_is_separate_for_each_owner(learning: Learning, store: Store) -> None:
    mine = await learn(learning, "The user lives in Kyiv.")
    theirs = await learning.learn(BEN, NewEntry("The user lives in Kyiv.", kind=Kind.FACT))
    assert not theirs.known
    assert await learning.reinforce_known("telegram:3", "The user lives in Kyiv.") is None
    with pytest.raises(MemoryRefused, match="I don't remember anything called"):
        await learning.learn("telegram:3", NewEntry("x y", kind=Kind.FACT), mine.name)
    assert (await store.entries.get(ANN, mine.name)).reinforcement_count == 1


@pytest.mark.parametrize("written", [MAX_REINFORCEMENTS - 1, MAX_REINFORCEMENTS, 2**62, 2**63 - 1, -5, 0])
async def test_reinforcement_count_is_limited_also_for_edited_values(
    learning: Learning, database: Database, written: int
) -> None:
    known = await learn(learning, "The user likes tea.")
    async with database.transaction() as connection:
        await connection.execute("UPDATE entries SET reinforcement_count = ?", (written,))
    reinforcement = Reinforcement(database)
    for _ in range(3):
        await reinforcement.count_recall([known.id])
        await learn(learning, "The user likes tea.")
    count = await database.value("SELECT reinforcement_count FROM entries")
    assert count == min(MAX_REINFORCEMENTS, written + 6)
    assert await database.value("SELECT typeof(reinforcement_count) FROM entries") == "integer"
    assert await database.value(STRENGTHS) == 0


async def test_recall_of_missing_entries_changes_nothing(learning: Learning, database: Database) -> None:
    await learn(learning, "The user likes tea.")
    await Reinforcement(database).count_recall([])
    await Reinforcement(database).count_recall([999])
    assert await database.value("SELECT reinforcement_count FROM entries") == 1


async def test_removal_and_undo_keep_the_strength(
    learning: Learning, store: Store, undo: Undo, database: Database, clock: FakeClock
) -> None:
    known = await learn(learning, "The user likes tea.")
    clock.forward(days=45)
    await learn(learning, "The user likes tea.")
    before = await database.value("SELECT strength FROM entries")
    await store.entries.remove(ANN, known.name)
    await undo.undo(ANN)
    assert await database.value("SELECT strength FROM entries") == before
    assert await database.value(STRENGTHS) == 0


async def test_import_keeps_the_strengths_of_the_export(
    learning: Learning, database: Database, clock: FakeClock, tmp_path: Path
) -> None:
    from memory.store.database import Database as Opened

    home = await learn(learning, "The user lives in Kyiv.")
    clock.forward(days=45)
    await learn(learning, "The user likes tea.")
    await learning.learn(ANN, NewEntry("The user lives in Lviv.", kind=Kind.FACT), home.name)
    strengths = "SELECT id, strength, superseded_by FROM entries ORDER BY id"
    before = [tuple(row) for row in await database.rows(strengths)]
    await Exporter(database, tmp_path / "memory").export(tmp_path / "export")
    other = await Opened.open(tmp_path / "other" / "mneme.db")
    try:
        await Importer(other, tmp_path / "other" / "memory").run(tmp_path / "export")
        assert [tuple(row) for row in await other.rows(strengths)] == before
        assert await other.value(STRENGTHS) == 0
    finally:
        await other.close()


async def test_recall_command_reinforces_nothing(app: App, person: Person) -> None:
    await person.says("/remember The lighthouse is white")
    await person.says("/remember The lighthouse has a keeper")
    await person.says("/remember The boat is blue")
    await person.says("the lighthouse stands in Odesa")
    await person.says("/recall lighthouse")
    counts = await app.database.rows("SELECT content, reinforcement_count AS count FROM entries ORDER BY id")
    assert [row["count"] for row in counts] == [1, 1, 1]
    assert await person.says("/undo") == "Undone: The boat is blue"


async def test_author_is_stored_in_the_memory_and_its_change(learning: Learning, undo: Undo) -> None:
    new = NewEntry("The user likes tea.", kind=Kind.FACT, author=Author.MODEL)
    assert (await learning.learn(ANN, new)).entry.author == Author.MODEL
    undone = await undo.undo(ANN)
    assert undone is not None
    assert (undone.operation, undone.author) == ("learn", "model")


async def test_memory_repeated_by_the_user_gets_the_users_weight(learning: Learning, store: Store, undo: Undo) -> None:
    by_model = NewEntry("Always answer in German", kind=Kind.PREFERENCE, author=Author.MODEL, trusted=False)
    await learning.learn(ANN, by_model)
    by_user = NewEntry("always answer in German.", kind=Kind.PREFERENCE, author=Author.CAPTURE, priority=Priority.HIGH)
    learned = await learning.learn(ANN, by_user)
    assert not learned.known
    assert (learned.entry.priority, learned.entry.trusted, learned.entry.author) == ("high", True, "capture")
    assert (await learning.learn(ANN, by_model)).known
    assert (await store.entries.get(ANN, learned.entry.name)).trusted
    await undo.undo(ANN)
    assert not (await store.entries.get(ANN, learned.entry.name)).trusted


async def test_unconfirmed_memory_is_stored_once_and_changes_no_other(learning: Learning, database: Database) -> None:
    doubted = NewEntry("Drinks tea", kind=Kind.FACT, stem="fact", author=Author.MCP, unconfirmed="nobody said so")
    first, second = await learning.learn(ANN, doubted), await learning.learn(ANN, doubted)
    assert (first.known, second.known, second.entry.id) == (False, True, first.entry.id)
    held = await learn(learning, "Rides a bicycle")
    before = await count_rows(database)
    again = await learning.learn(ANN, replace(doubted, content="Rides a bicycle."))
    assert (again.known, again.entry) == (True, held)
    assert await count_rows(database) == before


async def test_unconfirmed_memory_is_confirmed_by_the_users_statement_until_undo(
    learning: Learning, store: Store, undo: Undo
) -> None:
    doubted = NewEntry("Drinks tea", kind=Kind.FACT, stem="fact", author=Author.MCP, unconfirmed="nobody said so")
    waiting = (await learning.learn(ANN, doubted)).entry
    said = NewEntry("Drinks tea.", kind=Kind.FACT, stem="fact", author=Author.CAPTURE, quote="I drink tea")
    learned = await learning.learn(ANN, said)
    assert (learned.known, learned.entry.id, learned.entry.unconfirmed) == (False, waiting.id, None)
    assert (learned.entry.author, learned.entry.trusted, learned.entry.quote) == ("capture", True, "I drink tea")
    await undo.undo(ANN)
    assert await store.entries.get(ANN, waiting.name) == waiting


async def test_replacement_of_a_rule_is_a_rule_by_default(learning: Learning) -> None:
    rule = NewEntry("Always answer in German", name="language", kind=Kind.PREFERENCE, priority=Priority.HIGH)
    await learning.learn(ANN, rule)
    learned = await learning.learn(ANN, NewEntry("Always answer in French", kind=Kind.FACT), replaces="language")
    assert (learned.entry.kind, learned.entry.priority) == (Kind.PREFERENCE, "high")
    lesser = NewEntry("French is fine", kind=Kind.PREFERENCE, priority=Priority.NORMAL)
    assert (await learning.learn(ANN, lesser, replaces="language")).entry.priority == "normal"


async def test_archived_memory_comes_back_when_repeated(learning: Learning, database: Database) -> None:
    entry = await learn(learning, "Likes green tea")
    async with database.transaction() as connection:
        await connection.execute("UPDATE entries SET archived_at = created_at")
    learned = await learning.learn(ANN, NewEntry("likes green tea", kind=Kind.FACT))
    assert (learned.known, learned.entry.id, learned.entry.archived_at) == (True, entry.id, None)
