"""Tests of /export: the memory of a chat arrives as a file."""

from __future__ import annotations

import io
import json
import re
import stat
import zipfile
from pathlib import Path

import pytest

from bot.commands import exporting as export_command
from bot.console.address import create_console_address
from bot.console.console import ConsoleChannel, chat_once, create_typed_arrival
from bot.kernel import App
from config.settings import DATABASE_NAME
from config.texts import _, use_language
from memory.store.database import Database
from memory.transfer.importing import Importer
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_texts

BOB = 300_330_033  # This number doesn't occur in an export by chance.


def read_files(packed: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


async def request_export(telegram: BotApiServer, chat_id: int = ANN, **said: object) -> bytes:
    before = len(telegram.documents)
    telegram.user_says("/export", chat_id=chat_id, **said)  # type: ignore[arg-type]  # The keyword arguments of user_says.
    await telegram.wait_for(lambda: len(telegram.documents) > before)
    return telegram.documents[-1]


def get_last_caption(telegram: BotApiServer) -> str:
    return str([call for call in telegram.list_calls("sendDocument") if call.ok][-1].params["caption"])


async def test_export_contains_all_of_a_chat_and_nothing_else(
    serve: Serve, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    model.script(Says("What a fine name."), Says("Noted."))
    async with serve(telegram_allowed_ids=f"{ANN},{BOB}") as app:
        telegram.user_says("What do you think of Seagull?", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 1)
        telegram.user_says("/remember the mooring is number 7", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        telegram.user_says("I like heather", chat_id=BOB)
        await telegram.wait_for(lambda: len(telegram.list_sent(BOB)) == 1)
        packed = await request_export(telegram)
        while await app.database.value("SELECT count(*) FROM documents"):
            pass
        assert await app.database.value("SELECT count(*) FROM outbox WHERE state = 'waiting'") == 0
    held = read_files(packed)
    assert [name for name, text in held.items() if "heather" in text or str(BOB) in text] == []
    assert "mooring is number 7" in held[f"entries/telegram:{ANN}/note.md"]
    said = [json.loads(line)["content"] for line in held["rows/messages.jsonl"].splitlines()]
    assert said == ["What do you think of Seagull?", "What a fine name."]
    told = get_last_caption(telegram)
    assert "2 messages, 1 memory, 1 Markdown file" in told
    assert "mneme import mneme-export-2026-02-07.zip" in told
    # The way to another machine.
    (tmp_path / "taken.zip").write_bytes(packed)
    other = await Database.open(tmp_path / "other" / DATABASE_NAME)
    await Importer(other, tmp_path / "other" / "memory").run(tmp_path / "taken.zip")
    assert await other.value("SELECT content FROM entries WHERE kind = 'note'") == "the mooring is number 7"
    await other.close()


async def test_export_leaves_no_temporary_files(serve: Serve, telegram: BotApiServer, tmp_path: Path) -> None:
    async with serve():
        telegram.user_says("/remember the mooring is number 7", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 1)
        before = {path for path in (tmp_path / "data").rglob("*") if path.is_file()}
        await request_export(telegram)
        assert {path for path in (tmp_path / "data").rglob("*") if path.is_file()} == before


async def test_export_not_sent_is_sent_unchanged_after_restart(serve: Serve, telegram: BotApiServer) -> None:
    telegram.fault("sendDocument", error_code=500, times=None)
    async with serve() as app:
        telegram.user_says("Our boat is called Seagull", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 1)
        telegram.user_says("/export", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_calls("sendDocument")) >= 1)
        kept = await app.database.value("SELECT content FROM documents")
    assert telegram.documents == []
    telegram.clear_faults()
    async with serve() as app:
        await telegram.wait_for(lambda: len(telegram.documents) == 1)
        while await app.database.value("SELECT count(*) FROM documents"):
            pass
    assert telegram.documents == [kept]


async def test_export_pending_at_forget_all_is_not_sent(serve: Serve, telegram: BotApiServer) -> None:
    telegram.fault("sendDocument", error_code=500, times=None)
    async with serve() as app:
        telegram.user_says("Our boat is called Seagull", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 1)
        telegram.user_says("/export", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_calls("sendDocument")) >= 1)
        telegram.user_says("/forget all confirm", chat_id=ANN)
        while await app.database.value("SELECT count(*) FROM messages"):
            pass
        assert await app.database.value("SELECT count(*) FROM documents") == 0
    telegram.clear_faults()
    async with serve():
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) >= 2)
    assert telegram.documents == []


async def test_group_export_is_for_managers_only(serve: Serve, telegram: BotApiServer) -> None:
    telegram.owns(BOB, GROUP)
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        telegram.user_says("/remember the key is under the mat", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        await telegram.wait_for(lambda: len(telegram.list_sent(GROUP)) == 1)
        telegram.user_says("/export", chat_id=GROUP, user_id=STRANGER, chat_type="supergroup")
        await telegram.wait_for(lambda: len(telegram.list_sent(GROUP)) == 2)
        assert "only administrators" in list_texts(telegram, GROUP)[1]
        assert telegram.documents == []
        packed = await request_export(telegram, GROUP, user_id=BOB, chat_type="supergroup")
    assert any("under the mat" in text for text in read_files(packed).values())


async def test_chat_without_file_permission_is_told_what_to_do(serve: Serve, telegram: BotApiServer) -> None:
    telegram.fault("sendDocument", error_code=400, description="Bad Request: not enough rights to send documents")
    async with serve() as app:
        telegram.user_says("/remember the mooring is number 7", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 1)
        telegram.user_says("/export", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        while await app.database.value("SELECT count(*) FROM documents"):
            pass
    assert list_texts(telegram)[1].startswith("I'm not allowed to send files in this chat: allow it")


async def test_export_too_large_for_telegram_names_the_shell_command(
    start: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_command, "MAX_EXPORT_BYTES", 1_000)
    async with start() as app:
        person = Person(app)
        assert await person.says("/export") == (
            "There is nothing to export: this chat has no messages and no memories yet."
        )
        await person.says("/remember the mooring is number 7")
        said = await person.says("/export")
    assert "run `mneme export DIR --owner console:local`" in said


async def test_console_export_is_written_to_the_working_directory(
    app: App, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = create_console_address("local")
    await chat_once(app, address, "/remember the mooring is number 7")
    for name in ("mneme-export-2026-02-07.zip", "mneme-export-2026-02-07-2.zip"):
        assert await chat_once(app, address, "/export") == 0
        assert f"It was saved to {tmp_path / name}." in capsys.readouterr().out
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
        assert any("mooring" in text for text in read_files((tmp_path / name).read_bytes()).values())


async def test_console_export_names_its_path_in_the_terminals_language(
    app: App, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    address = create_console_address("local")
    await chat_once(app, address, "/remember the mooring is number 7")
    assert await chat_once(app, address, "/export") == 0
    with use_language("de"):
        where = _("It was saved to {path}.", path=tmp_path / "mneme-export-2026-02-07.zip")
    assert where in capsys.readouterr().out


async def test_console_export_that_can_not_be_written_is_explained(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    channel = ConsoleChannel()
    monkeypatch.setattr(Path, "cwd", lambda: gone)
    for text in ("/remember the mooring is number 7", "/export"):
        await app.runner.submit(create_typed_arrival(app, create_console_address("local"), text, channel))
        await app.runner.wait_until_idle("console:local")
    assert re.search(r"It can't be written to .*gone.* \(No such file or directory\)", channel.replies[-1])
