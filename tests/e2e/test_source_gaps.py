"""Tests of history, names, archives, workflows and answers that were cut off."""

from __future__ import annotations

import json
import re

from bot.kernel import App
from memory.search.types import Filter
from memory.store.entry import Kind, NewEntry
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, ChatRequest, Says


async def test_history_search_reads_the_file_of_all_time(app: App, person: Person) -> None:
    owner = person.address.owner
    await app.memory.history.append(owner, app.clock(), "They spoke of tea.", "a")
    path = app.memory.files.get_folder(owner) / "HISTORY.md"
    path.write_text(f"## 2024-05-01T10:00:00.000Z\nThey spoke of herbal tea.\n\n{path.read_text()}")
    found = await app.memory.history.search(owner, "tea", 10)
    assert [entry.splitlines()[1] for entry in found] == ["They spoke of tea.", "They spoke of herbal tea."]


async def test_match_by_the_whole_name_has_a_score(app: App, person: Person) -> None:
    owner = person.address.owner
    await app.memory.entries.add(owner, NewEntry("Under the blue pot.", name="zzyzx"))
    (hit,) = await app.memory.recall.find_hits("zzyzx", owner, Filter(), 5)
    assert hit.score > 0


async def test_archive_is_removed_if_the_user_asks(app: App, person: Person, model: ModelServer) -> None:
    owner = person.address.owner
    archive = await app.memory.entries.add(owner, NewEntry("They spoke of tea.", name="tea talk", kind=Kind.ARCHIVE))
    model.script(Calls((("note_remove", {"name": archive.name}),)), Says("Done."))
    await person.says("Delete the archive called tea talk")
    assert await app.memory.entries.list(owner, Kind.ARCHIVE) == []


async def test_memory_learn_keeps_a_workflow_with_its_steps(app: App, person: Person, model: ModelServer) -> None:
    text = "To deploy: 1. run the tests 2. push the tag 3. tell Ann"
    model.script(Calls((("memory_learn", {"fact": text, "kind": "workflow"}),)), Says("Done."))
    await person.says(text)
    entries = await app.memory.entries.list(person.address.owner, Kind.WORKFLOW)
    assert [entry.steps for entry in entries] == [("run the tests", "push the tag", "tell Ann")]


async def test_part_with_an_answer_cut_off_is_written_once(app: App, person: Person, model: ModelServer) -> None:
    def answer(request: ChatRequest) -> Says:
        history = f"Part {len(model.consolidations)}."
        whole = json.dumps({"history_entry": history, "facts": [], "forget": []})
        return Says(whole[:-2] if len(model.consolidations) == 1 else whole)

    model.consolidation = answer
    await person.says("The weather was fine in Lviv when we walked there.")
    await person.says("And then we took the train to the sea.")
    await person.says("/new")
    await app.jobs.consolidation.run_pending()
    text = (app.memory.files.get_folder(person.address.owner) / "HISTORY.md").read_text()
    assert text.count("Part ") == text.count("Part 1.") == 1


def extract_conversation(request: ChatRequest) -> str:
    return str(request.messages[0]["content"]).partition("## Conversation to Process")[2]


async def consolidate_parts(app: App, person: Person, model: ModelServer) -> list[tuple[bool, bool]]:
    """Consolidate a conversation of two exchanges. Return for each request whether it contains each of them."""
    for text in ("I keep bees on the roof.", "I play the cello in a band."):
        await person.says(text)
    await person.says("/new")
    await app.jobs.consolidation.run_pending()
    asked = [extract_conversation(request) for request in model.consolidations]
    return [("user: I keep bees" in text, "user: I play" in text) for text in asked]


def create_fact(number: int, quote: str) -> dict[str, object]:
    """Return a fact as an extractor writes it."""
    return {"subject": quote, "fact": f"The user said: {quote}", "kind": "fact", "message": number, "quote": quote}


async def test_unread_part_after_a_cut_off_answer_is_asked_again(app: App, person: Person, model: ModelServer) -> None:
    """The first answer at `/new` is cut off in the facts, after those of the first exchange."""

    def answer(request: ChatRequest) -> Says:
        said = re.findall(r"^\[(\d+)\] user: (.*)$", extract_conversation(request), re.MULTILINE)
        facts = [create_fact(int(number), text) for number, text in said]
        whole = json.dumps({"history_entry": f"Part {len(model.consolidations)}.", "facts": facts, "forget": []})
        return Says(whole[: whole.rindex(said[-1][1])] if len(model.consolidations) == 1 else whole)

    model.consolidation = answer
    assert await consolidate_parts(app, person, model) == [(True, True), (False, True)]
    entries = await app.memory.entries.list(person.address.owner)
    assert sum("bees" in entry.content for entry in entries) == sum("cello" in entry.content for entry in entries) == 1
    text = (app.memory.files.get_folder(person.address.owner) / "HISTORY.md").read_text()
    assert text.count("Part ") == text.count("Part 1.") == 1


async def test_cut_off_first_try_without_facts_is_asked_in_halves(app: App, person: Person, model: ModelServer) -> None:
    def answer(request: ChatRequest) -> Says:
        whole = json.dumps({"history_entry": f"Part {len(model.consolidations)}.", "facts": [], "forget": []})
        return Says(
            '{"history_entry": "Part 1.", "facts": [{"subject": "be' if len(model.consolidations) == 1 else whole
        )

    model.consolidation = answer
    assert await consolidate_parts(app, person, model) == [
        (True, True),
        (True, False),
        (False, True),
    ]
