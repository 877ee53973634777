"""Tests of /undo: changes by every author, newest first, also after a restart."""

from __future__ import annotations

import pytest

from bot.kernel import App
from memory.errors import MemoryRefused
from memory.facts.learning import Learning
from memory.files.markdown import MarkdownFiles
from memory.ledger.long_term import LongTermMemory
from memory.ledger.undo import Undo
from memory.search.search import Search
from memory.store.database import Database
from memory.store.decay import Decay
from memory.store.entry import Author, Kind, NewEntry
from memory.store.entry_rows import bind_name
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.talk import Store, create_ledger, describe_undo

OWNER = "telegram:1"


@pytest.fixture
def long_term(database: Database, files: MarkdownFiles, clock: FakeClock) -> LongTermMemory:
    return LongTermMemory(files, create_ledger(database, clock, files))


async def read_only_entry(store: Store) -> tuple[str, tuple[str, ...], str] | None:
    """Return name, aliases and content of the only entry."""
    found = await store.entries.list(OWNER)
    return (found[0].name, found[0].aliases, found[0].content) if found else None


async def test_operations_are_undone_in_reverse_order(store: Store, undo: Undo, database: Database) -> None:
    search = Search(database)
    stages = [await read_only_entry(store)]
    await store.entries.add(OWNER, NewEntry("apple", name="key"))
    stages.append(await read_only_entry(store))
    await store.entries.write(OWNER, "key", "banana", Author.MODEL)
    stages.append(await read_only_entry(store))
    await store.entries.alias(OWNER, "key", "spare", Author.CAPTURE)
    stages.append(await read_only_entry(store))
    await store.entries.rename(OWNER, "key", "third", Author.CONSOLIDATION)
    stages.append(await read_only_entry(store))
    await store.entries.remove(OWNER, "third")
    expected = [
        ("remove", "user", ("third",)),
        ("rename", "consolidation", ("key",)),
        ("alias", "capture", ("key",)),
        ("write", "model", ("key",)),
        ("add", "user", ("key",)),
    ]
    for undone in expected:
        assert describe_undo(await undo.undo(OWNER)) == undone
        assert await read_only_entry(store) == stages.pop()
        word = {"apple": "apple", "banana": "banana"}.get((await read_only_entry(store) or ("", (), ""))[2])
        assert [hit.content for hit in await search.find("apple banana", OWNER)] == ([word] if word else [])
    assert await undo.undo(OWNER) is None


async def test_undone_removal_restores_all_names(store: Store, undo: Undo) -> None:
    added = await store.entries.add(OWNER, NewEntry("apple", name="key", tags=("home",), scope="a/**"))
    await store.entries.alias(OWNER, "key", "spare")
    before = await store.entries.get(OWNER, "key")
    await store.entries.remove(OWNER, "key")
    await undo.undo(OWNER)
    assert await store.entries.get(OWNER, "spare") == before
    assert before.id == added.id


async def test_undo_includes_all_authors_but_no_other_owner(store: Store, undo: Undo) -> None:
    await store.entries.add(OWNER, NewEntry("apple", name="key", author=Author.MODEL))
    await store.entries.add("telegram:2", NewEntry("pear", name="key"))
    assert describe_undo(await undo.undo(OWNER)) == ("add", "model", ("key",))
    assert await undo.undo(OWNER) is None
    assert (await store.entries.get("telegram:2", "key")).content == "pear"


async def test_undo_without_changes_writes_nothing(undo: Undo, database: Database) -> None:
    assert await undo.undo("telegram:9") is None
    assert await database.value("SELECT count(*) FROM owners") == 0


async def test_change_after_an_undo_is_undone_first(store: Store, undo: Undo) -> None:
    await store.entries.add(OWNER, NewEntry("one", name="key"))
    await store.entries.write(OWNER, "key", "two")
    await undo.undo(OWNER)
    await store.entries.write(OWNER, "key", "three")
    await undo.undo(OWNER)
    assert await read_only_entry(store) == ("key", (), "one")
    await undo.undo(OWNER)
    assert await read_only_entry(store) is None


async def test_undone_removal_is_refused_if_its_name_is_taken(store: Store, undo: Undo, database: Database) -> None:
    await store.entries.add(OWNER, NewEntry("apple", name="key"))
    other = await store.entries.add(OWNER, NewEntry("pear", name="other"))
    await store.entries.remove(OWNER, "key")
    async with database.transaction() as connection:  # No operation can do this.
        await bind_name(connection, 1, other.id, "key", is_alias=True)
    with pytest.raises(MemoryRefused, match="'key' is taken by an alias of the note 'other'"):
        await undo.undo(OWNER)
    assert (await store.entries.get(OWNER, "key")).name == "other"


async def test_undo_works_after_a_restart(start: OpenApp) -> None:
    async with start() as app:
        await Person(app).says("/remember The spare key is at Ann's")
    async with start() as app:
        assert (
            await Person(app).says("/forget spare-key-ann")
            == "Forgotten: The spare key is at Ann's (/undo brings it back)."
        )
    async with start() as app:
        assert await Person(app).says("/undo") == "Restored: The spare key is at Ann's"
        assert "at Ann's" in await Person(app).says("/memory spare-key-ann")
        assert "Undone: The spare key" in await Person(app).says("/undo")


async def test_user_edit_is_never_undone_and_does_not_block_undo(
    store: Store, undo: Undo, long_term: LongTermMemory, files: MarkdownFiles
) -> None:
    await store.entries.add(OWNER, NewEntry("apple", name="key"))
    await long_term.append(OWNER, "likes tea", Author.MODEL)
    path = files.get_folder(OWNER) / "MEMORY.md"
    path.write_text("likes coffee\n")
    with pytest.raises(
        MemoryRefused, match=r"edited after that change.* The next undo continues with the change before"
    ):
        await undo.undo(OWNER)
    assert path.read_text() == "likes coffee\n"
    assert describe_undo(await undo.undo(OWNER)) == ("add", "user", ("key",))


async def test_undo_reverts_replaced_and_deleted_parts_of_memory_md(undo: Undo, long_term: LongTermMemory) -> None:
    await long_term.append(OWNER, "one\ntwo", Author.USER)
    await long_term.replace(OWNER, "two", "three", Author.MODEL)
    await long_term.replace(OWNER, "one", "", Author.MODEL)
    assert await long_term.read(OWNER) == "three\n"
    await undo.undo(OWNER)
    assert await long_term.read(OWNER) == "one\nthree\n"
    await undo.undo(OWNER)
    assert await long_term.read(OWNER) == "one\ntwo\n"


async def test_undone_compaction_restores_the_conversation(app: App, person: Person) -> None:
    for number in range(4):
        await person.says(f"number {number}")
    session = await app.sessions.get_or_create(person.address)
    before = await app.sessions.read_transcript(session.id)
    assert "Summarised 6 messages" in await person.says("/compact 2")
    assert (await app.sessions.read_transcript(session.id)).summary
    assert "Undone: " in await person.says("/undo")
    assert await app.sessions.read_transcript(session.id) == before


async def test_change_can_be_undone_for_30_days_then_is_purged(start: OpenApp, clock: FakeClock) -> None:
    async with start() as app:
        person = Person(app)
        await person.says("/remember The first key is red")
        await person.says("/remember The second key is green")
        await person.says("/forget first-key-red")
        clock.forward(days=29, hours=23)
        await person.says("/forget second-key-green")
    clock.forward(hours=2)
    async with start() as app:
        assert await app.database.value("SELECT group_concat(content) FROM entries") == "The second key is green"
        assert "Restored: The second key is green" in await Person(app).says("/undo")
        assert await Person(app).says("/undo") == "There is nothing to undo."
        assert "green" in await Person(app).says("/memory second-key-green")


async def test_superseded_entry_stays_so_after_its_successor_is_purged(
    start: OpenApp, clock: FakeClock, model: ModelServer
) -> None:
    async with start() as app:
        person = Person(app)
        learning = Learning(app.database, Search(app.database), create_ledger(app.database, clock))
        await learning.learn("console:local", NewEntry("Drinks tea with milk", kind=Kind.FACT, name="tea"))
        await learning.learn("console:local", NewEntry("Drinks black tea", kind=Kind.FACT), "tea")
        assert "Forgotten" in await person.says("/forget tea")
    clock.forward(days=31)
    async with start() as app:
        person = Person(app)
        assert "replaced" in await person.says("/memory tea until 2026-02-07")
        assert "superseded, from 2026-02-07" in await person.says("/recall milk")
        await person.says("Which tea do I drink?")
        assert "milk" not in str([m["content"] for m in model.requests[-1].messages])
        assert await person.says("/undo") == "There is nothing to undo."


@needs_feature("tidying")
async def test_merged_duplicate_stays_so_after_the_kept_one_is_purged(
    store: Store, database: Database, clock: FakeClock
) -> None:
    from bot.features.tidying.tidying import WeeklyConsolidation

    for _ in range(2):
        await store.entries.add(OWNER, NewEntry("The cat is called Mimi", kind=Kind.FACT))
    weekly = WeeklyConsolidation(database, create_ledger(database, clock), Decay(), clock)
    assert len((await weekly.run(OWNER)).merges) == 1
    await store.entries.remove(OWNER, "cat-called-mimi")
    store.clock.forward(days=31)
    assert await store.ledger.purge() == 1
    (merged,) = await store.entries.list(OWNER)
    assert merged.superseded_by is not None
    assert (await weekly.run(OWNER)).summary == ""


async def test_undo_after_purge_of_successor_leaves_superseded_entry_unchanged(
    store: Store, undo: Undo, database: Database, clock: FakeClock
) -> None:
    learning = Learning(database, Search(database), create_ledger(database, clock))
    await learning.learn(OWNER, NewEntry("old", kind=Kind.FACT, name="key"))
    await learning.learn(OWNER, NewEntry("new", kind=Kind.FACT), "key")
    await store.entries.remove(OWNER, "key")
    clock.forward(days=20)
    await store.entries.rename(OWNER, "key until 2026-02-07", "former")
    clock.forward(days=11)
    assert await store.ledger.purge() == 1
    assert describe_undo(await undo.undo(OWNER)) == ("rename", "user", ("key until 2026-02-07",))
    assert (await store.entries.get(OWNER, "key until 2026-02-07")).superseded_by is not None


async def test_purge_reads_due_rows_only(database: Database) -> None:
    for statement in ("DELETE FROM entries WHERE deleted_at < ?", "DELETE FROM changes WHERE at < ?"):
        plan = await database.rows(f"EXPLAIN QUERY PLAN {statement}", ("2026",))  # A constant.
        assert all("INDEX" in row["detail"] for row in plan)


@pytest.mark.slow
async def test_newest_50_versions_of_memory_md_are_kept(start: OpenApp, clock: FakeClock) -> None:
    async with start() as app:
        for n in range(60):
            await app.memory.long_term.append(OWNER, f"- I like number {n}", Author.USER)
    clock.forward(days=40)
    async with start() as app:
        versions = await app.database.rows("SELECT before FROM changes WHERE entry_id = 0 ORDER BY id")
    assert len(versions) == 50
    assert versions[0][0].splitlines()[-1] == "- I like number 9"


# Undoing one change by number.


async def test_change_is_undone_by_number_once(store: Store, undo: Undo) -> None:
    first = await store.entries.add(OWNER, NewEntry("apple", name="first"))
    await store.entries.add(OWNER, NewEntry("pear", name="second"))
    number = await undo.find_newest(first)
    assert number is not None
    assert describe_undo(await undo.undo(OWNER, number)) == ("add", "user", ("first",))
    assert [entry.name for entry in await store.entries.list(OWNER)] == ["second"]
    assert await undo.undo(OWNER, number) is None
    assert await undo.find_newest(first) is None


async def test_number_of_another_owner_or_unknown_number_undoes_nothing(store: Store, undo: Undo) -> None:
    theirs = await undo.find_newest(await store.entries.add("telegram:2", NewEntry("pear", name="key")))
    await store.entries.add(OWNER, NewEntry("apple", name="key"))
    assert await undo.undo(OWNER, theirs) is None
    assert await undo.undo(OWNER, 999) is None
    assert len(await store.entries.list()) == 2


async def test_change_with_a_later_one_on_top_is_refused(store: Store, undo: Undo) -> None:
    added = await store.entries.add(OWNER, NewEntry("apple", name="key"))
    number = await undo.find_newest(added)
    await store.entries.write(OWNER, "key", "pear")
    with pytest.raises(MemoryRefused, match="changed again later"):
        await undo.undo(OWNER, number)
    assert await read_only_entry(store) == ("key", (), "pear")
    await undo.undo(OWNER)
    await undo.undo(OWNER, number)
    assert await read_only_entry(store) is None


async def test_entry_that_replaced_another_unchanged_is_not_undone_below_it(
    store: Store, undo: Undo, database: Database
) -> None:
    learning = Learning(database, Search(database), store.ledger)
    tea = await learning.learn(OWNER, NewEntry("Ann likes tea", name="tea", kind=Kind.FACT))
    await learning.learn(OWNER, NewEntry("Ann likes coffee", name="coffee", kind=Kind.FACT))
    await learning.learn(OWNER, NewEntry("Ann likes tea", kind=Kind.FACT), "coffee")
    assert tea.change is not None
    with pytest.raises(MemoryRefused, match="changed again later"):
        await undo.undo(OWNER, tea.change)
    former = await database.value("SELECT superseded_by FROM entries WHERE content = 'Ann likes coffee'")
    assert former == tea.entry.id


async def test_undo_by_number_after_other_lines_changed_reverts_its_line(long_term: LongTermMemory, undo: Undo) -> None:
    first = await long_term.append(OWNER, "- one", Author.CAPTURE)
    await long_term.append(OWNER, "- two", Author.CAPTURE)
    replaced = await long_term.rewrite(OWNER, "- one\n- two\n", "- one\n- zwei\n- drei\n")
    await long_term.append(OWNER, "- four", Author.CAPTURE)
    await undo.undo(OWNER, first)
    assert await long_term.read(OWNER) == "- zwei\n- drei\n- four\n"
    await undo.undo(OWNER, replaced)
    assert await long_term.read(OWNER) == "- two\n- four\n"


async def test_undo_of_a_line_that_was_edited_since_leaves_it(long_term: LongTermMemory, undo: Undo) -> None:
    first = await long_term.append(OWNER, "- one", Author.CAPTURE)
    await long_term.rewrite(OWNER, "- one\n", "- one, in my words\n")
    with pytest.raises(MemoryRefused, match="edited after"):
        await undo.undo(OWNER, first)
    assert await long_term.read(OWNER) == "- one, in my words\n"
