"""The end of a login: the address to which the service redirects the browser, received or pasted.

A browser on this machine opens the address at a listener on 127.0.0.1. A browser on another machine can't reach it, so
the user pastes the address that it shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import parse_qs

CALLBACK_PATH = "/callback"
REQUEST_TIMEOUT_SECONDS = 10.0
MAX_ADDRESS_CHARS = 16_000
MAX_HEADERS = 200
_READ_BYTES = 65_536
_STANDARD_INPUT = 0

WRONG_PASTE = (
    "That is not the address of the page after the login: copy the whole address with code=... and state=... in it."
)
OTHER_STATE = "That address belongs to another login: open the address above, and paste the one that follows."

_PAGE = """HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n\
Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n<!doctype html><title>Mneme</title><p>{text}</p>"""


@dataclass(frozen=True, slots=True)
class Redirect:
    """The parameters of the address. Either `code` or `error` is set."""

    code: str | None
    error: str | None
    state: str | None
    issuer: str | None


def parse_redirect(address: str) -> Redirect | None:
    """Return the parameters of an address, or None if it is not the end of a login."""
    # Mail programs and terminals wrap addresses in brackets, quotes and lines.
    bare = "".join(address.split()).strip("<>\"'`")
    query = bare.partition("?")[2].partition("#")[0]
    if len(bare) > MAX_ADDRESS_CHARS or not query:
        return None
    parameters = parse_qs(query, max_num_fields=100, errors="replace")

    def get(name: str) -> str | None:
        return parameters.get(name, [None])[0]

    redirect = Redirect(get("code"), get("error"), get("state"), get("iss"))
    return redirect if redirect.code or redirect.error else None


class RedirectReceiver:
    """Waits for the redirect of one login, at a listener or from pasted lines."""

    def __init__(self) -> None:
        self.address = ""
        self._state = ""
        self._received: asyncio.Future[Redirect] = asyncio.get_running_loop().create_future()

    @contextlib.asynccontextmanager
    async def listening(self, port: int | None) -> AsyncIterator[None]:
        """Listen on 127.0.0.1 at a port, or any free one, and set `address`. Raises OSError if the port is in use."""
        server = await asyncio.start_server(self._answer, "127.0.0.1", port or 0, limit=MAX_ADDRESS_CHARS)
        self.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{CALLBACK_PATH}"
        try:
            yield
        finally:
            server.close()

    def expect(self, state: str) -> None:
        """Set the state of the login. Redirects with another one are not accepted."""
        self._state = state

    @property
    def is_expecting(self) -> bool:
        """Whether the user has been asked to log in."""
        return bool(self._state)

    async def wait(self) -> Redirect:
        return await self._received

    def accept_pasted(self, line: str) -> str | None:
        """Accept a pasted address. Return what is wrong with it, or None."""
        redirect = parse_redirect(line)
        if redirect is None:
            return WRONG_PASTE
        return None if self._accept(redirect) else OTHER_STATE

    def _accept(self, redirect: Redirect) -> bool:
        # Any web page can open the listener's address, so an unexpected state must not end the login.
        if not self._state or not secrets.compare_digest((redirect.state or "").encode(), self._state.encode()):
            return False
        if not self._received.done():
            self._received.set_result(redirect)
        return True

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                method, _, rest = (await reader.readline()).decode("latin-1").partition(" ")
                target = rest.partition(" ")[0]
                for _number in range(MAX_HEADERS):
                    if not (await reader.readline()).strip():
                        break
                writer.write(self._respond(method, target).encode())
                await writer.drain()
        except (TimeoutError, OSError, ValueError):
            pass  # Not a browser
        finally:
            writer.close()

    def _respond(self, method: str, target: str) -> str:
        redirect = parse_redirect(target) if target.partition("?")[0] == CALLBACK_PATH else None
        if method != "GET" or redirect is None:
            return _PAGE.format(status="404 Not Found", text="There is nothing here.")
        if not self._accept(redirect):
            return _PAGE.format(status="400 Bad Request", text="This page belongs to another login.")
        return _PAGE.format(status="200 OK", text="You can close this page and return to the terminal.")


async def read_lines() -> AsyncIterator[str]:
    """Yield the lines of standard input until it ends.

    A daemon thread reads the descriptor itself, since a blocked read of `sys.stdin` would keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def pass_on(line: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # The loop is closed.
            loop.call_soon_threadsafe(lines.put_nowait, line)

    def read() -> None:
        rest = b""
        with contextlib.suppress(OSError):
            while chunk := os.read(_STANDARD_INPUT, _READ_BYTES):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    pass_on(line.decode("utf-8", "replace"))
                rest = rest[-MAX_ADDRESS_CHARS:]
        if rest:
            pass_on(rest.decode("utf-8", "replace"))
        pass_on(None)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line
