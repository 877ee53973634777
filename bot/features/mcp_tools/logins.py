"""The logins at MCP servers: their OAuth tokens, stored in one private file for each server.

Several processes use these files: the running bot, `mneme mcp login` and `mneme mcp test`. A server may rotate the
refresh token at each use and end the login if an old one is sent again. So a process renews a login only while it holds
the lock of the file, and reads the file again first.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import re
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.features.mcp_tools.config import HttpServer, ServerConfig
from memory.store.private_files import FILE_MODE, make_private_folder, touch_private_file

FOLDER = "mcp-logins"
MAX_FILE_BYTES = 1_000_000
LOCK_TIMEOUT_SECONDS = 30.0
"""How long to wait for another process that renews the same login."""
EXPIRY_MARGIN = timedelta(seconds=30)
"""A token is renewed this long before it expires, since clocks differ."""
MAX_LIFETIME = timedelta(days=3650)
_LOCK_POLL_SECONDS = 0.05
_MAX_NAME_CHARS = 24
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]+")


class Login(BaseModel):
    """The tokens for a server, with the data needed to renew them.

    Attributes:
        server_url: The address for which the tokens were issued. They are never sent to another one.
        client_auth: The method by which the client authenticates at the token endpoint, by its name in OAuth.
        resource: The identifier of the server in requests for tokens (RFC 8707), if the server expects it.
        is_refused: The server has refused the refresh token, so only a new login helps.
        is_owner_told: The owner knows that the login has ended.
    """

    # Error messages must not quote tokens.
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    server_url: str = Field(repr=False)
    token_url: str
    client_id: str
    client_secret: str | None = Field(default=None, repr=False)
    client_auth: str | None = None
    resource: str | None = None
    access_token: str = Field(repr=False)
    refresh_token: str | None = Field(default=None, repr=False)
    expires_at: datetime | None = None
    is_refused: bool = False
    is_owner_told: bool = False

    def expires_before(self, moment: datetime) -> bool:
        return self.expires_at is not None and self.expires_at - EXPIRY_MARGIN <= moment


def compute_expiry(now: datetime, expires_in: object) -> datetime | None:
    """Return the time of expiry, or None if a server states no lifetime in seconds, or an absurd one."""
    try:
        seconds = float(expires_in)  # type: ignore[arg-type]  # Anything that a server sends
        return now + timedelta(seconds=seconds) if 0 <= seconds <= MAX_LIFETIME.total_seconds() else None
    except (TypeError, ValueError, OverflowError):
        return None


class LoginFile:
    """The file with the login at one server.

    Args:
        url: The present address of the server. A login at another address doesn't count. None accepts any address.
    """

    def __init__(self, folder: Path, name: str, url: str | None = None) -> None:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        self.path = folder / f"{_UNUSABLE.sub('_', name)[:_MAX_NAME_CHARS]}-{digest}.json"
        self._url = url

    def read(self) -> Login | None:
        """Return the login, or None without a valid file. Raises OSError if the file can't be read."""
        try:
            with self.path.open("rb") as file:
                login = Login.model_validate_json(file.read(MAX_FILE_BYTES))
        except (FileNotFoundError, NotADirectoryError, ValidationError):
            return None
        return login if self._url in (None, login.server_url) else None

    def write(self, login: Login) -> None:
        """Replace the file atomically. The caller holds the lock. Raises OSError."""
        from memory.files.markdown import write_atomically

        make_private_folder(self.path.parent)
        if self.path.exists():
            self.path.chmod(FILE_MODE)
        write_atomically(self.path, login.model_dump_json(indent=2) + "\n")
        self._remove_leftovers()

    def remove(self) -> None:
        """Delete the file. The caller holds the lock."""
        self.path.unlink(missing_ok=True)
        self._remove_leftovers()

    def _remove_leftovers(self) -> None:
        """Delete the temporary files of processes that were killed while they wrote."""
        for leftover in self.path.parent.glob(f".{self.path.name}.*"):
            leftover.unlink(missing_ok=True)

    def read_stamp(self) -> tuple[int, int] | None:
        """Return a value that changes with the content, or None without a file."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    @contextlib.asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Keep other processes from renewing the login. Raises TimeoutError, and OSError if it can't be locked."""
        lock_path = self.path.with_suffix(".lock")
        make_private_folder(lock_path.parent)
        touch_private_file(lock_path)
        until = time.monotonic() + LOCK_TIMEOUT_SECONDS
        # Opened for each use, so that tasks of one process exclude each other, too.
        lock = os.open(lock_path, os.O_RDWR | os.O_CLOEXEC)
        try:
            while not _try_lock(lock):
                if time.monotonic() > until:
                    raise TimeoutError
                await asyncio.sleep(_LOCK_POLL_SECONDS)
            yield
        finally:
            os.close(lock)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def find_login_file(data_directory: Path, server: ServerConfig) -> LoginFile | None:
    """Return the file of a server's login, or None if the server can't have one."""
    transport = server.transport
    if not isinstance(transport, HttpServer) or transport.has_credentials:
        return None
    return LoginFile(data_directory / FOLDER, server.name, transport.url)
