"""The archive format of backups and exports: a zip file or folder with named parts and a manifest.

A backup contains the database file, the Markdown files and the skills. An export contains the rows of the tables as
JSON lines, the Markdown files, and the entries as readable text. Archives may come from anyone, so no name in them is
trusted, and the parts of a backup are compared with the manifest before they are used.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from memory.errors import StoreError

Source = Path | zipfile.Path
"""An open archive or a path in it."""

MANIFEST = "manifest.json"
DATABASE = "mneme.db"
FILES = "memory"
SKILLS = "skills"
FOLDERS = (FILES, SKILLS)
"""The folders of a backup. They have the same names in the data directory."""
_MAX_MANIFEST_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
# The earliest time of the zip format, so that equal contents make equal files.
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENTRY_MARK = b"PK\x01\x02"
BROKEN_ZIP = (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""The exceptions of reading a damaged, encrypted or unusual zip file."""
ACCEPTED = "`mneme restore` takes a file of `mneme backup`, and `mneme import` an export."


class TooLarge(StoreError):
    """An archive exceeds the size limit."""


class Part(BaseModel):
    """The size and checksum of a file in an archive."""

    model_config = ConfigDict(frozen=True)

    size: NonNegativeInt
    sha256: str


class Manifest(BaseModel):
    """The contents of an archive. Exports have no times, so that equal contents make equal exports."""

    model_config = ConfigDict(frozen=True)

    archive: Literal[1] = 1
    made_at: str | None = None  # only in a backup
    schema_version: NonNegativeInt  # the format of the source database
    rows: dict[str, NonNegativeInt]  # number of rows by table
    files: dict[str, Part] = {}  # only in a backup, since people may edit an export


class Target(Protocol):
    """The destination of an archive. Parts are written one after another."""

    def append(self, name: str, lines: Iterable[str]) -> None:
        """Append lines to the current part, or begin a new one if the name differs."""

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
    """A zip file of at most `max_bytes`. Closing the context completes it."""

    def __init__(self, file: IO[bytes], max_bytes: int | None = None) -> None:
        self._file = file
        self._max_bytes = max_bytes
        self._archive = zipfile.ZipFile(file, "w")
        self._name = ""
        self._entry: IO[bytes] | None = None

    def append(self, name: str, lines: Iterable[str]) -> None:
        """Append lines to a part. Raises TooLarge."""
        if self._entry is None or name != self._name:
            self._begin(name)
        assert self._entry is not None, "it was begun"  # noqa: S101  # states what _begin does
        for line in lines:
            self._entry.write(f"{line}\n".encode())
        self._check()

    def put(self, name: str, content: bytes) -> None:
        self._finish()
        self._archive.writestr(_create_entry(name), content)
        self._check()

    def copy(self, name: str, file: IO[bytes]) -> Part:
        self._begin(name)
        assert self._entry is not None, "it was begun"  # noqa: S101  # states what _begin does
        part = _copy(file, self._entry)
        self._finish()
        return part

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Write the directory of the zip file. Raises TooLarge."""
        self._finish()
        self._archive.close()
        if failure is None:
            self._check()

    def _begin(self, name: str) -> None:
        self._finish()
        # The header must allow for more than 4 GB, since the size of a stream is unknown.
        self._entry, self._name = self._archive.open(_create_entry(name), "w", force_zip64=True), name

    def _finish(self) -> None:
        if self._entry is not None:
            self._entry.close()
            self._entry = None

    def _check(self) -> None:
        if self._max_bytes is not None and self._file.tell() > self._max_bytes:
            raise TooLarge(f"The export has more than {self._max_bytes:,} bytes.")


@contextlib.contextmanager
def open_archive(path: Path, *, max_parts: int | None = None, max_bytes: int | None = None) -> Iterator[Source]:
    """Open an archive. Raise StoreError for links, pipes, paths that lead outside, and exceeded limits."""
    if not path.is_file():
        for child in path.rglob("*"):
            # A link could include a file from elsewhere, and a pipe never ends.
            if child.is_symlink() or not (child.is_file() or child.is_dir()):
                raise StoreError(f"{child} isn't part of an export: nothing was changed; remove it if you know it.")
        yield path
        return
    try:
        with _open_zip(path) as archive:
            parts = [part for part in archive.infolist() if not part.is_dir()]
            for part in parts:
                if not (is_plain(part) and stays_inside(part.filename)):
                    raise StoreError(f"{path} was rejected: {part.filename!r} in it is a link or points outside of it.")
            too_many = max_parts is not None and len(parts) > max_parts
            too_large = max_bytes is not None and sum(part.file_size for part in parts) > max_bytes
            if len({part.filename for part in parts}) < len(parts) or too_many or too_large:
                raise StoreError(f"{path} is refused: it holds more than an export can, or something twice.")
            yield zipfile.Path(archive)
    except (*BROKEN_ZIP, OSError) as error:
        # A damaged directory makes the reader seek before the start of the file, which is EINVAL.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        raise StoreError(f"{path} is damaged, or no file of Mneme ({error}): nothing was changed.") from error


def _open_zip(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except OSError as error:
        raise StoreError(f"{path} can't be read ({error.strerror or error}): nothing was changed.") from error


def read_manifest(path: Path, source: Source) -> Manifest:
    """Read an archive's manifest. Raise StoreError if it is missing or invalid."""
    place = source / MANIFEST
    if not place.is_file():
        raise StoreError(f"{path} isn't a complete backup or export: {ACCEPTED}")
    try:
        with place.open("rb") as file:
            text = file.read(_MAX_MANIFEST_BYTES + 1)
        if len(text) > _MAX_MANIFEST_BYTES:
            raise StoreError(f"{path} is damaged (its manifest is too large): nothing was changed.")
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        raise StoreError(f"{path} is damaged ({place.name} says nothing of use): nothing was changed.") from error


def require_listed(path: Path, source: Source, manifest: Manifest) -> None:
    """Raise StoreError unless a backup contains exactly the parts in its manifest, in the expected folders."""
    names = set(list_parts(source)) - {MANIFEST}
    odd = next(
        (name for name in manifest.files if name != DATABASE and not name.startswith(tuple(f"{f}/" for f in FOLDERS))),
        None,
    )
    if DATABASE not in names or names != set(manifest.files) or odd is not None:
        raise StoreError(f"{path} is incomplete (files in its manifest are missing): nothing was changed.")


def extract(path: Path, source: Source, manifest: Manifest, folder: Path | None = None) -> None:
    """Extract a backup into `folder`, or only verify it. Raise StoreError if a part differs from the manifest."""
    for name, part in manifest.files.items():
        target = None if folder is None else folder / name
        if target is not None:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            target.touch(mode=0o600, exist_ok=False)
        with (source / name).open("rb") as read, target.open("wb") if target else contextlib.nullcontext() as written:
            # Stop at the listed size, so that a zip bomb can't fill the disk.
            found = _copy(read, written, part.size)
            if written is not None:
                written.flush()
                os.fsync(written.fileno())
        if found != part:
            raise StoreError(f"{path} is damaged ({name} was changed): nothing was changed.")


def list_parts(source: Source, name: str = "") -> Iterator[str]:
    for child in source.iterdir() if source.is_dir() else ():
        below = f"{name}{child.name}"
        if child.is_dir():
            yield from list_parts(child, f"{below}/")
        else:
            yield below


def stays_inside(name: str) -> bool:
    """Return True if a path stays inside of the target folder on any system."""
    parts = PurePosixPath(name).parts
    plain = bool(parts) and "/".join(parts) == name and not name.startswith("/")
    return plain and not any(part == ".." or "\\" in part or "\0" in part for part in parts)


def _copy(source: IO[bytes], target: IO[bytes] | None, max_bytes: int | None = None) -> Part:
    digest, size = hashlib.sha256(), 0
    while (max_bytes is None or size <= max_bytes) and (chunk := source.read(_CHUNK_BYTES)):
        size += len(chunk)
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
    return Part(size=size, sha256=digest.hexdigest())


def _create_entry(name: str) -> zipfile.ZipInfo:
    """Return a new entry that only its owner can read."""
    entry = zipfile.ZipInfo(name, _EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | 0o600) << 16
    return entry


def is_plain(entry: zipfile.ZipInfo) -> bool:
    """Return True if an entry is a regular file with a common compression.

    LZMA may ask for gigabytes of memory to unpack a few bytes.
    """
    return stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG) and entry.compress_type in _COMPRESSIONS


def count_entries(file: IO[bytes]) -> int:
    """Count the entries of a zip file before it is opened, since each takes a kilobyte of memory then.

    The result may be too high, for example because of zip files inside of it, but never too low.
    """
    count, end = 0, b""
    while chunk := file.read(_CHUNK_BYTES):
        count += (end + chunk).count(_ENTRY_MARK)
        end = chunk[1 - len(_ENTRY_MARK) :]
    file.seek(0)
    return count
