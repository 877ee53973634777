"""Tests of notices that wait for the next reply."""

from __future__ import annotations

from bot.kernel import App
from memory.buttons import Notice
from memory.log.sessions import Address
from memory.store.database import Database
from memory.store.notices import MAX_NOTICES_PER_REPLY, PendingNotices
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Says


async def test_notices_are_ordered_and_separate_for_each_owner(database: Database, clock: FakeClock) -> None:
    notices = PendingNotices(database)
    for number in range(MAX_NOTICES_PER_REPLY + 2):
        await notices.add("telegram:1", Notice(f"line {number}"))
    await notices.add("telegram:2", Notice("another's"))
    assert [one.line.text for one in await notices.list_waiting("telegram:1")] == [
        f"line {n}" for n in range(MAX_NOTICES_PER_REPLY)
    ]
    assert [one.line.text for one in await notices.list_waiting("telegram:2")] == ["another's"]
    assert await notices.list_waiting("telegram:3") == []


async def test_notices_over_the_limit_are_shown_with_the_next_reply(app: App, model: ModelServer) -> None:
    model.otherwise = lambda _: Says("Fine.")
    notices, person = PendingNotices(app.database), Person(app)
    for number in range(MAX_NOTICES_PER_REPLY + 1):
        await notices.add("console:local", Notice(f"line {number}"))
    assert (await person.says("Hello")).split("\n\n") == [
        "Fine.",
        *(f"_line {n}_" for n in range(MAX_NOTICES_PER_REPLY)),
    ]
    assert await person.says("Hello") == f"Fine.\n\n_line {MAX_NOTICES_PER_REPLY}_"
    assert await person.says("Hello") == "Fine."


async def test_notice_is_shown_in_its_owners_chat_and_not_kept(app: App, model: ModelServer) -> None:
    model.otherwise = lambda _: Says("Fine.")
    await PendingNotices(app.database).add("console:local", Notice("told once"))
    assert await Person(app, Address("telegram", "2")).says("Hello") == "Fine."
    assert await Person(app).says("Hello") == "Fine.\n\n_told once_"
    await Person(app).says("And now?")
    assert "told once" not in model.requests[-1].prompt


async def test_notice_is_shown_by_failed_turns_but_not_commands(app: App, model: ModelServer) -> None:
    await PendingNotices(app.database).add("console:local", Notice("told once"))
    assert "told once" not in await Person(app).says("/status")
    model.script(Fails(404))
    assert (await Person(app).says("Hello")).endswith("\n\n_told once_")
    assert await PendingNotices(app.database).list_waiting("console:local") == []


async def test_forget_all_deletes_pending_notices(start: OpenApp) -> None:
    async with start() as app:
        await PendingNotices(app.database).add("console:local", Notice("told once"))
        await Person(app).says("/forget all confirm")
        assert await app.database.value("SELECT count(*) FROM notices") == 0
