"""How near in meaning what was said and noted is to a question, within the memory of one owner.

All vectors of an owner, a byte a number, are held in memory and compared with each question: 100,000 take 8 ms, and
nothing that is near is missed. An index of their signs missed some.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import re
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import structlog

from memory.errors import MnemeError
from memory.messages import Role
from memory.search.search import NOT_COMPARED, Similarities, Similarity, key_of
from memory.search.vectors import EmbedderError
from memory.text.words import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from memory.search.search import Filter, Hit, Search
    from memory.search.vectors import Embedder, Vector, Vectors
    from memory.store.database import Row

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def without_names(question: str, speakers: Collection[str]) -> str:
    """A question without the speakers' names: what they are called says nothing of what they said."""
    names = {plain(name) for speaker in speakers for name in _WORD.findall(speaker)}
    bare = _WORD.sub(lambda word: "" if _stem(word.group()) in names else word.group(), question) if names else question
    remaining = " ".join(bare.split())
    return remaining if _WORD.search(remaining) else question


def _stem(word: str) -> str:
    return plain(re.sub(r"['’]s?$", "", word))


log = structlog.get_logger(__name__)

BARE_QUESTIONS = ("What?", "Was?", "Что?", "¿Qué?", "Quoi ?", "什么？")
"""What all questions have in common tells nothing of what one asks for: the mean of these is taken off its vector.

R@10 of cosines alone on all paraphrases (benchmarks/paraphrases.py) is 56 with it and 42 without, across languages 53
and 36; taking off "?" alone gives 49 and 43, the mean of the owner's vectors 40 and 33.
"""
PATIENCE = 1.0
"""Seconds that a turn waits for the vectors of its question; then words alone must do."""
REST = 30.0
"""Seconds after a failure in which no turn asks again."""
NEAREST = 60
"""So many of the nearest compete with what was found by words."""
NEAREST_ENTRIES = 30
"""So many of the nearest entries besides: among many messages they would not come up."""
# how many messages before and after one tell what it is about
_REACH = 3
# so many vectors are compared at a time: as floats they still fit the processor's cache
_CHUNK = 256
# seconds after which it is counted again whether vectors were deleted; what they were of is found no more at once
_RECOUNTED = 60.0
_LEAST_NORM = 1e-6
_LEAST_SPREAD = 0.02
# questions whose vectors are made before they are asked for
_MOST_EXPECTED = 64
# of vectors that are held in memory for all owners: about 160,000 messages at 384 numbers each
_MOST_BYTES = 64 << 20


@dataclass(slots=True)
class OwnerVectors:
    """The vectors of one owner in the order of their keys, so that messages stand beside their neighbours.

    norms: the vectors' lengths. last: the newest vector among them. counted: when they were last all there were.
    """

    keys: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    conversations: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    vectors: NDArray[np.int8] = field(default_factory=lambda: np.empty((0, 0), np.int8))
    norms: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    last: int = 0
    counted: float = -math.inf

    @property
    def bytes(self) -> int:
        """What it takes of memory."""
        return self.keys.nbytes + self.conversations.nbytes + self.vectors.nbytes + self.norms.nbytes

    def places(self, keys: Sequence[int]) -> NDArray[np.intp]:
        """Where those of `keys` stand that are known."""
        targets = np.asarray(keys, np.int64)
        if not len(self.keys) or not len(targets):
            return np.empty(0, np.intp)
        at = np.minimum(np.searchsorted(self.keys, targets), len(self.keys) - 1)
        present: NDArray[np.intp] = at[self.keys[at] == targets]
        return present

    @property
    def entries(self) -> int:
        """How many of them are entries; they stand first."""
        return int(np.searchsorted(self.keys, 0))

    def cosines(self, query_vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """A row for each vector in `query_vectors`. Raises EmbedderError if they are of another length."""
        if query_vectors.shape[1] != self.vectors.shape[1]:
            raise EmbedderError(
                f"its vectors have {query_vectors.shape[1]} numbers now, and had {self.vectors.shape[1]}."
            )
        queries = directions(query_vectors)
        cosines = np.empty((len(query_vectors), len(self.keys)), np.float32)
        exact = np.empty((_CHUNK, query_vectors.shape[1]), np.float32)
        for start in range(0, len(self.keys), _CHUNK):
            part = self.vectors[start : start + _CHUNK]
            exact[: len(part)] = part
            cosines[:, start : start + len(part)] = queries @ exact[: len(part)].T
        return cosines / self.norms


class VectorSearch:
    """Compares questions with what one owner has. Nothing that goes wrong here fails a turn."""

    def __init__(self, search: Search, vectors: Vectors, embedder: Embedder) -> None:
        self._search = search
        self._vectors = vectors
        self._embedder = embedder
        self._owners: OrderedDict[str, OwnerVectors] = OrderedDict()
        self._model: int | None = None
        self._bare_question = np.empty(0, np.float32)
        self._rests_until = 0.0
        self._reading: set[asyncio.Task[OwnerVectors]] = set()
        self._expected: OrderedDict[str, asyncio.Task[list[Vector]]] = OrderedDict()

    async def forget(self) -> None:
        """Hold nothing in memory any more."""
        self._owners.clear()
        while self._expected:
            self._expected.popitem()[1].cancel()

    def expect(self, question: str) -> None:
        """Begin with the vector of a question that is about to be asked, while words are looked for."""
        if self._is_quiet or question in self._expected:
            return
        making = asyncio.create_task(self._embedder.embed([question], are_queries=True))
        making.add_done_callback(_looked_at)
        self._expected[question] = making
        while len(self._expected) > _MOST_EXPECTED:  # those turns ended before they asked
            self._expected.popitem(last=False)[1].cancel()

    async def of(self, question: str, owner: str, hits: Sequence[Hit], only: Filter, visible: int = 0) -> Similarities:
        """How near in meaning `hits` are to `question`, and what else is near, in the memory of `owner`.

        visible: messages that the conversation holds. They are near as a rule and must not use up the places.

        Nothing where that can't be told: without vectors, or while the embedder fails.
        """
        if self._is_quiet:
            return NOT_COMPARED
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._compared(question, owner, hits, only, NEAREST + visible)
        except (MnemeError, TimeoutError) as error:
            self._rests_until = time.monotonic() + REST
            log.warning("embedder_failed", reason=str(error) or f"no answer within {PATIENCE:g} s")
            return NOT_COMPARED

    @property
    def _is_quiet(self) -> bool:
        return time.monotonic() < self._rests_until

    async def _compared(self, question: str, owner: str, hits: Sequence[Hit], only: Filter, most: int) -> Similarities:
        # an owner with much takes a moment at first: then it is read on for the next question, and the embedder is well
        reading = asyncio.create_task(self._known(owner))
        self._reading.add(reading)
        reading.add_done_callback(self._reading.discard)
        reading.add_done_callback(_looked_at)
        await asyncio.wait({reading}, timeout=PATIENCE / 2)
        if not reading.done() or not len((vectors := reading.result()).keys):
            return NOT_COMPARED
        speakers = {hit.source for hit in hits if hit.turn_id is not None} - {*Role}
        queries = directions(await self._embedded(question, without_names(question, speakers)))
        if queries.shape[1] != len(self._bare_question):
            bare = await self._embedder.embed(BARE_QUESTIONS, are_queries=True)
            self._bare_question = directions(bare).mean(axis=0)
        queries -= self._bare_question
        compared = await asyncio.to_thread(QueryComparison, vectors, queries[[0, -1]])
        met = {key_of(hit) for hit in hits}
        near = vectors.keys[compared.nearest(most)].tolist()
        results = await self._search.these([abs(key) for key in near if key not in met], owner, only)
        return compared.similarities([*hits, *results], results)

    async def _embedded(self, question: str, bare: str) -> list[Vector]:
        """The vectors of a question and, where that is another text, of the bare one."""
        texts = list(dict.fromkeys((question, bare)))
        expected = self._expected.pop(question, None)
        if expected is None or expected.cancelled():
            return await self._embedder.embed(texts, are_queries=True)
        first = await asyncio.shield(expected)
        return [*first, *(await self._embedder.embed(texts[1:], are_queries=True) if texts[1:] else ())]

    async def _known(self, owner: str) -> OwnerVectors:
        """An owner's vectors, with what was added since they were read, without what was deleted."""
        if self._model is None:
            self._model = await self._vectors.model(self._embedder.name)
        vectors = self._owners.pop(owner, None) or OwnerVectors()
        vectors = await self._extended(vectors, owner, self._model)
        if (now := time.monotonic()) >= vectors.counted + _RECOUNTED:
            if len(vectors.keys) != await self._vectors.count(owner, self._model):
                vectors = await self._extended(OwnerVectors(), owner, self._model)
            vectors.counted = now
        self._owners[owner] = vectors
        while len(self._owners) > 1 and sum(item.bytes for item in self._owners.values()) > _MOST_BYTES:
            self._owners.popitem(last=False)
        return vectors

    async def _extended(self, vectors: OwnerVectors, owner: str, model: int) -> OwnerVectors:
        rows = await self._vectors.of_owner(owner, model, vectors.last)
        return await asyncio.to_thread(_with_rows, vectors, rows) if rows else vectors


class QueryComparison:
    """The cosines of all that an owner has to a question, as it stands and bare, in deviations from their mean."""

    def __init__(self, vectors: OwnerVectors, query_vectors: NDArray[np.float32]) -> None:
        self._known = vectors
        cosines = vectors.cosines(query_vectors)
        spread = np.maximum(cosines.std(axis=1, keepdims=True), _LEAST_SPREAD)
        self._scaled = (cosines - cosines.mean(axis=1, keepdims=True)) / spread

    def nearest(self, most: int) -> NDArray[np.intp]:
        """The places of the nearest to the bare question: so many of all, and of the entries besides."""
        bare = self._scaled[1]
        return np.union1d(_greatest(bare, most), _greatest(bare[: self._known.entries], NEAREST_ENTRIES))

    def similarities(self, hits: Sequence[Hit], results: Sequence[Hit]) -> Similarities:
        """What is known of `hits`; those without a vector count as the others do on average."""
        places = self._known.places([key_of(hit) for hit in hits])
        of: dict[int, Similarity] = {}
        if len(places):
            each = np.vstack((self._scaled[:, places], self._nearby(places))).astype(float)
            average = Similarity(*each.mean(axis=1).tolist())
            keys = self._known.keys[places].tolist()
            by_key = dict(zip(keys, itertools.starmap(Similarity, each.T.tolist()), strict=True))
            of = {key_of(hit): average for hit in hits} | by_key
        by_chance = math.sqrt(2 * math.log(max(2, len(self._known.keys))))
        return Similarities(results, of, float(self._scaled[1].max()) - by_chance)

    def _nearby(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """For each of those places the best of the messages around it; 0 where there are none."""
        around = places[:, None] + np.array([step for step in range(-_REACH, _REACH + 1) if step])
        there = np.clip(around, 0, self._scaled.shape[1] - 1)
        conversations = self._known.conversations
        counts = (there == around) & (conversations[there] == conversations[places, None])
        best: NDArray[np.float32] = np.where(counts, self._scaled[1][there], -np.inf).max(axis=1)
        return np.where(np.isneginf(best), np.float32(0), best)


def directions(vectors: Sequence[Vector] | NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors of length 1, a row each."""
    rows = np.array(vectors, np.float32)
    result: NDArray[np.float32] = rows / (np.linalg.norm(rows, axis=1, keepdims=True) + _LEAST_NORM)
    return result


def _greatest(values: NDArray[np.float32], most: int) -> NDArray[np.intp]:
    if len(values) <= most:
        return np.arange(len(values))
    return np.argpartition(-values, most)[:most]


def _looked_at(done: asyncio.Task[Any]) -> None:
    """Also where nobody waits for it any more."""
    if not done.cancelled():
        done.exception()


def _with_rows(existing: OwnerVectors, rows: Sequence[Row]) -> OwnerVectors:
    """What is known with rows of the store, of which a newer one takes an older one's place."""
    length = len(rows[-1]["vector"])
    # all columns at once: to ask 100,000 rows for each by its name takes longer than to read them
    _, of_keys, of_conversations, contents = zip(*(row for row in rows if len(row[3]) == length), strict=True)
    keys, conversations = np.array(of_keys, np.int64), np.array(of_conversations, np.int64)
    vectors = np.frombuffer(b"".join(contents), np.int8).reshape(len(keys), length)
    parts = (vectors[start : start + _CHUNK].astype(np.float32) for start in range(0, len(vectors), _CHUNK))
    norms = np.concatenate([np.linalg.norm(part, axis=1) for part in parts]) + np.float32(_LEAST_NORM)
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
