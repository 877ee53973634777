"""Latency of search and ranking for a message, by words and by meaning, in a large memory.

One owner has a tenth of all messages. The vectors in the store are random, those of questions come from the local
model. For each size this prints the median and the 95th percentile with and without the embedder, the latency of the
first question after a start, and the memory of the embedder's process.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path

import aiosqlite
import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.search_scale import generate_query, generate_text
from bot.features.vectors.embedders import LocalEmbedder
from bot.features.vectors.search import VectorSearch
from bot.features.vectors.store import Vectors, quantise
from memory.search.ranking import Ranker, RankingRequest
from memory.search.search import Search
from memory.search.types import PASSAGE_KINDS, Filter
from memory.store.database import Database
from memory.store.index import rebuild

OTHERS = 90
"""Number of owners who share the remaining messages."""
DIMENSIONS = 384
QUERIES = 100
MESSAGES_PER_CONVERSATION = 40
"""Messages per conversation."""
_NOW = "2026-01-01T00:00:00.000Z"
_STDERR = Console(stderr=True)


async def main() -> None:
    """Fill a store of each size and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=[100_000], help="messages in all")
    models = LocalEmbedder()
    try:
        for size in sorted(parser.parse_args().sizes):
            with tempfile.TemporaryDirectory() as folder:
                database = await Database.open(Path(folder) / "mneme.db")
                try:
                    await _fill(database, size, models.name)
                    print(
                        f"{size:>9,} messages, {size // 10:,} of one owner: {await _measure_figures(database, models)}"
                    )
                finally:
                    await database.close()
        resident = _read_resident_megabytes(models.pid)
        print(f"the embedder's process: {resident:.0f} MB resident")
    finally:
        await models.close()


async def _fill(database: Database, size: int, model: str) -> None:
    number = await Vectors(database).get_or_create_model_id(model)
    source, numbers = random.Random(1), np.random.default_rng(1)
    async with database.transaction() as connection:
        for owner in range(1, OTHERS + 2):
            await connection.execute("INSERT INTO owners (name) VALUES (?)", (f"bench:{owner}",))
            session = (f"bench:{owner}", "bench", str(owner), f"bench:{owner}", _NOW, _NOW)
            await connection.execute(
                "INSERT INTO sessions (id, channel, chat_id, owner, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)",
                session,
            )
        for first in track(range(0, size, MESSAGES_PER_CONVERSATION), f"Filling {size:,}", console=_STDERR):
            owner = 1 if first % (10 * MESSAGES_PER_CONVERSATION) == 0 else 2 + source.randrange(OTHERS)
            await _add_conversation(connection, owner, number, source, numbers)
        await rebuild(connection)


async def _add_conversation(
    connection: aiosqlite.Connection, owner: int, model: int, source: random.Random, numbers: np.random.Generator
) -> None:
    cursor = await connection.execute(
        "INSERT INTO conversations (session_id, owner_id, started_at, ended_at) VALUES (?, ?, ?, ?)",
        (f"bench:{owner}", owner, _NOW, _NOW),
    )
    conversation = cursor.lastrowid
    for _ in range(0, MESSAGES_PER_CONVERSATION, 2):
        cursor = await connection.execute(
            "INSERT INTO turns (conversation_id, outcome, started_at, finished_at) VALUES (?, 'answered', ?, ?)",
            (conversation, _NOW, _NOW),
        )
        await connection.executemany(
            "INSERT INTO messages (conversation_id, turn_id, role, content, provenance, created_at)"
            " VALUES (?, ?, ?, ?, 'typed', ?)",
            [(conversation, cursor.lastrowid, role, generate_text(source), _NOW) for role in ("user", "assistant")],
        )
    rows = await connection.execute_fetchall("SELECT id FROM messages WHERE conversation_id = ?", (conversation,))
    vectors = [quantise(vector) for vector in numbers.normal(size=(MESSAGES_PER_CONVERSATION, DIMENSIONS)).tolist()]
    await connection.executemany(
        "INSERT INTO vectors (row, owner_id, conversation_id, model_id, vector) VALUES (?, ?, ?, ?, ?)",
        [
            (2 * row[0] + 1, owner, conversation, model, vector.tobytes())
            for row, vector in zip(rows, vectors, strict=True)
        ],
    )


async def _measure_figures(database: Database, models: LocalEmbedder) -> str:
    search = Search(database)
    embedder = models
    await embedder.embed(["loaded before anything is measured"])
    by_meaning = Ranker(database, VectorSearch(search, Vectors(database), embedder))
    first = await _measure_milliseconds(search, by_meaning, "the first question")
    source = random.Random(2)
    queries = [generate_query(source) for _ in range(QUERIES)]
    parts = [f"first {first:.0f} ms"]
    for name, ranker in (("by words", Ranker(database)), ("by meaning too", by_meaning)):
        times = sorted([await _measure_milliseconds(search, ranker, query) for query in queries])
        parts.append(f"{name} median {statistics.median(times):.1f} ms, p95 {times[int(0.95 * len(times))]:.1f} ms")
    return "; ".join(parts)


async def _measure_milliseconds(search: Search, ranker: Ranker, query: str) -> float:
    only = Filter(kinds=PASSAGE_KINDS, archived=False, current=True)
    started = time.perf_counter()
    ranker.expect(query)
    found = await search.find_for_message(query, "bench:1", 0)
    found = await ranker.add_similarities(found, 0)
    await ranker.rank(RankingRequest(query, "bench:1", only, bool), found.passages, found.similarities)
    return 1000 * (time.perf_counter() - started)


def _read_resident_megabytes(pid: int | None) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


if __name__ == "__main__":
    asyncio.run(main())
