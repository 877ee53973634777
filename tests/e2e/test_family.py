"""Tests of family memory: separate memories, and entries that are shared on request."""

from __future__ import annotations

from bot.kernel import App
from tests.support.bot_api.server import BotApiServer
from tests.support.families import BOB, EVE, FAMILY, KEY, send_and_wait, share_key
from tests.support.servers.model import ModelServer
from tests.support.serving import ANN, GROUP, Serve, list_labels, list_texts, press, wait_for_text


async def test_shared_note_is_known_to_the_family_only(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(**FAMILY) as app:
        await send_and_wait(telegram, "hello", BOB)
        await share_key(telegram, app)
        assert "is now a family member" not in await send_and_wait(telegram, f"/letin {EVE} guest")
        await send_and_wait(telegram, "Where is the spare key?", BOB)
        assert "- Ann, 20" in model.requests[-1].prompt
        assert KEY in model.requests[-1].prompt
        await send_and_wait(telegram, "Where is the spare key?", EVE)
        assert KEY not in model.requests[-1].prompt
        await send_and_wait(telegram, "@mneme_test_bot where is the spare key?", BOB, GROUP)
        assert KEY not in model.requests[-1].prompt
        await send_and_wait(telegram, f"/letin {GROUP} family")
        await send_and_wait(telegram, "@mneme_test_bot where is the spare key?", BOB, GROUP)
        assert KEY in model.requests[-1].prompt
        assert "shared by Ann" in await send_and_wait(telegram, "/recall spare key", BOB)
        assert "shared by" not in await send_and_wait(telegram, "/recall spare key", EVE)
        assert KEY in await send_and_wait(telegram, "/shared", BOB)
        assert KEY not in await send_and_wait(telegram, "/shared", EVE)


async def find_withdrawal(app: App) -> int:
    """Return the number of the newest change by which the bot's owner withdrew something."""
    return int(await app.database.value("SELECT max(batch) FROM changes WHERE operation = 'withdraw'"))


async def test_shared_note_is_withdrawn_by_sharer_or_bot_owner_only(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(**FAMILY) as app:
        await send_and_wait(telegram, "/letin 6006 family")
        entry = await share_key(telegram, app, EVE)
        assert "/unshare works only for your own memories" in await send_and_wait(telegram, "/shared", BOB)
        assert "remember anything called" in await send_and_wait(telegram, f"/unshare_{entry.id}", BOB)
        assert "nothing to undo" in await send_and_wait(telegram, "/undo", BOB)
        await send_and_wait(telegram, "Where is the spare key?", BOB)
        assert KEY in model.requests[-1].prompt
        assert "No longer shared" in await send_and_wait(telegram, f"/withdraw_{entry.id}", ANN)
        await send_and_wait(telegram, "Where is the spare key?", BOB)
        assert KEY not in model.requests[-1].prompt
        press(telegram, "Undo", ANN)
        await wait_for_text(telegram, "Restored", ANN)
        await send_and_wait(telegram, "Where is the spare key?", BOB)
        assert KEY in model.requests[-1].prompt
        assert "No longer shared" in await send_and_wait(telegram, f"/withdraw_{entry.id}", ANN)
        # The withdrawal was not her action, so she can't undo it. She undoes her own last change.
        assert KEY in await send_and_wait(telegram, "/undo", EVE)
        assert "changed again later" in await send_and_wait(telegram, f"/reshare_{await find_withdrawal(app)}", ANN)
        await send_and_wait(telegram, f"/share_{entry.id}", EVE)
        assert "No longer shared" in await send_and_wait(telegram, f"/withdraw_{entry.id}", ANN)
        assert "Shared with the family" in await send_and_wait(telegram, f"/share_{entry.id}", EVE)
        press(telegram, "Undo", EVE)
        await telegram.wait_for(lambda: sum("Restored" in text for text in list_texts(telegram, EVE)) == 2)
        assert "Nothing is shared yet" in await send_and_wait(telegram, "/shared", BOB)
        assert "Only the bot's owner" in await send_and_wait(telegram, f"/withdraw_{entry.id}", EVE)


async def test_withdrawn_note_is_not_shared_again_by_another_undo(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(**FAMILY) as app:
        await send_and_wait(telegram, "/letin 6006 family")
        entry = await share_key(telegram, app, EVE)
        await send_and_wait(telegram, f"/edit #{entry.id} The key is under the mat", EVE)
        assert "under the mat" in await send_and_wait(telegram, "/shared", BOB)
        await send_and_wait(telegram, f"/withdraw_{entry.id}", ANN)
        assert KEY in await send_and_wait(telegram, "/undo", EVE)
        assert "Nothing is shared yet" in await send_and_wait(telegram, "/shared", BOB)


async def test_declined_member_can_not_read_and_loses_shared_entries(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(**FAMILY) as app:
        await send_and_wait(telegram, f"/letin {EVE} family")
        await share_key(telegram, app, EVE)
        assert KEY in await send_and_wait(telegram, "/shared", BOB)
        await send_and_wait(telegram, f"/keepout_{EVE}")
        assert KEY not in await send_and_wait(telegram, "/shared", BOB)


async def test_forgotten_note_is_gone_for_the_whole_family(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(**FAMILY) as app:
        await send_and_wait(telegram, "hello", BOB)
        await share_key(telegram, app)
        await send_and_wait(telegram, "/forget all confirm")
        await send_and_wait(telegram, "Where is the spare key?", BOB)
        assert KEY not in model.requests[-1].prompt
        assert "Nothing is shared yet" in await send_and_wait(telegram, "/shared", BOB)


async def test_stranger_is_admitted_as_family_or_guest(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(**FAMILY) as app:
        await send_and_wait(telegram, "hello")
        telegram.user_says("hi", chat_id=EVE, user_id=EVE, first_name="Eve")
        await wait_for_text(telegram, "would like to use this bot")
        assert {"Family", "Guest", "No"} <= {*list_labels(telegram)}
        press(telegram, "Family")
        await wait_for_text(telegram, "is now a family member")
        assert await app.memory.sharing.includes(f"telegram:{EVE}")
        assert "How should" in await send_and_wait(telegram, f"/letin_{EVE}")
        press(telegram, "Guest")
        await wait_for_text(telegram, "can use me now, with a memory of their own")
        assert not await app.memory.sharing.includes(f"telegram:{EVE}")


async def test_daily_limit_of_a_member_does_not_affect_others(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(**FAMILY, chat_daily_tokens=1):
        assert await send_and_wait(telegram, "hello", BOB) == "You said: hello"
        assert "This chat has reached its daily limit" in await send_and_wait(telegram, "hello again", BOB)
        assert await send_and_wait(telegram, "hello") == "You said: hello"
        assert "Today, in this chat" in await send_and_wait(telegram, "/status", BOB)
        used = await send_and_wait(telegram, "/usage")
        assert "Bob: " in used
        assert "Ann: " in used
        assert "Only the bot's owner" not in used


async def test_sharing_is_off_outside_family_scope(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{BOB}"):
        assert "Remembered" in await send_and_wait(telegram, f"/remember {KEY}")
        assert "For all" not in list_labels(telegram)
        assert "share" not in (await send_and_wait(telegram, "/help")).lower()
