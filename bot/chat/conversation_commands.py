"""Commands on the conversation: /start /help /new /compact /status /stop /retry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bot.chat.commands import Command, CommandCall, CommandResult, RunAgain, WrongArgument, help_text
from bot.chat.status import counted, format_status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.chat.status import StatusService
    from bot.jobs.background import BackgroundConsolidation
    from memory.consolidation.consolidation import ConsolidationService
    from memory.log.compaction import CompactionService
    from memory.log.turn_log import TurnLog

COMPACT_DEFAULT = 10
"""Messages that `/compact` keeps when it is not told how many."""
COMPACT_MOST = 100


class Stopper(Protocol):
    """Where running turns can be stopped."""

    async def stop(self, session_id: str) -> tuple[bool, int]:
        """Cancel what runs and hold what waits; whether anything ran, and how much waits."""


class ConversationCommands:
    """What the commands do: each parses its argument, calls one service and returns text."""

    def __init__(
        self,
        turns: TurnLog,
        compaction: CompactionService,
        consolidation: ConsolidationService,
        background: BackgroundConsolidation,
        status: StatusService,
        stopper: Stopper,
        table: Mapping[str, Command],
        *,
        tell_learned: bool,
    ) -> None:
        self._consolidation = consolidation
        self._background = background
        self._tell_learned = tell_learned
        self._turns = turns
        self._compaction = compaction
        self._status = status
        self._stopper = stopper
        self._table = table

    def commands(self) -> list[Command]:
        """The commands."""
        return [
            Command("start", "Say hello", self.start, immediate=True),
            Command("help", "What I understand", self.help, immediate=True),
            Command("new", "Begin a new conversation; what I remember stays", self.new),
            Command("compact", "Summarise the conversation but for the last N messages", self.compact, "[N]"),
            Command("status", "Conversation, memory and model", self.status, immediate=True),
            Command("stop", "Stop the answer that is being written", self.stop, immediate=True),
            Command("retry", "Answer the last message again", self.retry),
        ]

    async def start(self, call: CommandCall) -> str:
        """/start"""
        return f"I am Mneme, and I remember what we talk about. Just write to me.\n\n{help_text(self._table)}"

    async def help(self, call: CommandCall) -> str:
        """/help, and every command that there is not."""
        known = call.name in self._table
        return help_text(self._table) if known else f"There is no command /{call.name}.\n\n{help_text(self._table)}"

    async def new(self, call: CommandCall) -> str:
        """/new"""
        due = await self._consolidation.mark_current_due(call.session)
        tried = None if due is None else await self._background.first_try(due, call.session.owner)
        ended = await self._consolidation.end_conversation(call.session)
        kept = await self._status.memory_line(call.session)
        if ended == 0:
            return f"This is a new conversation already. I still have {kept}."
        said = counted(ended, "message")
        text = f"A new conversation begins. The {said} of the last one stay in my log, and I keep {kept}."
        if tried is not None and tried.goes_on:
            return f"{text} I am still sorting what was said; what I learn from it I tell with a later answer."
        learned = tried.done.summary if tried is not None and tried.done is not None and self._tell_learned else ""
        return f"{text}\n\n_{learned}_" if learned else text

    async def compact(self, call: CommandCall) -> str:
        """/compact [N]"""
        done = await self._compaction.compact(call.session, _kept_count(call.argument))
        if done is None:
            return "Nothing to compact."
        await self._background.compacted(done)
        how = "summarised" if done.summarized else "extracted (no model made a summary)"
        return f"{counted(done.removed, 'message')} left my view, {how} as {done.archive_name}; {done.kept} stay."

    async def status(self, call: CommandCall) -> str:
        """/status"""
        return format_status(await self._status.status(call.session))

    async def stop(self, call: CommandCall) -> str:
        """/stop"""
        stopped, waiting = await self._stopper.stop(call.session.id)
        if not stopped:
            return "Nothing is running."
        if waiting:
            return f"Stopped. {_messages(waiting)} will be answered together with your next one."
        return "Stopped."

    async def retry(self, call: CommandCall) -> CommandResult:
        """/retry"""
        last = await self._turns.last(call.session.id)
        if last is None or not last.user_messages:
            return "There is nothing to try again in this conversation."
        return RunAgain(last.user_messages, last.id)


def _kept_count(argument: str) -> int:
    if not argument:
        return COMPACT_DEFAULT
    kept = int(argument) if argument.isdecimal() and len(argument) <= len(str(COMPACT_MOST)) else 0
    if not 1 <= kept <= COMPACT_MOST:
        raise WrongArgument(f"/compact takes a number from 1 to {COMPACT_MOST}, such as /compact {COMPACT_DEFAULT}.")
    return kept


def _messages(count: int) -> str:
    return "One waiting message" if count == 1 else f"{count} waiting messages"
