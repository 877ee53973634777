"""Display of answers in a terminal, during and after writing."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from prompt_toolkit.application.current import get_app_or_none

from bot.commands.command import parse_command
from bot.console.console import ConsoleChannel
from config.texts import _
from memory.buttons import Keyboard
from pipeline.arrival import Arrival

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from rich.console import Console, RenderableType

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAMES_PER_SECOND = 8

# Control characters, which an answer may contain and a terminal would execute.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class MarkdownStream:
    """Splits a growing text at completed top-level blocks.

    Attributes:
        tail: the incomplete rest.
    """

    def __init__(self) -> None:
        self._finished = ""
        self.tail = ""

    @property
    def has_begun(self) -> bool:
        return bool(self._finished)

    def continues(self, text: str) -> bool:
        return text.startswith(self._finished)

    def take_completed(self, text: str) -> str:
        """Return the blocks that were completed since the last call, possibly none."""
        rest = text[len(self._finished) :].lstrip("\n")
        cut = _measure_finished(rest)
        self.tail = rest[cut:]
        if not cut:
            return ""
        self._finished = text[: len(text) - len(self.tail)].rstrip()
        return rest[:cut].rstrip()

    def take_rest(self, text: str) -> str:
        """Return everything after the completed blocks of the complete answer."""
        remaining = text[len(self._finished) :].lstrip("\n")
        self._finished, self.tail = text, ""
        return remaining


def _measure_finished(text: str) -> int:
    """Return the length of the blocks at the start that later text can't change: all but the last one."""
    # Only whole lines: `2` after a list is a paragraph until a full stop makes it the next item
    complete_lines = text[: text.rfind("\n") + 1]
    starts = [
        token.map[0]
        for token in _load_parser().parse(complete_lines)
        if token.level == 0 and token.map and token.nesting >= 0
    ]
    if len(starts) < 2:
        return 0
    return sum(len(line) for line in complete_lines.split("\n")[: starts[-1]]) + starts[-1]


@cache
def _load_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt().enable(["table", "strikethrough"]).disable("inline")


@dataclass(frozen=True, slots=True)
class _Wait:
    """A spinner with the name of the current step and its duration."""

    what: str
    since: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        waited = time.monotonic() - self.since
        frame = FRAMES[int(waited * FRAMES_PER_SECOND) % len(FRAMES)]
        return f"{frame} {self.what}" + (f", {waited:.0f} s" if waited >= 1 else " …")


def print_above(text: str, console: Console) -> None:
    """Print above the prompt, if there is one, which is then redrawn."""
    app = get_app_or_none()
    # Not with run_in_terminal, which releases the terminal for a moment and loses keys pressed then
    if app is not None and app.is_running:
        app.renderer.erase()
        app.invalidate()
    print(text, end="", file=console.file, flush=True)


class TerminalChannel(ConsoleChannel):
    """Prints each completed block of an answer once, above the prompt. The rest is redrawn by `render_live`.

    Printed blocks are never redrawn, so an answer may be taller than the window.
    """

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._stream = MarkdownStream()
        self._wait: _Wait | None = None
        self._busy = False
        self._rendered: tuple[str, int, list[str]] = ("", 0, [])

    def render_live(self, height: int) -> list[str]:
        """Return at most `height` coloured lines to show above the prompt: the end of the text being written."""
        lines = self._render_lines(self._stream.tail) if self._stream.tail else []
        wait = [self._capture(_render_dim(self._wait))[0]] if self._wait is not None else []
        return (lines + wait)[-height:]

    @contextlib.asynccontextmanager
    async def busy(self, arrival: Arrival) -> AsyncIterator[None]:
        if self._busy:  # A command runs during the turn
            yield
            return
        self._busy = True
        name = parse_command(arrival.text)[0]
        self._wait = _Wait(f"/{name}" if name else _("thinking"))
        try:
            yield
        finally:
            self._wait, self._busy = None, False
            if self._stream.tail:
                self._give_up()

    async def show_waiting(self, what: str) -> None:
        self._wait = _Wait(what)

    async def show_tool(self, name: str) -> None:
        """Show the name of the running tool. The text before it is dropped unless its start was printed already."""
        if self._stream.has_begun:
            self._print_rest(self._stream.tail)
        self._stream = MarkdownStream()
        self._wait = _Wait(name)

    async def ask(self, question: str, keyboard: Keyboard) -> bool:
        answers = [f"- `{button.text.partition('_')[0]}`: {button.label}" for row in keyboard for button in row]
        self.add_reply("\n".join([question, "", *answers]))
        self._wait = _Wait(_("waiting for your answer"))
        return True

    async def show_text(self, text: str) -> None:
        text = _clean(text)
        if not self._stream.continues(text):
            self._give_up()
        finished = self._stream.take_completed(text)
        self._wait = None
        if finished:
            self._print(_render_markdown(finished))

    async def deliver(self, text: str) -> None:
        text = _clean(text)
        if not self._stream.continues(text):
            self._give_up()
        self._print_rest(self._stream.take_rest(text))

    def add_reply(self, text: str) -> None:
        self._print(_render_markdown(_clean(text)))

    def _give_up(self) -> None:
        """Mark the text so far as unfinished, since the next text doesn't continue it."""
        started, self._stream = self._stream.has_begun, MarkdownStream()
        if started:
            self._print(_render_dim(_("(This answer was interrupted.)")))

    def _print_rest(self, text: str) -> None:
        self._stream, self._wait = MarkdownStream(), None
        if text.strip():
            self._print(_render_markdown(text))

    def _print(self, content: RenderableType) -> None:
        # Nothing suspends between this and the change of the stream, so the prompt is redrawn after both
        print_above("\n".join([*self._capture(content), "\n"]), self._console)

    def _render_lines(self, markdown: str) -> list[str]:
        width = self._console.width
        if self._rendered[:2] != (markdown, width):
            # Links become text, since the prompt's renderer doesn't know the escape sequences of links
            self._rendered = (markdown, width, self._capture(_render_markdown(markdown, hyperlinks=False)))
        return self._rendered[2]

    def _capture(self, content: RenderableType) -> list[str]:
        """Render to lines, without the blank lines that rich adds around lists, tables and code."""
        with self._console.capture() as captured:
            self._console.print(content)
        return captured.get().strip("\n").split("\n")


def _render_markdown(text: str, *, hyperlinks: bool = True) -> RenderableType:
    from rich.markdown import Markdown

    return Markdown(text, hyperlinks=hyperlinks)


def _render_dim(content: object) -> RenderableType:
    from rich.text import Text

    return Text(str(content), style="dim", no_wrap=True, overflow="ellipsis")


def _clean(text: str) -> str:
    """Remove control characters, and the blank lines at the start that would separate the answer from its stream."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).lstrip()
