"""Reads photos, documents and recordings for the model."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.features.media.images import to_model_image
from bot.features.media.store import MediaTexts
from bot.features.media.transcription import Transcriber
from config.texts import _, name_setting
from memory.media.media import Media, MediaKind
from memory.messages import Image
from pipeline.media.documents import DocumentReader, Part, split_text
from pipeline.media.files import MediaSources, MediaUnreadable, detect_image_type, explain_no_vision
from pipeline.media.reading import Attachment, FileContent, Reading
from pipeline.models.capabilities import Part as RequestPart
from pipeline.models.model import ChatModel
from pipeline.prompt.budget import Budget

MAX_WHOLE_TOKENS = 3_000
"""A document up to this length is shown in full. The model reads a longer one in parts."""
BEGINNING_CHARS = 1_500
READ_TOOL = "document_read"
"""The tool that reads a document in parts. Without it, the model sees more of the text at once."""


@dataclass(eq=False)
class MediaContentReader:
    """Reads media. The text of documents and recordings is stored, so that they are read only once."""

    texts: MediaTexts
    sources: MediaSources
    transcriber: Transcriber
    _documents: DocumentReader = field(default_factory=DocumentReader, init=False)

    async def read(self, attachment: Attachment, reading: Reading) -> FileContent | None:
        media = attachment.media
        kind, budget = media.file.kind, reading.budget
        if kind.is_spoken:
            return await self._transcribe(media, reading)
        if media.about is not None:
            return await self._describe(media, budget)
        if kind is MediaKind.PHOTO:
            return FileContent(media.model_label, await self.load_image(media, reading.model))
        content = await reading.fetch()
        if detect_image_type(content) is not None:
            await _require_sight(reading.model, media)
            return FileContent(media.model_label, to_model_image(media, content))
        if (offer := await reading.find_offer()) is not None:
            return offer
        document = await self._documents.read(media.name, content)
        return await self._describe(await self.texts.store_text(media, document.about, document.parts), budget)

    async def load_image(self, media: Media, model: ChatModel) -> Image:
        """Fetch an image for a model. Raises MediaUnreadable."""
        await _require_sight(model, media)
        return to_model_image(media, await self.sources.fetch(media))

    async def _describe(self, media: Media, budget: Budget) -> FileContent:
        """Return the text of a document or recording: all of it, or its beginning and how to read the rest."""
        parts = await self.texts.read_parts(media)
        whole = "".join(part.text for part in parts).rstrip("\n")
        head = f"{media.model_label}, {media.about}"
        has_tool = any(tool.name == READ_TOOL for tool in budget.tools)
        if len(parts) == 1 or not has_tool or budget.text(whole) <= min(MAX_WHOLE_TOKENS, budget.message):
            whole = budget.cut(whole, budget.message)
            return FileContent(f"{head}]\n{whole}\n[end of {media.file.kind} {media.id}")
        return FileContent(
            f"{head}, in {len(parts)} parts from {parts[0].label} to {parts[-1].label}; it is too long to be shown "
            f"whole: find what is asked for with document_search, and read it with {READ_TOOL}. It begins:]\n"
            f"{whole[:BEGINNING_CHARS]}\n[... {media.file.kind} {media.id} goes on"
        )

    async def _transcribe(self, media: Media, reading: Reading) -> FileContent:
        parts = await self.texts.read_parts(media)
        if not parts:
            if not self.transcriber.is_enabled:
                raise MediaUnreadable(
                    name_setting(
                        _(
                            "I can't listen to {name}, because no speech recognition is set up: write it.",
                            name=media.name,
                        ),
                        "LLM_TRANSCRIPTION_MODEL",
                    )
                )
            text = await self.transcriber.transcribe(media, await reading.fetch())
            parts = [Part(f"part {number}", piece) for number, piece in enumerate(split_text(text), 1)]
            media = await self.texts.store_text(media, "written down", parts)
        if not media.file.kind.is_own_voice and len(parts) > 1:
            return await self._describe(media, reading.budget)
        return FileContent("".join(part.text for part in parts), is_transcribed=True)


async def _require_sight(model: ChatModel, media: Media) -> None:
    if not await model.can(RequestPart.IMAGES):
        # Another model may be chosen
        raise MediaUnreadable(explain_no_vision(model.name, media.name), can_retry=True)
