"""Features: packages that extend Mneme without any change of its kernel.

A feature is a class with a name. It decides by the settings if it is on, and contributes commands, tools, parts of the
prompt, steps of the pipeline, jobs and more. `bot/features/` has those of Mneme; a package of someone else's
registers its own under the entry point group `mneme.features` (docs/features.md).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

from bot.commands.command import collect_commands
from bot.commands.figures import StatusReport
from bot.commands.memory_browser import EntryButtons
from bot.commands.settings import ChatSetting
from bot.doctor.finding import Check
from bot.jobs.due import DueMessages, TaskSource
from bot.kernel import App, Kernel, Server
from bot.models import NO_MODEL, ProvidedModel
from bot.monitoring import Measurement, Safeguard
from bot.services import MemoryServices
from bot.setup.offers import ModelOffers
from bot.tasks import Job, Periodic
from bot.telegram.part import Connection, TelegramPart
from bot.web import WebPart
from config.errors import ConfigurationError
from config.models import ModelCatalogue
from config.settings import Settings, check_together
from memory.clock import Clock
from memory.errors import MnemeError
from memory.runtime.usage import TokenUse
from memory.store.erasure import PendingErasures
from memory.transfer.file_importer import FileImporter
from memory.transfer.restore import RestoreSource
from pipeline.answering import AnswerAid
from pipeline.media.reading import ContentReader, FileReader
from pipeline.order import ORDER, Step
from pipeline.prompt.part import PromptPart
from pipeline.tools.toolbox import Tool, ToolSource
from pipeline.turn import System, Turn

MEMORY_OFF = "MEMORY_ENABLED is false"


@dataclass(frozen=True, slots=True)
class Contributions:
    """Everything that a feature adds while it is on.

    Attributes:
        commands: Objects with methods that are marked with `command`.
        tools: Tools that a model may call.
        tool_sources: Further tools, which may change while the program runs.
        prompt: Parts of the prompt with their place: see PartOrder.
        systems: Steps of the pipeline with their row in the order table.
        jobs: Background work of a running bot.
        periodic: Work of every channel that stays open, such as the terminal.
        servers: Context managers that are open while the bot runs, such as servers at ports of their own.
        web: Create the routes of the feature at WEB_PORT.
        telegram: Create the feature's part of the Telegram channel.
        due: Sources of messages that are sent at a scheduled time.
        tasks: Sources of tasks that run as turns at a scheduled time.
        aids: Help models that don't call the tools that a message asks for.
        on_turn: Called with each finished turn.
        on_tokens: Called with the tokens of each model call.
        status: Groups for `/status` and its figures.
        content_readers: Readers of the content of files that people send.
        files: Readers of further kinds of files, which they offer to use.
        chat_settings: Lines of `/settings` with the commands that change them.
        entry_buttons: Return further buttons for a memory that `/memory` shows.
        safeguards: Secure the commits of a running bot before updates are confirmed and replies are sent.
        measurements: Figures for monitoring.
        on_forget: Called by `/forget all` with nothing, after the memory itself is empty.
    """

    commands: Sequence[object] = ()
    tools: Sequence[Tool] = ()
    tool_sources: Sequence[ToolSource] = ()
    prompt: Sequence[tuple[int, PromptPart]] = ()
    systems: Sequence[tuple[Step, System]] = ()
    jobs: Sequence[Job] = ()
    periodic: Sequence[Periodic] = ()
    servers: Sequence[Server] = ()
    web: Sequence[Callable[[App], WebPart]] = ()
    telegram: Sequence[Callable[[Connection], TelegramPart]] = ()
    due: Sequence[DueMessages] = ()
    tasks: Sequence[TaskSource] = ()
    aids: Sequence[AnswerAid] = ()
    on_turn: Sequence[Callable[[Turn], None]] = ()
    on_tokens: Sequence[Callable[[TokenUse], None]] = ()
    status: Sequence[StatusReport] = ()
    content_readers: Sequence[ContentReader] = ()
    files: Sequence[FileReader] = ()
    chat_settings: Sequence[ChatSetting] = ()
    entry_buttons: Sequence[EntryButtons] = ()
    safeguards: Sequence[Safeguard] = ()
    measurements: Sequence[Measurement] = ()
    on_forget: Sequence[Callable[[], Awaitable[None]]] = ()


class Feature:
    """The base class of features.

    Attributes:
        name: The name in `mneme features`.
        checks: Checks of `mneme doctor` by their subject. They also run if the feature is off.
        sets_up_tools: Whether `set_up` asks only for tools of the model. If the model calls none, it is skipped.
    """

    name: ClassVar[str]
    checks: ClassVar[Mapping[str, Check]] = {}
    sets_up_tools: ClassVar[bool] = False

    def check_settings(self, settings: Settings) -> None:
        """Raise ConfigurationError for settings of the feature that are wrong together, or with those of the kernel.

        It is called at each start, also if the feature is off.
        """

    def why_off(self, settings: Settings) -> str | None:
        """Return the reason why the settings switch the feature off, or None if it is on."""
        return None

    def set_up(self, env_file: Path) -> None:
        """Ask for the feature's settings in `mneme setup`, after the model has been set up."""

    def offer_models(self) -> ModelOffers:
        """Return models that the user can choose in `mneme setup` in place of an endpoint."""
        return ModelOffers()

    def prepare_chat(self, settings: Settings) -> bool:
        """Ask for missing settings before an interactive chat in the terminal. Return True if some were saved."""
        return False

    def create_importer(self, memory: MemoryServices) -> FileImporter | None:
        """Return the importer of files, if the feature has one. It also serves programs that open only the memory."""
        return None

    def create_restore_source(self, settings: Settings, clock: Clock, address: str) -> RestoreSource | None:
        """Return the source at this address for `mneme restore`, if the feature can restore from it."""
        return None

    async def extend_search(
        self, settings: Settings, memory: MemoryServices, stack: contextlib.AsyncExitStack
    ) -> str | None:
        """Extend the search of a command that opens only the memory. Return why that failed, or None."""
        return None

    def create_model(
        self,
        settings: Settings,
        catalogue: ModelCatalogue,
        erasures: PendingErasures,
        stack: contextlib.AsyncExitStack,
    ) -> ProvidedModel | None:
        """Create the model of a bot without an endpoint, if the feature has one.

        Args:
            erasures: A model that stores texts registers here how to erase them.
            stack: Closes the model.
        """
        return None

    async def prepare(self, settings: Settings, clock: Clock) -> None:
        """Prepare the start of `mneme run`, before the database is opened. Raises ConfigurationError to prevent it."""

    async def open(self, kernel: Kernel) -> Contributions:
        """Create what the feature needs. Import heavy modules here, so that a feature that is off imports nothing."""
        return Contributions()


def check_settings(settings: Settings, features: Iterable[Feature]) -> None:
    """Raise ConfigurationError for settings that are valid alone but not together."""
    problems: list[str] = []
    for check in (check_together, *(feature.check_settings for feature in features)):
        try:
            check(settings)
        except ConfigurationError as error:
            problems += error.problems
    if problems:
        raise ConfigurationError(*problems)


def find_importer(features: Iterable[Feature], memory: MemoryServices) -> FileImporter | None:
    """Return the importer of the first feature that has one."""
    return next((found for each in features if (found := each.create_importer(memory)) is not None), None)


def create_provided_model(
    features: Iterable[Feature],
    settings: Settings,
    catalogue: ModelCatalogue,
    erasures: PendingErasures,
    stack: contextlib.AsyncExitStack,
) -> ProvidedModel | None:
    """Create the model of the first feature that has one. Return None if there is an endpoint.

    Raises ConfigurationError if there is no model.
    """
    if settings.has_endpoint:
        return None
    for feature in list_enabled(features, settings):
        if (provided := feature.create_model(settings, catalogue, erasures, stack)) is not None:
            return provided
    raise ConfigurationError(NO_MODEL)


def list_enabled(features: Iterable[Feature], settings: Settings) -> list[Feature]:
    return [feature for feature in features if feature.why_off(settings) is None]


def find_restore_source(features: Iterable[Feature], settings: Settings, clock: Clock, address: str) -> RestoreSource:
    """Return the first source that can restore from this address. Raises ConfigurationError if there is none."""
    for feature in features:
        if (source := feature.create_restore_source(settings, clock, address)) is not None:
            return source
    raise ConfigurationError(f"No feature of this program can restore from {address}: give a backup file.")


def find_clashes(defined: Iterable[tuple[Feature, str]]) -> Iterator[str]:
    """Yield a sentence about each command that two features define."""
    definers: dict[str, Feature] = {}
    for feature, command in defined:
        if (first := definers.setdefault(command, feature)) is not feature:
            names = " and ".join(f"{each.name} ({type(each).__module__})" for each in (first, feature))
            yield f"The features {names} both define the command /{command}: uninstall one of them."


def find_clashing_steps(steps: Iterable[tuple[Feature, Step]]) -> Iterator[str]:
    """Yield a sentence about each step of the pipeline with the row or the name of another one."""
    owners: dict[object, str] = {key: "The kernel" for step in ORDER for key in (step.order, step.system)}
    for feature, step in steps:
        name = f"{feature.name} ({type(feature).__module__})"
        for key, what in ((step.order, f"the row {step.order}"), (step.system, f"the name {step.system}")):
            if key in owners:
                yield f"{owners[key]} and the feature {name} both have {what} in the pipeline: uninstall one feature."
            owners.setdefault(key, f"The feature {name}")


async def open_features(features: Iterable[Feature], kernel: Kernel) -> tuple[list[Feature], Contributions]:
    """Open the features that are on and return them, and all their contributions.

    Raises ConfigurationError with the name of a feature that can't be opened.
    """
    opened = list_enabled(features, kernel.settings)
    added = []
    for feature in opened:
        try:
            added.append(await feature.open(kernel))
        except (MnemeError, ConfigurationError):
            raise
        except Exception as error:
            raise ConfigurationError(
                f"The feature {feature.name} can't be started ({type(error).__name__}: {error}): switch it off."
            ) from error
    defined = (
        (feature, command.name)
        for feature, contributions in zip(opened, added, strict=True)
        for group in contributions.commands
        for command in collect_commands(group)
    )
    steps = (
        (feature, step)
        for feature, contributions in zip(opened, added, strict=True)
        for step, _system in contributions.systems
    )
    for clash in (*find_clashes(defined), *find_clashing_steps(steps)):
        raise ConfigurationError(clash)
    merged = {
        field.name: tuple(itertools.chain.from_iterable(getattr(each, field.name) for each in added))
        for field in fields(Contributions)
    }
    return opened, Contributions(**merged)
