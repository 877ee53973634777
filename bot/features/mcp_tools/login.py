"""The login at an MCP server: discovery, registration and the exchange of the code, by the library's OAuth client.

The library trusts the metadata of the server. So each request is checked before it is sent: tokens, codes and secrets
only go to addresses with encryption, and an address on this machine is used only if the server is on this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.utils import build_protected_resource_metadata_discovery_urls
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from bot.features.mcp_tools.bounds import MAX_MESSAGE_BYTES, ByteLimiter, TooMuch
from bot.features.mcp_tools.config import HttpServer
from bot.features.mcp_tools.http import create_client
from bot.features.mcp_tools.logins import Login, LoginFile, compute_expiry
from bot.features.mcp_tools.oauth_flow import (
    AssumedChallenge,
    LoginProvider,
    LoginStorage,
    UnsafeAddress,
    is_safe,
    replace_scope,
)
from bot.features.mcp_tools.redirect import Redirect, RedirectReceiver
from memory.clock import Clock
from memory.errors import MnemeError

NETWORK_TIMEOUT_SECONDS = 60.0
"""Limit for all requests before the user is asked, and again for those afterwards."""
USER_TIMEOUT_SECONDS = 900.0
CLIENT_NAME = "Mneme"
# A server must check the token before it looks at the message, and this one starts no session.
_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_OPEN = (200, 202, 400, 405, 406)
"""Answers to the ping by servers that don't ask for a login at once."""
_MAX_ERROR_CHARS = 40


class LoginFailed(MnemeError):
    """The login is not possible. Nothing was stored."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """The conversation with the user.

    Attributes:
        lines: The lines that the user enters. They end at once if standard input is closed.
    """

    show: Callable[[str], object]
    lines: AsyncIterator[str]


async def log_in(name: str, server: HttpServer, file: LoginFile, clock: Clock, terminal: Terminal) -> Login:
    """Log in at a server and store the login. Raises LoginFailed."""
    if not is_safe(server.url, server):
        raise LoginFailed(f"{server.host} is not encrypted (http://), so others could read the login: use https://.")
    async with _listening(server) as receiver:
        attempt = _Attempt(name, server, receiver, terminal)
        login = await attempt.run(clock)
    async with file.locked():
        file.write(login)
    return login


@contextlib.asynccontextmanager
async def _listening(server: HttpServer) -> AsyncIterator[RedirectReceiver]:
    receiver = RedirectReceiver()
    async with contextlib.AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(receiver.listening(server.oauth.callback_port))
        except OSError as error:
            port = server.oauth.callback_port
            raise LoginFailed(
                f"Port {port} can't be used ({error.strerror}): free it, or change callbackPort."
            ) from error
        yield receiver


class _Attempt:
    """One attempt to log in."""

    def __init__(self, name: str, server: HttpServer, receiver: RedirectReceiver, terminal: Terminal) -> None:
        self._name = name
        self._server = server
        self._receiver = receiver
        self._terminal = terminal
        self._deadline = asyncio.timeout(NETWORK_TIMEOUT_SECONDS)
        self._is_waiting_for_user = False
        self._has_code = False
        self._status = 0
        self._host = server.host
        self._storage = LoginStorage(server.oauth)
        self._provider = self._create_provider()

    async def run(self, clock: Clock) -> Login:
        try:
            async with self._deadline:
                status = await self._send_requests()
        except (
            OAuthFlowError,
            httpx2.HTTPError,
            httpx2.InvalidURL,
            TimeoutError,
            TooMuch,
            UnsafeAddress,
            ValueError,
        ) as error:
            raise LoginFailed(self._explain(error)) from error
        tokens = self._storage.tokens
        if tokens is None:
            raise LoginFailed(self._explain_missing_login(status))
        if status in (401, 403):
            raise LoginFailed(f"{self._server.host} rejects the login that it has just allowed (error {status}).")
        return self._create_login(tokens, clock)

    def _create_provider(self, *, respells_issuer: bool = False) -> LoginProvider:
        metadata = OAuthClientMetadata(client_name=CLIENT_NAME, redirect_uris=[AnyUrl(self._receiver.address)])
        provider = LoginProvider(self._server.url, metadata, self._storage, self._ask, self._wait_for_user)
        provider.respells_issuer = respells_issuer
        return provider

    async def _send_requests(self) -> int:
        """Run the library's flow if the server offers a login. Return the status of the last request to the server."""
        headers = {**self._server.headers, "accept": "application/json, text/event-stream"}
        timeout = httpx2.Timeout(NETWORK_TIMEOUT_SECONDS)
        async with create_client(
            ByteLimiter(lambda: None), self._record_status, headers, timeout, check_request=self._check_request
        ) as http:
            try:
                return await self._run_flow(http)
            except (OAuthRegistrationError, OAuthTokenError):
                raise
            except OAuthFlowError:
                if self._receiver.is_expecting or self._status >= 400:
                    raise
                self._provider = self._create_provider(respells_issuer=True)
                return await self._run_flow(http)

    async def _run_flow(self, http: httpx2.AsyncClient) -> int:
        status = await self._ping(http, self._provider)
        if self._storage.tokens is None and status in _OPEN and await self._offers_login(http):
            status = await self._ping(http, AssumedChallenge(self._provider))
        return status

    async def _ping(self, http: httpx2.AsyncClient, auth: httpx2.Auth) -> int:
        method, content = ("GET", None) if self._server.sse else ("POST", _PING)
        async with http.stream(method, self._server.url, json=content, auth=auth) as response:
            return response.status_code

    async def _offers_login(self, http: httpx2.AsyncClient) -> bool:
        """Return True if the server has metadata for a login, which it may need for some requests only."""
        for url in build_protected_resource_metadata_discovery_urls(None, self._server.url):
            response = await http.get(url)
            if response.status_code == httpx2.codes.OK and b"authorization_servers" in response.content:
                return True
        return False

    def _record_status(self, status: int) -> None:
        self._status = status

    def _check_request(self, request: httpx2.Request) -> None:
        self._host, self._status = request.url.host, 0
        if not is_safe(str(request.url), self._server):
            raise UnsafeAddress(request.url.host)

    async def _ask(self, address: str) -> None:
        """Show the address to open. Called by the library."""
        if not is_safe(address, self._server):
            raise UnsafeAddress(urlsplit(address).hostname)
        client, oauth = self._storage.client, self._provider.context.oauth_metadata
        if client is not None and client.client_secret is not None and client.token_endpoint_auth_method is None:
            # RFC 8414 says that a server supports basic authentication unless it says something else.
            supported = (oauth.token_endpoint_auth_methods_supported if oauth is not None else None) or []
            post = "client_secret_post" in supported
            client.token_endpoint_auth_method = "client_secret_post" if post else "client_secret_basic"
        if self._server.oauth.scopes:
            address = replace_scope(address, self._server.oauth.scopes)
        self._receiver.expect(parse_qs(urlsplit(address).query)["state"][0])
        self._is_waiting_for_user = True
        self._deadline.reschedule(asyncio.get_running_loop().time() + USER_TIMEOUT_SECONDS)
        self._terminal.show(
            f"Open this address in a browser and log in at {urlsplit(address).hostname}:\n\n{address}\n\n"
            "If the browser is on this machine, the login completes by itself. Otherwise, the browser shows at the end"
            f" that a page can't be reached: copy its whole address ({self._receiver.address}?...) and paste it here."
        )

    async def _wait_for_user(self) -> AuthorizationCodeResult:
        """Return the code of the redirect. Called by the library."""
        reading = asyncio.create_task(self._read_pasted(), name="pasted address")
        waiting = asyncio.create_task(self._receiver.wait(), name="redirect")
        try:
            done, _ = await asyncio.wait((reading, waiting), return_when=asyncio.FIRST_COMPLETED)
            if reading in done and waiting not in done:
                reading.result()
            redirect = await waiting
        finally:
            reading.cancel()
            waiting.cancel()
        self._is_waiting_for_user = False
        self._deadline.reschedule(asyncio.get_running_loop().time() + NETWORK_TIMEOUT_SECONDS)
        return self._take_code(redirect)

    async def _read_pasted(self) -> None:
        """Pass on pasted lines. Raises LoginFailed if the input ends after a wrong one."""
        wrong: str | None = None
        async for line in self._terminal.lines:
            if not line.strip():
                continue
            wrong = self._receiver.accept_pasted(line)
            if wrong is None:
                return
            self._terminal.show(wrong)
        if wrong is not None:
            raise LoginFailed("The input has ended without the address: run the command again.")

    def _take_code(self, redirect: Redirect) -> AuthorizationCodeResult:
        if redirect.error == "access_denied":
            raise LoginFailed("The login was declined in the browser: run the command again to allow it.")
        if redirect.code is None:
            raise LoginFailed(f"The service ended the login with an error{_quote(redirect.error)}: try it again.")
        self._has_code = True
        return AuthorizationCodeResult(code=redirect.code, state=redirect.state, iss=redirect.issuer)

    def _create_login(self, tokens: OAuthToken, clock: Clock) -> Login:
        context, client = self._provider.context, self._storage.client
        assert client is not None, "the library stores the client before the tokens"  # noqa: S101
        with_resource = context.should_include_resource_param(context.protocol_version)
        return Login(
            server_url=self._server.url,
            token_url=self._find_token_url(),
            client_id=client.client_id,
            client_secret=client.client_secret,
            client_auth=client.token_endpoint_auth_method,
            resource=context.get_resource_url() if with_resource else None,
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token,
            expires_at=compute_expiry(clock(), tokens.expires_in),
        )

    def _find_token_url(self) -> str:
        metadata = self._provider.context.oauth_metadata
        # Servers without metadata have their endpoints at fixed paths, according to the specification of March 2025.
        return str(metadata.token_endpoint) if metadata is not None else urljoin(self._server.url, "/token")

    def _explain_missing_login(self, status: int) -> str:
        host = self._server.host
        if 300 <= status < 400:
            return f"{host} redirects to another address: correct the url of {self._name}."
        if status >= 500 or status in (403, 404, 429):
            return f"{host} returned error {status}: check the url of {self._name}."
        return f"{self._name} works without a login: {host} doesn't ask for one."

    def _explain(self, error: Exception) -> str:
        """Return the reason why the login failed, without any text of the server."""
        host = self._host
        match error:
            case UnsafeAddress():
                return f"{self._server.host} wants to send the login to {error} without encryption or on this machine."
            case TooMuch():
                return f"{host} sends more than {MAX_MESSAGE_BYTES // 1024**2} MB: this is no server for logins."
            case TimeoutError() if self._is_waiting_for_user:
                return f"There was no login within {USER_TIMEOUT_SECONDS / 60:g} minutes: run the command again."
            case TimeoutError() | httpx2.TimeoutException():
                return f"{host} didn't answer within {NETWORK_TIMEOUT_SECONDS:g} seconds: try it again later."
            case httpx2.HTTPError() | httpx2.InvalidURL():
                return f"{host} can't be reached: check the network and the url of {self._name}."
            case OAuthRegistrationError():
                return self._explain_registration()
            case OAuthTokenError() if self._has_code:
                return f"{host} refuses the login{_name_status(self._status)}: run the command again."
            case OAuthFlowError() if self._has_code:
                return "The answer came from another service than the one that was asked: the login was stopped."
            case OAuthFlowError() if self._status >= 400:
                return f"{host} returned error {self._status} instead of its login data: try it again later."
            case _:
                return f"The login data of {self._server.host} contradicts itself, so the login was stopped."

    def _explain_registration(self) -> str:
        metadata = self._provider.context.oauth_metadata
        if metadata is None:
            return f"{self._server.host} returned error 401, but offers no login: set its headers (docs/tools.md)."
        if metadata.registration_endpoint is None:
            reason = f"{metadata.issuer.host} doesn't let programs register themselves"
        else:
            reason = f"{self._host} refused to register this program{_name_status(self._status)}"
        return f"{reason}: register one there, and add its clientId to the entry of {self._name} (docs/tools.md)."


def _quote(error: str | None) -> str:
    """Return an error code of OAuth in brackets. Other foreign text is left out."""
    is_code = error is not None and len(error) <= _MAX_ERROR_CHARS and error.replace("_", "").isalnum()
    return f" ({error})" if is_code and error is not None and error.isascii() else ""


def _name_status(status: int) -> str:
    return f" (error {status})" if status >= 400 else ""
