"""Who looks at the page: whoever opens the one-time link that the shell printed, and then the browser that did so.

A web page elsewhere can point a name of its own at 127.0.0.1, so a request counts only with the host that was served;
and since the cookie is sent to this site alone, and what changes something needs a header that no form can send, no
other page acts in the person's name.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

COOKIE = "mneme"
HEADER = "x-mneme"
"""Stands in each request that changes something."""
HOURS = 12
"""How long a browser stays let in."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class OneTimeLink:
    """A link that lets one browser in, once."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self._is_used = False

    def opens(self, token: str) -> str | None:
        """What the browser shows from then on; None for a wrong link, and for the right one the second time."""
        if self._is_used or not hmac.compare_digest(token.encode(), self.token.encode()):
            return None
        self._is_used = True
        return self._session

    def knows(self, shown: str | None) -> bool:
        """Whether it is the browser that was let in."""
        return self._is_used and shown is not None and hmac.compare_digest(shown.encode(), self._session.encode())

    async def enter(self, request: Request) -> Response:
        """What the link leads to: the page, with the cookie."""
        session = self.opens(request.path_params["token"])
        if session is None:
            return PlainTextResponse("This link was used already: run `mneme web` again for a new one.", 403)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, session, max_age=HOURS * 3600, httponly=True, samesite="strict", path="/")
        return answer


class Guard:
    """Lets through what comes from the browser that was let in; the rest is refused before it is read."""

    def __init__(self, app: ASGIApp, link: OneTimeLink, host: str) -> None:
        self._app = app
        self._link = link
        self._host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def safely(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                raw = [(name.encode(), value.encode()) for name, value in SAFE.items()]
                message["headers"] = [*message.get("headers", ()), *raw]  # type: ignore[misc]  # a list, by ASGI
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await JSONResponse({"error": refusal}, 403)(scope, receive, safely)  # type: ignore[arg-type]  # as ASGI has it
            return
        await self._app(scope, receive, safely)  # type: ignore[arg-type]  # as ASGI has it

    def _refusal(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        if headers.get("host") != self._host:
            return f"This page is served at {self._host} only."
        if scope["path"].startswith("/enter/"):
            return None
        cookies = dict(pair.strip().partition("=")[::2] for pair in headers.get("cookie", "").split(";"))
        if not self._link.knows(cookies.get(COOKIE)):
            return "Open the link that `mneme web` has printed."
        if scope["method"] not in ("GET", "HEAD") and headers.get(HEADER) != "1":
            return "This request does not come from the page."
        return None
