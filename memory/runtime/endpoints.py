"""Facts about model endpoints: request parameters that they refuse, and their token limits."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.clock import Clock, from_text, now_text, to_text
from memory.store.database import Database

REFUSAL_LIFETIME = timedelta(days=30)
"""Refused parameters are tried again after this time, since servers are upgraded."""


@dataclass(frozen=True, slots=True)
class EndpointFacts:
    """Facts about one model at one endpoint.

    Attributes:
        refused: Names of the request parts to leave out.
        context_tokens: The context window for input and output. None if the endpoint doesn't say it.
        output_tokens: The maximum length of an answer. None if the endpoint doesn't say it.
        asked_at: When the endpoint was asked. None if it has to be asked, or asked again.
    """

    refused: frozenset[str] = frozenset()
    context_tokens: int | None = None
    output_tokens: int | None = None
    asked_at: datetime | None = None


class EndpointStore:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def read(self, url: str, model: str) -> EndpointFacts:
        row = await self._database.row(
            "SELECT refused, refused_at, context_tokens, output_tokens, asked_at FROM endpoints"
            " WHERE url = ? AND model = ?",
            (url, model),
        )
        if row is None:
            return EndpointFacts()
        is_recent = row["refused_at"] is not None and from_text(row["refused_at"]) + REFUSAL_LIFETIME > self._clock()
        return EndpointFacts(
            frozenset(json.loads(row["refused"])) if is_recent else frozenset(),
            row["context_tokens"],
            row["output_tokens"],
            from_text(row["asked_at"]) if row["asked_at"] else None,
        )

    async def learn_refused(self, url: str, model: str, refused: Collection[str]) -> None:
        await self._database.write(
            "INSERT INTO endpoints (url, model, refused, refused_at) VALUES (?, ?, ?, ?) ON CONFLICT (url, model)"
            " DO UPDATE SET refused = excluded.refused, refused_at = excluded.refused_at",
            (url, model, json.dumps(sorted(refused)), now_text(self._clock)),
        )

    async def learn_window(
        self, url: str, model: str, context_tokens: int | None, output_tokens: int | None, asked_at: datetime | None
    ) -> None:
        """Store the token limits of a model. If `asked_at` is None, the endpoint will be asked again."""
        await self._database.write(
            "INSERT INTO endpoints (url, model, context_tokens, output_tokens, asked_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (url, model) DO UPDATE SET context_tokens = excluded.context_tokens,"
            " output_tokens = excluded.output_tokens, asked_at = excluded.asked_at",
            (url, model, context_tokens, output_tokens, to_text(asked_at) if asked_at else None),
        )
