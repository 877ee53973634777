"""What an answer looks like on a terminal while it is written, and when it is done."""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from prompt_toolkit.application.current import get_app_or_none

from bot.commands.command import parse_command
from bot.console.console import ConsoleChannel
from config.texts import _

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from markdown_it import MarkdownIt
    from rich.console import Console, RenderableType

    from memory.buttons import Keyboard
    from pipeline.arrival import Arrival

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAMES_PER_SECOND = 8

# What a terminal would obey instead of showing it; an answer may quote it from anywhere.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class MarkdownStream:
    """Cuts a growing text at finished top-level blocks. `tail` is what of it is not finished yet."""

    def __init__(self) -> None:
        self._finished = ""
        self.tail = ""

    @property
    def begun(self) -> bool:
        return bool(self._finished)

    def continues(self, text: str) -> bool:
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
    """How many characters at the front are blocks that what follows can't change: all but the last one."""
    # whole lines only: `2` after a list is a paragraph, until a full stop makes it the next item
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


@dataclass(frozen=True, slots=True)
class _Wait:
    """What is awaited, and since when by the clock that never jumps."""

    what: str
    since: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        waited = time.monotonic() - self.since
        frame = FRAMES[int(waited * FRAMES_PER_SECOND) % len(FRAMES)]
        return f"{frame} {self.what}" + (f", {waited:.0f} s" if waited >= 1 else " …")


def print_above(text: str, console: Console) -> None:
    """Write `text` over the prompt, if there is one, which is then drawn anew below."""
    app = get_app_or_none()
    # not with the library's run_in_terminal, which gives the terminal back for a moment: keys of that moment are lost
    if app is not None and app.is_running:
        app.renderer.erase()
        app.invalidate()
    print(text, end="", file=console.file, flush=True)


class TerminalChannel(ConsoleChannel):
    """Prints each finished block of an answer once, above the prompt; what may still change is `live`.

    Nothing that has been printed is ever redrawn, so an answer may be taller than the window.
    """

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._stream = MarkdownStream()
        self._wait: _Wait | None = None
        self._busy = False
        self._rendered: tuple[str, int, list[str]] = ("", 0, [])

    def live(self, height: int) -> list[str]:
        """At most `height` lines, with their colours, that stand right above the prompt: the end of what is written."""
        lines = self._lines(self._stream.tail) if self._stream.tail else []
        wait = [self._captured(_dim(self._wait))[0]] if self._wait is not None else []
        return (lines + wait)[-height:]

    @contextlib.asynccontextmanager
    async def busy(self, arrival: Arrival) -> AsyncIterator[None]:
        """Say what is awaited for as long as there is nothing to read."""
        if self._busy:  # a command that runs beside the turn
            yield
            return
        self._busy = True
        name = parse_command(arrival.text)[0]
        self._wait = _Wait(f"/{name}" if name else _("thinking"))
        try:
            yield
        finally:
            self._wait, self._busy = None, False
            if self._stream.tail:  # the turn ended without a reply; the next one must not begin with its rest
                self._give_up()

    async def show_waiting(self, what: str) -> None:
        self._wait = _Wait(what)

    async def show_tool(self, name: str) -> None:
        """Show which tool runs. What the model said before is kept only where its beginning is printed already."""
        if self._stream.begun:
            self._print_rest(self._stream.tail)
        self._stream = MarkdownStream()
        self._wait = _Wait(name)

    async def ask(self, question: str, keyboard: Keyboard) -> bool:
        """Show a question, and what to type instead of pressing its buttons."""
        answers = [f"- `{button.text.partition('_')[0]}`: {button.label}" for row in keyboard for button in row]
        self.show_beside("\n".join([question, "", *answers]))
        self._wait = _Wait(_("waiting for your answer"))
        return True

    async def show_text(self, text: str) -> None:
        text = _printable(text)
        if not self._stream.continues(text):
            self._give_up()
        finished = self._stream.take(text)
        self._wait = None
        if finished:
            self._print(_markdown(finished))

    async def deliver(self, text: str) -> None:
        text = _printable(text)
        if not self._stream.continues(text):
            self._give_up()
        self._print_rest(self._stream.rest(text))

    def show_beside(self, text: str) -> None:
        self._print(_markdown(_printable(text)))

    def _give_up(self) -> None:
        """Mark the text so far as unfinished: the next text does not continue it."""
        started, self._stream = self._stream.begun, MarkdownStream()
        if started:
            self._print(_dim(_("(This was not finished.)")))

    def _print_rest(self, text: str) -> None:
        self._stream, self._wait = MarkdownStream(), None
        if text.strip():
            self._print(_markdown(text))

    def _print(self, what: RenderableType) -> None:
        # nothing suspends between this and what changes the stream: the prompt is drawn anew only after both
        print_above("\n".join([*self._captured(what), "\n"]), self._console)

    def _lines(self, markdown: str) -> list[str]:
        width = self._console.width
        if self._rendered[:2] != (markdown, width):
            # links become text: the prompt's renderer does not know the sequences that terminals have for them
            self._rendered = (markdown, width, self._captured(_markdown(markdown, hyperlinks=False)))
        return self._rendered[2]

    def _captured(self, what: RenderableType) -> list[str]:
        """The lines of `what`, without the blank ones that rich sets before and after a list, a table or code."""
        with self._console.capture() as captured:
            self._console.print(what)
        return captured.get().strip("\n").split("\n")


def _markdown(text: str, *, hyperlinks: bool = True) -> RenderableType:
    from rich.markdown import Markdown

    return Markdown(text, hyperlinks=hyperlinks)


def _dim(what: object) -> RenderableType:
    from rich.text import Text

    return Text(str(what), style="dim", no_wrap=True, overflow="ellipsis")


def _printable(text: str) -> str:
    """`text` as it may go to a terminal. Blank lines at its front would set the answer apart from its stream."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).lstrip()
