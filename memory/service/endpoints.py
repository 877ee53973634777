"""What was found out about the models' endpoints: what they refuse in a request, and how much they read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memory.clock import Clock, from_text, now_text, to_text

if TYPE_CHECKING:
    from collections.abc import Collection

    from memory.store.database import Database

REFUSALS_LAST = timedelta(days=30)
"""Servers are upgraded: what one refused this long ago is tried again."""


@dataclass(frozen=True, slots=True)
class EndpointFacts:
    """What is known of one model at one endpoint."""

    refused: frozenset[str] = frozenset()  # names of what a request must do without
    context_tokens: int | None = None  # all that it reads and writes at once; None: the endpoint does not say
    output_tokens: int | None = None  # its longest answer; None: the endpoint does not say
    asked_at: datetime | None = None  # None: to be asked, for the first time or since what it said was preliminary


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
        lasts = row["refused_at"] is not None and from_text(row["refused_at"]) + REFUSALS_LAST > self._clock()
        return EndpointFacts(
            frozenset(json.loads(row["refused"])) if lasts else frozenset(),
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
        """Keep how much the endpoint says that the model reads and writes; asked_at None: it is to be asked again."""
        await self._database.write(
            "INSERT INTO endpoints (url, model, context_tokens, output_tokens, asked_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (url, model) DO UPDATE SET context_tokens = excluded.context_tokens,"
            " output_tokens = excluded.output_tokens, asked_at = excluded.asked_at",
            (url, model, context_tokens, output_tokens, to_text(asked_at) if asked_at else None),
        )
