"""Ranking quality of activation layer B on labelled cases, and latency of search and activation in large memories.

With --embedder the ranking also uses the local embedding model. The latencies are without it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import statistics
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiosqlite

from benchmarks.embedding import create_local_embedder, embed_missing
from benchmarks.search_scale import generate_query, generate_text
from memory.clock import to_text
from memory.ledger.entries import EntryStore
from memory.search.activation_candidates import Layer
from memory.search.ranking import Ranker
from memory.search.search import Search
from memory.store.database import Database
from memory.store.entry import TYPED_KINDS, Kind, NewEntry, get_default_priority
from memory.store.index import rebuilding
from memory.text.tokens import TokenCounter
from tests.support.activating import ActivationBench
from tests.support.talk import create_ledger

CASES = Path(__file__).parent.parent / "tests" / "sets" / "activation_cases.json"
NOW = datetime(2026, 2, 7, 12, 15, tzinfo=UTC)
BUDGET_PER_CASE = 200
"""Token budget for the memories of one case. About half of them fit."""
BUDGET = 800
MESSAGES = 200


@dataclass(frozen=True, slots=True)
class Case:
    """A message, an owner's memories with age in days and reinforcement count, and the wanted ones, best first."""

    id: str
    half: str
    situation: str
    message: str
    memories: tuple[tuple[NewEntry, float, int], ...]
    wanted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Ranking figures.

    Attributes:
        first: share of cases with the best memory on top.
        ndcg: nDCG over the first five places.
        kept: share of the wanted memories that fit into BUDGET_PER_CASE tokens.
    """

    cases: int
    first: float
    ndcg: float
    kept: float

    def __str__(self) -> str:
        return f"{self.cases:3} cases: first {self.first:4.0%}, nDCG@5 {self.ndcg:4.0%}, kept {self.kept:4.0%}"


def load_cases() -> list[Case]:
    """Load the labelled cases."""
    read = json.loads(CASES.read_text(encoding="utf-8"))
    cases = []
    for case in read["cases"]:
        memories: list[tuple[NewEntry, float, int]] = []
        for memory in (*read["pools"][case["pool"]], *case.get("memories", ())):
            aged = memory | case.get("set", {}).get(memory["name"], {})
            # The labelled names would give the answers away to the search
            new = NewEntry(aged["content"], name=f"m{len(memories)}", kind=Kind(aged["kind"]), topic=memory["name"])
            memories.append((new, aged["days"], aged["count"]))
        cases.append(
            Case(case["id"], case["half"], case["situation"], case["message"], tuple(memories), tuple(case["wanted"]))
        )
    return cases


async def store_cases(database: Database, cases: list[Case]) -> None:
    """Store each case under a separate owner, with memories of the given ages."""
    entries = EntryStore(database, create_ledger(database, lambda: NOW))
    for case in cases:
        for new, days, count in case.memories:
            added = await entries.add(case.id, new)
            async with database.transaction() as connection:
                await connection.execute(
                    "UPDATE entries SET reinforcement_count = ?, last_reinforced_at = ? WHERE id = ?",
                    (count, to_text(NOW - timedelta(days=days)), added.id),
                )


async def rank(activation: ActivationBench, case: Case, tokens: int) -> list[str]:
    """Return the labels of the memories that layer B activates for a case, in order."""
    found = await activation.select_contextual(case.id, case.message, (), tokens, TokenCounter().count)
    labels = {new.content: new.topic for new, _, _ in case.memories}
    lines = [one.line for one in found if one.layer is Layer.CONTEXT]
    return [labels[line.partition("] ")[2]] for line in lines]


async def compute_figures(activation: ActivationBench, cases: list[Case]) -> Figures:
    """Compute the figures over cases."""
    first, ndcg, kept, wanted = 0.0, 0.0, 0, 0
    for case in cases:
        order = await rank(activation, case, 10_000)
        held = set(await rank(activation, case, BUDGET_PER_CASE))
        first += order[:1] == [case.wanted[0]]
        ndcg += _compute_ndcg(order[:5], case.wanted)
        kept += len(held.intersection(case.wanted))
        wanted += len(case.wanted)
    return Figures(len(cases), first / len(cases), ndcg / len(cases), kept / wanted)


def _compute_ndcg(order: list[str], wanted: tuple[str, ...]) -> float:
    gains = {name: len(wanted) - place for place, name in enumerate(wanted)}
    best = sum(gain / math.log2(place + 2) for place, gain in enumerate(sorted(gains.values(), reverse=True)[:5]))
    return sum(gains.get(name, 0) / math.log2(place + 2) for place, name in enumerate(order)) / best


async def main() -> None:
    """Print the figures of the ranking, then the times for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000], help="memories of one owner")
    parser.add_argument("--embedder", action="store_true", help="compare meanings by the local embedding model")
    arguments = parser.parse_args()
    sizes = sorted(arguments.sizes)
    with tempfile.TemporaryDirectory() as folder:
        await _rank(Path(folder) / "cases.db", embedder=arguments.embedder)
        for others in (0, 4):
            await _time(Path(folder) / f"times-{others}.db", sizes, others)


async def _rank(path: Path, *, embedder: bool) -> None:
    database = await Database.open(path)
    models = create_local_embedder() if embedder else None
    try:
        cases = load_cases()
        await store_cases(database, cases)
        vector_search = await embed_missing(database, Search(database), models) if models is not None else None
        activation = ActivationBench.create(database, lambda: NOW, ranker=Ranker(database, vector_search))
        for half in ("tune", "holdout"):
            print(f"{half:8} {await compute_figures(activation, [case for case in cases if case.half == half])}")
        for situation in sorted({case.situation for case in cases}):
            chosen = [case for case in cases if case.situation == situation]
            print(f"{situation:8} {await compute_figures(activation, chosen)}")
    finally:
        if models is not None:
            await models.close()
        await database.close()


async def _time(path: Path, sizes: list[int], others: int) -> None:
    database = await Database.open(path)
    try:
        async with database.transaction() as connection:
            await connection.executemany(
                "INSERT INTO owners (id, name) VALUES (?, ?)", [(1 + n, f"bench:{n}") for n in range(1 + others)]
            )
        done = 0
        async with database.transaction() as connection, rebuilding(connection):
            for number in range(1, 1 + others):
                await _fill(connection, 1 + number, done, done + 1_000)
                done += 1_000
        first = done
        for size in sizes:
            async with database.transaction() as connection, rebuilding(connection):
                await _fill(connection, 1, done, first + size)
            done = first + size
            print(f"{size:>8,} memories, {others} other owners: {await _measure_latency(_create_activation(database))}")
    finally:
        await database.close()


async def _fill(connection: aiosqlite.Connection, owner_id: int, first: int, last: int) -> None:
    """Add memories of all kinds, ages and counts in bulk, with the same rows as the store."""
    source = random.Random(first)
    for start in range(first, last, 10_000):
        numbers = range(start + 1, min(last, start + 10_000) + 1)
        rows = []
        for number in numbers:
            kind = source.choice(TYPED_KINDS)
            moment = to_text(NOW - timedelta(days=source.random() * 365))
            count = 1 + int(source.expovariate(1))
            rows.append(
                (
                    number,
                    owner_id,
                    kind,
                    get_default_priority(kind),
                    generate_text(source),
                    moment,
                    moment,
                    count,
                    moment,
                )
            )
        await connection.executemany(
            "INSERT INTO entries (id, owner_id, kind, priority, content, last_reinforced_at, valid_from,"
            " reinforcement_count, author, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'import', ?)",
            rows,
        )
        await connection.executemany(
            "INSERT INTO names (owner_id, key, name, entry_id) VALUES (?, ?, ?, ?)",
            [(owner_id, f"memory {n}", f"memory {n}", n) for n in numbers],
        )


async def _measure_latency(activation: ActivationBench) -> str:
    source = random.Random(2)
    count = TokenCounter().count
    times: list[float] = []
    for _ in range(MESSAGES):
        message = generate_query(source)
        started = time.perf_counter()
        found = await activation.search.find_for_message(message, "bench:0", 0)
        pool = await activation.activation.read_pool("bench:0", BUDGET // 2, found)
        baseline = activation.activation.select_baseline(pool, BUDGET // 2, count)
        left = BUDGET - sum(one.tokens for one in baseline)
        activation.activation.select_contextual(pool, baseline, left, count)
        times.append(1000 * (time.perf_counter() - started))
    times.sort()
    return f"median {statistics.median(times):.1f} ms, p95 {times[int(0.95 * len(times))]:.1f} ms"


def _create_activation(database: Database) -> ActivationBench:
    return ActivationBench.create(database, lambda: NOW)


if __name__ == "__main__":
    asyncio.run(main())
