"""Tests of the memory page in Chromium: searching, editing, undoing, importing and downloading."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from playwright.async_api import Browser

from bot.kernel import App
from memory.store.entry import NewEntry
from tests.features.page.browser.browsing import (
    DESKTOP,
    PHONE,
    browsing,
)
from tests.features.page.browser.views import (
    fill,
    find_hits,
    open_found_message,
    tab,
)
from tests.features.page.serving import add_memories, served
from tests.support import exports
from tests.support.fakes import FakeClock, Person
from tests.support.features import needs_feature
from tests.support.talk import note_down

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
        await page.reload()
        await page.locator("article.hit mark").first.wait_for()
        assert await page.get_by_role("searchbox").input_value() == "boat house key"
        await page.get_by_role("searchbox").fill("")
        await page.locator("#tabs [data-tab=timeline][aria-current]").wait_for()


async def test_memory_shows_its_name_and_tags(browser: Browser, app: App, person: Person) -> None:
    await app.memory.entries.add(
        person.address.owner, NewEntry("The spare key is at Ann's", name="key", tags=("home", "garden"))
    )
    async with served(app, person) as (_, link), browsing(browser, link) as page:
        summary = page.locator("article summary")
        await summary.wait_for()
        assert (await summary.inner_text()).endswith(" · key · #home #garden")


@needs_feature("imports")
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


@needs_feature("imports")
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


async def test_notes_file_is_reviewed_saved_and_downloaded(browser: Browser, app: App, person: Person) -> None:
    await note_down(app, "the bins go out on Tuesday")
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


@needs_feature("imports")
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
