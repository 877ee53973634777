"""Commands: their definition, their table, and the runner."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial
from typing import ClassVar, TypeVar

import structlog

from bot.languages import Languages
from config.errors import ConfigurationError
from config.numbers import NUMBER, parse_reference
from config.settings import MemoryScope
from config.texts import N_, _, shorten_to_line, use_language, use_reader
from memory.buttons import Button, Keyboard
from memory.errors import MnemeError
from memory.log.sessions import Session, SessionService, SessionState
from memory.messages import Document, Message, Provenance
from memory.store.effects import Effects
from pipeline.arrival import Arrival, is_read_by_owner

log = structlog.get_logger(__name__)

_COMMAND = re.compile(r"/(?P<name>[A-Za-z][A-Za-z0-9_]{0,31})(?:@(?P<bot>\w+))?(?:\s+(?P<argument>.*))?", re.DOTALL)

_NUMBERED = re.compile(rf"(?P<name>[a-z]+)_(?P<number>{NUMBER})(?:_(?P<part>{NUMBER}))?")

_DECLARED = "declared_command"
_Method = TypeVar("_Method", bound="Callable[..., Awaitable[CommandResult]]")

MAX_QUOTED_CHARS = 200

_REMEMBERS = N_(
    "I'm Mneme, and I remember what we talk about. Just write to me.\n"
    "I'll still know next month what you tell me today: /memory shows it, /forget and /undo take it back.\n"
    "{whose}"
)
_OWN = N_("It stays on the computer that runs me and is not used in any other chat.")
_OF_FAMILY = N_("It stays on the computer that runs me. The family sees only what you share with /share.")
_SHARED = N_("It stays on the computer that runs me, in one memory for all chats that are allowed to use me.")
_WHOSE = {MemoryScope.CHAT: _OWN, MemoryScope.FAMILY: _OF_FAMILY, MemoryScope.SHARED: _SHARED}
_STAYS = N_("Answers come from the model {model}, which runs on the same computer.")
_GOES = N_("To answer, I send what it takes to the model {model} at {host}.")
_EXAMPLES = N_(
    "Say, for example:\n- Remember that Ann has the spare key.\n- When is my appointment with the dentist?\n"
    "- Remind me tomorrow at 9 to call Bob."
)
_FORGETS = N_(
    "I'm Mneme. Just write to me.\n"
    "I know what was said in this conversation. I don't remember anything beyond it, because memory is off.\n"
    "It stays on the computer that runs me and is not used in any other chat."
)
HELP = "help"
MEMORY, FAMILY, CONVERSATION = N_("Memory"), N_("Family"), N_("Conversation")
REMINDERS, SETTINGS, PEOPLE, OTHER = N_("Reminders"), N_("Settings"), N_("People"), N_("More")
HELP_ORDER = (MEMORY, FAMILY, CONVERSATION, REMINDERS, SETTINGS, PEOPLE)
"""The first headings of /help. Those of features follow."""


async def _no() -> bool:
    return False


async def _every(commands: Iterable[Command]) -> list[Command]:
    return list(commands)


def _ignore(_text: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A call of a command.

    Attributes:
        show_progress: Shows a text until the command answers, if the channel can do that.
        select_usable: Returns those of the commands that the sender may use in this chat.
    """

    session: Session
    name: str
    argument: str
    asker: str | None = None
    sender: str | None = None
    speaker: str | None = None  # The sender's name, in groups only
    can_choose_people: Callable[[], Awaitable[bool]] = _no
    show_progress: Callable[[str], None] = _ignore
    select_usable: Callable[[Iterable[Command]], Awaitable[list[Command]]] = _every


@dataclass(frozen=True, slots=True)
class RunAgain:
    """A command's request to run an earlier turn again, replacing its result."""

    session: Session
    messages: list[Message]
    turn_id: int


def first_steps() -> Keyboard:
    """Return the buttons for new users, in separate rows, since a press removes its row."""
    return (Button(_("What can you do?"), "/help"),), (Button(_("Settings"), "/settings"),)


@dataclass(frozen=True, slots=True)
class Answer:
    """A command's answer, with buttons if the channel supports them. The text is complete without the buttons."""

    text: str
    keyboard: Keyboard = ()
    document: Document | None = None


CommandResult = str | Answer | RunAgain


class Access(Enum):
    EVERYBODY = auto()
    # In a group its administrators and the bot's owner, since the command affects all members. In a private chat its
    # user
    MANAGERS = auto()
    OWNER = auto()


async def _unbound(call: CommandCall) -> CommandResult:
    raise NotImplementedError(f"/{call.name} was declared and is not taken from its group")


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    description: str  # Not translated yet
    argument: str = ""
    immediate: bool = False  # Answers at once, even while a turn runs
    repeatable: bool = False  # May run again after a crash: its effect is the same, or is completed
    listed: bool = True  # In help and menu. Unlisted commands appear in replies only, such as `/done_12`
    access: Access = Access.EVERYBODY
    in_private: Access = Access.EVERYBODY  # Also required during a private conversation
    alone: bool = False  # In a group only the caller sees the answer, if the channel supports that
    offered: bool = False  # The person who is offered its button may press it or type it, also without `access`
    run: Callable[[CommandCall], Awaitable[CommandResult]] = _unbound
    heading: str = ""  # Not translated yet. The `heading` of its class. Without one, /help doesn't list it

    def __call__(self, method: _Method) -> _Method:
        """Mark a method as this command. `collect_commands` collects them."""
        setattr(method, _DECLARED, self)
        return method


command = Command
"""The same class under the name for its use as a decorator."""


def collect_commands(group: object) -> Iterator[Command]:
    """Yield the commands that an object's methods are marked as, in order of definition."""
    heading = getattr(group, "heading", OTHER)
    for attribute, declared in find_declared(type(group)).items():
        yield replace(declared, run=getattr(group, attribute), heading=heading)


def find_declared(kind: type) -> dict[str, Command]:
    """Return the commands that a class's methods are marked as, by the name of the method."""
    marks = ((name, getattr(method, _DECLARED, None)) for name, method in vars(kind).items())
    return {name: declared for name, declared in marks if declared is not None}


class WrongArgument(MnemeError):
    """A command got an invalid argument."""


def parse_command(text: str) -> tuple[str, str]:
    """Return name and argument of the command that a text calls, or two empty strings for other texts."""
    match = _COMMAND.fullmatch(text.strip())
    if match is None:
        return "", ""
    name, argument = match["name"].lower(), (match["argument"] or "").strip()
    # Telegram makes words such as /forget_12 clickable
    numbered = _NUMBERED.fullmatch(name)
    if numbered is not None and not argument:
        part = f" #{numbered['part']}" if numbered["part"] is not None else ""
        return numbered["name"], f"#{numbered['number']}{part}"
    return name, argument


def tapped_number(call: CommandCall) -> int:
    """Return the number in a clicked command. Raises WrongArgument."""
    number = parse_reference(call.argument)
    if number is None:
        raise WrongArgument(_("/{name} needs a number: tap the command below the item that you mean.", name=call.name))
    return number


def help_text(commands: Iterable[Command]) -> str:
    headings: dict[str, list[str]] = {heading: [] for heading in HELP_ORDER}
    for command in commands:
        if command.heading:
            argument = f" {command.argument}" if command.argument else ""
            line = f"- /{command.name}{argument} - {_(command.description)}"
            headings.setdefault(command.heading, []).append(line)
    return "\n\n".join("\n".join([f"**{_(heading)}**", *lines]) for heading, lines in headings.items() if lines)


class Introduction:
    """/start and /help, which describe the commands in `table`.

    Args:
        remembers: whether memory is on.
        model: the model that answers, and the host where it runs. None is this computer.
    """

    heading: ClassVar = ""

    def __init__(
        self, table: Mapping[str, Command], *, remembers: bool, scope: MemoryScope, model: tuple[str, str | None]
    ) -> None:
        self._table = table
        self._remembers = remembers
        self._model = model
        self._greeting = (_REMEMBERS, _WHOSE[scope]) if remembers else (_FORGETS, "")

    @command("start", N_("Say hello"), immediate=True)
    async def start(self, call: CommandCall) -> Answer:
        text, owner = self._greeting
        name, host = self._model
        where = _(_STAYS, model=name) if host is None else _(_GOES, model=name, host=host)
        return Answer(f"{_(text, whose=_(owner)) if owner else _(text)}\n{where}", first_steps())

    @command(HELP, N_("List all commands"), immediate=True)
    async def help(self, call: CommandCall) -> str:
        listed = await call.select_usable(command for command in self._table.values() if command.listed)
        if call.name in self._table:
            commands = help_text(listed)
            return f"{_(_EXAMPLES)}\n\n{commands}" if self._remembers else commands
        near = difflib.get_close_matches(call.name, [command.name for command in listed], n=1)
        if near:
            return _("There is no command /{name}: did you mean /{near}?", name=call.name, near=near[0])
        return _("There is no command /{name}: /help lists all commands.", name=call.name)


def command_table(
    introduction: Callable[[Mapping[str, Command]], Introduction], groups: Iterable[object]
) -> dict[str, Command]:
    """Return all commands by name in the order of the help text. Raises ConfigurationError if a name occurs twice."""
    table: dict[str, Command] = {}
    modules: dict[str, str] = {}
    for group in (introduction(table), *groups):
        for command in collect_commands(group):
            module = type(group).__module__
            if command.name in table:
                raise ConfigurationError(
                    f"{modules[command.name]} and {module} both define the command /{command.name}: "
                    "uninstall the package of the latter."
                )
            table[command.name], modules[command.name] = command, module
    return table


@dataclass(frozen=True, slots=True)
class CommandRunner:
    table: Mapping[str, Command]
    sessions: SessionService
    effects: Effects
    languages: Languages

    def find_command(self, arrival: Arrival) -> Command | None:
        """Return the command that an arrival calls: /help for an unknown name, None for other texts."""
        if arrival.provenance is not Provenance.TYPED:
            return None  # Commands in forwarded or quoted text are never executed
        name = parse_command(arrival.text)[0]
        return self.table.get(name, self.table.get("help")) if name else None

    async def run(self, arrival: Arrival, command: Command) -> CommandResult:
        name, argument = parse_command(arrival.text)
        is_owner = await is_read_by_owner(arrival)
        with use_language(await self.languages.choose(arrival)), use_reader(is_owner=is_owner):
            try:
                session = await self.sessions.get_or_create(arrival.address)
                if session.state is SessionState.TERMINATED:  # The user had blocked the bot and is back
                    await self.sessions.set_state(session.id, SessionState.ACTIVE)
                async with arrival.channel.busy(arrival):
                    refused = await _refusal(arrival, command, is_private=session.private)
                    if refused is not None:
                        offer = await arrival.channel.take_offer(arrival, name, argument) if command.offered else None
                        if offer is None:
                            return refused
                        argument = parse_command(offer)[1]
                    can_choose = partial(arrival.channel.can_choose_people, arrival)
                    show_progress = partial(arrival.channel.show_progress, arrival)
                    call = CommandCall(
                        session,
                        name,
                        argument,
                        arrival.asker,
                        arrival.sender,
                        arrival.speaker,
                        can_choose,
                        show_progress,
                        partial(_select_usable, arrival, is_private=session.private),
                    )
                    return await self._run_once(arrival, command, call)
            except MnemeError as error:
                return str(error)
            except Exception:
                log.exception("command_failed", command=name)
                return _("Something went wrong with /{name}: try again, or look in the log.", name=name)

    async def _run_once(self, arrival: Arrival, command: Command, call: CommandCall) -> CommandResult:
        """Run a command, unless the inbox shows that it ran before a crash and only its answer is missing."""
        causes = [] if arrival.inbox_id is None or command.repeatable else [f"{arrival.inbox_id}/{command.name}"]
        if await self.effects.has_effect(causes):
            command_text = shorten_to_line(f"/{call.name} {call.argument}", MAX_QUOTED_CHARS)
            return _("I was interrupted after doing this, so I didn't do it again: {asked}", asked=command_text)
        with self.effects.caused_by(causes):
            return await command.run(call)


async def _refusal(arrival: Arrival, command: Command, *, is_private: bool) -> str | None:
    """Return why the sender may not use a command, or None if they may."""
    if command.offered and arrival.pressed is not None:
        return None  # The channel has checked that it was offered to the one who pressed
    required = _list_required(command, is_private=is_private)
    if Access.MANAGERS in required and not await arrival.channel.can_manage(arrival):
        return _("In a group, only administrators and the bot's owner can use /{name}.", name=command.name)
    if Access.OWNER in required and not await arrival.channel.is_owner(arrival):
        return _("Only the bot's owner can use /{name}.", name=command.name)
    return None


async def _select_usable(arrival: Arrival, commands: Iterable[Command], *, is_private: bool) -> list[Command]:
    """Return the commands that the sender may use. If it is unknown who manages the group, those for all members."""
    granted = {Access.EVERYBODY}
    with contextlib.suppress(MnemeError):
        granted |= {Access.MANAGERS} if await arrival.channel.can_manage(arrival) else set()
    granted |= {Access.OWNER} if await arrival.channel.is_owner(arrival) else set()
    return [command for command in commands if _list_required(command, is_private=is_private) <= granted]


def _list_required(command: Command, *, is_private: bool) -> set[Access]:
    return {command.access, command.in_private} if is_private else {command.access}
