"""Tests of repeated imports of chats, of their titles, and of the question which speaker is the user."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.features.imports.importing import ForeignImport, ImportDone
from bot.features.imports.items import ImportedConversation, ImportRefused
from bot.features.imports.learning import _restore_provenance
from bot.features.imports.reporting import UnknownUser
from bot.features.imports.telegram import TelegramReader
from bot.kernel import App
from memory.log.sessions import Address, message_from_row
from memory.messages import Provenance
from memory.search.types import MESSAGE_KIND, Filter
from tests.support import exports
from tests.support.bot_api.files import create_document
from tests.support.bot_api.server import BotApiServer
from tests.support.features import find_importer
from tests.support.serving import ANN, Serve, list_texts, press
from tests.unit.test_search import check_index

OWNER = "console:local"


def write_whatsapp(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("".join(f"29/01/2024, {line}\n" for line in lines))
    return path


async def run_import(app: App, path: Path, me: str | None = None, *, ask_user: bool = False) -> ImportDone:
    session = await app.sessions.get_or_create(Address("console", "local"))
    return await find_importer(app).run(path, session, me=me, ask_user=ask_user)


async def read_texts(app: App) -> list[str]:
    rows = await app.memory.database.rows(
        "SELECT s.content FROM spoken s JOIN conversations c ON c.id = s.conversation_id"
        " ORDER BY c.started_at, c.id, s.id"
    )
    return [row["content"] for row in rows]


async def test_renamed_speaker_and_file_add_only_new_messages(app: App, tmp_path: Path) -> None:
    await run_import(app, write_whatsapp(tmp_path, "a.txt", "21:24 - Oksana: zebra one", "21:25 - Zara: okapi two"))
    renamed = write_whatsapp(
        tmp_path, "b.txt", "21:24 - Oksana Work: zebra one", "21:25 - Zara: okapi two", "21:26 - Oksana Work: giraffe"
    )
    assert (await run_import(app, renamed)).report.messages == 1
    assert await read_texts(app) == ["zebra one", "okapi two", "giraffe"]
    assert (await run_import(app, renamed)).change is None


async def test_chats_with_same_first_message_stay_apart(app: App, tmp_path: Path) -> None:
    await run_import(
        app, write_whatsapp(tmp_path, "a.txt", "21:24 - Zara: Happy new year", "21:25 - Oksana: thank you")
    )
    other = write_whatsapp(tmp_path, "b.txt", "21:24 - Zara: Happy new year", "21:26 - Petro: okapi the same to you")
    assert (await run_import(app, other)).report.messages == 2
    assert len(await read_texts(app)) == 4
    assert (await run_import(app, other)).change is None


async def test_contained_ranges_lead_to_the_union_in_order(app: App, tmp_path: Path) -> None:
    lines = [f"21:{minute:02} - {'Ann' if minute % 2 else 'Bob'}: message {minute}" for minute in range(30)]
    ranges = (slice(10, 20), slice(0, 15), slice(18, 25), slice(0, 30))
    for number, part in enumerate(ranges):
        await run_import(app, write_whatsapp(tmp_path, f"{number}.txt", *lines[part]))
    assert await read_texts(app) == [f"message {minute}" for minute in range(30)]
    await check_index(app.memory.database)
    for _part in ranges:
        await app.memory.undo.undo(OWNER)
    assert await read_texts(app) == []
    assert await app.memory.database.value("SELECT count(*) FROM conversations WHERE title IS NOT NULL") == 0


async def test_repetitions_within_a_minute_are_counted(app: App, tmp_path: Path) -> None:
    await run_import(app, write_whatsapp(tmp_path, "a.txt", "21:24 - Ann: ok", "21:24 - Ann: ok", "21:25 - Bob: fine"))
    more = write_whatsapp(tmp_path, "b.txt", *["21:24 - Ann: ok"] * 3, "21:24 - Bob: ok", "21:25 - Bob: fine")
    assert (await run_import(app, more)).report.messages == 2
    assert sorted(await read_texts(app)) == ["fine", "ok", "ok", "ok", "ok"]


async def test_undo_of_the_first_import_keeps_messages_of_the_second(app: App, tmp_path: Path) -> None:
    lines = ["21:24 - Ann: one", "21:25 - Bob: two", "21:27 - Ann: four"]
    first = await run_import(app, write_whatsapp(tmp_path, "a.txt", *lines))
    second = write_whatsapp(tmp_path, "b.txt", *lines[:2], "21:26 - Bob: three", lines[2], "21:28 - Bob: five")
    await run_import(app, second)
    assert await read_texts(app) == ["one", "two", "three", "four", "five"]
    await app.memory.undo.undo(OWNER, first.change)
    assert await read_texts(app) == ["three", "five"]
    await check_index(app.memory.database)
    await app.memory.undo.undo(OWNER)
    assert await read_texts(app) == []


async def test_inserted_messages_leave_facts_at_their_sources(app: App, tmp_path: Path) -> None:
    await run_import(app, write_whatsapp(tmp_path, "a.txt", "21:24 - Ann: one", "21:26 - Bob: three"))
    database = app.memory.database
    await database.write("UPDATE entries SET source_message_id = (SELECT max(id) FROM messages)")
    await run_import(
        app, write_whatsapp(tmp_path, "b.txt", "21:24 - Ann: one", "21:25 - Bob: two", "21:26 - Bob: three")
    )
    source = "SELECT m.content FROM entries e JOIN messages m ON m.id = e.source_message_id ORDER BY e.id LIMIT 1"
    assert await database.value(source) == "three"
    assert await read_texts(app) == ["one", "two", "three"]


async def test_message_with_forgotten_words_keeps_its_text(app: App, tmp_path: Path) -> None:
    await run_import(app, exports.write_chatgpt(tmp_path, 10))
    await app.memory.database.write(
        "INSERT INTO forgotten (owner_id, entry_id, message_id, digest, begin_offset, end_offset, through, at)"
        " SELECT c.owner_id, 0, m.id, '', 0, 4, m.id, '2026-01-01T00:00:00.000Z'"
        " FROM messages m JOIN conversations c ON c.id = m.conversation_id ORDER BY m.id LIMIT 1"
    )
    conversation = exports.create_chatgpt_conversation(0, 10)
    conversation["mapping"]["m0"]["message"]["content"]["parts"] = ["something else"]
    await run_import(app, exports.write_zip(tmp_path / "b.zip", {"conversations.json": [conversation]}))
    assert (await read_texts(app))[0] == exports.create_text(0)


def add_title(monkeypatch: pytest.MonkeyPatch, title: str) -> None:
    """Let the reader for Telegram give every chat a title."""
    read = TelegramReader.read

    def read_titled(self: TelegramReader, *arguments: object) -> object:
        for item in read(self, *arguments):  # type: ignore[arg-type]  # Passed on unchanged.
            if isinstance(item, ImportedConversation):
                yield ImportedConversation(item.source_id, item.messages, title, item.user, item.continues)
            else:
                yield item

    monkeypatch.setattr(TelegramReader, "read", read_titled)


async def test_messages_are_found_by_the_title_of_their_chat(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_title(monkeypatch, "Family")
    await run_import(app, exports.write_telegram(tmp_path, 10))
    await run_import(app, exports.write_chatgpt(tmp_path, 10))
    hits = await app.memory.search.find("family", OWNER, only=Filter(kinds=[MESSAGE_KIND]))
    assert len(hits) == 10
    assert {hit.title for hit in hits} == {"Family"}
    await check_index(app.memory.database)
    await app.memory.undo.undo(OWNER)
    await app.memory.undo.undo(OWNER)
    assert await app.memory.search.find("family", OWNER, only=Filter(kinds=[MESSAGE_KIND])) == []
    await check_index(app.memory.database)


async def test_user_is_asked_once_per_program(app: App, tmp_path: Path) -> None:
    chat = exports.write_whatsapp(tmp_path, 10)
    with pytest.raises(UnknownUser, match="which of the speakers is you") as question:
        await run_import(app, chat, ask_user=True)
    assert question.value.speakers == ["Ann", "Bob"]
    with pytest.raises(ImportRefused, match=r"Petro isn't in this chat. The speakers are Ann, Bob"):
        await run_import(app, chat, "Petro", ask_user=True)
    await run_import(app, chat, "Ann", ask_user=True)
    rows = await app.memory.database.rows("SELECT * FROM messages ORDER BY id")
    assert {row["speaker"] for row in rows} == {None, "Bob"}
    learned = [_restore_provenance(message_from_row(row)) for row in rows]
    assert {(message.speaker, message.provenance) for message in learned} == {
        (None, Provenance.TYPED),
        ("Bob", Provenance.IMPORTED),
    }
    other = write_whatsapp(tmp_path, "c.txt", "21:24 - Ann: hello", "21:25 - Petro: hi")
    assert (await run_import(app, other, ask_user=True)).report.messages == 2
    assert await app.memory.database.value("SELECT count(*) FROM messages WHERE speaker IS NULL") == 6


async def test_none_of_the_speakers_is_remembered(app: App, tmp_path: Path) -> None:
    await run_import(app, exports.write_whatsapp(tmp_path, 10), "", ask_user=True)
    assert await app.memory.database.value("SELECT count(*) FROM messages WHERE speaker IS NULL") == 0
    later = write_whatsapp(tmp_path, "c.txt", "21:24 - Ann: hello", "21:25 - Bob: hi")
    assert (await run_import(app, later, ask_user=True)).report.messages == 2


async def test_chat_asks_which_speaker_is_the_user(serve: Serve, telegram: BotApiServer, tmp_path: Path) -> None:
    file = exports.write_whatsapp(tmp_path, 11)
    async with serve() as app:
        telegram.user_says(chat_id=ANN, sends=create_document("chat.txt", file.read_bytes(), "text/plain"))
        await telegram.wait_for(lambda: "This is an export of WhatsApp" in "".join(list_texts(telegram)))
        press(telegram, "Import")
        await telegram.wait_for(lambda: "Which of these is you?" in list_texts(telegram)[-1])
        assert await app.memory.database.value("SELECT count(*) FROM imported") == 0
        press(telegram, "Bob")
        await telegram.wait_for(lambda: "Imported from WhatsApp: 1 conversation (11" in list_texts(telegram)[-1])
        assert await app.memory.database.value("SELECT count(*) FROM messages WHERE speaker = 'Ann'") == 6
        assert await app.memory.database.value("SELECT count(*) FROM messages WHERE speaker = 'Bob'") == 0


async def test_import_before_ids_were_stored_is_recognised(app: App, tmp_path: Path) -> None:
    await run_import(app, exports.write_telegram(tmp_path, 10))
    database = app.memory.database
    await database.write("UPDATE messages SET source_id = NULL")
    await database.write("UPDATE imported SET source_id = source_id || '/0'")
    data = json.loads((tmp_path / "result.json").read_text())
    data["messages"][4] |= {"text": "edited"}
    data["messages"][4].pop("rich_message", None)
    (tmp_path / "result.json").write_text(json.dumps(data))
    report = (await run_import(app, tmp_path / "result.json")).report
    assert (report.messages, report.changed) == (0, 1)
    assert await database.value("SELECT count(*) FROM messages WHERE source_id IS NULL") == 0
    assert (await read_texts(app))[3] == "edited"


def _get_zone(zone: ZoneInfo, _session: str) -> ZoneInfo:
    return zone


@pytest.mark.parametrize(("first", "second"), [("UTC", "Europe/Kyiv"), ("Europe/London", "UTC")])
async def test_chat_is_recognised_after_a_change_of_the_time_zone(
    app: App, tmp_path: Path, first: str, second: str
) -> None:
    """The times in the file have no zone. Daylight saving time leads to several differences."""
    summer = [f"{day}/07/2024, 21:24 - {'Ann' if day % 2 else 'Bob'}: summer {day}" for day in range(14, 24)]
    winter = [f"{day}/12/2024, 21:24 - {'Ann' if day % 2 else 'Bob'}: winter {day}" for day in range(14, 24)]
    session = await app.sessions.get_or_create(Address("console", "local"))
    path = tmp_path / "WhatsApp Chat with Family.txt"
    more = ["25/12/2024, 1:00 - Ann: new"]
    for name, lines, added in ((first, [], 20), (second, more, 1)):
        path.write_text("\n".join([*summer, *winter, *lines]))
        importer = ForeignImport(app.memory.database, app.memory.ledger, partial(_get_zone, ZoneInfo(name)))
        assert (await importer.run(path, session)).report.messages == added
    assert len(await read_texts(app)) == 21


async def test_same_texts_at_other_times_are_another_chat(app: App, tmp_path: Path) -> None:
    await run_import(app, write_whatsapp(tmp_path, "a.txt", "9:00 - Ann: hello", "9:01 - Bob: hi", "9:02 - Ann: bye"))
    other = write_whatsapp(tmp_path, "b.txt", "12:00 - Ann: hello", "12:07 - Bob: hi", "12:11 - Ann: bye")
    assert (await run_import(app, other)).report.messages == 3


async def test_chat_in_both_formats_of_telegram_is_imported_once(app: App, tmp_path: Path) -> None:
    message = {
        "id": 1,
        "type": "message",
        "date_unixtime": "1700000000",
        "from": "Ann",
        "from_id": "user1",
        "text": "hi",
    }
    chat = {"name": "Fam & ily", "type": "private_group", "id": 7, "messages": [message]}
    (tmp_path / "result.json").write_text(json.dumps(chat))
    (tmp_path / "messages.html").write_text(
        '<!DOCTYPE html><html><body><div class="page_header"><div class="text bold">\nFam &amp; ily </div></div>'
        '<div class="page_body chat_page"><div class="message default clearfix" id="message1"><div class="body">'
        '<div class="pull_right date details" title="14.11.2023 22:13:20 UTC+00:00">22:13</div>'
        '<div class="from_name">Ann</div><div class="text">hi</div></div></div></div></body></html>'
    )
    assert (await run_import(app, tmp_path)).report.messages == 1
    (tmp_path / "result.json").unlink()
    assert (await run_import(app, tmp_path)).report.program == "Telegram"
