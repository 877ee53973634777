"""What a command is. From one table of them come the help text, Telegram's menu and the console's completion."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from config.texts import N_, _
from memory.buttons import Button, Keyboard
from memory.errors import MnemeError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from memory.log.sessions import Session
    from memory.messages import Document, Message

_COMMAND = re.compile(r"/(?P<name>[A-Za-z][A-Za-z0-9_]{0,31})(?:@(?P<bot>\w+))?(?:\s+(?P<argument>.*))?", re.DOTALL)

_NUMBERED = re.compile(r"(?P<name>[a-z]+)_(?P<number>\d{1,15})")


GUARDED = frozenset(
    (
        *("memory", "recall", "edit", "confirm", "forget", "undo", "export", "private"),
        *("language", "timezone", "notices", "model", "settings"),
    )
)
"""Commands on what a whole group has said, or on what holds for it: there for its administrators and the owner."""


OWNERS = frozenset(("letin", "keepout"))
"""Commands for whoever the bot belongs to."""


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One use of a command."""

    session: Session
    name: str
    argument: str


@dataclass(frozen=True, slots=True)
class RunAgain:
    """A command's wish to have an earlier turn run again in the place of its first run."""

    session: Session
    messages: list[Message]
    turn_id: int


def to_try() -> Keyboard:
    """What to try first; a row each, since a press uses up its row."""
    return (Button(_("What do you know of me?"), "/memory"),), (Button(_("How are you doing?"), "/status"),)


@dataclass(frozen=True, slots=True)
class Answer:
    """A command's answer with buttons under it, where the channel can show them; the text says enough without.

    document: a file that goes with it.
    """

    text: str
    keyboard: Keyboard = ()
    document: Document | None = None


CommandResult = str | Answer | RunAgain


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command. immediate: it answers at once, while a turn runs. description: not translated yet.

    repeatable: it may simply be run again after a kill, since what it did stands already or is to be gone on with.
    listed: help and menu show it; others come with what they are about, as `/done_12`.
    """

    name: str
    description: str
    run: Callable[[CommandCall], Awaitable[CommandResult]]
    argument: str = ""
    immediate: bool = False
    repeatable: bool = False
    listed: bool = True


class WrongArgument(MnemeError):
    """A command was given something that it can't use."""


def parse_command(text: str) -> tuple[str, str]:
    """The name of the command that `text` calls and its argument; two empty strings for other text.

    `/forget_12` is `/forget #12`: Telegram makes such a word something to tap.
    """
    found = _COMMAND.fullmatch(text.strip())
    if found is None:
        return "", ""
    name, argument = found["name"].lower(), (found["argument"] or "").strip()
    numbered = _NUMBERED.fullmatch(name)
    if numbered is not None and not argument:
        return numbered["name"], f"#{numbered['number']}"
    return name, argument


def help_text(table: Mapping[str, Command]) -> str:
    """The commands, a line each."""
    shown = [command for command in table.values() if command.listed]
    return "\n".join(f"- /{c.name}{f' {c.argument}' if c.argument else ''} - {_(c.description)}" for c in shown)


def command_table(commands: Iterable[Command], greeting: Callable[[], str]) -> dict[str, Command]:
    """Commands by name, in the order in which help shows them: first /start and /help, which tell of them all.

    greeting: what /start says before that. Raises ValueError for a name that comes twice.
    """
    table: dict[str, Command] = {}

    async def greet(call: CommandCall) -> Answer:
        return Answer("\n\n".join([greeting(), _("What I understand:"), help_text(table)]), to_try())

    async def explain(call: CommandCall) -> str:
        if call.name in table:
            return help_text(table)
        return _("There is no command /{name}.", name=call.name) + f"\n\n{help_text(table)}"

    start = Command("start", N_("Say hello"), greet, immediate=True)
    for command in (start, Command("help", N_("What I understand"), explain, immediate=True), *commands):
        if command.name in table:
            raise ValueError(f"two commands are called /{command.name}")
        table[command.name] = command
    return table
