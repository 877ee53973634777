"""Findings of checks, and the context of checks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from config.settings import Settings
from memory.clock import Clock
from memory.store.integrity import DatabaseState


class Verdict(StrEnum):
    """Severity of a finding. NOTE is information, WARNING a defect, FAILED means that something doesn't work."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check.

    Args:
        remedy: what to do, in one sentence. Empty if nothing has to be done.
    """

    name: str
    verdict: Verdict
    found: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """An installation with readable settings.

    Args:
        backups: the folder of the backups, if the user named one.
    """

    settings: Settings
    database: Path
    state: DatabaseState
    clock: Clock
    backups: Path | None = None


Check = Callable[[DoctorContext], Awaitable[list[Finding]]]
"""A check of `mneme doctor`. It never raises for a broken installation."""


def create_ok(name: str, text: str) -> Finding:
    return Finding(name, Verdict.OK, text)


def create_note(name: str, text: str, remedy: str = "") -> Finding:
    return Finding(name, Verdict.NOTE, text, remedy)


def create_warning(name: str, text: str, remedy: str) -> Finding:
    return Finding(name, Verdict.WARNING, text, remedy)


def create_failed(name: str, text: str, remedy: str) -> Finding:
    return Finding(name, Verdict.FAILED, text, remedy)


def create_failed_from_error(name: str, error: Exception) -> Finding:
    """Create a failed finding from an error with the text "PROBLEM: REMEDY"."""
    found, remedy = split_remedy(" ".join(str(error).split()))
    return create_failed(name, found, remedy or "Fix it, then run this again.")


def split_remedy(text: str) -> tuple[str, str]:
    """Split the sentence "PROBLEM: REMEDY" into the problem and a sentence with the remedy, which may be empty.

    The last colon divides them. Those in brackets, such as in an example of JSON or in a quoted error, don't.
    """
    depth = 0
    for end in range(len(text) - 1, -1, -1):
        if text[end] in ")]}":
            depth += 1
        elif text[end] in "([{":
            depth = max(0, depth - 1)
        elif depth == 0 and text.startswith(": ", end):
            return text[:end], _to_sentence(text[end + 2 :])
    return text, ""


def _to_sentence(remedy: str) -> str:
    sentence = f"{remedy[:1].upper()}{remedy[1:]}"
    return sentence if sentence.endswith(("?", "!")) else f"{sentence.rstrip('.')}."
