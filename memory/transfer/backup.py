"""Backups: all memory in one verified file, written while the bot runs."""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from memory.clock import Clock, now_text
from memory.errors import StoreError
from memory.files.markdown import locked
from memory.store.snapshots import copy_database, count_rows, read_format, require_sound, sync_to_disk
from memory.transfer.archive import (
    DATABASE,
    FILES,
    MANIFEST,
    SKILLS,
    Manifest,
    ZipTarget,
    extract,
    open_archive,
    read_manifest,
    require_listed,
)
from memory.transfer.exporting import TABLES

PREFIX = "mneme-"
SUFFIX = ".zip"


class Backup:
    """Backs up an installation: its database, its folder of Markdown files and the skills next to it."""

    def __init__(self, database: Path, files: Path, clock: Clock) -> None:
        self._database = database
        self._files = files
        self._skills = files.with_name(SKILLS)
        self._clock = clock

    def write(self, target: Path) -> Manifest:
        """Write a backup to `target` atomically and return its manifest. Raises StoreError.

        The database is a consistent snapshot. The Markdown files are copied right after it. An existing backup is
        replaced, but no other file.
        """
        self.require_place(target)
        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as name:
                made = Path(name) / "archive"
                manifest = self._write(made, Path(name) / DATABASE)
                sync_to_disk(made)
                # Verify it before the rename.
                with open_archive(made) as source:
                    require_listed(made, source, manifest)
                    extract(made, source, read_manifest(made, source))
                made.replace(target)
                sync_to_disk(target.parent)
        except OSError as error:
            raise StoreError(f"{target} can't be written ({error.strerror}): choose another place.") from error
        except UnicodeEncodeError as error:
            raise StoreError(f"A file in {self._files} has an unreadable name: rename {error.object!r}.") from error
        return manifest

    def rotate(self, folder: Path, keep: int) -> tuple[Path, int]:
        """Write a backup with the current time in its name and delete all but the newest `keep`.

        Return its path and the number of deleted backups.
        """
        moment = self._clock().strftime("%Y-%m-%dT%H%M%S.%fZ")
        target = folder / f"{PREFIX}{moment}{SUFFIX}"
        for leftover in folder.glob(f".{PREFIX}*{SUFFIX}.*"):
            shutil.rmtree(leftover, ignore_errors=True)  # Left by a killed process.
        self.write(target)
        # The names sort chronologically. Other files in the folder stay.
        former = sorted(folder.glob(f"{PREFIX}[0-9]*T[0-9]*Z{SUFFIX}"))[:-keep]
        for path in former:
            path.unlink()
        return target, len(former)

    def require_place(self, target: Path) -> None:
        """Raise StoreError if a backup can't be written to `target`. An existing backup there is fine."""
        if not self._database.is_file():
            raise StoreError(f"There is no {self._database} to back up: set MNEME_DATA_DIR, or start the bot first.")
        if any(target.resolve().is_relative_to(folder.resolve()) for folder in (self._files, self._skills)):
            raise StoreError(f"{target} is inside of what is backed up: name a file elsewhere.")
        try:
            mode = target.stat().st_mode
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"{target} can't be written ({error.strerror}): choose another place.") from error
        if stat.S_ISDIR(mode):
            raise StoreError(f"{target} is a folder: name a file, or use --rotate.")
        try:
            read_backup_manifest(target)
        except StoreError as error:
            raise StoreError(f"{target} already exists and isn't a backup: choose another file.") from error

    def _write(self, made: Path, copy: Path) -> Manifest:
        copy_database(self._database, copy)
        require_sound(copy)
        made.touch(mode=0o600, exist_ok=False)
        with made.open("wb") as file, ZipTarget(file) as target:
            with copy.open("rb") as database:
                parts = {DATABASE: target.copy(DATABASE, database)}
            for folder, named in ((self._files, FILES), (self._skills, SKILLS)):
                for path in _find_visible_files(folder):
                    name = (Path(named) / path.relative_to(folder)).as_posix()
                    # Locked, so that no line is copied in part.
                    with locked(path) if named == FILES else nullcontext(), path.open("rb") as text:
                        parts[name] = target.copy(name, text)
            manifest = Manifest(
                made_at=now_text(self._clock),
                schema_version=read_format(copy),
                rows=count_rows(copy, TABLES),
                files=parts,
            )
            target.put(MANIFEST, manifest.model_dump_json(indent=1).encode())
        return manifest


def _find_visible_files(folder: Path) -> Iterator[Path]:
    """Yield the visible files. Hidden ones are locks and unfinished writes."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def read_backup_manifest(backup: Path) -> Manifest:
    """Read the manifest of a backup. Raise StoreError if the file is not a backup."""
    with open_archive(backup) as source:
        manifest = read_manifest(backup, source)
        if not manifest.files:
            raise StoreError(f"{backup} is an export: `mneme import` brings it into an empty installation.")
        require_listed(backup, source, manifest)
    return manifest
