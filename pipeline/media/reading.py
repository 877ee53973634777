"""Turns media into messages for the model: text of documents and recordings, images, or a note about the file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import Protocol

import structlog

from config.texts import _, ngettext
from memory.buttons import Notice
from memory.log.sessions import Session
from memory.media.media import Media, MediaKind, MediaStore
from memory.messages import Image, Message, Provenance, Role, find_least_trusted
from memory.text.tokens import IMAGE_TOKENS
from pipeline.arrival import Arrival
from pipeline.media.files import MediaSources, MediaUnreadable
from pipeline.models.model import ChatModel
from pipeline.prompt.budget import Budget, BudgetOf

log = structlog.get_logger(__name__)

MAX_IMAGES = 10
"""Images per turn: the size of an album."""
MAX_TRANSCRIPT_CHARS = 200
FILE_TIMEOUT_SECONDS = 180
TOO_MANY_IMAGES = "too many pictures at once, so it is not shown"


@dataclass(slots=True)
class ReadingResult:
    """The result of reading the media of some arrivals.

    Attributes:
        refused: Sentences that say why media can't be read.
        can_retry: Another attempt may read some of them.
        transcripts: The beginnings of the user's recordings, so that the user notices recognition errors.
        read_count: Number of media that could be read.
        questions: Offers to keep a skill or to import a file.
    """

    messages: list[Message] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    can_retry: bool = False
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
            self.arrival, [_AttachmentResult(self.media, FileContent(""))], f"[{self.media.model_label}; not read yet]"
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
class FileContent:
    """The content of a file.

    Attributes:
        text: The text for the model.
        is_transcribed: The text is a transcription.
        question: An offer to keep a skill or to import the file.
    """

    text: str
    image: Image | None = None
    is_transcribed: bool = False
    question: Notice | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A file that is read for a model.

    Attributes:
        fetch: Returns the bytes of the file. Raises MediaUnreadable.
        find_offer: Asks the readers of further kinds of files if the file is one of theirs.
    """

    model: ChatModel
    budget: Budget
    fetch: Callable[[], Awaitable[bytes]]
    find_offer: Callable[[], Awaitable[FileContent | None]]


class ContentReader(Protocol):
    """Reads the content of photos, documents or recordings."""

    async def read(self, attachment: Attachment, reading: Reading) -> FileContent | None:
        """Return the content of a file, or None if it is of another kind. Raises MediaUnreadable."""


@dataclass(frozen=True, slots=True)
class _AttachmentResult:
    """The result of reading one file. `refused` is a sentence that says why it can't be read."""

    media: Media
    content: FileContent
    refused: str | None = None
    can_retry: bool = False

    @property
    def is_own_voice(self) -> bool:
        return self.media.file.kind.is_own_voice and not self.media.file.quoted


@dataclass(eq=False)
class MediaReader:
    """Fetches and reads media.

    Attributes:
        content_readers: Read the content of files. The first that knows a file reads it.
        readers: Recognise files with another use, before they are read as documents.
    """

    store: MediaStore
    sources: MediaSources
    budget: BudgetOf
    content_readers: Sequence[ContentReader] = ()
    readers: Sequence[FileReader] = ()

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
            content = result.content
            if result.refused is None:
                read.read_count += content.image is None or len(pictures) < room
                if content.is_transcribed and result.is_own_voice:
                    words = shorten(content.text, MAX_TRANSCRIPT_CHARS, placeholder=" ...")
                    read.transcripts.append(_("Heard: {words}", words=words))
            else:
                read.refused.append(result.refused)
                read.can_retry |= result.can_retry
            read.questions += [content.question] if content.question is not None else []
            if content.image is not None and len(pictures) < room:
                pictures.append((result, arrival))
            elif content.image is not None:
                without_image = [replace(result, content=replace(content, image=None))]
                read.messages.append(_create_message(arrival, without_image, f"[{content.text}; {TOO_MANY_IMAGES}]"))
            else:
                text = content.text if content.is_transcribed else f"[{content.text}]"
                read.messages.append(_create_message(arrival, [result], text))
        for quoted in (False, True):  # The images of a quoted message come first.
            if group := [(result, arrival) for result, arrival in pictures if result.media.file.quoted is quoted]:
                marks = " ".join(f"[{result.content.text}]" for result, _ in group)
                read.messages.insert(0, _create_message(group[0][1], [result for result, _ in group], marks))
        seen = sum(result.content.image is not None for result in results)
        if seen > room:
            read.can_retry = True  # With a larger model
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
                return _AttachmentResult(media, await self._process(attachment, model, budget))
        except MediaUnreadable as error:
            why, can_retry = str(error), error.can_retry
        except TimeoutError:
            can_retry = True
            why = ngettext(
                "{name} took longer than {n} second to download and read: try /retry.",
                "{name} took longer than {n} seconds to download and read: try /retry.",
                FILE_TIMEOUT_SECONDS,
                name=media.name,
            )
        return _AttachmentResult(media, FileContent(f"{media.model_label}; it could not be read"), why, can_retry)

    async def _process(self, attachment: Attachment, model: ChatModel, budget: Budget) -> FileContent:
        media, contents = attachment.media, list[bytes]()

        async def fetch() -> bytes:
            if not contents:
                contents.append(await self.sources.fetch(media))
            return contents[0]

        async def find_offer() -> FileContent | None:
            for reader in self.readers:
                if (offer := await reader.read(attachment, await fetch())) is not None:
                    return FileContent(offer.text, question=offer.question)
            return None

        if media.file.kind is not MediaKind.OTHER:
            reading = Reading(model, budget, fetch, find_offer)
            for reader in self.content_readers:
                if (content := await reader.read(attachment, reading)) is not None:
                    return content
            if media.file.kind is MediaKind.DOCUMENT and (offered := await find_offer()) is not None:
                return offered
        raise MediaUnreadable(
            _("I can't watch or open {name}: send a photo of it, or say what is in it.", name=media.name)
        )


def _create_message(arrival: Arrival, results: Sequence[_AttachmentResult], text: str) -> Message:
    """Create the message for some files. Only the user's own recordings count as the user's words."""
    files = [result.media.file for result in results]
    spoken = all(result.is_own_voice for result in results)
    provenance = arrival.provenance if spoken else find_least_trusted([arrival.provenance, Provenance.FILE])
    if files[0].quoted:
        text = f"(From the message that the user answers.) {text}"
    if results[0].content.is_transcribed and provenance is not Provenance.TYPED:
        text = f"[{results[0].media.model_label}] {text}"
    text = arrival.origin_mark + text
    images = tuple(result.content.image for result in results if result.content.image is not None)
    numbers = tuple(result.media.id for result in results if result.media.id)
    message = Message(Role.USER, text, arrival.received_at, speaker=arrival.speaker, provenance=provenance)
    return replace(message, media=numbers, images=images)
