"""Serves the memory page of a person, with some memories."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from bot.features.page.access import OneTimeLink, Visitor
from bot.features.page.data import PageData
from bot.features.page.server import build_page_app
from bot.kernel import App
from bot.web.server import HOST, serve_web
from memory.store.entry import Author, Kind, NewEntry
from tests.support.fakes import Person
from tests.support.memory_clients import find_free_port


@contextlib.asynccontextmanager
async def served(app: App, person: Person, language: str = "en") -> AsyncIterator[tuple[str, OneTimeLink]]:
    """Serve a person's page and yield its address and link."""
    port = find_free_port()
    session = await app.sessions.get_or_create(person.address)
    link = OneTimeLink(Visitor(PageData(app.memory, session, app.clock, app.importer), language), f"{HOST}:{port}")
    async with serve_web(build_page_app(link), port):
        yield f"http://{HOST}:{port}", link


async def add_memories(app: App, person: Person) -> None:
    """Add memories that are quoted, unconfirmed and replaced, and a conversation."""
    owner, entries = person.address.owner, app.memory.entries
    await person.says("What does the boat house on the Dnipro cost?")
    await entries.add(owner, NewEntry("The user keeps bees.", kind=Kind.FACT, quote="I keep bees, you know"))
    doubt = NewEntry(
        "The user plays chess.", kind=Kind.FACT, author=Author.IMPORT, unconfirmed="imported from another program"
    )
    await entries.add(owner, doubt)
    await entries.add(owner, NewEntry("The spare key is at Ann's."))
