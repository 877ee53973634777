"""Converts fetched pages to text, and splits long texts into numbered parts."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

from bot.features.web_tools.errors import PageUnreadable
from bot.features.web_tools.fetching import HTML_TYPES, PDF_TYPE, FetchedPage
from memory.text.tokens import TokenCounter
from pipeline.arrival import clean
from pipeline.child import run_isolated
from pipeline.media.documents import DocumentReader, split_text

READING_SECONDS = 10
MAX_CHILD_MEMORY_BYTES = 512_000_000
MAX_CONCURRENT_PAGES = 3
MAX_PART_TOKENS = 3_000
"""The tool loop cuts results further if a model's window is small."""
_CHILD = Path(__file__).with_name("html_child.py")


@dataclass(frozen=True, slots=True)
class PageContent:
    """The title of a page, which may be empty, and its main text in parts."""

    title: str
    parts: tuple[str, ...]


class PageReader:
    """Reads HTML and PDF in a child process, and plain text and JSON as they are."""

    def __init__(self, seconds: int = READING_SECONDS) -> None:
        self._seconds = seconds
        self._documents = DocumentReader(seconds)
        self._counter = TokenCounter()  # Never corrected by usage, so that parts don't change
        self._free = asyncio.Semaphore(MAX_CONCURRENT_PAGES)

    async def read(self, page: FetchedPage) -> PageContent:
        """Return the text of a page. Raises PageUnreadable or MediaUnreadable with the reason."""
        title = ""
        if page.content_type == PDF_TYPE:
            if not page.is_whole:
                raise PageUnreadable("the PDF is too large")
            document = await self._documents.read("the PDF", page.content)
            text = "".join(part.text for part in document.parts)
        elif page.content_type in HTML_TYPES:
            async with self._free:
                title, text = await self._read_html(page)
        else:
            text = _decode(page)
        text = clean(text).strip()
        if not text:
            raise PageUnreadable("the page has no text, so it is empty or needs a browser")
        return PageContent(clean(title), await asyncio.to_thread(self._split, text))

    async def _read_html(self, page: FetchedPage) -> tuple[str, str]:
        limits = (page.charset or "", str(self._seconds), str(MAX_CHILD_MEMORY_BYTES))
        try:
            child = await run_isolated(_CHILD, limits, page.content, self._seconds)
            answer = json.loads(child.stdout)
        except (TimeoutError, ValueError) as error:  # Without output, the child has exceeded its limits
            raise PageUnreadable("the page is too complex to read") from error
        return answer["title"], answer["text"]

    def _split(self, text: str) -> tuple[str, ...]:
        parts: list[str] = []
        tokens = MAX_PART_TOKENS
        for piece in split_text(text):
            cost = self._counter.count(piece)
            if tokens + cost > MAX_PART_TOKENS:
                parts.append("")
                tokens = 0
            parts[-1] += piece
            tokens += cost
        return tuple(parts)


def _decode(page: FetchedPage) -> str:
    try:
        return page.content.decode(page.charset or "utf-8-sig", "replace")
    except (LookupError, UnicodeError):
        return page.content.decode("utf-8", "replace")
