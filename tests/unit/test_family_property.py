"""Tests that the model requests of each chat in a family contain only texts that were shared with that chat.

`pytest --hypothesis-profile=long` runs ten thousand sequences instead of a hundred.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.services import MemoryServices
from config.models import ModelWindow
from config.settings import MemoryScope, Settings
from memory.errors import MemoryRefused
from memory.log.sessions import Address, Session
from memory.search.types import Filter
from memory.store.database import Database
from memory.store.entry import Author, NewEntry
from memory.text.tokens import TokenCounter
from pipeline.prompt.budget import Budget
from pipeline.prompt.memory_part import MemoryPart
from pipeline.prompt.part import PromptPart, SharedPart
from pipeline.prompt.prompts import STYLES
from pipeline.systems.context_building import PromptBuilder
from tests.support.blank import write_blank
from tests.support.fakes import FakeClock
from tests.support.features import needs_feature
from tests.support.talk import Store, assistant, in_utc, user

pytestmark = pytest.mark.slow

_ALL = Filter()
PEOPLE, GROUPS, GUEST = ("1", "2", "3", "4"), ("-10", "-20"), "9"
CHATS = (*PEOPLE, *GROUPS, GUEST)
ACTS = (
    "remember",
    "remember",
    "say",
    "share",
    "share",
    "unshare",
    "withdraw",
    "reshare",
    "rewrite",
    "edit",
    "forget",
    "undo",
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(CHATS), st.sampled_from((*ACTS, "admit", "expel", "forget all", "tidy")), st.integers(0, 3)
    ),
    max_size=15,
)


class Family:
    """A family, and what each of its chats may see.

    Attributes:
        shared: The secret words that their owners share with the family.
        maybe: Words whose sharing an undo may have changed.
    """

    def __init__(self, database: Database, folder: Path, clock: FakeClock) -> None:
        from bot.features.tidying.tidying import WeeklyConsolidation

        settings = Settings.model_validate({"mneme_data_dir": folder, "memory_scope": MemoryScope.FAMILY})
        counter = TokenCounter()
        self.memory = MemoryServices(settings, database, counter, clock)
        self.store = Store.create(database, clock)
        memory = self.memory
        self.tidying = WeeklyConsolidation(database, memory.ledger, memory.decay, clock, memory.view)
        self.budget = Budget("", ModelWindow(128_000, 8_000), counter)
        memories = MemoryPart(self.memory.daily_notes, self.memory.recall, self.memory.activation, 800)
        parts: list[PromptPart] = [SharedPart(self.memory.sharing), memories]
        self.builder = PromptBuilder(STYLES["full"], parts, self._budget, clock, in_utc)
        self.of: dict[str, str] = {}
        self.shared: set[str] = set()
        self.maybe: set[str] = set()
        self.withdrawn: dict[int, list[str]] = {}
        self.family = set(PEOPLE)

    async def _budget(self, _owner: str, _model: object = None) -> Budget:
        return self.budget

    def create_secret(self, chat: str) -> str:
        """Return a new word of a chat."""
        word = f"secret{len(self.of)}x"
        self.of[word] = chat
        return word

    async def act(self, chat: str, what: str, which: int) -> None:  # noqa: C901  # A case for each action.
        """Run one action. A refused action changes nothing."""
        owner, sharing, entries = f"telegram:{chat}", self.memory.sharing, self.memory.entries
        session = await self.memory.sessions.get_or_create(Address("telegram", chat))
        have = [entry for entry in await entries.list(owner) if entry.superseded_by is None]
        entry = have[which % len(have)] if have else None
        words = [word for word in self.of if entry is not None and word in entry.content]
        match what:
            case "remember":
                await entries.add(owner, NewEntry(f"The boat key is {self.create_secret(chat)}"))
            case "say":
                await self.store.commit_turn(
                    session, user(f"the boat has {self.create_secret(chat)}"), assistant("I see")
                )
            case "admit":
                await sharing.admit(owner)
                self.family.add(chat)
            case "expel":
                await sharing.expel(owner)
                self.family.discard(chat)
            case "undo":
                own = [word for word, holder in self.of.items() if holder == chat]
                self.maybe.update(own)
                if await self.memory.undo.undo(owner) is not None:
                    self._apply(own)
            case "forget all":
                await self.memory.forgetting.forget_all(owner)
                self.shared -= {word for word, holder in self.of.items() if holder == chat}
                self.maybe -= {word for word, holder in self.of.items() if holder == chat}
            case "reshare":
                await self._reshare(which)
            case "tidy":
                await self.tidying.run(owner)
            case _ if entry is None:
                return
            case "share":
                await sharing.share(owner, f"#{entry.id}", f"Person {chat}")
                self.shared.update(words)
            case "unshare":
                await sharing.unshare(owner, f"#{entry.id}")
                self._remove_holders(words)
            case "withdraw":
                _, number = await sharing.withdraw(entry.id)
                self._remove_holders(words)
                self.withdrawn[number or 0] = words
            case "forget":
                await entries.remove(owner, f"#{entry.id}")
                self._remove_holders(words)
            case "rewrite":
                await entries.write(owner, f"#{entry.id}", f"The boat key is {self.create_secret(chat)}", Author.MODEL)
                self._remove_holders(words)
            case "edit":
                word = self.create_secret(chat)
                await entries.edit(owner, f"#{entry.id}", f"The boat key is {word}")
                self.shared |= {word} if self.shared.intersection(words) else set()
                self.maybe |= {word} if self.maybe.intersection(words) else set()
                self._remove_holders(words)

    async def _reshare(self, which: int) -> None:
        """Undo a withdrawal as the bot's owner. Only entries unchanged since are shared again."""
        if which >= len(self.withdrawn):
            return
        number, words = list(self.withdrawn.items())[which]
        if await self.memory.sharing.share_again(number) is not None:
            assert words, "its owner has done something to it since"
            self.shared.update(words)
            self.maybe.update(words)
            del self.withdrawn[number]

    def _apply(self, words: list[str]) -> None:
        for number, withdrawn in self.withdrawn.items():
            if set(withdrawn) & set(words):
                self.withdrawn[number] = []

    def _remove_holders(self, words: list[str]) -> None:
        self._apply(words)
        self.shared.difference_update(words)
        self.maybe.difference_update(words)

    async def build_request(self, session: Session) -> str:
        """Return everything in a chat's next request."""
        question = "Where is the boat key?"
        draft = self.builder.draft(session, await self.memory.sessions.read_transcript(session.id), self.budget)
        draft.question, draft.new_messages = question, [user(question)]
        prompt = await self.builder.build(draft)
        found = await self.memory.recall.recall(question, session.owner, _ALL, 50)
        return "\n".join([prompt.messages[0].content, prompt.added.text, *(result.text for result in found)])

    def find_leaks(self, chat: str, text: str) -> Iterator[str]:
        """Return the words in a chat's request that are neither its own nor shared with it."""
        for word, holder in self.of.items():
            may_be = word in self.shared | self.maybe and {chat, holder} <= self.family
            if holder != chat and word in text and not may_be:
                yield word


@needs_feature("tidying")
@given(STEPS)
def test_request_contains_nothing_that_was_not_shared(steps: list[tuple[str, str, int]]) -> None:
    async def live() -> None:
        with tempfile.TemporaryDirectory() as folder:
            clock = FakeClock()
            database = await Database.open(write_blank(Path(folder) / "mneme.db"), clock=clock)
            try:
                family = Family(database, Path(folder), clock)
                await family.memory.sharing.settle(f"telegram:{person}" for person in PEOPLE)
                for chat in CHATS:  # This may leak from the first step on.
                    await family.act(chat, "remember", 0)
                    await family.act(chat, "say", 0)
                for chat in PEOPLE[:2]:
                    await family.act(chat, "share", 0)
                for chat, what, which in steps:
                    try:
                        await family.act(chat, what, which)
                    except MemoryRefused:
                        continue
                for chat in CHATS:
                    session = await family.memory.sessions.get_or_create(Address("telegram", chat))
                    assert not list(family.find_leaks(chat, await family.build_request(session)))
            finally:
                await database.close()

    asyncio.run(live())


@needs_feature("tidying")
async def test_shared_entry_is_in_the_requests_of_the_others(tmp_path: Path, clock: FakeClock) -> None:
    database = await Database.open(tmp_path / "mneme.db", clock=clock)
    family = Family(database, tmp_path, clock)
    await family.memory.sharing.settle(["telegram:1", "telegram:2"])
    await family.act("1", "remember", 0)
    await family.act("1", "share", 0)
    session = await family.memory.sessions.get_or_create(Address("telegram", "2"))
    assert "secret0x" in await family.build_request(session)
    await database.close()
