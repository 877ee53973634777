"""What the models have cost, in tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.clock import Clock, now_text, to_text

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from memory.store.database import Database


@dataclass(frozen=True, slots=True)
class TokenUse:
    """One model call's tokens. cached_tokens are the part of prompt_tokens that the provider had cached."""

    model: str
    purpose: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    session_id: str | None = None


class UsageLog:
    """Every model call of the installation, background work included."""

    def __init__(self, database: Database, clock: Clock, zone: ZoneInfo) -> None:
        self._database = database
        self._clock = clock
        self._zone = zone

    async def record(self, use: TokenUse) -> None:
        """Add one model call."""
        await self._database.write(
            "INSERT INTO usage (at, session_id, purpose, model, prompt_tokens, cached_tokens, completion_tokens)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                now_text(self._clock),
                use.session_id,
                use.purpose,
                use.model,
                use.prompt_tokens,
                use.cached_tokens,
                use.completion_tokens,
            ),
        )

    async def tokens_today(self) -> int:
        """Prompt and completion tokens of all calls since midnight in the installation's zone."""
        now = self._clock().astimezone(self._zone)
        # fold: where clocks go back over midnight the day begins at the first of the two
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        found = await self._database.value(
            "SELECT coalesce(sum(prompt_tokens + completion_tokens), 0) FROM usage WHERE at >= ?",
            (to_text(midnight),),
        )
        return int(found)
