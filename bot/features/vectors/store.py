"""Stored vectors of messages and entries, and the background embedding that creates them.

A vector has one byte per dimension, scaled so that the largest is 127, since only its direction matters. Vectors are
derived data: triggers (memory/store/schema.sql) delete those of deleted or changed texts.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from memory.errors import MnemeError
from memory.store.database import Database, Row

Vector = Sequence[float]


class EmbedderError(MnemeError):
    """The embedder failed. `refused` means that it rejected these texts, while others may succeed."""

    def __init__(self, text: str, *, refused: bool = False) -> None:
        super().__init__(text)
        self.refused = refused


class Embedder(Protocol):
    """Computes embedding vectors of texts."""

    @property
    def name(self) -> str:
        """The name of the model. Vectors of different models can't be compared."""

    async def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> list[Vector]:
        """Return a vector for each text, all with the same dimensions and of any norm. Raises EmbedderError.

        Args:
            are_queries: Whether the texts are questions. Some models encode questions and documents differently.
        """


WINDOW = 500
"""Number of ids that one query checks for missing vectors."""
_MAX_COMPONENT = 127

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
# Skips texts that were deleted or changed while their vectors were computed.
_WRITE = """
INSERT OR REPLACE INTO vectors (row, owner_id, conversation_id, model_id, vector)
SELECT :row, :owner, :conversation, :model, :vector WHERE CASE WHEN :row % 2
    THEN EXISTS (SELECT 1 FROM spoken WHERE id = :row / 2 AND content = :content)
    ELSE EXISTS (SELECT 1 FROM entries e WHERE e.id = :row / 2 AND e.deleted_at IS NULL
        AND e.content || coalesce(char(10) || e.outcome, '') = :content) END
"""


@dataclass(frozen=True, slots=True)
class UnembeddedText:
    """A message or an entry without a vector. `row` is its row in the search index."""

    row: int
    owner_id: int
    conversation_id: int | None
    source: str
    content: str

    @property
    def text(self) -> str:
        return format_for_embedding(self.source, self.content)


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """Progress of the embedding: the number of vectors, and the total number of texts."""

    done: int
    total: int


class Vectors:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get_or_create_model_id(self, name: str) -> int:
        """Return the id of a model, and create it if necessary."""
        value = await self._database.value("SELECT id FROM embedding_models WHERE name = ?", (name,))
        if value is None:
            await self._database.write("INSERT OR IGNORE INTO embedding_models (name) VALUES (?)", (name,))
            value = await self._database.value("SELECT id FROM embedding_models WHERE name = ?", (name,))
        return int(value)

    async def read_newest_ids(self) -> tuple[int, int]:
        row = await self._database.row(
            "SELECT (SELECT coalesce(max(id), 0) FROM messages), (SELECT coalesce(max(id), 0) FROM entries)"
        )
        return (row[0], row[1]) if row is not None else (0, 0)

    async def list_missing(self, model: int, after: int, until: int, *, entries: bool) -> list[UnembeddedText]:
        """Return the messages or entries without a vector, with `after` < id <= `until`, newest first."""
        window: dict[str, object] = {"model": model, "after": after, "until": until}
        rows = await self._database.rows(_ENTRIES if entries else _MESSAGES, window)
        return [UnembeddedText(*row) for row in rows]

    async def list_touched(self) -> list[UnembeddedText]:
        return [UnembeddedText(*row) for row in await self._database.rows(_TOUCHED, {"most": WINDOW})]

    async def write(self, model: int, made: Sequence[tuple[UnembeddedText, Vector]]) -> None:
        """Store vectors, except for texts that were deleted or changed since.

        Raises EmbedderError if the number of dimensions differs from the model's stored vectors.
        """
        lengths = {await self.find_length(model), *(len(vector) for _, vector in made)} - {None}
        if len(lengths) > 1:
            raise EmbedderError(
                f"The embedder gives vectors of {' and '.join(sorted(map(str, lengths)))} numbers: if its model has "
                "changed, run `mneme reindex`, which creates them all again."
            )
        rows: list[dict[str, object]] = []
        for unembedded, vector in made:
            rows.append(
                {
                    "row": unembedded.row,
                    "owner": unembedded.owner_id,
                    "conversation": unembedded.conversation_id,
                    "model": model,
                    "vector": quantise(vector).tobytes(),
                    "content": unembedded.content,
                }
            )
        async with self._database.transaction() as connection:
            await connection.executemany(_WRITE, rows)

    async def find_length(self, model: int) -> int | None:
        """Return the number of dimensions of a model's vectors, or None if it has no vectors yet."""
        value: int | None = await self._database.value(
            "SELECT length(vector) FROM vectors WHERE model_id = ? LIMIT 1", (model,)
        )
        return value

    async def read_owner_vectors(self, owner: str, model: int, after: int) -> list[Row]:
        """Return id, key, conversation and vector of an owner's vectors with an id above `after`.

        The key is the row of a message, or the negated row of an entry. Each entry has a separate conversation number.
        """
        return await self._database.rows(
            "SELECT id, CASE WHEN row % 2 THEN row ELSE -row END, coalesce(conversation_id, -row), vector FROM vectors"
            " WHERE owner_id = (SELECT id FROM owners WHERE name = ?) AND model_id = ? AND id > ?",
            (owner, model, after),
        )

    async def count(self, owner: str, model: int) -> int:
        of = "WHERE owner_id = (SELECT id FROM owners WHERE name = ?) AND model_id = ?"
        return int(await self._database.value(f"SELECT count(*) FROM vectors {of}", (owner, model)))

    async def measure_progress(self, name: str, owner: str | None = None) -> EmbeddingProgress:
        mine = "" if owner is None else " AND {}.owner_id = (SELECT id FROM owners WHERE name = :owner)"
        row = await self._database.row(
            "SELECT (SELECT count(*) FROM vectors v"
            f" WHERE v.model_id = (SELECT id FROM embedding_models WHERE name = :model){mine.format('v')}),"
            " (SELECT count(*) FROM spoken m JOIN conversations c ON c.id = m.conversation_id"
            f" WHERE true{mine.format('c')}) + (SELECT count(*) FROM entries e WHERE e.deleted_at IS NULL"
            f" AND EXISTS (SELECT 1 FROM names n WHERE n.entry_id = e.id AND NOT n.is_alias){mine.format('e')})",
            {"model": name, "owner": owner},
        )
        return EmbeddingProgress(row[0], row[1]) if row is not None else EmbeddingProgress(0, 0)


def format_for_embedding(source: str, content: str) -> str:
    return f"{source.capitalize() if source.islower() else source}: {content}"


def quantise(vector: Vector) -> array[int]:
    """Scale a vector to one signed byte per dimension."""
    scale = _MAX_COMPONENT / (max(map(abs, vector), default=0.0) or 1.0)
    return array("b", [round(number * scale) for number in vector])


log = structlog.get_logger(__name__)

BATCH = 32
"""Texts per request to the embedder and per transaction."""
MAX_REFUSED = 3
"""Maximum number of refused texts at the start of a batch. If more are refused, the embedder itself has failed."""


class Embedding:
    """Embeds messages and entries in the background, new ones first. At each start all texts are checked again."""

    def __init__(self, vectors: Vectors, embedder: Embedder) -> None:
        self._vectors = vectors
        self._embedder = embedder
        self._model: int | None = None
        # Pairs of message and entry ids: the newest checked ids, and the newest old ids that are still unchecked.
        self._seen = [0, 0]
        self._left = [0, 0]
        self._waiting: list[UnembeddedText] = []
        self._refused: set[int] = set()
        self._wrote = False

    async def embed_batch(self) -> bool:
        """Embed a batch and return False if there was nothing to do.

        Raises EmbedderError or StoreError. The batch is retried at the next call.
        """
        if not self._waiting:
            self._waiting = await self._find_missing()
        batch = self._waiting[:BATCH]
        if not batch or self._model is None:
            return False
        made = await self._embed_batch(batch)
        await self._vectors.write(self._model, made)
        self._wrote = self._wrote or bool(made)
        del self._waiting[:BATCH]
        return True

    async def measure_progress(self, owner: str | None = None) -> EmbeddingProgress:
        return await self._vectors.measure_progress(self._embedder.name, owner)

    async def _find_missing(self) -> list[UnembeddedText]:
        newest = await self._vectors.read_newest_ids()
        model = await self._vectors.get_or_create_model_id(self._embedder.name)
        taken_away = self._wrote and await self._vectors.find_length(model) is None
        if self._model is None or taken_away:
            self._model, self._wrote = model, False
            self._seen, self._left = [*newest], [*newest]
        for entries in (False, True):
            while self._seen[entries] < newest[entries]:
                after, until = self._seen[entries], min(newest[entries], self._seen[entries] + WINDOW)
                results = await self._list_missing(after, until, entries=entries)
                self._seen[entries] = until
                if results:
                    return results
        touched = [
            unembedded for unembedded in await self._vectors.list_touched() if unembedded.row not in self._refused
        ]
        if touched:
            return touched
        for entries in (False, True):
            while (until := self._left[entries]) > 0:
                results = await self._list_missing(max(0, until - WINDOW), until, entries=entries)
                self._left[entries] = max(0, until - WINDOW)
                if results:
                    return results
        return []

    async def _list_missing(self, after: int, until: int, *, entries: bool) -> list[UnembeddedText]:
        return await self._vectors.list_missing(self._model or 0, after, until, entries=entries)

    async def _embed_batch(self, batch: Sequence[UnembeddedText]) -> list[tuple[UnembeddedText, Vector]]:
        """Embed a batch, and skip the texts that the embedder refuses."""
        try:
            return await self._embed_texts(batch)
        except EmbedderError as error:
            if not error.refused or len(batch) == 1:
                raise
        made: list[tuple[UnembeddedText, Vector]] = []
        refused: list[UnembeddedText] = []
        for unembedded in batch:
            try:
                made += await self._embed_texts([unembedded])
            except EmbedderError as error:
                if not error.refused:
                    raise
                refused.append(unembedded)
                if not made and len(refused) > MAX_REFUSED:
                    raise
        self._refused |= {unembedded.row for unembedded in refused}
        log.warning("embedder_refused", texts=len(refused))
        return made

    async def _embed_texts(self, batch: Sequence[UnembeddedText]) -> list[tuple[UnembeddedText, Vector]]:
        vectors = await self._embedder.embed([unembedded.text for unembedded in batch])
        return [*zip(batch, vectors, strict=True)]
