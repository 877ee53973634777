"""Synchronization of the daily notes with the log: answered turns are added, retried turns are removed."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

import structlog

from config.texts import in_english
from memory.clock import TimezoneLookup
from memory.errors import MnemeError
from memory.files.markdown import MarkdownFiles
from memory.files.notes import Memory, format_exchange_notes
from memory.log.sessions import message_from_row
from memory.store.database import Database
from memory.store.file_copies import FileCopies
from memory.store.forgotten import ForgottenWords

log = structlog.get_logger(__name__)

_MINUTE = re.compile(r"\[([01]\d|2[0-3]):([0-5]\d)\] User: ")
"""The beginning of a note about an exchange."""
# The index and the join order make SQLite start with the few pending turns instead of all messages.
_UNSETTLED = """
SELECT t.outcome, m.* FROM turns t INDEXED BY unsettled_notes CROSS JOIN conversations c ON c.id = t.conversation_id
CROSS JOIN owners o ON o.id = c.owner_id CROSS JOIN messages m ON m.turn_id = t.id
WHERE o.name = ? AND (t.note = 'due' OR t.note = 'written' AND t.outcome = 'retried') ORDER BY m.turn_id, m.id
"""


class DailyNotes:
    """Writes the daily notes of all owners. A note that can't be written now is written later from the log."""

    def __init__(
        self, database: Database, files: MarkdownFiles, zone_of: TimezoneLookup, copies: FileCopies | None = None
    ) -> None:
        self._database = database
        self._files = files
        self._zone_of = zone_of
        self._copies = copies
        # Turns with a note in the file that the database refused to record.
        self._noted: set[int] = set()

    async def settle(self, owner: str) -> None:
        """Write and remove the pending notes of an owner, oldest first."""
        due = await self._database.rows(_UNSETTLED, (owner,))
        for (turn, outcome), rows in itertools.groupby(due, lambda row: (row["turn_id"], row["outcome"])):
            messages = [message_from_row(row) for row in rows]
            answered = outcome == "answered"
            try:
                for note in format_exchange_notes(messages, self._zone_of(owner)) if turn not in self._noted else ():
                    if answered:
                        await self._files.append_today(owner, messages[-1].created_at, note)
                        log.info(f"Appended memory entry ({len(note)} chars)")
                    else:
                        await self._files.remove_note(owner, messages[-1].created_at, note)
                self._noted.add(turn)
                state = "written" if answered else None
                async with self._database.transaction() as connection:
                    await connection.execute("UPDATE turns SET note = ? WHERE id = ?", (state, turn))
                    if self._copies is not None:
                        path = self._files.note_path(owner, messages[-1].created_at)
                        await self._copies.store(connection, path)
                self._noted.discard(turn)
            except (OSError, MnemeError) as error:
                log.warning("Failed to append memory entry", reason=in_english(error))
                # Stop here, so that the notes stay in order.
                return

    async def read(self, owner: str, now: datetime, forgotten: ForgottenWords) -> Memory:
        """Read the files of an owner, without the notes of exchanges with forgotten words."""
        await self.settle(owner)
        memory = await self._files.read(owner, now)
        if not forgotten:
            return memory
        zone = self._zone_of(owner)
        today = now.astimezone(zone).date()
        recent = tuple((day, _remove_hidden_lines(notes, day, zone, forgotten)) for day, notes in memory.recent)
        return replace(memory, today=_remove_hidden_lines(memory.today, today, zone, forgotten), recent=recent)


def _remove_hidden_lines(notes: str, day: date, zone: ZoneInfo, forgotten: ForgottenWords) -> str:
    def is_hidden(line: str) -> bool:
        moment = _MINUTE.match(line)
        # Lines that people have written themselves stay.
        if moment is None:
            return False
        at = time(int(moment[1]), int(moment[2]))
        return forgotten.hides_note(line, datetime.combine(day, at, zone))

    return "\n".join(line for line in notes.splitlines() if not is_hidden(line))
