"""Tests of logins in a running bot: renewal, rotation, other processes, and logins that have ended."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.doctor.finding import DoctorContext
from bot.features.mcp_tools import feature, renewal
from bot.features.mcp_tools.bounds import ByteLimiter
from bot.features.mcp_tools.check import LOG_IN, check_tools
from bot.features.mcp_tools.http import TokenAuth, create_client
from bot.features.mcp_tools.logins import LoginFile, compute_expiry
from bot.features.mcp_tools.renewal import LOGIN_ENDED, NEEDS_LOGIN, NOT_RENEWED, LoginRenewer
from bot.kernel import App
from memory.clock import system_clock
from memory.files import markdown
from memory.store.integrity import inspect_database
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_mcp_tools
from tests.support.logins import find_file, log_in_here
from tests.support.mcp_servers import Servers, call_tools, list_offered_tools, wait_until
from tests.support.servers.authorization import Protected, protected_server
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says
from tests.support.servers.web import Answer, Request, Streamed, drip
from tests.support.serving import ANN, list_texts, serving, wait_for_text
from tests.support.starter import run_mneme

LOOK = ("calendar__look", {"where": "the pier"})
SEEN = "At the pier there is a lighthouse."
ROOT = Path(__file__).parents[3]


@pytest.fixture
async def server() -> AsyncIterator[Protected]:
    async with protected_server() as running:
        yield running


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def config(server: Protected, tmp_path: Path) -> str:
    """Return the path of a configuration with the server."""
    return Servers(tmp_path)(calendar={"url": server.url})


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "POLL_INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr(feature, "REPORT_INTERVAL_SECONDS", 0.05)


def create_renewer(file: LoginFile, clock: FakeClock) -> LoginRenewer:
    return LoginRenewer("calendar", file, clock, lambda: None)


def fill_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


def has_text(telegram: BotApiServer, text: str, times: int) -> bool:
    return sum(text in message for message in list_texts(telegram)) == times


def find_trouble(app: App) -> str | None:
    (state,) = find_mcp_tools(app).list_states()
    return None if state.trouble is None else state.trouble.text


async def test_login_made_while_the_bot_runs_is_used(
    start: OpenApp, model: ModelServer, server: Protected, data: Path, config: str, clock: FakeClock
) -> None:
    async with start(mcp_config=config) as app:
        person = Person(app)
        await wait_until(lambda: find_trouble(app) == NEEDS_LOGIN)
        assert "calendar: It needs a login: run `mneme mcp login calendar`." in await person.says("/status")
        await log_in_here(server, data, clock=clock)
        await wait_until(lambda: find_trouble(app) is None)
        assert await call_tools(person, model, LOOK) == [SEEN]
        assert server.refreshes == 0
        find_file(data).remove()
        (answer,) = await call_tools(person, model, LOOK)
        assert answer == (
            "error: the owner of the bot must run `mneme mcp login calendar` on its machine: go on without this tool, "
            "and say so"
        )


async def test_login_needed_only_for_calls_is_requested_by_one(
    start: OpenApp, model: ModelServer, server: Protected, data: Path, config: str, clock: FakeClock
) -> None:
    server.is_open_for_listing = True
    async with start(mcp_config=config) as app:
        person = Person(app)
        await wait_until(lambda: find_trouble(app) is None)
        (answer,) = await call_tools(person, model, LOOK)
        assert "must run `mneme mcp login calendar`" in answer
        await log_in_here(server, data, clock=clock)
        await wait_until(lambda: find_trouble(app) is None)
        assert await call_tools(person, model, LOOK) == [SEEN]


async def test_expired_token_is_renewed_without_the_user(
    start: OpenApp, model: ModelServer, server: Protected, data: Path, config: str, clock: FakeClock
) -> None:
    former = await log_in_here(server, data, clock=clock)
    async with start(mcp_config=config) as app:
        person = Person(app)
        for times in (1, 2):
            server.expire_access_tokens()
            assert await call_tools(person, model, LOOK) == [SEEN]
            assert server.refreshes == times
        clock.forward(seconds=3_600)
        assert await call_tools(person, model, LOOK) == [SEEN]
        assert server.refreshes == 3
    stored = find_file(data, server).read()
    assert stored is not None
    assert stored.refresh_token == server.grants[0].refresh != former.refresh_token
    assert stat.S_IMODE(find_file(data).path.stat().st_mode) == 0o600


async def test_rotated_token_is_stored_before_it_is_used(server: Protected, data: Path, clock: FakeClock) -> None:
    server.max_uses = 1
    await log_in_here(server, data, clock=clock)
    stored_at_use: list[str | None] = []

    def look_at_file() -> None:
        stored = find_file(data).read()
        stored_at_use.append(stored.access_token if stored is not None else None)

    server.on_use = look_at_file
    tokens = TokenAuth(create_renewer(find_file(data, server), clock))
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with create_client(ByteLimiter(lambda: None), lambda _: None, auth=tokens) as http:
        for times in range(5):
            assert (await http.post(server.url, json=ping)).status_code == 200
            assert stored_at_use[times:] == [server.grants[0].access]
    assert server.refreshes == 5


async def test_server_without_rotation_keeps_the_refresh_token(server: Protected, data: Path, clock: FakeClock) -> None:
    server.rotates = False
    login = await log_in_here(server, data, clock=clock)
    file = find_file(data, server)
    assert await create_renewer(file, clock).replace_token(login.access_token, "") == server.grants[0].access
    stored = file.read()
    assert stored is not None
    assert stored.refresh_token == login.refresh_token


async def test_owner_is_told_once_that_a_login_has_ended(
    start: OpenApp, model: ModelServer, server: Protected, data: Path, config: str, telegram: BotApiServer
) -> None:
    clock = FakeClock()
    await log_in_here(server, data, clock=clock)
    serve = serving(start, telegram)
    told = "I can't use the tools of calendar any more, because my login there has ended."
    async with serve(mcp_config=config) as app:
        telegram.user_says("Hello", chat_id=ANN)
        await wait_for_text(telegram, "You said: Hello")
        await wait_until(lambda: find_trouble(app) is None)
        server.revoke_all()
        (answer,) = await call_tools(Person(app), model, LOOK)
        assert "`mneme mcp login calendar`" in answer
        await wait_for_text(telegram, told)
        telegram.user_says("Are you there?", chat_id=ANN)
        await wait_for_text(telegram, "You said: Are you there?")
        assert list_offered_tools(model) == []
    refreshes = server.refreshes
    async with serve(mcp_config=config) as app:
        await wait_until(lambda: find_trouble(app) == LOGIN_ENDED)
        stored = find_file(data).read()
        assert stored is not None
        assert stored.is_owner_told
        assert server.refreshes == refreshes  # A refused token is not sent again.
        await log_in_here(server, data, clock=clock)
        await wait_until(lambda: find_trouble(app) is None)
        assert await call_tools(Person(app), model, LOOK) == [SEEN]
        for times in (2, 3):
            await log_in_here(server, data, clock=clock)
            await wait_until(lambda: find_trouble(app) is None)
            server.revoke_all()
            await call_tools(Person(app), model, LOOK)
            await telegram.wait_for(partial(has_text, telegram, told, times))


async def test_owner_is_told_once_even_if_that_can_not_be_stored(
    server: Protected, data: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = await log_in_here(server, data, clock=clock)
    running = create_renewer(find_file(data, server), clock)
    server.revoke_all()
    assert await running.replace_token(login.access_token, "") is None
    assert await running.should_tell_owner()
    monkeypatch.setattr(markdown, "write_atomically", fill_disk)
    with pytest.raises(OSError, match="No space left"):
        await running.record_owner_told()
    assert not await running.should_tell_owner()


async def test_login_without_refresh_token_ends_with_its_token(server: Protected, data: Path, clock: FakeClock) -> None:
    server.gives_refresh = False
    login = await log_in_here(server, data, clock=clock)
    running = create_renewer(find_file(data, server), clock)
    assert await running.get_token() == login.access_token
    assert await running.replace_token(login.access_token, "") is None
    assert running.trouble is not None
    assert running.trouble.text == LOGIN_ENDED
    assert await running.should_tell_owner()


@pytest.mark.parametrize(
    ("expires_in", "expires_at"),
    [
        *((one, "2026-02-07 12:16") for one in (60, "60", 60.5)),
        *((odd, None) for odd in (None, -1, 10**30, 10**400, float("inf"), float("nan"), "soon", ())),
    ],
)
def test_odd_lifetime_of_a_token_is_ignored(clock: FakeClock, expires_in: object, expires_at: str | None) -> None:
    computed = compute_expiry(clock(), expires_in)
    assert (None if computed is None else f"{computed:%Y-%m-%d %H:%M}") == expires_at


async def test_renewal_with_odd_lifetime_keeps_the_tokens(server: Protected, data: Path, clock: FakeClock) -> None:
    login = await log_in_here(server, data, clock=clock)
    odd = {"access_token": "a", "refresh_token": "b", "expires_in": "soon", "scope": 7}
    server.replaced["/token"] = lambda _: Answer(200, json.dumps(odd).encode())
    file = find_file(data, server)
    assert await create_renewer(file, clock).replace_token(login.access_token, "") == "a"
    stored = file.read()
    assert stored is not None
    assert (stored.refresh_token, stored.expires_at) == ("b", None)


@pytest.mark.parametrize("failure", ["stopped", "error", "nonsense", "redirect", "unusable", "endless"])
async def test_failing_authorization_server_does_not_end_login(
    server: Protected, data: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    login = await log_in_here(server, data, clock=clock)
    running = create_renewer(find_file(data, server), clock)

    answers = {
        "error": Answer(503, b'{"error": "invalid_grant"}'),
        "nonsense": Answer(200, b"<html>invalid_grant</html>", "text/html"),
        "unusable": Answer(200, json.dumps({"access_token": "a\r\nX: y"}).encode()),
        "redirect": Answer(307, b"", headers=(("Location", f"{server.issuer}/other"),)),
    }
    if failure == "stopped":
        await server.stop_issuer()
    elif failure == "endless":
        server.replaced["/token"] = lambda _: Streamed(drip(), "application/json")
    else:
        server.replaced["/token"] = lambda _: answers[failure]
    with monkeypatch.context() as brief:
        brief.setattr(renewal, "RENEWAL_TIMEOUT_SECONDS", 0.3)
        assert await running.replace_token(login.access_token, "") is None
        assert running.trouble is not None
        assert running.trouble.text == NOT_RENEWED
        # An expired token is still sent, since the clocks may be wrong.
        clock.forward(days=1)
        assert await running.get_token() == login.access_token
    server.replaced.clear()
    if failure == "stopped":
        await server.start_issuer()
    assert await running.get_token() == server.grants[0].access


async def test_token_endpoint_is_asked_once_for_all_requests(server: Protected, data: Path, clock: FakeClock) -> None:
    login = await log_in_here(server, data, clock=clock)
    running = create_renewer(find_file(data, server), clock)
    tokens = await asyncio.gather(*(running.replace_token(login.access_token, "") for _ in range(10)))
    assert set(tokens) == {server.grants[0].access}
    assert server.refreshes == 1


async def test_cancelled_request_does_not_lose_the_new_token(server: Protected, data: Path, clock: FakeClock) -> None:
    login = await log_in_here(server, data, clock=clock)
    file = find_file(data, server)
    running = create_renewer(file, clock)
    released = asyncio.Event()

    def hold(request: Request) -> Streamed:
        answer = server.issue_tokens(request)

        async def send_late() -> AsyncIterator[bytes | None]:
            await released.wait()
            yield answer.body

        return Streamed(send_late(), "application/json")

    server.replaced["/token"] = hold
    request = asyncio.create_task(running.replace_token(login.access_token, ""))
    await wait_until(lambda: server.refreshes)
    request.cancel()
    await asyncio.wait([request])
    closing = asyncio.create_task(running.close())
    released.set()
    await closing
    stored = file.read()
    assert stored is not None
    assert stored.refresh_token == server.grants[0].refresh != login.refresh_token


async def test_token_rejected_right_after_renewal_is_renewed_only_once(
    start: OpenApp, server: Protected, data: Path, config: str, clock: FakeClock
) -> None:
    await log_in_here(server, data, clock=clock)
    server.max_uses = 0
    server.expire_access_tokens()
    async with start(mcp_config=config) as app:
        await wait_until(lambda: find_trouble(app) == NEEDS_LOGIN)
        tried = len(server.seen)
        await wait_until(lambda: len(server.seen) > tried)  # The next attempt to connect
        await wait_until(lambda: find_trouble(app) == NEEDS_LOGIN)
    assert server.refreshes == 1


RENEW = """
import asyncio, os, signal, sys
from pathlib import Path
from bot.features.mcp_tools.logins import FOLDER, LoginFile
from bot.features.mcp_tools.renewal import LoginRenewer
from memory.clock import system_clock

data, url, rejected, is_killed = sys.argv[1:]
if is_killed == "killed":
    os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
renewer = LoginRenewer("calendar", LoginFile(Path(data) / FOLDER, "calendar", url), system_clock, lambda: None)
print(asyncio.run(renewer.replace_token(rejected, "")))
"""


async def renew_in_process(server: Protected, data: Path, rejected: str, *, killed: bool = False) -> tuple[int, str]:
    """Renew the login in another process. Return its exit status and the new token."""
    arguments = (str(data), server.url, rejected, "killed" if killed else "")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        RENEW,
        *arguments,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {"LOG_LEVEL": "error"},
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode().splitlines()[-1] if output else ""


async def test_processes_do_not_use_the_same_refresh_token(server: Protected, data: Path) -> None:
    login = await log_in_here(server, data)
    renewed = await asyncio.gather(*(renew_in_process(server, data, login.access_token) for _ in range(2)))
    assert renewed == [(0, server.grants[0].access)] * 2
    assert server.refreshes == 1
    assert not server.grants[0].is_revoked


async def test_process_killed_before_storing_costs_only_a_new_login(
    start: OpenApp, model: ModelServer, server: Protected, data: Path, config: str, clock: FakeClock
) -> None:
    login = await log_in_here(server, data, clock=clock)
    assert await renew_in_process(server, data, login.access_token, killed=True) == (-9, "")
    file = find_file(data, server)
    assert file.read() == login
    assert {stat.S_IMODE(path.stat().st_mode) for path in file.path.parent.iterdir()} == {0o600}
    async with start(mcp_config=config) as app:
        person = Person(app)
        await wait_until(lambda: find_trouble(app) == LOGIN_ENDED)
        model.script(Says("Hello."))
        assert await person.says("Hi") == "Hello."
        await log_in_here(server, data, clock=clock)
        await wait_until(lambda: find_trouble(app) is None)
        assert await call_tools(person, model, LOOK) == [SEEN]
    assert len(list(file.path.parent.iterdir())) == 2  # The login and its lock


async def test_token_is_used_if_the_disk_is_full(
    start: OpenApp,
    model: ModelServer,
    server: Protected,
    data: Path,
    config: str,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    login = await log_in_here(server, data, clock=clock)
    file = find_file(data, server)

    async with start(mcp_config=config) as app:
        person = Person(app)
        await wait_until(lambda: find_trouble(app) is None)
        with monkeypatch.context() as full:
            full.setattr(markdown, "write_atomically", fill_disk)
            for _ in range(2):
                server.expire_access_tokens()
                assert await call_tools(person, model, LOOK) == [SEEN]
            assert file.read() == login
        assert await call_tools(person, model, LOOK) == [SEEN]
        stored = file.read()
        assert stored is not None
        assert stored.refresh_token == server.grants[0].refresh
    assert server.refreshes == 2


async def test_static_header_never_starts_a_login(
    start: OpenApp, server: Protected, data: Path, tmp_path: Path, clock: FakeClock
) -> None:
    await log_in_here(server, data, clock=clock)
    entry = {"url": server.url, "headers": {"authorization": "Bearer wrong"}}
    seen = len(server.seen)
    async with start(mcp_config=Servers(tmp_path)(calendar=entry)) as app:
        await wait_until(lambda: "returned error 401" in str(find_mcp_tools(app).list_states()[0].trouble))
    assert set(server.seen[seen:]) == {"POST /mcp"}
    assert server.refreshes == 0


async def test_login_at_another_address_is_not_sent(
    start: OpenApp, server: Protected, data: Path, tmp_path: Path, clock: FakeClock
) -> None:
    await log_in_here(server, data, clock=clock)
    headers: list[str] = []

    def record(request: Request) -> Answer:
        headers.append(request.header("authorization"))
        return Answer(401, b"", headers=(("WWW-Authenticate", "Bearer"),))

    async with protected_server() as other:
        other.replaced["/mcp"] = record
        async with start(mcp_config=Servers(tmp_path)(calendar={"url": other.url})) as app:
            await wait_until(lambda: find_trouble(app) == NEEDS_LOGIN)
    assert set(headers) == {""}


async def test_unreadable_login_is_reported(
    server: Protected, data: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbid(_: LoginFile) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(LoginFile, "read", forbid)
    running = create_renewer(find_file(data, server), clock)
    assert await running.get_token() is None
    assert await running.replace_token(None, "Bearer") is None
    assert "Its login can't be read (Permission denied)" in str(running.trouble)


async def test_doctor_says_which_server_needs_a_login(start: OpenApp, data: Path, config: str) -> None:
    async with start(mcp_config=config) as app:
        database = data / "mneme.db"
        context = DoctorContext(app.settings, database, inspect_database(database), system_clock)
        (finding,) = await check_tools(context)
    assert finding.found == "It needs a login: run `mneme mcp login calendar`"
    assert finding.remedy == LOG_IN


@pytest.mark.parametrize("content", [b"", b"{not json", b"[]", b'{"server_url": 7, "access_token": "s3cret"}'])
async def test_damaged_login_counts_as_none(server: Protected, data: Path, clock: FakeClock, content: bytes) -> None:
    await log_in_here(server, data, clock=clock)
    file = find_file(data, server)
    file.path.write_bytes(content)
    assert file.read() is None
    running = create_renewer(file, clock)
    assert await running.get_token() is None
    assert await running.replace_token(None, "Bearer") is None
    assert running.trouble is not None
    assert running.trouble.text == NEEDS_LOGIN


async def test_tokens_are_neither_logged_nor_stored_elsewhere(
    start: OpenApp, model: ModelServer, server: Protected, data: Path, config: str, clock: FakeClock
) -> None:
    with capture_logs() as logs:
        await log_in_here(server, data, clock=clock)
        async with start(mcp_config=config) as app:
            person = Person(app)
            server.expire_access_tokens()
            await call_tools(person, model, LOOK)
            server.revoke_all()
            await call_tools(person, model, LOOK)
            await person.says("/status")
            written = json.dumps(logs, default=repr) + json.dumps([request.body for request in model.requests])
    assert len(server.secrets) >= 4
    assert not any(secret in written for secret in server.secrets)
    others = [path for path in data.rglob("*") if path.is_file() and path.parent.name != "mcp-logins"]
    assert others
    assert not any(secret.encode() in path.read_bytes() for path in others for secret in server.secrets)


async def test_tokens_are_in_no_backup_and_no_export(
    start: OpenApp, server: Protected, data: Path, config: str, clock: FakeClock, tmp_path: Path
) -> None:
    await log_in_here(server, data, clock=clock)
    async with start(mcp_config=config) as app:
        await Person(app).says("Hello")
    for arguments in (("backup", "copy.zip"), ("export", "texts", "--with-secrets")):
        status, _, err = await asyncio.to_thread(run_mneme, *arguments, environment=os.environ, folder=tmp_path)
        assert status == 0, err
    with zipfile.ZipFile(tmp_path / "copy.zip") as archive:
        contents = [archive.read(name) for name in archive.namelist()]
    contents += [path.read_bytes() for path in (tmp_path / "texts").rglob("*") if path.is_file()]
    assert any(b"Hello" in content for content in contents)
    assert not any(secret.encode() in content for content in contents for secret in server.secrets)


async def test_bot_without_mcp_servers_imports_no_login(start: OpenApp) -> None:
    names = ("renewal", "login", "logins", "redirect", "http")
    program = (
        "import sys, bot.cli.main, bot.app, bot.telegram.service; "
        f"sys.exit(any('bot.features.mcp_tools.' + name in sys.modules for name in {names}))"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, cwd=ROOT)
    assert await process.wait() == 0
