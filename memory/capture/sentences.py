"""Splitting of messages into sentences and clauses, with code, quotations and addresses masked."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from memory.capture.classifier import load_classifier
from memory.capture.phrases import HAN, STRAIGHT, Phrases, is_abbreviation
from memory.text.classes import MASK, classify, classify_first, split_pieces

MAX_CAPTURE_CHARS = 500
"""A longer sentence is left to the model."""
# A Chinese character counts as a word.
MIN_STATEMENT_WORDS = 3
# A placeholder for something that was sent but not typed, such as `[location: ...]`.
NOTE = re.compile(r"\s*\[[^\]]*\]\s*")
_MAX_OPENERS = 6
_SMILES = re.compile("[\\s,;，]*(?:[\U0001f000-\U0001faff\u2600-\u27bf\u200d\ufe0f]+|[:;=][-']?[)(DPp]+|[xX]D+)\\s*$")
_VERBS = frozenset({"BE", "HAVE", "LIVE", "WORK", "LIKE", "PREFER", "HATE", "EAT", "NAME", "MUST"})
JOINING = frozenset({"BUT", "CONT", "PLEASE", "|"})
ENDS_ASKING = re.compile(r"[?？]\W*$")
FULL_STOPS = " \t.!…。！"
EDGES = " \t,;:，；–—-"
# Word classes (memory/text/word_classes.txt)
# Words that begin a clause that asks for something. "When" and "who" are missing, since they also begin statements.
ASKING = frozenset({"CANYOU", "MAKE"})
# Words that distinguish a sentence from a bare value.
SENTENCE_WORDS = frozenset({"I", "WE", "MY", "OUR", "HAVE", "LIVE", "WORK", "LIKE", "PREFER", "HATE", "EAT", "MUST"})
QUESTION_OPENERS = frozenset({"QW", "CANYOU", "MAY"})


def find_start(text: str, phrases: Phrases) -> tuple[int, bool, bool]:
    """Return the offset after fillers, whether they object, and whether a request to remember follows."""
    at, is_mark = 0, False
    for _ in range(_MAX_OPENERS):
        if phrases.remember.match(text, at):
            return at, is_mark, True
        opener = phrases.openers.match(text, at)
        if opener is None:
            break
        at, is_mark = opener.end(), is_mark or opener["mark"] is not None
    return at, is_mark, phrases.remember.match(text, at) is not None


def find_end(text: str, start: int, end: int, phrases: Phrases) -> int:
    """Return the offset before courtesies and smileys at the end."""
    while True:
        rest = text[start:end]
        shorter = _SMILES.sub("", rest)
        shorter = phrases.closers.sub("", shorter, count=1).rstrip(EDGES)
        if shorter == rest or not shorter:
            return end
        end = start + len(shorter)


def classify_opening(text: str) -> frozenset[str]:
    """Return the classes of the first word after joining words such as "and"."""
    return next((names for names in classify(split_pieces(text)) if not names & JOINING), frozenset())


def is_statement_text(text: str) -> bool:
    """Return True if a statement follows "remember", not a shared memory such as "our trip to Rome"."""
    return load_classifier().is_sure(text) and any(names & _VERBS for names in classify(split_pieces(text)))


MAX_MESSAGE_CHARS = 4_000
"""The rest of a longer message was most likely pasted, and 100 kB of it would take seconds."""
MAX_SENTENCES = 12
MAX_CLAUSES = 12
# Characters around a full stop that are used to decide whether it ends a sentence.
_CONTEXT_CHARS = 14

_LEFT_OUT = re.compile(
    r"^[ \t]*(?:```|~~~)[\s\S]*?(?:^[ \t]*(?:```|~~~)[^\n]*$|\Z)"  # An unclosed fence reaches to the end.
    r"|^[ \t]*>[^\n]*$"
    r"|^(?: {4}|\t)[^\n]*$",
    re.MULTILINE,
)
# An unclosed quotation reaches to the end.
_QUOTED = re.compile(
    r"`[^`\n]*(?:`|$)|«[^»]*(?:»|\Z)|“[^”]*(?:”|\Z)|„[^“”\"]*(?:[“”\"]|\Z)|「[^」]*(?:」|\Z)|『[^』]*(?:』|\Z)|‹[^›]*(?:›|\Z)"
    r"|(?<![^\s(\[{—–:,-])\"[^\"]*(?:\"|\Z)|(?<![^\s(\[{—–:,-])['‘‚][^'‘’\n]*['‘’](?!\w)",
    re.MULTILINE,
)
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+", re.IGNORECASE)
_END = r"\n+|[。！？；…]+[”’」』»)]*|[.!?;]+[\"'”’»)]*(?=\s|$)"
_BOUNDARY = re.compile(_END)
# Some people type a smiley instead of a full stop.
_BOUNDARY_OR_SMILE = re.compile(_END + r"|\){2,}(?=\s)" + "|[\U0001f000-\U0001faff\u2600-\u27bf\u200d\ufe0f]+")
_LIST_ITEM = re.compile(r"\s*(?:[-*•–]|\d+[.)])\s")
_LIST_NUMBER = re.compile(r"(?:^|\n)\s*\d+$")
_OPEN_ENDS = (",", ":", "，", "：", "、")
_LAST_WORD = re.compile(r"[^\s(]{1,12}$")
_GAP = re.compile(
    rf"(?P<mark>[,;](?!\d)\s*|[，；、—–]+\s*|\s-\s|(?<=[{HAN}])\s+(?=[{HAN}]))|\s+(?=(?P<word>[^\W\d_]+))"
)


def split_sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the first sentences, each as typed and with quotations masked. Both have the same length."""
    # Omitted parts end a sentence, so that no capture joins text from both sides.
    cleaned = _LEFT_OUT.sub("\n", text[:MAX_MESSAGE_CHARS])
    lines = (" ".join(line.split()) for line in cleaned.splitlines())
    visible = "\n".join(line for line in lines if line)
    masked = _mask_quotations(visible).translate(STRAIGHT)
    ends = list(itertools.islice(_find_ends(masked), MAX_SENTENCES))
    if len(text) <= MAX_MESSAGE_CHARS and len(ends) < MAX_SENTENCES:
        # The last sentence of a truncated message may be incomplete, so it is skipped.
        ends.append(len(masked))
    for start, end in itertools.pairwise([0, *ends]):
        if masked[start:end].strip():
            before = len(masked[start:end]) - len(masked[start:end].lstrip())
            sentence = visible[start + before : end].replace("\n", " ").rstrip()
            yield sentence, masked[start + before : end].replace("\n", " ").rstrip()


def extract_first_sentence(text: str) -> str:
    """Return the start of `text` up to the end of its first sentence. A list with its items is one sentence."""
    beginning = text[:MAX_MESSAGE_CHARS]
    masked = _mask_quotations(beginning)
    for boundary in _BOUNDARY.finditer(masked):
        before, after, mark = masked[: boundary.start()], masked[boundary.end() :], boundary.group()
        in_list = _LIST_ITEM.match(after) or _LIST_NUMBER.search(before[-14:])
        is_open = before.rstrip().endswith(_OPEN_ENDS) if mark[0] == "\n" else mark[0] in ";；"
        is_short = mark == "." and _is_abbreviated(before[-_CONTEXT_CHARS:], after[:_CONTEXT_CHARS])
        if before.strip() and not (in_list or is_open or is_short):
            return beginning[: boundary.end()]
    return beginning


def find_clauses(text: str) -> list[tuple[int, int]]:
    """Return the spans of a sentence's clauses, which are separated by punctuation or by words such as "and".

    The punctuation belongs to neither clause, the joining word to the clause after it.
    """
    ends, starts = [], [0]
    for gap in _GAP.finditer(text):
        is_joined = gap["word"] is not None and "BUT" in next(classify([gap["word"]]), ())
        if gap.start() > starts[-1] and (gap["mark"] or is_joined):
            ends.append(gap.start())
            starts.append(gap.end())
    spans = list(zip(starts, [*ends, len(text)], strict=True))
    return spans if len(spans) <= MAX_CLAUSES else [(0, len(text))]


def _mask_quotations(text: str) -> str:
    for hidden in (_QUOTED, _ADDRESS):
        text = hidden.sub(lambda part: MASK * len(part.group()), text)
    return text


def _find_ends(masked: str) -> Iterator[int]:
    for boundary in _BOUNDARY_OR_SMILE.finditer(masked):
        before = masked[max(0, boundary.start() - _CONTEXT_CHARS) : boundary.start()]
        if boundary.group() != "." or not _is_abbreviated(before, masked[boundary.end() :][:_CONTEXT_CHARS]):
            yield boundary.end()


def _is_abbreviated(before: str, after: str) -> bool:
    """Return True if a full stop here belongs to an abbreviation: "Dr. Ann", "J. Ann", "am 4. März"."""
    last = _LAST_WORD.search(before)
    if last is None:
        return False
    word = last.group().casefold()
    if word.isdigit():
        following = classify_first(after.lstrip())
        return after.lstrip()[:1].islower() or "MONTH" in following
    return (len(word) == 1 and word.isalpha() and not "\u3400" <= word <= "\u9fff") or is_abbreviation(word)
