"""What is shown of a search: hits as a model or a person reads them, messages as their exchanges."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.clock import from_text
from memory.messages import Passage, Provenance, worst
from memory.retrieval.search import Filter
from memory.store.entry import TYPED_KINDS
from memory.text.overlap import wording
from memory.text.words import is_small_talk, query_stems

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from memory.log.sessions import Transcript
    from memory.retrieval.search import Found, Hit, Search
    from memory.store.database import Database, Row
    from memory.text.tokens import TokenCounter

MOST_SHOWN = 6
WORST_SHOWN = 0.4
"""A hit whose score is below this part of the best one's is not shown to the model."""
TEXT_CHARACTERS = 300
"""How much of each message or entry is shown."""
QUESTIONS = 10
"""How many hits may be the question itself without one that answers it being missed."""
QUERY_STEMS = 12
OCCURRENCES = 10
"""How many words of the question, and how many places of each, are looked for in a long text."""


@dataclass(frozen=True, slots=True)
class Recollection:
    """A hit as it is shown: an entry, or the whole exchange that a message is part of.

    provenance: the worst of what is shown; what is foreign is marked in the text too.
    """

    hit: Hit
    text: str
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class WholeEntry:
    """An entry with all that it says. about: since when it holds, what it is, and where it came from, in one line."""

    id: int
    name: str
    about: str
    text: str
    provenance: Provenance


class Recall:
    """Searches for a model's prompt and for people."""

    def __init__(self, search: Search, database: Database, counter: TokenCounter, zone: ZoneInfo) -> None:
        self._search = search
        self._database = database
        self._counter = counter
        self._zone = zone

    async def relevant(
        self, question: str, found: Found, visible: Transcript, tokens: int, *, whole_exchanges: bool = True
    ) -> Passage:
        """What was said and noted earlier about `question`, of what was found for it, in at most `tokens` in all.

        Leaves out what the visible conversation holds, and greetings and acknowledgements. whole_exchanges: an
        exchange is shown with its answer, not only with what the user said.
        """
        if is_small_talk(question):
            return Passage("")
        seen = {message.turn_id for message in visible.messages}
        hits = [
            hit
            for hit in found.passages
            if hit.turn_id not in seen and not is_small_talk(hit.content) and hit.content != visible.summary
        ]
        lines: list[str] = []
        provenances: list[Provenance] = []
        for shown in await self._shown(question, hits, MOST_SHOWN, whole_exchanges=whole_exchanges):
            line = f"- {shown.text}"
            tokens -= self._counter.text(line) + 1
            if tokens < 0 or shown.hit.score < hits[0].score * WORST_SHOWN:
                break
            lines.append(line)
            provenances.append(shown.provenance)
        return Passage("\n".join(lines), worst(provenances))

    async def recall(self, query: str, owner: str | None, only: Filter, limit: int) -> list[Recollection]:
        """What fits `query`, best first; an exchange once, however many of its messages fit."""
        return await self._shown(query, await self.hits(query, owner, only, limit * 3), limit)

    async def called(self, name: str, owner: str, only: Filter) -> WholeEntry | None:
        """The entry that has `name` as its name or as an alias, whole."""
        hit = next(iter(await self._search.named(name, owner, only=only)), None)
        if hit is None or hit.name is None:
            return None
        said = await self._database.row(
            "SELECT m.id, m.created_at FROM entries e JOIN messages m ON m.id = e.source_message_id WHERE e.id = ?",
            (hit.id,),
        )
        source = f"by {hit.source} {self._day(hit.created_at)}"
        if said is not None:
            source += f", from message {said['id']} of {self._day(from_text(said['created_at']))}"
        text = f"{hit.content}\nOutcome: {hit.outcome}" if hit.outcome else hit.content
        return WholeEntry(hit.id, hit.name, f"{self._about(hit)} ({source})", text, hit.provenance)

    async def hits(self, query: str, owner: str | None, only: Filter, limit: int) -> list[Hit]:
        """What is called `query`, then what fits it, best first. That it was asked before is no answer to it."""
        found = await self._search.find(query, owner, only=only, limit=limit + QUESTIONS)
        called = await self._search.named(query, owner, only=only)
        names = {hit.id for hit in called}
        best = max((hit.score for hit in found), default=0.0)
        asked = wording(query)
        return [
            *(replace(hit, score=best) for hit in called),
            *(hit for hit in found if (hit.id not in names if hit.turn_id is None else wording(hit.content) != asked)),
        ][:limit]

    async def semantic_scoped(
        self, owner: str, path: str, limit: int, kinds: Collection[str] = TYPED_KINDS
    ) -> list[Recollection]:
        """The memories for a path (S4): those whose scope it lies in, then those that speak of it.

        The former by priority and strength, the latter by how well they fit.
        """
        only = Filter(kinds=kinds, archived=False, current=True)
        in_scope = await self._search.in_scope(owner, path, kinds, limit)
        words = " ".join(part for part in re.split(r"[\\/._-]+", path) if part)
        speaking = await self._search.find(words, owner, only=only, limit=limit)
        seen = {hit.id for hit in in_scope}
        hits = [*in_scope, *(hit for hit in speaking if hit.id not in seen and not hit.scope)]
        return await self._shown(path, hits, limit)

    async def _shown(
        self, query: str, hits: Iterable[Hit], limit: int, *, whole_exchanges: bool = True
    ) -> list[Recollection]:
        """At most `limit` hits with the text that shows them, each with its date and source; an exchange once."""
        once: dict[tuple[bool, int], Hit] = {}
        for hit in hits:
            once.setdefault((hit.turn_id is None, hit.id if hit.turn_id is None else hit.turn_id), hit)
        chosen = list(once.values())[:limit]
        spoken = await self._spoken([hit.turn_id for hit in chosen if hit.turn_id is not None], whole_exchanges)
        sought = query_stems(query)[:QUERY_STEMS]
        return [
            self._entry(hit, sought) if hit.turn_id is None else self._exchange(hit, spoken[hit.turn_id], sought)
            for hit in chosen
        ]

    async def _spoken(self, turns: list[int], whole: bool) -> dict[int, list[Row]]:
        """What was said in turns, by the turn; whole: the answers too."""
        spoken: dict[int, list[Row]] = {turn: [] for turn in turns}
        if not turns:
            return spoken
        rows = await self._database.rows(
            "SELECT turn_id, role, speaker, content, coalesce(provenance, 'typed') AS provenance FROM spoken"
            f" WHERE turn_id IN ({', '.join(map(str, turns))}) AND (? OR role = 'user') ORDER BY id",
            (whole,),
        )
        for row in rows:
            spoken[row["turn_id"]].append(row)
        return spoken

    def _entry(self, hit: Hit, sought: list[str]) -> Recollection:
        ended = f" Outcome: {_excerpt(hit.outcome, sought)}" if hit.outcome else ""
        return Recollection(hit, f"{self._about(hit)} {_excerpt(hit.content, sought)}{ended}", hit.provenance)

    def _exchange(self, hit: Hit, rows: list[Row], sought: list[str]) -> Recollection:
        provenances = [Provenance(row["provenance"]) for row in rows]
        said = [
            f"{row['speaker'] or row['role'].capitalize()}{provenance.mark}: {_excerpt(row['content'], sought)}"
            for row, provenance in zip(rows, provenances, strict=True)
        ]
        text = f"[{self._day(hit.created_at)}, conversation] {' | '.join(said)}"
        return Recollection(hit, text, worst(provenances))

    def _about(self, hit: Hit) -> str:
        return f"[{self._validity(hit)}, {hit.kind} {hit.name}]{hit.provenance.mark}"

    def _validity(self, hit: Hit) -> str:
        """Since when an entry holds, of one that does no longer also until when, and whether it is confirmed."""
        since = hit.valid_from or hit.created_at
        if hit.unconfirmed is not None:
            return f"unconfirmed, {self._day(since)}"
        if hit.valid_until is not None and hit.superseded_by is None:
            return f"{self._day(since)} until {self._day(hit.valid_until)}"
        if hit.superseded_by is None:
            return self._day(since)
        if hit.superseded_at is None:  # its successor was purged
            return f"superseded, from {self._day(since)}"
        return f"superseded, {self._day(since)} to {self._day(hit.superseded_at)}"

    def _day(self, moment: datetime) -> str:
        return f"{moment.astimezone(self._zone):%Y-%m-%d %H:%M}"


def _excerpt(text: str, sought: list[str]) -> str:
    """`text` in one line; of a long one the part that holds most of what is sought."""
    line = " ".join(text.split())
    if len(line) <= TEXT_CHARACTERS:
        return line
    lower = line.lower()
    found = [
        (at.start(), piece)
        for piece in sought
        for at in itertools.islice(re.finditer(re.escape(piece), lower), OCCURRENCES)
    ]
    before = TEXT_CHARACTERS // 4

    def held(start: int) -> int:
        return len({piece for at, piece in found if start <= at < start + TEXT_CHARACTERS - before})

    best = max((at for at, _ in sorted(found)), key=held, default=0)
    start = max(0, min(best - before, len(line) - TEXT_CHARACTERS))
    end = start + TEXT_CHARACTERS
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
