"""The library's OAuth client, with what Mneme adds to it: safe addresses, and tolerance for existing services."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncGenerator
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from bot.features.mcp_tools.config import HttpServer, OAuthClient


class UnsafeAddress(Exception):
    """Raised instead of a request that could reveal secrets. The text is the host."""


class LoginStorage:
    """Holds the results of the library's flow. They are written to the file when the login is complete."""

    def __init__(self, settings: OAuthClient) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None
        if settings.client_id is not None:
            self.client = OAuthClientInformationFull(client_id=settings.client_id, client_secret=settings.client_secret)

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class LoginProvider(OAuthClientProvider):
    """The library's OAuth client.

    Attributes:
        respells_issuer: Expect the other spelling of the authorization server's address, with or without a slash at
            the end. Google's MCP servers name https://accounts.google.com/, but the metadata at that address lacks the
            slash, and the library compares the two as strings. Both spellings lead to the same metadata.
    """

    respells_issuer = False

    def _select_authorization_server(self, advertised: list[str]) -> str:
        address = super()._select_authorization_server(advertised)
        if not self.respells_issuer:
            return address
        return address[:-1] if address.endswith("/") else f"{address}/"


class AssumedChallenge(httpx2.Auth):
    """Runs the library's flow as if the server had answered 401, for servers that do so for tool calls only."""

    def __init__(self, provider: OAuthClientProvider) -> None:
        self._provider = provider

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = self._provider.async_auth_flow(request)
        try:
            await anext(flow)
            response = httpx2.Response(httpx2.codes.UNAUTHORIZED, request=request)
            while True:
                response = yield await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()


def is_safe(address: str, server: HttpServer) -> bool:
    """Return True if a login may be sent to the address: encrypted, or on this machine as the server itself."""
    parts = urlsplit(address)
    is_local = _is_loopback(parts.hostname)
    if is_local and not _is_loopback(urlsplit(server.url).hostname):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_local)


def _is_loopback(host: str | None) -> bool:
    if host is None or host == "localhost" or host.endswith(".localhost"):
        return host is not None
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def replace_scope(address: str, scopes: tuple[str, ...]) -> str:
    parts = urlsplit(address)
    parameters = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()} | {
        "scope": " ".join(scopes)
    }
    return parts._replace(query=urlencode(parameters)).geturl()
