"""Tests of editing memories: a button asks, and the reply becomes the content of the entry."""

from __future__ import annotations

import pytest

from bot.kernel import App
from memory.store.entry import Author, Entry, Kind, NewEntry
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Holds
from tests.support.serving import ANN, GROUP, Serve, list_labels, list_texts, press
from tests.support.talk import Store

OWNER = f"telegram:{ANN}"
GUEST = 4004


async def wait_for_text(telegram: BotApiServer, text: str, chat_id: int = ANN) -> None:
    """Wait for a message of the bot that contains the text."""
    await telegram.wait_for(lambda: any(text in one for one in list_texts(telegram, chat_id)))


async def read_entry(app: App, clock: FakeClock, name: str, owner: str = OWNER) -> Entry:
    return await Store.create(app.database, clock).entries.get(owner, name)


async def press_edit(telegram: BotApiServer, chat_id: int = ANN, user_id: int = ANN) -> int:
    """Press the newest Edit, wait for the question and return its message id."""
    press(telegram, "Edit", chat_id, user_id)
    await wait_for_text(telegram, "Reply to this message", chat_id)
    return telegram.list_sent(chat_id)[-1].message_id


async def remember_key(telegram: BotApiServer) -> None:
    """Store a note as Ann."""
    telegram.user_says("/remember The key is at Ann's", chat_id=ANN)
    await wait_for_text(telegram, "Remembered as key-ann")
    await telegram.wait_for(lambda: list_labels(telegram) == ["Undo", "Edit"])


async def test_reply_to_the_edit_question_replaces_the_content(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock
) -> None:
    async with serve() as app:
        await remember_key(telegram)
        question = await press_edit(telegram)
        (call,) = [call for call in telegram.list_calls("sendMessage") if "Reply to this" in call.params["text"]]
        assert call.params["reply_markup"]["force_reply"] is True
        assert list_labels(telegram) == ["Undo", "Edit"], "what is asked uses up nothing"
        telegram.user_says("The key is\nat Bob's", chat_id=ANN, reply_to_message_id=question)
        await wait_for_text(telegram, "key-ann now says: The key is\nat Bob's\n\nBefore: The key is at Ann's")
        now = await read_entry(app, clock, "key-ann")
        assert (now.content, now.author, now.trusted) == ("The key is\nat Bob's", Author.USER, True)
        before = len(list_texts(telegram))
        press(telegram, "Undo")
        await telegram.wait_for(lambda: len(list_texts(telegram)) > before)
        assert (await read_entry(app, clock, "key-ann")).content == "The key is at Ann's"
    assert model.requests == []


async def test_edit_question_survives_a_restart_and_works_once(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    async with serve():
        await remember_key(telegram)
        question = await press_edit(telegram)
    async with serve() as app:
        telegram.user_says("It is at Bob's", chat_id=ANN, reply_to_message_id=question)
        await wait_for_text(telegram, "now says: It is at Bob's")
        telegram.user_says("Is that right?", chat_id=ANN, reply_to_message_id=question)
        await wait_for_text(telegram, "You said: Is that right?")
        assert (await read_entry(app, clock, "key-ann")).content == "It is at Bob's"


async def test_other_messages_do_not_answer_the_edit_question(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    async with serve() as app:
        await remember_key(telegram)
        first = telegram.list_sent(ANN)[0].message_id
        question = await press_edit(telegram)
        telegram.user_says("What is the weather?", chat_id=ANN)
        await wait_for_text(telegram, "You said: What is the weather?")
        telegram.user_says("Thanks", chat_id=ANN, reply_to_message_id=first)
        await wait_for_text(telegram, "You said: Thanks")
        telegram.user_says("Forwarded", chat_id=ANN, reply_to_message_id=question, forwarded=True)
        await wait_for_text(telegram, "Forwarded")
        telegram.user_says("/help", chat_id=ANN, reply_to_message_id=question)
        await wait_for_text(telegram, "/edit")
        assert (await read_entry(app, clock, "key-ann")).content == "The key is at Ann's"
        telegram.user_says("It is at Bob's", chat_id=ANN, reply_to_message_id=question)
        await wait_for_text(telegram, "now says: It is at Bob's")


async def test_waiting_reply_that_is_edited_uses_the_new_text(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock
) -> None:
    held = Holds("thinking")
    async with serve() as app:
        await remember_key(telegram)
        question = await press_edit(telegram)
        model.script(held)
        telegram.user_says("A long question", chat_id=ANN)
        await model.wait_for(lambda: bool(model.requests))
        update = telegram.user_says("It is at Bbo's", chat_id=ANN, reply_to_message_id=question)
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        telegram.user_says("It is at Bob's", chat_id=ANN, edit_of=telegram.find_message_id(update))
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        edited = "SELECT count(*) FROM inbox WHERE payload LIKE '%Bob''s%' AND state = 'done'"
        while not await app.database.value(edited):
            pass
        held.release.set()
        await wait_for_text(telegram, "now says: It is at Bob's")
        assert (await read_entry(app, clock, "key-ann")).content == "It is at Bob's"


async def test_unconfirmed_memory_is_confirmed_by_editing(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    async with serve() as app:
        entries = Store.create(app.database, clock).entries
        cat = NewEntry(
            "Ann has a cat", name="cat", kind=Kind.FACT, unconfirmed="doubtful", quote="a cat", trusted=False
        )
        await entries.add(OWNER, cat)
        telegram.user_says("/memory cat", chat_id=ANN)
        await telegram.wait_for(lambda: list_labels(telegram)[:3] == ["Right", "Wrong", "Edit"])
        telegram.user_says("Ann has two cats", chat_id=ANN, reply_to_message_id=await press_edit(telegram))
        await wait_for_text(telegram, "cat now says: Ann has two cats")
        now = await entries.get(OWNER, "cat")
    assert (now.unconfirmed, now.trusted, now.author, now.quote) == (None, True, Author.USER, "")


async def test_group_edit_is_for_the_asked_manager_only(serve: Serve, telegram: BotApiServer, clock: FakeClock) -> None:
    of_group = f"telegram:{GROUP}"
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        asks = {"chat_id": GROUP, "chat_type": "supergroup"}
        telegram.user_says("@mneme_test_bot /remember We meet on Mondays", user_id=GUEST, **asks)  # type: ignore[arg-type]
        await wait_for_text(telegram, "Remembered", GROUP)
        press(telegram, "Edit", GROUP, GUEST)
        await telegram.wait_for(lambda: telegram.list_calls("answerCallbackQuery"))
        question = await press_edit(telegram, GROUP, ANN)
        telegram.user_says("on Fridays", user_id=GUEST, reply_to_message_id=question, **asks)  # type: ignore[arg-type]
        await wait_for_text(telegram, "on Fridays", GROUP)
        (one,) = await Store.create(app.database, clock).entries.list(of_group)
        assert one.content == "We meet on Mondays"
        telegram.user_says("We meet on Tuesdays", user_id=ANN, reply_to_message_id=question, **asks)  # type: ignore[arg-type]
        await wait_for_text(telegram, "now says: We meet on Tuesdays", GROUP)


async def test_edit_command_accepts_number_or_quoted_name(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    async with serve() as app:
        await remember_key(telegram)
        for command, content in (
            ('/edit "key-ann" at Bob\'s', "at Bob's"),
            (f"/edit #{(await read_entry(app, clock, 'key-ann')).id} at Carl's", "at Carl's"),
        ):
            telegram.user_says(command, chat_id=ANN)
            await wait_for_text(telegram, f"now says: {content}")
            assert (await read_entry(app, clock, "key-ann")).content == content
        telegram.user_says("/edit nothing", chat_id=ANN)
        await telegram.wait_for(lambda: "nothing" in list_texts(telegram)[-1])
        telegram.user_says("/edit", chat_id=ANN)
        await wait_for_text(telegram, "/edit needs the name or number of a memory")


@pytest.mark.parametrize("words", ["boat", "boat 7"])
async def test_memory_search_is_paged_with_buttons(
    serve: Serve, telegram: BotApiServer, clock: FakeClock, words: str
) -> None:
    async with serve() as app:
        entries = Store.create(app.database, clock).entries
        for number in range(12):
            await entries.add(OWNER, NewEntry(f"A boat, the one of number {number}", name=f"n{number:02}"))
        await entries.add(OWNER, NewEntry("A house", name="house"))
        telegram.user_says(f"/memory search {words}", chat_id=ANN)
        if words != "boat":  # A number that is not a page belongs to the words.
            await wait_for_text(telegram, "Found:")
            assert "number 7" in list_texts(telegram)[0].splitlines()[2]
            return
        await wait_for_text(telegram, "Found: 12, page 1 of 2. /memory search boat 2 shows more.")
        first = list_labels(telegram)
        assert first[-2:] == ["More", "All kinds"]
        press(telegram, "More")
        await wait_for_text(telegram, "Found: 12, page 2 of 2.")
        second = list_labels(telegram)
        assert second[-2:] == ["Back", "All kinds"]
        assert sorted(first[:-2] + second[:-2]) == sorted(f"A boat, the one of number {number}" for number in range(12))
        press(telegram, second[0])
        await telegram.wait_for(lambda: list_labels(telegram)[:2] == ["Edit", "Forget"])
        assert len(list_texts(telegram)) == 1
        telegram.user_says("/memory search castle", chat_id=ANN)
        await wait_for_text(telegram, "I didn't find anything about that.")
