"""Compaction: the oldest part of a conversation becomes an archive and leaves the model's view (S0, S1)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import structlog

from config.secrets import without_secrets
from config.texts import in_english
from memory.log.sessions import Marker, insert_marker
from memory.log.summaries import by_origin, joined
from memory.messages import Message, Role, speaker_of, storable, worst
from memory.store.entry import Author, Kind, NewEntry

if TYPE_CHECKING:
    import aiosqlite

    from memory.clock import Clock
    from memory.ledger.entries import EntryStore
    from memory.log.sessions import Session, SessionService, Transcript
    from memory.messages import Completion
    from memory.store.entry import Entry
    from memory.text.tokens import TokenCounter

log = structlog.get_logger(__name__)

SUMMARY_TIMEOUT = 15.0
"""Seconds that a summary may take (S0)."""
MESSAGE_CHARACTERS = 300
"""How much of each message the summariser sees at least (S0): of a long one its beginning and its end."""
TRANSCRIPT_CHARACTERS = 24_000
"""How much text the summariser sees in all: a window of 8,192 tokens must hold it."""
SUMMARY_CHARACTERS = 6_000
"""The longest summary that is stored, whatever a model makes of "at most 500 tokens": it is in every prompt."""
EXTRACT_CHARACTERS = 2_000
"""How long the extract gets that stands in for a summary: about the 500 tokens of one."""
CHARACTERS_PER_TOKEN = 3.5
"""S0's estimate."""
PROMPT_OVERHEAD = 8_000
"""Tokens that S0 adds for the system prompt."""


class Summarizer(Protocol):
    """Makes a summary of at most 500 tokens. Raises whatever stops it."""

    async def summarize(self, earlier: str | None, transcript: str, seconds: float) -> Completion:
        """Summarise `transcript` within `seconds`, building on the summary of what came before it."""


@dataclass(frozen=True, slots=True)
class CompactionLimits:
    """When a conversation is too large, and what stays of it. summary_timeout is in seconds."""

    max_context_tokens: int
    keep_last_messages: int
    memory_window: int
    enabled: bool = True
    summary_timeout: float = SUMMARY_TIMEOUT


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did."""

    removed: int
    kept: int
    archive_name: str | None  # None in a private talk, whose summary goes with it
    summarized: bool  # by the model; otherwise the archive holds an extract
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

    async def compact(self, session: Session, keep: int) -> Compacted | None:
        """Archive all but about the last `keep` messages; None when there is nothing to compact."""
        transcript = await self.sessions.transcript(session.id)
        # cut at a user's message, so that no tool call loses its result
        return await self._archive(session, transcript, cut_at(transcript.messages, keep))

    async def compact_if_needed(
        self, session: Session, transcript: Transcript, model: str, max_input_tokens: int
    ) -> Compacted | None:
        if not self.limits.enabled:
            return None
        threshold = self.threshold(max_input_tokens)
        tokens = self.estimate(transcript.messages, model, threshold)
        count = len(transcript.messages)
        if tokens <= threshold and count <= self.limits.memory_window:
            return None
        log.info("context_too_large", tokens=round(tokens), threshold=threshold, messages=count)
        # the next turn must not be here again: some of the window stays free ...
        keep = max(1, min(self.limits.keep_last_messages, self.limits.memory_window * 4 // 5, count - 1))
        cut = cut_at(transcript.messages, keep)
        # ... and where even the kept messages are too much, fewer stay
        while keep > 1 and self.estimate(transcript.messages[cut:], model, threshold) > threshold * 0.75:
            keep //= 2
            cut = cut_at(transcript.messages, keep)
        return await self._archive(session, transcript, cut)

    def progress(self, transcript: Transcript, model: str, max_input_tokens: int) -> Progress | None:
        """How far a conversation is; None where it is never compacted by itself."""
        if not self.limits.enabled:
            return None
        threshold = self.threshold(max_input_tokens)
        tokens = round(self.estimate(transcript.messages, model, threshold))
        return Progress(tokens, threshold, len(transcript.messages), self.limits.memory_window)

    def threshold(self, max_input_tokens: int) -> int:
        """The size, in tokens, above which a conversation is compacted: 0.8 of the window (S0), or less."""
        return min(int(max_input_tokens * 0.8), self.limits.max_context_tokens)

    def estimate(self, messages: list[Message], model: str, threshold: int) -> float:
        """Tokens of a request with `messages`: S0's `sum(len) / 3.5 + 8000` until the model has reported usage."""
        tokens = float(self.counter.messages(messages, model))
        # once the model has reported usage, the calibrated count takes the place of S0's estimate
        if not self.counter.calibrated(model):
            tokens = max(tokens, sum(len(message.content) for message in messages) / CHARACTERS_PER_TOKEN)
        # S0's 8,000 for the system prompt are meant for large windows
        return tokens + min(PROMPT_OVERHEAD, threshold // 2)

    async def _archive(self, session: Session, transcript: Transcript, cut: int) -> Compacted | None:
        removed, messages = transcript.messages[:cut], transcript.messages[cut:]
        if not removed or transcript.conversation_id is None:
            return None
        forgotten = await self.entries.forgotten(session.owner)
        derived = [forgotten.masked(message) for message in removed]
        # masked already
        (own_before, others_before), (own, of_others) = transcript.summaries, by_origin(derived)
        passages = [(own_before, own), (others_before, of_others)]
        summaries = await asyncio.gather(*(self._passage(earlier, messages) for earlier, messages in passages))
        summarized = all(is_made for _, is_made in summaries)
        content = joined(*(text for text, _ in summaries))
        # an archive is named by what it adds: with the earlier summary all would get the same name
        topic = content if summarized else without_secrets(extract(None, derived))
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
            name = await self._keep(session.owner, archive, conversation_id, first_kept)
        log.info("compacted", removed=len(removed), kept=len(messages), archive=name, summarized=summarized)
        return Compacted(
            removed=len(removed),
            kept=len(messages),
            archive_name=name,
            summarized=summarized,
            conversation_id=conversation_id,
            first_kept_message_id=first_kept,
        )

    async def _keep(self, owner: str, archive: NewEntry, conversation_id: int, first_kept: int) -> str:
        # in one transaction: an archive without its marker would have the same messages summarised again
        async def mark(connection: aiosqlite.Connection, entry: Entry) -> None:
            await insert_marker(connection, conversation_id, Marker(entry.name, entry.id, self.clock(), first_kept))

        return (await self.entries.add(owner, archive, also=mark)).name

    async def _passage(self, earlier: str | None, messages: list[Message]) -> tuple[str | None, bool]:
        """Return the summary of one passage, None if nothing was said in it, and False if an extract stands in."""
        if not messages:
            return earlier, True
        summary = await self._summary(earlier, messages)
        return without_secrets(summary or extract(earlier, messages)), summary is not None

    async def _summary(self, earlier: str | None, removed: list[Message]) -> str | None:
        if self.summarizer is None:
            return None
        try:
            seconds = self.limits.summary_timeout
            async with asyncio.timeout(seconds):
                summary = await self.summarizer.summarize(earlier, format_transcript(removed), seconds)
        except Exception as error:  # noqa: BLE001  # whatever stops the model, the extract takes its place
            log.warning("summary_failed", error=in_english(error) or type(error).__name__)
            return None
        if not summary.is_whole:  # what it lacks is the newest part, and nothing would show that it does
            log.warning("summary_cut_off", characters=len(summary.text))
            return None
        return storable(summary.text.strip()[:SUMMARY_CHARACTERS]) or None


def cut_at(messages: list[Message], keep: int) -> int:
    """Where to cut so that about the last `keep` messages stay: the index of a user's message; 0 for no place."""
    users = [i for i, message in enumerate(messages) if message.role is Role.USER and i > 0]
    index = max(0, len(messages) - keep)
    if index == 0:
        return 0
    # rather one before than one after, so that more is kept than was asked for
    return max((i for i in users if i <= index), default=min((i for i in users if i > index), default=0))


def format_transcript(messages: list[Message]) -> str:
    """Messages as the summariser reads them: no tool results, the long ones shortened, the whole bounded (S0)."""
    spoken = [m for m in messages if m.role in (Role.USER, Role.ASSISTANT) and m.content.strip()]
    # what few messages leave of the whole goes to each of them: a long document shows more than its title
    share = max(MESSAGE_CHARACTERS, TRANSCRIPT_CHARACTERS // max(1, 2 * len(spoken)))
    lines = [
        f"{speaker_of(message)}{worst([message.provenance]).mark}: {_masked(message.content, share)}"
        for message in spoken
    ]
    return _shortened("\n".join(lines), TRANSCRIPT_CHARACTERS)


def extract(earlier: str | None, messages: list[Message]) -> str:
    """What stands in for a summary when no model makes one: the earlier summary and the user's own words."""
    texts = [
        f"{f'{message.speaker}: ' if message.speaker else ''}{' '.join(without_secrets(message.content).split())}"
        for message in messages
        if message.role is Role.USER
    ]
    share = max(40, EXTRACT_CHARACTERS // (2 * max(1, len(texts))))
    lines = "\n".join(["The user said:", *(f"- {text[:share]}" for text in texts if text)])
    if earlier is None:
        return _shortened(lines, EXTRACT_CHARACTERS)
    half = EXTRACT_CHARACTERS // 2
    return f"{_shortened(earlier, half)}\n{_shortened(lines, half)}"


def _masked(text: str, limit: int) -> str:
    # masked before it is cut: half a key is no longer known for one
    return _shortened(without_secrets(_shortened(text, limit * 4)), limit)


def _shortened(text: str, limit: int) -> str:
    """`text`, or its beginning and end where it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    gap = "\n[...]\n"
    half = (limit - len(gap)) // 2
    return f"{text[:half]}{gap}{text[-half:]}"
