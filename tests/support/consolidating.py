"""Consolidation on real files and a real database with a scripted model and scripted crashes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memory.consolidation.compression import Compression
from memory.consolidation.consolidation import ConsolidationService
from memory.consolidation.extractor import Extractor, ModelAbilities
from memory.consolidation.fact_writer import FactWriter
from memory.consolidation.outcome import ConsolidationResult
from memory.consolidation.page_view import PageView
from memory.facts.checker import FactChecker
from memory.facts.fact import CheckedFact
from memory.facts.fact_learner import FactLearner, LearnedMemory
from memory.facts.second_look import PromptFn, SecondLook
from memory.files.history import HistoryFiles
from memory.files.markdown import MarkdownFiles
from memory.ledger.change import Change
from memory.ledger.ledger import Ledger
from memory.ledger.undo import Undo
from memory.log.sessions import Session
from memory.messages import Completion
from memory.search.search import Search
from memory.store.database import Database
from memory.store.erasure import PendingErasures
from memory.store.notices import PendingNotices
from memory.text.tokens import TokenCounter
from tests.support.agreement import confirm_claims
from tests.support.fakes import FakeClock
from tests.support.talk import Store, in_utc

CRASH_POINTS = (
    "before history",
    "after history",
    "before memory",
    "after memory",
    "before facts",
    "after facts",
)


class Crash(BaseException):
    """The simulated end of the process."""


@dataclass(slots=True)
class CrashPoints:
    """Crashes once when `point` is reached."""

    point: str | None = None

    def reach(self, point: str) -> None:
        if point == self.point:
            self.point = None
            raise Crash(point)


class CrashingHistory(HistoryFiles):
    def __init__(self, files: MarkdownFiles, crashes: CrashPoints) -> None:
        super().__init__(files)
        self._crashes = crashes

    async def append(self, owner: str, at: datetime, text: str, key: str) -> bool:
        self._crashes.reach("before history")
        written = await super().append(owner, at, text, key)
        self._crashes.reach("after history")
        return written


class CrashingFiles(MarkdownFiles):
    crashes = CrashPoints()

    async def rewrite_long_term(self, owner: str, *, expected: str, text: str) -> bool:
        self.crashes.reach("before memory")
        written = await super().rewrite_long_term(owner, expected=expected, text=text)
        self.crashes.reach("after memory")
        return written


class CrashingFacts(FactLearner):
    crashes = CrashPoints()

    async def learn_in(self, change: Change, facts: Sequence[CheckedFact], first_message: int) -> list[LearnedMemory]:
        self.crashes.reach("before facts")
        learned = await super().learn_in(change, facts, first_message)
        self.crashes.reach("after facts")
        return learned


@dataclass(frozen=True, slots=True)
class Bench:
    """A consolidation service with its dependencies."""

    store: Store
    files: MarkdownFiles
    history: HistoryFiles
    facts: FactLearner
    ledger: Ledger
    undo: Undo
    notices: PendingNotices
    crashes: CrashPoints
    service: ConsolidationService

    @classmethod
    def create(
        cls,
        database: Database,
        clock: FakeClock,
        folder: Path,
        prompt: PromptFn,
        *,
        timeout: float = 20,
        max_size: int = 8192,
        part_tokens: int = 8_000,
        selects: bool = False,
        look: PromptFn | None = None,
    ) -> Bench:
        """Return a bench over a database. By default `look`, the model of the second look, is `agree`."""
        crashes, store = CrashPoints(), Store.create(database, clock)
        files = CrashingFiles(folder, in_utc, recent_days=7, max_memory_size=max_size)
        ledger = Ledger(database, files, clock, in_utc)
        facts = CrashingFacts(database, Search(database))
        files.crashes = facts.crashes = crashes
        history = CrashingHistory(files, crashes)

        async def is_reliable() -> bool:
            return not selects

        contract = ModelAbilities(lambda: part_tokens, is_reliable)
        checker = FactChecker(SecondLook(look or agree, is_reliable))
        service = ConsolidationService(
            database,
            store.sessions,
            Extractor(prompt, contract, facts, TokenCounter(), clock, in_utc, lambda _: ()),
            checker,
            FactWriter(ledger, facts, PageView(max_size)),
            Compression(prompt, ledger, max_size, clock),
            history,
            clock,
            timeout,
        )
        return cls(
            store,
            files,
            history,
            facts,
            ledger,
            Undo(database, files, PendingErasures(database), clock),
            PendingNotices(database),
            crashes,
            service,
        )

    def memory_path(self, owner: str) -> Path:
        return self.files.get_folder(owner) / "MEMORY.md"

    def write_memory(self, owner: str, text: str) -> None:
        """Write MEMORY.md as a person with an editor."""
        path = self.memory_path(owner)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    async def end_conversation(self, session: Session) -> ConsolidationResult | None:
        """End a conversation like /new in a program that ends with its answer."""
        due = await self.service.mark_current_due(session)
        done = None if due is None else await self.service.try_now(due)
        await self.store.sessions.clear_messages(session.id)
        return done

    async def run_pending(self) -> None:
        """Run pending work as at the start and in the background."""
        await self.ledger.finish_edits()
        for conversation_id, _ in await self.service.list_pending():
            await self.service.run(conversation_id)


async def agree(prompt: str, _seconds: float) -> Completion:
    """Answer the second look with agreement, see tests/support/agreement.py."""
    return Completion(confirm_claims(prompt))


def create_answer(history: object = "They talked.", update: object = None, *facts: tuple[str, str]) -> str:
    """Return a consolidation answer. Facts are pairs of subject and text."""
    listed = [{"subject": subject, "fact": text, "kind": "fact", "since": None} for subject, text in facts]
    return json.dumps({"history_entry": history, "memory_update": update, "facts": listed})
