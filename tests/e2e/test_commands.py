"""Tests of the slash commands and their figures."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.commands.command import help_text, parse_command
from bot.commands.figures import WIDTH_CELLS
from bot.kernel import App
from memory.facts.rules import may_contradict
from memory.ledger.entries import EntryStore
from memory.log.sessions import Address
from memory.store.entry import Kind, NewEntry
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.features import INSTALLED, needs_feature
from tests.support.figures import parse_figures
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Says, Streams
from tests.support.talk import Store, create_ledger, note_down


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/help", ("help", "")),
        ("/Compact 5", ("compact", "5")),
        ("  /compact   5  ", ("compact", "5")),
        ("/status@mneme_bot", ("status", "")),
        ("/start@mneme_bot CODE", ("start", "CODE")),
        ("/remember one\ntwo", ("remember", "one\ntwo")),
        ("/etc/passwd is a file", ("", "")),
        ("/", ("", "")),
        ("/5", ("", "")),
        ("5 / 2", ("", "")),
        ("//help", ("", "")),
        ("say /help", ("", "")),
    ],
)
def test_command_is_distinguished_from_other_text(text: str, parsed: tuple[str, str]) -> None:
    assert parse_command(text) == parsed


@given(st.text())
def test_any_text_can_be_parsed_as_a_command(text: str) -> None:
    name, argument = parse_command(text)
    assert name or not argument


async def test_help_lists_every_command(app: App, person: Person, model: ModelServer) -> None:
    said = await person.says("/help")
    examples, _blank, commands = said.partition("\n\n")
    assert commands == help_text(command for command in app.runner.commands.values() if command.listed)
    assert len(examples.splitlines()) == 4  # Three things to say
    assert "- /compact [N] - Summarise all but the last N messages" in said.splitlines()
    lines = [line for line in commands.splitlines() if line.startswith("- ")]
    listed = {f"/{name}" for name, one in app.runner.commands.items() if one.listed}
    assert {line.split()[1] for line in lines} == listed - {"/start", "/help"}
    assert [line for line in said.splitlines() if line.startswith("**")] == [
        "**Memory**",
        "**Conversation**",
        *(["**Reminders**"] if "reminders" in INSTALLED else []),
        "**Settings**",
        "**People**",
    ]
    assert model.requests == []


@pytest.mark.parametrize(
    ("settings", "told", "untold"),
    [
        ({}, "any other chat", "MEMORY_ENABLED"),
        ({"memory_scope": "shared"}, "one memory for all chats", "no other chat"),
        ({"memory_enabled": False}, "don't remember anything beyond", "/undo"),
    ],
)
async def test_start_message_matches_the_settings(
    start: OpenApp, settings: dict[str, Any], told: str, untold: str
) -> None:
    async with start(**settings) as app:
        first = await Person(app).says("/start")
    assert len(first.splitlines()) == 4
    assert first.endswith("Answers come from the model scripted, which runs on the same computer.")
    assert first.startswith("I'm Mneme")
    assert told in first
    assert untold not in first


async def test_unknown_command_is_answered_with_the_nearest(app: App, person: Person, model: ModelServer) -> None:
    assert await person.says("/Frobnicate it") == "There is no command /frobnicate: /help lists all commands."
    assert await person.says("/memry") == "There is no command /memry: did you mean /memory?"
    assert model.requests == []
    assert await app.sessions.count_messages("console:local") == 0


async def test_new_says_what_is_kept(app: App, person: Person, model: ModelServer) -> None:
    await person.says("Remember that I like tea")
    await person.says("Hello")
    assert await person.says("/new") == (
        "New conversation. The last one (4 messages) can still be searched. My memory stays."
    )
    assert await person.says("/new") == "This is already a new conversation."
    await person.says("What do I like?")
    assert [m["role"] for m in model.requests[-1].messages] == ["system", "user"]
    assert len(await app.database.rows("SELECT id FROM messages")) == 6


async def test_compact_keeps_the_given_number_of_messages(app: App, person: Person, model: ModelServer) -> None:
    for n in range(5):
        await person.says(f"message {n}")
    model.script(Says("Five messages about nothing at all."))
    assert await person.says("/compact 4") == (
        "Summarised 6 messages as archive-2026-02-07-five-messages-nothing. Kept unchanged: 4."
    )
    transcript = await app.sessions.read_transcript("console:local")
    assert transcript.summary == "Five messages about nothing at all."
    assert [m.content for m in transcript.messages][::2] == ["message 3", "message 4"]


async def test_compact_keeps_ten_messages_by_default(person: Person, model: ModelServer) -> None:
    for n in range(6):
        await person.says(f"message {n}")
    model.script(Says("A summary."))
    said = await person.says("/compact")
    assert said.startswith("Summarised 2 messages as ")
    assert said.endswith(". Kept unchanged: 10.")


async def test_compact_without_a_model_announces_an_extract(app: App, person: Person, model: ModelServer) -> None:
    for n in range(3):
        await person.says(f"message {n}")
    model.script(Fails(404))
    assert "4 messages were archived as archive-" in await person.says("/compact 1")
    summary = (await app.sessions.read_transcript("console:local")).summary
    assert summary == "The user said:\n- message 0\n- message 1"


@pytest.mark.parametrize("argument", ["0", "101", "-1", "ten", "1.5", "5 6", "٣٣٣", "9" * 5000])
async def test_compact_with_an_invalid_number_is_refused(person: Person, model: ModelServer, argument: str) -> None:
    assert await person.says(f"/compact {argument}") == ("/compact takes a number from 1 to 100, such as /compact 10.")
    assert model.requests == []


async def test_compact_with_nothing_to_do_says_so(person: Person, model: ModelServer) -> None:
    assert await person.says("/compact") == "Nothing to compact."
    await person.says("Hello")
    assert await person.says("/compact 1") == "Nothing to compact."
    assert len(model.requests) == 1


async def test_status_is_exact_also_after_a_restart(start: OpenApp, model: ModelServer, clock: FakeClock) -> None:
    async with start(memory_recent_days=2) as app:
        person = Person(app)
        await note_down(app, "I like tea (noted 2026-02-07)")
        await person.says("What a day")
        clock.forward(hours=24)
        for n in range(3):
            await person.says(f"message {n}")
        model.script(Says("A summary."))
        await person.says("/compact 2")
        clock.forward(hours=1, minutes=5)
        before = await person.says("/status")
        used = await app.database.value(
            "SELECT sum(prompt_tokens + completion_tokens) FROM usage WHERE at > ?", ("2026-02-08",)
        )
        await person.says("Hello")
        told = model.requests[-1]
    shown = parse_figures(before)
    tokens = int(shown["Context"]["tokens"].split()[1].replace(",", ""))
    assert shown["Context"] == {
        "%": f"{round(100 * tokens / 32_768)}%",
        "model": "scripted",
        "tokens": f"≈ {tokens:,} of 32,768",
        "messages": "8",
        "summarised": "6",
    }
    assert tokens == pytest.approx(told.tokens, rel=0.15)
    left = shown["Until the next summary"]
    assert re.fullmatch(r"≈ [\d,]+ of 26,214", left["tokens"])
    assert left["messages"] == "2 of 50"
    assert shown["Today, in all chats"] == {"tokens": f"{used:,}", "": "I don't know the price of `scripted`."}
    memory = {"MEMORY.md": "32 bytes", "memories": "1", "today's notes": "3"}
    memory |= {"recent notes": "1", "archives": "1"}
    assert shown["Memory"] == memory
    assert shown["Used for the last answer"] == {
        "rules": "0",
        "memories": "0",
        "workflows": "0",
        "tokens": "≈ 0",
        "": "/memory why shows which, and why.",
    }
    assert shown["Queue"] == {"waiting": "0", "uptime": "1 d 1 h"}
    async with start(memory_recent_days=2) as app:
        after = parse_figures(await Person(app).says("/status"))
    assert (after["Context"]["messages"], after["Context"]["summarised"]) == ("10", "6")
    assert after["Memory"] == memory | {"today's notes": "4"}
    assert after["Queue"]["uptime"] == "0 s"


async def test_status_mentions_problems(app: App, person: Person, clock: FakeClock) -> None:
    store = Store.create(app.database, clock)
    for name, content in (("one", "Always answer in German"), ("two", "Always answer in English")):
        await store.entries.add("console:local", NewEntry(content, name=name, kind=Kind.POLICY))
    for name in ("faded", "archived"):
        await store.entries.add("console:local", NewEntry(f"Ate {name} soup", name=name, kind=Kind.FACT))
    async with app.database.transaction() as connection:
        await connection.execute(
            "UPDATE entries SET last_reinforced_at = '2020-01-01T00:00:00.000Z' WHERE kind = 'fact'"
        )
        await connection.execute("UPDATE entries SET archived_at = last_reinforced_at WHERE content LIKE '%archived%'")
    folder = app.memory.files.get_folder("console:local")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "MEMORY.md").write_text("- A line that was typed\n" * 340)
    said = await person.says("/status")
    shown = parse_figures(said)["Memory"]
    assert (shown["faded"], shown["archived"]) == ("1", "1")
    assert "MEMORY.md is full (8,160 of 8,192 bytes): shorten the lines that you wrote in it." in said
    assert 'may contradict each other: "Always answer in German" and "Always answer in English". Remove one' in said
    await person.says("/forget_1")
    assert "contradict" not in await person.says("/status")


@pytest.mark.parametrize(
    ("rule", "other", "doubtful"),
    [
        ("Never use emojis", "Always use emojis", True),
        ("Answer in at most 3 sentences", "Answer in at most 5 sentences", True),
        ("Antworte immer auf Deutsch", "Antworte immer auf Englisch", True),
        ("Никогда не используй смайлики", "Всегда используй смайлики", True),
        ("Never use emojis", "Never use tabs", False),
        ("Always answer briefly", "Always answer briefly", False),
        ("Call me Tom", "Always add a summary", False),
    ],
)
def test_rules_that_differ_in_a_value_are_contradictions(rule: str, other: str, doubtful: bool) -> None:
    assert may_contradict(rule, other) is doubtful


async def test_status_of_an_empty_installation(person: Person) -> None:
    shown = parse_figures(await person.says("/status"))
    assert shown["Context"]["messages"] == "0"
    assert "summarised" not in shown["Context"]
    assert shown["Today, in all chats"] == {"tokens": "0"}
    assert shown["Memory"]["MEMORY.md"] == "0 bytes"


async def test_status_lines_fit_on_a_phone(person: Person) -> None:
    await person.says("Remember that I like tea")
    inside = (await person.says("/status")).split("```")[1::2]
    lines = [line for block in inside for line in block.strip("\n").splitlines()]
    assert len(lines) > 10
    assert {len(line) for line in lines} == {WIDTH_CELLS}


def create_answer_with_usage(prompt: int, cached: int, completion: int) -> Streams:
    """Return an answer with this reported usage."""
    said = {"index": 0, "delta": {"role": "assistant", "content": "Well."}, "finish_reason": "stop"}
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    return Streams(({"choices": [said]}, {"choices": [], "usage": usage}))


async def test_status_shows_todays_cost_by_catalogue_prices(
    start: OpenApp, model: ModelServer, clock: FakeClock
) -> None:
    async with start(llm_model="gpt-4o-mini") as app:
        person = Person(app)
        assert "cost" not in parse_figures(await person.says("/status"))["Today, in all chats"]
        model.script(create_answer_with_usage(20_000, 8_000, 100))
        await person.says("Hello")
        # 12,000 at 0.15, 8,000 at 0.075 and 100 at 0.60 dollars per million.
        assert await app.database.value("SELECT cost FROM usage") == pytest.approx(0.00246)
        assert parse_figures(await person.says("/status"))["Today, in all chats"] == {
            "tokens": "20,100",
            "cost": "under $0.01",
        }
        model.script(create_answer_with_usage(800_000, 0, 10_000))
        await person.says("And now?")
    # From now on a model without a known price answers. Its tokens are counted but not priced.
    async with start(llm_model="some-model") as app:
        person = Person(app)
        model.script(create_answer_with_usage(1_000, 0, 500))
        await person.says("Hello")
        assert parse_figures(await person.says("/status"))["Today, in all chats"] == {
            "tokens": "831,600",
            "cost": "about $0.13",
            "": "Not counting `some-model`, whose price I don't know.",
        }
        clock.forward(days=1)
        assert parse_figures(await person.says("/status"))["Today, in all chats"] == {"tokens": "0"}


async def test_start_with_cost_limit_names_models_without_price(start: OpenApp) -> None:
    with capture_logs() as logs:
        async with start(chat_daily_cost=0.5):
            pass
    (line,) = (line for line in logs if line["event"] == "cost_limit_incomplete")
    assert line["log_level"] == "warning"
    assert line["reason"].endswith("set CHAT_DAILY_TOKENS, which limits every model.")


async def test_commands_right_after_a_restart_use_the_conversation(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        for n in range(3):
            await Person(app).says(f"message {n}")
    async with start() as app:
        model.script(Says("A summary."))
        assert "Summarised 4 messages" in await Person(app).says("/compact 1")
    async with start() as app:
        assert await Person(app).says("/retry") == "You said: message 2"
    async with start() as app:
        assert "The last one (6 messages) can still be searched" in await Person(app).says("/new")


async def add_entry(app: App, kind: Kind, content: str, name: str, **new: object) -> None:
    store = EntryStore(app.database, create_ledger(app.database, app.clock))
    await store.add("console:local", NewEntry(content, name=name, kind=kind, **new))  # type: ignore[arg-type]  # Keyword arguments.


def parse_activation(status: str) -> dict[str, str]:
    return parse_figures(status)["Used for the last answer"]


async def test_status_and_why_show_activations_also_after_restart(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        person = Person(app)
        assert await person.says("/memory why") == "No memory was used for your last message."
        await add_entry(app, Kind.POLICY, "Answer in one sentence", "short")
        await add_entry(app, Kind.FACT, "Likes green tea", "tea")
        await add_entry(app, Kind.FACT, "Works as a nurse", "work")
        await add_entry(app, Kind.WORKFLOW, "Brewing tea: boil, wait", "brew")
        await person.says("Is there tea?")
        before = parse_activation(await person.says("/status"))
    assert (before["rules"], before["memories"], before["workflows"]) == ("1", "2", "1")
    async with start() as app:
        person = Person(app)
        assert parse_activation(await person.says("/status")) == before
        why = (await person.says("/memory WHY")).splitlines()
        assert why[0] == "4 memories were used for the last answer:"
        by_hand = ", you wrote it, 2026-02-07)"
        assert why[1:] == [
            "A rule that always applies:",
            f"- Answer in one sentence (policy{by_hand}",
            "It fits your message:",
            f"- Likes green tea (fact{by_hand}",
            f"- Works as a nurse (fact{by_hand}",
            "It says how to do what you asked for:",
            f"- Brewing tea: boil, wait (workflow{by_hand}",
        ]
        await person.says("/forget tea")
        gone = (await person.says("/memory why")).splitlines()
        assert gone[4] == "- a memory that was deleted since"
        await person.says("/forget all confirm")
        assert await person.says("/memory why") == "No memory was used for your last message."


async def test_last_activation_is_separate_for_each_chat(app: App, person: Person) -> None:
    await add_entry(app, Kind.POLICY, "Answer in one sentence", "short")
    await person.says("Hello")
    other = Person(app, Address("telegram", "2"))
    await other.says("Hello")
    assert "Answer in one sentence" in await person.says("/memory why")
    assert await other.says("/memory why") == "No memory was used for your last message."


async def test_status_counts_rules_over_the_budget(app: App, person: Person) -> None:
    await add_entry(app, Kind.POLICY, "Rule 0", "rule")
    async with app.database.transaction() as connection:
        columns = "owner_id, kind, priority, content, last_reinforced_at, valid_from, author, created_at"
        await connection.execute(
            f"INSERT INTO entries ({columns})"  # noqa: S608
            " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9999)"
            " SELECT owner_id, kind, priority, 'Rule ' || i, last_reinforced_at, valid_from, author, created_at"
            " FROM entries, n WHERE entries.id = 1"
        )
        await connection.execute(
            "INSERT INTO names (owner_id, key, name, entry_id)"
            " SELECT owner_id, 'r' || id, 'r' || id, id FROM entries WHERE id > 1"
        )
    await person.says("Hello")
    last = parse_activation(await person.says("/status"))
    shown, of, rules = last["rules"].partition(" of ")
    assert 50 < int(shown) < 200
    assert (of, rules, last["memories"]) == (" of ", "10,000", "0")


async def test_status_shows_the_distance_to_compaction(person: Person) -> None:
    await person.says("Hello")
    left = parse_figures(await person.says("/status"))["Until the next summary"]
    assert re.fullmatch(r"≈ [\d,]+ of [\d,]+", left["tokens"])
    assert left["messages"] == "2 of 50"


async def test_status_shows_that_memory_and_compaction_are_off(start: OpenApp) -> None:
    async with start(memory_enabled=False, compaction_enabled=False) as app:
        person = Person(app)
        await person.says("Hello")
        shown = parse_figures(await person.says("/status"))
        assert shown["Memory"] == {"": "It is off. The setting for this is MEMORY_ENABLED."}
        assert shown["Until the next summary"] == {"": "It is off. The setting for this is COMPACTION_ENABLED."}
        assert "Used for the last answer" not in shown
        assert "Memory is off" in await person.says("/new")


@needs_feature("voice")
async def test_help_lists_every_command_of_the_menu(start: OpenApp) -> None:
    async with start(llm_speech_model="a-voice", memory_scope="family") as app:
        said = await Person(app).says("/help")
        listed = [command.name for command in app.runner.commands.values() if command.listed]
        assert [name for name in listed if f"- /{name} " not in said] == ["start", "help"]
        assert "voice" in listed
