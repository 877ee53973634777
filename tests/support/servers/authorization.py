"""An MCP server that needs a login, and its OAuth authorization server, on two ports.

The authorization server is strict: PKCE with S256, exact redirect addresses, codes for one use, the resource in each
request, and refresh tokens that are rotated. If an old refresh token is used again, the whole login ends. Access tokens
expire when the test says so, or after a number of uses.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import httpx

from tests.support.servers.web import Answer, Request, Streamed, WebServer

TOOL = {
    "name": "look",
    "description": "Look somewhere.",
    "inputSchema": {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]},
    "annotations": {"readOnlyHint": True},
}
Handler = Callable[[Request], Answer | Streamed]


@dataclass
class Client:
    """A registered program."""

    redirects: tuple[str, ...]
    secret: str | None = None


@dataclass
class Grant:
    """The permission of a user: a code until it is exchanged, then the tokens of a login."""

    client: str
    redirect: str
    challenge: str
    scope: str
    is_exchanged: bool = False
    is_revoked: bool = False
    access: str = ""
    refresh: str = ""
    uses_left: int | None = None


@dataclass
class Protected:
    """Both servers.

    Attributes:
        registers: Programs can register themselves.
        declines: The user declines each login.
        rotates: Each refresh returns a new refresh token.
        gives_refresh: Logins have a refresh token.
        expires_in: The lifetime that responses state, in seconds.
        max_uses: The number of requests after which an access token expires.
        secret_method: The method by which clients with a secret must authenticate.
        is_open_for_listing: Only tool calls need a token.
        issuer_in_redirect: Replaces the issuer in the address to which the browser is redirected.
        replaced: Handlers that replace the normal ones, by path.
        on_use: Called with each accepted token.
        refreshes: The number of requests with a refresh token, successful or not.
        agents: The user agents of all requests to the authorization server.
        calls: The values of `where` in tool calls.
        secrets: All tokens that were ever issued.
    """

    registers: bool = True
    declines: bool = False
    rotates: bool = True
    gives_refresh: bool = True
    expires_in: int | None = 3600
    max_uses: int | None = None
    secret_method: str = "client_secret_basic"
    is_open_for_listing: bool = False
    issuer_in_redirect: str | None = None
    replaced: dict[str, Handler] = field(default_factory=dict)
    on_use: Callable[[], None] = lambda: None
    refreshes: int = 0
    authorizations: list[dict[str, str]] = field(default_factory=list)
    registrations: list[dict[str, Any]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    clients: dict[str, Client] = field(default_factory=dict)
    codes: dict[str, Grant] = field(default_factory=dict)
    grants: list[Grant] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    former: dict[str, Grant] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self._resource_server = WebServer(self._serve_resource)
        self._issuer_server = WebServer(self._serve_issuer)

    @property
    def url(self) -> str:
        """The address of the MCP server."""
        return f"http://127.0.0.1:{self._resource_server.port}/mcp"

    @property
    def resource_metadata_url(self) -> str:
        return f"http://127.0.0.1:{self._resource_server.port}/.well-known/oauth-protected-resource/mcp"

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self._issuer_server.port}"

    async def start(self) -> None:
        await self._resource_server.start()
        await self._issuer_server.start()

    async def stop(self) -> None:
        await self._resource_server.stop()
        await self._issuer_server.stop()
        assert not self._resource_server.crashes
        assert not self._issuer_server.crashes

    async def stop_issuer(self) -> None:
        await self._issuer_server.stop()

    async def start_issuer(self) -> None:
        await self._issuer_server.start()

    def expire_access_tokens(self) -> None:
        for grant in self.grants:
            grant.uses_left = 0

    def revoke_all(self) -> None:
        for grant in self.grants:
            grant.is_revoked = True

    async def open_in_browser(self, address: str) -> str:
        """Open the address of a login, as a browser does, and return the address to which it is redirected."""
        async with httpx.AsyncClient(trust_env=False) as browser:
            response = await browser.get(address)
        assert response.status_code == 302, response.text
        return response.headers["location"]

    async def _serve_resource(self, request: Request) -> Answer | Streamed:
        path = request.target.partition("?")[0]
        self.seen.append(f"{request.method} {path}")
        if path in self.replaced:
            return self.replaced[path](request)
        if path == "/.well-known/oauth-protected-resource/mcp":
            return _json({"resource": self.url, "authorization_servers": [self.issuer], "scopes_supported": ["look"]})
        if path != "/mcp":
            return Answer(404, b"")
        grant = self._find_grant(request.header("authorization"))
        if grant is None and self.is_open_for_listing and b"tools/call" not in request.body:
            return self._answer_message(json.loads(request.body)) if request.method == "POST" else Answer(405, b"")
        if grant is None:
            challenge = f'Bearer resource_metadata="{self.resource_metadata_url}"'
            return Answer(401, b"who are you?", headers=(("WWW-Authenticate", challenge),))
        if grant.uses_left is not None:
            grant.uses_left -= 1
        self.on_use()
        if request.method != "POST":
            return Answer(405, b"")
        return self._answer_message(json.loads(request.body))

    def _find_grant(self, header: str) -> Grant | None:
        token = header.removeprefix("Bearer ")
        for grant in self.grants:
            if token and grant.access == token and not grant.is_revoked and grant.uses_left != 0:
                return grant
        return None

    def _answer_message(self, message: dict[str, Any]) -> Answer:
        if "id" not in message:
            return Answer(202, b"")
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        match message["method"]:
            case "initialize":
                version = message["params"]["protocolVersion"]
                about = {"name": "protected", "version": "1"}
                answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
            case "tools/list":
                answer["result"] = {"tools": [TOOL]}
            case "tools/call":
                where = message["params"]["arguments"]["where"]
                self.calls.append(where)
                text = f"At {where} there is a lighthouse."
                answer["result"] = {"content": [{"type": "text", "text": text}]}
            case "ping":
                answer["result"] = {}
            case _:
                answer["error"] = {"code": -32601, "message": "no such method"}
        return _json(answer)

    async def _serve_issuer(self, request: Request) -> Answer | Streamed:
        path, _, query = request.target.partition("?")
        self.agents.add(request.header("user-agent"))
        self.seen.append(f"{request.method} {path}")
        if path in self.replaced:
            return self.replaced[path](request)
        match request.method, path:
            case "GET", "/.well-known/oauth-authorization-server":
                return _json(self.describe_issuer())
            case "POST", "/register" if self.registers:
                return self._register(json.loads(request.body))
            case "GET", "/authorize":
                return self._authorize(_parse_form(query))
            case "POST", "/token":
                return self.issue_tokens(request)
        return Answer(404, b"")

    def describe_issuer(self) -> dict[str, Any]:
        """Return the metadata of the authorization server (RFC 8414)."""
        metadata: dict[str, Any] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", self.secret_method],
            "authorization_response_iss_parameter_supported": True,
        }
        return metadata | ({"registration_endpoint": f"{self.issuer}/register"} if self.registers else {})

    def _register(self, wanted: dict[str, Any]) -> Answer:
        redirects = tuple(wanted.get("redirect_uris", ()))
        hosts = {urlsplit(redirect).hostname for redirect in redirects}
        if hosts != {"127.0.0.1"}:
            return _json({"error": "invalid_redirect_uri"}, 400)
        self.registrations.append(wanted)
        client = f"client-{next(self._numbers)}"
        self.clients[client] = Client(redirects)
        return _json({**wanted, "client_id": client, "token_endpoint_auth_method": "none"}, 201)

    def _authorize(self, asked: Mapping[str, str]) -> Answer:
        client = self.clients.get(asked.get("client_id", ""))
        redirect = asked.get("redirect_uri", "")
        # Never redirected to an address that isn't registered.
        if client is None or redirect not in client.redirects:
            return Answer(400, b"unknown client or redirect address", "text/plain")
        if asked.get("response_type") != "code" or asked.get("code_challenge_method") != "S256":
            return self._redirect(redirect, asked, {"error": "invalid_request"})
        if asked.get("resource") != self.url or not asked.get("code_challenge"):
            return self._redirect(redirect, asked, {"error": "invalid_target"})
        self.authorizations.append(dict(asked))
        if self.declines:
            return self._redirect(redirect, asked, {"error": "access_denied"})
        code = f"code-{next(self._numbers)}"
        grant = Grant(asked["client_id"], redirect, asked["code_challenge"], asked.get("scope", ""))
        self.codes[code] = grant
        return self._redirect(redirect, asked, {"code": code})

    def _redirect(self, redirect: str, asked: Mapping[str, str], parameters: dict[str, str]) -> Answer:
        query = urlencode(parameters | {"state": asked.get("state", ""), "iss": self.issuer_in_redirect or self.issuer})
        return Answer(302, b"", headers=(("Location", f"{redirect}?{query}"),))

    def issue_tokens(self, request: Request) -> Answer:
        """Answer a request to the token endpoint."""
        form = _parse_form(request.body.decode())
        client_id, secret = self._read_client(request, form)
        client = self.clients.get(client_id)
        if client is None or client.secret != secret:
            return _json({"error": "invalid_client"}, 401)
        if form.get("resource") != self.url:
            return _json({"error": "invalid_target"}, 400)
        if form.get("grant_type") == "authorization_code":
            return self._exchange_code(client_id, form)
        if form.get("grant_type") == "refresh_token":
            return self._refresh(client_id, form)
        return _json({"error": "unsupported_grant_type"}, 400)

    def _read_client(self, request: Request, form: Mapping[str, str]) -> tuple[str, str | None]:
        header = request.header("authorization")
        if header.startswith("Basic ") and self.secret_method == "client_secret_basic":
            name, _, password = base64.b64decode(header.removeprefix("Basic ")).decode().partition(":")
            return unquote(name), unquote(password)
        secret = form.get("client_secret") if self.secret_method == "client_secret_post" else None
        return form.get("client_id", ""), secret

    def _exchange_code(self, client_id: str, form: Mapping[str, str]) -> Answer:
        grant = self.codes.get(form.get("code", ""))
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if grant is None or (grant.client, grant.redirect, grant.challenge) != (
            client_id,
            form.get("redirect_uri"),
            challenge,
        ):
            return _json({"error": "invalid_grant"}, 400)
        if grant.is_exchanged:
            grant.is_revoked = True
            return _json({"error": "invalid_grant"}, 400)
        grant.is_exchanged = True
        self.grants.append(grant)
        return self._issue(grant)

    def _refresh(self, client_id: str, form: Mapping[str, str]) -> Answer:
        self.refreshes += 1
        token = form.get("refresh_token", "")
        if (stolen := self.former.get(token)) is not None:
            stolen.is_revoked = True
        for grant in self.grants:
            if token and grant.refresh == token and grant.client == client_id and not grant.is_revoked:
                return self._issue(grant)
        return _json({"error": "invalid_grant"}, 400)

    def _issue(self, grant: Grant) -> Answer:
        answer: dict[str, object] = {"token_type": "bearer", "scope": grant.scope}
        if self.gives_refresh and (self.rotates or not grant.refresh):
            if grant.refresh:
                self.former[grant.refresh] = grant
            grant.refresh = f"refresh-token-{next(self._numbers)}"
            answer["refresh_token"] = grant.refresh
            self.secrets.append(grant.refresh)
        grant.access = f"access-token-{next(self._numbers)}"
        grant.uses_left = self.max_uses
        self.secrets.append(grant.access)
        answer["access_token"] = grant.access
        if self.expires_in is not None:
            answer["expires_in"] = self.expires_in
        return _json(answer)


def _parse_form(text: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(text, keep_blank_values=True).items()}


def _json(value: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value).encode())


@contextlib.asynccontextmanager
async def protected_server() -> AsyncIterator[Protected]:
    server = Protected()
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
