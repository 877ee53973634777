"""Tests of the owner's choice of people who may use the bot, and of the names that the owner reads."""

from __future__ import annotations

from memory.access import AccessList
from tests.support.bot_api.server import BotApiServer
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_labels, list_texts, press, wait_for_text

EVE, BOB, ID = 6006, 5005, 7007
ANNA = {"first_name": "Anna", "last_name": "Berg", "username": "anna"}
PEOPLE = {EVE: ANNA, BOB: {"first_name": "Bob"}}
FAMILY = {"memory_scope": "family"}


async def ask_for_choice(telegram: BotApiServer) -> None:
    """Send /letin and wait for the keyboard."""
    telegram.user_says("/letin", chat_id=ANN)
    await telegram.wait_for(lambda: telegram.list_keyboard(ANN))


async def test_owner_admits_chosen_people_by_name(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        await ask_for_choice(telegram)
        assert telegram.list_keyboard(ANN) == ["Choose people"]
        assert list_labels(telegram) == []
        telegram.user_chooses("Choose people", PEOPLE, chat_id=ANN)
        await wait_for_text(telegram, "Anna Berg (@anna), Bob can use me now, each with a memory of their own.")
        sent = telegram.list_calls("sendMessage")[-1]
        assert sent.params["reply_markup"] == {"remove_keyboard": True}
        access = AccessList(app.database, "telegram", app.clock)
        assert [member.user_id for member in await access.list_members()] == [BOB, EVE]
        telegram.user_says("hello", chat_id=EVE)
        await wait_for_text(telegram, "You said: hello", EVE)


async def test_chosen_person_with_access_is_named_as_such(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{BOB}") as app:
        await AccessList(app.database, "telegram", app.clock).let_in(EVE)
        await ask_for_choice(telegram)
        telegram.user_chooses("Choose people", PEOPLE | {ID: {}}, chat_id=ANN)
        await wait_for_text(telegram, "Anna Berg (@anna), Bob can already use me.")
    assert list_texts(telegram)[-1].startswith(f"{ID} can use me now, with a memory of their own.")


async def test_choice_with_a_family_settles_the_role(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(**FAMILY) as app:
        await ask_for_choice(telegram)
        assert telegram.list_keyboard(ANN) == ["Choose family members", "Choose guests"]
        telegram.user_chooses("Choose family members", PEOPLE, chat_id=ANN)
        await wait_for_text(telegram, "Anna Berg (@anna), Bob are now family members")
        await ask_for_choice(telegram)
        telegram.user_chooses("Choose guests", {ID: {"first_name": "Tim"}}, chat_id=ANN)
        await wait_for_text(telegram, "Tim can use me now, with a memory of their own.")
        included = [await app.memory.sharing.includes(f"telegram:{person}") for person in (EVE, BOB, ID)]
        assert included == [True, True, False]


async def test_choice_that_was_not_asked_for_is_ignored(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        shared = {"user_ids": [EVE], "users": [{"user_id": EVE}]}
        await ask_for_choice(telegram)
        request = telegram.list_calls("sendMessage")[-1].params["reply_markup"]["keyboard"][0][0]["request_users"]
        wrong = shared | {"request_id": request["request_id"] + 1}
        telegram.user_says(chat_id=ANN, fields={"users_shared": wrong})
        telegram.user_chooses("Choose people", {BOB: {"first_name": "Bob"}}, chat_id=ANN)
        await wait_for_text(telegram, "Bob can use me now")
        again = shared | {"request_id": request["request_id"]}
        telegram.user_says(chat_id=ANN, fields={"users_shared": again})
        telegram.user_says("/help", chat_id=ANN)
        await wait_for_text(telegram, "/export")
        access = AccessList(app.database, "telegram", app.clock)
        assert [member.user_id for member in await access.list_members()] == [BOB]
        assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0
    assert len(list_texts(telegram)) == 3


async def test_member_can_choose_nobody(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        access = AccessList(app.database, "telegram", app.clock)
        await access.let_in(EVE)
        telegram.user_says("/letin", chat_id=EVE)
        await wait_for_text(telegram, "Only the bot's owner can use /letin.", EVE)
        telegram.user_says(chat_id=EVE, fields={"users_shared": {"request_id": 1, "users": [{"user_id": BOB}]}})
        telegram.user_says("/help", chat_id=EVE)
        await wait_for_text(telegram, "/export", EVE)
        assert not await access.is_member(BOB)
    assert telegram.list_keyboard(EVE) == []


async def test_letin_asks_for_an_id_where_nobody_can_be_chosen(serve: Serve, telegram: BotApiServer) -> None:
    telegram.supports.people = False
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        telegram.user_says("/letin", chat_id=ANN)
        await wait_for_text(telegram, "/letin needs a Telegram id")
        telegram.user_says("/letin", chat_id=ANN)
        await telegram.wait_for(lambda: len(list_texts(telegram)) == 2)
        assert len(telegram.list_calls("getBusinessConnection")) == 1
        telegram.supports.people = True
        telegram.user_says("/letin@mneme_test_bot", chat_id=GROUP, chat_type="supergroup", user_id=ANN)
        await wait_for_text(telegram, "/letin needs a Telegram id", GROUP)


async def test_choice_in_a_topic_is_answered_there(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        telegram.user_says("/letin", chat_id=ANN, thread_id=7)
        await telegram.wait_for(lambda: telegram.list_keyboard(ANN))
        telegram.user_chooses("Choose people", {BOB: {"first_name": "Bob"}}, chat_id=ANN)
        await wait_for_text(telegram, "Bob can use me now")
    assert [message.thread_id for message in telegram.list_sent(ANN)] == [7, 7]


async def test_choice_survives_a_restart(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        await ask_for_choice(telegram)
    telegram.user_chooses("Choose people", {BOB: {"first_name": "Bob"}}, chat_id=ANN)
    async with serve():
        await wait_for_text(telegram, "Bob can use me now")


async def test_owner_reads_names_of_strangers_members_and_groups(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}", **FAMILY):
        telegram.register_chat(ANN)
        telegram.user_says("hello", chat_id=STRANGER, first_name="Bob", username="bob_b")
        await wait_for_text(telegram, "Bob (@bob_b) would like to use this bot.")
        press(telegram, "Guest")
        await wait_for_text(telegram, "Bob (@bob_b) can use me now")
        telegram.user_says("hello", chat_id=STRANGER, first_name="Bobby", username="bob_b")
        await wait_for_text(telegram, "You said: hello", STRANGER)
        telegram.user_says("@mneme_test_bot hello", chat_id=GROUP, chat_type="supergroup", user_id=ANN)
        await wait_for_text(telegram, "You said: Ann: hello", GROUP)
        telegram.user_says(f"/letin {GROUP} family", chat_id=ANN)
        await wait_for_text(telegram, "Some people can now see what the family shares.")
        telegram.user_says("/usage", chat_id=ANN)
        await wait_for_text(telegram, "• Bobby (@bob_b): ")
        telegram.user_says(f"/letin {STRANGER}", chat_id=ANN)
        await wait_for_text(telegram, "How should Bobby (@bob_b) join?")
        telegram.user_says(f"/keepout {STRANGER}", chat_id=ANN)
        await wait_for_text(telegram, "Bobby (@bob_b) was declined.")
    usage = next(text for text in list_texts(telegram) if text.startswith("Tokens of today"))
    assert "• Some people: " in usage
