"""What a message asks for: its sentences that ask or refer back, without the talk around them.

How much of a message something covers tells nothing where most of it is talk. So what asks is looked up by itself.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

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
from memory.text.sought import QueryTerms
from memory.text.words import (
    LONGEST_INDEXED,
    has_gaps,
    has_telling_words,
    is_chatter,
    says_nothing,
    word_places,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 4
"""So many sentences of a message are looked up: those at its beginning and its end, if more ask."""
MOST_JOINS = 8
"""So many places of a sentence, the last ones, are looked at for where its question begins."""
LONGEST = 1_000
"""Characters of a sentence that is cut further."""
LEAST_TALK = 8
"""Words that may be talk before a comma; fewer belong to the question, as a rule: "in May, who ..."."""
LEAST_TERMS = 3
"""With fewer telling words a question leans on what was said before: "and her sister?"."""
PIECE = 10
"""Words of a stretch that is looked up by itself: as many as a question has."""
MOST_PIECES = 12
"""So many pieces of a message are looked up, as with its sentences."""
_FIRST_WORDS = 3
# not after "Dr." or the initial of a name
_ENDS = re.compile(
    r"(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\b[A-Z][a-z]\.)(?<!\bMrs\.)[\"'”»)\]]*\s+|(?<=[。！？；])|\n+|(?<=\s)[–—]\s"
)
_JOINS = re.compile(r"[,;:]\s+|(?<=[，、：])|\s(?=(?:" + "|".join(JOINS_SENTENCES) + r")\s)", re.IGNORECASE)
_ASKS = re.compile(r"[?？؟][\s\"'”’»)\]]*$")
_BEFORE_QUESTION = JOINS_SENTENCES | OPENERS | ACKNOWLEDGEMENTS
_QUESTION_WORDS = ASKING | ASKING_WHO | ASKING_WHEN


def asked_in(message: str) -> list[str]:
    """The sentences of a message that ask or refer back; none where it is one of them as a whole, or holds none.

    One that leans on a question before it is there with that one too: "You remember the ferry? When does it leave?"
    """
    sentences = [text for part in _ENDS.split(message[:LONGEST_INDEXED]) if (text := part.strip())]
    questions: list[str] = []
    for before, sentence in itertools.pairwise(["", *sentences]):
        if asks(sentence) and not is_chatter(sentence):
            questions.append(without_talk(sentence))
            questions += [f"{before} {sentence}"] if leans(sentence) and asks(before) else []
    if message.strip() in questions:
        questions.remove(message.strip())
    return [
        *dict.fromkeys(questions if len(questions) <= MOST else [*questions[: MOST // 2], *questions[-MOST // 2 :]])
    ]


def asks(sentence: str) -> bool:
    """Whether a sentence asks or refers back, by its mark or by its words."""
    return _asks_at_once(sentence) or without_talk(sentence) != sentence


def leans(text: str) -> bool:
    """Whether a text that may ask has so few telling words that it needs what was said before it to be understood."""
    if is_chatter(text) or not has_telling_words(text):
        asks_for = not ASKING_WHO.union(ASKING_WHEN).isdisjoint(words_of(text))
        return asks_for or any(phrase in text for phrase in (*ASKING_WHO_PHRASES, *ASKING_WHEN_PHRASES))
    return len(QueryTerms(text).terms) < LEAST_TERMS


def is_question(message: str) -> bool:
    """Whether a message asks and states nothing besides."""
    return asks(message) and not asked_in(message)


def _asks_at_once(sentence: str) -> bool:
    """The same, not only behind talk."""
    if _ASKS.search(sentence):
        return True
    if sentence.endswith(("!", "！")):  # "What a week!"
        return False
    words = words_of(sentence)
    return (
        _opens_question(words)
        or not REQUESTS.isdisjoint(words[:_FIRST_WORDS])
        or not REFERRING_BACK.isdisjoint(words)
        or any(phrase in sentence.casefold() for phrase in (*REFERRING_BACK_PHRASES, *ASKING_PHRASES))
    )


def without_talk(sentence: str) -> str:
    """A sentence that asks, without what is said in it before it begins to."""
    if len(sentence) > LONGEST:
        return sentence
    is_marked = _ASKS.search(sentence) is not None
    for join in [*_JOINS.finditer(sentence)][: -MOST_JOINS - 1 : -1]:
        before, after = sentence[: join.start()], sentence[join.end() :]
        # in a statement what begins so behind a comma only goes on: ", which was late"
        goes_on = not is_marked and join.group().startswith((",", "，"))
        if _opens_question(words_of(after)) and _is_talk(before, LEAST_TALK if not goes_on else None):
            return after
    return sentence


def pieces_of(message: str) -> list[str]:
    """The stretches of PIECE words of what has no marks for longer than that, as what was spoken may have none.

    They begin at the words that questions begin with; where there are none, as in most languages, they overlap by half.
    In a script without gaps two letters count as a word.
    """
    pieces = [piece for part in _ENDS.split(message[:LONGEST_INDEXED]) for piece in _stretches(part.strip())]
    pieces = [piece for piece in dict.fromkeys(pieces) if piece != message.strip() and not is_chatter(piece)]
    return pieces if len(pieces) <= MOST_PIECES else [*pieces[: MOST_PIECES // 2], *pieces[-MOST_PIECES // 2 :]]


def _stretches(sentence: str) -> list[str]:
    places = word_places(sentence)
    last = len(places) - PIECE
    if last <= PIECE // 2:
        return []
    starts = [at for at, (start, end) in enumerate(places) if sentence[start:end].casefold() in _QUESTION_WORDS]
    starts = starts or [*range(0, last, PIECE // 2), last]
    return [sentence[places[at][0] : places[min(at + PIECE, len(places)) - 1][1]] for at in starts]


def _opens_question(words: Sequence[str]) -> bool:
    first = next(itertools.dropwhile(_BEFORE_QUESTION.__contains__, words), "")
    return first in _QUESTION_WORDS or first in BEGINS_QUESTION


def _is_talk(text: str, least: int | None) -> bool:
    """Whether what stands before a question has nothing to do with it: long, or of such words as join sentences."""
    words = words_of(text)
    if not words or not all(map(has_gaps, words)) or _asks_at_once(text):
        return False
    return (least is not None and len(words) >= least) or says_nothing(words)
