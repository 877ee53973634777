"""The memory page in Chromium: how tests serve, open and examine it."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Browser, Locator, Page, Route, async_playwright, expect

from bot.features.page.access import OneTimeLink
from tests.features.page.browser.views import View
from tests.support.mini_apps import PUBLIC_HOST

CHROMIUM = shutil.which("chromium")
ARGUMENTS = (
    "--no-sandbox",  # The sandbox refuses to run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PHONE, DESKTOP = 390, 1280
"""Widths of the viewport in pixels."""
HEIGHT = 860
TIMEOUT_MS = 30_000  # Other tests run at the same time
AXE_OPTIONS = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
"""All rules of axe, plus `target-size`, which is off by default."""
VARIATIONS = ((PHONE, True, False), (PHONE, False, True), (DESKTOP, False, False), (DESKTOP, True, True))
"""Width, whether the mode is dark, and whether axe runs."""
MIN_CONTRAST = 4.5
CONTRASTS = """() => {
  const parse = (text) => {
    const numbers = text.match(/[\\d.]+/g).map(Number);
    const scale = text.startsWith("color(") ? 1 : 255;
    return { parts: numbers.slice(0, 3).map((number) => number / scale), alpha: numbers[3] ?? 1 };
  };
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const luminance = ({ parts: [red, green, blue] }) =>
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const ground = (one) => {
    for (; one; one = one.parentElement) {
      const colour = parse(getComputedStyle(one).backgroundColor);
      if (colour.alpha === 1) return colour;
    }
    return { parts: [1, 1, 1] };
  };
  const compare = (text, one, style = getComputedStyle(one)) => {
    const [darker, lighter] = [luminance(parse(style.color)), luminance(ground(one))].sort((a, b) => a - b);
    return [text.trim().slice(0, 60), (lighter + 0.05) / (darker + 0.05)];
  };
  const found = [];
  for (const one of document.body.querySelectorAll("*")) {
    if (!one.checkVisibility({ visibilityProperty: true })) continue;
    for (const node of one.childNodes)
      if (node.nodeType === Node.TEXT_NODE && node.data.trim()) found.push(compare(node.data, one));
    if (one.value && one.matches("input, textarea")) found.push(compare(one.value, one));
    else if (one.placeholder) found.push(compare(one.placeholder, one, getComputedStyle(one, "::placeholder")));
  }
  return found;
}"""
"""A function that returns each visible text with the contrast to its background."""


@contextlib.asynccontextmanager
async def launch_chromium() -> AsyncIterator[Browser]:
    """Start Chromium, with an empty profile for each page."""
    expect.set_options(timeout=TIMEOUT_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


@contextlib.asynccontextmanager
async def blank_page(
    browser: Browser, *, dark: bool = False, width: int = PHONE, fails: str = ""
) -> AsyncIterator[Page]:
    """Open an empty page. At the end there must be no errors, failed requests or violations of the policy.

    Args:
        fails: A part of the errors that are expected.
    """
    context = await browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
        locale="en-US",
        timezone_id="UTC",
    )
    try:
        context.set_default_timeout(TIMEOUT_MS)
        page = await context.new_page()
        failures: list[str] = []
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.on("requestfailed", lambda request: failures.append(request.url))
        page.on("console", lambda message: failures.append(message.text) if message.type == "error" else None)
        yield page
        assert [failure for failure in failures if not fails or fails not in failure] == []
    finally:
        await context.close()


@contextlib.asynccontextmanager
async def browsing(
    browser: Browser, link: OneTimeLink, *, dark: bool = False, width: int = PHONE, fails: str = ""
) -> AsyncIterator[Page]:
    """Open the page by its link."""
    async with blank_page(browser, dark=dark, width=width, fails=fails) as page:
        await page.goto(link.url)
        await page.locator("#tabs button[aria-current]").wait_for()
        await page.locator("main:not([inert]) > *").first.wait_for()
        yield page


async def find_problems_of_views(page: Page, views: Mapping[str, View]) -> dict[str, list[str]]:
    """Open the views in their order and return the problems of those that have any."""
    problems = {}
    for name, view in views.items():
        await view(page)
        problems[name] = await find_problems(page)
    return {name: found for name, found in problems.items() if found}


async def find_problems(page: Page) -> list[str]:
    """Return what axe finds, weak contrast, sideways scrolling, and names that several buttons have.

    Contrast and width are examined light and dark, narrow and wide. axe runs twice and sees each mode and each width.
    """
    problems = [f"two buttons are called {name}" for name in await find_repeated_names(page)]
    for width, dark, with_axe in VARIATIONS:
        await page.set_viewport_size({"width": width, "height": HEIGHT})
        await page.emulate_media(color_scheme="dark" if dark else "light")
        found = await find_overflow(page) + await find_weak_texts(page) + (await run_axe(page) if with_axe else [])
        problems += [f"{'dark' if dark else 'light'}, {width}: {problem}" for problem in found]
    return problems


async def run_axe(page: Page) -> list[str]:
    """Return a line for each violation that axe finds."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE_SCRIPT)
    response: dict[str, Any] = await page.evaluate("(options) => axe.run(options)", AXE_OPTIONS)
    return [f"{rule['id']}: {_describe(node)}" for rule in response["violations"] for node in rule["nodes"]]


async def find_weak_texts(page: Page) -> list[str]:
    """Return the texts with a contrast below MIN_CONTRAST, including those that axe can't decide."""
    texts: list[tuple[str, float]] = await page.evaluate(CONTRASTS)
    return [f"contrast {contrast:.2f}: {text}" for text, contrast in texts if contrast < MIN_CONTRAST]


def _describe(node: Mapping[str, Any]) -> str:
    checks = node["any"] + node["all"] + node["none"]
    return f"{node['html'][:120]} ({'; '.join(check['message'] for check in checks)})"


async def find_overflow(page: Page) -> list[str]:
    """Return the width of the content if it has to be scrolled sideways."""
    content, view = await page.evaluate(
        "() => { const root = document.documentElement; return [root.scrollWidth, root.clientWidth] }"
    )
    return [f"{content} pixels in {view}"] if content > view else []


async def find_repeated_names(page: Page) -> list[str]:
    """Return the accessible names that several buttons have."""
    names = [line.strip() for line in (await page.locator("main").aria_snapshot()).splitlines()]
    buttons = [name.removesuffix(":") for name in names if name.startswith("- button")]
    return sorted({name for name in buttons if buttons.count(name) > 1})


TELEGRAM = """
window.Telegram = { WebApp: {
  initData: %s, colorScheme: %s, ready() {}, expand() {}, onEvent() {}, isVersionAtLeast: () => false,
} };
for (const [name, colour] of Object.entries(%s))
  document.documentElement.style.setProperty(`--tg-theme-${name}-color`, colour);
"""
"""A substitute for Telegram's script, with its data, its mode and its colours."""
TELEGRAM_COLOURS: Mapping[str, Mapping[str, str]] = {
    "light": {
        "bg": "#ffffff", "secondary-bg": "#f1f1f1", "text": "#000000", "hint": "#999999",
        "button": "#40a7e3", "button-text": "#ffffff",
    },
    "dark": {
        "bg": "#17212b", "secondary-bg": "#232e3c", "text": "#f5f5f5", "hint": "#708499",
        "button": "#5288c1", "button-text": "#ffffff",
    },
}  # fmt: skip
"""The colours of Telegram Desktop."""


async def open_in_telegram(page: Page, client: httpx.AsyncClient, init_data: str, mode: str = "light") -> None:
    """Open the Mini App. Its requests go to the client's server, as if that were at WEB_URL.

    Args:
        init_data: Signed data, or an empty string as outside of Telegram.
        mode: `light` or `dark`.
    """

    async def forward(route: Route) -> None:
        request = route.request
        path = request.url.removeprefix(f"https://{PUBLIC_HOST}/page/")
        headers = {name: value for name, value in request.headers.items() if name not in ("host", "content-length")}
        answer = await client.request(request.method, path, headers=headers, content=request.post_data_buffer)
        await route.fulfill(status=answer.status_code, headers=dict(answer.headers), body=answer.content)

    script = TELEGRAM % (json.dumps(init_data), json.dumps(mode), json.dumps(TELEGRAM_COLOURS[mode]))
    await page.route(
        "https://telegram.org/**", lambda route: route.fulfill(content_type="text/javascript", body=script)
    )
    await page.route(f"https://{PUBLIC_HOST}/**", forward)
    await page.goto(f"https://{PUBLIC_HOST}/page/")
    await page.locator("main:not([inert]) > *").first.wait_for()


CONTROLS = "a[href], button, input:not([hidden]), textarea, summary"
FOCUSED = """() => {
  const one = document.activeElement;
  const box = one.getBoundingClientRect();
  const seen = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  return {
    name: one.getAttribute("aria-label") ?? one.textContent,
    outlined: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
    uncovered: one === seen || one.contains(seen),
  };
}"""


async def list_controls(page: Page) -> list[str]:
    """Return the names of all controls that are shown."""
    names: list[str] = await page.evaluate(
        """(controls) => [...document.querySelectorAll(controls)].filter((one) => one.checkVisibility())
          .map((one) => one.getAttribute("aria-label") ?? one.textContent)""",
        CONTROLS,
    )
    return names


async def walk_with_keys(page: Page, key: str, steps: int) -> list[str]:
    """Press a key repeatedly. Return the names of the controls that had the focus, marked if it was not visible."""
    reached = []
    for _ in range(steps):
        await page.keyboard.press(key)
        focused = await page.evaluate(FOCUSED)
        marks = [mark for mark in ("outlined", "uncovered") if not focused[mark]]
        reached.append(" not ".join([focused["name"], *marks]))
    return reached


async def press(page: Page, control: Locator, key: str = "Enter") -> None:
    """Press a control by the keyboard."""
    await control.focus()
    await page.keyboard.press(key)
