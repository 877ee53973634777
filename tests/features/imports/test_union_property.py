"""Property tests: a second export of a chat leaves the union of both, and the undo of each leaves the other."""

from __future__ import annotations

import asyncio
import html
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from babel import Locale
from babel.dates import parse_pattern
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.features.imports import html_child
from bot.features.imports.importing import ForeignImport
from bot.features.imports.pages import PageReader
from memory.files.markdown import MarkdownFiles
from memory.ledger.undo import Undo
from memory.log.sessions import Address
from memory.store.erasure import PendingErasures
from tests.features.imports.test_reader_properties import list_formats
from tests.support.talk import Store, in_utc
from tests.unit.test_search import check_index, open_store

PEOPLE = ("Ann", "Боб", "Oksana Work")
WORDS = ("ferry", "Fähre", "паром", "フェリー", "عبارة", "नौका")
START = datetime(2023, 3, 31, 9, 0, tzinfo=UTC)
"""The 31st of a month, so that the order of the numbers in a date is clear."""
NOW = datetime(2026, 11, 1, tzinfo=UTC)
EXAMPLES = 8


@pytest.fixture(autouse=True, scope="module")
def _read_pages_here() -> Iterator[None]:
    """Read pages in this process. Other tests check the child process, which takes a tenth of a second to start."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(PageReader, "read", lambda _self, form, page: html_child.read_page(form, page))
        yield


@dataclass(frozen=True)
class Said:
    """A message of a generated chat. `seconds` counts from the first one."""

    number: int
    seconds: int
    speaker: str
    text: str

    @property
    def at(self) -> datetime:
        return START + timedelta(seconds=self.seconds)


Write = Callable[[Path, Sequence[Said], st.DataObject], Path]


def write_json(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def write_telegram(folder: Path, chat: Sequence[Said], _data: st.DataObject) -> Path:
    messages = [
        {
            "id": said.number,
            "type": "message",
            "date_unixtime": str(int(said.at.timestamp())),
            "from": said.speaker,
            "from_id": f"user{said.speaker}",
            "text": said.text,
        }
        for said in chat
    ]
    return write_json(
        folder / "result.json", {"name": "Family", "type": "private_group", "id": 77, "messages": messages}
    )


def write_telegram_page(folder: Path, chat: Sequence[Said], _data: st.DataObject) -> Path:
    written, last = [], ""
    for said in chat:
        sender = "" if said.speaker == last else f'<div class="from_name">\n{said.speaker} \n</div>'
        last = said.speaker
        written.append(
            f'<div class="message default clearfix" id="message{said.number}"><div class="body">'
            f'<div class="pull_right date details" title="{said.at:%d.%m.%Y %H:%M:%S} UTC+00:00">{said.at:%H:%M}</div>'
            f'{sender}<div class="text">\n{said.text}\n</div></div></div>'
        )
    path = folder / "messages.html"
    page = f'<!DOCTYPE html><html><body><div class="page_body chat_page">{"".join(written)}</div></body></html>'
    path.write_text(page, encoding="utf-8")
    return path


def write_whatsapp(folder: Path, chat: Sequence[Said], data: st.DataObject) -> Path:
    """Write a chat in the format of a random locale. The name of the file says nothing about the chat."""
    identifier, day, time, both = data.draw(st.sampled_from(list_formats()))
    locale, is_iphone = Locale.parse(identifier), "s" in time
    lines = []
    for said in chat:
        parts = [parse_pattern(pattern).apply(said.at, locale) for pattern in (time, day)]
        header = both.replace("{0}", parts[0]).replace("{1}", parts[1])
        begin = f"[{header}]" if is_iphone else f"{header} -"
        lines.append(f"{begin} {said.speaker}: {said.text}\n")
    path = folder / "chat.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_chatgpt(folder: Path, chat: Sequence[Said], _data: st.DataObject) -> Path:
    nodes: dict[str, object] = {"root": {"id": "root", "message": None, "parent": None}}
    parent = "root"
    for said in chat:
        message = {
            "id": f"m{said.number}",
            "author": {"role": "assistant" if said.speaker == "assistant" else "user"},
            "create_time": said.at.timestamp(),
            "content": {"content_type": "text", "parts": [said.text]},
        }
        nodes[f"m{said.number}"] = {"id": f"m{said.number}", "message": message, "parent": parent}
        parent = f"m{said.number}"
    return write_json(folder / "c.json", [{"id": "c", "title": "Family", "mapping": nodes, "current_node": parent}])


def write_claude(folder: Path, chat: Sequence[Said], _data: st.DataObject) -> Path:
    messages, parent = [], "root"
    for said in chat:
        messages.append(
            {
                "uuid": f"m{said.number}",
                "parent_message_uuid": parent,
                "sender": "assistant" if said.speaker == "assistant" else "human",
                "content": [{"type": "text", "text": said.text}],
                "created_at": said.at.isoformat(),
            }
        )
        parent = f"m{said.number}"
    return write_json(folder / "c.json", [{"uuid": "k", "name": "Family", "chat_messages": messages}])


def write_gemini(folder: Path, chat: Sequence[Said], _data: st.DataObject) -> Path:
    records = [
        {
            "header": "Gemini Apps",
            "title": f"Prompted {said.text}",
            "time": said.at.isoformat().replace("+00:00", "Z"),
            "products": ["Gemini Apps"],
        }
        for said in reversed(chat)
    ]
    return write_json(folder / "MyActivity.json", records)


def write_gemini_page(folder: Path, chat: Sequence[Said], _data: st.DataObject) -> Path:
    cells = [
        '<div class="outer-cell"><div class="header-cell"><p>Gemini Apps<br></p></div>'
        '<div class="content-cell mdl-typography--body-1">'
        f"Prompted&nbsp;{html.escape(said.text)}<br>{said.at:%b} {said.at.day}, {said.at:%Y, %I:%M:%S\u202f%p} UTC<br>"
        "</div></div>"
        for said in reversed(chat)
    ]
    path = folder / "MyActivity.html"
    path.write_text(f"<html><body>{''.join(cells)}</body></html>", encoding="utf-8")
    return path


class Format(NamedTuple):
    """A format with its kind of speakers. `has_ids` means that an edited message is recognised."""

    write: Write
    speakers: tuple[str, ...]
    has_ids: bool


FORMATS = {
    "telegram": Format(write_telegram, PEOPLE, has_ids=True),
    "telegram-html": Format(write_telegram_page, PEOPLE, has_ids=True),
    "whatsapp": Format(write_whatsapp, PEOPLE, has_ids=False),
    "chatgpt": Format(write_chatgpt, ("user", "assistant"), has_ids=True),
    "claude": Format(write_claude, ("user", "assistant"), has_ids=True),
    "gemini": Format(write_gemini, ("user",), has_ids=False),
    "gemini-html": Format(write_gemini_page, ("user",), has_ids=False),
}
Chats = tuple[list[Said], list[Said], list[Said]]


@st.composite
def create_chats(draw: st.DrawFn, form: Format) -> Chats:
    """Return a first export, a later one, and their union, in the order of their times."""
    steps = draw(
        st.lists(
            st.tuples(st.integers(0, 90), st.sampled_from(form.speakers), st.sampled_from(WORDS)),
            min_size=6,
            max_size=14,
        )
    )
    whole, seconds = [], 0
    for number, (pause, speaker, word) in enumerate(steps, 1):
        seconds += pause
        # A text may occur in several minutes. The number makes it unique within a minute.
        whole.append(Said(number, seconds, speaker, f"{word} said {number % 5}"))
    # A chat without ids is recognised if most of its messages are the same.
    alone = draw(st.dictionaries(st.integers(1, len(whole)), st.booleans(), max_size=len(whole) // 3))
    first = [said for said in whole if alone.get(said.number, True)]
    second = [said for said in whole if not alone.get(said.number, False)]
    if form.has_ids:
        edited = draw(st.sets(st.sampled_from([said.number for said in second]), max_size=1))
        second, whole = (
            [replace(said, text=f"{said.text} edited") if said.number in edited else said for said in chat]
            for chat in (second, whole)
        )
    return first, second, whole


async def read_log(store: Store) -> list[tuple[str, str, str]]:
    rows = await store.database.rows(
        "SELECT s.created_at, iif(s.role = 'assistant', s.role, coalesce(s.speaker, 'user')) AS speaker, s.content"
        " FROM spoken s JOIN conversations c ON c.id = s.conversation_id ORDER BY c.started_at, c.id, s.id"
    )
    return [(row["created_at"], row["speaker"], row["content"]) for row in rows]


async def check_union(folder: Path, form: Format, chats: Chats, data: st.DataObject) -> None:
    async with open_store() as store:
        files = MarkdownFiles(folder, in_utc, recent_days=7, max_memory_size=8192)
        undo = Undo(store.database, files, PendingErasures(store.database), store.clock)
        session = await store.sessions.get_or_create(Address("console", "local"))
        importer = ForeignImport(store.database, store.ledger, lambda _: ZoneInfo("UTC"), lambda: NOW)
        first, second, union = chats
        await importer.run(form.write(folder, first, data), session)
        before = await read_log(store)
        file = form.write(folder, second, data)
        done = await importer.run(file, session)
        log = await read_log(store)
        assert sorted(row[1:] for row in log) == sorted((said.speaker, said.text) for said in union)
        minutes = [at[:16] for at, *_rest in log]  # Some phones write no seconds.
        assert minutes == sorted(minutes)
        assert (await importer.run(file, session)).change is None
        await check_index(store.database)
        if done.change is not None:
            await undo.undo(session.owner)
        assert await read_log(store) == before
        await undo.undo(session.owner)
        assert await store.database.value("SELECT count(*) FROM conversations WHERE title IS NOT NULL") == 0
        assert await read_log(store) == []
        await check_index(store.database)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_later_export_leaves_union_until_each_is_undone(name: str, data: st.DataObject) -> None:
    form = FORMATS[name]
    chats = data.draw(create_chats(form))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check_union(Path(folder), form, chats, data))
