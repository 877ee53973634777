"""Latency of the embedded model's first word: turn by turn, during a consolidation, and after a restart.

`python -m benchmarks.first_word` talks to the real model in a temporary data directory.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.small_learning import create_settings
from bot.app import open_app
from bot.console.address import create_console_address
from bot.console.console import ConsoleChannel, create_typed_arrival
from bot.kernel import App
from config.logs import configure_logging
from config.settings import Settings

MESSAGES = (
    "Hi! My name is Olena and I keep bees in Poltava.",
    "How many legs does a bee have?",
    "My sister Oksana helps me with the honey every August.",
    "What is honey made of?",
    "I'm allergic to peanuts, by the way.",
    "What could I plant for the bees?",
    "Is lavender a good choice?",
    "When does it bloom?",
    "Tell me one thing about wax.",
    "What is my sister called?",
)


class Stopwatch(ConsoleChannel):
    """A console that records the time of the first word."""

    def __init__(self) -> None:
        super().__init__()
        self.first: float | None = None

    async def show_text(self, text: str) -> None:
        """Record the time if this is the first text."""
        if self.first is None and text.strip():
            self.first = time.monotonic()


async def measure_first_word(app: App, text: str) -> float:
    """Return the seconds from a message to the first word of its answer."""
    channel, address = Stopwatch(), create_console_address("local")
    began = time.monotonic()
    await app.runner.submit(create_typed_arrival(app, address, text, channel))
    await app.runner.wait_until_idle(address.session_id)
    return (channel.first or time.monotonic()) - began


async def measure(settings: Settings) -> None:
    """Hold the conversation and print the latencies."""
    async with open_app(settings) as app:
        app.start_background_work()
        waits = [await measure_first_word(app, text) for text in MESSAGES]
        print(f"turn 1, with the model's start: {waits[0]:.1f} s")
        later = ", ".join(f"{one:.1f}" for one in waits[1:])
        print(f"turns 2 to 10: {later} s, median {statistics.median(waits[1:]):.1f}")
        began = time.monotonic()
        await measure_first_word(app, "/new")
        print(f"/new: {time.monotonic() - began:.1f} s")
        print(f"a message while the consolidation runs: {await measure_first_word(app, 'Good morning!'):.1f} s")
        print(f"the one after it: {await measure_first_word(app, 'What do you know about me?'):.1f} s")
    async with open_app(settings) as app:
        print(f"after a restart, with the model's start: {await measure_first_word(app, 'And where do I live?'):.1f} s")


def main() -> None:
    """Measure with the weights on this machine."""
    configure_logging("error", "console")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(create_settings(Path(folder))))


if __name__ == "__main__":
    main()
