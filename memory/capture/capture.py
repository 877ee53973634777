"""What a typed message states to be kept, found without a model (S4).

Precision comes first: what is missed here a model may still find later, what is wrongly kept annoys for long. The
classifier says whether a sentence states something lasting. What is kept is that sentence as typed, without what only
the talk needed at its ends ("Actually,", "lol") and without clauses at its ends that only ask for something: it is cut
between clauses and nowhere else.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.capture.classifier import CaptureKind, classifier
from memory.capture.phrases import HAN, STRAIGHT, phrases_of
from memory.capture.sentences import clauses, first_sentence, sentences
from memory.text.classes import classes, pieces_of
from memory.text.words import is_small_talk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memory.capture.phrases import Phrases

LONGEST_CAPTURE = 500
"""Characters of what is captured: a longer sentence is left to the model."""
MOST_CAPTURES = 3
MAX_PROPOSED = 6
"""Captures of one message that a model is asked about."""
_MAX_STATEMENT_CHARS = 240
# words of a correction that is no sentence: "15 March"
_MAX_FRAGMENT_WORDS = 8
_MAX_VALUE_PIECES = 4
_MAX_RESUMING_CHARS = 120
_MIN_ORDER_SCORE = -3.0
_MOST_CANDIDATES = 6
_MOST_OPENERS = 6
# words of a statement; a Chinese character counts as one
_FEWEST_WORDS = 3
# characters of what is to be remembered
_SHORTEST = 3
# words of what became of something: "Lviv"
_LONGEST_VALUE = 4
# characters of a message that only objects: what is longer says more
_LONGEST_OBJECTION = 100
# sentences in which a request to remember is looked for
_REQUESTS_IN = 4

_WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+(?:['-][^\W_{HAN}]+)*")
_SMILES = re.compile("[\\s,;，]*(?:[\U0001f000-\U0001faff\u2600-\u27bf\u200d\ufe0f]+|[:;=][-']?[)(DPp]+|[xX]D+)\\s*$")
# what stands for something that was sent and not typed: `[location: ...]`
_NOTE = re.compile(r"\s*\[[^\]]*\]\s*")
_ENDS_ASKING = re.compile(r"[?？]\W*$")
_FULL_STOPS = " \t.!…。！"
_EDGES = " \t,;:，；–—-"
_VALUE_EDGES = " \t.,;:!?…-–—\"'«»“”„()。，！；：了"
_WISHES = (CaptureKind.PREFERENCE, CaptureKind.CONSTRAINT)
# classes of words (memory/text/word_classes.txt)
# what begins a clause that asks for something; "when" and "who" begin clauses that tell, too
_ASKING = frozenset({"CANYOU", "MAKE"})
# what begins a wish that is said to the bot
_TOLD_TO_THE_BOT = frozenset({"ALWAYS", "NEVER", "FROMNOW", "MAKE", "ANSWER", "FORMAT", "CANYOU", "YOU"})
_OF_ONESELF = frozenset({"I", "WE", "MY", "OUR", "BE"})
# without one of these, from here to there is only a way: "the train from Kyiv to Lviv"
_OF_A_CHANGE = frozenset({"MOVE", "INSTEAD"})
_JOINING = frozenset({"BUT", "CONT", "PLEASE", "|"})
# what a sentence has and a mere value has not
_OF_A_SENTENCE = frozenset({"I", "WE", "MY", "OUR", "HAVE", "LIVE", "WORK", "LIKE", "PREFER", "HATE", "EAT", "MUST"})
_OF_THE_SPEAKER = frozenset({"I", "ME", "MY", "WE", "OUR", "IF"})
_STANDING_FOR = frozenset({"HE", "THEY", "THIS"})
_VERBS = frozenset({"BE", "HAVE", "LIVE", "WORK", "LIKE", "PREFER", "HATE", "EAT", "NAME", "MUST"})
_OF_A_QUESTION = frozenset({"QW", "CANYOU", "MAY"})
# what follows what became of something, and is no part of it: "to Lviv in March"
_BEHIND_A_VALUE = frozenset({"TODAY", "NOW", "LAST", "SINCE", "THIS", "IN", "BUT", "MONTH"})


@dataclass(frozen=True, slots=True)
class Captured:
    kind: CaptureKind
    text: str
    """As typed, whitespace folded, at most LONGEST_CAPTURE characters."""
    is_standing: bool = False
    """Whether it is a wish that the bot is told to follow always, or never, or from now on."""
    is_change: bool = False
    """Whether it tells that something is no longer as it was."""
    corrects: str | None = None
    """The words that hold no longer, as typed; None where the sentence names none."""
    becomes: str | None = None
    """The words that hold instead, as typed; None where it is not clear which they are."""
    is_answer: bool = False
    """Whether it takes back what was said or understood before: "no, I prefer coffee"."""

    @property
    def leans_on_talk(self) -> bool:
        """Whether it can't be understood without what was said before: "15 March", "she is called Hanna"."""
        row = [names for names in classes(pieces_of(self.text)) if "|" not in names]
        present = frozenset().union(*row)
        subject = row[0] if row else frozenset()
        return (len(row) <= _MAX_VALUE_PIECES and present.isdisjoint(_OF_A_SENTENCE)) or bool(subject & _STANDING_FOR)

    @property
    def may_replace(self) -> bool:
        return self.is_change or self.is_answer or self.kind is CaptureKind.CORRECTION


@dataclass(frozen=True, slots=True)
class Request:
    """A request to remember, or to forget. what: what is, in the user's words. besides: the rest of the message."""

    what: str
    besides: str


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    typed: str
    said: str
    """The same as it is read, of the same length: quotations masked, apostrophes straight."""
    start: int
    """Where what only the talk needs ends that stands before it."""
    end: int
    """Where what only the talk needs begins that stands behind it."""
    is_answer: bool
    asks_to_remember: bool

    @property
    def core(self) -> str:
        return self.said[self.start : self.end]

    @property
    def is_explicit(self) -> bool:
        """Whether it has one of S4's own forms: "I prefer ...", "no, ...", "must ...", "not X but Y"."""
        phrases = phrases_of(self.core)
        return (
            self.is_answer
            or phrases.standing.search(self.core) is not None
            or phrases.explicit.search(self.core) is not None
            or phrases.values("corrections", self.core) is not None
        )

    @property
    def score(self) -> float:
        """The log-odds that it states something lasting; capitals and full stops make no difference."""
        plain = self.said.rstrip(_FULL_STOPS)
        return classifier().score(plain.casefold() if plain.isupper() else plain)

    @property
    def begins_as_order(self) -> bool:
        """Whether it begins as S4's orders do: "must ...", "required ...", "don't ever ..."."""
        phrases = phrases_of(self.core)
        orders = (phrases.forbids, phrases.obliges, phrases.explicit)
        return self.score >= _MIN_ORDER_SCORE and any(
            pattern.match(self.core) is not None for pattern in (*orders, phrases.standing)
        )

    @property
    def hands_over(self) -> bool:
        """Whether it ends in a text that it only introduces: "Translate into German: I live in Paris"."""
        before, colon, after = self.core.partition(": ")
        if not colon and not self.core.endswith(":"):
            return False
        is_own = any(names & _OF_ONESELF for names in classes(pieces_of(before)))
        is_form = phrases_of(before).explicit.match(before) is not None or not after.strip()
        return not is_own and not (is_form and after.strip())

    @property
    def is_list_request(self) -> bool:
        """Return True if it is a list, or wants one changed: "shopping list: milk, eggs", "add milk to the list"."""
        phrases = phrases_of(self.said)
        return phrases.errands.search(self.said) is not None or self.is_list

    @property
    def is_list(self) -> bool:
        """Return True if it begins with the heading of a list: "Shopping list", "Books, my list: ..."."""
        head, colon, _ = self.core.replace("：", ":").partition(":")
        phrases = phrases_of(head)
        ends = any(match.end() == len(head.rstrip()) for match in phrases.lists.finditer(head))
        return (bool(colon) and ends) or phrases.errands.fullmatch(head.rstrip(_FULL_STOPS)) is not None

    @property
    def names_change(self) -> bool:
        """Whether it names what holds no longer: "I'm not a nurse anymore"."""
        return phrases_of(self.core).values("ends", self.core) is not None

    @property
    def kind(self) -> CaptureKind:
        """What it most likely states; what S4 calls a constraint is one in any words."""
        core = self.core
        if phrases_of(core).forbids.match(core):
            return CaptureKind.CONSTRAINT
        return classifier().kind(core.casefold() if core.isupper() else self.said)

    @property
    def is_statement(self) -> bool:
        """Whether it surely states something lasting, as a whole."""
        model = classifier()
        score = self.score
        # sure either way; between the two thresholds the form of the sentence decides
        if score >= model.header.at_once or score < model.header.later:
            return score >= model.header.at_once
        return (score >= model.header.explicit and self.is_explicit) or self._is_correction

    @property
    def _is_correction(self) -> bool:
        """Whether it is nothing but "not X but Y"."""
        core = self.core.rstrip(_VALUE_EDGES)
        match = phrases_of(core).values("corrections", core)
        return match is not None and match.span() == (0, len(core)) and match.start("old") < match.start("new")


def captured(text: str) -> list[Captured]:
    """What `text`, one message as typed, states to be kept; in its order, at most MOST_CAPTURES."""
    results = (_captured(sentence) for sentence in _unlisted(text))
    return list(itertools.islice(dict.fromkeys(capture for capture in results if capture is not None), MOST_CAPTURES))


def proposed(text: str) -> list[Captured]:
    """What `text` may state to be kept, for a model to judge: recall before precision, but nothing that only asks."""
    own = itertools.takewhile(lambda sentence: not sentence.hands_over, _unlisted(text))
    results = (_proposed(sentence) for sentence in own)
    return list(itertools.islice(dict.fromkeys(capture for capture in results if capture is not None), MAX_PROPOSED))


def resuming(text: str) -> Captured | None:
    """Return the order in a short message that ends a prohibition, such as "use emojis again"; None if there is none.

    It is one only if there is such a prohibition, which the caller has to know.
    """
    if len(text) > _MAX_RESUMING_CHARS:
        return None
    for sentence in parsed(text):
        core = sentence.core
        if sentence.asks_to_remember or _ENDS_ASKING.search(core):
            continue
        is_of_oneself = any(names & _OF_THE_SPEAKER for names in classes(pieces_of(core)))
        if is_of_oneself or sentence.hands_over:
            continue
        if phrases_of(core).resumes.search(core) is not None and not phrases_of(core).standing.match(core):
            typed = sentence.typed[sentence.start : sentence.end].rstrip(" .!。！")
            return Captured(CaptureKind.PREFERENCE, typed, is_standing=True)
    return None


def candidates(text: str) -> tuple[str, ...]:
    """The sentences of `text` that a model should weigh, verbatim: recall before precision, and nothing is written."""
    model = classifier()
    own = (sentence for sentence in _unlisted(text) if not is_small_talk(sentence.said))
    lasting = (sentence.typed for sentence in own if model.may_last(sentence.said))
    return tuple(itertools.islice(lasting, _MOST_CANDIDATES))


def requested(text: str) -> Request | None:
    """What one sentence of `text` asks to remember in so many words; None when none does, or it is a question."""
    return _find_request(text, _to_remember)


def is_for_all(text: str) -> bool:
    return _find_request(text, lambda sentence: _to_remember(sentence, for_all=True)) is not None


def to_forget(text: str) -> Request | None:
    """What one sentence of `text` asks to forget; None when none does, or it is a question."""
    return _find_request(text, _to_forget)


def objects(text: str) -> bool:
    """Whether `text` says of what was answered that it is wrong, and nothing of what is right."""
    plain = text.translate(STRAIGHT)
    if len(plain) > _LONGEST_OBJECTION or _ENDS_ASKING.search(plain):
        return False
    objection, at, objects_to_it = phrases_of(plain).objection, 0, False
    while (match := objection.match(plain, at)) is not None:
        at, objects_to_it = match.end(), objects_to_it or match["wrong"] is not None
    return objects_to_it and not _WORD.search(plain, at)


def asks_for_reminder(text: str) -> bool:
    """Whether `text` has the words in which one asks to be reminded; what of and when, if at all, they don't tell."""
    plain = text.translate(STRAIGHT)
    return phrases_of(plain).remind.search(plain) is not None


def _find_request(text: str, read: Callable[[str], str | None]) -> Request | None:
    """What `read` finds in one of the first sentences, and the rest of the text."""
    rest = text
    for _ in range(_REQUESTS_IN):
        sentence = first_sentence(rest)
        what = read(" ".join(sentence.split()))
        if what is not None:
            before = text[: len(text) - len(rest)]
            return Request(what, f"{before}\n{rest[len(sentence) :]}".strip())
        rest = rest[len(sentence) :]
        if not rest.strip():
            break
    return None


def restated(memory: str, corrects: str, becomes: str) -> str | None:
    """What is known, with what has become of it: `Ann lives in Lviv` for `Ann lives in Kyiv`.

    None unless the words that hold no longer stand in it once, in the same form, and those that hold are as many and
    begin as they do: what follows them in a sentence is none of them ("nach Linz gezogen").
    """
    before, after = corrects.split(), becomes.split()
    if [word[:1].isupper() for word in before] != [word[:1].isupper() for word in after]:
        return None
    text, times = re.subn(rf"(?<!\w){re.escape(corrects)}(?!\w)", lambda _: becomes, memory, flags=re.IGNORECASE)
    return text if times == 1 else None


def parsed(text: str) -> Iterator[ParsedSentence]:
    was_mark = False
    for typed, sentence in sentences(text):
        phrases = phrases_of(sentence)
        start, is_mark, asks_to_remember = _opening(sentence, phrases)
        end = _closing(sentence, start, len(sentence), phrases)
        yield ParsedSentence(typed, sentence, start, end, is_mark or was_mark, asks_to_remember)
        was_mark = is_mark and not _WORD.search(sentence, start, end)


def _unlisted(text: str) -> Iterator[ParsedSentence]:
    """Yield the sentences of a text but those that are entries of a list, or ask for a change of one."""
    for sentence in parsed(text):
        if sentence.is_list:
            return  # what stands below the heading is no sentence of the user's
        if not sentence.is_list_request:
            yield sentence


def _opening(text: str, phrases: Phrases) -> tuple[int, bool, bool]:
    """Where a sentence begins behind what says nothing, whether it says there that something was wrong, or asks."""
    at, is_mark = 0, False
    for _ in range(_MOST_OPENERS):
        if phrases.remember.match(text, at):
            return at, is_mark, True
        opener = phrases.openers.match(text, at)
        if opener is None:
            break
        at, is_mark = opener.end(), is_mark or opener["mark"] is not None
    return at, is_mark, phrases.remember.match(text, at) is not None


def _closing(text: str, start: int, end: int, phrases: Phrases) -> int:
    """Where a sentence ends before courtesies and smiles."""
    while True:
        rest = text[start:end]
        shorter = _SMILES.sub("", rest)
        shorter = phrases.closers.sub("", shorter, count=1).rstrip(_EDGES)
        if shorter == rest or not shorter:
            return end
        end = start + len(shorter)


def _proposed(sentence: ParsedSentence) -> Captured | None:
    core = sentence.core
    if is_small_talk(sentence.said) or asks_for_reminder(sentence.said) or _begins_to_ask(core):
        return None
    header = classifier().header
    bar = header.later if sentence.is_explicit or sentence.names_change else header.explicit
    capture = _captured(sentence, sentence.begins_as_order or sentence.score >= bar)
    words = _WORD.findall(core)
    if capture is None and sentence.is_answer and 0 < len(words) <= _MAX_FRAGMENT_WORDS:
        text = sentence.typed[sentence.start : sentence.end].rstrip(_EDGES)
        return None if _ENDS_ASKING.search(core) else Captured(CaptureKind.CORRECTION, text, is_answer=True)
    return capture


def _begins_to_ask(text: str) -> bool:
    """Whether a sentence begins as a request does: "translate ...", "can you ...", "please write ..."."""
    words = (names for names in classes(pieces_of(text)) if not names & _JOINING)
    first = next(words, frozenset())
    return bool(first & _ASKING) and phrases_of(text).standing.search(text) is None


def _captured(sentence: ParsedSentence, is_statement: bool | None = None) -> Captured | None:
    """What a sentence states; None for nothing. is_statement: whether it does, where the form does not decide it."""
    if sentence.asks_to_remember or _NOTE.fullmatch(sentence.said):
        return None
    if not (sentence.is_statement if is_statement is None else is_statement):
        return None
    start, end = _stating(sentence.said, sentence.start, sentence.end)
    text, typed = sentence.said[start:end], sentence.typed[start:end]
    words = _WORD.findall(text)
    # few words are understood alone only of oneself, or as an answer: "it's Olga"
    is_clear = sentence.is_answer or any(names & _OF_ONESELF for names in classes(words))
    if len(text) > _MAX_STATEMENT_CHARS or len(words) < (2 if is_clear else _FEWEST_WORDS):
        return None
    kind = sentence.kind
    phrases = phrases_of(text)
    is_change, corrects, becomes = _values(text, typed, phrases)
    if kind is CaptureKind.CORRECTION and not (sentence.is_answer or corrects):
        kind = CaptureKind.FACT  # it corrects nothing that anybody has pointed at
    is_standing = kind in _WISHES and _is_standing(text, phrases)
    if _ENDS_ASKING.search(text) and not is_standing:
        return None  # "can you always answer in English?" is a wish, other questions state nothing that reads well
    return Captured(kind, typed.rstrip(" ?？"), is_standing, is_change, corrects, becomes, sentence.is_answer)


def _stating(text: str, start: int, end: int) -> tuple[int, int]:
    """`said[start:end]` without the clauses at its ends that only ask for something, unless it is one question."""
    if _ENDS_ASKING.search(text[:end]) and next(classes(pieces_of(text[start:end])), frozenset()) & _OF_A_QUESTION:
        return start, end  # "May I eat nuts, with my allergy?"
    spans = [(start + first, start + last) for first, last in clauses(text[start:end])]
    while len(spans) > 1 and _only_asks(text[slice(*spans[-1])]):
        spans.pop()
    while len(spans) > 1 and _only_asks(text[slice(*spans[0])]):
        spans.pop(0)
    first, last = spans[0][0], spans[-1][1]
    rest = text[first:last]
    return first, first + len(rest.rstrip(_EDGES))


def _only_asks(clause: str) -> bool:
    if _ENDS_ASKING.search(clause):
        return True
    words = (names for names in classes(pieces_of(clause)) if not names & _JOINING)
    first = next(words, frozenset())
    if not first & _ASKING or phrases_of(clause).standing.search(clause):
        return False
    return "CANYOU" in first or not classifier().is_sure(clause)


def _is_standing(text: str, phrases: Phrases) -> bool:
    """Whether a wish is said to the bot and holds for good."""
    match = phrases.standing.search(text) or phrases.obliges.match(text)
    if match is None:
        return False
    words = [names for names in classes(pieces_of(text)) if "|" not in names]
    return not match.start() or bool(words and words[0] & _TOLD_TO_THE_BOT)


def _values(text: str, typed: str, phrases: Phrases) -> tuple[bool, str | None, str | None]:
    """Whether a sentence tells of a change, which words hold no longer, and which do instead."""
    if any(names & _OF_A_CHANGE for names in classes(pieces_of(text))):
        moved = phrases.values("moves", text)
        if moved is not None:
            return True, _value(typed, moved, "old"), _value(typed, moved, "new")
    ended = phrases.values("ends", text)
    if ended is not None:
        return True, _value(typed, ended, "old"), None
    corrected = phrases.values("corrections", text)
    return False, _value(typed, corrected, "old") if corrected is not None else None, None


def _value(typed: str, match: re.Match[str], name: str) -> str | None:
    value = typed[slice(*match.span(name))].strip(_VALUE_EDGES)
    if name == "old":
        return value or None
    words = value.split()
    following = (at for at, word in enumerate(words) if at and next(classes([word]), frozenset()) & _BEHIND_A_VALUE)
    words = words[: next(following, None)]
    return " ".join(words) if 0 < len(words) <= _LONGEST_VALUE else None


def _to_remember(sentence: str, *, for_all: bool = False) -> str | None:
    """What a sentence, as typed, asks to remember. for_all: only what it asks for on behalf of the family."""
    text = sentence.translate(STRAIGHT)
    phrases = phrases_of(text)
    at = _opening(text, phrases)[0]
    match = phrases.remember.match(text, at)
    if match is None or (for_all and match["for_all"] is None):
        return None
    spans = clauses(text[match.end() :])
    while len(spans) > 1 and _only_asks(text[match.end() :][slice(*spans[-1])]):
        spans.pop()
    start, end = match.end(), match.end() + spans[-1][1]
    end = _closing(text, start, end, phrases)
    what = sentence[start:end].strip(_EDGES)
    is_meant = match["recalls"] is None or _tells(text[start:end])
    return what[:LONGEST_CAPTURE] if is_meant and len(what) >= _SHORTEST and not _ENDS_ASKING.search(what) else None


def _to_forget(sentence: str) -> str | None:
    text = sentence.translate(STRAIGHT)
    phrases = phrases_of(text)
    start, _is_mark, asks_to_remember = _opening(text, phrases)
    match = None if asks_to_remember else phrases.forget.match(text, start)
    if match is None:
        return None
    what = sentence[match.end() : _closing(text, match.end(), len(text), phrases)].strip(_EDGES)
    return what[:LONGEST_CAPTURE] if what and not _ENDS_ASKING.search(what) else None


def _tells(text: str) -> bool:
    """Whether a statement follows "remember", and not what two might remember: "our trip to Rome"."""
    return classifier().is_sure(text) and any(names & _VERBS for names in classes(pieces_of(text)))
