"""Web search over public search engines, without a key."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.features.web_tools.errors import SearchFailed
from config.errors import ConfigurationError

TIMEOUT_SECONDS = 5
"""For each engine. ddgs asks two at once, then the others one after the other, within the time limit of a tool."""
ENGINES = "duckduckgo,brave,mojeek,wikipedia"
_REGIONS = {
    "en": "us-en",
    "de": "de-de",
    "es": "es-es",
    "fr": "fr-fr",
    "ru": "ru-ru",
    "uk": "ua-uk",
    "zh": "cn-zh",
}
MISSING = "WEB_SEARCH=true needs the package ddgs: run `make web`, or `pip install ddgs`."


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A result with its texts as the engine wrote them."""

    title: str
    url: str
    snippet: str


class SearchEngine(Protocol):
    async def search(self, query: str, language: str, max_results: int) -> Sequence[SearchResult]:
        """Return results, best first. Raises SearchFailed."""
        ...


def check_packages() -> None:
    """Raise ConfigurationError if the packages of the extra `web` are missing."""
    if importlib.util.find_spec("ddgs") is None:
        raise ConfigurationError(MISSING)


class PublicEngines:
    """The public search engines that ddgs supports, except those that need a browser."""

    async def search(self, query: str, language: str, max_results: int) -> list[SearchResult]:
        return await asyncio.to_thread(_search, query, language, max_results)


def _search(query: str, language: str, max_results: int) -> list[SearchResult]:
    from ddgs import DDGS  # In the extra `web`
    from ddgs.exceptions import DDGSException

    region = _REGIONS.get(language, _REGIONS["en"])
    try:
        found = DDGS(timeout=TIMEOUT_SECONDS).text(query, region=region, max_results=max_results, backend=ENGINES)
    except DDGSException as error:
        # The library's errors may quote the query
        if "No results found" in str(error):
            return []
        raise SearchFailed("no search engine has answered: try again later") from error
    return [SearchResult(str(each["title"]), str(each["href"]), str(each["body"])) for each in found]
