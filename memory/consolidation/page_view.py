"""Selection of the entries that have a line in MEMORY.md: vital ones, then those used most, within the size limit.

Only lines of entries are added and removed. Other lines that people typed, headings and lists stay. Between two weekly
consolidations, lines are removed only if necessary, so that the beginning of the prompt stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import structlog

from memory.errors import MemoryRefused
from memory.ledger.change import Change
from memory.ledger.page import appending, format_line
from memory.store.decay import Decay
from memory.store.entry import Entry, Kind, Nature
from memory.store.entry_rows import CURRENT, read_entries, sql_list
from memory.text.wording import has_same_words

log = structlog.get_logger(__name__)

FILLED_SHARE = 0.8
"""The share of the limit that the weekly selection fills. The rest is for new facts until the next one."""
MAX_CONSIDERED = 500
_KINDS = sql_list((Kind.FACT, Kind.PREFERENCE, Kind.DECISION))
# SQL condition for entries that may have a line.
_IN_VIEW = f"{CURRENT} AND e.archived_at IS NULL AND e.nature <> '{Nature.EVENT}' AND e.trusted"


class PageView:
    """Chooses which entries have a line in MEMORY.md.

    Args:
        limit: Maximum size of the file in bytes.
    """

    def __init__(self, limit: int, decay: Decay | None = None) -> None:
        self._limit = limit
        self._decay = decay or Decay()

    async def add(self, change: Change, entry: Entry) -> None:
        """Add the line of a current entry, unless the file has it or an equivalent one."""
        if entry.unconfirmed is not None or entry.nature == Nature.EVENT or not await change.is_current(entry):
            return
        line, lines = format_line(entry.content), (await change.read_page()).splitlines()
        if entry.line in lines or any(has_same_words(existing, entry.content) for existing in lines):
            return
        if await _try_edit(change, appending(line)):
            await change.record_line(entry, line)

    async def fit(self, change: Change) -> None:
        """Remove the lines of ended entries, and the least used ones if the file exceeds its limit."""
        owned = await self._find_owned(change)
        holding = await self._drop_ended(change, owned)
        if await _measure_page(change) > self._limit:
            await self._shorten(change, holding)

    async def choose(self, change: Change) -> None:
        """Select all lines again, for the weekly consolidation."""
        holding = await self._drop_ended(change, await self._find_owned(change))
        if await _measure_page(change) > self._limit * FILLED_SHARE:
            holding = await self._shorten(change, holding)
        shown = {entry.id for entry in holding}
        waiting = await read_entries(
            change.read,
            f"e.owner_id = ? AND e.line IS NULL AND {_IN_VIEW} AND e.kind IN ({_KINDS}) AND e.subject IS NOT NULL"
            " ORDER BY e.strength DESC LIMIT ?",
            (change.owner_id, MAX_CONSIDERED),
        )
        weakest = sorted(holding, key=lambda entry: self._rank(entry, change))
        for entry in sorted(waiting, key=lambda entry: self._rank(entry, change), reverse=True):
            room = (
                int(self._limit * FILLED_SHARE)
                - await _measure_page(change)
                - len(format_line(entry.content).encode())
                - 1
            )
            # Stronger entries replace weaker ones.
            while room < 0 and weakest and self._rank(weakest[0], change) < self._rank(entry, change):
                former = weakest.pop(0)
                await self._remove_lines(change, [former])
                room += len((former.line or "").encode()) + 1
            if room < 0:
                break
            if entry.id not in shown:
                await self.add(change, entry)

    async def _find_owned(self, change: Change) -> list[Entry]:
        """Return the entries that have a line in the file. Current ones are preferred if several have the same line."""
        lines = set((await change.read_page()).splitlines())
        # Superseded entries have passed on their lines. If one is still there, a person wrote it.
        holds = "e.line IS NOT NULL AND e.superseded_by IS NULL AND e.unconfirmed IS NULL"
        where = f"e.owner_id = ? AND {holds} ORDER BY NOT ({_IN_VIEW}), e.id DESC"
        entries = [e for e in await read_entries(change.read, where, (change.owner_id,)) if e.line in lines]
        return list({entry.line: entry for entry in reversed(entries)}.values())

    async def _drop_ended(self, change: Change, owned: Iterable[Entry]) -> list[Entry]:
        """Remove the lines of entries that no longer qualify. Return the remaining entries."""
        rows = await change.read(
            f"SELECT e.id FROM entries e WHERE e.owner_id = ? AND e.line IS NOT NULL AND {_IN_VIEW}", (change.owner_id,)
        )
        current = {row["id"] for row in rows}
        await self._remove_lines(change, [entry for entry in owned if entry.id not in current])
        return [entry for entry in owned if entry.id in current]

    async def _shorten(self, change: Change, holding: Iterable[Entry]) -> list[Entry]:
        """Remove the least used lines down to FILLED_SHARE. Return the remaining entries."""
        ranked = sorted(holding, key=lambda entry: self._rank(entry, change))
        size, filled, gone = await _measure_page(change), self._limit * FILLED_SHARE, 0
        while size > filled and gone < len(ranked) and ranked[gone].nature != Nature.VITAL:
            size -= len((ranked[gone].line or "").encode()) + 1
            gone += 1
        await self._remove_lines(change, ranked[:gone])
        return ranked[gone:]

    def _rank(self, entry: Entry, change: Change) -> tuple[bool, float, int]:
        score = self._decay.score(entry.kind, entry.reinforcement_count, entry.last_reinforced_at, change.moment)
        return entry.nature == Nature.VITAL, score, entry.id

    async def _remove_lines(self, change: Change, entries: Sequence[Entry]) -> None:
        lines = {entry.line for entry in entries}

        def remove(text: str) -> str:
            return "\n".join(line for line in text.split("\n") if line not in lines)

        if entries and await _try_edit(change, remove):
            for entry in entries:
                await change.record_line(entry, None)


async def _measure_page(change: Change) -> int:
    return len((await change.read_page()).encode("utf-8", "surrogateescape"))


async def _try_edit(change: Change, edit: Callable[[str], str]) -> bool:
    try:
        await change.edit_file(edit)
    except MemoryRefused as error:
        log.warning("memory_update_refused", reason=error.loggable)
        return False
    return True
