"""Tools for media: look at a photo again, search and read documents."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bot.features.media.reader import MediaContentReader
from bot.features.media.store import MediaTexts
from config.numbers import MAX_NUMBER, RowNumber
from memory.media.media import Media, MediaKind, MediaStore
from memory.messages import Passage, Provenance
from pipeline.tools.toolbox import Tool, ToolContext

MAX_SEARCH_PARTS = 4
MAX_READ_PARTS = 4


def media_tools(store: MediaStore, texts: MediaTexts, reader: MediaContentReader) -> list[Tool]:
    async def photo_look(
        context: ToolContext, photo: Annotated[RowNumber, Field(description="its number, as in [photo 12]")]
    ) -> str | Passage:
        """Look again at a photo that was sent earlier. Its number stands where the conversation speaks of it."""
        media = await store.get(context.owner, photo, context.session_id)
        if media is None or media.file.kind not in (MediaKind.PHOTO, MediaKind.DOCUMENT) or media.about is not None:
            return f"error: there is no photo {photo}"
        if context.model is None:
            return "error: nobody is here to look at it"
        image = await reader.load_image(media, context.model)
        return Passage(f"{media.model_label} is shown below", Provenance.FILE, (image,))

    async def document_search(
        context: ToolContext,
        query: Annotated[str, Field(description="a few telling words")],
        document: Annotated[RowNumber | None, Field(description="its number; all documents without it")] = None,
    ) -> str | Passage:
        """Find the parts of a document that was sent, or of all of them, that speak of something."""
        if document is not None and await _document(context, document) is None:
            return f"error: there is no document {document} with text in it"
        hits = await texts.search(context.owner, query, MAX_SEARCH_PARTS, context.session_id, document)
        parts_text = [
            f"[{hit.media.model_label}, part {hit.number}, {hit.part.label}]\n{hit.part.text.rstrip()}" for hit in hits
        ]
        return Passage("\n\n".join(parts_text), Provenance.FILE) if parts_text else "nothing found: try other words"

    async def document_read(
        context: ToolContext,
        document: Annotated[RowNumber, Field(description="its number, as in [document 13: offer.pdf]")],
        part: Annotated[int, Field(ge=1, le=MAX_NUMBER, description="the first part to read")] = 1,
        count: Annotated[int, Field(ge=1, le=MAX_READ_PARTS, description="how many parts")] = 2,
    ) -> str | Passage:
        """Read a document that was sent, some parts at a time."""
        media = await _document(context, document)
        if media is None:
            return f"error: there is no document {document} with text in it"
        total = await texts.count_parts(media)
        parts = await texts.read_parts(media, part, part + count - 1)
        if not parts:
            return f"error: {media.model_label} has only {total} parts"
        parts_text = [
            f"[part {n} of {total}, {text_part.label}]\n{text_part.text.rstrip()}"
            for n, text_part in enumerate(parts, part)
        ]
        return Passage("\n\n".join([f"[{media.model_label}, {media.about}]", *parts_text]), Provenance.FILE)

    async def _document(context: ToolContext, number: int) -> Media | None:
        media = await store.get(context.owner, number, context.session_id)
        return media if media is not None and media.about is not None else None

    # Save tokens in requests of owners without media.
    return [Tool(each, offered_to=store.has_any) for each in (photo_look, document_search, document_read)]
