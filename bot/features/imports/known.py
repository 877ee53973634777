"""Recognition of messages and chats that were imported before.

A message is recognised by its id in the other program, or else by its minute, its speaker and its text in its chat. A
chat without ids is recognised by its messages, since its file may be renamed or come from another phone, where the
speakers have other names. Everything is derived from the log, so earlier imports are recognised too.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.features.imports.items import ImportedConversation, ImportedMessage, Item
from memory.clock import to_text
from memory.messages import Role
from memory.store.database import Database, Row
from memory.store.entry_rows import find_owner_id

ASSISTANT = "\0assistant"
"""Stands for the speaker of an assistant's messages. The user's own have the empty string."""
MINUTE_CHARS = len("2026-01-02T03:04")
MAX_SAME = 50
"""Maximum number of stored messages with the text and minute of a message that decide about its chat."""
MIN_ALIAS_SHARE = 0.1
"""Minimum share of a speaker's messages that another name in the log has said, so that both are the same person."""
_CONVERSATIONS_PER_READ = 20
_PART = re.compile(r"/\d+$")
"""The number of a part of a chat in the ids of former versions."""
_NOWHERE = -1


def compute_key(*texts: str) -> int:
    """Return a hash of texts, with 63 bits."""
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest()) >> 1


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation in the log. The times are those of its first and last message."""

    id: int
    first: str
    last: str
    messages: int


@dataclass(frozen=True, slots=True)
class Resolution:
    """The stored chats that contain messages of a chat in the file.

    Attributes:
        aliases: The stored names of each speaker in the file, the most frequent first.
        added: The number of the chat if it is new and others of the file may be the same.
    """

    chats: frozenset[int] = frozenset()
    added: int | None = None
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)


UNRESOLVED = Resolution()


class KnownMessages:
    """The stored messages of one program, as hashes.

    Messages of the file itself can be added too, so that a chat that occurs twice in it is stored once. They have the
    id 0 and the number of their chat in the file.
    """

    def __init__(self) -> None:
        self.memories: set[str] = set()
        self.conversations: defaultdict[int, list[StoredConversation]] = defaultdict(list)
        self.sources: list[str] = []
        """The id of each chat in the other program."""
        self.names: set[str] = set()
        """The user's names in this program."""
        self.other_names: set[str] = set()
        """Names of speakers who are known not to be the user."""
        self._numbers: dict[str, int] = {}
        self._speakers: list[str] = []
        self.speaker_numbers: dict[str, int] = {}
        # One item per message.
        self._ids, self._digests = array("q"), array("q")
        self.chats, self.said_by, self.groups = array("i"), array("i"), array("i")
        self.by_id: dict[int, int] = {}
        self.by_text: dict[int, int | list[int]] = {}
        self.by_time: dict[int, int] = {}
        self._minutes: defaultdict[int, list[int]] = defaultdict(list)

    @property
    def is_empty(self) -> bool:
        return not self._ids

    def find_chat(self, source_id: str) -> int | None:
        return self._numbers.get(source_id)

    def add_chat(self, source_id: str) -> int:
        """Return the number of a chat, which is new if the id is."""
        if source_id not in self._numbers:
            self._numbers[source_id] = len(self.sources)
            self.sources.append(source_id)
        return self._numbers[source_id]

    def add_rows(self, chat_of: dict[int, int], rows: Iterable[Row]) -> None:
        """Add stored messages.

        Args:
            chat_of: The chat of each conversation.
        """
        for row in rows:
            chat = chat_of[row["conversation_id"]]
            speaker = ASSISTANT if row["role"] == Role.ASSISTANT else row["speaker"] or ""
            at, text, source_id = row["created_at"], row["content"], row["source_id"]
            index = self._append(row["id"], chat, speaker, _to_minute(at), 0)
            if source_id is not None:
                self._digests.append(compute_key(text))
                self.by_id[compute_key(self.sources[chat], source_id)] = index
                continue
            self._digests.append(0)
            self._add_text(compute_key(at[:MINUTE_CHARS], text), index)
            time_key = compute_key(self.sources[chat], at, speaker)
            self.by_time[time_key] = _NOWHERE if time_key in self.by_time else index

    def add_group(self, group: _Group, chat: int, number: int) -> None:
        """Add the messages of a chat in the file."""
        for key, minute, speaker in zip(group.keys, group.minutes, group.said_by, strict=True):
            index = self._append(0, chat, group.speakers[speaker], minute, number)
            self._digests.append(0)
            self._add_text(key, index)

    def get_id(self, index: int) -> int:
        return self._ids[index]

    def has_text(self, index: int, text: str) -> bool:
        return self._digests[index] == compute_key(text)

    def start_matching(self) -> Matching:
        return Matching(self, bytearray(len(self._ids)))

    def resolve(self, group: _Group) -> Resolution:
        """Find the chats that a chat without ids of messages is the same as."""
        matched: Counter[int] = Counter()
        stored_speakers: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
        for key, said_by in zip(group.keys, group.said_by, strict=True):
            same = self.list_same(key)[:MAX_SAME]
            for chat in {self.chats[index] for index in same}:
                matched[chat] += 1
                in_chat = [index for index in same if self.chats[index] == chat]
                if len(in_chat) == 1:
                    stored_speakers[chat, said_by][self.said_by[in_chat[0]]] += 1
        chats = {chat for chat, count in matched.items() if self._is_same(chat, count, group)}
        titled = self._numbers.get(group.source_id) if group.source_id else None
        if titled is not None and not self._overlaps(titled, group):
            chats.add(titled)
        aliases = {}
        for said_by, name in enumerate(group.speakers):
            votes = sum((stored_speakers[chat, said_by] for chat in chats), Counter[int]())
            least = votes.total() * MIN_ALIAS_SHARE
            aliases[name] = tuple(self._speakers[number] for number, count in votes.most_common() if count >= least)
        return Resolution(frozenset(chats), None, aliases)

    def _is_same(self, chat: int, matched: int, group: _Group) -> bool:
        """Return True if most of the messages are the same during the time that both chats cover."""
        stored, minutes = self._get_minutes(chat), sorted(group.minutes)
        in_group = bisect_right(minutes, stored[-1]) - bisect_left(minutes, stored[0])
        in_stored = bisect_right(stored, minutes[-1]) - bisect_left(stored, minutes[0])
        return matched * 2 > max(in_group, in_stored)

    def _overlaps(self, chat: int, group: _Group) -> bool:
        stored = self._get_minutes(chat)
        return bool(stored) and stored[0] <= max(group.minutes) and min(group.minutes) <= stored[-1]

    def _get_minutes(self, chat: int) -> list[int]:
        self._minutes[chat].sort()  # Linear if nothing was added, and nearly so otherwise.
        return self._minutes[chat]

    def _append(self, message_id: int, chat: int, speaker: str, minute: int, group: int) -> int:
        if speaker not in self.speaker_numbers:
            self.speaker_numbers[speaker] = len(self._speakers)
            self._speakers.append(speaker)
        self._ids.append(message_id)
        self.chats.append(chat)
        self._minutes[chat].append(minute)
        self.said_by.append(self.speaker_numbers[speaker])
        self.groups.append(group)
        return len(self._ids) - 1

    def _add_text(self, key: int, index: int) -> None:
        same = self.by_text.get(key)
        if same is None:
            self.by_text[key] = index
        elif isinstance(same, int):
            self.by_text[key] = [same, index]
        else:
            same.append(index)

    def list_same(self, key: int) -> Sequence[int]:
        same = self.by_text.get(key, ())
        return (same,) if isinstance(same, int) else same


async def read_known(database: Database, owner: str, program: str) -> KnownMessages:
    """Read the stored messages and memories of a program."""
    known = KnownMessages()
    owner_id = await find_owner_id(database.rows, owner)
    for row in await database.rows(
        "SELECT name, is_user FROM import_names WHERE owner_id = ? AND program = ?", (owner_id, program)
    ):
        (known.names if row["is_user"] else known.other_names).add(row["name"])
    chat_of: dict[int, int] = {}
    for row in await database.rows(
        "SELECT i.source_id, i.conversation_id, c.started_at, c.ended_at FROM imported i"
        " LEFT JOIN conversations c ON c.id = i.conversation_id"
        " WHERE i.owner_id = ? AND i.program = ? AND NOT i.undone ORDER BY c.started_at, i.id",
        (owner_id, program),
    ):
        if row["conversation_id"] is None:
            known.memories.add(row["source_id"])
        else:
            chat = known.add_chat(_PART.sub("", row["source_id"]))
            chat_of[row["conversation_id"]] = chat
    numbers = [*chat_of]
    for start in range(0, len(numbers), _CONVERSATIONS_PER_READ):
        ids = json.dumps(numbers[start : start + _CONVERSATIONS_PER_READ])
        for row in await database.rows(
            "SELECT conversation_id, min(created_at) AS first, max(created_at) AS last, count(*) AS messages"
            " FROM messages WHERE conversation_id IN (SELECT value FROM json_each(?)) GROUP BY 1",
            (ids,),
        ):
            known.conversations[chat_of[row["conversation_id"]]].append(
                StoredConversation(row["conversation_id"], row["first"], row["last"], row["messages"])
            )
        rows = await database.rows(
            "SELECT id, conversation_id, role, speaker, created_at, content, source_id FROM messages"
            " WHERE conversation_id IN (SELECT value FROM json_each(?)) ORDER BY conversation_id, id",
            (ids,),
        )
        await asyncio.to_thread(known.add_rows, chat_of, rows)
    return known


class Matching:
    """Finds each stored message at most once."""

    def __init__(self, known: KnownMessages, used: bytearray) -> None:
        self._known = known
        self._used = used
        self._cursors: dict[tuple[int, int], int] = {}

    def find_by_id(self, chat: int, source_id: str) -> int | None:
        known = self._known
        return self._take(known.by_id.get(compute_key(known.sources[chat], source_id), _NOWHERE))

    def find_by_text(self, message: ImportedMessage, speaker: str, chats: frozenset[int], group: int) -> int | None:
        """Return a message with this text by this speaker in this minute.

        Args:
            group: The number of the chat in the file. Only messages of the chats before it are found.
        """
        known = self._known
        number = known.speaker_numbers.get(speaker, _NOWHERE)
        key = compute_key(to_text(message.at)[:MINUTE_CHARS], message.text)
        same = known.list_same(key)
        # A message may be repeated very often in a minute.
        for place in range(self._cursors.get((key, number), 0), len(same)):
            index = same[place]
            is_before = known.groups[index] < group and known.chats[index] in chats
            if is_before and known.said_by[index] == number and not self._used[index]:
                if len(same) > 1:
                    self._cursors[key, number] = place + 1
                return self._take(index)
        return None

    def find_by_time(self, message: ImportedMessage, speaker: str, chat: int) -> int | None:
        """Return the only message without an id that the speaker wrote at this moment."""
        known = self._known
        return self._take(known.by_time.get(compute_key(known.sources[chat], to_text(message.at), speaker), _NOWHERE))

    def end_group(self) -> None:
        self._cursors.clear()

    def _take(self, index: int) -> int | None:
        if index == _NOWHERE or self._used[index]:
            return None
        self._used[index] = 1
        return index


@dataclass(slots=True)
class _Group:
    """The messages of a chat in the file, as hashes."""

    source_id: str
    speakers: list[str] = field(default_factory=list)
    keys: array[int] = field(default_factory=lambda: array("q"))
    minutes: array[int] = field(default_factory=lambda: array("q"))
    said_by: array[int] = field(default_factory=lambda: array("i"))
    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, message: ImportedMessage) -> None:
        at, speaker = to_text(message.at), message.speaker or ""
        if speaker not in self.numbers:
            self.numbers[speaker] = len(self.speakers)
            self.speakers.append(speaker)
        self.keys.append(compute_key(at[:MINUTE_CHARS], message.text))
        self.minutes.append(_to_minute(at))
        self.said_by.append(self.numbers[speaker])


def is_chat_without_ids(conversation: ImportedConversation) -> bool:
    """Return True for a chat of people that can only be recognised by its messages."""
    return any(message.speaker is not None for message in conversation.messages) and not any(
        message.id for message in conversation.messages
    )


def resolve_chats(items: Iterable[Item], known: KnownMessages) -> dict[int, Resolution]:
    """Find the stored chats that the chats of a file are the same as, by the number of the chat in the file.

    Args:
        items: The items of the file, with their texts as they are stored.
    """
    resolutions: dict[int, Resolution] = {}
    pending: tuple[_Group, int] | None = None
    for number, group in _read_groups(items):
        # The messages of the only chat in a file don't have to be compared with each other.
        if pending is not None:
            earlier, earlier_number = pending
            resolution = resolutions[earlier_number]
            if not resolution.chats:
                chat = known.add_chat(name_chat(known, earlier.source_id, earlier_number))
                resolution = resolutions[earlier_number] = replace(resolution, added=chat)
            known.add_group(earlier, min(resolution.chats, default=resolution.added or 0), earlier_number)
        resolutions[number] = known.resolve(group)
        pending = group, number
    return resolutions


def name_chat(known: KnownMessages, source_id: str, number: int) -> str:
    """Return an id for a new chat. Other chats may have the same title."""
    source_id = source_id or "chat"
    return source_id if known.find_chat(source_id) is None else f"{source_id} #{len(known.sources)}.{number}"


def _read_groups(items: Iterable[Item]) -> Iterator[tuple[int, _Group]]:
    number, group = 0, None
    for item in items:
        if not isinstance(item, ImportedConversation):
            continue
        if not item.continues or group is None:
            if group is not None:
                yield number, group
            if not is_chat_without_ids(item):
                return  # The conversations of one program either have ids or not.
            number, group = number + 1, _Group(item.source_id)
        for message in item.messages:
            group.add(message)
    if group is not None:
        yield number, group


def _to_minute(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp()) // 60
