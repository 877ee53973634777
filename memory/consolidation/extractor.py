"""One part of a conversation put before a model, and what it extracts from it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from memory.capture.capture import candidates
from memory.consolidation.consolidation_answer import parse_answer
from memory.consolidation.consolidation_prompt import ExtractionPrompt, consolidation_prompt
from memory.consolidation.selection import parse_selection, selection_prompt, statements
from memory.facts.second_look import always, answered
from memory.facts.transcript import typed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from memory.clock import Clock, TimezoneLookup
    from memory.consolidation.consolidation_answer import ConsolidationAnswer
    from memory.consolidation.parts import Part
    from memory.facts.fact_store import FactStore
    from memory.facts.second_look import PromptFn
    from memory.text.tokens import TokenCounter

log = structlog.get_logger(__name__)

KNOWN_FACTS = 30
"""Current facts that the model is shown, so that it calls a known subject by its name."""
MOST_CANDIDATES = 20


@dataclass(frozen=True, slots=True)
class Contract:
    """What the model is asked for. part_tokens: how much of a conversation it reads at once.

    is_reliable: whether its second look is worth anything; a model whose look is not chooses among the user's own
    sentences, and writes none.
    """

    part_tokens: Callable[[], int]
    is_reliable: Callable[[], Awaitable[bool]] = always


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a model made of a part. memory: the MEMORY.md that it was shown. was_cut: its answer was cut off."""

    answer: ConsolidationAnswer
    memory: str
    was_cut: bool


class Extractor:
    """Asks the model about one part after the other."""

    def __init__(
        self,
        prompt: PromptFn,
        contract: Contract,
        facts: FactStore,
        counter: TokenCounter,
        clock: Clock,
        zone_of: TimezoneLookup,
    ) -> None:
        self._counter = counter
        self._prompt = prompt
        self.contract = contract
        self.zone_of = zone_of
        self._facts = facts
        self._clock = clock

    def count(self, text: str) -> int:
        """Tokens of `text`, as estimated."""
        return self._counter.text(text)

    async def extract(self, part: Part, owner: str, memory: str, deadline: float) -> Extraction | None:
        """What the model makes of a part; None for nothing usable. Raises Postponed.

        deadline: on the loop's clock.
        """
        existing = await self._facts.current(owner, KNOWN_FACTS)
        prompt = ExtractionPrompt(part, memory, existing, _candidates(part), self._clock(), self.zone_of(owner))
        selects = not await self.contract.is_reliable()
        text = selection_prompt(prompt) if selects else consolidation_prompt(prompt)
        completion = await answered(self._prompt, text, deadline, "consolidation_failed")
        if completion is None:
            return None
        answer = parse_selection(completion, statements(part)) if selects else parse_answer(completion)
        if answer is None:
            log.warning("consolidation_unusable")
            return None
        return Extraction(answer, memory, was_cut=not completion.is_whole)


def new_lines(memory: str, update: str | None) -> list[str]:
    """The lines of a rewritten MEMORY.md that it does not have yet: each is a fact that cites nothing (S2)."""
    existing = {_plain_line(line) for line in memory.splitlines()}
    lines = dict.fromkeys(_plain_line(line) for line in (update or "").splitlines())
    return [line for line in lines if line and line not in existing and not line.startswith("#")]


def _plain_line(line: str) -> str:
    return line.strip().removeprefix("- ").removeprefix("* ").strip()


def _candidates(part: Part) -> list[str]:
    candidate_sentences = itertools.chain.from_iterable(candidates(message.content) for message in typed(part.messages))
    return list(itertools.islice(candidate_sentences, MOST_CANDIDATES))
