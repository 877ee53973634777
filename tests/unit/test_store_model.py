"""Model-based tests of the store: operations, learning and undo against dictionaries."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import shutil
import tempfile
from collections import Counter
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memory.errors import MemoryRefused
from memory.facts.learning import Learning
from memory.files.markdown import MarkdownFiles
from memory.ledger.entries import EntryStore
from memory.ledger.ledger import Ledger
from memory.ledger.page import appending
from memory.ledger.undo import Undo
from memory.search.search import Search
from memory.store.database import Database
from memory.store.entry import Author, Entry, NewEntry, Operation
from memory.store.erasure import PendingErasures
from memory.store.reinforcement import Reinforcement
from memory.text.wording import find_free_name, make_name_key
from tests.support.blank import write_blank
from tests.support.fakes import FakeClock
from tests.support.talk import in_utc

pytestmark = pytest.mark.slow

T = TypeVar("T")
OWNERS = ("telegram:1", "telegram:2")
# Few names, so that they collide. Some differ only in case or width.
NAMES = st.sampled_from(
    ["key", "KEY", "ｋｅｙ", "wifi", "garden plan", "Garden  Plan", "ключ", "鍵", "o'brien", "key until 2026-02-07"]
)
WORDS = ("apple", "banana", "cherry", "дверями", "花园", "straße", "naïve", "o’clock")
CONTENTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).map(" ".join)
KINDS = st.sampled_from(["note", "fact", "recipe"])


@dataclass
class HeldEntry:
    """An entry of the model with its names in binding order."""

    kind: str
    content: str
    name: str
    aliases: dict[str, str] = field(default_factory=dict)
    is_superseded: bool = False
    line: str | None = None


@dataclass
class PastState:
    """The state before a change, and MEMORY.md after it."""

    entries: dict[int, HeldEntry]
    page: list[str]
    page_after: list[str]


@dataclass
class OpenMemory:
    """The memory of one owner in the model: entries by number, and the state before each change."""

    entries: dict[int, HeldEntry] = field(default_factory=dict)
    page: list[str] = field(default_factory=list)
    past: list[PastState] = field(default_factory=list)
    undone: PastState | None = None
    has_only_a_page: bool = False

    def find_holder(self, name: str) -> int | None:
        key = make_name_key(name)
        for number, held in self.entries.items():
            if key == make_name_key(held.name) or key in held.aliases:
                return number
        return None

    def find_known(self, content: str) -> int | None:
        """Return the number of the first current fact with exactly this content."""
        saying = (n for n, h in self.entries.items() if (h.kind, h.content) == ("fact", content))
        return min((number for number in saying if not self.entries[number].is_superseded), default=None)

    def supersede(self, number: int, word: str = "until") -> tuple[str, dict[str, str]]:
        """Give an entry a dated name and return its former names."""
        former = self.entries[number]
        name, aliases = former.name, former.aliases
        former.is_superseded, former.name, former.aliases = True, "", {}
        taken = {key for held in self.entries.values() for key in (make_name_key(held.name), *held.aliases)}
        former.name = find_free_name(f"{name} {word} 2026-02-07", taken | {make_name_key(name), *aliases})
        return name, aliases

    def exchange_line(self, number: int, successor: int | None, said: str) -> None:
        """Replace the line of an entry with that of its successor, if it is still unchanged."""
        line = self.entries[number].line or (f"- {said}" if self.entries[number].kind == "fact" else None)
        if line is None or line not in self.page:
            return
        held = None if successor is None else self.entries[successor]
        own = None if held is None or successor == number else held.line
        new = None if held is None else own or f"- {held.content}"
        at = self.page.index(line)
        self.page[at : at + 1] = [] if new is None or new in self.page else [new]
        if held is not None and new in self.page:
            held.line = new

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Record the state around one change."""
        entries, page = copy.deepcopy(self.entries), list(self.page)
        yield
        self.past.append(PastState(entries, page, list(self.page)))

    def undo(self) -> str:
        """Undo the newest change. Return True unless MEMORY.md was edited since."""
        past = self.past.pop()
        is_touched = past.page != past.page_after
        if not is_touched or self.page in (past.page_after, past.page):
            self.entries, self.page = past.entries, past.page if is_touched else self.page
            return "done"
        self.has_only_a_page = self.entries == past.entries
        self.entries, self.undone = past.entries, past
        return "edited"

    def merge_page(self, page: list[str], *, is_left: bool) -> None:
        """Compare an edited MEMORY.md after an undo of a change of it."""
        assert self.undone is not None
        written = [line for line in self.undone.page_after if line not in self.undone.page]
        if is_left:
            assert page == self.page
        else:
            # The lines of the change are gone, and all other lines remain.
            assert not set(written) & set(page)
        assert [line for line in self.page if line not in written] == [
            line for line in page if line in self.page and line not in written
        ]
        self.page = page


class StoreMachine(RuleBasedStateMachine):
    """Runs each step on the store and on the model and compares them."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = FakeClock()
        self.database = self.wait(Database.open(write_blank(self.folder / "mneme.db")))
        self.files = files = MarkdownFiles(self.folder / "memory", in_utc, recent_days=7, max_memory_size=8192)
        self.ledger = Ledger(self.database, files, self.clock, in_utc)
        self.entries = EntryStore(self.database, self.ledger)
        self.undo_service = Undo(self.database, files, PendingErasures(self.database), self.clock)
        self.search = Search(self.database)
        self.learning = Learning(self.database, self.search, self.ledger)
        self.reinforcement = Reinforcement(self.database)
        self.shelves = {owner: OpenMemory() for owner in OWNERS}
        self.numbers = 0

    def wait(self, work: Awaitable[T]) -> T:
        async def waited() -> T:
            return await work

        return self.loop.run_until_complete(waited())

    def teardown(self) -> None:
        self.wait(self.database.close())
        self.loop.close()
        shutil.rmtree(self.folder)

    def refused(self, work: Awaitable[object], says: str) -> None:
        with pytest.raises(MemoryRefused, match=says):
            self.wait(work)

    @initialize()
    def start_with_facts_that_have_lines(self) -> None:
        for name, content in zip(("key", "wifi", "garden plan"), WORDS, strict=False):
            self.learn_with_line(OWNERS[0], name, content)

    @rule(owner=st.sampled_from(OWNERS), name=NAMES, content=CONTENTS, kind=KINDS)
    def add(self, owner: str, name: str, content: str, kind: str) -> None:
        shelf = self.shelves[owner]
        work = self.entries.add(owner, NewEntry(content, name=name, kind=kind))
        if shelf.find_holder(name) is not None:
            self.refused(work, "is taken by")
            return
        added = self.wait(work)
        with shelf.changing():
            shelf.entries[added.id] = HeldEntry(kind, content, " ".join(name.split()))
            assert shelf.find_holder(name) == max(shelf.entries)

    @rule(owner=st.sampled_from(OWNERS), name=NAMES, new_name=NAMES)
    def rename(self, owner: str, name: str, new_name: str) -> None:
        shelf = self.shelves[owner]
        work = self.entries.rename(owner, name, new_name)
        number, holder = shelf.find_holder(name), shelf.find_holder(new_name)
        if number is None:
            self.refused(work, "I don't remember anything called")
        elif holder not in (None, number):
            self.refused(work, "is taken by")
        else:
            self.wait(work)
            with shelf.changing():
                held = shelf.entries[number]
                held.aliases[make_name_key(held.name)] = held.name
                held.aliases.pop(make_name_key(new_name), None)
                held.name = " ".join(new_name.split())

    @rule(owner=st.sampled_from(OWNERS), name=NAMES, alias=NAMES)
    def alias(self, owner: str, name: str, alias: str) -> None:
        shelf = self.shelves[owner]
        work = self.entries.alias(owner, name, alias)
        number = shelf.find_holder(name)
        if number is None:
            self.refused(work, "I don't remember anything called")
        elif shelf.find_holder(alias) is not None:
            self.refused(work, "is taken by")
        else:
            self.wait(work)
            with shelf.changing():
                shelf.entries[number].aliases[make_name_key(alias)] = " ".join(alias.split())

    @rule(owner=st.sampled_from(OWNERS), name=NAMES, content=CONTENTS)
    def write(self, owner: str, name: str, content: str) -> None:
        shelf = self.shelves[owner]
        work = self.entries.write(owner, name, content)
        number = shelf.find_holder(name)
        if number is None:
            self.refused(work, "I don't remember anything called")
        else:
            self.wait(work)
            with shelf.changing():
                said, shelf.entries[number].content = shelf.entries[number].content, content
                if said != content and not shelf.entries[number].is_superseded:
                    shelf.exchange_line(number, number, said)

    @rule(owner=st.sampled_from(OWNERS), name=NAMES)
    def remove(self, owner: str, name: str) -> None:
        shelf = self.shelves[owner]
        work = self.entries.remove(owner, name)
        number = shelf.find_holder(name)
        if number is None:
            self.refused(work, "I don't remember anything called")
        else:
            self.wait(work)
            with shelf.changing():
                if not shelf.entries[number].is_superseded:
                    shelf.exchange_line(number, None, shelf.entries[number].content)
                del shelf.entries[number]

    @rule(owner=st.sampled_from(OWNERS), name=NAMES, content=CONTENTS)
    def learn(self, owner: str, name: str, content: str) -> None:
        shelf = self.shelves[owner]
        work = self.learning.learn(owner, NewEntry(content, name=name, kind="fact"))
        known = shelf.find_known(content)
        if known is not None:
            learned = self.wait(work)
            assert (learned.known, learned.entry.id) == (True, known)
        elif shelf.find_holder(name) is not None:
            self.refused(work, "is taken by")
        else:
            learned = self.wait(work)
            with shelf.changing():
                shelf.entries[learned.entry.id] = HeldEntry("fact", content, " ".join(name.split()))

    @rule(owner=st.sampled_from(OWNERS), name=NAMES, content=CONTENTS)
    def replace(self, owner: str, name: str, content: str) -> None:
        shelf = self.shelves[owner]
        work = self.learning.learn(owner, NewEntry(content, kind="fact"), name)
        number, known = shelf.find_holder(name), shelf.find_known(content)
        if number is None:
            self.refused(work, "I don't remember anything called")
        elif shelf.entries[number].is_superseded:
            self.refused(work, "was already replaced")
        elif shelf.entries[number].kind != "fact":
            self.refused(work, "which no memory replaces")
        elif number == known:
            assert self.wait(work).superseded is None
        else:
            learned = self.wait(work)
            with shelf.changing():
                freed, aliases = shelf.supersede(number)
                if known is not None:
                    assert learned.entry.id == known
                    shelf.entries[known].aliases |= {make_name_key(freed): freed} | aliases
                else:
                    shelf.entries[learned.entry.id] = HeldEntry("fact", content, freed, aliases)
                shelf.exchange_line(number, learned.entry.id, shelf.entries[number].content)

    @rule(numbers=st.lists(st.integers(1, 30), max_size=5))
    def reinforce(self, numbers: list[int]) -> None:
        self.wait(self.reinforcement.count_recall(numbers))

    @rule(owner=st.sampled_from(OWNERS))
    def undo(self, owner: str) -> None:
        shelf = self.shelves[owner]
        work = self.undo_service.undo(owner)
        if not shelf.past:
            assert self.wait(work) is None
        elif shelf.undo() == "done":
            undone = self.wait(work)
            assert undone is not None
            assert not undone.left_as_edited
        else:
            is_left = True
            try:
                undone = self.wait(work)
                assert undone is not None
                is_left = undone.left_as_edited
            except MemoryRefused:
                assert shelf.has_only_a_page
            text = self.wait(self.files.read_long_term(owner))
            shelf.merge_page(text.splitlines(), is_left=is_left)

    @rule(owner=st.sampled_from(OWNERS), name=NAMES, content=CONTENTS)
    def learn_with_line(self, owner: str, name: str, content: str) -> None:
        shelf, line = self.shelves[owner], f"* {content}"

        async def learn() -> int:
            async with self.ledger.change(owner, Operation.LEARN, Author.CONSOLIDATION) as change:
                entry = await change.add(NewEntry(content, name=name, kind="fact"))
                await change.edit_file(appending(line))
                await change.record_line(entry, line)
                return entry.id

        if shelf.find_holder(name) is not None:
            self.refused(learn(), "is taken by")
            return
        number = self.wait(learn())
        with shelf.changing():
            shelf.entries[number] = HeldEntry("fact", content, " ".join(name.split()), line=line)
            shelf.page.append(line)

    @rule(owner=st.sampled_from(OWNERS), name=NAMES, other=NAMES)
    def merge(self, owner: str, name: str, other: str) -> None:
        shelf = self.shelves[owner]
        number, second = shelf.find_holder(name), shelf.find_holder(other)
        if number is None or second is None or number == second or shelf.entries[second].is_superseded:
            return

        async def merge() -> None:
            async with self.ledger.change(owner, Operation.CONSOLIDATE, Author.CONSOLIDATION) as change:
                await change.merge(await change.get(name), [await change.get(other)])

        self.wait(merge())
        with shelf.changing():
            freed, aliases = shelf.supersede(second, "merged")
            shelf.entries[number].aliases |= {make_name_key(freed): freed} | aliases
            shelf.exchange_line(second, number, shelf.entries[second].content)

    @rule(owner=st.sampled_from(OWNERS), text=st.lists(st.sampled_from(WORDS), max_size=2), last=st.booleans())
    def somebody_edits(self, owner: str, text: list[str], *, last: bool) -> None:
        shelf = self.shelves[owner]
        kept = shelf.page if last else shelf.page[:-1]
        shelf.page = [*kept, *(f"- {word}" for word in text)]
        path = self.files.get_folder(owner) / "MEMORY.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in shelf.page), encoding="utf-8")

    @rule()
    def purge(self) -> None:
        assert self.wait(self.ledger.purge()) == 0

    @invariant()
    def each_name_finds_its_entry(self) -> None:
        async def check() -> None:
            for owner, shelf in self.shelves.items():
                for number, held in shelf.entries.items():
                    for name in (held.name, *held.aliases.values()):
                        assert to_held_entry(await self.entries.get(owner, name)) == (number, held)

        self.wait(check())  # One run of the loop, which costs more than the reads.

    @invariant()
    def memory_md_is_as_the_model_has_it(self) -> None:
        for owner, shelf in self.shelves.items():
            assert self.wait(self.files.read_long_term(owner)) == "".join(f"{line}\n" for line in shelf.page)

    @invariant()
    def lists_and_counts_agree(self) -> None:
        for owner, shelf in self.shelves.items():
            listed = self.wait(self.entries.list(owner))
            assert [entry.id for entry in sorted(listed, key=lambda e: -e.id)] == sorted(shelf.entries, reverse=True)
            history = [entry.superseded_by is not None or entry.archived_at is not None for entry in listed]
            assert history == sorted(history), "what holds comes first"
            assert self.wait(self.entries.count_by_kind(owner)) == Counter(held.kind for held in shelf.entries.values())

    @invariant()
    def search_finds_exactly_what_holds_the_word(self) -> None:
        async def check() -> None:
            for owner, shelf in self.shelves.items():
                for word in WORDS:
                    found = [hit.id for hit in await self.search.find(word, owner)]
                    assert sorted(found) == sorted(n for n, held in shelf.entries.items() if word in held.content)

        self.wait(check())

    @invariant()
    def strengths_follow_from_counts_and_times(self) -> None:
        wrong = "SELECT count(*) FROM entries WHERE strength <> strength(reinforcement_count, last_reinforced_at, 90)"
        assert self.wait(self.database.value(wrong)) == 0

    @invariant()
    def the_index_is_what_a_new_one_would_be(self) -> None:
        async def check() -> None:
            async with self.database.transaction() as connection:
                await connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")

        self.wait(check())


def to_held_entry(entry: Entry) -> tuple[int, HeldEntry]:
    aliases = {make_name_key(alias): alias for alias in entry.aliases}
    return entry.id, HeldEntry(
        str(entry.kind), entry.content, entry.name, aliases, entry.superseded_by is not None, entry.line
    )


TestStore = StoreMachine.TestCase
TestStore.settings = settings(stateful_step_count=30 if settings().max_examples > 100 else 20)
