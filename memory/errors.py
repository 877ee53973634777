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


def result_code(error: BaseException | None) -> int:
    """Return SQLite's primary result code for an error, or for the cause of a StoreError. 0 if it has none."""
    if isinstance(error, StoreError):
        error = error.__cause__
    # errors that Python's own module raises have no code; the upper bytes of one tell what exactly happened
    return getattr(error, "sqlite_errorcode", 0) & 0xFF if isinstance(error, sqlite3.Error) else 0


def is_of_surroundings(error: BaseException | None) -> bool:
    """Return True if the disk, another program or a permission stopped SQLite, which says nothing about the data."""
    return result_code(error) in _SURROUNDINGS


_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})
_UNWRITABLE = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_SURROUNDINGS = (
    _UNWRITABLE
    | _BUSY
    | {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_AUTH}
)


def explain(error: sqlite3.Error, path: object) -> StoreError:
    """Return the sentence for an error of SQLite, chosen by its result code: its words may come from anywhere."""
    code = result_code(error)
    if code == sqlite3.SQLITE_FULL:
        return StoreError(
            _("The disk with {path} is full: free some space; nothing that was saved is lost.", path=path)
        )
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(
            _("{path} can't be read or written: the disk is full or failing; free some space, check it.", path=path)
        )
    if code in _UNWRITABLE:
        return StoreError(_("{path} can't be written: check the owner and the mode of its folder.", path=path))
    if code in _DAMAGED:
        return StoreError(
            _("{path} is damaged: restore it from a backup with `mneme restore`; it is left as it is.", path=path)
        )
    if code in _BUSY:
        return StoreError(_("{path} is kept busy by another program: stop that one, or try again.", path=path))
    return StoreError(_("The database {path} answers: {said}.", path=path, said=str(error)))
