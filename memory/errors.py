"""Errors with a message for the user, and the translation of SQLite errors."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from config.secrets import mask_in_log_line
from config.texts import _, in_english

RESTORE = (
    "restore a backup with `mneme restore`. Without a backup, move the file away and start again, which keeps MEMORY.md"
    " and the daily notes. I haven't changed the file."
)


class MnemeError(Exception):
    """Base class of the errors that are shown to the user: one sentence that says what is wrong and what to do.

    The text may quote other programs, so secrets in it are masked.

    Attributes:
        is_private: The text contains user data, such as a file name, and must not be logged.
        can_retry: Another attempt with the same input may succeed.
    """

    is_private = False
    can_retry = True

    def __str__(self) -> str:
        return mask_in_log_line(super().__str__())

    @property
    def source(self) -> str:
        """Return the text in English, whatever the user's language."""
        return mask_in_log_line(in_english(self.args[0])) if len(self.args) == 1 else str(self)

    @property
    def loggable(self) -> str:
        """Return the text that may be logged, in English."""
        return type(self).__name__ if self.is_private else self.source


class StoreError(MnemeError):
    """The database can't be used in its current state."""


class MemoryRefused(MnemeError):
    """A change of memory was refused. The text gives the reason."""


class UnknownName(MemoryRefused):
    """No memory has that name, nor a similar one. `name` is the name."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name


class SecretRefused(MemoryRefused):
    """A text with a secret was refused."""


class ContentFiltered(MnemeError):
    """The provider's content filter refused the request."""


class Postponed(MnemeError):
    """Background work was postponed because a user is waiting for the same resource. Retry later."""


@contextlib.contextmanager
def explained(path: object) -> Iterator[None]:
    """Raise SQLite errors of the database at `path` as StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path) from error


def explain_empty_file(path: object) -> StoreError:
    """Return the error for an empty file at `path`, which SQLite would treat as a new database."""
    return StoreError(
        f"{path} is empty: restore it from a backup with `mneme restore`, or delete it to begin with an empty memory."
    )


def explain_damage(path: object, damaged: str) -> StoreError:
    """Return the error for a database of which the parts in `damaged` can't be read."""
    return StoreError(f"{path} is damaged ({damaged}): {RESTORE}")


def get_result_code(error: BaseException | None) -> int:
    """Return SQLite's primary result code of an error, or of the cause of a StoreError. 0 if it has none."""
    if isinstance(error, StoreError):
        error = error.__cause__
    # Errors raised by Python's sqlite3 module itself have no code. The upper bytes are the extended code.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF if isinstance(error, sqlite3.Error) else 0


def is_environmental(error: BaseException | None) -> bool:
    """Return True if the disk, another program or a permission caused the error, so that the data may be intact."""
    return get_result_code(error) in _SURROUNDINGS


_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})
_UNWRITABLE = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_SURROUNDINGS = (
    _UNWRITABLE
    | _BUSY
    | {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_AUTH}
)


def explain(error: sqlite3.Error, path: object) -> StoreError:
    """Return a StoreError for an SQLite error, chosen by its result code, since SQLite's message is not reliable."""
    code = get_result_code(error)
    if code == sqlite3.SQLITE_FULL:
        return StoreError(
            _("The disk with {path} is full: free some space. Nothing that was saved is lost.", path=path)
        )
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(
            _(
                "{path} can't be read or written: the disk is full or failing; free some space or check the disk.",
                path=path,
            )
        )
    if code in _UNWRITABLE:
        return StoreError(_("{path} can't be written: check the owner and permissions of its folder.", path=path))
    if code in _DAMAGED:
        return StoreError(
            _(
                "{path} is damaged: restore a backup with `mneme restore`. Without a backup, move the file away and"
                " start again, which keeps MEMORY.md and the daily notes. I haven't changed the file.",
                path=path,
            )
        )
    if code in _BUSY:
        return StoreError(_("{path} is in use by another program: stop that program, or try again.", path=path))
    return StoreError(_("Database error in {path}: {said}.", path=path, said=str(error)))
