"""Tests of answers as voice messages."""

from __future__ import annotations

import pytest

from tests.support.bot_api.files import create_voice
from tests.support.bot_api.server import BotApiServer
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says
from tests.support.serving import ANN, HEARS, Serve, list_texts, send_recording

SPEAKS = {**HEARS, "llm_speech_model": "tts-1", "llm_speech_voice": "nova"}


def list_spoken_texts(telegram: BotApiServer) -> list[str]:
    """Return what the bot has said aloud, in order."""
    return [recording.decode().removeprefix("OggS ") for recording in telegram.documents]


@needs_feature("media")
async def test_voice_message_is_answered_by_voice_and_text_by_text(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.spoken, model.speech_formats = "Is it raining?", ("opus",)
    async with serve(**SPEAKS):
        telegram.user_says("Good morning", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: Good morning" in list_texts(telegram))
        model.script(Says("**No.** It says so at https://www.weather.example/lviv?day=1\n\n```\nrain = 0\n```"))
        telegram.user_says(chat_id=ANN, sends=create_voice())
        await telegram.wait_for(lambda: list_spoken_texts(telegram))
    # The transcript is below the text, which came first.
    assert "Heard: Is it raining?" in list_texts(telegram)[-2]
    assert list_spoken_texts(telegram) == ["No. It says so at weather.example"]
    assert model.read_aloud[0] | {"input": ""} == {
        "model": "tts-1",
        "voice": "nova",
        "input": "",
        "response_format": "opus",
    }
    assert [call.params["disable_notification"] for call in telegram.list_calls("sendVoice")] == [True]


async def test_voice_mode_is_chosen_by_chat(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    model.spoken, model.speech_formats = "Good evening", ("mp3",)
    async with serve(**SPEAKS) as app:
        telegram.user_says("/voice always", chat_id=ANN)
        await telegram.wait_for(lambda: any("every answer" in text for text in list_texts(telegram)))
        telegram.user_says("Good morning", chat_id=ANN)
        await telegram.wait_for(lambda: list_spoken_texts(telegram))
        telegram.user_says("/voice never", chat_id=ANN)
        await telegram.wait_for(lambda: any("never" in text for text in list_texts(telegram)))
        await send_recording(telegram, app, create_voice())
        telegram.user_says("/settings", chat_id=ANN)
        await telegram.wait_for(lambda: any("/voice" in text for text in list_texts(telegram)))
    assert list_spoken_texts(telegram) == ["You said: Good morning"]
    # A server without Opus is asked for it once.
    assert [asked["response_format"] for asked in model.read_aloud] == ["mp3"]


@pytest.mark.parametrize("refusing", ["the model", "the reader"])
@needs_feature("media")
async def test_failed_speech_leaves_the_text_answer(
    serve: Serve, telegram: BotApiServer, model: ModelServer, refusing: str
) -> None:
    model.spoken = "Good evening"
    if refusing == "the reader":
        model.speech_formats = ("opus",)
        telegram.register_chat(ANN)
        telegram.forbid_voice_messages(ANN)
    async with serve(**SPEAKS) as app:
        await send_recording(telegram, app, create_voice())
        telegram.user_says("Good night", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: Good night" in list_texts(telegram))
        if refusing == "the reader":
            await telegram.wait_for(lambda: telegram.list_calls("sendVoice"))
    assert list_spoken_texts(telegram) == []
    assert len(list_texts(telegram)) == 2


async def test_voice_command_needs_a_speech_model(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        telegram.user_says("/voice always", chat_id=ANN)
        await telegram.wait_for(lambda: list_texts(telegram))
    assert "every answer" not in list_texts(telegram)[0]
