"""What an export is written to and read from: a folder, or one zip file."""

from __future__ import annotations

import contextlib
import json
import shutil
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from memory.errors import StoreError
from memory.files.zipped import BROKEN, entry_of, is_plain, stays_inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

Source = Path | zipfile.Path
"""A folder of an export, and what is in it."""

MOST_ENTRIES = 100_000
MOST_UNPACKED = 4 * 1024**3
"""Files, and bytes in them, of a zip file that are taken: what claims more is no export of one's own."""
MOST_CHARACTERS = 64 * 1024**2
"""Of one row; a message has a million at most."""


class TooLarge(StoreError):
    """An export does not fit where it is to go."""


class Target(Protocol):
    """Where an export is written to. Files are written one after another."""

    def append(self, name: str, lines: Iterable[str]) -> None:
        """Add lines to the file of that name, which is the one that was written last or a new one."""

    def put(self, name: str, content: bytes) -> None:
        """Write a whole file."""


class FolderTarget:
    """Writes into a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def append(self, name: str, lines: Iterable[str]) -> None:
        """Add lines to the file of that name."""
        with self._place(name).open("a", encoding="utf-8", newline="") as file:
            file.writelines(f"{line}\n" for line in lines)

    def put(self, name: str, content: bytes) -> None:
        """Write a whole file."""
        self._place(name).write_bytes(content)

    def _place(self, name: str) -> Path:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


class ZipTarget:
    """Writes a zip file of at most so many bytes; it ends with the context."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self._most = most
        self._archive = zipfile.ZipFile(file, "w")
        self._name = ""
        self._entry: IO[bytes] | None = None

    def append(self, name: str, lines: Iterable[str]) -> None:
        """Add lines to the file of that name. Raises TooLarge."""
        if self._entry is None or name != self._name:
            self._finish()
            self._entry, self._name = self._archive.open(entry_of(name), "w", force_zip64=True), name
        for line in lines:
            self._entry.write(f"{line}\n".encode())
        self._check()

    def put(self, name: str, content: bytes) -> None:
        """Write a whole file. Raises TooLarge."""
        self._finish()
        self._archive.writestr(entry_of(name), content)
        self._check()

    def __enter__(self) -> Self:
        """Begin the file."""
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Write the file's end, whatever there is of it. Raises TooLarge."""
        self._finish()
        self._archive.close()
        if failure is None:
            self._check()

    def _finish(self) -> None:
        if self._entry is not None:
            self._entry.close()
            self._entry = None

    def _check(self) -> None:
        if self._file.tell() > self._most:
            raise TooLarge(f"The export has more than {self._most:,} bytes.")


@contextlib.contextmanager
def source_of(path: Path) -> Iterator[Source]:
    """An export to read. Raises StoreError for what no export has: links, pipes, names that lead elsewhere."""
    if not path.is_file():
        _refuse_links(path)
        yield path
        return
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_odd(path, archive.infolist())
            yield zipfile.Path(archive)
    except BROKEN as error:
        raise StoreError(f"{path} is no export, or a damaged one ({error}): nothing was imported.") from error


def copy_files(source: Source, target: Path, folders: Iterable[str]) -> int:
    """Copy the Markdown files that lie in those folders of an export; how many other files there are."""
    count = 0
    for name in folders:
        for child in _files_in(source / name):
            if not child.name.startswith(".") and child.name.endswith(".md"):
                (target / name).mkdir(parents=True, exist_ok=True)
                with child.open("rb") as read, (target / name / child.name).open("wb") as written:
                    shutil.copyfileobj(read, written)
                count += 1
    return _count_files(source) - count


def _files_in(folder: Source) -> list[Source]:
    return [child for child in folder.iterdir() if child.is_file()] if folder.is_dir() else []


def _count_files(folder: Source) -> int:
    if not folder.is_dir():
        return 0
    return sum(_count_files(child) if child.is_dir() else 1 for child in folder.iterdir())


def rows_in(path: Source) -> Iterator[dict[str, object]]:
    """The rows of a file. Raises StoreError for what is no row."""
    try:
        # only \n ends a row: the texts in it may hold every other kind of line break
        with path.open("r", encoding="utf-8", newline="\n") as file:
            while line := file.readline(MOST_CHARACTERS):
                row = json.loads(line)
                if not _is_row(row):
                    raise ValueError("a line is no row")
                yield row
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing: nothing was imported.") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is damaged ({error}): nothing was imported.") from error


def _is_row(value: object) -> bool:
    values = (str, int, float, type(None))
    return isinstance(value, dict) and bool(value) and all(isinstance(v, values) for v in value.values())


def _refuse_links(folder: Path) -> None:
    """A link would bring in a file from elsewhere, a pipe never ends."""
    for path in folder.rglob("*"):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise StoreError(f"{path} is no file of an export: nothing was imported; remove it if you know what it is.")


def _refuse_odd(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    files = [entry for entry in entries if not entry.is_dir()]
    for entry in files:
        if not (is_plain(entry) and stays_inside(entry.filename)):
            raise StoreError(f"{path} is refused: {entry.filename!r} in it is a link or leads elsewhere.")
    names = {entry.filename for entry in files}
    if len(names) < len(files) or len(files) > MOST_ENTRIES or sum(e.file_size for e in files) > MOST_UNPACKED:
        raise StoreError(f"{path} is refused: it holds more than an export can, or something twice.")
