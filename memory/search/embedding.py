"""Making the vectors that are missing: of what was just said first, then of what is older, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from memory.search.embedder import EmbedderError
from memory.search.vectors import WINDOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.search.embedder import Embedder, Vector
    from memory.search.vectors import Embedded, Unembedded, Vectors

log = structlog.get_logger(__name__)

BATCH = 32
"""So many texts are handed over at a time, and kept in one transaction."""

MOST_REFUSED = 3
"""So many texts in a row may be refused before it is taken for a failure."""


class Embedding:
    """What an embedder has still to do. What was looked through before the end is looked through again at a start."""

    def __init__(self, vectors: Vectors, embedder: Embedder) -> None:
        self._vectors = vectors
        self._embedder = embedder
        self._model: int | None = None
        self._seen = [0, 0]  # of messages and entries: the newest that was looked at
        self._left = [0, 0]  # and the newest of those that were there at the start and are still to be looked at
        self._waiting: list[Unembedded] = []
        self._refused: set[int] = set()
        self._wrote = False

    async def some(self) -> bool:
        """Make some vectors; whether there was any to make. Raises EmbedderError or StoreError; nothing is lost."""
        if not self._waiting:
            self._waiting = await self._look()
        batch = self._waiting[:BATCH]
        if not batch or self._model is None:
            return False
        made = await self._made(batch)
        await self._vectors.write(self._model, made)
        self._wrote = self._wrote or bool(made)
        del self._waiting[:BATCH]
        return True

    async def progress(self, owner: str | None = None) -> Embedded:
        """How far it has come with what one owner has, or all."""
        return await self._vectors.progress(self._embedder.name, owner)

    async def _look(self) -> list[Unembedded]:
        newest = await self._vectors.newest()
        model = await self._vectors.model(self._embedder.name)
        taken_away = self._wrote and await self._vectors.length(model) is None
        if self._model is None or taken_away:
            self._model, self._wrote = model, False
            self._seen, self._left = [*newest], [*newest]
        for entries in (False, True):
            while self._seen[entries] < newest[entries]:
                after, until = self._seen[entries], min(newest[entries], self._seen[entries] + WINDOW)
                found = await self._missing(after, until, entries=entries)
                self._seen[entries] = until
                if found:
                    return found
        touched = [one for one in await self._vectors.touched() if one.row not in self._refused]
        if touched:
            return touched
        for entries in (False, True):
            while (until := self._left[entries]) > 0:
                found = await self._missing(max(0, until - WINDOW), until, entries=entries)
                self._left[entries] = max(0, until - WINDOW)
                if found:
                    return found
        return []

    async def _missing(self, after: int, until: int, *, entries: bool) -> list[Unembedded]:
        return await self._vectors.missing(self._model or 0, after, until, entries=entries)

    async def _made(self, batch: Sequence[Unembedded]) -> list[tuple[Unembedded, Vector]]:
        """The vectors of a batch; what the embedder refuses while it takes others gets none."""
        try:
            return await self._of(batch)
        except EmbedderError as error:
            if not error.refused or len(batch) == 1:
                raise
        made: list[tuple[Unembedded, Vector]] = []
        refused: list[Unembedded] = []
        for one in batch:
            try:
                made += await self._of([one])
            except EmbedderError as error:
                if not error.refused:
                    raise
                refused.append(one)
                if not made and len(refused) > MOST_REFUSED:  # then it is not about the texts
                    raise
        self._refused |= {one.row for one in refused}
        log.warning("embedder_refused", texts=len(refused))
        return made

    async def _of(self, batch: Sequence[Unembedded]) -> list[tuple[Unembedded, Vector]]:
        vectors = await self._embedder.embed([one.text for one in batch])
        return [*zip(batch, vectors, strict=True)]
