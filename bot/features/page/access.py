"""Access to the memory page, checked before a request is read.

On this machine access belongs to the browser that opened the one-time link, in Telegram to the user in the Mini App's
signed data (mini_app.py). Other web pages can point their domain at 127.0.0.1, so a request must name a host that is
served. Requests for data also need a header that forms and other sites can't send.
"""

from __future__ import annotations

import hmac
import html
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Protocol

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.features.page.data import PageData
from bot.web.limits import admit, allow_body
from config.texts import _, use_language

COOKIE = "mneme"
"""Start of the cookie's name. The port follows."""
HEADER = "x-mneme"
PASS_HOURS = 12
POLICY = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors {frames}"
)
MAX_VISITOR_BODY_BYTES = 4_000_000
"""Maximum size of a request that changes something, such as the notes file. Imports may be larger."""
SAFE = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-store"}


STYLE = "/page.css"


@cache
def read_static_page(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def refuse(reason: str, headers: Headers) -> Response:
    """Return the reason as a page for browsers, and as JSON for scripts.

    Args:
        reason: A sentence, with commands in backticks.
    """
    if "text/html" not in headers.get("accept", ""):
        return JSONResponse({"error": reason}, 403)
    marked = re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(reason, quote=False))
    return HTMLResponse(read_static_page("refused.html").replace("{reason}", marked), 403)


@dataclass(frozen=True, slots=True)
class Visitor:
    data: PageData
    language: str


class Visitors(Protocol):
    """Identifies the visitors of the page.

    Attributes:
        hosts: the hosts at which the page is served.
        scripts: origins of external scripts that the page may run.
        frames: origins that may embed the page.
        is_open: whether the page without data is public.
        refusal: the text for requests without access.
    """

    hosts: frozenset[str]
    scripts: str
    frames: str
    is_open: bool
    refusal: str

    @property
    def routes(self) -> Sequence[Route]:
        """Return the routes through which visitors get access."""

    async def identify(self, headers: Headers) -> Visitor | None:
        """Return the visitor who sent a request, or None without access."""


class OneTimeLink:
    """Gives one browser access for PASS_HOURS, through a link that works once."""

    scripts, frames, is_open = "", "'none'", False
    refusal = "Open the link that `mneme web` has printed, or run it again for a new one."

    def __init__(self, visitor: Visitor, host: str) -> None:
        self.hosts = frozenset({host})
        self.url = f"http://{host}/enter/{secrets.token_urlsafe(32)}"
        # Browsers send cookies to all ports of a host, so the cookie's name contains the port
        self._cookie = f"{COOKIE}-{host.rpartition(':')[2]}"
        self._visitor = visitor
        self._session = secrets.token_urlsafe(32)
        self._until: datetime | None = None

    @property
    def routes(self) -> Sequence[Route]:
        return [Route("/enter/{token}", self._enter)]

    async def identify(self, headers: Headers) -> Visitor | None:
        cookies = dict(pair.strip().partition("=")[::2] for pair in headers.get("cookie", "").split(";"))
        session = cookies.get(self._cookie, "")
        is_open = self._until is not None and self._visitor.data.clock() <= self._until
        return self._visitor if is_open and hmac.compare_digest(session.encode(), self._session.encode()) else None

    async def _enter(self, request: Request) -> Response:
        token = self.url.rpartition("/")[2]
        if self._until is not None or not hmac.compare_digest(request.path_params["token"].encode(), token.encode()):
            return refuse("This link was used already: run `mneme web` again for a new one.", request.headers)
        if request.method == "HEAD":  # A link preview must not use the link up
            return PlainTextResponse("")
        self._until = self._visitor.data.clock() + timedelta(hours=PASS_HOURS)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._cookie, self._session, max_age=PASS_HOURS * 3600, httponly=True, samesite="strict", path="/"
        )
        return answer


class Guard:
    """ASGI middleware that refuses requests without access before they are read."""

    def __init__(self, app: ASGIApp, visitors: Visitors) -> None:
        self._app = app
        self._visitors = visitors
        policy = POLICY.format(scripts=visitors.scripts, frames=visitors.frames)
        self._headers = [(name.encode(), value.encode()) for name, value in SAFE.items()]
        self._headers.append((b"content-security-policy", policy.encode()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self._headers]
            await send(message)

        refusal = await self._find_refusal(scope)
        if refusal is not None:
            await refuse(refusal, Headers(scope=scope))(scope, receive, send_with_headers)
            return
        visitor: Visitor | None = scope["state"].get("visitor")
        if visitor is not None:
            if not admit(scope, visitor.data.owner):
                with use_language(visitor.language):
                    answer = JSONResponse({"error": _("You sent too many requests at once. Please try again.")}, 429)
                await answer(scope, receive, send_with_headers)
                return
            allow_body(scope, MAX_VISITOR_BODY_BYTES)
        await self._app(scope, receive, send_with_headers)

    async def _find_refusal(self, scope: Scope) -> str | None:
        headers, path = Headers(scope=scope), scope["path"].removeprefix(scope.get("root_path", ""))
        if headers.get("host") not in self._visitors.hosts:
            return "This page is not served under that name."
        # Entering needs no pass, nor does the style of a refusal. In Telegram the page without data has to load first
        if path.startswith("/enter") or path == STYLE or (self._visitors.is_open and not path.startswith("/api/")):
            return None
        visitor = await self._visitors.identify(headers)
        if visitor is None:
            return self._visitors.refusal
        if path.startswith("/api/") and not headers.get(HEADER):
            return "This request does not come from the page."
        scope.setdefault("state", {})["visitor"] = visitor
        return None
