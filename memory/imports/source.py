"""The file, folder or zip file that is imported: its parts by name, each read as a stream and within limits.

It comes from anywhere. A zip file inside a zip file is not opened, a link is not followed, and what unpacks to far more
than it takes in the file is refused before it is read.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import tempfile
import zipfile
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from config.texts import _
from memory.imports.items import ImportRefused
from memory.transfer.archive import BROKEN_ZIP, is_plain, stays_inside

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

MOST_PARTS = 20_000
MOST_BYTES = 8 * 1024**3
"""What all parts of a zip file may say that they unpack to."""
MOST_RATIO = 200
"""How many times its size in the zip file a part may unpack to, above a size that does no harm."""
HARMLESS = 64 * 1024**2
KINDS = frozenset({".json", ".jsonl", ".md", ".txt", ".zip"})
"""How the names of files end that are read."""
HEAD_BYTES = 256 * 1024
HEAD_EVENTS = 20_000
"""How much of a part is looked at to tell what it is: characters of a text, events of a JSON document."""
BROKEN = (*BROKEN_ZIP, OSError, ValueError, TypeError)
"""What reading a damaged, encrypted or foreign file raises: the archive, and what a reader meets in its place."""


class ImportSource:
    """The parts of what is imported. Names have slashes; a single file is the only part."""

    def __init__(self, path: Path, archives: dict[str, zipfile.ZipFile], parts: dict[str, tuple[str, str]]) -> None:
        self.path = path
        self._archives = archives
        self._parts = parts
        self._prefixes: dict[str, frozenset[str]] = {}

    @property
    def names(self) -> list[str]:
        return sorted(self._parts)

    def ending(self, *ends: str) -> list[str]:
        return [name for name in self.names if name.lower().endswith(ends)]

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        archive, member = self._parts[name]
        with self._archives[archive].open(member) if archive else Path(member).open("rb") as file:
            yield file

    def lines(self, name: str) -> Iterator[str]:
        """The lines of a text, without what ends them. Raises ValueError for what is no UTF-8."""
        with self.open(name) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline=None) as text:
            for line in text:
                yield line.rstrip("\n")

    def text(self, name: str) -> str:
        """A whole text. Raises ImportRefused for one that is too long for a note of an agent."""
        with self.open(name) as file:
            content = file.read(HARMLESS + 1)
        if len(content) > HARMLESS:
            raise ImportRefused(_("{file} is too large for a text: nothing was imported.", file=name))
        return content.decode("utf-8-sig")

    def head(self, name: str) -> str:
        """The beginning of a part as text; empty for what is none."""
        with self.open(name) as file:
            content = file.read(HEAD_BYTES)
        try:
            # the last character may be cut
            return content.decode("utf-8-sig", errors="strict" if len(content) < HEAD_BYTES else "ignore")
        except UnicodeDecodeError:
            return ""

    def prefixes(self, name: str) -> frozenset[str]:
        """The paths of what a JSON document begins with, as ijson writes them; empty for what is none."""
        if name not in self._prefixes:
            found: set[str] = set()
            with contextlib.suppress(*BROKEN), self.open(name) as file:
                # keys that follow a list of many, such as contacts, come late
                found.update(prefix for prefix, _event, _value in islice(events(file), HEAD_EVENTS))
            self._prefixes[name] = frozenset(found)
        return self._prefixes[name]

    def json_with(self, *prefixes: str) -> list[str]:
        return [name for name in self.ending(".json") if self.prefixes(name).issuperset(prefixes)]

    def items(self, name: str, prefix: str) -> Iterator[Any]:
        """The values at a path of a JSON document, one after another. Raises ValueError where it is damaged."""
        with self.open(name) as file:
            yield from _values(file, prefix)


@contextlib.contextmanager
def opened_source(path: Path) -> Iterator[ImportSource]:
    """A file, folder or zip file to import. Raises ImportRefused for what can't be read or is no plain file."""
    with contextlib.ExitStack() as stack:
        archives: dict[str, zipfile.ZipFile] = {}
        parts: dict[str, tuple[str, str]] = {}
        try:
            files = sorted(_files(path))
            for file in files:
                # a single file that was sent may be a zip file by any name
                if file.suffix.lower() == ".zip" or (len(files) == 1 and zipfile.is_zipfile(file)):
                    archive = stack.enter_context(zipfile.ZipFile(file))
                    archives[str(file)] = archive
                    of_folder = "" if file == path else f"{file.name}/"
                    parts |= {f"{of_folder}{name}": (str(file), name) for name in _members(archive, file)}
                else:
                    name = file.name if file == path else file.relative_to(path).as_posix()
                    parts[name] = ("", str(file))
        except OSError as error:
            raise ImportRefused(
                _("{file} can't be read ({reason}): nothing was imported.", file=path.name, reason=error.strerror)
            ) from error
        except BROKEN as error:
            raise ImportRefused(_("{file} is damaged: nothing was imported.", file=path.name)) from error
        if len(parts) > MOST_PARTS:
            raise ImportRefused(_("{file} holds more files than an export does: nothing was imported.", file=path.name))
        yield ImportSource(path, archives, parts)


def may_be_export(name: str, content: bytes) -> bool:
    """Whether a file that was sent is of a kind that any program exports; its content is not looked into yet."""
    return Path(name).suffix.lower() in KINDS or zipfile.is_zipfile(io.BytesIO(content))


@contextlib.asynccontextmanager
async def on_disk(name: str, content: bytes) -> AsyncIterator[Path]:
    """What was sent as a file under a name of its kind, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"sent{Path(name).suffix}"
        await asyncio.to_thread(path.write_bytes, content)
        yield path


def _files(path: Path) -> Iterator[Path]:
    """The plain files of a folder, or the file itself; what is hidden is none of an export's."""
    if path.is_file():
        yield path
        return
    for place, folders, files in os.walk(path):
        folder = Path(place)
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and (folder / name).is_file() and not (folder / name).is_symlink():
                yield folder / name


def _members(archive: zipfile.ZipFile, path: Path) -> Iterator[str]:
    """The members that may be read. Raises ImportRefused for a file that would unpack to too much."""
    members = [member for member in archive.infolist() if not member.is_dir()]
    if sum(member.file_size for member in members) > MOST_BYTES or len(members) > MOST_PARTS:
        raise ImportRefused(_("{file} unpacks to more than an export does: nothing was imported.", file=path.name))
    for member in members:
        if member.file_size > HARMLESS and member.file_size > MOST_RATIO * max(1, member.compress_size):
            raise ImportRefused(_("{file} unpacks to more than an export does: nothing was imported.", file=path.name))
        if stays_inside(member.filename) and is_plain(member):
            yield member.filename


def events(file: IO[bytes]) -> Iterator[tuple[str, str, Any]]:
    """Where in the document, what begins or ends there, and its value. Raises ValueError where it is damaged."""
    import ijson  # at the first JSON document: most starts see none

    try:
        yield from ijson.parse(file, use_float=True)
    except ijson.JSONError as error:
        raise ValueError(str(error)) from error


def _values(file: IO[bytes], prefix: str) -> Iterator[Any]:
    """The values at a path, as ijson writes it, one after another. Raises ValueError where it is damaged."""
    import ijson

    try:
        yield from ijson.items(file, prefix, use_float=True)
    except ijson.JSONError as error:
        raise ValueError(str(error)) from error
