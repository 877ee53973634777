"""The feature web tools."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from bot.doctor.finding import DoctorContext, Finding
from bot.feature import Contributions, Feature
from bot.kernel import Kernel
from config.settings import Settings


async def check(context: DoctorContext) -> list[Finding]:
    from bot.features.web_tools.check import check_web

    return await check_web(context)


class WebToolsFeature(Feature):
    name = "web_tools"
    checks: ClassVar = {"web": check}

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.web_search else "WEB_SEARCH is not true"

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
        fetcher = PageFetcher(PublicTransport())
        kernel.stack.push_async_callback(fetcher.close)
        return Contributions(tools=WebTools(PublicEngines(), fetcher, PageReader()).create_tools())
