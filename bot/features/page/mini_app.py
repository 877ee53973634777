"""The memory page as the bot's Mini App, which shows users the memory of their private chat."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated
from urllib.parse import parse_qsl

from pydantic import BaseModel, Field
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.features.page.access import HEADER, PASS_HOURS, Visitor
from bot.features.page.data import PageData
from bot.kernel import App
from bot.telegram import CHANNEL
from memory.access import AccessList
from memory.errors import MnemeError
from memory.log.sessions import Address

MAX_DATA_AGE = timedelta(hours=1)
MAX_CLOCK_AHEAD = timedelta(minutes=5)
"""Maximum difference by which Telegram's clock may be ahead of ours."""
MAX_PASSES_PER_USER = 5
"""Maximum number of valid passes per user. A new one replaces the oldest."""
MAX_FIELDS = 50


class _User(BaseModel):
    id: Annotated[int, Field(strict=True, gt=0, lt=1 << 52)]  # Telegram's ids have at most 52 bits


class NotSigned(MnemeError):
    """Data was not signed by Telegram for this bot, or is too old."""


@dataclass(frozen=True, slots=True)
class SignedData:
    """Data that Telegram signed for a Mini App.

    Attributes:
        digest: identifies the data, independent of its encoding.
    """

    user: int
    digest: str


@dataclass(frozen=True, slots=True)
class Pass:
    """A browser's access to the memory of a user, which ends with the user's membership.

    Attributes:
        member_since: None for users in TELEGRAM_ALLOWED_IDS.
    """

    user: int
    until: datetime
    member_since: datetime | None


class MiniApp:
    """Gives access to users whom Telegram has authenticated and who may use the bot."""

    scripts, frames, is_open = " https://telegram.org", "https://web.telegram.org", True
    refusal = "Open this page from the chat with the bot."

    def __init__(self, app: App, hosts: frozenset[str]) -> None:
        self.hosts = hosts
        self._app = app
        self._access = AccessList(app.database, CHANNEL, app.clock)
        self._passes: dict[str, Pass] = {}
        self._seen: dict[str, datetime] = {}

    @property
    def routes(self) -> Sequence[Route]:
        return [Route("/enter", self._enter, methods=["POST"])]

    async def identify(self, headers: Headers) -> Visitor | None:
        """Return the user of the pass in a request, or None if there is no valid one."""
        token = headers.get(HEADER, "")
        found = self._passes.get(token)
        if found is None:
            return None
        if self._app.clock() > found.until or not await self._is_valid(found):
            self._passes.pop(token, None)
            return None
        address = Address(CHANNEL, str(found.user))
        session = await self._app.sessions.get_or_create(address)
        language = await self._app.memory.preferences.get_language(address.owner)
        return Visitor(PageData(self._app.memory, session, self._app.clock, self._app.importer), language)

    async def _enter(self, request: Request) -> Response:
        token = self._app.settings.telegram_bot_token
        assert token is not None, "the bot runs"  # noqa: S101  # Ensured by `mneme run`
        body = (await request.body()).decode("utf-8", "replace")
        now = self._app.clock()
        try:
            signed = check_signature(body, token.get_secret_value(), now)
            given = Pass(
                signed.user, now + timedelta(hours=PASS_HOURS), await self._access.find_membership_start(signed.user)
            )
            if not await self._is_valid(given):
                raise NotSigned("This bot is private.")
            self._require_new(signed, now)
        except NotSigned as error:
            return JSONResponse({"error": str(error)}, 403)
        return JSONResponse({"session": self._issue(given, now)})

    def _issue(self, given: Pass, now: datetime) -> str:
        """Store a pass. Return its token."""
        self._passes = {token: other for token, other in self._passes.items() if other.until >= now}
        # In order of insertion, so the first one is the oldest
        held = [token for token, other in self._passes.items() if other.user == given.user]
        for token in held[: max(0, len(held) + 1 - MAX_PASSES_PER_USER)]:
            del self._passes[token]
        token = secrets.token_urlsafe(32)
        self._passes[token] = given
        return token

    def _require_new(self, signed: SignedData, now: datetime) -> None:
        """Raise NotSigned for data that was used before, which someone may have intercepted."""
        # Older data is refused because of its date
        self._seen = {digest: at for digest, at in self._seen.items() if now - at <= MAX_DATA_AGE + MAX_CLOCK_AHEAD}
        if signed.digest in self._seen:
            raise NotSigned("This page was opened already: open it from the chat again.")
        self._seen[signed.digest] = now

    async def _is_valid(self, given: Pass) -> bool:
        """Return True if the user may write to the bot, by the settings or by the membership of the pass."""
        if given.user in self._app.settings.telegram_allowed_ids:
            return True
        return given.member_since is not None and given.member_since == await self._access.find_membership_start(
            given.user
        )


def check_signature(init_data: str, bot_token: str, now: datetime) -> SignedData:
    """Check the data with which Telegram opened a Mini App. Raises NotSigned."""
    try:
        pairs = parse_qsl(init_data, keep_blank_values=True, strict_parsing=True, max_num_fields=MAX_FIELDS)
        fields = dict(pairs)
        # The signed text has a line per field, so duplicate names and line breaks would make it ambiguous
        is_plain = len(fields) == len(pairs) and "\n" not in "".join(itertools.chain(*pairs))
        # All other fields are signed, including `signature` (core.telegram.org/bots/webapps, validating data)
        signature = fields.pop("hash")
        key = hmac.new(b"WebAppData", bot_token.encode(), hashlib.sha256).digest()
        signed = "\n".join(f"{name}={value}" for name, value in sorted(fields.items())).encode()
        is_signed = hmac.compare_digest(hmac.new(key, signed, hashlib.sha256).hexdigest().encode(), signature.encode())
        if not is_plain or not is_signed:
            raise NotSigned("Telegram has not signed this.")
        at = datetime.fromtimestamp(int(fields["auth_date"]), UTC)
        user = _User.model_validate_json(fields["user"]).id
    except (ValueError, KeyError, OverflowError, OSError) as error:
        raise NotSigned("Telegram has not signed this.") from error
    if not -MAX_CLOCK_AHEAD <= now - at <= MAX_DATA_AGE:
        raise NotSigned("This page was opened too long ago: open it from the chat again.")
    return SignedData(user, hashlib.sha256(signed).hexdigest())
