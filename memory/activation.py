"""Activation: which typed memories stand in a request without anybody asking (S4).

Layer A, the baseline: every trusted policy, architecture and preference of at least high priority. Layer B, the
context: what is strong enough, ranked by strength and relevance. Layer C: the workflows for the task at hand. They
share one budget of tokens: A fills it first, then B, then C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING

from memory.entry import TYPED_KINDS, Entry, Kind, Priority
from memory.entry_rows import ENTRY_ROWS, entry_of
from memory.search import Filter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from memory.clock import Clock
    from memory.database import Database
    from memory.search import Search
    from memory.strength import Decay

TokenCount = Callable[[str], int]
"""How many tokens a text is to the model that reads it."""

BASELINE_KINDS = (Kind.POLICY, Kind.ARCHITECTURE, Kind.PREFERENCE)
BASELINE_PRIORITIES = (Priority.CRITICAL, Priority.HIGH)
MOST_BASELINE = 200
"""Baseline memories that are looked at: more never fit into a prompt."""
RELEVANT_CANDIDATES = 60
STRONGEST_CANDIDATES = 60
"""Memories that layer B ranks: those that fit the message best, and the strongest ones."""
MOST_WORKFLOWS = 3
"""Workflows of layer C (S4)."""
FITTING_WORKFLOW = 0.4
"""The part of the best workflow's relevance that another must have."""
LINE_CHARACTERS = 400
"""How much of one memory is shown."""

_LIVE = "superseded_by IS NULL AND archived_at IS NULL AND deleted_at IS NULL"
_ORDER = {priority: rank for rank, priority in enumerate(Priority)}


class Layer(StrEnum):
    """The layers of S4."""

    BASELINE = "A"
    CONTEXT = "B"
    PROCEDURES = "C"


@dataclass(frozen=True, slots=True)
class Activated:
    """A memory in a request, with what it cost there. relevance: of 1 to the message; the best one has 1."""

    entry: Entry
    layer: Layer
    score: float
    relevance: float
    line: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Baseline:
    """Layer A. waiting: how many of its memories the budget had no room for."""

    memories: tuple[Activated, ...] = ()
    waiting: int = 0


class Activation:
    """Chooses what activates. It reads the store and asks no model."""

    def __init__(self, database: Database, search: Search, decay: Decay, clock: Clock, zone: ZoneInfo) -> None:
        self._database = database
        self._search = search
        self._decay = decay
        self._clock = clock
        self._zone = zone

    async def baseline(self, owner: str, tokens: int, count: TokenCount) -> Baseline:
        """Layer A in at most `tokens`: the highest priority first, of one priority the strongest."""
        owner_id = await self._owner_id(owner)
        if owner_id is None or tokens <= 0:
            return Baseline()
        places = list(product(BASELINE_KINDS, BASELINE_PRIORITIES))
        found = await self._strongest(owner_id, places, MOST_BASELINE, trusted=True)
        now = self._clock()
        ranked = sorted(found, key=lambda e: (_ORDER[Priority(e.priority)], -self._decay.score(e, now), e.id))
        # what is a rule stays as it was written: a time in it would change with every reinforcement
        lines = [(entry, 0.0, f"- [{entry.kind}] {_shown(entry.content)}") for entry in ranked]
        chosen = self._filled(lines, Layer.BASELINE, tokens, count, now)
        return Baseline(chosen, len(ranked) - len(chosen))

    async def contextual(
        self, owner: str, message: str, baseline: Collection[Activated], tokens: int, count: TokenCount
    ) -> tuple[Activated, ...]:
        """Layers B and C for a message, in the `tokens` that layer A has left."""
        owner_id = await self._owner_id(owner)
        if owner_id is None or tokens <= 0:
            return ()
        taken = {one.entry.id for one in baseline}
        relevance = await self._relevance(owner, message)
        ids = [entry_id for entry_id in relevance if entry_id not in taken]
        fitting = await self._entries(ids)
        others = [kind for kind in TYPED_KINDS if kind != Kind.WORKFLOW]
        strongest = await self._strongest(owner_id, list(product(others, Priority)), STRONGEST_CANDIDATES)
        now = self._clock()
        candidates = {e.id: e for e in (*fitting, *strongest) if e.id not in taken and e.kind != Kind.WORKFLOW}
        ranked = ranked_memories(candidates.values(), relevance, self._decay, now)
        lines = [(entry, relevance.get(entry.id, 0.0), self._line(entry)) for entry in ranked]
        context = self._filled(lines, Layer.CONTEXT, tokens, count, now)
        left = tokens - sum(one.tokens for one in context)
        workflows = ranked_workflows([e for e in fitting if e.kind == Kind.WORKFLOW], relevance)
        lines = [(entry, relevance[entry.id], workflow_line(entry)) for entry in workflows]
        return (*context, *self._filled(lines, Layer.PROCEDURES, left, count, now))

    def _filled(
        self,
        lines: Sequence[tuple[Entry, float, str]],
        layer: Layer,
        tokens: int,
        count: TokenCount,
        now: datetime,
    ) -> tuple[Activated, ...]:
        """As many of the lines as fit; one that is too long does not keep out the shorter ones after it."""
        chosen = []
        for entry, relevance, line in lines:
            cost = count(line) + 1  # the line break
            if cost <= tokens:
                tokens -= cost
                chosen.append(Activated(entry, layer, self._decay.score(entry, now), relevance, line, cost))
        return tuple(chosen)

    async def _owner_id(self, owner: str) -> int | None:
        found = await self._database.value("SELECT id FROM owners WHERE name = ?", (owner,))
        return None if found is None else int(found)

    async def _relevance(self, owner: str, message: str) -> dict[int, float]:
        """The entries that fit a message, best first, each with its relevance as a part of the best one's."""
        only = Filter(kinds=TYPED_KINDS, archived=False, superseded=False)
        hits = await self._search.find(message, owner, only=only, limit=RELEVANT_CANDIDATES)
        return {hit.id: hit.score / hits[0].score for hit in hits}

    async def _strongest(
        self, owner_id: int, places: Iterable[tuple[str, str]], limit: int, *, trusted: bool = False
    ) -> list[Entry]:
        """The strongest memories of each kind and priority in `places`: the index has them in this order."""
        each = (
            f"SELECT id FROM (SELECT id FROM entries WHERE owner_id = {owner_id} AND kind = '{kind}'"
            f" AND priority = '{priority}' AND {_LIVE}{' AND trusted' if trusted else ''}"
            f" ORDER BY strength DESC, id DESC LIMIT {limit})"
            for kind, priority in places
        )
        rows = await self._database.rows(" UNION ALL ".join(each))
        return await self._entries([row[0] for row in rows])

    async def _entries(self, ids: Sequence[int]) -> list[Entry]:
        wanted = ", ".join(map(str, ids))
        return [entry_of(row) for row in await self._database.rows(f"{ENTRY_ROWS} WHERE e.id IN ({wanted})")]

    def _line(self, entry: Entry) -> str:
        since = entry.valid_from.astimezone(self._zone)
        return f"- [{since:%Y-%m-%d}, {entry.kind} by {entry.author}] {_shown(entry.content)}"


def ranked_memories(entries: Iterable[Entry], relevance: dict[int, float], decay: Decay, now: datetime) -> list[Entry]:
    """Layer B: what passes the threshold, best first."""
    scores = {entry.id: decay.score(entry, now) for entry in entries}
    strong = [entry for entry in entries if scores[entry.id] >= decay.threshold]
    return sorted(strong, key=lambda e: (relevance.get(e.id, 0.0), scores[e.id], e.id), reverse=True)


def ranked_workflows(workflows: Iterable[Entry], relevance: dict[int, float]) -> list[Entry]:
    """Layer C: of the workflows that fit the task, those that have worked first."""
    ranked = sorted(workflows, key=lambda e: (-relevance[e.id], e.id))
    fitting = [e for e in ranked if relevance[e.id] >= FITTING_WORKFLOW * relevance[ranked[0].id]]
    return sorted(fitting, key=lambda e: (e.success_count == 0, -relevance[e.id], e.id))[:MOST_WORKFLOWS]


def workflow_line(entry: Entry) -> str:
    """A workflow with how often it has worked."""
    worked = f"worked {entry.success_count} of {entry.success_count + entry.failure_count} times"
    record = worked if entry.success_count + entry.failure_count else "not tried yet"
    return f"- [workflow {entry.name}, {record}] {_shown(entry.content)}"


def _shown(content: str) -> str:
    """`content` in one line, cut where it is too long for a prompt."""
    line = " ".join(content.split())
    return line if len(line) <= LINE_CHARACTERS else f"{line[:LINE_CHARACTERS]}…"
