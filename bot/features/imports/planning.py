"""Selection of the new content of a file, in pieces that are written in one short transaction each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.features.imports.items import (
    MAX_ID_CHARS,
    MAX_MESSAGE_CHARS,
    Digest,
    ImportedConversation,
    ImportedMemory,
    ImportedMessage,
    ImportRefused,
    Item,
    SkippedItem,
    compute_digest,
)
from config.secrets import mask_secrets
from config.texts import N_, _, format_number
from memory.store.entry_rows import MAX_CONTENT_CHARS
from memory.text.validity import replace_invalid

MESSAGES_PER_WRITE = 40
CHARS_PER_WRITE = 20_000
MEMORIES_PER_WRITE = 20
MAX_ITEMS = 200_000
"""Maximum number of conversations and memories in one import. Their ids are in memory while it runs."""
DIFFERS = N_("conversations that changed after they were imported")
CANT_BE_KEPT = N_("memories that can't be stored as they are")


@dataclass(frozen=True, slots=True)
class Part:
    """The number and digest of messages of a conversation that were imported together."""

    messages: int
    digest: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Messages of a conversation that are written in one transaction.

    Attributes:
        source_id: What identifies the conversation, or the part of a chat, among the imported ones.
    """

    source_id: str
    begins: bool  # whether it is the first piece of the conversation
    messages: tuple[ImportedMessage, ...]
    so_far: Part  # the messages imported including this piece


@dataclass(slots=True)
class ImportReport:
    """The counts of an import. `known` is the number of conversations and memories imported before."""

    program: str
    conversations: int = 0
    messages: int = 0
    memories: int = 0
    known: int = 0
    secrets: int = 0
    first: datetime | None = None
    last: datetime | None = None
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def is_empty(self) -> bool:
        return not self.conversations and not self.memories


def plan_pieces(
    items: Iterable[Item], known: Mapping[str, Sequence[Part]], report: ImportReport
) -> Iterator[Piece | ImportedMemory]:
    """Yield the new pieces and memories, and count all items in the report. Raises ImportRefused."""
    seen: set[str] = set()
    for item in _number_parts(items):
        if len(seen) > MAX_ITEMS:
            raise ImportRefused(
                _(
                    "The file contains more than {n} conversations and memories: nothing was imported. Send it in"
                    " parts.",
                    n=format_number(MAX_ITEMS),
                )
            )
        if isinstance(item, SkippedItem):
            report.left_out[item.what] += 1
        elif isinstance(item, ImportedMemory) and len(item.text) > MAX_CONTENT_CHARS:
            report.left_out[CANT_BE_KEPT] += 1
        elif item.source_id in seen:
            report.known += 1
        elif isinstance(item, ImportedMemory):
            seen.add(item.source_id)
            yield from _plan_memory(item, known, report)
        else:
            seen.add(item.source_id)
            yield from _plan_conversation(item, known, report)


def _number_parts(items: Iterable[Item]) -> Iterator[Item]:
    """Number the parts of each conversation in their ids. A missing id is derived from the first message."""
    source_id, number = "", 0
    for item in items:
        if not isinstance(item, ImportedConversation):
            yield item
            continue
        number = number + 1 if item.continues else 0
        if not item.continues:
            first = item.messages[0]
            source_id = item.source_id or compute_digest(first.at.isoformat(), first.speaker or "", first.text)
            source_id = source_id if len(source_id) <= MAX_ID_CHARS else compute_digest(source_id)
        yield replace(item, source_id=replace_invalid(f"{source_id}/{number}" if number else source_id))


def _plan_memory(
    memory: ImportedMemory, known: Mapping[str, Sequence[Part]], report: ImportReport
) -> Iterator[ImportedMemory]:
    if memory.source_id in known:
        report.known += 1
        return
    if mask_secrets(memory.text) != memory.text:
        report.left_out[N_("memories with a secret in them")] += 1
        return
    report.memories += 1
    yield memory


def _plan_conversation(
    conversation: ImportedConversation, known: Mapping[str, Sequence[Part]], report: ImportReport
) -> Iterator[Piece]:
    messages = conversation.messages
    position = 0
    for part in known.get(conversation.source_id, ()):
        # The parts must match the beginning of the conversation. The rest is new.
        texts = (message.text for message in messages[position : position + part.messages])
        if compute_digest(*texts) != part.digest:
            report.left_out[DIFFERS] += 1
            return
        position += part.messages
    new = messages[position:]
    if not new:
        report.known += 1
        return
    report.conversations += 1
    digest, done = Digest(), 0
    for batch in _slice_messages(new):
        for message in batch:
            digest.add(message.text)
        kept = tuple(_prepare_message(message, report) for message in batch)
        yield Piece(conversation.source_id, done == 0, kept, Part(done + len(batch), digest.value))
        done += len(batch)


def _slice_messages(messages: Sequence[ImportedMessage]) -> Iterator[list[ImportedMessage]]:
    batch: list[ImportedMessage] = []
    for message in messages:
        if batch and (
            len(batch) == MESSAGES_PER_WRITE or sum(len(m.text) for m in batch) + len(message.text) > CHARS_PER_WRITE
        ):
            yield batch
            batch = []
        batch.append(message)
    yield batch


def _prepare_message(message: ImportedMessage, report: ImportReport) -> ImportedMessage:
    """Prepare a message for the log: mask secrets and limit its length."""
    said = message.text[:MAX_MESSAGE_CHARS]
    text = mask_secrets(said)
    report.secrets += text != said
    report.messages += 1
    report.first = min(report.first or message.at, message.at)
    report.last = max(report.last or message.at, message.at)
    speaker = None if message.speaker is None else replace_invalid(message.speaker)[:MAX_ID_CHARS]
    return replace(message, text=replace_invalid(text)[:MAX_MESSAGE_CHARS], speaker=speaker)
