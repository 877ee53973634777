"""The memory page as the bot's Mini App: whoever opens it from Telegram sees the memory of their own private chat."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.responses import JSONResponse
from starlette.routing import Route

from bot.telegram import CHANNEL
from bot.web.page.access import HEADER, HOURS, Visitor
from bot.web.page.data import PageData
from memory.access import AccessList
from memory.errors import MnemeError
from memory.log.sessions import Address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.datastructures import Headers
    from starlette.requests import Request
    from starlette.responses import Response

    from bot.app import App

OLDEST = timedelta(hours=1)
"""How old data may be that Telegram has signed."""
AHEAD = timedelta(minutes=5)
"""How far its clock may be before ours."""
MOST_SESSIONS = 1_000
"""Sessions that are known at a time; the oldest go."""


class NotSigned(MnemeError):
    """Data is not what Telegram has signed for this bot just now."""


class MiniApp:
    """Lets in whom Telegram vouches for, and who may write to the bot."""

    scripts, frames, is_open = " https://telegram.org", "https://web.telegram.org", True
    refusal = "Open this page from the chat with the bot."

    def __init__(self, app: App, hosts: frozenset[str]) -> None:
        self.hosts = hosts
        self._app = app
        self._access = AccessList(app.database, CHANNEL, app.clock)
        self._sessions: dict[str, tuple[int, datetime]] = {}
        self._seen: dict[str, datetime] = {}

    @property
    def routes(self) -> Sequence[Route]:
        """Where what Telegram has signed is shown."""
        return [Route("/enter", self._enter, methods=["POST"])]

    async def visitor(self, headers: Headers) -> Visitor | None:
        """Who was let in, and may still write to the bot."""
        user, until = self._sessions.get(headers.get(HEADER, ""), (0, datetime.min.replace(tzinfo=UTC)))
        if self._app.clock() > until or not await self._may_enter(user):
            return None
        address = Address(CHANNEL, str(user))
        session = await self._app.sessions.get_or_create(address)
        language = await self._app.memory.preferences.language(address.owner)
        return Visitor(PageData(self._app.memory, session, self._app.clock), language)

    async def _enter(self, request: Request) -> Response:
        token = self._app.settings.telegram_bot_token
        assert token is not None, "the bot runs"  # noqa: S101  # `mneme run` has seen to it
        body = (await request.body()).decode("utf-8", "replace")
        now = self._app.clock()
        try:
            user = signed_user(body, token.get_secret_value(), now)
            self._require_new(body, now)
            if not await self._may_enter(user):
                raise NotSigned("This bot is private.")
        except NotSigned as error:
            return JSONResponse({"error": str(error)}, 403)
        session = secrets.token_urlsafe(32)
        self._sessions[session] = user, now + timedelta(hours=HOURS)
        if len(self._sessions) > MOST_SESSIONS:
            # a dict keeps its order: the first one is the oldest
            del self._sessions[next(iter(self._sessions))]
        return JSONResponse({"session": session})

    def _require_new(self, body: str, now: datetime) -> None:
        """Raises NotSigned for what was shown before: somebody may have read it on its way."""
        # older data is refused by its date
        self._seen = {digest: at for digest, at in self._seen.items() if now - at <= OLDEST + AHEAD}
        digest = hashlib.sha256(body.encode()).hexdigest()
        if digest in self._seen:
            raise NotSigned("This page was opened already: open it from the chat again.")
        self._seen[digest] = now

    async def _may_enter(self, user: int) -> bool:
        return user in self._app.settings.telegram_allowed_ids or await self._access.is_member(user)


def signed_user(init_data: str, bot_token: str, now: datetime) -> int:
    """The id of the user for whom Telegram has opened a Mini App. Raises NotSigned."""
    try:
        fields = dict(parse_qsl(init_data, keep_blank_values=True, strict_parsing=True, max_num_fields=50))
        # all other fields are signed, `signature` too (core.telegram.org/bots/webapps, validating data)
        shown = fields.pop("hash")
        key = hmac.new(b"WebAppData", bot_token.encode(), hashlib.sha256).digest()
        signed = "\n".join(f"{name}={value}" for name, value in sorted(fields.items()))
        is_signed = hmac.compare_digest(
            hmac.new(key, signed.encode(), hashlib.sha256).hexdigest().encode(), shown.encode()
        )
        at = datetime.fromtimestamp(int(fields["auth_date"]), UTC)
        user = json.loads(fields["user"])["id"]
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        is_signed, at, user = False, now, None
    if not is_signed or not isinstance(user, int):
        raise NotSigned("Telegram has not signed this.")
    if not -AHEAD <= now - at <= OLDEST:
        raise NotSigned("This page was opened too long ago: open it from the chat again.")
    return user
