"""The file, folder or zip file to import, with its parts by name. Each part is read as a stream and within limits.

The source is untrusted. Nested zip files are not opened, links are not followed, and a part with an extreme compression
ratio is refused. All reads are bounded: a chunk of JSON, a line or a text.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from bot.features.imports.items import ImportRefused, Item
from config.json_stream import CHUNK_BYTES, TooComplex, parse_events, parse_values
from config.texts import N_, _
from memory.transfer.archive import BROKEN_ZIP, count_entries, is_plain, stays_inside

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_PARTS = 20_000
MAX_BYTES = 8 * 1024**3
"""Maximum declared size of all parts of a zip file together."""
MAX_RATIO = 200
"""Maximum compression ratio of parts larger than HARMLESS_BYTES."""
HARMLESS_BYTES = 64 * 1024**2
MAX_TEXT_BYTES = 4 * 1024**2
"""Maximum size of a text that is read as a whole, such as the notes of an agent."""
MAX_LINE_CHARS = 1_000_000
KINDS = frozenset({".json", ".jsonl", ".md", ".txt", ".zip"})
"""The file name extensions of exports."""
HEAD_BYTES = 256 * 1024
HEAD_EVENTS = 20_000
"""The beginning of a part that is read to detect its format: bytes of a text, events of a JSON document."""
DETECTING_PATHS = frozenset(
    {
        "chats.list.item",
        "conversations_memory",
        "item.chat_messages",
        "item.conversations_memory",
        "item.header",
        "item.mapping",
        "item.products",
        "item.time",
        "item.title",
        "messages.item.date_unixtime",
        "messages.item.from_id",
        "personal_information",
        "results.item.memory",
    }
)
"""The paths in JSON documents by which readers detect their exports. No others are stored."""
BROKEN = (*BROKEN_ZIP, OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
"""The errors that reading a damaged, encrypted or foreign file raises, in the archive or in a reader."""
_TOO_MANY = N_("{file} contains more files than a real export: nothing was imported.")


class ImportSource:
    """The parts of an import. Names have slashes; a single file is the only part."""

    def __init__(self, path: Path, archives: dict[str, zipfile.ZipFile], parts: dict[str, tuple[str, str]]) -> None:
        self.path = path
        self._archives = archives
        self._parts = parts
        self._prefixes: dict[str, frozenset[str]] = {}
        self._is_closed = False
        self.has_too_complex = False
        """True if a JSON document exceeded the limits when its format was detected."""

    @property
    def names(self) -> list[str]:
        return sorted(self._parts)

    def find_by_suffix(self, *ends: str) -> list[str]:
        return [name for name in self.names if name.lower().endswith(ends)]

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        archive, member = self._parts[name]
        with self._archives[archive].open(member) if archive else Path(member).open("rb") as file:
            yield io.BufferedReader(_Part(file, self._check_open), CHUNK_BYTES)

    def read_lines(self, name: str) -> Iterator[str]:
        """Yield the lines of a text without line breaks. Raises ValueError for a line too long, or not in UTF-8."""
        with self.open(name) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline=None) as text:
            while line := text.readline(MAX_LINE_CHARS + 1):
                if len(line) > MAX_LINE_CHARS:
                    raise TooComplex("a line is too long")
                yield line.rstrip("\n")

    def read_text(self, name: str) -> str:
        """Read a whole text. Raises ImportRefused if it is too large."""
        with self.open(name) as file:
            content = file.read(MAX_TEXT_BYTES + 1)
        if len(content) > MAX_TEXT_BYTES:
            raise ImportRefused(_("{file} is too large for a text file: nothing was imported.", file=name))
        return content.decode("utf-8-sig")

    def read_head(self, name: str) -> str:
        """Return the beginning of a part as text; an empty string if it is no text."""
        with self.open(name) as file:
            content = file.read(HEAD_BYTES)
        try:
            # The last character may be incomplete.
            return content.decode("utf-8-sig", errors="strict" if len(content) < HEAD_BYTES else "ignore")
        except UnicodeDecodeError:
            return ""

    def detect_prefixes(self, name: str) -> frozenset[str]:
        """Return which of DETECTING_PATHS the beginning of a JSON document has; none if it is no JSON."""
        if name not in self._prefixes:
            found: set[str] = set()
            try:
                with self.open(name) as file:
                    # Important keys may follow a long list, such as contacts.
                    paths = (path for path, *_rest in islice(parse_events(file), HEAD_EVENTS))
                    found.update(path for path in paths if path in DETECTING_PATHS)
            except TooComplex:
                self.has_too_complex = True
            except BROKEN:  # No reader may need it.
                pass
            self._prefixes[name] = frozenset(found)
        return self._prefixes[name]

    def find_json(self, *prefixes: str) -> list[str]:
        return [name for name in self.find_by_suffix(".json") if self.detect_prefixes(name).issuperset(prefixes)]

    def read_items(self, name: str, prefix: str) -> Iterator[Any]:
        """Yield the values at a path of a JSON document. Raises ValueError if it is damaged."""
        with self.open(name) as file:
            yield from parse_values(file, prefix)

    def read_events(self, name: str) -> Iterator[tuple[str, str, Any]]:
        """Yield the events of a JSON document, each with its path and value. Raises ValueError if it is damaged."""
        with self.open(name) as file:
            yield from parse_events(file)

    def close(self) -> None:
        """Stop a thread that still reads for a cancelled request."""
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise ValueError("the import has ended")


class Reader(Protocol):
    name: str
    """The name of the program."""

    def detects(self, source: ImportSource) -> bool:
        """Return True if the content of a file is from this program."""

    def read(self, source: ImportSource) -> Iterator[Item]:
        """Yield the items of a file. Raise ImportRefused or ValueError if it is damaged."""


class _Part(io.RawIOBase):
    """Calls `check` before each read of a file."""

    def __init__(self, file: IO[bytes], check: Callable[[], None]) -> None:
        self._file = file
        self._check = check

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        self._check()
        with memoryview(buffer).cast("B") as view:
            chunk = self._file.read(len(view))
            view[: len(chunk)] = chunk
        return len(chunk)


@contextlib.contextmanager
def opened_source(path: Path) -> Iterator[ImportSource]:
    """Open a file, folder or zip file to import. Raises ImportRefused if it can't be read or is no plain file."""
    with contextlib.ExitStack() as stack:
        archives: dict[str, zipfile.ZipFile] = {}
        parts: dict[str, tuple[str, str]] = {}
        try:
            files = sorted(_find_files(path))
            for file in files:
                # A single file may be a zip file with any name.
                if file.suffix.lower() == ".zip" or (len(files) == 1 and zipfile.is_zipfile(file)):
                    with file.open("rb") as opened:
                        if count_entries(opened) > MAX_PARTS:
                            raise ImportRefused(_(_TOO_MANY, file=path.name))
                    archive = stack.enter_context(zipfile.ZipFile(file))
                    archives[str(file)] = archive
                    of_folder = "" if file == path else f"{file.name}/"
                    parts |= {f"{of_folder}{name}": (str(file), name) for name in _list_members(archive, file)}
                else:
                    name = file.name if file == path else file.relative_to(path).as_posix()
                    parts[name] = ("", str(file))
        except OSError as error:
            raise ImportRefused(
                _("{file} can't be read ({reason}): nothing was imported.", file=path.name, reason=error.strerror)
            ) from error
        except BROKEN as error:
            raise ImportRefused(_("{file} is damaged: nothing was imported.", file=path.name)) from error
        if len(parts) > MAX_PARTS:
            raise ImportRefused(_(_TOO_MANY, file=path.name))
        source = ImportSource(path, archives, parts)
        stack.callback(source.close)
        yield source


def could_be_export(name: str, content: bytes) -> bool:
    """Return True if a file is a zip file or has an extension of an export."""
    return Path(name).suffix.lower() in KINDS or zipfile.is_zipfile(io.BytesIO(content))


@contextlib.asynccontextmanager
async def write_temporarily(name: str, content: bytes) -> AsyncIterator[Path]:
    """Write the content of a file to a temporary file, which keeps the extension of an export."""
    suffix = Path(name.replace("\0", "")).suffix.lower()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"sent{suffix if suffix in KINDS else ''}"
        await asyncio.to_thread(path.write_bytes, content)
        yield path


def _find_files(path: Path) -> Iterator[Path]:
    """Yield the plain files of a folder without hidden ones, or the file itself."""
    if path.is_file():
        yield path
        return
    for place, folders, files in os.walk(path):
        folder = Path(place)
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and (folder / name).is_file() and not (folder / name).is_symlink():
                yield folder / name


def _list_members(archive: zipfile.ZipFile, path: Path) -> Iterator[str]:
    """Yield the names of the members that may be read. Raises ImportRefused if they unpack to too much."""
    members = [member for member in archive.infolist() if not member.is_dir()]
    if sum(member.file_size for member in members) > MAX_BYTES or len(members) > MAX_PARTS:
        raise ImportRefused(
            _("{file} is larger than a real export when unpacked: nothing was imported.", file=path.name)
        )
    for member in members:
        if member.file_size > HARMLESS_BYTES and member.file_size > MAX_RATIO * max(1, member.compress_size):
            raise ImportRefused(
                _("{file} is larger than a real export when unpacked: nothing was imported.", file=path.name)
            )
        if stays_inside(member.filename) and is_plain(member):
            yield member.filename
