"""Latency of one owner's search among many entries of many owners, and the speed of adding entries.

With --messages: the time that memory adds to a turn (search, ranking and rendering of `# Relevant Memory`), for an
owner with a tenth of the messages.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.locomo import Asker
from memory.clock import system_clock
from memory.ledger.entries import EntryStore
from memory.log.sessions import Address, SessionService
from memory.search.search import Search
from memory.store.database import Database
from memory.store.entry import NewEntry
from memory.store.index import rebuilding
from tests.support.talk import create_ledger

OWNERS = 200
VOCABULARY = 50_000
FUNCTION_WORDS = 120
"""Number of frequent words that make up half of a text. Queries don't contain them."""
WORDS_PER_ENTRY = 20
WORDS_PER_QUERY = 5
QUERIES = 200
ADDS = 2_000
MESSAGES_PER_CONVERSATION = 20
"""Messages per conversation."""


async def main() -> None:
    """Fill a store to each size and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000], help="entries in all")
    parser.add_argument("--messages", action="store_true", help="messages instead, and whole turns")
    arguments = parser.parse_args()
    sizes = sorted(arguments.sizes)
    if arguments.messages:
        await _measure_turns(sizes)
        return
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            entries = EntryStore(database, create_ledger(database, system_clock))
            print(f"{ADDS / await _measure_adding(entries, random.Random(0)):,.0f} adds a second, each its transaction")
            done = ADDS
            for size in sizes:
                await _fill(database, done, size)
                done = max(done, size)
                print(f"{size:>9,} entries, {OWNERS} owners: {await _measure_latency(Search(database))}")
        finally:
            await database.close()


WORDS = [f"w{rank}x" for rank in range(VOCABULARY)]
# Zipf's law with Mandelbrot's shift, the word frequencies of natural languages
WEIGHTS = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(VOCABULARY)))


def generate_text(source: random.Random) -> str:
    """Return a text with natural word frequencies."""
    return " ".join(source.choices(WORDS, cum_weights=WEIGHTS, k=WORDS_PER_ENTRY))


def generate_query(source: random.Random) -> str:
    """Return a query with natural word frequencies, without function words."""
    words = source.choices(WORDS, cum_weights=WEIGHTS, k=WORDS_PER_QUERY * 20)
    return " ".join([word for word in words if int(word[1:-1]) >= FUNCTION_WORDS][:WORDS_PER_QUERY])


async def _measure_adding(entries: EntryStore, source: random.Random) -> float:
    started = time.perf_counter()
    for number in range(ADDS):
        await entries.add(f"bench:{number % OWNERS}", NewEntry(generate_text(source), name=f"added {number}"))
    return time.perf_counter() - started


async def _fill(database: Database, first: int, size: int) -> None:
    """Add entries in bulk, with the same rows as the store."""
    source = random.Random(1)
    now = "2026-01-01T00:00:00.000Z"
    async with database.transaction() as connection, rebuilding(connection):
        for start in range(first, size, 10_000):
            numbers = range(start, min(size, start + 10_000))
            await connection.executemany(
                "INSERT INTO entries (id, owner_id, kind, content, last_reinforced_at, valid_from, author, created_at)"
                " VALUES (?, ?, 'note', ?, ?, ?, 'import', ?)",
                [(n + 1, n % OWNERS + 1, generate_text(source), now, now, now) for n in numbers],
            )
            await connection.executemany(
                "INSERT INTO names (owner_id, key, name, entry_id) VALUES (?, ?, ?, ?)",
                [(n % OWNERS + 1, f"note {n}", f"note {n}", n + 1) for n in numbers],
            )


async def _measure_turns(sizes: list[int]) -> None:
    """Fill a store with messages to each size and print the time that memory adds to a turn."""
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            done = 0
            for size in sizes:
                await _add_messages(database, done, size)
                done = max(done, size)
                pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
                held = await database.value(pages)
                latency = await _measure_turn_latency(database)
                print(f"{size:>9,} messages, a tenth of one owner: {latency}, {held / 1e6:,.0f} MB")
        finally:
            await database.close()


async def _add_messages(database: Database, first: int, size: int) -> None:
    """Add messages in bulk. Every tenth conversation belongs to owner 1."""
    source = random.Random(1)
    moment = "2026-01-01T00:00:00.000Z"
    async with database.transaction() as connection, rebuilding(connection):
        if first == 0:
            owners = range(1, OWNERS + 1)
            await connection.executemany(
                "INSERT OR IGNORE INTO owners (id, name) VALUES (?, ?)", [(n, f"bench:{n}") for n in owners]
            )
            await connection.executemany(
                "INSERT INTO sessions (id, channel, chat_id, owner, created_at, updated_at)"
                " VALUES (?, 'bench', ?, ?, ?, ?)",
                [(f"bench:{n}", str(n), f"bench:{n}", moment, moment) for n in owners],
            )
        for start in range(first, size, 10_000):
            conversations = range(
                start // MESSAGES_PER_CONVERSATION, min(size, start + 10_000) // MESSAGES_PER_CONVERSATION
            )
            owners_of = {n: 1 if n % 10 == 0 else 2 + n % (OWNERS - 1) for n in conversations}
            await connection.executemany(
                "INSERT INTO conversations (id, session_id, owner_id, started_at, ended_at) VALUES (?, ?, ?, ?, ?)",
                [(n + 1, f"bench:{owner}", owner, moment, moment) for n, owner in owners_of.items()],
            )
            numbers = range(start, min(size, start + 10_000))
            await connection.executemany(
                "INSERT INTO turns (id, conversation_id, outcome, started_at, finished_at)"
                " VALUES (?, ?, 'answered', ?, ?)",
                [(n // 2 + 1, n // MESSAGES_PER_CONVERSATION + 1, moment, moment) for n in numbers[::2]],
            )
            await connection.executemany(
                "INSERT INTO messages (id, conversation_id, turn_id, role, content, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        n + 1,
                        n // MESSAGES_PER_CONVERSATION + 1,
                        n // 2 + 1,
                        "assistant" if n % 2 else "user",
                        generate_text(source),
                        moment,
                    )
                    for n in numbers
                ],
            )


async def _measure_turn_latency(database: Database) -> str:
    asking = Asker(database)
    session = await SessionService(database, system_clock).get_or_create(Address("bench", "1"))
    source = random.Random(2)
    times: list[float] = []
    for _ in range(QUERIES):
        query = generate_query(source)
        started = time.perf_counter()
        await asking.find_relevant(session, query)
        times.append(1000 * (time.perf_counter() - started))
    return _format_spread(times)


async def _measure_latency(search: Search) -> str:
    source = random.Random(2)
    times: list[float] = []
    for number in range(QUERIES):
        query = generate_query(source)
        started = time.perf_counter()
        await search.find(query, f"bench:{number % OWNERS}", limit=10)
        times.append(1000 * (time.perf_counter() - started))
    return _format_spread(times)


def _format_spread(times: list[float]) -> str:
    times.sort()
    return f"median {statistics.median(times):.1f} ms, p95 {times[int(0.95 * len(times))]:.1f} ms"


if __name__ == "__main__":
    asyncio.run(main())
