"""A replica of the database elsewhere, which Litestream writes and reads, and the lease that says whose it is.

At its place (a bucket, a server, a folder) there is `lease`, a database of one row, and for each machine that ever held
it a folder with its number. Who takes the replica over begins with the next number, so that a former machine that is
still alive writes beside and never into what the present one writes. Files stand in the database
(memory/store/file_copies.py).
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
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from config.errors import ConfigurationError
from memory.clock import from_text, now_text
from memory.errors import StoreError, explained
from memory.store.snapshots import sync

if TYPE_CHECKING:
    from datetime import datetime

    from memory.clock import Clock

log = structlog.get_logger(__name__)

KEPT = timedelta(hours=6)
"""How often the replica gets a whole new copy, and how long older ones stay: after both what was deleted is gone."""
SYNC = "100ms"
"""How often Litestream looks for new commits where nobody asks it to."""
PATIENCE = 60.0
"""Seconds that one answer of the replica may take; a whole database may take longer."""
OWN = "replica.json"
"""In the data directory: which lease this machine holds."""
_LEASE = "lease"
SETTINGS_ON_STDIN = ("-config", "/dev/stdin")
"""They hold keys, which no file and no command line is to show."""
_NOTHING = "-if-replica-exists"


class ReplicaUnreachable(StoreError):
    """The replica does not answer, or is not what it should be."""


@dataclass(frozen=True, slots=True)
class ReplicaPlace:
    """Where a replica is. url: as REPLICA_URL; the others are what opens it, None where nothing is needed."""

    url: str
    access_key: str | None = None
    secret_key: str | None = None
    ssh_key: Path | None = None
    ssh_host: str | None = None

    def part(self, name: str) -> dict[str, object]:
        """A folder of the replica, as Litestream's settings have it."""
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
    """Who holds a replica. token: what that machine knows it by."""

    number: int
    token: str
    machine: str
    at: str


class Replica:
    """The replica of the data directory `folder` at a place. Raises ReplicaUnreachable where that does not answer."""

    def __init__(self, place: ReplicaPlace, folder: Path, clock: Clock) -> None:
        self.place = place
        self._folder = folder
        self._clock = clock

    def settings(self, database: Path, part: str, **more: object) -> bytes:
        kept = f"{KEPT.total_seconds():.0f}s"
        replica = self.place.part(part) | {"sync-interval": SYNC}
        settings = {
            "logging": {"level": "warn", "stderr": True},
            "snapshot": {"interval": kept, "retention": kept},
            "dbs": [{"path": str(database), "monitor-interval": SYNC, "replica": replica}],
        }
        return json.dumps(settings | more).encode()  # which is YAML, too

    async def lease(self) -> Lease | None:
        """Who holds the replica; None where there is none yet."""
        with tempfile.TemporaryDirectory(prefix="mneme-lease-") as name:
            database = Path(name) / "lease.db"
            await self._run("restore", _NOTHING, database=database, part=_LEASE)
            return _lease_in(database)

    async def claim(self) -> None:
        """Have this machine hold the replica if nobody does.

        Raises ConfigurationError where another does, ReplicaUnreachable where nobody knows and this one never did.
        """
        try:
            lease = await self.lease()
        except ReplicaUnreachable as error:
            if self.number is None:
                raise
            log.warning("replica_unreachable", reason=error.loggable)  # it was ours, and is looked at again
            return
        if lease is None:
            await self.take(None)
        elif not self.holds(lease):
            raise ConfigurationError(
                f"{self.place.url} is held by {lease.machine} since {lease.at}: bring its memory here with `mneme"
                " restore --replica URL`, or set another REPLICA_URL."
            )

    async def take(self, former: Lease | None) -> Lease:
        """Have this machine hold the replica after `former`. Raises StoreError where another was faster."""
        lease = Lease(
            max(former.number if former else 0, self._held().get("number", 0)) + 1,
            secrets.token_hex(8),
            platform.node(),
            now_text(self._clock),
        )
        with tempfile.TemporaryDirectory(prefix="mneme-lease-") as name:
            database = Path(name) / "lease.db"
            await self._run("restore", _NOTHING, database=database, part=_LEASE)
            _write_lease(database, lease)
            await self._run("replicate", "-once", database=database, part=_LEASE)
        # read back: of two machines that take it at once only one is found there
        if (present := await self.lease()) != lease:
            raise StoreError(f"{self.place.url} was taken at the same moment by {present and present.machine}.")
        own = self._folder / OWN
        own.write_text(json.dumps({"place": self._name(), **asdict(lease)}), encoding="utf-8")
        own.chmod(0o600)
        sync(own)
        return lease

    def holds(self, lease: Lease | None) -> bool:
        return lease is not None and self._held().get("token") == lease.token

    @property
    def number(self) -> int | None:
        """The number under which this machine writes; None where it never held this replica."""
        return self._held().get("number")

    async def newest(self, number: int) -> datetime | None:
        """When the newest of what stands under a number was written; None where nothing does."""
        with tempfile.TemporaryDirectory(prefix="mneme-lease-") as name:
            said = await self._run("ltx", "-level", "0", "-json", database=Path(name) / "no.db", part=str(number))
        stamps = [from_text(row["timestamp"]) for row in json.loads(said or "null") or []]
        return max(stamps, default=None)

    async def fetch_newest(self, lease: Lease, target: Path) -> int:
        """Write the newest database in the replica into the new file `target`, which only its owner may read.

        A machine that held the replica and was lost before its bot ran has written nothing: then it is the database of
        the one before. Returns the number of the folder. Raises StoreError if none of them holds a database.
        """
        for number in range(lease.number, 0, -1):
            if await self.fetch(number, target):
                return number
        raise StoreError(f"The replica at {self.place.url} holds no database yet: restore a backup instead.")

    async def fetch(self, number: int, target: Path) -> bool:
        """Write the database of a folder of the replica into the new file `target`. Return False if it holds none."""
        options = (_NOTHING, "-integrity-check", "quick")
        await self._run("restore", *options, database=target, part=str(number), patience=None)
        if not await asyncio.to_thread(target.exists):
            return False
        await asyncio.to_thread(target.chmod, 0o600)
        await asyncio.to_thread(sync, target)
        return True

    def _name(self) -> str:
        return hashlib.sha256(self.place.url.rstrip("/").encode()).hexdigest()[:16]

    def _held(self) -> dict[str, Any]:
        try:
            own = json.loads((self._folder / OWN).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return own if isinstance(own, dict) and own.get("place") == self._name() else {}

    async def _run(
        self, command: str, *options: str, database: Path, part: str, patience: float | None = PATIENCE
    ) -> str:
        process = await asyncio.create_subprocess_exec(
            litestream(),
            command,
            *SETTINGS_ON_STDIN,
            *options,
            # it replicates what the settings name
            *(() if command == "replicate" else (str(database),)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(patience):
                out, complaint = await process.communicate(self.settings(database, part))
        except TimeoutError as error:
            raise ReplicaUnreachable(f"{self.place.url} does not answer within {patience:g} s.") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            reason = complaint.decode(errors="replace").strip().rpartition("\n")[2].removeprefix("Error: ")
            raise ReplicaUnreachable(f"{self.place.url} can't be used ({reason}): check REPLICA_URL and its keys.")
        return out.decode()


def litestream() -> str:
    """The program. Raises StoreError where it is not installed."""
    beside = Path(sys.executable).with_name("litestream")
    found = str(beside) if beside.exists() else shutil.which("litestream")
    if found is None:
        raise StoreError("A replica needs Litestream: run `make replica`, or `deploy/install.sh --replica URL`.")
    return found


def _lease_in(database: Path) -> Lease | None:
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
