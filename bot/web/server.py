"""The web server on 127.0.0.1, served from threads: it answers also when the bot's own loop does not."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import structlog

from config.errors import ConfigurationError
from memory.errors import MnemeError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping

log = structlog.get_logger(__name__)

PATIENCE = 8.0
"""Seconds that the bot's loop may take to show a page; longer than its database may."""
TAKING_SECONDS = 30.0
"""Seconds that it may take to keep what was sent, on a slow disk and while strangers are told that they are."""
REQUEST_SECONDS = 10.0
"""Seconds that a client may be silent in the middle of its request."""
AT_ONCE = 40
"""Admitted requests that are read at a time; who comes when there are so many is told to come again."""
UNREAD_BYTES = 65_536
"""What of a refused request is read all the same, at once, and dropped."""
REFUSED_SECONDS = 1.0
"""How long that may take: who may not send anything is to hold up nothing."""
_LENGTH = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class Page:
    """What goes back for a request."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where something may be sent. admits: whether it may, by the headers of the request, in lower case.

    most_bytes: what is longer is not read. take: what is done with it, in the bot's own loop.
    """

    is_allowed: Callable[[Mapping[str, str]], bool]
    most_bytes: int
    take: Callable[[bytes], Coroutine[object, object, Page]]


class Pages:
    """Paths, and what is there. Whoever has something to serve puts it here, whether or not a server runs."""

    def __init__(self) -> None:
        self.shown: dict[str, Callable[[], Coroutine[object, object, Page]]] = {}
        """What a GET is answered with."""
        self.entrances: dict[str, Entrance] = {}
        """Where a POST may go."""

    @contextlib.contextmanager
    def opened(self, path: str, entrance: Entrance) -> Iterator[None]:
        """Have an entrance at `path` for as long as the context is open."""
        self.entrances[path] = entrance
        try:
            yield
        finally:
            del self.entrances[path]


@contextlib.asynccontextmanager
async def served(pages: Pages, port: int) -> AsyncIterator[None]:
    """Serve `pages` at `port` for as long as the context is open.

    Raises ConfigurationError for a port that is taken.
    """
    server = _listening(port, pages, asyncio.get_running_loop())
    threading.Thread(target=server.serve_forever, name="web", daemon=True).start()
    log.info("web_served", url=f"http://127.0.0.1:{port}")
    try:
        yield
    finally:
        await asyncio.to_thread(server.shutdown)
        server.server_close()


def _listening(port: int, pages: Pages, loop: asyncio.AbstractEventLoop) -> _Server:
    try:
        return _Server(port, pages, loop)
    except OSError as error:
        raise ConfigurationError(f"METRICS_PORT {port} can't be used ({error.strerror}): choose another.") from error


class _Server(ThreadingHTTPServer):
    """Listens, and gives each request to a thread of its own."""

    def __init__(self, port: int, pages: Pages, loop: asyncio.AbstractEventLoop) -> None:
        self.pages = pages
        self.loop = loop
        self.room = threading.BoundedSemaphore(AT_ONCE)
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Note a request that failed; most of them because nobody is there any more."""
        log.info("request_failed", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    """One request and its answer."""

    server: _Server
    timeout = REQUEST_SECONDS

    def do_GET(self) -> None:
        page = self.server.pages.shown.get(self._at())
        if page is None:
            there = " and ".join(sorted(self.server.pages.shown))
            self._answer(Page(HTTPStatus.NOT_FOUND, f"There is {there}.\n".encode()))
        else:
            self._answer(_asked(page(), self.server.loop, PATIENCE))

    def do_POST(self) -> None:
        entrance = self.server.pages.entrances.get(self._at())
        if entrance is None:
            self._refuse(Page(HTTPStatus.NOT_FOUND, b"nothing is taken here\n"))
        elif not entrance.is_allowed({name.lower(): value for name, value in self.headers.items()}):
            self._refuse(Page(HTTPStatus.FORBIDDEN, b"you may not send anything here\n"))
        elif not self.server.room.acquire(blocking=False):
            self._refuse(Page(HTTPStatus.SERVICE_UNAVAILABLE, b"too much is sent at once\n"))
        else:
            try:
                self._answer(self._taken(entrance))
            finally:
                self.server.room.release()

    def _taken(self, entrance: Entrance) -> Page:
        length = self._length()
        if length is None:
            return Page(HTTPStatus.LENGTH_REQUIRED, b"say how long it is\n")
        if length > entrance.most_bytes:
            return Page(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"that is too long\n")
        body = self.rfile.read(length)
        if len(body) < length:
            return Page(HTTPStatus.BAD_REQUEST, b"that is not all of it\n")
        return _asked(entrance.take(body), self.server.loop, TAKING_SECONDS)

    def _refuse(self, page: Page) -> None:
        # a body that nobody reads would cut the connection before the answer is read
        if self._length():
            self.connection.settimeout(REFUSED_SECONDS)
            with contextlib.suppress(TimeoutError):
                self.rfile.read1(UNREAD_BYTES)
        self._answer(page)

    def _at(self) -> str:
        return self.path.partition("?")[0]

    def _length(self) -> int | None:
        length = self.headers.get("Content-Length", "")
        return int(length) if _LENGTH.fullmatch(length) else None

    def _answer(self, page: Page) -> None:
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        self.wfile.write(page.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's own name
        """Say nothing: it is asked every few seconds."""


def _asked(question: Coroutine[object, object, Page], loop: asyncio.AbstractEventLoop, patience: float) -> Page:
    """What the bot's loop answers; 503 where it does not, or can't."""
    future = asyncio.run_coroutine_threadsafe(question, loop)
    try:
        return future.result(patience)
    except TookTooLong:
        future.cancel()
        return Page(HTTPStatus.SERVICE_UNAVAILABLE, b"the bot's loop does not answer\n")
    except MnemeError as error:
        return Page(HTTPStatus.SERVICE_UNAVAILABLE, f"{error}\n".encode())
