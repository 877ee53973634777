"""Commands: what one is, the table of all of them, and carrying them out."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeVar

import structlog

from config.numbers import NUMBER, parse_reference
from config.settings import MemoryScope
from config.texts import N_, _, in_line, use_language
from memory.buttons import Button, Keyboard
from memory.errors import MnemeError
from memory.log.sessions import SessionState
from memory.messages import Provenance

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from bot.languages import Languages
    from memory.log.sessions import Session, SessionService
    from memory.messages import Document, Message
    from memory.store.effects import Effects
    from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)

_COMMAND = re.compile(r"/(?P<name>[A-Za-z][A-Za-z0-9_]{0,31})(?:@(?P<bot>\w+))?(?:\s+(?P<argument>.*))?", re.DOTALL)

_NUMBERED = re.compile(rf"(?P<name>[a-z]+)_(?P<number>{NUMBER})(?:_(?P<part>{NUMBER}))?")

_DECLARED = "declared_command"
_Method = TypeVar("_Method", bound="Callable[..., Awaitable[CommandResult]]")

SHOWN_CHARACTERS = 200
"""So much of a command is quoted that was carried out before a kill."""

_REMEMBERS = N_("""\
I am Mneme, and I remember what we talk about. Just write to me.
What you tell me I still know next month: /memory shows it, /forget and /undo take it back.
{whose}""")
_OWN = N_("It stays on the computer that runs me, and comes up in no other chat.")
_OF_FAMILY = N_("It stays on the computer that runs me; of it the family reads only what you share yourself (/share).")
_SHARED = N_("It stays on the computer that runs me, as one memory for all chats that are let in here.")
_WHOSE = {MemoryScope.CHAT: _OWN, MemoryScope.FAMILY: _OF_FAMILY, MemoryScope.SHARED: _SHARED}
_FORGETS = N_("""\
I am Mneme. Just write to me.
I know what was said in this conversation; what goes beyond it is not remembered here (MEMORY_ENABLED).
It stays on the computer that runs me, and comes up in no other chat.""")
HELP = "help"
# How help puts the commands together.
_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (N_("Memory"), ("memory", "remember", "recall", "edit", "confirm", "forget", "undo", "export")),
    (N_("Family"), ("share", "unshare", "shared")),
    (N_("Conversation"), ("new", "private", "retry", "stop", "compact", "status")),
    (N_("Reminders"), ("reminders",)),
    (N_("Settings"), ("settings", "language", "timezone", "notices", "rich", "model", "tools")),
    (N_("People"), ("letin", "keepout", "usage")),
)


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One use of a command. asker: who says it, where several people talk; sender: what they are called."""

    session: Session
    name: str
    argument: str
    asker: str | None = None
    sender: str | None = None


@dataclass(frozen=True, slots=True)
class RunAgain:
    """A command's wish to have an earlier turn run again in the place of its first run."""

    session: Session
    messages: list[Message]
    turn_id: int


def to_try() -> Keyboard:
    """What to try first; a row each, since a press uses up its row."""
    return (Button(_("What can you do?"), "/help"),), (Button(_("Settings"), "/settings"),)


@dataclass(frozen=True, slots=True)
class Answer:
    """A command's answer with buttons under it, where the channel can show them; the text says enough without."""

    text: str
    keyboard: Keyboard = ()
    document: Document | None = None


CommandResult = str | Answer | RunAgain


class Access(Enum):
    """Who may use a command."""

    EVERYBODY = auto()
    # in a group its administrators and the bot's owner, since it is about what all have said, or holds for all; in a
    # private chat whoever it is with
    MANAGERS = auto()
    OWNER = auto()


async def _undeclared(call: CommandCall) -> CommandResult:
    raise NotImplementedError(f"/{call.name} was declared and is not taken from its group")


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command."""

    name: str
    description: str  # not translated yet
    argument: str = ""
    immediate: bool = False  # it answers at once, while a turn runs
    repeatable: bool = False  # it may run again after a kill: what it did stands, or is continued
    listed: bool = True  # in help and menu; others come with what they are about, as `/done_12`
    access: Access = Access.EVERYBODY
    alone: bool = False  # in a group its answer is for who asks, where one person can be shown it
    run: Callable[[CommandCall], Awaitable[CommandResult]] = _undeclared

    def __call__(self, method: _Method) -> _Method:
        """Declares a method to be this command; `commands_of` collects them."""
        setattr(method, _DECLARED, self)
        return method


command = Command
"""As it is called where it declares a method."""


def commands_of(group: object) -> Iterator[Command]:
    """The commands that an object's methods are declared to be, in the order in which they stand."""
    for attribute, method in vars(type(group)).items():
        if (declared := getattr(method, _DECLARED, None)) is not None:
            yield replace(declared, run=getattr(group, attribute))


class WrongArgument(MnemeError):
    """A command was given something that it can't use."""


def parse_command(text: str) -> tuple[str, str]:
    """The name of the command that `text` calls and its argument; two empty strings for other text."""
    match = _COMMAND.fullmatch(text.strip())
    if match is None:
        return "", ""
    name, argument = match["name"].lower(), (match["argument"] or "").strip()
    # Telegram makes a word such as /forget_12 something to tap
    numbered = _NUMBERED.fullmatch(name)
    if numbered is not None and not argument:
        part = f" #{numbered['part']}" if numbered["part"] is not None else ""
        return numbered["name"], f"#{numbered['number']}{part}"
    return name, argument


def tapped_number(call: CommandCall) -> int:
    """Return the number of what a tapped command is about. Raises WrongArgument."""
    number = parse_reference(call.argument)
    if number is None:
        raise WrongArgument(_("/{name} takes a number, as it stands under what it is about.", name=call.name))
    return number


def help_text(table: Mapping[str, Command]) -> str:
    parts = []
    for label, names in _GROUPS:
        lines = [
            f"- /{name}{f' {table[name].argument}' if table[name].argument else ''} - {_(table[name].description)}"
            for name in names
            if name in table
        ]
        parts += ["\n".join([f"**{_(label)}**", *lines])] if lines else []
    return "\n\n".join(parts)


class Introduction:
    """/start and /help, which tell of all the commands of `table`. remembers: whether memory is on."""

    def __init__(self, table: Mapping[str, Command], *, remembers: bool, scope: MemoryScope) -> None:
        self._table = table
        self._greeting = (_REMEMBERS, _WHOSE[scope]) if remembers else (_FORGETS, "")

    @command("start", N_("Say hello"), immediate=True)
    async def start(self, call: CommandCall) -> Answer:
        text, owner = self._greeting
        return Answer(_(text, whose=_(owner)) if owner else _(text), to_try())

    @command(HELP, N_("What I understand"), immediate=True)
    async def help(self, call: CommandCall) -> str:
        """/help, and the answer to a command that does not exist"""
        if call.name in self._table:
            return help_text(self._table)
        listed = [command.name for command in self._table.values() if command.listed]
        near = difflib.get_close_matches(call.name, listed, n=1)
        if near:
            return _("There is no command /{name}: did you mean /{near}?", name=call.name, near=near[0])
        return _("There is no command /{name}: /help lists them all.", name=call.name)


def command_table(groups: Iterable[object], *, remembers: bool, scope: MemoryScope) -> dict[str, Command]:
    """Commands by name, in the order in which help shows them. Raises ValueError for a name that comes twice."""
    table: dict[str, Command] = {}
    for group in (Introduction(table, remembers=remembers, scope=scope), *groups):
        for command in commands_of(group):
            if command.name in table:
                raise ValueError(f"two commands are called /{command.name}")
            table[command.name] = command
    return table


@dataclass(frozen=True, slots=True)
class CommandRunner:
    table: Mapping[str, Command]
    sessions: SessionService
    effects: Effects
    languages: Languages

    def called_by(self, arrival: Arrival) -> Command | None:
        """The command that an arrival calls; /help for an unknown name."""
        if arrival.provenance is not Provenance.TYPED:
            return None  # what others wrote is read, never obeyed
        name = parse_command(arrival.text)[0]
        return self.table.get(name, self.table.get("help")) if name else None

    async def run(self, arrival: Arrival, command: Command) -> CommandResult:
        name, argument = parse_command(arrival.text)
        with use_language(await self.languages.of(arrival)):
            try:
                session = await self.sessions.get_or_create(arrival.address)
                if session.state is SessionState.TERMINATED:  # whoever blocked the bot is back
                    await self.sessions.set_state(session.id, SessionState.ACTIVE)
                async with arrival.channel.busy(arrival):
                    refused = await _forbidden(arrival, command)
                    if refused is not None:
                        return refused
                    call = CommandCall(session, name, argument, arrival.asker, arrival.sender)
                    return await self._once(arrival, command, call)
            except MnemeError as error:
                return str(error)
            except Exception:
                log.exception("command_failed", command=name)
                return _("/{name} failed on my side: try again, or look into the log.", name=name)

    async def _once(self, arrival: Arrival, command: Command, call: CommandCall) -> CommandResult:
        """Run a command, unless the inbox shows that it ran before a kill and only its answer is missing."""
        causes = [] if arrival.inbox_id is None or command.repeatable else [f"{arrival.inbox_id}/{command.name}"]
        if await self.effects.had_by(causes):
            command_text = in_line(f"/{call.name} {call.argument}", SHOWN_CHARACTERS)
            return _("This was done before I was interrupted, and not a second time: {asked}", asked=command_text)
        with self.effects.caused_by(causes):
            return await command.run(call)


async def _forbidden(arrival: Arrival, command: Command) -> str | None:
    """Why this sender may not use a command; None if they may."""
    if command.access is Access.MANAGERS and not await arrival.channel.may_manage(arrival):
        return _("In a group /{name} is for its administrators and for the bot's owner.", name=command.name)
    if command.access is Access.OWNER and not await arrival.channel.is_owner(arrival):
        return _("/{name} is for the bot's owner.", name=command.name)
    return None
