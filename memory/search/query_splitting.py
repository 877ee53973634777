"""Question splitting: extracts the questions of a message, so that each can be searched for separately.

It only looks at the text and finds nothing itself. In a long message most words have nothing to do with the question,
so the coverage of the whole message says little about a hit.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from memory.text.cues import (
    ACKNOWLEDGEMENTS,
    ASKING,
    ASKING_PHRASES,
    ASKING_WHEN,
    ASKING_WHEN_PHRASES,
    ASKING_WHO,
    ASKING_WHO_PHRASES,
    BEGINS_QUESTION,
    JOINS_SENTENCES,
    OPENERS,
    REFERRING_BACK,
    REFERRING_BACK_PHRASES,
    REQUESTS,
)
from memory.text.query_terms import QueryTerms
from memory.text.words import (
    MAX_INDEXED_CHARS,
    find_words,
    has_gaps,
    has_telling_words,
    is_chatter,
    says_nothing,
    split_words,
)

MAX_QUESTIONS = 4
"""Questions of a message to search for. If there are more, those at its start and its end are used."""
MAX_JOINS = 8
"""Number of commas and conjunctions, from the end, that are tried as the start of the question in a sentence."""
MAX_SENTENCE_CHARS = 1_000
"""A longer sentence is not split."""
MIN_TALK_WORDS = 8
"""Minimum words before a comma to count as talk. Fewer usually belong to the question: "in May, who ..."."""
MIN_TERMS = 3
"""A question with fewer telling words depends on the message before: "and her sister?"."""
PIECE_WORDS = 10
"""Words of a piece that is searched for separately. A question has about as many."""
MAX_PIECES = 12
"""Pieces of a message to search for."""
_REQUEST_WORDS = 3
# Not after "Dr." or the initial of a name.
_ENDS = re.compile(
    r"(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\b[A-Z][a-z]\.)(?<!\bMrs\.)[\"'”»)\]]*\s+|(?<=[。！？；])|\n+|(?<=\s)[–—]\s"
)
_JOINS = re.compile(r"[,;:]\s+|(?<=[，、：])|\s(?=(?:" + "|".join(JOINS_SENTENCES) + r")\s)", re.IGNORECASE)
_ASKS = re.compile(r"[?？؟][\s\"'”’»)\]]*$")
_BEFORE_QUESTION = JOINS_SENTENCES | OPENERS | ACKNOWLEDGEMENTS
_QUESTION_WORDS = ASKING | ASKING_WHO | ASKING_WHEN


def find_questions(message: str) -> list[str]:
    """Return the sentences of a message that ask or refer back. Empty if the whole message is one question.

    A question that depends on the question before it is also returned together with that one: "You remember the ferry?
    When does it leave?"
    """
    sentences = [text for part in _ENDS.split(message[:MAX_INDEXED_CHARS]) if (text := part.strip())]
    questions: list[str] = []
    for before, sentence in itertools.pairwise(["", *sentences]):
        if asks(sentence) and not is_chatter(sentence):
            questions.append(strip_talk(sentence))
            questions += [f"{before} {sentence}"] if depends_on_context(sentence) and asks(before) else []
    if message.strip() in questions:
        questions.remove(message.strip())
    return [
        *dict.fromkeys(
            questions
            if len(questions) <= MAX_QUESTIONS
            else [*questions[: MAX_QUESTIONS // 2], *questions[-MAX_QUESTIONS // 2 :]]
        )
    ]


def asks(sentence: str) -> bool:
    """Return True if a sentence asks or refers back, by its question mark or by its words."""
    return _asks_at_once(sentence) or strip_talk(sentence) != sentence


def depends_on_context(text: str) -> bool:
    """Return True if a question has so few telling words that it depends on the messages before it."""
    if is_chatter(text) or not has_telling_words(text):
        asks_for = not ASKING_WHO.union(ASKING_WHEN).isdisjoint(split_words(text))
        return asks_for or any(phrase in text for phrase in (*ASKING_WHO_PHRASES, *ASKING_WHEN_PHRASES))
    return len(QueryTerms(text).terms) < MIN_TERMS


def is_question(message: str) -> bool:
    """Return True if a message is a question and contains nothing more."""
    return asks(message) and not find_questions(message)


def _asks_at_once(sentence: str) -> bool:
    """Return True if a sentence asks without a statement before the question."""
    if _ASKS.search(sentence):
        return True
    if sentence.endswith(("!", "！")):  # "What a week!"
        return False
    words = split_words(sentence)
    return (
        _opens_question(words)
        or not REQUESTS.isdisjoint(words[:_REQUEST_WORDS])
        or not REFERRING_BACK.isdisjoint(words)
        or any(phrase in sentence.casefold() for phrase in (*REFERRING_BACK_PHRASES, *ASKING_PHRASES))
    )


def strip_talk(sentence: str) -> str:
    """Return the question in a sentence, without the talk before it."""
    if len(sentence) > MAX_SENTENCE_CHARS:
        return sentence
    is_marked = _ASKS.search(sentence) is not None
    for join in [*_JOINS.finditer(sentence)][: -MAX_JOINS - 1 : -1]:
        before, after = sentence[: join.start()], sentence[join.end() :]
        # Without a question mark, such a word after a comma only continues the statement: ", which was late".
        goes_on = not is_marked and join.group().startswith((",", "，"))
        if _opens_question(split_words(after)) and _is_talk(before, MIN_TALK_WORDS if not goes_on else None):
            return after
    return sentence


def split_pieces(message: str) -> list[str]:
    """Split long sentences into pieces of PIECE_WORDS words, since dictated text may lack punctuation.

    Pieces start at question words. Without question words they overlap by half. In a script without spaces two letters
    count as a word.
    """
    pieces = [piece for part in _ENDS.split(message[:MAX_INDEXED_CHARS]) for piece in _split_sentence(part.strip())]
    pieces = [piece for piece in dict.fromkeys(pieces) if piece != message.strip() and not is_chatter(piece)]
    return pieces if len(pieces) <= MAX_PIECES else [*pieces[: MAX_PIECES // 2], *pieces[-MAX_PIECES // 2 :]]


def _split_sentence(sentence: str) -> list[str]:
    places = find_words(sentence)
    last = len(places) - PIECE_WORDS
    if last <= PIECE_WORDS // 2:
        return []
    starts = [at for at, (start, end) in enumerate(places) if sentence[start:end].casefold() in _QUESTION_WORDS]
    starts = starts or [*range(0, last, PIECE_WORDS // 2), last]
    return [sentence[places[at][0] : places[min(at + PIECE_WORDS, len(places)) - 1][1]] for at in starts]


def _opens_question(words: Sequence[str]) -> bool:
    first = next(itertools.dropwhile(_BEFORE_QUESTION.__contains__, words), "")
    return first in _QUESTION_WORDS or first in BEGINS_QUESTION


def _is_talk(text: str, least: int | None) -> bool:
    """Return True if the text before a question is unrelated: it is long, or has only words without meaning."""
    words = split_words(text)
    if not words or not all(map(has_gaps, words)) or _asks_at_once(text):
        return False
    return (least is not None and len(words) >= least) or says_nothing(words)
