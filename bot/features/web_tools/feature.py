"""The feature web tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bot.doctor.finding import DoctorContext, Finding
from bot.feature import Contributions, Feature
from bot.features.web_tools.settings import WebToolsSettings
from bot.kernel import Kernel
from config.settings import Settings

if TYPE_CHECKING:
    import httpx

    from bot.features.web_tools.search import SearchEngine


async def check(context: DoctorContext) -> list[Finding]:
    from bot.features.web_tools.check import check_web

    return await check_web(context)


class WebToolsFeature(Feature):
    """Web search and page reading.

    Args:
        engine: Searches the web. None means the public engines.
        transport: Fetches pages. None means a PublicTransport.
    """

    name = "web_tools"
    sets_up_tools = True
    checks: ClassVar = {"web": check}

    def __init__(self, engine: SearchEngine | None = None, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._engine = engine
        self._transport = transport

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.group(WebToolsSettings).web_search else "WEB_SEARCH is not true"

    def set_up(self, env_file: Path) -> None:
        from bot.features.web_tools.setup import offer_web

        offer_web(env_file)

    async def open(self, kernel: Kernel) -> Contributions:
        from bot.features.web_tools.addresses import PublicTransport
        from bot.features.web_tools.fetching import PageFetcher
        from bot.features.web_tools.reader import PageReader
        from bot.features.web_tools.search import PublicEngines, check_packages
        from bot.features.web_tools.tools import WebTools

        check_packages()
        if kernel.setup.tools is not None:  # A small model can handle only the tools of the memory
            return Contributions()
        fetcher = PageFetcher(self._transport or PublicTransport())
        kernel.stack.push_async_callback(fetcher.close)
        return Contributions(tools=WebTools(self._engine or PublicEngines(), fetcher, PageReader()).create_tools())
