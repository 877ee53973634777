"""Tests of rich messages for tables and other layouts, if the chat and Telegram support them."""

from __future__ import annotations

from functools import partial

import pytest

from bot.features.rich.messages import MAX_CHARS, RichMessage, convert_to_rich
from tests.support.bot_api.chats import ChatType
from tests.support.bot_api.server import BotApiServer
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Holds, Says
from tests.support.serving import ANN, GROUP, Serve, list_labels, list_texts, press, wait_for_text

TABLE = "Here they are:\n\n| tea | grams |\n|---|---|\n| black | 3 |\n| green | 2 |"


def list_rich_texts(telegram: BotApiServer, chat_id: int = ANN) -> list[str]:
    """Return the Markdown of the bot's rich messages in a chat."""
    return [message.rich for message in telegram.list_sent(chat_id) if message.rich]


def _is_count(telegram: BotApiServer, count: int) -> bool:
    return len(list_texts(telegram)) == count


async def enable_rich(telegram: BotApiServer, chat_id: int = ANN) -> None:
    """Enable rich messages in a chat."""
    kind: ChatType = "private" if chat_id > 0 else "supergroup"
    telegram.user_says("/rich on", chat_id=chat_id, chat_type=kind, user_id=ANN)
    await wait_for_text(telegram, "formatted by Telegram", chat_id)


@pytest.mark.parametrize(
    "text",
    [TABLE, "# Tea\n\nIt is warm.", "> so she said", "- a\n  - b", "1. a\n   - b"],
)
def test_text_with_a_layout_is_a_rich_message(text: str) -> None:
    assert convert_to_rich(text) == RichMessage(text)


@pytest.mark.parametrize(
    "text",
    [
        "Just **words** and `code`.",
        "- a\n- b",
        "```\n| a | b |\n|---|---|\n```",
        TABLE + "x" * MAX_CHARS,
        "# many\n\n" + "\n".join(f"- {n}" for n in range(600)),
        "|" + "a|" * 30 + "\n|" + "---|" * 30 + "\n|" + "b|" * 30,
        "> " * 40 + "deep",
    ],
)
def test_text_without_layout_or_over_limits_is_plain(text: str) -> None:
    assert convert_to_rich(text) is None


def test_rich_message_contains_no_images_or_html() -> None:
    made = convert_to_rich("# A\n\n![cat](https://evil.example/?q=secret) <img src='x'> `![code](y)` \\![not](z) a<b")
    assert made is not None
    assert "\\![cat](https://evil.example/?q=secret)" in made.markdown
    assert "\\<img" in made.markdown
    assert "`![code](y)`" in made.markdown


async def test_chat_with_rich_enabled_gets_tables_as_rich_messages(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Says(TABLE), Says(TABLE), Says("just words"))
    async with serve():
        telegram.user_says("which teas?", chat_id=ANN)
        await wait_for_text(telegram, "Here they are")
        assert list_rich_texts(telegram) == []
        await enable_rich(telegram)
        telegram.user_says("and again?", chat_id=ANN)
        await telegram.wait_for(lambda: list_rich_texts(telegram))
        assert list_rich_texts(telegram) == [TABLE]
        assert telegram.list_drafts(ANN)  # While it was written.
        telegram.user_says("and now?", chat_id=ANN)
        await wait_for_text(telegram, "just words")
        press(telegram, "As text")
        await wait_for_text(telegram, "as plain text, which every app")


@pytest.mark.parametrize("refused", [False, True])
async def test_group_preview_becomes_rich_or_stays_plain(
    serve: Serve, telegram: BotApiServer, model: ModelServer, *, refused: bool
) -> None:
    held = Holds(f"{TABLE}\n\nBoth are good.")
    model.script(held)
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        await enable_rich(telegram, GROUP)
        telegram.user_says("@mneme_test_bot teas?", chat_id=GROUP, chat_type="supergroup", user_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(GROUP)) == 2)
        if refused:
            telegram.fault("editMessageText", error_code=400, description="Bad Request: message can't be edited")
        held.release.set()
        await app.runner.wait_until_idle(f"telegram:{GROUP}")
        await telegram.wait_for(lambda: any("rich_message" in c.params and c.response for c in telegram.calls))
    assert len(telegram.list_sent(GROUP)) == 2
    assert list_rich_texts(telegram, GROUP) == ([] if refused else [held.text])


async def test_long_answer_is_one_rich_message_or_plain_if_refused(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    long = TABLE + "\n\n" + "\n\n".join("word " * 200 for _ in range(20))
    model.script(Says(long), Says(long))
    async with serve():
        await enable_rich(telegram)
        telegram.user_says("which teas?", chat_id=ANN)
        await telegram.wait_for(lambda: list_rich_texts(telegram))
        assert list_rich_texts(telegram) == [long.strip()]
        before = len(telegram.list_sent(ANN))
        telegram.fault("sendRichMessage", error_code=400, description="Bad Request: RICH_MESSAGE_INVALID")
        telegram.user_says("again?", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) > before + 3)
    assert len(list_rich_texts(telegram)) == 1


async def test_older_telegram_is_tried_once_and_gets_plain_text(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    telegram.is_of_version_10 = False
    model.script(*[Says(TABLE)] * 4)
    for start in (1, 2):
        async with serve():
            if start == 1:
                await enable_rich(telegram)
            for _turn in (1, 2):
                before = len(list_texts(telegram))
                telegram.user_says("which teas?", chat_id=ANN)
                await telegram.wait_for(partial(_is_count, telegram, before + 1))
    assert len(telegram.list_calls("sendRichMessage")) == 1
    assert not any("rich_message" in call.params for call in telegram.calls)
    assert sum("black" in text for text in list_texts(telegram)) == 4


@needs_feature("capture")
async def test_rich_answer_has_buttons_and_can_be_edited(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Says(TABLE))
    async with serve():
        await enable_rich(telegram)
        telegram.user_says("Never use emojis.", chat_id=ANN)
        await telegram.wait_for(lambda: list_rich_texts(telegram))
        assert "Noted as a preference" in list_rich_texts(telegram)[0]
        press(telegram, "Undo")
        await wait_for_text(telegram, "Undone")
        await telegram.wait_for(lambda: "Undo" not in list_labels(telegram))
