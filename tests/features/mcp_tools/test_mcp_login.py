"""Tests of `mneme mcp login` with the library's OAuth client against a strict authorization server over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot.features.mcp_tools import login as login_module
from bot.features.mcp_tools.config import HttpServer, OAuthClient
from bot.features.mcp_tools.login import LoginFailed, log_in
from bot.features.mcp_tools.oauth_flow import is_safe
from bot.features.mcp_tools.redirect import OTHER_STATE, WRONG_PASTE, Redirect, parse_redirect
from tests.support.fakes import FakeClock
from tests.support.logins import User, find_address, find_file, log_in_here, open_here
from tests.support.mcp_servers import Servers
from tests.support.servers.authorization import Client, Protected, protected_server
from tests.support.servers.web import Answer, Request, Streamed, drip
from tests.support.starter import run_mneme, start_mneme

ISSUER_METADATA = "/.well-known/oauth-authorization-server"
RESOURCE_METADATA = "/.well-known/oauth-protected-resource/mcp"


@pytest.fixture
async def server() -> AsyncIterator[Protected]:
    async with protected_server() as running:
        yield running


@pytest.fixture
def user() -> User:
    return User()


def replace_metadata(server: Protected, **fields: object) -> None:
    """Replace fields of the authorization server's metadata."""
    metadata = server.describe_issuer() | fields
    server.replaced[ISSUER_METADATA] = lambda _: Answer(200, json.dumps(metadata).encode())


async def start_login(server: Protected, user: User, data: Path) -> tuple[asyncio.Task[object], str]:
    """Start a login and return it with the address to open."""
    file = find_file(data, server)
    login = asyncio.create_task(log_in("calendar", HttpServer(server.url), file, FakeClock(), user.terminal))
    return login, await user.waits_for_address()


async def fail_login(server: Protected, data: Path) -> str:
    """Log in, which must fail, and return the sentence. Nothing may be stored."""
    with pytest.raises(LoginFailed) as failure:
        await log_in_here(server, data)
    assert find_file(data).read() is None
    text = str(failure.value)
    assert text.endswith(".")
    assert len(text.splitlines()) == 1
    return text


async def test_login_with_browser_on_this_machine_stores_tokens(server: Protected, tmp_path: Path) -> None:
    clock = FakeClock()
    login = await log_in_here(server, tmp_path, clock=clock)
    file = find_file(tmp_path, server)
    assert file.read() == login
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert login.access_token == server.grants[0].access
    assert login.refresh_token == server.grants[0].refresh
    assert login.token_url == f"{server.issuer}/token"
    assert login.expires_at is not None
    assert (login.expires_at - clock()).total_seconds() == 3600
    assert server.registrations[0]["client_name"] == "Mneme"
    assert "" not in server.agents
    assert not any(secret in repr(login) for secret in server.secrets)


async def test_login_at_server_with_event_stream_is_stored(server: Protected, user: User, tmp_path: Path) -> None:
    http = HttpServer(server.url, sse=True)
    login = asyncio.create_task(log_in("calendar", http, find_file(tmp_path, server), FakeClock(), user.terminal))
    await open_here(await server.open_in_browser(await user.waits_for_address()))
    assert (await login).access_token == server.grants[0].access


async def test_login_with_pasted_address_ignores_wrong_ones(server: Protected, user: User, tmp_path: Path) -> None:
    login, address = await start_login(server, user, tmp_path)
    final = await server.open_in_browser(address)
    for wrong, complaint in ((address, WRONG_PASTE), (final.replace("state=", "state=x"), OTHER_STATE)):
        user.enters(wrong)
        await user.waits_for_text(complaint)
        assert not login.done()
    user.enters(f"  <{final}> ")
    await login
    assert find_file(tmp_path, server).read() is not None
    assert not any(secret in text for text in user.shown for secret in server.secrets)


async def test_listener_ignores_other_states_and_paths(server: Protected, user: User, tmp_path: Path) -> None:
    login, address = await start_login(server, user, tmp_path)
    final = await server.open_in_browser(address)
    assert (await open_here(final.replace("state=", "state=x"))).status_code == 400
    assert (await open_here(final.replace("/callback", "/other"))).status_code == 404
    assert (await open_here(final.partition("?")[0])).status_code == 404
    assert not login.done()
    assert (await open_here(final)).status_code == 200
    await login


async def test_login_declined_in_the_browser_is_one_sentence(server: Protected, tmp_path: Path) -> None:
    server.declines = True
    assert await fail_login(server, tmp_path) == (
        "The login was declined in the browser: run the command again to allow it."
    )


async def test_input_that_ends_after_wrong_paste_ends_login(server: Protected, user: User, tmp_path: Path) -> None:
    login, _ = await start_login(server, user, tmp_path)
    user.enters("code-17")
    user.enters(None)
    with pytest.raises(LoginFailed, match="The input has ended without the address"):
        await login


async def test_login_completes_if_nothing_can_be_pasted(server: Protected, user: User, tmp_path: Path) -> None:
    user.enters(None)
    login, address = await start_login(server, user, tmp_path)
    await open_here(await server.open_in_browser(address))
    await login


async def test_code_for_another_redirect_or_verifier_is_refused(server: Protected, tmp_path: Path) -> None:
    """Show that the authorization server of these tests is strict."""
    login = await log_in_here(server, tmp_path)
    code = next(iter(server.codes))
    form = {"grant_type": "authorization_code", "code": code, "client_id": login.client_id, "resource": server.url}
    body = "&".join(f"{name}={value}" for name, value in form.items()).encode()
    assert server.issue_tokens(Request("/token", "", body, method="POST")).status == 400
    assert server.issue_tokens(Request("/token", "", body, method="POST")).body == b'{"error": "invalid_grant"}'


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_server_without_registration_needs_a_client_id(server: Protected, tmp_path: Path, method: str) -> None:
    server.registers, server.secret_method = False, method
    sentence = await fail_login(server, tmp_path)
    assert "doesn't let programs register themselves: register one there, and add its clientId" in sentence
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server.clients["mine"] = Client((f"http://127.0.0.1:{port}/callback",), "s3cret/+")
    oauth = OAuthClient("mine", "s3cret/+", port, ("look", "book"))
    login = await log_in_here(server, tmp_path, oauth=oauth)
    assert (login.client_id, login.client_auth) == ("mine", method)
    assert server.authorizations[-1]["scope"] == "look book"


async def test_login_reports_a_callback_port_in_use(server: Protected, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(LoginFailed, match=f"Port {port} can't be used"):
            await log_in_here(server, tmp_path, oauth=OAuthClient(callback_port=port))


def refuse(_: Request) -> Answer:
    return Answer(503, b"secret text of the server")


def forbid(_: Request) -> Answer:
    return Answer(403, b"{}")


def require_key(_: Request) -> Answer:
    return Answer(401, b"a key is missing")


def allow(_: Request) -> Answer:
    return Answer(400, b"{}")


def move(_: Request) -> Answer:
    return Answer(307, b"", headers=(("Location", "http://127.0.0.1:9/elsewhere"),))


@pytest.mark.parametrize(
    ("path", "handler", "sentence"),
    [
        ("/mcp", refuse, "{host} returned error 503: check the url of calendar."),
        ("/mcp", move, "{host} redirects to another address: correct the url of calendar."),
        ("/register", forbid, "127.0.0.1 refused to register this program (error 403): register one there"),
        ("/token", forbid, "127.0.0.1 refuses the login (error 403): run the command again."),
        (RESOURCE_METADATA, refuse, "127.0.0.1 returned error 404 instead of its login data"),
    ],
)
async def test_login_at_failing_server_is_one_sentence(
    server: Protected, tmp_path: Path, path: str, handler: Callable[[Request], Answer], sentence: str
) -> None:
    server.replaced[path] = handler
    host = server.url.removeprefix("http://").partition("/")[0]
    assert (await fail_login(server, tmp_path)).startswith(sentence.format(host=host))


@pytest.mark.parametrize("handler", [allow, lambda _: Answer(200, b"{}")], ids=["400", "200"])
async def test_login_at_open_server_is_one_sentence(
    server: Protected, tmp_path: Path, handler: Callable[[Request], Answer]
) -> None:
    server.replaced |= {"/mcp": handler, RESOURCE_METADATA: forbid}
    assert (await fail_login(server, tmp_path)).startswith("calendar works without a login: 127.0.0.1:")
    assert "POST /register" not in server.seen


async def test_server_with_keys_only_offers_no_login(server: Protected, tmp_path: Path) -> None:
    server.replaced |= {"/mcp": require_key, RESOURCE_METADATA: allow, "/.well-known/oauth-protected-resource": allow}
    server.registers = False
    assert "returned error 401, but offers no login: set its headers" in await fail_login(server, tmp_path)


async def test_login_without_network_is_one_sentence(server: Protected, tmp_path: Path) -> None:
    await server.stop_issuer()
    assert await fail_login(server, tmp_path) == (
        "127.0.0.1 can't be reached: check the network and the url of calendar."
    )


async def test_login_that_takes_too_long_is_ended(
    server: Protected, user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_module, "USER_TIMEOUT_SECONDS", 0.01)
    login, _ = await start_login(server, user, tmp_path)
    with pytest.raises(LoginFailed, match="There was no login within"):
        await login


async def flood() -> AsyncIterator[bytes | None]:
    for _ in range(100):
        yield b" " * 1_000_000


@pytest.mark.parametrize("path", [RESOURCE_METADATA, ISSUER_METADATA, "/register", "/token"])
async def test_slow_answers_in_a_login_are_ended(
    server: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(login_module, "NETWORK_TIMEOUT_SECONDS", 0.3)
    server.replaced[path] = lambda _: Streamed(drip(), "application/json")
    assert (await fail_login(server, tmp_path)).startswith("127.0.0.1 didn't answer within 0.3 seconds")


@pytest.mark.parametrize("path", [RESOURCE_METADATA, ISSUER_METADATA, "/register", "/token"])
async def test_huge_answers_in_a_login_are_refused(server: Protected, tmp_path: Path, path: str) -> None:
    server.replaced[path] = lambda _: Streamed(flood(), "application/json")
    assert await fail_login(server, tmp_path) == "127.0.0.1 sends more than 8 MB: this is no server for logins."


@pytest.mark.parametrize("path", [RESOURCE_METADATA, ISSUER_METADATA, "/register", "/token"])
async def test_redirects_in_a_login_are_not_followed(server: Protected, tmp_path: Path, path: str) -> None:
    async with protected_server() as other:
        target = f"{other.issuer}/register"
        server.replaced[path] = lambda _: Answer(307, b"", headers=(("Location", target),))
        await fail_login(server, tmp_path)
        assert other.seen == []


@pytest.mark.parametrize("endpoint", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
async def test_endpoint_without_encryption_is_refused(server: Protected, tmp_path: Path, endpoint: str) -> None:
    replace_metadata(server, **{endpoint: "http://192.0.2.1/x"})
    assert "wants to send the login to 192.0.2.1 without encryption" in await fail_login(server, tmp_path)


async def test_control_characters_in_addresses_are_not_shown(server: Protected, user: User, tmp_path: Path) -> None:
    replace_metadata(server, authorization_endpoint=f"{server.issuer}/a\x1b[2J\u202e?x=\x1b[2J&y=\n")
    login, _ = await start_login(server, user, tmp_path)
    assert all(line.isprintable() for line in user.shown[0].splitlines())
    login.cancel()
    await asyncio.wait([login])


@pytest.mark.parametrize("field", ["issuer", "resource", "iss"])
async def test_metadata_of_another_server_is_refused(server: Protected, tmp_path: Path, field: str) -> None:
    if field == "issuer":
        replace_metadata(server, issuer="https://accounts.example.com")
        sentence = "contradicts itself"
    elif field == "resource":
        other = {"resource": "https://bank.example.com/mcp", "authorization_servers": [server.issuer]}
        server.replaced[RESOURCE_METADATA] = lambda _: Answer(200, json.dumps(other).encode())
        sentence = "contradicts itself"
    else:
        server.issuer_in_redirect = "https://accounts.example.com"
        sentence = "came from another service"
    assert sentence in await fail_login(server, tmp_path)
    assert "example.com" not in await fail_login(server, tmp_path)
    assert not server.grants


@pytest.mark.parametrize(("advertised", "own"), [("/", ""), ("", "/"), ("/tenant/", "/tenant")])
async def test_slash_at_the_end_of_an_issuer_is_tolerated(
    server: Protected, tmp_path: Path, advertised: str, own: str
) -> None:
    """Google's and JumpCloud's servers spell the issuer differently in their two documents."""
    resource = {"resource": server.url, "authorization_servers": [f"{server.issuer}{advertised}"]}
    server.replaced[RESOURCE_METADATA] = lambda _: Answer(200, json.dumps(resource).encode())
    metadata = json.dumps(server.describe_issuer() | {"issuer": f"{server.issuer}{own}"}).encode()
    server.issuer_in_redirect = f"{server.issuer}{own}"
    server.replaced[f"{ISSUER_METADATA}{own.rstrip('/')}"] = lambda _: Answer(200, metadata)
    await log_in_here(server, tmp_path)
    assert len(server.grants) == 1


async def test_login_is_possible_where_only_calls_need_it(server: Protected, tmp_path: Path) -> None:
    server.is_open_for_listing = True
    await log_in_here(server, tmp_path)
    assert find_file(tmp_path, server).read() is not None


async def test_login_without_encryption_sends_nothing(user: User, tmp_path: Path) -> None:
    server = HttpServer("http://mcp.example.com/mcp")
    with pytest.raises(LoginFailed, match=r"mcp\.example\.com is not encrypted"):
        await log_in("calendar", server, find_file(tmp_path), FakeClock(), user.terminal)


@pytest.mark.parametrize(
    ("address", "server", "expected"),
    [
        ("https://accounts.example.com/token", "https://mcp.example.com/mcp", True),
        ("http://accounts.example.com/token", "https://mcp.example.com/mcp", False),
        ("http://localhost:8080/token", "https://mcp.example.com/mcp", False),
        ("https://127.0.0.1/token", "https://mcp.example.com/mcp", False),
        ("http://[::1]:8080/token", "http://localhost:9000/mcp", True),
        ("http://192.0.2.1/token", "http://localhost:9000/mcp", False),
        ("ftp://localhost/token", "http://localhost:9000/mcp", False),
    ],
)
def test_login_is_sent_only_to_safe_addresses(address: str, server: str, expected: bool) -> None:
    assert is_safe(address, HttpServer(server)) is expected


@pytest.mark.parametrize(
    ("address", "redirect"),
    [
        ("http://127.0.0.1:5/callback?code=a&state=b", Redirect("a", None, "b", None)),
        ("127.0.0.1:5/callback?code=a%2F&state=b&iss=https://x#_", Redirect("a/", None, "b", "https://x")),
        ('"http://127.0.0.1:5/callback?code=a&\n  state=b"', Redirect("a", None, "b", None)),
        ("http://127.0.0.1:5/callback?error=access_denied&state=b", Redirect(None, "access_denied", "b", None)),
        ("http://127.0.0.1:5/callback?state=b", None),
        ("http://127.0.0.1:5/callback", None),
        ("a", None),
        ("http://127.0.0.1:5/callback?code=" + "a" * 20_000, None),
    ],
)
def test_redirect_is_parsed_from_what_people_paste(address: str, redirect: Redirect | None) -> None:
    assert parse_redirect(address) == redirect


@pytest.fixture
def entry(tmp_path: Path) -> Servers:
    (tmp_path / "data").mkdir(mode=0o700)
    return Servers(tmp_path / "data")


@pytest.mark.parametrize("pasted", [False, True], ids=["here", "pasted"])
async def test_login_command_stores_login_and_logout_deletes_it(
    server: Protected, entry: Servers, tmp_path: Path, pasted: bool
) -> None:
    entry(calendar={"url": server.url})
    near, far = socket.socketpair()
    environment = os.environ | {"LOG_LEVEL": "debug"}
    program = await start_mneme("mcp", "login", "calendar", environment=environment, file=far.fileno(), folder=tmp_path)
    far.close()
    reader, writer = await asyncio.open_connection(sock=near)
    output = await reader.readuntil(b"paste it here.\n")
    final = await server.open_in_browser(find_address(output.decode()))
    if pasted:
        writer.write(f"{final}\n".encode())
    else:
        await open_here(final)
    output += await reader.read()
    assert await program.wait() == 0
    assert b"You are logged in at 127.0.0.1" in output
    assert not any(secret.encode() in output for secret in server.secrets)
    writer.close()
    assert find_file(tmp_path / "data", server).read() is not None
    assert "logged in" in (await run("list"))[1]
    server.expire_access_tokens()
    status, out, err = await run("test", "calendar", LOG_LEVEL="debug")
    assert status == 0
    assert "calendar works, with 1 tool" in out
    assert "mcp_login_renewed" in err
    assert not any(secret in out + err for secret in server.secrets)
    assert "was deleted here" in (await run("logout", "calendar"))[1]
    assert list(find_file(tmp_path / "data").path.parent.glob("*.json")) == []
    assert await run("logout", "calendar") == (1, "", "mneme: There is no login at calendar.\n")
    status, out, _ = await run("test", "calendar")
    assert (status, out) == (1, "calendar: It needs a login: run `mneme mcp login calendar`.\n")


async def run(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """Run `mneme mcp` while the servers of the test answer it."""
    return await asyncio.to_thread(run_mneme, "mcp", *arguments, environment=os.environ | environment)


@pytest.mark.parametrize(
    ("config", "name", "complaint"),
    [
        ({"url": "https://x.example", "headers": {"authorization": "Bearer x"}}, "a", "has a password or an Author"),
        ({"url": "https://ann:pw@x.example"}, "a", "has a password or an Authorization header"),
        ({"command": "x"}, "a", "is a program on this machine, so it needs no login."),
        ({"url": "https://x.example"}, "b", "b is not in"),
        ({"url": "https://x.example", "oauth": {"callbackPort": 0}}, "a", "oauth is missing or of the wrong kind"),
    ],
)
def test_login_command_with_unfit_entry_is_one_sentence(
    entry: Servers, config: dict[str, object], name: str, complaint: str
) -> None:
    entry(a=config)
    status, out, err = run_mneme("mcp", "login", name, environment=os.environ)
    assert (status, out) == (1, "")
    assert complaint in err
    assert len(err.splitlines()) == 1


def test_client_of_a_login_is_added_by_the_command(entry: Servers) -> None:
    options = ("--client-id", "mine", "--client-secret", "${SECRET}", "--callback-port", "8123")
    status, _, err = run_mneme("mcp", "add", "a", "--url", "https://x.example", *options, environment=os.environ)
    assert (status, err) == (0, "")
    assert json.loads(entry.path.read_text())["mcpServers"]["a"]["oauth"] == {
        "clientId": "mine",
        "clientSecret": "${SECRET}",
        "callbackPort": 8123,
    }
