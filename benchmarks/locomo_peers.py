"""Other search methods on the same questions and messages: plain BM25, and cosine similarity.

Each ranks the single messages of a dialogue, as Mneme's search does. BM25 is SQLite's FTS5 with its stemmer over
speaker and text, with the question's words joined by OR, without English stop words. The cosine similarity uses the
local embedding model for each message with its speaker, and for the unchanged question.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.locomo_data import Dialogue, Question, SaidMessage
from benchmarks.locomo_figures import DEPTHS, QuestionResult
from bot.features.vectors.store import Embedder, Vector, format_for_embedding
from memory.text.words import extract_query_terms

Ranks = Callable[[str], Awaitable[list[str]]]
"""Returns the keys of the best messages for a question."""

BM25 = "BM25 (FTS5)"
COSINES = "cosines alone"


async def ask_peers(dialogues: Sequence[Dialogue], embedder: Embedder) -> dict[str, list[QuestionResult]]:
    """Return the results of all questions by method."""
    answers: dict[str, list[QuestionResult]] = {BM25: [], COSINES: []}
    for dialogue in dialogues:
        said = [one for session in dialogue.sessions for one in session]
        with contextlib.closing(_build_index(said)) as index:
            answers[BM25] += [
                await _create_result(question, _rank_by_words(index, said)) for question in dialogue.questions
            ]
        ranks = await _rank_by_cosine(said, embedder)
        answers[COSINES] += [await _create_result(question, ranks) for question in dialogue.questions]
    return answers


async def _create_result(question: Question, ranked: Ranks) -> QuestionResult:
    started = time.perf_counter()
    best = (await ranked(question.text))[: max(DEPTHS)]
    spent = 1000 * (time.perf_counter() - started)
    ranks = tuple(place for place, key in enumerate(best, 1) if key in question.evidence)
    return QuestionResult(question.category, 0.0, 0, spent, len(question.evidence), ranks)


def _build_index(said: Sequence[SaidMessage]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE said USING fts5 (text, tokenize = 'porter unicode61')")
    texts = ((number, format_for_embedding(one.speaker, one.text)) for number, one in enumerate(said))
    connection.executemany("INSERT INTO said (rowid, text) VALUES (?, ?)", texts)
    return connection


def _rank_by_words(index: sqlite3.Connection, said: Sequence[SaidMessage]) -> Ranks:
    async def ranked(question: str) -> list[str]:
        rows = index.execute(
            "SELECT rowid FROM said WHERE said MATCH ? ORDER BY rank LIMIT ?",
            (" OR ".join(extract_query_terms(question)), max(DEPTHS)),
        )
        return [said[row[0]].key for row in rows]

    return ranked


async def _rank_by_cosine(said: Sequence[SaidMessage], embedder: Embedder) -> Ranks:
    vectors = _normalise(await embedder.embed([format_for_embedding(one.speaker, one.text) for one in said]))

    async def ranked(question: str) -> list[str]:
        cosines = vectors @ _normalise(await embedder.embed([question], are_queries=True))[0]
        return [said[number].key for number in np.argsort(-cosines, kind="stable").tolist()]

    return ranked


def _normalise(vectors: Sequence[Vector]) -> NDArray[np.float32]:
    rows = np.array(vectors, np.float32)
    units: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units
