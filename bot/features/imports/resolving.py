"""Recognises chats without ids by their messages.

The file of a chat may have been renamed, or come from another phone with other names for the speakers. Its times may
have no time zone, and the session's time zone may have changed since the last import.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from bot.features.imports.items import ImportedConversation, ImportedMessage, Item
from bot.features.imports.known import KnownMessages, Resolution, combine, identify, to_minute

MAX_SAME = 50
"""Maximum number of equal stored messages that are compared for a message."""
MIN_ALIAS_SHARE = 0.1
"""Minimum share of a speaker's messages that are stored under another name, to treat both names as one person."""
MAX_SHIFT_MINUTES = 26 * 60
"""Maximum difference between two time zones."""
SHIFT_STEP_MINUTES = 15
MIN_SHIFTED, MIN_SHIFTED_SHARE = 2, 0.05
"""Minimum number of unique texts with a shift, and their minimum share, to accept it as a change of the time zone."""
MAX_SHIFTS = 4


@dataclass(slots=True)
class _Group:
    """The messages of a chat in the file, as hashes of their ids or texts."""

    source_id: str
    speakers: list[str] = field(default_factory=list)
    texts: array[int] = field(default_factory=lambda: array("q"))
    minutes: array[int] = field(default_factory=lambda: array("q"))
    speaker_indexes: array[int] = field(default_factory=lambda: array("i"))
    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, message: ImportedMessage) -> None:
        speaker = message.speaker or ""
        if speaker not in self.numbers:
            self.numbers[speaker] = len(self.speakers)
            self.speakers.append(speaker)
        self.texts.append(identify(message.text, message.id))
        self.minutes.append(to_minute(message.at))
        self.speaker_indexes.append(self.numbers[speaker])


def resolve_chats(items: Iterable[Item], known: KnownMessages) -> dict[int, Resolution]:
    """Find the stored chats of each chat without an id. Return them by the number of the chat in the file.

    Args:
        items: The items of the file, with their texts in the stored form.
    """
    resolutions: dict[int, Resolution] = {}
    pending: tuple[_Group, int] | None = None
    for number, group in _read_groups(items):
        # A chat's messages are added only when another chat follows, which may be the same one.
        if pending is not None:
            earlier, earlier_number = pending
            resolution = resolutions[earlier_number]
            if not resolution.chats:
                chat = known.add_chat(name_chat(known, earlier.source_id, earlier_number))
                resolution = resolutions[earlier_number] = replace(resolution, added=chat)
            chat = min(resolution.chats, default=resolution.added or 0)
            for text, minute, speaker in zip(earlier.texts, earlier.minutes, earlier.speaker_indexes, strict=True):
                known.add_message(chat, earlier.speakers[speaker], minute, text, earlier_number)
        resolutions[number] = _resolve(group, known)
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
            if not _is_chat_without_id(item):
                return  # The chats without ids come first.
            number, group = number + 1, _Group(item.source_id)
        for message in item.messages:
            group.add(message)
    if group is not None:
        yield number, group


def _is_chat_without_id(conversation: ImportedConversation) -> bool:
    """Return True for a chat with people that can only be recognised by its messages."""
    if not any(message.speaker is not None for message in conversation.messages):
        return False
    # If the messages have no ids, the id of the chat is only its title.
    return not conversation.source_id or not any(message.id for message in conversation.messages)


def _resolve(group: _Group, known: KnownMessages) -> Resolution:
    matched: Counter[int] = Counter()
    stored_speakers: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    shifts = (0, *_find_shifts(group, known))
    used: Counter[int] = Counter()
    for text, minute, speaker in zip(group.texts, group.minutes, group.speaker_indexes, strict=True):
        shift, same = _find_same(known, text, minute, shifts)
        used[shift] += bool(same)
        for chat in {known.chats[index] for index in same}:
            matched[chat] += 1
            in_chat = [index for index in same if known.chats[index] == chat]
            if len(in_chat) == 1:
                stored_speakers[chat, speaker][known.speaker_indexes[in_chat[0]]] += 1
    ((main_shift, _count),) = used.most_common(1)
    minutes = sorted(minute + main_shift for minute in group.minutes)
    chats = {chat for chat, count in matched.items() if _is_same(known.get_minutes(chat), count, minutes)}
    titled = known.find_chat(group.source_id) if group.source_id else None
    if titled is not None and not _overlap(known.get_minutes(titled), minutes):
        chats.add(titled)
    aliases = {}
    for speaker, name in enumerate(group.speakers):
        votes = sum((stored_speakers[chat, speaker] for chat in chats), Counter[int]())
        min_votes = votes.total() * MIN_ALIAS_SHARE
        aliases[name] = tuple(known.speakers[number] for number, count in votes.most_common() if count >= min_votes)
    return Resolution(frozenset(chats), None, aliases, shifts)


def _find_shifts(group: _Group, known: KnownMessages) -> tuple[int, ...]:
    """Return the differences in minutes between stored times and times in the file if the time zone has changed.

    There may be several differences because of daylight saving time.
    """
    counts = Counter(group.texts)
    differences: Counter[int] = Counter()
    for text, minute in zip(group.texts, group.minutes, strict=True):
        if counts[text] == 1 and (index := known.find_unique_text(text)) is not None:
            differences[known.minutes[index] - minute] += 1
    min_count = max(MIN_SHIFTED, differences.total() * MIN_SHIFTED_SHARE)
    shifts = (
        difference
        for difference, count in differences.most_common()
        if count >= min_count and 0 < abs(difference) <= MAX_SHIFT_MINUTES and difference % SHIFT_STEP_MINUTES == 0
    )
    return tuple(shifts)[:MAX_SHIFTS]


def _find_same(known: KnownMessages, text: int, minute: int, shifts: Sequence[int]) -> tuple[int, Sequence[int]]:
    for shift in shifts:
        if same := known.list_equal(combine(minute + shift, text)):
            return shift, same[:MAX_SAME]
    return 0, ()


def _is_same(stored: Sequence[int], matched: int, minutes: Sequence[int]) -> bool:
    """Return True if most messages are the same in the period that both chats cover."""
    in_group = bisect_right(minutes, stored[-1]) - bisect_left(minutes, stored[0])
    in_stored = bisect_right(stored, minutes[-1]) - bisect_left(stored, minutes[0])
    return matched * 2 > max(in_group, in_stored)


def _overlap(stored: Sequence[int], minutes: Sequence[int]) -> bool:
    return bool(stored) and stored[0] <= minutes[-1] and minutes[0] <= stored[-1]
