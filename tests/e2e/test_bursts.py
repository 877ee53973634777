"""Messages that people send in several pieces, which one turn answers."""

from __future__ import annotations

import pytest

from bot.telegram import bursts
from tests.support.bot_api.files import create_photo
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.serving import ANN, Serve

LONG_SECONDS = 600.0


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait so long for further messages that only a complete one ends a burst."""
    monkeypatch.setattr(bursts, "OPEN_SECONDS", LONG_SECONDS)
    monkeypatch.setattr(bursts, "CONTINUED_SECONDS", LONG_SECONDS)
    monkeypatch.setattr(bursts, "MAX_BURST_SECONDS", LONG_SECONDS)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("pieces", [["listen", "the dentist moved", "When is it now?"], ["x" * 4_096, "and the end."]])
async def test_pieces_of_a_message_are_one_turn(
    serve: Serve, telegram: BotApiServer, model: ModelServer, pieces: list[str]
) -> None:
    async with serve():
        for piece in pieces:
            telegram.user_says(piece, chat_id=ANN)
            await telegram.wait_for(lambda: not telegram.pending_update_ids)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert [request.said for request in model.requests] == [pieces]


@pytest.mark.usefixtures("patient")
async def test_photo_waits_for_the_comment_sent_after_it(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.sees = True
    async with serve():
        telegram.user_says(chat_id=ANN, sends=create_photo("sea"))
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        assert not model.requests
        telegram.user_says("Where is this?", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert len(model.requests) == 1


@pytest.mark.usefixtures("patient")
async def test_command_ends_a_burst(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    async with serve():
        telegram.user_says("listen", chat_id=ANN)
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        telegram.user_says("/status", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        assert [request.said for request in model.requests] == [["listen"]]
