"""Tests of the inbox: each confirmed update is processed once and does not block others."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from bot.kernel import App
from bot.telegram import inbox
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Holds, Says
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_labels, list_texts, press

LONG = "This is an answer that is long enough to be shown before it is finished."


async def refuse(app: App, table: str) -> None:
    """Refuse inserts into a table, as a full disk would."""
    async with app.database.transaction() as connection:
        await connection.execute(f"CREATE TRIGGER full BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'full'); END")


async def allow(app: App) -> None:
    """Accept inserts again."""
    async with app.database.transaction() as connection:
        await connection.execute("DROP TRIGGER full")


async def test_command_with_unstored_answer_is_answered_without_restart(
    serve: Serve, telegram: BotApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "SWEEP_INTERVAL_SECONDS", 0.05)
    async with serve() as app:
        await refuse(app, "outbox")
        telegram.user_says("/help", chat_id=ANN)
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        await allow(app)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert len(telegram.list_sent(ANN)) == 1


async def test_chat_without_a_session_blocks_no_other_chat(
    serve: Serve, telegram: BotApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "SWEEP_INTERVAL_SECONDS", 0.05)
    async with serve(telegram_allowed_ids=f"{ANN},{STRANGER}") as app:
        telegram.user_says("first", chat_id=STRANGER)
        await telegram.wait_for(lambda: telegram.list_sent(STRANGER))
        await refuse(app, "sessions")
        telegram.user_says("hello", chat_id=ANN)
        telegram.user_says("hello", chat_id=STRANGER)
        await telegram.wait_for(lambda: len(telegram.list_sent(STRANGER)) == 2)
        await allow(app)
        await telegram.wait_for(lambda: "You said: hello" in list_texts(telegram))


async def test_answer_shown_before_a_failed_commit_is_not_repeated(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve() as app:
        await refuse(app, "turns")
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await app.runner.wait_until_idle(f"telegram:{ANN}")
        await allow(app)
    async with serve() as app:
        telegram.user_says("next", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0
    assert list_texts(telegram)[0].startswith("You said: hello\n\n")
    assert list_texts(telegram)[1] == "You said: next"
    assert len(model.requests) == 2


async def test_failed_turn_with_a_failed_commit_is_still_answered(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Fails(401, "bad key"))
    async with serve() as app:
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        same = list_texts(telegram)[0]
        async with app.database.transaction() as connection:
            sentence = same.replace("'", "''")
            await connection.execute(
                f"CREATE TRIGGER full BEFORE INSERT ON turns BEGIN SELECT RAISE(ABORT, '{sentence}'); END"
            )
        model.script(Fails(401, "bad key"))
        telegram.user_says("again", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)


async def test_messages_waiting_at_a_kill_or_downtime_are_all_answered(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    said = [f"message {n}" for n in range(33)]
    model.script(Holds("thinking"))
    async with serve() as app:
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        for text in said:
            telegram.user_says(text, chat_id=ANN)
        await telegram.wait_for(lambda: app.runner.queues.count_waiting(f"telegram:{ANN}") == len(said))
    before = len(telegram.list_sent(ANN))
    for n in range(30):
        telegram.user_says(f"later {n}", chat_id=ANN)
    async with serve() as app:
        await telegram.wait_for(lambda: model.requests and "later 29" in model.requests[-1].said)
        await app.runner.wait_until_idle(f"telegram:{ANN}")
    heard = [text for text in model.requests[-1].said if not text.startswith("You said")]
    assert heard == ["first", *said, *(f"later {n}" for n in range(30))]
    assert not [text for text in list_texts(telegram)[before:] if "waiting already" in text]


async def test_preview_of_a_killed_run_becomes_the_answer(
    serve: Serve, telegram: BotApiServer, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.telegram.preview.EDIT_INTERVAL_SECONDS", 0.25)
    model.script(Holds(LONG), Says("Here it is."))
    async with serve(telegram_allowed_ids=str(GROUP)) as app:
        telegram.user_says("@mneme_test_bot go", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        await telegram.wait_for(lambda: telegram.list_sent(GROUP))
        while not await app.database.value("SELECT count(*) FROM previews"):
            pass
        app.runner.queues.get(f"telegram:{GROUP}").working = []  # A kill doesn't clean up.
    async with serve(telegram_allowed_ids=str(GROUP)) as app:
        await telegram.wait_for(lambda: "Here it is." in list_texts(telegram, GROUP))
        assert await app.database.value("SELECT count(*) FROM previews") == 0
    assert list_texts(telegram, GROUP) == ["Here it is."]


async def test_unreadable_update_is_set_aside_and_blocks_nothing(serve: Serve, telegram: BotApiServer) -> None:
    with capture_logs() as logs:
        async with serve() as app:
            telegram.spoil(telegram.user_says("a secret thought", chat_id=ANN), "date", "yesterday")
            telegram.spoil(telegram.user_says("a strange thought", chat_id=STRANGER), "date", "yesterday")
            telegram.user_says("hello", chat_id=ANN)
            await telegram.wait_for(lambda: "You said: hello" in list_texts(telegram))
            await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
            kept = await app.database.rows("SELECT payload FROM set_aside")
    assert any("couldn't read" in text for text in list_texts(telegram))
    assert ["a secret thought" in row["payload"] for row in kept] == [True]  # Nothing of the stranger's.
    assert "thought" not in str(logs)


async def test_edit_in_the_same_poll_runs_the_new_text_once(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    update = telegram.user_says("secnod", chat_id=ANN)
    telegram.user_says("second", chat_id=ANN, edit_of=telegram.find_message_id(update))
    async with serve() as app:
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await app.runner.wait_until_idle(f"telegram:{ANN}")
    assert model.requests[0].said == ["second"]
    assert list_texts(telegram) == ["You said: second"]


async def test_edit_of_a_waiting_message_survives_a_restart(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Holds("wait"))
    async with serve() as app:
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        update = telegram.user_says("secnod", chat_id=ANN)
        await telegram.wait_for(lambda: app.runner.queues.count_waiting(f"telegram:{ANN}") == 1)
        telegram.user_says("second", chat_id=ANN, edit_of=telegram.find_message_id(update))
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
    async with serve() as app:
        await telegram.wait_for(lambda: len(model.requests) == 2)
        await app.runner.wait_until_idle(f"telegram:{ANN}")
    assert model.requests[1].said == ["first", "second"]


async def test_edit_of_an_answered_message_offers_a_new_answer(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve() as app:
        model.script(Says("In March."), Says("In May."))
        message = telegram.find_message_id(telegram.user_says("When is {turn} 3?", chat_id=ANN))
        await telegram.wait_for(lambda: "In March." in list_texts(telegram))
        telegram.user_says("When is {turn} 5?", chat_id=ANN, edit_of=message)
        await telegram.wait_for(lambda: "before you edited it" in list_texts(telegram)[-1])
        press(telegram, "Answer it now")
        await telegram.wait_for(lambda: "In May." in list_texts(telegram))
        await app.runner.wait_until_idle(f"telegram:{ANN}")
    assert model.requests[-1].said == ["When is {turn} 3?", "In March.", "When is {turn} 5?"]
    assert list_labels(telegram) == []


async def test_edit_without_a_change_of_text_is_ignored(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    """Live locations and link previews are edits too."""
    async with serve() as app:
        message = telegram.find_message_id(telegram.user_says("see http://a.example", chat_id=ANN))
        photo = telegram.find_message_id(telegram.user_says(chat_id=ANN, photo=True))
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await app.runner.wait_until_idle(f"telegram:{ANN}")
        told = len(telegram.list_sent(ANN))
        for _ in range(5):
            telegram.user_says("see http://a.example", chat_id=ANN, edit_of=message)
            telegram.user_says(chat_id=ANN, photo=True, edit_of=photo)
        telegram.user_says("see http://b.example", chat_id=ANN, edit_of=message)
        await telegram.wait_for(lambda: "before you edited it" in list_texts(telegram)[-1])
    assert len(telegram.list_sent(ANN)) == told + 1
