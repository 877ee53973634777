"""What a check finds, and what it is given to look at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from config.settings import Settings
    from memory.clock import Clock
    from memory.store.integrity import DatabaseState


class Verdict(StrEnum):
    """How bad it is. NOTE: worth knowing; WARNING: works, but not as it should; FAILED: does not work."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. remedy: one sentence, empty where nothing has to be done."""

    name: str
    verdict: Verdict
    found: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """An installation whose settings can be read. backups: the folder to look for them in, where one was named."""

    settings: Settings
    database: Path
    state: DatabaseState
    clock: Clock
    backups: Path | None = None


def ok(name: str, text: str) -> Finding:
    return Finding(name, Verdict.OK, text)


def note(name: str, text: str, remedy: str = "") -> Finding:
    return Finding(name, Verdict.NOTE, text, remedy)


def warning(name: str, text: str, remedy: str) -> Finding:
    return Finding(name, Verdict.WARNING, text, remedy)


def failed(name: str, text: str, remedy: str) -> Finding:
    return Finding(name, Verdict.FAILED, text, remedy)


def failed_as_said(name: str, error: Exception) -> Finding:
    """A failure whose sentence says what is wrong and, after its last colon, what to do."""
    text = " ".join(str(error).split())
    finding, colon, remedy = text.rpartition(": ")
    return failed(name, finding, sentence(remedy)) if colon else failed(name, text, "Correct it, then run this again.")


def sentence(remedy: str) -> str:
    return f"{remedy[:1].upper()}{remedy[1:].rstrip('.')}."
