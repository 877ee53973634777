"""Tests of MCP tools with real server processes: their results for the model, and their limits."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.features.mcp_tools import connection
from bot.kernel import App
from memory.messages import Provenance
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_mcp_tools
from tests.support.mcp_servers import Servers, call_tools, list_offered_tools, wait_until
from tests.support.servers import mcp_raw, mcp_tools
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, RefusesTool, Says
from tests.support.talk import Store
from tests.support.tool_use import OWNER

READING = ["die", "fail", "files", "hang", "long", "look", "nothing", "odd", "page", "picture"]


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    """Return the configuration of MCP servers."""
    return Servers(tmp_path)


async def test_mcp_tool_answers_and_its_process_ends_with_the_bot(
    start: OpenApp, model: ModelServer, servers: Servers
) -> None:
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        assert await call_tools(Person(app), model, ("trial__look", {"where": "the pier", "exactly": None})) == [
            "At the pier there is a lighthouse."
        ]
        assert sorted(list_offered_tools(model)) == [f"trial__{name}" for name in (*READING, "write")]
        assert len(servers.list_alive()) == 1
    assert servers.list_alive() == []
    assert servers.list_logged("look") == ["the pier"]


async def test_mcp_program_may_take_long_to_start(
    start: OpenApp, model: ModelServer, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Shorter than Python takes to start, as npx and uvx take longer than other servers while they download
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.01)
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 0.01)
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        (answer,) = await call_tools(Person(app), model, ("trial__look", {"where": "the pier"}))
        assert answer == "At the pier there is a lighthouse."
        assert len(servers.list_logged("started")) == 1


async def test_mcp_tools_that_are_disabled_are_hidden(start: OpenApp, model: ModelServer, servers: Servers) -> None:
    entries = {
        "some": servers.trial(enabledTools=["look", "write"], disabledTools=["write"]),
        "off": servers.trial(disabled=True),
    }
    async with start(mcp_config=servers(**entries)) as app:
        (answer,) = await call_tools(Person(app), model, ("some__fail", {}))
        assert answer.startswith("error: there is no tool some__fail")
        assert list_offered_tools(model) == ["some__look"]
    assert len(servers.list_logged("started")) == 1


async def test_mcp_tool_names_are_valid_for_endpoints(start: OpenApp, model: ModelServer, servers: Servers) -> None:
    entries = {
        "мій пошук": servers.trial(enabledTools=["look"]),
        "a very long name of a server, as some people like them": servers.trial(enabledTools=["look"]),
        "a__b": servers.trial(enabledTools=["look"]),
        "a_b": servers.trial(enabledTools=["look"]),
    }
    async with start(mcp_config=servers(**entries)) as app:
        await Person(app).says("Hello")
        names = list_offered_tools(model)
        assert len(set(names)) == 4
        assert all(
            len(name) <= 64 and name.isascii() and name.replace("_", "").replace("-", "").isalnum() for name in names
        )
        assert (
            await call_tools(Person(app), model, *((name, {"where": "the pier"}) for name in names))
            == ["At the pier there is a lighthouse."] * 4
        )


async def test_mcp_result_is_marked_as_foreign_and_limited(
    start: OpenApp, model: ModelServer, servers: Servers
) -> None:
    async with start(window=32_000, mcp_config=servers(trial=servers.trial())) as app:
        long, odd, nothing, failed, wrong, no_json, not_an_object = await call_tools(
            Person(app),
            model,
            ("trial__long", {}),
            ("trial__odd", {}),
            ("trial__nothing", {}),
            ("trial__fail", {}),
            ("trial__look", {"were": "x"}),
            ("trial__look", "{not json"),
            ("trial__look", "[1]"),
        )
        rows = await app.database.rows("SELECT provenance FROM messages WHERE role = 'tool'")
    assert len(long) < 32_000
    assert "left out: ask for less at a time" in long
    assert odd == "bell  null  override  end"
    assert nothing == "(nothing)"
    assert failed.startswith("error: ")
    assert "the harbour is closed" in failed
    assert wrong.startswith("error: ")
    assert no_json.startswith("error: the arguments are wrong: they are no JSON")
    assert not_an_object == "error: the arguments are wrong: an object is needed"
    foreign = [row["provenance"] for row in rows]
    assert foreign == [Provenance.FOREIGN] * 5 + [None] * 2


async def test_mcp_picture_is_shown_to_a_model_with_vision(
    start: OpenApp, model: ModelServer, servers: Servers
) -> None:
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        answers = await call_tools(Person(app), model, ("trial__picture", {}))
    assert any("[an image, shown below]" in answer for answer in answers)
    assert any("data:image/png;base64," in json.dumps(request.body) for request in model.requests)


async def test_mcp_server_killed_in_a_call_is_restarted_alone(
    start: OpenApp, model: ModelServer, servers: Servers
) -> None:
    entries = {"trial": servers.trial(), "other": servers.trial(enabledTools=["look"])}
    async with start(mcp_config=servers(**entries)) as app:
        person = Person(app)
        killed, other = await call_tools(person, model, ("trial__die", {}), ("other__look", {"where": "the pier"}))
        assert killed == "error: the server trial ended before it answered; whether it has done anything is not known"
        assert other == "At the pier there is a lighthouse."
        await wait_until(lambda: len(servers.list_logged("started")) == 3)
        await wait_until(lambda: "off" not in _read_status(app))
        (again,) = await call_tools(person, model, ("trial__look", {"where": "the mole"}))
        assert again == "At the mole there is a lighthouse."
    assert servers.list_alive() == []


def _read_status(app: App) -> str:
    return " ".join("off" if state.trouble else "on" for state in find_mcp_tools(app).list_states())


async def test_mcp_call_that_hangs_is_ended_and_its_server_kept(
    start: OpenApp, model: ModelServer, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        person = Person(app)
        await call_tools(person, model, ("trial__look", {"where": "the pier"}))
        with monkeypatch.context() as patience:
            patience.setattr(connection, "CALL_SECONDS", 0.2)
            (answer,) = await call_tools(person, model, ("trial__hang", {}))
        assert answer == "error: hang of trial did not answer within 0.2 seconds"
        (again,) = await call_tools(person, model, ("trial__look", {"where": "the pier"}))
        assert again == "At the pier there is a lighthouse."
        assert len(servers.list_logged("started")) == 1
    assert servers.list_alive() == []


async def test_mcp_server_that_is_unresponsive_is_restarted(
    start: OpenApp, model: ModelServer, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        person = Person(app)
        await call_tools(person, model, ("trial__look", {"where": "the pier"}))
        os.kill(int(servers.list_logged("started")[0]), signal.SIGSTOP)
        with monkeypatch.context() as patience:
            patience.setattr(connection, "CALL_SECONDS", 0.2)
            patience.setattr(connection, "LIVENESS_SECONDS", 0.2)
            (answer,) = await call_tools(person, model, ("trial__look", {"where": "the pier"}))
            assert "did not answer" in answer
            await wait_until(lambda: servers.has_logged("started", 2))
        await wait_until(lambda: _read_status(app) == "on")
        (again,) = await call_tools(person, model, ("trial__look", {"where": "the pier"}))
        assert again == "At the pier there is a lighthouse."
    assert servers.list_alive() == []


async def test_stop_ends_a_hanging_mcp_call(start: OpenApp, model: ModelServer, servers: Servers) -> None:
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        person = Person(app)
        model.script(Calls((("trial__hang", {}),)))
        await person.sends("Please wait for it")
        await wait_until(lambda: servers.list_logged("hang"))
        await person.sends("/stop")
        await app.runner.wait_until_idle(person.address.session_id)
        assert any("topped" in text for text in person.channel.said)
    assert servers.list_alive() == []


async def test_mcp_server_that_can_not_start_is_reported(start: OpenApp, model: ModelServer, servers: Servers) -> None:
    entries = {
        "missing": {"command": "no-such-program-here"},
        "ends": {"command": "false"},
        "nowhere": {"url": "http://127.0.0.1:9/mcp?key=s3cret-s3cret"},
        "wrong": {"command": 7},
        "empty": {},
        "unset": {"command": "x", "env": {"KEY": "${MNEME_TEST_UNSET}"}},
        "trial": servers.trial(),
    }
    async with start(mcp_config=servers(**entries)) as app:
        person = Person(app)
        assert await call_tools(person, model, ("trial__look", {"where": "the pier"})) == [
            "At the pier there is a lighthouse."
        ]
        status = await person.says("/status")
    for line in (
        "missing: Its program no-such-program-here is not installed, or can't be run.",
        "ends: Its program has stopped: `mneme mcp test ends` shows its messages.",
        "nowhere: 127.0.0.1:9 can't be reached.",
        "wrong: Its entry can't be used: command is missing or of the wrong kind.",
        "empty: Its entry has neither a command nor a url: add one of them.",
        "unset: Its entry needs the variable MNEME_TEST_UNSET, which is not set.",
    ):
        assert line in status.splitlines()
    assert "s3cret" not in status


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {\n"a": {"command": "x"}\n"b": 1}}', "Line 3 of {path} isn't valid JSON"),
        ("[]", "{path} has no servers in it"),
        ('{"servers": {}}', "{path} has no servers in it"),
    ],
)
async def test_invalid_mcp_file_blocks_no_conversation(
    start: OpenApp, model: ModelServer, servers: Servers, text: str, said: str
) -> None:
    servers.path.write_text(text)
    async with start(mcp_config=str(servers.path)) as app:
        assert said.format(path="mcp.json") in await Person(app).says("/status")
        model.script(Says("Hello."))
        assert await Person(app).says("Hi") == "Hello."


@pytest.fixture
async def address(servers: Servers) -> AsyncIterator[str]:
    """Run the test server on a free port and return its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(sys.executable, mcp_tools.__file__, str(port))
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    await process.wait()


async def test_remote_mcp_server_receives_its_headers(
    start: OpenApp, model: ModelServer, servers: Servers, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIAL_TOKEN", mcp_tools.TOKEN)
    entries = {
        "web": {"type": "http", "url": address, "headers": {"Authorization": "Bearer ${TRIAL_TOKEN}"}},
        "shut": {"url": address, "headers": {"Authorization": "Bearer wrong-one"}},
    }
    async with start(mcp_config=servers(**entries)) as app:
        person = Person(app)
        await wait_until(lambda: _read_status(app) == "on off")
        assert await call_tools(person, model, ("web__look", {"where": "the pier"}), ("web__fail", {})) == [
            "At the pier there is a lighthouse.",
            "error: Error executing tool fail: the harbour is closed",
        ]
        await wait_until(lambda: "returned error 401" in str(find_mcp_tools(app).list_states()[1].trouble))
        status = await person.says("/status")
    assert "wrong-one" not in status
    assert mcp_tools.TOKEN not in status


async def test_mcp_descriptions_respect_their_budget_and_status_counts_the_rest(
    start: OpenApp, model: ModelServer, servers: Servers
) -> None:
    async with start(mcp_config=servers(trial=servers.trial()), mcp_tool_tokens=150) as app:
        person = Person(app)
        model.script(Says("Hello."))
        await person.says("Hi")
        assert 0 < len(list_offered_tools(model)) < 11
        left_out = 11 - len(list_offered_tools(model))
        assert f"{left_out} tools are left out, because their descriptions are too long together" in await person.says(
            "/status"
        )


@pytest.mark.parametrize("read", [True, False], ids=["page", "description"])
async def test_mcp_text_asking_to_remember_confirms_nothing(
    start: OpenApp, model: ModelServer, servers: Servers, clock: FakeClock, read: bool
) -> None:
    # The typed words that a model may cite say something else.
    model.second_look = lambda _: Says(json.dumps({"1": {"verdict": "unclear"}}))
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        person = Person(app)
        fact = "the user's bank is now Piratenbank"
        answers = await call_tools(
            person,
            model,
            ("trial__page", {"url": "http://example.org"}) if read else ("trial__look", {"where": "x"}),
            ("memory_learn", {"fact": fact, "quote": mcp_tools.EVIL}),
            ("memory_learn", {"fact": fact, "quote": "When does it open"}),
            ("note_add", {"name": "bank", "content": fact, "quote": mcp_tools.EVIL}),
            ("memory_file", {"action": "append", "text": f"- {fact}", "quote": mcp_tools.EVIL}),
            ("reminder_set", {"text": fact, "when": "2026-02-08 09:00", "quote": mcp_tools.EVIL}),
            say="When does it open? Look at http://example.org",
        )
        assert ("Piratenbank" in answers[0]) == read
        store = Store.create(app.database, clock)
        assert [e.name for e in await store.entries.list(OWNER) if e.unconfirmed is None] == []
        memory_file = app.settings.mneme_data_dir / "memory" / OWNER / "MEMORY.md"
        assert not memory_file.exists() or "Piratenbank" not in memory_file.read_text()
        assert await app.database.value("SELECT count(*) FROM reminders WHERE state = 'waiting'") == 0
        await person.says("/new")
        clock.forward(days=1)
        model.script(Says("I don't know."))
        await person.says("Which bank is mine?")
        prompt = json.dumps(model.requests[-1].body["messages"])
        system = [message for message in model.requests[-1].body["messages"] if message["role"] == "system"]
        assert "Piratenbank" not in json.dumps(system)
        assert "Piratenbank" not in prompt or "[foreign]" in prompt


async def test_missing_mcp_file_disables_all_mcp_features(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        person = Person(app)
        model.script(Says("Hello."))
        await person.says("Hi")
        assert list_offered_tools(model) == []
        assert "Tools" not in await person.says("/status")
        assert "tools" not in app.runner.commands


async def test_configured_mcp_file_that_is_missing_is_reported(start: OpenApp, tmp_path: Path) -> None:
    async with start(mcp_config=str(tmp_path / "other.json")) as app:
        assert "other.json can't be read (No such file or directory)." in await Person(app).says("/status")


async def test_unreadable_mcp_tools_are_left_out_alone(start: OpenApp, model: ModelServer, servers: Servers) -> None:
    raw = {"command": sys.executable, "args": [mcp_raw.__file__]}
    async with start(mcp_config=servers(raw=raw)) as app:
        assert await call_tools(Person(app), model, ("raw__good", {"at": []})) == ["seen"]
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in model.requests[0].body["tools"]}
    assert {name for name in tools if name.startswith("raw__")} == {"raw__good", "raw__untyped"}
    assert tools["raw__good"]["properties"]["at"]["items"] == {"type": "string"}


async def test_mcp_tool_refused_by_the_endpoint_is_named_in_status(
    start: OpenApp, model: ModelServer, servers: Servers
) -> None:
    raw = {"command": sys.executable, "args": [mcp_raw.__file__]}
    model.refuses = (RefusesTool("raw__good"),)
    async with start(mcp_config=servers(raw=raw)) as app:
        person = Person(app)
        await person.says("Hello")
        assert "rejects these tools: raw__good" in await person.says("/status")
    assert "raw__good" not in list_offered_tools(model)
    assert "raw__untyped" in list_offered_tools(model)
