"""Requests to public addresses only, so that a page can't make the bot read servers in a private network."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable

import httpx

from bot.features.web_tools.errors import PageUnreadable
from pipeline.models.endpoint import get_tls_context

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Returns the IP addresses of a host. Raises OSError if the name is unknown."""

NOT_PUBLIC = "that address isn't on the public internet, and only public pages can be read"
_SCHEMES = ("http", "https")
_MAX_PORT = 65_535
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Azure's metadata and agents. It is the only metadata service of a large provider with a public address.
_AZURE = ipaddress.IPv4Address("168.63.129.16")


async def resolve(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_kind, address in found]


def is_public(text: str) -> bool:
    """Return True if an IP address is on the public internet."""
    try:
        address = _unwrap(ipaddress.ip_address(text))
    except ValueError:
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address == _AZURE)


def _unwrap(address: IPAddress) -> IPAddress:
    """Return the IPv4 address inside an IPv6 address, or the address itself."""
    if not isinstance(address, ipaddress.IPv6Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(address.packed[-4:])
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None) or address


class PublicTransport(httpx.AsyncBaseTransport):
    """Connects to an address that it has checked, so that a second DNS answer can't lead elsewhere.

    The client calls it for each redirect too. Connections are not reused, since hosts may share an address.

    Args:
        is_allowed: Return True for an IP address that may be connected to. All addresses of a host must be allowed.
    """

    def __init__(self, resolver: Resolver = resolve, is_allowed: Callable[[str], bool] = is_public) -> None:
        self._resolver = resolver
        self._is_allowed = is_allowed
        limits = httpx.Limits(max_keepalive_connections=0)
        self._transport = httpx.AsyncHTTPTransport(verify=get_tls_context(), trust_env=False, limits=limits)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request. Raises PageUnreadable for an address that is not allowed."""
        url = request.url
        if url.scheme not in _SCHEMES or not url.host:
            raise PageUnreadable("only addresses that begin with http:// or https:// can be read")
        port = url.port or (443 if url.scheme == "https" else 80)
        if port > _MAX_PORT:
            raise PageUnreadable("the port in the address is wrong")
        try:
            addresses = await self._resolver(url.host, port)
        except (OSError, UnicodeError) as error:
            raise PageUnreadable("there is no server with that name") from error
        if not addresses or not all(map(self._is_allowed, addresses)):
            raise PageUnreadable(NOT_PUBLIC)
        # IPv4 first, since many servers have no working IPv6. Connections are not retried with the other addresses.
        address = min(addresses, key=lambda each: ":" in each)
        checked = httpx.Request(
            request.method,
            url.copy_with(host=address),
            headers=request.headers,  # With the host of the original address
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": url.host},
        )
        return await self._transport.handle_async_request(checked)

    async def aclose(self) -> None:
        await self._transport.aclose()
