"""Tests of claiming the bot: a code works once, for a day, and can't be guessed."""

from __future__ import annotations

import asyncio

import pytest

from memory.access import CODE_ATTEMPTS, MAX_COUNTED_USERS, AccessList, NoMember, Tally
from memory.store.database import Database
from tests.support.fakes import FakeClock


@pytest.fixture
def access(database: Database, clock: FakeClock) -> AccessList:
    """Return Telegram's access list."""
    return AccessList(database, "telegram", clock)


async def test_new_access_list_has_no_members_and_accepts_no_code(access: AccessList) -> None:
    assert not await access.has_members()
    assert not await access.is_member(12345)
    assert not await access.claim(12345, "")


async def test_right_code_makes_a_permanent_member(database: Database, access: AccessList, clock: FakeClock) -> None:
    assert await access.claim(12345, await access.new_claim_code())
    clock.forward(days=1000)
    again = AccessList(database, "telegram", clock)
    assert await again.is_member(12345)
    assert await again.has_members()


async def test_member_is_an_exact_id(access: AccessList) -> None:
    await access.claim(12, await access.new_claim_code())
    assert not await access.is_member(123)
    assert not await access.is_member(1)


async def test_code_ignores_case_and_surrounding_spaces(access: AccessList) -> None:
    assert await access.claim(12345, f"  {(await access.new_claim_code()).lower()}\n")


async def test_code_works_once(access: AccessList) -> None:
    code = await access.new_claim_code()
    assert await access.claim(1, code)
    assert not await access.claim(2, code)
    assert not await access.is_member(2)


async def test_concurrent_claims_have_one_winner(access: AccessList) -> None:
    code = await access.new_claim_code()
    assert sorted(await asyncio.gather(access.claim(1, code), access.claim(2, code))) == [False, True]


async def test_24_too_many_attempts_block_only_that_user(access: AccessList) -> None:
    code = await access.new_claim_code()
    for _ in range(CODE_ATTEMPTS):
        assert not await access.claim(666, "WRONG")
    assert not await access.claim(666, code)
    assert await access.awaits_claim()
    assert await access.claim(12345, code)


async def test_24_attempts_of_many_users_void_no_code(access: AccessList) -> None:
    code = await access.new_claim_code()
    for user in range(1, 300):
        for _ in range(CODE_ATTEMPTS + 1):
            assert not await access.claim(user, "WRONG")
    assert await access.claim(12345, code)
    tally = Tally()
    assert [tally.add(1), tally.add(1)] == [1, 2]
    for user in range(MAX_COUNTED_USERS + 1):
        tally.add(user)
    assert tally.add(MAX_COUNTED_USERS) == 2
    assert tally.add(1) == 1  # The oldest entry is dropped.


async def test_24_member_is_listed_and_can_be_revoked(access: AccessList, clock: FakeClock) -> None:
    for user in (12345, 777):
        assert await access.claim(user, await access.new_claim_code())
        clock.forward(days=1)
    assert [member.user_id for member in await access.list_members()] == [12345, 777]
    await access.revoke(12345)
    assert [member.user_id for member in await access.list_members()] == [777]
    assert not await access.is_member(12345)
    with pytest.raises(NoMember, match="12345 has not claimed the bot"):
        await access.revoke(12345)


async def test_code_survives_a_few_typing_errors(access: AccessList) -> None:
    code = await access.new_claim_code()
    for _ in range(CODE_ATTEMPTS - 1):
        assert not await access.claim(12345, "WRONG")
    assert await access.claim(12345, code)


async def test_code_is_valid_for_a_day(access: AccessList, clock: FakeClock) -> None:
    code = await access.new_claim_code()
    clock.forward(hours=23, minutes=59)
    assert await access.claim(1, code)
    code = await access.new_claim_code()
    clock.forward(hours=24)
    assert not await access.claim(2, code)


async def test_new_code_replaces_the_former_and_its_failures(access: AccessList) -> None:
    former = await access.new_claim_code()
    for _ in range(CODE_ATTEMPTS):
        await access.claim(666, "WRONG")
    code = await access.new_claim_code()
    assert not await access.claim(1, former)
    assert await access.claim(1, code)


async def test_code_is_for_one_channel(database: Database, access: AccessList, clock: FakeClock) -> None:
    code = await access.new_claim_code()
    assert not await AccessList(database, "other", clock).claim(1, code)
    assert await access.claim(1, code)
    assert not await AccessList(database, "other", clock).is_member(1)


async def test_code_is_not_stored_in_plain_text(database: Database, access: AccessList) -> None:
    code = await access.new_claim_code()
    kept = [tuple(row) for row in await database.rows("SELECT * FROM claim_codes")]
    assert len(kept) == 1
    assert code not in str(kept)


async def test_claiming_again_changes_nothing(database: Database, access: AccessList) -> None:
    for _ in range(2):
        assert await access.claim(12345, await access.new_claim_code())
    assert await database.value("SELECT count(*) FROM members") == 1


async def test_admitted_user_is_a_member_but_no_owner(access: AccessList) -> None:
    assert await access.claim(1, await access.new_claim_code())
    await access.let_in(2)
    assert await access.list_owner_ids() == [1]
    assert [(member.user_id, member.is_guest) for member in await access.list_members()] == [(1, False), (2, True)]
    for user in (1, 2):
        await access.refuse(user)
    assert [member.user_id for member in await access.list_members()] == [1]


async def test_refused_user_is_not_asked_about_until_admitted(access: AccessList, clock: FakeClock) -> None:
    assert await access.should_ask_about(2)
    await access.refuse(2)
    clock.forward(days=30)
    assert not await access.should_ask_about(2)
    await access.let_in(2)
    assert await access.should_ask_about(2)
