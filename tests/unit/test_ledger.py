"""The ledger: one action is one batch for /undo, and a fact knows its line in MEMORY.md."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memory.errors import MemoryRefused, StoreError
from memory.facts.learning import Learning
from memory.files.markdown import MarkdownFiles
from memory.ledger.entries import EntryStore
from memory.ledger.page import LongTermMemory, appending
from memory.search.search import Search
from memory.store.database import Database
from memory.store.entry import Author, Kind, NewEntry, Operation
from tests.support.consolidating import answered
from tests.support.fakes import Person
from tests.support.servers.model import Calls, Says
from tests.support.talk import in_utc, ledger_over, what

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.app import App
    from memory.ledger.ledger import Ledger
    from memory.ledger.undo import Undo
    from tests.conftest import OpenApp
    from tests.support.fakes import FakeClock
    from tests.support.servers.model import ModelServer

OWNER = "telegram:1"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def memory_md(files: MarkdownFiles) -> Path:
    """The MEMORY.md of the owner, in a folder that is there."""
    path = files.folder(OWNER) / "MEMORY.md"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def ledger(database: Database, files: MarkdownFiles, clock: FakeClock) -> Ledger:
    return ledger_over(database, clock, files)


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
        await change.know_line(entry, line)


def memory_of(app: App) -> Path:
    return app.settings.mneme_data_dir / "memory" / "console:local" / "MEMORY.md"


def says_fact(subject: str, text: str, update: object = None) -> Callable[[object], Says]:
    return lambda _: Says(answered("They talked.", update, (subject, text)))


# one action is one undo


async def test_the_first_undo_takes_back_what_was_learned_fact_and_line_alike(
    app: App, person: Person, model: ModelServer
) -> None:
    await person.says("Kyiv is where I live.")
    model.consolidation = says_fact("home city", "The user lives in Kyiv.")
    assert "Learned: The user lives in Kyiv (/undo takes it back)" in await person.says("/new")
    assert memory_of(app).read_text() == "- The user lives in Kyiv.\n"
    assert await person.says("/undo") == "Undone: The user lives in Kyiv."
    assert memory_of(app).read_text() == ""
    await person.says("Where do I live?")
    assert "The user lives in Kyiv." not in str(model.requests[-1].messages)
    assert await person.says("/undo") == "There is nothing to undo."


async def test_an_undo_leaves_the_file_that_a_person_has_edited_and_takes_back_the_entries(
    app: App, person: Person, model: ModelServer
) -> None:
    await person.says("Kyiv is where I live.")
    model.consolidation = says_fact("home city", "The user lives in Kyiv.")
    await person.says("/new")
    memory_of(app).write_text("- I edit this\n- The user lives in Kyiv now.\n")
    assert await person.says("/undo") == (
        "- Undone: The user lives in Kyiv.\n- MEMORY.md was edited since and is left as it is."
    )
    assert memory_of(app).read_text() == "- I edit this\n- The user lives in Kyiv now.\n"
    assert (await person.says("/memory")).startswith("MEMORY.md: 2\n")


async def test_undo_after_another_line_was_edited_takes_out_its_line(
    app: App, person: Person, model: ModelServer
) -> None:
    await person.says("Kyiv is where I live.")
    model.consolidation = says_fact("home city", "The user lives in Kyiv.")
    await person.says("/new")
    memory_of(app).write_text("- I edit this\n- The user lives in Kyiv.\n")
    assert await person.says("/undo") == "Undone: The user lives in Kyiv."
    assert memory_of(app).read_text() == "- I edit this\n"


async def test_after_30_days_no_half_of_an_action_is_undone(
    ledger: Ledger, undo: Undo, memory_md: Path, clock: FakeClock
) -> None:
    await learn_with_line(ledger, "Lives in Kyiv", "home")
    clock.forward(days=31)
    await ledger.purge()
    assert await undo.undo(OWNER) is None
    assert memory_md.read_text() == "* Lives in Kyiv\n"


# a fact knows its line


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
async def test_a_changed_fact_replaces_its_line(
    app: App, person: Person, model: ModelServer, subject: str, former: str, newer: str, *, by_model: bool
) -> None:
    memory_of(app).parent.mkdir(parents=True)
    memory_of(app).write_text("# Home\n- A line of mine\n")
    await person.says(former)
    model.consolidation = says_fact(subject, former)
    await person.says("/new")
    assert memory_of(app).read_text() == f"# Home\n- A line of mine\n- {former}\n"
    await person.says(newer)
    update = f"# Home\n- A line of mine\n- {former}\n- {newer}\n" if by_model else None
    model.consolidation = says_fact(subject, newer, update)
    await person.says("/new")
    assert memory_of(app).read_text() == f"# Home\n- A line of mine\n- {newer}\n"
    assert f"Restored: {former}" in await person.says("/undo")
    assert memory_of(app).read_text() == f"# Home\n- A line of mine\n- {former}\n"


async def test_a_line_that_a_person_has_changed_is_theirs_and_stays(
    ledger: Ledger, learning: Learning, memory_md: Path
) -> None:
    await learn_with_line(ledger, "The rent is 900", "rent")
    memory_md.write_text("* The rent is 900, by hand\n")
    await learning.learn(OWNER, NewEntry("The rent is 950", kind=Kind.FACT), "rent")
    assert memory_md.read_text() == "* The rent is 900, by hand\n"


async def test_the_line_goes_with_the_fact_that_is_removed_and_comes_back_with_it(
    ledger: Ledger, entries: EntryStore, undo: Undo, memory_md: Path
) -> None:
    await learn_with_line(ledger, "The rent is 900", "rent")
    await learn_with_line(ledger, "The rent is 900 for the garage", "garage")
    await entries.remove(OWNER, "rent")
    assert memory_md.read_text() == "* The rent is 900 for the garage\n"
    assert what(await undo.undo(OWNER)) == ("remove", "user", ("rent", "MEMORY.md"))
    assert memory_md.read_text() == "* The rent is 900\n* The rent is 900 for the garage\n"


async def test_a_fact_from_before_lines_were_kept_has_the_one_that_says_it_word_for_word(
    learning: Learning, entries: EntryStore, memory_md: Path
) -> None:
    memory_md.write_text("- Likes tea a lot\n- Likes tea\n\nMine")
    await learning.learn(OWNER, NewEntry("Likes tea", kind=Kind.FACT, name="drink"))
    await learning.learn(OWNER, NewEntry("Likes coffee", kind=Kind.FACT), "drink")
    assert memory_md.read_text() == "- Likes tea a lot\n- Likes coffee\n\nMine"
    assert (await entries.get(OWNER, "drink")).line == "- Likes coffee"


async def test_a_line_of_a_persons_own_stays_when_a_note_goes_that_says_the_same(
    entries: EntryStore, memory_md: Path
) -> None:
    memory_md.write_text("- Buy milk\n")
    await entries.add(OWNER, NewEntry("Buy milk", name="milk"))
    await entries.remove(OWNER, "milk")
    assert memory_md.read_text() == "- Buy milk\n"


async def test_of_two_that_say_the_same_one_line_stays(ledger: Ledger, entries: EntryStore, memory_md: Path) -> None:
    await learn_with_line(ledger, "Likes tea", "one")
    await learn_with_line(ledger, "Likes some tea", "two")
    async with ledger.change(OWNER, Operation.CONSOLIDATE, Author.CONSOLIDATION) as change:
        await change.merge(await change.find("one"), [await change.find("two")])
    assert memory_md.read_text() == "* Likes tea\n"
    assert (await entries.get(OWNER, "two")).line == "* Likes tea"


async def test_what_a_note_says_now_stands_in_its_line(ledger: Ledger, entries: EntryStore, memory_md: Path) -> None:
    await learn_with_line(ledger, "The rent is 900", "rent")
    await entries.write(OWNER, "rent", "The rent is 950")
    assert memory_md.read_text() == "- The rent is 950\n"


async def test_a_memory_whose_line_stands_in_memory_md_does_not_activate_a_second_time(
    app: App, person: Person, model: ModelServer
) -> None:
    await person.says("Kyiv is where I live.")
    model.consolidation = says_fact("home city", "The user lives in Kyiv.")
    await person.says("/new")
    await person.says("Which city do I live in?")
    assert str(model.requests[-1].messages).count("The user lives in Kyiv.") == 1
    assert "was used for the last answer" not in await person.says("/memory why")
    memory_of(app).write_text("- Something else\n")
    await person.says("In which city do I live?")
    assert str(model.requests[-1].messages).count("The user lives in Kyiv.") == 1


# crashes and other programs


class DyingFiles(MarkdownFiles):
    """Files in a process that ends before it writes."""

    async def rewrite_long_term(self, owner: str, *, expected: str, text: str) -> bool:
        raise KeyboardInterrupt


async def test_a_crash_before_the_file_is_written_loses_neither_the_edit_nor_its_undo(
    database: Database, clock: FakeClock, ledger: Ledger, undo: Undo, memory_md: Path
) -> None:
    dying = DyingFiles(memory_md.parent.parent, in_utc, recent_days=7, max_memory_size=8192)
    with pytest.raises(KeyboardInterrupt):
        await learn_with_line(ledger_over(database, clock, dying), "Lives in Kyiv", "home")
    assert not memory_md.exists()
    await ledger.finish_edits()
    assert memory_md.read_text() == "* Lives in Kyiv\n"
    memory_md.write_text("")  # what was finished is not done again
    await ledger.finish_edits()
    assert memory_md.read_text() == ""
    memory_md.write_text("* Lives in Kyiv\n")
    assert what(await undo.undo(OWNER)) == ("learn", "consolidation", ("home", "MEMORY.md"))
    assert memory_md.read_text() == ""


class FullDisk(MarkdownFiles):
    """Files on a disk that is full."""

    async def rewrite_long_term(self, owner: str, *, expected: str, text: str) -> bool:
        raise OSError(errno.ENOSPC, "No space left on device")


async def test_a_full_disk_is_said_and_the_next_look_at_the_file_makes_up_for_it(
    database: Database, clock: FakeClock, entries: EntryStore, undo: Undo, memory_md: Path
) -> None:
    full = FullDisk(memory_md.parent.parent, in_utc, recent_days=7, max_memory_size=8192)
    with pytest.raises(StoreError, match=r"MEMORY\.md can't be written"):
        await learn_with_line(ledger_over(database, clock, full), "Lives in Kyiv", "home")
    await entries.add(OWNER, NewEntry("another", name="another", kind=Kind.FACT))
    await entries.remove(OWNER, "another")
    assert memory_md.read_text() == "* Lives in Kyiv\n"
    for _ in range(3):
        await undo.undo(OWNER)
    assert memory_md.read_text() == ""


async def test_a_persons_edit_after_a_crash_wins(
    database: Database, clock: FakeClock, ledger: Ledger, undo: Undo, memory_md: Path
) -> None:
    dying = DyingFiles(memory_md.parent.parent, in_utc, recent_days=7, max_memory_size=8192)
    with pytest.raises(KeyboardInterrupt):
        await learn_with_line(ledger_over(database, clock, dying), "Lives in Kyiv", "home")
    memory_md.write_text("Mine\n")
    await ledger.finish_edits()
    assert memory_md.read_text() == "Mine\n"
    assert what(await undo.undo(OWNER)) == ("learn", "consolidation", ("home",))


async def test_what_is_refused_leaves_entries_and_file_as_they_were(
    ledger: Ledger, entries: EntryStore, undo: Undo, memory_md: Path
) -> None:
    with pytest.raises(MemoryRefused, match="looks like a password"):
        await learn_with_line(ledger, "My password is hunter2-secret!", "wifi")
    with pytest.raises(MemoryRefused, match="would grow"):
        await learn_with_line(ledger, "fine", "fine", "x" * 100_000)
    assert await entries.list(OWNER) == []
    assert not memory_md.exists()
    assert await undo.undo(OWNER) is None


async def test_programs_that_edit_at_once_lose_nothing(
    database: Database, clock: FakeClock, files: MarkdownFiles, ledger: Ledger, memory_md: Path
) -> None:
    other = await Database.open(database.path)
    try:
        shelves = [LongTermMemory(files, ledger), LongTermMemory(files, ledger_over(other, clock, files))]
        for number in range(5):
            for name, shelf in enumerate(shelves):
                await shelf.append(OWNER, f"- {name} {number}", Author.USER)
    finally:
        await other.close()
    assert len(memory_md.read_text().splitlines()) == 10


async def test_reading_an_entry_waits_for_no_writer(database: Database, entries: EntryStore) -> None:
    await entries.add(OWNER, NewEntry("apple", name="key"))
    async with database.transaction():
        assert (await entries.get(OWNER, "KEY")).content == "apple"
        with pytest.raises(MemoryRefused, match=r"I remember nothing called 'kex': did you mean key\?"):
            await entries.get(OWNER, "kex")
        with pytest.raises(MemoryRefused, match="I remember nothing called"):
            await entries.get("telegram:9", "key")
    assert await database.value("SELECT count(*) FROM owners") == 1


# author, trust and secrets


async def test_the_models_rewrite_of_the_users_note_is_the_models(
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


async def test_no_secret_gets_into_a_generated_name(entries: EntryStore) -> None:
    topic = "The password: hunter2secret! is for the lighthouse"
    added = await entries.add(OWNER, NewEntry("They spoke.", stem="archive", topic=topic, kind=Kind.ARCHIVE))
    assert "hunter2" not in added.name


# invariants


def test_only_the_store_and_its_ledger_write_entries_and_names() -> None:
    writes = re.compile(r"\b(?:INTO|UPDATE|DELETE FROM)\s+(?:entries|names)\b", re.IGNORECASE)
    sources = [path for room in ("memory", "pipeline", "bot", "config") for path in (ROOT / room).rglob("*.py")]
    writing = [path for path in sources if writes.search(path.read_text(encoding="utf-8"))]
    assert {str(path.relative_to(ROOT).parent) for path in writing} == {"memory/store", "memory/ledger"}


async def test_no_content_changes_without_its_author(
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
