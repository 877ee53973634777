"""Number of modules and functions that a message, a fact and a search enter: `python -m benchmarks.walks`.

The model is scripted. Each is done twice, so that work done only once per start isn't counted.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType

from bot.app import open_app
from bot.console.address import create_console_address
from config.logs import configure_logging
from config.settings import Settings
from memory.search.types import Filter
from tests.support.consolidating import create_answer
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says

ROOT = Path(__file__).parent.parent
OURS = tuple(f"{ROOT / package}/" for package in ("bot", "pipeline", "memory", "config"))
TOLD = "My sister Ann lives in Lviv and keeps bees."


async def trace_functions(walk: Callable[[], Awaitable[object]]) -> set[tuple[str, str]]:
    """Return module and name of each of our functions that a walk calls, in any thread."""
    calls: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS):
            calls.add((code.co_filename.removeprefix(f"{ROOT}/"), code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        await walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


async def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        async with ModelServer() as model:
            values = {"mneme_data_dir": folder, "openai_base_url": model.url, "llm_model": "scripted"}
            async with open_app(Settings.model_validate(values), FakeClock()) as app:
                person = Person(app)
                model.consolidation = lambda _: Says(
                    create_answer("Ann was told of.", None, ("Ann", "Ann keeps bees."))
                )

                async def learn() -> None:
                    await person.says(TOLD)
                    await person.says("/new")

                walks: dict[str, Callable[[], Awaitable[object]]] = {
                    "message": lambda: person.says("What does my sister keep?"),
                    "fact": learn,
                    "search": lambda: app.memory.recall.recall(
                        "sister bees", create_console_address("local").owner, Filter(), 5
                    ),
                }
                for name, walk in walks.items():
                    await walk()
                    calls = await trace_functions(walk)
                    print(f"{name:8} {len({module for module, _ in calls}):4} modules {len(calls):5} functions")


if __name__ == "__main__":
    configure_logging("error", "console")
    asyncio.run(main())
