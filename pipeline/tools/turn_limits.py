"""The limits of a turn, and what of them is used."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.prompt.budget import Budget


@dataclass(frozen=True, slots=True)
class TurnLimits:
    model_calls: int
    tool_calls: int
    seconds: float


@dataclass(slots=True)
class TurnUsage:
    budget: Budget
    limit: asyncio.Timeout
    model_calls: int = 0
    tool_calls: int = 0
    last_call: tuple[str, str] | None = None
    repeats: int = 0  # How often the last call was made in a row.

    @contextlib.contextmanager
    def untimed(self) -> Iterator[None]:
        """Stop the time limit of the turn while the block runs, so that a person can take their time to answer."""
        loop, end = asyncio.get_running_loop(), self.limit.when()
        started = loop.time()
        self.limit.reschedule(None)
        try:
            yield
        finally:
            if end is not None:
                self.limit.reschedule(end + loop.time() - started)
