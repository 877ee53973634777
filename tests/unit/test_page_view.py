"""Tests of choosing the lines of MEMORY.md: vital and used ones stay within the limit."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory.clock import to_text
from memory.consolidation.page_view import PageView
from memory.files.markdown import MarkdownFiles
from memory.ledger.undo import Undo
from memory.store.decay import Decay
from memory.store.entry import Author, Entry, Kind, Nature, NewEntry, Operation
from memory.store.erasure import PendingErasures
from tests.support.features import needs_feature
from tests.support.talk import Store, in_utc

OWNER, LIMIT = "telegram:1", 1_000
TYPED = "# Shopping\n- eggs\n- milk\nThe garden gate sticks.\n"


@pytest.fixture
def view() -> PageView:
    return PageView(LIMIT)


async def add_fact(store: Store, view: PageView, content: str, **other: object) -> Entry:
    """Learn a fact and add its line."""
    new = NewEntry(content, kind=Kind.FACT, subject=content, **other)  # type: ignore[arg-type]  # Keyword arguments.
    async with store.ledger.change(OWNER, Operation.LEARN, Author.CONSOLIDATION) as change:
        entry = await change.add(new)
        await view.add(change, entry)
    return entry


async def set_usage(store: Store, entry: Entry, count: int, days: float = 0) -> None:
    at = to_text(store.clock() - timedelta(days=days))
    await store.database.write(
        "UPDATE entries SET reinforcement_count = ?, last_reinforced_at = ? WHERE id = ?", (count, at, entry.id)
    )


async def fit_and_read_lines(store: Store, view: PageView) -> list[str]:
    async with store.ledger.change(OWNER, Operation.LEARN, Author.CONSOLIDATION) as change:
        await view.fit(change)
    return (await store.ledger.read_page(OWNER)).splitlines()


def write_by_hand(store: Store, text: str) -> None:
    """Write MEMORY.md as a person does with an editor."""
    path = store.database.path.parent / "memory" / OWNER / "MEMORY.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


async def test_fit_within_the_limit_changes_nothing(store: Store, view: PageView) -> None:
    await add_fact(store, view, "Likes green tea")
    before = await store.ledger.read_page(OWNER)
    await fit_and_read_lines(store, view)
    assert await store.ledger.read_page(OWNER) == before == "- Likes green tea\n"


async def test_fit_removes_the_least_used_lines(store: Store, view: PageView) -> None:
    write_by_hand(store, TYPED)
    entries = [await add_fact(store, view, f"Fact number {n} about the house by the lake") for n in range(40)]
    for entry in entries[:5]:
        await set_usage(store, entry, 9, days=200)
    lines = await fit_and_read_lines(store, view)
    assert len("\n".join(lines).encode()) <= LIMIT
    assert [f"- {entry.content}" in lines for entry in entries[:5]] == [True] * 5
    assert "- Fact number 39 about the house by the lake" in lines
    assert "- Fact number 7 about the house by the lake" not in lines
    assert set(TYPED.splitlines()) <= set(lines)


async def test_fit_keeps_vital_lines_however_old(store: Store, view: PageView) -> None:
    vital = await add_fact(store, view, "Is allergic to penicillin", nature=Nature.VITAL)
    await set_usage(store, vital, 1, days=3_000)
    for number in range(60):
        await add_fact(store, view, f"Fact number {number} about the house by the lake")
    assert "- Is allergic to penicillin" in await fit_and_read_lines(store, view)


async def test_fit_never_touches_handwritten_lines(store: Store, view: PageView) -> None:
    text = "".join(f"- item {n} of a list that is kept by hand\n" for n in range(60))
    write_by_hand(store, text)
    await add_fact(store, view, "Likes green tea")
    assert (await fit_and_read_lines(store, view))[:60] == text.splitlines()


@needs_feature("tidying")
async def test_line_deleted_by_a_person_is_not_written_again(store: Store, view: PageView) -> None:
    from bot.features.tidying.tidying import WeeklyConsolidation

    await add_fact(store, view, "Likes green tea")
    write_by_hand(store, "- eggs\n")
    assert await fit_and_read_lines(store, view) == ["- eggs"]
    await WeeklyConsolidation(store.database, store.ledger, Decay(), store.clock, view).run(OWNER)
    assert await store.ledger.read_page(OWNER) == "- eggs\n"


async def test_fit_removes_lines_of_ended_states_and_past_events(store: Store, view: PageView) -> None:
    leave = await add_fact(store, view, "On sick leave", valid_until=store.clock() + timedelta(days=3))
    lunch = await add_fact(store, view, "Ate moussaka", nature=Nature.EVENT)
    await add_fact(store, view, "Likes green tea")
    assert await fit_and_read_lines(store, view) == ["- On sick leave", "- Likes green tea"]
    store.clock.forward(days=4)
    assert await fit_and_read_lines(store, view) == ["- Likes green tea"]
    assert (await store.entries.get(OWNER, leave.name)).line is None
    assert (await store.entries.get(OWNER, lunch.name)).line is None


async def test_undo_restores_the_removed_lines(store: Store, view: PageView) -> None:
    folder = store.database.path.parent / "memory"
    files = MarkdownFiles(folder, in_utc, recent_days=7, max_memory_size=LIMIT * 8)
    undo = Undo(store.database, files, PendingErasures(store.database), store.clock)
    for number in range(60):
        await add_fact(store, view, f"Fact number {number} about the house by the lake")
    before = await store.ledger.read_page(OWNER)
    assert await fit_and_read_lines(store, view) != before.splitlines()
    assert await undo.undo(OWNER) is not None
    assert await store.ledger.read_page(OWNER) == before


@needs_feature("tidying")
async def test_weekly_tidying_restores_a_line_that_is_used_again(store: Store, view: PageView) -> None:
    from bot.features.tidying.tidying import WeeklyConsolidation

    entries = [await add_fact(store, view, f"Fact number {n} about the house by the lake") for n in range(60)]
    assert "- Fact number 3 about the house by the lake" not in await fit_and_read_lines(store, view)
    await set_usage(store, entries[3], 20)
    await WeeklyConsolidation(store.database, store.ledger, Decay(), store.clock, view).run(OWNER)
    lines = (await store.ledger.read_page(OWNER)).splitlines()
    assert "- Fact number 3 about the house by the lake" in lines
    assert len("\n".join(lines).encode()) <= LIMIT


@needs_feature("tidying")
async def test_second_tidying_changes_nothing(store: Store, view: PageView) -> None:
    from bot.features.tidying.tidying import WeeklyConsolidation

    for number in range(60):
        await add_fact(store, view, f"Fact number {number} about the house by the lake")
    weekly = WeeklyConsolidation(store.database, store.ledger, Decay(), store.clock, view)
    await weekly.run(OWNER)
    before = await store.ledger.read_page(OWNER)
    changes = await store.database.value("SELECT count(*) FROM changes")
    await weekly.run(OWNER)
    assert await store.ledger.read_page(OWNER) == before
    assert await store.database.value("SELECT count(*) FROM changes") == changes
