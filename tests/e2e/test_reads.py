"""Tests of the number of database reads in a turn."""

from __future__ import annotations

import asyncio

import pytest

from bot.kernel import App
from tests.support.fakes import Person

MAX_READS = 13
# A message with few words, so it is searched together with the previous one.
MAX_READS_OF_SHORT_MESSAGE = 17


class ReadCounter:
    """Counts the statements of an App's reading connection, without those of triggers."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    async def begin(self, app: App) -> None:
        """Start counting."""
        await app.database._reader.set_trace_callback(self._take)  # noqa: SLF001  # Only tests count.

    def _take(self, statement: str) -> None:
        if not statement.startswith("--"):
            self.statements.append(" ".join(statement.split()))

    def __str__(self) -> str:
        return "\n".join(self.statements)


async def add_many_memories(person: Person) -> None:
    """Add typed memories, notes, an ended conversation, and one with a summary."""
    for number in range(20):
        await person.says(f"/remember The boat number {number} lies in the harbour")
    await person.says("I prefer the boat that is green")
    await person.says("Never call the harbour master")
    for number in range(3):
        await person.says(f"The harbour of the boat has {number} lamps")
    await person.says("/new")
    for number in range(3):
        await person.says(f"The weather was fine on day {number}")
    await person.says("/compact 2")


@pytest.mark.parametrize(
    ("question", "most"),
    [
        ("Where is the harbour of the green boat?", MAX_READS),
        ("Tell me a story", MAX_READS_OF_SHORT_MESSAGE),
        ("Hello", MAX_READS),
    ],
)
async def test_plain_turn_reads_the_database_a_few_times(person: Person, app: App, question: str, most: int) -> None:
    await add_many_memories(person)
    reads = ReadCounter()
    await reads.begin(app)
    assert await person.says(question)
    assert 0 < len(reads.statements) <= most, str(reads)


async def test_conversation_and_index_are_read_once_per_turn(person: Person, app: App) -> None:
    await add_many_memories(person)
    reads = ReadCounter()
    await reads.begin(app)
    await person.says("Where is the harbour of the green boat?")
    assert sum("LEFT JOIN markers" in statement for statement in reads.statements) == 1, str(reads)
    assert sum("search MATCH" in statement for statement in reads.statements) == 1, str(reads)


async def test_reading_entries_waits_for_no_writer(app: App, person: Person) -> None:
    named = (await person.says("/remember The hive is in Poltava")).split("**")[1]
    async with app.database.transaction() as connection, asyncio.timeout(20):
        await connection.execute("UPDATE sessions SET metadata = '{}'")
        assert "The hive is in Poltava" in await person.says(f"/memory {named}")
        assert "note: 1" in await person.says("/memory")
        assert "Context" in await person.says("/status")
