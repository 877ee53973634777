"""Tests that forgotten words stay out of prompts, notes and facts until the user repeats them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.kernel import App
from memory.files.notes import Memory
from memory.store.entry import Kind, NewEntry
from tests.conftest import OpenApp
from tests.support import exports
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_import_learning, find_importer, find_tidying, needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, ChatRequest, Says

STATED = "My sister Hanna lives in Ternopil."
FACT = "The user's sister Hanna lives in Ternopil."
TRACES = ("Ternopil", "Hanna")


def create_extractor(text: str = FACT, quote: str | None = STATED) -> Callable[[ChatRequest], Says]:
    """Script an extractor that returns the fact for every request."""

    def answer(_request: ChatRequest) -> Says:
        cited = {"message": 1, "quote": quote} if quote is not None else {}
        fact = {"subject": "sister", "fact": text, "kind": "fact", **cited}
        return Says(json.dumps({"history_entry": "They talked about the weather.", "facts": [fact], "forget": []}))

    return answer


async def read_contents(app: App, person: Person) -> list[str]:
    return [entry.content for entry in await app.memory.entries.list(person.address.owner)]


async def find_id(app: App, person: Person, words: str) -> int:
    entries = await app.memory.entries.list(person.address.owner)
    return next(entry.id for entry in entries if words in entry.content and entry.kind != Kind.ARCHIVE)


async def learn_fact(person: Person, model: ModelServer) -> None:
    """State a fact and have it learned by /new."""
    model.consolidation = create_extractor()
    await person.says(STATED)
    assert "Ternopil" in await person.says("/new")


async def remove_fact(app: App, person: Person) -> None:
    assert "Forgotten" in await person.says(f"/forget_{await find_id(app, person, 'Ternopil')}")


async def undo_fact(app: App, person: Person) -> None:
    entry = await find_id(app, person, "Ternopil")
    change = await app.database.value("SELECT min(batch) FROM changes WHERE entry_id = ?", (entry,))
    assert "Undone" in await person.says(f"/undo_{change}")


async def edit_fact(app: App, person: Person) -> None:
    assert "now says" in await person.says(f"/edit #{await find_id(app, person, 'Ternopil')} My sister lives abroad")


async def read_notes(app: App, person: Person, clock: FakeClock) -> Memory:
    transcript = await app.sessions.read_transcript(person.address.session_id)
    return await app.memory.daily_notes.read(person.address.owner, clock(), transcript.forgotten)


WAYS = pytest.mark.parametrize("forget", [remove_fact, undo_fact, edit_fact])


def assert_no_trace(model: ModelServer, since: int, consolidations: int) -> None:
    for request in [*model.requests[since:], *model.consolidations[consolidations:]]:
        for trace in TRACES:
            assert trace not in str(request.messages), (trace, request.messages)


@needs_feature("tidying")
@WAYS
async def test_forgotten_fact_after_new_and_restart_is_in_no_prompt(
    start: OpenApp, model: ModelServer, clock: FakeClock, forget: Callable[[App, Person], object]
) -> None:
    async with start() as app:
        person = Person(app)
        await learn_fact(person, model)
        await forget(app, person)  # type: ignore[misc]
        since, consolidations = len(model.requests), len(model.consolidations)
        await person.says("Where does my sister live, and in which town?")
        clock.forward(days=1)
        await person.says("/new")
    async with start() as app:
        person = Person(app)
        clock.forward(days=8)
        await find_tidying(app).run(person.address.owner)
        await person.says("Where does my sister live, and in which town?")
        await person.says("/new")
        assert_no_trace(model, since, consolidations)
        assert not any("Ternopil" in content for content in await read_contents(app, person))


@WAYS
async def test_forgotten_fact_of_running_conversation_is_not_learned_again(
    app: App, person: Person, model: ModelServer, forget: Callable[[App, Person], object]
) -> None:
    await person.says(STATED)
    message = await app.database.value("SELECT min(id) FROM messages")
    new = NewEntry(STATED, kind=Kind.FACT, source_message_id=message)
    await app.memory.learning.learn(person.address.owner, new)
    await person.says("Fine weather for a walk, is it not?")
    await forget(app, person)  # type: ignore[misc]
    model.consolidation = create_extractor()
    await person.says("/new")
    (request,) = model.consolidations
    assert "Ternopil" not in str(request.messages)
    assert not any("Ternopil" in content for content in await read_contents(app, person))
    since = len(model.requests)
    await person.says("What is new in Ternopil?")
    shown = str(model.requests[since].messages).replace("What is new in Ternopil?", "")
    assert "Hanna" not in shown


@pytest.mark.parametrize("quote", [STATED, "sister Hanna lives in", None])
async def test_forgotten_words_cited_by_consolidation_are_no_fact(
    app: App, person: Person, model: ModelServer, quote: str | None
) -> None:
    await learn_fact(person, model)
    await remove_fact(app, person)
    await app.database.write("UPDATE conversations SET consolidated_through = 0")
    model.consolidation = create_extractor(quote=quote)
    await app.database.write("UPDATE conversations SET consolidation_due = 1000000")
    await app.jobs.consolidation.run_pending()
    assert not any("Ternopil" in content for content in await read_contents(app, person))


async def test_forgotten_words_said_again_are_learned(app: App, person: Person, model: ModelServer) -> None:
    await learn_fact(person, model)
    await remove_fact(app, person)
    await person.says(STATED)
    await person.says("/new")
    assert FACT in await read_contents(app, person)


async def test_undo_of_a_removal_lets_the_words_count_again(app: App, person: Person, model: ModelServer) -> None:
    await learn_fact(person, model)
    await remove_fact(app, person)
    await person.says("/undo")
    assert await app.database.value("SELECT count(*) FROM forgotten") == 0
    await person.says("Where does Hanna live?")
    assert "Ternopil" in model.requests[-1].prompt


async def test_forgotten_words_cited_by_a_tool_are_refused(app: App, person: Person, model: ModelServer) -> None:
    await learn_fact(person, model)
    await remove_fact(app, person)
    await app.database.write("UPDATE conversations SET ended_at = NULL WHERE id = 1")
    model.script(Calls((("memory_learn", {"fact": FACT, "quote": STATED}),)), Says("Done."))
    await person.says("Note what you know.")
    assert not any("Ternopil" in content for content in await read_contents(app, person))


async def test_forgotten_words_are_left_out_of_later_notes_only(
    app: App, person: Person, model: ModelServer, clock: FakeClock
) -> None:
    await person.says("The boat is called Aurora.")
    await learn_fact(person, model)
    await remove_fact(app, person)
    clock.forward(days=1)
    notes = await read_notes(app, person, clock)
    text = str(notes.recent)
    assert "Ternopil" not in text
    assert "Aurora" in text
    clock.forward(minutes=2)
    await person.says(STATED)
    notes = await read_notes(app, person, clock)
    assert "Ternopil" in notes.today


async def test_undo_button_of_one_fact_leaves_the_others(app: App, person: Person, model: ModelServer) -> None:
    two = [
        {"subject": "sister", "fact": FACT, "kind": "fact", "message": 1, "quote": "she lives in Ternopil"},
        {"subject": "boat", "fact": "The boat is called Aurora.", "kind": "fact", "message": 3, "quote": "Aurora"},
    ]
    model.consolidation = lambda _: Says(json.dumps({"history_entry": "They talked.", "facts": two, "forget": []}))
    await person.says("Well, Hanna, that sister of mine, she lives in Ternopil these days, you know.")
    await person.says("And there is Aurora, which is what they call that boat over there, the old one.")
    # As if nothing had been captured.
    await app.database.write("DELETE FROM changes")
    await app.database.write("DELETE FROM entries")
    await person.says("/new")
    entry = await find_id(app, person, "Ternopil")
    change = await app.database.value("SELECT batch FROM changes WHERE entry_id = ?", (entry,))
    assert await person.says(f"/undo_{change}_{entry}") == f"Undone: {FACT}"
    assert "The boat is called Aurora." in await read_contents(app, person)
    assert "Ternopil" not in await app.memory.long_term.read(person.address.owner)
    assert "Aurora" in await app.memory.long_term.read(person.address.owner)
    assert await person.says(f"/undo_{change}_{entry}") == "That was already undone."
    assert await person.says(f"/undo_{change}") == "Undone: The boat is called Aurora."


async def test_undo_after_thirty_days_says_what_is_possible(
    app: App, person: Person, model: ModelServer, clock: FakeClock
) -> None:
    await learn_fact(person, model)
    entry = await find_id(app, person, "Ternopil")
    change = await app.database.value("SELECT batch FROM changes WHERE entry_id = ?", (entry,))
    clock.forward(days=31)
    await app.memory.ledger.purge()
    answer = await person.says(f"/undo_{change}_{entry}")
    assert "30 days" in answer
    assert f"/forget_{entry}" in answer
    assert "/memory" in await person.says(f"/undo_{change}")


async def test_old_undo_button_never_undoes_a_newer_change(app: App, person: Person, clock: FakeClock) -> None:
    await person.says("/remember The spare key is at Ann's")
    change = await app.database.value("SELECT batch FROM changes")
    clock.forward(days=31)
    await app.memory.ledger.purge()
    await person.says("/remember The bins go out on Tuesday")
    assert "30 days" in await person.says(f"/undo_{change}")
    assert "bins" in await person.says("/memory")


@needs_feature("imports")
async def test_forgotten_fact_of_an_import_is_not_learned_again(
    app: App, person: Person, model: ModelServer, tmp_path: Path
) -> None:
    fact = {"subject": "sister", "fact": FACT, "kind": "fact", "message": 1, "quote": STATED}
    model.consolidation = lambda _: Says(json.dumps({"history_entry": "They talked.", "facts": [fact], "forget": []}))
    for version in (2, 4):  # The second export has a later exchange.
        conversation = exports.create_chatgpt_conversation(0, version)
        conversation["mapping"]["m0"]["message"]["content"]["parts"] = [STATED]
        file = exports.write_zip(tmp_path / f"{version}.zip", {"conversations.json": [conversation]})
        await find_importer(app).run(file, await app.sessions.get_or_create(person.address))
        await find_import_learning(app).request(person.address.owner)
        await find_import_learning(app).run_requested()
        learned = [
            e for e in await app.memory.entries.list_unconfirmed(person.address.owner) if "Ternopil" in e.content
        ]
        assert len(learned) == (version == 2)
        for entry in learned:
            assert "Forgotten" in await person.says(f"/forget_{entry.id}")
    assert "Ternopil" not in str(model.consolidations[-1].messages)
    since = len(model.requests)
    await person.says("Where does my sister live, and in which town?")
    assert_no_trace(model, since, len(model.consolidations))


@pytest.mark.parametrize("undo", [False, True])
@needs_feature("imports")
async def test_forgotten_memory_of_an_imported_list_does_not_come_again(
    app: App, person: Person, tmp_path: Path, undo: bool
) -> None:
    file = tmp_path / "memories.txt"
    file.write_text("[2025-03-14] - My sister Hanna lives in Ternopil.\n[unknown] - I prefer tea.\n")
    session = await app.sessions.get_or_create(person.address)
    await find_importer(app).run(file, session)
    entry = next(e for e in await app.memory.entries.list_unconfirmed(person.address.owner) if "Ternopil" in e.content)
    assert "Forgotten" in await person.says(f"/forget_{entry.id}")
    if undo:
        await person.says("/undo")
    assert (await find_importer(app).run(file, session)).change is None
    unconfirmed = [e.content for e in await app.memory.entries.list_unconfirmed(person.address.owner)]
    assert any("Ternopil" in content for content in unconfirmed) == undo
