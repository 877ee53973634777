"""ReplyDelivery (40) commits the turn with its reply in one transaction, then sends the reply.

MemoryPersist (50) runs after it.
"""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from config.texts import N_, _
from memory.buttons import THIS_TURN, Button, Keyboard, Notice, collect_rows
from memory.clock import Clock
from memory.log.daily_notes import DailyNotes
from memory.log.turn_log import CommitWrite, FinishedTurn, Outcome, TurnLog
from memory.messages import Message, Role, join_messages
from memory.search.activation_log import MemoryUses
from memory.store.button_rows import OutgoingFile
from memory.store.notices import PendingNotices
from pipeline.arrival import collect_inbox_ids
from pipeline.scheduled import RunResult
from pipeline.turn import Turn

log = structlog.get_logger(__name__)

_INTERRUPTED = N_(
    "I was restarted, so the earlier messages of this private conversation are deleted. It stays private until /new."
)


class ReplyDelivery:
    """Commits and delivers every turn, whether it was answered, stopped or failed."""

    name = "ReplyDelivery"

    def __init__(self, turns: TurnLog, notices: PendingNotices, clock: Clock, *, notes: bool) -> None:
        self._notes = notes
        self._turns = turns
        self._notices = notices
        self._clock = clock

    async def process(self, turn: Turn) -> None:
        if turn.outcome is Outcome.STOPPED and turn.partial.strip():
            text = turn.partial.strip() + " " + _("(stopped)")
            turn.produced.append(Message(Role.ASSISTANT, text, self._clock(), provenance=turn.provenance.stored))
        # A private talk is deleted with everything in it, so pending notices wait until it is over. They are no reason
        # for a message either.
        waiting = [] if turn.session.private or turn.is_silent else await self._notices.list_waiting(turn.session.owner)
        turn.notices = [*(notice.line for notice in waiting), *turn.notices]
        if turn.session.private and await self._turns.has_lost_private_talk(turn.session.id):
            turn.notices.append(Notice(_(_INTERRUPTED)))
        writes = _settle_task(turn)
        alone = [notice for notice in turn.notices if notice.alone]
        aside = await turn.channel.prepare_private_reply(_lines(alone), collect_rows(alone)) if alone else None
        if aside is not None:
            turn.notices = [notice for notice in turn.notices if not notice.alone]
        turn.reply = _reply(turn)
        files = _prepare_files(turn)
        turn.finished = FinishedTurn(
            session_id=turn.session.id,
            outcome=Outcome.RETRIED if turn.given_up else turn.outcome or Outcome.FAILED,
            messages=[*turn.user_messages, *turn.produced],
            started_at=turn.started_at,
            failure=turn.failure,
            replaces_turn=turn.replaces_turn,
            written_entries=tuple(turn.written_entries),
            activated=turn.activated,
            recalled=turn.recalled,
            recalled_notes=tuple(dict.fromkeys((*turn.recalled_notes, *sorted(turn.recalled_entries)))),
            shown_notices=tuple(notice.id for notice in waiting),
            inbox_ids=tuple(collect_inbox_ids(turn.arrivals)),
            reply=await turn.channel.prepare_reply(turn.reply, _keyboard(turn)),
            extra_reply=aside,
            files=files,
            has_daily_note=self._notes,
            writes=writes,
        )
        turn.committed_as = await self._turns.commit(turn.finished)
        if turn.is_silent and not turn.reply and not files:
            return
        try:
            await turn.channel.deliver(turn.reply)
        except Exception:
            # The reply is in the log and in the outbox, so the outcome of the turn doesn't change.
            log.exception("delivery_failed")
        if turn.outcome is Outcome.ANSWERED and turn.produced and not turn.is_silent:
            await turn.channel.on_delivered(turn.produced[-1].content)


def _settle_task(turn: Turn) -> tuple[CommitWrite, ...]:
    """Add a notice about a scheduled task and return what to write about it. Other turns have neither."""
    if turn.task is None:
        return ()
    result = RunResult(
        has_failed=turn.given_up or (turn.outcome is Outcome.FAILED and not turn.is_over_limit),
        is_inconclusive=turn.is_over_limit or turn.outcome is Outcome.STOPPED,
        is_silent=turn.is_silent and not turn.notices,
    )
    settled = turn.task.settle(result)
    turn.notices[:0] = [settled.notice] if settled.notice is not None else []
    return (settled.write,)


def _reply(turn: Turn) -> str:
    last = turn.produced[-1] if turn.produced else None
    text = last.content if last is not None and last.role is Role.ASSISTANT and not last.tool_calls else ""
    parts = [text] if turn.outcome is not Outcome.FAILED and not turn.is_silent else []
    if turn.failure:
        parts.append(turn.failure)
    return "\n\n".join(part for part in (*parts, _lines(turn.notices)) if part)


def _prepare_files(turn: Turn) -> tuple[OutgoingFile, ...]:
    """Return the files to send after the answer. A turn that failed or was stopped sends none."""
    if turn.outcome is not Outcome.ANSWERED:
        return ()
    prepared = (
        (turn.channel.prepare_file(_("From the tool {tool}", tool=file.tool)), file.document)
        for file in turn.files.sent
    )
    return tuple(OutgoingFile(reply, document) for reply, document in prepared if reply is not None)


def _lines(notices: Iterable[Notice]) -> str:
    return "\n\n".join(f"_{line.text}_" for line in notices)


def _keyboard(turn: Turn) -> Keyboard:
    rows = collect_rows(turn.notices)
    can_retry = turn.can_retry and bool(turn.user_messages) and not (turn.given_up or turn.is_over_limit)
    if turn.outcome is not Outcome.FAILED or not can_retry:
        return rows
    return ((Button(_("Try again"), f"/retry_{THIS_TURN}", in_place=not rows),), *rows)


class MemoryPersist:
    """Writes `[HH:mm] User: ... | Assistant: ...` into the daily note.

    Args:
        uses: Counts the memories that the answer used.
    """

    name = "MemoryPersist"

    def __init__(self, notes: DailyNotes | None, uses: MemoryUses | None = None) -> None:
        self._notes = notes
        self._uses = uses

    async def process(self, turn: Turn) -> None:
        if self._notes is not None:
            await self._notes.settle(turn.session.owner)
        if self._uses is not None and turn.outcome is Outcome.ANSWERED and turn.produced and not turn.session.private:
            shown = {*turn.recalled_notes, *turn.recalled_entries, *(memory.id for memory in turn.activated)}
            lines = turn.context[0].content.splitlines() if turn.context else []
            question = join_messages(turn.user_messages).text
            await self._uses.count(turn.session.owner, question, turn.produced[-1].content, shown, lines)
