"""How many turns are prepared at a time."""

from __future__ import annotations

import asyncio

from pipeline.runner import TurnLimiter


async def test_no_more_than_there_are_places_and_everybody_in_the_end() -> None:
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


async def test_who_waits_for_something_outside_keeps_nobody_waiting_for_long() -> None:
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
        # the place that was given back by time is not given back twice
        async with places.slot():
            waiting = asyncio.create_task(places.slot().__aenter__())
            await asyncio.sleep(0)
            assert not waiting.done()
            waiting.cancel()


async def test_who_is_stopped_while_waiting_takes_no_place() -> None:
    places = TurnLimiter(1)
    async with places.slot():
        waiting = asyncio.create_task(places.slot().__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    async with asyncio.timeout(10), places.slot():
        pass


async def test_what_goes_before_is_done_before_anybody_is_let_in() -> None:
    places, events = TurnLimiter(2, max_seconds=60), list[str]()

    async def prepare() -> None:
        async with places.slot():
            events.append("prepared")

    with places.prioritized():
        turns = [asyncio.create_task(prepare()) for _ in range(5)]
        with places.prioritized():  # of several who go before, the last to end lets them in
            await _many_rounds()
            events.append("stopped")
        await _many_rounds()
        events.append("answered")
    async with asyncio.timeout(10):
        await asyncio.gather(*turns)
    assert events == ["stopped", "answered", *["prepared"] * 5]


async def test_nobody_waits_for_long_for_what_goes_before() -> None:
    places = TurnLimiter(1, max_seconds=0.01)
    with places.prioritized():
        async with asyncio.timeout(10), places.slot():
            pass


async def test_nobody_is_let_in_while_what_all_need_is_made_ready() -> None:
    places, events = TurnLimiter(1, max_seconds=0), list[str]()

    async def prepare() -> None:
        async with places.slot():
            events.append("prepared")

    with places.closed():
        turn = asyncio.create_task(prepare())
        await _many_rounds()
        events.append("loaded")
    async with asyncio.timeout(10):
        await turn
    assert events == ["loaded", "prepared"]


async def test_who_is_stopped_while_nobody_is_let_in_takes_no_place() -> None:
    places = TurnLimiter(1, max_seconds=60)
    with places.closed(), places.prioritized():
        waiting = asyncio.create_task(places.slot().__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    async with asyncio.timeout(10), places.slot():
        pass


async def _many_rounds() -> None:
    for _ in range(100):
        await asyncio.sleep(0)
