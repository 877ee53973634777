"""What a typed message states to be kept, found without a model: wishes, rules, corrections, changes.

Precision comes first: what is missed here a model may still find later, what is wrongly kept annoys for long. So a
sentence is captured only if it begins like one of the phrases of its language (memory/learning/phrases), is no
question, and still means something once the conversation is over.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.learning.phrases.grammar import Pattern, phrases_in_scripts_of
from memory.learning.phrases.lexicon import (
    ABBREVIATIONS,
    ACTUALLY,
    CALENDAR,
    EMPTY_HAN,
    EMPTY_WORDS,
    LEADING_WORDS,
    MOMENTS,
    OPENERS,
    QUESTIONS,
    REQUESTS,
    TRAILING_DAY,
    TRAILING_TIME,
)
from memory.text.words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.learning.phrases.grammar import Phrase

__all__ = [
    "LONGEST_CAPTURE",
    "MOST_CAPTURES",
    "Captured",
    "Pattern",
    "captured",
    "first_sentence",
    "is_one_wish",
    "restated",
]

LONGEST_CAPTURE = 500
"""Characters of a captured sentence; the rest of it is left out."""
MOST_CAPTURES = 3
LONGEST_LOOKED_AT = 4_000
"""Characters of a message: what comes later is most likely pasted."""
MOST_SENTENCES = 12
_FEWEST_TELLING = 2
# Chinese words have about two characters, and a verb of liking is always one of them.
_FEWEST_HAN = 3

_MASK = "\ue000"
_LEFT_OUT = re.compile(
    r"^[ \t]*(?:```|~~~)[\s\S]*?(?:^[ \t]*(?:```|~~~)[^\n]*$|\Z)"  # a fence that is not closed goes on to the end
    r"|^[ \t]*>[^\n]*$"
    r"|^(?: {4}|\t)[^\n]*$",
    re.MULTILINE,
)
# An opening quote that nothing closes quotes all that follows.
_QUOTED = re.compile(
    r"`[^`\n]*(?:`|$)|«[^»]*(?:»|\Z)|“[^”]*(?:”|\Z)|„[^“”\"]*(?:[“”\"]|\Z)|「[^」]*(?:」|\Z)|『[^』]*(?:』|\Z)|‹[^›]*(?:›|\Z)"
    r"|(?<![^\s(\[{—–:,-])\"[^\"]*(?:\"|\Z)|(?<![^\s(\[{—–:,-])['‘‚][^'‘’\n]*['‘’](?!\w)",
    re.MULTILINE,
)
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+", re.IGNORECASE)
_BOUNDARY = re.compile(r"\n+|[。！？；…]+[”’」』»)]*|[.!?;]+[\"'”’»)]*(?=\s|$)")
_LIST_ITEM = re.compile(r"\s*(?:[-*•–]|\d+[.)])\s")
_LIST_NUMBER = re.compile(r"(?:^|\n)\s*\d+$")
_OPEN_ENDS = (",", ":", "，", "：", "、")
_LAST_WORD = re.compile(r"[^\s(]{1,12}$")
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_HAN = re.compile("[\u3400-\u9fff]")
_STRAIGHT = {ord("’"): "'", ord("ʼ"): "'", ord("\u00a0"): " "}
_TELLING_MARK = re.compile(f"[\\d{_MASK}]")
_WISHES = (Pattern.PREFERENCE, Pattern.RULE, Pattern.CONSTRAINT)
_OF_THE_MOMENT = (Pattern.PREFERENCE, Pattern.CONSTRAINT)
_LONGEST_VALUE = 4
_VALUE = re.compile(r"[^,;:!?，；：。！？]*")
_EDGES = " \t.,;:!?…-–—\"'«»“”„()。，！；：了"


@dataclass(frozen=True, slots=True)
class Captured:
    """One sentence that states something to be kept."""

    pattern: Pattern
    text: str
    """As typed, whitespace folded, at most LONGEST_CAPTURE characters."""
    corrects: str | None = None
    """The words that hold no longer, as typed; None where the sentence names none."""
    becomes: str | None = None
    """The words that hold instead, as typed; None where it is not clear which they are."""


def captured(text: str) -> list[Captured]:
    """What `text`, one message as typed, states to be kept; in its order, at most MOST_CAPTURES."""
    found: list[Captured] = []
    for sentence, plain in _sentences(text):
        capture = _capture(sentence, plain)
        if capture is not None and capture not in found:
            found.append(capture)
        if len(found) == MOST_CAPTURES:
            break
    return found


def first_sentence(text: str) -> str:
    """The beginning of `text` up to the end of its first sentence; a list and its items are one."""
    masked = _masked(text[:LONGEST_LOOKED_AT])
    for boundary in _BOUNDARY.finditer(masked):
        before, after, mark = masked[: boundary.start()], masked[boundary.end() :], boundary.group()
        in_list = _LIST_ITEM.match(after) or _LIST_NUMBER.search(before)
        is_open = before.rstrip().endswith(_OPEN_ENDS) if mark[0] == "\n" else mark[0] in ";；"
        is_short = mark == "." and _is_abbreviated(before[-14:], after[:14])
        if before.strip() and not (in_list or is_open or is_short):
            return text[: boundary.end()]
    return text


def is_one_wish(text: str) -> bool:
    """Whether a message is nothing but one wish or rule, which is captured as it stands: nothing else is in it."""
    found = captured(text)
    return len(found) == 1 and found[0].pattern in _WISHES and found[0].text == " ".join(text.split())


def restated(known: str, corrects: str, becomes: str) -> str | None:
    """What is known, with what has become of it: `Ann lives in Lviv` for `Ann lives in Kyiv`.

    None unless the words that hold no longer stand in it once, in the same form.
    """
    said, times = re.subn(rf"(?<!\w){re.escape(corrects)}(?!\w)", lambda _: becomes, known, flags=re.IGNORECASE)
    return said if times == 1 else None


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """The first sentences, each as typed and with its quotations masked; both of the same length."""
    # what is left out ends a sentence, so that no capture joins what stood apart
    kept = _LEFT_OUT.sub("\n", text[:LONGEST_LOOKED_AT])
    lines = (" ".join(line.split()) for line in kept.splitlines())
    shown = "\n".join(line for line in lines if line)
    masked = _masked(shown)
    ends = list(itertools.islice(_ends(masked), MOST_SENTENCES))
    if len(text) <= LONGEST_LOOKED_AT and len(ends) < MOST_SENTENCES:
        # the last sentence of a message that is cut short would be half a sentence
        ends.append(len(masked))
    for start, end in itertools.pairwise([0, *ends]):
        sentence = shown[start:end].replace("\n", " ").strip()
        yield sentence[:LONGEST_CAPTURE].rstrip(), masked[start:end].strip()[:LONGEST_CAPTURE].rstrip()


def _masked(text: str) -> str:
    """`text` with what it quotes and the addresses in it masked, of the same length."""
    for hidden in (_QUOTED, _ADDRESS):
        text = hidden.sub(lambda part: _MASK * len(part.group()), text)
    return text


def _ends(masked: str) -> Iterator[int]:
    for boundary in _BOUNDARY.finditer(masked):
        mark = boundary.group()
        if mark == "." and _is_abbreviated(
            masked[max(0, boundary.start() - 14) : boundary.start()], masked[boundary.end() : boundary.end() + 14]
        ):
            continue
        yield boundary.end()


def _is_abbreviated(before: str, after: str) -> bool:
    """Whether a full stop between these words belongs to the first: "Dr. Ann", "J. Ann", "am 4. März"."""
    last = _LAST_WORD.search(before)
    if last is None:
        return False
    word = last.group().casefold()
    is_day = word.isdigit() and (after.lstrip()[:1].islower() or CALENDAR.match(after.lstrip()) is not None)
    return is_day or (len(word) == 1 and word.isalpha() and not _HAN.match(word)) or word in ABBREVIATIONS


def _capture(sentence: str, plain: str) -> Captured | None:
    """What one sentence states; None for nothing, a question, or words that mean nothing later."""
    said = plain.translate(_STRAIGHT)
    if not said or QUESTIONS.search(said):
        return None
    starts = _starts(said)
    if any(REQUESTS.match(said, start) for start in starts):
        return None
    if not _tells(said):
        return None  # before any phrase: most messages of a word or two end here
    for phrase, start in itertools.product(phrases_in_scripts_of(said), starts):
        found = phrase.expression.match(said, start)
        if found is not None and _is_lasting(phrase, said, start):
            corrects = _corrected(sentence, found)
            return Captured(phrase.pattern, sentence, corrects, _become(sentence, found) if corrects else None)
    return None


def _starts(said: str) -> list[int]:
    """Where a statement may begin: at once, after courtesies, after an "actually" that follows them."""
    starts = [0]
    for words in (OPENERS, ACTUALLY, OPENERS):
        opener = words.match(said, starts[-1])
        if opener is not None and opener.end() > starts[-1]:
            starts.append(opener.end())
    return starts


def _is_lasting(phrase: Phrase, said: str, start: int) -> bool:
    """Whether the sentence means something once the conversation is over."""
    if phrase.pattern in _OF_THE_MOMENT and MOMENTS.search(said):
        return False
    return _tells(said, start) and (not phrase.needs_name or _names(said[start:]))


def _tells(said: str, start: int = 0) -> bool:
    """Whether there are enough words that mean something, or a name behind `start`."""
    names = _names(said[start:])
    if _HAN.search(said):
        telling = len([character for character in _HAN.findall(said) if character not in EMPTY_HAN])
        return telling >= _FEWEST_HAN or bool(names)
    words = {word.casefold() for word in _WORD.findall(said)}
    return len(words - EMPTY_WORDS - STOP_WORDS) >= _FEWEST_TELLING or bool(names)


def _names(said: str) -> bool:
    """Whether there is a name, a number, a date or a quotation beyond the first word."""
    _, _, rest = said.partition(" ")
    capitals = (word for word in _WORD.findall(rest) if word[0].isupper() and len(word) > 1)
    return any(not word.startswith("I'") for word in capitals) or bool(
        _TELLING_MARK.search(said) or CALENDAR.search(said)
    )


def _corrected(sentence: str, found: re.Match[str]) -> str | None:
    """The words of `sentence` that are said to hold no longer, without what only joins them to it."""
    if found.re.groupindex.get("old") is None or found["old"] is None:
        return None
    old = sentence[found.start("old") : found.end("old")].strip(_EDGES)
    old = TRAILING_TIME.sub("", old)
    joined = LEADING_WORDS.match(old)
    return (old[joined.end() :] if joined else old).strip(_EDGES) or None


def _become(sentence: str, found: re.Match[str]) -> str | None:
    """What stands at the end of `sentence` as the new value: what follows a phrase that ends where that begins."""
    if not found.re.pattern.endswith(r"\w"):
        return None
    value = _VALUE.match(sentence, found.end() - 1)
    new = value.group().strip(_EDGES) if value else ""
    for _ in range(2):
        new = TRAILING_DAY.sub("", TRAILING_TIME.sub("", new)).strip(_EDGES)
    return new if new and len(new.split()) <= _LONGEST_VALUE else None
