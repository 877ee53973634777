"""One part of a conversation put before a model, and what it made of it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from config.texts import in_english
from memory.capture.capture import candidates
from memory.consolidation.consolidation_answer import ConsolidationAnswer, parse_answer
from memory.consolidation.consolidation_prompt import Asked, consolidation_prompt
from memory.consolidation.transcript import typed
from memory.errors import Postponed
from memory.messages import Completion

if TYPE_CHECKING:
    from memory.clock import Clock, ZoneOf
    from memory.consolidation.parts import Part
    from memory.learning.facts import FactStore
    from memory.text.tokens import TokenCounter

log = structlog.get_logger(__name__)

PromptFn = Callable[[str, float], Awaitable[Completion]]
"""Asks a model, which has so many seconds for it, and gives its answer. Raises whatever stops it."""

KNOWN_FACTS = 30
"""Current facts that the model is shown, so that it calls a known subject by its name."""
MOST_CANDIDATES = 20


@dataclass(frozen=True, slots=True)
class Contract:
    """What the model is asked for. part_tokens: how much of a conversation it reads at once.

    cited: facts with their evidence; second_look: a second call that holds each fact against it. Small models do
    better without either.
    """

    part_tokens: Callable[[], int]
    cited: bool = True
    second_look: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model made of a part. memory and known: the MEMORY.md and the current facts that it was shown.

    was_cut: the answer was cut off, and may hold only the beginning.
    """

    answer: ConsolidationAnswer
    memory: str
    known: tuple[str, ...]
    was_cut: bool


class Asking:
    """Asks the model about one part after the other."""

    def __init__(
        self,
        prompt: PromptFn,
        contract: Contract,
        facts: FactStore,
        counter: TokenCounter,
        clock: Clock,
        zone_of: ZoneOf,
    ) -> None:
        self._counter = counter
        self.prompt = prompt
        self.contract = contract
        self.zone_of = zone_of
        self._facts = facts
        self._clock = clock

    def count(self, text: str) -> int:
        """Tokens of `text`, as estimated."""
        return self._counter.text(text)

    async def read(
        self, part: Part, owner: str, memory: str, compress_to: int | None, deadline: float
    ) -> Reading | None:
        """What the model makes of a part; None for nothing usable. Raises Postponed.

        compress_to: bytes of MEMORY.md, when that is too long. deadline: on the loop's clock.
        """
        known = await self._facts.current(owner, KNOWN_FACTS)
        asked = Asked(
            part, memory, known, _candidates(part), self._clock(), self.zone_of(owner), compress_to, self.contract.cited
        )
        try:
            async with asyncio.timeout_at(deadline):
                left = deadline - asyncio.get_running_loop().time()
                completion = await self.prompt(consolidation_prompt(asked), left)
        except Postponed:
            raise
        except Exception as error:  # noqa: BLE001  # whatever stops the model, the fallback takes its place
            log.warning("consolidation_failed", error=in_english(error) or type(error).__name__)
            return None
        answer = parse_answer(completion)
        if answer is None:
            log.warning("consolidation_unusable")
            return None
        return Reading(answer, memory, tuple(entry.content for _, entry in known), was_cut=not completion.is_whole)


def _candidates(part: Part) -> list[str]:
    found = itertools.chain.from_iterable(candidates(message.content) for message in typed(part.messages))
    return list(itertools.islice(found, MOST_CANDIDATES))
