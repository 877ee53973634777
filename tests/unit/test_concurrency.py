"""Tests of concurrent tasks in one process, and of two processes on one file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from memory.errors import MemoryRefused
from memory.search.search import Search
from memory.store.database import Database
from memory.store.entry import NewEntry
from tests.support.fakes import FakeClock
from tests.support.talk import Store

OWNER = "telegram:1"
TASKS = 20


@pytest.fixture
async def stores(database: Database, clock: FakeClock) -> AsyncIterator[tuple[Store, Store]]:
    """Return the services on two open databases of one file, like those of the bot and the shell."""
    second = await Database.open(database.path)
    yield Store.create(database, clock), Store.create(second, clock)
    await second.close()


async def test_twenty_tasks_add_rename_write_and_search_concurrently(stores: tuple[Store, Store]) -> None:
    async def work(number: int) -> None:
        store = stores[number % 2]
        search = Search(store.database)
        await store.entries.add(OWNER, NewEntry(f"apple {number}", name=f"n{number}"))
        await store.entries.rename(OWNER, f"n{number}", f"m{number}")
        await search.find("apple", OWNER)
        await store.entries.write(OWNER, f"n{number}", f"banana {number}")
        assert next(hit.name for hit in await search.find(f"banana {number}", OWNER)) == f"m{number}"
        await store.commit_exchange(await store.session("1"), f"cherry {number}", "yes")

    await asyncio.gather(*(work(number) for number in range(TASKS)))
    first, second = stores
    assert sorted(e.name for e in await second.entries.list(OWNER)) == sorted(f"m{n}" for n in range(TASKS))
    search = Search(first.database)
    assert await search.find("apple", OWNER) == []
    assert len(await search.find("banana", OWNER)) == TASKS
    assert sum("cherry" in hit.content for hit in await search.find("cherry", OWNER)) == TASKS
    assert await first.database.value("SELECT count(DISTINCT batch) FROM changes") == 3 * TASKS
    async with first.database.transaction() as connection:
        await connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")


async def test_concurrent_additions_of_one_name_have_one_winner(stores: tuple[Store, Store]) -> None:
    async def work(number: int) -> bool:
        try:
            await stores[number % 2].entries.add(OWNER, NewEntry(f"by {number}", name="Key"))
        except MemoryRefused:
            return False
        return True

    assert sum(await asyncio.gather(*(work(number) for number in range(TASKS)))) == 1
    assert len(await stores[0].entries.list(OWNER)) == 1


async def test_generated_names_never_collide(stores: tuple[Store, Store]) -> None:
    added = await asyncio.gather(
        *(stores[n % 2].entries.add(OWNER, NewEntry("spare key garden")) for n in range(TASKS))
    )
    assert {entry.name for entry in added} == {
        "spare-key-garden",
        *(f"spare-key-garden-{number}" for number in range(2, TASKS + 1)),
    }


async def test_cancelled_task_leaves_no_partial_change(stores: tuple[Store, Store]) -> None:
    store = stores[0]
    tasks = [asyncio.create_task(store.entries.add(OWNER, NewEntry("apple", name=f"n{n}"))) for n in range(TASKS)]
    for steps, task in enumerate(tasks):
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    names = {entry.name for entry in await store.entries.list(OWNER)}
    assert {hit.name for hit in await Search(store.database).find("apple", OWNER)} == names
    assert await store.database.value("SELECT count(*) FROM changes") == len(names)
    assert (await stores[1].entries.add(OWNER, NewEntry("pear", name="after"))).name == "after"
