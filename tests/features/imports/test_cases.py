"""Tests with small exports, as programs write them or damaged on the way.

The expected result is next to each case: the program, the messages (time in UTC, speaker, text), the memories, and the
counts of skipped items, or a part of the sentence that refuses the file.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.features.imports.chatgpt import ChatGptReader
from bot.features.imports.claude import ClaudeReader
from bot.features.imports.gemini import GeminiReader
from bot.features.imports.importing import ForeignImport
from bot.features.imports.items import ImportedConversation, ImportRefused, Item, SkippedItem
from bot.features.imports.opening import open_source
from bot.features.imports.source import Reader
from bot.features.imports.telegram import TelegramReader
from bot.features.imports.telegram_html import TelegramHtmlReader
from bot.features.imports.whatsapp import WhatsAppReader
from memory.files.markdown import MarkdownFiles
from memory.ledger.ledger import Ledger
from memory.log.sessions import Address, Session, SessionService
from memory.store.database import Database
from memory.store.entry import Kind
from tests.support.blank import write_blank

CASES = Path(__file__).parents[2] / "sets" / "imports"
EXPECTED = ".expected.json"
CASE_NAMES = sorted(path.relative_to(CASES).as_posix().removesuffix(EXPECTED) for path in CASES.rglob(f"*{EXPECTED}"))


def clock() -> datetime:
    return datetime(2026, 11, 1, tzinfo=UTC)


def zone_of(_name: str) -> ZoneInfo:
    return ZoneInfo("UTC")


class Importing:
    """An importer with an empty database."""

    def __init__(self, database: Database, session: Session, imports: ForeignImport) -> None:
        self.database = database
        self.session = session
        self.imports = imports

    async def read_messages(self) -> list[list[str | None]]:
        rows = await self.database.rows("SELECT created_at, speaker, content FROM messages ORDER BY created_at, id")
        return [[row["created_at"].partition(".")[0], row["speaker"], row["content"]] for row in rows]

    async def read_memories(self) -> list[str]:
        rows = await self.database.rows("SELECT content FROM entries WHERE kind = ? ORDER BY id", (Kind.FACT,))
        return [row["content"] for row in rows]


@pytest.fixture
async def importing(tmp_path: Path) -> AsyncIterator[Importing]:
    database = await Database.open(write_blank(tmp_path / "mneme.db"), clock=clock)
    files = MarkdownFiles(tmp_path, zone_of, recent_days=7, max_memory_size=8192)
    session = await SessionService(database, clock).get_or_create(Address("console", "local"))
    imports = ForeignImport(database, Ledger(database, files, clock, zone_of), zone_of, clock)
    yield Importing(database, session, imports)
    await database.close()


@pytest.mark.parametrize("name", CASE_NAMES)
async def test_export_is_read_as_a_person_expects(importing: Importing, name: str) -> None:
    expected: dict[str, Any] = json.loads((CASES / f"{name}{EXPECTED}").read_text(encoding="utf-8"))
    if "refused" in expected:
        with pytest.raises(ImportRefused, match="nothing was imported") as refusal:
            await importing.imports.run(CASES / name, importing.session)
        assert expected["refused"] in str(refusal.value)
        return
    looked = await importing.imports.look(CASES / name, importing.session)
    report = (await importing.imports.run(CASES / name, importing.session)).report
    assert (looked.program, report.program) == (expected["program"], expected["program"])
    assert await importing.read_messages() == expected.get("messages", [])
    assert await importing.read_memories() == expected.get("memories", [])
    assert dict(report.left_out) == dict(looked.left_out) == expected.get("left_out", {})


def test_every_case_has_an_expected_result() -> None:
    files = [path for path in CASES.rglob("*") if path.is_file() and not path.name.endswith(EXPECTED)]
    names = [path.relative_to(CASES).as_posix() for path in files]
    assert [n for n in names if not any(n == case or n.startswith(f"{case}/") for case in CASE_NAMES)] == []


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("chatgpt/one-bad-of-three.json", ["one-bad-of-three.json, conversation 2, message a"]),
        ("chatgpt/one-without-mapping.json", ["one-without-mapping.json, conversation 2"]),
        ("claude/empty-date.json", [f"empty-date.json, conversation {number}, message 1" for number in (1, 2)]),
        ("gemini/missing-time.json", ["missing-time.json, record 1"]),
        ("telegram/missing-time.json", ["missing-time.json, message 2"]),
        ("whatsapp/hour-25.txt", ["hour-25.txt, line 1"]),
        ("hostile/invalid-utf8.txt", ["invalid-utf8.txt, line 2"]),
    ],
)
def test_item_that_cant_be_read_is_named(name: str, places: list[str]) -> None:
    assert [item.place for item in read_items(CASES / name) if isinstance(item, SkippedItem)] == places


@pytest.mark.parametrize(
    ("name", "titles", "ids", "user"),
    [
        ("telegram/left-chats.json", ["Oksana", "Left group"], ["4242", "99"], "Zara"),
        ("telegram/edited-1.json", ["Oksana"], ["4242"], "Zara"),
        ("telegram/messages.html", ["Oksana"], [""], None),
        ("chatgpt/branches.json", ["Test c1"], ["c1"], None),
        ("claude/branches.json", ["t"], ["k"], None),
        ("whatsapp/WhatsApp Chat - Mum.zip", ["Mum"], ["Mum"], None),
        ("several/programs/WhatsApp Chat with Family.txt", ["Family"], ["Family"], None),
        ("whatsapp/renamed-1.txt", [""], [""], None),
    ],
)
def test_conversation_has_title_id_and_user(name: str, titles: list[str], ids: list[str], user: str | None) -> None:
    conversations = [item for item in read_items(CASES / name) if isinstance(item, ImportedConversation)]
    assert [conversation.title for conversation in conversations] == titles
    assert [conversation.source_id for conversation in conversations] == ids
    assert {conversation.user for conversation in conversations} == {user}


def read_items(path: Path) -> list[Item]:
    zone, today = ZoneInfo("UTC"), clock().date()
    readers: list[Reader] = [ChatGptReader(), ClaudeReader(), GeminiReader(), TelegramReader(zone)]
    readers += [TelegramHtmlReader(zone), WhatsAppReader(zone, today)]
    with open_source(path) as source:
        return [item for reader in readers for item in reader.read(source, reader.find(source))]
