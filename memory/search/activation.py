"""Activation: which typed memories stand in a request without anybody asking (S4).

Layer A, the baseline: every policy, architecture and preference of at least high priority. Layer B, the context: what
fits the message at any age, ranked by relevance, then what is strong enough. Layer C: the workflows for the task.
Only what is trusted activates: what a foreign text may have brought in would speak in every later request. The layers
share one budget of tokens: A fills it first, then what of B fits the message, then C, then what of B is merely strong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING, Any

from memory.clock import from_text, to_text
from memory.ledger.page import format_line
from memory.search.formatting import NOTHING_IN_PROMPT, AlreadyInPrompt
from memory.search.ranking import by_features
from memory.search.search import MEMORIES, NOTHING, Found, key_of
from memory.store.entry import PRIORITY_RANK, TYPED_KINDS, Kind, Priority
from memory.store.entry_rows import ENTRY_ROWS, LIVE, entry_of
from memory.text.naming import wording

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

    from memory.clock import Clock, TimezoneLookup
    from memory.store.database import Database, Row
    from memory.store.decay import Decay
    from memory.store.entry import Entry

TokenCount = Callable[[str], int]
"""How many tokens a text is to the model that reads it."""

BASELINE_KINDS = (Kind.POLICY, Kind.ARCHITECTURE, Kind.PREFERENCE)
BASELINE_PRIORITIES = (Priority.CRITICAL, Priority.HIGH)
MAX_VITAL = 60
"""Vital memories in every prompt: of more the newest."""
UNASKED_SHARE = 3
"""The part of the tokens that the baseline leaves which what comes up unasked may take: a third."""
CHEAPEST = 6
"""Tokens that the shortest line costs: so many times fewer rules than the budget has are looked at."""
STRONGEST = 32
"""So many of the strongest memories layer B ranks, besides those that fit the message."""
MOST_WORKFLOWS = 3
"""Workflows of layer C (S4)."""
FITTING_WORKFLOW = 0.4
"""The part of the best workflow's relevance that another must have."""
FADED_RELEVANCE = 0.85
"""What the relevance of a faded memory counts by: of two that fit nearly as well the one that is in use comes first.

On the tune half of the labelled cases (most wanted first / nDCG@5 / kept): 70/84/94% with it, 66/83/94% without.
"""
LEAST_NEAR = 2.0
"""Deviations by which a memory that no word finds must be nearer in meaning than the owner's texts are as a rule.

On the tune half of the labelled cases (most wanted first / nDCG@5 / kept): by words alone 70/84/94%, with the features
of meaning 72/85/94%, with what is nearer by 2 76/89/97%, by 1.5 76/89/99%, with all that is near 76/90/99%.
"""
LINE_CHARACTERS = 500
"""How much of one memory is shown: all of what a capture may hold."""


_OWNER_ID = "(SELECT id FROM owners WHERE name = :owner)"


class Layer(StrEnum):
    """The layers of S4."""

    BASELINE = "A"
    CONTEXT = "B"
    PROCEDURES = "C"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory as ranking and prompt need it. relevance: as a part of the most relevant one's; 0 where it has none.

    line: the one that was written for it into MEMORY.md; turn: in which it was said. It is no Entry: some hundred are
    made for every message, and whole entries take a quarter longer. since: the day on the owner's clock.
    """

    id: int
    name: str
    kind: str
    priority: str
    content: str
    line: str | None
    turn: int | None
    scope: str | None
    author: str
    since: date
    made: date
    success_count: int
    failure_count: int
    score: float
    relevance: float = 0.0


@dataclass(frozen=True, slots=True)
class Pool:
    """What may activate: the rules that layer A may have room for, the strongest of the rest, what fits a message."""

    rules: list[Candidate]
    strong: list[Candidate]
    fitting: list[Candidate]


@dataclass(frozen=True, slots=True)
class PageLines:
    """Lines of MEMORY.md: those that a prompt hides, those written this week, and those of vital memories.

    Each vital one comes with whether it was written into the file. If it is not there any more, a person deleted it.
    """

    hidden: frozenset[str]
    fresh: frozenset[str]
    vital: tuple[tuple[str, bool], ...]


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

    def __init__(self, database: Database, decay: Decay, clock: Clock, zone_of: TimezoneLookup) -> None:
        self._database = database
        self._decay = decay
        self._clock = clock
        self._zone_of = zone_of

    async def pool(self, owner: str, tokens: int, lookup: Found = NOTHING) -> Pool:
        """Everything of an owner that may activate in at most `tokens`: with what was found for a message, if any."""
        rules = 1 + max(0, tokens) // CHEAPEST
        baseline = _strongest(product(BASELINE_KINDS, BASELINE_PRIORITIES), self._decay, rules, by_priority=True)
        places = product((kind for kind in TYPED_KINDS if kind != Kind.WORKFLOW), Priority)
        context = _strongest(places, self._decay, STRONGEST, "AND e.id NOT IN (SELECT id FROM baseline)")
        fitting = await self._fitting(lookup)
        rows = await self._database.rows(
            f"WITH baseline AS MATERIALIZED ({baseline}), context AS MATERIALIZED ({context}),"
            " fitting AS (SELECT id FROM entries WHERE id IN (SELECT value FROM json_each(:fitting)) AND trusted),"
            " pool AS (SELECT id FROM baseline UNION SELECT id FROM context UNION SELECT id FROM fitting)"
            " SELECT e.id, n.name, e.kind, e.priority, e.content, e.line, m.turn_id, e.scope, e.author, e.valid_from,"
            " e.created_at, e.success_count, e.failure_count, e.reinforcement_count, e.last_reinforced_at,"
            " e.id IN (SELECT id FROM baseline) AS is_rule, e.id IN (SELECT id FROM context) AS is_strong"
            " FROM pool JOIN entries e ON e.id = pool.id JOIN names n ON n.entry_id = e.id AND NOT n.is_alias"
            " LEFT JOIN messages m ON m.id = e.source_message_id",
            {"owner": owner, "fitting": json.dumps([*fitting])},  # the statement stays the same, and prepared
        )
        pool = Pool([], [], [])
        zone = self._zone_of(owner)
        for row in rows:
            candidate = self._candidate(row, fitting.get(row["id"], 0.0), zone)
            for part, is_in in (
                (pool.rules, row["is_rule"]),
                (pool.strong, row["is_strong"]),
                (pool.fitting, row["id"] in fitting),
            ):
                if is_in:
                    part.append(candidate)
        return pool

    def baseline(
        self, pool: Pool, tokens: int, count: TokenCount, already_in_prompt: AlreadyInPrompt = NOTHING_IN_PROMPT
    ) -> tuple[Activated, ...]:
        """Layer A in at most `tokens`: the highest priority first, of one priority the strongest.

        already_in_prompt: what stands in the same part of the prompt; what it says is not said again.
        """
        unseen = _said_once(pool.rules, already_in_prompt)
        ordered = sorted(unseen, key=lambda c: (PRIORITY_RANK[c.priority], -c.score, c.id))
        # what is a rule stays as it was written: a time in it would change with every reinforcement
        return self._filled(ordered, Layer.BASELINE, tokens, count)

    async def page_lines(self, owner: str, turns: Collection[int], today: datetime) -> PageLines:
        """Return what a prompt has to know of the lines of MEMORY.md that were written for memories.

        Args:
            turns: The turns of the conversation. What was captured of them it says itself.
            today: The beginning of the owner's day.
        """
        week = today - timedelta(days=today.weekday())
        rows = await self._database.rows(
            f"SELECT e.line, e.content, e.nature = 'vital' AND {LIVE} AND e.trusted AS is_vital,"
            " e.created_at >= :week AS is_fresh, coalesce(e.valid_until <= present(), 0) AS is_over,"
            # what the running turn has captured cites no message yet
            " e.author = 'capture' AND coalesce(m.turn_id IN (SELECT value FROM json_each(:turns)),"
            " e.created_at >= :today) AS is_visible"
            " FROM entries e LEFT JOIN messages m ON m.id = e.source_message_id"
            f" WHERE e.owner_id = {_OWNER_ID} AND (e.line IS NOT NULL OR e.nature = 'vital')"
            " AND e.superseded_by IS NULL AND e.deleted_at IS NULL ORDER BY e.id",
            {"owner": owner, "turns": json.dumps([*turns]), "today": to_text(today), "week": to_text(week)},
        )
        hidden = {row["line"] for row in rows if row["is_over"] or row["is_visible"]}
        return PageLines(
            frozenset(hidden - {row["line"] for row in rows if not (row["is_over"] or row["is_visible"])} - {None}),
            frozenset(row["line"] for row in rows if row["is_fresh"] and row["line"]),
            tuple(
                (row["line"] or format_line(_shown(row["content"])), row["line"] is not None)
                for row in rows
                if row["is_vital"]
            )[-MAX_VITAL:],
        )

    async def baseline_count(self, owner: str) -> int:
        """How many memories layer A would hold, had it room for all."""
        kinds, priorities = (", ".join(f"'{item}'" for item in some) for some in (BASELINE_KINDS, BASELINE_PRIORITIES))
        value = await self._database.value(
            f"SELECT count(*) FROM entries e WHERE owner_id = {_OWNER_ID} AND kind IN ({kinds})"
            f" AND priority IN ({priorities}) AND {LIVE} AND trusted",
            {"owner": owner},
        )
        return int(value)

    def unasked(
        self,
        pool: Pool,
        baseline: Collection[Activated],
        tokens: int,
        count: TokenCount,
        today: date,
        already_in_prompt: AlreadyInPrompt = NOTHING_IN_PROMPT,
    ) -> tuple[Activated, ...]:
        """Return the part of layer B that comes up unasked, in at most `tokens`: what is strong and was known before.

        It depends on no message, so it can stand in the stable part of a prompt: in the order of its ids. What was
        learned on the owner's day `today` is left out, or the prompt would change with each memory.
        """
        used = {activated_memory.id for activated_memory in baseline}
        rules = {_said(rule) for rule in pool.rules if rule.id in used}
        known = (c for c in (*pool.rules, *pool.strong) if c.id not in used and c.made < today)
        candidates = _said_once(known, already_in_prompt)
        strong = [replace(c, relevance=0.0) for c in candidates if c.kind != Kind.WORKFLOW and _said(c) not in rules]
        chosen = self._filled(ranked_memories(strong, self._decay.threshold), Layer.CONTEXT, tokens, count)
        return tuple(sorted(chosen, key=lambda memory: memory.id))

    def contextual(
        self,
        pool: Pool,
        baseline: Collection[Activated],
        tokens: int,
        count: TokenCount,
        already_in_prompt: AlreadyInPrompt = NOTHING_IN_PROMPT,
        *,
        unasked_since: date | None = None,
    ) -> tuple[Activated, ...]:
        """Return layers B and C for a message, in the `tokens` that layer A has left.

        Args:
            already_in_prompt: What else the request holds. What it says is not said again.
            unasked_since: What fits nothing and was learned before is left out: `unasked` has chosen from it.
        """
        used = {activated_memory.id for activated_memory in baseline}
        remaining = (candidate for candidate in (*pool.rules, *pool.strong) if candidate.id not in used)
        strongest = sorted(remaining, key=lambda c: (-c.score, c.id))[:STRONGEST]
        results = {activated_memory.id: activated_memory for activated_memory in (*strongest, *pool.fitting)}
        rules = {_said(rule) for rule in pool.rules if rule.id in used}
        unseen = _said_once((c for c in results.values() if c.id not in used), already_in_prompt)
        candidates = [candidate for candidate in unseen if _said(candidate) not in rules]
        memories = ranked_memories([c for c in candidates if c.kind != Kind.WORKFLOW], self._decay.threshold)
        workflows = ranked_workflows([c for c in candidates if c.kind == Kind.WORKFLOW])
        chosen: list[Activated] = []
        first = unasked_since
        # what is merely strong comes last: of many memories it would always fill the budget
        for layer, ordered in (
            (Layer.CONTEXT, [memory for memory in memories if memory.relevance]),
            (Layer.PROCEDURES, workflows),
            (Layer.CONTEXT, [m for m in memories if not m.relevance and (first is None or m.made >= first)]),
        ):
            chosen += self._filled(
                ordered, layer, tokens - sum(activated_memory.tokens for activated_memory in chosen), count
            )
        return tuple(chosen)

    async def _fitting(self, lookup: Found) -> dict[int, float]:
        """The typed memories that fit a message or a part of it that asks, by their ids, with their relevance."""
        relevance: dict[int, float] = {}
        for each in (lookup, *lookup.asked):
            for number, part in (await self._fitting_alone(each)).items():
                relevance[number] = max(part, relevance.get(number, 0.0))
        return relevance

    async def _fitting_alone(self, lookup: Found) -> dict[int, float]:
        """The same for one text: a part of the best one's score.

        They are ranked by what tells how well they answer, as passages are. One that no word finds fits where it is
        nearer in meaning than nearly all that its owner has.
        """
        hits = list(lookup.memories)
        few = sum(hit.kind == Kind.WORKFLOW for hit in hits) < MOST_WORKFLOWS
        if few and len(hits) == MEMORIES:  # other memories that fit have used up their places
            hits += lookup.workflows
        similarities = lookup.similarities
        near = (hit for hit in similarities.found if hit.kind in TYPED_KINDS)
        hits += [hit for hit in near if similarities.of[key_of(hit)].bare >= LEAST_NEAR]
        best = await by_features(lookup.message, hits, self._database, similarities)
        return {hit.id: score / best.scores[0] for hit, score in zip(best.hits, best.scores, strict=True)}

    def _filled(
        self, ordered: Sequence[Candidate], layer: Layer, tokens: int, count: TokenCount
    ) -> tuple[Activated, ...]:
        """As many as fit, in their order; one that is too long does not keep out the shorter ones after it."""
        chosen: list[Activated] = []
        for candidate in ordered:
            if tokens < CHEAPEST:
                break
            line = self._line(candidate, layer)
            cost = count(line) + 1  # the line break
            if cost <= tokens:
                tokens -= cost
                chosen.append(Activated(candidate.id, layer, candidate.score, candidate.relevance, line, cost))
        return tuple(chosen)

    def _candidate(self, row: Row, relevance: float, zone: ZoneInfo) -> Candidate:
        last = from_text(row["last_reinforced_at"])
        score = self._decay.score(row["kind"], row["reinforcement_count"], last, self._clock())
        return Candidate(
            id=row["id"],
            name=row["name"],
            kind=row["kind"],
            priority=row["priority"],
            content=row["content"],
            line=row["line"],
            turn=row["turn_id"],
            scope=row["scope"],
            author=row["author"],
            since=from_text(row["valid_from"]).astimezone(zone).date(),
            made=from_text(row["created_at"]).astimezone(zone).date(),
            success_count=row["success_count"],
            failure_count=row["failure_count"],
            score=score,
            relevance=relevance,
        )

    def _line(self, memory: Candidate, layer: Layer) -> str:
        where = f", for {memory.scope}" if memory.scope else ""
        if layer is Layer.BASELINE:
            return f"- [{memory.kind}, {memory.since:%Y-%m-%d}{where}] {_shown(memory.content)}"
        if layer is Layer.PROCEDURES:
            record = format_record(memory.success_count, memory.failure_count)
            return f"- [workflow {memory.name}, {record}] {_shown(memory.content)}"
        return f"- [{memory.since:%Y-%m-%d}, {memory.kind} by {memory.author}{where}] {_shown(memory.content)}"


def _strongest(
    places: Iterable[tuple[str, str]], decay: Decay, limit: int, also: str = "", *, by_priority: bool = False
) -> str:
    """Selects the ids of the strongest memories of the kinds and priorities in `places`, as the index has them.

    also: a further condition. by_priority: the higher priority before the stronger.
    """
    rows = ", ".join(
        f"('{kind}', '{priority}', {math.log2(decay.weight(kind))}, {PRIORITY_RANK[priority] if by_priority else 0})"
        for kind, priority in places
    )
    # one walk for each place, told by a table: a SELECT for each takes SQLite a millisecond to begin with
    return (
        f"SELECT s.id FROM (WITH places(kind, priority, weight, rank) AS (VALUES {rows}) SELECT * FROM places) p"
        f" CROSS JOIN entries s ON s.id IN (SELECT e.id FROM entries e WHERE e.owner_id = {_OWNER_ID}"
        f" AND e.kind = p.kind AND e.priority = p.priority AND {LIVE} AND e.trusted {also}"
        f" ORDER BY e.strength DESC LIMIT {limit}) ORDER BY p.rank, p.weight + s.strength DESC LIMIT {limit}"
    )


def _said_once(candidates: Iterable[Candidate], already_in_prompt: AlreadyInPrompt) -> list[Candidate]:
    """The candidates that say what is not shown already; of several with the same words the one that counts most."""
    best: dict[tuple[str, str | None], Candidate] = {}
    for candidate in candidates:
        same_said = best.get(_said(candidate))
        if same_said is None or _weight(candidate) > _weight(same_said):
            best[_said(candidate)] = candidate
    return [
        candidate
        for candidate in best.values()
        if not already_in_prompt.says(candidate.content, candidate.line, candidate.turn)
    ]


def _said(candidate: Candidate) -> tuple[str, str | None]:
    return wording(candidate.content), candidate.scope


def _weight(candidate: Candidate) -> tuple[int, float, float]:
    return -PRIORITY_RANK[candidate.priority], candidate.relevance, candidate.score


def ranked_memories(candidates: Iterable[Candidate], threshold: float) -> list[Candidate]:
    """Return layer B, best first: what fits at any age, and of the rest what is strong enough."""
    chosen = (candidate for candidate in candidates if candidate.relevance or candidate.score >= threshold)

    def rank(candidate: Candidate) -> tuple[float, float, int]:
        counts = 1.0 if candidate.score >= threshold else FADED_RELEVANCE
        return candidate.relevance * counts, candidate.score, candidate.id

    return sorted(chosen, key=rank, reverse=True)


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
        await database.write("UPDATE decay SET half_life_days = ?", (days,))


def _shown(content: str) -> str:
    """`content` in one line, cut where it is too long for a prompt."""
    line = " ".join(content.split())
    return line if len(line) <= LINE_CHARACTERS else f"{line[:LINE_CHARACTERS]}…"


@dataclass(frozen=True, slots=True)
class ActivationReason:
    """Why a memory stood in a request, and what it cost there in tokens. entry None: it is gone by now."""

    entry: Entry | None
    layer: Layer
    score: float
    relevance: float
    tokens: int


def recorded(
    activated: Sequence[Activated], recalled: Sequence[int] = (), recalled_notes: Sequence[int] = ()
) -> str | None:
    """Return the JSON that a session keeps of its last turn, or None if the turn used no memory.

    Args:
        recalled: The messages that its request quoted.
        recalled_notes: The entries that its request quoted or its tools found.
    """
    rows = [
        [memory.id, memory.layer, round(memory.score, 3), round(memory.relevance, 3), memory.tokens]
        for memory in activated
    ]
    notes = [entry for entry in recalled_notes if entry not in {memory.id for memory in activated}]
    return json.dumps([rows, [*recalled], notes]) if rows or recalled or notes else None


class ActivationLog:
    """The last turn's activation of each session."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def last(self, session_id: str) -> list[ActivationReason]:
        """What activated for the last turn of a session, in the order in which it stood there."""
        rows, _messages, _notes = await self._last(session_id)
        entries = await self._entries([row[0] for row in rows])
        return [ActivationReason(entries.get(row[0]), Layer(row[1]), row[2], row[3], row[4]) for row in rows]

    async def recalled(self, session_id: str) -> list[tuple[datetime, str]]:
        """When the messages were said that the request of the last turn quoted, and their words; the best first."""
        _memories, messages, _notes = await self._last(session_id)
        rows = await self._database.rows(
            "SELECT s.* FROM json_each(?) k JOIN spoken s ON s.id = k.value ORDER BY k.key", (json.dumps(messages),)
        )
        return [(from_text(row["created_at"]), row["content"]) for row in rows]

    async def recalled_notes(self, session_id: str) -> list[Entry]:
        """Return the entries that the request of the last turn quoted or that its tools found, the best first."""
        _memories, _messages, notes = await self._last(session_id)
        entries = await self._entries(notes)
        return [entries[note] for note in notes if note in entries]

    async def _entries(self, ids: Sequence[int]) -> dict[int, Entry]:
        listed = ", ".join(str(int(entry_id)) for entry_id in ids)
        rows = await self._database.rows(f"{ENTRY_ROWS} WHERE e.id IN ({listed}) AND e.deleted_at IS NULL")
        return {row["id"]: entry_of(row) for row in rows}

    async def _last(self, session_id: str) -> tuple[list[list[Any]], list[int], list[int]]:
        database = await self._database.private.database_of(session_id)
        value = await database.value("SELECT activated FROM sessions WHERE id = ?", (session_id,))
        memories, messages, *rest = json.loads(value) if value else ([], [])
        return memories, messages, rest[0] if rest else []
