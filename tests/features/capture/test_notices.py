"""Tests of the notices about captured statements."""

from __future__ import annotations

from memory.log.sessions import Address
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_labels, list_texts

NOTED = "Noted as a preference"


async def test_notices_off_applies_to_this_chat_only(start: OpenApp) -> None:
    async with start() as app:
        person, other = Person(app), Person(app, Address("console", "other"))
        await person.says("/notices off")
        assert NOTED not in await person.says("Never use emojis.")
        assert NOTED in await other.says("Never use emojis.")
        assert "use emojis" in await person.says("/memory preference 1")
        await person.says("/notices quiet")
        assert NOTED in await person.says("Always answer in one sentence.")


async def test_notices_setting_applies_without_a_choice(start: OpenApp) -> None:
    async with start(memory_notices=False) as app:
        person = Person(app)
        assert "Notices are **off**" in await person.says("/notices")
        assert NOTED not in await person.says("Never use emojis.")
        await person.says("/notices on")
        assert NOTED in await person.says("Always answer in one sentence.")
    async with start(memory_notices=False) as app:
        assert "Notices are **on**" in await Person(app).says("/notices")


def send_to_group(telegram: BotApiServer, text: str, user_id: int = ANN) -> None:
    telegram.user_says(text, chat_id=GROUP, chat_type="supergroup", user_id=user_id)


def list_private_texts(telegram: BotApiServer, user_id: int = ANN) -> list[str]:
    """Return the bot's messages in the group that only one person sees."""
    return [message.text for message in telegram.list_ephemeral(GROUP, user_id)]


async def test_notice_is_ephemeral_for_its_speaker_if_supported(serve: Serve, telegram: BotApiServer) -> None:
    telegram.register_chat(GROUP, chat_type="supergroup", name="Friends")
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        send_to_group(telegram, "@mneme_test_bot Never use emojis.")
        await telegram.wait_for(lambda: list_labels(telegram, GROUP))
        assert "Noted" in list_texts(telegram, GROUP)[0]
        telegram.promotes_bot(GROUP)
        send_to_group(telegram, "/status")
        await telegram.wait_for(lambda: list_private_texts(telegram))
        send_to_group(telegram, "@mneme_test_bot Always answer in one sentence.", STRANGER)
        await telegram.wait_for(lambda: list_private_texts(telegram, STRANGER))
        await telegram.wait_for(lambda: len(list_texts(telegram, GROUP)) == 2)
        assert "Noted" not in list_texts(telegram, GROUP)[1]
        assert "Noted" in list_private_texts(telegram, STRANGER)[0]
