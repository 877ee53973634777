"""Tests that only the owner reads the names of settings and the addresses of servers."""

from __future__ import annotations

import pytest

from memory.access import AccessList
from tests.support.bot_api.files import create_photo, create_voice
from tests.support.bot_api.server import BotApiServer
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Reply
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_texts, wait_for_text


@pytest.mark.parametrize(
    ("reply", "told", "owner_told"),
    [
        (Fails(401), "My model isn't set up correctly", "rejected the key: check OPENAI_API_KEY."),
        (Fails(404), "My model isn't set up correctly", "check LLM_MODEL and OPENAI_BASE_URL."),
        (Fails(400), "My model rejected the request: try /retry", "rejected the request ("),
    ],
    ids=["key", "model", "request"],
)
async def test_failure_of_the_model_names_settings_to_the_owner_only(
    serve: Serve,
    telegram: BotApiServer,
    model: ModelServer,
    reply: Reply,
    told: str,
    owner_told: str,
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        await AccessList(app.database, "telegram", app.clock).let_in(STRANGER)
        model.script(*[reply] * 30)
        telegram.user_says("hello", chat_id=STRANGER)
        await wait_for_text(telegram, told, STRANGER)
        telegram.user_says("hello", chat_id=ANN)
        await wait_for_text(telegram, owner_told, ANN)
        telegram.user_says("@mneme_test_bot hello", chat_id=GROUP, chat_type="supergroup", user_id=ANN)
        await wait_for_text(telegram, told, GROUP)
    for chat in (STRANGER, GROUP):
        assert not any(name in text for text in list_texts(telegram, chat) for name in ("OPENAI", "LLM_", "http"))
    assert any(model.url in text for text in list_texts(telegram))


async def test_owner_is_told_once_why_others_get_no_answer(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    telegram.register_chat(ANN)
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        await AccessList(app.database, "telegram", app.clock).let_in(STRANGER)
        model.script(*[Fails(401)] * 30)
        telegram.user_says("hello", chat_id=STRANGER, first_name="Bob")
        await telegram.wait_for(lambda: len(telegram.list_sent(STRANGER)) == 1)
        telegram.user_says("hello?", chat_id=STRANGER, first_name="Bob")
        await telegram.wait_for(lambda: len(telegram.list_sent(STRANGER)) == 2)
        telegram.user_says("@mneme_test_bot hello", chat_id=GROUP, chat_type="supergroup", user_id=STRANGER)
        await wait_for_text(telegram, "My model isn't set up correctly", GROUP)
        telegram.user_says("/help", chat_id=ANN)
        await wait_for_text(telegram, "/export")
    told, _help = list_texts(telegram)
    assert told.startswith("I couldn't answer in the chat “Bob”: The model at http")
    assert told.endswith("rejected the key: check OPENAI_API_KEY.")


@needs_feature("media")
async def test_limits_and_missing_parts_name_settings_to_the_owner_only(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(memory_enabled=False, daily_token_limit=1) as app:
        await AccessList(app.database, "telegram", app.clock).let_in(STRANGER)
        for chat in (STRANGER, ANN):
            for text in ("hello", "hello again", "/status", "/model", "/remember tea", "/start"):
                telegram.user_says(text, chat_id=chat)
            telegram.user_says(chat_id=chat, sends=create_voice())
            telegram.user_says(chat_id=chat, sends=create_photo())
            await wait_for_text(telegram, "Memory is off, so nothing was saved.", chat)
            await wait_for_text(telegram, "no speech recognition is set up", chat)
    told = " ".join(list_texts(telegram, ANN))
    for name in ("DAILY_TOKEN_LIMIT", "MEMORY_ENABLED", "LLM_MODELS", "LLM_TRANSCRIPTION_MODEL"):
        assert f"The setting for this is {name}." in told
        assert not any(name in text for text in list_texts(telegram, STRANGER))
