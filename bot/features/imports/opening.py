"""Opens a file, folder or zip file to import, including nested zip files.

Links are not followed. A part with an extreme compression ratio is refused.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from bot.features.imports.items import ImportRefused
from bot.features.imports.source import DAMAGED, SOURCE_ERRORS, ZIP, ImportSource
from config.texts import N_, _
from memory.transfer.archive import count_entries, is_plain, stays_inside

MAX_PARTS = 20_000
MAX_BYTES = 8 * 1024**3
"""Maximum declared total size of the parts of a zip file."""
MAX_RATIO = 200
"""Maximum compression ratio of parts larger than MAX_UNCHECKED_BYTES."""
MAX_UNCHECKED_BYTES = 64 * 1024**2
MAX_ARCHIVES = 200
MAX_ARCHIVE_DEPTH = 2
"""Maximum nesting of zip files that are opened."""
MAX_COPIED_BYTES = 2 * 1024**3
"""Maximum total size of all nested zip files."""
_COPY_CHUNK_BYTES = 1024**2
_TOO_MANY = N_("{file} contains more files than a real export: nothing was imported.")
_TOO_LARGE = N_("{file} is larger than a real export when unpacked: nothing was imported.")
_ARCHIVES = (b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
"""The first bytes of gzip, 7z, RAR, bzip2, xz and Zstandard."""
_ENCRYPTED_FLAG = 0x1
"""The flag bit of encrypted members in a zip file."""


@contextlib.contextmanager
def open_source(path: Path) -> Iterator[ImportSource]:
    """Open a file, folder or zip file to import. Raises ImportRefused if it can't be read or is not a plain file."""
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
        except SOURCE_ERRORS as error:
            raise ImportRefused(_(DAMAGED, file=path.name)) from error
        source = ImportSource(path, opening.archives, opening.parts)
        stack.callback(source.close)
        yield source


class _Opening:
    """Collects the parts of a file or folder, including those of nested zip files.

    Args:
        stack: Closes the zip files and deletes the copies of nested zip files.
    """

    def __init__(self, path: Path, stack: contextlib.ExitStack) -> None:
        self._path = path
        self._stack = stack
        self._copied_bytes = 0
        self.archives: dict[str, zipfile.ZipFile] = {}
        self.parts: dict[str, tuple[str, str]] = {}

    def add(self, file: Path, name: str) -> None:
        """Add a file, or the members of a zip file. The file may have any name."""
        with file.open("rb") as opened:
            start = opened.read(len(max(_ARCHIVES, key=len)))
            if start.startswith(ZIP) or file.suffix.lower() == ".zip":
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
        """Copy a nested zip file to a temporary file. Reading it in place would unpack it again for each seek."""
        copy = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # The stack closes it.
        with archive.open(name) as member:
            while chunk := member.read(_COPY_CHUNK_BYTES):
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


def _find_files(path: Path) -> Iterator[Path]:
    """Yield the plain files of a folder, except hidden files, or the file itself."""
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
    """Yield the names of the members that may be read. Raises ImportRefused if they are too many or too large."""
    members = [member for member in archive.infolist() if not member.is_dir()]
    if sum(member.file_size for member in members) > MAX_BYTES or len(members) > MAX_PARTS:
        raise ImportRefused(_(_TOO_LARGE, file=path.name))
    if any(member.flag_bits & _ENCRYPTED_FLAG for member in members):
        raise ImportRefused(
            _(
                "{file} is encrypted: nothing was imported. Unpack it with its password, and import the folder or a"
                " zip file of it that isn't encrypted.",
                file=path.name,
            ),
            is_export=path.suffix.lower() == ".zip",  # A chat can't read it in any other way.
        )
    for member in members:
        if member.file_size > MAX_UNCHECKED_BYTES and member.file_size > MAX_RATIO * max(1, member.compress_size):
            raise ImportRefused(_(_TOO_LARGE, file=path.name))
        if stays_inside(member.filename) and is_plain(member):
            yield member.filename
