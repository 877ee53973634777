"""A group becomes a supergroup, and Telegram gives it another id: all goes on under the new one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from memory.access import AccessList
from memory.log.sessions import Address
from tests.support.reminding import is_set, memory_of
from tests.support.servers.model import Holds
from tests.support.serving import ANN, STRANGER, labels, press, texts

if TYPE_CHECKING:
    from pathlib import Path

    from bot.app import App
    from memory.log.sessions import Session
    from tests.support.fakes import FakeClock
    from tests.support.servers.model import ModelServer
    from tests.support.servers.telegram import BotApiServer
    from tests.support.serving import Serve

OLD, NEW = -5005, -1005005
BOTH = f"{ANN},{OLD}"
OF_OLD, OF_NEW = Address("telegram", str(OLD)), Address("telegram", str(NEW))


def says(telegram: BotApiServer, text: str, chat: int) -> None:
    """Ann says something to the bot in the group."""
    kind = "group" if chat == OLD else "supergroup"
    telegram.user_says(f"@mneme_test_bot {text}", chat_id=chat, user_id=ANN, chat_type=kind)  # type: ignore[arg-type]


async def answered(telegram: BotApiServer, text: str, chat: int) -> None:
    """Wait until the bot has said something with that text in it."""
    await telegram.wait_for(lambda: any(text in one for one in texts(telegram, chat)))


async def received(telegram: BotApiServer) -> None:
    """Wait until all that was told to the bot so far is received."""
    await telegram.wait_for(lambda: not telegram.pending_update_ids)


async def left_under(app: App, address: Address) -> dict[str, int]:
    """How many rows of each table still name a chat."""
    sessions = ("conversations", "inbox", "outbox", "media", "reminders", "previews", "reactions")
    asked = dict.fromkeys(sessions, "session_id")
    asked |= {"sessions": "id", "owners": "name", "preferences": "chat"}
    count = "SELECT count(*) FROM {} WHERE {} = ?"
    found = {
        table: await app.database.value(count.format(table, column), (address.session_id,))
        for table, column in asked.items()
    }
    return {table: count for table, count in found.items() if count}


@pytest.mark.parametrize("told", [("former", "present"), ("present", "former"), ("former",), ("present",)])
async def test_29_all_that_is_kept_of_a_group_goes_along_to_its_new_id(
    serve: Serve, telegram: BotApiServer, model: ModelServer, tmp_path: Path, told: tuple[str, ...]
) -> None:
    telegram.register_chat(ANN)
    async with serve(telegram_allowed_ids=BOTH) as app:
        says(telegram, "Remember that the spare key is at Ann's", OLD)
        await answered(telegram, "Noted", OLD)
        says(telegram, "/remember We meet on Thursdays", OLD)
        await answered(telegram, "Remembered", OLD)
        await app.runner.idle(OF_OLD.session_id)
        await is_set(app, "stand-up", "2026-02-07T13:00", session=OF_OLD.session_id)
        telegram.group_becomes(OLD, NEW, told)
        await received(telegram)
        says(telegram, "when do we meet?", NEW)
        await answered(telegram, "You said: Ann: when do we meet?", NEW)
        await app.runner.idle(OF_NEW.session_id)
        assert await left_under(app, OF_OLD) == {}
        assert await app.database.value("SELECT count(*) FROM reminders WHERE session_id = ?", (OF_NEW.owner,)) == 1
        assert "the spare key is at Ann's" in await memory_of(app).long_term.read(OF_NEW.owner)
        assert (await memory_of(app).entries.list(OF_NEW.owner, "note"))[0].content == "We meet on Thursdays"
        assert (await app.sessions.transcript(OF_NEW.session_id)).messages[0].content.endswith("key is at Ann's")
    asked = model.requests[-1]
    assert any("spare key" in said for said in asked.said[:-1]), "the conversation goes on"
    assert not list(tmp_path.rglob(OF_OLD.owner))
    assert [str(OLD) in text and str(NEW) in text and "TELEGRAM_ALLOWED_IDS" in text for text in texts(telegram)] == [
        True
    ]
    async with serve(telegram_allowed_ids=BOTH) as app:  # the settings still name the former id
        says(telegram, "and where?", NEW)
        await answered(telegram, "You said: Ann: and where?", NEW)
        assert await left_under(app, OF_OLD) == {}
    assert len(texts(telegram)) == 1


async def test_29_who_has_put_the_new_id_into_the_settings_is_told_nothing(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve(telegram_allowed_ids=f"{BOTH},{NEW}"):
        says(telegram, "hello", OLD)
        await answered(telegram, "You said: Ann: hello", OLD)
        telegram.group_becomes(OLD, NEW)
        says(telegram, "hello again", NEW)
        await answered(telegram, "You said: Ann: hello again", NEW)
    assert texts(telegram) == []


async def test_29_where_nobody_can_be_told_in_private_the_group_is(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=str(OLD)) as app:
        says(telegram, "hello", OLD)
        await answered(telegram, "You said: Ann: hello", OLD)
        telegram.group_becomes(OLD, NEW)
        await answered(telegram, "TELEGRAM_ALLOWED_IDS", NEW)
        assert not await AccessList(app.database, "telegram", app.clock).has_members()


async def test_29_a_turn_that_runs_meanwhile_is_answered_under_the_new_id_and_once(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("thinking about it at some length, so that it is shown")
    model.script(held)
    async with serve(telegram_allowed_ids=BOTH) as app:
        says(telegram, "a long question", OLD)
        await model.wait_for(lambda: bool(model.requests))
        says(telegram, "and another one", OLD)
        await received(telegram)
        telegram.group_becomes(OLD, NEW)
        await answered(telegram, "and another one", NEW)
        await app.runner.idle(OF_NEW.session_id)
        assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0
        assert await left_under(app, OF_OLD) == {}
    # in one turn, or in two where the second came when the first had begun again
    asked = [said for said in model.requests[-1].said if said.startswith("Ann:")]
    assert asked == ["Ann: a long question", "Ann: and another one"]
    shown = [message.text for message in telegram.sent(NEW)]
    assert len(set(shown)) == len(shown)


async def test_29_what_is_just_being_handed_over_when_its_group_moves_is_answered_under_the_new_id(
    serve: Serve, telegram: BotApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(telegram_allowed_ids=BOTH) as app:
        telegram.user_says("hello", chat_id=ANN)  # so that she can be told of the move
        await answered(telegram, "You said: hello", ANN)
        looked_up, moved = asyncio.Event(), asyncio.Event()
        really = app.sessions.get_or_create

        async def slowly(address: Address) -> Session:
            if address == OF_OLD:
                looked_up.set()
                await moved.wait()
            return await really(address)

        monkeypatch.setattr(app.sessions, "get_or_create", slowly)
        says(telegram, "and where?", OLD)
        await looked_up.wait()
        telegram.group_becomes(OLD, NEW)
        await answered(telegram, "a new id", ANN)
        moved.set()
        await answered(telegram, "You said: Ann: and where?", NEW)
        await app.runner.idle(OF_NEW.session_id)
        assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0
    assert len(telegram.sent(NEW)) == 1


async def test_29_a_reply_that_the_former_id_does_not_take_any_more_arrives_at_the_new_one(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    """The send is what tells of the move first, whether or not the messages come."""
    telegram.register_chat(ANN)
    held = Holds("thinking")
    model.script(held)
    async with serve(telegram_allowed_ids=BOTH) as app:
        says(telegram, "hello", OLD)
        await model.wait_for(lambda: bool(model.requests))
        telegram.group_becomes(OLD, NEW, told=())
        held.release.set()
        await answered(telegram, "thinking", NEW)
        await app.runner.idle(OF_OLD.session_id)
        says(telegram, "again", NEW)
        await answered(telegram, "You said: Ann: again", NEW)
        assert await left_under(app, OF_OLD) == {}
        assert await app.database.value("SELECT count(*) FROM outbox WHERE state = 'given up'") == 0
    assert len(texts(telegram)) == 1


async def test_29_what_waits_in_the_inbox_and_the_buttons_go_along(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(telegram_allowed_ids=BOTH) as app:
        says(telegram, "/remember We meet on Thursdays", OLD)
        await answered(telegram, "Remembered", OLD)
        model.script(Holds("thinking"))
        says(telegram, "a question", OLD)
        await model.wait_for(lambda: bool(model.requests))
        says(telegram, "another one", OLD)
        await received(telegram)
        says(telegram, "/stop", OLD)
        await answered(telegram, "Stopped", OLD)
        telegram.group_becomes(OLD, NEW)
        await received(telegram)
        says(telegram, "go on", NEW)
        await answered(telegram, "go on", NEW)
        assert model.requests[-1].said[-2:] == ["Ann: another one", "Ann: go on"]
        assert labels(telegram, OLD) == ["Undo", "Edit"]
        press(telegram, "Undo", OLD, ANN)
        await answered(telegram, "Undone: We meet on Thursdays", NEW)
        assert await app.database.value("SELECT count(*) FROM entries") == 0


async def test_29_a_move_that_can_not_be_kept_is_made_as_soon_as_it_can(
    serve: Serve, telegram: BotApiServer, tmp_path: Path
) -> None:
    async with serve(telegram_allowed_ids=BOTH) as app:
        says(telegram, "Remember that the spare key is at Ann's", OLD)
        await answered(telegram, "Noted", OLD)
        await app.runner.idle(OF_OLD.session_id)
        async with app.database.transaction() as connection:
            await connection.execute(
                "CREATE TRIGGER full BEFORE INSERT ON moves BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        telegram.group_becomes(OLD, NEW)
        await telegram.wait_for(lambda: len(telegram.calls_to("getUpdates")) > 4)
        assert await left_under(app, OF_NEW) == {}
        async with app.database.transaction() as connection:
            await connection.execute("DROP TRIGGER full")
        says(telegram, "hello", NEW)
        await answered(telegram, "You said: Ann: hello", NEW)
        assert await left_under(app, OF_OLD) == {}
    (folder,) = tmp_path.rglob(OF_NEW.owner)
    assert "spare key" in (folder / "MEMORY.md").read_text(encoding="utf-8")
    assert not list(tmp_path.rglob(OF_OLD.owner))


async def test_29_only_a_group_that_is_served_is_followed(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=BOTH) as app:
        says(telegram, "hello", OLD)
        await answered(telegram, "You said: Ann: hello", OLD)
        # another group, that became a supergroup too, and a person whose message looks like that
        telegram.user_says("hi", chat_id=-7007, user_id=STRANGER, chat_type="group")
        telegram.group_becomes(-7007, -1007007)
        telegram.user_says("hi", chat_id=ANN, fields={"migrate_to_chat_id": -1009})
        telegram.user_says("hi", chat_id=STRANGER, fields={"migrate_from_chat_id": OLD})
        telegram.user_says("what?", chat_id=ANN)
        await answered(telegram, "You said: what?", ANN)
        assert await app.database.value("SELECT count(*) FROM moves") == 0
        assert (await left_under(app, OF_OLD))["sessions"] == 1


async def test_29_an_id_that_has_a_memory_of_its_own_is_not_mixed_with_another(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    async with serve(telegram_allowed_ids=f"{BOTH},{NEW}") as app:
        says(telegram, "hello", OLD)
        await answered(telegram, "You said: Ann: hello", OLD)
        says(telegram, "/remember We meet on Mondays", NEW)
        await answered(telegram, "Remembered", NEW)
        telegram.group_becomes(OLD, NEW)
        says(telegram, "hello", NEW)
        await answered(telegram, "You said: Ann: hello", NEW)
        assert await app.database.value("SELECT count(*) FROM moves") == 0
        assert (await left_under(app, OF_OLD))["sessions"] == 1
