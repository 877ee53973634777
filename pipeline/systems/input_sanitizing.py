"""InputSanitizing (10): turns incoming messages and media into clean text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import structlog

from config.texts import _
from memory.buttons import Notice
from memory.errors import MnemeError
from memory.messages import Message, Role
from memory.runtime.jobs import MAX_ATTEMPTS
from pipeline.arrival import Arrival, clean, explain_given_up
from pipeline.media.files import MediaUnreadable
from pipeline.media.reading import Attachment, MediaReader
from pipeline.models.routing import ModelChoice
from pipeline.turn import Turn

log = structlog.get_logger(__name__)


class GivenUp(MnemeError):
    """Raised for a message that killed the program repeatedly."""

    is_private = True


class EmptyMessage(MnemeError):
    """Raised if a message has neither text nor media."""


class InputSanitizing:
    """Normalises and limits text, marks its provenance, and reads media for the model of this turn.

    Media comes before the text of its message.

    Args:
        ready: Wait for services that are still starting. Later steps use whatever is available then.
    """

    name = "InputSanitizing"

    def __init__(self, media: MediaReader, models: ModelChoice, ready: Callable[[], Awaitable[None]]) -> None:
        self._media = media
        self._models = models
        self._ready = ready
        self._suspects = asyncio.Lock()

    async def process(self, turn: Turn) -> None:
        """Set the user messages of the turn and choose its model.

        Raises EmptyMessage if there is neither text nor media, GivenUp for a message that killed the program
        repeatedly, and MediaUnreadable if there is only media that can't be read.
        """
        groups_read = [await self._collect(turn, together) for together in _group_albums(turn.arrivals)]
        # Set before any download, so that the message is stored even if the turn is stopped.
        turn.user_messages = _sort_messages(groups_read)
        if not turn.user_messages:
            raise EmptyMessage(_("That message has no text: write me something."))
        if any(arrival.attempts >= MAX_ATTEMPTS for arrival in turn.arrivals):
            turn.given_up = True
            log.error("message_given_up", updates=[arrival.inbox_id for arrival in turn.arrivals])
            raise GivenUp(explain_given_up(turn.arrivals))
        if any(arrival.attempts for arrival in turn.arrivals):
            # This message may have killed the program. Run suspects one at a time, so that a message that only ran
            # at the same time isn't counted again.
            await turn.resources.enter_async_context(self._suspects)
        await turn.arrivals[-1].channel.count_attempt(turn.arrivals)
        await self._ready()
        turn.model, gone = await self._models.get_for_turn(turn.session.address.owner)
        turn.notices += [Notice(gone)] if gone is not None else []
        understood, refused, can_retry = sum(len(group.texts) for group in groups_read), list[str](), False
        for group in groups_read:
            if group.attachments:
                image_count = sum(len(message.images) for message in turn.user_messages)
                read = await self._media.read(turn.session.owner, group.attachments, turn.chat_model, image_count)
                group.material = [replace(m, content=clean(m.content)) for m in read.messages]
                turn.user_messages = _sort_messages(groups_read)
                turn.notices += [*map(Notice, read.transcripts), *read.questions]
                understood += read.read_count
                refused += read.refused
                can_retry |= read.can_retry
        if not understood:
            raise MediaUnreadable(" ".join(dict.fromkeys(refused)), can_retry=can_retry)
        turn.notices += map(Notice, dict.fromkeys(refused))

    async def _collect(self, turn: Turn, together: list[Arrival]) -> _Content:
        attachments = (
            await self._media.find(turn.session, together) if any(a.files or a.media for a in together) else []
        )
        texts = [
            Message(Role.USER, a.origin_mark + text, a.received_at, speaker=a.speaker, provenance=a.provenance)
            for a in together
            if (text := clean(a.text))
        ]
        return _Content(attachments, [item.unread for item in attachments], texts)


@dataclass(slots=True)
class _Content:
    """The content of arrivals that belong together."""

    attachments: list[Attachment]
    material: list[Message]  # The content of the attachments.
    texts: list[Message]


def _sort_messages(groups_read: list[_Content]) -> list[Message]:
    return [message for group in groups_read for message in (*group.material, *group.texts)]


def _group_albums(arrivals: Sequence[Arrival]) -> list[list[Arrival]]:
    """Group consecutive arrivals of the same album. Every other arrival gets its own group."""
    groups: list[list[Arrival]] = []
    for arrival in arrivals:
        if arrival.album is not None and groups and groups[-1][0].album == arrival.album:
            groups[-1].append(arrival)
        else:
            groups.append([arrival])
    return groups
