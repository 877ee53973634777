"""Tests of the memory page in Chromium. They are skipped if it isn't installed."""

from __future__ import annotations

import re
import zipfile
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from bot.kernel import App
from memory.store.entry import Author, Kind, NewEntry
from tests.conftest import OpenApp
from tests.features.page.browsing import (
    CHROMIUM,
    DESKTOP,
    HEIGHT,
    PHONE,
    TELEGRAM_COLOURS,
    blank_page,
    browsing,
    find_overflow,
    find_problems,
    find_problems_of_views,
    launch_chromium,
    list_controls,
    open_in_telegram,
    press,
    run_axe,
    walk_with_keys,
)
from tests.features.page.serving import add_memories, served
from tests.features.page.views import (
    fill,
    find_hits,
    list_filled_views,
    open_found_message,
    review_file,
    tab,
    wait_until_shown,
)
from tests.support import exports
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock, Person
from tests.support.mini_apps import mini_app, sign_init_data
from tests.support.servers.model import ModelServer
from tests.support.serving import ANN, Serve

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium isn't installed: apt-get install chromium"),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """Start one Chromium for all tests. The other fixtures here run in its event loop."""
    async with launch_chromium() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def model() -> AsyncIterator[ModelServer]:
    """Run a scripted model."""
    async with ModelServer() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def telegram() -> AsyncIterator[BotApiServer]:
    """Run a local Telegram."""
    async with BotApiServer() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def app(start: OpenApp) -> AsyncIterator[App]:
    """Open an App with the scripted model."""
    async with start() as running:
        yield running


async def test_axe_finds_nothing_in_a_filled_memory(
    browser: Browser, app: App, person: Person, clock: FakeClock, tmp_path: Path
) -> None:
    await fill(app, person, clock, tmp_path)
    file = exports.write_chatgpt(tmp_path, 10, "another.zip")
    async with served(app, person) as (_, link), browsing(browser, link) as page:
        assert await find_problems_of_views(page, list_filled_views(file)) == {}


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
            async with blank_page(browser) as page:
                clock = app.clock() - timedelta(minutes=len(mode))  # Signed data is accepted once.
                await open_in_telegram(page, client, sign_init_data(ANN, clock), mode)
                views = {"memories": tab("timeline"), "hits": find_hits, "file": review_file}
                assert await find_problems_of_views(page, views) == {}, mode
        async with blank_page(browser, fails="403") as page:
            await open_in_telegram(page, client, "")  # As outside Telegram.
            await page.get_by_role("main").get_by_text("Open this page from the chat with the bot.").wait_for()
            assert await run_axe(page) == []


async def test_search_has_the_focus_marks_hits_and_is_kept(browser: Browser, app: App, person: Person) -> None:
    await add_memories(app, person)
    async with served(app, person) as (_, link), browsing(browser, link) as page:
        await page.locator("#words:focus").wait_for()
        await page.keyboard.type("spare key")
        await page.locator("article.hit mark", has_text="spare").wait_for()
        await page.get_by_role("button", name="Edit: The spare key is at Ann's.").wait_for()
        await find_hits(page)
        assert await page.locator("#tabs [aria-current]").count() == 0
        await open_found_message(page)
        await page.get_by_role("button", name="Back").click()
        await page.locator("article.hit mark").first.wait_for()
        assert await page.get_by_role("searchbox").input_value() == "boat house key"
        await page.get_by_role("searchbox").fill("")
        await page.locator("#tabs [data-tab=timeline][aria-current]").wait_for()


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


async def test_views_name_each_change_and_why_a_memory_was_used(
    browser: Browser, app: App, person: Person, clock: FakeClock, tmp_path: Path
) -> None:
    await fill(app, person, clock, tmp_path)
    async with served(app, person) as (_, link), browsing(browser, link) as page:
        await tab("changes")(page)
        verbs = await page.get_by_role("heading", level=2).all_inner_texts()
        assert {"Added", "Forgot", "Learned", "Imported"} <= {*verbs}
        for name in ("Undo: Forgot: The user keeps bees.", "Undo: Forgot: The user keeps bees. (2)"):
            await page.get_by_role("button", name=name, exact=True).wait_for()
        await tab("last")(page)
        await page.locator("article", has_text="bees").get_by_text("it fits your message").wait_for()
    assert re.search("It fits your message:\n(- .*\n)*- The user keeps bees", await person.says("/memory why"))


async def test_everything_imported_is_confirmed_at_once_and_undone(
    browser: Browser, app: App, person: Person, clock: FakeClock, tmp_path: Path
) -> None:
    await fill(app, person, clock, tmp_path)
    async with served(app, person) as (_, link), browsing(browser, link) as page:
        await page.get_by_role("button", name="Confirm everything imported").click()
        await page.get_by_role("button", name="To confirm", exact=True).click()
        await page.get_by_text("Nothing here yet.").wait_for()
        assert await app.memory.entries.list_unconfirmed(person.address.owner) == []
        # One click undoes it, and says so in the whole width of a phone.
        await tab("changes")(page)
        await page.get_by_role("button", name="Undo: Confirmed").click()
        toast = await page.locator("#toast.on").bounding_box()
        assert toast is not None
        assert toast["width"] > PHONE * 0.8
        assert len(await app.memory.entries.list_unconfirmed(person.address.owner)) == 2


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


async def test_page_searches_edits_confirms_and_undoes(browser: Browser, app: App, person: Person) -> None:
    await add_memories(app, person)
    async with served(app, person) as (_, link), browsing(browser, link) as page:
        await page.get_by_text("The spare key is at Ann's.").wait_for()
        await page.get_by_text("“I keep bees, you know”").wait_for()
        # Search while typing.
        await page.get_by_role("searchbox").fill("boat house")
        await page.locator("article", has_text="Dnipro").first.wait_for()
        await page.get_by_role("button", name="Show the conversation").first.click()
        await page.locator(".said.meant", has_text="boat house").wait_for()
        # Edit in place.
        await page.get_by_role("button", name="Memories").click()
        card = page.locator("article", has_text="spare key")
        await card.get_by_role("button", name="Edit").click()
        await page.get_by_role("textbox", name="Edit").fill("The spare key is at Bob's.")
        await page.get_by_role("button", name="Save").click()
        await page.get_by_text("The spare key is at Bob's.").wait_for()
        assert {entry.content for entry in await app.memory.entries.list(person.address.owner, "note")} == {
            "The spare key is at Bob's."
        }
        # Confirm.
        await page.get_by_role("button", name="To confirm (1)").click()
        await page.locator("article", has_text="chess").get_by_role("button", name="Right").click()
        await page.locator(".flag").wait_for(state="detached")
        assert await app.memory.entries.list_unconfirmed(person.address.owner) == []
        # Forget, and undo at once.
        await page.get_by_role("button", name="All", exact=True).click()
        await page.locator("article", has_text="Bob's").get_by_role("button", name="Forget").click()
        await page.locator("article", has_text="Bob's").get_by_role("button", name="Undo").click()
        await page.locator("article", has_text="Bob's").get_by_role("button", name="Edit").wait_for()
        # The last changes with their undo buttons.
        await page.get_by_role("button", name="Changes").click()
        await page.locator("article", has_text="chess").first.get_by_role("button", name="Undo").click()
        await page.get_by_role("status").get_by_text("chess").wait_for()
        assert len(await app.memory.entries.list_unconfirmed(person.address.owner)) == 1


async def test_notes_file_is_changed_after_a_review_and_all_is_downloaded(
    browser: Browser, app: App, person: Person
) -> None:
    await person.says("Remember that the bins go out on Tuesday")
    async with served(app, person) as (_, link), browsing(browser, link) as page:
        await page.get_by_role("button", name="Notes file").click()
        field = page.get_by_role("textbox", name="MEMORY.md")
        await field.fill((await field.input_value()).replace("Tuesday", "Monday"))
        await page.get_by_role("button", name="Review changes").click()
        await page.locator(".minus", has_text="Tuesday").wait_for()
        await page.locator(".minus + .plus", has_text="Monday").wait_for()
        await page.get_by_role("button", name="Save").click()
        await page.get_by_role("button", name="Save").wait_for(state="detached")
        assert "Monday" in await app.memory.long_term.read(person.address.owner)
        await person.says("/undo")
        assert "Tuesday" in await app.memory.long_term.read(person.address.owner)
        async with page.expect_download() as download:
            await page.get_by_role("button", name="Download everything").click()
        file = await download.value
        assert file.suggested_filename == "mneme-export-2026-02-07.zip"
        with zipfile.ZipFile(await file.path()) as archive:
            assert any(b"Tuesday" in archive.read(name) for name in archive.namelist())


async def test_page_imports_a_file_with_report_and_undo(
    browser: Browser, app: App, person: Person, tmp_path: Path
) -> None:
    file = exports.write_chatgpt(tmp_path, 20)
    async with served(app, person) as (_, link), browsing(browser, link, width=DESKTOP) as page:
        await tab("import")(page)
        await page.locator("input[type=file]").set_input_files(file)
        await page.get_by_text("ChatGPT: 2 conversations (20 messages").wait_for()
        await page.get_by_role("button", name="Import file").click()
        await page.get_by_text("Imported from ChatGPT: 2 conversations").wait_for()
        await page.get_by_role("button", name="Undo").click()
        await page.get_by_text("Undone: Imported from ChatGPT").wait_for()
        assert await app.memory.database.value("SELECT count(*) FROM imported") == 0
