"""InputSanitizing (10): makes whatever arrived into text that can be stored, searched and shown."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from config.texts import _
from memory.buttons import Notice
from memory.errors import MnemeError
from memory.messages import Message, Role
from memory.service.jobs import MOST_ATTEMPTS
from pipeline.arrival import clean, given_up
from pipeline.media.files import MediaUnreadable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pipeline.arrival import Arrival
    from pipeline.media.reading import Attachment, MediaReader
    from pipeline.models.routing import ModelChoice
    from pipeline.turn import Turn

log = structlog.get_logger(__name__)


class GivenUp(MnemeError):
    """The program was killed again and again while it worked on a message."""

    is_private = True


class EmptyMessage(MnemeError):
    """There is nothing to answer."""


class InputSanitizing:
    """Normalises text (NFC), strips control characters, bounds its length and marks where it came from.

    What came besides text is read, seen and heard here, for the model that talks in this turn, and stands before what
    was said of it. ready: waits for what is still being started, which later steps take as it is then.
    """

    name = "InputSanitizing"

    def __init__(self, media: MediaReader, models: ModelChoice, ready: Callable[[], Awaitable[None]]) -> None:
        self._media = media
        self._models = models
        self._ready = ready
        self._suspects = asyncio.Lock()

    async def process(self, turn: Turn) -> None:
        """Turn what came in into the turn's user messages, and find the model that talks.

        Raises EmptyMessage when nothing is left, GivenUp for what the program was killed over, and MediaUnreadable
        where there is only what can't be read.
        """
        groups_read = [await self._collect(turn, together) for together in _albums(turn.arrivals)]
        # before anything is fetched: it is kept, also where the turn is stopped meanwhile
        turn.user_messages = _in_order(groups_read)
        if not turn.user_messages:
            raise EmptyMessage(_("There is no text in that message: write me something."))
        if any(arrival.attempts >= MOST_ATTEMPTS for arrival in turn.arrivals):
            turn.given_up = True
            log.error("message_given_up", updates=[arrival.inbox_id for arrival in turn.arrivals])
            raise GivenUp(given_up(turn.arrivals))
        if any(arrival.attempts for arrival in turn.arrivals):
            # it may be what killed the program: what was worked on beside it then must not be counted with it again
            await turn.resources.enter_async_context(self._suspects)
        await turn.arrivals[-1].channel.count_attempt(turn.arrivals)
        await self._ready()
        turn.model, gone = await self._models.for_turn(turn.session.address.owner)
        turn.notices += [Notice(gone)] if gone is not None else []
        understood, refused = sum(len(group.texts) for group in groups_read), list[str]()
        for group in groups_read:
            if group.brought:
                image_count = sum(len(message.images) for message in turn.user_messages)
                read = await self._media.read(turn.session.owner, group.brought, turn.talking, image_count)
                group.material = [replace(m, content=clean(m.content)) for m in read.messages]
                turn.user_messages = _in_order(groups_read)
                turn.notices += [*map(Notice, read.heard), *read.asked]
                understood += read.understood
                refused += read.refused
        if not understood:
            raise MediaUnreadable(" ".join(dict.fromkeys(refused)))
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
    """The media of arrivals that belong together, what is reported of them, and the text with them."""

    brought: list[Attachment]
    material: list[Message]
    texts: list[Message]


def _in_order(groups_read: list[_Content]) -> list[Message]:
    return [message for group in groups_read for message in (*group.material, *group.texts)]


def _albums(arrivals: Sequence[Arrival]) -> list[list[Arrival]]:
    """The arrivals one by one, but those of an album together."""
    groups: list[list[Arrival]] = []
    for arrival in arrivals:
        if arrival.album is not None and groups and groups[-1][0].album == arrival.album:
            groups[-1].append(arrival)
        else:
            groups.append([arrival])
    return groups
