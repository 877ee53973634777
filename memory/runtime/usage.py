"""The log of model calls, with tokens and cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from config.prices import Price
from memory.clock import Clock, TimezoneLookup, now_text, to_text
from memory.runtime.preferences import get_chat
from memory.store.database import Database

PriceOf = Callable[[str], "Price | None"]
"""Returns the price of a model by its name, or None if it is unknown."""


@dataclass(frozen=True, slots=True)
class TokenUse:
    """The tokens of one model call.

    Attributes:
        cached_tokens: The part of prompt_tokens that the provider had cached.
        cost_usd: The cost in US dollars as reported by the provider, which is preferred over a computed one. None if it
            is not reported.
    """

    model: str
    purpose: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    session_id: str | None = None
    cost_usd: float | None = None

    @property
    def reported_cost(self) -> float | None:
        """Return the reported cost if it is a finite, non-negative number, otherwise None."""
        cost = self.cost_usd
        return cost if cost is not None and math.isfinite(cost) and cost >= 0 else None


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """The total of model calls.

    Attributes:
        cost: US dollars of the calls with a reported cost or a known price.
        priced: Whether any call had a cost.
        unpriced: The models without a known price.
    """

    tokens: int
    cost: float
    priced: bool
    unpriced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of a chat per day, in its time zone, in tokens and US dollars. None means unlimited."""

    tokens: int | None = None
    cost: float | None = None

    def is_used_up(self, spent: UsageTotal) -> bool:
        return (self.tokens is not None and spent.tokens >= self.tokens) or (
            self.cost is not None and spent.cost >= self.cost
        )


class UsageLog:
    """The log of all model calls of the installation, including background work.

    Args:
        price_of: Returns prices. None means that no prices are known.
        quota: The limits of each chat per day.
        zone_of: Returns the time zone of a chat. None means the zone of the installation.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        zone: ZoneInfo,
        price_of: PriceOf | None = None,
        quota: Quota | None = None,
        zone_of: TimezoneLookup | None = None,
    ) -> None:
        self.quota = quota or Quota()
        self._zone_of = zone_of
        self._database = database
        self._clock = clock
        self._zone = zone
        self._price_of = price_of

    def find_price(self, model: str) -> Price | None:
        return self._price_of(model) if self._price_of is not None else None

    def compute_cost(self, use: TokenUse) -> float | None:
        """Return the reported cost of a call in US dollars, or else its cost at today's price."""
        return use.reported_cost if use.reported_cost is not None else self._estimate_cost(use)

    def _estimate_cost(self, use: TokenUse) -> float | None:
        price = self.find_price(use.model)
        return price.compute(use.prompt_tokens, use.completion_tokens, use.cached_tokens) if price is not None else None

    async def record(self, use: TokenUse) -> None:
        await self._database.write(
            "INSERT INTO usage (at, session_id, purpose, model, prompt_tokens, cached_tokens, completion_tokens, cost,"
            " told_cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                now_text(self._clock),
                use.session_id,
                use.purpose,
                use.model,
                use.prompt_tokens,
                use.cached_tokens,
                use.completion_tokens,
                self._estimate_cost(use),
                use.reported_cost,
            ),
        )

    async def count_tokens_today(self) -> int:
        """Return the prompt and completion tokens of all calls since midnight in the installation's zone."""
        return (await self.sum_today()).tokens

    async def count_tokens_today_for(self, purpose: str) -> int:
        query = "SELECT coalesce(sum(prompt_tokens + completion_tokens), 0) FROM usage WHERE at >= ? AND purpose = ?"
        return int(await self._database.value(query, (self._get_midnight(self._zone), purpose)) or 0)

    async def has_used_up(self, session_id: str) -> bool:
        return self.quota != Quota() and self.quota.is_used_up(await self.sum_today(get_chat(session_id)))

    async def list_chats_today(self) -> list[str]:
        """Return the chats with usage since midnight in the installation's zone, highest usage first."""
        rows = await self._database.rows(
            "SELECT session_id, sum(prompt_tokens + completion_tokens) AS tokens FROM usage"
            " WHERE at >= ? AND session_id IS NOT NULL GROUP BY session_id ORDER BY tokens DESC",
            (self._get_midnight(self._zone),),
        )
        return list(dict.fromkeys(get_chat(row["session_id"]) for row in rows))

    async def sum_today(self, chat: str | None = None) -> UsageTotal:
        """Return the total since midnight, of all calls or of one chat in its own time zone."""
        zone = self._zone_of(chat) if chat is not None and self._zone_of is not None else self._zone
        rows = await self._database.rows(
            "SELECT model, coalesce(told_cost, cost) IS NOT NULL AS priced,"
            " sum(prompt_tokens + completion_tokens) AS tokens, total(coalesce(told_cost, cost)) AS cost"
            " FROM usage WHERE at >= :since AND"
            " (:chat IS NULL OR session_id = :chat OR session_id GLOB :chat || ':*')"
            " GROUP BY model, priced ORDER BY min(id)",
            {"since": self._get_midnight(zone), "chat": chat},
        )
        return UsageTotal(
            tokens=sum(row["tokens"] for row in rows),
            cost=sum(row["cost"] for row in rows),
            priced=any(row["priced"] for row in rows),
            unpriced=tuple(row["model"] for row in rows if not row["priced"]),
        )

    def _get_midnight(self, zone: ZoneInfo) -> str:
        now = self._clock().astimezone(zone)
        # With fold=0 the day starts at the first midnight if clocks go back over midnight.
        return to_text(now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0))
