"""What was found, as a line that a model or a person reads: with its date, what it is, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.messages import Provenance, Role, worst
from memory.search.excerpt import TEXT_CHARACTERS, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from memory.search.search import Hit
    from memory.store.database import Row
    from memory.text.sought import QueryTerms

_ROLES = frozenset(Role)


@dataclass(frozen=True, slots=True)
class Showing:
    """Words what was found; moments are told on the clock of `zone`."""

    zone: ZoneInfo

    def entry(self, hit: Hit, sought: QueryTerms, most: int = TEXT_CHARACTERS) -> str:
        """An entry, with at most so many characters of its text."""
        ended = f" Outcome: {excerpt(hit.outcome, sought, most)}" if hit.outcome else ""
        return f"{self.about(hit)} {excerpt(hit.content, sought, most)}{ended}"

    def exchange(self, hit: Hit, said: str, *, numbered: bool = False) -> str:
        """What was said in the turn of a message, with its moment. numbered: with its number."""
        number = f", message {hit.id}" if numbered else ""
        return f"[{self.moment(hit.created_at)}, conversation{number}] {said}"

    def said(self, rows: Iterable[Row], sought: QueryTerms) -> tuple[str, Provenance]:
        """What was said in a turn, and the worst provenance in it."""
        said = [
            said_by(row["speaker"] or row["role"], Provenance(row["provenance"]), excerpt(row["content"], sought))
            for row in rows
        ]
        return " | ".join(said), worst(Provenance(row["provenance"]) for row in rows)

    def day(self, moment: datetime) -> str:
        """What stands over several exchanges of a conversation, of one day."""
        return f"[{moment.astimezone(self.zone):%Y-%m-%d}, conversation]"

    def hour(self, moment: datetime) -> str:
        """The time on a day."""
        return f"{moment.astimezone(self.zone):%H:%M}"

    def about(self, hit: Hit) -> str:
        """Since when an entry holds, and what it is and is called."""
        return f"[{self._validity(hit)}, {hit.kind} {hit.name}]{hit.provenance.mark}"

    def moment(self, moment: datetime) -> str:
        """A day and the time of it."""
        return f"{moment.astimezone(self.zone):%Y-%m-%d %H:%M}"

    def _validity(self, hit: Hit) -> str:
        """Since when an entry holds, of one that does no longer also until when, and whether it is confirmed."""
        since = hit.valid_from or hit.created_at
        if hit.unconfirmed is not None:
            return f"unconfirmed, {self.moment(since)}"
        if hit.valid_until is not None and hit.superseded_by is None:
            return f"{self.moment(since)} until {self.moment(hit.valid_until)}"
        if hit.superseded_by is None:
            return self.moment(since)
        if hit.superseded_at is None:  # its successor was purged
            return f"superseded, from {self.moment(since)}"
        return f"superseded, {self.moment(since)} to {self.moment(hit.superseded_at)}"


def said_by(source: str, provenance: Provenance, text: str) -> str:
    """A message with who said it: a speaker in a group, or else the role."""
    return f"{source.capitalize() if source in _ROLES else source}{provenance.mark}: {text}"
