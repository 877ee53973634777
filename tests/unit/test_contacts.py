"""Tests of the names that the owner reads instead of ids."""

from __future__ import annotations

from memory.contacts import Contacts
from memory.store.database import Database


async def test_contact_is_described_by_its_newest_name(database: Database) -> None:
    contacts = Contacts(database, "telegram")
    assert await contacts.describe(7) == "7"
    await contacts.store(7, "Anna", "anna")
    await contacts.store(-100, "Home")
    assert await contacts.describe(7) == "Anna (@anna)"
    await Contacts(database, "telegram").store(7, "Anna Berg")
    assert await contacts.describe(7) == "Anna Berg"
    await contacts.store(7, "")
    assert await contacts.describe(7) == "Anna Berg"
    assert await Contacts(database, "other").describe(7) == "7"


async def test_chat_without_a_known_name_keeps_its_text(database: Database) -> None:
    contacts = Contacts(database, "telegram")
    await contacts.store(-100, "Home")
    chats = ["telegram:-100", "telegram:7", "console:local", "telegram:x", "guest:-100"]
    assert [await contacts.describe_chat(chat) for chat in chats] == ["Home", *chats[1:]]


async def test_name_on_a_full_disk_is_not_stored(database: Database) -> None:
    contacts = Contacts(database, "telegram")
    await database.write("PRAGMA query_only = ON")
    await contacts.store(7, "Anna")
    await database.write("PRAGMA query_only = OFF")
    await contacts.store(7, "Anna")
    assert await contacts.describe(7) == "Anna"
