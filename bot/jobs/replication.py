"""The replica while the bot runs: Litestream as a child of ours, what waits for it, and whether we still hold it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import structlog

from bot.tasks import BackgroundTasks
from config.errors import ConfigurationError
from config.waiting import Backoff
from memory.errors import StoreError
from memory.store.snapshots import local_state
from memory.transfer.replica import SETTINGS_ON_STDIN, ReplicaUnreachable, litestream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from datetime import datetime

    from memory.clock import Clock
    from memory.service.jobs import JobLog
    from memory.store.database import Database
    from memory.store.file_copies import FileCopies
    from memory.transfer.replica import Replica

log = structlog.get_logger(__name__)

JOB = "replica"
LOOK_EVERY = 300.0
"""Seconds between two looks whether the replica can be written and is still ours; each writes one row."""
FILES_EVERY = 1.0
"""Seconds between two looks at the files that people edit."""
_FILES_SHARE = 50
"""A look at the files takes at most the fiftieth part of the time."""
TOO_OLD = timedelta(hours=1)
"""The owner is warned when the replica is older."""
WAIT_SECONDS = 5.0
"""How long Telegram's next updates wait for the replica of the ones before, and a reply for its own."""
LOOK_SECONDS = 20.0
"""How long a look waits for the replica."""
RETRY_SECONDS = 0.1
REST_SECONDS = 30.0
"""For so long nothing waits for a replica that did not answer."""
STOP_SECONDS = 15.0
"""How long Litestream may take to send what is left."""
# Becomes Litestream, and has itself told to end when the bot is killed, as by a stop: it then sends what is left.
# 1 is PR_SET_PDEATHSIG, 15 is SIGTERM; other systems know no such thing.
_CHILD = """
import ctypes, os, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 15)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Replication:
    """Keeps the replica of a database. tell: tells the owner that it is so old; is_behind: it can't be written now."""

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
        self._has_told = False
        self._rests_until = 0.0
        self._files_due = 0.0
        self._process: asyncio.subprocess.Process | None = None
        self._client: httpx.AsyncClient | None = None
        self._changing = asyncio.Lock()
        self._ready = asyncio.Event()
        self._tasks = BackgroundTasks()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Replicate for as long as the context is open, by a machine that holds the replica; at its end all is sent."""
        # Litestream replicates the write-ahead log, and no other program may checkpoint what it has not read
        await self._database.leave_checkpoints()
        self._synced_at = await self._jobs.ran_at(JOB)
        with tempfile.TemporaryDirectory(prefix="mneme-") as name:  # a socket's path has to be short
            socket = Path(name) / "litestream"
            transport = httpx.AsyncHTTPTransport(uds=str(socket))
            async with httpx.AsyncClient(transport=transport, base_url="http://litestream", timeout=60) as client:
                self._client = client
                self._tasks.start(self._keep_alive(socket), "replication")
                self._tasks.every(LOOK_EVERY, self.look, "replica")
                self._tasks.every(FILES_EVERY, self._look_at_files, "file copies")
                try:
                    yield
                finally:
                    # while Litestream still runs, so that the last edits reach the replica
                    if self._copies is not None:
                        with contextlib.suppress(StoreError):
                            await self._copies.look()
                    # before the process: _keep_alive would start another
                    await self._tasks.close()
                    async with self._changing:
                        await self._end()
                    self._client = None

    @property
    def age(self) -> timedelta | None:
        """How long ago all that was committed stood in the replica; None for never."""
        return None if self._synced_at is None else max(timedelta(), self._clock() - self._synced_at)

    async def synced(self, patience: float = WAIT_SECONDS) -> bool:
        """Wait until all that is committed stands in the replica; False where that can't be had within `patience`."""
        # without its replica the bot serves as it would without one, so nothing waits again soon after a failure
        if self._client is None or time.monotonic() < self._rests_until:
            return False
        # from before the wait, as what is committed during it may be missing there
        began, reason = self._clock(), "it did not answer"
        try:
            async with asyncio.timeout(patience):
                await self._ready.wait()
                while (trouble := await self._sync(self._client, patience)) is not None:
                    reason = trouble  # as while it starts
                    await asyncio.sleep(RETRY_SECONDS)
        except TimeoutError:
            if not self.is_behind:
                log.warning("replica_behind", reason=reason)
            self.is_behind = True
            self._rests_until = time.monotonic() + REST_SECONDS
            return False
        self.is_behind, self._synced_at, self._has_told = False, began, False
        return True

    async def _sync(self, client: httpx.AsyncClient, patience: float) -> str | None:
        """Have Litestream send what is committed; why it could not."""
        request = {"path": str(self._database.path), "wait": True, "timeout": max(1, round(patience))}
        try:
            answer = await client.post("/sync", json=request)
        except httpx.HTTPError as error:
            return type(error).__name__
        return None if answer.is_success else answer.text

    async def look(self) -> None:
        """Bring the replica up to date and see whether it is still ours; the owner is told where it is too old."""
        if not self.is_behind:
            # so it can be told from elsewhere that this machine lives; while that fails, the age outlasts a restart
            await self._jobs.mark(JOB, self._clock())
        # a look tries again even where others do not yet
        self._rests_until = 0.0
        await self.synced(LOOK_SECONDS)
        if self.age is not None and self.age > TOO_OLD and not self._has_told and self.tell is not None:
            await self.tell(self.age)
            self._has_told = True
        # a replica out of reach tells nothing: only a lease of another machine ends this one
        with contextlib.suppress(ReplicaUnreachable):
            lease = await self._replica.lease()
            if lease is not None and not self._replica.holds(lease):
                self._taken_by = f"{lease.machine} since {lease.at}"

    async def check_lease(self, *, look: bool = False) -> None:
        """Raises ConfigurationError where another machine has taken over. look: ask the replica now."""
        if look:
            await self.look()
        if self._taken_by is not None:
            raise ConfigurationError(
                f"The replica is held by {self._taken_by}, which has taken over: this machine must not go on with the"
                " same bot; to have it back here, run `mneme restore --replica URL`."
            )

    @contextlib.asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Keep Litestream from reading the database, and have nothing of what it read left on this disk."""
        if self._client is None:  # another program of ours may run it
            yield
            return
        # the lock keeps _keep_alive from starting another meanwhile
        async with self._changing:
            # ended and started again: Litestream's own stop and start would miss what is changed meanwhile
            await self._end()
            try:
                yield
            finally:
                # the folder itself stays: by it other programs of ours know who checkpoints
                await asyncio.to_thread(shutil.rmtree, local_state(self._database.path) / "ltx", ignore_errors=True)

    async def _keep_alive(self, socket: Path) -> None:
        backoff = Backoff(max_seconds=60)
        while True:
            async with self._changing:
                process = await self._begin(socket)
            began = time.monotonic()
            await process.wait()
            if self._process is process:  # it was not us
                log.warning("litestream_ended", status=process.returncode)
                self._ready.clear()
                if time.monotonic() - began > REST_SECONDS:
                    backoff.reset()
                await backoff.wait()

    async def _begin(self, socket: Path) -> asyncio.subprocess.Process:
        control = {"enabled": True, "path": str(socket)}
        command = (sys.executable, "-I", "-S", "-c", _CHILD, litestream(), "replicate", *SETTINGS_ON_STDIN)
        self._process = process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            process_group=0,  # Ctrl-C is for the bot
        )
        assert process.stdin is not None, "it was asked for"  # noqa: S101  # states what asyncio guarantees
        # on standard input, since they hold keys, which neither a file nor the list of processes may show
        process.stdin.write(self._replica.settings(self._database.path, str(self._replica.number), socket=control))
        process.stdin.close()
        self._ready.set()
        return process

    async def _end(self) -> None:
        # forgotten first, so that _keep_alive does not take this for a crash
        process, self._process = self._process, None
        self._ready.clear()
        if process is None or process.returncode is not None:
            return
        process.terminate()  # it sends what is left
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            log.warning("litestream_killed", remedy="what it had not sent is sent after the next start")
            process.kill()
            await process.wait()

    async def _look_at_files(self) -> None:
        if self._copies is None or time.monotonic() < self._files_due:
            return
        began = time.monotonic()
        await self._copies.look()
        self._files_due = began + (time.monotonic() - began) * _FILES_SHARE
