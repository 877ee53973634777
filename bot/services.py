"""The memory half of the composition root: every service over one open database, for the bot and the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.models import NO_MODELS, MeaningModels
from config.settings import MemoryScope, Settings
from memory.consolidation.weekly import WeeklyConsolidation
from memory.facts.fact_store import FactStore
from memory.files.history import HistoryFiles
from memory.files.long_term import LongTermMemory
from memory.files.markdown import MarkdownFiles
from memory.forgetting import Forgetting
from memory.learning.learning import Learning, Procedures
from memory.ledger.changes import ChangeLog
from memory.ledger.entries import EntryStore
from memory.ledger.ledger import Ledger
from memory.log.daily_notes import DailyNotes
from memory.log.sessions import SessionService
from memory.log.turn_log import TurnLog
from memory.mail.chat_migration import ChatMigration
from memory.mail.notices import PendingNotices
from memory.mail.pruning import Pruning
from memory.media.media import MediaStore
from memory.reminders.dates import NearDates
from memory.reminders.delivery import ReminderDelivery
from memory.reminders.reminders import Reminders
from memory.reminders.tasks import Tasks
from memory.search.activation import Activation, ActivationLog
from memory.search.lookup import MemoryLookup
from memory.search.ranking import Ranker
from memory.search.reading import MemoryReader, MemoryStats
from memory.search.recall import Recall
from memory.search.search import Search
from memory.search.vectors import Embedding, Vectors
from memory.service.endpoints import EndpointStore
from memory.service.jobs import JobLog
from memory.service.preferences import Notices, NoticeSettings, PreferenceStore, Zones
from memory.store.decay import TYPE_WEIGHTS, Decay
from memory.store.pending_erasures import PendingErasures
from memory.store.reinforcement import Reinforcement
from memory.transfer.exporting import Portable
from memory.transfer.importing import Importer
from memory.undo import Undo

if TYPE_CHECKING:
    from memory.clock import Clock, TimezoneLookup
    from memory.search.vector_search import VectorSearch
    from memory.store.database import Database
    from memory.text.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class MemoryServices:
    """What can be done with the memory of one installation."""

    database: Database
    sessions: SessionService
    turns: TurnLog
    ledger: Ledger
    entries: EntryStore
    search: Search
    lookup: MemoryLookup
    recall: Recall
    reading: MemoryReader
    vectors: Vectors
    embedding: Embedding | None
    reinforcement: Reinforcement
    activation: Activation
    activation_log: ActivationLog
    learning: Learning
    procedures: Procedures
    facts: FactStore
    weekly: WeeklyConsolidation
    stats: MemoryStats
    files: MarkdownFiles
    long_term: LongTermMemory
    history: HistoryFiles
    undo: Undo
    forgetting: Forgetting
    traces: PendingErasures
    portable: Portable
    importer: Importer
    notices: PendingNotices
    jobs: JobLog
    endpoints: EndpointStore
    pruning: Pruning
    daily_notes: DailyNotes
    media: MediaStore
    reminders: Reminders
    telling: ReminderDelivery
    tasks: Tasks
    near_dates: NearDates
    preferences: PreferenceStore
    zone_of: TimezoneLookup
    moving: ChatMigration
    notices_of: NoticeSettings


def memory_services(
    settings: Settings,
    database: Database,
    counter: TokenCounter,
    clock: Clock,
    models: MeaningModels = NO_MODELS,
) -> MemoryServices:
    """The services over an open database, as the settings have them. models: what compares meanings."""
    preferences = PreferenceStore(database)
    zone_of = Zones(preferences, settings.zone)
    notices_of = NoticeSettings(preferences, Notices.ON if settings.memory_notices else Notices.OFF)

    def introduces(session_id: str) -> bool:
        return notices_of.tells(session_id) and not zone_of.has_chosen(session_id)

    search = Search(database)
    decay = decay_of(settings)
    files = MarkdownFiles(
        settings.mneme_data_dir / "memory",
        zone_of,
        recent_days=settings.memory_recent_days,
        max_memory_size=settings.memory_max_size,
    )
    ledger = Ledger(database, files, clock, zone_of)
    reminders = Reminders(database, clock, zone_of, introduces)
    vectors = Vectors(database)
    traces = PendingErasures(database)
    forgetting = Forgetting(database, files, traces)
    vector_search = _vector_search(search, vectors, models)
    recall = Recall(search, database, counter, zone_of, Ranker(database, vector_search))
    if vector_search is not None:
        forgetting.also(vector_search.forget)
    entries, long_term = EntryStore(database, ledger), LongTermMemory(files, ledger)
    return MemoryServices(
        database=database,
        sessions=SessionService(database, clock, shared_owner=settings.memory_scope is MemoryScope.SHARED),
        turns=TurnLog(database, clock),
        ledger=ledger,
        entries=entries,
        search=search,
        lookup=MemoryLookup(search, entries, long_term),
        recall=recall,
        reading=MemoryReader(recall, search, database, counter),
        vectors=vectors,
        embedding=Embedding(vectors, models.embedder) if models.embedder is not None else None,
        reinforcement=Reinforcement(database),
        activation=Activation(database, decay, clock, zone_of),
        activation_log=ActivationLog(database),
        learning=Learning(database, search, ledger),
        procedures=Procedures(ledger),
        facts=FactStore(database, ledger, search),
        weekly=WeeklyConsolidation(database, ledger, decay, clock),
        stats=MemoryStats(database, counter),
        files=files,
        long_term=long_term,
        history=HistoryFiles(files),
        undo=Undo(database, ChangeLog(clock), files),
        forgetting=forgetting,
        traces=traces,
        portable=Portable(database, settings.mneme_data_dir / "memory"),
        importer=Importer(database, settings.mneme_data_dir / "memory"),
        notices=PendingNotices(database, clock, notices_of.tells),
        jobs=JobLog(database),
        endpoints=EndpointStore(database, clock),
        pruning=Pruning(database, clock),
        daily_notes=DailyNotes(database, files, zone_of),
        media=MediaStore(database, clock),
        reminders=reminders,
        telling=ReminderDelivery(database, preferences.language, clock),
        tasks=Tasks(database, clock),
        near_dates=NearDates(database, reminders, preferences.language, clock),
        preferences=preferences,
        zone_of=zone_of,
        moving=ChatMigration(database, files, preferences, clock),
        notices_of=notices_of,
    )


def _vector_search(search: Search, vectors: Vectors, models: MeaningModels) -> VectorSearch | None:
    if models.embedder is None:
        return None
    from memory.search.vector_search import VectorSearch  # needs numpy, which is there with an embedder only

    return VectorSearch(search, vectors, models.embedder)


def decay_of(settings: Settings) -> Decay:
    """How memories fade in this installation."""
    return Decay(
        type_weights={**TYPE_WEIGHTS, **settings.memory_type_weights},
        half_life_days=settings.memory_half_life_days,
        threshold=settings.memory_threshold,
        archive_below=settings.memory_archive_below,
    )
