"""A second look at what a model learned: another call reads nothing but each fact beside the words that it cites."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from memory.errors import Postponed
from memory.evidence.agreement import Doubt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from memory.evidence.weighing import Weighed
    from memory.messages import Completion

log = structlog.get_logger(__name__)

LEAST_SECONDS = 2.0
"""With less time left nobody is asked: the checks of the code stand."""

_TASK = """\
For each numbered pair: does the fact follow from the words? The words are the user's own, or what the user said yes \
to; "user" in a fact is who said them. Mind who it is about, every number and name, what is negated, and anything that \
the words don't say. Return one JSON object that gives each number "follows", "contradicts" or "unclear".
"""
_VERDICT = re.compile(r'"?(?P<number>\d+)"?\s*:\s*"(?P<verdict>\w+)')


async def look_again(
    weighed: Sequence[Weighed], ask: Callable[[str, float], Awaitable[Completion]], deadline: float
) -> list[Weighed]:
    """`weighed`, with those no longer confirmed that contradict their words. deadline: on the loop's clock.

    Nor is one of which it is unclear whether it follows, unless it says what its words say anyhow. One that merely uses
    other words than code can follow is confirmed where it follows.
    """
    pairs = {
        at: one
        for at, one in enumerate(weighed)
        if one.doubt in (None, Doubt.MORE) and one.refusal is None and one.quote
    }
    left = deadline - asyncio.get_running_loop().time()
    if not pairs or left < LEAST_SECONDS:
        return list(weighed)
    try:
        async with asyncio.timeout_at(deadline):
            answer = await ask(_asked(pairs), left)
    except Postponed:
        raise
    except Exception as error:  # noqa: BLE001  # whatever stops the model, the checks of the code stand
        log.info("second_look_left_out", error=str(error) or type(error).__name__)
        return list(weighed)
    verdicts = {int(found["number"]): found["verdict"].casefold() for found in _VERDICT.finditer(answer.text)}
    return [
        replace(one, doubt=_doubt_by(verdicts.get(at + 1, ""), one)) if at in pairs else one
        for at, one in enumerate(weighed)
    ]


def _doubt_by(verdict: str, weighed: Weighed) -> Doubt | None:
    if verdict.startswith("contradict"):
        return Doubt.CONTRADICTED
    if verdict.startswith("follow"):
        return None
    return Doubt.MORE if verdict.startswith("unclear") and not weighed.is_plain else weighed.doubt


def _asked(pairs: dict[int, Weighed]) -> str:
    lines = []
    for at, one in pairs.items():
        who = f" (said by {one.message.speaker})" if one.message is not None and one.message.speaker else ""
        lines.append(
            f"{at + 1}. fact: {json.dumps(one.fact.text, ensure_ascii=False)}\n"
            f"   words{who}: {json.dumps(one.quote, ensure_ascii=False)}"
        )
    return "\n".join([_TASK, *lines])
