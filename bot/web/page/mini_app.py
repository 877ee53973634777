"""The memory page as the bot's Mini App: a person who opens it from Telegram sees the memory of their private chat."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated
from urllib.parse import parse_qsl

from pydantic import BaseModel, Field
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
MAX_DATA_AGE = timedelta(hours=1)
"""Age of data that Telegram has signed."""
MAX_CLOCK_AHEAD = timedelta(minutes=5)
"""Telegram's clock may be this far ahead of ours."""
MAX_PASSES_PER_USER = 5
"""Valid passes of one user. Another one ends the oldest of them."""
MAX_FIELDS = 50


class _User(BaseModel):
    id: Annotated[int, Field(strict=True, gt=0, lt=1 << 52)]  # Telegram's have at most 52 bits


class NotSigned(MnemeError):
    """Data is not what Telegram has signed for this bot just now."""


@dataclass(frozen=True, slots=True)
class SignedData:
    """Data that Telegram has signed for a Mini App.

    Attributes:
        digest: the same for all ways of writing the same data.
    """

    user: int
    digest: str


@dataclass(frozen=True, slots=True)
class Pass:
    """A browser's right to see the memory of a user, which ends with the membership that it was given for.

    Attributes:
        member_since: None for a user whom the settings let in.
    """

    user: int
    until: datetime
    member_since: datetime | None


class MiniApp:
    """Lets in people for whom Telegram vouches and who may write to the bot."""

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
        """The route that takes what Telegram has signed."""
        return [Route("/enter", self._enter, methods=["POST"])]

    async def visitor(self, headers: Headers) -> Visitor | None:
        """Return the user of the pass that a request shows. None if it shows none that is valid."""
        shown = headers.get(HEADER, "")
        found = self._passes.get(shown)
        if found is None:
            return None
        if self._app.clock() > found.until or not await self._is_valid(found):
            self._passes.pop(shown, None)
            return None
        address = Address(CHANNEL, str(found.user))
        session = await self._app.sessions.get_or_create(address)
        language = await self._app.memory.preferences.language(address.owner)
        return Visitor(PageData(self._app.memory, session, self._app.clock), language)

    async def _enter(self, request: Request) -> Response:
        token = self._app.settings.telegram_bot_token
        assert token is not None, "the bot runs"  # noqa: S101  # `mneme run` has seen to it
        body = (await request.body()).decode("utf-8", "replace")
        now = self._app.clock()
        try:
            signed = signed_data(body, token.get_secret_value(), now)
            given = Pass(signed.user, now + timedelta(hours=HOURS), await self._access.member_since(signed.user))
            if not await self._is_valid(given):
                raise NotSigned("This bot is private.")
            self._require_new(signed, now)
        except NotSigned as error:
            return JSONResponse({"error": str(error)}, 403)
        return JSONResponse({"session": self._issue(given, now)})

    def _issue(self, given: Pass, now: datetime) -> str:
        """Keep a pass. Return the text that shows it."""
        self._passes = {text: one for text, one in self._passes.items() if one.until >= now}
        # a dict keeps its order: the first one is the oldest
        held = [text for text, one in self._passes.items() if one.user == given.user]
        for text in held[: max(0, len(held) + 1 - MAX_PASSES_PER_USER)]:
            del self._passes[text]
        text = secrets.token_urlsafe(32)
        self._passes[text] = given
        return text

    def _require_new(self, signed: SignedData, now: datetime) -> None:
        """Raises NotSigned for data that was shown before, which somebody may have read on its way."""
        # older data is refused by its date
        self._seen = {digest: at for digest, at in self._seen.items() if now - at <= MAX_DATA_AGE + MAX_CLOCK_AHEAD}
        if signed.digest in self._seen:
            raise NotSigned("This page was opened already: open it from the chat again.")
        self._seen[signed.digest] = now

    async def _is_valid(self, given: Pass) -> bool:
        """Return True if the user may write to the bot, by the settings or by the membership of the pass."""
        if given.user in self._app.settings.telegram_allowed_ids:
            return True
        return given.member_since is not None and given.member_since == await self._access.member_since(given.user)


def signed_data(init_data: str, bot_token: str, now: datetime) -> SignedData:
    """Check the data with which Telegram has opened a Mini App. Raises NotSigned."""
    try:
        pairs = parse_qsl(init_data, keep_blank_values=True, strict_parsing=True, max_num_fields=MAX_FIELDS)
        fields = dict(pairs)
        # the signed text has a line for each field: a name twice or a line break inside allows several readings of it
        is_plain = len(fields) == len(pairs) and "\n" not in "".join(itertools.chain(*pairs))
        # all other fields are signed, `signature` too (core.telegram.org/bots/webapps, validating data)
        shown = fields.pop("hash")
        key = hmac.new(b"WebAppData", bot_token.encode(), hashlib.sha256).digest()
        signed = "\n".join(f"{name}={value}" for name, value in sorted(fields.items())).encode()
        is_signed = hmac.compare_digest(hmac.new(key, signed, hashlib.sha256).hexdigest().encode(), shown.encode())
        if not is_plain or not is_signed:
            raise NotSigned("Telegram has not signed this.")
        at = datetime.fromtimestamp(int(fields["auth_date"]), UTC)
        user = _User.model_validate_json(fields["user"]).id
    except (ValueError, KeyError, OverflowError, OSError) as error:
        raise NotSigned("Telegram has not signed this.") from error
    if not -MAX_CLOCK_AHEAD <= now - at <= MAX_DATA_AGE:
        raise NotSigned("This page was opened too long ago: open it from the chat again.")
    return SignedData(user, hashlib.sha256(signed).hexdigest())
