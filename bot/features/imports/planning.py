"""Selects the new content of a file: conversations with new or changed messages, and new memories."""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from bot.features.imports.items import (
    DELETED_ACCOUNT,
    MAX_ID_CHARS,
    MAX_MESSAGE_CHARS,
    ImportedConversation,
    ImportedMemory,
    ImportedMessage,
    ImportRefused,
    Item,
    SkippedItem,
    compute_digest,
)
from bot.features.imports.known import (
    ASSISTANT,
    UNRESOLVED,
    KnownMessages,
    Matching,
    Resolution,
    compute_key,
)
from bot.features.imports.reporting import ImportReport
from bot.features.imports.resolving import name_chat
from config.secrets import mask_secrets
from config.texts import N_, _, format_number
from memory.store.entry_rows import MAX_CONTENT_CHARS
from memory.text.validity import replace_invalid

MAX_ITEMS = 200_000
"""Maximum number of conversations and memories in one import, since their ids stay in RAM while it runs."""
MAX_SPEAKERS = 1_000
"""Maximum number of speakers that are counted for the question who the user is."""
NOT_STORABLE = N_("memories that can't be stored as they are")


@dataclass(frozen=True, slots=True)
class Step:
    """A message of a conversation in the file, in the order of the file.

    Attributes:
        stored: The id of the message in the log, 0 if this import has added it earlier, or None if it is new.
        message: The message to add, or a message with the new text for the stored message. None if nothing changes.
        source_id: The id from the other program, to store with a message that has no such id yet.
    """

    stored: int | None
    message: ImportedMessage | None = None
    source_id: str | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A conversation, or a part of a conversation, with new or changed messages.

    Attributes:
        chat: The number of the conversation or chat in the file.
        source_id: The id of the conversation or chat in the log.
        begins: Whether this is the first piece of its chat.
        chats: The numbers of the stored chats that are the same chat.
        added: The number of the chat if it is new and a later chat of the file may be the same.
    """

    chat: int
    source_id: str
    title: str
    begins: bool
    chats: frozenset[int]
    added: int | None
    steps: tuple[Step, ...]

    @property
    def messages(self) -> list[ImportedMessage]:
        """The messages to add."""
        return [step.message for step in self.steps if step.stored is None and step.message is not None]

    @property
    def chars(self) -> int:
        return sum(len(step.message.text) for step in self.steps if step.message is not None)


class Preparation:
    """Prepares the messages of a file for the log: masks secrets and limits lengths.

    A file is read several times, and the search for secrets takes most of the time. So the texts without secrets are
    remembered by their positions and checksums.
    """

    def __init__(self) -> None:
        self._checksums = array("q")
        self._position = 0
        self._only_counts = False

    def restart(self, *, only_counts: bool = False) -> None:
        """Begin another pass through the file.

        Args:
            only_counts: Don't mask secrets in new messages, since the caller only needs the number of messages.
        """
        self._position = 0
        self._only_counts = only_counts

    def limit(self, message: ImportedMessage) -> ImportedMessage:
        """Limit the lengths in the next message of the file. Its secrets aren't masked yet."""
        self._position += 1
        text = replace_invalid(message.text[:MAX_MESSAGE_CHARS])[:MAX_MESSAGE_CHARS]
        speaker = None if message.speaker is None else replace_invalid(message.speaker)[:MAX_ID_CHARS]
        return replace(message, text=text, speaker=speaker, id=_shorten_id(message.id))

    def mask(self, message: ImportedMessage) -> ImportedMessage:
        """Mask the secrets in the message that `limit` returned last."""
        masked = self._mask(message.text)
        return message if masked == message.text else replace(message, text=masked[:MAX_MESSAGE_CHARS])

    def mask_new(self, message: ImportedMessage) -> ImportedMessage:
        """Mask the secrets in a new message, unless this pass only counts."""
        return message if self._only_counts else self.mask(message)

    def prepare_all(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items with their messages in the stored form. Empty conversations are skipped."""
        self.restart()
        for item in items:
            if not isinstance(item, ImportedConversation):
                yield item
            elif item.messages:
                messages = tuple(self.mask(self.limit(message)) for message in item.messages)
                yield replace(item, source_id=_shorten_id(item.source_id), messages=messages)

    def _mask(self, text: str) -> str:
        checksum = zlib.crc32(text.encode("utf-8", "surrogatepass"))
        position = self._position - 1
        if position < len(self._checksums) and self._checksums[position] == checksum:
            return text
        masked = mask_secrets(text)
        while len(self._checksums) <= position:
            self._checksums.append(-1)
        self._checksums[position] = checksum if masked == text else -1
        return masked


def plan_pieces(
    items: Iterable[Item],
    known: KnownMessages,
    resolutions: Mapping[int, Resolution],
    report: ImportReport,
    program: str,
    preparation: Preparation,
    *,
    only_counts: bool = False,
) -> Iterator[Piece | ImportedMemory]:
    """Yield the pieces with new or changed messages and the new memories. Count all items in the report.

    Raises ImportRefused if there are too many items.

    Args:
        resolutions: The stored chats of each chat without an id, by its number in the file.
        only_counts: Whether the caller uses neither the texts nor the number of secrets.
    """
    seen: set[str] = set()
    preparation.restart(only_counts=only_counts)
    conversations = _Conversations(known, resolutions, report, program, preparation)
    for item in items:
        if len(seen) + conversations.number > MAX_ITEMS:
            raise ImportRefused(
                _(
                    "The file contains more than {n} conversations and memories: nothing was imported. Send it in"
                    " parts.",
                    n=format_number(MAX_ITEMS),
                )
            )
        if isinstance(item, SkippedItem):
            report.count_skipped(item)
        elif isinstance(item, ImportedConversation):
            if item.messages:
                yield from conversations.plan(item)
        elif len(item.text) > MAX_CONTENT_CHARS:
            report.left_out[NOT_STORABLE] += 1
        elif item.source_id in seen:
            report.known += 1
        else:
            seen.add(item.source_id)
            yield from _plan_memory(item, known, report)
    conversations.end_chat()


def _shorten_id(source_id: str) -> str:
    """Return an id from another program in the form in which it is stored."""
    return replace_invalid(source_id if len(source_id) <= MAX_ID_CHARS else compute_digest(source_id))


def _plan_memory(memory: ImportedMemory, known: KnownMessages, report: ImportReport) -> Iterator[ImportedMemory]:
    if memory.source_id in known.memories:
        report.known += 1
        return
    if mask_secrets(memory.text) != memory.text:
        report.left_out[N_("memories with a secret in them")] += 1
        return
    report.memories += 1
    yield memory


class _Conversations:
    """Plans the conversations of a file in their order."""

    def __init__(
        self,
        known: KnownMessages,
        resolutions: Mapping[int, Resolution],
        report: ImportReport,
        program: str,
        preparation: Preparation,
    ) -> None:
        self._preparation = preparation
        self._known = known
        self._resolutions = resolutions
        self._report = report
        self._program = program
        self._matching: Matching = known.start_matching()
        self._seen_ids: set[int] = set()
        self._speakers: Counter[str] = Counter()
        self._has_begun = False
        self._has_new = False
        self._resolution = UNRESOLVED
        self._source_id = ""
        self.number = 0

    def plan(self, conversation: ImportedConversation) -> Iterator[Piece]:
        if not conversation.continues or self.number == 0:
            self.end_chat()
            self._begin_chat(conversation)
        is_chat = any(message.speaker is not None for message in conversation.messages)
        user = conversation.user or self._find_stored_user()
        if is_chat and user is None:
            self._count_speakers(conversation)
        steps = []
        for written in conversation.messages:
            message = self._preparation.limit(written)
            name = message.speaker or ""
            step = self._plan_message(self._attribute(message, user) if is_chat else message, name)
            if step is None:
                continue
            steps.append(step)
            self._count_step(step, written)
        if all(step.message is None for step in steps):
            return
        yield Piece(
            self.number,
            self._source_id,
            replace_invalid(conversation.title)[:MAX_ID_CHARS],
            not self._has_new,
            self._resolution.chats,
            self._resolution.added,
            tuple(steps),
        )
        self._has_new = True

    def _begin_chat(self, conversation: ImportedConversation) -> None:
        self.number += 1
        source_id = _shorten_id(conversation.source_id)
        resolved = self._resolutions.get(self.number)
        if resolved is None:
            if not source_id:
                first = conversation.messages[0]
                source_id = compute_digest(first.at.isoformat(), first.speaker or "", first.text)
            number = self._known.find_chat(source_id)
            resolved = Resolution(frozenset({number}) if number is not None else frozenset())
        elif resolved.chats or resolved.added is not None:
            source_id = self._known.sources[min(resolved.chats, default=resolved.added or 0)]
        else:
            source_id = name_chat(self._known, source_id, self.number)
        self._resolution, self._source_id = resolved, source_id
        self._has_begun, self._has_new = True, False
        self._speakers = Counter()

    def _find_stored_user(self) -> str | None:
        """Return the speaker in the file who is stored as the user, or None if the user is unknown."""
        return next((name for name, stored in self._resolution.aliases.items() if stored[:1] == ("",)), None)

    def end_chat(self) -> None:
        """Count the current chat in the report."""
        if not self._has_begun:
            return
        self._has_begun = False
        self._matching.end_group()
        if self._has_new:
            self._report.conversations += 1
            if self._speakers:
                known = self._known
                self._report.speakers.setdefault(self._program, Counter()).update(self._speakers)
                self._report.is_user_unknown |= known.names.isdisjoint(self._speakers) and not known.other_names >= set(
                    self._speakers
                )
        else:
            self._report.known += 1

    def _count_speakers(self, conversation: ImportedConversation) -> None:
        for message in conversation.messages:
            name = message.speaker
            if name is not None and (name in self._speakers or len(self._speakers) < MAX_SPEAKERS):
                self._speakers[name] += 1

    def _attribute(self, message: ImportedMessage, user: str | None) -> ImportedMessage:
        """Return a message of a chat with people in the stored form: without a speaker if the user wrote it."""
        if message.speaker is None:
            return replace(message, speaker=DELETED_ACCOUNT)
        is_user = message.speaker == user or (user is None and message.speaker in self._known.names)
        return replace(message, speaker=None) if is_user else message

    def _plan_message(self, message: ImportedMessage, name: str) -> Step | None:
        """Return the step for a message, or None if its id has occurred before in the file.

        Args:
            name: The speaker's name in the file.
        """
        if message.id:
            key = compute_key(self._source_id, message.id)
            if key in self._seen_ids:
                return None
            self._seen_ids.add(key)
        if not self._resolution.chats:
            return Step(None, self._preparation.mask_new(message))
        if (index := self._find_by_id(message)) is not None:
            # Compare before masking: most messages have no secrets, and the search for them is slow.
            if self._known.has_text(index, message.text):
                return Step(self._known.get_id(index))
            message = self._preparation.mask(message)
            is_same = self._known.has_text(index, message.text)
            return Step(self._known.get_id(index), None if is_same else message)
        index = self._find_same(message, name)
        if index is None:
            message = self._preparation.mask(message)
            index = self._find_same(message, name)
        if index is not None:
            return Step(self._known.get_id(index), source_id=message.id or None)
        if (index := self._find_changed(message, name)) is not None:
            return Step(self._known.get_id(index), message, message.id or None)
        return Step(None, message)

    def _find_by_id(self, message: ImportedMessage) -> int | None:
        if not message.id:
            return None
        found = (self._matching.find_by_id(chat, message.id) for chat in self._resolution.chats)
        return next((index for index in found if index is not None), None)

    def _find_same(self, message: ImportedMessage, name: str) -> int | None:
        for speaker in self._list_speakers(message, name):
            index = self._matching.find_by_text(message, speaker, self._resolution, self.number)
            if index is not None:
                return index
        return None

    def _find_changed(self, message: ImportedMessage, name: str) -> int | None:
        """Return the stored message without an id that has the same speaker and time.

        In chats with people and without message ids, the time is only exact to the minute, so nothing is found.
        """
        if name and not message.id:
            return None
        found = (
            self._matching.find_by_time(message, speaker, chat)
            for chat in self._resolution.chats
            for speaker in self._list_speakers(message, name)
        )
        return next((index for index in found if index is not None), None)

    def _list_speakers(self, message: ImportedMessage, name: str) -> tuple[str, ...]:
        """Return the stored names that the speaker of a message may have."""
        if message.by_assistant:
            return (ASSISTANT,)
        aliases = self._resolution.aliases.get(name, ())
        return tuple(dict.fromkeys((*aliases, message.speaker or "", name)))

    def _count_step(self, step: Step, written: ImportedMessage) -> None:
        if step.message is None:
            return
        report, at = self._report, step.message.at
        report.secrets += step.message.text != replace_invalid(written.text[:MAX_MESSAGE_CHARS])[:MAX_MESSAGE_CHARS]
        if step.stored is not None:
            report.changed += 1
            return
        report.messages += 1
        report.first = min(report.first or at, at)
        report.last = max(report.last or at, at)
