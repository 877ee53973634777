"""The memory half of the composition root, for the bot and the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from config.settings import MemoryScope, Settings
from memory.browsing import MemoryBrowser
from memory.clock import Clock
from memory.condition import ConditionInspector
from memory.consolidation.page_view import PageView
from memory.facts.fact_learner import FactLearner
from memory.facts.learning import Learning, Procedures
from memory.facts.sharing import Sharing
from memory.files.history import HistoryFiles
from memory.files.markdown import MarkdownFiles
from memory.forgetting import Forgetting
from memory.ledger.entries import EntryStore
from memory.ledger.ledger import Ledger
from memory.ledger.long_term import LongTermMemory
from memory.ledger.undo import Undo
from memory.log.daily_notes import DailyNotes
from memory.log.sessions import SessionService
from memory.log.turn_log import TurnLog
from memory.mail.chat_migration import ChatMigration
from memory.mail.pruning import Pruning
from memory.media.media import MediaStore
from memory.naming_traces import NamingTracer
from memory.runtime.endpoints import EndpointStore
from memory.runtime.jobs import JobLog
from memory.runtime.preferences import Notices, NoticeSettings, PreferenceStore, Zones
from memory.search.activation import Activation
from memory.search.activation_log import ActivationLog, MemoryUses
from memory.search.memory_reader import MemoryReader, MemoryStats
from memory.search.named_memories import MemoryLookup
from memory.search.ranking import Ranker
from memory.search.recall import Recall
from memory.search.search import Search
from memory.search.types import SimilaritySource
from memory.store.database import Database
from memory.store.decay import TYPE_WEIGHTS, Decay
from memory.store.erasure import PendingErasures
from memory.store.file_copies import FileCopies
from memory.store.notices import PendingNotices
from memory.store.reinforcement import Reinforcement
from memory.text.tokens import TokenCounter
from memory.transfer.exporting import Exporter
from memory.transfer.importing import Importer


class MemoryServices:
    """All services over the open database of one installation."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        counter: TokenCounter,
        clock: Clock,
    ) -> None:
        folder, decay = settings.mneme_data_dir / "memory", create_decay(settings)
        self.database = database
        self.counter = counter
        self.preferences = PreferenceStore(database)
        self.zone_of = Zones(self.preferences, settings.zone)
        self.notices_of = NoticeSettings(self.preferences, Notices.ON if settings.memory_notices else Notices.OFF)
        self.sessions = SessionService(database, clock, shared_owner=settings.memory_scope is MemoryScope.SHARED)
        self.turns = TurnLog(database, clock)
        self.media = MediaStore(database, clock)
        self.notices = PendingNotices(database, self.notices_of.is_enabled)
        self.jobs = JobLog(database)
        self.endpoints = EndpointStore(database, clock)
        self.pruning = Pruning(database, clock)
        self.files = MarkdownFiles(
            folder, self.zone_of, recent_days=settings.memory_recent_days, max_memory_size=settings.memory_max_size
        )
        self.copies = copies = FileCopies(database, settings.mneme_data_dir) if settings.replica_url else None
        self.history = HistoryFiles(self.files, copies)
        self.daily_notes = DailyNotes(database, self.files, self.zone_of, copies)
        self.moving = ChatMigration(database, self.files, self.preferences, clock)

        self.ledger = Ledger(database, self.files, clock, self.zone_of, copies)
        self.entries = EntryStore(database, self.ledger)
        self.long_term = LongTermMemory(self.files, self.ledger)
        self.procedures = Procedures(self.ledger)
        self.view = PageView(settings.memory_max_size, decay)
        self.traces = PendingErasures(database, copies)
        self.undo = Undo(database, self.files, self.traces, clock, copies)
        self.forgetting = Forgetting(database, self.files, self.traces)
        self.naming_traces = NamingTracer(database, self.files, clock)
        self.portable = Exporter(database, folder)
        self.importer = Importer(database, folder)

        is_family = settings.memory_scope is MemoryScope.FAMILY
        self.sharing = Sharing(database, self.ledger, self.undo, enabled=is_family)
        self.search = Search(database, family=is_family)
        self._ranker = Ranker(database)
        self.recall = Recall(self.search, database, counter, self.zone_of, self._ranker)
        self.reading = MemoryReader(self.recall, self.search, database, counter)
        self.lookup = MemoryLookup(self.search, self.entries, self.long_term)
        self.uses = MemoryUses(database, Reinforcement(database))
        self.activation = Activation(database, decay, clock, self.zone_of)
        self.activation_log = ActivationLog(database)
        self.learning = Learning(database, self.search, self.ledger)
        self.facts = FactLearner(database, self.search)
        self.condition = ConditionInspector(database, self.files, decay, settings.memory_max_size, clock)
        self.browser = MemoryBrowser(database)
        self.decay = decay
        self.stats = MemoryStats(database, counter)
        self._candidate_finders: list[Callable[[str], Iterable[str]]] = []

    def compare_with(self, similarity: SimilaritySource) -> None:
        """Find memories by meaning too, from now on."""
        self._ranker.similarity = self.facts.similarity = similarity

    def propose_with(self, find: Callable[[str], Iterable[str]]) -> None:
        """Show the consolidation the sentences that `find` returns for a typed message, from now on."""
        self._candidate_finders.append(find)

    def find_candidates(self, text: str) -> Iterator[str]:
        """Yield the sentences of a typed message that are perhaps worth remembering."""
        for find in self._candidate_finders:
            yield from find(text)


def create_decay(settings: Settings) -> Decay:
    return Decay(
        type_weights={**TYPE_WEIGHTS, **settings.memory_type_weights},
        half_life_days=settings.memory_half_life_days,
        threshold=settings.memory_threshold,
        archive_below=settings.memory_archive_below,
    )
