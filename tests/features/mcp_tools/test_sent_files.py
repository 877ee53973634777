"""Tests of files that tools return and the model sends: their ids, types, limits, and delivery exactly once."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from bot.kernel import App
from memory.messages import Document, Provenance
from pipeline.tools.turn_files import MAX_HELD_FILES, MAX_SENT_FILES, TurnFiles, create_document
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
from tests.support.mcp_servers import Servers, call_tools
from tests.support.processes import bot_environment, forked_bot
from tests.support.servers.mcp_tools import PICTURE
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Fails, Says
from tests.support.serving import ANN, Serve, list_texts, wait_for_text


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    """Return the configuration of MCP servers."""
    return Servers(tmp_path)


def send(telegram: BotApiServer, model: ModelServer, *calls: tuple[str, object], answer: str = "Here it is.") -> None:
    """Have the model make calls for a message of Ann."""
    model.script(*(Calls((call,)) for call in calls), Says(answer))
    telegram.user_says("Draw something", chat_id=ANN)


async def list_results(app: App) -> list[str]:
    """Return the results of tools in the log."""
    return [row["content"] for row in await app.database.rows("SELECT content FROM messages WHERE role = 'tool'")]


async def test_picture_of_a_tool_is_sent_below_the_answer(
    serve: Serve, telegram: BotApiServer, model: ModelServer, servers: Servers
) -> None:
    async with serve(mcp_config=servers(trial=servers.trial())) as app:
        send(telegram, model, ("trial__picture", {}), ("send_file", {"file": "f1"}), ("send_file", {"file": "f1"}))
        await telegram.wait_for(lambda: telegram.documents)
        shown, *sent = await list_results(app)
        rows = await app.database.rows("SELECT provenance FROM messages WHERE role <> 'user' AND content <> ''")
    assert shown.endswith("\n[file f1: picture.png, 0.0 kB; send_file sends it]")
    assert sent == ["picture.png is sent with your answer"] * 2
    assert [row["provenance"] for row in rows] == [Provenance.FOREIGN] * 4
    answer, *others = telegram.list_sent(ANN)
    assert answer.text.startswith("Here it is.")
    assert [message.caption for message in others if message.caption] == ["From the tool trial__picture"]
    assert telegram.documents == [PICTURE]
    assert len(telegram.list_calls("sendPhoto")) == 1


async def test_files_are_named_by_type_and_limited(
    serve: Serve, telegram: BotApiServer, model: ModelServer, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.tools.turn_files.MAX_FILE_BYTES", 1_000)
    async with serve(mcp_config=servers(trial=servers.trial())) as app:
        calls = [("send_file", {"file": f"f{number}"}) for number in (1, 2, 3, 4)]
        send(telegram, model, ("trial__files", {}), *calls)
        await telegram.wait_for(lambda: len(telegram.documents) == 3)
        listed, *_, refused = await list_results(app)
    assert "[the file big.pdf of 0.0 MB is too large to send]" in listed
    assert "exe" not in listed.partition("[file f1")[2]
    assert refused == "error: no tool has returned a file with that id in this turn; there are: f1, f2, f3"
    assert telegram.documents == [b"%PDF-1.7 a report", b"OggS a song", b"a,b\n1,2"]
    names = [message.file_name for message in telegram.list_sent(ANN) if message.file_name]
    assert names == ["a report.pdf", "files.ogg", "sums.csv"]


@pytest.mark.parametrize("file", ["f1", "/etc/passwd", "../.env", "picture.png", ""])
async def test_made_up_id_sends_nothing(
    serve: Serve, telegram: BotApiServer, model: ModelServer, servers: Servers, file: str
) -> None:
    async with serve(mcp_config=servers(trial=servers.trial())) as app:
        send(telegram, model, ("trial__picture", {}), answer="Drawn.")
        await wait_for_text(telegram, "Drawn.")
        send(telegram, model, ("send_file", {"file": file}))  # The file belonged to the turn before
        await wait_for_text(telegram, "Here it is.")
        refused = (await list_results(app))[-1]
    assert refused == "error: no tool has returned a file with that id in this turn; there are: none"
    assert telegram.documents == []


async def test_file_is_sent_once_after_a_stop_before_it(
    serve: Serve, telegram: BotApiServer, model: ModelServer, servers: Servers
) -> None:
    config = servers(trial=servers.trial())
    telegram.fault("sendPhoto", stall=True)
    async with serve(mcp_config=config):
        send(telegram, model, ("trial__picture", {}), ("send_file", {"file": "f1"}))
        await telegram.wait_for(lambda: telegram.list_calls("sendPhoto"))
    assert telegram.documents == []
    async with serve(mcp_config=config) as app:
        await telegram.wait_for(lambda: telegram.documents)
        while await app.database.value("SELECT count(*) FROM outbox WHERE state = 'waiting'"):
            pass
        assert await app.database.value("SELECT count(*) FROM documents") == 0
    async with serve(mcp_config=config):
        telegram.user_says("/help", chat_id=ANN)
        await wait_for_text(telegram, "/export")
    assert telegram.documents == [PICTURE]
    assert sum(text.startswith("Here it is.") for text in list_texts(telegram)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sendMessage", "sendPhoto"])
async def test_kill_before_the_answer_or_its_file_loses_neither(
    telegram: BotApiServer, model: ModelServer, servers: Servers, tmp_path: Path, method: str
) -> None:
    environment = bot_environment(telegram, model, ANN) | {"MCP_CONFIG": servers(trial=servers.trial())}
    telegram.fault(method, stall=True, times=None)
    async with forked_bot(environment, tmp_path):
        send(telegram, model, ("trial__picture", {}), ("send_file", {"file": "f1"}))
        await telegram.wait_for(lambda: telegram.list_calls(method))
    asked = len(model.requests)
    telegram.clear_faults()
    for _run in range(2):
        async with forked_bot(environment, tmp_path) as process:
            await telegram.wait_for(lambda: telegram.documents and telegram.polled)
            process.send_signal(signal.SIGTERM)
            await process.wait()
    assert telegram.documents == [PICTURE]
    assert [bool(text) for text in list_texts(telegram)] == [True, False]
    assert len(model.requests) == asked


async def test_refused_photo_becomes_a_document_and_failed_turns_send_nothing(
    serve: Serve, telegram: BotApiServer, model: ModelServer, servers: Servers
) -> None:
    async with serve(mcp_config=servers(trial=servers.trial())):
        telegram.fault("sendPhoto", error_code=400, description="Bad Request: PHOTO_INVALID_DIMENSIONS")
        send(telegram, model, ("trial__picture", {}), ("send_file", {"file": "f1"}))
        await telegram.wait_for(lambda: telegram.documents)
        assert telegram.list_sent(ANN)[-1].file_name == "picture.png"
        picture = Calls((("trial__picture", {}),))
        model.script(picture, Calls((("send_file", {"file": "f1"}),)), *[Fails(401)] * 5)
        telegram.user_says("Again", chat_id=ANN)
        await wait_for_text(telegram, "rejected the key")
    assert telegram.documents == [PICTURE]


async def test_channel_without_files_refuses_to_send(start: OpenApp, model: ModelServer, servers: Servers) -> None:
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        await call_tools(Person(app), model, ("trial__picture", {}), ("send_file", {"file": "f1"}))
        pictured, refused = await list_results(app)
    assert "f1" not in pictured
    assert refused == "error: files can't be sent in this chat: say so"


def test_turn_holds_and_sends_a_limited_number_of_files() -> None:
    files = TurnFiles(can_send=True)
    lines = files.add("draw", [Document(f"{n}.png", PICTURE) for n in range(MAX_HELD_FILES + 1)])
    assert lines[-1] == f"[the file {MAX_HELD_FILES}.png of 0.0 MB is too large to send]"
    assert len(files.ids) == MAX_HELD_FILES > MAX_SENT_FILES


@pytest.mark.parametrize(
    ("content", "kind", "name", "stored"),
    [
        (PICTURE, "image/jpeg", "draw", "draw.png"),
        (b"no picture", "image/png", "draw", None),
        (b"text", "text/plain; charset=utf-8", "file:///home/ann/.ssh/id_rsa.txt", "id_rsa.txt"),
        (b"text", "text/plain", "..", "file.txt"),
        (b"text", "text/plain", "C:\\Users\\a.b.exe", "a_b.txt"),
        (b"<script>", "text/html", "page.html", None),
        (b"<svg/>", "image/svg+xml", "page.svg", None),
        (b"#!/bin/sh", "application/x-sh", "run.sh", None),
        (b"", "text/plain", "empty.txt", None),
        (b"text", None, "a.txt", None),
    ],
)
def test_file_gets_the_extension_of_an_allowed_type(content: bytes, kind: str, name: str, stored: str | None) -> None:
    document = create_document(content, kind, name)
    assert (document.name if document is not None else None) == stored
