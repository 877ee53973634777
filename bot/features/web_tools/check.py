"""The check of `mneme doctor`: whether the packages are installed and a search works."""

from __future__ import annotations

from bot.doctor.finding import DoctorContext, Finding, create_failed_from_error, create_ok, create_warning
from bot.features.web_tools.errors import SearchFailed
from bot.features.web_tools.search import PublicEngines, SearchEngine, check_packages
from bot.features.web_tools.settings import WebToolsSettings
from config.errors import ConfigurationError

QUERY = "weather"
REMEDY = "Try again later, or check this machine's connection. Until then, the bot answers without web search."


async def check_web(context: DoctorContext, engine: SearchEngine | None = None) -> list[Finding]:
    if not context.settings.group(WebToolsSettings).web_search:
        return [create_ok("web", "WEB_SEARCH is off")]
    try:
        check_packages()
    except ConfigurationError as error:
        return [create_failed_from_error("web", error)]
    try:
        found = await (engine or PublicEngines()).search(QUERY, "en", 1)
    except SearchFailed:
        found = ()
    if not found:
        return [create_warning("web", "No search engine has answered", REMEDY)]
    return [create_ok("web", "A search engine answers")]
