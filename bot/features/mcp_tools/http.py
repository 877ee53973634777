"""HTTP clients that limit the bodies of responses before a library reads them, and add the token of a login."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Protocol

import httpx2

from bot.features.mcp_tools.bounds import ByteLimiter, create_message_json
from config.json_stream import TooComplex
from memory.text.validity import JsonRepair

USER_AGENT = "mneme"
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_EVENT_END_BYTES = 4


class BoundedStream(httpx2.AsyncByteStream):
    """A response body that repairs invalid JSON and limits the size of each message: a document or an event."""

    def __init__(self, response: httpx2.Response, limiter: ByteLimiter) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101  # The client is asynchronous.
        self._stream = response.stream
        self._limiter = limiter
        self._is_events = response.headers.get("content-type", "").lower().startswith("text/event-stream")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        repair, json, size, end = JsonRepair(), create_message_json(), 0, b""
        async for chunk in self._stream:
            valid = repair.repair(chunk)
            first, *further = _EVENT_END.split(end + valid) if self._is_events else [end + valid]
            self._limiter.add(len(chunk), max(size + len(first), *map(len, further), 0) - len(end))
            try:
                json.check(first[len(end) :])
                for piece in further:
                    json = create_message_json()
                    json.check(piece)
            except TooComplex:
                self._limiter.give_up()
            size = len(further[-1]) if further else size + len(valid)
            end = valid[1 - _EVENT_END_BYTES :] if self._is_events else b""
            yield valid
        yield repair.finish()

    async def aclose(self) -> None:
        await self._stream.aclose()


class TokenSource(Protocol):
    """Provides the access tokens for a server."""

    async def get_token(self) -> str | None:
        """Return the token for the next request, or None without a login."""

    async def replace_token(self, rejected: str | None, challenge: str) -> str | None:
        """Return another token after the server has answered 401. None means that no other token exists.

        Args:
            challenge: The header WWW-Authenticate of the answer.
        """

    def report_rejection(self, token: str) -> None:
        """Record that the server rejects a replaced token, too."""


class TokenAuth(httpx2.Auth):
    """Adds an access token to each request. A request that gets a 401 is repeated once with another token."""

    def __init__(self, tokens: TokenSource) -> None:
        self._tokens = tokens

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        token = await self._tokens.get_token()
        if token is not None:
            request.headers["authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code != httpx2.codes.UNAUTHORIZED:
            return
        token = await self._tokens.replace_token(token, response.headers.get("www-authenticate", ""))
        if token is None:
            return
        request.headers["authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == httpx2.codes.UNAUTHORIZED:
            self._tokens.report_rejection(token)


def create_client(
    limiter: ByteLimiter,
    on_status: Callable[[int], None],
    headers: Mapping[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
    check_request: Callable[[httpx2.Request], None] | None = None,
) -> httpx2.AsyncClient:
    """Create a client that counts the bytes it receives. A hook keeps the system's proxies, unlike a transport.

    Compressed bodies are refused, since a few bytes could expand to gigabytes.

    Args:
        on_status: Called with the status of each response.
        check_request: Raises an exception to prevent a request.
    """

    async def prepare(request: httpx2.Request) -> None:
        # Requests of an authentication flow lack the client's headers. Firewalls refuse requests without a user agent.
        request.headers["accept-encoding"] = "identity"
        request.headers.setdefault("user-agent", USER_AGENT)
        if check_request is not None:
            check_request(request)

    async def watch(response: httpx2.Response) -> None:
        on_status(response.status_code)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise httpx2.DecodingError("the body is compressed", request=response.request)
        response.stream = BoundedStream(response, limiter)

    return httpx2.AsyncClient(
        headers=dict(headers or {}),
        timeout=timeout,
        auth=auth,
        event_hooks={"request": [prepare], "response": [watch]},
    )
