"""Tests of extreme numbers, names and dates at every route, command, tool and button."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError
from starlette.routing import Route
from typer.main import get_command

from bot.cli.main import cli, main
from bot.kernel import App
from memory.store.entry import NewEntry
from pipeline.systems.tool_loop import ToolLoop
from pipeline.tools.toolbox import Toolbox, ToolContext
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
from tests.support.features import needs_feature
from tests.support.hostile import KEY_VALUES, NUMBERS, SURROGATES, VALUES
from tests.support.memory_clients import call_with_outcome
from tests.support.mini_apps import PUBLIC_HOST, enter, mini_app
from tests.support.serving import ANN, Serve, list_toasts, wait_for_text

pytestmark = pytest.mark.slow

MINE = "console:local"
# each ends the chat or begins another kind of it, and takes no argument
WITHOUT_ARGUMENT = frozenset({"private", "new", "export"})
QUERY = ("before", "from", "state", "q", "look", "name")
JSON_VALUES: tuple[Any, ...] = (2**31, 2**53, 2**63, -(2**63) - 1, 10**30, 1.5, 1e308, True, None, [], {}, ["x"] * 100)
IN_A_FORM = ("9223372036854775808", "9" * 5_000, "²", "٣", "1\x00", "99999999999999999999-01-01", "\x1b[2J", "../..")
IN_A_COMMAND = ("{}", "{} x", "#1 {}", "1 {}", "notes {}", "{} family")


def list_failures(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.exc_info]


@needs_feature("page")
async def test_page_route_with_hostile_value_never_fails(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    from bot.features.page.mini_app import MiniApp
    from bot.features.page.server import build_page_app

    async with mini_app(serve) as (app, client):
        await app.memory.entries.add(f"telegram:{ANN}", NewEntry("The boat is called Seagull."))
        shown = await enter(app, client)
        routes = [
            (route.path.lstrip("/"), method)
            for route in build_page_app(MiniApp(app, frozenset({PUBLIC_HOST}))).routes
            if isinstance(route, Route)
            for method in sorted(route.methods or ())
        ]
        assert len(routes) > 15
        numbered = [route for route in routes if "{" in route[0]]
        for value in KEY_VALUES:
            written = quote(value, safe="")
            requests = [(method, re.sub(r"\{[^}]+\}", written, path)) for path, method in numbered]
            requests += [(method, f"{path}?{QUERY[0]}={written}") for path, method in routes if path.endswith("ies")]
            requests += [("GET", f"api/search?q={written}"), ("GET", f"api/entries?state={written}")]
            requests += [("POST", f"api/import?look=1&name=x.{written}"), ("GET", written), ("GET", f"api/{written}")]
            requests += [("GET", f"api/conversations/1?from={written}")]
            for method, path in requests:
                answer = await client.request(method, path, headers=shown, json={"content": value})
                assert answer.status_code < 500, (method, path)
                if (
                    value in NUMBERS
                    and value not in ("0", "9223372036854775807")
                    and path in {p for _, p in requests[:6]}
                ):
                    assert answer.status_code in (404, 405, 409, 422), (method, path)
    assert list_failures(caplog) == []


@needs_feature("page")
@pytest.mark.parametrize(
    "body",
    [
        b'{"content": "\\ud83d"}',
        b'{"before": "", "after": "\\ud83d"}',
        b'{"before": "", "after": "\\u0000"}',
        b'{"content": "a\\u0000b"}',
        b"[" * 3_000,
        b"9" * 5_000,
        b'{"content": 1e999}',
        b"\xff",
        b"",
    ],
)
async def test_page_body_that_is_hostile_never_fails(
    serve: Serve, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    async with mini_app(serve) as (app, client):
        shown = await enter(app, client)
        for path in ("api/entries/1/edit", "api/file", "api/import?name=x.json", "enter"):
            assert (await client.post(path, headers=shown, content=body)).status_code < 500
    assert list_failures(caplog) == []


async def test_command_with_hostile_argument_never_fails(start: OpenApp) -> None:
    async with start(memory_scope="family", llm_speech_model="scripted") as app:
        person = Person(app)
        await person.says("/remember The bins go out on Tuesday")
        for name in app.runner.commands.keys() - WITHOUT_ARGUMENT:
            for form in IN_A_COMMAND:
                values = (*VALUES, *SURROGATES) if form == "{}" else IN_A_FORM
                for value in values:
                    await say_without_failure(person, f"/{name} {form.replace('{}', value)}")


async def say_without_failure(person: Person, text: str) -> None:
    with structlog.testing.capture_logs() as logs:
        answer = await person.says(text)
    assert "Something went wrong" not in answer, text[:60]
    assert not [line for line in logs if line.get("exc_info")], text[:60]


@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=40) | st.sampled_from(VALUES), min_size=20, max_size=20))
def test_command_with_any_argument_never_fails(start: OpenApp, arguments: list[str]) -> None:
    async def say_all() -> None:
        async with start() as app:
            person = Person(app)
            for name in sorted(app.runner.commands.keys() - WITHOUT_ARGUMENT):
                for argument in arguments:
                    await say_without_failure(person, f"/{name} {argument}")

    asyncio.run(say_all())


@pytest.mark.parametrize("number", ["9" * 5_000, "#" + "9" * 5_000, "²", "#²", "٣", "1x", "-1", "\x00"])
@pytest.mark.parametrize(
    "name",
    ["undo", *(pytest.param(name, marks=needs_feature("mcp_tools")) for name in ("yes", "no", "always", "never"))],
)
async def test_command_on_no_number_changes_nothing(start: OpenApp, name: str, number: str) -> None:
    async with start() as app:
        (app.settings.mneme_data_dir / "mcp.json").write_text('{"mcpServers": {"x": {"command": "/bin/false"}}}')
    async with start() as app:
        person = Person(app)
        await person.says("/remember The bins go out on Tuesday")
        assert f"/{name} needs a number" in await person.says(f"/{name} {number}")
        assert "Tuesday" in await person.says("/memory")


async def test_entry_is_not_named_by_digits_of_other_scripts(app: App, person: Person) -> None:
    entry = await app.memory.entries.add(MINE, NewEntry("The lighthouse is red"))
    assert entry.id == 1
    for reference in ("#¹", "#１", "#۱"):
        assert "I don't remember anything called" in await person.says(f"/forget {reference}")
    assert (await app.memory.entries.get(MINE, "#1")).content == "The lighthouse is red"


async def test_tool_of_the_model_with_hostile_argument_never_fails(app: App, person: Person) -> None:
    await person.says("hello")
    toolbox = find_toolbox(app)
    for spec in (tool.spec for tool in toolbox.tools):
        schema = json.loads(spec.parameters)
        required = dict.fromkeys(schema.get("required", ()), "x")
        for argument in schema["properties"]:
            for value in (*KEY_VALUES, *JSON_VALUES):
                with structlog.testing.capture_logs() as logs:
                    call = json.dumps(required | {argument: value})
                    text = await run_tool(toolbox, spec.name, call)
                assert "failed (" not in text, (spec.name, argument, str(value)[:40])
                assert not [line for line in logs if line.get("exc_info")]


def find_toolbox(app: App) -> Toolbox:
    loop: ToolLoop = next(system for _, system in app.runner.pipeline._chain if system.name == "ToolLoop")  # type: ignore[assignment]  # noqa: SLF001  # no other way leads to all tools
    return loop.toolbox


async def run_tool(toolbox: Toolbox, name: str, arguments: str) -> str:
    try:
        return str(await toolbox._tools[name].call(ToolContext(MINE, MINE), arguments))  # noqa: SLF001  # the same
    except Exception as error:  # noqa: BLE001  # the toolbox makes an answer of it, whichever it is
        return str(error)


@needs_feature("mcp_server")
async def test_mcp_tool_and_resource_with_hostile_argument_never_fail(
    app: App, person: Person, caplog: pytest.LogCaptureFixture
) -> None:
    from bot.features.mcp_server.server import create_memory_server
    from bot.features.mcp_server.tools import MemoryTools

    async def owner_of() -> str:
        return MINE

    await person.says("hello")
    async with Client(create_memory_server(MemoryTools(app.memory, app.checker), owner_of)) as client:
        for tool in (await client.list_tools()).tools:
            required = dict.fromkeys(tool.input_schema.get("required", ()), "lighthouse")
            for argument in tool.input_schema["properties"]:
                for value in (
                    *KEY_VALUES,
                    *JSON_VALUES,
                    *(f"{kind}:{n}" for kind in ("entry", "message") for n in KEY_VALUES[:20]),
                ):
                    text, _is_error = await call_with_outcome(client, tool.name, **(required | {argument: value}))
                    assert "failed (" not in text, (tool.name, argument, str(value)[:40])
        for value in VALUES:
            for uri in (f"memory://messages/{value}", f"memory://entries/{value}", value):
                try:
                    await client.read_resource(uri)
                except MCPError as error:
                    assert "nternal" not in str(error), uri[:60]  # noqa: PT017  # many are read in a row
    assert list_failures(caplog) == []


async def test_button_with_hostile_data_is_answered_as_expired(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        await Person(app).says("hello")
        telegram.user_says("hello", chat_id=ANN)
        await wait_for_text(telegram, "You said: hello")
        message = telegram.list_sent(ANN)[-1].message_id
        pressed = [value for value in VALUES if 0 < len(value.encode()) <= 64]
        for value in pressed:
            telegram.user_presses(value, message, ANN, ANN)
        await telegram.wait_for(lambda: len(list_toasts(telegram)) >= len(pressed))
        assert all("This button has expired" in (toast or "") for toast in list_toasts(telegram))
        telegram.user_says("still there?", chat_id=ANN)
        await wait_for_text(telegram, "You said: still there?")


TALKS = frozenset({"run", "setup", "chat"})
"""Commands that need a person or a model."""


def list_command_lines() -> list[str]:
    """Return a line for each parameter of each command, with `{}` for its value and usual values for required ones."""
    lines = []

    def add_lines(command: Any, path: str) -> None:
        for name, child in getattr(command, "commands", {}).items():
            if name not in TALKS:
                add_lines(child, f"{path} {name}".strip())
        for varied in command.params:
            words = [path]
            for parameter in command.params:
                value = "{}" if parameter is varied else "x"
                if parameter.param_type_name == "argument":
                    words += [value] if parameter is varied or parameter.required else []
                elif parameter is varied and not parameter.is_flag:
                    words += [parameter.opts[0], value]
            if "{}" in words:
                lines.append(" ".join(words).strip())

    add_lines(get_command(cli), "")
    return lines


# each of these is for one of the ways in which a number or a name was not checked
IN_THE_SHELL = (
    "9223372036854775808",
    "9" * 5_000,
    "²",
    "٣",
    "-1",
    "#9223372036854775808",
    "",
    "\udcff",
    "telegram:²",
    "99999999999999999999-01-01",
    "bob",
    "/dev/null",
    "/dev/null/below",
)


@functools.cache
def build_cli() -> Callable[[], object]:
    """Return the command line, whose options typer collects at each call otherwise."""
    return get_command(cli)


@pytest.mark.parametrize("line", list_command_lines())
def test_command_line_with_hostile_argument_fails_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], own_logging: None, line: str
) -> None:
    monkeypatch.setattr("bot.cli.main.cli", build_cli())
    for value in IN_THE_SHELL:
        monkeypatch.setattr("sys.argv", ["mneme", *(word.replace("{}", value) for word in line.split())])
        with pytest.raises(SystemExit) as left:  # any other exception would be a traceback
            main()
        assert left.value.code in (0, 1, 2)
    assert "Traceback" not in capsys.readouterr().err
