"""A program in a terminal: its keyboard, and its screen as a person sees it."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import fcntl
import os
import pty
import signal
import struct
import termios
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pyte

from tests.support.starter import Program, start_mneme

PATIENCE = 30
"""Seconds that a test waits for the program before it fails."""
PRESSED_AGAIN = 5
"""Seconds after which a key that had no effect is pressed again."""


class _Screen(pyte.HistoryScreen):
    """Screen that answers the program's query for the cursor position."""

    def __init__(self, columns: int, rows: int, keyboard: int) -> None:
        super().__init__(columns, rows, history=10_000)
        self._keyboard = keyboard

    def write_process_input(self, data: str) -> None:
        os.write(self._keyboard, data.encode())


class Terminal:
    """A program in a terminal that stores all lines, including lines above the window."""

    def __init__(self, keyboard: int, process: Program, columns: int, rows: int) -> None:
        self.process = process
        self._keyboard = keyboard
        self._columns = columns
        self._screen = _Screen(columns, rows, keyboard)
        self._stream = pyte.Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(keyboard, self._read)

    def _read(self) -> None:
        written = b""
        with contextlib.suppress(OSError):  # the program has left
            written = os.read(self._keyboard, 65536)
        if not written:
            asyncio.get_running_loop().remove_reader(self._keyboard)
        self._stream.feed(self._decoder.decode(written))
        self._changed.set()

    @property
    def lines(self) -> list[str]:
        """Return all visible and scrolled lines without blank ones."""
        above = ["".join(row[x].data for x in range(self._columns)) for row in self._screen.history.top]
        return [line.rstrip() for line in (*above, *self._screen.display) if line.strip()]

    @property
    def text(self) -> str:
        """Return the lines as one text."""
        return "\n".join(self.lines)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._keyboard, keys.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C as a signal, which the terminal sends if the program doesn't read the key."""
        self.process.send_signal(signal.SIGINT)

    async def wait_for_text(self, text: str, times: int = 1) -> None:
        """Wait until `text` is on the screen that many times."""
        await self.wait_until(lambda: self.text.count(text) >= times, text)

    async def wait_for_question(self, question: str) -> None:
        """Wait until the program reads an answer to `question`. Earlier keys before a hidden answer are dropped."""

        def asked() -> bool:
            line = self._screen.display[self._screen.cursor.y].rstrip()
            return line.endswith(question) and self._screen.cursor.x > len(line)

        await self.wait_until(asked, question)

    async def wait_until(self, happened: Callable[[], bool], what: str = "") -> None:
        """Wait for a condition. `what` describes it if it never becomes true."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not happened():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"waited in vain for {what!r} on:\n{self.text}") from None

    async def end_with_ctrl_c(self) -> int:
        """Press Ctrl-C until the program ends, and return its exit status.

        If Ctrl-C arrives after a question but before readline waits, readline handles it only at the next key.
        """
        async with asyncio.timeout(PATIENCE):
            while True:
                self.interrupt()
                with contextlib.suppress(TimeoutError):
                    return await asyncio.wait_for(self.process.wait(), PRESSED_AGAIN)

    async def wait_for_end(self) -> int:
        """Wait for the end of the program and return its exit status."""
        return await asyncio.wait_for(self.process.wait(), PATIENCE)

    def close(self) -> None:
        """Close the terminal."""
        asyncio.get_running_loop().remove_reader(self._keyboard)
        os.close(self._keyboard)


@contextlib.asynccontextmanager
async def on_terminal(
    *arguments: str, environment: dict[str, str], columns: int = 100, rows: int = 40
) -> AsyncIterator[Terminal]:
    """Run `mneme` with `arguments` in a terminal of this size."""
    keyboard, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    environment |= {"TERM": "xterm"}
    process = await start_mneme(*arguments, environment=environment, file=theirs, folder=Path.cwd(), own_session=True)
    os.close(theirs)
    terminal = Terminal(keyboard, process, columns, rows)
    try:
        yield terminal
    finally:
        terminal.close()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # It has ended, and its status is not read yet
                process.kill()
        await process.wait()
