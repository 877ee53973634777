"""Compaction: replaces the oldest part of a conversation by a summary, stored as an archive (S0, S1)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol

import aiosqlite
import structlog

from config.secrets import mask_secrets
from config.texts import in_english
from memory.clock import Clock
from memory.ledger.entries import EntryStore
from memory.log.sessions import (
    Marker,
    Session,
    SessionService,
    Transcript,
    divide_by_origin,
    insert_marker,
    join_passages,
)
from memory.messages import Completion, Message, Role, find_least_trusted, get_speaker, make_storable
from memory.store.entry import Author, Entry, Kind, NewEntry
from memory.text.tokens import TokenCounter

log = structlog.get_logger(__name__)

SUMMARY_TIMEOUT_SECONDS = 15.0
"""Maximum duration of a summary request (S0)."""
MIN_MESSAGE_CHARS = 300
"""A longer message is cut to no fewer characters of its beginning and end in the summary request (S0)."""
MAX_TRANSCRIPT_CHARS = 24_000
"""Maximum size of the transcript in the summary request, which must fit into a window of 8,192 tokens."""
MAX_SUMMARY_CHARS = 6_000
"""Summaries are cut to this size, since a model may exceed the requested 500 tokens and they are in every prompt."""
MAX_EXTRACT_CHARS = 2_000
"""Maximum size of the extract that replaces a missing summary: about 500 tokens."""
CHARS_PER_TOKEN = 3.5
"""The estimate of S0."""
PROMPT_OVERHEAD_TOKENS = 8_000
"""Tokens that S0 adds for the system prompt."""


class Summarizer(Protocol):
    """Writes summaries of at most 500 tokens. May raise any exception."""

    async def summarize(self, earlier: str | None, transcript: str, seconds: float) -> Completion:
        """Summarize a transcript within `seconds`, continuing the earlier summary."""


@dataclass(frozen=True, slots=True)
class CompactionLimits:
    """The limits above which a conversation is compacted. `summary_timeout` is in seconds."""

    max_context_tokens: int
    keep_last_messages: int
    memory_window: int
    enabled: bool = True
    summary_timeout: float = SUMMARY_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class CompactionResult:
    removed: int
    kept: int
    archive_name: str | None  # None in a private talk, which has no archive
    summarized: bool  # by the model; otherwise the archive contains an extract
    conversation_id: int
    first_kept_message_id: int


@dataclass(frozen=True, slots=True)
class Progress:
    tokens: int
    threshold: int
    messages: int
    window: int


@dataclass(frozen=True, slots=True)
class CompactionService:
    sessions: SessionService
    entries: EntryStore
    summarizer: Summarizer | None
    limits: CompactionLimits
    counter: TokenCounter
    clock: Clock

    async def compact(self, session: Session, keep: int) -> CompactionResult | None:
        """Archive all but about the last `keep` messages. Return None if there is nothing to compact."""
        transcript = await self.sessions.read_transcript(session.id)
        return await self._archive(session, transcript, find_cut(transcript.messages, keep))

    async def compact_if_needed(
        self, session: Session, transcript: Transcript, model: str, max_input_tokens: int
    ) -> CompactionResult | None:
        if not self.limits.enabled:
            return None
        threshold = self.compute_threshold(max_input_tokens)
        tokens = self.estimate(transcript.messages, model, threshold)
        count = len(transcript.messages)
        if tokens <= threshold and count <= self.limits.memory_window:
            return None
        log.info("context_too_large", tokens=round(tokens), threshold=threshold, messages=count)
        # Leave room, so that the next turn doesn't compact again.
        keep = max(1, min(self.limits.keep_last_messages, self.limits.memory_window * 4 // 5, count - 1))
        cut = find_cut(transcript.messages, keep)
        # Keep fewer messages if the remaining ones are still too large.
        while keep > 1 and self.estimate(transcript.messages[cut:], model, threshold) > threshold * 0.75:
            keep //= 2
            cut = find_cut(transcript.messages, keep)
        return await self._archive(session, transcript, cut)

    def measure_progress(self, transcript: Transcript, model: str, max_input_tokens: int) -> Progress | None:
        """Return how close a conversation is to compaction, or None if automatic compaction is disabled."""
        if not self.limits.enabled:
            return None
        threshold = self.compute_threshold(max_input_tokens)
        tokens = round(self.estimate(transcript.messages, model, threshold))
        return Progress(tokens, threshold, len(transcript.messages), self.limits.memory_window)

    def compute_threshold(self, max_input_tokens: int) -> int:
        """Return the tokens above which a conversation is compacted: at most 0.8 of the window (S0)."""
        return min(int(max_input_tokens * 0.8), self.limits.max_context_tokens)

    def estimate(self, messages: list[Message], model: str, threshold: int) -> float:
        """Estimate the tokens of a request, at least S0's `sum(len) / 3.5 + 8000` until the model reports usage."""
        tokens = float(self.counter.count_messages(messages, model))
        if not self.counter.is_calibrated(model):
            tokens = max(tokens, sum(len(message.content) for message in messages) / CHARS_PER_TOKEN)
        # S0 assumes a large window.
        return tokens + min(PROMPT_OVERHEAD_TOKENS, threshold // 2)

    async def _archive(self, session: Session, transcript: Transcript, cut: int) -> CompactionResult | None:
        removed, messages = transcript.messages[:cut], transcript.messages[cut:]
        if not removed or transcript.conversation_id is None:
            return None
        forgotten = await self.entries.read_forgotten_words(session.owner)
        derived = [forgotten.mask(message) for message in removed]
        # The summaries are masked already.
        (own_before, others_before), (own, of_others) = transcript.summaries, divide_by_origin(derived)
        passages = [(own_before, own), (others_before, of_others)]
        summaries = await asyncio.gather(
            *(self._summarize_passage(earlier, messages) for earlier, messages in passages)
        )
        summarized = all(is_made for _, is_made in summaries)
        content = join_passages(*(text for text, _ in summaries))
        # Named after the new messages, since the earlier summary would give all archives the same name.
        topic = content if summarized else mask_secrets(extract(None, derived))
        stem = f"archive-{self.clock():%Y-%m-%d}"
        first_kept, conversation_id = messages[0].id, transcript.conversation_id
        assert first_kept is not None, "messages of a transcript are in the log"  # noqa: S101  # they were read from it
        archive = NewEntry(
            content,
            stem=stem,
            topic=topic,
            kind=Kind.ARCHIVE,
            author=Author.COMPACTION,
            trusted=summaries[1][0] is None,
        )
        name: str | None = None
        if session.private:
            await self.sessions.summarise(conversation_id, first_kept, archive.content, trusted=archive.trusted)
        else:
            name = await self._store_archive(session.owner, archive, conversation_id, first_kept)
        log.info("compacted", removed=len(removed), kept=len(messages), archive=name, summarized=summarized)
        return CompactionResult(
            removed=len(removed),
            kept=len(messages),
            archive_name=name,
            summarized=summarized,
            conversation_id=conversation_id,
            first_kept_message_id=first_kept,
        )

    async def _store_archive(self, owner: str, archive: NewEntry, conversation_id: int, first_kept: int) -> str:
        # In one transaction: without the marker the same messages would be summarized again.
        async def mark(connection: aiosqlite.Connection, entry: Entry) -> None:
            await insert_marker(connection, conversation_id, Marker(entry.name, entry.id, self.clock(), first_kept))

        return (await self.entries.add(owner, archive, also=mark)).name

    async def _summarize_passage(self, earlier: str | None, messages: list[Message]) -> tuple[str | None, bool]:
        """Return the summary of a passage, or None if it is empty, and whether the model has written it."""
        if not messages:
            return earlier, True
        summary = await self._summarize(earlier, messages)
        return mask_secrets(summary or extract(earlier, messages)), summary is not None

    async def _summarize(self, earlier: str | None, removed: list[Message]) -> str | None:
        if self.summarizer is None:
            return None
        try:
            seconds = self.limits.summary_timeout
            async with asyncio.timeout(seconds):
                summary = await self.summarizer.summarize(earlier, format_transcript(removed), seconds)
        except Exception as error:  # noqa: BLE001  # The extract replaces the summary after any error.
            log.warning("summary_failed", error=in_english(error) or type(error).__name__)
            return None
        if not summary.is_whole:  # The newest part would be missing.
            log.warning("summary_cut_off", characters=len(summary.text))
            return None
        return make_storable(summary.text.strip()[:MAX_SUMMARY_CHARS]) or None


def find_cut(messages: list[Message], keep: int) -> int:
    """Return the index of a user's message near the last `keep` messages, so that no tool call loses its result.

    Return 0 if there is no such message.
    """
    users = [i for i, message in enumerate(messages) if message.role is Role.USER and i > 0]
    index = max(0, len(messages) - keep)
    if index == 0:
        return 0
    # Prefer an earlier one, which keeps more messages.
    return max((i for i in users if i <= index), default=min((i for i in users if i > index), default=0))


def format_transcript(messages: list[Message]) -> str:
    """Format messages for a summary request, without tool results and with long messages shortened (S0)."""
    spoken = [m for m in messages if m.role in (Role.USER, Role.ASSISTANT) and m.content.strip()]
    # A few messages share the available space, so that more of a long document is included.
    share = max(MIN_MESSAGE_CHARS, MAX_TRANSCRIPT_CHARS // max(1, 2 * len(spoken)))
    lines = [
        f"{get_speaker(message)}{find_least_trusted([message.provenance]).mark}: {_mask(message.content, share)}"
        for message in spoken
    ]
    return _shorten("\n".join(lines), MAX_TRANSCRIPT_CHARS)


def extract(earlier: str | None, messages: list[Message]) -> str:
    """Return a replacement for a missing summary: the earlier summary and the beginnings of the user's messages."""
    texts = [
        f"{f'{message.speaker}: ' if message.speaker else ''}{' '.join(mask_secrets(message.content).split())}"
        for message in messages
        if message.role is Role.USER
    ]
    share = max(40, MAX_EXTRACT_CHARS // (2 * max(1, len(texts))))
    lines = "\n".join(["The user said:", *(f"- {text[:share]}" for text in texts if text)])
    if earlier is None:
        return _shorten(lines, MAX_EXTRACT_CHARS)
    half = MAX_EXTRACT_CHARS // 2
    return f"{_shorten(earlier, half)}\n{_shorten(lines, half)}"


def _mask(text: str, limit: int) -> str:
    # Masked before it is cut, since half a key is not recognized. Cut before that to bound the work.
    return _shorten(mask_secrets(_shorten(text, limit * 4)), limit)


def _shorten(text: str, limit: int) -> str:
    """Return a text, or its beginning and end if it has more than `limit` characters."""
    if len(text) <= limit:
        return text
    gap = "\n[...]\n"
    half = (limit - len(gap)) // 2
    return f"{text[:half]}{gap}{text[-half:]}"
