"""Replication of the database while the bot runs: Litestream as a child process, and the lease on the replica."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import structlog

from bot.features.replica.replica import SETTINGS_ON_STDIN, Replica, ReplicaUnreachable, find_litestream
from bot.tasks import BackgroundTasks
from config.errors import ConfigurationError
from config.waiting import Backoff
from memory.clock import Clock
from memory.errors import StoreError
from memory.runtime.jobs import JobLog
from memory.store.database import Database
from memory.store.file_copies import FileCopies
from memory.store.snapshots import get_litestream_folder

log = structlog.get_logger(__name__)

JOB = "replica"
CHECK_INTERVAL_SECONDS = 300.0
FILES_CHECK_INTERVAL_SECONDS = 1.0
_FILES_SHARE = 50
"""Checking the files takes at most 1/50 of the time."""
MAX_AGE = timedelta(hours=1)
"""Age of the replica at which the owner is warned."""
SYNC_TIMEOUT_SECONDS = 5.0
"""Timeout for replicating updates before the next ones are fetched, or a reply before it is sent."""
CHECK_TIMEOUT_SECONDS = 20.0
RETRY_SECONDS = 0.1
PAUSE_SECONDS = 30.0
"""Pause after a timeout, during which nothing waits for the replica."""
STOP_TIMEOUT_SECONDS = 15.0
# Executes Litestream, and has the kernel terminate it gracefully if the bot dies, so that it still sends pending data.
# 1 is PR_SET_PDEATHSIG, 15 is SIGTERM. Only Linux supports this.
_CHILD = """
import ctypes, os, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 15)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Replication:
    """Runs the replication of a database.

    Attributes:
        tell: Notifies the owner of the age of an outdated replica.
        is_behind: Whether the replica can't be written at the moment.
    """

    def __init__(
        self, replica: Replica, database: Database, copies: FileCopies | None, jobs: JobLog, clock: Clock
    ) -> None:
        self._replica = replica
        self._database = database
        self._copies = copies
        self._jobs = jobs
        self._clock = clock
        self.tell: Callable[[timedelta], Awaitable[None]] | None = None
        self.is_behind = False
        self._synced_at: datetime | None = None
        self._taken_by: str | None = None
        self._has_warned = False
        self._paused_until = 0.0
        self._files_due = 0.0
        self._process: asyncio.subprocess.Process | None = None
        self._client: httpx.AsyncClient | None = None
        self._changing = asyncio.Lock()
        self._ready = asyncio.Event()
        self._tasks = BackgroundTasks()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Replicate until the context ends, and then send pending data. This machine must hold the lease."""
        # Litestream replicates the write-ahead log, so no other process may checkpoint it.
        await self._database.leave_checkpoints()
        self._synced_at = await self._jobs.find_last_run(JOB)
        with tempfile.TemporaryDirectory(prefix="mneme-") as name:  # The path of a socket has to be short.
            socket = Path(name) / "litestream"
            transport = httpx.AsyncHTTPTransport(uds=str(socket))
            async with httpx.AsyncClient(transport=transport, base_url="http://litestream", timeout=60) as client:
                self._client = client
                self._tasks.start(self._keep_alive(socket), "replication")
                self._tasks.every(CHECK_INTERVAL_SECONDS, self.check, "replica")
                self._tasks.every(FILES_CHECK_INTERVAL_SECONDS, self._check_files, "file copies")
                try:
                    yield
                finally:
                    # Do this while Litestream still runs, so that the last edits are replicated.
                    if self._copies is not None:
                        with contextlib.suppress(StoreError):
                            await self._copies.update()
                    # Stop this before the process, which _keep_alive would start again.
                    await self._tasks.close()
                    async with self._changing:
                        await self._end()
                    self._client = None

    @property
    def sync_age(self) -> timedelta | None:
        """Return the time since the replica was complete, or None if it never was."""
        return None if self._synced_at is None else max(timedelta(), self._clock() - self._synced_at)

    async def wait_for_sync(self, max_seconds: float = SYNC_TIMEOUT_SECONDS) -> bool:
        """Wait until all commits are replicated. Return False after `max_seconds`."""
        # The bot works without its replica, so after a timeout nothing waits for a while.
        if self._client is None or time.monotonic() < self._paused_until:
            return False
        # Take the time before the wait, since later commits may be missing.
        began, reason = self._clock(), "it did not answer"
        try:
            async with asyncio.timeout(max_seconds):
                await self._ready.wait()
                while (trouble := await self._sync(self._client, max_seconds)) is not None:
                    reason = trouble  # For example, Litestream is starting.
                    await asyncio.sleep(RETRY_SECONDS)
        except TimeoutError:
            if not self.is_behind:
                log.warning("replica_behind", reason=reason)
            self.is_behind = True
            self._paused_until = time.monotonic() + PAUSE_SECONDS
            return False
        self.is_behind, self._synced_at, self._has_warned = False, began, False
        return True

    async def _sync(self, client: httpx.AsyncClient, max_seconds: float) -> str | None:
        """Have Litestream replicate all commits. Return the reason if it failed."""
        request = {"path": str(self._database.path), "wait": True, "timeout": max(1, round(max_seconds))}
        try:
            answer = await client.post("/sync", json=request)
        except httpx.HTTPError as error:
            return type(error).__name__
        return None if answer.is_success else answer.text

    async def check(self) -> None:
        """Update the replica and check the lease. Notify the owner if the replica is too old."""
        if not self.is_behind:
            # The replicated time shows other machines that this one is alive.
            await self._jobs.mark(JOB, self._clock())
        # Ignore the pause after a timeout.
        self._paused_until = 0.0
        await self.wait_for_sync(CHECK_TIMEOUT_SECONDS)
        if self.sync_age is not None and self.sync_age > MAX_AGE and not self._has_warned and self.tell is not None:
            await self.tell(self.sync_age)
            self._has_warned = True
        # Only another machine's lease ends this bot, not an unreachable replica.
        with contextlib.suppress(ReplicaUnreachable):
            lease = await self._replica.read_lease()
            if lease is not None and not self._replica.holds(lease):
                self._taken_by = f"{lease.machine} since {lease.at}"

    async def wait_until_safe(self) -> None:
        await self.wait_for_sync()

    async def require_place(self) -> None:
        await self.check()
        if self._taken_by is not None:
            raise ConfigurationError(
                f"The replica is held by {self._taken_by}, which has taken over: this machine must not run the"
                " same bot; to have it back here, run `mneme restore --replica URL`."
            )

    @contextlib.asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Keep Litestream from reading the database, and delete its local copies at the end."""
        if self._client is None:
            yield
            return
        # The lock keeps _keep_alive from starting another process.
        async with self._changing:
            # End the process, since Litestream's own pause would miss changes made during it.
            await self._end()
            try:
                yield
            finally:
                # The folder itself stays, since it shows other processes that Litestream does the checkpoints.
                await asyncio.to_thread(
                    shutil.rmtree, get_litestream_folder(self._database.path) / "ltx", ignore_errors=True
                )

    async def _keep_alive(self, socket: Path) -> None:
        backoff = Backoff(max_seconds=60)
        while True:
            async with self._changing:
                process = await self._begin(socket)
            began = time.monotonic()
            await process.wait()
            if self._process is process:
                log.warning("litestream_ended", status=process.returncode)
                self._ready.clear()
                if time.monotonic() - began > PAUSE_SECONDS:
                    backoff.reset()
                await backoff.wait()

    async def _begin(self, socket: Path) -> asyncio.subprocess.Process:
        control = {"enabled": True, "path": str(socket)}
        command = (sys.executable, "-I", "-S", "-c", _CHILD, find_litestream(), "replicate", *SETTINGS_ON_STDIN)
        self._process = process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            process_group=0,  # Ctrl-C is only for the bot.
        )
        assert process.stdin is not None, "it was asked for"  # noqa: S101  # Guaranteed by asyncio
        # Pass the settings on standard input: they contain keys, which must not appear in files or process lists.
        process.stdin.write(
            self._replica.build_settings(self._database.path, str(self._replica.number), socket=control)
        )
        process.stdin.close()
        self._ready.set()
        return process

    async def _end(self) -> None:
        # Clear this first, so that _keep_alive doesn't take it for a crash.
        process, self._process = self._process, None
        self._ready.clear()
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_SECONDS):
                await process.wait()
        except TimeoutError:
            log.warning("litestream_killed", remedy="what it had not sent is sent after the next start")
            process.kill()
            await process.wait()

    async def _check_files(self) -> None:
        if self._copies is None or time.monotonic() < self._files_due:
            return
        began = time.monotonic()
        await self._copies.update()
        self._files_due = began + (time.monotonic() - began) * _FILES_SHARE
