"""Activation: selects the typed memories that are put into a prompt without a search (S4).

Layer A, the baseline, holds every policy, architecture and preference of high or critical priority. Layer B, the
context, holds memories that match the message, ranked by relevance, then memories that are strong enough. Layer C holds
workflows for the task. Only trusted memories activate, since foreign text would otherwise enter every later request.
The layers share one token budget, filled in this order: A, matches of B, C, strong memories of B.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo

from memory.clock import Clock, TimezoneLookup, from_text, to_text
from memory.ledger.page import format_line
from memory.search.activation_candidates import (
    MAX_WORKFLOWS,
    ActivatedMemory,
    Candidate,
    Layer,
    PageLines,
    Pool,
    drop_repetitions,
    format_record,
    make_candidate_key,
    rank_memories,
    rank_workflows,
)
from memory.search.formatting import NOTHING_IN_PROMPT, AlreadyInPrompt
from memory.search.ranking import rank_by_features
from memory.search.search import MEMORIES
from memory.search.types import NOTHING, MessageHits, make_hit_key
from memory.store.database import Database, Row
from memory.store.decay import Decay
from memory.store.entry import PRIORITY_RANK, TYPED_KINDS, Kind, Priority
from memory.store.entry_rows import LIVE, sql_list

TokenCount = Callable[[str], int]
"""Counts the tokens of a text for the model that reads it."""

BASELINE_KINDS = (Kind.POLICY, Kind.ARCHITECTURE, Kind.PREFERENCE)
BASELINE_PRIORITIES = (Priority.CRITICAL, Priority.HIGH)
MAX_VITAL = 60
"""Vital memories in every prompt. If there are more, the newest are used."""
UNASKED_DIVISOR = 3
"""Strong memories of layer B may use a third of the tokens that the baseline leaves."""
MIN_LINE_TOKENS = 6
"""Tokens of the shortest possible line. It bounds how many rules can fit the budget and have to be read."""
MAX_STRONG_MEMORIES = 32
"""Number of the strongest memories that layer B ranks, in addition to those that match the message."""
MIN_NEARNESS_DEVIATIONS = 2.0
"""Minimum similarity of a memory without matching words, in standard deviations above the mean of the owner's texts.

On the tune half of the labelled cases (most wanted first / nDCG@5 / kept): 70/84/94% by words alone, 72/85/94% with
the features of meaning, 76/89/97% with memories above 2 deviations, 76/89/99% above 1.5, 76/90/99% without a minimum.
"""
MAX_LINE_CHARS = 500
"""Characters of one memory in the prompt. A whole capture fits."""


_OWNER_ID = "(SELECT id FROM owners WHERE name = :owner)"


class Activation:
    """Selects the memories to activate from the store, without a model."""

    def __init__(self, database: Database, decay: Decay, clock: Clock, zone_of: TimezoneLookup) -> None:
        self._database = database
        self._decay = decay
        self._clock = clock
        self._zone_of = zone_of

    async def read_pool(self, owner: str, tokens: int, lookup: MessageHits = NOTHING) -> Pool:
        """Read the candidates of an owner for a budget of `tokens`. `lookup` holds the hits for the message, if any."""
        rules = 1 + max(0, tokens) // MIN_LINE_TOKENS
        baseline = _build_strongest_query(
            product(BASELINE_KINDS, BASELINE_PRIORITIES), self._decay, rules, by_priority=True
        )
        places = product((kind for kind in TYPED_KINDS if kind != Kind.WORKFLOW), Priority)
        context = _build_strongest_query(
            places, self._decay, MAX_STRONG_MEMORIES, "AND e.id NOT IN (SELECT id FROM baseline)"
        )
        fitting = await self._find_fitting(lookup)
        rows = await self._database.rows(
            f"WITH baseline AS MATERIALIZED ({baseline}), context AS MATERIALIZED ({context}),"
            " fitting AS (SELECT id FROM entries WHERE id IN (SELECT value FROM json_each(:fitting)) AND trusted),"
            " pool AS (SELECT id FROM baseline UNION SELECT id FROM context UNION SELECT id FROM fitting)"
            " SELECT e.id, n.name, e.kind, e.priority, e.content, e.line, m.turn_id, e.scope, e.author, e.valid_from,"
            " e.created_at, e.success_count, e.failure_count, e.reinforcement_count, e.last_reinforced_at,"
            " e.id IN (SELECT id FROM baseline) AS is_rule, e.id IN (SELECT id FROM context) AS is_strong"
            " FROM pool JOIN entries e ON e.id = pool.id JOIN names n ON n.entry_id = e.id AND NOT n.is_alias"
            " LEFT JOIN messages m ON m.id = e.source_message_id",
            {"owner": owner, "fitting": json.dumps([*fitting])},  # JSON keeps the SQL constant and prepared.
        )
        pool = Pool([], [], [])
        zone = self._zone_of(owner)
        for row in rows:
            candidate = self._build_candidate(row, fitting.get(row["id"], 0.0), zone)
            for part, is_in in (
                (pool.rules, row["is_rule"]),
                (pool.strong, row["is_strong"]),
                (pool.fitting, row["id"] in fitting),
            ):
                if is_in:
                    part.append(candidate)
        return pool

    def select_baseline(
        self, pool: Pool, tokens: int, count: TokenCount, already_in_prompt: AlreadyInPrompt = NOTHING_IN_PROMPT
    ) -> tuple[ActivatedMemory, ...]:
        """Return layer A in at most `tokens`, sorted by priority, then by strength.

        Args:
            already_in_prompt: The contents of the same part of the prompt. They are not repeated.
        """
        unseen = drop_repetitions(pool.rules, already_in_prompt)
        ordered = sorted(unseen, key=lambda c: (PRIORITY_RANK[c.priority], -c.score, c.id))
        return self._fill(ordered, Layer.BASELINE, tokens, count)

    async def read_page_lines(self, owner: str, turns: Collection[int], today: datetime) -> PageLines:
        """Return the lines of MEMORY.md to hide, to treat as new, or to always show.

        Args:
            turns: The turns of the conversation. Captures from them are hidden, since the conversation contains them.
            today: The start of the owner's day.
        """
        week = today - timedelta(days=today.weekday())
        rows = await self._database.rows(
            f"SELECT e.line, e.content, e.nature = 'vital' AND {LIVE} AND e.trusted AS is_vital,"
            " e.created_at >= :week AS is_fresh, coalesce(e.valid_until <= present(), 0) AS is_over,"
            # Captures of the running turn cite no message yet.
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
                (row["line"] or format_line(_to_single_line(row["content"])), row["line"] is not None)
                for row in rows
                if row["is_vital"]
            )[-MAX_VITAL:],
        )

    async def count_baseline(self, owner: str) -> int:
        """Return the number of memories in layer A without a token limit."""
        value = await self._database.value(
            f"SELECT count(*) FROM entries e WHERE owner_id = {_OWNER_ID} AND kind IN ({sql_list(BASELINE_KINDS)})"
            f" AND priority IN ({sql_list(BASELINE_PRIORITIES)}) AND {LIVE} AND trusted",
            {"owner": owner},
        )
        return int(value)

    def select_unasked(
        self,
        pool: Pool,
        baseline: Collection[ActivatedMemory],
        tokens: int,
        count: TokenCount,
        today: date,
        already_in_prompt: AlreadyInPrompt = NOTHING_IN_PROMPT,
    ) -> tuple[ActivatedMemory, ...]:
        """Return the strong memories of layer B in at most `tokens`, sorted by id.

        They don't depend on the message, so they go into the stable part of the prompt. Memories that were learned on
        the owner's day `today` are left out, so that the prompt doesn't change with each new memory.
        """
        used = {activated_memory.id for activated_memory in baseline}
        rules = {make_candidate_key(rule) for rule in pool.rules if rule.id in used}
        known = (c for c in (*pool.rules, *pool.strong) if c.id not in used and c.made < today)
        candidates = drop_repetitions(known, already_in_prompt)
        strong = [
            replace(c, relevance=0.0)
            for c in candidates
            if c.kind != Kind.WORKFLOW and make_candidate_key(c) not in rules
        ]
        chosen = self._fill(rank_memories(strong, self._decay.threshold), Layer.CONTEXT, tokens, count)
        return tuple(sorted(chosen, key=lambda memory: memory.id))

    def select_contextual(
        self,
        pool: Pool,
        baseline: Collection[ActivatedMemory],
        tokens: int,
        count: TokenCount,
        already_in_prompt: AlreadyInPrompt = NOTHING_IN_PROMPT,
        *,
        unasked_since: date | None = None,
    ) -> tuple[ActivatedMemory, ...]:
        """Return layers B and C for a message, in the `tokens` that layer A has left.

        Args:
            already_in_prompt: The other contents of the request. They are not repeated.
            unasked_since: Leave out memories that don't match the message and were learned before this day, since
                `select_unasked` has selected from them.
        """
        used = {activated_memory.id for activated_memory in baseline}
        remaining = (candidate for candidate in (*pool.rules, *pool.strong) if candidate.id not in used)
        strongest = sorted(remaining, key=lambda c: (-c.score, c.id))[:MAX_STRONG_MEMORIES]
        results = {activated_memory.id: activated_memory for activated_memory in (*strongest, *pool.fitting)}
        rules = {make_candidate_key(rule) for rule in pool.rules if rule.id in used}
        unseen = drop_repetitions((c for c in results.values() if c.id not in used), already_in_prompt)
        candidates = [candidate for candidate in unseen if make_candidate_key(candidate) not in rules]
        memories = rank_memories([c for c in candidates if c.kind != Kind.WORKFLOW], self._decay.threshold)
        workflows = rank_workflows([c for c in candidates if c.kind == Kind.WORKFLOW])
        chosen: list[ActivatedMemory] = []
        first = unasked_since
        # Strong memories without a match come last. Otherwise they would always fill the budget.
        for layer, ordered in (
            (Layer.CONTEXT, [memory for memory in memories if memory.relevance]),
            (Layer.PROCEDURES, workflows),
            (Layer.CONTEXT, [m for m in memories if not m.relevance and (first is None or m.made >= first)]),
        ):
            chosen += self._fill(
                ordered, layer, tokens - sum(activated_memory.tokens for activated_memory in chosen), count
            )
        return tuple(chosen)

    async def _find_fitting(self, lookup: MessageHits) -> dict[int, float]:
        """Return the relevance of each typed memory that matches the message or one of its questions, by id."""
        relevance: dict[int, float] = {}
        for each in (lookup, *lookup.asked):
            for number, part in (await self._find_fitting_one(each)).items():
                relevance[number] = max(part, relevance.get(number, 0.0))
        return relevance

    async def _find_fitting_one(self, lookup: MessageHits) -> dict[int, float]:
        """Return the relevance for a single text, as a share of the best score.

        The ranking uses the same features as for passages. A memory without matching words counts if its meaning is
        nearer than MIN_NEARNESS_DEVIATIONS.
        """
        hits = list(lookup.memories)
        few = sum(hit.kind == Kind.WORKFLOW for hit in hits) < MAX_WORKFLOWS
        if few and len(hits) == MEMORIES:  # Other memories may have displaced workflows.
            hits += lookup.workflows
        similarities = lookup.similarities
        near = (hit for hit in similarities.found if hit.kind in TYPED_KINDS)
        hits += [hit for hit in near if similarities.by_key[make_hit_key(hit)].bare >= MIN_NEARNESS_DEVIATIONS]
        best = await rank_by_features(lookup.message, hits, self._database, similarities)
        return {hit.id: score / best.scores[0] for hit, score in zip(best.hits, best.scores, strict=True)}

    def _fill(
        self, ordered: Sequence[Candidate], layer: Layer, tokens: int, count: TokenCount
    ) -> tuple[ActivatedMemory, ...]:
        """Take candidates in their order while they fit. Skip those that are too long."""
        chosen: list[ActivatedMemory] = []
        for candidate in ordered:
            if tokens < MIN_LINE_TOKENS:
                break
            line = self._format_line(candidate, layer)
            cost = count(line) + 1  # Plus the line break.
            if cost <= tokens:
                tokens -= cost
                chosen.append(ActivatedMemory(candidate.id, layer, candidate.score, candidate.relevance, line, cost))
        return tuple(chosen)

    def _build_candidate(self, row: Row, relevance: float, zone: ZoneInfo) -> Candidate:
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

    def _format_line(self, memory: Candidate, layer: Layer) -> str:
        where = f", for {memory.scope}" if memory.scope else ""
        if layer is Layer.BASELINE:
            return f"- [{memory.kind}, {memory.since:%Y-%m-%d}{where}] {_to_single_line(memory.content)}"
        if layer is Layer.PROCEDURES:
            record = format_record(memory.success_count, memory.failure_count)
            return f"- [workflow {memory.name}, {record}] {_to_single_line(memory.content)}"
        return f"- [{memory.since:%Y-%m-%d}, {memory.kind} by {memory.author}{where}] {_to_single_line(memory.content)}"


def _build_strongest_query(
    places: Iterable[tuple[str, str]], decay: Decay, limit: int, also: str = "", *, by_priority: bool = False
) -> str:
    """Return SQL that selects the ids of the strongest memories of each kind and priority in `places`.

    Args:
        also: An additional SQL condition.
        by_priority: Sort by priority before strength.
    """
    ranks = PRIORITY_RANK if by_priority else dict.fromkeys(PRIORITY_RANK, 0)
    rows = ", ".join(
        f"('{kind}', '{priority}', {math.log2(decay.get_weight(kind))}, {ranks[priority]})" for kind, priority in places
    )
    # One index scan per row of a VALUES table. Separate SELECTs would take SQLite a millisecond more to prepare.
    return (
        f"SELECT s.id FROM (WITH places(kind, priority, weight, rank) AS (VALUES {rows}) SELECT * FROM places) p"
        f" CROSS JOIN entries s ON s.id IN (SELECT e.id FROM entries e WHERE e.owner_id = {_OWNER_ID}"
        f" AND e.kind = p.kind AND e.priority = p.priority AND {LIVE} AND e.trusted {also}"
        f" ORDER BY e.strength DESC LIMIT {limit}) ORDER BY p.rank, p.weight + s.strength DESC LIMIT {limit}"
    )


async def set_half_life(database: Database, days: float) -> None:
    """Set the half-life of strengths to `days`. The store recomputes them if it has changed."""
    if await database.value("SELECT half_life_days FROM decay") != days:
        await database.write("UPDATE decay SET half_life_days = ?", (days,))


def _to_single_line(content: str) -> str:
    line = " ".join(content.split())
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}…"
