"""Restore of a backup or from another source. Everything is checked first, and the former data is moved aside."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memory.clock import Clock
from memory.errors import StoreError
from memory.store.data_lock import lock_data_dir
from memory.store.schema import explain_unreadable
from memory.store.snapshots import (
    count_rows,
    get_litestream_folder,
    merge_write_ahead_log,
    read_format,
    require_sound,
    sync_to_disk,
)
from memory.transfer.archive import ACCEPTED, DATABASE, FILES, SKILLS, Manifest, extract, open_archive
from memory.transfer.backup import read_backup_manifest
from memory.transfer.exporting import TABLES

_SIDE_FILES = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The result of a restore. `kept` is the folder with the former data, if any."""

    manifest: Manifest
    kept: Path | None


@dataclass(frozen=True, slots=True)
class BroughtData:
    """The result of a restore from another source than a backup.

    Attributes:
        kept: The folder with the former data, if any.
        what: The subject of a sentence about it, such as "The data of ... was restored".
        note: A sentence on what is left to do, or empty.
    """

    kept: Path | None
    what: str
    note: str = ""


class RestoreSource(Protocol):
    """Another place than a backup file, from which data can be restored."""

    def restore(self, target: Restore, *, replace: bool, is_copy: bool) -> BroughtData:
        """Restore the newest data. Raises StoreError if there is data here, unless `replace` is set.

        Args:
            is_copy: Whether the data is only a copy, next to that of this machine's bot.
        """


class Restore:
    def __init__(self, database: Path, files: Path, clock: Clock) -> None:
        self._database = database
        self._files = files
        self._skills = files.with_name(SKILLS)
        self._folder = database.parent
        self._clock = clock

    @property
    def is_occupied(self) -> bool:
        return any(path.exists() for path in self._list_data())

    def run(self, archive: Path, *, replace: bool) -> RestoreResult:
        """Restore a backup. Existing data is moved aside with `replace`, else StoreError is raised."""
        if not archive.exists():
            raise StoreError(f"There is no {archive}: {ACCEPTED}")
        manifest = read_backup_manifest(archive)
        if (reason := explain_unreadable(str(archive), manifest.schema_version)) is not None:
            raise StoreError(reason)

        def unpack(stage: Path) -> None:
            with open_archive(archive) as source:
                extract(archive, source, manifest, stage)
            _require_matching_database(archive, manifest, stage / DATABASE)

        return RestoreResult(manifest, self.replace(unpack, replace=replace))

    def replace(
        self, fill: Callable[[Path], None], *, replace: bool, finish: Callable[[], None] | None = None
    ) -> Path | None:
        """Replace the data by what `fill` writes into a folder. Return the folder with the former data, if any.

        Raises StoreError if there is data here, unless `replace` is set.

        Args:
            finish: Called after the data was replaced, while no other process can use it.
        """
        with self._lock_folder(replace=replace):
            kept = self._replace(fill)
            if finish is not None:
                finish()
        return kept

    @contextlib.contextmanager
    def _lock_folder(self, *, replace: bool) -> Iterator[None]:
        with lock_data_dir(self._folder):
            if self.is_occupied and not replace:
                raise StoreError(f"{self._folder} is not empty: add --yes to replace its contents, or use --into DIR.")
            try:
                yield
            except OSError as error:
                raise StoreError(f"{self._folder} can't be written ({error.strerror}): nothing was changed.") from error

    def _replace(self, fill: Callable[[Path], None]) -> Path | None:
        """Replace the data by what `fill` writes into a folder. Return the folder with the former data."""
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=".restore-") as name:
            stage = Path(name)
            fill(stage)
            (stage / FILES).mkdir(exist_ok=True)
            (stage / FILES).chmod(0o700)
            has_skills = (stage / SKILLS).exists()
            if has_skills:
                (stage / SKILLS).chmod(0o700)
            _set_owner(stage, self._folder)
            path = self._set_aside() if self.is_occupied else None
            try:
                (stage / FILES).rename(self._files)
                if has_skills:
                    (stage / SKILLS).rename(self._skills)
                (stage / DATABASE).rename(self._database)
            except OSError:
                for folder in (self._files, self._skills):  # These can only be from the archive by now.
                    shutil.rmtree(folder, ignore_errors=True)
                self._put_back(path)
                raise
        sync_to_disk(self._folder)
        return path

    def _list_data(self) -> list[Path]:
        side = [self._database.with_name(f"{self._database.name}{end}") for end in _SIDE_FILES]
        # Litestream's state belongs to the former database.
        return [self._database, *side, get_litestream_folder(self._database), self._files, self._skills]

    def _set_aside(self) -> Path:
        if self._database.exists():
            merge_write_ahead_log(self._database)
        moment = self._clock().strftime("%Y-%m-%dT%H%M%S.%fZ")
        aside = self._folder / f"before-restore-{moment}"
        aside.mkdir(mode=0o700)
        _set_owner(aside, self._folder)
        try:
            for path in self._list_data():
                if path.exists():
                    path.rename(aside / path.name)
        except OSError:
            self._put_back(aside)
            raise
        return aside

    def _put_back(self, aside: Path | None) -> None:
        if aside is None:
            return
        for path in list(aside.iterdir()):
            path.rename(self._folder / path.name)
        aside.rmdir()


def _require_matching_database(archive: Path, manifest: Manifest, database: Path) -> None:
    """Raise StoreError if the extracted database differs from the manifest."""
    require_sound(database)
    if read_format(database) != manifest.schema_version or count_rows(database, TABLES) != manifest.rows:
        raise StoreError(f"{archive} is damaged (its database does not hold what was counted): nothing was changed.")


def _set_owner(folder: Path, like: Path) -> None:
    """As root, give a folder and its contents to the owner of `like`, which is the bot's user."""
    if os.geteuid() == 0:
        owner = like.stat()
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid)
