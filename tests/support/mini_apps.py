"""The page as the bot's Mini App: what Telegram signs for it, and requests as raw bytes."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from datetime import datetime
from urllib.parse import urlencode

import httpx

from bot.kernel import App, serve_features
from bot.web.server import HOST
from tests.support.bot_api.server import BotApiServer
from tests.support.memory_clients import TOKEN, find_free_port
from tests.support.serving import ANN, Serve

PUBLIC_HOST = "memory.example.org"


def sign_init_data(
    person: int, at: datetime, token: str = BotApiServer.TOKEN, user_json: str | None = None, **changed: str
) -> str:
    """Return what Telegram hands to a Mini App of the bot.

    Args:
        user_json: signed in place of the person.
        changed: fields that were changed after they were signed.
    """
    fields = {
        "auth_date": str(int(at.timestamp())),
        "query_id": "q",
        "signature": "s",
        "user": json.dumps({"id": person}) if user_json is None else user_json,
    }
    key = hmac.new(b"WebAppData", token.encode(), hashlib.sha256).digest()
    text = "\n".join(f"{name}={value}" for name, value in sorted(fields.items()))
    return urlencode(fields | changed | {"hash": hmac.new(key, text.encode(), hashlib.sha256).hexdigest()})


@contextlib.asynccontextmanager
async def mini_app(serve: Serve) -> AsyncIterator[tuple[App, httpx.AsyncClient]]:
    """Run a bot that serves the page at WEB_URL, and /mcp."""
    port = find_free_port()
    url = f"http://{HOST}:{port}/page/"
    async with (
        serve(telegram_allowed_ids=str(ANN), web_url=f"https://{PUBLIC_HOST}", web_port=port, mcp_token=TOKEN) as app,
        serve_features(app),
        httpx.AsyncClient(base_url=url, headers={"host": PUBLIC_HOST}, timeout=20) as client,
    ):
        yield app, client


async def enter(app: App, client: httpx.AsyncClient, person: int = ANN) -> dict[str, str]:
    """Enter the page as a person does from the chat. Return the header that shows their pass."""
    entered = await client.post("enter", content=sign_init_data(person, app.clock()))
    return {"x-mneme": entered.json()["session"]}


class RawRequest:
    """A request that is sent byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.bytes_sent = 0

    @classmethod
    async def open(cls, port: int) -> RawRequest:
        return cls(*await asyncio.open_connection(HOST, port))

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()
        self.bytes_sent += len(data)

    async def send_head(self, target: str, *headers: str, method: str = "POST") -> None:
        head = [f"{method} {target} HTTP/1.1", f"Host: {PUBLIC_HOST}", *headers, "", ""]
        await self.send("\r\n".join(head).encode())

    async def read_status(self) -> int | None:
        """Return the status of the response. None if the connection was closed without one."""
        try:
            line = await self._reader.readline()
        except ConnectionError:
            return None
        return int(line.split()[1]) if line.strip() else None

    async def read_end(self) -> None:
        """Wait until the server closes the connection."""
        with contextlib.suppress(ConnectionError):
            await self._reader.read()
        await self.close()

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    async def send_without_end(self, piece: bytes, most: int) -> int | None:
        """Send pieces until the server answers or `most` bytes are sent. Return the status of its response."""
        answered = asyncio.create_task(self.read_status())
        with contextlib.suppress(ConnectionError):
            while not answered.done() and self.bytes_sent < most:
                await self.send(piece)
        return await answered
