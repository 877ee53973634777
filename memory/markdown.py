"""The Markdown files of an owner: MEMORY.md and the daily notes (S0). No model, no network.

The files are the truth for what people edit: they are read anew whenever they are needed.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import tempfile
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from memory.errors import MemoryRefused
from memory.notes import Memory
from memory.secrets import secret_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from zoneinfo import ZoneInfo

GROWTH_LIMIT = 4
"""MEMORY.md may grow to this many times `maxMemorySize` before writes are refused."""


class MarkdownFiles:
    """The folder `<root>/<owner>/` of each owner. Every method is blocking work done off the event loop."""

    def __init__(self, root: Path, zone: ZoneInfo, *, recent_days: int, max_memory_size: int) -> None:
        self._root = root
        self._zone = zone
        self._recent_days = recent_days
        self._cap = max_memory_size * GROWTH_LIMIT

    def folder(self, owner: str) -> Path:
        """Where an owner's files are."""
        return self._root / owner.replace("/", "_")

    def local(self, moment: datetime) -> datetime:
        """`moment` on the chat's own clock."""
        return moment.astimezone(self._zone)

    async def read(self, owner: str, now: datetime) -> Memory:
        """All of an owner's files that belong into the prompt."""
        return await asyncio.to_thread(self._read, owner, self.local(now).date())

    async def read_long_term(self, owner: str) -> str:
        """The text of MEMORY.md; empty when there is none."""
        return await asyncio.to_thread(_text, self.folder(owner) / "MEMORY.md")

    async def append_today(self, owner: str, moment: datetime, line: str) -> None:
        """Append `line` to the daily note of the day that `moment` falls on."""
        path = self.folder(owner) / f"{self.local(moment).date().isoformat()}.md"
        await asyncio.to_thread(_append, path, line)

    async def append_long_term(self, owner: str, text: str) -> tuple[str, str]:
        """Append `text` to MEMORY.md as a part of its own; the file's text before and after."""

        def change(current: str) -> str:
            return f"{current.rstrip()}\n{text.strip()}\n" if current.strip() else f"{text.strip()}\n"

        return await asyncio.to_thread(self._change_long_term, owner, change)

    async def replace_in_long_term(self, owner: str, part: str, replacement: str) -> tuple[str, str]:
        """Replace `part`, which must stand exactly once in MEMORY.md; the file's text before and after.

        An empty replacement deletes the part together with a line that it leaves empty. Raises
        MemoryRefused when the part is not there, or there more than once.
        """

        def change(current: str) -> str:
            found = current.count(part) if part.strip() else 0
            if found != 1:
                where = "nowhere" if found == 0 else f"{found} times"
                raise MemoryRefused(f"That text stands {where} in MEMORY.md: give a part that stands there once.")
            head, tail = current.split(part)
            if not replacement and tail.startswith("\n") and (not head or head.endswith("\n")):
                tail = tail[1:]
            return head + replacement + tail

        return await asyncio.to_thread(self._change_long_term, owner, change)

    async def put_back(self, owner: str, *, expected: str, text: str) -> None:
        """Make MEMORY.md say `text` again. Raises MemoryRefused when it no longer says `expected`."""

        def change(current: str) -> str:
            if current != expected:
                raise MemoryRefused("MEMORY.md was edited since that change: correct it by hand, nothing was undone.")
            return text

        await asyncio.to_thread(self._change_long_term, owner, change)

    async def note_counts(self, owner: str, now: datetime) -> tuple[int, int]:
        """How many notes today has, and how many the recent days have together."""
        memory = await self.read(owner, now)
        return _line_count(memory.today), sum(_line_count(notes) for _, notes in memory.recent)

    def _read(self, owner: str, today: date) -> Memory:
        folder = self.folder(owner)
        days = [today - timedelta(days=n) for n in range(1, self._recent_days + 1)]
        recent = ((day, _text(folder / f"{day.isoformat()}.md")) for day in days)
        return Memory(
            long_term=_text(folder / "MEMORY.md"),
            today=_text(folder / f"{today.isoformat()}.md"),
            recent=tuple((day, notes) for day, notes in recent if notes.strip()),
        )

    def _change_long_term(self, owner: str, change: Callable[[str], str]) -> tuple[str, str]:
        path = self.folder(owner) / "MEMORY.md"
        with _locked(path):
            before = _text(path)
            after = change(before)
            size = len(after.encode())
            if size > self._cap and len(after) > len(before):
                raise MemoryRefused(f"MEMORY.md would grow to {size} bytes of {self._cap}: remove something first.")
            if (secret := secret_in(after)) and not secret_in(before):
                raise MemoryRefused(f"This looks like {secret}, which I never store: leave it out and try again.")
            write_atomically(path, after)
        return before, after


def write_atomically(path: Path, text: str) -> None:
    """Write `text` so that at any moment the file holds the old text or the new one, whole."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)  # noqa: PTH105  # the pathlib spelling hides that this is the atomic step
    except BaseException:
        os.unlink(name)  # noqa: PTH108  # `name` is a str, as mkstemp gives it
        raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes of ours (the command line beside the bot) from changing `path` meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (path.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _append(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def _text(path: Path) -> str:
    try:
        # a person's editor may have left bytes that are not UTF-8: they are shown, not refused
        return path.read_text(encoding="utf-8", errors="replace").removeprefix("\ufeff")
    except FileNotFoundError:
        return ""


def _line_count(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())
