"""Recognises messages and chats that were imported before.

A message is recognised by its id in the other program, or else by its chat, minute, speaker and text. All of this is
derived from the log, so imports by earlier versions are recognised too.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product

from bot.features.imports.items import ImportedMessage
from memory.clock import to_text
from memory.messages import Role
from memory.store.database import Database, Row
from memory.store.entry_rows import find_owner_id

ASSISTANT = "\0assistant"
"""The speaker of messages from an assistant. The speaker of the user's own messages is an empty string."""
_CONVERSATIONS_PER_READ = 20
_PART = re.compile(r"/\d+$")
"""The number of a chat's part. Former versions added it to the ids of chats."""
_NO_INDEX = -1
_MIXER = 0x9E37_79B9_7F4A_7C15
_MASK = (1 << 63) - 1


def compute_key(*texts: str) -> int:
    """Return a 63-bit hash of texts."""
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest()) >> 1


def identify(text: str, source_id: str | None) -> int:
    """Return the hash that identifies a message within its minute: the hash of its id, or else of its text."""
    return compute_key("id", source_id) if source_id else compute_key(text)


def combine(minute: int, digest: int) -> int:
    """Return a key for a minute and a hash. Combining the minute with the key returns the hash again."""
    return digest ^ (minute * _MIXER & _MASK)


def to_minute(at: datetime) -> int:
    return int(at.timestamp()) // 60


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation in the log.

    Attributes:
        first: The time of its earliest message.
        last: The time of its latest message.
        messages: The number of its messages.
    """

    id: int
    first: str
    last: str
    messages: int


@dataclass(frozen=True, slots=True)
class Resolution:
    """The stored chats that contain messages of a chat in the file.

    Attributes:
        added: The number of the chat if it is new and a later chat of the file may be the same.
        aliases: The stored names of each speaker in the file, the most frequent first.
        shifts: Minutes to add to a time in the file to get the stored time.
    """

    chats: frozenset[int] = frozenset()
    added: int | None = None
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    shifts: tuple[int, ...] = (0,)


UNRESOLVED = Resolution()


class KnownMessages:
    """The stored messages of one program, as hashes.

    Messages of the file itself can be added too, so that a chat that occurs twice in the file is stored once. These
    messages have the id 0. Their group is the number of their chat in the file.
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
        self.speakers: list[str] = []
        self.speaker_numbers: dict[str, int] = {}
        # One item per message.
        self._ids, self._digests, self.minutes = array("q"), array("q"), array("q")
        self.chats, self.speaker_indexes, self.groups = array("i"), array("i"), array("i")
        self.by_id: dict[int, int] = {}
        self.by_text: dict[int, int | list[int]] = {}
        self.by_time: dict[int, int] = {}
        self._by_only_text: dict[int, int] | None = None
        self._minutes_of_chat: defaultdict[int, list[int]] = defaultdict(list)

    @property
    def is_empty(self) -> bool:
        return not self._ids

    def find_chat(self, source_id: str) -> int | None:
        return self._numbers.get(source_id)

    def add_chat(self, source_id: str) -> int:
        """Return the number of a chat. If the id is unknown, add the chat."""
        if source_id not in self._numbers:
            self._numbers[source_id] = len(self.sources)
            self.sources.append(source_id)
        return self._numbers[source_id]

    def add_rows(self, chats_by_conversation: dict[int, int], rows: Iterable[Row]) -> None:
        """Add stored messages.

        Args:
            chats_by_conversation: The chat of each conversation.
        """
        rows = list(rows)
        with_assistants = {row["conversation_id"] for row in rows if row["role"] == Role.ASSISTANT}
        for row in rows:
            chat = chats_by_conversation[row["conversation_id"]]
            speaker = ASSISTANT if row["role"] == Role.ASSISTANT else row["speaker"] or ""
            at, source_id, digest = row["created_at"], row["source_id"], compute_key(row["content"])
            minute = to_minute(datetime.fromisoformat(at))
            index = self._append(row["id"], chat, speaker, minute, 0, digest)
            if source_id is None or row["conversation_id"] not in with_assistants:
                self._add_text(combine(minute, identify(row["content"], source_id)), index)
            if source_id is not None:
                self.by_id[compute_key(self.sources[chat], source_id)] = index
                continue
            time_key = compute_key(self.sources[chat], at, speaker)
            self.by_time[time_key] = _NO_INDEX if time_key in self.by_time else index

    def add_message(self, chat: int, speaker: str, minute: int, digest: int, group: int) -> None:
        """Add a message of the file."""
        self._add_text(combine(minute, digest), self._append(0, chat, speaker, minute, group, digest))

    def get_id(self, index: int) -> int:
        return self._ids[index]

    def has_text(self, index: int, text: str) -> bool:
        return self._digests[index] == compute_key(text)

    def start_matching(self) -> Matching:
        return Matching(self, bytearray(len(self._ids)))

    def get_minutes(self, chat: int) -> list[int]:
        """Return the minutes of a chat's messages in chronological order."""
        self._minutes_of_chat[chat].sort()  # Nearly linear, since most of the list is sorted already.
        return self._minutes_of_chat[chat]

    def find_unique_text(self, digest: int) -> int | None:
        """Return the only message with this hash at any time, or None if there are several or none."""
        if self._by_only_text is None:
            self._by_only_text = {}
            for key, same in self.by_text.items():
                for index in (same,) if isinstance(same, int) else same:
                    self._add_only_text(self._by_only_text, key, index)
        index = self._by_only_text.get(digest, _NO_INDEX)
        return None if index == _NO_INDEX else index

    def _append(self, message_id: int, chat: int, speaker: str, minute: int, group: int, digest: int) -> int:
        if speaker not in self.speaker_numbers:
            self.speaker_numbers[speaker] = len(self.speakers)
            self.speakers.append(speaker)
        self._ids.append(message_id)
        self._digests.append(digest)
        self.minutes.append(minute)
        self.chats.append(chat)
        self._minutes_of_chat[chat].append(minute)
        self.speaker_indexes.append(self.speaker_numbers[speaker])
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
        if self._by_only_text is not None:
            self._add_only_text(self._by_only_text, key, index)

    def _add_only_text(self, by_only_text: dict[int, int], key: int, index: int) -> None:
        digest = combine(self.minutes[index], key)
        by_only_text[digest] = _NO_INDEX if digest in by_only_text else index

    def list_equal(self, key: int) -> Sequence[int]:
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
    chats_by_conversation: dict[int, int] = {}
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
            chats_by_conversation[row["conversation_id"]] = chat
    numbers = [*chats_by_conversation]
    for start in range(0, len(numbers), _CONVERSATIONS_PER_READ):
        ids = json.dumps(numbers[start : start + _CONVERSATIONS_PER_READ])
        for row in await database.rows(
            "SELECT conversation_id, min(created_at) AS first, max(created_at) AS last, count(*) AS messages"
            " FROM messages WHERE conversation_id IN (SELECT value FROM json_each(?)) GROUP BY 1",
            (ids,),
        ):
            known.conversations[chats_by_conversation[row["conversation_id"]]].append(
                StoredConversation(row["conversation_id"], row["first"], row["last"], row["messages"])
            )
        rows = await database.rows(
            "SELECT id, conversation_id, role, speaker, created_at, content, source_id FROM messages"
            " WHERE conversation_id IN (SELECT value FROM json_each(?)) ORDER BY conversation_id, id",
            (ids,),
        )
        await asyncio.to_thread(known.add_rows, chats_by_conversation, rows)
    return known


class Matching:
    """Finds the stored messages that equal messages of the file. Each stored message is found at most once."""

    def __init__(self, known: KnownMessages, used: bytearray) -> None:
        self._known = known
        self._used = used
        self._cursors: dict[tuple[int, int], int] = {}

    def find_by_id(self, chat: int, source_id: str) -> int | None:
        known = self._known
        return self._take(known.by_id.get(compute_key(known.sources[chat], source_id), _NO_INDEX))

    def find_by_text(self, message: ImportedMessage, speaker: str, resolution: Resolution, group: int) -> int | None:
        """Return a message with the same id or text, by the same speaker, in the same minute.

        Args:
            group: The number of the chat in the file. Only messages of earlier chats are found.
        """
        known = self._known
        number = known.speaker_numbers.get(speaker, _NO_INDEX)
        minute = to_minute(message.at)
        digests = dict.fromkeys((identify(message.text, message.id), compute_key(message.text)))
        for shift, digest in product(resolution.shifts, digests):
            key = combine(minute + shift, digest)
            same = known.list_equal(key)
            # The cursor avoids quadratic time if a message is repeated very often in a minute.
            for place in range(self._cursors.get((key, number), 0), len(same)):
                index = same[place]
                is_before = known.groups[index] < group and known.chats[index] in resolution.chats
                if is_before and known.speaker_indexes[index] == number and not self._used[index]:
                    if len(same) > 1:
                        self._cursors[key, number] = place + 1
                    return self._take(index)
        return None

    def find_by_time(self, message: ImportedMessage, speaker: str, chat: int) -> int | None:
        """Return the message without an id that this speaker wrote at the same moment, if there is exactly one."""
        known = self._known
        return self._take(known.by_time.get(compute_key(known.sources[chat], to_text(message.at), speaker), _NO_INDEX))

    def end_group(self) -> None:
        self._cursors.clear()

    def _take(self, index: int) -> int | None:
        if index == _NO_INDEX or self._used[index]:
            return None
        self._used[index] = 1
        return index
