"""End-to-end tests of the bot in Telegram: real clients over real HTTP against local servers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.kernel import App
from bot.telegram.channel import TYPING_DELAY_SECONDS
from bot.telegram.service import run_telegram
from config.errors import ConfigurationError
from memory.access import AccessList
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Holds, Says
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_texts


async def test_message_is_answered_once_and_streamed_as_a_draft(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("Kyiv is the capital of Ukraine.")
    model.script(held)
    async with serve():
        telegram.user_says("What is the capital of Ukraine?", chat_id=ANN)
        await telegram.wait_for(lambda: any("Kyiv" in draft for draft in telegram.list_drafts(ANN)))
        held.release.set()
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert list_texts(telegram) == ["Kyiv is the capital of Ukraine."]


async def test_stop_during_an_answer_is_confirmed_and_keeps_the_text(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Holds("Once upon a time"))
    async with serve():
        telegram.user_says("Tell me a long story", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        telegram.user_says("/stop", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        await model.wait_for(lambda: model.disconnects == 1)
    assert list_texts(telegram) == ["Once upon a time (stopped)", "Stopped."]


async def test_stop_below_the_draft_works_like_the_command(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Holds("Once upon a time"))
    async with serve():
        telegram.user_says("Tell me a long story", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        telegram.user_stops(ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        await model.wait_for(lambda: model.disconnects == 1)
        telegram.user_says("And now?", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3)
    assert list_texts(telegram)[:2] == ["Once upon a time (stopped)", "Stopped."]


async def test_messages_held_by_stop_are_still_held_after_a_restart(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Holds("thinking"))
    async with serve() as app:
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        telegram.user_says("second", chat_id=ANN)
        await telegram.wait_for(lambda: app.runner.queues.count_waiting("telegram:1001") == 1)
        telegram.user_says("/stop", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    async with serve():
        telegram.user_says("third", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3)
    assert model.requests[-1].said[-2:] == ["second", "third"]


async def test_restart_during_an_answer_answers_once(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    model.script(Holds("I will not finish this"), Says("Here it is."))
    async with serve():
        telegram.user_says("A question", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
    async with serve():
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    # The first run announced the restart, and the second run sent the answer.
    assert list_texts(telegram) == [
        "I have to restart. Your message is safe: I'll answer it when I'm back.",
        "Here it is.",
    ]


async def test_update_received_twice_is_answered_once(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    telegram.fault("getUpdates", drop=True, applied=True)
    async with serve(ready=False):
        telegram.user_says("hello", chat_id=ANN)
        telegram.user_says("again", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: again" in list_texts(telegram))
    async with serve():
        pass
    # Depending on timing these were one turn or two. Each message was asked once.
    assert model.requests[-1].said == ["hello", "again"]
    assert len(telegram.list_sent(ANN)) == len(model.requests)


async def test_stranger_is_declined_and_reaches_no_model(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve():
        telegram.user_says("hello", chat_id=STRANGER)
        telegram.user_says("hello?", chat_id=STRANGER)
        telegram.user_says("hi", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: hi" in list_texts(telegram) and telegram.list_sent(STRANGER))
    assert len(list_texts(telegram, STRANGER)) == 1
    assert "This bot is private" in list_texts(telegram, STRANGER)[0]
    assert [request.last for request in model.requests] == ["hi"]


async def test_messages_of_strangers_and_group_talk_are_not_stored(
    serve: Serve, telegram: BotApiServer, tmp_path: Path
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        telegram.user_says("a strange hello", chat_id=STRANGER)
        telegram.user_says("/start WRONGCODE", chat_id=STRANGER)
        telegram.user_says("overheard words", chat_id=GROUP, user_id=STRANGER, chat_type="supergroup")
        telegram.user_says("hi", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: hi" in list_texts(telegram) and len(telegram.list_sent(ANN)) == 2)
        await telegram.wait_for(lambda: len(telegram.list_sent(STRANGER)) == 2)  # One for the wrong code
        assert await app.database.value("SELECT count(*) FROM inbox") == 1
        # The question to the owner about the stranger, and the answer.
        assert [row["session_id"] for row in await app.database.rows("SELECT session_id FROM outbox")] == [
            f"telegram:{ANN}",
            f"telegram:{ANN}",
        ]
        assert [row["id"] for row in await app.database.rows("SELECT id FROM sessions")] == [f"telegram:{ANN}"]
    kept = b"".join(path.read_bytes() for path in (tmp_path / "data").glob("mneme.db*"))
    assert b"strange hello" not in kept
    assert b"overheard words" not in kept


async def test_pending_message_of_a_revoked_user_is_not_answered(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Holds("thinking"))
    async with serve(telegram_allowed_ids=f"{ANN},{STRANGER}"):
        telegram.user_says("hello", chat_id=STRANGER)
        await telegram.wait_for(lambda: telegram.list_drafts(STRANGER))
    async with serve() as app:
        telegram.user_says("hi", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0
    assert [request.last for request in model.requests] == ["hello", "hi"]


async def test_empty_allowlist_declines_everyone(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    async with serve(telegram_allowed_ids=""):
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert model.requests == []


async def test_id_that_starts_with_an_allowed_id_is_a_stranger(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(telegram_allowed_ids="12"):
        telegram.user_says("hello", chat_id=123)
        await telegram.wait_for(lambda: telegram.list_sent(123))
    assert model.requests == []


async def test_claim_code_makes_one_person_the_owner(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    async with serve(telegram_allowed_ids="") as app:
        code = await AccessList(app.database, "telegram", app.clock).new_claim_code()
        telegram.user_says("/start WRONG", chat_id=ANN)
        telegram.user_says(f"/start {code}", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        telegram.user_says(f"/start {code}", chat_id=STRANGER)
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3 and telegram.list_sent(STRANGER))
    assert "yours now" in list_texts(telegram)[1]
    assert list_texts(telegram)[2] == "You said: hello"
    assert "private" in list_texts(telegram, STRANGER)[0]


async def test_allowed_group_is_answered_only_if_bot_is_addressed(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        telegram.user_says("nice weather", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        telegram.user_says(
            "@mneme_test_bot what is up?", chat_id=GROUP, user_id=STRANGER, chat_type="supergroup", first_name="Bob"
        )
        await telegram.wait_for(lambda: telegram.list_sent(GROUP))
    assert [request.last for request in model.requests] == ["Bob: what is up?"]
    assert telegram.list_sent(GROUP)[0].reply_to_message_id is not None


async def test_allowed_user_in_unknown_group_gets_no_answer(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve():
        telegram.user_says("@mneme_test_bot hello", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        telegram.user_says("hi", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert telegram.list_sent(GROUP) == []


async def test_group_answer_is_one_message_that_grows(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    held = Holds("This is an answer that is long enough to be shown before it is finished.")
    model.script(held)
    async with serve(telegram_allowed_ids=str(GROUP)) as app:
        asked = telegram.user_says("@mneme_test_bot go", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        await telegram.wait_for(lambda: telegram.list_sent(GROUP))
        held.release.set()
        # The message holds the whole answer before the turn ends.
        await app.runner.wait_until_idle(f"telegram:{GROUP}")
        await telegram.wait_for(lambda: telegram.list_sent(GROUP)[0].text == held.text)
    assert list_texts(telegram, GROUP) == [held.text]
    # It is a reply from its first preview on.
    assert telegram.list_sent(GROUP)[0].reply_to_message_id == telegram.find_message_id(asked)
    assert telegram.list_calls("sendMessage")[0].params["reply_parameters"]["message_id"] == telegram.find_message_id(
        asked
    )


async def test_forum_topics_are_separate_sessions(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    async with serve(telegram_allowed_ids=str(GROUP)):
        for topic in (7, 8):
            telegram.user_says(
                "/status@mneme_test_bot", chat_id=GROUP, user_id=ANN, chat_type="supergroup", thread_id=topic
            )
        await telegram.wait_for(lambda: len(telegram.list_sent(GROUP)) == 2)
    assert sorted(str(message.thread_id) for message in telegram.list_sent(GROUP)) == ["7", "8"]


async def test_long_answer_is_split_into_valid_messages(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    code = "\n".join(f"print({n})  # 🐍" for n in range(600))
    model.script(Says(f"**Here**:\n\n```python\n{code}\n```\nDone."))
    async with serve():
        telegram.user_says("long please", chat_id=ANN)
        await telegram.wait_for(lambda: list_texts(telegram) and list_texts(telegram)[-1].endswith("Done."))
    messages = telegram.list_sent(ANN)
    assert len(messages) > 2
    assert all(any(entity.type == "pre" for entity in message.entities) for message in messages)


async def test_answer_with_refused_entities_arrives_as_plain_text(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Says("**bold** words"))
    telegram.fault("sendMessage", error_code=400, description="Bad Request: can't parse entities: unsupported")
    async with serve():
        telegram.user_says("hi", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert [(m.text, len(m.entities)) for m in telegram.list_sent(ANN)] == [("bold words", 0)]


async def test_flood_limit_in_one_chat_does_not_delay_another(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    telegram.fault("sendMessage", error_code=429, retry_after=1)
    async with serve(telegram_allowed_ids=f"{ANN},{STRANGER}"):
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(lambda: any(not call.ok for call in telegram.list_calls("sendMessage")))
        telegram.user_says("second", chat_id=STRANGER)
        await telegram.wait_for(lambda: telegram.list_sent(STRANGER))
        assert telegram.list_sent(ANN) == []
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert list_texts(telegram) == ["You said: first"]


async def test_message_refused_permanently_is_skipped(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    telegram.fault("sendMessage", error_code=403, description="Forbidden: bot was blocked by the user")
    async with serve():
        telegram.user_says("one", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_calls("sendMessage"))
        telegram.user_says("two", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert list_texts(telegram) == ["You said: two"]


async def test_polling_continues_after_conflict_and_server_errors(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    telegram.fault("getUpdates", error_code=409, description="Conflict: terminated by other getUpdates request")
    async with serve(ready=False):
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert list_texts(telegram) == ["You said: hello"]


async def test_bot_waits_for_an_unavailable_telegram(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    telegram.fault("getMe", error_code=502, html=True)
    telegram.user_says("hello", chat_id=ANN)
    async with serve(ready=False):
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert list_texts(telegram) == ["You said: hello"]


async def test_wrong_token_ends_the_bot_with_one_sentence(start: OpenApp, telegram: BotApiServer) -> None:
    token = "1234567:another-token-than-the-one-that-is-known"
    async with start(telegram_bot_token=token, telegram_api_url=telegram.url) as app:
        with pytest.raises(ConfigurationError, match="refuses TELEGRAM_BOT_TOKEN"):
            await run_telegram(app)


async def test_missing_token_error_mentions_botfather(start: OpenApp) -> None:
    async with start() as app:
        with pytest.raises(ConfigurationError, match="BotFather"):
            await run_telegram(app)


async def test_edit_before_the_turn_replaces_the_message(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("wait")
    model.script(held)
    async with serve() as app:
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        update = telegram.user_says("secnod", chat_id=ANN)
        await telegram.wait_for(lambda: app.runner.queues.count_waiting("telegram:1001") == 1)
        telegram.user_says("second", chat_id=ANN, edit_of=telegram.find_message_id(update))
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        held.release.set()
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert model.requests[-1].last == "second"


@needs_feature("media")
async def test_photo_without_caption_is_explained_and_captions_are_read(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve():
        telegram.user_says(chat_id=ANN, photo=True)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        telegram.user_says(chat_id=ANN, photo=True, caption="What is this?")
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert "can't see pictures" in list_texts(telegram)[0]
    assert list_texts(telegram)[1].startswith("You said: What is this?\n\n")
    assert len(telegram.files.fetched) == 1  # After the refusal no other photo is fetched.


async def test_forwarded_text_is_marked_and_writes_no_memory(
    serve: Serve, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    async with serve():
        telegram.user_says("Remember that the door code is 1234", chat_id=ANN, forwarded=True)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert model.requests[0].last.startswith("[forwarded]")
    assert not (tmp_path / "data" / "memory" / "telegram:1001" / "MEMORY.md").exists()


async def test_unreachable_model_is_reported_and_retry_answers(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Fails(401, "bad key"))
    async with serve():
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        telegram.user_says("/retry", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert "check OPENAI_API_KEY" in list_texts(telegram)[0]
    assert list_texts(telegram)[1] == "You said: hello"


async def test_server_without_drafts_still_streams(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    telegram.supports.drafts = False
    held = Holds("This is an answer that is long enough to be shown before it is finished.")
    model.script(held)
    async with serve():
        telegram.user_says("go", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_calls("sendMessageDraft"))
        held.release.set()
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert list_texts(telegram) == [held.text]


async def test_answer_that_can_not_be_stored_is_still_shown(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve() as app:
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        held = Holds("an answer")
        model.script(held)
        telegram.user_says("once more", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        async with app.database.transaction() as connection:
            await connection.execute(
                "CREATE TRIGGER full BEFORE INSERT ON turns BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        held.release.set()
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert list_texts(telegram)[1].startswith("an answer\n\n")


async def test_slow_model_shows_the_bot_as_typing(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    held = Holds("")
    model.script(held)
    async with serve():
        telegram.user_says("hello", chat_id=ANN)
        typing = await telegram.wait_for(lambda: telegram.list_calls("sendChatAction"))
        assert typing[0].params["action"] == "typing"
        held.release.set()
        await telegram.wait_for(lambda: telegram.list_sent(ANN))


@pytest.mark.parametrize("ending", ["answer", "stop", "failure"])
async def test_typing_ends_with_answer_stop_or_failure(
    serve: Serve, telegram: BotApiServer, model: ModelServer, ending: str
) -> None:
    held = Holds("")
    model.script(*([held] if ending != "failure" else [Fails(400)]))
    async with serve() as app:
        telegram.user_says("hello", chat_id=ANN)
        if ending != "failure":
            await telegram.wait_for(lambda: telegram.list_calls("sendChatAction"))
        if ending == "stop":
            telegram.user_says("/stop", chat_id=ANN)
        held.release.set()
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await app.runner.wait_until_idle(f"telegram:{ANN}")
        async with asyncio.timeout(5):
            typing = [task for task in asyncio.all_tasks() if task.get_name() == "typing"]
            await asyncio.gather(*typing, return_exceptions=True)


async def test_streamed_answer_shows_no_typing(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    held = Holds("Kyiv is the capital of Ukraine.")
    model.script(held)
    async with serve():
        telegram.user_says("What is the capital of Ukraine?", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        await asyncio.sleep(TYPING_DELAY_SECONDS + 0.3)  # Nothing should happen.
        held.release.set()
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert telegram.list_calls("sendChatAction") == []


async def test_open_claim_is_logged_at_start(serve: Serve, app: App) -> None:
    await AccessList(app.database, "telegram", app.clock).new_claim_code()
    with capture_logs() as logs:
        async with serve(telegram_allowed_ids=""):
            pass
    events = {entry["event"] for entry in logs}
    assert "waiting_to_be_claimed" in events
    assert "nobody_is_allowed" not in events


async def test_answers_have_link_previews_disabled(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        telegram.user_says("see https://example.org", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert [call.params["link_preview_options"] for call in telegram.list_calls("sendMessage")] == [
        {"is_disabled": True}
    ]
