"""What was sent besides words, made into messages that a model can read, see or has been told of."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import TYPE_CHECKING

import structlog

from config.texts import _, ngettext
from memory.buttons import Button, Notice
from memory.imports.importing import brief
from memory.imports.items import ImportRefused
from memory.imports.source import may_be_export, on_disk
from memory.media.media import Media, MediaKind, Part
from memory.messages import Image, Message, Provenance, Role, worst
from memory.text.tokens import IMAGE_TOKENS
from pipeline.media.documents import DocumentReader, pieces
from pipeline.media.files import MediaUnreadable, blind, image_of, image_type
from pipeline.models.capabilities import Part as RequestPart
from pipeline.skills import SkillRefused, is_zip, read_package

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.imports.importing import ForeignImport
    from memory.imports.planning import ImportReport
    from memory.log.sessions import Session
    from memory.media.media import MediaStore
    from pipeline.arrival import Arrival
    from pipeline.media.files import MediaSources, Transcriber
    from pipeline.models.model import ChatModel
    from pipeline.prompt.budget import Budget, BudgetOf
    from pipeline.skills import SkillPackage

log = structlog.get_logger(__name__)

MOST_IMAGES = 10
"""Pictures that a turn shows at once: as many as an album has."""
SHORT_TOKENS = 3_000
"""A document up to this length is shown whole; a longer one is read in parts."""
HEARD = 200
"""Characters that are shown to the user of what was heard."""
BEGINNING = 1_500
"""Characters that are shown of a longer one."""
SECONDS = 180
"""How long one file may take in all: to fetch, and to be read or heard."""
NO_ROOM = "too many pictures at once, so it is not shown"
SHOWN_CHARACTERS = 300
"""Characters that are shown of what a skill is for, and of its files' names, where it is asked whether to keep it."""
READ_TOOL = "document_read"
"""The tool that reads a document in parts; where the model has it not, more of the text is shown."""


@dataclass(slots=True)
class Read:
    """What came of the media of some arrivals."""

    messages: list[Message] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # why some can't be read, in sentences
    heard: list[str] = field(default_factory=list)  # the beginning of what was spoken, so that what was misheard shows
    understood: int = 0  # how many could be read
    asked: list[Notice] = field(default_factory=list)  # about them


@dataclass(frozen=True, slots=True)
class Attachment:
    media: Media
    said: Arrival
    session: Session

    @property
    def unread(self) -> Message:
        """What stands for it until it is read, and for good where the turn is stopped before that."""
        return _message(self.said, [_AttachmentResult(self.media, "")], f"[{self.media.shown}; not read yet]")


@dataclass(frozen=True, slots=True)
class _AttachmentResult:
    """One file as it was read: what the model is told of it, and what it is shown."""

    media: Media
    text: str
    image: Image | None = None
    refused: str | None = None
    heard: bool = False
    asked: Notice | None = None

    @property
    def is_own_voice(self) -> bool:
        return self.media.file.kind.is_own_voice and not self.media.file.quoted


@dataclass(eq=False)
class MediaReader:
    """Fetches media, reads, sees and hears them, once each, and tells what came of it."""

    store: MediaStore
    sources: MediaSources
    hears: Transcriber
    budget: BudgetOf  # that of a turn
    imports: ForeignImport | None  # takes in what other programs exported; None: memory is off
    _documents: DocumentReader = field(default_factory=DocumentReader, init=False)

    async def find(self, session: Session, arrivals: Sequence[Arrival]) -> list[Attachment]:
        """What arrivals brought, known by their numbers from now on and not read yet."""
        return [
            Attachment(media, arrival, session)
            for arrival in arrivals
            for media in await self._media_of(session, arrival)
        ]

    async def read(self, owner: str, results: Sequence[Attachment], model: ChatModel, visible: int = 0) -> Read:
        """Read for `model` what was found in one message or album. visible: pictures that the turn shows already."""
        budget = await self.budget(owner, model)
        # pictures take no more than half of the window
        read, room = Read(), max(0, min(MOST_IMAGES, budget.free // 2 // IMAGE_TOKENS) - visible)
        ones = await asyncio.gather(*(self._read_one(attachment, model, budget) for attachment in results))
        pictures: list[tuple[_AttachmentResult, Arrival]] = []
        for item, arrival in zip(ones, (attachments.said for attachments in results), strict=True):
            if item.refused is None:
                read.understood += item.image is None or len(pictures) < room
                if item.heard and item.is_own_voice:
                    read.heard.append(_("Heard: {words}", words=shorten(item.text, HEARD, placeholder=" ...")))
            else:
                read.refused.append(item.refused)
            read.asked += [item.asked] if item.asked is not None else []
            if item.image is not None and len(pictures) < room:
                pictures.append((item, arrival))
            elif item.image is not None:
                read.messages.append(_message(arrival, [replace(item, image=None)], f"[{item.text}; {NO_ROOM}]"))
            else:
                read.messages.append(_message(arrival, [item], item.text if item.heard else f"[{item.text}]"))
        for quoted in (False, True):  # what is answered stands first
            if group := [(item, arrival) for item, arrival in pictures if item.media.file.quoted is quoted]:
                marks = " ".join(f"[{item.text}]" for item, _ in group)
                read.messages.insert(0, _message(group[0][1], [item for item, _ in group], marks))
        seen = sum(item.image is not None for item in ones)
        if seen > room:
            read.refused.append(
                ngettext(
                    "I could look at {seen} of {n} picture at once, which is what {model} has room for: send fewer.",
                    "I could look at {seen} of {n} pictures at once, which is what {model} has room for: send fewer.",
                    seen,
                    seen=room,
                    model=budget.model,
                )
                if room
                else _(
                    "I could look at no more pictures at once, which is what {model} has room for: send fewer.",
                    model=budget.model,
                )
            )
        read.refused = list(dict.fromkeys(read.refused))
        return read

    async def image(self, media: Media, model: ChatModel) -> Image:
        """A picture that was sent earlier, for `model`. Raises MediaUnreadable."""
        await _require_sight(model, media)
        return image_of(media, await self.sources.fetch(media))

    async def _media_of(self, session: Session, arrival: Arrival) -> list[Media]:
        again = [await self.store.get(session.owner, number, session.id) for number in arrival.media]
        # what nobody can read gets no number: nothing will ask for it later
        new = [
            await self.store.keep(session, file) if file.kind is not MediaKind.OTHER else Media(0, file, None)
            for file in arrival.files
        ]
        return [*(media for media in again if media is not None), *new]

    async def _read_one(self, attachment: Attachment, model: ChatModel, budget: Budget) -> _AttachmentResult:
        media = attachment.media
        try:
            async with asyncio.timeout(SECONDS):
                return await self._look_at(attachment, model, budget)
        except MediaUnreadable as error:
            why = str(error)
        except TimeoutError:
            why = ngettext(
                "{name} took longer than {n} second to fetch and to read: try /retry.",
                "{name} took longer than {n} seconds to fetch and to read: try /retry.",
                SECONDS,
                name=media.name,
            )
        return _AttachmentResult(media, f"{media.shown}; it could not be read", refused=why)

    async def _look_at(self, attachment: Attachment, model: ChatModel, budget: Budget) -> _AttachmentResult:
        media, said = attachment.media, attachment.said
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
            return _AttachmentResult(media, media.shown, await self.image(media, model))
        content = await self.sources.fetch(media)
        if image_type(content) is not None:
            await _require_sight(model, media)
            return _AttachmentResult(media, media.shown, image_of(media, content))
        if is_zip(content) and await said.channel.is_owner(said):
            package = await _package(content)
            if package is not None:
                told = f"{media.shown}, a skill called {package.skill.name}; the user is asked whether to keep it"
                return _AttachmentResult(media, told, asked=_ask_to_keep(media, package))
        report = await self._report(attachment, content)
        if report is not None:
            told = f"{media.shown}, an export of {report.program}; the user is asked whether to import it"
            return _AttachmentResult(media, told, asked=_ask_to_import(media, report))
        document = await self._documents.read(media.name, content)
        return await self._describe(await self.store.learn(media, document.about, document.parts), budget)

    async def _report(self, attachment: Attachment, content: bytes) -> ImportReport | None:
        """What would come of a file that is an export of another program; None: it is a document like any other."""
        name, session = attachment.media.name, attachment.session
        # of a group it would be the memory of all
        is_own = attachment.said.speaker is None and not session.private
        if self.imports is None or not is_own or not may_be_export(name, content):
            return None
        async with on_disk(name, content) as path:
            try:
                return await self.imports.look(path, session)
            except ImportRefused:
                return None

    async def _describe(self, media: Media, budget: Budget) -> _AttachmentResult:
        """A text that was read or heard, whole where it is short, else its beginning and how to read on."""
        parts = await self.store.parts(media)
        whole = "".join(part.text for part in parts).rstrip("\n")
        head = f"{media.shown}, {media.about}"
        has_tool = any(tool.name == READ_TOOL for tool in budget.tools)
        if len(parts) == 1 or not has_tool or budget.text(whole) <= min(SHORT_TOKENS, budget.message):
            whole = budget.cut(whole, budget.message)
            return _AttachmentResult(media, f"{head}]\n{whole}\n[end of {media.file.kind} {media.id}")
        return _AttachmentResult(
            media,
            f"{head}, in {len(parts)} parts from {parts[0].label} to {parts[-1].label}; it is too long to be shown "
            f"whole: find what is asked for with document_search, and read it with {READ_TOOL}. It begins:]\n"
            f"{whole[:BEGINNING]}\n[... {media.file.kind} {media.id} goes on",
        )

    async def _transcribe(self, media: Media, budget: Budget) -> _AttachmentResult:
        parts = await self.store.parts(media)
        if not parts:
            if not self.hears.hears:
                raise MediaUnreadable(
                    _(
                        "I can't listen to {name}, since no model for that is set: write it, or have"
                        " LLM_TRANSCRIPTION_MODEL set.",
                        name=media.name,
                    )
                )
            text = await self.hears.transcribe(media, await self.sources.fetch(media))
            parts = [Part(f"part {number}", piece) for number, piece in enumerate(pieces(text), 1)]
            media = await self.store.learn(media, "written down", parts)
        if not media.file.kind.is_own_voice and len(parts) > 1:
            return await self._describe(media, budget)
        return _AttachmentResult(media, "".join(part.text for part in parts), heard=True)


async def _package(content: bytes) -> SkillPackage | None:
    try:
        return await asyncio.to_thread(read_package, content)
    except SkillRefused as error:
        raise MediaUnreadable(str(error)) from error


def _ask_to_import(media: Media, report: ImportReport) -> Notice:
    command = f"/import_{media.id}"
    question = _(
        "This is an export of {program}: {what}. {command} imports it, and /undo takes it back.",
        program=report.program,
        what=brief(report),
        command=command,
    )
    return Notice(question, ((Button(_("Import"), command, report.program),),))


def _ask_to_keep(media: Media, package: SkillPackage) -> Notice:
    names = sorted(package.files)
    question = _(
        "Keep the skill {name}? {description} ({files}; {size} KB) Nothing in it is run. {command} keeps it.",
        name=package.skill.name,
        description=shorten(package.skill.description, SHOWN_CHARACTERS, placeholder=" ..."),
        files=shorten(", ".join(names), SHOWN_CHARACTERS, placeholder=f" ... ({len(names)})"),
        size=f"{package.size / 1000:.1f}",
        command=f"/keepskill_{media.id}",
    )
    return Notice(question, ((Button(_("Keep it"), f"/keepskill_{media.id}", package.skill.name),),))


async def _require_sight(model: ChatModel, media: Media) -> None:
    if not await model.can(RequestPart.IMAGES):
        raise MediaUnreadable(blind(model.name, media.name))


def _message(arrival: Arrival, ones: Sequence[_AttachmentResult], text: str) -> Message:
    """What a model is told of some files. What is in a file is not the user's words, but for what the user spoke."""
    files = [item.media.file for item in ones]
    spoken = all(item.is_own_voice for item in ones)
    provenance = arrival.provenance if spoken else worst([arrival.provenance, Provenance.FILE])
    if files[0].quoted:
        text = f"(From the message that the user answers.) {text}"
    if ones[0].heard and provenance is not Provenance.TYPED:
        text = f"[{ones[0].media.shown}] {text}"
    text = arrival.origin_mark + text
    images = tuple(item.image for item in ones if item.image is not None)
    numbers = tuple(item.media.id for item in ones if item.media.id)
    message = Message(Role.USER, text, arrival.received_at, speaker=arrival.speaker, provenance=provenance)
    return replace(message, media=numbers, images=images)
