"""Separates the thinking that a model writes into its text from its answer, while the text streams."""

from __future__ import annotations

import re

_TAG_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "seed:think")
# Magistral and Kimi-VL use other brackets.
_CLOSING = {f"<{name}>": f"</{name}>" for name in _TAG_NAMES} | {"[think]": "[/think]", "◁think▷": "◁/think▷"}
_MARKER = re.compile("|".join(map(re.escape, (*_CLOSING, *_CLOSING.values()))), re.IGNORECASE)
_MAX_MARKER_CHARS = max(map(len, _CLOSING.values()))
_QUOTES = tuple("\"'`“‘«")


class ThinkingSplitter:
    """Splits streamed text into thinking and answer.

    A closing tag without an opening one means that everything before it was thinking: many chat templates put the
    opening tag into the prompt. Tags inside Markdown code or directly after a quotation mark are part of the answer.
    """

    def __init__(self) -> None:
        self.text = ""
        self.thinking = ""
        self.closed_without_opening = False
        self._pending = ""  # Text that may become a tag.
        self._opening = ""  # The opening tag of the current thinking, if any.
        self._start = 0  # The position in `thinking` where the current thinking begins.
        self._had_thinking = False
        self._skips_space = False

    def feed(self, piece: str) -> None:
        self._pending += piece
        while self._advance():
            pass

    def close(self) -> None:
        if not self._opening:
            self._emit(self._pending)
        elif self.text.strip():
            # The tag is never closed, so the answer only mentions it.
            self._emit(self._opening + self.thinking[self._start :] + self._pending)
            self.thinking = self.thinking[: self._start]
        else:
            self.thinking += self._pending
        self._pending = self._opening = ""

    def _advance(self) -> bool:
        """Handle the next tag in the pending text. Return False if no tag has arrived yet."""
        return self._advance_thinking() if self._opening else self._advance_answer()

    def _advance_thinking(self) -> bool:
        closing = _CLOSING[self._opening.lower()]
        at = self._pending.lower().find(closing)
        if at < 0:
            keep = min(len(self._pending), len(closing) - 1)
            self.thinking += self._pending[: len(self._pending) - keep]
            self._pending = self._pending[len(self._pending) - keep :]
            return False
        self.thinking += self._pending[:at]
        self._pending = self._pending[at + len(closing) :]
        self._opening = ""
        self._end_thinking()
        return True

    def _advance_answer(self) -> bool:
        match = _MARKER.search(self._pending)
        if match is None:
            certain = len(self._pending) - _count_unfinished_marker_chars(self._pending)
            self._emit(self._pending[:certain])
            self._pending = self._pending[certain:]
            return False
        self._emit(self._pending[: match.start()])
        self._pending = self._pending[match.end() :]
        marker = match[0].lower()
        if self._is_literal():
            self._emit(match[0])
        elif marker in _CLOSING:
            self._opening, self._start = match[0], len(self.thinking)
        elif not self._had_thinking:
            self.thinking, self.text = self.thinking + self.text, ""
            self.closed_without_opening = True
            self._end_thinking()
        return True

    def _end_thinking(self) -> None:
        self._had_thinking = True
        self._skips_space = not self.text

    def _emit(self, text: str) -> None:
        if self._skips_space:
            text = text.lstrip()
            self._skips_space = not text
        self.text += text

    def _is_literal(self) -> bool:
        if self.text.endswith(_QUOTES) or self.text.count("```") % 2:
            return True
        line = self.text.rpartition("\n")[2].replace("```", "")
        return line.count("`") % 2 == 1


def _count_unfinished_marker_chars(text: str) -> int:
    """Return how many characters at the end of `text` may be the beginning of a tag."""
    tail = text[-(_MAX_MARKER_CHARS - 1) :].lower()
    for at, char in enumerate(tail):
        if char in "<[◁" and any(marker.startswith(tail[at:]) for marker in (*_CLOSING, *_CLOSING.values())):
            return len(tail) - at
    return 0
