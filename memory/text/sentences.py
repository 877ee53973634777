"""Splitting of messages into sentences, with code, quotations and addresses masked, and finding of fillers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from memory.text.classes import MASK, classify, classify_first, split_pieces
from memory.text.phrases import STRAIGHT, Phrases, is_abbreviation, select_phrases

MAX_MESSAGE_CHARS = 4_000
"""The rest of a longer message was most likely pasted, and 100 kB of it would take seconds."""
MAX_SENTENCES = 12
_MAX_OPENERS = 6
_MIN_REQUEST_CHARS = 3
# Characters around a full stop that are used to decide whether it ends a sentence.
_CONTEXT_CHARS = 14

_SMILES = re.compile("[\\s,;，]*(?:[\U0001f000-\U0001faff\u2600-\u27bf\u200d\ufe0f]+|[:;=][-']?[)(DPp]+|[xX]D+)\\s*$")
_JOINING = frozenset({"BUT", "CONT", "PLEASE", "|"})
ENDS_ASKING = re.compile(r"[?？]\W*$")
EDGES = " \t,;:，；–—-"
# Word classes (memory/text/word_classes.txt)
QUESTION_OPENERS = frozenset({"QW", "CANYOU", "MAY"})

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
    return next((names for names in classify(split_pieces(text)) if not names & _JOINING), frozenset())


def remove_remember_request(text: str) -> str:
    """Return the words that the first sentence of a text asks to remember, or the whole text if it asks for nothing."""
    sentence = " ".join(extract_first_sentence(text).split())
    plain = sentence.translate(STRAIGHT)
    phrases = select_phrases(plain)
    request = phrases.remember.match(plain, find_start(plain, phrases)[0])
    if request is None:
        return text
    words = sentence[request.end() : find_end(plain, request.end(), len(plain), phrases)].strip(EDGES)
    return words if len(words) >= _MIN_REQUEST_CHARS and not ENDS_ASKING.search(words) else text


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
