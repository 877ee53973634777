"""Property tests: a second export of a chat leaves the union of both, and its undo restores the first."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.features.imports.importing import ForeignImport
from memory.files.markdown import MarkdownFiles
from memory.ledger.undo import Undo
from memory.log.sessions import Address
from memory.store.erasure import PendingErasures
from tests.support.exports import FIRST
from tests.support.talk import Store, in_utc
from tests.unit.test_search import check_index, open_store

SPEAKERS = ("Ann", "Bob", "Oksana Work")
Write = Callable[[Path, str, Sequence["Said"]], Path]


@dataclass(frozen=True)
class Said:
    """A message of a generated chat. `seconds` counts from the first one."""

    number: int
    seconds: int
    speaker: str
    text: str


def write_telegram(folder: Path, name: str, chat: Sequence[Said]) -> Path:
    messages = [
        {
            "id": said.number,
            "type": "message",
            "date_unixtime": str(int(FIRST.timestamp()) + said.seconds),
            "from": said.speaker,
            "from_id": f"user{said.speaker}",
            "text": said.text,
        }
        for said in chat
    ]
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"name": "Family", "type": "private_group", "id": 77, "messages": messages}))
    return path


def write_whatsapp(folder: Path, name: str, chat: Sequence[Said]) -> Path:
    """Write a chat whose file tells nothing about it."""
    lines = [
        f"{FIRST + timedelta(seconds=said.seconds):%d.%m.%y, %H:%M} - {said.speaker}: {said.text}" for said in chat
    ]
    path = folder / f"{name}.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@st.composite
def create_chats(draw: st.DrawFn) -> tuple[list[Said], list[Said], list[Said]]:
    """Return a first export, a later one without edits, and their union, in the order of their times."""
    steps = draw(
        st.lists(st.tuples(st.integers(0, 90), st.sampled_from(SPEAKERS), st.sampled_from("abcdef")), min_size=6)
    )
    whole, seconds = [], 0
    for number, (pause, speaker, text) in enumerate(steps, 1):
        seconds += pause
        # A text may occur in several minutes, but the number keeps them apart within one.
        whole.append(Said(number, seconds, speaker, f"{text} said {number % 5}"))
    fates = [draw(st.sampled_from(["both", "both", "both", "first", "second"])) for _ in whole]
    # Both exports share the beginning, so that the chat is the same.
    fates[:4] = ["both"] * 4
    first = [said for said, fate in zip(whole, fates, strict=True) if fate != "second"]
    second = [said for said, fate in zip(whole, fates, strict=True) if fate != "first"]
    return first, second, whole


async def read_log(store: Store) -> list[tuple[str, str, str]]:
    rows = await store.database.rows(
        "SELECT s.created_at, s.speaker, s.content FROM spoken s JOIN conversations c ON c.id = s.conversation_id"
        " ORDER BY c.started_at, c.id, s.id"
    )
    return [(row["created_at"], row["speaker"], row["content"]) for row in rows]


def check_union(write: Write, first: Sequence[Said], second: Sequence[Said], union: Sequence[Said]) -> None:
    async def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with open_store() as store:
                files = [write(Path(folder), name, chat) for name, chat in (("one", first), ("two", second))]
                await import_and_undo(
                    store, files, union, MarkdownFiles(Path(folder), in_utc, recent_days=7, max_memory_size=8192)
                )

    asyncio.run(work())


async def import_and_undo(store: Store, exports: Sequence[Path], union: Sequence[Said], files: MarkdownFiles) -> None:
    session = await store.sessions.get_or_create(Address("console", "local"))
    importer = ForeignImport(store.database, store.ledger, lambda _: ZoneInfo("UTC"))
    await importer.run(exports[0], session)
    before = await read_log(store)
    done = await importer.run(exports[1], session)
    log = await read_log(store)
    assert sorted((speaker, text) for _at, speaker, text in log) == sorted((said.speaker, said.text) for said in union)
    assert [at for at, _speaker, _text in log] == sorted(at for at, _speaker, _text in log)
    await check_index(store.database)
    assert (await importer.run(exports[1], session)).change is None
    if done.change is not None:
        undo = Undo(store.database, files, PendingErasures(store.database), store.clock)
        await undo.undo(session.owner)
    assert await read_log(store) == before
    await check_index(store.database)


@settings(max_examples=25, deadline=None)
@given(chats=create_chats(), edited=st.sets(st.integers(1, 20)))
def test_later_export_with_ids_leaves_union_until_undone(
    chats: tuple[list[Said], list[Said], list[Said]], edited: set[int]
) -> None:
    first, second, union = chats
    edited &= {said.number for said in second}
    second, union = (
        [replace(said, text=f"{said.text} edited") if said.number in edited else said for said in chat]
        for chat in (second, union)
    )
    check_union(write_telegram, first, second, union)


@settings(max_examples=25, deadline=None)
@given(chats=create_chats())
def test_later_export_without_ids_leaves_union_until_undone(chats: tuple[list[Said], list[Said], list[Said]]) -> None:
    first, second, union = chats
    check_union(write_whatsapp, first, second, union)
