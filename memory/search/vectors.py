"""Vectors of what was said and noted: how they are kept, and which are still to be made.

A vector is one byte a number, scaled so that its largest one is 127: only its direction counts. It is derived: triggers
(memory/store/schema.sql) take away those of what is deleted or changed.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import structlog

from memory.errors import MnemeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.store.database import Database, Row

    Vector = Sequence[float]


class EmbedderError(MnemeError):
    """There are no vectors for now. refused: it is about these texts, and others may go well."""

    def __init__(self, text: str, *, refused: bool = False) -> None:
        super().__init__(text)
        self.refused = refused


class Embedder(Protocol):
    """Makes vectors of texts, such that those of texts that mean the like point the same way."""

    @property
    def name(self) -> str:
        """What made a vector; those of different names can't be compared."""

    async def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> list[Vector]:
        """A vector for each text, all of one length and of any norm. Raises EmbedderError.

        are_queries: the texts ask; otherwise they are what may answer. Some models want to know.
        """


WINDOW = 500
"""So many messages or entries are looked through at a time for those without a vector."""
_LARGEST = 127

_MESSAGES = """
SELECT 2 * m.id + 1 AS row, c.owner_id, m.conversation_id, coalesce(m.speaker, m.role) AS source, m.content
FROM spoken m JOIN conversations c ON c.id = m.conversation_id
WHERE m.id > :after AND m.id <= :until
    AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.row = 2 * m.id + 1 AND v.model_id = :model)
ORDER BY m.id DESC
"""
_ENTRIES = """
SELECT 2 * e.id AS row, e.owner_id, NULL AS conversation_id, n.name AS source,
    e.content || coalesce(char(10) || e.outcome, '') AS content
FROM entries e JOIN names n ON n.entry_id = e.id AND NOT n.is_alias
WHERE e.deleted_at IS NULL AND e.id > :after AND e.id <= :until
    AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.row = 2 * e.id AND v.model_id = :model)
ORDER BY e.id DESC
"""
_TOUCHED = """
SELECT v.row, e.owner_id, NULL AS conversation_id, n.name AS source,
    e.content || coalesce(char(10) || e.outcome, '') AS content
FROM vectors v JOIN entries e ON e.id = v.row / 2 JOIN names n ON n.entry_id = e.id AND NOT n.is_alias
WHERE v.model_id = 0 AND e.deleted_at IS NULL LIMIT :most
"""
# what was deleted or said anew while its vector was made gets none
_WRITE = """
INSERT OR REPLACE INTO vectors (row, owner_id, conversation_id, model_id, vector)
SELECT :row, :owner, :conversation, :model, :vector WHERE CASE WHEN :row % 2
    THEN EXISTS (SELECT 1 FROM spoken WHERE id = :row / 2 AND content = :content)
    ELSE EXISTS (SELECT 1 FROM entries e WHERE e.id = :row / 2 AND e.deleted_at IS NULL
        AND e.content || coalesce(char(10) || e.outcome, '') = :content) END
"""


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A message or an entry without a vector. row: its number in the search index."""

    row: int
    owner_id: int
    conversation_id: int | None
    source: str
    content: str

    @property
    def text(self) -> str:
        """What a vector is made of."""
        return embedded_form(self.source, self.content)


@dataclass(frozen=True, slots=True)
class Embedded:
    """How much has a vector of a model, and how much is to have one."""

    done: int
    of: int


class Vectors:
    """The vectors in the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def model(self, name: str) -> int:
        """The number of a model."""
        value = await self._database.value("SELECT id FROM embedding_models WHERE name = ?", (name,))
        if value is None:
            await self._database.write("INSERT OR IGNORE INTO embedding_models (name) VALUES (?)", (name,))
            value = await self._database.value("SELECT id FROM embedding_models WHERE name = ?", (name,))
        return int(value)

    async def newest(self) -> tuple[int, int]:
        """The ids of the newest message and of the newest entry."""
        row = await self._database.row(
            "SELECT (SELECT coalesce(max(id), 0) FROM messages), (SELECT coalesce(max(id), 0) FROM entries)"
        )
        return (row[0], row[1]) if row is not None else (0, 0)

    async def missing(self, model: int, after: int, until: int, *, entries: bool) -> list[Unembedded]:
        """The messages, or the entries, with ids above `after` up to `until` that have no vector, newest first."""
        window: dict[str, object] = {"model": model, "after": after, "until": until}
        rows = await self._database.rows(_ENTRIES if entries else _MESSAGES, window)
        return [Unembedded(*row) for row in rows]

    async def touched(self) -> list[Unembedded]:
        """Some entries that were changed since they were given a vector."""
        return [Unembedded(*row) for row in await self._database.rows(_TOUCHED, {"most": WINDOW})]

    async def write(self, model: int, made: Sequence[tuple[Unembedded, Vector]]) -> None:
        """Keep vectors; what was deleted or changed meanwhile is left out.

        Raises EmbedderError for vectors of another length than the model's former ones.
        """
        lengths = {await self.length(model), *(len(vector) for _, vector in made)} - {None}
        if len(lengths) > 1:
            raise EmbedderError(
                f"The embedder gives vectors of {' and '.join(sorted(map(str, lengths)))} numbers: if its model has "
                "changed, run `mneme reindex`, which has them all made anew."
            )
        rows: list[dict[str, object]] = []
        for unembedded, vector in made:
            rows.append(
                {
                    "row": unembedded.row,
                    "owner": unembedded.owner_id,
                    "conversation": unembedded.conversation_id,
                    "model": model,
                    "vector": quantised(vector).tobytes(),
                    "content": unembedded.content,
                }
            )
        async with self._database.transaction() as connection:
            await connection.executemany(_WRITE, rows)

    async def length(self, model: int) -> int | None:
        """How many numbers the vectors of a model have; None while there are none."""
        value: int | None = await self._database.value(
            "SELECT length(vector) FROM vectors WHERE model_id = ? LIMIT 1", (model,)
        )
        return value

    async def of_owner(self, owner: str, model: int, after: int) -> list[Row]:
        """An owner's vectors that came after one: id, key, conversation and vector, in that order.

        key: the row of a message; below 0, the row of an entry, which is a conversation of its own.
        """
        return await self._database.rows(
            "SELECT id, CASE WHEN row % 2 THEN row ELSE -row END, coalesce(conversation_id, -row), vector FROM vectors"
            " WHERE owner_id = (SELECT id FROM owners WHERE name = ?) AND model_id = ? AND id > ?",
            (owner, model, after),
        )

    async def count(self, owner: str, model: int) -> int:
        """How many vectors an owner has."""
        of = "WHERE owner_id = (SELECT id FROM owners WHERE name = ?) AND model_id = ?"
        return int(await self._database.value(f"SELECT count(*) FROM vectors {of}", (owner, model)))

    async def progress(self, name: str, owner: str | None = None) -> Embedded:
        """How far a model has come with what one owner has, or all."""
        mine = "" if owner is None else " AND {}.owner_id = (SELECT id FROM owners WHERE name = :owner)"
        row = await self._database.row(
            "SELECT (SELECT count(*) FROM vectors v"
            f" WHERE v.model_id = (SELECT id FROM embedding_models WHERE name = :model){mine.format('v')}),"
            " (SELECT count(*) FROM spoken m JOIN conversations c ON c.id = m.conversation_id"
            f" WHERE true{mine.format('c')}) + (SELECT count(*) FROM entries e WHERE e.deleted_at IS NULL"
            f" AND EXISTS (SELECT 1 FROM names n WHERE n.entry_id = e.id AND NOT n.is_alias){mine.format('e')})",
            {"model": name, "owner": owner},
        )
        return Embedded(row[0], row[1]) if row is not None else Embedded(0, 0)

    async def drop(self) -> None:
        """Take all vectors away; whoever makes them makes them anew."""
        await self._database.write("DELETE FROM vectors")


def embedded_form(source: str, content: str) -> str:
    """A message with who said it, or an entry with its name: the form that vectors are made of."""
    return f"{source.capitalize() if source.islower() else source}: {content}"


def quantised(vector: Vector) -> array[int]:
    """The direction of a vector, one byte a number."""
    scale = _LARGEST / (max(map(abs, vector), default=0.0) or 1.0)
    return array("b", [round(number * scale) for number in vector])


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
                results = await self._missing(after, until, entries=entries)
                self._seen[entries] = until
                if results:
                    return results
        touched = [unembedded for unembedded in await self._vectors.touched() if unembedded.row not in self._refused]
        if touched:
            return touched
        for entries in (False, True):
            while (until := self._left[entries]) > 0:
                results = await self._missing(max(0, until - WINDOW), until, entries=entries)
                self._left[entries] = max(0, until - WINDOW)
                if results:
                    return results
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
        for unembedded in batch:
            try:
                made += await self._of([unembedded])
            except EmbedderError as error:
                if not error.refused:
                    raise
                refused.append(unembedded)
                if not made and len(refused) > MOST_REFUSED:  # then it is not about the texts
                    raise
        self._refused |= {unembedded.row for unembedded in refused}
        log.warning("embedder_refused", texts=len(refused))
        return made

    async def _of(self, batch: Sequence[Unembedded]) -> list[tuple[Unembedded, Vector]]:
        vectors = await self._embedder.embed([unembedded.text for unembedded in batch])
        return [*zip(batch, vectors, strict=True)]
