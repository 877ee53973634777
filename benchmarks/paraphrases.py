"""Search by questions in other words, in the language of the fact and in others.

The pairs belong to the project (tests/sets/paraphrases.txt): each fact in six languages, with a question that shares
hardly any words with it. The facts of a language are stored by the product's log, among ordinary messages in the same
language (from tests/sets), and asked for in every language.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.embedding import embed_missing
from memory.clock import system_clock
from memory.log.sessions import Address, Session, SessionService
from memory.log.turn_log import FinishedTurn, Outcome, TurnLog
from memory.messages import Message, Provenance, Role
from memory.search.ranking import Ranker
from memory.search.recall import Recall
from memory.search.search import Search
from memory.search.types import MESSAGE_KIND, Filter, SimilaritySource
from memory.store.database import Database
from memory.text.tokens import TokenCounter
from tests.support.talk import in_utc

if TYPE_CHECKING:
    from bot.features.vectors.store import Embedder

SETS = Path(__file__).parent.parent / "tests" / "sets"
HELD, FITTING = HALVES = ("held", "fitting")
OTHER_MESSAGES = 1_000
"""Number of other messages per language."""
MESSAGES_PER_CONVERSATION = 20
DEPTH = 10
_ANSWERS = re.compile("Crete and Menorca|nicht mehr als drei Stunden am Stück|vamos a Oviedo")
"""Labelled sentences that answer one of the questions by chance, about holidays and sleep."""
_STATES_NOTHING = ("capture_sentences", "capture_registers")
_FRAME = re.compile(r"(?P<language>[a-z]{2}) (?P<before>[^{]*)\{(?P<choices>[^}]+)\}(?P<after>.*)")
_PAIR = re.compile(r"(?P<language>[a-z]{2}) (?P<told>.+) > (?P<question>.+)")


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A fact and a question about it. `fact` is the number of the fact, shared by all languages."""

    fact: int
    language: str
    told: str
    question: str

    @property
    def half(self) -> str:
        """Return the half to which the fact belongs. Weights may only be trained on FITTING."""
        return HALVES[self.fact % 2]


def read_paraphrases() -> list[Paraphrase]:
    """Load all pairs. Raises ValueError for an invalid line."""
    pairs: list[Paraphrase] = []
    fact = 0
    for line in (SETS / "paraphrases.txt").read_text(encoding="utf-8").splitlines():
        if found := _PAIR.fullmatch(line):
            pairs.append(Paraphrase(fact, found["language"], found["told"], found["question"]))
        elif not line:
            fact += 1
        elif not line.startswith("#"):
            raise ValueError(line)
    return pairs


def read_other_messages(language: str) -> list[str]:
    """Return other messages in a language, in a fixed order.

    Labelled sentences are included only if they state no fact, since others might answer a question.
    """
    texts = [text for name in _STATES_NOTHING for text in _read_unlabelled(name, language)]
    unrelated = json.loads((SETS / "unrelated_messages.json").read_text(encoding="utf-8"))
    texts += [text for kind, messages in unrelated.items() if kind != "about" for text in messages[language]]
    for line in (SETS / "other_messages.txt").read_text(encoding="utf-8").splitlines():
        if (frame := _FRAME.fullmatch(line)) and frame["language"] == language:
            texts += [frame["before"] + choice + frame["after"] for choice in frame["choices"].split("|")]
    return random.Random(language).sample([*dict.fromkeys(texts)], OTHER_MESSAGES)


def _read_unlabelled(name: str, language: str) -> list[str]:
    sentences = json.loads((SETS / f"{name}.json").read_text(encoding="utf-8"))
    texts = [item["text"] for item in sentences if item["language"] == language and item["pattern"] is None]
    return [text for text in texts if not _ANSWERS.search(text)]


async def store_facts(database: Database, language: str, told: Sequence[str]) -> Session:
    """Store facts and other messages in a private chat, one per turn."""
    sessions, turns = SessionService(database, system_clock), TurnLog(database, system_clock)
    session = await sessions.get_or_create(Address("paraphrases", language))
    texts = read_other_messages(language)
    source = random.Random(language)
    for text in told:
        texts.insert(source.randrange(len(texts) + 1), text)
    at = datetime(2026, 1, 5, 9, tzinfo=UTC)
    for number, text in enumerate(texts):
        at += timedelta(hours=3)
        message = Message(Role.USER, text, at, provenance=Provenance.TYPED)
        await turns.commit(FinishedTurn(session.id, Outcome.ANSWERED, [message], at))
        if number % MESSAGES_PER_CONVERSATION == MESSAGES_PER_CONVERSATION - 1:
            await sessions.clear_messages(session.id)
    await sessions.clear_messages(session.id)
    return session


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of a question in some language. `rank` is None if the fact wasn't found."""

    pair: Paraphrase
    asked_in: str
    rank: int | None


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat with all facts in one language, among other messages."""

    pairs: list[Paraphrase]
    owner: str
    database: Database
    vectors: SimilaritySource | None


async def open_chats(embedder: Embedder | None) -> AsyncIterator[Chat]:
    """Yield a chat for each language, all in one store."""
    pairs = read_paraphrases()
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            for language in dict.fromkeys(pair.language for pair in pairs):
                there = [pair for pair in pairs if pair.language == language]
                session = await store_facts(database, language, [pair.told for pair in there])
                vectors = await embed_missing(database, Search(database), embedder) if embedder is not None else None
                yield Chat(there, session.owner, database, vectors)
        finally:
            await database.close()


def find_translations(pair: Paraphrase, pairs: Sequence[Paraphrase]) -> dict[str, str]:
    """Return the question about a fact in every language."""
    return {other.language: other.question for other in pairs if other.fact == pair.fact}


async def ask_all(embedder: Embedder | None) -> AsyncIterator[QuestionResult]:
    """Ask every question in the chats of all languages."""
    pairs, only = read_paraphrases(), Filter(kinds=[MESSAGE_KIND])
    async for chat in open_chats(embedder):
        ranker = Ranker(chat.database, chat.vectors)
        recall = Recall(Search(chat.database), chat.database, TokenCounter(), in_utc, ranker)
        for pair in chat.pairs:
            for language, question in find_translations(pair, pairs).items():
                hits = await recall.find_hits(question, chat.owner, only, DEPTH)
                texts = [hit.content for hit in hits]
                yield QuestionResult(pair, language, texts.index(pair.told) + 1 if pair.told in texts else None)


async def build_table(embedder: Embedder | None) -> list[str]:
    """Return a table of R@10 in percent for each half, by language and across languages."""
    results = [found async for found in ask_all(embedder)]
    languages = [*dict.fromkeys(found.asked_in for found in results)]
    lines = [f"{'R@10':8}" + "".join(f"{name:>8}" for name in (*languages, "across"))]
    for half in HALVES:
        cells = []
        for language in (*languages, None):
            some = [
                found.rank is not None
                for found in results
                if found.pair.half == half
                and (
                    found.asked_in != found.pair.language
                    if language is None
                    else found.asked_in == found.pair.language == language
                )
            ]
            cells.append(f"{100 * sum(some) / len(some):8.1f}")
        lines.append(f"{half:8}" + "".join(cells))
    return lines
