"""What a fact is held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a fact is held against.

    quote: the cited words. message: the whole message they stand in. before: what was said before it, nearest first;
    known: what is remembered already. speaker: who said or affirmed it, in a group. at: when, on their clock. is_users:
    whether it is the user's own message, and no sentence of the assistant that they affirmed. others: who else speaks.
    foreign: what others wrote that stands among it; nothing comes from there.
    """

    quote: str
    message: str
    before: tuple[str, ...]
    known: tuple[str, ...]
    at: datetime
    speaker: str | None = None
    is_users: bool = True
    others: frozenset[str] = frozenset()
    foreign: str = ""

    @property
    def said(self) -> str:
        """All that numbers and names may come from."""
        return "\n".join((self.message, *self.before, *self.known))
