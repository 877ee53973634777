"""The items that readers produce: messages, conversations and memories of other programs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from config.texts import N_
from memory.errors import MnemeError

NOTICES = N_("service messages")
NO_TEXT = N_("photos, recordings and other messages without text")
EMPTY = N_("conversations without a message")
UNREADABLE = N_("messages that can't be read")
UNREADABLE_CONVERSATIONS = N_("conversations that can't be read")
UNDATED = N_("conversations without a date")
UNREADABLE_MEMORIES = N_("memories that can't be read")
UNREADABLE_KINDS = frozenset({UNREADABLE, UNREADABLE_CONVERSATIONS, UNREADABLE_MEMORIES})
ATTACHED = N_("attached pictures and files")
OTHER_BRANCHES = N_("messages of replaced branches")
TOOLS = N_("reasoning, and steps of tools")
"""Reasons for leaving out items."""
BAD_ITEM = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
"""The errors that an item raises if it isn't as its program writes it."""
DELETED_ACCOUNT = "Deleted account"
"""The speaker of messages from an account that was deleted."""
MAX_CHAT_MESSAGES = 500
"""Number of messages after which a chat of people is divided into another conversation."""
MAX_PART_CHARS = 4_000_000
"""Number of characters after which such a chat is divided."""
MAX_MESSAGE_CHARS = 1_000_000
MAX_ID_CHARS = 200
"""Maximum length of an id or a name of another program."""
_YEARS = range(1970, 2200)
_MILLISECONDS = 10**11
"""Seconds of the year 5138, but milliseconds of 1973."""


class ImportRefused(MnemeError):
    """A file can't be imported. The text gives the reason.

    Attributes:
        is_export: Whether the file is an export, so that a chat answers with the reason instead of reading it.
    """

    def __init__(self, text: str, *, is_export: bool = False) -> None:
        super().__init__(text)
        self.is_export = is_export


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One message.

    Attributes:
        speaker: The sender in a chat of people, who may be the user. None means the user, in a talk with an assistant.
        id: What identifies the message in later exports of its conversation; an empty string if the format has no ids.
        is_foreign: Whether the speaker passed on a text, such as a forward or an attached file.
    """

    text: str
    at: datetime
    by_assistant: bool = False
    speaker: str | None = None
    id: str = ""
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A conversation or a part of one, oldest message first.

    Attributes:
        source_id: What identifies the conversation in later exports; empty if the format has nothing of the kind.
        title: The title of the conversation, or the name of the chat.
        user: The speaker who is the user, if the export says so.
        continues: Whether this is a further part of the conversation before it.
    """

    source_id: str
    messages: tuple[ImportedMessage, ...]
    title: str = ""
    user: str | None = None
    continues: bool = False


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory of another program. `at` is when it was stored, if known."""

    text: str
    at: datetime | None = None

    @property
    def source_id(self) -> str:
        """Return an id that is derived from the text."""
        return f"memory {compute_digest(self.text)}"


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """An item that is not imported.

    Attributes:
        what: A description of its kind for the user.
        place: Where it is in the file, if it can't be read, such as "result.json, message 1044".
    """

    what: str
    place: str = ""


Item = ImportedConversation | ImportedMemory | SkippedItem


class Digest:
    """A hash of a sequence of texts."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, text: str) -> None:
        self._hash.update(text.encode("utf-8", "surrogatepass"))
        # Distinguishes ("ab", "c") from ("a", "bc").
        self._hash.update(b"\0")

    @property
    def value(self) -> str:
        return self._hash.hexdigest()[:32]


def compute_digest(*texts: str) -> str:
    digest = Digest()
    for text in texts:
        digest.add(text)
    return digest.value


def parse_moment(value: object) -> datetime:
    """Parse an ISO 8601 date, in UTC if it has no zone. Raises ValueError if it is invalid or out of range."""
    if not isinstance(value, str):
        raise ValueError("a date is missing")  # A ValueError, since the file's content is wrong.
    moment = datetime.fromisoformat(value)
    return require_plausible(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))


def parse_timestamp(timestamp: float) -> datetime:
    """Convert a Unix timestamp in seconds or milliseconds. Raises ValueError if it is out of range."""
    try:
        timestamp = timestamp / 1000 if _MILLISECONDS <= timestamp < 1000 * _MILLISECONDS else timestamp
        return require_plausible(datetime.fromtimestamp(timestamp, UTC))
    except (OverflowError, OSError) as error:
        raise ValueError(f"{timestamp} is no moment") from error


def parse_optional_moment(value: object) -> datetime | None:
    """Parse an ISO 8601 date. Return None if it is missing or invalid."""
    try:
        return parse_moment(value)
    except ValueError:
        return None


def require_plausible(moment: datetime) -> datetime:
    """Raise ValueError for an implausible year, which might also overflow in another time zone."""
    if moment.year not in _YEARS:
        raise ValueError("a date is out of range")
    return moment


def is_damaged(text: str) -> bool:
    """Return True if a text contains bytes that its encoding doesn't have, as `surrogateescape` decodes them."""
    return not text.isascii() and any("\udc80" <= char <= "\udcff" for char in text)


class ChatParts:
    """Divides a chat of people, which may span years, into parts with the same id and title."""

    def __init__(self, source_id: str, *, title: str = "", user: str | None = None) -> None:
        self._whole = ImportedConversation(source_id, (), title, user)
        self._continues = False
        self._part: list[ImportedMessage] = []
        self._chars = 0

    def set_user(self, user: str | None) -> None:
        """Set the speaker who is the user, when the messages have told it."""
        self._whole = replace(self._whole, user=user)

    def add(self, message: ImportedMessage) -> Iterator[ImportedConversation]:
        self._part.append(message)
        self._chars += len(message.text)
        if len(self._part) == MAX_CHAT_MESSAGES or self._chars > MAX_PART_CHARS:
            yield from self.flush()

    def flush(self) -> Iterator[ImportedConversation]:
        if self._part:
            yield replace(self._whole, messages=tuple(self._part), continues=self._continues)
            self._continues, self._part, self._chars = True, [], 0
