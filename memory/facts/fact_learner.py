"""Writes checked facts as entries, and finds the memories that they may replace or repeat.

A new fact supersedes the memories that it replaces, which stay searchable.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, tzinfo

import structlog

from config.texts import _, strip_full_stop
from memory.errors import MemoryRefused
from memory.facts.fact import CheckedFact, Fact, KnownMemory
from memory.ledger.change import Change
from memory.search.search import Search
from memory.search.types import Filter, SimilaritySource, make_hit_key
from memory.store.database import Database, Row
from memory.store.entry import TYPED_KINDS, Author, Details, Entry, Kind, Nature, NewEntry, Proposal
from memory.store.entry_rows import CURRENT, read_entries, validate_content, validate_name
from memory.store.forgotten import ForgottenWords, read_forgotten_words_by_id
from memory.text.wording import has_same_words, make_name_key

log = structlog.get_logger(__name__)

MAX_SIMILAR = 6
"""Memories per query that are similar to a fact in words or meaning."""
MAX_RELATED = 60
_HOLDING = Filter(kinds=TYPED_KINDS, current=True)


@dataclass(frozen=True, slots=True)
class LearnedMemory:
    """The result of learning a fact or a memory.

    Attributes:
        superseded: The entry that it replaced.
        known: Whether it was known before.
        change: The number for /undo, if it is a separate change.
        in_file: Whether a line of MEMORY.md that a person wrote says the same.
    """

    entry: Entry
    superseded: Entry | None = None
    known: bool = False
    change: int | None = None
    in_file: bool = False

    @property
    def wording(self) -> str:
        """Return the content and the former content as part of a sentence."""
        content = strip_full_stop(self.entry.content)
        if self.superseded is None:
            return content
        return _("{content} (was: {former})", content=content, former=strip_full_stop(self.superseded.content))


class FactLearner:
    """Learns facts and finds related ones.

    Args:
        similarity: Finds memories by meaning. None means by words only.
    """

    def __init__(self, database: Database, search: Search, similarity: SimilaritySource | None = None) -> None:
        self._database = database
        self._search = search
        self.similarity = similarity

    async def list_current(self, owner: str, limit: int) -> list[tuple[str, Entry]]:
        where = f"e.subject IS NOT NULL AND {CURRENT} AND o.name = ? ORDER BY e.id DESC LIMIT ?"
        entries = await read_entries(self._database.rows, where, (owner, limit))
        return [(entry.subject or "", entry) for entry in entries]

    async def find_mentioned(self, owner: str, texts: Sequence[str], limit: int) -> list[tuple[str, Entry]]:
        """Return the current facts that match `texts`, each with its subject, best first."""
        # By words alone, since each message would otherwise be embedded a second time.
        found = [await self._find_by_words(text, owner) for text in texts]
        entries = await self._read_current(owner, _interleave(found)[:limit])
        return [(entry.subject, entry) for entry in entries if entry.subject is not None]

    async def list_subjects(self, owner: str, limit: int) -> list[str]:
        """Return the subjects of the current facts, the strongest first."""
        rows = await self._database.rows(
            "SELECT e.subject FROM entries e JOIN owners o ON o.id = e.owner_id WHERE o.name = ?"
            f" AND e.subject IS NOT NULL AND e.deleted_at IS NULL AND {CURRENT}"
            f" AND e.nature <> '{Nature.EVENT}' ORDER BY e.strength DESC LIMIT ?",
            (owner, limit),
        )
        return list(dict.fromkeys(row["subject"] for row in rows))

    async def find_related(self, owner: str, facts: Sequence[Fact], first_message: int) -> list[KnownMemory]:
        """Return the memories that `facts` may replace or repeat.

        These are memories about the same subject, captures since `first_message`, and memories with similar words or
        meaning in any language.
        """
        subjects = [make_name_key(fact.subject) for fact in facts if fact.subject]
        by_subject = [
            row["id"] for subject in dict.fromkeys(subjects) for row in await self._find_about(owner, subject)
        ]
        captured = await self._database.rows(
            "SELECT e.id FROM entries e JOIN owners o ON o.id = e.owner_id WHERE o.name = ? AND e.author = ?"
            " AND e.source_message_id >= ? AND e.deleted_at IS NULL ORDER BY e.id DESC LIMIT ?",
            (owner, Author.CAPTURE, first_message, MAX_RELATED),
        )
        found: list[list[int]] = []
        for fact in facts:
            about = f"{fact.person}: {fact.subject}" if fact.person else fact.subject
            found += [await self._find_similar(f"{about} {fact.text}", owner), await self._find_similar(about, owner)]
        ids = dict.fromkeys([*by_subject, *(row["id"] for row in captured), *_interleave(found)])
        entries = await self._read_current(owner, [*ids][:MAX_RELATED])
        return [KnownMemory(entry.content, entry.subject, entry) for entry in entries]

    async def _find_about(self, owner: str, subject: str) -> list[Row]:
        """Return the current facts about a subject, including further facts with numbered subjects."""
        return await self._database.rows(
            "SELECT e.id FROM entries e JOIN owners o ON o.id = e.owner_id WHERE o.name = ? AND e.subject >= ?"
            f" AND e.subject < ? AND (e.subject = ? OR e.subject GLOB ?) AND e.deleted_at IS NULL AND {CURRENT}"
            " ORDER BY e.id DESC LIMIT ?",
            (owner, subject, f"{subject}\uffff", subject, f"{_escape_pattern(subject)}-[0-9]*", MAX_SIMILAR),
        )

    async def _find_similar(self, text: str, owner: str) -> list[int]:
        """Return the ids of the current memories that are most similar in words and, if possible, in meaning."""
        by_words = await self._find_by_words(text, owner)
        if self.similarity is None or not text.strip():
            return by_words
        similarities = await self.similarity.compare(text, owner, (), _HOLDING)
        near = sorted(similarities.found, key=lambda hit: -similarities.by_key[make_hit_key(hit)].bare)
        return _interleave([by_words, [hit.id for hit in near if hit.turn_id is None][:MAX_SIMILAR]])

    async def _find_by_words(self, text: str, owner: str) -> list[int]:
        return [*await self._search.find_scores(text, owner, _HOLDING, MAX_SIMILAR)]

    async def _read_current(self, owner: str, ids: Sequence[int]) -> list[Entry]:
        where = f"e.id IN (SELECT value FROM json_each(?)) AND {CURRENT} AND o.name = ?"
        entries = await read_entries(self._database.rows, where, (json.dumps([*ids]), owner))
        places = {number: place for place, number in enumerate(ids)}
        return sorted(entries, key=lambda entry: places[entry.id])

    async def learn_in(self, change: Change, facts: Sequence[CheckedFact], first_message: int) -> list[LearnedMemory]:
        """Store facts, except for those that are known already.

        A fact supersedes the memories that the second look named, and rewrites a capture from the same messages.
        Unconfirmed and past facts replace nothing. Facts that can't be stored, such as secrets, are logged and skipped.

        Args:
            first_message: The id of the first message that the facts may come from.
        """
        learned: dict[int, LearnedMemory] = {}
        for checked in await self.drop_forgotten(change, facts):
            if checked.is_foreign:
                continue
            try:
                outcome = await _Learning(change, checked, first_message).learn()
            except MemoryRefused as refusal:
                log.info("fact_refused", reason=refusal.loggable)
                continue
            if outcome is not None:
                in_file = any(memory.entry is None for memory in checked.repeats)
                learned[outcome.entry.id] = replace(outcome, in_file=in_file)
        return list(learned.values())

    async def drop_forgotten(self, change: Change, facts: Sequence[CheckedFact]) -> list[CheckedFact]:
        """Return the facts that don't rest on forgotten words. Reads within the change to avoid a race with /forget."""
        forgotten = await read_forgotten_words_by_id(change.read, change.owner_id)
        results = [fact for fact in facts if not _is_forgotten(fact, forgotten)]
        if len(results) < len(facts):
            log.info("facts_forgotten", facts=len(facts) - len(results))
        return results

    async def settle(self, change: Change, entry: Entry, checked: CheckedFact) -> LearnedMemory:
        if checked.doubt is not None:
            await change.propose(entry, checked.doubt, _format_proposal(checked))
            return LearnedMemory(await change.get(entry.name))
        if checked.is_past:
            await change.end(entry)
        return await _supersede_replaced(change, await change.confirm(entry), checked)


def _is_forgotten(checked: CheckedFact, forgotten: ForgottenWords) -> bool:
    citation = checked.fact.citation
    quote = citation.quote if citation is not None else checked.quote
    return forgotten.forbids(checked.fact.text, quote, checked.message)


class _Learning:
    def __init__(self, change: Change, checked: CheckedFact, first_message: int) -> None:
        fact = checked.fact
        self._change = change
        self._checked = checked
        self._first_message = first_message
        self._subject = validate_name(f"{fact.person}: {fact.subject}" if fact.person else fact.subject)
        is_named = not fact.person or fact.person.casefold() in fact.text.casefold()
        self._content = validate_content(fact.text if is_named else f"{fact.person}: {fact.text}")
        self._since = _to_moment(fact.since, time(), change.moment.tzinfo)
        # The end date is inclusive.
        self._until = _to_moment(fact.until, time.max, change.moment.tzinfo)
        if checked.is_past and self._until is None:
            self._until = change.moment

    def _corrected_kind(self, captured: Entry) -> Kind | None:
        """Return the fact's kind if the entry is a capture with a guessed kind. None for a rule, which stays one."""
        is_guessed = captured.author == Author.CAPTURE and not captured.is_rule
        return self._checked.fact.kind if is_guessed and self._checked.doubt is None else None

    async def _correct_repeated(self, repeated: Sequence[Entry]) -> None:
        """Give entries with the same content the nature and kind of the fact."""
        is_vital = self._checked.fact.nature is Nature.VITAL and self._checked.doubt is None
        for entry in repeated:
            if is_vital and entry.nature != Nature.VITAL:
                await self._change.set_nature(entry, Nature.VITAL)
            if (kind := self._corrected_kind(entry)) is not None:
                await self._change.set_kind(entry, kind)

    async def learn(self) -> LearnedMemory | None:
        """Write the fact and return the result, or None if it was known."""
        repeated = await self._select_current(self._checked.repeats)
        await self._correct_repeated(repeated)
        # A capture from the same messages is the same memory in its first wording.
        of_same = [*repeated, *await self._select_current(self._checked.replaces)]
        captured = next((item for item in of_same if self._is_captured_here(item)), None)
        if captured is None and (known := await self._find_known()) is not None:
            return await self._supersede_with_known(known)
        if self._checked.doubt is not None:
            return LearnedMemory(
                await self._change.add(
                    replace(await self._create_new_entry(), proposal=_format_proposal(self._checked))
                )
            )
        # A past fact replaces nothing.
        if self._until is not None and self._until <= self._change.moment:
            return LearnedMemory(await self._change.add(await self._create_new_entry()))
        if captured is not None:
            entry = await self._rewrite_capture(captured)
        elif repeated:
            return await self._supersede_with_known(repeated[0])
        elif (waiting := await self._find_unconfirmed()) is not None:
            entry = await self._change.confirm(waiting)
        else:
            return await self._add()
        return await _supersede_replaced(self._change, entry, self._checked)

    async def _rewrite_capture(self, captured: Entry) -> Entry:
        """Rewrite the capture with the wording and the subject of the fact."""
        subject = await self._find_free_subject(but=captured)
        details = Details(
            valid_from=self._since,
            valid_until=self._until,
            quote=self._checked.quote,
            subject=subject,
            nature=self._checked.fact.nature,
            kind=self._corrected_kind(captured),
        )
        entry = await self._change.rewrite(captured, self._content, details)
        if captured.subject is not None or await self._change.find(subject) is not None:
            return entry
        return await self._change.rename(entry, subject)

    async def _add(self) -> LearnedMemory:
        replaced = await self._select_current(self._checked.replaces)
        if not replaced:
            return LearnedMemory(await self._change.add(await self._create_new_entry()))
        # The first replaced entry passes its names on. The others are only superseded.
        former = replaced[0]
        entry = await self._change.supersede(
            former, replace(await self._create_new_entry(), name=None, subject=former.subject)
        )
        return replace(await _supersede_replaced(self._change, entry, self._checked), superseded=former)

    async def _supersede_with_known(self, known: Entry) -> LearnedMemory | None:
        """Supersede the replaced memories, if any, with a known entry. Return None if nothing was superseded."""
        if self._checked.doubt is not None:
            return None
        learned = await _supersede_replaced(self._change, known, self._checked)
        return replace(learned, known=True) if learned.superseded is not None else None

    async def _find_known(self) -> Entry | None:
        """Return the entry with the same content, confirmed or not as the fact, or None."""
        key = make_name_key(self._subject)
        same = await self._find_same("(e.subject = ? OR e.subject LIKE ?) AND e.superseded_by IS NULL", key, f"{key}-%")
        if self._checked.doubt is not None:
            return next(iter(same), None)
        return next((e for e in same if e.unconfirmed is None and e.valid_until == self._until), None)

    async def _find_unconfirmed(self) -> Entry | None:
        return next(iter(await self._find_same("e.unconfirmed IS NOT NULL")), None)

    async def _find_same(self, where: str, *parameters: object) -> list[Entry]:
        change = self._change
        entries = await read_entries(change.read, f"e.owner_id = ? AND {where}", (change.owner_id, *parameters))
        return [entry for entry in entries if has_same_words(entry.content, self._content)]

    async def _select_current(self, memories: Iterable[KnownMemory]) -> list[Entry]:
        return [
            memory.entry
            for memory in memories
            if memory.entry is not None and await self._change.is_current(memory.entry)
        ]

    def _is_captured_here(self, entry: Entry) -> bool:
        return entry.author == Author.CAPTURE and (entry.source_message_id or 0) >= self._first_message

    async def _find_free_subject(self, but: Entry | None = None) -> str:
        """Return the subject, or a numbered one if another current fact uses it."""
        other = await self._change.find_current(self._subject, but=but.id if but is not None else None)
        return self._subject if other is None else await self._change.find_free_name(self._subject)

    async def _create_new_entry(self) -> NewEntry:
        checked = self._checked
        return NewEntry(
            self._content,
            name=await self._change.find_free_name(self._subject),
            kind=checked.fact.kind,
            source_message_id=(checked.message.id if checked.message else None) or self._first_message,
            subject=self._subject if checked.doubt is not None else await self._find_free_subject(),
            valid_from=self._since,
            valid_until=self._until,
            quote=checked.quote,
            unconfirmed=checked.doubt,
            nature=checked.fact.nature,
        )


async def _supersede_replaced(change: Change, entry: Entry, checked: CheckedFact) -> LearnedMemory:
    superseded = None
    for memory in checked.replaces:
        if memory.entry is not None and memory.entry.id != entry.id and await change.is_current(memory.entry):
            entry = await change.supersede_by_known(memory.entry, entry)
            superseded = superseded or memory.entry
    return LearnedMemory(entry, superseded=superseded)


def _interleave(lists: Sequence[Sequence[int]]) -> list[int]:
    rounds = itertools.chain.from_iterable(itertools.zip_longest(*lists))
    return list(dict.fromkeys(item for item in rounds if item is not None))


def _escape_pattern(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)


def _format_proposal(checked: CheckedFact) -> str | None:
    """Return the ids to supersede when the user confirms a doubted fact, as stored text, or None."""
    replaced = tuple(memory.entry.id for memory in checked.replaces if memory.entry is not None)
    return Proposal(replaces=replaced).to_text() if replaced else None


def _to_moment(day: date | None, at: time, zone: tzinfo | None) -> datetime | None:
    return datetime.combine(day, at, zone) if day else None
