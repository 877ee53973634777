"""Answers with tables and the like as rich messages, in the chats that want them and where Telegram has them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from bot.telegram.rich import MAX_CHARS, Rich, as_rich
from tests.support.servers.model import Holds, Says
from tests.support.serving import ANN, GROUP, labels, press, said, texts

if TYPE_CHECKING:
    from tests.support.servers.model import ModelServer
    from tests.support.servers.telegram import BotApiServer
    from tests.support.servers.telegram_chats import ChatType
    from tests.support.serving import Serve

TABLE = "Here they are:\n\n| tea | grams |\n|---|---|\n| black | 3 |\n| green | 2 |"


def rich(telegram: BotApiServer, chat_id: int = ANN) -> list[str]:
    """The rich messages of the bot in a chat, in Markdown."""
    return [message.rich for message in telegram.sent(chat_id) if message.rich]


def _is_count(telegram: BotApiServer, count: int) -> bool:
    return len(texts(telegram)) == count


async def switched_on(telegram: BotApiServer, chat_id: int = ANN) -> None:
    """Let a chat want them."""
    kind: ChatType = "private" if chat_id > 0 else "supergroup"
    telegram.user_says("/rich on", chat_id=chat_id, chat_type=kind, user_id=ANN)
    await said(telegram, "laid out by Telegram", chat_id)


@pytest.mark.parametrize(
    "text",
    [TABLE, "# Tea\n\nIt is warm.", "> so she said", "- a\n  - b", "1. a\n   - b"],
)
def test_what_needs_laying_out_is_a_rich_message(text: str) -> None:
    assert as_rich(text) == Rich(text)


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
def test_what_needs_none_or_is_more_than_one_may_hold_is_plain(text: str) -> None:
    assert as_rich(text) is None


def test_nothing_in_it_is_fetched_or_is_html() -> None:
    made = as_rich("# A\n\n![cat](https://evil.example/?q=secret) <img src='x'> `![code](y)` \\![not](z) a<b")
    assert made is not None
    assert "\\![cat](https://evil.example/?q=secret)" in made.markdown
    assert "\\<img" in made.markdown
    assert "`![code](y)`" in made.markdown


async def test_a_chat_that_wants_them_gets_tables_as_rich_messages(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Says(TABLE), Says(TABLE), Says("just words"))
    async with serve():
        telegram.user_says("which teas?", chat_id=ANN)
        await said(telegram, "Here they are")
        assert rich(telegram) == []
        await switched_on(telegram)
        telegram.user_says("and again?", chat_id=ANN)
        await telegram.wait_for(lambda: rich(telegram))
        assert rich(telegram) == [TABLE]
        assert telegram.drafts(ANN)  # while it was written
        telegram.user_says("and now?", chat_id=ANN)
        await said(telegram, "just words")
        press(telegram, "As text")
        await said(telegram, "as text, which every app")


@pytest.mark.parametrize("refused", [False, True])
async def test_in_a_group_the_message_that_grew_becomes_the_rich_one_or_stays_as_it_is(
    serve: Serve, telegram: BotApiServer, model: ModelServer, *, refused: bool
) -> None:
    held = Holds(f"{TABLE}\n\nBoth are good.")
    model.script(held)
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        await switched_on(telegram, GROUP)
        telegram.user_says("@mneme_test_bot teas?", chat_id=GROUP, chat_type="supergroup", user_id=ANN)
        await telegram.wait_for(lambda: len(telegram.sent(GROUP)) == 2)
        if refused:
            telegram.fault("editMessageText", error_code=400, description="Bad Request: message can't be edited")
        held.release.set()
        await app.runner.idle(f"telegram:{GROUP}")
        await telegram.wait_for(lambda: any("rich_message" in c.params and c.response for c in telegram.calls))
    assert len(telegram.sent(GROUP)) == 2
    assert rich(telegram, GROUP) == ([] if refused else [held.text])


async def test_a_long_answer_is_one_rich_message_and_one_that_is_refused_is_plain(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    long = TABLE + "\n\n" + "\n\n".join("word " * 200 for _ in range(20))
    model.script(Says(long), Says(long))
    async with serve():
        await switched_on(telegram)
        telegram.user_says("which teas?", chat_id=ANN)
        await telegram.wait_for(lambda: rich(telegram))
        assert rich(telegram) == [long.strip()]
        before = len(telegram.sent(ANN))
        telegram.fault("sendRichMessage", error_code=400, description="Bad Request: RICH_MESSAGE_INVALID")
        telegram.user_says("again?", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.sent(ANN)) > before + 3)
    assert len(rich(telegram)) == 1


async def test_an_older_telegram_is_asked_once_and_gets_texts(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    telegram.is_of_version_10 = False
    model.script(*[Says(TABLE)] * 4)
    for start in (1, 2):
        async with serve():
            if start == 1:
                await switched_on(telegram)
            for _turn in (1, 2):
                before = len(texts(telegram))
                telegram.user_says("which teas?", chat_id=ANN)
                await telegram.wait_for(partial(_is_count, telegram, before + 1))
    assert len(telegram.calls_to("sendRichMessage")) == 1
    assert not any("rich_message" in call.params for call in telegram.calls)
    assert sum("black" in text for text in texts(telegram)) == 4


async def test_a_rich_answer_has_its_buttons_and_what_takes_its_place(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.script(Says(TABLE))
    async with serve():
        await switched_on(telegram)
        telegram.user_says("Never use emojis.", chat_id=ANN)
        await telegram.wait_for(lambda: rich(telegram))
        assert "Noted as a preference" in rich(telegram)[0]
        press(telegram, "Undo")
        await said(telegram, "Undone")
        await telegram.wait_for(lambda: "Undo" not in labels(telegram))
