"""The feature memory page, as the bot's Mini App. `mneme web` shows the page without it."""

from __future__ import annotations

from bot.feature import Contributions, Feature
from bot.kernel import App, Kernel
from bot.web import PAGE, WebPart
from config.settings import Settings


class PageFeature(Feature):
    name = "page"

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.web_url is not None else "WEB_URL is not set"

    async def open(self, kernel: Kernel) -> Contributions:
        return Contributions(web=[_create_part])


def _create_part(app: App) -> WebPart:
    from starlette.routing import Mount

    from bot.features.page.mini_app import MiniApp
    from bot.features.page.server import build_page_app
    from bot.web.server import list_served_hosts

    assert app.settings.web_url is not None, "otherwise it is off"  # noqa: S101
    hosts = list_served_hosts(app.settings.web_url, app.settings.web_port)
    return WebPart([Mount(f"/{PAGE}", build_page_app(MiniApp(app, hosts)))])
