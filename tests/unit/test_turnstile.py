"""Who goes first where several wait."""

from __future__ import annotations

import asyncio

from memory.turnstile import Turnstile


async def test_who_is_in_a_hurry_goes_before_all_that_wait_and_the_others_in_their_order() -> None:
    turnstile, passed = Turnstile(1), list[str]()

    async def pass_as(name: str) -> None:
        async with turnstile.passed(name):
            passed.append(name)

    async with turnstile.passed("first"):
        tasks = [asyncio.create_task(pass_as(name)) for name in ("a", "b", "c", "d")]
        await asyncio.sleep(0)
        turnstile.hurry("c")  # who waits already
    await asyncio.gather(*tasks)
    assert passed == ["c", "a", "b", "d"]


async def test_a_place_that_somebody_gives_up_waiting_for_is_not_lost() -> None:
    turnstile = Turnstile(1)
    inside, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with turnstile.passed("somebody"):
            inside.set()
            await leave.wait()

    async def wait() -> None:
        async with turnstile.passed("somebody"):
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
    async with asyncio.timeout(5), turnstile.passed("somebody"):
        pass
