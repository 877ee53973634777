"""Capture: extracts lasting statements and requests to remember from a typed message, without a model (S4).

Precision comes first. A model may still find a missed statement later, but a wrong one annoys for long. The classifier
decides whether a sentence states something lasting. The capture is the sentence as typed, without fillers at its ends
("Actually,", "lol") and without clauses at its ends that only ask for something. Cuts are made only between clauses.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from bot.features.capture.classifier import CaptureKind, load_classifier
from bot.features.capture.phrases import StatementPhrases, select_phrases
from bot.features.capture.requests import ASKING, trim_requests
from config.process import loading_for_good
from memory.text.classes import classify, classify_words, split_pieces
from memory.text.phrases import HAN, STRAIGHT, asks_for_reminder
from memory.text.sentences import EDGES, ENDS_ASKING, classify_opening, find_end, find_start, split_sentences
from memory.text.words import is_small_talk

MAX_CAPTURES = 3
MAX_PROPOSED = 6
"""Captures of one message that a model is asked about."""
_MAX_STATEMENT_CHARS = 240
# A Chinese character counts as a word.
_MIN_STATEMENT_WORDS = 3
# Words of a correction that is not a sentence, such as "15 March".
_MAX_FRAGMENT_WORDS = 8
_MAX_VALUE_PIECES = 4
_MAX_RESUMING_CHARS = 120
_MIN_ORDER_SCORE = -3.0
_MAX_CANDIDATES = 6
# Words of a new value, such as "Lviv".
_MAX_VALUE_WORDS = 4
_MAX_OBJECTION_CHARS = 100

_WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+(?:['-][^\W_{HAN}]+)*")
# A placeholder for something that was sent but not typed, such as `[location: ...]`.
_NOTE = re.compile(r"\s*\[[^\]]*\]\s*")
_FULL_STOPS = " \t.!…。！"
_VALUE_EDGES = " \t.,;:!?…-–—\"'«»“”„()。，！；：了"
_WISHES = (CaptureKind.PREFERENCE, CaptureKind.CONSTRAINT)
# Words that begin an order to the bot.
_ORDER_OPENERS = frozenset({"ALWAYS", "NEVER", "FROMNOW", "MAKE", "ANSWER", "FORMAT", "CANYOU", "YOU"})
# Words that distinguish a sentence from a bare value.
_SENTENCE_WORDS = frozenset({"I", "WE", "MY", "OUR", "HAVE", "LIVE", "WORK", "LIKE", "PREFER", "HATE", "EAT", "MUST"})
_SELF = frozenset({"I", "WE", "MY", "OUR", "BE"})
# Without one of these, "from ... to ..." is not a change: "the train from Kyiv to Lviv".
_CHANGE_WORDS = frozenset({"MOVE", "INSTEAD"})
_SPEAKER_WORDS = frozenset({"I", "ME", "MY", "WE", "OUR", "IF"})
_PRONOUNS = frozenset({"HE", "THEY", "THIS"})
# Words that end a new value, as in "to Lviv in March".
_AFTER_VALUE = frozenset({"TODAY", "NOW", "LAST", "SINCE", "THIS", "IN", "BUT", "MONTH"})


@dataclass(frozen=True, slots=True)
class Capture:
    """A captured statement.

    Attributes:
        text: The statement with collapsed whitespace, at most MAX_CAPTURE_CHARS characters.
        is_standing: Whether it is a lasting instruction to the bot, with words such as "always" or "from now on".
        is_change: Whether it says that something has changed.
        corrects: The words that are no longer true, as typed. None if the sentence doesn't name them.
        becomes: The words that replace them, as typed. None if they are unclear.
        is_answer: Whether it responds to the previous message by correcting it: "no, I prefer coffee".
    """

    kind: CaptureKind
    text: str
    is_standing: bool = False
    is_change: bool = False
    corrects: str | None = None
    becomes: str | None = None
    is_answer: bool = False

    @property
    def needs_context(self) -> bool:
        """Return True if it needs context to be understood: "15 March", "she is called Hanna"."""
        row = classify_words(split_pieces(self.text))
        present = frozenset().union(*row)
        subject = row[0] if row else frozenset()
        return (len(row) <= _MAX_VALUE_PIECES and present.isdisjoint(_SENTENCE_WORDS)) or bool(subject & _PRONOUNS)

    @property
    def can_replace(self) -> bool:
        return self.is_change or self.is_answer or self.kind is CaptureKind.CORRECTION


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """A sentence of a message.

    Attributes:
        typed: The sentence as typed.
        said: The same with quotations masked and apostrophes straight. It has the same length.
        start: Offset after the fillers at its start.
        end: Offset before the fillers at its end.
        is_answer: Whether it objects to the message before.
        asks_to_remember: Whether it starts with a phrase such as "remember that".
    """

    typed: str
    said: str
    start: int
    end: int
    is_answer: bool
    asks_to_remember: bool

    @property
    def core(self) -> str:
        return self.said[self.start : self.end]

    @property
    def is_explicit(self) -> bool:
        """Return True if it has one of the forms of S4: "I prefer ...", "no, ...", "must ...", "not X but Y"."""
        phrases = select_phrases(self.core)
        return (
            self.is_answer
            or phrases.standing.search(self.core) is not None
            or phrases.explicit.search(self.core) is not None
            or phrases.match_values("corrections", self.core) is not None
        )

    @property
    def score(self) -> float:
        """Return the log-odds that it states something lasting, ignoring capitals and full stops."""
        plain = self.said.rstrip(_FULL_STOPS)
        return load_classifier().score(plain.casefold() if plain.isupper() else plain)

    @property
    def begins_as_order(self) -> bool:
        """Return True if it begins like the orders of S4: "must ...", "required ...", "don't ever ..."."""
        phrases = select_phrases(self.core)
        orders = (phrases.forbids, phrases.obliges, phrases.explicit)
        return self.score >= _MIN_ORDER_SCORE and any(
            pattern.match(self.core) is not None for pattern in (*orders, phrases.standing)
        )

    @property
    def introduces_text(self) -> bool:
        """Return True if it only introduces another text: "Translate into German: I live in Paris"."""
        before, colon, after = self.core.partition(": ")
        if not colon and not self.core.endswith(":"):
            return False
        is_own = any(names & _SELF for names in classify(split_pieces(before)))
        is_form = select_phrases(before).explicit.match(before) is not None or not after.strip()
        return not is_own and not (is_form and after.strip())

    @property
    def is_list_request(self) -> bool:
        """Return True if it is a list or changes one: "shopping list: milk, eggs", "add milk to the list"."""
        phrases = select_phrases(self.said)
        return phrases.errands.search(self.said) is not None or self.is_list

    @property
    def is_list(self) -> bool:
        """Return True if it begins with the heading of a list: "Shopping list", "Books, my list: ..."."""
        head, colon, _ = self.core.replace("：", ":").partition(":")
        phrases = select_phrases(head)
        ends = any(match.end() == len(head.rstrip()) for match in phrases.lists.finditer(head))
        return (bool(colon) and ends) or phrases.errands.fullmatch(head.rstrip(_FULL_STOPS)) is not None

    @property
    def reports_change(self) -> bool:
        """Return True if it says that something ended: "I'm not a nurse anymore"."""
        return select_phrases(self.core).match_values("ends", self.core) is not None

    @property
    def kind(self) -> CaptureKind:
        """Return the most likely kind. A phrase of a prohibition in S4 overrules the classifier."""
        core = self.core
        if select_phrases(core).forbids.match(core):
            return CaptureKind.CONSTRAINT
        return load_classifier().kind(core.casefold() if core.isupper() else self.said)

    @property
    def is_statement(self) -> bool:
        model = load_classifier()
        score = self.score
        # Between the two thresholds the form of the sentence decides.
        if score >= model.header.at_once or score < model.header.later:
            return score >= model.header.at_once
        return (score >= model.header.explicit and self.is_explicit) or self._is_correction

    @property
    def _is_correction(self) -> bool:
        core = self.core.rstrip(_VALUE_EDGES)
        match = select_phrases(core).match_values("corrections", core)
        return match is not None and match.span() == (0, len(core)) and match.start("old") < match.start("new")


def capture_statements(text: str) -> list[Capture]:
    """Return the lasting statements of a message as typed, in order, at most MAX_CAPTURES."""
    results = (_capture(sentence) for sentence in _parse_outside_lists(text))
    return list(itertools.islice(dict.fromkeys(capture for capture in results if capture is not None), MAX_CAPTURES))


def propose_statements(text: str) -> list[Capture]:
    """Return possible statements of a message for a model to judge. Recall comes before precision."""
    own = itertools.takewhile(lambda sentence: not sentence.introduces_text, _parse_outside_lists(text))
    results = (_propose(sentence) for sentence in own)
    return list(itertools.islice(dict.fromkeys(capture for capture in results if capture is not None), MAX_PROPOSED))


def find_resuming_order(text: str) -> Capture | None:
    """Return the order in a short message that ends a prohibition, such as "use emojis again", or None.

    The caller has to check that there is such a prohibition.
    """
    if len(text) > _MAX_RESUMING_CHARS:
        return None
    for sentence in parse_sentences(text):
        core = sentence.core
        if sentence.asks_to_remember or ENDS_ASKING.search(core):
            continue
        is_of_oneself = any(names & _SPEAKER_WORDS for names in classify(split_pieces(core)))
        if is_of_oneself or sentence.introduces_text:
            continue
        if select_phrases(core).resumes.search(core) is not None and not select_phrases(core).standing.match(core):
            typed = sentence.typed[sentence.start : sentence.end].rstrip(" .!。！")
            return Capture(CaptureKind.PREFERENCE, typed, is_standing=True)
    return None


def find_candidates(text: str) -> tuple[str, ...]:
    """Return the sentences of `text` that the next consolidation should look at, verbatim."""
    model = load_classifier()
    own = (sentence for sentence in _parse_outside_lists(text) if not is_small_talk(sentence.said))
    lasting = (sentence.typed for sentence in own if model.may_last(sentence.said))
    return tuple(itertools.islice(lasting, _MAX_CANDIDATES))


def is_objection(text: str) -> bool:
    """Return True if `text` only says that the answer before was wrong, without a correction."""
    plain = text.translate(STRAIGHT)
    if len(plain) > _MAX_OBJECTION_CHARS or ENDS_ASKING.search(plain):
        return False
    objection, at, objects_to_it = select_phrases(plain).objection, 0, False
    while (match := objection.match(plain, at)) is not None:
        at, objects_to_it = match.end(), objects_to_it or match["wrong"] is not None
    return objects_to_it and not _WORD.search(plain, at)


def restate(memory: str, corrects: str, becomes: str) -> str | None:
    """Return a memory with the new value: `Ann lives in Lviv` for `Ann lives in Kyiv`.

    Return None unless the old words occur exactly once, and the new words have the same number and capitalisation.
    Otherwise the new words may include a part of the sentence after them ("nach Linz gezogen").
    """
    before, after = corrects.split(), becomes.split()
    if [word[:1].isupper() for word in before] != [word[:1].isupper() for word in after]:
        return None
    text, times = re.subn(rf"(?<!\w){re.escape(corrects)}(?!\w)", lambda _: becomes, memory, flags=re.IGNORECASE)
    return text if times == 1 else None


def parse_sentences(text: str) -> Iterator[ParsedSentence]:
    was_mark = False
    for typed, sentence in split_sentences(text):
        phrases = select_phrases(sentence)
        start, is_mark, asks_to_remember = find_start(sentence, phrases)
        end = find_end(sentence, start, len(sentence), phrases)
        yield ParsedSentence(typed, sentence, start, end, is_mark or was_mark, asks_to_remember)
        was_mark = is_mark and not _WORD.search(sentence, start, end)


def _parse_outside_lists(text: str) -> Iterator[ParsedSentence]:
    """Yield the sentences of a text, except for items of a list and requests to change one."""
    for sentence in parse_sentences(text):
        if sentence.is_list:
            return  # The items below the heading are not statements.
        if not sentence.is_list_request:
            yield sentence


def _propose(sentence: ParsedSentence) -> Capture | None:
    core = sentence.core
    if is_small_talk(sentence.said) or asks_for_reminder(sentence.said) or _begins_as_request(core):
        return None
    header = load_classifier().header
    bar = header.later if sentence.is_explicit or sentence.reports_change else header.explicit
    capture = _capture(sentence, sentence.begins_as_order or sentence.score >= bar)
    words = _WORD.findall(core)
    if capture is None and sentence.is_answer and 0 < len(words) <= _MAX_FRAGMENT_WORDS:
        text = sentence.typed[sentence.start : sentence.end].rstrip(EDGES)
        return None if ENDS_ASKING.search(core) else Capture(CaptureKind.CORRECTION, text, is_answer=True)
    return capture


def _begins_as_request(text: str) -> bool:
    """Return True if a sentence begins like a request: "translate ...", "can you ...", "please write ..."."""
    return bool(classify_opening(text) & ASKING) and select_phrases(text).standing.search(text) is None


def _capture(sentence: ParsedSentence, is_statement: bool | None = None) -> Capture | None:
    """Return the statement in a sentence, or None. `is_statement` overrides the sentence's own judgement."""
    if sentence.asks_to_remember or _NOTE.fullmatch(sentence.said):
        return None
    if not (sentence.is_statement if is_statement is None else is_statement):
        return None
    start, end = trim_requests(sentence.said, sentence.start, sentence.end)
    text, typed = sentence.said[start:end], sentence.typed[start:end]
    words = _WORD.findall(text)
    # Two words are clear only if they are about the user or an answer, such as "it's Olga".
    is_clear = sentence.is_answer or any(names & _SELF for names in classify(words))
    if len(text) > _MAX_STATEMENT_CHARS or len(words) < (2 if is_clear else _MIN_STATEMENT_WORDS):
        return None
    kind = sentence.kind
    phrases = select_phrases(text)
    is_change, corrects, becomes = _extract_values(text, typed, phrases)
    if kind is CaptureKind.CORRECTION and not (sentence.is_answer or corrects):
        kind = CaptureKind.FACT  # There is nothing that it could correct.
    is_standing = kind in _WISHES and _is_standing(text, phrases)
    if ENDS_ASKING.search(text) and not is_standing:
        return None  # "Can you always answer in English?" is an instruction, but other questions state nothing.
    return Capture(kind, typed.rstrip(" ?？"), is_standing, is_change, corrects, becomes, sentence.is_answer)


def _is_standing(text: str, phrases: StatementPhrases) -> bool:
    match = phrases.standing.search(text) or phrases.obliges.match(text)
    if match is None:
        return False
    words = classify_words(split_pieces(text))
    return not match.start() or bool(words and words[0] & _ORDER_OPENERS)


def _extract_values(text: str, typed: str, phrases: StatementPhrases) -> tuple[bool, str | None, str | None]:
    """Return whether a sentence reports a change, the words that are no longer true, and their replacement."""
    if any(names & _CHANGE_WORDS for names in classify(split_pieces(text))):
        moved = phrases.match_values("moves", text)
        if moved is not None:
            return True, _extract_value(typed, moved, "old"), _extract_value(typed, moved, "new")
    ended = phrases.match_values("ends", text)
    if ended is not None:
        return True, _extract_value(typed, ended, "old"), None
    corrected = phrases.match_values("corrections", text)
    return False, _extract_value(typed, corrected, "old") if corrected is not None else None, None


def _extract_value(typed: str, match: re.Match[str], name: str) -> str | None:
    value = typed[slice(*match.span(name))].strip(_VALUE_EDGES)
    if name == "old":
        return value or None
    words = value.split()
    following = (at for at, word in enumerate(words) if at and next(classify([word]), frozenset()) & _AFTER_VALUE)
    words = words[: next(following, None)]
    return " ".join(words) if 0 < len(words) <= _MAX_VALUE_WORDS else None


async def warm_up() -> None:
    """Load the classifier and its phrases in a thread, so that the event loop goes on."""
    await asyncio.to_thread(_load)


@cache
def _load() -> None:
    with loading_for_good():
        capture_statements("Hello.")  # Phrases in other than Latin letters are loaded on first use
