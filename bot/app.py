"""The composition root: creates all objects from the settings and connects them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import structlog

from bot.commands.command import CommandRunner, command_table
from bot.commands.conversation import ConversationCommands
from bot.commands.files import ImportCommands, SkillCommands
from bot.commands.memory_browser import MemoryQueries
from bot.commands.memory_changes import MemoryCommands
from bot.commands.people import AccessCommands
from bot.commands.reminders import ReminderCommands
from bot.commands.settings import SettingsCommands, VoiceCommands
from bot.commands.sharing import SharingCommands
from bot.commands.status import Status
from bot.commands.tools import ToolCommands, ToolReport
from bot.jobs.background import BackgroundConsolidation, BackgroundEmbedding, BackgroundImportLearning
from bot.jobs.capturing import BackgroundCapture
from bot.jobs.scheduled import DateOfferJob, Maintenance, WeeklySchedule, create_weekly_rule
from bot.languages import Languages
from bot.models import (
    ModelSetup,
    create_meaning_models,
    create_media_reader,
    create_model_setup,
    create_models,
    create_price_lookup,
    create_speech,
    describe_uncounted_cost,
)
from bot.monitoring import Health
from bot.services import MemoryServices, create_replica
from bot.sessions import SessionQueues, SessionRunner
from bot.tasks import BackgroundTasks
from bot.telegram import CHANNEL as TELEGRAM
from bot.web import InboundRoute, get_page_address
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
from memory.log.sessions import SessionService
from memory.reminders.offer_look import OfferLook
from memory.runtime.usage import Quota, UsageLog
from memory.search.activation import set_half_life
from memory.store.database import Database
from memory.store.effects import Effects
from memory.store.integrity import IntegrityCheck
from memory.text.tokens import TokenCounter
from pipeline.media.files import MediaSources
from pipeline.media.speech import Speech
from pipeline.models.memory_prompts import ModelConsolidator, ModelSummarizer
from pipeline.models.model import ChatModel
from pipeline.models.routing import ModelChoice, ModelRouter
from pipeline.prompt.budget import Budget
from pipeline.prompt.prompt_builder import Memories, PromptBuilder
from pipeline.prompt.prompts import without_memory
from pipeline.runner import Pipeline
from pipeline.skills import Skills
from pipeline.systems.auto_capture import AutoCapture
from pipeline.systems.context_building import AutoCompaction, ContextBuilding
from pipeline.systems.input_sanitizing import InputSanitizing
from pipeline.systems.reply_delivery import Indexing, MemoryPersist, ReplyDelivery
from pipeline.systems.tool_loop import ToolLoop, TurnLimits
from pipeline.tools.cited_writes import CitedWrites
from pipeline.tools.entries import (
    consolidate_tool,
    episode_tool,
    history_search_tool,
    learn_tool,
    memory_file_tool,
    note_tools,
    procedure_tool,
    stats_tool,
)
from pipeline.tools.mcp.approval import Approvals
from pipeline.tools.mcp.config import McpConfig, read_config
from pipeline.tools.mcp.tools import McpTools
from pipeline.tools.media import MEDIA_TOOLS, SKILL_TOOL, media_tools, skill_tool
from pipeline.tools.memory_recall import memory_recall_tool
from pipeline.tools.reminders import PlainReminders, reminder_tools
from pipeline.tools.toolbox import Tool, Toolbox

if TYPE_CHECKING:
    from bot.jobs.replication import Replication
    from bot.web.metrics import Metrics
    from pipeline.lightrag import LightRag

log = structlog.get_logger(__name__)

IMPORT_PURPOSE = "import"
CAPTURE_PURPOSE = "capture"
OFFER_PURPOSE = "offer"


@dataclass(frozen=True, slots=True)
class Jobs:
    """The background jobs. Without an embedding model `embedding` is None, and with memory off `offers` is None."""

    consolidation: BackgroundConsolidation
    capture: BackgroundCapture
    weekly: WeeklySchedule
    offers: DateOfferJob | None
    housekeeping: Maintenance
    embedding: BackgroundEmbedding | None
    importing: BackgroundImportLearning


@dataclass(frozen=True, slots=True)
class App:
    """A running Mneme without its channels."""

    settings: Settings
    clock: Clock
    memory: MemoryServices
    models: ModelChoice
    runner: SessionRunner
    jobs: Jobs
    tasks: BackgroundTasks
    health: Health
    media: MediaSources  # A channel registers here that it can fetch files
    inbound_routes: dict[str, InboundRoute]  # Handlers of the web server by path, registered even if none runs
    metrics: Metrics | None
    checker: FactChecker
    tools: McpTools
    replication: Replication | None
    speech: Speech | None

    @property
    def database(self) -> Database:
        return self.memory.database

    @property
    def sessions(self) -> SessionService:
        return self.memory.sessions

    def start_background_work(self) -> None:
        """Start the background jobs. One-off commands don't call this."""
        self.jobs.consolidation.start()
        self.jobs.housekeeping.start(self.tasks)
        if self.jobs.embedding is not None:
            self.jobs.embedding.start(self.tasks)
        if self.settings.memory_enabled:
            self.jobs.capture.start()
            self.jobs.weekly.start(self.tasks)
            self.jobs.importing.start(self.tasks)


@contextlib.asynccontextmanager
async def open_app(
    settings: Settings, clock: Clock = system_clock, catalogue: ModelCatalogue | None = None
) -> AsyncIterator[App]:
    """Start everything but the channels, and stop it at the end of the block.

    Raises ConfigurationError or StoreError with one sentence if that is impossible.

    Args:
        catalogue: the known models, by default the packaged ones.
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
        metrics = None
        if settings.metrics_port is not None:
            from bot.web.metrics import Metrics  # Needs an extra library

            metrics = Metrics(usage.compute_cost)
        router = ModelRouter(
            models,
            usage,
            counter,
            patience=settings.llm_timeout,
            daily_limit=settings.daily_token_limit,
            observe=metrics.count_tokens if metrics is not None else None,
        )
        setup = create_model_setup(settings, catalogue, router)
        app = _assemble(settings, clock, memory, usage, setup, metrics, housekeeping, replication, stack)
        # Last, so that turns are cancelled first, while everything they use is open
        stack.push_async_callback(app.runner.close)
        yield app


def _assemble(
    settings: Settings,
    clock: Clock,
    memory: MemoryServices,
    usage: UsageLog,
    setup: ModelSetup,
    metrics: Metrics | None,
    housekeeping: Maintenance,
    replication: Replication | None,
    stack: contextlib.AsyncExitStack,
) -> App:
    enabled, notices_enabled, counter = settings.memory_enabled, memory.notices_of.is_enabled, memory.counter
    model, offered = setup.model, setup.tools
    models = ModelChoice(model, setup.others, memory.preferences)
    effects = Effects(memory.database)
    skills = Skills(settings.mneme_data_dir)
    approvals = Approvals(memory.preferences)
    # An embedded model can handle only the tools of the memory
    must_exist = settings.mcp_config is not None
    servers = McpConfig() if offered is not None else read_config(settings.mcp_file, must_exist=must_exist)
    mcp = McpTools(servers, approvals, effects.record, settings.mcp_tool_tokens)
    mcp.start()  # Connects in the background, so that no server delays the start
    stack.push_async_callback(mcp.close)
    style = setup.style if enabled else without_memory(setup.style)

    async def budget(owner: str, talks: ChatModel) -> Budget:
        # Save tokens: offer tools for media and skills only if the owner has media and the bot has skills
        with_media = await memory.media.has_any(owner)
        without = () if with_media else MEDIA_TOOLS
        without = without if await skills.list() else (*without, SKILL_TOOL)
        specs = tuple(spec for spec in toolbox.specs if spec.name not in without)
        return Budget(talks.name, talks.window, counter, style.identity, (*specs, *mcp.select_specs(talks.window)))

    imports = memory.foreign_import if enabled else None
    reader, sources = create_media_reader(settings, memory.media, budget, imports, stack)
    ask = ModelConsolidator(model, clock)
    checker = FactChecker(SecondLook(ask, setup.abilities.is_reliable))
    writes = CitedWrites(checker, memory.entries, memory.zone_of)
    tools = [*(_tools(memory, writes) if enabled else []), *media_tools(memory.media, reader), skill_tool(skills)]
    toolbox = Toolbox([tool for tool in tools if offered is None or tool.name in offered], effects, mcp)
    # A reply that is still to be written must not be written after /forget all
    memory.forgetting.add_store(memory.turns.drop_deferred)
    graph = create_lightrag(settings) if settings.lightrag_url is not None else None
    if graph is not None:
        stack.push_async_callback(graph.close)
        # Even if memory is off now, since data sent there earlier has to be erased too
        memory.forgetting.add_store(graph.forget)
        graph = graph if enabled else None
    daily_notes = memory.daily_notes if enabled else None
    memories = Memories(memory.recall, memory.activation, settings.memory_activation_tokens, memory.sharing)
    builder = PromptBuilder(
        style, daily_notes, memories if enabled else None, graph, skills, budget, clock, memory.zone_of
    )
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
    languages = Languages(memory.preferences)
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
    ask_about_offers = ModelConsolidator(model, clock, OFFER_PURPOSE)
    memory.near_dates.set_look(OfferLook(ask_about_offers, setup.abilities.is_reliable, background_seconds))
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
    weekly = create_weekly_rule(settings.memory_tidy_day, settings.memory_tidy_hour, settings.zone)
    schedule = WeeklySchedule(memory.weekly, memory.jobs, memory.notices, languages, clock, weekly)
    offers = DateOfferJob(memory.near_dates, memory.jobs, notices_enabled, clock) if enabled else None
    plain_reminders = PlainReminders(memory.reminders, clock) if enabled else None
    embedding = BackgroundEmbedding(memory.embedding, setup.quiet) if memory.embedding is not None else None
    turn_limits = TurnLimits(settings.turn_max_model_calls, settings.turn_max_tool_calls, settings.turn_max_seconds)
    pipeline = Pipeline(
        [
            InputSanitizing(reader, models, mcp.wait_until_ready),
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
            Indexing(graph, embedding.wake if embedding is not None else None),
        ],
        observe=metrics.count_turn if metrics is not None else None,
        owe=memory.turns.defer,
    )
    speech = create_speech(settings, stack)
    queues = SessionQueues(memory.sessions)
    tool_report = ToolReport(mcp, models)
    status = Status(
        memory,
        builder,
        compaction,
        models,
        usage,
        embedding,
        tool_report,
        replication,
        queues,
        clock,
        clock(),
        enabled=enabled,
    )
    groups = [
        ConversationCommands(memory, compaction, background, status, queues),
        MemoryQueries(memory, get_page_address(settings.web_url)),
        MemoryCommands(memory, clock, enabled=enabled),
        ReminderCommands(memory.reminders),
        SettingsCommands(memory, models, usage.find_price, clock, speaks=speech is not None),
        *([VoiceCommands(memory.preferences)] if speech is not None else []),
        *([] if mcp.config.is_empty else [ToolCommands(approvals, tool_report)]),
        *([SharingCommands(memory)] if memory.sharing.enabled else []),
        AccessCommands(AccessList(memory.database, TELEGRAM, clock), memory.sharing, usage),
        SkillCommands(memory, sources, skills),
        *([ImportCommands(memory, sources, learning)] if enabled else []),
    ]
    commands = command_table(groups, remembers=enabled, scope=settings.memory_scope)
    runner = SessionRunner(
        queues,
        CommandRunner(commands, memory.sessions, effects, languages),
        pipeline,
        memory.sessions,
        languages,
        memory.turns,
        clock,
    )
    jobs = Jobs(background, capturing, schedule, offers, housekeeping, embedding, learning)
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
        sources,
        {},
        metrics,
        checker,
        mcp,
        replication,
        speech,
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
        consolidate_tool(memory.weekly),
        *reminder_tools(memory.reminders, writes),
    ]


def create_lightrag(settings: Settings) -> LightRag:
    """Create the client for the LightRAG server. The settings must name one."""
    from pipeline.lightrag import LightRag  # Rarely needed

    key = settings.lightrag_api_key.get_secret_value() if settings.lightrag_api_key else None
    return LightRag(str(settings.lightrag_url), key, settings.lightrag_mode)
