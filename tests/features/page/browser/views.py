"""The views of the memory page, and a memory that fills them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from playwright.async_api import Page

from bot.kernel import App
from memory.store.entry import Kind, NewEntry
from tests.support import exports
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_importer
from tests.support.talk import note_down

View = Callable[[Page], Awaitable[object]]
"""Brings the page to one of its views."""

IMPORTED = "[2025-03-14] - Plays chess on Thursdays.\n[2025-06-02] - Is allergic to walnuts.\n"
BEES = "The user keeps bees."


async def fill(app: App, person: Person, clock: FakeClock, folder: Path) -> None:
    """Fill the memory, so that each view has something of each kind, and texts that repeat."""
    owner, entries = person.address.owner, app.memory.entries
    clock.forward(days=-60)
    home = await app.memory.learning.learn(owner, NewEntry("I live in Kyiv.", kind=Kind.FACT))
    clock.forward(days=30)
    await app.memory.learning.learn(owner, NewEntry("I live in Lviv.", kind=Kind.FACT), home.entry.name)
    await person.says("We rented a boat house on the Dnipro.")
    clock.forward(days=30)
    for _ in range(2):
        bees = await entries.add(owner, NewEntry(BEES, kind=Kind.FACT, quote="I keep bees, you know"))
        await entries.remove(owner, f"#{bees.id}")
    await entries.add(owner, NewEntry(BEES, kind=Kind.FACT, quote="I keep bees, you know"))
    await entries.add(owner, NewEntry("The spare key is at Ann's."))
    recipe = "Grandma's recipe for the plum cake that everyone in the family likes"
    for kitchen in ("from Kyiv", "from Lviv"):
        await entries.add(owner, NewEntry(f"{recipe}, {kitchen}."))
    await note_down(app, "the bins go out on Tuesday")
    listed = folder / "list.txt"
    listed.write_text(IMPORTED, encoding="utf-8")
    session = await app.sessions.get_or_create(person.address)
    await find_importer(app).run(listed, session)
    await find_importer(app).run(exports.write_chatgpt(folder, 20), session)
    await person.says("Who keeps bees?")


async def wait_until_shown(page: Page) -> None:
    await page.locator("main:not([inert]) > *").first.wait_for()


def tab(name: str) -> View:
    async def open_tab(page: Page) -> None:
        await page.locator(f"#tabs button[data-tab={name}]").click()
        await page.locator(f"#tabs button[data-tab={name}][aria-current=page]").wait_for()
        await wait_until_shown(page)

    return open_tab


async def open_details(page: Page) -> None:
    await tab("timeline")(page)
    await page.locator("article.past").first.wait_for()
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")


async def edit_and_forget(page: Page) -> None:
    await page.get_by_role("button", name="Edit: The spare key").click()
    await page.locator("article textarea").wait_for()
    await page.get_by_role("button", name=f"Forget: {BEES}").click()
    await page.get_by_role("button", name=f"Undo: {BEES}").wait_for()


async def find_hits(page: Page) -> None:
    await page.get_by_role("searchbox").fill("boat house key")
    await page.locator("article.hit mark").first.wait_for()


async def open_found_message(page: Page) -> None:
    await page.get_by_role("button", name="Show the conversation: ").first.click()
    await page.locator(".said.meant").wait_for()


async def find_nothing(page: Page) -> None:
    await page.get_by_role("searchbox").fill("zzzz")
    await page.get_by_text("I didn't find anything").wait_for()


async def undo_change(page: Page) -> None:
    """Undo the import of the list, so that the toast covers other changes."""
    await tab("changes")(page)
    await page.get_by_role("button", name="Undo: ").nth(1).click()
    await page.locator("#toast.on").wait_for()
    await wait_until_shown(page)


async def review_file(page: Page) -> None:
    await tab("file")(page)
    field = page.get_by_role("textbox", name="MEMORY.md")
    await field.fill((await field.input_value()).replace("Tuesday", "Monday"))
    await page.get_by_role("button", name="Review changes").click()
    await page.locator(".diff .plus").wait_for()


def choose_file(file: Path) -> View:
    async def choose(page: Page) -> None:
        await tab("import")(page)
        await page.locator("input[type=file]").set_input_files(file)
        await page.get_by_role("button", name="Import file").wait_for()

    return choose


async def import_file(page: Page) -> None:
    await page.get_by_role("button", name="Import file").click()
    await page.get_by_role("button", name="Undo: Imported").wait_for()


def list_filled_views(file: Path) -> Mapping[str, View]:
    """Return the views of a filled memory, to be opened in this order.

    Args:
        file: An export that can be imported.
    """
    return {
        "memories with details": open_details,
        "editor, forgotten": edit_and_forget,
        "hits": find_hits,
        "found message": open_found_message,
        "no hits": find_nothing,
        "conversations": tab("conversations"),
        "changes": undo_change,
        "file": review_file,
        "last answer": tab("last"),
        "preview of an import": choose_file(file),
        "import": import_file,
    }
