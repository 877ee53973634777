"""What a typed message states to be kept, found without a model: wishes, rules, corrections, changes, facts.

Precision comes first: what is missed here a model may still find later, what is wrongly kept annoys for long. Whether a
sentence states something lasting is the judge's word (memory/capture/judge.py), to which the phrases of its language
(memory/capture/phrases) say theirs. Where a phrase matched, it tells the pattern, where the statement begins and which
words hold no longer; where none did, the judge tells the pattern, and the statement is the clauses that it is in.

What is kept are the user's own words, from where the statement begins to where something else is asked for, without
what only the talk needed: "Actually,", "lol", "please".
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.capture.judge import judge
from memory.capture.phrases.grammar import Pattern, grammar_of
from memory.capture.sentences import sentences
from memory.text.classes import MASK
from memory.text.words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memory.capture.phrases.grammar import Grammar, Phrase

LONGEST_CAPTURE = 500
"""Characters of a captured sentence; the rest of it is left out."""
MOST_CAPTURES = 3
_MOST_CLAUSES = 8
_MOST_OPENERS = 6
_FEWEST_TELLING = 2
_FEWEST_WORDS = 3
"""Words that a statement has which no phrase names; a Chinese character counts as one."""
_EMPTY_HAN = frozenset("我你您他她它们的了是不这那个在也都就吧吗呢啊很太更最再永远总请")

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_HAN = re.compile("[\u3400-\u9fff]")
_STRAIGHT = {ord("’"): "'", ord("ʼ"): "'", ord("\u00a0"): " "}
_TELLING_MARK = re.compile(f"[\\d{MASK}]")
_SMILES = re.compile("[\\s,;，]*(?:[\U0001f000-\U0001faff\u2600-\u27bf\u200d\ufe0f]+|[:;=][-']?[)(DPp]+|[xX]D+)\\s*$")
_WISHES = (Pattern.PREFERENCE, Pattern.RULE, Pattern.CONSTRAINT)
_LASTING = (Pattern.RULE, Pattern.CHANGE, Pattern.CORRECTION)
"""What may speak of the moment: "from now on", "since today"."""
_PLAIN = (Pattern.FACT, Pattern.CHANGE, Pattern.CONSTRAINT, Pattern.CORRECTION, Pattern.RULE)
"""What one telling word is enough for: "I am deaf"."""
_DUTIES = (Pattern.RULE, Pattern.CONSTRAINT)
_OF_OTHERS = (Pattern.FACT, Pattern.CONSTRAINT, Pattern.DECISION, Pattern.RULE)
"""What may be what somebody else says."""
_LONGEST_VALUE = 4
_VALUE = re.compile(r"[^,;:!?，；：。！？]*")
_NOTE = re.compile(r"\s*\[[^\]]*\]\s*")
"""What stands for something that was sent and not typed: `[location: ...]`."""
_ASKS = re.compile("[?？]")
_ENDS_ASKING = re.compile(r"[?？]\W*$")
# what the judge is told of a sentence beside its words and the phrase that matched, with what finds it there
_TOLD: dict[str, Callable[[Grammar], re.Pattern[str]]] = {
    "voids": operator.attrgetter("voids"),
    "doubts": operator.attrgetter("doubts"),
    "reports": operator.attrgetter("reports"),
    "moments": operator.attrgetter("moments"),
    "feelings": operator.attrgetter("feelings"),
    "courtesies": operator.attrgetter("courtesies"),
    "requests": operator.attrgetter("requests"),
    "asks": lambda _: _ASKS,
    "ends asking": lambda _: _ENDS_ASKING,
}
_EDGES = " \t.,;:!?…-–—\"'«»“”„()。，！；：了"


@dataclass(frozen=True, slots=True)
class Captured:
    """One statement that is to be kept."""

    pattern: Pattern
    text: str
    """As typed but for what only the talk needed, whitespace folded, at most LONGEST_CAPTURE characters."""
    corrects: str | None = None
    """The words that hold no longer, as typed; None where the sentence names none."""
    becomes: str | None = None
    """The words that hold instead, as typed; None where it is not clear which they are."""
    is_answer: bool = False
    """Whether it takes back what was said or understood before: "no, I prefer coffee"."""


@dataclass(frozen=True, slots=True)
class _Stated:
    """Where a phrase was found in a sentence."""

    phrase: Phrase
    start: int
    match: re.Match[str]
    is_answer: bool


@dataclass(frozen=True, slots=True)
class Considered:
    """A sentence, and what the phrases say of it."""

    sentence: str
    said: str
    """The same with what it quotes masked, of the same length; this is what is judged."""
    grammar: Grammar
    has_words: bool
    """Whether it is more than courtesies."""
    is_judged: bool = False
    """Whether there is anything in it to judge."""
    stated: Captured | None = None
    """What a phrase found in it."""
    is_whole: bool = False
    """Whether that is all of it."""
    is_answer: bool = False
    """Whether it begins with a mark that something was wrong, or follows one."""
    told: tuple[str, ...] = ()
    """What the judge is told of it."""


def captured(text: str) -> list[Captured]:
    """What `text`, one message as typed, states to be kept; in its order, at most MOST_CAPTURES."""
    found: list[Captured] = []
    for one in considered(text):
        capture = _judged(one)
        if capture is not None and capture not in found:
            found.append(capture)
        if len(found) == MOST_CAPTURES:
            break
    return found


def is_one_wish(text: str) -> bool:
    """Whether a message is nothing but one wish or rule, which is captured: nothing else but courtesies is in it."""
    telling = [one for one in considered(text) if one.has_words]
    if len(telling) != 1 or len(text) > LONGEST_CAPTURE or not telling[0].is_whole:
        return False
    capture = _judged(telling[0])
    return capture is not None and capture.pattern in _WISHES


def considered(text: str) -> Iterator[Considered]:
    """Each sentence with what the phrases say of it; what asks to remember something is written down elsewhere."""
    marked = False
    for sentence, plain in sentences(text):
        said = plain.translate(_STRAIGHT)
        grammar = grammar_of(said)
        end, is_mark = starts(said, 0, grammar)[0]
        has_words = _WORD.search(without_closers(said[end:], grammar)) is not None
        yield _considered(sentence, said, grammar, has_words=has_words, marked=marked)
        marked = is_mark and not has_words


def restated(known: str, corrects: str, becomes: str) -> str | None:
    """What is known, with what has become of it: `Ann lives in Lviv` for `Ann lives in Kyiv`.

    None unless the words that hold no longer stand in it once, in the same form.
    """
    said, times = re.subn(rf"(?<!\w){re.escape(corrects)}(?!\w)", lambda _: becomes, known, flags=re.IGNORECASE)
    return said if times == 1 else None


# a comma that has nothing left behind it
_ORPHANED = re.compile(r"\s*[,;，；]+(?=\s*(?:[.!。！]|$))")


def without_closers(said: str, grammar: Grammar) -> str:
    """`said` without the courtesies and smiles at its end."""
    while True:
        shorter = _SMILES.sub("", said)
        shorter = grammar.closers.sub("", shorter, count=1).rstrip(" ,;，；") if shorter else shorter
        if shorter == said or not shorter:
            return said
        said = shorter


def without_courtesies(text: str, grammar: Grammar) -> str:
    """`text` without "please" and the like, wherever they stand."""
    return _ORPHANED.sub("", " ".join(grammar.left_out.sub("", text).split()))


def _considered(sentence: str, said: str, grammar: Grammar, *, has_words: bool, marked: bool) -> Considered:
    one = Considered(sentence, said, grammar, has_words)
    begins = starts(said, 0, grammar, marked=marked)
    is_note = _NOTE.fullmatch(said) is not None
    if is_note or not _tells(said, grammar, 1) or any(grammar.remember.match(said, start) for start, _ in begins):
        return one  # before any phrase: most messages of a word or two end here
    capture, is_whole = _stated_in(one, marked=marked)
    told = [name for name, is_so in _TOLD.items() if is_so(grammar).search(said)]
    told.append("no phrase" if capture is None else capture.pattern)
    if begins[0][1]:
        told.append("answers")
    return replace(one, is_judged=True, stated=capture, is_whole=is_whole, is_answer=begins[0][1], told=tuple(told))


def _judged(one: Considered) -> Captured | None:
    """What is kept of a sentence at once: what the judge is sure of."""
    sure = judge().header.at_once
    if not one.is_judged or judge().score(one.said, one.told) < sure:
        return None
    return one.stated or _by_judge(one)


def _by_judge(one: Considered) -> Captured | None:
    """What a sentence states that no phrase names: its clauses without those that only ask or talk."""
    said, grammar = one.said, one.grammar
    start = starts(said, 0, grammar)[0][0]
    request = grammar.requests.search(said, start + 1)
    is_aside = request is not None and judge().score(said[start : request.start()]) >= judge().header.at_once
    start, end = _telling_part(said, start, request.start() if request and is_aside else len(said), grammar)
    kept = without_closers(said[start:end], grammar)
    if _ENDS_ASKING.search(kept):
        return None  # a question does not read well alone; what it tells is learned at the next consolidation
    if not _tells(kept, grammar, 1) or len(_WORD.findall(kept)) + len(_HAN.findall(kept)) < _FEWEST_WORDS:
        return None
    text = without_courtesies(one.sentence[start : start + len(kept)], grammar)[:LONGEST_CAPTURE].strip(" ,;，；")
    pattern = judge().pattern(said)
    if pattern is Pattern.CORRECTION and not one.is_answer:
        pattern = Pattern.FACT  # it corrects nothing that anybody has pointed at
    return Captured(pattern, text, is_answer=one.is_answer) if text else None


def _telling_part(said: str, start: int, end: int, grammar: Grammar) -> tuple[int, int]:
    """`said[start:end]` without the clauses at its edges that state nothing, while the rest does.

    What names somebody or a number at its end belongs to it: "two boys, Leo and Max".
    """
    judged, later = judge(), judge().header.later
    whole = judged.score(said[start:end])
    for _ in range(_MOST_CLAUSES):
        gaps = [gap.span() for gap in grammar.clause.finditer(said, start + 1, end)]
        if not gaps:
            break
        (first, second), (last, behind) = gaps[0], gaps[-1]
        for edge, rest in (((start, first), (second, end)), ((behind, end), (start, last))):
            if rest[0] == start and _names(said[last:end], grammar):
                continue
            if judged.score(said[slice(*edge)]) < later and (left := judged.score(said[slice(*rest)])) >= whole:
                (start, end), whole = rest, left
                break
        else:
            break
    return start, end


def _stated_in(one: Considered, *, marked: bool) -> tuple[Captured | None, bool]:
    """What a phrase finds in a sentence, and whether nothing else is in it; None for what states nothing that lasts."""
    sentence, said, grammar = one.sentence, one.said, one.grammar
    if grammar.voids.search(said):
        return None, False
    is_courteous = grammar.courtesies.search(said) is not None
    said = without_closers(said, grammar)
    for clause in _clauses(said, grammar):
        if clause and grammar.doubts.search(said, 0, clause):
            break
        if clause and grammar.relatives.match(said, clause):
            continue
        begins = starts(said, clause, grammar, marked=marked and clause == 0)
        if any(grammar.remember.match(said, start) for start, _ in begins):
            break  # it is written down elsewhere
        stated = _stated(said, begins, grammar, is_courteous=is_courteous)
        if stated is not None:
            if clause and stated.phrase.pattern in _DUTIES:
                stated = replace(stated, start=_topic(said, stated.start, grammar))
            if clause:
                stated = replace(stated, start=_beginning(said, stated.start, grammar))
            capture, end = _made_of(stated, sentence, said, grammar)
            return capture, clause == 0 and end == len(said)
    return None, False


def _topic(said: str, start: int, grammar: Grammar) -> int:
    """Where the words begin that tell what a rule is for, if nothing else stands before it; else its own start."""
    first = starts(said, 0, grammar)[0][0]
    bounds = [gap for gap in grammar.clause.finditer(said, first) if gap.start() < start]
    return first if grammar.topics.match(said, first) and len(bounds) == 1 else start


def _beginning(said: str, start: int, grammar: Grammar) -> int:
    """Where a statement begins that a phrase named from `start` on: the clauses before may state something too."""
    first = starts(said, 0, grammar)[0][0]
    if first >= start or judge().score(said[first:start]) < 0:
        return start
    return _telling_part(said, first, start, grammar)[0]


def _clauses(said: str, grammar: Grammar) -> Iterator[int]:
    yield 0
    for count, boundary in enumerate(grammar.clause.finditer(said), 2):
        if count > _MOST_CLAUSES:
            return
        yield boundary.end()


def starts(said: str, start: int, grammar: Grammar, *, marked: bool = False) -> list[tuple[int, bool]]:
    """Where a statement may begin, the latest first: behind courtesies and marks; and whether a mark stood there."""
    found = [(start, marked)]
    for _ in range(_MOST_OPENERS):
        at, marked = found[-1]
        mark = grammar.marks.match(said, at)
        opener = mark or grammar.openers.match(said, at)
        if opener is None or opener.end() == at:
            break
        found.append((len(said) - len(said[opener.end() :].lstrip()), marked or mark is not None))
    return found[::-1]


def _stated(said: str, begins: list[tuple[int, bool]], grammar: Grammar, *, is_courteous: bool) -> _Stated | None:
    for phrase in grammar.phrases:
        for start, marked in begins:
            if (phrase.corrects and not marked) or (phrase.courteous and not is_courteous):
                continue
            match = phrase.expression.match(said, start)
            if match is None or (phrase.needs_name and not _names(said[start:], grammar)):
                continue
            if _holds(phrase, said, start, match.end(), grammar):
                # "can you always ..." states what follows
                asked = match.end("ask") if match.groupdict().get("ask") else -1
                return _Stated(phrase, max(start, asked), match, marked)
    return None


def _holds(phrase: Phrase, said: str, start: int, least: int, grammar: Grammar) -> bool:
    """Whether nothing in the clause speaks against what its form alone speaks for."""
    ends = grammar.clause.search(said, least)
    clause = said[start : ends.start() if ends else len(said)]
    if phrase.pattern is Pattern.FACT and grammar.feelings.search(clause):
        return False
    if not phrase.wide:
        return True
    if grammar.passing.search(clause) or grammar.requests.match(f" {clause}"):
        return False
    return phrase.pattern in _LASTING or not grammar.moments.search(clause)


def _made_of(stated: _Stated, sentence: str, said: str, grammar: Grammar) -> tuple[Captured | None, int]:
    """The capture of what is stated, and its end: where something else is asked for. None if that does not last."""
    phrase, start, match = stated.phrase, stated.start, stated.match
    end = _end(stated, said, grammar)
    kept = without_closers(said[start:end], grammar)
    if phrase.asks:
        kept = kept.rstrip(" ?？")
    if re.search("[?？]", kept):
        return None, end
    if phrase.pattern not in _LASTING and grammar.moments.search(kept):
        return None, end
    if phrase.pattern in _OF_OTHERS and grammar.reports.search(kept):
        return None, end
    if not _tells(kept, grammar, 1 if phrase.pattern in _PLAIN else _FEWEST_TELLING):
        return None, end
    text = without_courtesies(sentence[start : start + len(kept)], grammar)[:LONGEST_CAPTURE].rstrip()
    corrects = _corrected(sentence[:end], match, grammar)
    becomes = _become(sentence[:end], match, grammar) if corrects else None
    return Captured(phrase.pattern, text, corrects, becomes, stated.is_answer), end


def _end(stated: _Stated, said: str, grammar: Grammar) -> int:
    """Where what is stated ends: before another request, and before a question that follows."""
    match = stated.match
    wrong = match.start("old") if "old" in match.re.groupindex else -1
    least = wrong if wrong > 0 else match.end() - 1
    request = grammar.requests.search(said, max(least, stated.start + 1))
    end = request.start() if request else len(said)
    if stated.phrase.asks or not re.search("[?？]", said[stated.start : end]):
        return end
    return max((gap.start() for gap in grammar.clause.finditer(said, match.end(), end)), default=end)


def _tells(said: str, grammar: Grammar, fewest: int) -> bool:
    """Whether there are enough words that mean something, or a name."""
    if _names(said, grammar):
        return True
    if _HAN.search(said):
        # Chinese words have about two characters
        return len([character for character in _HAN.findall(said) if character not in _EMPTY_HAN]) > 1
    words = {word.casefold() for word in _WORD.findall(said)}
    return len(words - grammar.empty - STOP_WORDS) >= fewest


def _names(said: str, grammar: Grammar) -> bool:
    """Whether there is a name, a number, a date or a quotation beyond the first word."""
    _, _, rest = said.partition(" ")
    capitals = (word for word in _WORD.findall(rest) if word[0].isupper() and len(word) > 1)
    return any(not word.startswith("I'") for word in capitals) or bool(
        _TELLING_MARK.search(said) or grammar.calendar.search(said)
    )


def _corrected(sentence: str, found: re.Match[str], grammar: Grammar) -> str | None:
    """The words of `sentence` that are said to hold no longer, without what only joins them to it."""
    if found.re.groupindex.get("old") is None or found["old"] is None:
        return None
    old = sentence[found.start("old") : min(found.end("old"), len(sentence))].strip(_EDGES)
    old = grammar.since.sub("", old)
    joined = grammar.leading.match(old)
    return (old[joined.end() :] if joined else old).strip(_EDGES) or None


def _become(sentence: str, found: re.Match[str], grammar: Grammar) -> str | None:
    """What stands at the end of `sentence` as the new value: what follows a phrase that ends where that begins."""
    if not found.re.pattern.endswith(r"\w"):
        return None
    value = _VALUE.match(sentence, found.end() - 1)
    new = value.group().strip(_EDGES) if value else ""
    for _ in range(2):
        new = grammar.since.sub("", new).strip(_EDGES)
    return new if new and len(new.split()) <= _LONGEST_VALUE else None
