"""Checks of this machine: settings, data directory, database, index, backups, disk, time zone."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import stat
from collections.abc import Iterable
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from zoneinfo import available_timezones

from bot.doctor.finding import (
    DoctorContext,
    Finding,
    create_failed,
    create_failed_from_error,
    create_note,
    create_ok,
    create_warning,
)
from config.loading import find_settings_file
from config.process import get_program_version
from config.settings import find_system_zone
from memory.clock import from_text
from memory.errors import StoreError
from memory.store.integrity import get_sqlite_version
from memory.transfer.backup import PREFIX, SUFFIX, read_backup_manifest

MAX_BACKUP_AGE = timedelta(days=3)
"""Maximum age of the last backup. A nightly backup may miss a night or two if the machine is off."""
PRIVATE_SETTINGS = "Run `chmod 600` on it: it contains keys."
PRIVATE_DATA = "Run `chmod 700` on it: it contains the whole memory."
WRITABLE = "Make the user that runs the bot its owner with `chown -R`, or set another MNEME_DATA_DIR."
A_FOLDER = "Move it away, or set another MNEME_DATA_DIR."
REINDEX = "Run `mneme reindex`, which rebuilds the index."
BACK_UP = "Run `mneme backup --rotate 14 {folder}` every night, which deploy/install.sh sets up"
OR_NAME_FOLDER = ", or name the folder of your backups with `mneme doctor --backups DIR`"
BACK_UP_AGAIN = (
    "Run `mneme backup --rotate 14 DIR` with that folder, and check with `systemctl status mneme-backup` "
    "why it wasn't made."
)
MIN_FREE_MB, LOW_FREE_MB = 20, 300
"""Free space below which saving may fail, and below which a backup or an upgrade may not fit."""
MAKE_ROOM = "Free some space there. Nothing that was saved is lost."
NAME_THE_ZONE = "Set TIMEZONE, such as TIMEZONE=Europe/Kyiv."
LIBRARIES = ("python-telegram-bot", "openai", "aiosqlite", "httpx", "pydantic")


async def check_settings(context: DoctorContext) -> list[Finding]:
    """Check who can read the settings. That they are valid is already known."""
    file = find_settings_file()
    count, how = context.settings.count_given(), "with" if file.exists() else "without"
    text = f"{count} are set, {how} the file {file.absolute()}"
    if file.exists() and stat.S_IMODE(file.stat().st_mode) & 0o077:
        return [create_warning("settings", f"Other users of this machine can read {file}", PRIVATE_SETTINGS)]
    return [create_ok("settings", text)]


async def check_data_directory(context: DoctorContext) -> list[Finding]:
    name, folder = "data directory", context.settings.mneme_data_dir
    if not folder.exists():
        parent = nearest_existing(folder)
        if not parent.is_dir():
            return [create_failed(name, f"{folder} can't be created, because {parent} is a file", A_FOLDER)]
        if not os.access(parent, os.W_OK | os.X_OK):
            return [create_failed(name, f"{folder} can't be created, because {parent} isn't writable", WRITABLE)]
        return [create_note(name, f"{folder} doesn't exist yet; the first start creates it")]
    if not folder.is_dir():
        return [create_failed(name, f"{folder} is a file", A_FOLDER)]
    needed = (folder, context.database, folder / "memory")
    use = os.R_OK | os.W_OK
    locked = [path for path in needed if path.exists() and not os.access(path, use | (os.X_OK if path.is_dir() else 0))]
    if locked:
        return [create_failed(name, f"{locked[0]} isn't writable", WRITABLE)]
    if stat.S_IMODE(folder.stat().st_mode) & 0o077:
        return [create_warning(name, f"Other users of this machine can read {folder}", PRIVATE_DATA)]
    return [create_ok(name, str(folder))]


async def check_database(context: DoctorContext) -> list[Finding]:
    state = context.state
    if not state.exists:
        return [create_note("database", "There is no database yet; the first start creates it")]
    if state.trouble is not None:
        return [create_failed_from_error("database", state.trouble)]
    if state.is_outdated:
        older = f"{context.database} is intact and has the older format {state.schema}; the next start updates it"
        return [create_note("database", older)]
    whole = create_ok("database", f"{context.database} is intact, {context.database.stat().st_size / 1e6:.1f} MB")
    if state.index_matches is None:
        index = create_note("search index", "Not checked, because there is no space for a temporary copy")
    elif state.index_matches:
        index = create_ok("search index", "It is complete")
    else:
        index = create_failed("search index", "It is out of date, so searches miss some results", REINDEX)
    return [whole, index]


async def check_last_backup(context: DoctorContext) -> list[Finding]:
    """Check the age of the newest backup, in the user's folder or that of install.sh."""
    if not context.state.exists:
        return []
    places = [context.backups] if context.backups is not None else backup_places(context.settings.mneme_data_dir)
    name, newest = "last backup", _find_newest(places)
    if newest is None:
        remedy = BACK_UP.format(folder=shlex.quote(str(places[0]))) + ("" if context.backups else OR_NAME_FOLDER)
        return [create_warning(name, f"There is no backup in {' or '.join(map(str, places))}", f"{remedy}.")]
    try:
        age = context.clock() - from_text(read_backup_manifest(newest).made_at or "")
    except StoreError:
        return [create_warning(name, f"{newest} is damaged", BACK_UP_AGAIN)]
    if age > MAX_BACKUP_AGE:
        return [create_warning(name, f"{newest} is {age.days} days old", BACK_UP_AGAIN)]
    return [create_ok(name, f"{newest} is {age.total_seconds() / 3600:.0f} hours old")]


def backup_places(data: Path) -> list[Path]:
    """Return the folders for backups by deploy/ of the bot with this data directory."""
    bot = data.name.removeprefix("mneme-")
    return [data.parent / "mneme-backups" / bot / kind for kind in ("nightly", "upgrades")]


def nearest_existing(path: Path) -> Path:
    """Return `path`, or its nearest existing parent."""
    return next(candidate for candidate in (path, *path.parents) if candidate.exists())


def _find_newest(folders: Iterable[Path]) -> Path | None:
    # By file time, since users may name their backups as they like
    paths = [path for folder in folders for path in folder.glob(f"*{SUFFIX}")]
    newest_first = sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)
    return next((path for path in newest_first if path.name.startswith(PREFIX) or _is_backup(path)), None)


def _is_backup(path: Path) -> bool:
    try:
        read_backup_manifest(path)
    except StoreError:
        return False
    return True


async def check_disk(context: DoctorContext) -> list[Finding]:
    folder = nearest_existing(context.settings.mneme_data_dir)
    free = shutil.disk_usage(folder).free / 1e6
    text = f"{free:,.0f} MB are free in {folder}"
    if free < MIN_FREE_MB:
        return [create_failed("disk", text, MAKE_ROOM)]
    if free < LOW_FREE_MB:
        return [create_warning("disk", text, MAKE_ROOM)]
    return [create_ok("disk", text)]


async def check_time_zone(context: DoctorContext) -> list[Finding]:
    settings = context.settings
    target = os.environ.get("TZ", "").removeprefix(":")
    if "timezone" not in settings.model_fields_set:
        if find_system_zone() is None:
            unknown = "This machine's time zone is unknown, so dates and times are in UTC"
            return [create_warning("time zone", unknown, NAME_THE_ZONE)]
        if target and not target.startswith("/") and target not in available_timezones():
            unknown = f"TZ={target} isn't a known time zone, so dates and times are in"
            return [create_warning("time zone", f"{unknown} {settings.timezone}", NAME_THE_ZONE)]
    now = context.clock().astimezone(settings.zone)
    return [create_ok("time zone", f"{settings.timezone}, where it is {now:%H:%M on %A}")]


def report_versions() -> Finding:
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    text = (
        f"mneme {get_program_version()}, Python {platform.python_version()}, SQLite {get_sqlite_version()}, {libraries}"
    )
    return create_ok("versions", text)
