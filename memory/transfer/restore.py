"""Restoring a backup: checked before anything is touched, and what was there is kept aside."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory.errors import StoreError
from memory.store.data_lock import only_runner
from memory.store.schema import unreadable
from memory.store.snapshots import close_up, counted, format_of, require_sound, sync
from memory.transfer.archive import DATABASE, FILES, SKILLS, extract, opened
from memory.transfer.backup import manifest_of
from memory.transfer.exporting import TABLES

if TYPE_CHECKING:
    from memory.clock import Clock
    from memory.transfer.archive import Manifest

_SIDE_FILES = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore has done. kept: where what was there is now."""

    manifest: Manifest
    kept: Path | None


class Restore:
    """Restores into a data directory with the given names in it."""

    def __init__(self, database: Path, files: Path, clock: Clock) -> None:
        self._database = database
        self._files = files
        self._skills = files.with_name(SKILLS)
        self._folder = database.parent
        self._clock = clock

    @property
    def occupied(self) -> bool:
        """Whether anything is there already."""
        return any(path.exists() for path in self._present())

    def run(self, archive: Path, *, replace: bool) -> Restored:
        """Restore `archive`; with `replace` also where something is there, which is kept aside. Raises StoreError."""
        if not archive.exists():
            raise StoreError(f"There is no {archive}: name the file that `mneme backup` wrote.")
        manifest = manifest_of(archive)
        if (reason := unreadable(str(archive), manifest.schema_version)) is not None:
            raise StoreError(reason)
        with only_runner(self._folder):
            if self.occupied and not replace:
                raise StoreError(f"{self._folder} is not empty: add --yes to replace what is there, or use --into DIR.")
            try:
                return Restored(manifest, self._replace(archive, manifest))
            except OSError as error:
                raise StoreError(f"{self._folder} can't be written ({error.strerror}): nothing was changed.") from error

    def _replace(self, archive: Path, manifest: Manifest) -> Path | None:
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=".restore-") as name:
            stage = Path(name)
            with opened(archive) as source:
                extract(archive, source, manifest, stage)
            _require_true(archive, manifest, stage / DATABASE)
            (stage / FILES).mkdir(exist_ok=True)
            (stage / FILES).chmod(0o700)
            has_skills = (stage / SKILLS).exists()
            if has_skills:
                (stage / SKILLS).chmod(0o700)
            _as_owned(stage, self._folder)
            path = self._set_aside() if self.occupied else None
            try:
                (stage / FILES).rename(self._files)
                if has_skills:
                    (stage / SKILLS).rename(self._skills)
                (stage / DATABASE).rename(self._database)
            except OSError:
                for folder in (self._files, self._skills):  # by now they can only be the archive's
                    shutil.rmtree(folder, ignore_errors=True)
                self._put_back(path)
                raise
        sync(self._folder)
        return path

    def _present(self) -> list[Path]:
        side = [self._database.with_name(f"{self._database.name}{end}") for end in _SIDE_FILES]
        return [self._database, *side, self._files, self._skills]

    def _set_aside(self) -> Path:
        if self._database.exists():
            close_up(self._database)
        moment = self._clock().strftime("%Y-%m-%dT%H%M%S.%fZ")
        aside = self._folder / f"before-restore-{moment}"
        aside.mkdir(mode=0o700)
        _as_owned(aside, self._folder)
        try:
            for path in self._present():
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


def _require_true(archive: Path, manifest: Manifest, database: Path) -> None:
    """Have in the extracted database what the manifest says."""
    require_sound(database)
    if format_of(database) != manifest.schema_version or counted(database, TABLES) != manifest.rows:
        raise StoreError(f"{archive} is damaged (its database does not hold what was counted): nothing was changed.")


def _as_owned(folder: Path, like: Path) -> None:
    """Give `folder` and what is in it to whom `like` belongs, where root restores for the bot's own user."""
    if os.geteuid() == 0:
        owner = like.stat()
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid)
