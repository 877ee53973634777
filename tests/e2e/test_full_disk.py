"""A disk that can't be written (F34): whoever writes gets an answer, and nothing is lost or doubled when it can."""

from __future__ import annotations

import contextlib
import resource
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from bot.telegram import inbox, sources
from config.waiting import Backoff
from memory.errors import StoreError
from tests.support.processes import bot_environment, forked_bot
from tests.support.servers.model import Calls, Says
from tests.support.serving import ANN, STRANGER, texts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

    from bot.app import App
    from memory.log.turn_log import FinishedTurn
    from tests.support.servers.model import ModelServer
    from tests.support.servers.telegram import BotApiServer
    from tests.support.serving import Serve

    Commit = Callable[[FinishedTurn], Coroutine[Any, Any, int]]

SESSION = f"telegram:{ANN}"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written is tried again soon."""
    monkeypatch.setattr(inbox, "SWEEP_INTERVAL_SECONDS", 0.05)
    monkeypatch.setattr(sources, "Backoff", lambda: Backoff(max_seconds=0.05))


@contextlib.asynccontextmanager
async def unwritable(app: App) -> AsyncIterator[None]:
    """For as long as the context is open every write fails."""
    writer = app.database._writer  # noqa: SLF001  # below everything that is tested
    await writer.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:
        await writer.execute("PRAGMA query_only = OFF")


def shows(telegram: BotApiServer, text: str, times: int = 1) -> bool:
    return sum(text in said for said in texts(telegram)) >= times


async def at_rest(app: App, telegram: BotApiServer) -> None:
    """Wait until all that was received is confirmed and done."""
    await telegram.wait_for(lambda: not telegram.pending_update_ids)
    await app.runner.idle(SESSION)
    while await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'"):
        pass


async def logged(app: App) -> list[str]:
    return [row[0] for row in await app.database.rows("SELECT content FROM messages ORDER BY id")]


async def test_f34_messages_and_commands_are_answered_and_kept_when_there_is_space_again(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve() as app:
        telegram.user_says("before", chat_id=ANN)
        await telegram.wait_for(lambda: shows(telegram, "You said: before"))
        async with unwritable(app):
            telegram.user_says("meanwhile", chat_id=ANN)
            await telegram.wait_for(lambda: shows(telegram, "You said: meanwhile"))
            assert "can't keep this yet: mneme.db can't be written" in texts(telegram)[-1]
            for command, answer in (
                ("/status", "Context"),
                ("/help", "/remember"),
                ("/remember the boat is called Aurora", "can't be written"),
                ("/recall before", "before"),
            ):
                before = len(telegram.sent(ANN))
                telegram.user_says(command, chat_id=ANN)
                await telegram.wait_for(lambda before=before: len(telegram.sent(ANN)) > before)  # type: ignore[misc]
                assert answer in texts(telegram)[-1]
            telegram.user_says("and again", chat_id=ANN)
            await telegram.wait_for(lambda: shows(telegram, "You said: and again"))
            assert telegram.pending_update_ids  # a program that was killed now would be sent them again
        await at_rest(app, telegram)
        telegram.user_says("afterwards", chat_id=ANN)
        await telegram.wait_for(lambda: shows(telegram, "You said: afterwards"))
        assert await logged(app) == [
            said for text in ("before", "meanwhile", "and again", "afterwards") for said in (text, f"You said: {text}")
        ]
    shown = len(telegram.sent(ANN))
    async with serve() as app:
        telegram.user_says("at last", chat_id=ANN)
        await telegram.wait_for(lambda: shows(telegram, "You said: at last"))
    assert len(telegram.sent(ANN)) == shown + 1
    assert len(model.requests) == 5


async def test_f34_an_export_is_sent_although_it_can_not_be_kept(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("something to export", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.sent(ANN))
        async with unwritable(app):
            telegram.user_says("/export", chat_id=ANN)
            await telegram.wait_for(lambda: telegram.calls_to("sendDocument"))
        await at_rest(app, telegram)
    assert len(telegram.calls_to("sendDocument")) == 1


async def test_f34_who_writes_for_the_first_time_is_told_why_there_is_no_answer(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{STRANGER}") as app, unwritable(app):
        telegram.user_says("hello", chat_id=STRANGER)
        await telegram.wait_for(lambda: telegram.sent(STRANGER))
    assert "can't be written" in texts(telegram, STRANGER)[0]


async def test_f34_an_answer_whose_log_could_not_be_written_once_is_in_the_log_when_it_can(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve() as app:
        telegram.user_says("first", chat_id=ANN)
        model.script(Says("The first answer."))
        commit = app.memory.turns.commit
        app.memory.turns.commit = partial(_fails_once, app, commit)  # type: ignore[method-assign]  # a disk error of a moment
        await telegram.wait_for(lambda: shows(telegram, "The first answer."))
        telegram.user_says("second", chat_id=ANN)
        await telegram.wait_for(lambda: shows(telegram, "You said: second"))
        await at_rest(app, telegram)
        assert await logged(app) == ["first", "The first answer.", "second", "You said: second"]
        assert model.requests[-1].said == ["first", "The first answer.", "second"]


async def _fails_once(app: App, commit: Commit, turn: FinishedTurn) -> int:
    app.memory.turns.commit = commit  # type: ignore[method-assign, assignment]
    async with unwritable(app):
        return await commit(turn)


async def test_f34_what_was_answered_and_then_forgotten_is_not_written_afterwards(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve() as app:
        telegram.user_says("before", chat_id=ANN)
        await telegram.wait_for(lambda: shows(telegram, "You said: before"))
        commit = app.memory.turns.commit
        app.memory.turns.commit = _fails  # type: ignore[method-assign]  # of all writes only this one
        telegram.user_says("the quetzal", chat_id=ANN)
        await telegram.wait_for(lambda: shows(telegram, "You said: the quetzal"))
        telegram.user_says("/forget all confirm", chat_id=ANN)
        await telegram.wait_for(lambda: shows(telegram, "Everything is forgotten"))
        app.memory.turns.commit = commit  # type: ignore[method-assign]
        await at_rest(app, telegram)
        telegram.user_says("afterwards", chat_id=ANN)
        await telegram.wait_for(lambda: shows(telegram, "You said: afterwards"))
        assert await logged(app) == ["afterwards", "You said: afterwards"]


async def _fails(turn: FinishedTurn) -> int:
    raise StoreError("mneme.db can't be written.")


async def test_f34_a_reply_that_was_sent_is_not_sent_again_where_that_can_not_be_written(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Says("A sentence of an answer that takes several messages. " * 200))
    async with serve() as app:
        telegram.fault("sendMessage", error_code=500)
        telegram.user_says("before", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.calls_to("sendMessage"))
        async with unwritable(app):
            telegram.clear_faults()
            await telegram.wait_for(lambda: len(telegram.sent(ANN)) == 3)
            telegram.user_says("/help", chat_id=ANN)
            await telegram.wait_for(lambda: shows(telegram, "/remember"))
        while await app.database.value("SELECT count(*) FROM outbox WHERE state = 'waiting'"):
            pass
    assert len(telegram.sent(ANN)) == 4


async def test_f34_a_disk_that_is_full_beneath_a_real_process(
    telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    environment = bot_environment(telegram, model, ANN)
    model.script(Says("Noted."), Calls((("note_add", {"name": "boat", "content": "Aurora"}),)), Says("I tried."))
    async with forked_bot(environment, tmp_path) as process:
        telegram.user_says("before", chat_id=ANN)
        await telegram.wait_for(lambda: shows(telegram, "Noted."))
        _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, most))  # no file may grow
        telegram.user_says("meanwhile", chat_id=ANN)
        await telegram.wait_for(lambda: shows(telegram, "I tried."))
        telegram.user_says("/status", chat_id=ANN)
        await telegram.wait_for(lambda: shows(telegram, "Context"))
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))
        await telegram.wait_for(lambda: not telegram.pending_update_ids, timeout=60)
        telegram.user_says("afterwards", chat_id=ANN)
        await telegram.wait_for(lambda: shows(telegram, "You said: afterwards"))
        process.terminate()
        assert await process.wait() == 0
    said = [text for text in model.requests[-1].said if text and "error" not in text]  # of the tool
    assert said == ["before", "Noted.", "meanwhile", "I tried.", "afterwards"]
    assert [sum(said in text for text in texts(telegram)) for said in ("Noted.", "I tried.")] == [1, 1]
