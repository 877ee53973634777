"""A second look at what a model learned: another call reads nothing but each fact beside the words that it cites."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from config.texts import in_english
from memory.consolidation.parts import shortened
from memory.consolidation.transcript import one_line, transcript
from memory.errors import Postponed
from memory.evidence.agreement import Doubt
from memory.messages import Role

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from memory.evidence.weighing import Hearing, Weighed
    from memory.messages import Completion, Message

log = structlog.get_logger(__name__)

BEFORE = 10
"""Messages before the cited one that are shown, for who "she" is, what was asked and what is spoken of."""
WHOLE = 600
"""Characters of a message that are shown whole."""
LIFTED = (Doubt.MORE, Doubt.UNLIKE, Doubt.PERSON, Doubt.TURNED, Doubt.NAME)
"""Doubts that rest on which words were used, where a model that reads them knows better. A number, a day, or words that
nobody said no model talks away."""
LEAST_SECONDS = 2.0
"""With less time left nobody is asked: the checks of the code stand."""

_TASK = """\
For each numbered fact: does it follow from the words quoted for it? Read them where they stand in the messages below; \
a message of the assistant counts, for the user said yes to it. "User" in a fact is who wrote the message. Take the \
words as a sensible reader does: other words for the same thing follow, and so does what they plainly mean. But hold \
against them who it is about, who does what to whom, every number, day and name, what is negated, what was and what is \
now, and every detail that the fact adds.
Return one JSON object that gives each fact's number "follows", "contradicts" (the words say otherwise), or "unclear" \
(they don't say it, or not all of it).
"""
_VERDICT = re.compile(r"(?P<number>\d+)\W+(?:verdict\W+)?(?P<verdict>follow|contradict|unclear)", re.IGNORECASE)


async def look_again(
    weighed: Sequence[Weighed], hearing: Hearing, ask: Callable[[str, float], Awaitable[Completion]], deadline: float
) -> list[Weighed]:
    """`weighed`, with those no longer confirmed that contradict their words. deadline: on the loop's clock.

    Nor is one of which it is unclear whether it follows, unless it says what its words say anyhow. One that merely uses
    other words than code can follow is confirmed where it follows.
    """
    pairs = {at: one for at, one in enumerate(weighed) if _is_open(one)}
    left = deadline - asyncio.get_running_loop().time()
    if not pairs or left < LEAST_SECONDS:
        return list(weighed)
    try:
        async with asyncio.timeout_at(deadline):
            answer = await ask(_asked(pairs, hearing), left)
    except Postponed:
        raise
    except Exception as error:  # noqa: BLE001  # whatever stops the model, the checks of the code stand
        log.info("second_look_left_out", error=in_english(error) or type(error).__name__)
        return list(weighed)
    verdicts = {int(found["number"]): found["verdict"].casefold() for found in _VERDICT.finditer(answer.text)}
    return [
        replace(one, doubt=_doubt_by(verdicts.get(at + 1, ""), one)) if at in pairs else one
        for at, one in enumerate(weighed)
    ]


def _is_open(weighed: Weighed) -> bool:
    """Whether a verdict could change anything."""
    return weighed.number is not None and weighed.refusal is None and weighed.doubt in (None, *LIFTED)


def _doubt_by(verdict: str, weighed: Weighed) -> Doubt | None:
    match verdict:
        case "contradict":
            return Doubt.CONTRADICTED
        case "follow":
            return None
        case "unclear" if not weighed.is_plain:
            return weighed.doubt or Doubt.MORE
    return weighed.doubt


def _asked(pairs: dict[int, Weighed], hearing: Hearing) -> str:
    shown: dict[int, Message] = {}
    facts = []
    for at, one in pairs.items():
        number, quote = one.number or 0, one.quote or ""
        shown |= _around(number, quote, hearing.messages)
        facts.append(f"{at + 1}. {one_line(one.fact.text)}\n   words in [{number}]: {one_line(quote)}")
    said = transcript(sorted(shown.items()), hearing.zone)
    return f"{_TASK}\n## Messages\n{said}\n\n## Facts\n" + "\n".join(facts)


def _around(number: int, quote: str, messages: Sequence[Message]) -> dict[int, Message]:
    """The message that is cited, what was said just before it, and the yes to it, by their numbers; no foreign text."""
    last = number + 1 if messages[number - 1].role is Role.ASSISTANT else number
    near = range(max(1, number - BEFORE), min(last, len(messages)) + 1)
    shown = ((at, messages[at - 1]) for at in near)
    return {
        at: replace(one, content=_shorter(one.content, quote if at == number else ""))
        for at, one in shown
        if one.provenance is None or not one.provenance.is_foreign
    }


def _shorter(text: str, quote: str) -> str:
    """A long text's part around the quote, or its beginning and end."""
    plain = one_line(text)
    if len(plain) <= WHOLE:
        return plain
    found = plain.casefold().find(one_line(quote).casefold()) if quote else -1
    if found < 0:
        return shortened(plain)
    return f"… {plain[max(0, found - WHOLE // 3) : found + len(quote) + WHOLE // 3]} …"
