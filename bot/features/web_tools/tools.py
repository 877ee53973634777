"""The tools `web_search` and `web_read`. Their results are foreign text, and they store nothing."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bot.features.web_tools.fetching import PageFetcher
from bot.features.web_tools.reader import PageReader
from bot.features.web_tools.search import SearchEngine, SearchResult
from config.secrets import mask_secrets
from memory.messages import Passage, Provenance
from pipeline.arrival import clean
from pipeline.tools.toolbox import Tool, ToolContext, ToolFailed

MAX_RESULTS = 8
MAX_TITLE_CHARS = 150
MAX_SNIPPET_CHARS = 400
MAX_URL_CHARS = 500
MAX_QUERY_CHARS = 400


class WebTools:
    def __init__(self, engine: SearchEngine, fetcher: PageFetcher, reader: PageReader) -> None:
        self._engine = engine
        self._fetcher = fetcher
        self._reader = reader

    def create_tools(self) -> list[Tool]:
        return [Tool(self.web_search), Tool(self.web_read)]

    async def web_search(
        self, context: ToolContext, query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
    ) -> str | Passage:
        """Search the web. Returns titles, addresses and snippets; read a page with web_read before relying on it."""
        results = await self._engine.search(mask_secrets(query), context.language, MAX_RESULTS)
        texts = [_format(number, result) for number, result in enumerate(results[:MAX_RESULTS], 1)]
        return Passage("\n\n".join(texts), Provenance.WEB) if texts else "Nothing was found: try other words."

    async def web_read(self, context: ToolContext, url: str, page: Annotated[int, Field(ge=1)] = 1) -> Passage:
        """Read the main text of a public web page or PDF. A long text has several pages."""
        fetched = await self._fetcher.fetch(url)
        content = await self._reader.read(fetched)
        count = len(content.parts)
        if page > count:
            raise ToolFailed(f"there is no page {page}, the last one is {count}")
        about = [content.title, fetched.url[:MAX_URL_CHARS]]
        about += [f"(page {page} of {count}{_name_next(page, count)})"] if count > 1 else []
        about += [] if fetched.is_whole else ["(it is very long, so the end is missing)"]
        head = "\n".join(line for line in about if line)
        return Passage(f"{head}\n\n{content.parts[page - 1].strip()}", Provenance.WEB)


def _name_next(page: int, count: int) -> str:
    return f"; go on with page={page + 1}" if page < count else ""


def _format(number: int, result: SearchResult) -> str:
    title, snippet = (" ".join(clean(text).split()) for text in (result.title, result.snippet))
    lines = (f"{number}. {title[:MAX_TITLE_CHARS]}", clean(result.url)[:MAX_URL_CHARS], snippet[:MAX_SNIPPET_CHARS])
    return "\n".join(line for line in lines if line)
