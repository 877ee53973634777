"""Takes the screenshots for docs/page.md: `python -m tests.recordings.screenshots`. Needs Chromium.

The memory is made up, but the page is the real one.
"""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.async_api import Browser

from bot.app import open_app
from bot.kernel import App
from config.logs import configure_logging
from config.settings import Settings
from memory.store.entry import Author, Kind, NewEntry
from tests.features.page.browser.browsing import browsing, launch_chromium
from tests.features.page.browser.views import tab
from tests.features.page.serving import served
from tests.support import exports
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_importer
from tests.support.servers.model import ModelServer

FOLDER = Path(__file__).parents[2] / "docs"
BEGINNING = datetime(2026, 7, 14, 18, 0, tzinfo=UTC)
LEARNED = (
    (0, NewEntry("Answer in one sentence.", kind=Kind.POLICY)),
    (1, NewEntry("The user works as a nurse.", kind=Kind.FACT, quote="I work as a nurse, nights mostly")),
    (3, NewEntry("Grandma's birthday is on 3 May.", kind=Kind.NOTE)),
    (34, NewEntry("The user keeps bees.", kind=Kind.FACT, quote="three hives now, the bees are fine")),
    (36, NewEntry("I prefer tea in the morning.", kind=Kind.PREFERENCE, author=Author.CAPTURE)),
    (40, NewEntry("The dentist is Dr Marsh in Mill Lane.", kind=Kind.NOTE)),
    (61, NewEntry("The spare key is at Ann's.", kind=Kind.NOTE)),
    (62, NewEntry("Mia starts school in September.", kind=Kind.FACT, quote="Mia starts school in September!")),
    (95, NewEntry("The boat is called Seagull.", kind=Kind.FACT, quote="we called her Seagull")),
    (123, NewEntry("Mia has swimming lessons on Tuesdays.", kind=Kind.FACT, quote="swimming is every Tuesday now")),
)
"""Memories and the days after BEGINNING on which they are learned."""
LIST = "[2025-03-14] - Plays chess on Thursdays.\n[2025-06-02] - Is allergic to walnuts.\n"
TALKS = (
    ("A packing list for a week by the sea with two children", "Swimwear, sun hats, a first aid kit and a game each."),
    ("How do I get wax off a table cloth?", "Let it harden, scrape it off, then iron it between paper."),
    ("What do bees do in winter?", "They form a cluster around the queen and keep her warm."),
    ("Write a limerick on a heron for Grandma's birthday", "A heron who stood in the rain ..."),
    ("A birthday cake without nuts for twelve children", "A chocolate sheet cake with berries serves twelve."),
    ("Explain fractions to a seven-year-old", "Cut a pizza into four equal slices: each is a quarter."),
    ("What should we look at before we rent a sailing boat?", "The engine hours, the anchor chain and the weather."),
    ("Which bulbs should we plant in November?", "Tulips: the cold soil keeps them healthy."),
)
"""Conversations with ChatGPT, a week apart, oldest first."""
SHOTS = (
    ("page-phone-light", False, 390, "timeline"),
    ("page-phone-dark", True, 390, "timeline"),
    ("page-desktop-light", False, 1000, "changes"),
    ("page-desktop-dark", True, 1000, "conversations"),
)
"""Name of the picture, whether it is dark, width, and view."""


def write_export(folder: Path) -> Path:
    """Write an export of ChatGPT with TALKS."""
    conversations = []
    for number, talk in enumerate(TALKS):
        first = number * 10_000  # A week later.
        conversation = exports.create_chatgpt_conversation(first, len(talk))
        for at, words in enumerate(talk):
            conversation["mapping"][f"m{first + at}"]["message"]["content"]["parts"] = [words]
        conversations.append(conversation)
    return exports.write_zip(folder / "chatgpt.zip", {"conversations.json": conversations})


async def fill(app: App, person: Person, clock: FakeClock, folder: Path) -> None:
    """Fill the memory of a person in four months."""
    for days, new in LEARNED:
        clock.now = BEGINNING + timedelta(days=days)
        await app.memory.entries.add(person.address.owner, new)
    session = await app.sessions.get_or_create(person.address)
    clock.forward(hours=1)
    await find_importer(app).run(write_export(folder), session)
    clock.forward(hours=26)
    await person.says("I live in Kyiv.")
    listed = folder / "list.txt"
    listed.write_text(LIST, encoding="utf-8")
    await find_importer(app).run(listed, session)
    clock.forward(days=3, hours=2)
    await person.says("I moved from Kyiv to Lviv yesterday.")


async def record(browser: Browser) -> None:
    """Take all screenshots."""
    clock = FakeClock(BEGINNING)
    with tempfile.TemporaryDirectory() as folder:
        async with ModelServer() as model:
            settings = Settings.model_validate(
                {"mneme_data_dir": Path(folder) / "data", "openai_base_url": model.url, "llm_model": "scripted"}
            )
            async with open_app(settings, clock) as app:
                person = Person(app)
                await fill(app, person, clock, Path(folder))
                for name, dark, width, view in SHOTS:
                    async with (
                        served(app, person) as (_, link),
                        browsing(browser, link, dark=dark, width=width) as page,
                    ):
                        await tab(view)(page)
                        await page.locator("main article").first.wait_for()
                        await page.evaluate("document.activeElement.blur()")
                        await page.screenshot(path=FOLDER / f"{name}.png")


async def main() -> None:
    async with launch_chromium() as browser:
        await record(browser)


if __name__ == "__main__":
    configure_logging("error", "console")
    asyncio.run(main())
