"""Tests of /memory, /remember, /recall, /forget and /undo in a chat."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.kernel import App
from memory.log.sessions import Address
from memory.store.entry import Author, Kind, NewEntry
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says
from tests.support.talk import Store
from tests.support.tool_use import OWNER


async def remember(person: Person, *texts: str) -> None:
    for text in texts:
        assert (await person.says(f"/remember {text}")).startswith("Remembered as ")


async def test_remember_stores_a_note_and_returns_its_name(person: Person) -> None:
    assert await person.says("/remember The spare key is at Ann's") == (
        "Remembered as **spare-key-ann**: The spare key is at Ann's"
    )
    assert await person.says("/memory spare-key-ann") == (
        "**spare-key-ann**\n\nThe spare key is at Ann's\n\n_note, you wrote it, 2026-02-07_"
    )


async def test_note_that_is_known_is_not_stored_again(app: App, person: Person) -> None:
    await remember(person, "The gate code is green")
    assert await person.says("/remember the gate code is green.") == (
        "I already know that as **gate-code-green**: The gate code is green"
    )
    assert len(await app.memory.entries.list()) == 1


async def test_remember_keeps_line_breaks(person: Person) -> None:
    await remember(person, "shopping list:\n- flour\n- eggs")
    assert "shopping list:\n- flour\n- eggs\n" in await person.says("/memory shopping-list-flour")


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("/remember", "/remember needs a text"),
        ("/remember my card is 4111 1111 1111 1111", "This looks like a card number, which I never store"),
        (
            f"/remember {'long ' * 5000}",
            "A memory can have at most 20,000 characters, and this one has 24,999: shorten it.",
        ),
        ("/recall", "/recall needs words to search for"),
        ("/recall nothing at all", "I didn't find anything about that."),
        ("/recall \"' OR *", "I didn't find anything about that."),
        ("/forget", "/forget needs the name or number of a memory"),
        ("/forget nobody", "I don't remember anything called 'nobody': /memory shows what I remember."),
        ("/undo", "There is nothing to undo."),
        ("/memory", "I don't remember anything yet: tell me something"),
        ("/memory nobody", "I don't remember anything called 'nobody'"),
        ("/memory note", "note: 0, page 1 of 1."),
        ("/memory note 2", "There is no page 2 of note: choose one from 1 to 1."),
        (f"/memory note {'9' * 5000}", "I don't remember anything called 'note 999"),
        ("/memory \ud800 \x00", "I don't remember anything called"),
    ],
)
async def test_impossible_command_is_answered_in_one_sentence(person: Person, command: str, answer: str) -> None:
    assert (await person.says(command)).startswith(answer)


async def test_commands_take_the_name_or_the_number_of_a_memory(person: Person) -> None:
    await remember(person, "The boat is called Aurora")
    line = (await person.says("/memory")).splitlines()[1]
    number = line.rpartition("_")[2]
    for reference in (number, f"#{number}", "boat-called-aurora"):
        assert "**boat-called-aurora**" in await person.says(f"/memory {reference}")
        assert "**boat-called-aurora** now says: The boat is called Aurora" in await person.says(f"/edit {reference}")
        edited = await person.says(f"/edit {reference} The boat is blue, says {reference}")
        assert edited.startswith(f"**boat-called-aurora** now says: The boat is blue, says {reference}")
        await person.says("/undo")
        assert (await person.says(f"/forget {reference}")).startswith("Forgotten: The boat is called Aurora")
        await person.says("/undo")


async def test_name_of_digits_precedes_the_number(app: App, person: Person) -> None:
    await app.memory.entries.add(OWNER, NewEntry("The boat is called Aurora"))
    await app.memory.entries.add(OWNER, NewEntry("The bus to the harbour", name="1"))
    assert "The bus to the harbour" in await person.says("/memory 1")
    assert "The boat is called Aurora" in await person.says("/memory #1")


async def test_recall_finds_exchanges_notes_and_archives(person: Person, model: ModelServer) -> None:
    model.script(Says("It is white."))
    await person.says("What colour is the lighthouse?")
    await remember(person, "lighthouse keeper: Taras")
    assert set((await person.says("/recall lighthouse")).splitlines()) == {
        "- [2026-02-07 12:15, conversation] User: What colour is the lighthouse? | Assistant: It is white.",
        "- [2026-02-07 12:15, note lighthouse-keeper-taras] lighthouse keeper: Taras",
    }


async def test_archive_written_by_compact_is_recalled(person: Person, model: ModelServer) -> None:
    for number in range(4):
        await person.says(f"number {number}")
    model.script(Says("We spoke of docker health checks."))
    assert "archive-2026-02-07-docker-health-checks" in await person.says("/compact 2")
    assert "archive archive-2026-02-07-docker-health-checks] We spoke of docker health checks." in await person.says(
        "/recall docker"
    )


async def test_forget_removes_one_entry_until_undo(person: Person) -> None:
    await remember(person, "spare key")
    assert await person.says("/forget Spare-Key") == "Forgotten: spare key (/undo brings it back)."
    assert await person.says("/recall spare") == "I didn't find anything about that."
    assert await person.says("/undo") == "Restored: spare key"
    assert "spare-key" in await person.says("/recall spare")
    assert await person.says("/undo") == "Undone: spare key"
    assert await person.says("/undo") == "There is nothing to undo."


async def test_forget_all_asks_first(app: App, person: Person) -> None:
    await person.says("hello there, lighthouse")
    await remember(person, "spare key")
    extent = "2 messages, 1 entry and 1 file"
    question = f"This deletes {extent} permanently and can't be undone. To go ahead, send: /forget all confirm"
    for asked in ("/forget all", "/forget ALL"):
        assert await person.says(asked) == question
    assert "spare-key" in await person.says("/recall spare")
    assert await person.says("/forget all  Confirm") == "Everything is forgotten: 2 messages, 1 entry and 1 file."
    assert await person.says("/recall spare lighthouse") == "I didn't find anything about that."
    assert await person.says("/undo") == "There is nothing to undo."
    assert (await person.says("/memory")).startswith("I don't remember anything yet")


async def test_entry_named_with_all_can_be_forgotten(person: Person, model: ModelServer) -> None:
    model.script(Calls((("note_add", {"name": "all hands", "content": "on Monday"}),)), Says("ok"))
    await person.says("The all hands is on Monday")
    assert await person.says("/forget all hands") == "Forgotten: on Monday (/undo brings it back)."


async def test_memory_counts_kinds_and_pages_through_them(person: Person, clock: FakeClock) -> None:
    for number in range(25):
        await remember(person, f"spare key number{number:02}")
    assert (await person.says("/memory")).startswith(
        "What I remember, newest first:\n- spare key number24 /memory_25\n"
    )
    first = await person.says("/memory NOTE")
    assert first.startswith("note: 25, page 1 of 3. /memory note 2 shows more.\n\n- spare key number24 /memory_25\n")
    assert len(first.splitlines()) == 12
    last = await person.says("/memory note 3")
    assert last.splitlines()[0] == "note: 25, page 3 of 3."
    assert [line[2:20] for line in last.splitlines()[2:]] == [f"spare key number0{n}" for n in (4, 3, 2, 1, 0)]
    assert await person.says("/memory note 4") == "There is no page 4 of note: choose one from 1 to 3."


async def test_entry_is_shown_with_its_origin(person: Person, model: ModelServer) -> None:
    model.script(
        Calls((("note_add", {"name": "tea 2", "content": "Ann likes tea"}),)),
        Calls((("note_alias", {"name": "tea 2", "alias": "Ann's tea"}),)),
        Says("Noted."),
    )
    await person.says("Ann likes tea, note it")
    assert await person.says("/memory tea 2") == (
        "**tea 2** (also Ann's tea)\n\nAnn likes tea\n\n_note, the model noted it, 2026-02-07_"
    )


async def test_chats_do_not_see_each_other(app: App, person: Person) -> None:
    other = Person(app, Address("console", "other"))
    await remember(person, "spare key")
    assert (await other.says("/memory")).startswith("I don't remember anything yet")
    assert await other.says("/recall spare") == "I didn't find anything about that."
    assert "I don't remember anything called" in await other.says("/forget spare-key")
    assert await other.says("/undo") == "There is nothing to undo."


async def test_topics_of_one_chat_share_their_memory(app: App) -> None:
    one, two = (Person(app, Address("telegram", "-100", thread)) for thread in ("7", "8"))
    await remember(one, "spare key")
    assert "spare key" in await two.says("/memory spare-key")


@pytest.mark.parametrize("name", ["fact", "why", "note", "note 1"])
async def test_entry_named_like_a_kind_is_shown_in_quotes(
    app: App, person: Person, clock: FakeClock, name: str
) -> None:
    await Store.create(app.database, clock).entries.add("console:local", NewEntry("Of that very name", name=name))
    answer = await person.says(f"/memory {name}")
    assert f'There is also an entry called {name}: /memory "{name}" shows it.' in answer
    assert "Of that very name\n\n_note, you wrote it" in await person.says(f'/memory "{name}"')
    assert "Of that very name" in await person.says(f"/memory «{name}»")


async def test_entry_named_like_a_missing_page_is_shown(app: App, person: Person, clock: FakeClock) -> None:
    await Store.create(app.database, clock).entries.add("console:local", NewEntry("Of that very name", name="note 2"))
    assert (await person.says("/memory note 2")).startswith("**note 2**")
    assert "There is no page 3 of note" in await person.says("/memory note 3")


async def test_entry_named_all_is_forgotten_in_quotes(app: App, person: Person, clock: FakeClock) -> None:
    entries = Store.create(app.database, clock).entries
    await entries.add("console:local", NewEntry("Of that very name", name="all"))
    await entries.add("console:local", NewEntry("Another", name="other"))
    assert 'There is also an entry called all: /forget "all" deletes only that.' in await person.says("/forget all")
    assert await person.says('/forget "all"') == "Forgotten: Of that very name (/undo brings it back)."
    assert [entry.name for entry in await entries.list("console:local")] == ["other"]


async def test_name_containing_quotes_is_found(app: App, person: Person, clock: FakeClock) -> None:
    await Store.create(app.database, clock).entries.add(
        "console:local", NewEntry("Of that very name", name='the "old" key')
    )
    assert "Of that very name" in await person.says('/memory the "old" key')
    await Store.create(app.database, clock).entries.add("console:local", NewEntry("A title", name='"Old key"'))
    assert "A title" in await person.says('/memory "old key"')


async def test_remember_without_memory_stores_nothing(start: OpenApp, model: ModelServer) -> None:
    async with start(memory_enabled=False) as app:
        person = Person(app)
        assert "Memory is off" in await person.says("/remember The spare key is at Ann's")
        assert await app.database.value("SELECT count(*) FROM entries") == 0
        await person.says("Hello")
    prompt = model.requests[-1].prompt.lower()
    assert "# memory" not in prompt
    assert "memory tools" not in prompt
    assert "remembers" not in prompt
    assert "tools" not in model.requests[-1].body


async def test_number_means_the_memory_of_that_number(app: App, person: Person) -> None:
    await remember(person, "The key is at Ann's", "The boat is blue")
    # An earlier version or the export of another program may contain such a name.
    await app.database.write("UPDATE names SET name = '#2', key = '#2' WHERE entry_id = 1")
    assert "The boat is blue" in await person.says("/memory_2")
    assert "The boat is blue" in await person.says("/memory #2")
    assert "Forgotten: The boat is blue" in await person.says("/forget_2")
    contents = [
        row["content"] for row in await app.database.rows("SELECT content FROM entries WHERE deleted_at IS NULL")
    ]
    assert contents == ["The key is at Ann's"]
    # Without a memory of that number, the name applies.
    assert "The key is at Ann's" in await person.says("/memory #2")


@pytest.mark.parametrize("name", ["#4", "＃４"])
async def test_name_that_looks_like_a_number_is_refused(
    app: App, person: Person, model: ModelServer, name: str
) -> None:
    await remember(person, "The boat is blue")
    model.script(Calls((("note_add", {"name": name, "content": "The mooring is 7"}),)), Says("Done."))
    await person.says("Note it")
    assert "numbers are used for memories" in model.requests[-1].last
    assert await app.database.value("SELECT count(*) FROM entries") == 1


async def test_why_shows_the_earlier_messages_in_the_request(person: Person) -> None:
    await person.says("We rented a boat called Galeb in Rovinj.")
    await person.says("/new")
    await person.says("What was our boat in Rovinj called?")
    why = await person.says("/memory why")
    assert "Earlier messages were used, such as:" in why
    assert "2026-02-07: We rented a boat called Galeb in Rovinj." in why
    await person.says("/new")
    await person.says("Good morning!")
    assert "Earlier messages" not in await person.says("/memory why")


async def test_why_shows_recalled_notes(app: App, person: Person) -> None:
    await app.memory.entries.add(OWNER, NewEntry("The boat Galeb lies at mooring 7", name="mooring", kind=Kind.NOTE))
    await person.says("Where is the mooring of the boat Galeb?")
    why = await person.says("/memory why")
    assert why.startswith("1 memory was used for the last answer:\nIt was looked up:\n- The boat Galeb lies at ")


async def test_why_shows_notes_recalled_by_the_model(app: App, person: Person, model: ModelServer) -> None:
    await app.memory.entries.add(OWNER, NewEntry("Galeb lies at mooring 7", name="mooring", kind=Kind.NOTE))
    model.script(Calls((("memory_recall", {"query": "mooring"}),)), Says("At 7."))
    await person.says("Well, and now?")
    assert "It was looked up:\n- Galeb lies at mooring 7" in await person.says("/memory why")
    await person.says("/forget all confirm")
    assert await person.says("/memory why") == "No memory was used for your last message."


async def test_why_quotes_a_source_only_if_it_differs(app: App, person: Person) -> None:
    for content, quote in (("Works as a nurse", "works as a nurse!"), ("Lives in Kyiv", "we moved to Kyiv")):
        new = NewEntry(content, kind=Kind.FACT, author=Author.CONSOLIDATION, quote=quote)
        await app.memory.entries.add(OWNER, new)
    await person.says("Where do I live, and do I work as a nurse?")
    why = await person.says("/memory why")
    assert why.count("It fits your message:") == 1
    assert '"we moved to Kyiv"' in why
    assert "nurse!" not in why


async def test_handwritten_line_is_listed_and_forgotten_by_one_tap(person: Person, tmp_path: Path) -> None:
    long_term = tmp_path / "data" / "memory" / person.address.owner / "MEMORY.md"
    long_term.parent.mkdir(parents=True)
    long_term.write_text("# Home\n\n- The alarm code is with Ann.\n- The bins go out on Tuesday.\n")
    assert "MEMORY.md: 2" in await person.says("/memory")
    shown = await person.says("/memory MEMORY.md")
    assert "- The alarm code is with Ann." in shown
    assert "# Home" not in shown
    assert "The bins go out" in await person.says("/memory search bins")
    command = re.search(r"- The bins.*`(/forget line:\w+)`", shown)
    assert command is not None
    assert "Forgotten: The bins go out on Tuesday." in await person.says(command[1])
    assert long_term.read_text() == "# Home\n\n- The alarm code is with Ann.\n"
    assert "was deleted or changed" in await person.says(command[1])
    await person.says("/undo")
    assert "The bins go out on Tuesday." in long_term.read_text()
