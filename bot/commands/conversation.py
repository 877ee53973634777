"""Commands for conversations: /new /private /compact /status /stop /retry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bot.commands.command import (
    CONVERSATION,
    Access,
    Answer,
    CommandCall,
    CommandResult,
    RunAgain,
    WrongArgument,
    command,
)
from bot.commands.settings import all_settings
from bot.commands.status import Status
from bot.jobs.background import BackgroundConsolidation
from bot.services import MemoryServices
from bot.sessions import SessionQueues
from config.numbers import parse_number
from config.texts import N_, _, ngettext
from memory.buttons import Button, collect_rows
from memory.log.compaction import CompactionService
from memory.log.sessions import Session

STOP = "stop"
PRIVATE = "private"
DEFAULT_COMPACT_KEPT = 10
MAX_COMPACT_KEPT = 100


@dataclass(frozen=True, slots=True)
class ConversationCommands:
    heading: ClassVar = CONVERSATION

    services: MemoryServices
    compaction: CompactionService
    background: BackgroundConsolidation
    reports: Status
    queues: SessionQueues

    @command("new", N_("Start a new conversation; my memory stays"), repeatable=True, in_private=Access.MANAGERS)
    async def new(self, call: CommandCall) -> CommandResult:
        private = await self._end_private(call.session) if call.session.private else None
        ended = await self.background.end_conversation(call.session)
        if private is not None:
            text = private
        elif ended.messages == 0:
            return _("This is already a new conversation.")
        else:
            text = ngettext(
                "New conversation. The last one ({n} message) can still be searched.",
                "New conversation. The last one ({n} messages) can still be searched.",
                ended.messages,
            )
            text = f"{text} {self.reports.retention_note()}"
        if ended.continues:
            later = _("I'm still going through it, and will tell you below a later answer what I learned.")
            return f"{text} {later}"
        if not ended.learned:
            return text
        learned = "\n".join(line.text for line in ended.learned)
        return Answer(f"{text}\n\n_{learned}_", collect_rows(ended.learned))

    async def _end_private(self, session: Session) -> str:
        held_back = await self.services.database.private.end(session.id)
        # Messages of the private talk that a /stop holds are dropped too
        self.queues.drop_held(session.id, held_back)
        return _("The private conversation has ended and was deleted. This is a new conversation, and I remember it.")

    @command(
        PRIVATE,
        N_("Start a private conversation: nothing is saved until /new"),
        repeatable=True,
        access=Access.MANAGERS,
    )
    async def private(self, call: CommandCall) -> CommandResult:
        if call.session.private:
            return _("This conversation is already private: nothing is saved, and /new ends it.")
        await self.services.database.private.begin(call.session.id)
        text = _(
            "This conversation is private from now on. I use what I already know, but I don't learn or note anything"
            " new and don't set reminders. Messages are not saved to disk, and are deleted with /new or when I"
            " restart. I can't control what Telegram and the model's provider store."
        )
        return Answer(text, ((Button(_("End and delete it"), "/new"),), (all_settings(),)))

    @command("compact", N_("Summarise all but the last N messages"), "[N]", repeatable=True, in_private=Access.MANAGERS)
    async def compact(self, call: CommandCall) -> str:
        done = await self.compaction.compact(call.session, _kept_count(call.argument))
        if done is None:
            return _("Nothing to compact.")
        await self.background.mark_compacted(done)
        if done.archive_name is None:
            return ngettext(
                "Summarised {n} message until /new. Kept unchanged: {kept}.",
                "Summarised {n} messages until /new. Kept unchanged: {kept}.",
                done.removed,
                kept=done.kept,
            )
        if done.summarized:
            return ngettext(
                "Summarised {n} message as {name}. Kept unchanged: {kept}.",
                "Summarised {n} messages as {name}. Kept unchanged: {kept}.",
                done.removed,
                name=done.archive_name,
                kept=done.kept,
            )
        return ngettext(
            "No model could write a summary, so {n} message was archived as {name} in extracts. Kept unchanged:"
            " {kept}.",
            "No model could write a summary, so {n} messages were archived as {name} in extracts. Kept unchanged:"
            " {kept}.",
            done.removed,
            name=done.archive_name,
            kept=done.kept,
        )

    @command("status", N_("Show the context, today's cost and the memory"), immediate=True, alone=True)
    async def status(self, call: CommandCall) -> str:
        return await self.reports.text(call.session)

    @command(STOP, N_("Stop the current answer"), immediate=True)
    async def stop(self, call: CommandCall) -> str:
        stopped, waiting = await self.queues.stop(call.session.id)
        if not stopped:
            return _("Nothing is running.")
        if waiting:
            return ngettext(
                "Stopped. One waiting message will be answered together with your next one.",
                "Stopped. {n} waiting messages will be answered together with your next one.",
                waiting,
            )
        return _("Stopped.")

    @command("retry", N_("Answer the last message again"))
    async def retry(self, call: CommandCall) -> CommandResult:
        last = await self.services.turns.find_last(call.session.id)
        # A button names its turn, which may no longer be the last one
        if last is not None and call.argument and call.argument != f"#{last.id}":
            return _("There is a newer message now: send /retry to answer that one again.")
        if last is None and call.session.private:
            return _("There is no message since /private that I could answer again.")
        if last is None or not last.user_messages:
            return _("There is no message in this conversation that I could answer again.")
        return RunAgain(call.session, last.user_messages, last.id)


def _kept_count(argument: str) -> int:
    if not argument:
        return DEFAULT_COMPACT_KEPT
    count = parse_number(argument) or 0
    if not 1 <= count <= MAX_COMPACT_KEPT:
        raise WrongArgument(
            _(
                "/compact takes a number from 1 to {most}, such as /compact {default}.",
                most=MAX_COMPACT_KEPT,
                default=DEFAULT_COMPACT_KEPT,
            )
        )
    return count
