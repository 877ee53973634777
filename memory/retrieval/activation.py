"""Activation: which typed memories stand in a request without anybody asking (S4).

Layer A, the baseline: every policy, architecture and preference of at least high priority. Layer B, the context: what
is strong enough, ranked by relevance and strength. Layer C: the workflows for the task at hand. Only what is trusted
activates: what a foreign text may have brought in would speak in every later request. The layers
share one budget of tokens: A fills it first, then what of B fits the message, then C, then what of B is merely strong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING

from memory.clock import from_text
from memory.ledger.page import format_line
from memory.retrieval.search import Filter
from memory.store.entry import PRIORITY_RANK, TYPED_KINDS, Kind, Priority
from memory.store.entry_rows import LIVE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from zoneinfo import ZoneInfo

    from memory.clock import Clock
    from memory.retrieval.search import Search
    from memory.store.database import Database, Row
    from memory.store.decay import Decay

TokenCount = Callable[[str], int]
"""How many tokens a text is to the model that reads it."""

BASELINE_KINDS = (Kind.POLICY, Kind.ARCHITECTURE, Kind.PREFERENCE)
BASELINE_PRIORITIES = (Priority.CRITICAL, Priority.HIGH)
CHEAPEST = 6
"""Tokens that the shortest line costs: so many times fewer rules than the budget has are looked at."""
CANDIDATES = 32
"""Memories that layer B ranks: so many that fit the message best, and so many of the strongest."""
MOST_WORKFLOWS = 3
"""Workflows of layer C (S4)."""
FITTING_WORKFLOW = 0.4
"""The part of the best workflow's relevance that another must have."""
LINE_CHARACTERS = 500
"""How much of one memory is shown: all of what a capture may hold."""

_CANDIDATES = (
    "SELECT e.id, n.name, e.kind, e.priority, e.content, e.line, e.scope, e.author, e.valid_from, e.success_count,"
    " e.failure_count, e.reinforcement_count, e.last_reinforced_at"
    " FROM entries e JOIN names n ON n.entry_id = e.id AND NOT n.is_alias"
)


class Layer(StrEnum):
    """The layers of S4."""

    BASELINE = "A"
    CONTEXT = "B"
    PROCEDURES = "C"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory as ranking and prompt need it. relevance: as a part of the most relevant one's; 0 where it has none.

    line: the one that was written for it into MEMORY.md. It is no Entry: some hundred are made for every message, and
    whole entries take a quarter longer.
    """

    id: int
    name: str
    kind: str
    priority: str
    content: str
    line: str | None
    scope: str | None
    author: str
    valid_from: str
    success_count: int
    failure_count: int
    score: float
    relevance: float = 0.0


@dataclass(frozen=True, slots=True)
class Activated:
    """A memory in a request, as its line there, and what that cost in tokens."""

    id: int
    layer: Layer
    score: float
    relevance: float
    line: str
    tokens: int


class Activation:
    """Chooses what activates. It reads the store and asks no model."""

    def __init__(self, database: Database, search: Search, decay: Decay, clock: Clock, zone: ZoneInfo) -> None:
        self._database = database
        self._search = search
        self._decay = decay
        self._clock = clock
        self._zone = zone

    async def baseline(
        self, owner: str, tokens: int, count: TokenCount, shown: Collection[str] = ()
    ) -> tuple[Activated, ...]:
        """Layer A in at most `tokens`: the highest priority first, of one priority the strongest.

        shown: the lines of MEMORY.md in the prompt; what they say is not said again.
        """
        owner_id = await self._owner_id(owner)
        if owner_id is None or tokens <= 0:
            return ()
        places = list(product(BASELINE_KINDS, BASELINE_PRIORITIES))
        found = await self._strongest(owner_id, places, 1 + tokens // CHEAPEST, by_priority=True)
        unseen = (candidate for candidate in found.values() if not _is_shown(candidate, shown))
        ranked = sorted(unseen, key=lambda c: (PRIORITY_RANK[c.priority], -c.score, c.id))
        # what is a rule stays as it was written: a time in it would change with every reinforcement
        return self._filled(ranked, Layer.BASELINE, tokens, count)

    async def baseline_count(self, owner: str) -> int:
        """How many memories layer A would hold, had it room for all."""
        kinds, priorities = (", ".join(f"'{one}'" for one in some) for some in (BASELINE_KINDS, BASELINE_PRIORITIES))
        found = await self._database.value(
            f"SELECT count(*) FROM entries e WHERE owner_id = ? AND kind IN ({kinds}) AND priority IN ({priorities})"
            f" AND {LIVE} AND trusted",
            (await self._owner_id(owner),),
        )
        return int(found)

    async def contextual(
        self,
        owner: str,
        message: str,
        baseline: Collection[Activated],
        tokens: int,
        count: TokenCount,
        shown: Collection[str] = (),
    ) -> tuple[Activated, ...]:
        """Layers B and C for a message, in the `tokens` that layer A has left. shown: as in `baseline`."""
        owner_id = await self._owner_id(owner)
        if owner_id is None or tokens <= 0:
            return ()
        taken = {one.id for one in baseline}
        places = [(kind, priority) for kind, priority in product(TYPED_KINDS, Priority) if kind != Kind.WORKFLOW]
        found = await self._strongest(owner_id, places, CANDIDATES + len(taken))
        found |= await self._fitting(owner, message)
        candidates = [c for c in found.values() if c.id not in taken and not _is_shown(c, shown)]
        memories = ranked_memories([c for c in candidates if c.kind != Kind.WORKFLOW], self._decay.threshold)
        workflows = ranked_workflows([c for c in candidates if c.kind == Kind.WORKFLOW])
        chosen: list[Activated] = []
        # what is merely strong comes last: of many memories it would always fill the budget
        for layer, ranked in (
            (Layer.CONTEXT, [memory for memory in memories if memory.relevance]),
            (Layer.PROCEDURES, workflows),
            (Layer.CONTEXT, [memory for memory in memories if not memory.relevance]),
        ):
            chosen += self._filled(ranked, layer, tokens - sum(one.tokens for one in chosen), count)
        return tuple(chosen)

    def _filled(
        self, ranked: Sequence[Candidate], layer: Layer, tokens: int, count: TokenCount
    ) -> tuple[Activated, ...]:
        """As many as fit, in their order; one that is too long does not keep out the shorter ones after it."""
        chosen: list[Activated] = []
        for candidate in ranked:
            if tokens < CHEAPEST:
                break
            line = self._line(candidate, layer)
            cost = count(line) + 1  # the line break
            if cost <= tokens:
                tokens -= cost
                chosen.append(Activated(candidate.id, layer, candidate.score, candidate.relevance, line, cost))
        return tuple(chosen)

    async def _owner_id(self, owner: str) -> int | None:
        found = await self._database.value("SELECT id FROM owners WHERE name = ?", (owner,))
        return None if found is None else int(found)

    async def _fitting(self, owner: str, message: str) -> dict[int, Candidate]:
        """What fits a message best."""
        scores = await self._scores(message, owner, TYPED_KINDS)
        best = max(scores.values(), default=0.0)
        found = await self._candidates(scores, best)
        few = sum(candidate.kind == Kind.WORKFLOW for candidate in found.values()) < MOST_WORKFLOWS
        if few and len(scores) == CANDIDATES:  # other memories that fit have used up their places
            found |= await self._candidates(await self._scores(message, owner, (Kind.WORKFLOW,)), best)
        return found

    async def _scores(self, message: str, owner: str, kinds: Collection[str]) -> dict[int, float]:
        return await self._search.scores(
            message, owner, Filter(kinds=kinds, archived=False, superseded=False), CANDIDATES
        )

    async def _candidates(self, scores: Mapping[int, float], best: float) -> dict[int, Candidate]:
        rows = await self._database.rows(f"{_CANDIDATES} WHERE e.trusted AND e.id IN ({', '.join(map(str, scores))})")
        return {row["id"]: self._candidate(row, scores[row["id"]] / best) for row in rows}

    async def _strongest(
        self, owner_id: int, places: Sequence[tuple[str, str]], limit: int, *, by_priority: bool = False
    ) -> dict[int, Candidate]:
        """The strongest memories of the kinds and priorities in `places`, as the index has them.

        by_priority: the higher priority before the stronger.
        """
        each = (
            f"SELECT id, {math.log2(self._decay.weight(kind))} + strength AS strength,"
            f" {PRIORITY_RANK[priority] if by_priority else 0} AS rank FROM (SELECT id, strength FROM entries e"
            f" WHERE owner_id = {owner_id} AND kind = '{kind}' AND priority = '{priority}' AND {LIVE}"
            f" AND trusted ORDER BY strength DESC LIMIT {limit})"
            for kind, priority in places
        )
        strongest = f"SELECT id FROM ({' UNION ALL '.join(each)} ORDER BY rank, strength DESC LIMIT {limit})"
        rows = await self._database.rows(f"{_CANDIDATES} WHERE e.id IN ({strongest})")
        return {row["id"]: self._candidate(row) for row in rows}

    def _candidate(self, row: Row, relevance: float = 0.0) -> Candidate:
        last = from_text(row["last_reinforced_at"])
        score = self._decay.score(row["kind"], row["reinforcement_count"], last, self._clock())
        return Candidate(
            id=row["id"],
            name=row["name"],
            kind=row["kind"],
            priority=row["priority"],
            content=row["content"],
            line=row["line"],
            scope=row["scope"],
            author=row["author"],
            valid_from=row["valid_from"],
            success_count=row["success_count"],
            failure_count=row["failure_count"],
            score=score,
            relevance=relevance,
        )

    def _line(self, memory: Candidate, layer: Layer) -> str:
        where = f", for {memory.scope}" if memory.scope else ""
        if layer is Layer.BASELINE:
            return f"- [{memory.kind}{where}] {_shown(memory.content)}"
        if layer is Layer.PROCEDURES:
            record = format_record(memory.success_count, memory.failure_count)
            return f"- [workflow {memory.name}, {record}] {_shown(memory.content)}"
        since = from_text(memory.valid_from).astimezone(self._zone)
        return f"- [{since:%Y-%m-%d}, {memory.kind} by {memory.author}{where}] {_shown(memory.content)}"


def _is_shown(memory: Candidate, lines: Collection[str]) -> bool:
    return bool(lines) and (memory.line or format_line(memory.content)) in lines


def ranked_memories(candidates: Iterable[Candidate], threshold: float) -> list[Candidate]:
    """Layer B: what passes the threshold, best first."""
    strong = (candidate for candidate in candidates if candidate.score >= threshold)
    return sorted(strong, key=lambda c: (c.relevance, c.score, c.id), reverse=True)


def ranked_workflows(workflows: Iterable[Candidate]) -> list[Candidate]:
    """Layer C: of the workflows that fit the task, those that have worked first."""
    best = max((workflow.relevance for workflow in workflows), default=0.0)
    fitting = [workflow for workflow in workflows if workflow.relevance >= FITTING_WORKFLOW * best]
    return sorted(fitting, key=lambda c: (c.success_count == 0, -c.relevance, c.id))[:MOST_WORKFLOWS]


def format_record(successes: int, failures: int) -> str:
    """How often a workflow has worked."""
    return f"worked {successes} of {successes + failures} times" if successes + failures else "not tried yet"


async def use_half_life(database: Database, days: float) -> None:
    """Have the store keep strengths in half-lives of `days`; they are computed anew when that has changed."""
    if await database.value("SELECT half_life_days FROM decay") != days:
        async with database.transaction() as connection:
            await connection.execute("UPDATE decay SET half_life_days = ?", (days,))


def _shown(content: str) -> str:
    """`content` in one line, cut where it is too long for a prompt."""
    line = " ".join(content.split())
    return line if len(line) <= LINE_CHARACTERS else f"{line[:LINE_CHARACTERS]}…"
