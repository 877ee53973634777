"""Finding out what of a request a server refuses, by asking once more without it.

What servers say differs too much to rely on: some name the parameter, some quote a chat template, some only say that
the request is bad. So their words decide merely what is tried first; what is believed is the request that succeeds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import structlog

from pipeline.endpoint.wire import Part, of_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

Answer = TypeVar("Answer")

log = structlog.get_logger(__name__)

MOST_NAMED = 6
"""How many refusals in a row are followed by their words."""

_NAMES = {
    Part.STREAM_OPTIONS: r"stream[_ ]options|include_usage",
    Part.RESPONSE_FORMAT: r"response[_ ]format|json_object|json mode|structured output",
    Part.TEMPERATURE: r"temperature",
    Part.MAX_TOKENS: r"\bmax_tokens\b",
    Part.MAX_COMPLETION_TOKENS: r"max_completion_tokens",
    # not every word of tools: a complaint about a call in the history is none about tools
    Part.TOOLS: r"support\w*\W+(?:\w+\W+){0,4}(?:tools?|functions?)\b|tool_choice"
    r"|\btools?\b(?=.{0,60}(?:not|requir|unrecogn|unknown|unsupport|permit|allow|enable|extra))"
    r"|(?:unrecogn|unknown|unsupport|extra).{0,60}\btools?\b",
}
_ROLES = re.compile(r"\broles?\b|alternat|(?:system|developer) (?:message|prompt|instruction|role)", re.IGNORECASE)
_TEMPLATE = re.compile(r"jinja|chat.?template|raise_exception|template", re.IGNORECASE)
_BAD_REQUEST = (400, 422, 501)
_BROKEN = (500, None)
"""A chat template that fails is told as the server's own failure, or in the middle of a stream that had begun."""


@dataclass(slots=True)
class Refusal(Exception):  # named as what it is
    """A server answered a request with an error that may be about a part of it. status None: said in the stream."""

    status: int | None
    said: str
    param: str | None
    cause: Exception

    def names(self, among: Sequence[Part]) -> Part | None:
        """The part that it speaks of, if it speaks of one of `among`."""
        if self.param:
            return next((part for part in among if part == self.param), None)
        found = {part: re.search(words, self.said, re.IGNORECASE) for part, words in _NAMES.items() if part in among}
        at = {part: match.start() for part, match in found.items() if match}
        if at:
            return min(at, key=lambda part: at[part])
        return next(iter(of_messages(among)), None) if _ROLES.search(self.said) else None

    @property
    def may_mean_any_part(self) -> bool:
        """Whether it may be about a part of the request without saying which."""
        if self.param:
            return False
        return self.status in _BAD_REQUEST or (self.status in _BROKEN and bool(_TEMPLATE.search(self.said)))


class Request(Protocol[Answer]):
    """A request that can be sent without some of its parts."""

    async def send(self, without: frozenset[Part]) -> Answer:
        """Send it without these parts; what the server begins to answer. Raises Refusal, and what else goes wrong."""

    def parts(self, without: frozenset[Part]) -> Sequence[Part]:
        """The parts that it still has then."""

    async def takes_tools(self) -> bool:
        """Whether the server takes its tools in a request of a few words."""

    async def discard(self, answer: Answer) -> None:
        """End an answer that is not needed."""


async def send_what_is_accepted(request: Request[Answer], known: frozenset[Part]) -> tuple[Answer, frozenset[Part]]:
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
            log.warning("part_refused", part=str(part), said=refusal.said[:200])
            named.append(part)
        else:
            # the last one made the difference; the others may have been left out on the strength of a wrong word
            return await _put_back(request, answer, without, named[:-1])


async def _with_as_much_as_possible(
    request: Request[Answer], known: frozenset[Part], named: list[Part], refusal: Refusal
) -> tuple[Answer, frozenset[Part]]:
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
    request: Request[Answer], answer: Answer, without: frozenset[Part], doubtful: Sequence[Part]
) -> tuple[Answer, frozenset[Part]]:
    """`answer` to the request without `without`, or a better one, with those of the doubtful parts that are taken."""
    for part in doubtful:
        try:
            again = await request.send(without - {part})
        except Refusal as refusal:
            log.warning("part_refused", part=str(part), said=refusal.said[:200])
        except BaseException:
            await request.discard(answer)
            raise
        else:
            await request.discard(answer)
            answer, without = again, without - {part}
    return answer, without
