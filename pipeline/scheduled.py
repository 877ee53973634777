"""Scheduled tasks, which run as turns without a message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memory.buttons import Notice
from memory.log.turn_log import CommitWrite

Serves = Callable[[str], Awaitable[bool]]
"""Returns whether the bot may write to the session with an id."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a task's turn.

    Attributes:
        is_inconclusive: Whether it was stopped or is over the limit of tokens, so that it neither worked nor failed.
        is_silent: Whether there is nothing to tell the user.
    """

    has_failed: bool
    is_inconclusive: bool
    is_silent: bool


@dataclass(frozen=True, slots=True)
class Settlement:
    """The consequences of a task's turn: a notice for the user, and the writes of the turn's commit."""

    notice: Notice | None
    write: CommitWrite


class ScheduledRun(Protocol):
    """A task that is due, and runs as a turn of its session."""

    @property
    def session_id(self) -> str: ...

    @property
    def text(self) -> str:
        """Return the task in words, for the model."""

    @property
    def hour(self) -> str:
        """Return the day and hour when it was due, in the user's language."""

    @property
    def received_at(self) -> datetime:
        """Return the time when it entered the inbox."""

    @property
    def is_quiet(self) -> bool:
        """Return True if the answer makes no sound."""

    def settle(self, result: RunResult) -> Settlement:
        """Return what follows from the end of the turn."""
