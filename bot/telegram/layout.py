"""A reply as the messages that carry it: rendered beside the event loop, within a time, and a long one as a file."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from bot.telegram.rendering import LONGEST_TEXT, Chunk, cut, render, unrendered
from config.texts import _

if TYPE_CHECKING:
    from memory.messages import Document

log = structlog.get_logger(__name__)

MOST_PARTS = 5
"""A reply in more messages than this is sent as a file, with its beginning above it."""
RENDER_SECONDS = 2.0
"""How long rendering may take; after that a reply is shown as it was written."""
LONGEST_FILE = 1_000_000
"""Characters of a reply that are sent at all."""
BEGINNING = 3_000
"""UTF-16 code units of a reply that are shown above its file."""
FILE_NAME = "answer.md"
LONGEST_CAPTION = 1024
"""UTF-16 code units of the text at a file (Bot API)."""


@dataclass(frozen=True, slots=True)
class File:
    """What is sent as a document. instead: the text that a chat gets which takes no files."""

    content: bytes
    instead: str
    name: str = FILE_NAME
    caption: Chunk = Chunk("")  # noqa: RUF009  # frozen


Part = Chunk | File


async def laid_out(markdown: str) -> list[Part]:
    """The messages of a reply, in order; always the same ones for the same text in the same language."""
    if len(markdown) <= MOST_PARTS * LONGEST_TEXT:  # markup is shorter than what it marks: no more parts than that
        chunks = await _rendered(markdown)
        if len(chunks) <= MOST_PARTS:
            return [*chunks]
    beginning = (await _rendered(cut(markdown, BEGINNING)))[:1]
    kept = markdown[:LONGEST_FILE]
    whole = kept == markdown
    note = _("The whole answer is in this file.") if whole else _("The beginning of the answer is in this file.")
    return [*beginning, Chunk(f"[...] {note}"), File(kept.encode(), kept)]


async def captioned(markdown: str, document: Document) -> list[Part]:
    """A file with a text as its caption, which must be short."""
    caption = render(markdown, LONGEST_CAPTION)[0]
    refused = _("This chat takes no files: let me send them here, or run `mneme export` on the machine that I run on.")
    return [File(document.content, refused, document.name, caption)]


async def _rendered(markdown: str) -> list[Chunk]:
    try:
        # a thread can't be ended, but what it is given is bounded
        return await asyncio.wait_for(asyncio.to_thread(render, markdown), RENDER_SECONDS)
    except TimeoutError:
        log.warning("rendering_took_too_long", characters=len(markdown))
        return unrendered(markdown)
