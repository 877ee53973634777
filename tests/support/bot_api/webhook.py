"""Delivery of updates to the bot's webhook."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx

from tests.support.bot_api.params import JsonObject
from tests.support.bot_api.updates import UpdateQueue

_PAUSE = 0.05
"""Seconds before the server sends a refused update again. Telegram waits longer."""


class Courier:
    """Sends pending updates in order until it is stopped, and calls `tell` after each attempt."""

    def __init__(self, updates: UpdateQueue, tell: Callable[[], None]) -> None:
        self._updates = updates
        self._tell = tell
        self._task: asyncio.Task[None] | None = None

    def start(self, front: str) -> None:
        """Send to `front` from now on, which replaces the host of the webhook's address."""
        self.stop()
        self._task = asyncio.create_task(self._run(front))

    def stop(self) -> None:
        """Stop sending."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self, front: str) -> None:
        async with httpx.AsyncClient(timeout=20) as client:
            while True:
                while not (self._updates.webhook_url and self._updates.pending):
                    self._updates.arrived.clear()
                    await self._updates.arrived.wait()
                taken = await self._send(client, front, self._updates.pending[0])
                self._tell()
                if not taken:
                    await asyncio.sleep(_PAUSE)

    async def _send(self, client: httpx.AsyncClient, front: str, update: JsonObject) -> bool:
        """Send an update once and return whether it was accepted."""
        secret, path = self._updates.webhook_secret, urlsplit(self._updates.webhook_url).path
        shown = {"X-Telegram-Bot-Api-Secret-Token": secret} if secret else {}
        try:
            answer = await client.post(f"{front}{path}", json=update, headers=shown)
        except httpx.HTTPError:
            self._updates.webhook_error = "Connection refused"
            return False
        if answer.is_success:
            self._updates.taken(update["update_id"])
        else:
            said = f"{answer.status_code} {answer.reason_phrase}"
            self._updates.webhook_error = f"Wrong response from the webhook: {said}"
        return answer.is_success
