"""Backups: everything that is remembered in one file, made while the bot runs and checked before it counts."""

from __future__ import annotations

import shutil
import stat
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from memory.clock import Clock, now_text
from memory.errors import StoreError
from memory.files.markdown import locked
from memory.store.snapshots import copy_database, counted, format_of, require_sound, sync
from memory.transfer.archive import (
    DATABASE,
    FILES,
    MANIFEST,
    SKILLS,
    Manifest,
    ZipTarget,
    extract,
    opened,
    read_manifest,
    require_listed,
)
from memory.transfer.exporting import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "mneme-"
SUFFIX = ".zip"


class Backup:
    """Backs up the installation with the given database and the given folder of Markdown files; skills lie beside."""

    def __init__(self, database: Path, files: Path, clock: Clock) -> None:
        self._database = database
        self._files = files
        self._skills = files.with_name(SKILLS)
        self._clock = clock

    def write(self, target: Path) -> Manifest:
        """Write a backup to `target`, which appears whole or not at all; what it holds. Raises StoreError.

        The database is as it was at one moment; the Markdown files are copied right after it. An earlier backup
        is replaced, any other file is not.
        """
        self.require_place(target)
        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as name:
                made = Path(name) / "archive"
                manifest = self._write(made, Path(name) / DATABASE)
                sync(made)
                # read back and compared before it takes its place
                with opened(made) as source:
                    require_listed(made, source, manifest)
                    extract(made, source, read_manifest(made, source))
                made.replace(target)
                sync(target.parent)
        except OSError as error:
            raise StoreError(f"{target} can't be written ({error.strerror}): name another place.") from error
        except UnicodeEncodeError as error:
            raise StoreError(f"A file in {self._files} has an unreadable name: rename {error.object!r}.") from error
        return manifest

    def rotate(self, folder: Path, keep: int) -> tuple[Path, int]:
        """Write a backup named after the moment and remove all but the newest `keep`; it, and how many went."""
        moment = self._clock().strftime("%Y-%m-%dT%H%M%S.%fZ")
        target = folder / f"{PREFIX}{moment}{SUFFIX}"
        for leftover in folder.glob(f".{PREFIX}*{SUFFIX}.*"):
            shutil.rmtree(leftover, ignore_errors=True)  # of a backup that was killed
        self.write(target)
        # names sort as the moments do; nothing else in the folder is touched
        former = sorted(folder.glob(f"{PREFIX}[0-9]*T[0-9]*Z{SUFFIX}"))[:-keep]
        for path in former:
            path.unlink()
        return target, len(former)

    def require_place(self, target: Path) -> None:
        """Raises StoreError where a backup can't be written to `target`; another backup may be there."""
        if not self._database.is_file():
            raise StoreError(f"There is no {self._database} to back up: set MNEME_DATA_DIR, or start the bot first.")
        if any(target.resolve().is_relative_to(folder.resolve()) for folder in (self._files, self._skills)):
            raise StoreError(f"{target} is inside of what is backed up: name a file elsewhere.")
        try:
            mode = target.stat().st_mode
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"{target} can't be written ({error.strerror}): name another place.") from error
        if stat.S_ISDIR(mode):
            raise StoreError(f"{target} is a folder: name a file, or use --rotate.")
        try:
            manifest_of(target)
        except StoreError as error:
            raise StoreError(f"{target} exists and is no backup: name another file.") from error

    def _write(self, made: Path, copy: Path) -> Manifest:
        copy_database(self._database, copy)
        require_sound(copy)
        made.touch(mode=0o600, exist_ok=False)
        with made.open("wb") as file, ZipTarget(file) as target:
            with copy.open("rb") as database:
                parts = {DATABASE: target.copy(DATABASE, database)}
            for folder, named in ((self._files, FILES), (self._skills, SKILLS)):
                for path in _visible(folder):
                    name = (Path(named) / path.relative_to(folder)).as_posix()
                    # no line of a note is torn
                    with locked(path) if named == FILES else nullcontext(), path.open("rb") as text:
                        parts[name] = target.copy(name, text)
            manifest = Manifest(
                made_at=now_text(self._clock),
                schema_version=format_of(copy),
                rows=counted(copy, TABLES),
                files=parts,
            )
            target.put(MANIFEST, manifest.model_dump_json(indent=1).encode())
        return manifest


def _visible(folder: Path) -> Iterator[Path]:
    """The files that people see; names with a dot in front are locks and half-written ones."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def manifest_of(backup: Path) -> Manifest:
    """What a backup says it holds. Raises StoreError for what is none."""
    with opened(backup) as source:
        manifest = read_manifest(backup, source)
        require_listed(backup, source, manifest)
    return manifest
