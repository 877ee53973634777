"""Typed memories (S4): a new one is written, a known one reinforced, a corrected one superseded."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from config.texts import _
from memory.capture.capture import restated
from memory.errors import MemoryRefused
from memory.facts.fact_store import Learned
from memory.search.search import Filter
from memory.store.entry import PRIORITY_RANK, TYPED_KINDS, Author, Entry, Kind, Operation, Priority, default_priority
from memory.store.entry_rows import ENTRY_ROWS, entry_of, usable_content
from memory.store.scope import usable_scope
from memory.text.naming import telling_words
from memory.text.overlap import share, stems, with_forms, wording
from memory.text.people import names_in, people_in

if TYPE_CHECKING:
    from memory.ledger.change import Change
    from memory.ledger.ledger import Ledger
    from memory.search.search import Search
    from memory.store.database import Database
    from memory.store.entry import NewEntry

ALIKE = 10
"""Memories that are looked at for one that says the same, or that is corrected."""
SHORTEST_SHARE = 1 / 3
"""The part of a memory's telling words that what corrects it must share, where it does not name the wrong ones."""
CLEARLY = 1.5
"""How many times better the memory that is corrected fits than the next one."""

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
# a word, or a character where words are not parted
_PIECE = re.compile("[\u3040-\u30ff\u3400-\u9fff]|[^\\W\u3040-\u30ff\u3400-\u9fff]+")
_SHORTEST_FRAME = 2
"""Pieces at the beginning that two sentences share where one says otherwise what the other says: "I prefer"."""
_LONGEST_END = 5
"""Pieces in which they may then differ."""


class Learning:
    """Learns typed memories, each in one transaction that one undo takes back."""

    def __init__(self, database: Database, search: Search, ledger: Ledger) -> None:
        self._database = database
        self._search = search
        self._ledger = ledger

    async def learn(self, owner: str, new: NewEntry, replaces: str | None = None) -> Learned:
        """Write a memory in a change of its own. replaces: the name of the one that it supersedes.

        What is known in the same words is reinforced, and its decay begins anew. Raises MemoryRefused for what may
        not be stored, a scope that is no pattern, and a name that nothing has.
        """
        async with self._ledger.change(owner, Operation.LEARN, new.author, trusted=new.trusted) as change:
            learned = await self.learn_in(change, owner, new, replaces)
        return replace(learned, change=change.number)

    async def learn_in(self, change: Change, owner: str, new: NewEntry, replaces: str | None = None) -> Learned:
        """Write a memory as a part of a change; what is refused leaves the rest of the change as it was."""
        new = replace(new, content=usable_content(new.content), scope=usable_scope(new.scope))
        former = await _replaceable(change, replaces) if replaces else None
        # looked for in here, so that two who say the same at once don't write it twice
        known = await self._known(owner, new)
        if known is not None:
            return await _known_again(change, known, former, new)
        if former is None:
            return Learned(await change.add(new))
        # the kind that nobody gave is that of what is replaced
        new = replace(new, kind=former.kind) if new.kind == Kind.FACT else new
        return Learned(await change.supersede(former, new), superseded=former)

    async def reinforce_known(self, owner: str, content: str) -> Entry | None:
        """What is known in just these words, reinforced: the user asked to have it remembered. None when nothing is."""
        known = next(iter(await self._saying(owner, content)), None)
        if known is None:
            return None
        async with self._ledger.change(owner, Operation.LEARN, Author.USER) as change:
            return await change.reinforce(known)

    async def reinforce_changed(self, owner: str, corrects: str, becomes: str) -> Entry | None:
        """What this change has made of a memory before, reinforced: it is told once more. None when it is new."""
        ids = await self._search.scores(corrects, owner, Filter(kinds=TYPED_KINDS), ALIKE)
        rows = await self._database.rows(
            f"{ENTRY_ROWS} WHERE e.superseded_by IS NOT NULL AND e.id IN ({', '.join(map(str, ids))})"
        )
        for said in (restated(row["content"], corrects, becomes) for row in rows):
            if said is not None and (known := await self.reinforce_known(owner, said)) is not None:
                return known
        return None

    async def corrected_by(
        self, owner: str, text: str, corrects: str | None, *, of_oneself: bool = False, speaker: str | None = None
    ) -> Entry | None:
        """The memory that `text` corrects; None unless it is clear which one.

        corrects: the words that are wrong. of_oneself: who says that they moved does not say so of their mother, nor,
        with several `speaker`s in a group, of another one.
        """
        alike = await self._alike(owner, f"{with_forms(corrects or '')} {text}")
        if corrects:
            wrong = stems(corrects)
            alike = [entry for entry in alike if wrong and wrong.issubset(stems(entry.content))]
        if of_oneself:
            alike = [entry for entry in alike if not _is_of_another(entry, text, corrects or "", speaker)]
        said = stems(text)
        shares = sorted(((share(entry.content, said), entry.id, entry) for entry in alike), reverse=True)
        if not shares or shares[0][0] < _shortest_share(shares[0][2].content):
            return None
        if not corrects and len(said & stems(shares[0][2].content)) < 2:
            return None
        return shares[0][2] if len(shares) == 1 or shares[0][0] >= CLEARLY * shares[1][0] else None

    async def said_otherwise(self, owner: str, text: str, speaker: str | None = None) -> Entry | None:
        """The memory that says the same of something else: "I prefer tea" for "I prefer coffee".

        None unless it is the only one. speaker: who says so in a group.
        """
        said = f"{speaker}: {text}" if speaker else text
        alike = [entry for entry in await self._alike(owner, text) if _is_said_alike(entry.content, said)]
        return alike[0] if len(alike) == 1 else None

    async def _known(self, owner: str, new: NewEntry) -> Entry | None:
        saying = await self._saying(owner, new.content)
        return next((e for e in saying if e.kind == new.kind and (e.scope or None) == new.scope), None)

    async def _saying(self, owner: str, content: str) -> list[Entry]:
        alike = await self._alike(owner, content, archived=None)
        return [entry for entry in alike if wording(entry.content) == wording(content)]

    async def _alike(self, owner: str, text: str, *, archived: bool | None = False) -> list[Entry]:
        """The typed memories that still hold and that speak of the same."""
        only = Filter(kinds=TYPED_KINDS, archived=archived, current=True)
        ids = ", ".join(map(str, await self._search.scores(text, owner, only, ALIKE)))
        return [entry_of(row) for row in await self._database.rows(f"{ENTRY_ROWS} WHERE e.id IN ({ids})")]


async def _known_again(change: Change, known: Entry, former: Entry | None, new: NewEntry) -> Learned:
    """Reinforce what is known; where it is to replace another memory, it takes that one's place.

    What is now said with more weight than it was, such as by the user and not by the model, gets that weight.
    """
    given = new.priority or default_priority(new.kind)
    priority = min(given, Priority(known.priority), key=PRIORITY_RANK.__getitem__)
    weightier = priority != known.priority or (new.trusted and not known.trusted)
    superseded = former if former is not None and former.id != known.id else None
    if weightier:
        await change.weigh(known, priority, as_told=True)
    if superseded is not None:
        await change.supersede_by_known(superseded, known)
    return Learned(await change.reinforce(known), known=not weightier, superseded=superseded)


async def _replaceable(change: Change, name: str) -> Entry:
    former = await change.find(name)
    if former.superseded_by is not None:
        raise MemoryRefused(_("{name} was superseded already: replace the one that took its place.", name=former.name))
    if former.kind not in TYPED_KINDS:
        article = "an" if former.kind[0] in "aeiou" else "a"
        raise MemoryRefused(f"{former.name} is {article} {former.kind}, which no memory replaces: change it instead.")
    return former


def _is_of_another(entry: Entry, text: str, corrects: str, speaker: str | None) -> bool:
    """Whether a memory speaks of somebody else than the one who says `text`, as far as its words tell."""
    if not people_in(f"{entry.subject} {entry.content}") <= people_in(text):
        return True
    if entry.author == Author.CAPTURE and not entry.subject:
        return speaker is not None and not entry.content.startswith(f"{speaker}: ")
    named = names_in(entry.content.replace(corrects, " ")) - names_in(text) - names_in(speaker or "")
    # in a private chat the user's own name may stand there; what is known of others has them as its subject
    is_of_user = speaker is None and entry.subject is not None
    return any(name in (entry.subject or "") for name in named) if is_of_user else bool(named)


def _is_said_alike(known: str, said: str) -> bool:
    """Whether two sentences are one but for the few words at their ends, and what they share tells something."""
    before, after = (_PIECE.findall(text.casefold()) for text in (known, said))
    shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    longest = max(len(before), len(after)) - shared
    if shared < _SHORTEST_FRAME or not 0 < longest <= _LONGEST_END:
        return False
    # a character is no word: two of them say little
    return shared > _SHORTEST_FRAME if _UNSPACED.search(after[0]) else bool(telling_words(" ".join(after[:shared]), 1))


def _shortest_share(content: str) -> float:
    # without spaces each pair of characters counts, also those that two words make where they meet
    return SHORTEST_SHARE / 2 if _UNSPACED.search(content) else SHORTEST_SHARE
