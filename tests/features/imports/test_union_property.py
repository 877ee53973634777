"""Property tests: a second export of a chat leaves the union of both, and its undo restores the first."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.kernel import App
from memory.log.sessions import Address
from tests.conftest import OpenApp
from tests.support.exports import FIRST
from tests.support.features import find_importer
from tests.unit.test_search import check_index

SPEAKERS = ("Ann", "Bob", "Oksana Work")
_NUMBERS = itertools.count()


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
    path.write_text(json.dumps({"name": "Family", "type": "personal_chat", "id": 77, "messages": messages}))
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


async def read_log(app: App, owner: str) -> list[tuple[str, str, str]]:
    rows = await app.memory.database.rows(
        "SELECT s.created_at, s.speaker, s.content FROM spoken s JOIN conversations c ON c.id = s.conversation_id"
        " JOIN owners o ON o.id = c.owner_id WHERE o.name = ? ORDER BY c.started_at, c.id, s.id",
        (owner,),
    )
    return [(row["created_at"], row["speaker"], row["content"]) for row in rows]


async def check_union(app: App, files: Sequence[Path], union: Sequence[Said]) -> None:
    session = await app.sessions.get_or_create(Address("console", f"chat{next(_NUMBERS)}"))
    importer = find_importer(app)
    await importer.run(files[0], session)
    before = await read_log(app, session.owner)
    done = await importer.run(files[1], session)
    log = await read_log(app, session.owner)
    assert sorted((speaker, text) for _at, speaker, text in log) == sorted((said.speaker, said.text) for said in union)
    assert [at for at, _speaker, _text in log] == sorted(at for at, _speaker, _text in log)
    await check_index(app.memory.database)
    assert (await importer.run(files[1], session)).change is None
    if done.change is not None:
        await app.memory.undo.undo(session.owner)
    assert await read_log(app, session.owner) == before
    await check_index(app.memory.database)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chats=create_chats(), edited=st.sets(st.integers(1, 20)))
async def test_later_export_with_ids_leaves_union_until_undone(
    start: OpenApp, tmp_path: Path, chats: tuple[list[Said], list[Said], list[Said]], edited: set[int]
) -> None:
    first, second, union = chats
    edited &= {said.number for said in second}
    second, union = (
        [replace(said, text=f"{said.text} edited") if said.number in edited else said for said in chat]
        for chat in (second, union)
    )
    files = [write_telegram(tmp_path, "one", first), write_telegram(tmp_path, "two", second)]
    async with start() as app:
        await check_union(app, files, union)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chats=create_chats())
async def test_later_export_without_ids_leaves_union_until_undone(
    start: OpenApp, tmp_path: Path, chats: tuple[list[Said], list[Said], list[Said]]
) -> None:
    first, second, union = chats
    files = [write_whatsapp(tmp_path, "one", first), write_whatsapp(tmp_path, "two", second)]
    async with start() as app:
        await check_union(app, files, union)
