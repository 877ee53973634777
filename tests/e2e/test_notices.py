"""Quiet lines that wait for the next reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.buttons import Notice
from memory.log.sessions import Address
from memory.store.notices import MAX_NOTICES_PER_REPLY, PendingNotices
from tests.support.fakes import Person
from tests.support.servers.model import Fails, Says

if TYPE_CHECKING:
    from bot.app import App
    from memory.store.database import Database
    from tests.conftest import OpenApp
    from tests.support.fakes import FakeClock
    from tests.support.servers.model import ModelServer


async def test_notices_wait_in_order_and_for_their_owner_only(database: Database, clock: FakeClock) -> None:
    notices = PendingNotices(database)
    for number in range(MAX_NOTICES_PER_REPLY + 2):
        await notices.add("telegram:1", Notice(f"line {number}"))
    await notices.add("telegram:2", Notice("another's"))
    assert [one.line.text for one in await notices.waiting("telegram:1")] == [
        f"line {n}" for n in range(MAX_NOTICES_PER_REPLY)
    ]
    assert [one.line.text for one in await notices.waiting("telegram:2")] == ["another's"]
    assert await notices.waiting("telegram:3") == []


async def test_what_is_too_much_for_one_reply_is_told_under_the_next(app: App, model: ModelServer) -> None:
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


async def test_a_notice_is_told_in_the_owners_chat_and_not_kept_in_history(app: App, model: ModelServer) -> None:
    model.otherwise = lambda _: Says("Fine.")
    await PendingNotices(app.database).add("console:local", Notice("told once"))
    assert await Person(app, Address("telegram", "2")).says("Hello") == "Fine."
    assert await Person(app).says("Hello") == "Fine.\n\n_told once_"
    await Person(app).says("And now?")
    assert "told once" not in model.requests[-1].prompt


async def test_a_turn_that_fails_tells_it_too_and_a_command_does_not(app: App, model: ModelServer) -> None:
    await PendingNotices(app.database).add("console:local", Notice("told once"))
    assert "told once" not in await Person(app).says("/status")
    model.script(Fails(404))
    assert (await Person(app).says("Hello")).endswith("\n\n_told once_")
    assert await PendingNotices(app.database).waiting("console:local") == []


async def test_a_chat_that_forgets_everything_forgets_what_was_to_be_told(start: OpenApp) -> None:
    async with start() as app:
        await PendingNotices(app.database).add("console:local", Notice("told once"))
        await Person(app).says("/forget all confirm")
        assert await app.database.value("SELECT count(*) FROM notices") == 0
