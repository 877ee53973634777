"""Tests, over real HTTP, of the preview of an answer in a group. The preview must end up as the reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from telegram.ext import ExtBot

from bot.telegram.features import ServerFeatures
from bot.telegram.preview import Pace, Preview
from memory.log.sessions import Address
from memory.runtime.menu_cache import MenuCache
from memory.store.database import Database
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock

GROUP = -100500
ASKED = "7"
"""The message that is answered; in these tests it is gone, which is no reason not to answer."""
LONG = "This is an answer that is long enough to be shown before it is finished."


@pytest.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    """Run a local Telegram with a group."""
    async with BotApiServer() as server:
        server.register_chat(GROUP, chat_type="supergroup", name="Friends")
        yield server


@pytest.fixture
def features(database: Database, clock: FakeClock) -> ServerFeatures:
    """Return the features of a server of which nothing is known."""
    return ServerFeatures(MenuCache(database, "telegram"), 1, clock)


@pytest.fixture
async def preview(telegram: BotApiServer, features: ServerFeatures) -> AsyncIterator[Preview]:
    """Return a preview in the group."""
    async with ExtBot(BotApiServer.TOKEN, base_url=f"{telegram.url}/bot") as bot:
        yield Preview(bot, Address("telegram", str(GROUP)), Pace(), features, reply_to=ASKED)


async def test_preview_closed_while_sending_knows_its_message(telegram: BotApiServer, preview: Preview) -> None:
    late = asyncio.Event()
    telegram.fault("sendMessage", late=late)
    preview.show(LONG)
    await telegram.wait_for(lambda: telegram.list_sent(GROUP))
    closing = asyncio.create_task(preview.close())
    await asyncio.sleep(0)
    late.set()
    await closing
    assert preview.message_id == str(telegram.list_sent(GROUP)[0].message_id)


async def test_preview_with_a_refused_message_has_none(telegram: BotApiServer, preview: Preview) -> None:
    telegram.fault("sendMessage", error_code=403, times=None)
    preview.show(LONG)
    await telegram.wait_for(lambda: any(call.method == "sendMessage" and call.response for call in telegram.calls))
    await preview.close()
    assert preview.message_id is None
    assert telegram.list_sent(GROUP) == []


async def test_preview_that_showed_nothing_closes_at_once(preview: Preview) -> None:
    preview.show("short")
    await preview.close()
    assert preview.message_id is None


async def test_preview_in_doubt_is_not_sent_again(
    telegram: BotApiServer, preview: Preview, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.telegram.preview.EDIT_INTERVAL_SECONDS", 0.01)
    telegram.fault("sendMessage", drop=True, applied=True)
    preview.show(LONG)
    await telegram.wait_for(lambda: telegram.list_sent(GROUP))
    preview.show(f"{LONG} And it goes on.")
    # The preview task ends without close().
    await asyncio.wait_for(asyncio.wait([task for task in asyncio.all_tasks() if task.get_name() == "preview"]), 20)
    await preview.close()
    assert len(telegram.list_sent(GROUP)) == 1


async def test_draft_of_a_long_answer_shows_its_end(telegram: BotApiServer, features: ServerFeatures) -> None:
    telegram.register_chat(7)
    async with ExtBot(BotApiServer.TOKEN, base_url=f"{telegram.url}/bot") as bot:
        preview = Preview(bot, Address("telegram", "7"), Pace(), features, reply_to=None)
        preview.show("```python\n" + "\n".join(f"line({number})" for number in range(1_000)))
        await telegram.wait_for(lambda: any(call.method == "sendMessageDraft" for call in telegram.calls))
        await preview.close()
    draft = next(call.params for call in telegram.calls if call.method == "sendMessageDraft")
    assert draft["text"].endswith("line(998)\nline(999)")
    assert "line(1)\n" not in draft["text"]
    assert draft["entities"][0]["type"] == "pre"
