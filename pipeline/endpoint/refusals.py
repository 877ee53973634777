"""Finding out what of a request a server refuses, by asking once more without it.

What servers say differs too much to rely on: some name the parameter, some quote a chat template, some only say that
the request is bad. So their words decide merely what is tried first; what is believed is the request that succeeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from pipeline.endpoint.sending import Refusal
from pipeline.endpoint.wire import Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.endpoint.sending import Begun, Sending

log = structlog.get_logger(__name__)

MOST_NAMED = 6
"""How many refusals in a row are followed by their words."""


async def send_what_is_accepted(request: Sending, known: frozenset[Part]) -> tuple[Begun, frozenset[Part]]:
    """Send `request` without what is known to be refused; the answer, and all that is now known to be refused.

    A refusal that names a part is followed. Of one that names none it is found out whether anything could be missed
    at all, and then which part; that takes a request for each, once in an endpoint's life. Raises the server's own
    error where the request is refused without all of them too.
    """
    named: list[Part] = []
    while True:
        without = known | set(named)
        try:
            answer = await request.send(without)
        except Refusal as refusal:
            part = refusal.names(request.parts(without)) if len(named) < MOST_NAMED else None
            if part is None:
                return await _with_as_much_as_possible(request, known, named, refusal)
            log.warning("part_refused", part=str(part), status=refusal.status)
            named.append(part)
        else:
            # the last one made the difference; the others may have been left out on the strength of a wrong word
            return await _put_back(request, answer, without, named[:-1])


async def _with_as_much_as_possible(
    request: Sending, known: frozenset[Part], named: list[Part], refusal: Refusal
) -> tuple[Begun, frozenset[Part]]:
    missable = list(request.parts(known | set(named)))
    if not missable or not refusal.may_mean_any_part:
        raise refusal
    if Part.MAX_TOKENS in missable:
        missable.append(Part.MAX_COMPLETION_TOKENS)  # what stands in its place where it is left out
    # messages first: a server that takes no later system message may well take the first one
    doubtful = [*missable[::-1], *named]
    try:
        answer = await request.send(known | set(doubtful))
    except Refusal:
        raise refusal from None
    answer, refused = await _put_back(request, answer, known | set(doubtful), doubtful)
    if Part.TOOLS in refused - known and await request.takes_tools():
        # it was their length that was too much, and the next conversation may have room for them
        await request.discard(answer)
        raise refusal
    return answer, refused


async def _put_back(
    request: Sending, answer: Begun, without: frozenset[Part], doubtful: Sequence[Part]
) -> tuple[Begun, frozenset[Part]]:
    """`answer` to the request without `without`, or a better one, with those of the doubtful parts that are taken."""
    for part in doubtful:
        try:
            again = await request.send(without - {part})
        except Refusal as refusal:
            log.warning("part_refused", part=str(part), status=refusal.status)
        except BaseException:
            await request.discard(answer)
            raise
        else:
            await request.discard(answer)
            answer, without = again, without - {part}
    return answer, without
