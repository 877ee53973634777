"""Tests of the MCP server with the official client over both transports."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest
from mcp import Client, MCPError

from bot.features.mcp_server.server import find_served_owner
from bot.kernel import App
from config.errors import ConfigurationError
from config.settings import Settings
from memory.access import AccessList
from memory.facts.fact import Doubt
from memory.messages import Provenance
from memory.store.entry import Author, Kind, NewEntry
from tests.conftest import OpenApp
from tests.support.fakes import Person
from tests.support.memory_clients import (
    call,
    call_json,
    call_refused,
    connect_over_http,
    connect_over_stdio,
    find_free_port,
    read,
    served,
)
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import ChatRequest, Says

MINE = "console:local"
READING = {"memory_recall", "memory_get", "memory_stats", "search", "fetch"}

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
async def app(start: OpenApp) -> AsyncIterator[App]:
    """Start an App that was used at the console."""
    async with start(web_port=find_free_port()) as running:
        yield running


@pytest.fixture
async def connect(app: App, transport: str) -> AsyncIterator[Connect]:
    """Return a function that connects clients to the memory of the running App."""
    if transport == "stdio":
        yield connect_over_stdio
        return
    async with served(app) as url:
        yield lambda mode="auto": connect_over_http(url, mode)


both = pytest.mark.parametrize("transport", ["http", "stdio"])
over_http_only = pytest.mark.parametrize("transport", ["http"])


async def ask_and_read_prompt(person: Person, model: ModelServer, text: str) -> str:
    """Return everything that the model sees with a message."""
    await person.says(text)
    return "\n".join(str(message["content"]) for message in model.requests[-1].messages)


@both
@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_tools_and_resources_are_listed_by_every_protocol_version(
    connect: Connect, person: Person, mode: str, version: str
) -> None:
    await person.says("/remember The spare key is at Ann's")
    async with connect(mode) as client:
        assert client.protocol_version == version
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == READING | {"memory_learn", "memory_forget"}
        hints = {name: tool.annotations for name, tool in tools.items() if tool.annotations is not None}
        assert {name for name, hint in hints.items() if hint.read_only_hint} == READING
        assert {name for name, hint in hints.items() if hint.destructive_hint} == {"memory_forget"}
        assert all(hint.idempotent_hint and hint.open_world_hint is False for hint in hints.values())
        assert list(tools["search"].input_schema["properties"]) == ["query"]
        assert list(tools["fetch"].input_schema["properties"]) == ["id"]
        assert tools["memory_recall"].input_schema["required"] == ["queries"]
        resources, templates = await client.list_resources(), await client.list_resource_templates()
        assert [resource.uri for resource in resources.resources] == ["memory://long-term"]
        assert "memory://entries/{name}" in [template.uri_template for template in templates.resource_templates]
        assert "spare key" in await call(client, "memory_recall", queries=["key"])


@both
async def test_message_and_note_are_found_and_read_whole(connect: Connect, app: App, person: Person) -> None:
    await person.says("The gate code of the cabin hangs behind the boiler")
    content = "Tea is drunk at five, " + "and never before, " * 40
    await app.memory.entries.add(MINE, NewEntry(content, name="tea: when/how?", kind=Kind.NOTE))
    async with connect() as client:
        recalled = await call(client, "memory_recall", queries=["gate code", "tea"], limit=5)
        assert "behind the boiler" in recalled
        assert "[2026-02-07 12:15, note tea: when/how?]" in recalled
        assert len((await call(client, "memory_recall", queries=["gate code", "tea"], limit=1)).splitlines()) == 1
        entry = await call_json(client, "memory_get", name="tea: when/how?")
        assert (entry["content"], entry["author"], entry["unconfirmed"]) == (content.strip(), "user", None)
        assert "did you mean tea: when/how?" in await call_refused(client, "memory_get", name="tea when how")
        assert "note: 1" in await call(client, "memory_stats")

        answer = await call_json(client, "search", query="tea")
        assert set(answer) == {"results"}
        (tea,) = [result for result in answer["results"] if "five" in result["title"]]
        assert set(tea) == {"id", "title", "url"}
        fetched = await call_json(client, "fetch", id=tea["id"])
        assert set(fetched) == {"id", "title", "text", "url", "metadata"}
        assert (fetched["id"], fetched["text"], fetched["url"]) == (tea["id"], content.strip(), tea["url"])
        assert all(isinstance(value, str) for value in fetched["metadata"].values())
        assert await call_json(client, "memory_get", name="tea: when/how?") == json.loads(
            await read(client, tea["url"])
        )

        (gate,) = (await call_json(client, "search", query="where is the gate code"))["results"]
        conversation = await call_json(client, "fetch", id=gate["id"])
        assert "User: The gate code of the cabin hangs behind the boiler" in conversation["text"]
        assert await read(client, gate["url"]) == conversation["text"]
        assert "take an id that search has given" in await call_refused(client, "fetch", id="entry:1 OR 1=1")


@over_http_only
async def test_long_term_memory_is_a_resource_and_unknown_uris_fail(connect: Connect, app: App, person: Person) -> None:
    await person.says("/remember The spare key is at Ann's")
    await app.memory.long_term.append(MINE, "- Speaks Danish", Author.USER)
    async with connect() as client:
        assert "- Speaks Danish" in await read(client, "memory://long-term")
        for uri in ("memory://entries/nobody", "memory://messages/99", "file:///etc/passwd", "memory://entries/"):
            with pytest.raises(MCPError) as error:
                await client.read_resource(uri)
            assert error.value.code == -32602
        with pytest.raises(MCPError, match="There is no tool 'rm'"):
            await client.call_tool("rm", {})


@over_http_only
async def test_fact_from_a_client_is_unconfirmed_and_in_no_prompt(
    connect: Connect, person: Person, model: ModelServer
) -> None:
    await person.says("Hello")
    async with connect() as client:
        learned = await call(client, "memory_learn", text="The user's bank is Evilbank")
        assert "not confirmed" in learned
        again = await call(client, "memory_learn", text="The user's bank is Evilbank", quote="my bank is Evilbank")
        assert again.startswith("known already as fact-")
        assert "[unconfirmed, " in await call(client, "memory_recall", queries=["bank"])
        (bank,) = (await call_json(client, "search", query="bank"))["results"]
        assert bank["title"].startswith("[unconfirmed] fact-")
    assert "Evilbank" not in await ask_and_read_prompt(person, model, "Which bank do I use?")
    assert "Evilbank" in await person.says("/memory unsure")
    (name,) = [entry.name for entry in await person.app.memory.entries.list(MINE, Kind.FACT)]
    assert "from another program" in await person.says(f"/memory {name}")
    assert await person.says("/undo") == "Undone: The user's bank is Evilbank"
    assert await person.app.memory.entries.list(MINE, Kind.FACT) == []


@over_http_only
async def test_fact_quoting_typed_words_is_confirmed_at_once(
    connect: Connect, person: Person, model: ModelServer
) -> None:
    model.second_look = lambda _: Says("{}")  # Nothing is captured.
    await person.says("We met at the harbour. My allergist is Doctor Kvist. She is kind.")
    words = "My allergist is Doctor Kvist."
    async with connect() as client:
        assert "not confirmed" in await call(client, "memory_learn", text=words)
        assert "not confirmed" not in await call(client, "memory_learn", text=words, quote=words)
        (name,) = [
            entry.name for entry in await person.app.memory.entries.list(MINE, Kind.FACT) if entry.author == Author.MCP
        ]
        entry = await call_json(client, "memory_get", name=name)
        assert (entry["author"], entry["quote"], entry["unconfirmed"]) == ("mcp", words, None)
    await person.says("/new")
    assert "Kvist" in await ask_and_read_prompt(person, model, "Who is my allergist?")


@over_http_only
async def test_fact_in_other_words_needs_a_second_look(connect: Connect, person: Person, model: ModelServer) -> None:
    await person.says("The wedding of my sister is in June")
    quote = "wedding of my sister is in June"
    async with connect() as client:
        model.second_look = lambda _: Says('{"1": {"verdict": "unclear"}}')
        assert "not confirmed" in await call(client, "memory_learn", text="He marries in May", quote=quote)
        model.second_look = lambda _: Says('{"1": {"verdict": "follows"}}')
        assert "not confirmed" not in await call(client, "memory_learn", text="A wedding is in June", quote=quote)
        assert "not confirmed" in await call(client, "memory_learn", text="It rains", quote="it is raining")
        assert "not confirmed" in await call(client, "memory_learn", text="It rains", quote="You said: the wedding")


@over_http_only
async def test_second_look_decides_on_repeats_replacements_and_validity(
    connect: Connect, app: App, person: Person, model: ModelServer
) -> None:
    old = await app.memory.entries.add(MINE, NewEntry("The user lives in Kyiv", name="home", kind=Kind.FACT))
    await person.says("Hm, I have been living in Lviv ever since")
    quote = "been living in Lviv ever since"

    def look(home: str = "unrelated", *, now: bool = True) -> None:
        def says(chat: ChatRequest) -> Says:
            known = re.findall(r"^(K\d+)\. .*lives in Kyiv$", str(chat.messages[0]["content"]), re.MULTILINE)
            return Says(json.dumps({"1": {"verdict": "follows", "now": now, home: known}}))

        model.second_look = says

    async with connect() as client:
        look("same")
        known = await call(client, "memory_learn", text="The user has a home in Kyiv", quote=quote)
        assert known == "known already as home: The user lives in Kyiv"
        look(now=False)
        await call(client, "memory_learn", text="The user lived in Odesa", quote=quote)
        look("replaces")
        instead = await call(client, "memory_learn", text="The user lives in Lviv", quote=quote)
        assert instead.endswith("The user lives in Lviv instead of: The user lives in Kyiv")
        titles = [result["title"] for result in (await call_json(client, "search", query="lives in Kyiv"))["results"]]
        assert any(title.startswith("[superseded] home until ") for title in titles)
    entries = {entry.content: entry for entry in await app.memory.entries.list(MINE, Kind.FACT)}
    assert entries["The user lived in Odesa"].valid_until is not None
    assert entries[old.content].superseded_by == entries["The user lives in Lviv"].id
    await person.says("/undo")
    assert (await app.memory.entries.get(MINE, "home")).content == old.content


@pytest.mark.parametrize("transport", ["stdio"])
async def test_fact_learned_without_a_model_is_checked_by_the_bot(
    connect: Connect, app: App, person: Person, model: ModelServer
) -> None:
    await person.says("The wedding of my sister is in June")
    async with connect() as client:
        learned = await call(
            client, "memory_learn", text="A wedding is in June", quote="wedding of my sister is in June"
        )
        assert "it is checked later" in learned
    (waiting,) = await app.memory.entries.list_unconfirmed(MINE)
    assert waiting.unconfirmed == Doubt.NOT_CHECKED
    model.second_look = lambda _: Says('{"1": {"verdict": "follows"}}')
    assert await app.jobs.consolidation.review()
    assert await app.memory.entries.list_unconfirmed(MINE) == []


@over_http_only
@pytest.mark.parametrize("provenance", [Provenance.FORWARDED, Provenance.FILE, Provenance.WEB])
async def test_foreign_words_support_no_fact(
    connect: Connect, person: Person, model: ModelServer, provenance: Provenance
) -> None:
    await person.says("The pin of the safe moved to Evilbank", provenance)
    async with connect() as client:
        text = "The pin of the safe moved to Evilbank"
        assert "not confirmed" in await call(client, "memory_learn", text=text, quote=text)
    assert not model.second_looks


@both
async def test_memory_forgotten_by_a_client_returns_with_undo(connect: Connect, app: App, person: Person) -> None:
    await app.memory.entries.add(MINE, NewEntry("The spare key is at Ann's", name="spare key"))
    archive = NewEntry("They talked of tea", name="talk of tea", kind=Kind.ARCHIVE, author=Author.COMPACTION)
    await app.memory.entries.add(MINE, archive)
    async with connect() as client:
        assert "at Ann's" in await call(client, "memory_forget", name="spare key")
        assert "I don't remember anything called 'spare key'" in await call_refused(
            client, "memory_forget", name="spare key"
        )
        assert "is an archive" in await call_refused(client, "memory_forget", name="talk of tea")
    assert "The spare key is at Ann's" in await person.says("/undo")
    assert (await app.memory.entries.get(MINE, "spare key")).content == "The spare key is at Ann's"


@over_http_only
async def test_secret_is_neither_learned_nor_returned(connect: Connect, person: Person) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    await person.says(f"The api key of the weather station is {key}, keep it")
    async with connect() as client:
        assert "looks like" in await call_refused(client, "memory_learn", text=f"The key is {key}")
        assert "looks like" in await call_refused(client, "memory_learn", text="There is a key", quote=f"is {key}")
        answer = await call_json(client, "search", query="weather station key")
        texts = [
            await call(client, "memory_recall", queries=["weather station key", key]),
            str(answer),
            await call(client, "fetch", id=answer["results"][0]["id"]),
            await read(client, answer["results"][0]["url"]),
        ]
    assert all(key not in text for text in texts)
    assert all("weather station" in text for text in texts)


@both
async def test_private_talk_is_never_served(connect: Connect, person: Person) -> None:
    await person.says("The gate code hangs behind the boiler")
    await person.says("/private")
    await person.says("Between us: the quetzal is in the attic")
    async with connect() as client:
        for query in ("quetzal", "attic", "what is between us"):
            assert "quetzal" not in str(await call_json(client, "search", query=query))
            assert "quetzal" not in await call(client, "memory_recall", queries=[query])
        assert "quetzal" not in await read(client, "memory://messages/1")
        quote = "the quetzal is in the attic"
        assert "not confirmed" in await call(client, "memory_learn", text=quote, quote=quote)
        with pytest.raises(MCPError, match="there is no message"):
            await client.read_resource(f"memory://messages/{10**9 + 1}")


async def test_concurrent_clients_write_each_fact_once(app: App, person: Person) -> None:
    await person.says("Hello")

    async def learn(client: Client, own: str) -> None:
        for number in range(5):
            await call(client, "memory_learn", text=f"{own} thing number {number}")
            await call(client, "memory_learn", text=f"A common thing number {number}")

    async with (
        served(app) as url,
        connect_over_http(url) as first,
        connect_over_stdio() as second,
        connect_over_stdio() as third,
    ):
        await asyncio.gather(learn(first, "First"), learn(second, "Second"), learn(third, "Third"), person.says("Hm"))
    contents = [entry.content for entry in await app.memory.entries.list_unconfirmed(MINE)]
    assert len(contents) == len(set(contents)) == 20


async def test_unclear_owner_is_refused_and_a_named_one_served(app: App, person: Person) -> None:
    await app.memory.entries.add("telegram:1", NewEntry("The lighthouse is red", name="lighthouse"))
    await app.memory.entries.add("telegram:2", NewEntry("The lighthouse is blue", name="lighthouse"))
    async with served(app) as url, connect_over_http(url) as client:
        why = await call_refused(client, "memory_get", name="lighthouse")
        assert why == ("There is more than one memory (telegram:1, telegram:2): choose one with --owner or MCP_OWNER.")
        with pytest.raises(MCPError, match="more than one memory"):
            await client.read_resource("memory://long-term")
        access = AccessList(app.database, "telegram", app.clock)
        assert await access.claim(2, await access.new_claim_code())
        assert (await call_json(client, "memory_get", name="lighthouse"))["content"] == "The lighthouse is blue"
    async with connect_over_stdio("auto", "--owner", "telegram:1") as client:
        assert (await call_json(client, "memory_get", name="lighthouse"))["content"] == "The lighthouse is red"


@pytest.mark.parametrize(
    ("settings", "owners", "named", "owner"),
    [
        ({}, [], None, MINE),
        ({}, ["telegram:7"], None, "telegram:7"),
        ({"telegram_bot_token": "1:a", "telegram_allowed_ids": "5,-100"}, [], None, "telegram:5"),
        ({"telegram_allowed_ids": "5,6", "mcp_owner": "telegram:6"}, ["telegram:5", "telegram:6"], None, "telegram:6"),
        ({"mcp_owner": "telegram:6"}, ["telegram:5", "telegram:6"], "telegram:5", "telegram:5"),
        ({"memory_scope": "shared"}, ["shared", MINE], None, "shared"),
    ],
)
async def test_served_owner_follows_settings_and_option(
    app: App, settings: dict[str, str], owners: list[str], named: str | None, owner: str
) -> None:
    for each in owners:
        await app.memory.entries.add(each, NewEntry("Hm"))
    assert await find_served_owner(Settings.model_validate(settings), app.memory, named) == owner


@pytest.mark.parametrize(
    ("settings", "owners", "named", "why"),
    [
        ({"telegram_bot_token": "1:a"}, [], None, "There is no memory yet"),
        ({"telegram_allowed_ids": "5,6"}, ["telegram:5", "telegram:6"], None, "more than one memory"),
        ({}, ["telegram:5"], "telegram:50", r"telegram:50 has no memory here: choose one of telegram:5\."),
    ],
)
async def test_served_owner_is_not_guessed(
    app: App, settings: dict[str, str], owners: list[str], named: str | None, why: str
) -> None:
    for each in owners:
        await app.memory.entries.add(each, NewEntry("Hm"))
    with pytest.raises(ConfigurationError, match=why):
        await find_served_owner(Settings.model_validate(settings), app.memory, named)
