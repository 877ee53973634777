"""The composition root: creates all objects from the settings and connects them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

import structlog

from bot.commands.command import CommandRunner, Introduction, command_table
from bot.commands.conversation import ConversationCommands
from bot.commands.memory_browser import MemoryQueries
from bot.commands.memory_changes import MemoryCommands
from bot.commands.people import AccessCommands
from bot.commands.settings import SettingsCommands
from bot.commands.sharing import SharingCommands
from bot.commands.status import Status
from bot.feature import Contributions, Feature, check_settings, create_provided_model, find_importer, open_features
from bot.features.registry import installed_features
from bot.jobs.due import Due
from bot.jobs.learning import create_checker, create_learning_jobs
from bot.jobs.scheduled import Maintenance
from bot.kernel import App, Jobs, Kernel
from bot.languages import Languages
from bot.models import (
    create_model_setup,
    create_models,
    create_price_lookup,
    describe_uncounted_cost,
    find_model_host,
)
from bot.monitoring import Health
from bot.services import MemoryServices
from bot.sessions import SessionQueues, SessionRunner
from bot.tasks import BackgroundTasks
from bot.telegram import CHANNEL as TELEGRAM
from bot.turns import create_turns
from bot.web import get_page_address
from config.models import ModelCatalogue, load_catalogue
from config.settings import Settings
from memory.access import AccessList
from memory.clock import Clock, system_clock
from memory.errors import StoreError
from memory.runtime.usage import Quota, TokenUse, UsageLog
from memory.search.activation import set_half_life
from memory.store.database import Database
from memory.store.effects import Effects
from memory.store.integrity import IntegrityCheck
from memory.text.tokens import TokenCounter
from pipeline.media.files import MediaSources
from pipeline.models.routing import ModelChoice, ModelRouter

log = structlog.get_logger(__name__)


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
    features = installed_features() if features is None else features
    check_settings(settings, features)
    async with contextlib.AsyncExitStack() as stack:
        database = await Database.open(settings.database_file, clock=clock)
        stack.push_async_callback(database.close)
        counter = TokenCounter()
        memory = MemoryServices(settings, database, counter, clock)
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
        provided = create_provided_model(features, settings, catalogue, memory.traces, stack)
        models = provided.models if provided else create_models(settings, catalogue, memory.endpoints, clock, stack)
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
        setup = create_model_setup(settings, catalogue, router, provided)
        choice = ModelChoice(setup.model, setup.others, memory.preferences)
        languages, effects = Languages(memory.preferences), Effects(database)
        checker, files = create_checker(setup, clock), MediaSources()
        kernel = Kernel(
            settings, clock, memory, setup, choice, checker, usage, files, effects, languages, BackgroundTasks(), stack
        )
        opened, added = await open_features(features, kernel)
        observers += added.on_tokens
        app = _assemble(kernel, opened, added, housekeeping)
        # Last, so that turns are cancelled first, while everything they use is open
        stack.push_async_callback(app.runner.close)
        yield app


def _assemble(kernel: Kernel, opened: Sequence[Feature], added: Contributions, housekeeping: Maintenance) -> App:
    settings, clock, memory, models, stack = kernel.settings, kernel.clock, kernel.memory, kernel.models, kernel.stack
    # A reply that is still to be written must not be written after /forget all
    memory.forgetting.add_store(memory.turns.drop_deferred)
    for forget in added.on_forget:
        memory.forgetting.add_store(forget)
    stack.push_async_callback(kernel.tasks.close)
    learning = create_learning_jobs(kernel)
    turns = create_turns(kernel, added, learning)
    queues = SessionQueues(memory.sessions)
    status = Status(
        memory,
        turns.builder,
        learning.compaction,
        models,
        kernel.usage,
        added.status,
        queues,
        clock,
        clock(),
        enabled=settings.memory_enabled,
    )
    groups = [
        ConversationCommands(memory, learning.compaction, learning.consolidation, status, queues),
        MemoryQueries(memory, get_page_address(settings.web_url), added.entry_buttons),
        MemoryCommands(memory, clock, enabled=settings.memory_enabled),
        SettingsCommands(memory, models, kernel.usage.find_price, clock, added.chat_settings),
        *([SharingCommands(memory)] if memory.sharing.enabled else []),
        AccessCommands(
            AccessList(memory.database, TELEGRAM, clock), memory.sharing, kernel.usage, settings.telegram_allowed_ids
        ),
        *added.commands,
    ]
    commands = command_table(
        partial(
            Introduction,
            remembers=settings.memory_enabled,
            scope=settings.memory_scope,
            model=(kernel.setup.model.name, find_model_host(settings)),
        ),
        groups,
    )
    runner = SessionRunner(
        queues,
        CommandRunner(commands, memory.sessions, kernel.effects, kernel.languages),
        turns.pipeline,
        memory.sessions,
        kernel.languages,
        memory.turns,
        clock,
    )
    jobs = Jobs(
        learning.consolidation,
        housekeeping,
        added.jobs,
        added.periodic,
        kernel.setup.quiet,
    )
    return App(
        settings,
        clock,
        memory,
        models,
        runner,
        jobs,
        kernel.tasks,
        Health(memory.database),
        kernel.media,
        {},
        kernel.checker,
        added.servers,
        added.web,
        added.telegram,
        opened,
        find_importer(opened, memory),
        added.safeguards,
        added.measurements,
        Due(added.due, added.tasks),
    )
