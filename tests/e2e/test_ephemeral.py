"""Tests of ephemeral messages, which Telegram shows to one person of a group."""

from __future__ import annotations

from functools import partial

import pytest

from bot.kernel import App
from tests.support.bot_api.calls import Call
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_labels, list_texts, press, press_alone

BOTH = f"{ANN},{GROUP}"
NOT_SHOWN = "That answer was only for you"


def send_to_group(telegram: BotApiServer, text: str, user_id: int = ANN, *, alone: bool = False) -> None:
    """Send a message to the group. With `alone`, it is a command that only the bot sees."""
    telegram.user_says(text, chat_id=GROUP, chat_type="supergroup", user_id=user_id, ephemeral=alone)


def list_private_texts(telegram: BotApiServer, user_id: int = ANN) -> list[str]:
    """Return the bot's messages in the group that only one person sees."""
    return [message.text for message in telegram.list_ephemeral(GROUP, user_id)]


def has_public_count(telegram: BotApiServer, count: int) -> bool:
    """Return whether the bot has sent exactly `count` messages that all members of the group see."""
    return len(list_texts(telegram, GROUP)) == count


def list_private_calls(telegram: BotApiServer) -> list[Call]:
    """Return the calls with a message for one person."""
    return [call for call in telegram.calls if "ephemeral_message_parameters" in call.params]


async def discover_features(serve: Serve, telegram: BotApiServer) -> None:
    """Let the bot detect the features of this Telegram server, as at its first start."""
    async with serve(menu=True, telegram_allowed_ids=BOTH):
        await telegram.wait_for(lambda: "short_description" in telegram.get_about("zh"))


async def remember_tea(app: App, telegram: BotApiServer) -> None:
    """Store a memory in a group that knows the bot."""
    send_to_group(telegram, "/remember The tea stands in the blue tin.")
    await telegram.wait_for(
        lambda: any("blue tin" in text for text in (*list_texts(telegram, GROUP), *list_private_texts(telegram)))
    )


async def test_group_admin_bot_shows_memory_to_the_asker_only(serve: Serve, telegram: BotApiServer) -> None:
    telegram.register_chat(GROUP, chat_type="supergroup", name="Friends")
    telegram.promotes_bot(GROUP)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remember_tea(app, telegram)
        send_to_group(telegram, "hello", STRANGER)
        public = list_texts(telegram, GROUP)
        for command in ("/memory", "/recall tin", "/status"):
            send_to_group(telegram, command)
        await telegram.wait_for(lambda: len(list_private_texts(telegram)) == 3)
    assert list_texts(telegram, GROUP) == public
    assert list_private_texts(telegram, STRANGER) == []
    assert sum("blue tin" in text for text in list_private_texts(telegram)) == 2


async def test_ephemeral_command_is_answered_ephemerally_without_admin_rights(
    serve: Serve, telegram: BotApiServer
) -> None:
    await discover_features(serve, telegram)
    marked = [c.command for c in telegram.list_commands("all_chat_administrators") if c.ephemeral]
    assert sorted(marked) == ["memory", "recall", "status"]
    assert not any(c.ephemeral for c in telegram.list_commands("all_private_chats"))
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remember_tea(app, telegram)
        public = list_texts(telegram, GROUP)
        send_to_group(telegram, "/memory", alone=True)
        send_to_group(telegram, "/settings", alone=True)  # Any command.
        await telegram.wait_for(lambda: len(list_private_texts(telegram)) == 2)
    assert list_texts(telegram, GROUP) == public
    assert "blue tin" in list_private_texts(telegram)[0]


async def test_ephemeral_buttons_edit_their_message_or_add_another(serve: Serve, telegram: BotApiServer) -> None:
    await discover_features(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remember_tea(app, telegram)
        public = list_texts(telegram, GROUP)
        send_to_group(telegram, "/settings", alone=True)
        await telegram.wait_for(lambda: list_private_texts(telegram))
        press_alone(telegram, "Notices", GROUP, ANN)
        await telegram.wait_for(lambda: list_private_texts(telegram)[0].startswith("Notices are on"))
        press_alone(telegram, "All settings", GROUP, ANN)
        await telegram.wait_for(lambda: list_private_texts(telegram)[0].startswith("Settings of this chat"))
        telegram.fault("editEphemeralMessageText", error_code=400, description="Bad Request: MESSAGE_ID_INVALID")
        press_alone(telegram, "Notices", GROUP, ANN)
        await telegram.wait_for(lambda: len(list_private_texts(telegram)) == 2)  # A deleted message is sent again.
        send_to_group(telegram, "/memory tea-stands-blue", alone=True)
        await telegram.wait_for(lambda: len(list_private_texts(telegram)) == 3)
        press_alone(telegram, "Forget", GROUP, ANN)
        await telegram.wait_for(lambda: list_private_texts(telegram)[-1].startswith("Forgotten: The tea"))
        send_to_group(telegram, "/remember The bread lies in the drawer.", alone=True)
        await telegram.wait_for(lambda: len(list_private_texts(telegram)) == 4)
        press_alone(telegram, "Undo", GROUP, ANN)
        await telegram.wait_for(lambda: list_private_texts(telegram)[-1].startswith("Undone"))
        await telegram.wait_for(lambda: telegram.list_calls("editEphemeralMessageReplyMarkup"))
    assert list_texts(telegram, GROUP) == public
    assert all(call.ok for call in telegram.list_calls("editEphemeralMessageReplyMarkup"))
    assert telegram.list_calls("editMessageText") == []


async def test_ephemeral_question_is_answered_by_its_user(serve: Serve, telegram: BotApiServer) -> None:
    await discover_features(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remember_tea(app, telegram)
        send_to_group(telegram, "/memory tea-stands-blue", alone=True)
        await telegram.wait_for(lambda: list_private_texts(telegram))
        press_alone(telegram, "Edit", GROUP, ANN)
        await telegram.wait_for(lambda: len(list_private_texts(telegram)) == 2)
        question = telegram.list_ephemeral(GROUP, ANN)[-1].message_id
        telegram.user_says(
            "The tea stands in the red tin.",
            chat_id=GROUP,
            chat_type="supergroup",
            user_id=ANN,
            ephemeral=True,
            fields={"reply_to_message": telegram.ephemeral_message(GROUP, question)},
        )
        await telegram.wait_for(lambda: len(list_private_texts(telegram)) == 3)
        names = await app.database.rows("SELECT content FROM entries WHERE deleted_at IS NULL")
        assert [row["content"] for row in names] == ["The tea stands in the red tin."]


async def test_ephemeral_message_enters_no_group_memory(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    await discover_features(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remember_tea(app, telegram)
        send_to_group(telegram, "/status", alone=True)
        await telegram.wait_for(lambda: list_private_texts(telegram))
        answered = telegram.ephemeral_message(GROUP, telegram.list_ephemeral(GROUP, ANN)[0].message_id)
        telegram.user_says(
            "I prefer coffee, but tell nobody.",
            chat_id=GROUP,
            chat_type="supergroup",
            user_id=ANN,
            ephemeral=True,
            fields={"reply_to_message": answered},
        )
        await telegram.wait_for(lambda: len(list_private_texts(telegram)) == 2)
        assert list_private_texts(telegram)[1].startswith("In a message that only you can see I accept only commands")
        assert await app.database.value("SELECT count(*) FROM messages") == 0
        assert await app.database.value("SELECT count(*) FROM entries") == 1
    assert model.requests == []


async def test_ephemeral_answer_pending_at_restart_stays_ephemeral(serve: Serve, telegram: BotApiServer) -> None:
    await discover_features(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remember_tea(app, telegram)
        telegram.fault("sendMessage", stall=True)
        send_to_group(telegram, "/memory", alone=True)
        await telegram.wait_for(lambda: list_private_calls(telegram))
    public = list_texts(telegram, GROUP)
    async with serve(telegram_allowed_ids=BOTH):
        await telegram.wait_for(lambda: list_private_texts(telegram))
    assert list_texts(telegram, GROUP) == public


@pytest.mark.parametrize("by_command", [True, False])
async def test_ephemeral_answer_that_can_not_be_shown_is_dropped(
    serve: Serve, telegram: BotApiServer, *, by_command: bool
) -> None:
    """The command is too old, or the bot lost its admin rights."""
    await discover_features(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remember_tea(app, telegram)
        if by_command:
            telegram.fault("sendMessage", error_code=502, description="Bad Gateway")
            send_to_group(telegram, "/memory", alone=True)
            await telegram.wait_for(lambda: list_private_calls(telegram))
            telegram.lets_actions_pass()
        else:
            telegram.promotes_bot(GROUP)
            send_to_group(telegram, "/memory")
            await telegram.wait_for(lambda: list_private_texts(telegram))
            telegram.promotes_bot(GROUP, administrator=False)
            send_to_group(telegram, "/memory")
        await telegram.wait_for(lambda: any(NOT_SHOWN in text for text in list_texts(telegram, GROUP)))
    assert sum("blue tin" in text for text in list_texts(telegram, GROUP)) == 1  # The public answer to /remember.
    assert len(list_private_texts(telegram)) == (0 if by_command else 1)


async def test_bot_without_rights_answers_publicly_and_tries_once(serve: Serve, telegram: BotApiServer) -> None:
    await discover_features(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH):
        for number in (1, 2):
            send_to_group(telegram, "/status")
            await telegram.wait_for(partial(has_public_count, telegram, number))
        assert [message.reply_to_message_id is not None for message in telegram.list_sent(GROUP)] == [True, True]
    assert len(list_private_calls(telegram)) == 1


async def test_answer_replacing_a_public_message_is_public(serve: Serve, telegram: BotApiServer) -> None:
    await discover_features(serve, telegram)
    async with serve(telegram_allowed_ids=BOTH) as app:
        await remember_tea(app, telegram)
        send_to_group(telegram, "/memory tea-stands-blue")
        await telegram.wait_for(lambda: "Forget" in list_labels(telegram, GROUP))
        press(telegram, "Forget", GROUP, ANN)
        await telegram.wait_for(lambda: list_texts(telegram, GROUP)[-1].startswith("Forgotten: The tea"))
    assert list_private_texts(telegram) == []


async def test_older_telegram_is_tried_once(serve: Serve, telegram: BotApiServer) -> None:
    telegram.is_of_version_10 = False
    await discover_features(serve, telegram)
    for start in (1, 2):
        async with serve(telegram_allowed_ids=BOTH, menu=start == 2) as app:
            if start == 1:
                await remember_tea(app, telegram)
            before = len(list_texts(telegram, GROUP))
            send_to_group(telegram, "/memory")
            await telegram.wait_for(partial(has_public_count, telegram, before + 1))
    assert list_private_calls(telegram) == []
    marked = [call for call in telegram.list_calls("setMyCommands") if "is_ephemeral" in str(call.params)]
    assert len(marked) == 1


async def test_older_telegram_without_prior_detection_is_tried_once(serve: Serve, telegram: BotApiServer) -> None:
    telegram.is_of_version_10 = False
    for _start in (1, 2):
        async with serve(telegram_allowed_ids=BOTH):
            before = len(list_texts(telegram, GROUP))
            send_to_group(telegram, "/status")
            send_to_group(telegram, "/status")
            await telegram.wait_for(partial(has_public_count, telegram, before + 2))
    assert len(list_private_calls(telegram)) == 1
