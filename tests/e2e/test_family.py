"""A family: each person has a memory of their own, and what they share themselves stands once, for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.serving import ANN, GROUP, labels, press, said, texts

if TYPE_CHECKING:
    from bot.app import App
    from tests.support.servers.model import ModelServer
    from tests.support.servers.telegram import BotApiServer
    from tests.support.serving import Serve

BOB, EVE = 5005, 6006
KEY = "the spare key is at Olga's"
FAMILY = {"memory_scope": "family", "telegram_allowed_ids": f"{ANN},{BOB},{GROUP}"}


async def says(telegram: BotApiServer, text: str, user: int = ANN, chat: int | None = None, name: str = "") -> str:
    """What the bot answers to what somebody says; the newest message of the chat."""
    chat = chat or user
    before = len(telegram.sent(chat))
    telegram.user_says(
        text,
        chat_id=chat,
        chat_type="supergroup" if chat < 0 else "private",
        user_id=user,
        first_name=name or {ANN: "Ann", BOB: "Bob", EVE: "Eve"}[user],
    )
    await telegram.wait_for(lambda: len(telegram.sent(chat)) > before)
    return texts(telegram, chat)[-1]


async def test_what_is_remembered_for_all_is_known_to_the_family_and_to_nobody_else(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(**FAMILY):
        await says(telegram, "hello", BOB)
        assert "Noted for the family" in await says(telegram, f"Remember for all: {KEY}")
        assert "is one of the family now" not in await says(telegram, f"/letin {EVE} guest")
        await says(telegram, "Where is the spare key?", BOB)
        assert "- Ann, 20" in model.requests[-1].prompt
        assert KEY in model.requests[-1].prompt
        await says(telegram, "Where is the spare key?", EVE)
        assert KEY not in model.requests[-1].prompt
        await says(telegram, "@mneme_test_bot where is the spare key?", BOB, GROUP)
        assert KEY not in model.requests[-1].prompt
        await says(telegram, f"/letin {GROUP} family")
        await says(telegram, "@mneme_test_bot where is the spare key?", BOB, GROUP)
        assert KEY in model.requests[-1].prompt
        assert "shared by Ann" in await says(telegram, "/recall spare key", BOB)
        assert "shared by" not in await says(telegram, "/recall spare key", EVE)
        assert KEY in await says(telegram, "/shared", BOB)
        assert KEY not in await says(telegram, "/shared", EVE)


async def withdrawal(app: App) -> int:
    """The number of the newest change by which the bot's owner has withdrawn something."""
    return int(await app.database.value("SELECT max(batch) FROM changes WHERE operation = 'withdraw'"))


async def test_who_shared_it_may_take_it_back_and_so_may_the_bots_owner_and_nobody_else(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(**FAMILY) as app:
        await says(telegram, "/letin 6006 family")
        await says(telegram, f"Remember for all: {KEY}", EVE)
        (entry,) = await app.memory.entries.list(f"telegram:{EVE}", "note")
        assert "/unshare is for what is yours" in await says(telegram, "/shared", BOB)
        assert "remember nothing called" in await says(telegram, f"/unshare_{entry.id}", BOB)
        assert "nothing to undo" in await says(telegram, "/undo", BOB)
        await says(telegram, "Where is the spare key?", BOB)
        assert KEY in model.requests[-1].prompt
        assert "No longer shared" in await says(telegram, f"/withdraw_{entry.id}", ANN)
        await says(telegram, "Where is the spare key?", BOB)
        assert KEY not in model.requests[-1].prompt
        press(telegram, "Undo", ANN)
        await said(telegram, "Restored", ANN)
        await says(telegram, "Where is the spare key?", BOB)
        assert KEY in model.requests[-1].prompt
        assert "No longer shared" in await says(telegram, f"/withdraw_{entry.id}", ANN)
        # not her act, so not hers to undo: what she undoes is what she did last, and then nothing is as it was
        assert KEY in await says(telegram, "/undo", EVE)
        assert "changed again since" in await says(telegram, f"/reshare_{await withdrawal(app)}", ANN)
        await says(telegram, f"Remember for all: {KEY}", EVE)
        (entry,) = await app.memory.entries.list(f"telegram:{EVE}", "note")
        assert "No longer shared" in await says(telegram, f"/withdraw_{entry.id}", ANN)
        assert "The family knows now" in await says(telegram, f"/share_{entry.id}", EVE)
        press(telegram, "Undo", EVE)
        await said(telegram, "Restored", EVE)
        assert "Nothing is shared yet" in await says(telegram, "/shared", BOB)
        assert "is for the bot's owner" in await says(telegram, f"/withdraw_{entry.id}", EVE)


async def test_what_was_withdrawn_is_not_shared_again_by_an_undo_of_something_else(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve(**FAMILY) as app:
        await says(telegram, "/letin 6006 family")
        await says(telegram, f"Remember for all: {KEY}", EVE)
        (entry,) = await app.memory.entries.list(f"telegram:{EVE}", "note")
        await says(telegram, f"/edit #{entry.id} The key is under the mat", EVE)
        assert "under the mat" in await says(telegram, "/shared", BOB)
        await says(telegram, f"/withdraw_{entry.id}", ANN)
        assert KEY in await says(telegram, "/undo", EVE)
        assert "Nothing is shared yet" in await says(telegram, "/shared", BOB)


async def test_a_quiet_line_and_a_card_offer_to_share_and_what_is_said_later_is_not_shared_by_itself(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(**FAMILY) as app:
        await says(telegram, "hello", BOB)
        await says(telegram, "I live in Kyiv.")
        await app.jobs.capture.idle()
        await says(telegram, "Thanks!")
        assert "For all" in labels(telegram)
        press(telegram, "For all")
        await said(telegram, "The family knows now: I live in Kyiv")
        await says(telegram, "Where does Ann live?", BOB)
        assert "Ann, 20" in model.requests[-1].prompt
        assert "I live in Kyiv" in model.requests[-1].prompt
        await says(telegram, "/edit", ANN)
        await says(telegram, "I moved from Kyiv to Lviv.")
        await says(telegram, "Where does Ann live?", BOB)
        assert "Lviv" not in model.requests[-1].prompt


async def test_who_is_turned_away_reads_nothing_and_what_they_shared_goes_with_them(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(**FAMILY):
        await says(telegram, f"/letin {EVE} family")
        await says(telegram, f"Remember for all: {KEY}", EVE)
        assert KEY in await says(telegram, "/shared", BOB)
        await says(telegram, f"/keepout_{EVE}")
        assert KEY not in await says(telegram, "/shared", BOB)


async def test_what_is_forgotten_by_who_shared_it_is_gone_for_all(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(**FAMILY):
        await says(telegram, "hello", BOB)
        await says(telegram, f"Remember for all: {KEY}")
        await says(telegram, "/forget all confirm")
        await says(telegram, "Where is the spare key?", BOB)
        assert KEY not in model.requests[-1].prompt
        assert "Nothing is shared yet" in await says(telegram, "/shared", BOB)


async def test_a_stranger_is_let_in_as_family_or_as_guest(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(**FAMILY) as app:
        await says(telegram, "hello")
        telegram.user_says("hi", chat_id=EVE, user_id=EVE, first_name="Eve")
        await said(telegram, "would like to use this bot")
        assert {"Family", "Guest", "No"} <= {*labels(telegram)}
        press(telegram, "Family")
        await said(telegram, "is one of the family now")
        assert await app.memory.sharing.includes(f"telegram:{EVE}")
        assert "As what may" in await says(telegram, f"/letin_{EVE}")
        press(telegram, "Guest")
        await said(telegram, "can use me now, with a memory of their own")
        assert not await app.memory.sharing.includes(f"telegram:{EVE}")


async def test_without_a_family_nothing_is_shared(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{BOB}"):
        await says(telegram, f"Remember for all: {KEY}")
        assert "Noted: " in texts(telegram)[-1]
        assert "For all" not in labels(telegram)
        assert "share" not in (await says(telegram, "/help")).lower()


async def test_who_has_used_what_they_may_in_a_day_is_told_so_and_the_others_go_on(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve(**FAMILY, chat_daily_tokens=1):
        assert await says(telegram, "hello", BOB) == "You said: hello"
        assert "This chat has used what it may in a day" in await says(telegram, "hello again", BOB)
        assert await says(telegram, "hello") == "You said: hello"
        assert "Today, in this chat" in await says(telegram, "/status", BOB)
        used = await says(telegram, "/usage")
        assert f"telegram:{BOB}" in used
        assert f"telegram:{ANN}" in used
        assert "is for the bot's owner" not in used
