"""Tests of the ledger: one action is one batch for /undo, and each fact knows its line in MEMORY.md."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.kernel import App
from memory.errors import MemoryRefused, StoreError
from memory.facts.learning import Learning
from memory.files.markdown import MarkdownFiles
from memory.ledger.entries import EntryStore
from memory.ledger.ledger import Ledger
from memory.ledger.long_term import LongTermMemory
from memory.ledger.page import appending
from memory.ledger.undo import Undo
from memory.search.search import Search
from memory.store.database import Database
from memory.store.entry import Author, Kind, NewEntry, Operation
from tests.conftest import OpenApp
from tests.support.consolidating import create_answer
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says
from tests.support.talk import create_ledger, describe_undo, in_utc

OWNER = "telegram:1"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def memory_md(files: MarkdownFiles) -> Path:
    """Return the path of the owner's MEMORY.md and create its folder."""
    path = files.get_folder(OWNER) / "MEMORY.md"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def ledger(database: Database, files: MarkdownFiles, clock: FakeClock) -> Ledger:
    return create_ledger(database, clock, files)


@pytest.fixture
def entries(database: Database, ledger: Ledger) -> EntryStore:
    return EntryStore(database, ledger)


@pytest.fixture
def learning(database: Database, ledger: Ledger) -> Learning:
    return Learning(database, Search(database), ledger)


async def learn_with_line(ledger: Ledger, content: str, name: str, line: str = "") -> None:
    line = line or f"* {content}"
    async with ledger.change(OWNER, Operation.LEARN, Author.CONSOLIDATION) as change:
        entry = await change.add(NewEntry(content, name=name, kind=Kind.FACT))
        await change.edit_file(appending(line))
        await change.record_line(entry, line)


def memory_path(app: App) -> Path:
    return app.settings.mneme_data_dir / "memory" / "console:local" / "MEMORY.md"


def create_fact_answer(subject: str, text: str, update: object = None) -> Callable[[object], Says]:
    return lambda _: Says(create_answer("They talked.", update, (subject, text)))


# One action is one undo.


async def test_first_undo_reverts_learned_fact_and_line_together(app: App, person: Person, model: ModelServer) -> None:
    await person.says("Kyiv is where I live.")
    model.consolidation = create_fact_answer("home city", "The user lives in Kyiv.")
    assert "Learned: The user lives in Kyiv (/undo takes it back)" in await person.says("/new")
    assert memory_path(app).read_text() == "- The user lives in Kyiv.\n"
    assert await person.says("/undo") == "Undone: The user lives in Kyiv."
    assert memory_path(app).read_text() == ""
    await person.says("Where do I live?")
    assert "The user lives in Kyiv." not in str(model.requests[-1].messages)
    assert await person.says("/undo") == "There is nothing to undo."


async def test_undo_keeps_file_edited_by_user_and_reverts_entries(app: App, person: Person, model: ModelServer) -> None:
    await person.says("Kyiv is where I live.")
    model.consolidation = create_fact_answer("home city", "The user lives in Kyiv.")
    await person.says("/new")
    memory_path(app).write_text("- I edit this\n- The user lives in Kyiv now.\n")
    assert await person.says("/undo") == (
        "- Undone: The user lives in Kyiv.\n- MEMORY.md was edited later, so I left it unchanged."
    )
    assert memory_path(app).read_text() == "- I edit this\n- The user lives in Kyiv now.\n"
    assert (await person.says("/memory")).startswith("MEMORY.md: 2\n")


async def test_undo_after_another_line_was_edited_removes_its_line(
    app: App, person: Person, model: ModelServer
) -> None:
    await person.says("Kyiv is where I live.")
    model.consolidation = create_fact_answer("home city", "The user lives in Kyiv.")
    await person.says("/new")
    memory_path(app).write_text("- I edit this\n- The user lives in Kyiv.\n")
    assert await person.says("/undo") == "Undone: The user lives in Kyiv."
    assert memory_path(app).read_text() == "- I edit this\n"


async def test_undo_after_30_days_reverts_no_part_of_an_action(
    ledger: Ledger, undo: Undo, memory_md: Path, clock: FakeClock
) -> None:
    await learn_with_line(ledger, "Lives in Kyiv", "home")
    clock.forward(days=31)
    await ledger.purge()
    assert await undo.undo(OWNER) is None
    assert memory_md.read_text() == "* Lives in Kyiv\n"


# Each fact knows its line.


@pytest.mark.parametrize(
    ("subject", "former", "newer"),
    [
        ("rent", "The rent is 900.", "The rent is 950."),
        ("rent", "The rent is 900.", "The rent is 900.50."),
        ("home country", "The user lives in Austria.", "The user lives in Australia."),
        ("meeting room", "The meetings are in room 12.", "The meetings are in room 14."),
        ("кот", "Моего кота зовут Барсик.", "Моего кота зовут Барсук."),
    ],
)
@pytest.mark.parametrize("by_model", [False, True])
async def test_changed_fact_replaces_its_line(
    app: App, person: Person, model: ModelServer, subject: str, former: str, newer: str, *, by_model: bool
) -> None:
    memory_path(app).parent.mkdir(parents=True)
    memory_path(app).write_text("# Home\n- A line of mine\n")
    await person.says(former)
    model.consolidation = create_fact_answer(subject, former)
    await person.says("/new")
    assert memory_path(app).read_text() == f"# Home\n- A line of mine\n- {former}\n"
    await person.says(newer)
    update = f"# Home\n- A line of mine\n- {former}\n- {newer}\n" if by_model else None
    model.consolidation = create_fact_answer(subject, newer, update)
    await person.says("/new")
    assert memory_path(app).read_text() == f"# Home\n- A line of mine\n- {newer}\n"
    assert f"Restored: {former}" in await person.says("/undo")
    assert memory_path(app).read_text() == f"# Home\n- A line of mine\n- {former}\n"


async def test_line_edited_by_the_user_stays(ledger: Ledger, learning: Learning, memory_md: Path) -> None:
    await learn_with_line(ledger, "The rent is 900", "rent")
    memory_md.write_text("* The rent is 900, by hand\n")
    await learning.learn(OWNER, NewEntry("The rent is 950", kind=Kind.FACT), "rent")
    assert memory_md.read_text() == "* The rent is 900, by hand\n"


async def test_removed_fact_takes_its_line_and_undo_restores_both(
    ledger: Ledger, entries: EntryStore, undo: Undo, memory_md: Path
) -> None:
    await learn_with_line(ledger, "The rent is 900", "rent")
    await learn_with_line(ledger, "The rent is 900 for the garage", "garage")
    await entries.remove(OWNER, "rent")
    assert memory_md.read_text() == "* The rent is 900 for the garage\n"
    assert describe_undo(await undo.undo(OWNER)) == ("remove", "user", ("rent", "MEMORY.md"))
    assert memory_md.read_text() == "* The rent is 900\n* The rent is 900 for the garage\n"


async def test_fact_without_a_stored_line_uses_the_identical_one(
    learning: Learning, entries: EntryStore, memory_md: Path
) -> None:
    memory_md.write_text("- Likes tea a lot\n- Likes tea\n\nMine")
    await learning.learn(OWNER, NewEntry("Likes tea", kind=Kind.FACT, name="drink"))
    await learning.learn(OWNER, NewEntry("Likes coffee", kind=Kind.FACT), "drink")
    assert memory_md.read_text() == "- Likes tea a lot\n- Likes coffee\n\nMine"
    assert (await entries.get(OWNER, "drink")).line == "- Likes coffee"


async def test_handwritten_line_stays_when_an_identical_note_is_removed(entries: EntryStore, memory_md: Path) -> None:
    memory_md.write_text("- Buy milk\n")
    await entries.add(OWNER, NewEntry("Buy milk", name="milk"))
    await entries.remove(OWNER, "milk")
    assert memory_md.read_text() == "- Buy milk\n"


async def test_merged_facts_keep_one_line(ledger: Ledger, entries: EntryStore, memory_md: Path) -> None:
    await learn_with_line(ledger, "Likes tea", "one")
    await learn_with_line(ledger, "Likes some tea", "two")
    async with ledger.change(OWNER, Operation.CONSOLIDATE, Author.CONSOLIDATION) as change:
        await change.merge(await change.get("one"), [await change.get("two")])
    assert memory_md.read_text() == "* Likes tea\n"
    assert (await entries.get(OWNER, "two")).line == "* Likes tea"


async def test_rewritten_note_updates_its_line(ledger: Ledger, entries: EntryStore, memory_md: Path) -> None:
    await learn_with_line(ledger, "The rent is 900", "rent")
    await entries.write(OWNER, "rent", "The rent is 950")
    assert memory_md.read_text() == "- The rent is 950\n"


async def test_memory_with_a_line_in_memory_md_does_not_activate(app: App, person: Person, model: ModelServer) -> None:
    await person.says("Kyiv is where I live.")
    model.consolidation = create_fact_answer("home city", "The user lives in Kyiv.")
    await person.says("/new")
    await person.says("Which city do I live in?")
    assert str(model.requests[-1].messages).count("The user lives in Kyiv.") == 1
    assert "was used for the last answer" not in await person.says("/memory why")
    memory_path(app).write_text("- Something else\n")
    await person.says("In which city do I live?")
    assert str(model.requests[-1].messages).count("The user lives in Kyiv.") == 1


# Crashes and other programs.


class DyingFiles(MarkdownFiles):
    """Files in a process that ends before it writes."""

    async def rewrite_long_term(self, owner: str, *, expected: str, text: str) -> bool:
        raise KeyboardInterrupt


async def test_crash_before_the_file_is_written_keeps_edit_and_undo(
    database: Database, clock: FakeClock, ledger: Ledger, undo: Undo, memory_md: Path
) -> None:
    dying = DyingFiles(memory_md.parent.parent, in_utc, recent_days=7, max_memory_size=8192)
    with pytest.raises(KeyboardInterrupt):
        await learn_with_line(create_ledger(database, clock, dying), "Lives in Kyiv", "home")
    assert not memory_md.exists()
    await ledger.finish_edits()
    assert memory_md.read_text() == "* Lives in Kyiv\n"
    memory_md.write_text("")  # A finished edit is not repeated.
    await ledger.finish_edits()
    assert memory_md.read_text() == ""
    memory_md.write_text("* Lives in Kyiv\n")
    assert describe_undo(await undo.undo(OWNER)) == ("learn", "consolidation", ("home", "MEMORY.md"))
    assert memory_md.read_text() == ""


class FullDisk(MarkdownFiles):
    """Files on a full disk."""

    async def rewrite_long_term(self, owner: str, *, expected: str, text: str) -> bool:
        raise OSError(errno.ENOSPC, "No space left on device")


async def test_full_disk_is_reported_and_the_edit_made_later(
    database: Database, clock: FakeClock, entries: EntryStore, undo: Undo, memory_md: Path
) -> None:
    full = FullDisk(memory_md.parent.parent, in_utc, recent_days=7, max_memory_size=8192)
    with pytest.raises(StoreError, match=r"MEMORY\.md can't be written"):
        await learn_with_line(create_ledger(database, clock, full), "Lives in Kyiv", "home")
    await entries.add(OWNER, NewEntry("another", name="another", kind=Kind.FACT))
    await entries.remove(OWNER, "another")
    assert memory_md.read_text() == "* Lives in Kyiv\n"
    for _ in range(3):
        await undo.undo(OWNER)
    assert memory_md.read_text() == ""


async def test_user_edit_after_a_crash_wins(
    database: Database, clock: FakeClock, ledger: Ledger, undo: Undo, memory_md: Path
) -> None:
    dying = DyingFiles(memory_md.parent.parent, in_utc, recent_days=7, max_memory_size=8192)
    with pytest.raises(KeyboardInterrupt):
        await learn_with_line(create_ledger(database, clock, dying), "Lives in Kyiv", "home")
    memory_md.write_text("Mine\n")
    await ledger.finish_edits()
    assert memory_md.read_text() == "Mine\n"
    assert describe_undo(await undo.undo(OWNER)) == ("learn", "consolidation", ("home",))


async def test_refused_change_leaves_entries_and_file_unchanged(
    ledger: Ledger, entries: EntryStore, undo: Undo, memory_md: Path
) -> None:
    with pytest.raises(MemoryRefused, match="looks like a password"):
        await learn_with_line(ledger, "My password is hunter2-secret!", "wifi")
    with pytest.raises(MemoryRefused, match="would grow"):
        await learn_with_line(ledger, "fine", "fine", "x" * 100_000)
    assert await entries.list(OWNER) == []
    assert not memory_md.exists()
    assert await undo.undo(OWNER) is None


async def test_concurrent_programs_lose_no_edits(
    database: Database, clock: FakeClock, files: MarkdownFiles, ledger: Ledger, memory_md: Path
) -> None:
    other = await Database.open(database.path)
    try:
        shelves = [LongTermMemory(files, ledger), LongTermMemory(files, create_ledger(other, clock, files))]
        for number in range(5):
            for name, shelf in enumerate(shelves):
                await shelf.append(OWNER, f"- {name} {number}", Author.USER)
    finally:
        await other.close()
    assert len(memory_md.read_text().splitlines()) == 10


async def test_entry_is_read_without_waiting_for_a_writer(database: Database, entries: EntryStore) -> None:
    await entries.add(OWNER, NewEntry("apple", name="key"))
    async with database.transaction():
        assert (await entries.get(OWNER, "KEY")).content == "apple"
        with pytest.raises(MemoryRefused, match=r"I don't remember anything called 'kex': did you mean key\?"):
            await entries.get(OWNER, "kex")
        with pytest.raises(MemoryRefused, match="I don't remember anything called"):
            await entries.get("telegram:9", "key")
    assert await database.value("SELECT count(*) FROM owners") == 1


# Author, trust and secrets.


async def test_rewrite_by_the_model_makes_the_model_the_author(
    start: OpenApp, model: ModelServer, database: Database
) -> None:
    async with start() as app:
        person = Person(app)
        await person.says("/remember The gate code is a prime number")
        name = (await app.database.value("SELECT name FROM names")) or ""
        call = {"name": name, "content": "The gate code is even"}
        model.script(Calls((("note_write", call),)), Says("Done."))
        await person.says("Change the note about the gate code")
        assert await app.database.value("SELECT author FROM entries") == "model"
        assert "the model noted it" in await person.says(f"/memory {name}")
        await person.says("/undo")
        assert "you wrote it" in await person.says(f"/memory {name}")


async def test_generated_name_contains_no_secret(entries: EntryStore) -> None:
    topic = "The password: hunter2secret! is for the lighthouse"
    added = await entries.add(OWNER, NewEntry("They spoke.", stem="archive", topic=topic, kind=Kind.ARCHIVE))
    assert "hunter2" not in added.name


# Invariants.


def test_only_store_and_ledger_write_entries_and_names() -> None:
    writes = re.compile(r"\b(?:INTO|UPDATE|DELETE FROM)\s+(?:entries|names)\b", re.IGNORECASE)
    sources = [path for room in ("memory", "pipeline", "bot", "config") for path in (ROOT / room).rglob("*.py")]
    writing = [path for path in sources if writes.search(path.read_text(encoding="utf-8"))]
    assert {str(path.relative_to(ROOT).parent) for path in writing} == {"memory/store", "memory/ledger"}


async def test_content_changes_together_with_its_author(
    database: Database, ledger: Ledger, entries: EntryStore, learning: Learning
) -> None:
    async with database.transaction() as connection:
        await connection.execute(
            "CREATE TEMP TRIGGER author_goes_with_content BEFORE UPDATE OF content ON entries"
            " WHEN new.content <> old.content AND new.author = old.author"
            " BEGIN SELECT raise(ABORT, 'a content without its author'); END"
        )
    await learn_with_line(ledger, "The rent is 900", "rent")
    await entries.write(OWNER, "rent", "The rent is 950", Author.USER)
    await entries.write(OWNER, "rent", "The rent is 960", Author.MODEL, trusted=False)
    await learning.learn(OWNER, NewEntry("The rent is 970", kind=Kind.FACT, author=Author.CAPTURE), "rent")
    assert [entry.author for entry in await entries.list(OWNER)] == [Author.CAPTURE, Author.MODEL]
