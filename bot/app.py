"""The composition root: creates all objects from the settings and connects them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

import structlog

from bot.commands.command import CommandRunner, command_table
from bot.commands.conversation import ConversationCommands
from bot.commands.files import ImportCommands
from bot.commands.memory_browser import MemoryQueries
from bot.commands.memory_changes import MemoryCommands
from bot.commands.people import AccessCommands
from bot.commands.reminders import ReminderCommands
from bot.commands.settings import SettingsCommands
from bot.commands.sharing import SharingCommands
from bot.commands.status import Status
from bot.feature import Contributions, Feature, open_features
from bot.features.registry import installed_features
from bot.jobs.background import BackgroundConsolidation, BackgroundEmbedding, BackgroundImportLearning
from bot.jobs.capturing import BackgroundCapture
from bot.jobs.scheduled import Maintenance
from bot.kernel import App, Jobs, Kernel
from bot.languages import Languages
from bot.models import (
    create_meaning_models,
    create_media_reader,
    create_model_setup,
    create_models,
    create_price_lookup,
    describe_uncounted_cost,
)
from bot.monitoring import Health
from bot.services import MemoryServices, create_replica
from bot.sessions import SessionQueues, SessionRunner
from bot.tasks import BackgroundTasks
from bot.telegram import CHANNEL as TELEGRAM
from bot.web import get_page_address
from config.models import ModelCatalogue, load_catalogue
from config.settings import Settings, check_together
from memory.access import AccessList
from memory.clock import Clock, system_clock
from memory.consolidation.capture_review import CaptureReview
from memory.consolidation.compression import Compression
from memory.consolidation.consolidation import BACKGROUND_TIMEOUT_FACTOR, ConsolidationService
from memory.consolidation.extractor import Extractor
from memory.consolidation.fact_writer import FactWriter
from memory.errors import StoreError
from memory.facts.capture_look import CaptureLook
from memory.facts.checker import FactChecker
from memory.facts.second_look import SecondLook
from memory.imports.learning import ImportLearning
from memory.log.compaction import CompactionLimits, CompactionService
from memory.runtime.usage import Quota, TokenUse, UsageLog
from memory.search.activation import set_half_life
from memory.store.database import Database
from memory.store.effects import Effects
from memory.store.integrity import IntegrityCheck
from memory.text.tokens import TokenCounter
from pipeline.media.exports import ExportReader
from pipeline.media.files import MediaSources
from pipeline.models.memory_prompts import ModelConsolidator, ModelSummarizer
from pipeline.models.model import ChatModel
from pipeline.models.routing import ModelChoice, ModelRouter
from pipeline.order import ORDER
from pipeline.prompt.budget import Budget
from pipeline.prompt.memory_part import MemoryPart
from pipeline.prompt.part import PartOrder, PromptPart
from pipeline.prompt.parts import HintsPart, QuotedPart, SharedPart, SummaryPart
from pipeline.prompt.prompt_builder import PromptBuilder
from pipeline.prompt.prompts import without_memory
from pipeline.runner import Pipeline
from pipeline.systems.auto_capture import AutoCapture
from pipeline.systems.context_building import AutoCompaction, ContextBuilding
from pipeline.systems.input_sanitizing import InputSanitizing
from pipeline.systems.reply_delivery import Indexing, MemoryPersist, ReplyDelivery
from pipeline.systems.tool_loop import ToolLoop, TurnLimits
from pipeline.tools.cited_writes import CitedWrites
from pipeline.tools.entries import (
    episode_tool,
    history_search_tool,
    learn_tool,
    memory_file_tool,
    note_tools,
    procedure_tool,
    stats_tool,
)
from pipeline.tools.media import media_tools
from pipeline.tools.memory_recall import memory_recall_tool
from pipeline.tools.reminders import PlainReminders, reminder_tools
from pipeline.tools.toolbox import Tool, Toolbox

if TYPE_CHECKING:
    from bot.jobs.replication import Replication

log = structlog.get_logger(__name__)

IMPORT_PURPOSE = "import"
CAPTURE_PURPOSE = "capture"


@contextlib.asynccontextmanager
async def open_app(
    settings: Settings,
    clock: Clock = system_clock,
    catalogue: ModelCatalogue | None = None,
    features: Sequence[Feature] | None = None,
) -> AsyncIterator[App]:
    """Start everything but the channels, and stop it at the end of the block.

    Raises ConfigurationError or StoreError with one sentence if that is impossible.

    Args:
        catalogue: the known models, by default the packaged ones.
        features: the features that the settings may switch on, by default all that are installed.
    """
    check_together(settings)
    async with contextlib.AsyncExitStack() as stack:
        database = await Database.open(settings.database_file, clock=clock)
        stack.push_async_callback(database.close)
        counter = TokenCounter()
        meaning = create_meaning_models(settings, stack)
        memory = MemoryServices(settings, database, counter, clock, meaning)
        replica = create_replica(settings, clock)
        replication: Replication | None = None
        if replica is not None:
            from bot.jobs.replication import Replication  # Rarely needed

            replication = Replication(replica, database, memory.copies, memory.jobs, clock)
            # Litestream pauses during erasures. Otherwise its copies would keep the erased text
            memory.traces.set_scrub_context(replication.paused)
        housekeeping = Maintenance(memory.pruning, memory.ledger, IntegrityCheck(database), memory.traces)
        # `zone_of` and `notices_of` read this cache
        await memory.preferences.load()
        with contextlib.suppress(StoreError):  # The disk may be full. The next start retries
            await memory.ledger.finish_edits()
            await set_half_life(database, settings.memory_half_life_days)
        await housekeeping.run_at_start()
        catalogue = catalogue or load_catalogue()
        quota = Quota(settings.chat_daily_tokens, settings.chat_daily_cost)
        usage = UsageLog(
            database, clock, settings.zone, create_price_lookup(settings, catalogue), quota, memory.zone_of
        )
        if (trouble := describe_uncounted_cost(settings, catalogue)) is not None:
            log.warning("cost_limit_incomplete", reason=trouble)
        models = create_models(settings, catalogue, memory.endpoints, memory.traces, clock, stack)
        await housekeeping.remove_traces()  # Now that everything that holds traces is registered
        observers: list[Callable[[TokenUse], None]] = []
        router = ModelRouter(
            models,
            usage,
            counter,
            patience=settings.llm_timeout,
            daily_limit=settings.daily_token_limit,
            observers=observers,
        )
        setup = create_model_setup(settings, catalogue, router)
        choice = ModelChoice(setup.model, setup.others, memory.preferences)
        languages = Languages(memory.preferences)
        kernel = Kernel(
            settings, clock, memory, setup, choice, usage, MediaSources(), Effects(database), languages, stack
        )
        opened, added = await open_features(installed_features() if features is None else features, kernel)
        observers += added.on_tokens
        app = _assemble(kernel, opened, added, housekeeping, replication)
        # Last, so that turns are cancelled first, while everything they use is open
        stack.push_async_callback(app.runner.close)
        yield app


def _assemble(
    kernel: Kernel,
    opened: Sequence[Feature],
    added: Contributions,
    housekeeping: Maintenance,
    replication: Replication | None,
) -> App:
    settings, clock, memory, models, stack = kernel.settings, kernel.clock, kernel.memory, kernel.models, kernel.stack
    setup, usage, languages = kernel.setup, kernel.usage, kernel.languages
    enabled, notices_enabled, counter = settings.memory_enabled, memory.notices_of.is_enabled, memory.counter
    model, offered = setup.model, setup.tools
    style = setup.style if enabled else without_memory(setup.style)

    async def budget(owner: str, talks: ChatModel) -> Budget:
        specs = await toolbox.specs(owner, talks.window)
        return Budget(talks.name, talks.window, counter, style.identity, specs)

    readers = [*added.files, *([ExportReader(memory.foreign_import)] if enabled else [])]
    reader = create_media_reader(settings, memory.media, budget, stack, kernel.media, readers)
    ask = ModelConsolidator(model, clock)
    checker = FactChecker(SecondLook(ask, setup.abilities.is_reliable))
    writes = CitedWrites(checker, memory.entries, memory.zone_of)
    tools = [*(_tools(memory, writes) if enabled else []), *media_tools(memory.media, reader), *added.tools]
    tools = [tool for tool in tools if offered is None or tool.name in offered]
    toolbox = Toolbox(tools, kernel.effects, added.tool_sources)
    # A reply that is still to be written must not be written after /forget all
    memory.forgetting.add_store(memory.turns.drop_deferred)
    for forget in added.on_forget:
        memory.forgetting.add_store(forget)
    daily_notes = memory.daily_notes if enabled else None
    memory_part = MemoryPart(memory.daily_notes, memory.recall, memory.activation, settings.memory_activation_tokens)
    parts: list[tuple[int, PromptPart]] = [(PartOrder.QUOTED, QuotedPart()), (PartOrder.SUMMARY, SummaryPart())]
    parts += [(PartOrder.SHARED, SharedPart(memory.sharing)), (PartOrder.MEMORY, memory_part)] if enabled else []
    parts += [(PartOrder.HINTS, HintsPart()), *added.prompt]
    in_order = [part for _, part in sorted(parts, key=itemgetter(0))]
    builder = PromptBuilder(style, in_order, budget, clock, memory.zone_of)
    limits = CompactionLimits(
        settings.compaction_max_context_tokens,
        settings.compaction_keep_last_messages,
        settings.memory_window,
        enabled=settings.compaction_enabled,
    )
    summarizer = ModelSummarizer(model, clock)
    compaction = CompactionService(memory.sessions, memory.entries, summarizer, limits, counter, clock)
    consolidation = ConsolidationService(
        memory.database,
        memory.sessions,
        Extractor(ask, setup.abilities, memory.facts, counter, clock, memory.zone_of),
        checker,
        FactWriter(memory.ledger, memory.facts, memory.view),
        Compression(ModelConsolidator(model, clock, json=False), memory.ledger, settings.memory_max_size, clock),
        memory.history,
        clock,
        settings.consolidation_timeout,
        enabled,
    )
    tasks = BackgroundTasks()
    stack.push_async_callback(tasks.close)
    background = BackgroundConsolidation(consolidation, memory.notices, languages, setup.quiet, memory.jobs, tasks)
    background_seconds = settings.consolidation_timeout * BACKGROUND_TIMEOUT_FACTOR
    review = CaptureReview(
        memory.database,
        memory.ledger,
        memory.learning,
        memory.corrections,
        CaptureLook(ModelConsolidator(model, clock, CAPTURE_PURPOSE), setup.abilities.is_reliable),
        memory.sharing,
        memory.zone_of,
        background_seconds,
    )
    capturing = BackgroundCapture(review, memory.notices, languages, setup.quiet, tasks)
    ask_for_import = ModelConsolidator(model, clock, IMPORT_PURPOSE)
    learning = BackgroundImportLearning(
        ImportLearning(
            memory.database,
            memory.ledger,
            memory.facts,
            Extractor(ask_for_import, setup.abilities, memory.facts, counter, clock, memory.zone_of),
            FactChecker(SecondLook(ask_for_import, setup.abilities.is_reliable)),
            partial(usage.count_tokens_today_for, IMPORT_PURPOSE),
            settings.import_daily_tokens,
        ),
        memory.database,
        memory.notices,
        languages,
        setup.quiet,
    )
    plain_reminders = PlainReminders(memory.reminders, clock) if enabled else None
    embedding = BackgroundEmbedding(memory.embedding, setup.quiet) if memory.embedding is not None else None
    turn_limits = TurnLimits(settings.turn_max_model_calls, settings.turn_max_tool_calls, settings.turn_max_seconds)
    pipeline = Pipeline(
        [
            InputSanitizing(reader, models, toolbox.wait_until_ready),
            AutoCapture(
                memory.ledger,
                memory.long_term,
                memory.learning,
                memory.corrections,
                memory.sessions,
                memory.zone_of,
                memory.lookup,
                memory.sharing,
                enabled=enabled,
                has_notices=notices_enabled,
            ),
            AutoCompaction(memory.sessions, compaction, background.mark_compacted),
            ContextBuilding(memory.sessions, builder),
            ToolLoop(toolbox, turn_limits, memory.recall if enabled else None, plain_reminders, models, clock),
            ReplyDelivery(memory.turns, memory.notices, clock, notes=enabled),
            MemoryPersist(daily_notes, capturing.add, memory.uses if enabled else None),
            Indexing(embedding.wake if embedding is not None else None),
            *(system for _, system in added.systems),
        ],
        order=(*ORDER, *(step for step, _ in added.systems)),
        observers=added.on_turn,
        owe=memory.turns.defer,
    )
    queues = SessionQueues(memory.sessions)
    status = Status(
        memory,
        builder,
        compaction,
        models,
        usage,
        embedding,
        added.status,
        replication,
        queues,
        clock,
        clock(),
        enabled=enabled,
    )
    groups = [
        ConversationCommands(memory, compaction, background, status, queues),
        MemoryQueries(memory, get_page_address(settings.web_url), added.entry_buttons),
        MemoryCommands(memory, clock, enabled=enabled),
        ReminderCommands(memory.reminders),
        SettingsCommands(memory, models, usage.find_price, clock, added.chat_settings),
        *([SharingCommands(memory)] if memory.sharing.enabled else []),
        AccessCommands(AccessList(memory.database, TELEGRAM, clock), memory.sharing, usage),
        *added.commands,
        *([ImportCommands(memory, kernel.media, learning)] if enabled else []),
    ]
    commands = command_table(groups, remembers=enabled, scope=settings.memory_scope)
    runner = SessionRunner(
        queues,
        CommandRunner(commands, memory.sessions, kernel.effects, languages),
        pipeline,
        memory.sessions,
        languages,
        memory.turns,
        clock,
    )
    jobs = Jobs(background, capturing, housekeeping, embedding, learning, added.jobs, added.periodic)
    health = Health(memory.database)
    return App(
        settings,
        clock,
        memory,
        models,
        runner,
        jobs,
        tasks,
        health,
        kernel.media,
        {},
        checker,
        added.servers,
        added.web,
        added.telegram,
        opened,
        replication,
    )


def _tools(memory: MemoryServices, writes: CitedWrites) -> list[Tool]:
    return [
        memory_file_tool(memory.long_term, writes),
        *note_tools(memory.entries, writes),
        memory_recall_tool(memory.reading),
        history_search_tool(memory.history),
        learn_tool(memory.learning, memory.facts, memory.entries, writes),
        episode_tool(memory.entries, writes),
        procedure_tool(memory.procedures, memory.entries, writes),
        stats_tool(memory.stats),
        *reminder_tools(memory.reminders, writes),
    ]
