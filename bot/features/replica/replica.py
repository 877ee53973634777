"""The replica of the database, written and read by Litestream, and its lease.

The replica's location (a bucket, server or folder) contains `lease`, a database with one row, and a numbered folder for
each machine that ever held the lease. A machine that takes over uses the next number, so that a former machine that
still runs never writes into the same folder. The Markdown files are in the database (memory/store/file_copies.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import platform
import secrets
import shutil
import sqlite3
import sys
import tempfile
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog

from config.errors import ConfigurationError
from config.settings import Settings
from memory.clock import Clock, from_text, now_text
from memory.errors import StoreError, explained
from memory.store.snapshots import sync_to_disk

log = structlog.get_logger(__name__)

SNAPSHOT_INTERVAL = timedelta(hours=6)
"""Interval and retention of snapshots in the replica. After both, deleted content has left the replica."""
SYNC_INTERVAL = "100ms"
"""How often Litestream looks for new commits."""
TIMEOUT_SECONDS = 60.0
"""Timeout of a request to the replica. Fetching a whole database has none."""
LEASE_FILE = "replica.json"
"""The file in the data directory with the lease of this machine."""
_LEASE = "lease"
SETTINGS_ON_STDIN = ("-config", "/dev/stdin")
"""The settings contain keys, so they must not be in a file or on the command line."""
_IF_EXISTS = "-if-replica-exists"


class ReplicaUnreachable(StoreError):
    """The replica does not answer or can't be used."""


@dataclass(frozen=True, slots=True)
class ReplicaPlace:
    """The location of a replica (REPLICA_URL) and its credentials, None if not needed."""

    url: str
    access_key: str | None = None
    secret_key: str | None = None
    ssh_key: Path | None = None
    ssh_host: str | None = None

    def build_part_settings(self, name: str) -> dict[str, object]:
        """Return Litestream's settings for a folder of the replica."""
        address, question, query = self.url.partition("?")
        if address.startswith("/"):
            return {"type": "file", "path": f"{address.rstrip('/')}/{name}"}
        settings: dict[str, object] = {"url": f"{address.rstrip('/')}/{name}{question}{query}"}
        if address.startswith("s3:"):
            keys = {"access-key-id": self.access_key, "secret-access-key": self.secret_key}
        else:
            key_path = str(self.ssh_key) if self.ssh_key is not None else None
            keys = {"password": self.secret_key, "key-path": key_path, "host-key": self.ssh_host}
        return settings | {name: value for name, value in keys.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Lease:
    """The machine that holds a replica. The machine recognizes its lease by the token."""

    number: int
    token: str
    machine: str
    at: str


class Replica:
    """The replica of the data directory `folder`. Methods raise ReplicaUnreachable if it does not answer."""

    def __init__(self, place: ReplicaPlace, folder: Path, clock: Clock) -> None:
        self.place = place
        self._folder = folder
        self._clock = clock

    def build_settings(self, database: Path, part: str, **more: object) -> bytes:
        interval = f"{SNAPSHOT_INTERVAL.total_seconds():.0f}s"
        replica = self.place.build_part_settings(part) | {"sync-interval": SYNC_INTERVAL}
        settings = {
            "logging": {"level": "warn", "stderr": True},
            "snapshot": {"interval": interval, "retention": interval},
            "dbs": [{"path": str(database), "monitor-interval": SYNC_INTERVAL, "replica": replica}],
        }
        return json.dumps(settings | more).encode()  # JSON is valid YAML.

    async def read_lease(self) -> Lease | None:
        """Return the current lease, or None if there is no replica yet."""
        with tempfile.TemporaryDirectory(prefix="mneme-lease-") as name:
            database = Path(name) / "lease.db"
            await self._run("restore", _IF_EXISTS, database=database, part=_LEASE)
            return _read_lease(database)

    async def claim(self) -> None:
        """Take the replica if no machine holds it.

        Raises ConfigurationError if another machine holds it, ReplicaUnreachable if it can't be read and this machine
        has never held it.
        """
        try:
            lease = await self.read_lease()
        except ReplicaUnreachable as error:
            if self.number is None:
                raise
            log.warning(
                "replica_unreachable", reason=error.loggable
            )  # This machine held it last. The lease is checked again later.
            return
        if lease is None:
            await self.take(None)
        elif not self.holds(lease):
            raise ConfigurationError(
                f"{self.place.url} is held by {lease.machine} since {lease.at}: bring its memory here with `mneme"
                " restore --replica URL`, or set another REPLICA_URL."
            )

    async def take(self, former: Lease | None) -> Lease:
        """Take over the replica. Raise StoreError if another machine took it at the same time."""
        lease = Lease(
            max(former.number if former else 0, self._read_own_lease().get("number", 0)) + 1,
            secrets.token_hex(8),
            platform.node(),
            now_text(self._clock),
        )
        with tempfile.TemporaryDirectory(prefix="mneme-lease-") as name:
            database = Path(name) / "lease.db"
            await self._run("restore", _IF_EXISTS, database=database, part=_LEASE)
            _write_lease(database, lease)
            await self._run("replicate", "-once", database=database, part=_LEASE)
        # Read it back, since only one of two concurrent writes wins.
        if (present := await self.read_lease()) != lease:
            raise StoreError(f"{self.place.url} was taken at the same moment by {present and present.machine}.")
        own = self._folder / LEASE_FILE
        own.write_text(json.dumps({"place": self._make_name(), **asdict(lease)}), encoding="utf-8")
        own.chmod(0o600)
        sync_to_disk(own)
        return lease

    def holds(self, lease: Lease | None) -> bool:
        return lease is not None and self._read_own_lease().get("token") == lease.token

    @property
    def number(self) -> int | None:
        """Return the number of this machine's folder, or None if it has never held this replica."""
        return self._read_own_lease().get("number")

    async def find_newest_write(self, number: int) -> datetime | None:
        """Return the time of the newest write to a folder, or None if it is empty."""
        with tempfile.TemporaryDirectory(prefix="mneme-lease-") as name:
            output = await self._run("ltx", "-level", "0", "-json", database=Path(name) / "no.db", part=str(number))
        stamps = [from_text(row["timestamp"]) for row in json.loads(output or "null") or []]
        return max(stamps, default=None)

    async def fetch_newest(self, lease: Lease, target: Path) -> int:
        """Fetch the newest database into a new file that only its owner can read. Return the number of its folder.

        The newest folder may be empty, if its machine never ran the bot. Raises StoreError if all folders are empty.
        """
        for number in range(lease.number, 0, -1):
            if await self.fetch(number, target):
                return number
        raise StoreError(f"The replica at {self.place.url} holds no database yet: restore a backup instead.")

    async def fetch(self, number: int, target: Path) -> bool:
        """Fetch the database of a folder into a new file. Return False if the folder is empty."""
        options = (_IF_EXISTS, "-integrity-check", "quick")
        await self._run("restore", *options, database=target, part=str(number), max_seconds=None)
        if not await asyncio.to_thread(target.exists):
            return False
        await asyncio.to_thread(target.chmod, 0o600)
        await asyncio.to_thread(sync_to_disk, target)
        return True

    def _make_name(self) -> str:
        return hashlib.sha256(self.place.url.rstrip("/").encode()).hexdigest()[:16]

    def _read_own_lease(self) -> dict[str, Any]:
        try:
            own = json.loads((self._folder / LEASE_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return own if isinstance(own, dict) and own.get("place") == self._make_name() else {}

    async def _run(
        self, command: str, *options: str, database: Path, part: str, max_seconds: float | None = TIMEOUT_SECONDS
    ) -> str:
        process = await asyncio.create_subprocess_exec(
            find_litestream(),
            command,
            *SETTINGS_ON_STDIN,
            *options,
            # `replicate` takes the database from the settings.
            *(() if command == "replicate" else (str(database),)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(max_seconds):
                out, complaint = await process.communicate(self.build_settings(database, part))
        except TimeoutError as error:
            raise ReplicaUnreachable(f"{self.place.url} does not answer within {max_seconds:g} s.") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            reason = complaint.decode(errors="replace").strip().rpartition("\n")[2].removeprefix("Error: ")
            raise ReplicaUnreachable(f"{self.place.url} can't be used ({reason}): check REPLICA_URL and its keys.")
        return out.decode()


def create_replica(settings: Settings, clock: Clock, url: str | None = None) -> Replica:
    """Create the replica at `url` or at the address in the settings, one of which must be set."""
    address = url or settings.replica_url or ""
    access_key, secret_key = (
        key.get_secret_value() if key is not None else None
        for key in (settings.replica_access_key, settings.replica_secret_key)
    )
    place = ReplicaPlace(address, access_key, secret_key, settings.replica_ssh_key, settings.replica_ssh_host)
    return Replica(place, settings.mneme_data_dir, clock)


def find_litestream() -> str:
    """Return the path of Litestream. Raise StoreError if it is not installed."""
    bundled = Path(sys.executable).with_name("litestream")
    found = str(bundled) if bundled.exists() else shutil.which("litestream")
    if found is None:
        raise StoreError("A replica needs Litestream: run `make replica`, or `deploy/install.sh --replica URL`.")
    return found


def _read_lease(database: Path) -> Lease | None:
    if not database.exists():
        return None
    with explained(database), contextlib.closing(sqlite3.connect(database)) as connection:
        row = connection.execute("SELECT number, token, machine, at FROM lease").fetchone()
    return Lease(*row)


def _write_lease(database: Path, lease: Lease) -> None:
    with explained(database), contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE IF NOT EXISTS lease (number INTEGER, token TEXT, machine TEXT, at TEXT)")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM lease")
        row = (lease.number, lease.token, lease.machine, lease.at)
        connection.execute("INSERT INTO lease (number, token, machine, at) VALUES (?, ?, ?, ?)", row)
        connection.execute("COMMIT")
