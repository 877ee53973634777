"""Tests of the memory tools: effects, answers and refusals."""

from __future__ import annotations

import json

import pytest

from bot.kernel import App
from memory.messages import Provenance
from memory.store.entry import Kind
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.features import whole_program
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says
from tests.support.talk import Store
from tests.support.tool_use import OWNER, call_tools, read_entries


@pytest.fixture
def store(app: App, clock: FakeClock) -> Store:
    """Return the services on the App's database."""
    return Store.create(app.database, clock)


async def test_note_operations_return_the_stored_state(person: Person, model: ModelServer, store: Store) -> None:
    assert await call_tools(
        person,
        model,
        ("note_add", {"name": " spare  key", "content": " at Ann's "}),
        ("note_write", {"name": "spare key", "content": "at Olena's"}),
        ("note_rename", {"name": "spare key", "new_name": "door key"}),
        ("note_alias", {"name": "door key", "alias": "the key"}),
    ) == [
        "saved the note spare key: at Ann's",
        "the note spare key now says: at Olena's",
        "it is now called door key, also spare key",
        "door key is also called spare key, the key",
    ]
    entry = (await read_entries(store))["door key"]
    assert (entry.content, entry.author, entry.aliases) == ("at Olena's", "model", ("spare key", "the key"))
    assert await call_tools(person, model, ("note_remove", {"name": "the key"})) == ["removed the note door key"]
    assert await read_entries(store) == {}


async def test_archive_can_be_renamed_and_aliased(person: Person, model: ModelServer, store: Store) -> None:
    archive = await store.archive(OWNER, "We spoke of the garden.")
    assert await call_tools(
        person,
        model,
        ("note_rename", {"name": archive.name, "new_name": "the garden"}),
        ("note_alias", {"name": "the garden", "alias": "spring"}),
    ) == [
        f"it is now called the garden, also {archive.name}",
        f"the garden is also called {archive.name}, spring",
    ]
    (entry,) = (await read_entries(store)).values()
    assert (entry.kind, entry.content) == (Kind.ARCHIVE, "We spoke of the garden.")


async def test_refused_call_returns_text_and_the_turn_continues(
    person: Person, model: ModelServer, store: Store
) -> None:
    archive = await store.archive(OWNER, "We spoke of the garden.")
    answers = await call_tools(
        person,
        model,
        ("note_add", {"name": "key", "content": "x"}),
        ("note_add", {"name": "KEY", "content": "y"}),
        ("note_write", {"name": "keys", "content": "y"}),
        ("note_add", {"name": "", "content": "y"}),
        ("note_add", {"name": "card", "content": "4111 1111 1111 1111"}),
        ("note_write", {"name": archive.name, "content": "y"}),
        ("note_add", {"name": "key"}),
        ("note_add", "{not json"),
        ("note_delete", {"name": "key"}),
    )
    assert answers[0] == "saved the note key: x"
    for answer, expected in zip(
        answers[1:],
        [
            "error: The name 'KEY' is taken by a note",
            "error: I don't remember anything called 'keys': did you mean key?",
            "error: A name can't be empty",
            "error: This looks like a card number, which I never store",
            f"error: {archive.name} is an archive, which is never rewritten",
            "error: the arguments are wrong: content: Field required",
            "error: the arguments are wrong: Invalid JSON",
            "error: there is no tool note_delete; there are: memory_file, note_add",
        ],
        strict=True,
    ):
        assert answer.startswith(expected)
    assert (await read_entries(store))["key"].content == "x"


async def test_note_stores_its_source_message(person: Person, model: ModelServer, store: Store) -> None:
    await person.says("Hello")
    await call_tools(person, model, ("note_add", {"name": "key", "content": "x"}))
    source = (await read_entries(store))["key"].source_message_id
    assert await store.database.value("SELECT content FROM messages WHERE id = ?", (source,)) == "Please do it"


async def test_note_of_a_failed_turn_stores_its_source_message(
    start: OpenApp, model: ModelServer, clock: FakeClock
) -> None:
    async with start(turn_max_model_calls=1) as app:
        model.script(Calls((("note_add", {"name": "key", "content": "x"}),)))
        assert "called the model 1 time" in await Person(app).says("Note it")
        store = Store.create(app.database, clock)
        assert (await read_entries(store))["key"].source_message_id == 1


@pytest.mark.parametrize("provenance", [Provenance.FORWARDED, Provenance.FILE, Provenance.WEB])
async def test_call_without_a_citation_is_unconfirmed_but_may_read(
    person: Person, model: ModelServer, store: Store, provenance: Provenance
) -> None:
    await call_tools(person, model, ("note_add", {"name": "key", "content": "lighthouse"}))
    answers = await call_tools(
        person,
        model,
        ("note_add", {"name": "other", "content": "x"}),
        ("note_write", {"name": "key", "content": "x"}),
        ("note_rename", {"name": "key", "new_name": "x"}),
        ("note_alias", {"name": "key", "alias": "x"}),
        ("note_remove", {"name": "key"}),
        ("memory_file", {"action": "append", "text": "x"}),
        ("memory_learn", {"fact": "x"}),
        ("memory_episode", {"event": "x"}),
        ("memory_procedure", {"name": "x", "steps": ["x"]}),
        ("memory_recall", {"query": "lighthouse"}),
        provenance=provenance,
        say="Keep what this says",
    )
    assert all("not confirmed" in answer for answer in answers[:-1])
    assert "lighthouse" in answers[-1]
    confirmed = [entry for entry in (await read_entries(store)).values() if entry.unconfirmed is None]
    assert [(entry.name, entry.content) for entry in confirmed] == [("key", "lighthouse")]


async def test_recall_searches_conversations_and_notes(person: Person, model: ModelServer) -> None:
    model.script(Says("It is white."))
    await person.says("What colour is the lighthouse?")
    await person.says("/new")
    answers = await call_tools(
        person,
        model,
        ("note_add", {"name": "keeper", "content": "the lighthouse keeper is Taras"}),
        ("memory_recall", {"query": "lighthouse"}),
        ("memory_recall", {"query": "lighthouse", "kind": "note"}),
        ("memory_recall", {"query": "lighthouse", "kind": "fact"}),
        ("memory_recall", {"query": "zebra"}),
        ("memory_recall", {"query": "lighthouse", "tokens": 10_000}),
        ("memory_recall", {"query": "\"' NOT ("}),
    )
    exchange = (
        "- [2026-02-07 12:15, conversation, message 1] User: What colour is the lighthouse? | Assistant: It is white."
    )
    note = "- [2026-02-07 12:15, note keeper] the lighthouse keeper is Taras"
    assert set(answers[1].splitlines()) == {exchange, note}
    assert answers[2] == note
    assert answers[3] == answers[4] == answers[6] == "nothing found"
    assert answers[5].startswith("error: the arguments are wrong: tokens:")


async def test_recall_shows_nothing_of_other_owners(app: App, person: Person, model: ModelServer) -> None:
    from memory.log.sessions import Address

    await Person(app, Address("console", "other")).says("the lighthouse is white")
    assert await call_tools(person, model, ("memory_recall", {"query": "lighthouse"})) == ["nothing found"]


async def test_huge_result_is_cut_with_a_hint(person: Person, model: ModelServer) -> None:
    await person.says("/new")
    for number in range(20):
        await person.says(f"/remember lighthouse{number} lighthouse {'word ' * 3000}")
    answers = await call_tools(person, model, ("memory_recall", {"query": "lighthouse", "tokens": 2000}))
    assert 600 < len(answers[0]) <= 2000 * 4


async def test_memory_file_changes_parts_of_memory_md(app: App, person: Person, model: ModelServer) -> None:
    answers = await call_tools(
        person,
        model,
        ("memory_file", {"action": "read"}),
        ("memory_file", {"action": "append", "text": "- likes tea\n"}),
        ("memory_file", {"action": "replace", "text": "tea", "replacement": "coffee"}),
        ("memory_file", {"action": "append", "text": "- lives in Lviv"}),
        ("memory_file", {"action": "delete", "text": "- likes coffee"}),
        ("memory_file", {"action": "read", "text": ""}),
    )
    assert answers == [
        "(empty)",
        "MEMORY.md now also says: - likes tea",
        "MEMORY.md now says: coffee",
        "MEMORY.md now also says: - lives in Lviv",
        "MEMORY.md no longer says that.",
        "- lives in Lviv\n",
    ]
    assert (app.settings.mneme_data_dir / "memory" / OWNER / "MEMORY.md").read_text() == "- lives in Lviv\n"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"action": "rewrite", "text": "x"}, "error: the arguments are wrong: action:"),
        ({"action": "append"}, "error: append needs text"),
        ({"action": "delete", "text": " "}, "error: delete needs text"),
        ({"action": "replace", "text": "not there", "replacement": "x"}, 'error: "not there" doesn\'t appear in'),
        ({"action": "append", "text": "x" * 2001}, "error: at most 2000 characters at a time"),
        ({"action": "append", "text": "my password is hunter22"}, "error: This looks like a password"),
    ],
)
async def test_memory_file_explains_refusals(
    person: Person, model: ModelServer, arguments: dict[str, str], answer: str
) -> None:
    assert (await call_tools(person, model, ("memory_file", arguments)))[0].startswith(answer)


@whole_program
async def test_tools_are_described_in_a_constant_order(person: Person, model: ModelServer) -> None:
    await person.says("one")
    await person.says("two")
    tools = [request.body["tools"] for request in model.requests]
    assert json.dumps(tools[0]) == json.dumps(tools[1])
    names = [tool["function"]["name"] for tool in tools[0]]
    for name in ("note_add", "note_write", "note_rename", "note_alias", "note_remove", "memory_recall", "memory_file"):
        assert name in names
    for name in ("learn", "episode", "procedure", "stats", "consolidate"):
        assert f"memory_{name}" in names
    for tool in tools[0]:
        assert tool["function"]["description"]
        assert "context" not in tool["function"]["parameters"]["properties"]


async def test_tools_are_absent_without_memory(start: OpenApp, model: ModelServer) -> None:
    async with start(memory_enabled=False) as app:
        await Person(app).says("one")
    assert model.requests[0].body.get("tools", []) == []
