"""What was found, as the lines of a prompt: as many as its tokens hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date, datetime

    from memory.search.search import Hit
    from memory.search.showing import Showing
    from memory.text.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class _Told:
    """An exchange: the number of its message, its moment, what was said, and all of that in one line."""

    message: int
    at: datetime
    said: str
    text: str


class Lines:
    """Lines in at most so many tokens, in the order in which they are added.

    What was said in one conversation on one day stands together, in the order of time, under its day: a day costs its
    tokens once, and what belongs together is read together.
    """

    def __init__(self, tokens: int, counter: TokenCounter, showing: Showing) -> None:
        self.left = tokens
        self._counter = counter
        self._showing = showing
        self._talks: dict[tuple[int | None, date] | int, tuple[_Told, ...]] = {}
        self._texts: dict[tuple[int | None, date] | int, str] = {}

    def add(self, hit: Hit, text: str, said: str | None) -> bool:
        """Whether there was still room for a hit. said: of an exchange what was said."""
        if said is None:
            return self._put(-len(self._texts), f"- {text}")
        talk = hit.conversation_id, hit.created_at.astimezone(self._showing.zone).date()
        told = (*self._talks.get(talk, ()), _Told(hit.id, hit.created_at, said, text))
        told = tuple(sorted(told, key=lambda one: one.message))
        added = self._put(talk, self._worded(told))
        if added:
            self._talks[talk] = told
        return added

    @property
    def text(self) -> str:
        """All of them."""
        return "\n".join(self._texts.values())

    def _put(self, key: tuple[int | None, date] | int, text: str) -> bool:
        known = self._texts.get(key)
        cost = self._cost(text) - (self._cost(known) if known is not None else 0)
        if cost > self.left:
            return False
        self.left -= cost
        self._texts[key] = text
        return True

    def _worded(self, told: tuple[_Told, ...]) -> str:
        if len(told) == 1:
            return f"- {told[0].text}"
        lines = [f"  {self._showing.hour(one.at)} {one.said}" for one in told]
        return "\n".join([f"- {self._showing.day(told[0].at)}", *lines])

    def _cost(self, text: str) -> int:
        return self._counter.text(text) + 1
