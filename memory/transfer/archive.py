"""The file, or the folder, that a backup and an export are: parts under names, and a manifest that says what they hold.

A backup holds the database as it is, the Markdown files and the skills; an export the rows of its tables as JSON lines,
the Markdown files, and the entries for people to read. Whoever reads one may have got it from anybody, so no name in it
is trusted, and of a backup nothing before it was compared with the manifest.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Literal, Protocol

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

Source = Path | zipfile.Path
"""A folder of an archive, and what is in it."""

MANIFEST = "manifest.json"
DATABASE = "mneme.db"
FILES = "memory"
SKILLS = "skills"
FOLDERS = (FILES, SKILLS)
"""The folders of a backup, by their names in it and in the data directory."""
_MANIFEST_LIMIT = 64 * 1024 * 1024
_CHUNK = 1024 * 1024
# zip knows no earlier time, and none is told
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENTRY_MARK = b"PK\x01\x02"
BROKEN_ZIP = (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What reading a damaged, encrypted or exotic zip file raises."""


class TooLarge(StoreError):
    """An archive does not fit where it is to go."""


class Part(BaseModel):
    model_config = ConfigDict(frozen=True)

    size: NonNegativeInt
    sha256: str


class Manifest(BaseModel):
    """What an archive holds. An export names neither parts nor time, so that two exports of the same are the same."""

    model_config = ConfigDict(frozen=True)

    archive: Literal[1] = 1
    made_at: str | None = None  # of a backup only
    schema_version: NonNegativeInt  # the format of the database that it comes from
    rows: dict[str, NonNegativeInt]  # by table
    files: dict[str, Part] = {}  # of a backup only, since people may edit an export


class Target(Protocol):
    """Where an archive is written to. Parts are written one after another."""

    def append(self, name: str, lines: Iterable[str]) -> None:
        """Add lines to the part of that name, which is the one that was written last or a new one."""

    def put(self, name: str, content: bytes) -> None:
        """Write a whole part."""


class FolderTarget:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def append(self, name: str, lines: Iterable[str]) -> None:
        with self._place(name).open("a", encoding="utf-8", newline="") as file:
            file.writelines(f"{line}\n" for line in lines)

    def put(self, name: str, content: bytes) -> None:
        self._place(name).write_bytes(content)

    def _place(self, name: str) -> Path:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


class ZipTarget:
    """Writes a zip file, of at most so many bytes where that is said; it ends with the context."""

    def __init__(self, file: IO[bytes], most: int | None = None) -> None:
        self._file = file
        self._most = most
        self._archive = zipfile.ZipFile(file, "w")
        self._name = ""
        self._entry: IO[bytes] | None = None

    def append(self, name: str, lines: Iterable[str]) -> None:
        """Add lines to the part of that name. Raises TooLarge."""
        if self._entry is None or name != self._name:
            self._begin(name)
        assert self._entry is not None, "it was begun"  # noqa: S101  # states what _begin does
        for line in lines:
            self._entry.write(f"{line}\n".encode())
        self._check()

    def put(self, name: str, content: bytes) -> None:
        """Write a whole part. Raises TooLarge."""
        self._finish()
        self._archive.writestr(_entry(name), content)
        self._check()

    def copy(self, name: str, file: IO[bytes]) -> Part:
        self._begin(name)
        assert self._entry is not None, "it was begun"  # noqa: S101  # states what _begin does
        part = _copied(file, self._entry)
        self._finish()
        return part

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Write the file's end, whatever there is of it. Raises TooLarge."""
        self._finish()
        self._archive.close()
        if failure is None:
            self._check()

    def _begin(self, name: str) -> None:
        self._finish()
        # what is written as a stream may grow beyond 4 GB, which its header must allow for
        self._entry, self._name = self._archive.open(_entry(name), "w", force_zip64=True), name

    def _finish(self) -> None:
        if self._entry is not None:
            self._entry.close()
            self._entry = None

    def _check(self) -> None:
        if self._most is not None and self._file.tell() > self._most:
            raise TooLarge(f"The export has more than {self._most:,} bytes.")


@contextlib.contextmanager
def opened(path: Path, *, most_parts: int | None = None, most_bytes: int | None = None) -> Iterator[Source]:
    """An archive to read, within limits. Raises StoreError for links, pipes and names that lead elsewhere."""
    if not path.is_file():
        for child in path.rglob("*"):
            # a link would bring in a file from elsewhere, a pipe never ends
            if child.is_symlink() or not (child.is_file() or child.is_dir()):
                raise StoreError(f"{child} is no file of an export: nothing was changed; remove it if you know it.")
        yield path
        return
    try:
        with _zip_file(path) as archive:
            parts = [part for part in archive.infolist() if not part.is_dir()]
            for part in parts:
                if not (is_plain(part) and stays_inside(part.filename)):
                    raise StoreError(f"{path} is refused: {part.filename!r} in it is a link or leads elsewhere.")
            too_many = most_parts is not None and len(parts) > most_parts
            too_large = most_bytes is not None and sum(part.file_size for part in parts) > most_bytes
            if len({part.filename for part in parts}) < len(parts) or too_many or too_large:
                raise StoreError(f"{path} is refused: it holds more than an export can, or something twice.")
            yield zipfile.Path(archive)
    except (*BROKEN_ZIP, OSError) as error:
        # a damaged directory sends the reader to a place before the file, which the system calls an invalid argument
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        raise StoreError(f"{path} is damaged, or no file of Mneme ({error}): nothing was changed.") from error


def _zip_file(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except OSError as error:
        raise StoreError(f"{path} can't be read ({error.strerror or error}): nothing was changed.") from error


def read_manifest(path: Path, source: Source) -> Manifest:
    """What an archive says it holds. Raises StoreError where it says nothing that can be read."""
    place = source / MANIFEST
    if not place.is_file():
        raise StoreError(f"{path} holds no whole backup or export: name what `mneme backup` or `mneme export` wrote.")
    try:
        with place.open("rb") as file:
            text = file.read(_MANIFEST_LIMIT + 1)
        if len(text) > _MANIFEST_LIMIT:
            raise StoreError(f"{path} is damaged (its manifest is too large): nothing was changed.")
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        raise StoreError(f"{path} is damaged ({place.name} says nothing of use): nothing was changed.") from error


def require_listed(path: Path, source: Source, manifest: Manifest) -> None:
    """Raises StoreError unless a backup holds just what its manifest lists, where it belongs."""
    names = set(parts_in(source)) - {MANIFEST}
    odd = next(
        (name for name in manifest.files if name != DATABASE and not name.startswith(tuple(f"{f}/" for f in FOLDERS))),
        None,
    )
    if DATABASE not in names or names != set(manifest.files) or odd is not None:
        raise StoreError(f"{path} is no whole backup (it does not hold what its manifest lists): nothing was changed.")


def extract(path: Path, source: Source, manifest: Manifest, folder: Path | None = None) -> None:
    """Write a backup's parts under `folder`, or only compare them. Raises StoreError for one that is not as listed."""
    for name, part in manifest.files.items():
        target = None if folder is None else folder / name
        if target is not None:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            target.touch(mode=0o600, exist_ok=False)
        with (source / name).open("rb") as read, target.open("wb") if target else contextlib.nullcontext() as written:
            # what claims to be small and unpacks to a whole disk is left at the size it claims
            found = _copied(read, written, part.size)
            if written is not None:
                written.flush()
                os.fsync(written.fileno())
        if found != part:
            raise StoreError(f"{path} is damaged ({name} is not what it was): nothing was changed.")


def parts_in(source: Source, name: str = "") -> Iterator[str]:
    for child in source.iterdir() if source.is_dir() else ():
        below = f"{name}{child.name}"
        if child.is_dir():
            yield from parts_in(child, f"{below}/")
        else:
            yield below


def stays_inside(name: str) -> bool:
    """Whether a name leads to where it is unpacked and nowhere else, on any system."""
    parts = PurePosixPath(name).parts
    plain = bool(parts) and "/".join(parts) == name and not name.startswith("/")
    return plain and not any(part == ".." or "\\" in part or "\0" in part for part in parts)


def _copied(source: IO[bytes], target: IO[bytes] | None, most: int | None = None) -> Part:
    digest, size = hashlib.sha256(), 0
    while (most is None or size <= most) and (chunk := source.read(_CHUNK)):
        size += len(chunk)
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
    return Part(size=size, sha256=digest.hexdigest())


def _entry(name: str) -> zipfile.ZipInfo:
    """An entry to write, readable for its owner only."""
    entry = zipfile.ZipInfo(name, _EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | 0o600) << 16
    return entry


def is_plain(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry is a file, not a link or a device, and compressed as usual.

    LZMA may ask for gigabytes of memory to unpack a few bytes.
    """
    return stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG) and entry.compress_type in _COMPRESSIONS


def count_entries(file: IO[bytes]) -> int:
    """Count the entries of a zip file before it is opened: each takes a kilobyte of memory then.

    The result is never too low. Bytes that look like an entry, as in a zip file inside of it, count too.
    """
    count, end = 0, b""
    while chunk := file.read(_CHUNK):
        count += (end + chunk).count(_ENTRY_MARK)
        end = chunk[1 - len(_ENTRY_MARK) :]
    file.seek(0)
    return count
