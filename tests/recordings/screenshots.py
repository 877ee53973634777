"""Takes the screenshots for docs/page.md: `python -m tests.recordings.screenshots`. Needs Chromium.

The memory is made up, but the page is the real one.
"""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.app import open_app
from config.logs import configure_logging
from config.settings import Settings
from memory.store.entry import Author, Kind, NewEntry
from tests.features.page.test_memory_page import browsing, served
from tests.support import exports
from tests.support.fakes import Person
from tests.support.features import find_importer
from tests.support.servers.model import ModelServer

FOLDER = Path(__file__).parents[2] / "docs"
LEARNED = (
    (0, NewEntry("Answer in one sentence.", kind=Kind.POLICY)),
    (1, NewEntry("The user works as a nurse.", kind=Kind.FACT, quote="I work as a nurse, nights mostly")),
    (34, NewEntry("The user keeps bees.", kind=Kind.FACT, quote="three hives now, the bees are fine")),
    (36, NewEntry("I prefer tea in the morning.", kind=Kind.PREFERENCE, author=Author.CAPTURE)),
    (61, NewEntry("The spare key is at Ann's.", kind=Kind.NOTE)),
    (62, NewEntry("Mia starts school in September.", kind=Kind.FACT, quote="Mia starts school in September!")),
    (95, NewEntry("The boat is called Seagull.", kind=Kind.FACT, quote="we called her Seagull")),
)
LIST = "[2025-03-14] - Plays chess on Thursdays.\n[2025-06-02] - Is allergic to walnuts.\n"
SHOTS = (
    ("page-phone-light", False, 400, "timeline"),
    ("page-phone-dark", True, 400, "timeline"),
    ("page-desktop-light", False, 1000, "changes"),
    ("page-desktop-dark", True, 1000, "conversations"),
)


async def record() -> None:
    """Take all screenshots."""
    now = datetime(2026, 7, 14, 18, 0, tzinfo=UTC)
    with tempfile.TemporaryDirectory() as folder:
        async with ModelServer() as model:
            settings = Settings.model_validate(
                {"mneme_data_dir": Path(folder) / "data", "openai_base_url": model.url, "llm_model": "scripted"}
            )
            async with open_app(settings, lambda: now) as app:
                person = Person(app)
                begun = now
                for days, new in LEARNED:
                    now = begun + timedelta(days=days)
                    await app.memory.entries.add(person.address.owner, new)
                now += timedelta(days=3)
                await person.says("I live in Kyiv.")
                now += timedelta(days=20)
                await person.says("I moved from Kyiv to Lviv yesterday.")
                session = await app.sessions.get_or_create(person.address)
                listed = Path(folder) / "list.txt"
                listed.write_text(LIST, encoding="utf-8")
                await find_importer(app).run(listed, session)
                await find_importer(app).run(exports.write_chatgpt(Path(folder), 4_000), session)
                for name, dark, width, tab in SHOTS:
                    async with served(app, person) as (url, link), browsing(url, link, dark=dark, width=width) as page:
                        await page.locator(f"#tabs button[data-tab={tab}]").click()
                        await page.wait_for_load_state("networkidle")
                        await page.locator("main article").first.wait_for()
                        await page.screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    configure_logging("error", "console")
    asyncio.run(record())
