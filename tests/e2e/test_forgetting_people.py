"""/forget NAME of a person: all memories at once, then what still names them in the log and the files."""

from __future__ import annotations

from bot.kernel import App
from memory.store.entry import Kind, NewEntry
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer

FACTS = (
    "Hanna is the user's sister.",
    "Hanna lives in Ternopil.",
    "Hanna's birthday is 4 May.",
    "The user calls Hanna on Sundays.",
    "Hanna has two cats.",
    "Hanna works at the harbour.",
)


async def add_memories(app: App, person: Person) -> None:
    owner = person.address.owner
    for number, fact in enumerate(FACTS):
        await app.memory.entries.add(
            owner, NewEntry(fact, name="Hanna" if number == 0 else f"fact {number}", kind=Kind.FACT)
        )
    await app.memory.entries.add(owner, NewEntry("The boat is called Aurora.", kind=Kind.FACT))


async def test_forget_of_a_person_offers_all_their_memories(app: App, person: Person) -> None:
    await add_memories(app, person)
    offered = await person.says("/forget Hanna")
    assert "6 memories mention Hanna" in offered
    assert all(fact.rstrip(".") in offered for fact in FACTS)
    assert len(await app.memory.entries.list(person.address.owner)) == 7
    assert "Forgotten: 6 memories that mention Hanna" in await person.says("/forgetnamed Hanna")
    assert [e.content for e in await app.memory.entries.list(person.address.owner)] == ["The boat is called Aurora."]
    await person.says("/undo")
    assert len(await app.memory.entries.list(person.address.owner)) == 7


async def test_forget_named_counts_and_masks_what_remains(
    app: App, person: Person, model: ModelServer, clock: FakeClock
) -> None:
    await person.says("Where is Hanna today? The weather is fine.")
    await add_memories(app, person)
    said = await person.says("/forgetnamed Hanna")
    assert "2 messages and 1 line of notes still mention Hanna" in said
    assert "Masked: 2 messages and 1 line" in await person.says("/masknamed Hanna")
    folder = app.memory.files.get_folder(person.address.owner)
    assert not any("Hanna" in path.read_text() for path in folder.glob("*.md"))
    assert "Masked: 0 messages and 0 lines" in await person.says("/masknamed Hanna")
    await person.says("/new")
    assert "Hanna" not in str(model.consolidations)
    clock.forward(days=1)
    await person.says("What was the weather like, and where was she?")
    assert "Hanna" not in model.requests[-1].prompt
