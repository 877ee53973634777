"""Tests of groups that become supergroups with another id: everything continues under the new id."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.kernel import App
from memory.access import AccessList
from memory.log.sessions import Address, Session
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock
from tests.support.features import needs_feature
from tests.support.reminding import add_reminder, get_memory
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Holds
from tests.support.serving import ANN, STRANGER, Serve, list_labels, list_texts, press
from tests.support.talk import note_down

OLD, NEW = -5005, -1005005
BOTH = f"{ANN},{OLD}"
OF_OLD, OF_NEW = Address("telegram", str(OLD)), Address("telegram", str(NEW))


def send_to_group(telegram: BotApiServer, text: str, chat: int) -> None:
    """Send a message from Ann to the bot in the group."""
    kind = "group" if chat == OLD else "supergroup"
    telegram.user_says(f"@mneme_test_bot {text}", chat_id=chat, user_id=ANN, chat_type=kind)  # type: ignore[arg-type]


async def wait_for_answer(telegram: BotApiServer, text: str, chat: int) -> None:
    """Wait for a message of the bot that contains the text."""
    await telegram.wait_for(lambda: any(text in one for one in list_texts(telegram, chat)))


async def wait_until_received(telegram: BotApiServer) -> None:
    """Wait until the bot has received all updates."""
    await telegram.wait_for(lambda: not telegram.pending_update_ids)


async def count_rows_naming(app: App, address: Address) -> dict[str, int]:
    """Return for each table the number of rows that name a chat."""
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
@needs_feature("reminders")
async def test_29_group_migration_keeps_everything_stored(
    serve: Serve, telegram: BotApiServer, model: ModelServer, tmp_path: Path, told: tuple[str, ...]
) -> None:
    telegram.register_chat(ANN)
    async with serve(telegram_allowed_ids=BOTH) as app:
        send_to_group(telegram, "the spare key is at Ann's", OLD)
        await wait_for_answer(telegram, "You said", OLD)
        await note_down(app, "the spare key is at Ann's", OF_OLD.owner)
        send_to_group(telegram, "/remember We meet on Thursdays", OLD)
        await wait_for_answer(telegram, "Remembered", OLD)
        await app.runner.wait_until_idle(OF_OLD.session_id)
        await add_reminder(app, "stand-up", "2026-02-07T13:00", session=OF_OLD.session_id)
        telegram.group_becomes(OLD, NEW, told)
        await wait_until_received(telegram)
        send_to_group(telegram, "when do we meet?", NEW)
        await wait_for_answer(telegram, "You said: Ann: when do we meet?", NEW)
        await app.runner.wait_until_idle(OF_NEW.session_id)
        assert await count_rows_naming(app, OF_OLD) == {}
        assert await app.database.value("SELECT count(*) FROM reminders WHERE session_id = ?", (OF_NEW.owner,)) == 1
        assert "the spare key is at Ann's" in await get_memory(app).long_term.read(OF_NEW.owner)
        assert (await get_memory(app).entries.list(OF_NEW.owner, "note"))[0].content == "We meet on Thursdays"
        assert (await app.sessions.read_transcript(OF_NEW.session_id)).messages[0].content.endswith("key is at Ann's")
    asked = model.requests[-1]
    assert any("spare key" in said for said in asked.said[:-1]), "the conversation goes on"
    assert not list(tmp_path.rglob(OF_OLD.owner))
    assert [
        str(OLD) in text and str(NEW) in text and "TELEGRAM_ALLOWED_IDS" in text for text in list_texts(telegram)
    ] == [True]
    async with serve(telegram_allowed_ids=BOTH) as app:  # The settings still name the former id.
        send_to_group(telegram, "and where?", NEW)
        await wait_for_answer(telegram, "You said: Ann: and where?", NEW)
        assert await count_rows_naming(app, OF_OLD) == {}
    assert len(list_texts(telegram)) == 1


async def test_29_owner_with_new_id_in_settings_is_not_notified(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{BOTH},{NEW}"):
        send_to_group(telegram, "hello", OLD)
        await wait_for_answer(telegram, "You said: Ann: hello", OLD)
        telegram.group_becomes(OLD, NEW)
        send_to_group(telegram, "hello again", NEW)
        await wait_for_answer(telegram, "You said: Ann: hello again", NEW)
    assert list_texts(telegram) == []


async def test_29_group_is_notified_if_no_owner_can_be(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=str(OLD)) as app:
        send_to_group(telegram, "hello", OLD)
        await wait_for_answer(telegram, "You said: Ann: hello", OLD)
        telegram.group_becomes(OLD, NEW)
        await wait_for_answer(telegram, "TELEGRAM_ALLOWED_IDS", NEW)
        assert not await AccessList(app.database, "telegram", app.clock).has_members()


async def test_29_turn_running_during_migration_is_answered_once(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("thinking about it at some length, so that it is shown")
    model.script(held)
    async with serve(telegram_allowed_ids=BOTH) as app:
        send_to_group(telegram, "a long question", OLD)
        await model.wait_for(lambda: bool(model.requests))
        send_to_group(telegram, "and another one", OLD)
        await wait_until_received(telegram)
        telegram.group_becomes(OLD, NEW)
        await wait_for_answer(telegram, "and another one", NEW)
        await app.runner.wait_until_idle(OF_NEW.session_id)
        assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0
        assert await count_rows_naming(app, OF_OLD) == {}
    # In one turn, or in two if the second message came after the first had restarted.
    asked = [said for said in model.requests[-1].said if said.startswith("Ann:")]
    assert asked == ["Ann: a long question", "Ann: and another one"]
    shown = [message.text for message in telegram.list_sent(NEW)]
    assert len(set(shown)) == len(shown)


async def test_29_message_being_queued_during_migration_is_answered(
    serve: Serve, telegram: BotApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(telegram_allowed_ids=BOTH) as app:
        telegram.user_says("hello", chat_id=ANN)  # So that she can be notified of the migration.
        await wait_for_answer(telegram, "You said: hello", ANN)
        looked_up, moved = asyncio.Event(), asyncio.Event()
        really = app.sessions.get_or_create

        async def slowly(address: Address) -> Session:
            if address == OF_OLD:
                looked_up.set()
                await moved.wait()
            return await really(address)

        monkeypatch.setattr(app.sessions, "get_or_create", slowly)
        send_to_group(telegram, "and where?", OLD)
        await looked_up.wait()
        telegram.group_becomes(OLD, NEW)
        await wait_for_answer(telegram, "a new id", ANN)
        moved.set()
        await wait_for_answer(telegram, "You said: Ann: and where?", NEW)
        await app.runner.wait_until_idle(OF_NEW.session_id)
        assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0
    assert len(telegram.list_sent(NEW)) == 1


async def test_29_reply_refused_by_the_old_id_arrives_at_new(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    """The failed send is the first sign of the migration, whether or not the service messages come."""
    telegram.register_chat(ANN)
    held = Holds("thinking")
    model.script(held)
    async with serve(telegram_allowed_ids=BOTH) as app:
        send_to_group(telegram, "hello", OLD)
        await model.wait_for(lambda: bool(model.requests))
        telegram.group_becomes(OLD, NEW, told=())
        held.release.set()
        await wait_for_answer(telegram, "thinking", NEW)
        await app.runner.wait_until_idle(OF_OLD.session_id)
        send_to_group(telegram, "again", NEW)
        await wait_for_answer(telegram, "You said: Ann: again", NEW)
        assert await count_rows_naming(app, OF_OLD) == {}
        assert await app.database.value("SELECT count(*) FROM outbox WHERE state = 'given up'") == 0
    assert len(list_texts(telegram)) == 1


async def test_29_inbox_and_buttons_migrate(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    async with serve(telegram_allowed_ids=BOTH) as app:
        send_to_group(telegram, "/remember We meet on Thursdays", OLD)
        await wait_for_answer(telegram, "Remembered", OLD)
        model.script(Holds("thinking"))
        send_to_group(telegram, "a question", OLD)
        await model.wait_for(lambda: bool(model.requests))
        send_to_group(telegram, "another one", OLD)
        await wait_until_received(telegram)
        send_to_group(telegram, "/stop", OLD)
        await wait_for_answer(telegram, "Stopped", OLD)
        telegram.group_becomes(OLD, NEW)
        await wait_until_received(telegram)
        send_to_group(telegram, "go on", NEW)
        await wait_for_answer(telegram, "go on", NEW)
        assert model.requests[-1].said[-2:] == ["Ann: another one", "Ann: go on"]
        assert list_labels(telegram, OLD) == ["Undo", "Edit"]
        press(telegram, "Undo", OLD, ANN)
        await wait_for_answer(telegram, "Undone: We meet on Thursdays", NEW)
        assert await app.database.value("SELECT count(*) FROM entries") == 0


async def test_29_migration_that_can_not_be_stored_is_made_later(
    serve: Serve, telegram: BotApiServer, tmp_path: Path
) -> None:
    async with serve(telegram_allowed_ids=BOTH) as app:
        send_to_group(telegram, "the spare key is at Ann's", OLD)
        await wait_for_answer(telegram, "You said", OLD)
        await note_down(app, "the spare key is at Ann's", OF_OLD.owner)
        await app.runner.wait_until_idle(OF_OLD.session_id)
        async with app.database.transaction() as connection:
            await connection.execute(
                "CREATE TRIGGER full BEFORE INSERT ON moves BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        telegram.group_becomes(OLD, NEW)
        await telegram.wait_for(lambda: len(telegram.list_calls("getUpdates")) > 4)
        assert await count_rows_naming(app, OF_NEW) == {}
        async with app.database.transaction() as connection:
            await connection.execute("DROP TRIGGER full")
        send_to_group(telegram, "hello", NEW)
        await wait_for_answer(telegram, "You said: Ann: hello", NEW)
        assert await count_rows_naming(app, OF_OLD) == {}
    (folder,) = tmp_path.rglob(OF_NEW.owner)
    assert "spare key" in (folder / "MEMORY.md").read_text(encoding="utf-8")
    assert not list(tmp_path.rglob(OF_OLD.owner))


async def test_29_migration_of_an_unknown_group_is_ignored(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=BOTH) as app:
        send_to_group(telegram, "hello", OLD)
        await wait_for_answer(telegram, "You said: Ann: hello", OLD)
        # Another group that became a supergroup, and a private message that looks like a migration.
        telegram.user_says("hi", chat_id=-7007, user_id=STRANGER, chat_type="group")
        telegram.group_becomes(-7007, -1007007)
        telegram.user_says("hi", chat_id=ANN, fields={"migrate_to_chat_id": -1009})
        telegram.user_says("hi", chat_id=STRANGER, fields={"migrate_from_chat_id": OLD})
        telegram.user_says("what?", chat_id=ANN)
        await wait_for_answer(telegram, "You said: what?", ANN)
        assert await app.database.value("SELECT count(*) FROM moves") == 0
        assert (await count_rows_naming(app, OF_OLD))["sessions"] == 1


async def test_29_new_id_with_its_own_memory_is_not_mixed(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    async with serve(telegram_allowed_ids=f"{BOTH},{NEW}") as app:
        send_to_group(telegram, "hello", OLD)
        await wait_for_answer(telegram, "You said: Ann: hello", OLD)
        send_to_group(telegram, "/remember We meet on Mondays", NEW)
        await wait_for_answer(telegram, "Remembered", NEW)
        telegram.group_becomes(OLD, NEW)
        send_to_group(telegram, "hello", NEW)
        await wait_for_answer(telegram, "You said: Ann: hello", NEW)
        assert await app.database.value("SELECT count(*) FROM moves") == 0
        assert (await count_rows_naming(app, OF_OLD))["sessions"] == 1
