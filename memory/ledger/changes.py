"""What memory was before every change of it, so that the change can be taken back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from memory.clock import Clock, now_text
from memory.messages import storable
from memory.store.effects import keep_causes
from memory.store.entry import Author, Operation
from memory.store.entry_rows import bind_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import aiosqlite

    from memory.ledger.page import Page

UNDO_PERIOD = timedelta(days=30)
"""How long a change can be undone."""
VERSIONS = 50
"""Versions of each MEMORY.md that are kept (S2)."""
MEMORY_FILE = "MEMORY.md"
_NEXT_BATCH = "SELECT coalesce(max(batch), 0) + 1 FROM changes"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An entry's row and names as JSON; `state` None: there was no such entry."""

    entry_id: int
    state: str | None


@dataclass(frozen=True, slots=True)
class FileChange:
    """MEMORY.md before and after a change."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Batch:
    """One change, with what it touched as that was before."""

    number: int
    operation: str
    author: str
    entries: tuple[Snapshot, ...]
    file: FileChange | None


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A change of MEMORY.md that is recorded and not known to be in the file."""

    record: int
    owner: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """A change that is recorded: its number, and what of it is still to be written into MEMORY.md."""

    number: int
    unwritten: Unwritten | None


async def snapshot(connection: aiosqlite.Connection, entry_id: int) -> Snapshot:
    """An entry as it stands now."""
    (row,) = await connection.execute_fetchall("SELECT * FROM entries WHERE id = ?", (entry_id,))
    names = await connection.execute_fetchall(
        "SELECT name, is_alias FROM names WHERE entry_id = ? ORDER BY is_alias, key", (entry_id,)
    )
    state = {"row": dict(row), "names": [[row["name"], row["is_alias"]] for row in names]}
    return Snapshot(entry_id, json.dumps(state, ensure_ascii=False))


class ChangeLog:
    """The changes of all owners' memory, newest last."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def record(
        self,
        connection: aiosqlite.Connection,
        owner_id: int,
        operation: Operation,
        author: Author,
        before: Sequence[Snapshot],
        page: Page,
        continues: int | None = None,
    ) -> Recorded | None:
        """Record one change by what entries and MEMORY.md were before it; None where nothing is changed.

        The row with entry 0 is MEMORY.md's. continues: the change that this is another step of, if it still stands.
        """
        rows: list[tuple[int, str | None, str | None]] = [(was.entry_id, was.state, None) for was in before]
        if page.is_changed:
            rows.append((0, storable(page.former or ""), storable(page.known_text)))
        if not rows:
            return None
        await keep_causes(connection, self._clock)
        number, record = await _batch_number(connection, owner_id, continues), 0
        # one by one, since most changes are of one entry
        for entry_id, state, after in rows:
            ((record,),) = await connection.execute_fetchall(
                "INSERT INTO changes (owner_id, entry_id, operation, author, before, after, unwritten, at, batch)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                (owner_id, entry_id, operation, author, state, after, after is not None, now_text(self._clock), number),
            )
        former = storable(page.former or "")
        return Recorded(number, Unwritten(record, page.owner, former, page.known_text) if page.is_changed else None)

    async def unwritten(self, connection: aiosqlite.Connection, owner_id: int | None) -> list[Unwritten]:
        """The changes that a crash kept from MEMORY.md, of one owner or of all, oldest first."""
        rows = await connection.execute_fetchall(
            "SELECT c.id, o.name, c.before, c.after FROM changes c JOIN owners o ON o.id = c.owner_id"
            " WHERE c.unwritten AND c.undone_at IS NULL AND (? IS NULL OR c.owner_id = ?) ORDER BY c.id",
            (owner_id, owner_id),
        )
        return [Unwritten(*row) for row in rows]

    async def typed_lines(self, connection: aiosqlite.Connection, owner_id: int, text: str) -> list[str]:
        """The lines of MEMORY.md that a person wrote since it was last compressed, by hand or by asking for them.

        They are those that no model is known to have written.
        """
        rows = await connection.execute_fetchall(
            "SELECT operation, author, before, after FROM changes WHERE owner_id = ? AND entry_id = 0"
            " AND undone_at IS NULL AND id >= coalesce((SELECT max(id) FROM changes WHERE owner_id = ? AND"
            " entry_id = 0 AND undone_at IS NULL AND operation = ?), 0)",
            (owner_id, owner_id, Operation.COMPRESS),
        )
        written: set[str] = set()
        for row in rows:
            after = set(row["after"].splitlines())
            if row["operation"] == Operation.COMPRESS:
                written |= after
            elif row["author"] not in (Author.USER, Author.CAPTURE):
                written |= after - set(row["before"].splitlines())
        lines = await connection.execute_fetchall(
            "SELECT line FROM entries WHERE owner_id = ? AND line IS NOT NULL AND author NOT IN (?, ?)",
            (owner_id, Author.USER, Author.CAPTURE),
        )
        written |= {row["line"] for row in lines}
        return [line for line in text.splitlines() if line.strip() and line not in written]

    async def is_unwritten(self, connection: aiosqlite.Connection, unwritten: Unwritten) -> bool:
        """Whether a change is still to be written, and nobody else has done so or taken it back."""
        query = "SELECT 1 FROM changes WHERE id = ? AND unwritten"
        return bool(list(await connection.execute_fetchall(query, (unwritten.record,))))

    async def mark_written(self, connection: aiosqlite.Connection, unwritten: Unwritten) -> None:
        """A change of MEMORY.md is in the file."""
        await connection.execute("UPDATE changes SET unwritten = 0 WHERE id = ?", (unwritten.record,))

    async def withdraw(self, connection: aiosqlite.Connection, unwritten: Unwritten) -> None:
        """Drop the record of a change of MEMORY.md that did not come about."""
        await connection.execute("DELETE FROM changes WHERE id = ?", (unwritten.record,))

    async def purge(self, connection: aiosqlite.Connection, before: str) -> None:
        """Forget changes made before a moment; the newest versions of each MEMORY.md stay."""
        # an action whose entries can't be taken back any more is not taken back by half
        await connection.execute(
            "UPDATE changes SET undone_at = at WHERE entry_id = 0 AND undone_at IS NULL AND at < ?", (before,)
        )
        # what the weekly tidying is not to do again stays known
        await connection.execute(
            "DELETE FROM changes WHERE at < ? AND entry_id <> 0 AND NOT (operation = ? AND undone_at IS NOT NULL)",
            (before, Operation.CONSOLIDATE),
        )
        await connection.execute(
            "DELETE FROM changes WHERE at < ? AND id IN (SELECT id FROM (SELECT id, row_number() OVER"
            " (PARTITION BY owner_id ORDER BY id DESC) AS age FROM changes WHERE entry_id = 0) WHERE age > ?)",
            (before, VERSIONS),
        )

    async def standing(
        self, connection: aiosqlite.Connection, owner_id: int, number: int | None = None
    ) -> Batch | None:
        """The change of that number, or the newest one, if it still stands."""
        rows = list(
            await connection.execute_fetchall(
                "SELECT * FROM changes WHERE undone_at IS NULL AND owner_id = :owner AND batch = coalesce(:number,"
                " (SELECT max(batch) FROM changes WHERE undone_at IS NULL AND owner_id = :owner)) ORDER BY id DESC",
                {"owner": owner_id, "number": number},
            )
        )
        if not rows:
            return None
        files = [FileChange(row["before"], row["after"]) for row in rows if row["entry_id"] == 0]  # newest first
        entries = {row["entry_id"]: row["before"] for row in rows if row["entry_id"] != 0}  # the oldest state counts
        return Batch(
            number=rows[0]["batch"],
            operation=rows[0]["operation"],
            author=rows[0]["author"],
            entries=tuple(Snapshot(entry_id, before) for entry_id, before in entries.items()),
            file=_joined(files) if files else None,
        )

    async def is_built_on(self, connection: aiosqlite.Connection, owner_id: int, batch: Batch) -> bool:
        """Whether a later change that stands has to do with the same things, so that it has to go first."""
        touched = "SELECT entry_id FROM changes WHERE batch = :number"
        rows = await connection.execute_fetchall(
            "SELECT 1 FROM changes WHERE owner_id = :owner AND batch > :number AND undone_at IS NULL"
            f" AND entry_id IN ({touched})"
            " UNION ALL SELECT 1 FROM entries WHERE superseded_by IN"
            " (SELECT entry_id FROM changes WHERE batch = :number AND entry_id <> 0 AND before IS NULL)"
            f" AND superseded_by <> id AND id NOT IN ({touched})",
            {"owner": owner_id, "number": batch.number},
        )
        return bool(list(rows))

    async def give_up(self, connection: aiosqlite.Connection, batch: Batch) -> None:
        """Mark a change that can't be taken back, so that the one before it can."""
        await connection.execute(
            "UPDATE changes SET undone_at = ?, unwritten = 0 WHERE batch = ?", (now_text(self._clock), batch.number)
        )

    async def take_back(self, connection: aiosqlite.Connection, owner_id: int, batch: Batch) -> list[str]:
        """Make entries what they were before a change, and mark it undone; their names. Raises MemoryRefused."""
        await keep_causes(connection, self._clock)
        # one that was superseded points at its successor until its own turn comes
        await connection.execute("PRAGMA defer_foreign_keys = ON")
        # all names go first: entries of one change may have taken each other's
        states = [(was.entry_id, json.loads(was.state) if was.state else None) for was in batch.entries]
        names = [await _unbound(connection, entry_id) for entry_id, _ in states]
        for entry_id, state in states:
            await _restore(connection, entry_id, state["row"] if state else None)
        former = [(entry_id, *bound) for entry_id, state in states if state for bound in state["names"]]
        for entry_id, name, is_alias in former:
            await bind_name(connection, owner_id, entry_id, name, is_alias=bool(is_alias))
        await self.give_up(connection, batch)
        created = [name for (_, state), name in zip(states, names, strict=True) if state is None and name]
        return list(dict.fromkeys([*created, *(name for _, name, is_alias in former if not is_alias)]))


def _joined(changes: Sequence[FileChange]) -> FileChange:
    """Several changes of the file, newest first, as one, as far back as nobody edited it in between."""
    joined = changes[0]
    for earlier in changes[1:]:
        if earlier.after != joined.before:
            break
        joined = FileChange(earlier.before, joined.after)
    return joined


async def _batch_number(connection: aiosqlite.Connection, owner_id: int, continues: int | None) -> int:
    """The number of a change: that of the one which it continues, if nobody has taken that back, or a new one."""
    standing = "SELECT batch FROM changes WHERE batch = ? AND owner_id = ? AND undone_at IS NULL LIMIT 1"
    for row in await connection.execute_fetchall(standing, (continues, owner_id)):
        return int(row[0])
    ((number,),) = await connection.execute_fetchall(_NEXT_BATCH)
    return int(number)


async def _unbound(connection: aiosqlite.Connection, entry_id: int) -> str | None:
    """Take an entry's names from it; the one that it went by."""
    held = await connection.execute_fetchall("SELECT name FROM names WHERE entry_id = ? AND NOT is_alias", (entry_id,))
    await connection.execute("DELETE FROM names WHERE entry_id = ?", (entry_id,))
    return next((row[0] for row in held), None)


async def _restore(connection: aiosqlite.Connection, entry_id: int, row: dict[str, object] | None) -> None:
    """Make the row of an entry what it was; None: it was not there."""
    if row is None:
        # an archive goes with its marker: the conversation is again what it was before the compaction
        await connection.execute("DELETE FROM markers WHERE archive_id = ?", (entry_id,))
        # and what an import brought goes with the entry that tells of it
        await connection.execute("UPDATE imported SET undone = 1 WHERE entry_id = ?", (entry_id,))
        await connection.execute("DELETE FROM entries WHERE id = ?", (entry_id,))
        return
    columns = [column for column in row if column != "id"]
    assignments = ", ".join(f"{column} = ?" for column in columns)
    values = (*(row[column] for column in columns), entry_id)
    await connection.execute(f"UPDATE entries SET {assignments} WHERE id = ?", values)
    # a successor that was purged since can't be pointed to
    await connection.execute(
        "UPDATE entries SET superseded_by = id WHERE id = ? AND superseded_by NOT IN (SELECT id FROM entries)",
        (entry_id,),
    )
