"""The files that the tools of a turn have made. The model knows only their ids, never a path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from memory.messages import Document
from pipeline.media.files import detect_image_type

MAX_FILE_BYTES = 10_000_000
"""Maximum size of a file. Telegram would accept photos of 10 MB and documents of 50 MB."""
MAX_HELD_BYTES = 30_000_000
"""Maximum size of all files of a turn, which are in memory until the turn ends."""
MAX_HELD_FILES = 20
MAX_SENT_FILES = 5
"""Maximum number of files that are sent with one answer."""
MAX_NAME_CHARS = 60

_OFFICE = "application/vnd.openxmlformats-officedocument"
EXTENSIONS = {
    "application/json": "json",
    "application/pdf": "pdf",
    "application/zip": "zip",
    f"{_OFFICE}.presentationml.presentation": "pptx",
    f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
    f"{_OFFICE}.wordprocessingml.document": "docx",
    "audio/flac": "flac",
    "audio/mp4": "m4a",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "image/gif": "gif",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    "text/calendar": "ics",
    "text/csv": "csv",
    "text/markdown": "md",
    "text/plain": "txt",
    "video/mp4": "mp4",
}
"""The types of files that may be sent. None of them runs when a person opens it."""


@dataclass(frozen=True, slots=True)
class ToolFile:
    """A file with the name of the tool that made it."""

    tool: str
    document: Document


@dataclass(slots=True)
class TurnFiles:
    """The files of a turn by their ids, and those that are sent with its answer.

    Args:
        can_send: Whether the channel of the turn can send files.
    """

    can_send: bool = False
    sent: list[ToolFile] = field(default_factory=list)
    _files: dict[str, ToolFile] = field(default_factory=dict)

    @property
    def ids(self) -> list[str]:
        return list(self._files)

    def add(self, tool: str, documents: Iterable[Document]) -> list[str]:
        """Add the files of a tool's result. Return a line about each for the model."""
        if not self.can_send:
            return []
        return [self._add(ToolFile(tool, document)) for document in documents]

    def _add(self, file: ToolFile) -> str:
        name, size = file.document.name, len(file.document.content)
        held = sum(len(other.document.content) for other in self._files.values())
        if size > MAX_FILE_BYTES or held + size > MAX_HELD_BYTES or len(self._files) >= MAX_HELD_FILES:
            return f"[the file {name} of {size / 1_000_000:.1f} MB is too large to send]"
        number = f"f{len(self._files) + 1}"
        self._files[number] = file
        return f"[file {number}: {name}, {size / 1_000:.1f} kB; send_file sends it]"

    def find(self, number: str) -> ToolFile | None:
        return self._files.get(number)


def create_document(content: bytes, mime_type: str | None, name: str) -> Document | None:
    """Return a file of a tool, or None if files of its type are not sent.

    The extension depends on the type only. Nothing of the name can be a path.
    """
    kind = (mime_type or "").partition(";")[0].strip().lower()
    if kind.startswith("image/"):
        kind = detect_image_type(content) or ""
    extension = EXTENSIONS.get(kind)
    if extension is None or not content:
        return None
    stem = re.sub(r"[^\w -]+", "_", re.split(r"[/\\]", name)[-1].rpartition(".")[0] or name.strip("/").split("/")[-1])
    return Document(f"{stem.strip(' _')[:MAX_NAME_CHARS] or 'file'}.{extension}", content)
