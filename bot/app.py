"""The composition root: the one place where settings become objects that know each other."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from bot.background import BackgroundConsolidation
from bot.commands import Command, command_table
from bot.conversation_commands import ConversationCommands
from bot.memory_commands import MemoryCommands
from bot.session_runner import SessionRunner
from bot.start import DATABASE_NAME
from bot.status import StatusService
from config.models import CatalogueError, load_catalogue
from config.settings import NOT_USED_YET, ConfigurationError, MemoryScope, Settings
from memory.changes import ChangeLog
from memory.clock import system_clock
from memory.compaction import CompactionLimits, CompactionService
from memory.consolidation import ConsolidationLimits, ConsolidationService
from memory.database import Database
from memory.entries import EntryStore
from memory.errors import StoreError
from memory.facts import FactStore
from memory.forgetting import Forgetting
from memory.history import HistoryFiles
from memory.long_term import LongTermMemory
from memory.markdown import MarkdownFiles
from memory.recall import Recall
from memory.search import Search
from memory.sessions import SessionService
from memory.tokens import TokenCounter
from memory.turn_log import TurnLog
from memory.undo import Undo
from memory.usage import UsageLog
from pipeline.consolidator import ModelConsolidator
from pipeline.embedded import EmbeddedServer
from pipeline.lightrag import LightRag
from pipeline.model import ChatModel, Tier
from pipeline.model_files import weights_path
from pipeline.notices import PendingNotices
from pipeline.openai_model import Endpoint, OpenAIModel
from pipeline.recall_only import RecallOnlyModel
from pipeline.routing import ModelRouter, Models
from pipeline.runner import Pipeline
from pipeline.summarizer import ModelSummarizer
from pipeline.systems.auto_capture import AutoCapture
from pipeline.systems.auto_compaction import AutoCompaction
from pipeline.systems.context_building import ContextBuilding, RelevantMemory
from pipeline.systems.indexing import Indexing
from pipeline.systems.input_sanitizing import InputSanitizing
from pipeline.systems.memory_persist import MemoryPersist
from pipeline.systems.reply_delivery import ReplyDelivery
from pipeline.systems.tool_loop import ToolLoop, TurnLimits
from pipeline.tools.history_search import history_search_tool
from pipeline.tools.memory_file import memory_file_tool
from pipeline.tools.memory_recall import memory_recall_tool
from pipeline.tools.notes import note_tools
from pipeline.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from config.models import ModelCatalogue
    from memory.clock import Clock

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class App:
    """A running Mneme without its channels."""

    settings: Settings
    clock: Clock
    database: Database
    sessions: SessionService
    turns: TurnLog
    model: ChatModel
    commands: dict[str, Command]
    runner: SessionRunner
    background: BackgroundConsolidation


@contextlib.asynccontextmanager
async def open_app(
    settings: Settings, clock: Clock = system_clock, catalogue: ModelCatalogue | None = None
) -> AsyncIterator[App]:
    """Start everything but the channels; stop it at the end of the block. catalogue None: the packaged one.

    Raises ConfigurationError or StoreError, in one sentence, when it can't start.
    """
    _check(settings)
    async with contextlib.AsyncExitStack() as stack:
        database = await Database.open(settings.mneme_data_dir / DATABASE_NAME)
        stack.push_async_callback(database.close)
        with contextlib.suppress(StoreError):  # such as a full disk: the next start purges
            await EntryStore(database, ChangeLog(clock), clock).purge()
        counter = TokenCounter()
        usage = UsageLog(database, clock, settings.zone)
        models = _models(settings, catalogue or load_catalogue(), stack)
        model = ModelRouter(models, usage, counter, settings.daily_token_limit)
        app = _assemble(settings, clock, database, counter, usage, model, stack)
        stack.push_async_callback(app.runner.close)
        yield app


def _assemble(
    settings: Settings,
    clock: Clock,
    database: Database,
    counter: TokenCounter,
    usage: UsageLog,
    model: ModelRouter,
    stack: contextlib.AsyncExitStack,
) -> App:
    shared = settings.memory_scope is MemoryScope.SHARED
    sessions = SessionService(database, clock, shared_owner=shared)
    turns = TurnLog(database, clock)
    changes = ChangeLog(clock)
    entries = EntryStore(database, changes, clock)
    recall = Recall(Search(database), database, counter, settings.zone)
    files = MarkdownFiles(
        settings.mneme_data_dir / "memory",
        settings.zone,
        recent_days=settings.memory_recent_days,
        max_memory_size=settings.memory_max_size,
    )
    limits = CompactionLimits(
        settings.compaction_max_context_tokens,
        settings.compaction_keep_last_messages,
        settings.memory_window,
        enabled=settings.compaction_enabled,
    )
    compaction = CompactionService(sessions, entries, ModelSummarizer(model, clock), limits, counter, clock)
    long_term = LongTermMemory(files, database, changes)
    tools = [memory_file_tool(long_term), *note_tools(entries), memory_recall_tool(recall)]
    history = HistoryFiles(files)
    tools.append(history_search_tool(history))
    toolbox = Toolbox(tools if settings.memory_enabled else [])
    graph = _graph(settings, stack)
    remembered = files if settings.memory_enabled else None
    relevant: list[RelevantMemory] = [recall] if settings.memory_enabled else []
    relevant += [graph] if graph is not None else []
    context = ContextBuilding(sessions, remembered, relevant, toolbox, model, counter, clock, settings.zone)
    turn_limits = TurnLimits(settings.turn_max_model_calls, settings.turn_max_tool_calls, settings.turn_max_seconds)
    consolidation = ConsolidationService(
        database,
        sessions,
        long_term,
        history,
        FactStore(database, changes, clock, settings.zone),
        ModelConsolidator(model, clock),
        ConsolidationLimits(settings.memory_max_size, settings.consolidation_timeout, enabled=settings.memory_enabled),
        clock,
        settings.zone,
    )
    notices = PendingNotices()
    background = BackgroundConsolidation(consolidation, notices, tell=settings.memory_notices)
    stack.push_async_callback(background.close)

    pipeline = Pipeline(
        [
            InputSanitizing(),
            AutoCapture(long_term if settings.memory_enabled else None),
            AutoCompaction(compaction, model, background.compacted),
            context,
            ToolLoop(model, toolbox, turn_limits, counter, clock),
            ReplyDelivery(turns, notices, clock),
            MemoryPersist(remembered, settings.zone),
            Indexing(graph),
        ]
    )
    runner = SessionRunner(pipeline, sessions, clock)
    status = StatusService(sessions, files, entries, usage, context, model, runner, clock)
    commands: dict[str, Command] = {}
    conversation = ConversationCommands(
        turns,
        compaction,
        consolidation,
        background,
        status,
        runner,
        commands,
        tell_learned=settings.memory_notices,
    )
    memory = MemoryCommands(entries, recall, Undo(database, changes, files), Forgetting(database, files))
    commands |= command_table([*conversation.commands(), *memory.commands()])
    runner.use_commands(commands)
    return App(settings, clock, database, sessions, turns, model, commands, runner, background)


def endpoint_of(settings: Settings) -> Endpoint:
    """The endpoint that the settings name; servers that need no key are given one all the same."""
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else "none"
    return Endpoint(str(settings.openai_base_url) if settings.openai_base_url else None, key)


def _models(settings: Settings, catalogue: ModelCatalogue, stack: contextlib.AsyncExitStack) -> Models:
    if not settings.has_endpoint:
        return _embedded(settings, catalogue, stack)

    async def connect() -> Endpoint:
        return endpoint_of(settings)

    def model(name: str, tier: Tier) -> OpenAIModel:
        temperature = catalogue.tier(tier).temperature
        made = OpenAIModel(name, catalogue.window(name), connect, timeout=settings.llm_timeout, temperature=temperature)
        stack.push_async_callback(made.close)
        return made

    name = settings.llm_model or ""
    fallback = settings.llm_fallback_model
    return Models(
        balanced=model(name, Tier.BALANCED),
        fast=model(settings.llm_fast_model or name, Tier.FAST),
        fallbacks=(model(fallback, Tier.BALANCED),) if fallback else (),
    )


def _embedded(settings: Settings, catalogue: ModelCatalogue, stack: contextlib.AsyncExitStack) -> Models:
    try:
        local = catalogue.local(settings.llm_model)
    except CatalogueError as error:
        raise ConfigurationError(
            f"LLM_MODEL without OPENAI_BASE_URL or OPENAI_API_KEY names a local model. {error}"
        ) from error
    server = EmbeddedServer(local, weights_path(local, settings.models_dir))
    stack.push_async_callback(server.stop)

    async def connect() -> Endpoint:
        return Endpoint(await server.start(), server.api_key)

    talking = OpenAIModel(
        local.name,
        local.window,
        connect,
        timeout=settings.llm_timeout,
        temperature=catalogue.tier(Tier.BALANCED).temperature,
        max_output_tokens=local.max_output_tokens,
        tools=local.tools,
    )
    stack.push_async_callback(talking.close)
    return Models(balanced=talking, fast=talking, fallbacks=(RecallOnlyModel(),))


def _graph(settings: Settings, stack: contextlib.AsyncExitStack) -> LightRag | None:
    if settings.lightrag_url is None:
        return None
    key = settings.lightrag_api_key.get_secret_value() if settings.lightrag_api_key else None
    graph = LightRag(str(settings.lightrag_url), key, settings.lightrag_mode)
    stack.push_async_callback(graph.close)
    return graph


def _check(settings: Settings) -> None:
    if settings.lightrag_url is not None and settings.memory_scope is not MemoryScope.SHARED:
        raise ConfigurationError(
            "LIGHTRAG_URL needs MEMORY_SCOPE=shared: LightRAG keeps one memory for all and would leak between chats."
        )
    for name in NOT_USED_YET:
        if name in settings.model_fields_set:
            log.warning("setting_not_used_yet", setting=name.upper())
