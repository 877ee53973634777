"""Finds the memories that a new statement may correct, without a model.

`find_contradicted` returns the memories that leave the prompts before a model has judged, so it is strict and goes by
the words of the statement. `find_comparable` returns the memories that a model chooses from, so it is broad and
includes memories in other languages.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from bot.features.capture.statements import Capture
from memory.facts.fact import Doubt
from memory.facts.rules import extract_subject, read_rules
from memory.search.search import Search
from memory.search.types import Filter
from memory.store.database import Database
from memory.store.entry import TYPED_KINDS, Entry, Kind
from memory.store.entry_rows import CURRENT, read_entries, sql_list
from memory.text.query_terms import QueryTerms
from memory.text.values import differ_in_value, insert_value
from memory.text.wording import split_comparable

MAX_COMPARABLE = 60
"""Memories that are shown to the judging model."""
MAX_DOUBTED = 3
"""Memories that one statement may keep out of the prompts before it is judged."""
MIN_SHARED = 0.5
"""Minimum share of common telling words, of the longer sentence, for one sentence to correct the other."""
MIN_SHARED_IN_TALK = 0.25
"""The same for memories that the conversation has just been about."""
_MAX_ALIKE = 15
_KINDS = (*TYPED_KINDS, Kind.NOTE)


class Corrections:
    def __init__(self, database: Database, search: Search) -> None:
        self._database = database
        self._search = search

    async def find_ended_rules(self, owner: str, sentence: str) -> list[Entry]:
        """Return the rules that a sentence such as "use emojis again" ends, judged by common words."""
        rules = await read_rules(self._database, owner)
        return [rule for rule in rules if _compute_shared_part(rule.content, sentence) >= MIN_SHARED][:MAX_DOUBTED]

    async def find_contradicted(
        self, owner: str, capture: Capture, in_talk: Collection[int] = (), messages: Sequence[int] = ()
    ) -> list[Entry]:
        """Return the memories that a statement surely contradicts.

        Args:
            in_talk: Ids of memories that the last answer stated.
            messages: Ids of the latest messages of the user in this conversation.
        """
        if capture.is_standing:
            rules = await read_rules(self._database, owner)
            return [rule for rule in rules if differ_in_value(rule.content, capture.text)][:MAX_DOUBTED]
        if not capture.can_replace:
            return []
        pool = await self._find_similar(owner, [f"{capture.text} {capture.corrects or ''}"], in_talk, messages)
        if capture.corrects is not None:
            former = QueryTerms(capture.corrects)
            holding = [entry for entry in pool if former.compute_coverage(entry.content) == 1]
            return [entry for entry in holding if not _says(entry, capture.becomes)][:MAX_DOUBTED]
        rated = [(self._rate(entry, capture, in_talk, messages), entry.id, entry) for entry in pool]
        best = max(rated, key=lambda item: item[:2], default=None)
        return [best[2]] if best is not None and best[0] > 0 else []

    async def find_comparable(self, owner: str, texts: Sequence[str], doubted: Collection[int] = ()) -> list[Entry]:
        """Return the memories to compare with `texts`: rules, similar, doubted and newest memories."""
        alike = await self._find_similar(owner, texts, doubted, (), also_doubted=True)
        newest = await read_entries(
            self._database.rows,
            f"e.kind IN ({sql_list(_KINDS)}) AND {CURRENT} AND o.name = ? ORDER BY e.id DESC LIMIT ?",
            (owner, MAX_COMPARABLE),
        )
        first = [entry for entry in alike if entry.id in doubted]
        every = {entry.id: entry for entry in (*first, *await read_rules(self._database, owner), *alike, *newest)}
        return list(every.values())[:MAX_COMPARABLE]

    async def _find_similar(
        self,
        owner: str,
        texts: Sequence[str],
        ids: Collection[int],
        messages: Sequence[int],
        *,
        also_doubted: bool = False,
    ) -> list[Entry]:
        """Return the memories that share words with `texts`, have one of the ids, or cite one of the messages."""
        found: dict[int, float] = {}
        for text in texts:
            only = Filter(kinds=_KINDS, current=True)
            found |= {**await self._search.find_scores(text, owner, only, _MAX_ALIKE), **found}
        holds = f"({CURRENT} OR (e.unconfirmed = '{Doubt.OUTDATED}' AND e.superseded_by IS NULL))"
        entries = await read_entries(
            self._database.rows,
            "(e.id IN (SELECT value FROM json_each(?)) OR e.source_message_id IN (SELECT value FROM json_each(?)))"
            f" AND e.kind IN ({sql_list(_KINDS)}) AND {holds if also_doubted else CURRENT} AND o.name = ?",
            (json.dumps([*found, *ids]), json.dumps([*messages]), owner),
        )
        return sorted(entries, key=lambda entry: -found.get(entry.id, 0.0))

    @staticmethod
    def _rate(entry: Entry, capture: Capture, in_talk: Collection[int], messages: Sequence[int]) -> float:
        """Return the certainty that a statement corrects a memory that it doesn't name, or 0."""
        shared = min(
            QueryTerms(entry.content).compute_coverage(capture.text),
            QueryTerms(capture.text).compute_coverage(entry.content),
        )
        is_in_talk = entry.id in in_talk or entry.source_message_id in messages
        if is_in_talk and capture.needs_context and insert_value(entry.content, capture.text) is not None:
            return 2 + shared
        return shared if shared >= (MIN_SHARED_IN_TALK if is_in_talk else MIN_SHARED) else 0.0


def _says(entry: Entry, value: str | None) -> bool:
    return value is not None and QueryTerms(value).compute_coverage(entry.content) == 1


def _compute_shared_part(rule: str, sentence: str) -> float:
    """Return the share of a rule's subject that a sentence contains, in any inflected form."""
    words = extract_subject(rule)
    said = split_comparable(sentence)
    found = [word for word in words if any(other.startswith(word[: max(3, len(word) - 3)]) for other in said)]
    return len(found) / len(words) if words else 0.0
