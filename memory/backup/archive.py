"""The file that a backup is: a zip of the database and the Markdown files, with a manifest that says what is in it.

Whoever reads one trusts nothing in it before it was compared with the manifest, and no name in it at all.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from memory.errors import StoreError
from memory.files.zipped import BROKEN, entry_of, is_plain, stays_inside

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"
DATABASE = "mneme.db"
FILES = "memory"
_MANIFEST_LIMIT = 64 * 1024 * 1024
_CHUNK = 1024 * 1024


class Member(BaseModel):
    """One file of the archive, as it has to be."""

    model_config = ConfigDict(frozen=True)

    size: NonNegativeInt
    sha256: str


class Manifest(BaseModel):
    """What an archive holds. schema_version: the format of its database; rows: by table."""

    model_config = ConfigDict(frozen=True)

    archive: Literal[1] = 1
    made_at: str
    schema_version: NonNegativeInt
    rows: dict[str, NonNegativeInt]
    files: dict[str, Member]


def member_of(path: Path) -> Member:
    """A file as the manifest has it."""
    with path.open("rb") as file:
        return Member(size=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest())


def write_archive(target: Path, manifest: Manifest, folder: Path) -> None:
    """Write the manifest's files, which stand in `folder` under their names, into the new file `target`."""
    target.touch(mode=0o600, exist_ok=False)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(entry_of(MANIFEST), manifest.model_dump_json(indent=1))
        for name in manifest.files:
            with (folder / name).open("rb") as source, archive.open(entry_of(name), "w", force_zip64=True) as copy:
                while chunk := source.read(_CHUNK):
                    copy.write(chunk)


def read_manifest(path: Path) -> Manifest:
    """What an archive says it holds. Raises StoreError where that can't be so, or must not be."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(MANIFEST).file_size > _MANIFEST_LIMIT:
                raise StoreError(f"{path} is damaged (its manifest is too large): nothing was restored.")
            manifest = Manifest.model_validate_json(archive.read(MANIFEST))
            _require_listed(path, archive, manifest)
    except FileNotFoundError as error:
        raise StoreError(f"There is no {path}: name the file that `mneme backup` wrote.") from error
    except (KeyError, ValidationError, zipfile.BadZipFile) as error:
        raise StoreError(f"{path} is no backup, or a damaged one: name a file that `mneme backup` wrote.") from error
    except (OSError, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise StoreError(f"{path} can't be read ({error}): nothing was restored.") from error
    return manifest


def extract(path: Path, manifest: Manifest, folder: Path | None = None) -> None:
    """Write an archive's files under `folder`; without one only compare them with the manifest.

    Raises StoreError for a file that is not what the manifest says.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for name, member in manifest.files.items():
                with archive.open(name) as source:
                    _copy(path, name, member, source, folder)
    except BROKEN as error:
        raise StoreError(f"{path} is damaged ({error}): nothing was restored.") from error


def _copy(path: Path, name: str, member: Member, source: IO[bytes], folder: Path | None) -> None:
    digest, size = hashlib.sha256(), 0
    target = None
    if folder is not None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / name).touch(mode=0o600, exist_ok=False)
        target = (folder / name).open("wb")
    try:
        # what claims to be small and unpacks to a whole disk is left at the size it claims
        while size <= member.size and (chunk := source.read(_CHUNK)):
            size += len(chunk)
            digest.update(chunk)
            if target is not None:
                target.write(chunk)
        if target is not None:
            target.flush()
            os.fsync(target.fileno())
    finally:
        if target is not None:
            target.close()
    if size != member.size or digest.hexdigest() != member.sha256:
        raise StoreError(f"{path} is damaged ({name} is not what it was): nothing was restored.")


def _require_listed(path: Path, archive: zipfile.ZipFile, manifest: Manifest) -> None:
    """Have in the archive what the manifest lists, once each, all of it plain files that stay inside."""
    entries = archive.infolist()
    odd = next((entry.filename for entry in entries if not is_plain(entry)), None)
    odd = odd or next((name for name in manifest.files if not _is_inside(name)), None)
    if odd is not None:
        raise StoreError(f"{path} is refused: {odd!r} in it is a link or leads out of the data directory.")
    names = sorted(entry.filename for entry in entries)
    if names != sorted([MANIFEST, *manifest.files]) or DATABASE not in manifest.files:
        raise StoreError(f"{path} is damaged (it does not hold what its manifest lists): nothing was restored.")


def _is_inside(name: str) -> bool:
    return name == DATABASE or (name.startswith(f"{FILES}/") and stays_inside(name))
