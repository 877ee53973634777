"""What a model says it learned, with what it gives as evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from memory.store.entry import Kind


@dataclass(frozen=True, slots=True)
class Citation:
    """What a model gives as evidence. message: its number in the prompt, from 1; None where it named none."""

    message: int | None
    quote: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Something learned: what it is about, what is said of it, its kind, since and until when, and on what evidence.

    person: whom it is about, where several people speak.
    """

    subject: str
    text: str
    kind: Kind
    since: date | None = None
    until: date | None = None
    citation: Citation | None = None
    person: str | None = None
