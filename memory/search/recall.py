"""What is shown of a search: hits as a model or a person reads them, messages as their exchanges."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING

from memory.clock import from_text
from memory.messages import Passage, Provenance, Role, worst
from memory.search.formatting import (
    NOTHING_IN_PROMPT,
    AlreadyInPrompt,
    HitFormatter,
    PromptLines,
    Said,
    sentence_key,
    sentences_of,
)
from memory.search.questions import asked_in, asks, leans, pieces_of
from memory.search.ranking import Ranker, RankingRequest, by_features, neighbourhood
from memory.search.search import PASSAGE_KINDS, PASSAGES, Filter
from memory.store.entry import TYPED_KINDS, Kind
from memory.store.forgotten import forgotten_words
from memory.text.naming import wording
from memory.text.sought import QueryTerms
from memory.text.words import asks_for_nothing, has_telling_words, is_chatter, is_small_talk

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from memory.clock import TimezoneLookup
    from memory.log.sessions import Transcript
    from memory.search.ranking import Neighbourhood
    from memory.search.search import Found, Hit, Search
    from memory.store.database import Database
    from memory.store.forgotten import ForgottenWords
    from memory.text.tokens import TokenCounter

WORST_SHOWN = 0.3
"""A hit whose score is below this part of the best one's is not shown to the model."""
LEAST_COVERAGE = 0.24
"""Nothing is shown where no hit covers so much of the question: then memory speaks of something else.

Measured on LoCoMo's development half: 0.15 lets 42% of off-topic requests show something and silences 1% of the
questions that have an answer there, 0.2 28% and 1 to 2%, 0.25 15% and 2 to 4%, 0.3 10% and 4 to 6%.
"""
LEAST_ANSWERING = 0.575
"""Nor where the best hit's score is so small a part of a full one: it has a word of the question, and nothing else.

Measured with the coverage, by words: of off-topic requests 15% show something instead of 20% (with the embedder 17 to
18% instead of 22%). It silences no question on LoCoMo's development half in the group form or by "I" and "you", none on
the tune half of our own chats, and 0.7% of those that name both people in a private chat. At 0.65 it is 6%, but then
4.3% of the latter and 2 of our own 39 are silenced.
"""
LEAST_COVERAGE_OF_TALK = 0.5
"""The same for what greets or thanks, or else asks for nothing: many have said as much before."""
LEAST_STANDING_OUT = 0.9
"""Where something is nearer in meaning by so much, it is shown all the same (memory/search/vector_search.py).

Measured as the coverage, by "I" and "you": 0.65 lets 22% of off-topic requests show something, 0.9 18%, 1.1 17 to 18%,
but then nothing of fewer than 14 texts stands out enough.
"""
LEAST_TOLD = 0.25
"""A piece of a message is looked up only where memory has as much to say to it: coverage times the best BM25, by the
logarithm of how much there is, with which the latter grows.

Measured on transcripts with 24 words of talk before, around and after the question, of LoCoMo's development half asked
by "I" and "you": it shows any of what answers for 85, 69 and 78%, and something for 11, 17 and 20% of the off-topic
requests. A quarter more shows some points less of both.
"""
PIECES = 3
"""So many pieces of a message share what is shown, those that memory has most to say to."""
LONGEST_BEFORE = 200
"""Characters of a message that a later one is looked up with, as it leans on it."""
CANDIDATES = PASSAGES
"""So many hits are ranked at the least."""
SHORTEST_LINE = 12
"""Tokens that a line costs at the least."""
NAMED_SCORE = 1.0
"""The least score of an entry that has the whole query as its name."""
QUESTIONS = 10
"""How many hits may be the question itself without one that answers it being missed."""


@dataclass(frozen=True, slots=True)
class RecallResult:
    """A hit as it is shown: an entry, or the whole exchange that a message is part of.

    Attributes:
        provenance: The worst of what is shown; what is foreign is marked in the text too.
        said: What was said in an exchange, without the moment.
        messages: The messages of an exchange.
    """

    hit: Hit
    text: str
    provenance: Provenance
    said: str | None = None
    messages: tuple[Said, ...] = ()

    @property
    def pieces(self) -> list[Passage]:
        """Return its messages, or the entry, each with where its words came from."""
        if self.said is None:
            return [Passage(self.hit.content, self.provenance)]
        return [Passage(message.text, message.provenance) for message in self.messages]

    @property
    def key(self) -> tuple[bool, int]:
        """What two of them have in common that show the same entry or exchange."""
        return _key(self.hit)

    def is_hidden_by(self, forgotten: ForgottenWords) -> bool:
        """Return True if it says what was forgotten since. A memory that was kept is no trace of another one."""
        hit = self.hit
        if hit.turn_id is None:
            is_derived = hit.kind in (Kind.ARCHIVE, Kind.EPISODE)
            return is_derived and forgotten.hides(hit.content, hit.created_at)
        return forgotten.hides(self.said or self.text, hit.created_at, message_id=hit.id, turn_id=hit.turn_id)


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

    def __init__(
        self,
        search: Search,
        database: Database,
        counter: TokenCounter,
        zone_of: TimezoneLookup,
        ranker: Ranker | None = None,
    ) -> None:
        self._search = search
        self._database = database
        self._counter = counter
        self._zone_of = zone_of
        self._ranker = ranker or Ranker(database)

    def formatter(self, owner: str | None) -> HitFormatter:
        """What words what was found for an owner; None: for who reads the memory of all."""
        return HitFormatter(self._zone_of(owner or ""))

    async def find(self, message: str, owner: str, visible: Transcript) -> Found:
        """What may stand in the prompt of a message: ranked, where memory has anything to say to it.

        Each of its sentences that asks is looked up by itself, and the whole of it; if that says too little, also with
        the exchange before it. Where no sentence asks and nothing is found, it is looked up piece by piece.
        """
        parts = asked_in(message)
        for text in (message, *parts):
            if not is_chatter(text):
                self._ranker.expect(text)
        lookup = await self._looked_up(message, owner, visible)
        asked = [await self._looked_up(text, owner, visible) for text in parts]
        if leans(message):
            own = QueryTerms(message) if has_telling_words(message) else None
            together = [f"{before}\n{message}" for before in _exchange_before(visible)]
            asked += [await self._looked_up(text, owner, visible, own) for text in together]
        if not parts and not any(each.answer for each in (lookup, *asked)):
            pieces = await self._telling(message, owner, visible)
            asked += [await self._ranked(found, owner, visible) for found in pieces]
        return replace(lookup, asked=asked)

    async def relevant(
        self,
        lookup: Found,
        visible: Transcript,
        tokens: int,
        *,
        besides: AlreadyInPrompt = NOTHING_IN_PROMPT,
        whole_exchanges: bool = True,
        forgotten: ForgottenWords | None = None,
    ) -> Passage:
        """What was said and noted earlier about a message, of what was found for it, in at most `tokens` in all.

        Each of its parts that was looked up by itself is answered, and the whole of it; they share the tokens. Leaves
        out what the visible conversation and the prompt besides it say, and greetings. whole_exchanges: an exchange is
        shown with its answer, not only with what the user said. forgotten: the owner's forgotten words, if the caller
        has read them already.
        """
        exchanges = [
            self._shown(
                lookup.owner,
                each.message,
                (hit for hit in best.worth(WORST_SHOWN) if hit.turn_id is not None or not besides.says(hit.content)),
                best.around,
                whole_exchanges=whole_exchanges,
            )
            for each in (*lookup.asked, lookup)
            if (best := each.answer) is not None
        ]
        formatter = self.formatter(lookup.owner)
        lines = PromptLines(tokens, self._counter, formatter)
        if forgotten is None:
            forgotten = await self.forgotten(lookup.owner or "")
        # An entry and a message that say the same are quoted once. Two messages stay, since the same words of another
        # person or day tell something else, and so do two entries, which the weekly tidying merges.
        noted, said = set[str](), set[str]()
        pieces: list[Passage] = []
        messages: list[int] = []
        entries: list[int] = []
        once: set[tuple[bool, int]] = set()
        for exchange in _in_turn(exchanges):
            if lines.left < SHORTEST_LINE:
                break
            if exchange.key in once:
                continue
            once.add(exchange.key)
            if exchange.is_hidden_by(forgotten):
                continue
            known = besides.said | (said if exchange.said is None else noted)
            if (unsaid := _without(exchange, known, formatter)) is None:
                continue
            if lines.add(unsaid.hit, unsaid.text, unsaid.said):
                pieces += unsaid.pieces
                keys = {sentence_key(part) for piece in unsaid.pieces for part in sentences_of(piece.text)}
                said, noted = (said, noted | keys) if unsaid.said is None else (said | keys, noted)
                (entries if unsaid.hit.turn_id is None else messages).append(unsaid.hit.id)
        provenance = worst(piece.provenance for piece in pieces)
        return Passage(lines.text, provenance, messages=tuple(messages), entries=tuple(entries), parts=tuple(pieces))

    async def _looked_up(self, text: str, owner: str, visible: Transcript, own: QueryTerms | None = None) -> Found:
        """What fits a message or a part of it; where it is no mere chatter, ranked."""
        found = await self._search.for_message(text, owner, len(visible.messages))
        return found if is_chatter(text) else await self._ranked(found, owner, visible, own)

    async def _ranked(self, found: Found, owner: str, visible: Transcript, own: QueryTerms | None = None) -> Found:
        """What was found for a message or a part of it, ranked where memory has anything to say to it.

        own: what answers holds a word of these at the least.
        """
        text = found.message
        if own is not None:
            own_memories, own_workflows = (
                [hit for hit in hits if own.term_counts(hit.content)] for hits in (found.memories, found.workflows)
            )
            found = replace(found, memories=own_memories, workflows=own_workflows)
        found = await self._ranker.compared(found, len(visible.messages))
        unseen = _unseen(visible)

        def wanted(hit: Hit) -> bool:
            return unseen(hit) and (own is None or bool(own.term_counts(hit.content)))

        only = Filter(kinds=PASSAGE_KINDS, archived=False, current=True)
        candidates = [*itertools.islice(filter(wanted, found.passages), CANDIDATES)]
        best = await self._ranker.ranked(RankingRequest(text, owner, only, wanted), candidates, found.similarities)
        speaks = asks_for_nothing(text) and not asks(text)
        covered = best.coverage >= (LEAST_COVERAGE_OF_TALK if speaks else LEAST_COVERAGE)
        covered = covered and best.answering >= LEAST_ANSWERING
        answers = covered or (not speaks and best.standing_out >= LEAST_STANDING_OUT)
        return replace(found, answer=best if answers else None)

    async def _telling(self, message: str, owner: str, visible: Transcript) -> list[Found]:
        """What was found for the pieces of a message that memory has most to say to, by words alone, the best first."""
        measured: list[tuple[float, str, Found]] = []
        much = math.log(2 + (await self._database.value("SELECT max(id) FROM messages") or 0))
        for piece in pieces_of(message):
            found = await self._search.for_message(piece, owner, len(visible.messages))
            hits = [*itertools.islice(filter(_unseen(visible), found.passages), CANDIDATES)]
            best = await by_features(piece, hits, self._database)
            measured.append((best.coverage * max((hit.score for hit in hits), default=0.0) / much, piece, found))
        best_pieces = sorted(measured, key=itemgetter(0, 1), reverse=True)[:PIECES]
        return [found for told, _, found in best_pieces if told >= LEAST_TOLD]

    async def recall(
        self,
        query: str,
        owner: str | None,
        only: Filter,
        limit: int,
        *,
        numbered: bool = False,
        forgotten_too: bool = False,
    ) -> list[RecallResult]:
        """What fits `query`, best first; an exchange once, however many of its messages fit.

        numbered: an exchange with the number of its message, from which one can read on. forgotten_too: a person reads
        their own log, where forgotten words are as they were.
        """
        hits, around = await self._best(query, owner, only, limit * 3)
        results = self._shown(owner, query, hits, around, numbered=numbered)
        if owner is not None and not forgotten_too and (forgotten := await self.forgotten(owner)):
            results = (result for result in results if not result.is_hidden_by(forgotten))
        return list(itertools.islice(results, limit))

    async def forgotten(self, owner: str) -> ForgottenWords:
        return await forgotten_words(self._database.rows, owner)

    async def called(self, name: str, owner: str, only: Filter) -> WholeEntry | None:
        """The entry that has `name` as its name or as an alias, whole."""
        hit = next(iter(await self._search.named(name, owner, only=only)), None)
        if hit is None or hit.name is None:
            return None
        row = await self._database.row(
            "SELECT m.id, m.created_at FROM entries e JOIN messages m ON m.id = e.source_message_id WHERE e.id = ?",
            (hit.id,),
        )
        formatter = self.formatter(owner)
        source = f"by {hit.source} {formatter.moment(hit.created_at)}"
        if row is not None:
            source += f", from message {row['id']} of {formatter.moment(from_text(row['created_at']))}"
        text = f"{hit.content}\nOutcome: {hit.outcome}" if hit.outcome else hit.content
        return WholeEntry(hit.id, hit.name, f"{formatter.about(hit)} ({source})", text, hit.provenance)

    async def hits(self, query: str, owner: str | None, only: Filter, limit: int) -> list[Hit]:
        """What is called `query`, then what answers it, best first. That it was asked before is no answer to it."""
        return (await self._best(query, owner, only, limit))[0]

    async def _best(self, query: str, owner: str | None, only: Filter, limit: int) -> tuple[list[Hit], Neighbourhood]:
        first = max(limit, CANDIDATES) + QUESTIONS
        hits = await self._search.find(query, owner, only=only, limit=first, shared=True)
        called = await self._search.named(query, owner, only=only)
        names = {hit.id for hit in called}
        words = wording(query)

        def wanted(hit: Hit) -> bool:
            return hit.id not in names if hit.turn_id is None else wording(hit.content) != words

        best = await self._ranker.ranked(RankingRequest(query, owner, only, wanted), [*filter(wanted, hits)])
        # what is called so comes first, with a score of its own where nothing else fits
        most = max(best.scores[0], NAMED_SCORE) if best.scores else NAMED_SCORE
        scored = [*((hit, most) for hit in called), *zip(best.hits, best.scores, strict=True)]
        return [replace(hit, score=score) for hit, score in scored[:limit]], best.around

    async def semantic_scoped(
        self, owner: str, path: str, limit: int, kinds: Collection[str] = TYPED_KINDS
    ) -> list[RecallResult]:
        """The memories for a path (S4): those whose scope it lies in, then those that speak of it.

        The former by priority and strength, the latter by how well they fit.
        """
        only = Filter(kinds=kinds, archived=False, current=True)
        in_scope = await self._search.in_scope(owner, path, kinds, limit)
        words = " ".join(part for part in re.split(r"[\\/._-]+", path) if part)
        use_language = await self._search.find(words, owner, only=only, limit=limit)
        seen = {hit.id for hit in in_scope}
        hits = [*in_scope, *(hit for hit in use_language if hit.id not in seen and not hit.scope)]
        around = await neighbourhood(self._database, [hit.id for hit in hits if hit.turn_id is not None])
        return list(itertools.islice(self._shown(owner, path, hits, around), limit))

    def _shown(
        self,
        owner: str | None,
        query: str,
        hits: Iterable[Hit],
        around: Neighbourhood,
        *,
        whole_exchanges: bool = True,
        numbered: bool = False,
    ) -> Iterator[RecallResult]:
        """The hits with the text that shows them, each with its date and source; an exchange once."""
        query_terms, formatter = QueryTerms(query), self.formatter(owner)
        once: set[tuple[bool, int]] = set()
        for hit in hits:
            key = _key(hit)
            if key in once:
                continue
            once.add(key)
            if hit.turn_id is None:
                yield RecallResult(hit, formatter.entry(hit, query_terms), hit.provenance)
            else:
                rows = [row for row in around.turn(hit.turn_id) if whole_exchanges or row["role"] == Role.USER]
                messages = formatter.said(rows, query_terms)
                yield _exchange(hit, messages, formatter, numbered=numbered)


def _without(result: RecallResult, said: Collection[str], formatter: HitFormatter) -> RecallResult | None:
    """Return a result without the sentences that the prompt says already. None if nothing remains."""
    if result.said is None:
        keys = {sentence_key(part) for part in sentences_of(result.hit.content)}
        return None if keys and keys <= {*said} else result
    remaining = [unsaid for message in result.messages if (unsaid := message.without(said)) is not None]
    if len(remaining) == len(result.messages) and all(a is b for a, b in zip(remaining, result.messages, strict=True)):
        return result
    if all(is_small_talk(message.text) for message in remaining):
        return None
    return _exchange(result.hit, tuple(remaining), formatter)


def _exchange(hit: Hit, messages: tuple[Said, ...], formatter: HitFormatter, *, numbered: bool = False) -> RecallResult:
    text = " | ".join(message.wording for message in messages)
    provenance = worst(message.provenance for message in messages)
    return RecallResult(hit, formatter.exchange(hit, text, numbered=numbered), provenance, text, messages)


def _exchange_before(visible: Transcript) -> list[str]:
    """What was said last, by the user and in answer; of a longer text its beginning."""
    last = {message.role: message.content for message in visible.messages if message.content}
    return [last[role][:LONGEST_BEFORE] for role in (Role.USER, Role.ASSISTANT) if role in last]


def _unseen(visible: Transcript) -> Callable[[Hit], bool]:
    """Tells what may be shown beside a conversation."""
    seen = {message.turn_id for message in visible.messages}

    def may_be_shown(hit: Hit) -> bool:
        return (
            (hit.kind in PASSAGE_KINDS or hit.shared_by is not None)
            and hit.turn_id not in seen
            and hit.unconfirmed is None  # never in a prompt unasked
            and hit.content != visible.summary
            and not is_small_talk(hit.content)
        )

    return may_be_shown


def _in_turn(some: Sequence[Iterator[RecallResult]]) -> Iterator[RecallResult]:
    """The best of each, then the second of each, and so on; those that have more go on alone."""
    for several in itertools.zip_longest(*some):
        yield from (item for item in several if item is not None)


def _key(hit: Hit) -> tuple[bool, int]:
    return (hit.turn_id is None, hit.id if hit.turn_id is None else hit.turn_id)
