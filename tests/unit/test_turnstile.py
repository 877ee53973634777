"""Tests of the order in which waiters pass."""

from __future__ import annotations

import asyncio

from memory.turnstile import Turnstile


async def test_hurried_waiter_precedes_the_others_in_their_order() -> None:
    turnstile, passed = Turnstile(1), list[str]()

    async def pass_as(name: str) -> None:
        async with turnstile.pass_through(name):
            passed.append(name)

    async with turnstile.pass_through("first"):
        tasks = [asyncio.create_task(pass_as(name)) for name in ("a", "b", "c", "d")]
        await asyncio.sleep(0)
        turnstile.hurry("c")  # This one waits already.
    await asyncio.gather(*tasks)
    assert passed == ["c", "a", "b", "d"]


async def test_place_of_a_cancelled_waiter_is_not_lost() -> None:
    turnstile = Turnstile(1)
    inside, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with turnstile.pass_through("somebody"):
            inside.set()
            await leave.wait()

    async def wait() -> None:
        async with turnstile.pass_through("somebody"):
            pass

    holder = asyncio.create_task(hold())
    await inside.wait()
    waiting = [asyncio.create_task(wait()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    leave.set()
    await asyncio.sleep(0)
    waiting[1].cancel()
    await asyncio.gather(holder, *waiting, return_exceptions=True)
    async with asyncio.timeout(5), turnstile.pass_through("somebody"):
        pass
