"""Tests of the memory page in Chromium: axe, contrast, and the keyboard."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from bot.kernel import App
from memory.store.entry import Author, Kind, NewEntry
from tests.features.page.browser.browsing import (
    DESKTOP,
    HEIGHT,
    PHONE,
    TELEGRAM_COLOURS,
    blank_page,
    browsing,
    find_overflow,
    find_problems,
    find_problems_of_views,
    find_weak_texts,
    list_controls,
    open_in_telegram,
    press,
    run_axe,
    walk_with_keys,
)
from tests.features.page.browser.views import (
    fill,
    find_hits,
    list_filled_views,
    review_file,
    tab,
    wait_until_shown,
)
from tests.features.page.serving import served
from tests.support import exports
from tests.support.fakes import FakeClock, Person
from tests.support.features import needs_feature
from tests.support.mini_apps import mini_app, sign_init_data
from tests.support.serving import ANN, Serve

pytestmark = pytest.mark.asyncio(loop_scope="module")


@needs_feature("imports")
async def test_axe_finds_nothing_in_a_filled_memory(
    browser: Browser, app: App, person: Person, clock: FakeClock, tmp_path: Path
) -> None:
    await fill(app, person, clock, tmp_path)
    file = exports.write_chatgpt(tmp_path, 10, "another.zip")
    async with served(app, person) as (_, link), browsing(browser, link) as page:
        assert await find_problems_of_views(page, list_filled_views(file)) == {}


@needs_feature("imports")
async def test_empty_memory_is_accessible_and_says_how_to_begin(browser: Browser, app: App, person: Person) -> None:
    views = {name: tab(name) for name in ("changes", "last", "timeline")}
    async with served(app, person) as (_, link), browsing(browser, link) as page:
        assert await find_problems_of_views(page, views) == {}
        await page.get_by_text("Tell me something about you in the chat").wait_for()
        await page.get_by_role("main").get_by_role("button", name="Import").click()
        await page.get_by_role("button", name="Choose a file, or drop it here").wait_for()


async def test_axe_finds_nothing_on_pages_without_access(browser: Browser, app: App, person: Person) -> None:
    async with served(app, person) as (url, link), blank_page(browser, fails="403") as page:
        await page.goto(url)
        await page.get_by_text("Open the link that mneme web has printed").wait_for()
        assert await find_problems(page) == []
        await page.goto(f"{link.url}x")
        await page.get_by_text("This link was used already").wait_for()
        assert await find_problems(page) == []


async def test_axe_finds_nothing_in_telegrams_colours(browser: Browser, serve: Serve) -> None:
    async with mini_app(serve) as (app, client):
        owner = f"telegram:{ANN}"
        await app.memory.entries.add(owner, NewEntry("The key to the boat house is at Ann's.", name="key"))
        await app.memory.entries.add(owner, NewEntry("The user keeps bees.", kind=Kind.FACT, unconfirmed="imported"))
        await app.memory.long_term.append(owner, "- The bins go out on Tuesday", Author.USER)
        for mode in TELEGRAM_COLOURS:
            async with blank_page(browser, dark=mode == "light") as page:  # The system's mode is the other one.
                clock = app.clock() - timedelta(minutes=len(mode))  # Signed data is accepted once.
                await open_in_telegram(page, client, sign_init_data(ANN, clock), mode)
                for view in (tab("timeline"), find_hits, review_file):
                    await view(page)
                    assert await find_weak_texts(page) + await run_axe(page) == []
        async with blank_page(browser, fails="403") as page:
            await open_in_telegram(page, client, "")  # As outside Telegram.
            await page.get_by_role("main").get_by_text("Open this page from the chat with the bot.").wait_for()
            assert await run_axe(page) == []


@needs_feature("imports")
async def test_tab_reaches_every_control_with_visible_focus(
    browser: Browser, app: App, person: Person, clock: FakeClock, tmp_path: Path
) -> None:
    await fill(app, person, clock, tmp_path)
    async with served(app, person) as (_, link), browsing(browser, link) as page:
        for width, view in ((PHONE, tab("timeline")), (PHONE, review_file), (DESKTOP, tab("changes"))):
            await page.set_viewport_size({"width": width, "height": HEIGHT})
            await view(page)
            controls = await list_controls(page)
            await page.get_by_role("searchbox").focus()
            forth = await walk_with_keys(page, "Tab", len(controls) - 1)
            back = await walk_with_keys(page, "Shift+Tab", len(controls) - 1)
            assert [controls[0], *forth] == controls
            assert [*back[::-1], controls[-1]] == controls


@needs_feature("imports")
async def test_keyboard_keeps_its_place_after_each_action(
    browser: Browser, app: App, person: Person, clock: FakeClock, tmp_path: Path
) -> None:
    await fill(app, person, clock, tmp_path)
    async with served(app, person) as (_, link), browsing(browser, link) as page:
        steps = (
            ("Edit: The spare key is at Ann's.", "Edit"),
            ("Cancel: The spare key is at Ann's.", "Edit: The spare key is at Ann's."),
            ("Edit: The spare key is at Ann's.", "Edit"),
            ("Save: The spare key is at Ann's.", "Edit: The spare key is at Ann's."),
            ("Edit: I live in Lviv.", "Edit"),  # It has a closed list of details with a button.
            ("Cancel: I live in Lviv.", "Edit: I live in Lviv."),
            ("Forget: The user keeps bees.", "Undo: The user keeps bees."),
            ("Undo: The user keeps bees.", "Edit: The user keeps bees."),
            ("Right: Plays chess on Thursdays.", "Edit: Plays chess on Thursdays."),
            ("Past", "Past"),
            ("All", "All"),
        )
        for name, focused in steps:
            await press(page, page.get_by_role("button", name=name, exact=True))
            await wait_until_shown(page)
            await expect(page.locator(":focus")).to_have_accessible_name(focused)
        await press(page, page.get_by_role("button", name="Confirm everything imported"))
        await page.locator("main:focus").wait_for()
        await tab("changes")(page)
        await press(page, page.get_by_role("button", name="Undo: ").first)
        await page.locator("main:focus").wait_for()


async def test_show_more_moves_the_focus_to_the_first_new_memory(browser: Browser, app: App, person: Person) -> None:
    for number in range(35):
        await app.memory.entries.add(person.address.owner, NewEntry(f"Note {number} of the family"))
    async with served(app, person) as (_, link), browsing(browser, link) as page:
        await press(page, page.get_by_role("button", name="Show more"))
        await expect(page.locator(":focus")).to_have_text(re.compile("^note, "))
        await expect(page.locator("article:focus-within p").first).to_have_text("Note 4 of the family")


async def test_months_of_the_chart_do_not_overlap(browser: Browser, app: App, person: Person, clock: FakeClock) -> None:
    for month in range(30):
        await app.memory.entries.add(person.address.owner, NewEntry(f"Note {month} of the family"))
        clock.forward(days=31)
    async with served(app, person, "uk") as (_, link), browsing(browser, link, width=320) as page:
        labels = await page.locator(".columns small:not(:empty)").all()
        boxes = [box for label in labels if (box := await label.bounding_box())]
        assert len(boxes) == 6
        assert all(one["x"] + one["width"] <= two["x"] for one, two in pairwise(boxes))
        assert await find_overflow(page) == []
