"""The file, folder or zip file to import, with its parts by name. Each part is read as a stream and within limits.

The source is untrusted. Zip files in zip files are opened within limits, links are not followed, and a part with an
extreme compression ratio is refused. All reads are bounded: a chunk of JSON, a line or a text.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import io
import mimetypes
import os
import re
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from bot.features.imports.items import ImportRefused, Item
from bot.features.imports.neighbours import NEIGHBOURS
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
MAX_ARCHIVES = 200
MAX_ARCHIVE_DEPTH = 2
"""How deep zip files in zip files are opened."""
MAX_COPIED_BYTES = 2 * 1024**3
"""Maximum size of all inner zip files together."""
_COPIED_AT_ONCE = 1024**2
MAX_STEM_CHARS = 60
MAX_TEXT_BYTES = 4 * 1024**2
"""Maximum size of a text that is read as a whole, such as the notes of an agent."""
MAX_PAGE_BYTES = 16 * 1024**2
"""Maximum size of a page of HTML. Its parsed elements take ten times as much memory."""
MAX_LINE_CHARS = 1_000_000
KINDS = frozenset({".html", ".htm", ".json", ".jsonl", ".md", ".txt", ".zip"})
"""The file name extensions of exports."""
HEAD_BYTES = 256 * 1024
SNIFFED_BYTES = 1024
HEAD_EVENTS = 20_000
"""The beginning of a part that is read to detect its format: bytes of a text, events of a JSON document."""
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
) | {path for neighbour in NEIGHBOURS for path in neighbour.paths}
"""The paths in JSON documents by which readers detect their exports. No others are stored."""
BROKEN = (*BROKEN_ZIP, OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
"""The errors that reading a damaged, encrypted or foreign file raises, in the archive or in a reader."""
DAMAGED = N_(
    "{file} is damaged or incomplete: nothing was imported. Download or copy it again, then send the whole file."
)
_TOO_MANY = N_("{file} contains more files than a real export: nothing was imported.")
_TOO_LARGE = N_("{file} is larger than a real export when unpacked: nothing was imported.")
_ZIP = b"PK\x03\x04"
_ARCHIVES = (b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
"""The first bytes of gzip, 7z, RAR, bzip2, xz and Zstandard."""
_HTML = ("<!doctype html", "<html", "<head", "<body", "<div")
_ENCRYPTED = 0x1
"""The bit in the flags of a zip file's member that is encrypted."""


class PartKind(StrEnum):
    """The kind of a part according to its content. Its name doesn't matter."""

    JSON = "json"
    HTML = "html"
    TEXT = "text"
    OTHER = "other"


class ImportSource:
    """The parts of an import. Names have slashes; a single file is the only part."""

    def __init__(self, path: Path, archives: dict[str, zipfile.ZipFile], parts: dict[str, tuple[str, str]]) -> None:
        self.path = path
        self._archives = archives
        self._parts = parts
        self._prefixes: dict[str, frozenset[str]] = {}
        self._kinds: dict[str, PartKind] = {}
        self._encodings: dict[str, str] = {}
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
        except BROKEN:  # The part may be damaged, and no reader may need it.
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
        """Yield the lines of a text without line breaks. Bytes that aren't in its encoding become lone surrogates.

        Raises TooComplex for a line too long.
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

    def read_page(self, name: str) -> str:
        """Read a page of HTML as a whole. Raises ImportRefused if it is too large."""
        return self.read_text(name, MAX_PAGE_BYTES)

    def read_text(self, name: str, limit: int = MAX_TEXT_BYTES) -> str:
        """Read a whole text. Raises ImportRefused if it is too large."""
        with self.open(name) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise ImportRefused(_("{file} is too large for a text file: nothing was imported.", file=name))
        return content.decode(self._detect_encoding(name), errors="replace").replace("\r\n", "\n")

    def read_head(self, name: str) -> str:
        """Return the beginning of a part as text; an empty string if it is no text."""
        if self.get_kind(name) is PartKind.OTHER:
            return ""
        try:
            encoding = self._detect_encoding(name)
            with self.open(name) as file:
                content = file.read(HEAD_BYTES)
        except BROKEN:  # As above.
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
        """Return which of DETECTING_PATHS the beginning of a JSON document has; none if it is no JSON."""
        if name not in self._prefixes:
            found: set[str] = set()
            try:
                with self._open_utf8(name) as file:
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
        """Stop a thread that still reads for a cancelled request."""
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise ValueError("the import has ended")


def detect_encoding(content: bytes) -> str:
    """Return the encoding of a text by its beginning: Unicode, or that of an old editor if it has no UTF-8 at all."""
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
        # In a text of another encoding, the bytes are letters of words.
        around = content[error.start - 1 : error.start] + content[error.start + 1 : error.start + 2]
        if not has_utf8 and any(byte > 0x7F or chr(byte).isalpha() for byte in around):
            letters = [char for char in text if char.isalpha()]
            if len(letters) > sum("\udc80" <= char <= "\udcff" for char in text):
                return "cp1252"  # Mostly English letters, with some of Western Europe.
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
    """Return how to decode invalid bytes: readers can find those of a damaged text in UTF-8."""
    return "surrogateescape" if encoding.startswith("utf-8") else "replace"


class _Recoded(io.RawIOBase):
    """A text in UTF-8 without a byte order mark. Invalid bytes become U+FFFD."""

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
        """Return the names of the parts that are from this program, by their content."""

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        """Yield the items of parts. Raise ImportRefused or ValueError if they are damaged."""


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
    if not path.exists():
        raise ImportRefused(_("There is no file {file}: nothing was imported. Check its path.", file=path.name))
    with contextlib.ExitStack() as stack:
        opening = _Opening(path, stack)
        try:
            for file in sorted(_find_files(path)):
                opening.add(file, file.name if file == path else file.relative_to(path).as_posix())
        except OSError as error:
            raise ImportRefused(
                _("{file} can't be read ({reason}): nothing was imported.", file=path.name, reason=error.strerror)
            ) from error
        except BROKEN as error:
            raise ImportRefused(_(DAMAGED, file=path.name)) from error
        source = ImportSource(path, opening.archives, opening.parts)
        stack.callback(source.close)
        yield source


class _Opening:
    """Collects the parts of a file or folder, including those of zip files in zip files.

    Args:
        stack: Closes the zip files, and deletes the copies of the inner ones.
    """

    def __init__(self, path: Path, stack: contextlib.ExitStack) -> None:
        self._path = path
        self._stack = stack
        self._copied_bytes = 0
        self.archives: dict[str, zipfile.ZipFile] = {}
        self.parts: dict[str, tuple[str, str]] = {}

    def add(self, file: Path, name: str) -> None:
        """Add a file, or the members of a zip file with any name."""
        with file.open("rb") as opened:
            start = opened.read(len(max(_ARCHIVES, key=len)))
            if start.startswith(_ZIP) or file.suffix.lower() == ".zip":
                prefix = "" if file == self._path else f"{name}/"
                self._add_archive(file, opened, prefix, depth=0)
                return
        if start.startswith(_ARCHIVES) and file == self._path:
            raise ImportRefused(
                _(
                    "{file} is an archive that I can't open: nothing was imported. Unpack it, and import the folder"
                    " or a zip file of it.",
                    file=name,
                )
            )
        self._add_part(name, ("", str(file)))

    def _add_archive(self, key: Path, opened: IO[bytes], prefix: str, depth: int) -> None:
        if count_entries(opened) > MAX_PARTS:
            raise ImportRefused(_(_TOO_MANY, file=self._path.name))
        archive = self._stack.enter_context(zipfile.ZipFile(opened if depth else key))
        archive_key = f"{key} {len(self.archives)}"
        self.archives[archive_key] = archive
        if len(self.archives) > MAX_ARCHIVES:
            raise ImportRefused(_(_TOO_MANY, file=self._path.name))
        for member in _list_members(archive, self._path):
            if not member.lower().endswith(".zip"):
                self._add_part(f"{prefix}{member}", (archive_key, member))
            elif depth < MAX_ARCHIVE_DEPTH:
                self._add_archive(key, self._copy_member(archive, member), f"{prefix}{member}/", depth + 1)

    def _copy_member(self, archive: zipfile.ZipFile, name: str) -> IO[bytes]:
        """Return an inner zip file as a temporary file, since reading it in place would unpack it for each jump."""
        copy = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # The stack closes it.
        with archive.open(name) as member:
            while chunk := member.read(_COPIED_AT_ONCE):
                self._copied_bytes += len(chunk)
                if self._copied_bytes > MAX_COPIED_BYTES:
                    raise ImportRefused(_(_TOO_LARGE, file=self._path.name))
                copy.write(chunk)
        copy.seek(0)
        return copy

    def _add_part(self, name: str, place: tuple[str, str]) -> None:
        self.parts[name] = place
        if len(self.parts) > MAX_PARTS:
            raise ImportRefused(_(_TOO_MANY, file=self._path.name))


def could_be_export(name: str, content: bytes) -> bool:
    """Return True if a file is a zip file, has an extension of an export, or has none."""
    suffix = Path(name).suffix.lower()
    return suffix in KINDS or not suffix or content.startswith(_ZIP)


@contextlib.asynccontextmanager
async def write_temporarily(name: str, content: bytes) -> AsyncIterator[Path]:
    """Write the content of a file to a temporary file. Its name keeps the words of the given one, such as a chat's."""
    given = Path(name.replace("\0", ""))
    suffix = given.suffix.lower()
    stem = " ".join(re.sub(r"[^\w '’().,+&-]", " ", given.stem[:MAX_STEM_CHARS]).split()).strip(".") or "sent"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{stem}{suffix if suffix in KINDS else ''}"
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
        raise ImportRefused(_(_TOO_LARGE, file=path.name))
    if any(member.flag_bits & _ENCRYPTED for member in members):
        raise ImportRefused(
            _(
                "{file} is encrypted: nothing was imported. Unpack it with its password, and import the folder or a"
                " zip file of it that isn't encrypted.",
                file=path.name,
            )
        )
    for member in members:
        if member.file_size > HARMLESS_BYTES and member.file_size > MAX_RATIO * max(1, member.compress_size):
            raise ImportRefused(_(_TOO_LARGE, file=path.name))
        if stays_inside(member.filename) and is_plain(member):
            yield member.filename
