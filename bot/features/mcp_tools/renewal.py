"""The login of a running connection: provides its tokens, and renews them without the user."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from urllib.parse import quote, urlsplit

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from bot.features.mcp_tools.bounds import ByteLimiter
from bot.features.mcp_tools.config import Trouble
from bot.features.mcp_tools.logins import Login, LoginFile, compute_expiry
from config.texts import N_
from memory.clock import Clock

log = structlog.get_logger(__name__)

RENEWAL_TIMEOUT_SECONDS = 20.0
POLL_INTERVAL_SECONDS = 1.0
"""How often a connection without a login looks if the user has logged in."""
MAX_TOKEN_CHARS = 20_000
REFUSALS = frozenset(("invalid_grant", "invalid_client", "unauthorized_client", "bad_refresh_token"))
"""Answers of a token endpoint after which only a new login helps. The last one is GitHub's."""

NEEDS_LOGIN = N_("It needs a login: run `mneme mcp login {name}`.")
LOGIN_ENDED = N_("Its login has ended: run `mneme mcp login {name}`.")
LOGIN_UNREADABLE = N_("Its login can't be read ({reason}): check the owner of mcp-logins in the data directory.")
NOT_RENEWED = N_("Its login can't be renewed at the moment, because {host} can't be reached or returns an error.")
NOT_RENEWED_SOMEWHERE = N_("Its login can't be renewed at the moment.")


class _TokenResponse(BaseModel):
    """The answer of a token endpoint (RFC 6749). Some services report errors with status 200."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    access_token: str | None = None
    refresh_token: str | None = None
    expires_in: object = None
    error: str | None = None


class _Refused(Exception):
    """Raised if the server refuses the refresh token."""


class _NotRenewed(Exception):
    """Raised if the token endpoint fails, so that the refresh token may still be valid."""


class LoginRenewer:
    """The login of one connection.

    Args:
        on_lost: Called when the server rejects all tokens.

    Attributes:
        trouble: The reason why the server rejects the connection, or None.
    """

    def __init__(self, name: str, file: LoginFile, clock: Clock, on_lost: Callable[[], None]) -> None:
        self.trouble: Trouble | None = None
        self._name = name
        self._file = file
        self._clock = clock
        self._on_lost = on_lost
        self._renewals: set[asyncio.Task[Login | Trouble]] = set()
        self._rejected: str | None = None
        # The login in the file, and the renewed login that could not be written.
        self._unwritten: tuple[Login, Login] | None = None
        # The token of the ended login that the owner knows about.
        self._reported: str | None = None
        self._stamp = file.read_stamp()

    @property
    def needs_login(self) -> bool:
        return self.trouble is not None and self.trouble.text in (NEEDS_LOGIN, LOGIN_ENDED)

    def begin(self) -> None:
        """Forget the trouble of the former connection."""
        self.trouble = None
        self._stamp = self._file.read_stamp()

    async def get_token(self) -> str | None:
        """Return the token for the next request, renewed if it has expired. None if there is no login."""
        try:
            login = await self._read()
        except OSError:
            return None
        if login is None or login.is_refused:
            return None
        is_renewable = login.refresh_token is not None and login.expires_before(self._clock())
        if is_renewable or self._unwritten is not None:
            renewed = await self._renew(None)
            # If the login can't be renewed, the answer to the old token decides.
            login = renewed if isinstance(renewed, Login) else login
        return login.access_token

    async def replace_token(self, rejected: str | None, challenge: str) -> str | None:
        """Return another token after a 401, or None with the reason in `trouble`."""
        found = await self._find_other(rejected, challenge)
        if isinstance(found, Login):
            return found.access_token
        if found is not None:
            self.trouble = found
            self._on_lost()
        return None

    def report_rejection(self, token: str) -> None:
        self._rejected = token
        self.trouble = Trouble(NEEDS_LOGIN, {"name": self._name})
        self._on_lost()

    async def wait_for_change(self, seconds: float) -> bool:
        """Wait until the user logs in or out, but at most for these seconds. Return True after a change."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._file.read_stamp() != self._stamp:
                return True
            await asyncio.sleep(min(left, POLL_INTERVAL_SECONDS))
        return False

    async def should_tell_owner(self) -> bool:
        """Return True if the login has ended and the owner doesn't know it."""
        if self.trouble is None or self.trouble.text != LOGIN_ENDED:
            return False
        login = await asyncio.to_thread(self._file.read)
        if login is None or not login.is_refused or login.is_owner_told:
            return False
        return login.access_token != self._reported

    async def record_owner_told(self) -> None:
        """Record in the file that the owner knows that the login has ended. Raises OSError."""
        async with self._file.locked():
            login = await asyncio.to_thread(self._file.read)
            if login is not None and login.is_refused:
                self._reported = login.access_token
                await self._store(login.model_copy(update={"is_owner_told": True}))

    async def close(self) -> None:
        """Wait for renewals, since cancelling one could lose the new refresh token."""
        if self._renewals:
            await asyncio.wait(self._renewals, timeout=RENEWAL_TIMEOUT_SECONDS)

    async def _find_other(self, rejected: str | None, challenge: str) -> Login | Trouble | None:
        """Return the login to use instead of the rejected one, or the reason why it can't be used.

        None means that the server rejects the request without asking for a login.
        """
        try:
            login = await self._read()
        except OSError as error:
            return Trouble(LOGIN_UNREADABLE, {"reason": error.strerror or type(error).__name__})
        if login is None:
            asks = rejected is not None or "bearer" in challenge.lower()
            return Trouble(NEEDS_LOGIN, {"name": self._name}) if asks else None
        if login.is_refused:
            return Trouble(LOGIN_ENDED, {"name": self._name})
        if login.access_token == self._rejected:
            return Trouble(NEEDS_LOGIN, {"name": self._name})
        return await self._renew(rejected)

    async def _read(self) -> Login | None:
        stored = await asyncio.to_thread(self._file.read)
        if self._unwritten is not None:
            base, renewed = self._unwritten
            if stored == base:
                return renewed
            self._unwritten = None  # The user has logged in or out.
        return stored

    async def _renew(self, rejected: str | None) -> Login | Trouble:
        """Renew the login if its token has expired or is the rejected one.

        A cancelled request, for example by /stop, doesn't cancel the renewal.
        """
        renewal = asyncio.create_task(self._renew_alone(rejected), name=f"mcp login {self._name}")
        self._renewals.add(renewal)
        renewal.add_done_callback(self._renewals.discard)
        return await asyncio.shield(renewal)

    async def _renew_alone(self, rejected: str | None) -> Login | Trouble:
        """Renew the login under the lock of its file, unless another process or request has done it."""
        host: str | None = None
        try:
            async with self._file.locked():
                login = await self._read()
                if login is None:
                    return Trouble(NEEDS_LOGIN, {"name": self._name})
                host = urlsplit(login.token_url).hostname
                if self._unwritten is not None:
                    await self._write(*self._unwritten)
                if login.access_token != rejected and not login.expires_before(self._clock()):
                    return login
                return await self._request_renewal(login)
        except _Refused:
            log.warning("mcp_login_refused", server=self._name)
            return Trouble(LOGIN_ENDED, {"name": self._name})
        except PermissionError as error:
            return Trouble(LOGIN_UNREADABLE, {"reason": error.strerror or type(error).__name__})
        except Exception as error:  # noqa: BLE001  # For example, the network is down. Foreign texts aren't logged.
            reason = str(error) if isinstance(error, _NotRenewed) else type(error).__name__
            log.warning("mcp_login_not_renewed", server=self._name, reason=reason)
        return Trouble(NOT_RENEWED, {"host": host}, otherwise=NOT_RENEWED_SOMEWHERE)

    async def _request_renewal(self, login: Login) -> Login:
        """Exchange the refresh token and store the new tokens. Raises _Refused or _NotRenewed."""
        try:
            if login.is_refused or login.refresh_token is None:
                raise _Refused
            answer = await _request_tokens(login)
        except _Refused:
            # Stored, so that the token isn't sent again and the owner is notified once.
            await self._store(login.model_copy(update={"is_refused": True}))
            raise
        renewed = login.model_copy(
            update={
                "access_token": answer.access_token,
                # A server that doesn't rotate refresh tokens returns none.
                "refresh_token": answer.refresh_token or login.refresh_token,
                "expires_at": compute_expiry(self._clock(), answer.expires_in),
            }
        )
        stored = self._unwritten[0] if self._unwritten is not None else login
        await self._write(stored, renewed)
        log.info("mcp_login_renewed", server=self._name)
        return renewed

    async def _write(self, stored: Login, renewed: Login) -> None:
        """Replace the stored login before the new tokens are used. If that fails, keep it in memory and retry later."""
        try:
            await self._store(renewed)
        except OSError as error:
            log.error("mcp_login_not_stored", server=self._name, reason=error.strerror or type(error).__name__)
            self._unwritten = stored, renewed
        else:
            self._unwritten = None

    async def _store(self, login: Login) -> None:
        await asyncio.to_thread(self._file.write, login)
        self._stamp = self._file.read_stamp()


async def _request_tokens(login: Login) -> _TokenResponse:
    """Send the refresh token. Raises _Refused, _NotRenewed, TimeoutError or an error of the HTTP client."""
    import httpx2

    from bot.features.mcp_tools.http import create_client

    data = {"grant_type": "refresh_token", "refresh_token": login.refresh_token or "", "client_id": login.client_id}
    headers = {"accept": "application/json"}
    if login.resource is not None:
        data["resource"] = login.resource
    if login.client_secret is not None and login.client_auth == "client_secret_basic":
        credentials = f"{quote(login.client_id, safe='')}:{quote(login.client_secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(credentials.encode()).decode()}"
    elif login.client_secret is not None and login.client_auth == "client_secret_post":
        data["client_secret"] = login.client_secret
    limiter = ByteLimiter(lambda: None)
    async with asyncio.timeout(RENEWAL_TIMEOUT_SECONDS):
        timeout = httpx2.Timeout(RENEWAL_TIMEOUT_SECONDS)
        async with create_client(limiter, lambda _: None, headers, timeout) as http:
            response = await http.post(login.token_url, data=data)
    return _parse_tokens(response.status_code, response.content)


def _parse_tokens(status: int, content: bytes) -> _TokenResponse:
    try:
        answer = _TokenResponse.model_validate_json(content)
    except ValidationError as error:
        raise _NotRenewed(f"status {status}, and no answer of OAuth") from error
    if status in (200, 400, 401) and answer.error in REFUSALS:
        raise _Refused
    tokens = (answer.access_token or "") + (answer.refresh_token or "")
    is_usable = (
        bool(answer.access_token) and len(tokens) <= MAX_TOKEN_CHARS and tokens.isascii() and tokens.isprintable()
    )
    if status != 200 or not is_usable:
        raise _NotRenewed(f"status {status}")
    return answer
