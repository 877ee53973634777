"""Tests of delivery: a finished answer is sent until Telegram confirms it."""

from __future__ import annotations

import httpx
import pytest
from telegram.error import NetworkError, TimedOut

from bot.telegram.failures import Trouble, to_send_failure
from config.waiting import MAX_PAUSE_SECONDS, Backoff
from tests.support.bot_api.server import BotApiServer
from tests.support.serving import ANN, Serve, list_texts


@pytest.mark.parametrize(
    "trouble",
    [
        {"error_code": 500, "times": 3},
        {"error_code": 502, "html": True, "times": 3},
        {"drop": True, "times": 3},
        {"error_code": 404, "times": 2},
        {"error_code": 401, "times": 2},
    ],
    ids=str,
)
async def test_answer_that_fails_repeatedly_arrives_once(
    serve: Serve, telegram: BotApiServer, trouble: dict[str, int | bool]
) -> None:
    telegram.fault("sendMessage", **trouble)  # type: ignore[arg-type]  # Keywords of several types.
    async with serve() as app:
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN), timeout=40)
        telegram.user_says("next", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        states = await app.database.rows("SELECT DISTINCT state FROM outbox WHERE message_ids LIKE '%doubt%'")
    assert list_texts(telegram) == ["You said: hello", "You said: next"]
    assert states == []


async def test_answer_with_lost_confirmation_is_repeated_once_telegram_is_reachable(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve():
        telegram.fault("sendMessage", drop=True, applied=True)
        telegram.fault("getMe", error_code=502, times=2)
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2, timeout=40)
    assert list_texts(telegram) == ["You said: hello"] * 2
    asked = [call.method for call in telegram.calls if call.method in {"sendMessage", "getMe"}]
    assert asked == ["getMe", "sendMessage", "getMe", "getMe", "getMe", "sendMessage"]


async def test_answer_undelivered_for_hours_arrives_later(serve: Serve, telegram: BotApiServer) -> None:
    """The delay after an outage is limited, however long the outage was."""
    telegram.fault("sendMessage", error_code=500, times=None)
    async with serve():
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_calls("sendMessage")) == 3)
    telegram.clear_faults()
    async with serve():
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert list_texts(telegram) == ["You said: hello"]
    backoff = Backoff()
    pauses = []
    for _ in range(20):
        pauses.append(backoff.pause())
        backoff.next()
    assert pauses[-1] == max(pauses) == MAX_PAUSE_SECONDS


def test_only_a_request_sent_but_unanswered_is_in_doubt() -> None:
    def caused(error: NetworkError, cause: Exception) -> Trouble:
        error.__cause__ = cause
        return to_send_failure(error).trouble

    assert caused(TimedOut(), httpx.ConnectTimeout("")) is Trouble.LATER
    assert caused(TimedOut(), httpx.PoolTimeout("")) is Trouble.LATER
    assert caused(NetworkError(""), httpx.ConnectError("")) is Trouble.LATER
    assert caused(TimedOut(), httpx.ReadTimeout("")) is Trouble.IN_DOUBT
    assert caused(NetworkError(""), httpx.ReadError("")) is Trouble.IN_DOUBT
    assert caused(NetworkError(""), httpx.RemoteProtocolError("")) is Trouble.IN_DOUBT
    assert to_send_failure(NetworkError("Bad Gateway")).trouble is Trouble.LATER


@pytest.mark.parametrize("code", [404, 401])
async def test_single_refusal_of_a_restarting_server_is_survived(
    serve: Serve, telegram: BotApiServer, code: int
) -> None:
    async with serve():
        telegram.fault("getUpdates", error_code=code)
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    telegram.fault("getMe", error_code=code)  # Also at a start.
    async with serve():
        telegram.user_says("again", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert list_texts(telegram) == ["You said: hello", "You said: again"]


def test_pause_after_many_failed_polls_is_at_most_seconds() -> None:
    backoff = Backoff()
    for _ in range(6):
        backoff.next()
    assert backoff.pause() == MAX_PAUSE_SECONDS <= 10


async def test_answer_is_sent_although_usage_can_not_be_recorded(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        async with app.database.transaction() as connection:
            await connection.execute(
                "CREATE TRIGGER full BEFORE INSERT ON usage BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert list_texts(telegram) == ["You said: hello"]
