"""Tests of the buttons below replies, also after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.access import MAX_QUESTIONS_PER_HOUR, AccessList
from memory.buttons import Button, Notice, collect_rows, create_edit_button, create_undo_button
from memory.store.entry import Kind, NewEntry
from memory.store.notices import PendingNotices
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Holds, Says
from tests.support.serving import (
    ANN,
    GROUP,
    STRANGER,
    Serve,
    list_labels,
    list_texts,
    list_toasts,
    press,
    wait_for_text,
)
from tests.support.talk import Store

GUEST = 4004
REFUSED = "In a group, only administrators and the person who asked can use this button."


async def note_preference(telegram: BotApiServer, what: str = "tea") -> None:
    """Store a preference as Ann. The answer has a button below."""
    telegram.user_says(f"/remember I prefer {what} in the morning.", chat_id=ANN)
    await wait_for_text(telegram, f"I prefer {what} in the morning")


async def test_undo_button_reverts_the_stored_memory(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        await note_preference(telegram)
        assert list_labels(telegram) == ["Undo", "Edit"]
        press(telegram, "Undo")
        await wait_for_text(telegram, "Undone: I prefer tea in the morning")
        await telegram.wait_for(lambda: list_labels(telegram) == [])
        assert await app.database.value("SELECT count(*) FROM entries WHERE deleted_at IS NULL") == 0
        await telegram.wait_for(lambda: list_toasts(telegram) == [None])


async def test_undo_button_reverts_its_own_change_and_not_the_newest(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        await note_preference(telegram)
        telegram.user_says("/remember The spare key is at Ann's.", chat_id=ANN)
        await wait_for_text(telegram, "Remembered")
        press(telegram, "Undo", which=0)
        await wait_for_text(telegram, "Undone: I prefer tea in the morning")
        left = await app.database.rows("SELECT content FROM entries")
    assert [row["content"] for row in left] == ["The spare key is at Ann's."]


async def test_undo_button_refuses_if_entry_changed_since(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        await note_preference(telegram)
        telegram.user_says("/edit #1 I prefer coffee in the morning.", chat_id=ANN)
        await wait_for_text(telegram, "now says: I prefer coffee in the morning")
        first = telegram.list_sent(ANN)[0]
        assert first.reply_markup is not None
        telegram.user_presses(first.reply_markup["inline_keyboard"][0][0]["callback_data"], first.message_id, ANN, ANN)
        await wait_for_text(telegram, "That was changed again later: undo the newest change first.")
        assert await app.database.value("SELECT content FROM entries") == "I prefer coffee in the morning."


async def test_button_pressed_repeatedly_acts_once(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("/remember The spare key is at Ann's.", chat_id=ANN)
        await wait_for_text(telegram, "Remembered")
        await note_preference(telegram)
        for _ in range(3):
            press(telegram, "Undo")
        await telegram.wait_for(lambda: len(list_toasts(telegram)) == 3)
        await wait_for_text(telegram, "Undone")
        telegram.user_says("/memory", chat_id=ANN)
        await wait_for_text(telegram, "note: 1")
        assert await app.database.value("SELECT count(*) FROM entries") == 1
    assert sorted(list_toasts(telegram), key=str) == [None, "That's already done.", "That's already done."]
    assert sum("Undone" in text for text in list_texts(telegram)) == 1
    assert len(telegram.list_calls("editMessageReplyMarkup")) == 1


async def test_button_works_after_restart(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        await note_preference(telegram)
    async with serve():
        press(telegram, "Undo")
        await wait_for_text(telegram, "Undone")


async def test_pending_press_is_carried_out_after_restart(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve() as app:
        await note_preference(telegram)
        held = Holds("thinking")
        model.script(held)
        telegram.user_says("A long question", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN)[-1:] == ["thinking"])
        press(telegram, "Undo")
        await telegram.wait_for(lambda: list_toasts(telegram) == [None])
        assert await app.database.value("SELECT count(*) FROM entries") == 1
    async with serve() as app:
        await wait_for_text(telegram, "Undone")
        assert await app.database.value("SELECT count(*) FROM entries") == 0


async def test_28_group_button_works_for_asker_and_managers_only(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    asker, owner = 5005, 6006
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        model.script(Fails(404))
        entry = await app.memory.entries.add(f"telegram:{GROUP}", NewEntry("The spare key is at Ann's."))
        buttons = (create_undo_button(1, ""), create_edit_button(entry.id, entry.content))
        await app.memory.notices.add(f"telegram:{GROUP}", Notice("Learned", (buttons,)))
        telegram.user_says(
            "@mneme_test_bot Where is the key?",
            chat_id=GROUP,
            chat_type="supergroup",
            user_id=asker,
        )
        await telegram.wait_for(lambda: list_labels(telegram, GROUP) == ["Try again", "Undo", "Edit"])
        telegram.owns(owner, GROUP)
        for label in ("Undo", "Try again"):
            press(telegram, label, GROUP, GUEST)
        await telegram.wait_for(lambda: len(list_toasts(telegram)) == 2)
        assert set(list_toasts(telegram)) == {REFUSED}
        assert list_labels(telegram, GROUP) == ["Try again", "Undo", "Edit"]
        assert len(list_texts(telegram, GROUP)) == len(model.requests) == 1
        assert await app.database.value("SELECT count(*) FROM entries") == 1
        press(telegram, "Undo", GROUP, owner)
        await wait_for_text(telegram, "Undone", GROUP)
        assert await app.database.value("SELECT count(*) FROM entries") == 0
        press(telegram, "Try again", GROUP, asker)
        await wait_for_text(telegram, "You said", GROUP)


async def test_28_button_grants_asker_only_the_undo_that_was_offered(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        telegram.user_says(
            "/remember@mneme_test_bot I prefer tea in the morning.",
            chat_id=GROUP,
            chat_type="supergroup",
            user_id=GUEST,
        )
        await telegram.wait_for(lambda: list_labels(telegram, GROUP) == ["Undo", "Edit"])
        press(telegram, "Edit", GROUP, GUEST)
        await telegram.wait_for(lambda: list_toasts(telegram) == [REFUSED])
        press(telegram, "Undo", GROUP, STRANGER)
        await telegram.wait_for(lambda: list_toasts(telegram) == [REFUSED, REFUSED])
        assert list_labels(telegram, GROUP) == ["Undo", "Edit"]
        assert await app.database.value("SELECT count(*) FROM entries") == 1
        press(telegram, "Undo", GROUP, GUEST)
        await wait_for_text(telegram, "Undone: Ann: I prefer tea in the morning.", GROUP)
        telegram.user_says("/undo@mneme_test_bot", chat_id=GROUP, chat_type="supergroup", user_id=GUEST)
        await wait_for_text(telegram, "only administrators and the bot's owner can use /undo", GROUP)


async def test_group_member_may_type_the_offered_undo(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        for drink in ("tea", "coffee"):
            telegram.user_says(
                f"/remember@mneme_test_bot I prefer {drink} in the morning.",
                chat_id=GROUP,
                chat_type="supergroup",
                user_id=GUEST,
            )
            await wait_for_text(telegram, f"I prefer {drink} in the morning", GROUP)
        telegram.user_says("/undo@mneme_test_bot", chat_id=GROUP, chat_type="supergroup", user_id=STRANGER)
        await wait_for_text(telegram, "only administrators and the bot's owner can use /undo", GROUP)
        for drink in ("coffee", "tea"):
            telegram.user_says("/undo@mneme_test_bot", chat_id=GROUP, chat_type="supergroup", user_id=GUEST)
            await wait_for_text(telegram, f"Undone: Ann: I prefer {drink} in the morning.", GROUP)
        press(telegram, "Undo", GROUP, GUEST)
        await telegram.wait_for(lambda: list_toasts(telegram) == ["That's already done."])
        telegram.user_says("/undo@mneme_test_bot", chat_id=GROUP, chat_type="supergroup", user_id=GUEST)
        await telegram.wait_for(lambda: "can use /undo" in list_texts(telegram, GROUP)[-1])


async def test_28_button_of_another_chat_or_unknown_button_does_nothing(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GUEST}") as app:
        await note_preference(telegram)
        message = telegram.list_sent(ANN)[0]
        assert message.reply_markup is not None
        of_ann = message.reply_markup["inline_keyboard"][0][0]["callback_data"]
        telegram.user_says("/help", chat_id=GUEST)
        await wait_for_text(telegram, "/export", GUEST)
        for data in (of_ann, "/forget all confirm", "0"):
            telegram.user_presses(data, telegram.list_sent(GUEST)[0].message_id, GUEST, GUEST)
        await telegram.wait_for(lambda: len(list_toasts(telegram)) == 3)
        assert set(list_toasts(telegram)) == {"This button has expired: send the command instead, /help lists them."}
        assert await app.database.value("SELECT count(*) FROM entries") == 1
    assert list_labels(telegram) == ["Undo", "Edit"]


async def test_press_by_a_stranger_is_answered_and_not_stored(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=str(STRANGER)):
        telegram.user_says("hello", chat_id=STRANGER)
        await telegram.wait_for(lambda: telegram.list_sent(STRANGER))
    async with serve() as app:
        await app.database.write("DELETE FROM inbox")
        telegram.user_presses("words of a stranger", telegram.list_sent(STRANGER)[0].message_id, STRANGER, STRANGER)
        await telegram.wait_for(lambda: list_toasts(telegram) == ["This bot is private."])
        assert await app.database.value("SELECT count(*) FROM inbox") == 0


async def test_button_in_private_chat_ignores_other_users(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GUEST}") as app:
        telegram.user_says("/remember The spare key is at Ann's.", chat_id=ANN)
        await telegram.wait_for(lambda: list_labels(telegram) == ["Undo", "Edit"])
        press(telegram, "Undo", ANN, GUEST)
        await telegram.wait_for(lambda: list_toasts(telegram) == ["This bot is private."])
        assert await app.database.value("SELECT count(*) FROM entries") == 1
        assert list_labels(telegram) == ["Undo", "Edit"]
        press(telegram, "Undo", ANN, ANN)
        await wait_for_text(telegram, "Undone")


async def test_button_in_topic_answers_in_the_topic(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        telegram.user_says(
            "/remember@mneme_test_bot I prefer tea in the morning.",
            chat_id=GROUP,
            chat_type="supergroup",
            user_id=ANN,
            thread_id=7,
        )
        await telegram.wait_for(lambda: list_labels(telegram, GROUP) == ["Undo", "Edit"])
        press(telegram, "Undo", GROUP, ANN)
        await wait_for_text(telegram, "Undone", GROUP)
    assert [message.thread_id for message in telegram.list_sent(GROUP)] == [7, 7]


def list_other_labels(telegram: BotApiServer) -> list[str]:
    """Return the labels of the buttons other than Undo and Edit."""
    return [label for label in list_labels(telegram) if label not in ("Undo", "Edit")]


async def test_right_and_wrong_buttons_settle_their_own_entry(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        for text in ("Ann's cat is called Tom.", "Ann moves to Lviv in May."):
            telegram.user_says(f"/remember {text}", chat_id=ANN)
            await wait_for_text(telegram, f": {text}")
        ids = [row["id"] for row in await app.database.rows("SELECT id FROM entries ORDER BY id")]
        async with app.database.transaction() as connection:
            await connection.execute("UPDATE entries SET unconfirmed = 'nobody said so'")
        rows = tuple(
            (Button("Right", f"/confirm_{number}", about), Button("Wrong", f"/forget_{number}", about))
            for number, about in zip(ids, ("the cat", "the move"), strict=True)
        )
        await PendingNotices(app.database).add(f"telegram:{ANN}", Notice("Not sure: two things", rows))
        telegram.user_says("hello", chat_id=ANN)
        await wait_for_text(telegram, "Not sure: two things")
        assert list_other_labels(telegram) == ["Right: the cat", "Wrong", "Right: the move", "Wrong"]
        press(telegram, "Right: the cat")
        await wait_for_text(telegram, "Confirmed: Ann's cat is called Tom.")
        await telegram.wait_for(lambda: list_other_labels(telegram) == ["Right: the move", "Wrong"])
        press(telegram, "Wrong")
        await wait_for_text(telegram, "Forgotten")
        await telegram.wait_for(lambda: list_other_labels(telegram) == [])
        held = await app.database.rows("SELECT content FROM entries WHERE deleted_at IS NULL AND unconfirmed IS NULL")
    assert [row["content"] for row in held] == ["Ann's cat is called Tom."]


async def test_forget_all_button_replaces_the_question_with_its_answer(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        for press_this, answer, left in (
            ("Keep it", "Nothing was deleted.", 1),
            ("Delete everything", "Everything", 0),
        ):
            if left:
                telegram.user_says("/remember The spare key is at Ann's.", chat_id=ANN)
                await wait_for_text(telegram, "Remembered")
            telegram.user_says("/forget all", chat_id=ANN)
            await telegram.wait_for(lambda: "Delete everything" in list_labels(telegram))
            press(telegram, press_this)
            await wait_for_text(telegram, answer)
            assert list_other_labels(telegram) == []
            assert await app.database.value("SELECT count(*) FROM entries") == left
    assert not any("for good" in text for text in list_texts(telegram))


async def test_forget_all_button_expires_after_ten_minutes(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    async with serve() as app:
        telegram.user_says("/remember The spare key is at Ann's.", chat_id=ANN)
        telegram.user_says("/forget all", chat_id=ANN)
        await telegram.wait_for(lambda: list_other_labels(telegram))
        clock.forward(minutes=11)
        press(telegram, "Delete everything")
        await telegram.wait_for(lambda: list_toasts(telegram) == ["This button has expired: ask again."])
        await telegram.wait_for(lambda: list_other_labels(telegram) == ["Keep it"])
        assert await app.database.value("SELECT count(*) FROM entries") == 1


async def test_retry_button_works_until_the_next_message(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve():
        model.script(Fails(404), Says("Here it is."), Fails(404))
        telegram.user_says("A question", chat_id=ANN)
        await telegram.wait_for(lambda: list_labels(telegram) == ["Try again"])
        press(telegram, "Try again")
        await wait_for_text(telegram, "Here it is.")
        await telegram.wait_for(lambda: list_labels(telegram) == [])
        assert len(list_texts(telegram)) == 1  # The retried answer replaced the failure.
        telegram.user_says("Another", chat_id=ANN)
        await telegram.wait_for(lambda: list_labels(telegram) == ["Try again"])
        telegram.user_says("And now?", chat_id=ANN)
        await wait_for_text(telegram, "You said: And now?")
        press(telegram, "Try again")
        await wait_for_text(telegram, "There is a newer message now: send /retry to answer that one again.")
    assert sum(request.last == "A question" for request in model.requests) == 2


async def test_press_is_answered_while_telegram_stalls_in_the_group(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        telegram.user_says(
            "/remember@mneme_test_bot I prefer tea in the morning.",
            chat_id=GROUP,
            chat_type="supergroup",
            user_id=5005,
        )
        await telegram.wait_for(lambda: list_labels(telegram, GROUP) == ["Undo", "Edit"])
        telegram.fault("getChatMember", stall=True)
        press(telegram, "Undo", GROUP, GUEST)
        await telegram.wait_for(lambda: telegram.list_calls("getChatMember"))
        telegram.user_says("/help", chat_id=ANN)
        await wait_for_text(telegram, "/export")
        assert list_toasts(telegram) == []
        telegram.fault("getChatMember", error_code=500, description="Internal Server Error")
        press(telegram, "Undo", GROUP, GUEST)
        await telegram.wait_for(
            lambda: (
                list_toasts(telegram)
                == ["Telegram didn't tell me who the administrators of this group are: try again in a moment."]
            )
        )


async def test_expired_callback_query_is_still_carried_out(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        await note_preference(telegram)
        for method in ("answerCallbackQuery", "editMessageReplyMarkup"):
            telegram.fault(method, error_code=400, description="Bad Request: query is too old")
        press(telegram, "Undo")
        await wait_for_text(telegram, "Undone")


@pytest.mark.parametrize("count", [1, 3])
def test_button_labels_name_their_entry_if_there_are_several_rows(count: int) -> None:
    lines = [Notice("noted", ((Button("Undo", f"/undo_{n}", "a long story " * n),),)) for n in range(1, count + 1)]
    shown = [row[0].label for row in collect_rows(lines)]
    expected = ["Undo: a long story", "Undo: a long story a long stor…", "Undo: a long story a long stor…"]
    assert shown == (expected if count > 1 else ["Undo"])


async def test_buttons_are_absent_without_notices(start: OpenApp, serve: Serve, telegram: BotApiServer) -> None:
    async with serve(memory_notices=False):
        telegram.user_says("Never use emojis.", chat_id=ANN)
        await wait_for_text(telegram, "You said")
    assert list_labels(telegram) == []


async def test_stranger_is_let_in_by_the_owner_with_a_button(
    serve: Serve, telegram: BotApiServer, tmp_path: Path
) -> None:
    telegram.register_chat(ANN)
    async with serve() as app:
        telegram.user_says("my strange secret words", chat_id=STRANGER, first_name="Bob")
        await wait_for_text(telegram, "Bob would like to use this bot.")
        assert list_labels(telegram) == ["Let in", "No"]
        press(telegram, "Let in")
        await wait_for_text(telegram, "Bob can use me now")
        telegram.user_says("hello", chat_id=STRANGER, first_name="Bob")
        await wait_for_text(telegram, "You said: hello", STRANGER)
        # An admitted user can't admit others or manage groups.
        telegram.user_says("/letin 4004", chat_id=STRANGER, first_name="Bob")
        await wait_for_text(telegram, "Only the bot's owner can use /letin.", STRANGER)
        assert not await AccessList(app.database, "telegram", app.clock).is_member(GUEST)
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"strange secret" not in kept


async def test_declined_stranger_is_not_asked_about_again(serve: Serve, telegram: BotApiServer) -> None:
    telegram.register_chat(ANN)
    async with serve():
        telegram.user_says("hello", chat_id=STRANGER, first_name="Bob")
        await telegram.wait_for(lambda: list_labels(telegram))
        press(telegram, "No")
        await wait_for_text(telegram, "Bob was declined")
    async with serve():
        telegram.user_says("hello?", chat_id=STRANGER, first_name="Bob")
        await telegram.wait_for(lambda: len(telegram.list_sent(STRANGER)) == 2)
        telegram.user_says("/help", chat_id=ANN)
        await wait_for_text(telegram, "/export")
    assert sum("would like to use this bot" in text for text in list_texts(telegram)) == 1


async def test_owner_is_asked_about_each_stranger_once_and_few_hourly(
    serve: Serve, telegram: BotApiServer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.telegram.strangers.MAX_PER_MINUTE", 100)

    async def strangers(first: int) -> list[str]:
        for number in range(first, first + 2 * MAX_QUESTIONS_PER_HOUR):
            for text in ("hello", "hello?"):
                telegram.user_says(text, chat_id=STRANGER + number, first_name=f"Guest {number}")
        await telegram.wait_for(lambda: telegram.list_sent(STRANGER + number))
        before = len(telegram.list_sent(ANN))
        telegram.user_says("/help", chat_id=ANN)
        await telegram.wait_for(lambda: any("/export" in text for text in list_texts(telegram)[before:]))
        return [text for text in list_texts(telegram) if "would like to use this bot" in text]

    telegram.register_chat(ANN)
    async with serve():
        assert len(set(await strangers(0))) == MAX_QUESTIONS_PER_HOUR
        assert len(await strangers(100)) == MAX_QUESTIONS_PER_HOUR
        clock.forward(hours=1)
        assert len(set(await strangers(200))) == 2 * MAX_QUESTIONS_PER_HOUR


async def test_failure_by_the_daily_limit_offers_no_other_attempt(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(chat_daily_tokens=1):
        telegram.user_says("hello", chat_id=ANN)
        await wait_for_text(telegram, "You said: hello")
        telegram.user_says("hello again", chat_id=ANN)
        await wait_for_text(telegram, "reached its daily limit")
    assert list_labels(telegram) == []


async def test_stranger_is_told_if_the_owner_was_asked_too_often(
    serve: Serve, telegram: BotApiServer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.telegram.strangers.MAX_PER_MINUTE", 100)
    telegram.register_chat(ANN)
    last = STRANGER + MAX_QUESTIONS_PER_HOUR
    async with serve():
        for number in range(STRANGER, last + 1):
            telegram.user_says("hello", chat_id=number, first_name=f"Guest {number}")
            await telegram.wait_for(lambda number=number: telegram.list_sent(number))  # type: ignore[misc]
        assert "I've asked its owner" in list_texts(telegram, last - 1)[0]
        assert "Please write again in an hour." in list_texts(telegram, last)[0]
        clock.forward(hours=1)
        telegram.user_says("hello again", chat_id=last, first_name="Bob")
        await telegram.wait_for(lambda: len(telegram.list_sent(last)) == 2)
        assert "I've asked its owner" in list_texts(telegram, last)[1]
        await wait_for_text(telegram, "Bob would like to use this bot.")


async def test_access_request_goes_to_claiming_owner_not_to_members(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids="") as app:
        access = AccessList(app.database, "telegram", app.clock)
        assert await access.claim(ANN, await access.new_claim_code())
        await access.let_in(GUEST)
        telegram.register_chat(ANN)
        telegram.register_chat(GUEST)
        telegram.user_says("hello", chat_id=STRANGER, first_name="_Bob_ <b>/start")
        await wait_for_text(telegram, "Bob b start would like to use this bot.")
    assert list_texts(telegram, GUEST) == []


async def wait_for_buttons(telegram: BotApiServer, *buttons: str) -> None:
    """Wait until these are the only buttons in Ann's chat."""
    await telegram.wait_for(lambda: list_labels(telegram) == list(buttons))


async def test_memory_browser_opens_entry_quote_and_undo_in_one_message(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    async with serve() as app:
        entries = Store.create(app.database, clock).entries
        for number in range(12):
            await entries.add(f"telegram:{ANN}", NewEntry(f"Number {number}", name=f"n{number:02}"))
        fact = NewEntry("Ann lives in Lviv", name="home", kind=Kind.FACT, quote="I live in Lviv")
        await entries.add(f"telegram:{ANN}", fact)
        telegram.user_says("/memory", chat_id=ANN)
        newest = ["Ann lives in Lviv", *(f"Number {number}" for number in range(11, 2, -1))]
        await wait_for_buttons(telegram, *newest, "fact (1)", "note (12)")
        press(telegram, "note (12)")
        await wait_for_buttons(telegram, *(f"Number {number}" for number in range(11, 1, -1)), "Older", "All kinds")
        press(telegram, "Older")
        await wait_for_buttons(telegram, "Number 1", "Number 0", "Newer", "All kinds")
        press(telegram, "All kinds")
        await wait_for_buttons(telegram, *newest, "fact (1)", "note (12)")
        press(telegram, "Ann lives in Lviv")
        await wait_for_buttons(telegram, "Edit", "Forget", "All of fact", "All kinds")
        assert len(list_texts(telegram)) == 1
        assert 'Said: "I live in Lviv"' in list_texts(telegram)[0]
        press(telegram, "Forget")
        await wait_for_buttons(telegram, "Undo")
        assert list_texts(telegram) == ["Forgotten: Ann lives in Lviv (/undo brings it back)."]
        press(telegram, "Undo")
        await wait_for_text(telegram, "Restored: Ann lives in Lviv")
        assert await entries.find(f"telegram:{ANN}", "home") is not None


async def test_memory_browser_settles_unconfirmed_entry(serve: Serve, telegram: BotApiServer, clock: FakeClock) -> None:
    async with serve() as app:
        entries = Store.create(app.database, clock).entries
        unsure = NewEntry("Ann has a cat", name="cat", kind=Kind.FACT, unconfirmed="you didn't say it")
        await entries.add(f"telegram:{ANN}", unsure)
        telegram.user_says("/memory", chat_id=ANN)
        await wait_for_buttons(telegram, "fact (1)", "Not sure")
        press(telegram, "Not sure")
        await wait_for_buttons(telegram, "Right", "Wrong")
        press(telegram, "Right")
        await wait_for_text(telegram, "Confirmed: Ann has a cat")
        assert await entries.list_unconfirmed(f"telegram:{ANN}") == []


async def test_remember_command_offers_undo_button(serve: Serve, telegram: BotApiServer, clock: FakeClock) -> None:
    async with serve() as app:
        telegram.user_says("/remember The spare key is at Ann's.", chat_id=ANN)
        await wait_for_buttons(telegram, "Undo", "Edit")
        press(telegram, "Undo")
        await wait_for_text(telegram, "Undone: The spare key is at Ann's.")
        assert await app.database.value("SELECT count(*) FROM entries") == 0


async def test_button_label_in_any_alphabet_fits_the_byte_limit(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    async with serve() as app:
        entries = Store.create(app.database, clock).entries
        await entries.add(f"telegram:{ANN}", NewEntry("ї" * 100))
        telegram.user_says("/memory note", chat_id=ANN)
        await wait_for_buttons(telegram, "ї" * 29 + "…", "All kinds")


async def test_start_offers_two_buttons(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        telegram.user_says("/start", chat_id=ANN)
        await wait_for_buttons(telegram, "What can you do?", "Settings")
        press(telegram, "What can you do?")
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        assert "/remember TEXT" in list_texts(telegram)[-1]
        await wait_for_buttons(telegram, "Settings")
        press(telegram, "Settings")
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3)


@pytest.mark.parametrize(
    "spoilt", [{"message": {"message_id": 1, "chat": {"id": ANN}}}, {"message": 7}, {"from": {"id": ANN}}]
)
async def test_unreadable_press_is_answered(serve: Serve, telegram: BotApiServer, spoilt: dict[str, object]) -> None:
    async with serve() as app:
        await note_preference(telegram)
        ((field, value),) = spoilt.items()
        telegram.spoil(press(telegram, "Undo"), field, value)
        await telegram.wait_for(lambda: list_toasts(telegram))
        press(telegram, "Undo")
        await wait_for_text(telegram, "Undone")
        assert await app.database.value("SELECT count(*) FROM set_aside") == 0
    assert list_toasts(telegram)[0] in (
        "That button didn't work: send the command instead, /help lists them.",
        "This bot is private.",  # The user or the chat of the press can't be read.
    )


async def test_unreadable_presses_of_strangers_are_answered_once(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        await note_preference(telegram)
        for _ in range(3):
            message = telegram.list_sent(ANN)[0].message_id
            telegram.spoil(telegram.user_presses("x", message, ANN, STRANGER), "message", 7)
        telegram.user_says("hi", chat_id=ANN)
        await wait_for_text(telegram, "You said: hi")
        await telegram.wait_for(lambda: list_toasts(telegram))
    assert list_toasts(telegram) == ["This bot is private."]


async def test_memory_offers_page_button_in_private_chats_only(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}", web_url="https://memory.example.org"):
        for text in ("/remember The boat is red.", "/memory"):
            telegram.user_says(text, chat_id=ANN)
            telegram.user_says(text, chat_id=GROUP, chat_type="supergroup", user_id=ANN)
        await wait_for_text(telegram, "What I remember")
        await wait_for_text(telegram, "What I remember", GROUP)
        assert "Open the page" in list_labels(telegram)
        assert "Open the page" not in list_labels(telegram, GROUP)
    rows = [
        row for message in telegram.list_sent(ANN) for row in (message.reply_markup or {}).get("inline_keyboard", [])
    ]
    opened = [button["web_app"] for row in rows for button in row if "web_app" in button]
    assert opened == [{"url": "https://memory.example.org/page/"}]
