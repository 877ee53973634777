"""A message as its sentences, with what others said in it masked: code, quotations, addresses."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from memory.capture.phrases.grammar import grammar_of
from memory.text.classes import MASK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.capture.phrases.grammar import Grammar

LONGEST_LOOKED_AT = 4_000
"""Characters of a message: what comes later is most likely pasted."""
MOST_SENTENCES = 12

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
_HAN = re.compile("[\u3400-\u9fff]")


def sentences(text: str) -> Iterator[tuple[str, str]]:
    """The first sentences, each as typed and with its quotations masked; both of the same length."""
    # what is left out ends a sentence, so that no capture joins what stood apart
    kept = _LEFT_OUT.sub("\n", text[:LONGEST_LOOKED_AT])
    lines = (" ".join(line.split()) for line in kept.splitlines())
    shown = "\n".join(line for line in lines if line)
    masked = _masked(shown)
    ends = list(itertools.islice(_ends(masked, grammar_of(masked)), MOST_SENTENCES))
    if len(text) <= LONGEST_LOOKED_AT and len(ends) < MOST_SENTENCES:
        # the last sentence of a message that is cut short would be half a sentence
        ends.append(len(masked))
    for start, end in itertools.pairwise([0, *ends]):
        # a mark or a smile of its own belongs to no sentence
        if masked[start:end].strip():
            before = len(masked[start:end]) - len(masked[start:end].lstrip())
            sentence = shown[start + before : end].replace("\n", " ").rstrip()
            yield sentence, masked[start + before : end].replace("\n", " ").rstrip()


def first_sentence(text: str) -> str:
    """The beginning of `text` up to the end of its first sentence; a list and its items are one."""
    masked = _masked(text[:LONGEST_LOOKED_AT])
    grammar = grammar_of(masked)
    for boundary in _BOUNDARY.finditer(masked):
        before, after, mark = masked[: boundary.start()], masked[boundary.end() :], boundary.group()
        in_list = _LIST_ITEM.match(after) or _LIST_NUMBER.search(before)
        is_open = before.rstrip().endswith(_OPEN_ENDS) if mark[0] == "\n" else mark[0] in ";；"
        is_short = mark == "." and _is_abbreviated(before[-14:], after[:14], grammar)
        if before.strip() and not (in_list or is_open or is_short):
            return text[: boundary.end()]
    return text


def _masked(text: str) -> str:
    """`text` with what it quotes and the addresses in it masked, of the same length."""
    for hidden in (_QUOTED, _ADDRESS):
        text = hidden.sub(lambda part: MASK * len(part.group()), text)
    return text


def _ends(masked: str, grammar: Grammar) -> Iterator[int]:
    for boundary in _BOUNDARY_OR_SMILE.finditer(masked):
        before, after = masked[max(0, boundary.start() - 14) : boundary.start()], masked[boundary.end() :][:14]
        is_open = boundary.group() == "." and (_is_abbreviated(before, after, grammar) or grammar.emphatic.match(after))
        if not is_open:
            yield boundary.end()


def _is_abbreviated(before: str, after: str, grammar: Grammar) -> bool:
    """Whether a full stop between these words belongs to the first: "Dr. Ann", "J. Ann", "am 4. März"."""
    last = _LAST_WORD.search(before)
    if last is None:
        return False
    word = last.group().casefold()
    is_day = word.isdigit() and (after.lstrip()[:1].islower() or grammar.calendar.match(after.lstrip()) is not None)
    return is_day or (len(word) == 1 and word.isalpha() and not _HAN.match(word)) or word in grammar.abbreviations
