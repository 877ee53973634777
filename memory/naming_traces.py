"""Occurrences of a name outside of the entries: in the log, the daily notes and the history.

They can be counted and masked. The log is append-only, so its sentences are marked as forgotten
(memory/store/forgotten.py). In the Markdown files the name is overwritten.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memory.clock import Clock, now_text
from memory.files.markdown import MarkdownFiles, locked, read_text, write_atomically
from memory.store.database import Database, Row
from memory.store.entry_rows import find_owner_id
from memory.store.forgotten import MASK, SENTENCE, mark_spans
from memory.text.query_terms import QueryTerms

MESSAGES_PER_READ = 1_000
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class NamingTraces:
    """The number of log messages and of lines in daily notes and history that contain a name."""

    messages: int
    lines: int

    def __bool__(self) -> bool:
        return bool(self.messages or self.lines)


class NamingTracer:
    def __init__(self, database: Database, files: MarkdownFiles, clock: Clock) -> None:
        self._database = database
        self._files = files
        self._clock = clock

    async def count(self, owner: str, name: str) -> NamingTraces:
        """Count the occurrences of a name that are not masked yet."""
        terms = QueryTerms(name)
        messages = await self._find_messages(owner, terms)
        lines = await asyncio.to_thread(self._count_lines, owner, terms)
        return NamingTraces(len(messages), lines)

    async def mask(self, owner: str, name: str) -> NamingTraces:
        """Mask the sentences of the log that contain the name, and the name in the files. This can't be undone."""
        terms = QueryTerms(name)
        found = await self._find_messages(owner, terms)
        owner_id = await find_owner_id(self._database.rows, owner)
        for start in range(0, len(found), MESSAGES_PER_READ):
            async with self._database.transaction() as connection:
                for message, content in found[start : start + MESSAGES_PER_READ]:
                    spans = [
                        match.span() for match in SENTENCE.finditer(content) if _contains_name(terms, match.group())
                    ]
                    await mark_spans(connection, owner_id or 0, message, content, spans, now_text(self._clock))
        lines = await asyncio.to_thread(self._mask_files, owner, terms)
        return NamingTraces(len(found), lines)

    async def _find_messages(self, owner: str, terms: QueryTerms) -> list[tuple[int, str]]:
        """Return id and content of each message that contains the name and is not masked yet."""
        results: list[tuple[int, str]] = []
        last = 0
        while True:
            rows = await self._database.rows(
                "SELECT m.id, m.content FROM spoken m JOIN conversations c ON c.id = m.conversation_id"
                " JOIN owners o ON o.id = c.owner_id WHERE o.name = ? AND m.id > ? AND NOT EXISTS"
                " (SELECT 1 FROM forgotten f WHERE f.message_id = m.id AND f.entry_id = 0) ORDER BY m.id LIMIT ?",
                (owner, last, MESSAGES_PER_READ),
            )
            # Matching many messages takes long, so it runs in a thread and doesn't block other turns.
            results += await asyncio.to_thread(_filter_rows, rows, terms)
            if len(rows) < MESSAGES_PER_READ:
                return results
            last = rows[-1]["id"]

    def _list_files(self, owner: str) -> list[Path]:
        return sorted(path for path in self._files.get_folder(owner).glob("*.md") if path.name != "MEMORY.md")

    def _count_lines(self, owner: str, terms: QueryTerms) -> int:
        return sum(
            _contains_name(terms, line) for path in self._list_files(owner) for line in read_text(path).splitlines()
        )

    def _mask_files(self, owner: str, terms: QueryTerms) -> int:
        count = 0
        for path in self._list_files(owner):
            with locked(path):
                lines = read_text(path, "surrogateescape").split("\n")
                masked = [_mask_name(terms, line) if _contains_name(terms, line) else line for line in lines]
                changed = sum(new != line for new, line in zip(masked, lines, strict=True))
                if changed:
                    write_atomically(path, "\n".join(masked))
            count += changed
        return count


def _filter_rows(rows: Sequence[Row], terms: QueryTerms) -> list[tuple[int, str]]:
    return [(row["id"], row["content"]) for row in rows if _contains_name(terms, row["content"])]


def _contains_name(terms: QueryTerms, text: str) -> bool:
    return terms.compute_coverage(text) == 1


def _mask_name(terms: QueryTerms, line: str) -> str:
    return _WORD.sub(lambda match: MASK if terms.count_terms(match.group()) else match.group(), line)
