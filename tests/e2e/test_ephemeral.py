"""What one person of a group asks for is seen by that person alone, where Telegram can show it so."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.support.serving import ANN, GROUP, STRANGER, labels, press, press_alone, texts

if TYPE_CHECKING:
    from bot.app import App
    from tests.support.servers.model import ModelServer
    from tests.support.servers.telegram import BotApiServer
    from tests.support.servers.telegram_calls import Call
    from tests.support.serving import Serve

BOTH = f"{ANN},{GROUP}"
NOT_SHOWN = "That answer was for you alone"


def asks(telegram: BotApiServer, text: str, user_id: int = ANN, *, alone: bool = False) -> None:
    """Somebody writes in the group; alone: as a command that only the bot sees."""
    telegram.user_says(text, chat_id=GROUP, chat_type="supergroup", user_id=user_id, ephemeral=alone)


def alone(telegram: BotApiServer, user_id: int = ANN) -> list[str]:
    """What somebody alone sees of the bot in the group."""
    return [message.text for message in telegram.seen_alone(GROUP, user_id)]


def shown(telegram: BotApiServer, count: int) -> bool:
    """Whether all see so many messages of the bot in the group."""
    return len(texts(telegram, GROUP)) == count


def sent_to_one(telegram: BotApiServer) -> list[Call]:
    """The calls that asked for a message to be shown to one person."""
    return [call for call in telegram.calls if "ephemeral_message_parameters" in call.params]


async def known(serve: Serve, telegram: BotApiServer) -> None:
    """Let the bot find out what this Telegram takes, as at its first start."""
    async with serve(menu=True, telegram_allowed_ids=BOTH):
        await telegram.wait_for(lambda: "short_description" in telegram.about_in("zh"))


async def remembers_tea(app: App, telegram: BotApiServer) -> None:
    """Have the group's memory hold something, in a group that knows the bot."""
    asks(telegram, "/remember The tea stands in the blue tin.")
    await telegram.wait_for(lambda: any("blue tin" in text for text in (*texts(telegram, GROUP), *alone(telegram))))


async def test_an_administrator_shows_memory_to_who_asks_and_to_nobody_else(
    serve: Serve, telegram: BotApiServer
) -> None:
    telegram.register_chat(GROUP, chat_type="supergroup", name="Friends")
    telegram.promotes_bot(GROUP)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remembers_tea(app, telegram)
        asks(telegram, "hello", STRANGER)
        public = texts(telegram, GROUP)
        for command in ("/memory", "/recall tin", "/status"):
            asks(telegram, command)
        await telegram.wait_for(lambda: len(alone(telegram)) == 3)
    assert texts(telegram, GROUP) == public
    assert alone(telegram, STRANGER) == []
    assert sum("blue tin" in text for text in alone(telegram)) == 2


async def test_a_command_that_only_the_bot_saw_is_answered_so_without_being_an_administrator(
    serve: Serve, telegram: BotApiServer
) -> None:
    await known(serve, telegram)
    marked = [c.command for c in telegram.commands_for("all_chat_administrators") if c.ephemeral]
    assert sorted(marked) == ["memory", "recall", "status"]
    assert not any(c.ephemeral for c in telegram.commands_for("all_private_chats"))
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remembers_tea(app, telegram)
        public = texts(telegram, GROUP)
        asks(telegram, "/memory", alone=True)
        asks(telegram, "/reminders", alone=True)  # whatever it is
        await telegram.wait_for(lambda: len(alone(telegram)) == 2)
    assert texts(telegram, GROUP) == public
    assert "blue tin" in alone(telegram)[0]


async def test_buttons_under_what_one_person_sees_edit_it_or_answer_beside_it(
    serve: Serve, telegram: BotApiServer
) -> None:
    await known(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remembers_tea(app, telegram)
        public = texts(telegram, GROUP)
        asks(telegram, "/settings", alone=True)
        await telegram.wait_for(lambda: alone(telegram))
        press_alone(telegram, "Notices", GROUP, ANN)
        await telegram.wait_for(lambda: alone(telegram)[0].startswith("Notices are on"))
        press_alone(telegram, "All settings", GROUP, ANN)
        await telegram.wait_for(lambda: alone(telegram)[0].startswith("Settings of this chat"))
        telegram.fault("editEphemeralMessageText", error_code=400, description="Bad Request: MESSAGE_ID_INVALID")
        press_alone(telegram, "Notices", GROUP, ANN)
        await telegram.wait_for(lambda: len(alone(telegram)) == 2)  # what is gone is said anew
        asks(telegram, "/memory tea-stands-blue", alone=True)
        await telegram.wait_for(lambda: len(alone(telegram)) == 3)
        press_alone(telegram, "Forget", GROUP, ANN)
        await telegram.wait_for(lambda: alone(telegram)[-1].startswith("Forgotten: The tea"))
        asks(telegram, "/remember The bread lies in the drawer.", alone=True)
        await telegram.wait_for(lambda: len(alone(telegram)) == 4)
        press_alone(telegram, "Undo", GROUP, ANN)
        await telegram.wait_for(lambda: alone(telegram)[-1].startswith("Undone"))
        await telegram.wait_for(lambda: telegram.calls_to("editEphemeralMessageReplyMarkup"))
    assert texts(telegram, GROUP) == public
    assert all(call.ok for call in telegram.calls_to("editEphemeralMessageReplyMarkup"))
    assert telegram.calls_to("editMessageText") == []


async def test_a_question_for_one_person_is_answered_by_them(serve: Serve, telegram: BotApiServer) -> None:
    await known(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remembers_tea(app, telegram)
        asks(telegram, "/memory tea-stands-blue", alone=True)
        await telegram.wait_for(lambda: alone(telegram))
        press_alone(telegram, "Edit", GROUP, ANN)
        await telegram.wait_for(lambda: len(alone(telegram)) == 2)
        question = telegram.seen_alone(GROUP, ANN)[-1].message_id
        telegram.user_says(
            "The tea stands in the red tin.",
            chat_id=GROUP,
            chat_type="supergroup",
            user_id=ANN,
            ephemeral=True,
            fields={"reply_to_message": telegram.ephemeral_message(GROUP, question)},
        )
        await telegram.wait_for(lambda: len(alone(telegram)) == 3)
        names = await app.database.rows("SELECT content FROM entries WHERE deleted_at IS NULL")
        assert [row["content"] for row in names] == ["The tea stands in the red tin."]


async def test_what_is_said_to_the_bot_alone_comes_into_no_memory_of_the_group(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    await known(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remembers_tea(app, telegram)
        asks(telegram, "/status", alone=True)
        await telegram.wait_for(lambda: alone(telegram))
        answered = telegram.ephemeral_message(GROUP, telegram.seen_alone(GROUP, ANN)[0].message_id)
        telegram.user_says(
            "I prefer coffee, but tell nobody.",
            chat_id=GROUP,
            chat_type="supergroup",
            user_id=ANN,
            ephemeral=True,
            fields={"reply_to_message": answered},
        )
        await telegram.wait_for(lambda: len(alone(telegram)) == 2)
        assert alone(telegram)[1].startswith("In a message that nobody else here sees I take commands only")
        assert await app.database.value("SELECT count(*) FROM messages") == 0
        assert await app.database.value("SELECT count(*) FROM entries") == 1
    assert model.requests == []


async def test_what_is_noted_is_told_to_who_said_it_where_that_has_worked_before(
    serve: Serve, telegram: BotApiServer
) -> None:
    telegram.register_chat(GROUP, chat_type="supergroup", name="Friends")
    async with serve(telegram_allowed_ids=BOTH):
        asks(telegram, "@mneme_test_bot Never use emojis.")
        await telegram.wait_for(lambda: labels(telegram, GROUP))
        assert "Noted" in texts(telegram, GROUP)[0]
        telegram.promotes_bot(GROUP)
        asks(telegram, "/status")
        await telegram.wait_for(lambda: alone(telegram))
        asks(telegram, "@mneme_test_bot Always answer in one sentence.", STRANGER)
        await telegram.wait_for(lambda: alone(telegram, STRANGER))
        await telegram.wait_for(lambda: len(texts(telegram, GROUP)) == 2)
        assert "Noted" not in texts(telegram, GROUP)[1]
        assert "Noted" in alone(telegram, STRANGER)[0]


async def test_an_answer_for_one_that_a_restart_finds_unsent_stays_for_one(
    serve: Serve, telegram: BotApiServer
) -> None:
    await known(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remembers_tea(app, telegram)
        telegram.fault("sendMessage", stall=True)
        asks(telegram, "/memory", alone=True)
        await telegram.wait_for(lambda: sent_to_one(telegram))
    public = texts(telegram, GROUP)
    async with serve(telegram_allowed_ids=BOTH):
        await telegram.wait_for(lambda: alone(telegram))
    assert texts(telegram, GROUP) == public


@pytest.mark.parametrize("by_command", [True, False])
async def test_what_can_no_longer_be_shown_to_one_is_shown_to_nobody(
    serve: Serve, telegram: BotApiServer, *, by_command: bool
) -> None:
    """By a command that was seen by nobody else and is too old, or where the bot is no administrator any more."""
    await known(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remembers_tea(app, telegram)
        if by_command:
            telegram.fault("sendMessage", error_code=502, description="Bad Gateway")
            asks(telegram, "/memory", alone=True)
            await telegram.wait_for(lambda: sent_to_one(telegram))
            telegram.lets_actions_pass()
        else:
            telegram.promotes_bot(GROUP)
            asks(telegram, "/memory")
            await telegram.wait_for(lambda: alone(telegram))
            telegram.promotes_bot(GROUP, administrator=False)
            asks(telegram, "/memory")
        await telegram.wait_for(lambda: any(NOT_SHOWN in text for text in texts(telegram, GROUP)))
    assert sum("blue tin" in text for text in texts(telegram, GROUP)) == 1  # as /remember was answered
    assert len(alone(telegram)) == (0 if by_command else 1)


async def test_where_the_bot_may_not_it_answers_all_as_ever_and_tries_once(
    serve: Serve, telegram: BotApiServer
) -> None:
    await known(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH):
        for number in (1, 2):
            asks(telegram, "/status")
            await telegram.wait_for(partial(shown, telegram, number))
        assert [message.reply_to_message_id is not None for message in telegram.sent(GROUP)] == [True, True]
    assert len(sent_to_one(telegram)) == 1


async def test_what_takes_the_place_of_what_all_see_is_seen_by_all(serve: Serve, telegram: BotApiServer) -> None:
    await known(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remembers_tea(app, telegram)
        asks(telegram, "/memory tea-stands-blue")
        await telegram.wait_for(lambda: "Forget" in labels(telegram, GROUP))
        press(telegram, "Forget", GROUP, ANN)
        await telegram.wait_for(lambda: texts(telegram, GROUP)[-1].startswith("Forgotten: The tea"))
    assert alone(telegram) == []


async def test_an_older_telegram_is_told_of_messages_for_one_only_once(serve: Serve, telegram: BotApiServer) -> None:
    telegram.is_of_version_10 = False
    await known(serve, telegram)
    for start in (1, 2):
        async with serve(telegram_allowed_ids=BOTH, menu=start == 2) as app:
            if start == 1:
                await remembers_tea(app, telegram)
            before = len(texts(telegram, GROUP))
            asks(telegram, "/memory")
            await telegram.wait_for(partial(shown, telegram, before + 1))
    assert sent_to_one(telegram) == []
    marked = [call for call in telegram.calls_to("setMyCommands") if "is_ephemeral" in str(call.params)]
    assert len(marked) == 1


async def test_an_older_telegram_that_was_asked_nothing_passes_over_it_once(
    serve: Serve, telegram: BotApiServer
) -> None:
    telegram.is_of_version_10 = False
    for _start in (1, 2):
        async with serve(telegram_allowed_ids=BOTH):
            before = len(texts(telegram, GROUP))
            asks(telegram, "/status")
            asks(telegram, "/status")
            await telegram.wait_for(partial(shown, telegram, before + 2))
    assert len(sent_to_one(telegram)) == 1
