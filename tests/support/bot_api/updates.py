"""The queue of updates, and long polling as Telegram does it."""

from __future__ import annotations

import asyncio

from tests.support.bot_api.params import ApiError, JsonObject, create_bad_request, read_integer

FIRST_UPDATE_ID = 731_205_841
"""The id of the first update. Real ids are also large."""

MAX_POLL = 50
"""Maximum seconds that a poll waits, as in Telegram."""


class UpdateQueue:
    """Unconfirmed updates, and the waiting poll if there is one."""

    def __init__(self) -> None:
        self.webhook_url = ""
        self.webhook_secret = ""
        self.webhook_error = ""
        self.arrived = asyncio.Event()
        """Set when an update may be due for a webhook."""
        self.allowed: list[str] = []
        self._pending: dict[int, JsonObject] = {}
        self._added: dict[int, tuple[str, JsonObject]] = {}
        self._next_id = FIRST_UPDATE_ID
        self._poll: asyncio.Future[None] | None = None

    @property
    def pending(self) -> list[JsonObject]:
        """Return the unconfirmed updates, oldest first."""
        return list(self._pending.values())

    @property
    def polled(self) -> bool:
        """Return whether a poll is waiting."""
        return self._poll is not None

    def add(self, kind: str, content: JsonObject) -> int:
        """Queue an update, unless the bot excludes its kind, and return its id."""
        update_id = self._next_id
        self._next_id += 1
        self._added[update_id] = kind, content
        if not self.allowed or kind in self.allowed:
            self._pending[update_id] = {"update_id": update_id, kind: content}
            self._wake()
        return update_id

    def spoil(self, update_id: int, field: str, value: object) -> None:
        """Change one field of a pending update."""
        update = self._pending[update_id]
        kind = next(name for name in update if name != "update_id")
        self._pending[update_id] = update | {kind: update[kind] | {field: value}}

    def add_again(self, update_id: int) -> int:
        """Queue the content of an update again and return the new id."""
        return self.add(*self._added[update_id])

    def renumber(self, update_id: int, number: int) -> None:
        """Give a pending update another id."""
        self._pending[number] = self._pending.pop(update_id) | {"update_id": number}

    def drop(self) -> None:
        """Delete all updates."""
        self._pending.clear()

    def set_webhook(self, url: str, secret: str = "") -> None:
        """Set a webhook, which ends the waiting poll, or remove it with an empty URL."""
        self.webhook_url, self.webhook_secret, self.webhook_error = url, secret, ""
        self.arrived.set()
        if url:
            self._terminate("setWebhook request")

    async def get_updates(self, params: JsonObject) -> list[JsonObject]:
        """Return the next updates, after waiting as long as the request says."""
        if self.webhook_url:
            raise ApiError(
                409,
                "Conflict: can't use getUpdates method while webhook is active; "
                "use deleteWebhook to delete the webhook first",
            )
        limit = min(max(read_integer(params, "limit", 100), 1), 100)
        timeout = min(max(read_integer(params, "timeout"), 0), MAX_POLL)
        self.allow(params)
        self._confirm(read_integer(params, "offset"))
        if not self._pending and timeout:
            await self._wait(timeout)
        return self.pending[:limit]

    async def _wait(self, timeout: float) -> None:  # noqa: ASYNC109 - the request's own timeout, not the caller's
        self._terminate("other getUpdates request; make sure that only one bot instance is running")
        poll = self._poll = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait_for(poll, timeout)
        except TimeoutError:
            return
        finally:
            # also reached when the client left; a poll that took over in the meantime stays
            if self._poll is poll:
                self._poll = None

    def _wake(self) -> None:
        self.arrived.set()
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(None)

    def _terminate(self, cause: str) -> None:
        if self._poll is not None and not self._poll.done():
            self._poll.set_exception(ApiError(409, f"Conflict: terminated by {cause}"))

    def taken(self, update_id: int) -> None:
        """Remove an update that the webhook accepted."""
        self._pending.pop(update_id, None)

    def allow(self, params: JsonObject) -> None:
        """From now on queue only the kinds of updates that a request names."""
        if "allowed_updates" not in params:
            return
        allowed = params["allowed_updates"]
        if not isinstance(allowed, list) or not all(isinstance(kind, str) for kind in allowed):
            raise create_bad_request("can't parse allowed_updates JSON object")
        self.allowed = allowed

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            kept = list(self._pending)[offset:]
            self._pending = {update_id: self._pending[update_id] for update_id in kept}
        for update_id in [known for known in self._pending if known < offset]:
            del self._pending[update_id]
