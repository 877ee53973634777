"""Tests of the limit on concurrently prepared turns."""

from __future__ import annotations

import asyncio

from pipeline.runner import TurnLimiter


async def test_limiter_admits_up_to_its_limit_and_everyone_eventually() -> None:
    places, inside, most, ended = TurnLimiter(3), 0, 0, 0

    async def prepare() -> None:
        nonlocal inside, most, ended
        async with places.slot():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1
        ended += 1

    await asyncio.gather(*(prepare() for _ in range(20)))
    assert (most, ended) == (3, 20)


async def test_limiter_releases_a_slot_after_its_timeout() -> None:
    places, outside = TurnLimiter(1, max_seconds=0.01), asyncio.Event()

    async def prepare(*, slowly: bool) -> str:
        async with places.slot():
            if slowly:
                await outside.wait()
        return "ready"

    slow = asyncio.create_task(prepare(slowly=True))
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        assert await prepare(slowly=False) == "ready"
        outside.set()
        assert await slow == "ready"
        # A slot released by the timeout is not released twice.
        async with places.slot():
            waiting = asyncio.create_task(places.slot().__aenter__())
            await asyncio.sleep(0)
            assert not waiting.done()
            waiting.cancel()


async def test_cancelled_waiter_takes_no_slot() -> None:
    places = TurnLimiter(1)
    async with places.slot():
        waiting = asyncio.create_task(places.slot().__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    async with asyncio.timeout(10), places.slot():
        pass


async def test_prioritized_work_precedes_all_waiters() -> None:
    places, events = TurnLimiter(2, max_seconds=60), list[str]()

    async def prepare() -> None:
        async with places.slot():
            events.append("prepared")

    with places.prioritized():
        turns = [asyncio.create_task(prepare()) for _ in range(5)]
        with places.prioritized():  # The last of several ends the priority.
            await _run_event_loop()
            events.append("stopped")
        await _run_event_loop()
        events.append("answered")
    async with asyncio.timeout(10):
        await asyncio.gather(*turns)
    assert events == ["stopped", "answered", *["prepared"] * 5]


async def test_prioritized_work_delays_waiters_only_briefly() -> None:
    places = TurnLimiter(1, max_seconds=0.01)
    with places.prioritized():
        async with asyncio.timeout(10), places.slot():
            pass


async def test_closed_limiter_admits_nobody() -> None:
    places, events = TurnLimiter(1, max_seconds=0), list[str]()

    async def prepare() -> None:
        async with places.slot():
            events.append("prepared")

    with places.closed():
        turn = asyncio.create_task(prepare())
        await _run_event_loop()
        events.append("loaded")
    async with asyncio.timeout(10):
        await turn
    assert events == ["loaded", "prepared"]


async def test_cancelled_waiter_of_a_closed_limiter_takes_no_slot() -> None:
    places = TurnLimiter(1, max_seconds=60)
    with places.closed(), places.prioritized():
        waiting = asyncio.create_task(places.slot().__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    async with asyncio.timeout(10), places.slot():
        pass


async def _run_event_loop() -> None:
    for _ in range(100):
        await asyncio.sleep(0)
