"""A message as its sentences, and these as their clauses; what it only quotes is masked: code, quotes, addresses."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from memory.capture.phrases import HAN, STRAIGHT, is_abbreviation
from memory.text.classes import MASK, classes, pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_LOOKED_AT = 4_000
"""Characters of a message: what comes later is most likely pasted, and 100 kB of it would take seconds."""
MOST_SENTENCES = 12
MOST_CLAUSES = 12
# characters on both sides of a full stop that tell whether it ends a sentence
_NEIGHBOURHOOD = 14

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
_END = r"\n+|[。！？；…]+[”’」』»)]*|[.!?;]+[\"'”’»)]*(?=\s|$)"
_BOUNDARY = re.compile(_END)
# in passing people type a smile where others set a full stop
_BOUNDARY_OR_SMILE = re.compile(_END + r"|\){2,}(?=\s)" + "|[\U0001f000-\U0001faff\u2600-\u27bf\u200d\ufe0f]+")
_LIST_ITEM = re.compile(r"\s*(?:[-*•–]|\d+[.)])\s")
_LIST_NUMBER = re.compile(r"(?:^|\n)\s*\d+$")
_OPEN_ENDS = (",", ":", "，", "：", "、")
_LAST_WORD = re.compile(r"[^\s(]{1,12}$")
_GAP = re.compile(
    rf"(?P<mark>[,;](?!\d)\s*|[，；、—–]+\s*|\s-\s|(?<=[{HAN}])\s+(?=[{HAN}]))|\s+(?=(?P<word>[^\W\d_]+))"
)


def sentences(text: str) -> Iterator[tuple[str, str]]:
    """The first sentences, each as typed and as it is read: quotations masked; both of the same length."""
    # what is left out ends a sentence, so that no capture joins what stood apart
    cleaned = _LEFT_OUT.sub("\n", text[:LONGEST_LOOKED_AT])
    lines = (" ".join(line.split()) for line in cleaned.splitlines())
    visible = "\n".join(line for line in lines if line)
    masked = _masked(visible).translate(STRAIGHT)
    ends = list(itertools.islice(_ends(masked), MOST_SENTENCES))
    if len(text) <= LONGEST_LOOKED_AT and len(ends) < MOST_SENTENCES:
        # the last sentence of a message that is cut short would be half a sentence
        ends.append(len(masked))
    for start, end in itertools.pairwise([0, *ends]):
        # a mark or a smile of its own belongs to no sentence
        if masked[start:end].strip():
            before = len(masked[start:end]) - len(masked[start:end].lstrip())
            sentence = visible[start + before : end].replace("\n", " ").rstrip()
            yield sentence, masked[start + before : end].replace("\n", " ").rstrip()


def first_sentence(text: str) -> str:
    """The beginning of `text` up to the end of its first sentence; a list and its items are one."""
    beginning = text[:LONGEST_LOOKED_AT]
    masked = _masked(beginning)
    for boundary in _BOUNDARY.finditer(masked):
        before, after, mark = masked[: boundary.start()], masked[boundary.end() :], boundary.group()
        in_list = _LIST_ITEM.match(after) or _LIST_NUMBER.search(before[-14:])
        is_open = before.rstrip().endswith(_OPEN_ENDS) if mark[0] == "\n" else mark[0] in ";；"
        is_short = mark == "." and _is_abbreviated(before[-_NEIGHBOURHOOD:], after[:_NEIGHBOURHOOD])
        if before.strip() and not (in_list or is_open or is_short):
            return beginning[: boundary.end()]
    return beginning


def clauses(text: str) -> list[tuple[int, int]]:
    """Where the clauses of a sentence begin and end, in its order: they are parted by a mark, or by "and" and the like.

    What parts two of them belongs to neither, but a joining word to the clause that it begins.
    """
    ends, starts = [], [0]
    for gap in _GAP.finditer(text):
        is_joined = gap["word"] is not None and "BUT" in next(classes([gap["word"]]), ())
        if gap.start() > starts[-1] and (gap["mark"] or is_joined):
            ends.append(gap.start())
            starts.append(gap.end())
    spans = list(zip(starts, [*ends, len(text)], strict=True))
    return spans if len(spans) <= MOST_CLAUSES else [(0, len(text))]


def _masked(text: str) -> str:
    """`text` with what it quotes and the addresses in it masked, of the same length."""
    for hidden in (_QUOTED, _ADDRESS):
        text = hidden.sub(lambda part: MASK * len(part.group()), text)
    return text


def _ends(masked: str) -> Iterator[int]:
    for boundary in _BOUNDARY_OR_SMILE.finditer(masked):
        before = masked[max(0, boundary.start() - _NEIGHBOURHOOD) : boundary.start()]
        if boundary.group() != "." or not _is_abbreviated(before, masked[boundary.end() :][:_NEIGHBOURHOOD]):
            yield boundary.end()


def _is_abbreviated(before: str, after: str) -> bool:
    """Whether a full stop between these words belongs to the first: "Dr. Ann", "J. Ann", "am 4. März"."""
    last = _LAST_WORD.search(before)
    if last is None:
        return False
    word = last.group().casefold()
    if word.isdigit():
        following = next(classes(pieces_of(after.lstrip())), frozenset())
        return after.lstrip()[:1].islower() or "MONTH" in following
    return (len(word) == 1 and word.isalpha() and not "\u3400" <= word <= "\u9fff") or is_abbreviation(word)
