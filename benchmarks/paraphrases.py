"""How well what was told is found by a question in other words, in the same language and in another.

The pairs are the project's own (tests/sets/paraphrases.txt): each fact in six languages, its question with hardly a
word of it. All that was told in a language is kept by the product's own log, hidden among ordinary messages in the same
language (from tests/sets), and asked for in every language.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.embedding import embedded
from memory.clock import system_clock
from memory.log.sessions import Address, SessionService
from memory.log.turn_log import FinishedTurn, Outcome, TurnLog
from memory.messages import Message, Provenance, Role
from memory.search.ranking import Ranker
from memory.search.recall import Recall
from memory.search.search import MESSAGE_KIND, Filter, Search
from memory.store.database import Database
from memory.text.tokens import TokenCounter
from tests.support.talk import in_utc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from memory.log.sessions import Session
    from memory.search.vector_search import VectorSearch
    from memory.search.vectors import Embedder

SETS = Path(__file__).parent.parent / "tests" / "sets"
HELD, FITTING = HALVES = ("held", "fitting")
OTHERS = 1_000
"""Messages among which those of a language are hidden."""
CONVERSATION = 20
DEPTH = 10
_ANSWERS = re.compile("Crete and Menorca|nicht mehr als drei Stunden am Stück|vamos a Oviedo")
"""In those of the labelled sentences that answer one of the questions: where to on holiday, what keeps me awake."""
_STATES_NOTHING = ("capture_sentences", "capture_registers")
_FRAME = re.compile(r"(?P<language>[a-z]{2}) (?P<before>[^{]*)\{(?P<choices>[^}]+)\}(?P<after>.*)")
_PAIR = re.compile(r"(?P<language>[a-z]{2}) (?P<told>.+) > (?P<question>.+)")


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """What was told, and a question after it. fact: the number of what it says, in whatever language."""

    fact: int
    language: str
    told: str
    question: str

    @property
    def half(self) -> str:
        """Whether weights may be fitted on it."""
        return HALVES[self.fact % 2]


def read_paraphrases() -> list[Paraphrase]:
    """All of them. Raises ValueError where a line is none."""
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


def other_messages(language: str) -> list[str]:
    """What else was said in a language, in one order.

    Of the labelled sentences only those that state nothing to keep: the others may answer a question as well, and three
    of these do.
    """
    texts = [text for name in _STATES_NOTHING for text in _unlabelled(name, language)]
    unrelated = json.loads((SETS / "unrelated_messages.json").read_text(encoding="utf-8"))
    texts += [text for kind, messages in unrelated.items() if kind != "about" for text in messages[language]]
    for line in (SETS / "other_messages.txt").read_text(encoding="utf-8").splitlines():
        if (frame := _FRAME.fullmatch(line)) and frame["language"] == language:
            texts += [frame["before"] + choice + frame["after"] for choice in frame["choices"].split("|")]
    return random.Random(language).sample([*dict.fromkeys(texts)], OTHERS)


def _unlabelled(name: str, language: str) -> list[str]:
    sentences = json.loads((SETS / f"{name}.json").read_text(encoding="utf-8"))
    texts = [item["text"] for item in sentences if item["language"] == language and item["pattern"] is None]
    return [text for text in texts if not _ANSWERS.search(text)]


async def kept(database: Database, language: str, told: Sequence[str]) -> Session:
    """A private chat in which all that was said, with what else was, a turn each."""
    sessions, turns = SessionService(database, system_clock), TurnLog(database, system_clock)
    session = await sessions.get_or_create(Address("paraphrases", language))
    texts = other_messages(language)
    source = random.Random(language)
    for text in told:
        texts.insert(source.randrange(len(texts) + 1), text)
    at = datetime(2026, 1, 5, 9, tzinfo=UTC)
    for number, text in enumerate(texts):
        at += timedelta(hours=3)
        message = Message(Role.USER, text, at, provenance=Provenance.TYPED)
        await turns.commit(FinishedTurn(session.id, Outcome.ANSWERED, [message], at))
        if number % CONVERSATION == CONVERSATION - 1:
            await sessions.clear_messages(session.id)
    await sessions.clear_messages(session.id)
    return session


@dataclass(frozen=True, slots=True)
class Found:
    """A question asked in one language after what was told in another. rank: its place; None: not found."""

    pair: Paraphrase
    asked_in: str
    rank: int | None


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat in which everything was said in one language, among other messages."""

    pairs: list[Paraphrase]
    owner: str
    database: Database
    vectors: VectorSearch | None


async def chats(embedder: Embedder | None) -> AsyncIterator[Chat]:
    """One of each language, all in one store."""
    pairs = read_paraphrases()
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            for language in dict.fromkeys(pair.language for pair in pairs):
                there = [pair for pair in pairs if pair.language == language]
                session = await kept(database, language, [pair.told for pair in there])
                vectors = await embedded(database, Search(database), embedder) if embedder is not None else None
                yield Chat(there, session.owner, database, vectors)
        finally:
            await database.close()


def questions_of(pair: Paraphrase, pairs: Sequence[Paraphrase]) -> dict[str, str]:
    """The question after what a pair tells, in every language."""
    return {other.language: other.question for other in pairs if other.fact == pair.fact}


async def asked(embedder: Embedder | None) -> AsyncIterator[Found]:
    """Every question, in the chat of every language."""
    pairs, only = read_paraphrases(), Filter(kinds=[MESSAGE_KIND])
    async for chat in chats(embedder):
        ranker = Ranker(chat.database, chat.vectors)
        recall = Recall(Search(chat.database), chat.database, TokenCounter(), in_utc, ranker)
        for pair in chat.pairs:
            for language, question in questions_of(pair, pairs).items():
                hits = await recall.hits(question, chat.owner, only, DEPTH)
                texts = [hit.content for hit in hits]
                yield Found(pair, language, texts.index(pair.told) + 1 if pair.told in texts else None)


async def table(embedder: Embedder | None) -> list[str]:
    """R@10 in percent of each half, for each language and for questions in another one than what was told."""
    results = [found async for found in asked(embedder)]
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
