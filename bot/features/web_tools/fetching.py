"""Fetching of pages within limits of time, size, redirects and content types."""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from dataclasses import dataclass

import httpx

from bot.features.web_tools.errors import PageUnreadable

TIMEOUT_SECONDS = 15.0
MAX_BYTES = 2 * 1024**2
MAX_REDIRECTS = 5
MAX_URL_CHARS = 2_000
HTML_TYPES = ("text/html", "application/xhtml+xml")
PDF_TYPE = "application/pdf"
TYPES = (*HTML_TYPES, "text/plain", "application/json", PDF_TYPE)
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; Mneme)",
    "Accept": "text/html,application/xhtml+xml,text/plain,application/json;q=0.9,application/pdf;q=0.8",
    "Accept-Encoding": "gzip",
}


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """The body of a page.

    Attributes:
        url: The address after all redirects.
        charset: The charset that the server states.
        is_whole: False if the body is longer than MAX_BYTES and was cut off.
    """

    url: str
    content_type: str
    charset: str | None
    content: bytes
    is_whole: bool


class PageFetcher:
    """Fetches pages. It sends no cookies and no credentials, and uses no proxy, since a proxy would resolve names."""

    def __init__(self, transport: httpx.AsyncBaseTransport, seconds: float = TIMEOUT_SECONDS) -> None:
        self._transport = transport
        self._seconds = seconds

    async def fetch(self, url: str) -> FetchedPage:
        """Fetch a page. Raises PageUnreadable with the reason."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._fetch(_parse_url(url))
        except (TimeoutError, httpx.TimeoutException) as error:
            raise PageUnreadable(f"the server took longer than {self._seconds:g} seconds") from error
        except httpx.TooManyRedirects as error:
            raise PageUnreadable(f"the server redirects more than {MAX_REDIRECTS} times") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise PageUnreadable(f"the server can't be read ({type(error).__name__})") from error

    async def _fetch(self, url: httpx.URL) -> FetchedPage:
        client = httpx.AsyncClient(
            transport=_Borrowed(self._transport),
            headers=_HEADERS,
            timeout=self._seconds,
            follow_redirects=True,
            max_redirects=MAX_REDIRECTS,
            trust_env=False,
        )
        async with client, client.stream("GET", url) as response:
            if not response.is_success:
                raise PageUnreadable(f"the server answers with status {response.status_code}")
            content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if content_type not in TYPES:
                raise PageUnreadable("it is neither a web page, a plain text, JSON nor a PDF, so it can't be read")
            content, is_whole = await _read_body(response)
            return FetchedPage(str(response.url), content_type, response.charset_encoding, content, is_whole)

    async def close(self) -> None:
        await self._transport.aclose()


class _Borrowed(httpx.AsyncBaseTransport):
    """A transport that outlives its client. Each page has its own client, so that cookies aren't shared."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._transport.handle_async_request(request)


def _parse_url(url: str) -> httpx.URL:
    text = url.strip()
    if len(text) > MAX_URL_CHARS:
        raise PageUnreadable(f"the address is longer than {MAX_URL_CHARS:,} characters")
    parsed = httpx.URL(text if "://" in text else f"https://{text}")
    if parsed.userinfo:
        raise PageUnreadable("the address contains a name or password: leave them out")
    return parsed


async def _read_body(response: httpx.Response) -> tuple[bytes, bool]:
    """Return the decompressed body up to MAX_BYTES, and whether that is all of it."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("gzip", "identity"):
        raise PageUnreadable("the server compresses the page in an unknown way")
    # httpx would decompress each chunk without a limit.
    unpacker = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
    body = bytearray()
    with contextlib.suppress(zlib.error):  # Use the part before the damage
        async for chunk in response.aiter_raw():
            room = MAX_BYTES + 1 - len(body)
            body += unpacker.decompress(chunk, room) if unpacker is not None else chunk[:room]
            if len(body) > MAX_BYTES:
                return bytes(body[:MAX_BYTES]), False
    return bytes(body), True
