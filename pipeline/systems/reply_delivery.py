"""ReplyDelivery (40): commits the turn and its reply in one transaction, then hands the reply over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from config.texts import N_, _
from memory.buttons import THIS_TURN, Button, Notice, rows_of
from memory.log.turn_log import FinishedTurn, Outcome
from memory.messages import Message, Role

if TYPE_CHECKING:
    from memory.buttons import Keyboard
    from memory.clock import Clock
    from memory.log.turn_log import TurnLog
    from memory.mail.notices import PendingNotices
    from pipeline.turn import Turn

log = structlog.get_logger(__name__)

_INTERRUPTED = N_(
    "I was restarted meanwhile: what was said before in this private talk is gone. It stays private until /new."
)


class ReplyDelivery:
    """Every turn ends here: answered, stopped or failed. notes: exchanges are noted in the daily notes."""

    name = "ReplyDelivery"

    def __init__(self, turns: TurnLog, notices: PendingNotices, clock: Clock, *, notes: bool) -> None:
        self._notes = notes
        self._turns = turns
        self._notices = notices
        self._clock = clock

    async def process(self, turn: Turn) -> None:
        """Commit, then deliver. What the turn had said when it was stopped is kept and marked."""
        if turn.outcome is Outcome.STOPPED and turn.partial.strip():
            text = turn.partial.strip() + " " + _("(stopped)")
            turn.produced.append(Message(Role.ASSISTANT, text, self._clock(), provenance=turn.provenance.kept))
        # what is told in a private talk goes with it, and so would the buttons under it
        waiting = [] if turn.session.private else await self._notices.waiting(turn.session.owner)
        turn.notices += [notice.line for notice in waiting]
        if turn.session.private and await self._turns.lost_private_talk(turn.session.id):
            turn.notices.append(Notice(_(_INTERRUPTED)))
        turn.reply = _reply(turn)
        turn.finished = FinishedTurn(
            session_id=turn.session.id,
            outcome=Outcome.RETRIED if turn.given_up else turn.outcome or Outcome.FAILED,
            messages=[*turn.user_messages, *turn.produced],
            started_at=turn.started_at,
            failure=turn.failure,
            replaces_turn=turn.replaces_turn,
            written_entries=tuple(turn.written_entries),
            activated=turn.activated,
            told_notices=tuple(notice.id for notice in waiting),
            inbox_ids=tuple(a.inbox_id for a in turn.arrivals if a.inbox_id is not None),
            reply=await turn.channel.outgoing(turn.reply, _keyboard(turn)),
            noted=self._notes,
        )
        turn.committed_as = await self._turns.commit(turn.finished)
        try:
            await turn.channel.deliver(turn.reply)
        except Exception:
            # the reply is in the log, and in the outbox of a channel that has one: the turn is what it was
            log.exception("delivery_failed")


def _reply(turn: Turn) -> str:
    last = turn.produced[-1] if turn.produced else None
    text = last.content if last is not None and last.role is Role.ASSISTANT and not last.tool_calls else ""
    parts = [text] if turn.outcome is not Outcome.FAILED else []
    if turn.failure:
        parts.append(turn.failure)
    parts += [f"_{line.text}_" for line in turn.notices]
    return "\n\n".join(part for part in parts if part)


def _keyboard(turn: Turn) -> Keyboard:
    rows = rows_of(turn.notices)
    if turn.outcome is not Outcome.FAILED or turn.given_up or not turn.user_messages:
        return rows
    return ((Button(_("Try again"), f"/retry_{THIS_TURN}"),), *rows)
