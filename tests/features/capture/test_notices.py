"""Tests of the notices about captured statements."""

from __future__ import annotations

from bot.kernel import App
from memory.log.sessions import Address
from memory.store.entry import Kind
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
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


async def test_undo_button_reverts_the_noted_memory(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("Remember that I prefer tea in the morning.", chat_id=ANN)
        await wait_for_text(telegram, "I prefer tea in the morning (/undo takes it back)")
        assert list_labels(telegram) == ["Undo", "Edit"]
        press(telegram, "Undo")
        await wait_for_text(telegram, "Undone: I prefer tea in the morning")
        await telegram.wait_for(lambda: list_labels(telegram) == [])
        assert await app.database.value("SELECT count(*) FROM entries WHERE deleted_at IS NULL") == 0
        await telegram.wait_for(lambda: list_toasts(telegram) == [None])
        # /undo would take back an earlier change now
        assert list_texts(telegram)[0].endswith("Noted: I prefer tea in the morning")
        (edit,) = telegram.list_calls("editMessageText")
        assert [entity["type"] for entity in edit.params["entities"]] == ["italic"]


async def test_noted_memory_can_be_edited_by_its_button(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("Remember that I prefer tea in the morning.", chat_id=ANN)
        await telegram.wait_for(lambda: list_labels(telegram) == ["Undo", "Edit"])
        press(telegram, "Edit")
        await wait_for_text(telegram, "Reply to this message")
        question = telegram.list_sent(ANN)[-1].message_id
        telegram.user_says("I prefer green tea", chat_id=ANN, reply_to_message_id=question)
        await wait_for_text(telegram, "now says: I prefer green tea")
        (one,) = await app.memory.entries.list(f"telegram:{ANN}")
        assert (one.content, one.kind) == ("I prefer green tea", Kind.NOTE)


async def test_request_in_a_private_talk_is_not_noted(app: App, person: Person) -> None:
    await person.says("/private")
    answer = await person.says("Remember that the quetzal is in the attic")
    assert "Not noted: nothing is saved in a private conversation" in answer
    await person.says("I prefer quetzal soup")
    assert await app.database.value("SELECT count(*) FROM entries") == 0


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
