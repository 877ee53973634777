"""Tests of memory_recall with the name of an entry: it is returned first and whole."""

from __future__ import annotations

import re

import pytest

from bot.kernel import App
from memory.store.entry import Author, Kind, NewEntry
from memory.text.tokens import TokenCounter
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.talk import Store
from tests.support.tool_use import OWNER, call_tools

PAGED = re.compile(r"\(page (?P<page>\d+) of (?P<pages>\d+)[^)]*\) (?P<text>.*)", re.DOTALL)


@pytest.fixture
def store(app: App, clock: FakeClock) -> Store:
    """Return the services on the App's database."""
    return Store.create(app.database, clock)


def recall(query: str, **more: object) -> tuple[str, object]:
    return "memory_recall", {"query": query, **more}


def read(answer: str) -> str:
    paged = PAGED.search(answer)
    assert paged is not None, answer
    return paged["text"]


async def test_recall_by_name_or_alias_returns_the_whole_entry_first(
    person: Person, model: ModelServer, store: Store
) -> None:
    recipe = "\n".join(f"{number}. Stir the pot for {number} minutes." for number in range(30))
    await store.entries.add(OWNER, NewEntry(recipe, name="borscht"))
    await store.entries.alias(OWNER, "borscht", "Sunday soup")
    for number in range(3):
        await store.entries.add(OWNER, NewEntry(f"borscht, borscht and Sunday soup {number}", name=f"n{number}"))
    answers = await call_tools(person, model, recall("Borscht", tokens=1000), recall(" sunday soup", tokens=1000))
    for answer in answers:
        assert answer.startswith("- [2026-02-07 12:15, note borscht] (by user 2026-02-07 12:15) 0. Stir")
        assert recipe in answer
        assert "- [2026-02-07 12:15, note n0]" in answer.partition(recipe)[2]
        assert answer.count("note borscht") == 1


@pytest.mark.parametrize("text", ["word after word " * 1200, "灯塔守护者" * 900, "x" * 15_000])
async def test_recall_of_a_long_entry_is_paged_completely(
    person: Person, model: ModelServer, store: Store, text: str
) -> None:
    await store.entries.add(OWNER, NewEntry(text, name="log"))
    (first,) = await call_tools(person, model, recall("log", tokens=2000))
    found = PAGED.search(first)
    assert found is not None
    pages = int(found["pages"])
    assert pages > 1
    rest = await call_tools(person, model, *(recall("log", tokens=2000, page=page) for page in range(2, pages + 1)))
    assert "".join("".join(read(answer).split()) for answer in (first, *rest)) == "".join(text.split())
    assert all(TokenCounter().count(answer) <= 2000 for answer in (first, *rest))
    assert "page=2" in first
    assert "page=" not in rest[-1].partition(")")[2][:80]


async def test_recall_by_name_shows_dates_source_and_provenance(
    app: App, person: Person, model: ModelServer, store: Store, clock: FakeClock
) -> None:
    await call_tools(person, model, ("memory_episode", {"event": "The disk was full", "outcome": "Logs were moved"}))
    clock.forward(days=1)
    old = await store.entries.add(OWNER, NewEntry("lives in Kyiv", name="home", kind=Kind.FACT, trusted=False))
    async with app.database.transaction() as connection:
        await connection.execute("UPDATE entries SET superseded_by = id WHERE id = ?", (old.id,))
    answers = await call_tools(person, model, recall("episode-disk-full"), recall("home"))
    assert answers[0] == (
        "- [2026-02-07 12:15, episode episode-disk-full] (by model 2026-02-07 12:15, from message 1"
        " of 2026-02-07 12:15) The disk was full\nOutcome: Logs were moved"
    )
    about = "- [superseded, from 2026-02-08 12:15, fact home] [foreign] (by user 2026-02-08 12:15) lives in Kyiv"
    assert answers[1].startswith(about)


async def test_recall_of_a_missing_page_says_so(person: Person, model: ModelServer, store: Store) -> None:
    await store.entries.add(OWNER, NewEntry("a short one", name="short", author=Author.USER))
    answers = await call_tools(
        person,
        model,
        recall("short", page=2),
        recall("one", page=2),
        recall("short", kind="fact"),
        recall("short", page=0),
    )
    assert answers[0] == "error: there is no page 2: 1 is the last"
    assert answers[1] == answers[0]
    assert answers[2] == "nothing found"
    assert answers[3].startswith("error: the arguments are wrong: page:")
