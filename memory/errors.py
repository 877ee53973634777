"""What can go wrong with memory, said so that a person can act on it."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from config.secrets import without_shapes
from config.texts import _, in_english

if TYPE_CHECKING:
    from collections.abc import Iterator


class MnemeError(Exception):
    """Anything a person is told about. The text is one sentence: what is wrong and what to do.

    It may quote what others said, so a secret in it is masked whoever shows it. is_private: it tells what a person has
    sent, such as the name of a file, and is not for the log.
    """

    is_private = False

    def __str__(self) -> str:
        return without_shapes(super().__str__())

    @property
    def source(self) -> str:
        """The sentence in English, whatever is spoken."""
        return without_shapes(in_english(self.args[0])) if len(self.args) == 1 else str(self)

    @property
    def loggable(self) -> str:
        """What the log may hold of it, in English."""
        return type(self).__name__ if self.is_private else self.source


class StoreError(MnemeError):
    """The database can't be used as it is."""


class MemoryRefused(MnemeError):
    """A change of memory was not made. The text says why, and what is there instead."""


class ContentFiltered(MnemeError):
    """A provider's content filter refuses what the model was asked to read."""


class Postponed(MnemeError):
    """Work in the background was not done, since somebody waits for what it needs. It is to be done later."""


@contextlib.contextmanager
def explained(path: object) -> Iterator[None]:
    """Whatever SQLite says against the database at `path` in here is raised as a StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path) from error


def empty(path: object) -> StoreError:
    """The sentence for a file at `path` of no bytes, which SQLite would take for a new database."""
    return StoreError(
        f"{path} is empty: restore it from a backup with `mneme restore`, or delete it to begin with an empty memory."
    )


def explain(error: sqlite3.Error, path: object) -> StoreError:
    text = str(error)
    if "full" in text:
        return StoreError(
            _("The disk with {path} is full: free some space; nothing that was saved is lost.", path=path)
        )
    if "disk I/O" in text:
        return StoreError(
            _("{path} can't be read or written: the disk is full or failing; free some space, check it.", path=path)
        )
    if "readonly" in text or "unable to open" in text:
        return StoreError(_("{path} can't be written: check the owner and the mode of its folder.", path=path))
    if "malformed" in text or "not a database" in text:
        return StoreError(
            _("{path} is damaged: restore it from a backup with `mneme restore`; it is left as it is.", path=path)
        )
    if "locked" in text or "busy" in text:
        return StoreError(_("{path} is kept busy by another program: stop that one, or try again.", path=path))
    return StoreError(_("The database {path} answers: {said}.", path=path, said=text))
