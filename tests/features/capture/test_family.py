"""Tests of captured statements in a family."""

from __future__ import annotations

from tests.support.bot_api.server import BotApiServer
from tests.support.families import BOB, EVE, FAMILY, KEY, send_and_wait
from tests.support.features import wait_for_captures
from tests.support.servers.model import ModelServer
from tests.support.serving import ANN, Serve, list_labels, list_texts, press, wait_for_text


async def test_request_for_all_is_known_to_the_family_only(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(**FAMILY):
        await send_and_wait(telegram, "hello", BOB)
        assert "Noted for the family" in await send_and_wait(telegram, f"Remember for all: {KEY}")
        await send_and_wait(telegram, f"/letin {EVE} guest")
        await send_and_wait(telegram, "Where is the spare key?", BOB)
        assert "- Ann, 20" in model.requests[-1].prompt
        assert KEY in model.requests[-1].prompt
        await send_and_wait(telegram, "Where is the spare key?", EVE)
        assert KEY not in model.requests[-1].prompt


async def test_share_button_shares_this_memory_but_no_later_one(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(**FAMILY) as app:
        await send_and_wait(telegram, "hello", BOB)
        await send_and_wait(telegram, "I live in Kyiv.")
        await wait_for_captures(app)
        await send_and_wait(telegram, "Thanks!")
        assert "For all" in list_labels(telegram)
        press(telegram, "For all")
        await wait_for_text(telegram, "Shared with the family: I live in Kyiv")
        await send_and_wait(telegram, "Where does Ann live?", BOB)
        assert "Ann, 20" in model.requests[-1].prompt
        assert "I live in Kyiv" in model.requests[-1].prompt
        await send_and_wait(telegram, "/edit", ANN)
        await send_and_wait(telegram, "I moved from Kyiv to Lviv.")
        await send_and_wait(telegram, "Where does Ann live?", BOB)
        assert "Lviv" not in model.requests[-1].prompt


async def test_request_for_all_shares_nothing_outside_family_scope(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{BOB}"):
        await send_and_wait(telegram, f"Remember for all: {KEY}")
        assert "Noted: " in list_texts(telegram)[-1]
        assert "For all" not in list_labels(telegram)
        assert "share" not in (await send_and_wait(telegram, "/help")).lower()
