"""Tests of the tools on typed memories: learn, recall, episode, procedure, stats, consolidate."""

from __future__ import annotations

import json
import re

import pytest

from bot.kernel import App
from memory.log.sessions import Address
from memory.messages import Provenance
from memory.store.entry import Kind, NewEntry
from memory.text.tokens import TokenCounter
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.features import needs_feature, whole_program
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, ChatRequest, Says
from tests.support.talk import Store, note_down
from tests.support.tool_use import OWNER, call_tools, read_entries


@pytest.fixture
def store(app: App, clock: FakeClock) -> Store:
    """Return the services on the App's database."""
    return Store.create(app.database, clock)


async def count_entries(store: Store) -> dict[str, int]:
    return {name: entry.reinforcement_count for name, entry in (await read_entries(store)).items()}


async def test_learn_returns_the_stored_state(person: Person, model: ModelServer, store: Store) -> None:
    await person.says("Hello")
    answers = await call_tools(
        person,
        model,
        ("memory_learn", {"fact": " The API speaks JSON ", "kind": "architecture", "scope": "./src/api/**"}),
        ("memory_learn", {"fact": "Deploys happen on Friday", "priority": "high"}),
        ("memory_learn", {"fact": "deploys happen on friday.", "priority": "high"}),
        ("memory_learn", {"fact": "Deploys happen on Monday", "replaces": "fact-deploys-happen-friday"}),
        ("memory_learn", {"fact": "x y z", "replaces": "fact-nothing"}),
        ("memory_learn", {"fact": "the password is hunter2!x"}),
        ("memory_learn", {"fact": "x y z", "scope": "src/[a"}),
        ("memory_learn", {"fact": " "}),
        ("memory_learn", {"fact": "x y z", "kind": "story"}),
        ("memory_learn", {"fact": "x y z", "priority": "urgent"}),
        ("memory_learn", {"fact": "The tea is green", "replaces": " "}),
    )
    assert answers[:4] == [
        "saved the architecture architecture-api-speaks-json: The API speaks JSON",
        "saved the fact fact-deploys-happen-friday: Deploys happen on Friday",
        "known already as fact-deploys-happen-friday, now reinforced",
        "saved the fact fact-deploys-happen-friday: Deploys happen on Monday instead of: Deploys happen on Friday",
    ]
    for answer, expected in zip(
        answers[4:10],
        [
            "error: I don't remember anything called 'fact-nothing'",
            "error: This looks like a password",
            "error: 'src/[a' isn't a path pattern",
            "error: I can't remember an empty text",
            "error: the arguments are wrong: kind:",
            "error: the arguments are wrong: priority:",
        ],
        strict=True,
    ):
        assert answer.startswith(expected)
    found = await read_entries(store)
    assert len(found) == 4
    about = found["architecture-api-speaks-json"]
    assert (about.scope, about.priority, about.author) == ("src/api/**", "high", "model")
    said = "SELECT content FROM messages WHERE id = ?"
    assert await store.database.value(said, (about.source_message_id,)) == "Please do it"
    assert found["fact-deploys-happen-friday"].content == "Deploys happen on Monday"
    assert found["fact-tea-green"].content == "The tea is green"


async def test_learn_names_the_memory_that_a_known_one_replaces(
    person: Person, model: ModelServer, store: Store
) -> None:
    agrees = model.second_look
    model.second_look = lambda _: Says('{"1": {"verdict": "follows", "replaces": [], "same": []}}')
    await call_tools(person, model, ("memory_learn", {"fact": "The office is in Kyiv"}))
    await call_tools(person, model, ("memory_learn", {"fact": "The office is in Lviv"}))
    model.second_look = agrees
    (answer,) = await call_tools(
        person, model, ("memory_learn", {"fact": "The office is in Lviv", "replaces": "fact-office-kyiv"})
    )
    assert answer == "known already as fact-office-lviv, now reinforced instead of: The office is in Kyiv"
    assert (await read_entries(store))["fact-office-lviv"].aliases == ("fact-office-kyiv",)
    assert await person.says("/undo") == "Restored: The office is in Kyiv"
    assert (await read_entries(store))["fact-office-kyiv"].superseded_by is None


async def test_learn_without_a_name_replaces_the_outdated_value(
    person: Person, model: ModelServer, store: Store
) -> None:
    await call_tools(person, model, ("memory_learn", {"fact": "The office is in Kyiv"}))
    await call_tools(person, model, ("memory_learn", {"fact": "The cat is called Mitzi"}))
    model.second_look = lambda chat: Says(
        json.dumps(
            {"1": {"verdict": "follows", "replaces": [find_known_number(chat, "The office is in Kyiv")], "same": []}}
        )
    )
    (answer,) = await call_tools(person, model, ("memory_learn", {"fact": "The office is in Lviv"}))
    assert answer.endswith("The office is in Lviv instead of: The office is in Kyiv")
    holding = {entry.content for entry in (await read_entries(store)).values() if entry.superseded_by is None}
    assert holding == {"The office is in Lviv", "The cat is called Mitzi"}


async def test_learn_of_a_known_fact_in_other_words_reinforces_it(
    person: Person, model: ModelServer, store: Store
) -> None:
    await call_tools(person, model, ("memory_learn", {"fact": "The office is in Kyiv"}))
    model.second_look = lambda chat: Says(
        json.dumps(
            {"1": {"verdict": "follows", "replaces": [], "same": [find_known_number(chat, "The office is in Kyiv")]}}
        )
    )
    (answer,) = await call_tools(person, model, ("memory_learn", {"fact": "The office in Kyiv it is"}))
    assert answer == "known already as fact-office-kyiv, now reinforced"
    assert [entry.content for entry in (await read_entries(store)).values()] == ["The office is in Kyiv"]


def find_known_number(chat: ChatRequest, text: str) -> str:
    """Return the number by which a second look's prompt names a known memory."""
    match = re.search(rf"^(K\d+)\. (?:\(.*?\) )?{re.escape(text)}$", str(chat.messages[0]["content"]), re.MULTILINE)
    assert match is not None, text
    return match[1]


async def test_learned_fact_is_in_the_next_request_until_undo(person: Person, model: ModelServer) -> None:
    await call_tools(person, model, ("memory_learn", {"fact": "Invoices go out in euros", "kind": "policy"}))
    await person.says("/new")
    await person.says("Hello")
    assert "# Rules\n- [policy, 2026-02-07] Invoices go out in euros" in model.requests[-1].system()
    assert "Undone: " in await person.says("/undo")
    await person.says("Hello")
    assert "euros" not in model.requests[-1].system().partition("# Memory")[0]
    assert "# Rules\n" not in model.requests[-1].system()


async def test_recall_filters_by_kind_and_path(person: Person, model: ModelServer, store: Store) -> None:
    for number in range(25):
        await store.entries.add(
            OWNER, NewEntry(f"rule {number}", name=f"rule {number}", kind=Kind.POLICY, scope="src/**")
        )
    await store.entries.add(OWNER, NewEntry("the api is old", name="old", kind=Kind.FACT, scope="src/api/**"))
    await store.entries.add(OWNER, NewEntry("the api is documented", name="documented", kind=Kind.FACT))
    answers = await call_tools(
        person,
        model,
        ("memory_recall", {"query": "api", "kind": "fact"}),
        ("memory_recall", {"query": "api", "path": "src/api/a.py"}),
        ("memory_recall", {"query": "api", "path": " "}),
        ("memory_recall", {"path": "src/api/a.py", "kind": "fact"}),
        ("memory_recall", {"path": "docs/a.md"}),
        ("memory_recall", {"query": " ", "path": ""}),
        ("memory_recall", {}),
        ("memory_recall", {"query": "api", "tokens": 49}),
    )
    old, documented = "- [2026-02-07 12:15, fact old] the api is old", "[2026-02-07 12:15, fact documented]"
    assert set(answers[0].splitlines()) == {old, f"- {documented} the api is documented"}
    assert answers[1] == old
    assert answers[2] == answers[0]
    assert answers[3].splitlines()[0] == old
    assert answers[4] == "nothing found"
    assert (
        answers[5] == answers[6] == ("error: give queries, a time (since, until), a path, or a message to read around")
    )
    assert answers[7].startswith("error: the arguments are wrong: tokens:")


@pytest.mark.parametrize("text", ["lighthouse " * 60, "lighthouse 灯塔" + "灯塔守护者" * 80])
async def test_recall_respects_its_token_budget(person: Person, model: ModelServer, store: Store, text: str) -> None:
    for number in range(12):
        await store.entries.add(OWNER, NewEntry(f"{number} {text}", name=f"n{number}"))
    budgets = (50, 100, 400, 2000)
    answers = await call_tools(
        person, model, *(("memory_recall", {"query": "lighthouse", "tokens": tokens}) for tokens in budgets)
    )
    for answer, tokens in zip(answers, budgets, strict=True):
        assert answer.startswith("- [2026-02-07 12:15, note n")
        assert tokens * 0.35 < TokenCounter().count(answer) <= tokens
    assert len(answers[-1].splitlines()) > 4


async def test_memory_counts_once_a_turn_if_the_answer_uses_it(
    app: App, person: Person, model: ModelServer, store: Store
) -> None:
    await store.entries.add(OWNER, NewEntry("the lighthouse is white", name="colour"))
    await store.entries.add(OWNER, NewEntry("the keeper of the lighthouse is Ivan", name="keeper", kind=Kind.FACT))
    await store.entries.add(OWNER, NewEntry("the boat is blue", name="boat"))
    twice = ("memory_recall", {"query": "lighthouse"}), ("memory_recall", {"query": "the lighthouse"})
    await call_tools(person, model, *twice, say="what of the lighthouse and the boat")
    assert await count_entries(store) == {"colour": 1, "keeper": 1, "boat": 1}
    model.script(*(Calls((call,)) for call in twice), Says("It is white."))
    await person.says("what colour has the lighthouse, and who is the keeper")
    assert await count_entries(store) == {"colour": 2, "keeper": 1, "boat": 1}
    changed = await app.database.value("SELECT count(*) FROM entries WHERE last_reinforced_at > created_at")
    assert changed == 0
    assert await person.says("/undo") == "Undone: the boat is blue"


async def test_memory_in_the_request_counts_only_if_answered_with(
    person: Person, model: ModelServer, store: Store
) -> None:
    for name, text in (
        ("sister", "The user's sister Hanna lives in Graz."),
        ("dog", "The user's dog Rex is a beagle."),
    ):
        await store.entries.add(OWNER, NewEntry(text, name=name, kind=Kind.FACT))
    model.script(Says("Nice that you ask."), Says("She lives in Graz."), Says("Your sister is fine."))
    for _ in range(3):
        await person.says("Where does my sister live, and what is my dog?")
    assert "Rex is a beagle" in model.requests[-1].prompt
    assert await count_entries(store) == {"sister": 2, "dog": 1}


async def test_line_of_memory_md_counts_as_used_by_its_entry(app: App, person: Person, model: ModelServer) -> None:
    await note_down(app, "my bank is called Sparkbank")
    model.script(Says("Yes, of course."), Says("It is Sparkbank."))
    for expected in (1, 2):
        await person.says("/new")
        await person.says("Which bank do I have?")
        assert await app.database.value("SELECT max(reinforcement_count) FROM entries") == expected


async def test_private_talk_counts_no_use(app: App, person: Person, model: ModelServer, store: Store) -> None:
    await store.entries.add(OWNER, NewEntry("The user's sister Hanna lives in Graz.", name="sister", kind=Kind.FACT))
    await person.says("/private")
    model.script(Says("Hanna lives in Graz."))
    await person.says("Where does my sister live?")
    assert await count_entries(store) == {"sister": 1}


async def test_episode_is_found_by_tags_and_outcome(person: Person, model: ModelServer, store: Store) -> None:
    answers = await call_tools(
        person,
        model,
        ("memory_episode", {"event": "The server ran out of disk", "outcome": "Logs moved", "tags": ["zebra", "ops"]}),
        ("memory_episode", {"event": "We met Olena"}),
        ("memory_recall", {"query": "zebra"}),
        ("memory_recall", {"query": "logs"}),
        ("memory_episode", {"event": "x", "outcome": "the password is hunter2!x"}),
        ("memory_episode", {"event": "x", "tags": ["the password is hunter2!x"]}),
        ("memory_episode", {"event": "x", "outcome": "y" * 501}),
        ("memory_episode", {"event": "x", "tags": ["t"] * 11}),
        ("memory_episode", {"event": " "}),
    )
    name = "episode-server-ran-disk"
    assert answers[0] == f"saved the episode {name}: The server ran out of disk Outcome: Logs moved"
    assert answers[1] == "saved the episode episode-met-olena: We met Olena"
    found_as = f"- [2026-02-07 12:15, episode {name}] The server ran out of disk Outcome: Logs moved"
    assert answers[2:4] == [found_as, found_as]
    assert [answer.partition(":")[0] for answer in answers[4:]] == ["error"] * 5
    found = await read_entries(store)
    assert set(found) == {name, "episode-met-olena"}
    assert (found[name].outcome, found[name].tags, found[name].kind) == ("Logs moved", ("zebra", "ops"), "episode")
    assert found[name].source_message_id == 1
    assert "Outcome: Logs moved" in await person.says(f"/memory {name}")
    assert "Undone: " in await person.says("/undo")
    assert set(await read_entries(store)) == {name}


async def test_procedure_is_saved_recorded_and_undone(person: Person, model: ModelServer, store: Store) -> None:
    answers = await call_tools(
        person,
        model,
        ("memory_procedure", {"name": "deploy", "task": "release", "steps": ["test", "push"]}),
        ("memory_procedure", {"name": "deploy", "result": "success"}),
        ("memory_procedure", {"name": "deploy", "result": "failure"}),
        ("memory_procedure", {"name": "deploy", "task": "release", "steps": ["push"], "result": "success"}),
        ("memory_procedure", {"name": "unknown", "result": "success"}),
        ("memory_procedure", {"name": "deploy"}),
        ("memory_procedure", {"name": "deploy", "steps": [" "]}),
        ("memory_procedure", {"name": "deploy", "steps": ["x"] * 51}),
        ("memory_procedure", {"name": "deploy", "result": "maybe"}),
    )
    assert answers[:4] == [
        "saved the workflow deploy (not tried yet): release: 1. test 2. push",
        "saved the workflow deploy (worked 1 of 1 times): release: 1. test 2. push",
        "saved the workflow deploy (worked 1 of 2 times): release: 1. test 2. push",
        "saved the workflow deploy (worked 2 of 3 times): release: 1. push",
    ]
    for answer, expected in zip(
        answers[4:],
        [
            "I don't remember anything called 'unknown'",
            "A workflow needs",
            "A workflow needs",
            "A workflow can have at most 50",
            "the arg",
        ],
        strict=True,
    ):
        assert answer.startswith(f"error: {expected}")
    for undone in ("Changed back to: ", "Restored as it was: ", "Restored as it was: "):
        assert undone in await person.says("/undo")
    entry = (await read_entries(store))["deploy"]
    assert (entry.steps, entry.success_count, entry.failure_count) == (("test", "push"), 0, 0)
    assert "Undone: " in await person.says("/undo")
    assert await read_entries(store) == {}


async def test_stats_count_by_type_and_tokens(app: App, person: Person, model: ModelServer, store: Store) -> None:
    assert await call_tools(person, model, ("memory_stats", {})) == ["in all: 0 (0 tokens)"]
    await store.entries.add("telegram:2", NewEntry("not mine"))
    await store.entries.add(OWNER, NewEntry("x" * 40, name="a", kind=Kind.FACT))
    await store.entries.add(OWNER, NewEntry("x" * 20, name="b", kind=Kind.FACT))
    await store.entries.add(OWNER, NewEntry("x" * 12, name="c"))
    await store.entries.add(OWNER, NewEntry("x" * 99, name="d"))
    await store.entries.remove(OWNER, "d")
    assert await call_tools(person, model, ("memory_stats", {})) == [
        "fact: 2 (15 tokens)\nnote: 1 (3 tokens)\nin all: 3 (18 tokens)"
    ]


@needs_feature("tidying")
async def test_consolidate_tidies_reports_and_can_be_undone(person: Person, model: ModelServer, store: Store) -> None:
    assert await call_tools(person, model, ("memory_consolidate", {})) == ["There was nothing to tidy."]
    for name in ("one", "two"):
        await store.entries.add(OWNER, NewEntry("The office is in Kyiv", name=name, kind=Kind.FACT))
    before = await store.entries.list(OWNER)
    answers = await call_tools(person, model, ("memory_consolidate", {}))
    assert answers[0].startswith('Memory tidied; merged as duplicates: "The office is in Kyiv". Nothing was deleted')
    assert await person.says("/undo") == "Restored: The office is in Kyiv"
    assert await store.entries.list(OWNER) == before


@pytest.mark.parametrize("provenance", [Provenance.FORWARDED, Provenance.FILE, Provenance.WEB])
async def test_call_without_a_citation_is_unconfirmed_but_may_read(
    person: Person, model: ModelServer, store: Store, provenance: Provenance
) -> None:
    await store.entries.add(OWNER, NewEntry("The office is in Kyiv", name="office", kind=Kind.FACT))
    answers = await call_tools(
        person,
        model,
        ("memory_learn", {"fact": "The office is in Lviv", "replaces": "office"}),
        ("memory_episode", {"event": "x"}),
        ("memory_procedure", {"name": "x", "steps": ["x"]}),
        ("memory_stats", {}),
        ("memory_recall", {"query": "office"}),
        provenance=provenance,
        say="Never speak of the office in Kyiv",
    )
    assert all("not confirmed" in answer for answer in answers[:3])
    assert "fact: " in answers[3]
    assert "Kyiv" in answers[4]
    confirmed = [entry.content for entry in (await read_entries(store)).values() if entry.unconfirmed is None]
    assert confirmed == ["The office is in Kyiv"]


async def test_learning_and_recall_are_separate_for_each_owner(
    app: App, person: Person, model: ModelServer, store: Store
) -> None:
    await call_tools(person, model, ("memory_learn", {"fact": "The office is in Kyiv", "scope": "src/**"}))
    other = Person(app, Address("console", "other"))
    answers = await call_tools(
        other,
        model,
        ("memory_recall", {"query": "office"}),
        ("memory_recall", {"path": "src/a"}),
        ("memory_learn", {"fact": "The office is in Lviv", "replaces": "fact-office-kyiv"}),
        ("memory_procedure", {"name": "fact-office-kyiv", "result": "success"}),
        ("memory_stats", {}),
    )
    assert answers[:2] == ["nothing found"] * 2
    assert all(answer.startswith("error: I don't remember anything called") for answer in answers[2:4])
    assert answers[4] == "in all: 0 (0 tokens)"
    assert await other.says("/undo") == "There is nothing to undo."
    assert await count_entries(store) == {"fact-office-kyiv": 1}


@whole_program
async def test_small_window_holds_all_tools_and_the_question(start: OpenApp, model: ModelServer) -> None:
    async with start(window=8192) as app:
        await Person(app).says("Hello")
    assert len(model.requests[-1].body["tools"]) == 16
    assert model.requests[-1].last == "Hello"
