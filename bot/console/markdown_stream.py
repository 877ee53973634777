"""A Markdown answer while it grows: the blocks at its front that nothing can change any more, and the rest."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


class MarkdownStream:
    """Cuts a growing text at finished top-level blocks. `tail` is what of it is not finished yet."""

    def __init__(self) -> None:
        self._finished = ""
        self.tail = ""

    @property
    def begun(self) -> bool:
        """Whether a block has been finished."""
        return bool(self._finished)

    def continues(self, text: str) -> bool:
        """Whether `text` goes on from the blocks that have been finished."""
        return text.startswith(self._finished)

    def take(self, text: str) -> str:
        """The blocks that `text`, which goes on from the last one, finishes; empty where it finishes none."""
        rest = text[len(self._finished) :].lstrip("\n")
        cut = _finished_length(rest)
        self.tail = rest[cut:]
        if not cut:
            return ""
        self._finished = text[: len(text) - len(self.tail)].rstrip()
        return rest[:cut].rstrip()

    def rest(self, text: str) -> str:
        """All that `text`, the whole answer, has beyond the finished blocks. Nothing is left afterwards."""
        remaining = text[len(self._finished) :].lstrip("\n")
        self._finished, self.tail = text, ""
        return remaining


def _finished_length(text: str) -> int:
    """How many characters at the front are blocks that what follows can't change: all but the last one.

    Only whole lines count: `2` after a list is a paragraph, until a full stop makes it the list's next item.
    """
    whole = text[: text.rfind("\n") + 1]
    starts = [token.map[0] for token in _parser().parse(whole) if token.level == 0 and token.map and token.nesting >= 0]
    if len(starts) < 2:
        return 0
    return sum(len(line) for line in whole.split("\n")[: starts[-1]]) + starts[-1]


@cache
def _parser() -> MarkdownIt:
    """Blocks as rich sees them; what is inside of them is not looked at."""
    from markdown_it import MarkdownIt

    return MarkdownIt().enable(["table", "strikethrough"]).disable("inline")
