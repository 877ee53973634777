"""Turns media into messages for the model: text of documents and recordings, images, or a note about the file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import Protocol

import structlog

from config.texts import _, name_setting, ngettext
from memory.buttons import Notice
from memory.log.sessions import Session
from memory.media.media import Media, MediaKind, MediaStore, Part
from memory.messages import Image, Message, Provenance, Role, find_least_trusted
from memory.text.tokens import IMAGE_TOKENS
from pipeline.arrival import Arrival
from pipeline.media.documents import DocumentReader, split_text
from pipeline.media.files import (
    MediaSources,
    MediaUnreadable,
    Transcriber,
    detect_image_type,
    explain_no_vision,
    to_model_image,
)
from pipeline.models.capabilities import Part as RequestPart
from pipeline.models.model import ChatModel
from pipeline.prompt.budget import Budget, BudgetOf

log = structlog.get_logger(__name__)

MAX_IMAGES = 10
"""Images per turn: the size of an album."""
MAX_WHOLE_TOKENS = 3_000
"""A document up to this length is shown in full. The model reads a longer one in parts."""
MAX_TRANSCRIPT_CHARS = 200
BEGINNING_CHARS = 1_500
FILE_TIMEOUT_SECONDS = 180
TOO_MANY_IMAGES = "too many pictures at once, so it is not shown"
READ_TOOL = "document_read"
"""The tool that reads a document in parts. Without it, the model sees more of the text at once."""


@dataclass(slots=True)
class ReadingResult:
    """The result of reading the media of some arrivals.

    Attributes:
        refused: Sentences that say why media can't be read.
        transcripts: The beginnings of the user's recordings, so that the user notices recognition errors.
        read_count: Number of media that could be read.
        questions: Offers to keep a skill or to import a file.
    """

    messages: list[Message] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    transcripts: list[str] = field(default_factory=list)
    read_count: int = 0
    questions: list[Notice] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Attachment:
    media: Media
    arrival: Arrival
    session: Session

    @property
    def unread(self) -> Message:
        """A placeholder until the attachment is read. It stays in the log if the turn is stopped before."""
        return _create_message(
            self.arrival, [_AttachmentResult(self.media, "")], f"[{self.media.model_label}; not read yet]"
        )


@dataclass(frozen=True, slots=True)
class Offer:
    """A use of a file that the user is asked about.

    Attributes:
        text: Tells the model what the file is, and that the user is asked.
    """

    text: str
    question: Notice


class FileReader(Protocol):
    async def read(self, attachment: Attachment, content: bytes) -> Offer | None:
        """Return an offer, or None if the file is of another kind. Raises MediaUnreadable for a damaged one."""


@dataclass(frozen=True, slots=True)
class _AttachmentResult:
    """The result of reading one file.

    Attributes:
        text: The text for the model.
        refused: A sentence that says why the file can't be read.
        is_transcribed: The text is a transcription.
        question: An offer to keep a skill or to import the file.
    """

    media: Media
    text: str
    image: Image | None = None
    refused: str | None = None
    is_transcribed: bool = False
    question: Notice | None = None

    @property
    def is_own_voice(self) -> bool:
        return self.media.file.kind.is_own_voice and not self.media.file.quoted


@dataclass(eq=False)
class MediaReader:
    """Fetches and reads media. Documents and recordings are read only once and then stored.

    Attributes:
        readers: Recognise files with another use, before they are read as documents.
    """

    store: MediaStore
    sources: MediaSources
    transcriber: Transcriber
    budget: BudgetOf
    readers: Sequence[FileReader] = ()
    _documents: DocumentReader = field(default_factory=DocumentReader, init=False)

    async def find(self, session: Session, arrivals: Sequence[Arrival]) -> list[Attachment]:
        """Store the media of arrivals under numbers, without reading them."""
        return [
            Attachment(media, arrival, session)
            for arrival in arrivals
            for media in await self._load_media(session, arrival)
        ]

    async def read(
        self, owner: str, attachments: Sequence[Attachment], model: ChatModel, visible: int = 0
    ) -> ReadingResult:
        """Read the attachments of a message or album. The turn already shows `visible` images."""
        budget = await self.budget(owner, model)
        # Images take at most half of the free tokens.
        read, room = ReadingResult(), max(0, min(MAX_IMAGES, budget.free // 2 // IMAGE_TOKENS) - visible)
        results = await asyncio.gather(*(self._read_one(attachment, model, budget) for attachment in attachments))
        pictures: list[tuple[_AttachmentResult, Arrival]] = []
        for result, arrival in zip(results, (attachment.arrival for attachment in attachments), strict=True):
            if result.refused is None:
                read.read_count += result.image is None or len(pictures) < room
                if result.is_transcribed and result.is_own_voice:
                    words = shorten(result.text, MAX_TRANSCRIPT_CHARS, placeholder=" ...")
                    read.transcripts.append(_("Heard: {words}", words=words))
            else:
                read.refused.append(result.refused)
            read.questions += [result.question] if result.question is not None else []
            if result.image is not None and len(pictures) < room:
                pictures.append((result, arrival))
            elif result.image is not None:
                without_image = [replace(result, image=None)]
                read.messages.append(_create_message(arrival, without_image, f"[{result.text}; {TOO_MANY_IMAGES}]"))
            else:
                read.messages.append(
                    _create_message(arrival, [result], result.text if result.is_transcribed else f"[{result.text}]")
                )
        for quoted in (False, True):  # The images of a quoted message come first.
            if group := [(result, arrival) for result, arrival in pictures if result.media.file.quoted is quoted]:
                marks = " ".join(f"[{result.text}]" for result, _ in group)
                read.messages.insert(0, _create_message(group[0][1], [result for result, _ in group], marks))
        seen = sum(result.image is not None for result in results)
        if seen > room:
            read.refused.append(
                ngettext(
                    "I could look at only {seen} of {n} picture, because {model} has no room for more: send fewer.",
                    "I could look at only {seen} of {n} pictures, because {model} has no room for more: send fewer.",
                    seen,
                    seen=room,
                    model=budget.model,
                )
                if room
                else _(
                    "I couldn't look at any more pictures, because {model} has no room for them: send fewer.",
                    model=budget.model,
                )
            )
        read.refused = list(dict.fromkeys(read.refused))
        return read

    async def image(self, media: Media, model: ChatModel) -> Image:
        """Fetch an image for a model again. Raises MediaUnreadable."""
        await _require_sight(model, media)
        return to_model_image(media, await self.sources.fetch(media))

    async def _load_media(self, session: Session, arrival: Arrival) -> list[Media]:
        again = [await self.store.get(session.owner, number, session.id) for number in arrival.media]
        # Unreadable media get no number, since no tool will ask for them later.
        new = [
            await self.store.store(session, file) if file.kind is not MediaKind.OTHER else Media(0, file, None)
            for file in arrival.files
        ]
        return [*(media for media in again if media is not None), *new]

    async def _read_one(self, attachment: Attachment, model: ChatModel, budget: Budget) -> _AttachmentResult:
        media = attachment.media
        try:
            async with asyncio.timeout(FILE_TIMEOUT_SECONDS):
                return await self._process(attachment, model, budget)
        except MediaUnreadable as error:
            why = str(error)
        except TimeoutError:
            why = ngettext(
                "{name} took longer than {n} second to download and read: try /retry.",
                "{name} took longer than {n} seconds to download and read: try /retry.",
                FILE_TIMEOUT_SECONDS,
                name=media.name,
            )
        return _AttachmentResult(media, f"{media.model_label}; it could not be read", refused=why)

    async def _process(self, attachment: Attachment, model: ChatModel, budget: Budget) -> _AttachmentResult:
        media = attachment.media
        kind = media.file.kind
        if kind is MediaKind.OTHER:
            raise MediaUnreadable(
                _("I can't watch or open {name}: send a photo of it, or say what is in it.", name=media.name)
            )
        if kind.is_spoken:
            return await self._transcribe(media, budget)
        if media.about is not None:
            return await self._describe(media, budget)
        if kind is MediaKind.PHOTO:
            return _AttachmentResult(media, media.model_label, await self.image(media, model))
        content = await self.sources.fetch(media)
        if detect_image_type(content) is not None:
            await _require_sight(model, media)
            return _AttachmentResult(media, media.model_label, to_model_image(media, content))
        for reader in self.readers:
            if (offer := await reader.read(attachment, content)) is not None:
                return _AttachmentResult(media, offer.text, question=offer.question)
        document = await self._documents.read(media.name, content)
        return await self._describe(await self.store.store_text(media, document.about, document.parts), budget)

    async def _describe(self, media: Media, budget: Budget) -> _AttachmentResult:
        """Return the text of a document or recording: all of it, or its beginning and how to read the rest."""
        parts = await self.store.read_parts(media)
        whole = "".join(part.text for part in parts).rstrip("\n")
        head = f"{media.model_label}, {media.about}"
        has_tool = any(tool.name == READ_TOOL for tool in budget.tools)
        if len(parts) == 1 or not has_tool or budget.text(whole) <= min(MAX_WHOLE_TOKENS, budget.message):
            whole = budget.cut(whole, budget.message)
            return _AttachmentResult(media, f"{head}]\n{whole}\n[end of {media.file.kind} {media.id}")
        return _AttachmentResult(
            media,
            f"{head}, in {len(parts)} parts from {parts[0].label} to {parts[-1].label}; it is too long to be shown "
            f"whole: find what is asked for with document_search, and read it with {READ_TOOL}. It begins:]\n"
            f"{whole[:BEGINNING_CHARS]}\n[... {media.file.kind} {media.id} goes on",
        )

    async def _transcribe(self, media: Media, budget: Budget) -> _AttachmentResult:
        parts = await self.store.read_parts(media)
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
            text = await self.transcriber.transcribe(media, await self.sources.fetch(media))
            parts = [Part(f"part {number}", piece) for number, piece in enumerate(split_text(text), 1)]
            media = await self.store.store_text(media, "written down", parts)
        if not media.file.kind.is_own_voice and len(parts) > 1:
            return await self._describe(media, budget)
        return _AttachmentResult(media, "".join(part.text for part in parts), is_transcribed=True)


async def _require_sight(model: ChatModel, media: Media) -> None:
    if not await model.can(RequestPart.IMAGES):
        raise MediaUnreadable(explain_no_vision(model.name, media.name))


def _create_message(arrival: Arrival, results: Sequence[_AttachmentResult], text: str) -> Message:
    """Create the message for some files. Only the user's own recordings count as the user's words."""
    files = [result.media.file for result in results]
    spoken = all(result.is_own_voice for result in results)
    provenance = arrival.provenance if spoken else find_least_trusted([arrival.provenance, Provenance.FILE])
    if files[0].quoted:
        text = f"(From the message that the user answers.) {text}"
    if results[0].is_transcribed and provenance is not Provenance.TYPED:
        text = f"[{results[0].media.model_label}] {text}"
    text = arrival.origin_mark + text
    images = tuple(result.image for result in results if result.image is not None)
    numbers = tuple(result.media.id for result in results if result.media.id)
    message = Message(Role.USER, text, arrival.received_at, speaker=arrival.speaker, provenance=provenance)
    return replace(message, media=numbers, images=images)
