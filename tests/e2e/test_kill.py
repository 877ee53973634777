"""Killing the process: `mneme run` as a real process, ended with SIGKILL at bad moments."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from bot.telegram import inbox
from memory.runtime.jobs import JobLog
from tests.support.fakes import Person
from tests.support.processes import bot_environment, forked_bot
from tests.support.servers.model import Fails, Holds, Says
from tests.support.servers.telegram import BotApiServer
from tests.support.serving import labels, press
from tests.support.starter import Program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from memory.store.database import Database
    from tests.conftest import OpenApp
    from tests.support.servers.model import ModelServer
    from tests.support.serving import Serve

ANN = 1001

Run = Callable[[], AbstractAsyncContextManager[Program]]


@pytest.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    """A local Telegram that outlives the bot."""
    async with BotApiServer() as server:
        yield server


@pytest.fixture
def run(telegram: BotApiServer, model: ModelServer, tmp_path: Path) -> Run:
    """Starts `mneme run` as a process of its own; it is killed at the end of the block if it still runs."""

    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[Program]:
        environment = bot_environment(telegram, model, ANN, ANN + 1)
        async with forked_bot(environment, tmp_path) as process:
            yield process

    return running


def _called(telegram: BotApiServer, method: str, times: int) -> bool:
    return len(telegram.calls_to(method)) > times


def _asked(model: ModelServer, times: int) -> bool:
    return len(model.requests) >= times


def _said(telegram: BotApiServer, text: str) -> bool:
    return text in [message.text for message in telegram.sent(ANN)]


async def test_killed_while_the_model_writes_the_answer_arrives_once_after_a_restart(
    run: Run,
    telegram: BotApiServer,
    model: ModelServer,
) -> None:
    model.script(Holds("This will never be"), Says("Here it is."))
    async with run():
        telegram.user_says("A question", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.drafts(ANN))
    async with run() as process:
        await telegram.wait_for(lambda: telegram.sent(ANN))
        # a clean end, so that no chunk is in doubt: one that is may be sent again
        process.send_signal(signal.SIGTERM)
        await process.wait()
    async with run():
        await telegram.wait_for(lambda: telegram.polled)
    assert [message.text for message in telegram.sent(ANN)] == ["Here it is."]


async def test_killed_before_the_reply_was_sent_it_is_sent_after_a_restart(
    run: Run,
    telegram: BotApiServer,
    model: ModelServer,
) -> None:
    telegram.fault("sendMessage", stall=True)
    async with run():
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.calls_to("sendMessage"))
    telegram.clear_faults()
    async with run():
        await telegram.wait_for(lambda: telegram.sent(ANN))
    assert [message.text for message in telegram.sent(ANN)] == ["You said: hello"]
    assert len(model.requests) == 1


async def test_killed_again_and_again_no_message_is_lost_and_none_is_answered_twice(
    run: Run,
    telegram: BotApiServer,
    model: ModelServer,
) -> None:
    answers = model.otherwise
    # no answer is whole when the process is killed: a chunk of which nobody knows whether it arrived is sent again
    model.otherwise = lambda _: Holds("This will never be")
    # a little further into the turn each time
    for number, method in enumerate(("getMe", "setMyCommands", "getUpdates", "sendMessageDraft")):
        before = len(telegram.calls_to(method))
        async with run():
            telegram.user_says(f"message {number}", chat_id=ANN)
            await telegram.wait_for(partial(_called, telegram, method, before))
    model.otherwise = answers
    async with run():
        await telegram.wait_for(
            lambda: (
                telegram.polled
                and not telegram.pending_update_ids
                and sum(len(m.text.split("message")) - 1 for m in telegram.sent(ANN)) >= 1
                and any("message 3" in m.text for m in telegram.sent(ANN))
            )
        )
    answered = [line for message in telegram.sent(ANN) for line in message.text.splitlines()]
    assert len(answered) == len(set(answered))
    asked = [text for request in model.requests for text in request.said]
    assert {f"message {number}" for number in range(4)} <= set(asked)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_to_stop_ends_the_bot_cleanly(run: Run, telegram: BotApiServer, number: signal.Signals) -> None:
    """A terminal that is closed (SIGHUP) is one, too."""
    async with run() as process:
        await telegram.wait_for(lambda: telegram.polled)
        process.send_signal(number)
        assert await process.wait() == 0


async def test_killed_while_an_answer_is_sent_it_is_not_lost_and_comes_twice_at_most(
    run: Run, telegram: BotApiServer, model: ModelServer
) -> None:
    before = len(telegram.calls_to("sendMessage"))
    async with run():
        telegram.user_says("message 0", chat_id=ANN)
        # the reply is on its way: nobody knows whether it was received
        await telegram.wait_for(partial(_called, telegram, "sendMessage", before))
    async with run():
        telegram.user_says("the next one", chat_id=ANN)
        await telegram.wait_for(lambda: any("the next one" in message.text for message in telegram.sent(ANN)))
    answered = [line for message in telegram.sent(ANN) for line in message.text.splitlines()]
    assert 1 <= answered.count("You said: message 0") <= 2
    assert answered.count("You said: the next one") == 1


async def test_killed_in_a_private_talk_no_word_of_it_is_in_a_file_and_who_waits_is_told(
    run: Run, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    def holding() -> list[str]:
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        return [path.name for path in files if b"quetzal" in path.read_bytes().lower()]

    def sent(words: str) -> bool:
        return any(words in message.text for message in telegram.sent(ANN))

    model.script(Holds("A quetzal is never"), Says("A quetzal is a bird."))
    async with run():
        telegram.user_says("/private", chat_id=ANN)
        telegram.user_says("I always prefer the quetzal to the parrot. What is it?", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.drafts(ANN))
        assert holding() == []
    async with run():
        await telegram.wait_for(lambda: sent("of a private talk nothing is kept: send it again"))
        telegram.user_says("What is a quetzal?", chat_id=ANN)
        await telegram.wait_for(lambda: sent("A quetzal is a bird."))
        assert sent("said before in this private talk is gone")
        assert [said for request in model.requests[1:] for said in request.said] == ["What is a quetzal?"]
    # killed somewhere in the middle of its end, and again
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


async def test_what_the_bot_is_killed_over_twice_is_given_up_at_the_third_start_and_the_next_is_answered(
    run: Run, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    model.script(Holds("This will never be"), Holds("This will never be"))
    for number in range(2):
        async with run():
            if number == 0:
                telegram.user_says("the message that kills", chat_id=ANN)
            await telegram.wait_for(partial(_asked, model, number + 1))
            if number == 0:
                telegram.user_says("an innocent one", chat_id=ANN)
                await telegram.wait_for(lambda: not telegram.pending_update_ids)
    async with run() as process:
        await telegram.wait_for(lambda: "You said: an innocent one" in [m.text for m in telegram.sent(ANN)])
        process.send_signal(signal.SIGTERM)
        await process.wait()
    (given_up,) = [message for message in telegram.sent(ANN) if "answer this message: I crashed" in message.text]
    assert "the message that kills" in given_up.text
    assert [request.said for request in model.requests] == [["the message that kills"]] * 2 + [["an innocent one"]]
    assert "message_given_up" in (tmp_path / "log").read_text(encoding="utf-8")


async def test_what_was_worked_on_beside_what_kills_the_bot_is_not_given_up_with_it(
    run: Run, telegram: BotApiServer, model: ModelServer
) -> None:
    bob = ANN + 1
    model.script(Holds("This will never be"), Holds("This neither"), Holds("This will never be"))
    async with run():
        telegram.user_says("the message that kills", chat_id=ANN)
        await telegram.wait_for(partial(_asked, model, 1))
        telegram.user_says("an innocent one", chat_id=bob)
        await telegram.wait_for(partial(_asked, model, 2))
    async with run():
        # both were begun on when the bot was killed: now one waits for the other
        await telegram.wait_for(partial(_asked, model, 3))
    async with run() as process:
        await telegram.wait_for(lambda: telegram.sent(ANN) and telegram.sent(bob))
        process.send_signal(signal.SIGTERM)
        await process.wait()
    assert "answer this message: I crashed" in telegram.sent(ANN)[0].text
    assert [message.text for message in telegram.sent(bob)] == ["You said: an innocent one"]


async def test_a_press_that_the_bot_was_killed_over_is_given_up_too(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("/settings", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.sent(ANN))
        button = labels(telegram)[0]
    # in the middle of which two runs were killed
    press(telegram, button)
    async with serve() as app:
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        await app.database.write("UPDATE inbox SET attempts = 2, run = 'former', state = 'queued' WHERE id = 2")
    async with serve() as app:
        await telegram.wait_for(lambda: any("answer this message: I crashed" in m.text for m in telegram.sent(ANN)))
        assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0


async def test_an_orderly_end_in_the_middle_of_a_turn_counts_as_no_kill(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(*[Holds("wait")] * 4, Says("Here it is."))
    telegram.user_says("A long question", chat_id=ANN)
    for asked in range(1, 5):
        async with serve():
            await telegram.wait_for(partial(_asked, model, asked))
    async with serve():
        await telegram.wait_for(lambda: "Here it is." in [message.text for message in telegram.sent(ANN)])


async def test_a_turn_that_is_begun_anew_in_the_same_run_was_not_killed(
    serve: Serve, telegram: BotApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one is whose answer could neither be kept nor shown."""
    monkeypatch.setattr(inbox, "SWEEP_INTERVAL_SECONDS", 0.05)
    async with serve() as app:
        for counted in ("hello", "again"):
            telegram.user_says(counted, chat_id=ANN)
            await telegram.wait_for(partial(_said, telegram, f"You said: {counted}"))
        assert [row["attempts"] for row in await app.database.rows("SELECT attempts FROM inbox")] == [1, 1]
        await app.database.write("UPDATE inbox SET state = 'queued' WHERE id = 1")
        await telegram.wait_for(lambda: [m.text for m in telegram.sent(ANN)].count("You said: hello") == 2)
        assert [row["attempts"] for row in await app.database.rows("SELECT attempts FROM inbox")] == [1, 1]


async def test_messages_that_wait_behind_a_turn_are_counted_when_their_own_begins(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Holds("wait"))
    counts = "SELECT attempts FROM inbox ORDER BY id"
    async with serve() as app:
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(partial(_asked, model, 1))
        telegram.user_says("second", chat_id=ANN)
        await telegram.wait_for(lambda: app.runner.queues.waiting(f"telegram:{ANN}") == 1)
        assert [row["attempts"] for row in await app.database.rows(counts)] == [1, 0]
        telegram.user_says("/stop", chat_id=ANN)
        await telegram.wait_for(lambda: not app.runner.queues.running(f"telegram:{ANN}"))
        telegram.user_says("third", chat_id=ANN)
        await telegram.wait_for(partial(_asked, model, 2))
        await telegram.wait_for(partial(_said, telegram, "You said: third"))
        assert [row["attempts"] for row in await app.database.rows(counts)] == [1, 1, 1, 1]


async def test_a_consolidation_that_the_bot_was_killed_over_twice_is_left_and_its_owner_told(
    start: OpenApp, model: ModelServer
) -> None:
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


async def test_a_job_that_fails_or_is_cancelled_was_not_killed(database: Database) -> None:
    jobs = JobLog(database)
    for error in (ValueError, asyncio.CancelledError, ValueError):
        with contextlib.suppress(ValueError, asyncio.CancelledError):
            async with jobs.attempt("work") as may:
                assert may
                # what a kill would leave
                assert await database.value("SELECT count FROM job_attempts") == 1
                raise error
    assert await database.value("SELECT count(*) FROM job_attempts") == 0
