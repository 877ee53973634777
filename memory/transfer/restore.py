"""Restore of a backup or a replica. Everything is checked first, and the former data is moved aside."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from memory.clock import Clock
from memory.errors import StoreError
from memory.store.data_lock import lock_data_dir
from memory.store.schema import explain_unreadable
from memory.store.snapshots import (
    count_rows,
    get_litestream_folder,
    merge_write_ahead_log,
    read_file_copies,
    read_format,
    require_sound,
    sync_to_disk,
)
from memory.transfer.archive import DATABASE, FILES, FOLDERS, SKILLS, Manifest, extract, open_archive, stays_inside
from memory.transfer.backup import read_backup_manifest
from memory.transfer.exporting import TABLES
from memory.transfer.replica import Lease, Replica

_SIDE_FILES = ("-wal", "-shm")
MAX_WRITE_GAP = timedelta(minutes=15)
"""A machine with a newer write counts as running, since a running bot writes every few minutes."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The result of a restore. `kept` is the folder with the former data, if any."""

    manifest: Manifest
    kept: Path | None


@dataclass(frozen=True, slots=True)
class ReplicaRestoreResult:
    """The result of a restore from a replica.

    Attributes:
        kept: folder with the former data, if any.
        newest: time of the newest write that was found.
        number: the folder of the replica that was read.
        holder: the lease that was found.
    """

    kept: Path | None
    newest: datetime | None
    number: int
    holder: Lease


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
            raise StoreError(f"There is no {archive}: give a file that `mneme backup` wrote.")
        manifest = read_backup_manifest(archive)
        if (reason := explain_unreadable(str(archive), manifest.schema_version)) is not None:
            raise StoreError(reason)

        def unpack(stage: Path) -> None:
            with open_archive(archive) as source:
                extract(archive, source, manifest, stage)
            _require_matching_database(archive, manifest, stage / DATABASE)

        with self._lock_folder(replace=replace):
            return RestoreResult(manifest, self._replace(unpack))

    def from_replica(self, replica: Replica, *, replace: bool, take_over: bool = True) -> ReplicaRestoreResult:
        """Restore the newest database of a replica.

        Raises StoreError, also if there is data here or the holder of the replica is running, unless `replace` is set.

        Args:
            take_over: Take the lease of the replica. If False, the present holder keeps it.
        """
        lease = asyncio.run(replica.read_lease())
        if lease is None:
            raise StoreError(f"There is no replica at {replica.place.url}: give the former REPLICA_URL.")
        last_write = asyncio.run(replica.find_newest_write(lease.number))
        is_alive = last_write is not None and self._clock() - last_write < MAX_WRITE_GAP
        if last_write is not None and is_alive and take_over and not replace:
            raise StoreError(
                f"{lease.machine} holds that replica and wrote to it at {last_write:%H:%M:%S} UTC: stop the bot there,"
                " or add --yes to take over all the same."
            )

        number = lease.number

        def fetch(stage: Path) -> None:
            nonlocal number
            number = asyncio.run(replica.fetch_newest(lease, stage / DATABASE))
            require_sound(stage / DATABASE)
            if (reason := explain_unreadable("The replica", read_format(stage / DATABASE))) is not None:
                raise StoreError(reason)
            for name, content, changed in read_file_copies(stage / DATABASE):
                if stays_inside(name) and name.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
                    _write(stage / name, content, changed)

        with self._lock_folder(replace=replace):
            kept = self._replace(fetch)
            if take_over:
                asyncio.run(replica.take(lease))
        newest = last_write if number == lease.number else asyncio.run(replica.find_newest_write(number))
        return ReplicaRestoreResult(kept, newest, number, lease)

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


def _write(path: Path, content: bytes, changed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600, exist_ok=False)
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.utime(path, ns=(changed, changed))


def _set_owner(folder: Path, like: Path) -> None:
    """As root, give a folder and its contents to the owner of `like`, which is the bot's user."""
    if os.geteuid() == 0:
        owner = like.stat()
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid)
