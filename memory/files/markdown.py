"""The Markdown files of an owner: MEMORY.md and the daily notes (S0).

People edit these files, so they are read again whenever they are needed.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path

import structlog

from config.secrets import find_secret
from config.texts import _
from memory.clock import TimezoneLookup
from memory.errors import MemoryRefused, StoreError
from memory.files.notes import Memory
from memory.messages import make_storable
from memory.store.entry_rows import create_secret_error
from memory.store.private_files import make_private_folder, touch_private_file

log = structlog.get_logger(__name__)

GROWTH_LIMIT = 4
"""Writes are refused if MEMORY.md would exceed this many times `maxMemorySize`."""


class MarkdownFiles:
    """The folder `<root>/<owner>/` of each owner. Asynchronous methods do their I/O in threads."""

    def __init__(self, root: Path, zone_of: TimezoneLookup, *, recent_days: int, max_memory_size: int) -> None:
        self._root = root
        self._zone_of = zone_of
        self._recent_days = recent_days
        self._cap = max_memory_size * GROWTH_LIMIT

    def get_folder(self, owner: str) -> Path:
        return self._root / make_folder_name(owner)

    def long_term_path(self, owner: str) -> Path:
        return self.get_folder(owner) / "MEMORY.md"

    def to_local_time(self, owner: str, moment: datetime) -> datetime:
        return moment.astimezone(self._zone_of(owner))

    async def move(self, former: str, present: str) -> None:
        """Move the files of an owner to the folder of their new name. Raises StoreError."""
        try:
            await asyncio.to_thread(_move, self.get_folder(former), self.get_folder(present))
        except OSError as error:
            raise StoreError(f"The files of {former} can't be moved: {error.strerror or error}.") from error

    async def read(self, owner: str, now: datetime) -> Memory:
        return await asyncio.to_thread(self._read, owner, self.to_local_time(owner, now).date())

    async def read_long_term(self, owner: str) -> str:
        # In the form in which changes compare it, also if it is not UTF-8.
        return make_storable(await self.read_raw_long_term(owner))

    async def append_today(self, owner: str, moment: datetime, line: str) -> None:
        await asyncio.to_thread(_append, self.note_path(owner, moment), line)

    async def remove_note(self, owner: str, moment: datetime, line: str) -> None:
        await asyncio.to_thread(_remove_line, self.note_path(owner, moment), line)

    async def read_raw_long_term(self, owner: str) -> str:
        """Return the text of MEMORY.md, with surrogate escapes for bytes that are not UTF-8."""
        return await asyncio.to_thread(read_text, self.long_term_path(owner), "surrogateescape")

    async def change_long_term(self, owner: str, change: Callable[[str], str]) -> tuple[str, str]:
        """Change MEMORY.md and return the text before and after. Raises MemoryRefused."""
        return await asyncio.to_thread(self._change_long_term, owner, change)

    async def rewrite_long_term(self, owner: str, *, expected: str, text: str) -> bool:
        """Replace MEMORY.md if its text is still `expected`. Return True if it is replaced."""

        def change(current: str) -> str:
            # The recorded text has no surrogate escapes.
            return text if make_storable(current) == make_storable(expected) else current

        _, after = await self.change_long_term(owner, change)
        return after == make_storable(text)

    def check_long_term(self, former: str, text: str) -> None:
        """Raise MemoryRefused if the new text adds a secret or is too large."""
        size = _count_bytes(text)
        if size > max(self._cap, _count_bytes(former)):
            raise MemoryRefused(
                _(
                    "MEMORY.md would grow to {size} bytes, and the limit is {most}: remove something first.",
                    size=size,
                    most=self._cap,
                )
            )
        # A secret that a person has written into the file must not block other changes.
        if (secret := find_secret(text)) and not find_secret(former):
            raise create_secret_error(secret)

    async def put_back(self, owner: str, *, expected: str, text: str) -> None:
        """Restore a former text of MEMORY.md. Raise MemoryRefused if its text is no longer `expected`."""
        # The change may never have been written because of a crash.
        if await self.read_long_term(owner) == text:
            return
        if not await self.rewrite_long_term(owner, expected=expected, text=text):
            raise MemoryRefused(
                _("Nothing was undone, because MEMORY.md was edited after that change: correct it by hand.")
            )

    async def count_notes(self, owner: str, now: datetime) -> tuple[int, int]:
        memory = await self.read(owner, now)
        return _count_lines(memory.today), sum(_count_lines(notes) for _, notes in memory.recent)

    def note_path(self, owner: str, moment: datetime) -> Path:
        return self.get_folder(owner) / f"{self.to_local_time(owner, moment).date().isoformat()}.md"

    def _read(self, owner: str, today: date) -> Memory:
        folder = self.get_folder(owner)
        days = [today - timedelta(days=n) for n in range(1, self._recent_days + 1)]
        unreadable: list[str] = []

        def read_note(name: str) -> str:
            try:
                return read_text(folder / name)
            except StoreError as error:
                # An unreadable file must not prevent answers.
                log.warning("memory_file_unreadable", file=name, reason=error.loggable)
                unreadable.append(
                    _("{file} can't be read and was left out: check its type and permissions.", file=name)
                )
                return ""

        recent = [(day, read_note(f"{day.isoformat()}.md")) for day in days]
        return Memory(
            long_term=read_note("MEMORY.md"),
            today=read_note(f"{today.isoformat()}.md"),
            recent=tuple((day, notes) for day, notes in recent if notes.strip()),
            unreadable=" ".join(unreadable) or None,
        )

    def _change_long_term(self, owner: str, change: Callable[[str], str]) -> tuple[str, str]:
        path = self.long_term_path(owner)
        with locked(path):
            former = read_text(path, errors="surrogateescape")
            text = change(former)
            self.check_long_term(former, text)
            write_atomically(path, text)
        return make_storable(former), make_storable(text)


def _move(former: Path, present: Path) -> None:
    """Move a folder. Join files that exist in both, the former first."""
    if not former.exists():
        return
    if not present.exists():
        former.replace(present)
        _sync_folder(present.parent)
        return
    with locked(former / "MEMORY.md"), locked(present / "MEMORY.md"):
        for path in sorted(former.glob("*.md")):
            whole = read_text(path, "surrogateescape") + read_text(present / path.name, "surrogateescape")
            write_atomically(present / path.name, whole)
    shutil.rmtree(former)


def make_folder_name(owner: str) -> str:
    """Return a unique and safe folder name for an owner."""
    name = owner.replace("%", "%25").replace("/", "%2F").replace("\x00", "%00")
    # `.` and `..` are other folders, and an empty name is the root itself.
    return name if name.strip(".") else name.replace(".", "%2E") or "%"


def write_atomically(path: Path, text: str) -> None:
    """Replace a file atomically."""
    # Replace the target of a symbolic link, not the link.
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        # Surrogate escapes become the original bytes again.
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            # The file may be edited by another system user than the bot's.
            shutil.copymode(path, name)
        os.replace(name, path)  # noqa: PTH105  # os.replace shows that this step is atomic
        _sync_folder(path.parent)
    except BaseException:
        os.unlink(name)  # noqa: PTH108  # mkstemp returns a str
        raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes of this program, such as the command line, from changing a file."""
    if not path.parent.exists():
        make_private_folder(path.parent)
        _sync_folder(path.parent.parent)
    # A separate lock file, since MEMORY.md itself is replaced by writes.
    lock_file = path.parent / ".lock"
    touch_private_file(lock_file)
    with lock_file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _append(path: Path, line: str) -> None:
    with locked(path):
        append(path, f"{make_storable(line)}\n")


def append(path: Path, text: str) -> None:
    """Append `text` on a new line and flush it to disk. The caller must hold the lock."""
    is_new = not path.exists()
    touch_private_file(path)
    with path.open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # The last line may be unfinished.
                text = f"\n{text}"
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that new and replaced files survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_line(path: Path, line: str) -> None:
    with locked(path):
        lines = read_text(path, "surrogateescape").splitlines(keepends=True)
        same = [at for at, word in enumerate(lines) if word.rstrip("\r\n") == make_storable(line)]
        if same:
            # The newest of several equal lines.
            del lines[same[-1]]
            write_atomically(path, "".join(lines))


def read_text(path: Path, errors: str = "replace") -> str:
    """Return the text of a file, or an empty string if it doesn't exist. Raises StoreError."""
    try:
        # An editor may have saved bytes that are not UTF-8.
        return path.read_text(encoding="utf-8", errors=errors).removeprefix("\ufeff")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(
            _("{file} can't be read ({reason}): check its type and permissions.", file=path.name, reason=error.strerror)
        ) from error


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _count_lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())
