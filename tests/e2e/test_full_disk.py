"""Tests of a disk that can't be written (F34): people get answers, and nothing is lost or doubled later."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.kernel import App
from bot.telegram import inbox, sources
from config.waiting import Backoff
from memory.errors import StoreError
from memory.log.turn_log import FinishedTurn
from tests.support.bot_api.server import BotApiServer
from tests.support.processes import bot_environment, forked_bot
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says
from tests.support.serving import ANN, STRANGER, Serve, list_texts

Commit = Callable[[FinishedTurn], Coroutine[Any, Any, int]]

SESSION = f"telegram:{ANN}"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry failed writes soon."""
    monkeypatch.setattr(inbox, "SWEEP_INTERVAL_SECONDS", 0.05)
    monkeypatch.setattr(sources, "Backoff", lambda: Backoff(max_seconds=0.05))


@contextlib.asynccontextmanager
async def unwritable(app: App) -> AsyncIterator[None]:
    """Fail every write while the context is open."""
    writer = app.database._writer  # noqa: SLF001  # Below everything that is tested.
    await writer.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:
        await writer.execute("PRAGMA query_only = OFF")


def has_text(telegram: BotApiServer, text: str, times: int = 1) -> bool:
    return sum(text in said for said in list_texts(telegram)) >= times


async def wait_until_settled(app: App, telegram: BotApiServer) -> None:
    """Wait until everything received is confirmed and done."""
    await telegram.wait_for(lambda: not telegram.pending_update_ids)
    await app.runner.wait_until_idle(SESSION)
    while await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'"):
        pass


async def read_log(app: App) -> list[str]:
    return [row[0] for row in await app.database.rows("SELECT content FROM messages ORDER BY id")]


async def test_f34_messages_and_commands_are_answered_and_stored_later(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve() as app:
        telegram.user_says("before", chat_id=ANN)
        await telegram.wait_for(lambda: has_text(telegram, "You said: before"))
        async with unwritable(app):
            telegram.user_says("meanwhile", chat_id=ANN)
            await telegram.wait_for(lambda: has_text(telegram, "You said: meanwhile"))
            assert "can't save this yet: mneme.db can't be written" in list_texts(telegram)[-1]
            for command, answer in (
                ("/status", "Context"),
                ("/help", "/remember"),
                ("/remember the boat is called Aurora", "can't be written"),
                ("/recall before", "before"),
                ("/memory", "remember anything yet"),
            ):
                before = len(telegram.list_sent(ANN))
                telegram.user_says(command, chat_id=ANN)
                await telegram.wait_for(lambda before=before: len(telegram.list_sent(ANN)) > before)  # type: ignore[misc]
                assert answer in list_texts(telegram)[-1]
            telegram.user_says("and again", chat_id=ANN)
            await telegram.wait_for(lambda: has_text(telegram, "You said: and again"))
            assert telegram.pending_update_ids  # A killed program would receive them again.
        await wait_until_settled(app, telegram)
        telegram.user_says("afterwards", chat_id=ANN)
        await telegram.wait_for(lambda: has_text(telegram, "You said: afterwards"))
        assert await read_log(app) == [
            said for text in ("before", "meanwhile", "and again", "afterwards") for said in (text, f"You said: {text}")
        ]
    shown = len(telegram.list_sent(ANN))
    async with serve() as app:
        telegram.user_says("at last", chat_id=ANN)
        await telegram.wait_for(lambda: has_text(telegram, "You said: at last"))
    assert len(telegram.list_sent(ANN)) == shown + 1
    assert len(model.requests) == 5


async def test_f34_export_is_sent_although_it_can_not_be_stored(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("something to export", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        async with unwritable(app):
            telegram.user_says("/export", chat_id=ANN)
            await telegram.wait_for(lambda: telegram.list_calls("sendDocument"))
        await wait_until_settled(app, telegram)
    assert len(telegram.list_calls("sendDocument")) == 1


async def test_f34_first_message_of_a_person_is_answered_with_reason(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{STRANGER}") as app, unwritable(app):
        telegram.user_says("hello", chat_id=STRANGER)
        await telegram.wait_for(lambda: telegram.list_sent(STRANGER))
    assert "can't be written" in list_texts(telegram, STRANGER)[0]


async def test_f34_turn_with_a_failed_commit_is_logged_later(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve() as app:
        telegram.user_says("first", chat_id=ANN)
        model.script(Says("The first answer."))
        commit = app.memory.turns.commit
        app.memory.turns.commit = partial(_fails_once, app, commit)  # type: ignore[method-assign]  # A transient disk error.
        await telegram.wait_for(lambda: has_text(telegram, "The first answer."))
        telegram.user_says("second", chat_id=ANN)
        await telegram.wait_for(lambda: has_text(telegram, "You said: second"))
        await wait_until_settled(app, telegram)
        assert await read_log(app) == ["first", "The first answer.", "second", "You said: second"]
        assert model.requests[-1].said == ["first", "The first answer.", "second"]


async def _fails_once(app: App, commit: Commit, turn: FinishedTurn) -> int:
    app.memory.turns.commit = commit  # type: ignore[method-assign, assignment]
    async with unwritable(app):
        return await commit(turn)


async def test_f34_answer_forgotten_before_its_commit_is_not_written(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("before", chat_id=ANN)
        await telegram.wait_for(lambda: has_text(telegram, "You said: before"))
        commit = app.memory.turns.commit
        app.memory.turns.commit = _fails  # type: ignore[method-assign]  # Of all writes only this one fails.
        telegram.user_says("the quetzal", chat_id=ANN)
        await telegram.wait_for(lambda: has_text(telegram, "You said: the quetzal"))
        telegram.user_says("/forget all confirm", chat_id=ANN)
        await telegram.wait_for(lambda: has_text(telegram, "Everything is forgotten"))
        app.memory.turns.commit = commit  # type: ignore[method-assign]
        await wait_until_settled(app, telegram)
        telegram.user_says("afterwards", chat_id=ANN)
        await telegram.wait_for(lambda: has_text(telegram, "You said: afterwards"))
        assert await read_log(app) == ["afterwards", "You said: afterwards"]


async def _fails(turn: FinishedTurn) -> int:
    raise StoreError("mneme.db can't be written.")


async def test_f34_sent_reply_is_not_repeated_if_recording_fails(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Says("A sentence of an answer that takes several messages. " * 200))
    async with serve() as app:
        telegram.fault("sendMessage", error_code=500)
        telegram.user_says("before", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_calls("sendMessage"))
        async with unwritable(app):
            telegram.clear_faults()
            await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3)
            telegram.user_says("/help", chat_id=ANN)
            await telegram.wait_for(lambda: has_text(telegram, "/remember"))
        while await app.database.value("SELECT count(*) FROM outbox WHERE state = 'waiting'"):
            pass
    assert len(telegram.list_sent(ANN)) == 4


@pytest.mark.slow
async def test_f34_full_disk_below_a_real_process(telegram: BotApiServer, model: ModelServer, tmp_path: Path) -> None:
    environment = bot_environment(telegram, model, ANN)
    model.script(Says("Noted."), Calls((("note_add", {"name": "boat", "content": "Aurora"}),)), Says("I tried."))
    async with forked_bot(environment, tmp_path) as process:
        telegram.user_says("before", chat_id=ANN)
        await telegram.wait_for(lambda: has_text(telegram, "Noted."))
        _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, most))  # No file may grow.
        telegram.user_says("meanwhile", chat_id=ANN)
        await telegram.wait_for(lambda: has_text(telegram, "I tried."))
        telegram.user_says("/status", chat_id=ANN)
        await telegram.wait_for(lambda: has_text(telegram, "Context"))
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))
        await telegram.wait_for(lambda: not telegram.pending_update_ids, timeout=60)
        telegram.user_says("afterwards", chat_id=ANN)
        await telegram.wait_for(lambda: has_text(telegram, "You said: afterwards"))
        process.terminate()
        assert await process.wait() == 0
    said = [text for text in model.requests[-1].said if text and "error" not in text]  # The tool's error.
    assert said == ["before", "Noted.", "meanwhile", "I tried.", "afterwards"]
    assert [sum(said in text for text in list_texts(telegram)) for said in ("Noted.", "I tried.")] == [1, 1]
