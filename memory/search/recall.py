"""Recall: decides which search results answer a message or a query, and formats them as exchanges and entries.

search.py queries the index and ranking.py sorts the hits. This module splits a message into questions, drops hits that
cover too little or are visible already, and fills a prompt. memory_reader.py turns its results into pages.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from operator import itemgetter

from memory.clock import TimezoneLookup, from_text
from memory.log.sessions import Transcript
from memory.messages import Passage, Role, find_least_trusted
from memory.search.formatting import (
    NOTHING_IN_PROMPT,
    AlreadyInPrompt,
    HitFormatter,
    PromptLines,
    make_sentence_key,
    split_sentences,
)
from memory.search.neighbourhood import Neighbourhood, read_neighbourhood
from memory.search.query_splitting import asks, depends_on_context, find_questions, is_question, split_pieces
from memory.search.ranking import Ranker, RankingRequest, rank_by_features
from memory.search.recall_results import (
    RecallResult,
    WholeEntry,
    format_exchange,
    interleave,
    make_hit_key,
    remove_sentences,
)
from memory.search.search import PASSAGES, Search
from memory.search.types import PASSAGE_KINDS, Filter, Hit, MessageHits
from memory.store.database import Database
from memory.store.entry import TYPED_KINDS
from memory.store.forgotten import read_forgotten_words
from memory.text.query_terms import QueryTerms
from memory.text.tokens import TokenCounter
from memory.text.wording import make_wording_key
from memory.text.words import asks_for_nothing, has_telling_words, is_chatter, is_small_talk

MIN_SCORE_SHARE = 0.3
"""Minimum score of a hit in the prompt, as a share of the best score."""
MIN_COVERAGE = 0.24
"""Minimum coverage of the question by the best hit. Below it nothing is shown, since the hits are about other topics.

Measured on LoCoMo's development half: with 0.15, 42% of off-topic requests show something and 1% of the questions with
an answer show nothing. With 0.2 it is 28% and 1 to 2%, with 0.25 15% and 2 to 4%, with 0.3 10% and 4 to 6%.
"""
MIN_ANSWERING = 0.575
"""Minimum score of the best hit, as a share of a full score. Below it the hit has only a word of the question.

Measured together with the coverage, by words: 15% of off-topic requests show something instead of 20% (with the
embedder 17 to 18% instead of 22%). No question is lost on LoCoMo's development half in the group form or by "I" and
"you", none on the tune half of our own chats, and 0.7% of those that name both people in a private chat. At 0.65 it is
6%, but then 4.3% of the latter and 2 of our own 39 are lost.
"""
MIN_CHAT_COVERAGE = 0.5
"""Minimum coverage for greetings, thanks and other messages that ask for nothing, since similar ones are common."""
MIN_STANDING_OUT = 0.9
"""A hit that stands out by meaning this much is shown even without coverage (bot/features/vectors/search.py).

Measured as the coverage, by "I" and "you": with 0.65, 22% of off-topic requests show something, with 0.9 18%, with 1.1
17 to 18%, but then no hit among fewer than 14 texts stands out enough.
"""
MIN_PIECE_SCORE = 0.25
"""Minimum score of a piece of a message: coverage times the best BM25, divided by the logarithm of the log's size.

Measured on transcripts with 24 words of talk before, around and after the question, of LoCoMo's development half asked
by "I" and "you": an answer is shown for 85, 69 and 78%, and something for 11, 17 and 20% of the off-topic requests. A
quarter more lowers both by some points.
"""
MAX_PIECES = 3
"""Number of pieces of a message that share the prompt's budget, best first."""
MAX_PREVIOUS_CHARS = 200
"""Characters of the previous message that are added to a query that depends on it."""
MIN_CANDIDATES = PASSAGES
MIN_LINE_TOKENS = 12
MIN_NAMED_SCORE = 1.0
"""Minimum score of an entry with the whole query as its name."""
MAX_QUESTION_HITS = 10
"""Additional candidates, since some hits may be earlier repetitions of the question itself."""


class Recall:
    """Searches and formats memory for prompts, tools and commands."""

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

    def create_formatter(self, owner: str | None) -> HitFormatter:
        """Return a formatter in the owner's time zone. None is used for searches across all owners."""
        return HitFormatter(self._zone_of(owner or ""))

    async def find(self, message: str, owner: str, visible: Transcript) -> MessageHits:
        """Find and rank the hits for the prompt of a message.

        The message and each of its questions are searched for separately. A message that depends on the previous
        exchange is also searched for together with it. If there are no questions and no hits, the message is split into
        pieces.
        """
        parts = find_questions(message)
        for text in (message, *parts):
            if not is_chatter(text):
                self._ranker.expect(text)
        lookup = await self._search_and_rank(message, owner, visible)
        asked = [await self._search_and_rank(text, owner, visible) for text in parts]
        if depends_on_context(message):
            own = QueryTerms(message) if has_telling_words(message) else None
            together = [f"{before}\n{message}" for before in _find_previous_exchange(visible)]
            asked += [await self._search_and_rank(text, owner, visible, own) for text in together]
        if not parts and not any(each.answer for each in (lookup, *asked)):
            pieces = await self._find_best_pieces(message, owner, visible)
            asked += [await self._rank(found, owner, visible) for found in pieces]
        return replace(lookup, asked=asked)

    async def format_relevant(
        self,
        lookup: MessageHits,
        visible: Transcript,
        tokens: int,
        *,
        besides: AlreadyInPrompt = NOTHING_IN_PROMPT,
        whole_exchanges: bool = True,
    ) -> Passage:
        """Return the hits for a message as a prompt passage of at most `tokens`.

        The message and each of its questions share the tokens. Greetings, and text that the conversation or the prompt
        contains already, are left out.

        Args:
            besides: The other contents of the prompt.
            whole_exchanges: Show the answer of an exchange too, not only the user's messages.
        """
        exchanges = [
            self._format(
                lookup.owner,
                each.message,
                (
                    hit
                    for hit in best.select_best(MIN_SCORE_SHARE)
                    if hit.turn_id is not None or not besides.contains(hit.content)
                ),
                best.around,
                whole_exchanges=whole_exchanges,
            )
            for each in (*lookup.asked, lookup)
            if (best := each.answer) is not None
        ]
        formatter = self.create_formatter(lookup.owner)
        lines = PromptLines(tokens, self._counter, formatter)
        # An entry and a message that say the same are quoted once. Two messages stay, since the same words of another
        # person or day say something else. The weekly tidying merges entries.
        noted, said = set[str](), set[str]()
        pieces: list[Passage] = []
        messages: list[int] = []
        entries: list[int] = []
        once: set[tuple[bool, int]] = set()
        in_prompt = besides.make_sentence_keys()
        for exchange in interleave(exchanges):
            if lines.left < MIN_LINE_TOKENS:
                break
            if exchange.key in once:
                continue
            once.add(exchange.key)
            if exchange.is_hidden_by(visible.forgotten):
                continue
            known = in_prompt | (said if exchange.said is None else noted)
            if (unsaid := remove_sentences(exchange, known, formatter)) is None:
                continue
            if lines.add(unsaid.hit, unsaid.text, unsaid.said):
                pieces += unsaid.pieces
                keys = {make_sentence_key(part) for piece in unsaid.pieces for part in split_sentences(piece.text)}
                said, noted = (said, noted | keys) if unsaid.said is None else (said | keys, noted)
                (entries if unsaid.hit.turn_id is None else messages).append(unsaid.hit.id)
        provenance = find_least_trusted(piece.provenance for piece in pieces)
        return Passage(lines.text, provenance, messages=tuple(messages), entries=tuple(entries), parts=tuple(pieces))

    async def _search_and_rank(
        self, text: str, owner: str, visible: Transcript, own: QueryTerms | None = None
    ) -> MessageHits:
        """Search for a message or a part of it, and rank the hits unless it is chatter."""
        found = await self._search.find_for_message(text, owner, len(visible.messages))
        return found if is_chatter(text) else await self._rank(found, owner, visible, own)

    async def _rank(
        self, found: MessageHits, owner: str, visible: Transcript, own: QueryTerms | None = None
    ) -> MessageHits:
        """Rank the hits of a message or of a part of it, and set `answer` if they are good enough.

        Args:
            own: Terms of the message itself. Every hit has to contain one of them.
        """
        text = found.message
        if own is not None:
            own_memories, own_workflows = (
                [hit for hit in hits if own.count_terms(hit.content)] for hits in (found.memories, found.workflows)
            )
            found = replace(found, memories=own_memories, workflows=own_workflows)
        found = await self._ranker.add_similarities(found, len(visible.messages))
        unseen = _create_unseen_filter(visible)

        def wanted(hit: Hit) -> bool:
            if _is_unanswered_question(hit) or not unseen(hit):
                return False
            return own is None or bool(own.count_terms(hit.content))

        only = Filter(kinds=PASSAGE_KINDS, archived=False, current=True)
        candidates = [*itertools.islice(filter(wanted, found.passages), MIN_CANDIDATES)]
        best = await self._ranker.rank(RankingRequest(text, owner, only, wanted), candidates, found.similarities)
        speaks = asks_for_nothing(text) and not asks(text)
        covered = best.coverage >= (MIN_CHAT_COVERAGE if speaks else MIN_COVERAGE)
        covered = covered and best.answering >= MIN_ANSWERING
        answers = covered or (not speaks and best.standing_out >= MIN_STANDING_OUT)
        return replace(found, answer=best if answers else None)

    async def _find_best_pieces(self, message: str, owner: str, visible: Transcript) -> list[MessageHits]:
        """Return the results for the best pieces of a message, ranked by words alone."""
        measured: list[tuple[float, str, MessageHits]] = []
        much = math.log(2 + (await self._database.value("SELECT max(id) FROM messages") or 0))
        for piece in split_pieces(message):
            found = await self._search.find_for_message(piece, owner, len(visible.messages))
            hits = [*itertools.islice(filter(_create_unseen_filter(visible), found.passages), MIN_CANDIDATES)]
            best = await rank_by_features(piece, hits, self._database)
            measured.append((best.coverage * max((hit.score for hit in hits), default=0.0) / much, piece, found))
        best_pieces = sorted(measured, key=itemgetter(0, 1), reverse=True)[:MAX_PIECES]
        return [found for told, _, found in best_pieces if told >= MIN_PIECE_SCORE]

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
        """Return the results for `query`, best first. Each exchange is returned once.

        Args:
            numbered: Show the message number of an exchange, so that the reader can ask for the messages around it.
            forgotten_too: Include forgotten text, for users who read their own log.
        """
        hits, around = await self._find_best(query, owner, only, limit * 3)
        results = self._format(owner, query, hits, around, numbered=numbered)
        if (
            owner is not None
            and not forgotten_too
            and (forgotten := await read_forgotten_words(self._database.rows, owner))
        ):
            results = (result for result in results if not result.is_hidden_by(forgotten))
        return list(itertools.islice(results, limit))

    async def find_by_name(self, name: str, owner: str, only: Filter) -> WholeEntry | None:
        """Return the entry with the name or alias `name`, or None."""
        hit = next(iter(await self._search.find_named(name, owner, only=only)), None)
        if hit is None or hit.name is None:
            return None
        row = await self._database.row(
            "SELECT m.id, m.created_at FROM entries e JOIN messages m ON m.id = e.source_message_id WHERE e.id = ?",
            (hit.id,),
        )
        formatter = self.create_formatter(owner)
        source = f"by {hit.source} {formatter.format_moment(hit.created_at)}"
        if row is not None:
            source += f", from message {row['id']} of {formatter.format_moment(from_text(row['created_at']))}"
        text = f"{hit.content}\nOutcome: {hit.outcome}" if hit.outcome else hit.content
        return WholeEntry(hit.id, hit.name, f"{formatter.format_header(hit)} ({source})", text, hit.provenance)

    async def find_hits(self, query: str, owner: str | None, only: Filter, limit: int) -> list[Hit]:
        """Return entries named `query`, then the other hits, best first, without repetitions of the query itself."""
        return (await self._find_best(query, owner, only, limit))[0]

    async def _find_best(
        self, query: str, owner: str | None, only: Filter, limit: int
    ) -> tuple[list[Hit], Neighbourhood]:
        first = max(limit, MIN_CANDIDATES) + MAX_QUESTION_HITS
        hits = await self._search.find(query, owner, only=only, limit=first, shared=True)
        called = await self._search.find_named(query, owner, only=only)
        names = {hit.id for hit in called}
        words = make_wording_key(query)

        def wanted(hit: Hit) -> bool:
            if hit.turn_id is None:
                return hit.id not in names
            return make_wording_key(hit.content) != words and not _is_unanswered_question(hit)

        best = await self._ranker.rank(RankingRequest(query, owner, only, wanted), [*filter(wanted, hits)])
        # Entries with this name come first.
        most = max(best.scores[0], MIN_NAMED_SCORE) if best.scores else MIN_NAMED_SCORE
        scored = [*((hit, most) for hit in called), *zip(best.hits, best.scores, strict=True)]
        return [replace(hit, score=score) for hit, score in scored[:limit]], best.around

    async def find_for_path(
        self, owner: str, path: str, limit: int, kinds: Collection[str] = TYPED_KINDS
    ) -> list[RecallResult]:
        """Return the memories for a path (S4), first those with a matching scope, then those that mention it.

        The former are sorted by priority and strength, the latter by score.
        """
        only = Filter(kinds=kinds, archived=False, current=True)
        in_scope = await self._search.find_in_scope(owner, path, kinds, limit)
        words = " ".join(part for part in re.split(r"[\\/._-]+", path) if part)
        mentioning = await self._search.find(words, owner, only=only, limit=limit)
        seen = {hit.id for hit in in_scope}
        hits = [*in_scope, *(hit for hit in mentioning if hit.id not in seen and not hit.scope)]
        around = await read_neighbourhood(self._database, [hit.id for hit in hits if hit.turn_id is not None])
        return list(itertools.islice(self._format(owner, path, hits, around), limit))

    def _format(
        self,
        owner: str | None,
        query: str,
        hits: Iterable[Hit],
        around: Neighbourhood,
        *,
        whole_exchanges: bool = True,
        numbered: bool = False,
    ) -> Iterator[RecallResult]:
        """Format the hits with their dates and sources. Each exchange is yielded once."""
        query_terms, formatter = QueryTerms(query), self.create_formatter(owner)
        once: set[tuple[bool, int]] = set()
        for hit in hits:
            key = make_hit_key(hit)
            if key in once:
                continue
            once.add(key)
            if hit.turn_id is None:
                yield RecallResult(hit, formatter.format_entry(hit, query_terms), hit.provenance)
            else:
                rows = [row for row in around.get_turn(hit.turn_id) if whole_exchanges or row["role"] == Role.USER]
                messages = formatter.quote_rows(rows, query_terms)
                yield format_exchange(hit, messages, formatter, numbered=numbered)


def _is_unanswered_question(hit: Hit) -> bool:
    """Return True for a question that only matches because it was asked, such as while no model was available."""
    return hit.of_failed_turn and is_question(hit.content)


def _find_previous_exchange(visible: Transcript) -> list[str]:
    last = {message.role: message.content for message in visible.messages if message.content}
    return [last[role][:MAX_PREVIOUS_CHARS] for role in (Role.USER, Role.ASSISTANT) if role in last]


def _create_unseen_filter(visible: Transcript) -> Callable[[Hit], bool]:
    """Return a filter for hits that may be added to a prompt with this conversation."""
    seen = {message.turn_id for message in visible.messages}

    def can_be_shown(hit: Hit) -> bool:
        return (
            (hit.kind in PASSAGE_KINDS or hit.shared_by is not None)
            and hit.turn_id not in seen
            and hit.unconfirmed is None  # Only explicit searches return unconfirmed entries.
            and hit.content != visible.summary
            and not is_small_talk(hit.content)
        )

    return can_be_shown
