"""Tests of the media store: numbers, text search for the owner only, export and deletion."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.features.media.store import MediaTexts
from memory.errors import StoreError
from memory.log.sessions import Session
from memory.media.media import Media, MediaFile, MediaKind, MediaStore
from memory.store.database import Database
from memory.store.index import rebuild
from memory.transfer.exporting import Exporter
from memory.transfer.importing import Importer
from pipeline.media.documents import Part
from tests.support.fakes import FakeClock
from tests.support.talk import Store

ANN, BOB = "telegram:1", "telegram:2"


def create_file(name: str, unique: str | None = None) -> MediaFile:
    return MediaFile(MediaKind.DOCUMENT, "telegram", f"id of {name}", unique or name, name, "text/plain", 5)


@pytest.fixture
def media(database: Database, clock: FakeClock) -> MediaStore:
    return MediaStore(database, clock)


@pytest.fixture
def texts(database: Database) -> MediaTexts:
    return MediaTexts(database)


async def create_session(database: Database, clock: FakeClock, owner: str = ANN) -> Session:
    return await Store.create(database, clock).session(owner.partition(":")[2])


async def add_document(texts: MediaTexts, media: MediaStore, of: Session, name: str, *pages: str) -> Media:
    kept = await media.store(of, create_file(name))
    parts = [Part(f"page {n}", text) for n, text in enumerate(pages, 1)]
    return await texts.store_text(kept, "some pages", parts)


async def search_texts(texts: MediaTexts, owner: str, query: str) -> list[str]:
    return [one.part.text for one in await texts.search(owner, query, 10, owner)]


async def test_same_file_keeps_its_number_and_gets_the_newest_reference(
    media: MediaStore, database: Database, clock: FakeClock
) -> None:
    ann, bob = await create_session(database, clock), await create_session(database, clock, BOB)
    first = await media.store(ann, create_file("a", "u"))
    again = await media.store(ann, create_file("b", "u"))
    other = await media.store(bob, create_file("a", "u"))
    assert first.id == again.id != other.id
    known = await media.get(ANN, first.id, ANN)
    assert known is not None
    assert known.file.file_id == "id of b"
    assert await media.get(BOB, first.id, BOB) is None


async def test_parts_are_searched_by_their_owner_best_first(
    media: MediaStore, texts: MediaTexts, database: Database, clock: FakeClock
) -> None:
    ann = await create_session(database, clock)
    await add_document(texts, media, ann, "a", "The boiler is old", "A boiler is a boiler", "Other things")
    await add_document(texts, media, await create_session(database, clock, BOB), "b", "My boiler is new")
    assert await search_texts(texts, ANN, "boilers") == ["A boiler is a boiler", "The boiler is old"]
    assert await search_texts(texts, BOB, "boiler") == ["My boiler is new"]
    assert await search_texts(texts, "telegram:3", "boiler") == []
    assert await search_texts(texts, ANN, "the") == ["The boiler is old"]
    assert await search_texts(texts, ANN, "") == []


async def test_new_reading_replaces_the_former_parts(
    media: MediaStore, texts: MediaTexts, database: Database, clock: FakeClock
) -> None:
    ann = await create_session(database, clock)
    kept = await add_document(texts, media, ann, "a", "The boiler is old", "More")
    await texts.store_text(kept, "1 page", [Part("page 1", "The boiler is new")])
    assert await search_texts(texts, ANN, "old") == []
    assert await search_texts(texts, ANN, "boiler") == ["The boiler is new"]
    assert await texts.count_parts(kept) == 1


async def test_media_is_deleted_with_its_session_and_from_the_index(
    media: MediaStore, texts: MediaTexts, database: Database, clock: FakeClock
) -> None:
    await add_document(texts, media, await create_session(database, clock), "a", "The boiler is old")
    await Store.create(database, clock).sessions.delete(ANN)
    assert await database.value("SELECT count(*) FROM media_parts") == 0
    assert await database.value("SELECT count(*) FROM search_parts WHERE search_parts MATCH 'boiler'") == 0


async def test_media_is_exported_and_imported(
    media: MediaStore, texts: MediaTexts, database: Database, clock: FakeClock, tmp_path: Path
) -> None:
    await add_document(texts, media, await create_session(database, clock), "a", "The boiler is old")
    await add_document(texts, media, await create_session(database, clock, BOB), "b", "My boiler is new")
    await Exporter(database, tmp_path / "memory").export(tmp_path / "export", ANN)
    empty = await Database.open(tmp_path / "other" / "mneme.db", clock=clock)
    await Importer(empty, tmp_path / "other" / "memory").run(tmp_path / "export")
    assert await search_texts(MediaTexts(empty), ANN, "boiler") == ["The boiler is old"]
    assert await empty.value("SELECT count(*) FROM media") == 1
    await empty.close()


async def test_has_any_is_correct_at_once_and_after_restart(
    media: MediaStore, database: Database, clock: FakeClock
) -> None:
    assert not await media.has_any(ANN)
    await media.store(await create_session(database, clock), create_file("a"))
    assert await media.has_any(ANN)
    assert await MediaStore(database, clock).has_any(ANN)
    assert not await MediaStore(database, clock).has_any(BOB)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.text(max_size=30), max_size=4)), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_index_of_parts_always_equals_a_rebuilt_one(
    media: MediaStore, texts: MediaTexts, database: Database, clock: FakeClock, steps: list[tuple[str, list[str]]]
) -> None:
    ann = await create_session(database, clock)
    for name, pages in steps:
        await add_document(texts, media, ann, name, *pages)
    async with database.transaction() as connection:
        await connection.execute("INSERT INTO search_parts (search_parts, rank) VALUES ('integrity-check', 1)")


async def test_mismatched_document_index_is_rebuilt(
    media: MediaStore, texts: MediaTexts, database: Database, clock: FakeClock
) -> None:
    await add_document(texts, media, await create_session(database, clock), "a", "The boiler is old")
    async with database.transaction() as connection:
        await connection.execute("INSERT INTO search_parts (search_parts) VALUES ('delete-all')")
    with pytest.raises(StoreError):
        async with database.transaction() as connection:
            await connection.execute("INSERT INTO search_parts (search_parts, rank) VALUES ('integrity-check', 1)")
    async with database.transaction() as connection:
        await rebuild(connection)
    assert await search_texts(texts, ANN, "boiler") == ["The boiler is old"]
