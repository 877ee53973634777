"""Killing the process: `mneme run` as a real process, ended with SIGKILL at bad moments."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import running_bot
from tests.support.servers.model import Holds, Says
from tests.support.servers.telegram import BotApiServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.servers.model import ModelServer

ANN = 1001
ROOT = Path(__file__).parents[2]

Run = Callable[[], AbstractAsyncContextManager[asyncio.subprocess.Process]]


@pytest.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    """A local Telegram that outlives the bot."""
    async with BotApiServer() as server:
        yield server


@pytest.fixture
def run(telegram: BotApiServer, model: ModelServer, tmp_path: Path) -> Run:
    """Starts `mneme run` as a process of its own; it is killed at the end of the block if it still runs."""

    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[asyncio.subprocess.Process]:
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "TELEGRAM_BOT_TOKEN": BotApiServer.TOKEN,
            "TELEGRAM_API_URL": telegram.url,
            "TELEGRAM_ALLOWED_IDS": str(ANN),
            "OPENAI_BASE_URL": model.url,
            "LLM_MODEL": "scripted",
        }
        async with running_bot(environment, tmp_path) as process:
            yield process

    return running


def _called(telegram: BotApiServer, method: str, times: int) -> bool:
    return len(telegram.calls_to(method)) > times


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


async def test_killed_in_a_private_talk_nothing_is_lost_in_it_and_no_word_of_it_is_left_after_it(
    run: Run, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    def holding() -> list[str]:
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        return [path.name for path in files if b"quetzal" in path.read_bytes().lower()]

    async def says(text: str, answer: str) -> None:
        telegram.user_says(text, chat_id=ANN)
        await telegram.wait_for(lambda: telegram.sent(ANN)[-1].text == answer)

    model.script(Holds("A quetzal is never"), Says("A quetzal is a bird."))
    async with run():
        telegram.user_says("/private", chat_id=ANN)
        telegram.user_says("I always prefer the quetzal to the parrot. What is it?", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.drafts(ANN))
    async with run():
        await telegram.wait_for(lambda: "A quetzal is a bird." in [m.text for m in telegram.sent(ANN)])
        await says("And the quetzal's nest?", "You said: And the quetzal's nest?")
    assert holding() != []
    # killed somewhere in the middle of its end, and again
    for _ in range(3):
        async with run():
            telegram.user_says("/new", chat_id=ANN)
            await telegram.wait_for(lambda: not telegram.pending_update_ids)
    async with run() as process:
        await says("Good morning", "You said: Good morning")
        assert model.requests[-1].said == ["Good morning"]
        process.send_signal(signal.SIGTERM)
        await process.wait()
    # an answer that a kill kept from being confirmed is sent, and emptied, only after the talk
    async with run():
        await telegram.wait_for(lambda: telegram.polled)
        assert holding() == []
    assert [m.text for m in telegram.sent(ANN)].count("A quetzal is a bird.") == 1
