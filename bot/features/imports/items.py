"""The items that readers produce: messages, conversations and memories of other programs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from config.texts import N_
from memory.errors import MnemeError

SERVICE_MESSAGES = N_("service messages")
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
ITEM_ERRORS = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
"""Errors that parsing an item can raise if the item doesn't have the format of its program."""
DELETED_ACCOUNT = "Deleted account"
"""The name of speakers with a deleted account."""
MAX_CHAT_MESSAGES = 500
"""Maximum number of messages in a conversation of a chat with people. More messages begin another conversation."""
MAX_PART_CHARS = 4_000_000
"""Number of characters after which such a chat begins another conversation."""
MAX_MESSAGE_CHARS = 1_000_000
MAX_ID_CHARS = 200
"""Maximum length of an id or a name from another program."""
_YEARS = range(1970, 2200)
_MILLISECONDS = 10**11
"""The smallest timestamp that counts milliseconds. As milliseconds it is in 1973, as seconds in the year 5138."""


class ImportRefused(MnemeError):
    """Raised if a file can't be imported. The text tells the user why.

    Attributes:
        is_export: Whether the file is an export. If it is, a chat answers with the text instead of reading the file.
    """

    def __init__(self, text: str, *, is_export: bool = False) -> None:
        super().__init__(text)
        self.is_export = is_export


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One message.

    Attributes:
        speaker: The name of the sender in a chat with people, or None in a conversation with an assistant.
        id: The message's id, which later exports of the conversation repeat. An empty string if the format has no ids.
        is_foreign: Whether the speaker didn't write the text, as in a forward or an attached file.
    """

    text: str
    at: datetime
    by_assistant: bool = False
    speaker: str | None = None
    id: str = ""
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A conversation or a part of a conversation, oldest message first.

    Attributes:
        source_id: The conversation's id, which later exports repeat. An empty string if the format has no ids.
        title: The title of the conversation, or the name of the chat.
        user: The speaker who is the user, if the export says so.
        continues: Whether this part continues the previous item.
    """

    source_id: str
    messages: tuple[ImportedMessage, ...]
    title: str = ""
    user: str | None = None
    continues: bool = False


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory of another program. `at` is the time when that program stored it, if known."""

    text: str
    at: datetime | None = None

    @property
    def source_id(self) -> str:
        """An id that is derived from the text."""
        return f"memory {compute_digest(self.text)}"


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """An item that is not imported.

    Attributes:
        what: A description of this kind of items for the user.
        place: The location of an unreadable item, such as "result.json, message 1044".
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
        # A separator distinguishes ("ab", "c") from ("a", "bc").
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
        raise ValueError("a date is missing")  # Not a TypeError, since the content of the file is wrong.
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
    """Return True if a text contains bytes that are invalid in its encoding, decoded with `surrogateescape`."""
    return not text.isascii() and any("\udc80" <= char <= "\udcff" for char in text)


class ChatParts:
    """Divides a chat with people, which may span years, into parts with the same id and title."""

    def __init__(self, source_id: str, *, title: str = "", user: str | None = None) -> None:
        self._whole = ImportedConversation(source_id, (), title, user)
        self._continues = False
        self._part: list[ImportedMessage] = []
        self._chars = 0

    def set_user(self, user: str | None) -> None:
        """Set the speaker who is the user, once the messages have shown it."""
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
