"""Tests of received voice messages, recordings and video notes."""

from __future__ import annotations

import pytest

from tests.support.bot_api.files import SentFile, create_voice
from tests.support.bot_api.server import BotApiServer
from tests.support.features import needs_feature, wait_for_captures
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Fails, Says
from tests.support.serving import ANN, HEARS, Serve, list_labels, send_recording


@needs_feature("capture")
async def test_voice_message_counts_as_typed(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    model.spoken = "I prefer tea over coffee."
    async with serve(**HEARS) as app:
        said = await send_recording(telegram, app, create_voice(b"OggS tea"))
        await wait_for_captures(app)
        kept = await app.database.rows("SELECT content, trusted FROM entries")
    assert model.recordings == [("recording.ogg", b"OggS tea")]
    assert model.requests[0].said == ["I prefer tea over coffee."]
    assert said.startswith("You said: I prefer tea over coffee.")
    assert "Heard: I prefer tea over coffee." in said
    assert [tuple(row) for row in kept] == [("I prefer tea over coffee.", 1)]


@pytest.mark.parametrize(
    ("sends", "forwarded", "told"),
    [
        (create_voice(), True, "[forwarded] (from Elsewhere) [voice message 1] I prefer tea over coffee."),
        (SentFile("audio", b"ID3", "talk.mp3", "audio/mpeg"), False, "[file] [recording 1: talk.mp3] I prefer tea"),
    ],
)
async def test_recording_by_others_writes_no_memory(
    serve: Serve, telegram: BotApiServer, model: ModelServer, sends: SentFile, forwarded: bool, told: str
) -> None:
    model.spoken = "I prefer tea over coffee."
    async with serve(**HEARS) as app:
        await send_recording(telegram, app, sends, forwarded=forwarded)
        assert await app.database.value("SELECT count(*) FROM entries") == 0
    assert model.requests[0].said[0].startswith(told)


async def test_spoken_command_is_not_a_command(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    model.spoken = "/forget all confirm"
    async with serve(**HEARS) as app:
        said = await send_recording(telegram, app, create_voice())
    assert said.startswith("You said: /forget all confirm")


@pytest.mark.parametrize(
    ("sends", "name"),
    [
        (SentFile("video_note", b"ftypmp42"), "recording.mp4"),
        (SentFile("audio", b"ID3", "song.mp3", "audio/mpeg"), "recording.mp3"),
        (SentFile("audio", b"M4A", "memo.m4a", "audio/mp4"), "recording.m4a"),
        (SentFile("audio", b"OggS", "memo.oga", "audio/x-unheard-of"), "recording.ogg"),
    ],
)
async def test_recording_gets_a_file_name_that_servers_accept(
    serve: Serve, telegram: BotApiServer, model: ModelServer, sends: SentFile, name: str
) -> None:
    model.spoken = "Good morning."
    async with serve(**HEARS) as app:
        await send_recording(telegram, app, sends)
    assert [heard for heard, _ in model.recordings] == [name]
    assert "Good morning." in model.requests[0].said[0]


async def test_voice_message_without_a_transcription_model_is_explained(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve() as app:
        said = await send_recording(telegram, app, create_voice())
    assert said == (
        "I can't listen to this voice message, because no speech recognition is set up: write it. The setting"
        " for this is LLM_TRANSCRIPTION_MODEL."
    )
    assert list_labels(telegram) == []
    assert telegram.files.fetched == []
    assert model.requests == []


async def test_failed_transcription_is_explained_and_can_be_retried(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(**HEARS) as app:
        said = await send_recording(telegram, app, create_voice())
        assert said.startswith("I couldn't listen to this voice message: the server rejected whisper-1")
        assert list_labels(telegram) == ["Try again"]
        model.spoken = "Good morning."
        telegram.user_says("/retry", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert model.requests[0].said == ["Good morning."]


async def test_recording_is_transcribed_once(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    model.spoken = "Good morning."
    model.script(Fails(401, "bad key"))
    async with serve(**HEARS) as app:
        await send_recording(telegram, app, create_voice())
        telegram.user_says("/retry", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert len(model.recordings) == 1
    assert model.requests[0].said == model.requests[1].said


async def test_silent_recording_is_explained(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    model.spoken = " "
    async with serve(**HEARS) as app:
        said = await send_recording(telegram, app, create_voice())
    assert said == "I didn't hear any words in this voice message: say it again, or write it."


async def test_transcription_at_another_address_does_not_get_the_key(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.spoken = "Good morning."
    elsewhere = {"llm_transcription_base_url": model.url, "openai_base_url": "http://127.0.0.1:9/v1"}
    async with serve(**HEARS, **elsewhere, openai_api_key="sk-for-the-other", llm_timeout=1) as app:
        await send_recording(telegram, app, create_voice())
    assert model.recordings
    assert model.keys == {"none"}


async def test_long_recording_is_read_like_a_document(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    model.spoken = " ".join(f"Sentence {number} of the talk says little." for number in range(600)) + " It ends."
    model.script(Calls((("document_search", {"query": "Sentence 512"}),)), Says("There it is."))
    async with serve(**HEARS) as app:
        said = await send_recording(telegram, app, SentFile("audio", b"ID3", "talk.mp3", "audio/mpeg"))
    assert said == "There it is."
    told = model.requests[0].said[0]
    assert told.startswith("[file] [recording 1: talk.mp3, written down, in 8 parts from part 1 to part 8;")
    assert len(told) < 2_500
    assert "Sentence 512 of the talk" in model.requests[1].said[-1]
