"""Vector search: compares a question with all vectors of one owner.

The vectors are cached in memory with one byte per dimension. Comparing 100,000 of them takes 8 ms and is exact. An
index of their signs missed some near ones.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import re
import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import structlog

from bot.features.vectors.store import Embedder, EmbedderError, Vector, Vectors
from bot.services import MemoryServices
from memory.errors import MnemeError
from memory.messages import Role
from memory.search.search import Search
from memory.search.types import NOT_COMPARED, Filter, Hit, Similarities, Similarity, make_hit_key
from memory.store.database import Row
from memory.text.words import to_plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def remove_names(question: str, speakers: Collection[str]) -> str:
    """Return the question without the speakers' names, which say nothing about the topic."""
    names = {to_plain(name) for speaker in speakers for name in _WORD.findall(speaker)}
    bare = _WORD.sub(lambda word: "" if _stem(word.group()) in names else word.group(), question) if names else question
    remaining = " ".join(bare.split())
    return remaining if _WORD.search(remaining) else question


def _stem(word: str) -> str:
    return to_plain(re.sub(r"['’]s?$", "", word))


log = structlog.get_logger(__name__)

BARE_QUESTIONS = ("What?", "Was?", "Что?", "¿Qué?", "Quoi ?", "什么？")
"""The mean vector of these questions is subtracted from each question, since all questions have it in common.

R@10 of cosines alone on all paraphrases (benchmarks/paraphrases.py) is 56 with it and 42 without, across languages 53
and 36. Subtracting "?" alone gives 49 and 43, subtracting the mean of the owner's vectors 40 and 33.
"""
COMPARE_TIMEOUT_SECONDS = 1.0
"""A turn waits this long for the vectors of its question. After that, hits are ranked only by words."""
RETRY_SECONDS = 30.0
"""Pause after a failure of the embedder."""
MAX_NEAREST = 60
"""Number of the nearest messages and entries that are added to the hits of the index."""
MAX_NEAREST_ENTRIES = 30
"""Number of the nearest entries that are also added. Among many messages they would rank too low."""
# Messages before and after a message that count as nearby.
_REACH = 3
# Vectors per batch of the comparison. As floats they still fit the processor's cache.
_BATCH_VECTORS = 256
# Interval between checks whether vectors were deleted. Searches don't return deleted texts in the meantime.
_RECOUNT_SECONDS = 60.0
_MIN_NORM = 1e-6
_MIN_SPREAD = 0.02
# Questions with an embedding request in progress.
_MAX_EXPECTED = 64
# Cached vectors of all owners: about 160,000 messages with 384 dimensions each.
_MAX_CACHE_BYTES = 64 << 20


@dataclass(slots=True)
class OwnerVectors:
    """The cached vectors of one owner, sorted by key, so that neighbouring messages are adjacent.

    Attributes:
        keys: The `make_hit_key` of each message or entry, shape (n,).
        conversations: The conversation of each, shape (n,).
        vectors: Shape (n, dimensions).
        norms: Euclidean norms of the vectors, shape (n,).
        last: The id of the newest vector.
        counted: Monotonic time of the last check that none was deleted.
    """

    keys: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    conversations: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    vectors: NDArray[np.int8] = field(default_factory=lambda: np.empty((0, 0), np.int8))
    norms: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    last: int = 0
    counted: float = -math.inf

    @property
    def size_bytes(self) -> int:
        return self.keys.nbytes + self.conversations.nbytes + self.vectors.nbytes + self.norms.nbytes

    def find_positions(self, keys: Sequence[int]) -> NDArray[np.intp]:
        """Return the positions of those `keys` that have a vector."""
        targets = np.asarray(keys, np.int64)
        if not len(self.keys) or not len(targets):
            return np.empty(0, np.intp)
        at = np.minimum(np.searchsorted(self.keys, targets), len(self.keys) - 1)
        present: NDArray[np.intp] = at[self.keys[at] == targets]
        return present

    @property
    def entries(self) -> int:
        """Return the number of entries. They come first, since their keys are negative."""
        return int(np.searchsorted(self.keys, 0))

    def compute_cosines(self, query_vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine similarities, with a row for each query vector.

        Raises EmbedderError if the query vectors have another number of dimensions.
        """
        if query_vectors.shape[1] != self.vectors.shape[1]:
            raise EmbedderError(
                f"its vectors have {query_vectors.shape[1]} numbers now, and had {self.vectors.shape[1]}."
            )
        queries = normalise(query_vectors)
        cosines = np.empty((len(query_vectors), len(self.keys)), np.float32)
        exact = np.empty((_BATCH_VECTORS, query_vectors.shape[1]), np.float32)
        for start in range(0, len(self.keys), _BATCH_VECTORS):
            part = self.vectors[start : start + _BATCH_VECTORS]
            exact[: len(part)] = part
            cosines[:, start : start + len(part)] = queries @ exact[: len(part)].T
        return cosines / self.norms


def create_vector_search(memory: MemoryServices, embedder: Embedder) -> VectorSearch:
    return VectorSearch(memory.search, Vectors(memory.database), embedder)


class VectorSearch:
    """Compares questions with the vectors of one owner. Errors are logged and never fail a turn."""

    def __init__(self, search: Search, vectors: Vectors, embedder: Embedder) -> None:
        self._search = search
        self._vectors = vectors
        self._embedder = embedder
        self._owners: OrderedDict[str, OwnerVectors] = OrderedDict()
        self._model: int | None = None
        self._bare_question = np.empty(0, np.float32)
        self._retry_at = 0.0
        self._reading: set[asyncio.Task[OwnerVectors]] = set()
        self._expected: OrderedDict[str, asyncio.Task[list[Vector]]] = OrderedDict()

    async def clear_cache(self) -> None:
        self._owners.clear()
        while self._expected:
            self._expected.popitem()[1].cancel()

    def expect(self, question: str) -> None:
        """Start embedding a question in the background, while the index is searched."""
        if self._is_paused or question in self._expected:
            return
        making = asyncio.create_task(self._embedder.embed([question], are_queries=True))
        making.add_done_callback(_retrieve_exception)
        self._expected[question] = making
        while len(self._expected) > _MAX_EXPECTED:  # The turns of the oldest questions ended without using the vector.
            self._expected.popitem(last=False)[1].cancel()

    async def compare(
        self, question: str, owner: str, hits: Sequence[Hit], only: Filter, visible: int = 0
    ) -> Similarities:
        """Return the similarities of `hits` to `question`, and additional near hits of `owner`.

        The result is empty if there are no vectors or the embedder fails.

        Args:
            visible: Number of messages in the visible conversation. They are usually near, so as many more are fetched.
        """
        if self._is_paused:
            return NOT_COMPARED
        try:
            async with asyncio.timeout(COMPARE_TIMEOUT_SECONDS):
                return await self._compare(question, owner, hits, only, MAX_NEAREST + visible)
        except (MnemeError, TimeoutError) as error:
            self._retry_at = time.monotonic() + RETRY_SECONDS
            log.warning("embedder_failed", reason=str(error) or f"no answer within {COMPARE_TIMEOUT_SECONDS:g} s")
            return NOT_COMPARED

    @property
    def _is_paused(self) -> bool:
        return time.monotonic() < self._retry_at

    async def _compare(self, question: str, owner: str, hits: Sequence[Hit], only: Filter, most: int) -> Similarities:
        # The first read of a large memory takes long. It continues in the background for the next question, and
        # does not count as a failure of the embedder.
        reading = asyncio.create_task(self._load(owner))
        self._reading.add(reading)
        reading.add_done_callback(self._reading.discard)
        reading.add_done_callback(_retrieve_exception)
        await asyncio.wait({reading}, timeout=COMPARE_TIMEOUT_SECONDS / 2)
        if not reading.done() or not len((vectors := reading.result()).keys):
            return NOT_COMPARED
        speakers = {hit.source for hit in hits if hit.turn_id is not None} - {*Role}
        queries = normalise(await self._embed_question(question, remove_names(question, speakers)))
        if queries.shape[1] != len(self._bare_question):
            bare = await self._embedder.embed(BARE_QUESTIONS, are_queries=True)
            self._bare_question = normalise(bare).mean(axis=0)
        queries -= self._bare_question
        compared = await asyncio.to_thread(QueryComparison, vectors, queries[[0, -1]])
        met = {make_hit_key(hit) for hit in hits}
        near = vectors.keys[compared.find_nearest(most)].tolist()
        results = await self._search.find_in_rows([abs(key) for key in near if key not in met], owner, only)
        return compared.compute_similarities([*hits, *results], results)

    async def _embed_question(self, question: str, bare: str) -> list[Vector]:
        texts = list(dict.fromkeys((question, bare)))
        expected = self._expected.pop(question, None)
        if expected is None or expected.cancelled():
            return await self._embedder.embed(texts, are_queries=True)
        first = await asyncio.shield(expected)
        return [*first, *(await self._embedder.embed(texts[1:], are_queries=True) if texts[1:] else ())]

    async def _load(self, owner: str) -> OwnerVectors:
        if self._model is None:
            self._model = await self._vectors.get_or_create_model_id(self._embedder.name)
        vectors = self._owners.pop(owner, None) or OwnerVectors()
        vectors = await self._extend(vectors, owner, self._model)
        if (now := time.monotonic()) >= vectors.counted + _RECOUNT_SECONDS:
            if len(vectors.keys) != await self._vectors.count(owner, self._model):
                vectors = await self._extend(OwnerVectors(), owner, self._model)
            vectors.counted = now
        self._owners[owner] = vectors
        while len(self._owners) > 1 and sum(item.size_bytes for item in self._owners.values()) > _MAX_CACHE_BYTES:
            self._owners.popitem(last=False)
        return vectors

    async def _extend(self, vectors: OwnerVectors, owner: str, model: int) -> OwnerVectors:
        rows = await self._vectors.read_owner_vectors(owner, model, vectors.last)
        return await asyncio.to_thread(_merge_rows, vectors, rows) if rows else vectors


class QueryComparison:
    """Cosine similarities of an owner's vectors to a question and to the bare question, as standard scores."""

    def __init__(self, vectors: OwnerVectors, query_vectors: NDArray[np.float32]) -> None:
        self._load = vectors
        cosines = vectors.compute_cosines(query_vectors)
        spread = np.maximum(cosines.std(axis=1, keepdims=True), _MIN_SPREAD)
        self._scaled = (cosines - cosines.mean(axis=1, keepdims=True)) / spread

    def find_nearest(self, most: int) -> NDArray[np.intp]:
        """Return the positions of the `most` nearest vectors to the bare question, and of the nearest entries."""
        bare = self._scaled[1]
        return np.union1d(_find_greatest(bare, most), _find_greatest(bare[: self._load.entries], MAX_NEAREST_ENTRIES))

    def compute_similarities(self, hits: Sequence[Hit], results: Sequence[Hit]) -> Similarities:
        """Return the similarities of `hits`. Hits without a vector get the average of the others."""
        places = self._load.find_positions([make_hit_key(hit) for hit in hits])
        of: dict[int, Similarity] = {}
        if len(places):
            each = np.vstack((self._scaled[:, places], self._score_surroundings(places))).astype(float)
            average = Similarity(*each.mean(axis=1).tolist())
            keys = self._load.keys[places].tolist()
            by_key = dict(zip(keys, itertools.starmap(Similarity, each.T.tolist()), strict=True))
            of = {make_hit_key(hit): average for hit in hits} | by_key
        by_chance = math.sqrt(2 * math.log(max(2, len(self._load.keys))))
        return Similarities(results, of, float(self._scaled[1].max()) - by_chance)

    def _score_surroundings(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the best score of the surrounding messages for each position, or 0 without messages."""
        neighbours = places[:, None] + np.array([step for step in range(-_REACH, _REACH + 1) if step])
        clipped = np.clip(neighbours, 0, self._scaled.shape[1] - 1)
        conversations = self._load.conversations
        counts = (clipped == neighbours) & (conversations[clipped] == conversations[places, None])
        best: NDArray[np.float32] = np.where(counts, self._scaled[1][clipped], -np.inf).max(axis=1)
        return np.where(np.isneginf(best), np.float32(0), best)


def normalise(vectors: Sequence[Vector] | NDArray[np.float32]) -> NDArray[np.float32]:
    rows = np.array(vectors, np.float32)
    result: NDArray[np.float32] = rows / (np.linalg.norm(rows, axis=1, keepdims=True) + _MIN_NORM)
    return result


def _find_greatest(values: NDArray[np.float32], most: int) -> NDArray[np.intp]:
    if len(values) <= most:
        return np.arange(len(values))
    return np.argpartition(-values, most)[:most]


def _retrieve_exception(done: asyncio.Task[Any]) -> None:
    """Mark the exception as retrieved, since the task may no longer be awaited."""
    if not done.cancelled():
        done.exception()


def _merge_rows(existing: OwnerVectors, rows: Sequence[Row]) -> OwnerVectors:
    """Merge rows of the store into the cached vectors. A newer vector replaces an older one with the same key."""
    length = len(rows[-1]["vector"])
    # Unpack all columns at once. Accessing 100,000 rows by column name takes longer than reading them.
    _, of_keys, of_conversations, contents = zip(*(row for row in rows if len(row[3]) == length), strict=True)
    keys, conversations = np.array(of_keys, np.int64), np.array(of_conversations, np.int64)
    vectors = np.frombuffer(b"".join(contents), np.int8).reshape(len(keys), length)
    parts = (
        vectors[start : start + _BATCH_VECTORS].astype(np.float32) for start in range(0, len(vectors), _BATCH_VECTORS)
    )
    norms = np.concatenate([np.linalg.norm(part, axis=1) for part in parts]) + np.float32(_MIN_NORM)
    if len(existing.keys) and existing.vectors.shape[1] == length:
        keep = ~np.isin(existing.keys, keys)
        keys = np.concatenate((existing.keys[keep], keys))
        conversations = np.concatenate((existing.conversations[keep], conversations))
        vectors = np.concatenate((existing.vectors[keep], vectors))
        norms = np.concatenate((existing.norms[keep], norms))
    order = np.argsort(keys, kind="stable")
    return OwnerVectors(
        keys[order], conversations[order], vectors[order], norms[order], max(row[0] for row in rows), existing.counted
    )
