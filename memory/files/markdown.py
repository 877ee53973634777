"""The Markdown files of an owner: MEMORY.md and the daily notes (S0). No model, no network.

The files are the truth for what people edit: they are read anew whenever they are needed.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from config.secrets import secret_in
from config.texts import _
from memory.errors import MemoryRefused, StoreError
from memory.files.notes import Memory
from memory.messages import storable
from memory.store.entry_rows import looks_like

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from memory.clock import TimezoneLookup
log = structlog.get_logger(__name__)

GROWTH_LIMIT = 4
"""MEMORY.md may grow to this many times `maxMemorySize` before writes are refused."""


class MarkdownFiles:
    """The folder `<root>/<owner>/` of each owner. Every method is blocking work done off the event loop."""

    def __init__(self, root: Path, zone_of: TimezoneLookup, *, recent_days: int, max_memory_size: int) -> None:
        self._root = root
        self._zone_of = zone_of
        self._recent_days = recent_days
        self._cap = max_memory_size * GROWTH_LIMIT

    def folder(self, owner: str) -> Path:
        """Where an owner's files are; two owners never share a folder."""
        return self._root / folder_name(owner)

    def long_term_path(self, owner: str) -> Path:
        return self.folder(owner) / "MEMORY.md"

    def local(self, owner: str, moment: datetime) -> datetime:
        return moment.astimezone(self._zone_of(owner))

    async def move(self, former: str, present: str) -> None:
        """Give an owner's files to the name that it has from now on. Raises StoreError."""
        try:
            await asyncio.to_thread(_move, self.folder(former), self.folder(present))
        except OSError as error:
            raise StoreError(f"The files of {former} can't be moved: {error.strerror or error}.") from error

    async def read(self, owner: str, now: datetime) -> Memory:
        return await asyncio.to_thread(self._read, owner, self.local(owner, now).date())

    async def read_long_term(self, owner: str) -> str:
        # read as it is compared when it is changed, also where its bytes are no UTF-8
        return storable(await self.raw_long_term(owner))

    async def append_today(self, owner: str, moment: datetime, line: str) -> None:
        await asyncio.to_thread(_append, self.note_path(owner, moment), line)

    async def take_out_note(self, owner: str, moment: datetime, line: str) -> None:
        await asyncio.to_thread(_take_out, self.note_path(owner, moment), line)

    async def raw_long_term(self, owner: str) -> str:
        """The text of MEMORY.md, with bytes that are no UTF-8 as surrogate escapes."""
        return await asyncio.to_thread(text_of, self.long_term_path(owner), "surrogateescape")

    async def change_long_term(self, owner: str, change: Callable[[str], str]) -> tuple[str, str]:
        """Change the text of MEMORY.md; the text before and after. Raises MemoryRefused, as `change` may too."""
        return await asyncio.to_thread(self._change_long_term, owner, change)

    async def rewrite_long_term(self, owner: str, *, expected: str, text: str) -> bool:
        """Replace the whole of MEMORY.md if it still says `expected`; whether it did."""

        def change(current: str) -> str:
            # what was recorded is compared as the database stores it, without surrogate escapes
            return text if storable(current) == storable(expected) else current

        _, after = await self.change_long_term(owner, change)
        return after == storable(text)

    def check_long_term(self, former: str, text: str) -> None:
        """Raises MemoryRefused for a secret, and when the file would grow too large."""
        size = _size(text)
        if size > max(self._cap, _size(former)):
            raise MemoryRefused(
                _("MEMORY.md would grow to {size} bytes of {most}: remove something first.", size=size, most=self._cap)
            )
        # a secret that a person wrote there by hand must not keep everything else from being changed
        if (secret := secret_in(text)) and not secret_in(former):
            raise looks_like(secret)

    async def put_back(self, owner: str, *, expected: str, text: str) -> None:
        """Make MEMORY.md say `text` again. Raises MemoryRefused when it no longer says `expected`."""
        # a crash may have kept the change from being made: then there is nothing to take back
        if await self.read_long_term(owner) == text:
            return
        if not await self.rewrite_long_term(owner, expected=expected, text=text):
            raise MemoryRefused(_("MEMORY.md was edited since that change: correct it by hand, nothing was undone."))

    async def note_counts(self, owner: str, now: datetime) -> tuple[int, int]:
        memory = await self.read(owner, now)
        return _line_count(memory.today), sum(_line_count(notes) for _, notes in memory.recent)

    def note_path(self, owner: str, moment: datetime) -> Path:
        return self.folder(owner) / f"{self.local(owner, moment).date().isoformat()}.md"

    def _read(self, owner: str, today: date) -> Memory:
        folder = self.folder(owner)
        days = [today - timedelta(days=n) for n in range(1, self._recent_days + 1)]
        unreadable: list[str] = []

        def shown(name: str) -> str:
            try:
                return text_of(folder / name)
            except StoreError as error:
                # one file that can't be read must not cost every answer
                log.warning("memory_file_unreadable", file=name, reason=error.loggable)
                unreadable.append(_("{file} can't be read and was left out: check what it is and whose.", file=name))
                return ""

        recent = [(day, shown(f"{day.isoformat()}.md")) for day in days]
        return Memory(
            long_term=shown("MEMORY.md"),
            today=shown(f"{today.isoformat()}.md"),
            recent=tuple((day, notes) for day, notes in recent if notes.strip()),
            unreadable=" ".join(unreadable) or None,
        )

    def _change_long_term(self, owner: str, change: Callable[[str], str]) -> tuple[str, str]:
        path = self.long_term_path(owner)
        with locked(path):
            former = text_of(path, errors="surrogateescape")
            text = change(former)
            self.check_long_term(former, text)
            write_atomically(path, text)
        return storable(former), storable(text)


def _move(former: Path, present: Path) -> None:
    """What both have is put together, the former first."""
    if not former.exists():
        return
    if not present.exists():
        former.replace(present)
        _sync_folder(present.parent)
        return
    with locked(former / "MEMORY.md"), locked(present / "MEMORY.md"):
        for path in sorted(former.glob("*.md")):
            whole = text_of(path, "surrogateescape") + text_of(present / path.name, "surrogateescape")
            write_atomically(present / path.name, whole)
    shutil.rmtree(former)


def folder_name(owner: str) -> str:
    """The name of an owner's folder: another one for each owner, and none that leads elsewhere."""
    name = owner.replace("%", "%25").replace("/", "%2F").replace("\x00", "%00")
    # `.` and `..` lead elsewhere, and an empty name to the root itself
    return name if name.strip(".") else name.replace(".", "%2E") or "%"


def write_atomically(path: Path, text: str) -> None:
    """Write `text` so that at any moment the file holds the old text or the new one, whole."""
    # a link stays a link
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        # surrogate escapes become the bytes again that were no UTF-8
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            # the person who edits the file may be another user than the bot
            shutil.copymode(path, name)
        os.replace(name, path)  # noqa: PTH105  # the pathlib spelling hides that this is the atomic step
        _sync_folder(path.parent)
    except BaseException:
        os.unlink(name)  # noqa: PTH108  # `name` is a str, as mkstemp gives it
        raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes of ours (the command line beside the bot) from changing `path` meanwhile."""
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sync_folder(path.parent.parent)
    # a file of its own: a lock on MEMORY.md would go with the old file when that is replaced
    with (path.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _append(path: Path, line: str) -> None:
    with locked(path):
        append(path, f"{storable(line)}\n")


def append(path: Path, text: str) -> None:
    """Add `text` at the end of a file, on a line of its own; afterwards it is on disk. For use while it is locked."""
    is_new = not path.exists()
    with path.open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a crash, a full disk or a person's editor left the last line open
                text = f"\n{text}"
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Have on disk which files a folder holds: else a power cut may take a new one, or bring back an old one."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_out(path: Path, line: str) -> None:
    with locked(path):
        lines = text_of(path, "surrogateescape").splitlines(keepends=True)
        same = [at for at, word in enumerate(lines) if word.rstrip("\r\n") == storable(line)]
        if same:
            # the newest of several that say the same
            del lines[same[-1]]
            write_atomically(path, "".join(lines))


def text_of(path: Path, errors: str = "replace") -> str:
    """The text of a file; empty when there is none. Raises StoreError."""
    try:
        # a person's editor may have left bytes that are not UTF-8: they are shown, not refused
        return path.read_text(encoding="utf-8", errors=errors).removeprefix("\ufeff")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(
            _("{file} can't be read ({reason}): check what it is and whose.", file=path.name, reason=error.strerror)
        ) from error


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _line_count(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())
