"""Tests of the introduction after the bot is added to a group."""

from __future__ import annotations

import pytest

from tests.support.bot_api.server import BotApiServer
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_texts

BOTH = f"{ANN},{GROUP}"


async def wait_until_received(telegram: BotApiServer) -> None:
    """Wait until the bot has received all updates."""
    await telegram.wait_for(lambda: not telegram.pending_update_ids)


async def test_allowed_group_gets_an_introduction_about_memory(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=BOTH) as app:
        telegram.adds_bot(GROUP, STRANGER)
        await telegram.wait_for(lambda: telegram.list_sent(GROUP))
        telegram.adds_bot(GROUP, ANN, again=True)
        await wait_until_received(telegram)
        assert await app.database.value("SELECT count(*) FROM inbox") == 0
    (said,) = list_texts(telegram, GROUP)
    assert "(@mneme_test_bot)" in said
    assert "What I save: those messages with their authors" in said
    assert "the facts and wishes that I learn" in said
    assert "Who can see it: everyone here" in said


async def test_introduction_without_memory_promises_none(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=BOTH, memory_enabled=False):
        telegram.adds_bot(GROUP, ANN)
        await telegram.wait_for(lambda: telegram.list_sent(GROUP))
    assert "What I save" in list_texts(telegram, GROUP)[0]
    assert "learn" not in list_texts(telegram, GROUP)[0]


@pytest.mark.parametrize(("adds", "told"), [(ANN, 1), (STRANGER, 0)])
async def test_unknown_group_gets_instructions_only_from_members(
    serve: Serve, telegram: BotApiServer, adds: int, told: int
) -> None:
    async with serve():
        telegram.adds_bot(GROUP, adds)
        telegram.user_says("hi", chat_id=ANN)
        await telegram.wait_for(
            lambda: "You said: hi" in list_texts(telegram) and len(list_texts(telegram)) == 1 + told
        )
    assert len(telegram.list_sent(GROUP)) == told
    assert sum(f"add {GROUP} to TELEGRAM_ALLOWED_IDS" in text for text in list_texts(telegram)) == told
    assert not any("TELEGRAM_ALLOWED_IDS" in text for text in list_texts(telegram, GROUP))


async def test_introduction_that_failed_is_sent_later(serve: Serve, telegram: BotApiServer) -> None:
    telegram.fault("sendMessage", error_code=502, description="Bad Gateway")
    async with serve(telegram_allowed_ids=BOTH):
        telegram.adds_bot(GROUP, ANN)
        await telegram.wait_for(lambda: telegram.list_sent(GROUP))
    assert len(telegram.list_sent(GROUP)) == 1


async def test_help_lists_only_commands_that_the_sender_may_use(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=BOTH):
        telegram.user_says("/help@mneme_test_bot", chat_id=GROUP, chat_type="supergroup", user_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(GROUP)) == 1)
        telegram.user_says("/help@mneme_test_bot", chat_id=GROUP, chat_type="supergroup", user_id=STRANGER)
        await telegram.wait_for(lambda: len(telegram.list_sent(GROUP)) == 2)
    for_owner, for_member = list_texts(telegram, GROUP)
    for name in ("forget", "usage", "letin"):
        assert f"/{name}" in for_owner
        assert f"/{name}" not in for_member
    assert "/remember TEXT" in for_member
