"""How near in meaning what was said and noted is to a question, within the memory of one owner.

The signs of an owner's vectors are held in memory; they tell in a millisecond which few of 100,000 may be near. Those
few are read and compared number by number.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import structlog

from memory.errors import MnemeError
from memory.messages import Role
from memory.search.embedder import EmbedderError
from memory.search.meaning import NOT_COMPARED, Meaning, Meanings, key_of, without_names
from memory.search.vectors import quantised, signs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memory.search.embedder import Embedder, Vector
    from memory.search.search import Filter, Hit, Search
    from memory.search.vectors import Vectors
    from memory.store.database import Row

log = structlog.get_logger(__name__)

PATIENCE = 1.0
"""Seconds that a turn waits for the vectors of its question; then words alone must do."""
REST = 30.0
"""Seconds after a failure in which no turn asks again."""
NEAREST = 60
"""So many of the nearest compete with what was found by words."""
NEAREST_ENTRIES = 30
"""So many of the nearest entries besides: among many messages they would not come up."""
_LOOKED_AT = 300
"""So many whose signs are nearest are compared number by number."""
_SAMPLE = 100
"""So many tell how near an owner's texts are to a question as a rule."""
_REACH = 3
"""How many messages before and after one tell what it is about."""
_TOP = 3
"""The mean of so many of a conversation's messages tells what it is about."""
_LEAST_NORM = 1e-6
_LEAST_SPREAD = 0.02
_MOST_EXPECTED = 64
"""Questions whose vectors are made before they are asked for."""
_MOST_BYTES = 64 << 20
"""Of signs that are held in memory for all owners: about a million messages at 384 numbers each."""


@dataclass(slots=True)
class Known:
    """The signs of one owner's vectors, in the order of their keys, so that messages stand beside their neighbours.

    last: the newest vector among them.
    """

    keys: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    conversations: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    signs: NDArray[np.uint64] = field(default_factory=lambda: np.empty((0, 0), np.uint64))
    last: int = 0

    @property
    def bytes(self) -> int:
        """What it takes of memory."""
        return self.keys.nbytes + self.conversations.nbytes + self.signs.nbytes

    def places(self, keys: Sequence[int]) -> NDArray[np.intp]:
        """Where those of `keys` stand that are known."""
        wanted = np.asarray(keys, np.int64)
        if not len(self.keys) or not len(wanted):
            return np.empty(0, np.intp)
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        found: NDArray[np.intp] = at[self.keys[at] == wanted]
        return found

    def with_neighbours(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Places and those of the messages around them."""
        near = (places[:, None] + np.arange(-_REACH, _REACH + 1)).ravel()
        return np.unique(near[(near >= 0) & (near < len(self.keys))])

    @property
    def entries(self) -> int:
        """How many of them are entries; they stand first."""
        return int(np.searchsorted(self.keys, 0))

    def nearest(self, signs: NDArray[np.uint64]) -> NDArray[np.intp]:
        """The places of those whose signs differ least, of all and of the entries."""
        if signs.shape[0] != self.signs.shape[1]:
            return np.empty(0, np.intp)
        differing = np.bitwise_count(self.signs ^ signs).sum(axis=1, dtype=np.uint16)
        return np.concatenate((_least(differing), _least(differing[: self.entries])))

    def sample(self) -> NDArray[np.intp]:
        """Some places, spread over all."""
        return np.unique(np.linspace(0, len(self.keys) - 1, min(_SAMPLE, len(self.keys))).astype(np.intp))


class Nearness:
    """Compares questions with what one owner has. Nothing that goes wrong here fails a turn."""

    def __init__(self, search: Search, vectors: Vectors, embedder: Embedder) -> None:
        self._search = search
        self._vectors = vectors
        self._embedder = embedder
        self._owners: OrderedDict[str, Known] = OrderedDict()
        self._model: int | None = None
        self._rests_until = 0.0
        self._reading: set[asyncio.Task[Known]] = set()
        self._expected: OrderedDict[str, asyncio.Task[list[Vector]]] = OrderedDict()

    async def forget(self) -> None:
        """Hold nothing in memory any more."""
        self._owners.clear()
        while self._expected:
            self._expected.popitem()[1].cancel()

    def expect(self, question: str) -> None:
        """Begin with the vector of a question that is about to be asked, while words are looked for."""
        if self._is_quiet(question) or question in self._expected:
            return
        making = asyncio.create_task(self._embedder.embed([question]))
        making.add_done_callback(_looked_at)
        self._expected[question] = making
        while len(self._expected) > _MOST_EXPECTED:  # those turns ended before they asked
            self._expected.popitem(last=False)[1].cancel()

    async def of(self, question: str, owner: str, hits: Sequence[Hit], only: Filter, visible: int = 0) -> Meanings:
        """How near in meaning `hits` are to `question`, and what else is near, in the memory of `owner`.

        visible: messages that the conversation holds. They are near as a rule and must not use up the places.

        Nothing where that can't be told: in a language that the embedder does not read, without vectors, or while the
        embedder fails.
        """
        if self._is_quiet(question):
            return NOT_COMPARED
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._compared(question, owner, hits, only, NEAREST + visible)
        except (MnemeError, TimeoutError) as error:
            self._rests_until = time.monotonic() + REST
            log.warning("embedder_failed", reason=str(error) or f"no answer within {PATIENCE:g} s")
            return NOT_COMPARED

    def _is_quiet(self, question: str) -> bool:
        return time.monotonic() < self._rests_until or not self._embedder.reads(question)

    async def _compared(self, question: str, owner: str, hits: Sequence[Hit], only: Filter, most: int) -> Meanings:
        # whoever can't wait leaves it to be read for the next question: an owner with much takes a moment at first
        reading = asyncio.create_task(self._known(owner))
        self._reading.add(reading)
        reading.add_done_callback(self._reading.discard)
        reading.add_done_callback(_looked_at)
        known = await asyncio.shield(reading)
        if not len(known.keys):
            return NOT_COMPARED
        speakers = {hit.source for hit in hits if hit.turn_id is not None} - {*Role}
        asked = [quantised(vector) for vector in await self._embedded(question, without_names(question, speakers))]
        signs = np.frombuffer(signs_of(asked[-1]), np.uint64)
        of_hits = known.places([key_of(hit) for hit in hits])
        nearest = await asyncio.to_thread(known.nearest, signs)
        compared = Compared(known, np.array([asked[0], asked[-1]], np.float32))
        await self._compare(compared, np.concatenate((nearest, known.with_neighbours(of_hits), known.sample())))
        if not compared.tells:  # another program has taken them away
            self._owners.pop(owner, None)
            return NOT_COMPARED
        best = np.unique(np.concatenate((compared.best(most), compared.best(NEAREST_ENTRIES, known.entries))))
        await self._compare(compared, known.with_neighbours(best))
        met = {key_of(hit) for hit in hits}
        rows = [abs(key) for key in known.keys[best].tolist() if key not in met]
        found = await self._search.these(rows, owner, only)
        return compared.meanings([*hits, *found], found)

    async def _compare(self, compared: Compared, places: NDArray[np.intp]) -> None:
        """Read the vectors at these places, as far as that was not done, and compare them."""
        assert self._model is not None, "known before anything is compared"  # noqa: S101
        compared.take(await self._vectors.read(compared.unread(places), self._model))

    async def _embedded(self, question: str, bare: str) -> list[Vector]:
        """The vectors of a question and, where that is another text, of the bare one."""
        texts = list(dict.fromkeys((question, bare)))
        expected = self._expected.pop(question, None)
        if expected is None or expected.cancelled():
            return await self._embedder.embed(texts)
        first = await asyncio.shield(expected)
        return [*first, *(await self._embedder.embed(texts[1:]) if texts[1:] else ())]

    async def _known(self, owner: str) -> Known:
        """The signs of an owner's vectors, with what was added since they were read."""
        if self._model is None:
            self._model = await self._vectors.model(self._embedder.name)
        known = self._owners.pop(owner, None) or Known()
        rows = await self._vectors.signs(owner, self._model, known.last)
        if rows:
            known = await asyncio.to_thread(_extended, known, rows)
        self._owners[owner] = known
        while len(self._owners) > 1 and sum(one.bytes for one in self._owners.values()) > _MOST_BYTES:
            self._owners.popitem(last=False)
        return known


class Compared:
    """The cosines of some of what an owner has to a question, as it stands and bare; of the others they are unknown."""

    def __init__(self, known: Known, asked: NDArray[np.float32]) -> None:
        self._known = known
        self._asked = asked / (np.linalg.norm(asked, axis=1, keepdims=True) + _LEAST_NORM)
        self._cosines = np.full((2, len(known.keys)), np.nan, np.float32)

    @property
    def tells(self) -> bool:
        """Whether it is known how near the owner's texts are as a rule."""
        return not bool(np.isnan(self._cosines[1, self._known.sample()]).all())

    def unread(self, places: NDArray[np.intp]) -> list[int]:
        """The rows at those places whose cosines are unknown."""
        unknown = np.unique(places[np.isnan(self._cosines[1, places])])
        rows: list[int] = np.abs(self._known.keys[unknown]).tolist()
        return rows

    def take(self, rows: Sequence[Row]) -> None:
        """Compare vectors with the question. Raises EmbedderError if they are of another length."""
        if not rows:
            return
        length = len(rows[0]["vector"])
        if self._asked.shape[1] != length:
            raise EmbedderError(f"its vectors have {self._asked.shape[1]} numbers now, and had {length}.")
        vectors = np.frombuffer(b"".join(row["vector"] for row in rows), np.int8).reshape(-1, length)
        exact = vectors.astype(np.float32)
        # not @: for so little, BLAS's threads take longer to wake than to compute
        norms = np.sqrt(np.einsum("nd,nd->n", exact, exact)) + _LEAST_NORM
        cosines = np.einsum("qd,nd->qn", self._asked, exact) / norms
        keys = [row["row"] if row["row"] % 2 else -row["row"] for row in rows]
        self._cosines[:, self._known.places(keys)] = cosines

    def best(self, most: int, first: int | None = None) -> NDArray[np.intp]:
        """The places of the nearest to the bare question, best first. first: only of so many that stand first."""
        compared = self._compared
        compared = compared[compared < len(self._known.keys) if first is None else compared < first]
        return compared[np.argsort(-self._cosines[1, compared])[:most]]

    def meanings(self, hits: Sequence[Hit], found: Sequence[Hit]) -> Meanings:
        """What is known of `hits`; those without a vector count as the others do on average."""
        sample = self._cosines[:, self._known.sample()]
        usual, spread = np.nanmean(sample, axis=1), np.maximum(np.nanstd(sample, axis=1), _LEAST_SPREAD)
        scaled = (self._cosines - usual[:, None]) / spread[:, None]
        places = self._known.places([key_of(hit) for hit in hits])
        places = places[~np.isnan(scaled[1, places])]
        of: dict[int, Meaning] = {}
        if len(places):
            values = scaled[:, places], self._nearby(scaled[1], places), self._of_conversations(scaled[1], places)
            each = np.vstack(values).astype(float)
            average = Meaning(*each.mean(axis=1).tolist())
            keys = self._known.keys[places].tolist()
            known = dict(zip(keys, itertools.starmap(Meaning, each.T.tolist()), strict=True))
            of = {key_of(hit): average for hit in hits} | known
        by_chance = math.sqrt(2 * math.log(max(2, len(self._known.keys))))
        return Meanings(found, of, float(np.nanmax(scaled[1])) - by_chance)

    @property
    def _compared(self) -> NDArray[np.intp]:
        return np.flatnonzero(~np.isnan(self._cosines[1]))

    def _of_conversations(self, scaled: NDArray[np.float32], places: NDArray[np.intp]) -> NDArray[np.float64]:
        """For each of those places the mean of the best that is known of its conversation."""
        compared = self._compared
        values, conversations = scaled[compared].astype(float), self._known.conversations[compared]
        order = np.lexsort((-values, conversations))  # by conversation, the best first
        known, starts, sizes = np.unique(conversations[order], return_index=True, return_counts=True)
        summed = np.concatenate(([0.0], np.cumsum(values[order])))
        best = np.minimum(sizes, _TOP)
        means: NDArray[np.float64] = (summed[starts + best] - summed[starts]) / best
        return means[np.searchsorted(known, self._known.conversations[places])]

    def _nearby(self, scaled: NDArray[np.float32], places: NDArray[np.intp]) -> NDArray[np.float32]:
        """For each of those places the best that is known of the messages around it; 0 where nothing is."""
        around = places[:, None] + np.array([step for step in range(-_REACH, _REACH + 1) if step])
        there = np.clip(around, 0, len(scaled) - 1)
        conversations = self._known.conversations
        counts = (there == around) & (conversations[there] == conversations[places, None]) & ~np.isnan(scaled[there])
        best: NDArray[np.float32] = np.where(counts, scaled[there], -np.inf).max(axis=1)
        return np.where(np.isneginf(best), np.float32(0), best)


def _least(differing: NDArray[np.uint16]) -> NDArray[np.intp]:
    if len(differing) <= _LOOKED_AT:
        return np.arange(len(differing))
    return np.argpartition(differing, _LOOKED_AT)[:_LOOKED_AT]


def _looked_at(done: asyncio.Task[Any]) -> None:
    """Also where nobody waits for it any more."""
    if not done.cancelled():
        done.exception()


def _extended(known: Known, rows: Sequence[Row]) -> Known:
    """What is known with rows of the store, of which a newer one takes an older one's place."""
    width = len(rows[-1]["signs"]) // 8
    fresh = [row for row in rows if len(row["signs"]) == 8 * width]
    keys = np.fromiter((row["key"] for row in fresh), np.int64, len(fresh))
    conversations = np.fromiter((row["conversation"] for row in fresh), np.int64, len(fresh))
    signs = np.frombuffer(b"".join(row["signs"] for row in fresh), np.uint64).reshape(len(fresh), width)
    if len(known.keys) and known.signs.shape[1] == width:
        kept = ~np.isin(known.keys, keys)
        keys = np.concatenate((known.keys[kept], keys))
        conversations = np.concatenate((known.conversations[kept], conversations))
        signs = np.concatenate((known.signs[kept], signs))
    order = np.argsort(keys, kind="stable")
    return Known(keys[order], conversations[order], signs[order], max(row["id"] for row in rows))
