"""Marks of forgotten words, which stay in the log but must not be used again.

Removing, undoing or editing a memory marks the words that it was learned from, by their position in a message. All
messages up to that time are masked where they contain these words, for extraction, citations, notes, summaries and
unasked recall. The same words in a later message are not affected.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache

import aiosqlite

from memory.clock import from_text
from memory.messages import Message, Role
from memory.store.database import Row
from memory.store.entry import Entry, Kind
from memory.store.entry_rows import Read
from memory.text.query_terms import MAX_CACHED_QUERIES, QueryTerms, get_query_terms
from memory.text.wording import is_quoted_from

MASK = "[…]"
"""Replaces forgotten words."""
MIN_QUOTED_WORDS = 2
"""Minimum length of marked words that are searched for as a phrase in other texts."""
MIN_TELLING_WORDS = 2
"""A sentence with all distinctive words of a mark is masked too, if the mark has at least this many."""
MAX_SEARCHED_MESSAGES = 200
"""Maximum number of messages around the source that are searched for an entry's quote."""

_WORD = re.compile(r"\w+")
SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？\n]*")


@dataclass(frozen=True)
class Mark:
    """Forgotten words in a message. `content` is the whole message, or empty if it was deleted from the log."""

    message_id: int
    turn_id: int | None
    digest: str
    start: int
    end: int
    through: int  # id of the newest message in the log at that time
    at: datetime
    content: str

    @cached_property
    def words(self) -> str:
        return self.content[self.start : self.end]

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """A pattern that finds the words in other texts with any punctuation, or None if they are too few."""
        return _compile_pattern(self.words, MIN_QUOTED_WORDS)

    @property
    def telling(self) -> QueryTerms:
        return get_query_terms(self.words)

    def is_before(self, message_id: int | None, said_at: datetime) -> bool:
        """Return True if a message precedes the mark, by its id or, if it was imported later, by its time."""
        return (message_id is not None and message_id <= self.through) or said_at < self.at

    def is_said_by(self, text: str, min_telling_words: int = MIN_TELLING_WORDS) -> bool:
        """Return True if a text contains all distinctive words of the mark."""
        return len(self.telling.terms) >= min_telling_words and self.telling.compute_coverage(text) == 1


class ForgottenWords:
    def __init__(self, marks: Sequence[Mark] = ()) -> None:
        self._marks = tuple(marks)

    def __bool__(self) -> bool:
        return bool(self._marks)

    def mask(self, message: Message) -> Message:
        """Return a message with the forgotten words masked."""
        marks = [mark for mark in self._marks if mark.is_before(message.id, message.created_at)]
        if not marks or not message.content:
            return message
        content = message.content
        # The offsets only apply to the same text, not to a part of it or a masked one.
        digest = compute_digest(content)
        own = [mark for mark in marks if mark.digest == digest]
        for start, end in sorted({(mark.start, mark.end) for mark in own}, reverse=True):
            content = content[:start] + MASK + content[end:]
        for mark in marks:
            # The answer to marked words may paraphrase them.
            is_answer = message.role is Role.ASSISTANT and mark.turn_id is not None and mark.turn_id == message.turn_id
            content = _mask_words(content, mark, is_answer=is_answer)
        return message if content == message.content else replace(message, content=content)

    def mask_text(self, text: str, said_at: datetime) -> str:
        """Mask the words in a text derived from the log that were forgotten after `said_at`."""
        for mark in self._marks:
            if said_at <= mark.at:
                text = _mask_words(text, mark)
        return text

    def hides(self, text: str, said_at: datetime, *, message_id: int | None = None, turn_id: int | None = None) -> bool:
        """Return True if a text must not be recalled unasked, since it contains forgotten words."""
        return any(
            (turn_id is not None and turn_id == mark.turn_id) or _mask_words(text, mark) != text
            for mark in self._marks
            if mark.is_before(message_id, said_at)
        )

    def hides_note(self, line: str, minute: datetime) -> bool:
        """Return True if a line of the daily notes, written in that minute, contains forgotten words."""
        return any(
            _mask_words(line, mark) != line or _is_note_about(line, mark)
            for mark in self._marks
            if minute <= mark.at.replace(second=0, microsecond=0)
        )

    def forbids(self, text: str, quote: str | None, source: Message | None) -> bool:
        """Return True if a fact would be learned from forgotten words.

        Args:
            text: The content of the fact.
            quote: The cited words, if any.
            source: The message that they are from, if known.
        """
        related = [mark for mark in self._marks if mark.is_said_by(text, 1) or (quote and _is_about(mark, quote))]
        if not related:
            return False
        if source is None or not quote or not is_quoted_from(quote, self.mask(source).content):
            return True
        # The quote is not marked itself. It may still be an earlier message that says the same.
        return any(mark.is_before(source.id, source.created_at) and mark.is_said_by(text) for mark in related)


NOTHING_FORGOTTEN = ForgottenWords()

_MARKS = (
    "SELECT f.*, m.turn_id, m.content FROM forgotten f JOIN owners o ON o.id = f.owner_id"
    " LEFT JOIN messages m ON m.id = f.message_id"
)


async def read_forgotten_words(read: Read, owner: str) -> ForgottenWords:
    return _forgotten_words_from_rows(await read(f"{_MARKS} WHERE o.name = ?", (owner,)))


async def read_forgotten_words_of_session(read: Read, session_id: str) -> ForgottenWords:
    return _forgotten_words_from_rows(
        await read(f"{_MARKS} WHERE o.name = (SELECT owner FROM sessions WHERE id = ?)", (session_id,))
    )


async def read_forgotten_words_by_id(read: Read, owner_id: int) -> ForgottenWords:
    return _forgotten_words_from_rows(await read(f"{_MARKS} WHERE o.id = ?", (owner_id,)))


def _forgotten_words_from_rows(rows: Sequence[Row]) -> ForgottenWords:
    if not rows:
        return NOTHING_FORGOTTEN
    return ForgottenWords(
        [
            Mark(
                message_id=row["message_id"],
                turn_id=row["turn_id"],
                digest=row["digest"],
                start=row["begin_offset"],
                end=row["end_offset"],
                through=row["through"],
                at=from_text(row["at"]),
                content=row["content"] or "",
            )
            for row in rows
        ]
    )


async def mark_words(connection: aiosqlite.Connection, owner_id: int, batch: int | None, entry: Entry, at: str) -> None:
    """Mark the quote or the content of an entry in the log, or its whole source message if neither is found.

    Args:
        batch: The change that marks them; its undo removes the marks. None for an undo, which is final.
    """
    if entry.kind == Kind.ARCHIVE:
        return  # A summary has no source words.
    source = entry.source_message_id
    # Also the messages near the source, which for entries of a tool is just the first one of the turn.
    rows = list(
        await connection.execute_fetchall(
            "SELECT m.id, m.content FROM messages m JOIN conversations c ON c.id = m.conversation_id"
            " WHERE c.owner_id = ? AND m.role IN ('user', 'assistant')"
            " AND m.conversation_id = (SELECT conversation_id FROM messages WHERE id = ?)"
            " ORDER BY abs(m.id - ?), m.id LIMIT ?",
            (owner_id, source, source, MAX_SEARCHED_MESSAGES),
        )
    )
    if not rows:
        return
    found = None
    for wording in (entry.quote, entry.content):
        pattern = _compile_pattern(wording or "", 1)
        if pattern is None:
            continue
        found = next(((row, match.span()) for row in rows if (match := pattern.search(row["content"]))), None)
        if found is not None:
            break
    row, (start, end) = found if found is not None else (rows[0], (0, len(rows[0]["content"])))
    await _mark(connection, (owner_id, batch, entry.id, row["id"], compute_digest(row["content"]), start, end, at))


async def mark_spans(
    connection: aiosqlite.Connection,
    owner_id: int,
    message_id: int,
    content: str,
    spans: Iterable[tuple[int, int]],
    at: str,
) -> None:
    """Mark parts of a message that were not learned as a memory."""
    for start, end in spans:
        await _mark(connection, (owner_id, None, 0, message_id, compute_digest(content), start, end, at))


async def _mark(connection: aiosqlite.Connection, values: tuple[object, ...]) -> None:
    await connection.execute(
        "INSERT INTO forgotten (owner_id, batch, entry_id, message_id, digest, begin_offset, end_offset, at, through)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT max(id) FROM messages))",
        values,
    )


async def unmark(connection: aiosqlite.Connection, batch: int, entry_ids: Iterable[int]) -> None:
    """Remove the marks of a change that is undone."""
    await connection.executemany(
        "DELETE FROM forgotten WHERE batch = ? AND entry_id = ?", [(batch, entry_id) for entry_id in entry_ids]
    )


def compute_digest(content: str) -> str:
    """Return a hash of a text. It recognizes a message that is imported again under another id."""
    return hashlib.sha256(content.strip().encode("utf-8", "surrogatepass")).hexdigest()[:32]


@lru_cache(maxsize=MAX_CACHED_QUERIES)
def _compile_pattern(words: str, min_words: int) -> re.Pattern[str] | None:
    tokens = _WORD.findall(words)
    # In scripts without spaces a single token may be a whole phrase.
    if len(tokens) < min_words and sum(map(len, tokens)) < 8:
        return None
    if not tokens:
        return None
    together = r"\W+".join(map(re.escape, tokens))
    return re.compile(rf"(?<!\w){together}(?!\w)", re.IGNORECASE)


def _is_about(mark: Mark, quote: str) -> bool:
    """Return True if the quote and the marked words contain each other or have the same distinctive words."""
    pattern = _compile_pattern(quote, 1)
    is_part = pattern is not None and pattern.search(mark.words) is not None
    return is_part or (mark.pattern is not None and mark.pattern.search(quote) is not None) or mark.is_said_by(quote)


def _mask_words(text: str, mark: Mark, *, is_answer: bool = False) -> str:
    """Mask the marked words in a text, and sentences with the same distinctive words."""
    if mark.pattern is not None:
        text = mark.pattern.sub(MASK, text)
    if not is_answer and not mark.is_said_by(text):
        return text

    def mask(match: re.Match[str]) -> str:
        sentence = match.group()
        share = mark.telling.compute_coverage(sentence)
        is_masked = share > 0 if is_answer else share == 1
        return MASK + ("\n" if sentence.endswith("\n") else " ") if is_masked else sentence

    return SENTENCE.sub(mask, text)


def _is_note_about(line: str, mark: Mark) -> bool:
    """Return True if a line of the daily notes is about the exchange with the marked words."""
    shown = " ".join(mark.content.split())[:120]
    return bool(shown) and shown in " ".join(line.split())
