"""Tests that end `mneme run` with SIGKILL at bad moments."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.telegram import inbox
from memory.runtime.jobs import JobLog
from memory.store.database import Database
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
from tests.support.processes import bot_environment, forked_bot
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Holds, Says
from tests.support.serving import Serve, list_labels, press
from tests.support.starter import Program

pytestmark = pytest.mark.slow

ANN = 1001

Run = Callable[[], AbstractAsyncContextManager[Program]]


@pytest.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    """Run a local Telegram that outlives the bot."""
    async with BotApiServer() as server:
        yield server


@pytest.fixture
def run(telegram: BotApiServer, model: ModelServer, tmp_path: Path) -> Run:
    """Return a context manager that runs `mneme run` as a process and kills it at the end."""

    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[Program]:
        environment = bot_environment(telegram, model, ANN, ANN + 1)
        async with forked_bot(environment, tmp_path) as process:
            yield process

    return running


def _was_called(telegram: BotApiServer, method: str, times: int) -> bool:
    return len(telegram.list_calls(method)) > times


def _was_asked(model: ModelServer, times: int) -> bool:
    return len(model.requests) >= times


def _has_said(telegram: BotApiServer, text: str) -> bool:
    return text in [message.text for message in telegram.list_sent(ANN)]


async def test_kill_while_the_model_writes_answers_once_after_restart(
    run: Run,
    telegram: BotApiServer,
    model: ModelServer,
) -> None:
    model.script(Holds("This will never be"), Says("Here it is."))
    async with run():
        telegram.user_says("A question", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
    async with run() as process:
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        # End cleanly, because a chunk in doubt may be sent again.
        process.send_signal(signal.SIGTERM)
        await process.wait()
    async with run():
        await telegram.wait_for(lambda: telegram.polled)
    assert [message.text for message in telegram.list_sent(ANN)] == ["Here it is."]


async def test_kill_before_the_reply_was_sent_sends_it_after_restart(
    run: Run,
    telegram: BotApiServer,
    model: ModelServer,
) -> None:
    telegram.fault("sendMessage", stall=True)
    async with run():
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_calls("sendMessage"))
    telegram.clear_faults()
    async with run():
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert [message.text for message in telegram.list_sent(ANN)] == ["You said: hello"]
    assert len(model.requests) == 1


async def test_repeated_kills_lose_no_message_and_answer_none_twice(
    run: Run,
    telegram: BotApiServer,
    model: ModelServer,
) -> None:
    answers = model.otherwise
    # No answer is complete when the process is killed, because a chunk in doubt is sent again.
    model.otherwise = lambda _: Holds("This will never be")
    # Each run gets a little further into the turn.
    for number, method in enumerate(("getMe", "setMyCommands", "getUpdates", "sendMessageDraft")):
        before = len(telegram.list_calls(method))
        async with run():
            telegram.user_says(f"message {number}", chat_id=ANN)
            await telegram.wait_for(partial(_was_called, telegram, method, before))
    model.otherwise = answers
    async with run():
        await telegram.wait_for(
            lambda: (
                telegram.polled
                and not telegram.pending_update_ids
                and sum(len(m.text.split("message")) - 1 for m in telegram.list_sent(ANN)) >= 1
                and any("message 3" in m.text for m in telegram.list_sent(ANN))
            )
        )
    answered = [line for message in telegram.list_sent(ANN) for line in message.text.splitlines()]
    assert len(answered) == len(set(answered))
    asked = [text for request in model.requests for text in request.said]
    assert {f"message {number}" for number in range(4)} <= set(asked)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_signal_to_stop_ends_the_bot_cleanly(run: Run, telegram: BotApiServer, number: signal.Signals) -> None:
    """Closing the terminal sends SIGHUP."""
    async with run() as process:
        await telegram.wait_for(lambda: telegram.polled)
        process.send_signal(number)
        assert await process.wait() == 0


async def test_kill_while_sending_loses_no_answer_and_repeats_it_once(
    run: Run, telegram: BotApiServer, model: ModelServer
) -> None:
    before = len(telegram.list_calls("sendMessage"))
    async with run():
        telegram.user_says("message 0", chat_id=ANN)
        # The reply was sent but not confirmed.
        await telegram.wait_for(partial(_was_called, telegram, "sendMessage", before))
    async with run():
        telegram.user_says("the next one", chat_id=ANN)
        await telegram.wait_for(lambda: any("the next one" in message.text for message in telegram.list_sent(ANN)))
    answered = [line for message in telegram.list_sent(ANN) for line in message.text.splitlines()]
    assert 1 <= answered.count("You said: message 0") <= 2
    assert answered.count("You said: the next one") == 1


async def test_kill_in_a_private_talk_leaves_nothing_in_files(
    run: Run, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    def holding() -> list[str]:
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        return [path.name for path in files if b"quetzal" in path.read_bytes().lower()]

    def sent(words: str) -> bool:
        return any(words in message.text for message in telegram.list_sent(ANN))

    model.script(Holds("A quetzal is never"), Says("A quetzal is a bird."))
    async with run():
        telegram.user_says("/private", chat_id=ANN)
        telegram.user_says("I always prefer the quetzal to the parrot. What is it?", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        assert holding() == []
    async with run():
        await telegram.wait_for(lambda: sent("nothing is saved in a private conversation: send it again"))
        telegram.user_says("What is a quetzal?", chat_id=ANN)
        await telegram.wait_for(lambda: sent("A quetzal is a bird."))
        assert sent("earlier messages of this private conversation are deleted")
        assert [said for request in model.requests[1:] for said in request.said] == ["What is a quetzal?"]
    # Kill in the middle of the shutdown, twice.
    for _ in range(3):
        async with run():
            telegram.user_says("/new", chat_id=ANN)
            await telegram.wait_for(lambda: not telegram.pending_update_ids)
    async with run() as process:
        telegram.user_says("Good morning", chat_id=ANN)
        await telegram.wait_for(lambda: sent("You said: Good morning"))
        process.send_signal(signal.SIGTERM)
        await process.wait()
    assert model.requests[-1].said == ["Good morning"]
    assert holding() == []


async def test_message_that_killed_the_bot_twice_is_given_up(
    run: Run, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    model.script(Holds("This will never be"), Holds("This will never be"))
    for number in range(2):
        async with run():
            if number == 0:
                telegram.user_says("the message that kills", chat_id=ANN)
            await telegram.wait_for(partial(_was_asked, model, number + 1))
            if number == 0:
                telegram.user_says("an innocent one", chat_id=ANN)
                await telegram.wait_for(lambda: not telegram.pending_update_ids)
    async with run() as process:
        await telegram.wait_for(lambda: "You said: an innocent one" in [m.text for m in telegram.list_sent(ANN)])
        process.send_signal(signal.SIGTERM)
        await process.wait()
    (given_up,) = [message for message in telegram.list_sent(ANN) if "answer this message: I crashed" in message.text]
    assert "the message that kills" in given_up.text
    assert [request.said for request in model.requests] == [["the message that kills"]] * 2 + [["an innocent one"]]
    assert "message_given_up" in (tmp_path / "log").read_text(encoding="utf-8")


async def test_message_processed_next_to_the_killing_one_is_answered(
    run: Run, telegram: BotApiServer, model: ModelServer
) -> None:
    bob = ANN + 1
    model.script(Holds("This will never be"), Holds("This neither"), Holds("This will never be"))
    async with run():
        telegram.user_says("the message that kills", chat_id=ANN)
        await telegram.wait_for(partial(_was_asked, model, 1))
        telegram.user_says("an innocent one", chat_id=bob)
        await telegram.wait_for(partial(_was_asked, model, 2))
    async with run():
        # Both turns had begun at the kill, so now they run one after the other.
        await telegram.wait_for(partial(_was_asked, model, 3))
    async with run() as process:
        await telegram.wait_for(lambda: telegram.list_sent(ANN) and telegram.list_sent(bob))
        process.send_signal(signal.SIGTERM)
        await process.wait()
    assert "answer this message: I crashed" in telegram.list_sent(ANN)[0].text
    assert [message.text for message in telegram.list_sent(bob)] == ["You said: an innocent one"]


async def test_press_that_killed_the_bot_twice_is_given_up(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("/settings", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        button = list_labels(telegram)[0]
    # Two runs were killed during this press.
    press(telegram, button)
    async with serve() as app:
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        await app.database.write("UPDATE inbox SET attempts = 2, run = 'former', state = 'queued' WHERE id = 2")
    async with serve() as app:
        await telegram.wait_for(
            lambda: any("answer this message: I crashed" in m.text for m in telegram.list_sent(ANN))
        )
        assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0


async def test_orderly_shutdown_during_a_turn_is_no_kill(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(*[Holds("wait")] * 4, Says("Here it is."))
    telegram.user_says("A long question", chat_id=ANN)
    for asked in range(1, 5):
        async with serve():
            await telegram.wait_for(partial(_was_asked, model, asked))
    async with serve():
        await telegram.wait_for(lambda: "Here it is." in [message.text for message in telegram.list_sent(ANN)])


async def test_turn_restarted_in_the_same_run_is_no_kill(
    serve: Serve, telegram: BotApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that could be neither stored nor shown restarts its turn."""
    monkeypatch.setattr(inbox, "SWEEP_INTERVAL_SECONDS", 0.05)
    async with serve() as app:
        for counted in ("hello", "again"):
            telegram.user_says(counted, chat_id=ANN)
            await telegram.wait_for(partial(_has_said, telegram, f"You said: {counted}"))
        assert [row["attempts"] for row in await app.database.rows("SELECT attempts FROM inbox")] == [1, 1]
        await app.database.write("UPDATE inbox SET state = 'queued' WHERE id = 1")
        await telegram.wait_for(lambda: [m.text for m in telegram.list_sent(ANN)].count("You said: hello") == 2)
        assert [row["attempts"] for row in await app.database.rows("SELECT attempts FROM inbox")] == [1, 1]


async def test_waiting_messages_count_attempts_when_their_own_turn_begins(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Holds("wait"))
    counts = "SELECT attempts FROM inbox ORDER BY id"
    async with serve() as app:
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(partial(_was_asked, model, 1))
        telegram.user_says("second", chat_id=ANN)
        await telegram.wait_for(lambda: app.runner.queues.count_waiting(f"telegram:{ANN}") == 1)
        assert [row["attempts"] for row in await app.database.rows(counts)] == [1, 0]
        telegram.user_says("/stop", chat_id=ANN)
        await telegram.wait_for(lambda: not app.runner.queues.is_running(f"telegram:{ANN}"))
        telegram.user_says("third", chat_id=ANN)
        await telegram.wait_for(partial(_was_asked, model, 2))
        await telegram.wait_for(partial(_has_said, telegram, "You said: third"))
        assert [row["attempts"] for row in await app.database.rows(counts)] == [1, 1, 1, 1]


async def test_consolidation_that_killed_the_bot_twice_is_given_up(start: OpenApp, model: ModelServer) -> None:
    model.consolidation = lambda _: Fails(500)
    async with start() as app:
        person = Person(app)
        await person.says("We sailed to Hydra in May")
        await person.says("/new")
        await app.database.write("INSERT OR REPLACE INTO job_attempts VALUES ('consolidation 1', 2)")
    asked = len(model.consolidations)
    with capture_logs() as logs:
        async with start() as app:
            await app.jobs.consolidation.run_pending()
            assert await app.jobs.consolidation.find_pending_ids("console:local") == frozenset()
            assert "crashed on it twice" in await Person(app).says("Good morning")
            assert await app.database.value("SELECT count(*) FROM job_attempts") == 0
    assert len(model.consolidations) == asked
    assert "consolidation_given_up" in [entry["event"] for entry in logs]
    assert "Hydra" in (app.settings.mneme_data_dir / "memory/console:local/HISTORY.md").read_text(encoding="utf-8")


async def test_failed_or_cancelled_job_is_no_kill(database: Database) -> None:
    jobs = JobLog(database)
    for error in (ValueError, asyncio.CancelledError, ValueError):
        with contextlib.suppress(ValueError, asyncio.CancelledError):
            async with jobs.attempt("work") as may:
                assert may
                # The state that a kill leaves.
                assert await database.value("SELECT count FROM job_attempts") == 1
                raise error
    assert await database.value("SELECT count(*) FROM job_attempts") == 0
