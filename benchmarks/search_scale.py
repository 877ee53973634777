"""How long a search of one owner takes among many entries of many owners, and how fast entries are added."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import statistics
import tempfile
import time
from pathlib import Path

from memory.clock import system_clock
from memory.ledger.entries import EntryStore
from memory.retrieval.search import Search
from memory.store.database import Database
from memory.store.entry import NewEntry
from memory.store.index import rebuilding
from tests.support.talk import ledger_over

OWNERS = 200
VOCABULARY = 50_000
FUNCTION_WORDS = 120
"""The most frequent words, of which real texts hold half and queries none: stop words are left out of them."""
WORDS_PER_ENTRY = 20
WORDS_PER_QUERY = 5
QUERIES = 200
ADDS = 2_000


async def main() -> None:
    """Fill a store to each size in turn and print the figures of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000], help="entries in all")
    sizes = sorted(parser.parse_args().sizes)
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            entries = EntryStore(database, ledger_over(database, system_clock))
            print(f"{ADDS / await _seconds_to_add(entries, random.Random(0)):,.0f} adds a second, each its transaction")
            done = ADDS
            for size in sizes:
                await _fill(database, done, size)
                done = max(done, size)
                print(f"{size:>9,} entries, {OWNERS} owners: {await _latency(Search(database))}")
        finally:
            await database.close()


WORDS = [f"w{rank}x" for rank in range(VOCABULARY)]
# Zipf's law with Mandelbrot's shift: how often the words of a natural language occur
WEIGHTS = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(VOCABULARY)))


def a_text(source: random.Random) -> str:
    """Words as they occur in texts."""
    return " ".join(source.choices(WORDS, cum_weights=WEIGHTS, k=WORDS_PER_ENTRY))


def a_query(source: random.Random) -> str:
    """Words as they occur in texts, without the function words."""
    words = source.choices(WORDS, cum_weights=WEIGHTS, k=WORDS_PER_QUERY * 20)
    return " ".join([word for word in words if int(word[1:-1]) >= FUNCTION_WORDS][:WORDS_PER_QUERY])


async def _seconds_to_add(entries: EntryStore, source: random.Random) -> float:
    started = time.perf_counter()
    for number in range(ADDS):
        await entries.add(f"bench:{number % OWNERS}", NewEntry(a_text(source), name=f"added {number}"))
    return time.perf_counter() - started


async def _fill(database: Database, first: int, size: int) -> None:
    """Add entries in bulk, in the way in which the store keeps them."""
    source = random.Random(1)
    now = "2026-01-01T00:00:00.000Z"
    async with database.transaction() as connection, rebuilding(connection):
        for start in range(first, size, 10_000):
            numbers = range(start, min(size, start + 10_000))
            await connection.executemany(
                "INSERT INTO entries (id, owner_id, kind, content, last_reinforced_at, valid_from, author, created_at)"
                " VALUES (?, ?, 'note', ?, ?, ?, 'import', ?)",
                [(n + 1, n % OWNERS + 1, a_text(source), now, now, now) for n in numbers],
            )
            await connection.executemany(
                "INSERT INTO names (owner_id, key, name, entry_id) VALUES (?, ?, ?, ?)",
                [(n % OWNERS + 1, f"note {n}", f"note {n}", n + 1) for n in numbers],
            )


async def _latency(search: Search) -> str:
    source = random.Random(2)
    times: list[float] = []
    for number in range(QUERIES):
        query = a_query(source)
        started = time.perf_counter()
        await search.find(query, f"bench:{number % OWNERS}", limit=10)
        times.append(1000 * (time.perf_counter() - started))
    times.sort()
    return f"median {statistics.median(times):.1f} ms, p95 {times[int(0.95 * len(times))]:.1f} ms"


if __name__ == "__main__":
    asyncio.run(main())
