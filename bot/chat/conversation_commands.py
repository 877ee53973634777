"""Commands on the conversation: /new /compact /status /stop /retry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.commands import Answer, Command, CommandCall, CommandResult, RunAgain, WrongArgument
from bot.chat.status import counted
from memory.buttons import rows_of

if TYPE_CHECKING:
    from bot.chat.lanes import Lanes
    from bot.chat.status import Status
    from bot.jobs.background import BackgroundConsolidation
    from memory.log.compaction import CompactionService
    from memory.log.turn_log import TurnLog

STOP = "stop"
COMPACT_DEFAULT = 10
"""Messages that `/compact` keeps when it is not told how many."""
COMPACT_MOST = 100


class ConversationCommands:
    """What the commands do: each parses its argument, calls one service and returns text."""

    def __init__(
        self,
        turns: TurnLog,
        compaction: CompactionService,
        background: BackgroundConsolidation,
        status: Status,
        lanes: Lanes,
    ) -> None:
        self._turns = turns
        self._compaction = compaction
        self._background = background
        self._status = status
        self._lanes = lanes

    def commands(self) -> list[Command]:
        """The commands."""
        return [
            Command("new", "Begin a new conversation; what I remember stays", self.new, repeatable=True),
            Command(
                "compact",
                "Summarise the conversation but for the last N messages",
                self.compact,
                "[N]",
                repeatable=True,
            ),
            Command("status", "Conversation, memory and model", self.status, immediate=True),
            Command(STOP, "Stop the answer that is being written", self.stop, immediate=True),
            Command("retry", "Answer the last message again", self.retry),
        ]

    async def new(self, call: CommandCall) -> CommandResult:
        """/new"""
        ended = await self._background.end_conversation(call.session)
        kept = await self._status.memory.summary(call.session)
        if ended.messages == 0:
            return f"This is a new conversation already. I still have {kept}."
        said = counted(ended.messages, "message")
        text = f"A new conversation begins. The {said} of the last one stay in my log, and I keep {kept}."
        if ended.goes_on:
            return f"{text} I am still sorting what was said; what I learn from it I tell with a later answer."
        if not ended.learned:
            return text
        said = "\n".join(line.text for line in ended.learned)
        return Answer(f"{text}\n\n_{said}_", rows_of(ended.learned))

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
        return await self._status.text(call.session)

    async def stop(self, call: CommandCall) -> str:
        """/stop"""
        stopped, waiting = await self._lanes.stop(call.session.id)
        if not stopped:
            return "Nothing is running."
        if waiting:
            return f"Stopped. {_messages(waiting)} will be answered together with your next one."
        return "Stopped."

    async def retry(self, call: CommandCall) -> CommandResult:
        """/retry [#TURN]"""
        last = await self._turns.last(call.session.id)
        if last is not None and call.argument and call.argument != f"#{last.id}":
            return "Something else was said since: /retry alone tries the last message again."
        if last is None or not last.user_messages:
            return "There is nothing to try again in this conversation."
        return RunAgain(call.session, last.user_messages, last.id)


def _kept_count(argument: str) -> int:
    if not argument:
        return COMPACT_DEFAULT
    kept = int(argument) if argument.isdecimal() and len(argument) <= len(str(COMPACT_MOST)) else 0
    if not 1 <= kept <= COMPACT_MOST:
        raise WrongArgument(f"/compact takes a number from 1 to {COMPACT_MOST}, such as /compact {COMPACT_DEFAULT}.")
    return kept


def _messages(count: int) -> str:
    return "One waiting message" if count == 1 else f"{count} waiting messages"
