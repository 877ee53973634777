"""The interface of a feature that imports files of other programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memory.log.sessions import Session


@dataclass(frozen=True, slots=True)
class FileSummary:
    """The result of looking at a file, or of importing it.

    Attributes:
        left_out: Lines about what isn't imported.
        change: The number for /undo, or None if nothing was imported.
    """

    program: str
    text: str
    left_out: list[str]
    change: int | None = None


class FileImporter(Protocol):
    """Imports files of other programs. Raises MnemeError for a file that can't be imported."""

    def make_file_name(self, name: str) -> str:
        """Return a safe name for a file, with what the import can use of the given one."""

    async def preview_file(self, path: Path, session: Session) -> FileSummary: ...

    async def import_file(self, path: Path, session: Session) -> FileSummary: ...
