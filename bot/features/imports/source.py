"""The parts of a file, folder or zip file to import, by name.

The source is untrusted, so each part is read as a stream, and all reads are bounded: a chunk of JSON, a line or a text.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import io
import mimetypes
import re
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from bot.features.imports.items import ImportRefused, Item
from bot.features.imports.pages import PageReader
from bot.features.imports.unsupported import UNSUPPORTED_FORMATS
from config.json_stream import CHUNK_BYTES, TooComplex, parse_events, parse_values
from config.texts import N_, _
from memory.transfer.archive import BROKEN_ZIP

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_TEXT_BYTES = 4 * 1024**2
"""Maximum size of a text that is read at once, such as an agent's notes."""
MAX_PAGE_BYTES = 16 * 1024**2
"""Maximum size of an HTML page. Its parsed elements need ten times as much memory."""
MAX_LINE_CHARS = 1_000_000
EXPORT_SUFFIXES = frozenset({".html", ".htm", ".json", ".jsonl", ".md", ".txt", ".zip"})
"""The file name extensions of exports."""
HEAD_BYTES = 256 * 1024
SNIFFED_BYTES = 1024
HEAD_EVENTS = 20_000
"""How much of a part is read to detect its format: bytes of a text, or events of a JSON document."""
DETECTING_PATHS = frozenset(
    """
    chat_messages chats.list.item conversation_turns conversations.item.chat_messages
    conversations.item.inserted_at conversations.item.mapping conversations_memory entities.item.observations
    inserted_at item.chat_messages item.conversations_memory item.header item.inserted_at item.mapping
    item.memory item.memory_files.item.content item.products item.prompt_template item.time item.title
    left_chats.list.item mapping memories.item.content memories.item.memory memory_files.item.content
    messages.item.date messages.item.date_unixtime messages.item.type personal_information.user_id
    prompt_template relations.item.relationType results.item.memory
    """.split()
) | {path for unsupported in UNSUPPORTED_FORMATS for path in unsupported.paths}
"""The paths in JSON documents by which readers detect their exports. No others are stored."""
SOURCE_ERRORS = (*BROKEN_ZIP, OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
"""Errors that the archive or a reader can raise for a damaged, encrypted or foreign file."""
DAMAGED = N_(
    "{file} is damaged or incomplete: nothing was imported. Download or copy it again, then send the whole file."
)
ZIP = b"PK\x03\x04"
MAX_STEM_CHARS = 60
_EMPTY_LIST = re.compile(r'"(?:messages|chat_messages|conversations|mapping)":\s*(?:\[\s*\]|\{\s*\})')
_HTML = ("<!doctype html", "<html", "<head", "<body", "<div")


class PartKind(StrEnum):
    """The kind of a part, according to its content instead of its name."""

    JSON = "json"
    HTML = "html"
    TEXT = "text"
    OTHER = "other"


class ImportSource:
    """The parts of an import by name. A name is a path with slashes. A single file is its own only part."""

    def __init__(self, path: Path, archives: dict[str, zipfile.ZipFile], parts: dict[str, tuple[str, str]]) -> None:
        self.path = path
        self._archives = archives
        self._parts = parts
        self._prefixes: dict[str, frozenset[str]] = {}
        self._kinds: dict[str, PartKind] = {}
        self._encodings: dict[str, str] = {}
        self._pages = PageReader()
        self._is_closed = False
        self.has_too_complex = False
        """True if a JSON document exceeded the limits when its format was detected."""

    @property
    def names(self) -> list[str]:
        return sorted(self._parts)

    def find_by_suffix(self, *ends: str) -> list[str]:
        return [name for name in self.names if name.lower().endswith(ends)]

    def find_texts(self) -> list[str]:
        """Return the parts that are texts of any kind except HTML."""
        return [name for name in self.names if self.get_kind(name) in (PartKind.TEXT, PartKind.JSON)]

    def find_kind(self, kind: PartKind) -> list[str]:
        return [name for name in self.names if self.get_kind(name) is kind]

    def get_kind(self, name: str) -> PartKind:
        if name not in self._kinds:
            self._kinds[name] = self._detect_kind(name)
        return self._kinds[name]

    def _detect_kind(self, name: str) -> PartKind:
        # Media is not opened, since an export may contain thousands of photos.
        if (mimetypes.guess_type(name)[0] or "").startswith(("image/", "video/", "audio/", "font/")):
            return PartKind.OTHER
        try:
            with self.open(name) as file:
                content = file.read(SNIFFED_BYTES)
        except SOURCE_ERRORS:  # The part may be damaged, and no reader may need it.
            return PartKind.OTHER
        start = content.decode(detect_encoding(content), errors="replace").lstrip()
        if start.startswith(("{", "[")):
            return PartKind.JSON
        if start.lower().startswith(_HTML):
            return PartKind.HTML
        return PartKind.TEXT if start and "\0" not in start else PartKind.OTHER

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        archive, member = self._parts[name]
        with self._archives[archive].open(member) if archive else Path(member).open("rb") as file:
            yield io.BufferedReader(_Part(file, self._check_open), CHUNK_BYTES)

    def read_lines(self, name: str) -> Iterator[str]:
        """Yield the lines of a text without line breaks. Invalid bytes in UTF-8 become lone surrogates.

        Raises TooComplex if a line is too long.
        """
        encoding = self._detect_encoding(name)
        with (
            self.open(name) as file,
            io.TextIOWrapper(file, encoding=encoding, errors=_get_errors(encoding), newline=None) as text,
        ):
            while line := text.readline(MAX_LINE_CHARS + 1):
                if len(line) > MAX_LINE_CHARS:
                    raise TooComplex("a line is too long")
                yield line.rstrip("\n")

    def read_page(self, name: str, form: str) -> dict[str, Any]:
        """Return the content of an HTML page (see html_child.py). Raises ImportRefused if it is too large."""
        return self._pages.read(form, self.read_text(name, MAX_PAGE_BYTES))

    def read_text(self, name: str, limit: int = MAX_TEXT_BYTES) -> str:
        """Read a whole text. Raises ImportRefused if it is too large."""
        with self.open(name) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise ImportRefused(_("{file} is too large for a text file: nothing was imported.", file=name))
        return content.decode(self._detect_encoding(name), errors="replace").replace("\r\n", "\n")

    def read_head(self, name: str) -> str:
        """Return the beginning of a part as text, or an empty string if it isn't text."""
        if self.get_kind(name) is PartKind.OTHER:
            return ""
        try:
            encoding = self._detect_encoding(name)
            with self.open(name) as file:
                content = file.read(HEAD_BYTES)
        except SOURCE_ERRORS:  # The part may be damaged, and no reader may need it.
            return ""
        # The last character may be incomplete.
        text = codecs.getincrementaldecoder(encoding)(_get_errors(encoding)).decode(content)
        return text.replace("\r\n", "\n")

    def _detect_encoding(self, name: str) -> str:
        if name not in self._encodings:
            with self.open(name) as file:
                self._encodings[name] = detect_encoding(file.read(HEAD_BYTES))
        return self._encodings[name]

    def detect_prefixes(self, name: str) -> frozenset[str]:
        """Return the paths at the beginning of a JSON document that are in DETECTING_PATHS."""
        if name not in self._prefixes:
            found: set[str] = set()
            try:
                with self._open_utf8(name) as file:
                    # Important keys may follow a long list, such as contacts.
                    paths = (path for path, *_rest in islice(parse_events(file), HEAD_EVENTS))
                    found.update(path for path in paths if path in DETECTING_PATHS)
            except TooComplex:
                self.has_too_complex = True
            except SOURCE_ERRORS:  # No reader may need it.
                pass
            self._prefixes[name] = frozenset(found)
        return self._prefixes[name]

    def is_empty_export(self, name: str) -> bool:
        """Return True if a JSON document has an empty list of messages or chats."""
        return _EMPTY_LIST.search(self.read_head(name)[:SNIFFED_BYTES]) is not None

    def find_json(self, *prefixes: str) -> list[str]:
        """Return the JSON documents with all of these paths at their beginning. DETECTING_PATHS must include them."""
        return [name for name in self.find_kind(PartKind.JSON) if self.detect_prefixes(name).issuperset(prefixes)]

    def read_items(self, name: str, prefix: str) -> Iterator[Any]:
        """Yield the values at a path of a JSON document. Raises ValueError if it is damaged."""
        with self._open_utf8(name) as file:
            yield from parse_values(file, prefix)

    def read_events(self, name: str) -> Iterator[tuple[str, str, Any]]:
        """Yield the events of a JSON document, each with its path and value. Raises ValueError if it is damaged."""
        with self._open_utf8(name) as file:
            yield from parse_events(file)

    @contextlib.contextmanager
    def _open_utf8(self, name: str) -> Iterator[IO[bytes]]:
        encoding = self._detect_encoding(name)
        with self.open(name) as file:
            yield io.BufferedReader(_Recoded(file, encoding), CHUNK_BYTES)

    def close(self) -> None:
        """Close the page reader, and stop a thread that still reads for a cancelled request."""
        self._is_closed = True
        self._pages.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ValueError("the import has ended")


def detect_encoding(content: bytes) -> str:
    """Detect the encoding of a text by its beginning. Without any valid UTF-8, it may be one of an old editor."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return encoding
    if b"\0" in content[:2] and len(content) > 2:
        return "utf-16-be" if content[0] == 0 else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(content)
    except UnicodeDecodeError as error:
        text = content.decode("utf-8", errors="surrogateescape")
        has_utf8 = any(char > "\x7f" and not "\udc80" <= char <= "\udcff" for char in text)
        # In another encoding, invalid bytes are next to letters, since they are letters of words.
        around = content[error.start - 1 : error.start] + content[error.start + 1 : error.start + 2]
        if not has_utf8 and any(byte > 0x7F or chr(byte).isalpha() for byte in around):
            letters = [char for char in text if char.isalpha()]
            if len(letters) > sum("\udc80" <= char <= "\udcff" for char in text):
                return "cp1252"  # Most letters are ASCII, so it is a Western European language.
            import charset_normalizer  # Imported late, since nearly all exports are UTF-8.

            best = charset_normalizer.from_bytes(content).best()
            return best.encoding if best is not None else "utf-8"
    return "utf-8"


_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def _get_errors(encoding: str) -> str:
    """Return the error handler for decoding. Invalid bytes in UTF-8 stay visible for `is_damaged`."""
    return "surrogateescape" if encoding.startswith("utf-8") else "replace"


class _Recoded(io.RawIOBase):
    """Converts a text to UTF-8 without a byte order mark. Invalid bytes become U+FFFD."""

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        with memoryview(buffer).cast("B") as view:
            while not self._rest:
                chunk = self._file.read(len(view))
                self._rest = self._decoder.decode(chunk, not chunk).encode()
                if not chunk:
                    break
            part, self._rest = self._rest[: len(view)], self._rest[len(view) :]
            view[: len(part)] = part
        return len(part)


class Reader(Protocol):
    name: str
    """The name of the program."""

    def find(self, source: ImportSource) -> list[str]:
        """Return the names of the parts with content from this program."""

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        """Yield the items of parts. Raises ImportRefused or ValueError if they are damaged."""


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


def could_be_export(name: str, content: bytes) -> bool:
    """Return True if a file is a zip file, has an extension of an export, or has none."""
    suffix = Path(name).suffix.lower()
    return suffix in EXPORT_SUFFIXES or not suffix or content.startswith(ZIP)


def make_file_name(name: str) -> str:
    """Return a safe name for a file that a user sent. It keeps the words, such as the name of a chat."""
    given = Path(name.replace("\0", ""))
    suffix = given.suffix.lower()
    stem = " ".join(re.sub(r"[^\w '’().,+&-]", " ", given.stem[:MAX_STEM_CHARS]).split()).strip(".") or "sent"
    return f"{stem}{suffix if suffix in EXPORT_SUFFIXES else ''}"


@contextlib.asynccontextmanager
async def write_temporarily(name: str, content: bytes) -> AsyncIterator[Path]:
    """Write a sent file to a temporary folder, and delete the folder at the end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / make_file_name(name)
        await asyncio.to_thread(path.write_bytes, content)
        yield path
