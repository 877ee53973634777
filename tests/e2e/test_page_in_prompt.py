"""Tests of MEMORY.md in prompts over days."""

from __future__ import annotations

import json

import pytest

from bot.kernel import App
from memory.store.entry import Author, Kind, Nature, NewEntry, Operation
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_tidying, needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import ChatRequest, Says

OWNER = "console:local"


async def learn(app: App, content: str, **other: object) -> None:
    """Store a fact with its line, as a consolidation does."""
    new = NewEntry(content, kind=Kind.FACT, subject=content, **other)  # type: ignore[arg-type]  # Keyword arguments.
    async with app.memory.ledger.change(OWNER, Operation.LEARN, Author.CONSOLIDATION) as change:
        await app.memory.view.add(change, await change.add(new))


def create_extraction(text: str, fact: str, **other: object) -> Says:
    listed = [{"subject": "something", "fact": fact, "message": 1, "quote": text} | other]
    return Says(json.dumps({"history_entry": "They talked.", "facts": listed}))


def read_system_message(request: ChatRequest) -> str:
    return str(request.messages[0]["content"])


@needs_feature("tidying")
@pytest.mark.parametrize("nature", [Nature.VITAL, Nature.STATE])
async def test_extracted_vital_fact_is_in_every_later_prompt(
    start: OpenApp, model: ModelServer, clock: FakeClock, nature: Nature
) -> None:
    text = "Penicillin brings me out in hives."
    model.consolidation = lambda _: create_extraction(text, "The user is allergic to penicillin.", nature=nature)
    async with start(memory_max_size=1024) as app:
        person = Person(app)
        await person.says(text)
        await person.says("/new")
        clock.forward(days=300)
        for number in range(60):
            await learn(app, f"Fact number {number} about the house by the lake")
        await find_tidying(app).run(OWNER)
        clock.forward(days=10)
        await person.says("Good morning")
    assert ("allergic to penicillin" in read_system_message(model.requests[-1])) is (nature is Nature.VITAL)


async def test_ended_state_leaves_the_prompt_on_its_day(
    app: App, person: Person, model: ModelServer, clock: FakeClock
) -> None:
    await learn(app, "On sick leave until Friday", valid_until=clock.now.replace(hour=23, minute=59))
    await person.says("Hello")
    assert "On sick leave" in read_system_message(model.requests[-1])
    clock.forward(days=1)
    await person.says("Hello again")
    assert "On sick leave" not in read_system_message(model.requests[-1])


async def test_vital_line_deleted_by_a_person_is_not_shown(
    app: App, person: Person, model: ModelServer, clock: FakeClock
) -> None:
    await learn(app, "Lives in Kyiv", nature=Nature.VITAL)
    await app.memory.long_term.rewrite(OWNER, "- Lives in Kyiv\n", "- eggs\n")
    clock.forward(days=1)
    await person.says("Hello")
    assert "- Lives in Kyiv" not in read_system_message(model.requests[-1]).splitlines()


@needs_feature("capture")
@pytest.mark.slow
async def test_many_requests_to_remember_bring_no_warning(start: OpenApp, model: ModelServer, clock: FakeClock) -> None:
    said: list[str] = []
    async with start(memory_max_size=1024) as app:
        person = Person(app)
        for day in range(4):
            for number in range(7):
                text = f"Remember that box {day}-{number} holds the winter clothes."
                said += [await person.says(text)]
            said += [await person.says("/new")]
            clock.forward(days=1)
        page = await app.memory.ledger.read_page(OWNER)
        stored = await app.database.value("SELECT count(*) FROM entries WHERE kind = 'note' AND deleted_at IS NULL")
    assert stored == sum("Noted: box" in text for text in said) == 4 * 7
    assert not any("too long" in text for text in said)
    assert len(page.encode()) <= 1024
    assert "box 3-6 holds" in page
