"""The slash commands: what they say, and that their figures are right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.commands import help_text, parse_command
from memory.ledger.entries import EntryStore
from memory.log.sessions import Address
from memory.store.entry import Kind, NewEntry
from tests.support.fakes import Person
from tests.support.servers.model import Fails, Says
from tests.support.talk import ledger_over

if TYPE_CHECKING:
    from bot.app import App
    from tests.conftest import OpenApp
    from tests.support.fakes import FakeClock
    from tests.support.servers.model import ModelServer


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
def test_a_command_is_told_from_other_words(text: str, parsed: tuple[str, str]) -> None:
    assert parse_command(text) == parsed


@given(st.text())
def test_any_text_can_be_parsed(text: str) -> None:
    name, argument = parse_command(text)
    assert name or not argument


async def test_help_lists_every_command(app: App, person: Person, model: ModelServer) -> None:
    said = await person.says("/help")
    assert said == help_text(app.commands)
    assert "- /compact [N] - Summarise the conversation but for the last N messages" in said.splitlines()
    assert [line.split()[1] for line in said.splitlines()] == [
        f"/{name}" for name, one in app.commands.items() if one.listed
    ]
    assert model.requests == []


async def test_start_says_hello_and_what_there_is(app: App, person: Person) -> None:
    said = await person.says("/start")
    assert said.startswith("I am Mneme")
    assert help_text(app.commands) in said


@pytest.mark.parametrize(
    ("settings", "told", "untold"),
    [
        ({}, "no other chat", "MEMORY_ENABLED"),
        ({"memory_scope": "shared"}, "one memory for all chats", "no other chat"),
        ({"memory_enabled": False}, "not remembered", "/undo"),
    ],
)
async def test_start_says_in_three_lines_what_is_different_and_promises_no_more_than_the_settings_keep(
    start: OpenApp, settings: dict[str, Any], told: str, untold: str
) -> None:
    async with start(**settings) as app:
        said = await Person(app).says("/start")
        first = said.removesuffix(help_text(app.commands))
    assert len([line for line in first.splitlines() if line.startswith("- ")]) == 3
    assert told in first
    assert untold not in first


async def test_an_unknown_command_is_named_and_the_known_ones_are_shown(
    app: App, person: Person, model: ModelServer
) -> None:
    assert await person.says("/Frobnicate it") == f"There is no command /frobnicate.\n\n{help_text(app.commands)}"
    assert model.requests == []
    assert await app.sessions.message_count("console:local") == 0


async def test_a_new_conversation_says_what_stays(app: App, person: Person, model: ModelServer) -> None:
    await person.says("Remember that I like tea")
    await person.says("Hello")
    assert await person.says("/new") == (
        "A new conversation begins. The 4 messages of the last one stay in my log, and I keep "
        "a MEMORY.md of 13 bytes, 2 notes of today."
    )
    assert await person.says("/new") == (
        "This is a new conversation already. I still have a MEMORY.md of 13 bytes, 2 notes of today."
    )
    await person.says("What do I like?")
    assert [m["role"] for m in model.requests[-1].messages] == ["system", "user"]
    assert len(await app.database.rows("SELECT id FROM messages")) == 6


async def test_compact_keeps_as_many_messages_as_it_is_told(app: App, person: Person, model: ModelServer) -> None:
    for n in range(5):
        await person.says(f"message {n}")
    model.script(Says("Five messages about nothing at all."))
    assert await person.says("/compact 4") == (
        "6 messages left my view, summarised as archive-2026-02-07-five-messages-nothing; 4 stay."
    )
    transcript = await app.sessions.transcript("console:local")
    assert transcript.summary == "Five messages about nothing at all."
    assert [m.content for m in transcript.messages][::2] == ["message 3", "message 4"]


async def test_compact_keeps_ten_messages_without_a_number(person: Person, model: ModelServer) -> None:
    for n in range(6):
        await person.says(f"message {n}")
    model.script(Says("A summary."))
    said = await person.says("/compact")
    assert said.startswith("2 messages left my view, summarised as ")
    assert said.endswith("; 10 stay.")


async def test_compact_without_a_model_says_that_the_archive_is_an_extract(
    app: App, person: Person, model: ModelServer
) -> None:
    for n in range(3):
        await person.says(f"message {n}")
    model.script(Fails(404))
    assert "4 messages left my view, extracted (no model made a summary) as archive-" in await person.says("/compact 1")
    summary = (await app.sessions.transcript("console:local")).summary
    assert summary == "The user said:\n- message 0\n- message 1"


@pytest.mark.parametrize("argument", ["0", "101", "-1", "ten", "1.5", "5 6", "٣٣٣", "9" * 5000])
async def test_compact_refuses_what_is_no_number_of_messages(person: Person, model: ModelServer, argument: str) -> None:
    assert await person.says(f"/compact {argument}") == ("/compact takes a number from 1 to 100, such as /compact 10.")
    assert model.requests == []


async def test_there_may_be_nothing_to_compact(person: Person, model: ModelServer) -> None:
    assert await person.says("/compact") == "Nothing to compact."
    await person.says("Hello")
    assert await person.says("/compact 1") == "Nothing to compact."
    assert len(model.requests) == 1


async def test_status_is_exact_and_the_same_after_a_restart(
    start: OpenApp, model: ModelServer, clock: FakeClock
) -> None:
    async with start(memory_recent_days=2) as app:
        person = Person(app)
        await person.says("Remember that I like tea")
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
    lines = before.splitlines()
    assert lines[0] == "- **Conversation**: 8 messages, 6 of them compacted"
    assert re.fullmatch(r"- \*\*Compaction\*\*: about [\d,]+ of 26,214 tokens, 2 of 50 messages", lines[2])
    assert lines[3:] == [
        f"- **Tokens today**: {used:,}",
        "- **Model**: scripted",
        "- **Memory**: 13 bytes of long-term memory, 3 notes of today, 1 note of recent days, 1 archive",
        "- **Activated**: 0 rules, 0 memories, 0 workflows in the last request, about 0 tokens (/memory why)",
        "- **Queue**: nothing waiting",
        "- **Uptime**: 1 d 1 h",
    ]
    tokens = int(lines[1].split("about ")[1].split(" of ")[0].replace(",", ""))
    assert lines[1] == f"- **Context**: `█{'░' * 19}` 5%, about {tokens:,} of 32,768 tokens"
    assert tokens == pytest.approx(told.tokens, rel=0.15)
    async with start(memory_recent_days=2) as app:
        after = (await Person(app).says("/status")).splitlines()
    assert after[0] == "- **Conversation**: 10 messages, 6 of them compacted"
    assert after[5] == "- **Memory**: 13 bytes of long-term memory, 4 notes of today, 1 note of recent days, 1 archive"
    assert after[-1] == "- **Uptime**: 0 s"


async def test_status_of_an_empty_installation(person: Person) -> None:
    lines = (await person.says("/status")).splitlines()
    assert lines[0] == "- **Conversation**: 0 messages"
    assert lines[3] == "- **Tokens today**: 0"
    assert lines[5] == "- **Memory**: 0 bytes of long-term memory, 0 notes of today, 0 notes of recent days, 0 archives"


async def test_commands_right_after_a_restart_know_the_conversation(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        for n in range(3):
            await Person(app).says(f"message {n}")
    async with start() as app:
        model.script(Says("A summary."))
        assert "4 messages left my view" in await Person(app).says("/compact 1")
    async with start() as app:
        assert await Person(app).says("/retry") == "You said: message 2"
    async with start() as app:
        assert "The 6 messages of the last one stay in my log" in await Person(app).says("/new")


async def remembered(app: App, kind: Kind, content: str, name: str, **new: object) -> None:
    store = EntryStore(app.database, ledger_over(app.database, app.clock))
    await store.add("console:local", NewEntry(content, name=name, kind=kind, **new))  # type: ignore[arg-type]  # by name


def activated(status: str) -> str:
    return next(line for line in status.splitlines() if line.startswith("- **Activated**: "))


async def test_status_and_why_show_what_activated_also_after_a_restart(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        person = Person(app)
        assert await person.says("/memory why") == "No memory was activated for your last message."
        await remembered(app, Kind.POLICY, "Answer in one sentence", "short")
        await remembered(app, Kind.FACT, "Likes green tea", "tea")
        await remembered(app, Kind.FACT, "Works as a nurse", "work")
        await remembered(app, Kind.WORKFLOW, "Brewing tea: boil, wait", "brew")
        await person.says("Is there tea?")
        before = activated(await person.says("/status"))
    assert before.startswith("- **Activated**: 1 rule, 2 memories, 1 workflow in the last request, about ")
    tokens = int(before.partition("about ")[2].split()[0])
    async with start() as app:
        person = Person(app)
        assert activated(await person.says("/status")) == before
        why = (await person.says("/memory WHY")).splitlines()
        assert why[0] == "4 memories stood in the last request:"
        assert why[1].startswith("- **short**: Answer in one sentence (layer A, score 2.00, ")
        assert why[1].endswith(" tokens; policy, by user, 2026-02-07 12:15 UTC)")
        assert why[2].startswith("- **tea**: Likes green tea (layer B, score 1.00, relevance ")
        assert why[2].endswith(" tokens; fact, by user, 2026-02-07 12:15 UTC)")
        assert why[3].startswith("- **brew**: Brewing tea: boil, wait (layer C, score 1.50, relevance ")
        assert why[4].startswith("- **work**: Works as a nurse (layer B, score 1.00, ")
        assert "relevance" not in why[4]
        assert sum(int(line.partition(" tokens")[0].split()[-1]) for line in why[1:]) == tokens
        await person.says("/forget tea")
        gone = (await person.says("/memory why")).splitlines()
        assert gone[2].startswith("- a memory that is gone by now (layer B, score 1.00, relevance ")
        await person.says("/forget all confirm")
        assert await person.says("/memory why") == "No memory was activated for your last message."


async def test_each_chat_has_its_own_last_activation(app: App, person: Person) -> None:
    await remembered(app, Kind.POLICY, "Answer in one sentence", "short")
    await person.says("Hello")
    other = Person(app, Address("telegram", "2"))
    await other.says("Hello")
    assert "Answer in one sentence" in await person.says("/memory why")
    assert await other.says("/memory why") == "No memory was activated for your last message."


async def test_status_says_how_many_rules_there_was_no_room_for(app: App, person: Person) -> None:
    await remembered(app, Kind.POLICY, "Rule 0", "rule")
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
    line = activated(await person.says("/status"))
    shown = int(line.removeprefix("- **Activated**: ").split()[0])
    assert 50 < shown < 200
    assert line.startswith(f"- **Activated**: {shown} of 10,000 rules, 0 memories, 0 workflows in the last request")


async def test_status_says_how_far_compaction_is(person: Person) -> None:
    await person.says("Hello")
    status = await person.says("/status")
    line = next(line for line in status.splitlines() if line.startswith("- **Compaction**"))
    assert re.fullmatch(r"- \*\*Compaction\*\*: about [\d,]+ of [\d,]+ tokens, 2 of \d+ messages", line)


async def test_status_says_when_memory_and_compaction_are_off(start: OpenApp) -> None:
    async with start(memory_enabled=False, compaction_enabled=False) as app:
        person = Person(app)
        await person.says("Hello")
        status = await person.says("/status")
        assert "- **Memory**: off (MEMORY_ENABLED)" in status
        assert "- **Compaction**: off (COMPACTION_ENABLED)" in status
        assert "Activated" not in status
        assert "memory is off" in await person.says("/new")
