"""Undo of the last change of memory, in entries and in MEMORY.md.

An import is undone in several transactions, since a single one for thousands of memories would block the writes of all
other chats. The first one deletes the entry that records the import, which ends an import that is still running. If the
process is killed in between, the next start completes the undo.

The module is longer than most, since entries, imports and the description of an undo share its transaction.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aiosqlite

from config.texts import N_, _
from memory.clock import Clock, now_text, to_text
from memory.errors import MemoryRefused
from memory.files.markdown import MarkdownFiles
from memory.ledger.file_undo import build_file_change
from memory.ledger.undo_outcomes import (
    MEMORY_FILE,
    UNDO_PERIOD,
    Outcome,
    UndoResult,
    describe_entry_outcome,
    describe_file_outcomes,
    select_shown,
)
from memory.store.database import Database, Row
from memory.store.effects import record_causes
from memory.store.entry import Author, Entry, Operation
from memory.store.entry_rows import bind_name, find_owner_id, read_entries
from memory.store.erasure import PendingErasures
from memory.store.file_copies import FileCopies
from memory.store.forgotten import mark_words, unmark

States = Mapping[int, str | None]

MEMORIES_PER_WRITE = 50
BUILT_ON = N_("That was changed again later: undo the newest change first.")
_HALF_UNDONE = (
    "SELECT o.name, c.batch FROM changes c JOIN owners o ON o.id = c.owner_id WHERE c.operation = 'import'"
    " AND c.entry_id <> 0 GROUP BY c.batch HAVING count(c.undone_at) BETWEEN 1 AND count(*) - 1"
)


@dataclass(frozen=True, slots=True)
class _Slices:
    """The result of undoing the memories of a large import."""

    batch: int
    outcomes: tuple[Outcome, ...]
    names: tuple[str, ...]


class Undo:
    def __init__(
        self,
        database: Database,
        files: MarkdownFiles,
        erasures: PendingErasures,
        clock: Clock,
        copies: FileCopies | None = None,
    ) -> None:
        self._database = database
        self._files = files
        self._erasures = erasures
        self._clock = clock
        self._copies = copies
        erasures.add_recovery(self.finish)

    async def find_newest(self, entry: Entry) -> int | None:
        """Return the number of the newest change of an entry that is not undone."""
        value = await self._database.value(
            "SELECT batch FROM changes WHERE entry_id = ? AND undone_at IS NULL ORDER BY id DESC LIMIT 1", (entry.id,)
        )
        return None if value is None else int(value)

    async def is_expired(self, owner: str, number: int) -> bool:
        """Return True if a change was never undone and is too old to be."""
        row = await self._database.row(
            "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'changes') AS newest, count(*) AS records,"
            " sum(o.name = :owner AND c.undone_at = c.at AND c.at < :before) AS purged, sum(o.name = :owner) AS own"
            " FROM changes c JOIN owners o ON o.id = c.owner_id WHERE c.batch = :number",
            {"owner": owner, "number": number, "before": to_text(self._clock() - UNDO_PERIOD)},
        )
        if row is None or row["newest"] is None or number > row["newest"]:
            return False
        # The purge deletes the records of entries, and marks those of MEMORY.md that it doesn't delete.
        return row["records"] == 0 or (bool(row["own"]) and row["purged"] == row["own"])

    async def undo(
        self, owner: str, number: int | None = None, *, entry: int | None = None, is_withdrawal: bool = False
    ) -> UndoResult | None:
        """Undo the change with that number, or the newest one. Return None if it doesn't exist.

        In MEMORY.md, the change's lines are deleted and those that it has replaced are restored. Other edits of the
        file stay, and so does a line of the change that a person has edited since. A new memory is deleted even if the
        consolidation has changed it since, and its source words are marked as forgotten.

        Args:
            entry: Undo only the effects on this entry and on those that it has replaced.
            is_withdrawal: Whether the bot's owner undoes their withdrawal of this shared entry.

        Raises MemoryRefused if a name is taken by now, a later change affects the same entries, or a person has edited
        all lines of a change that is only in MEMORY.md. After the last, the next undo continues with the change before.
        """
        owner_id = await find_owner_id(self._database.rows, owner)
        if owner_id is None:
            return None
        slices = None if is_withdrawal or entry is not None else await self._undo_memories(owner_id, number)
        if slices is None:
            undone = await self._undo(owner, owner_id, number, is_withdrawal=is_withdrawal, entry=entry)
        else:
            undone = await self._undo(owner, owner_id, slices.batch, is_withdrawal=False, slices=slices)
        if undone is not None and undone.operation == Operation.IMPORT:
            await self._erasures.remove()
        return undone

    async def finish(self) -> None:
        """Complete the undo of imports that was interrupted."""
        for row in await self._database.rows(_HALF_UNDONE):
            owner_id = await find_owner_id(self._database.rows, row["name"])
            assert owner_id is not None, "the row is theirs"  # noqa: S101  # as the query joins them
            with contextlib.suppress(MemoryRefused):
                slices = await self._undo_memories(owner_id, row["batch"]) or _Slices(row["batch"], (), ())
                await self._undo(row["name"], owner_id, row["batch"], is_withdrawal=False, slices=slices)

    async def _undo_memories(self, owner_id: int, number: int | None) -> _Slices | None:
        """Undo the memories of a large import. Return None if the change is not one.

        Raises MemoryRefused if a later change affects the same entries.
        """
        async with self._database.transaction() as connection:
            batch = await _find_large_import(connection, owner_id, number)
            if batch is None:
                return None
            if number is not None and await _is_built_on(connection, owner_id, batch):
                raise MemoryRefused(_(BUILT_ON))
            await record_causes(connection)
            # The oldest entry records the import. A running import ends when it is deleted.
            outcomes, names = await self._undo_slice(connection, owner_id, batch, "id", 1)
        others: list[Outcome] = []
        while True:
            async with self._database.transaction() as connection:
                taken, named = await self._undo_slice(connection, owner_id, batch, "id DESC", MEMORIES_PER_WRITE)
            if not taken:
                return _Slices(batch, (*others, *outcomes), tuple(names))
            others += taken
            names += named

    async def _undo_slice(
        self, connection: aiosqlite.Connection, owner_id: int, batch: int, order: str, limit: int
    ) -> tuple[list[Outcome], list[str]]:
        rows = await connection.execute_fetchall(
            "SELECT entry_id FROM changes WHERE batch = ? AND undone_at IS NULL AND entry_id <> 0 AND before IS NULL"
            f" ORDER BY {order} LIMIT ?",
            (batch, limit),
        )
        states = {row["entry_id"]: None for row in rows}
        outcomes = [await describe_entry_outcome(connection, entry_id, None) for entry_id in states]
        names = await _restore_all(connection, owner_id, states)
        await connection.execute(
            "UPDATE changes SET undone_at = ? WHERE batch = ? AND undone_at IS NULL"
            " AND entry_id IN (SELECT value FROM json_each(?))",
            (now_text(self._clock), batch, json.dumps([*states])),
        )
        return outcomes, names

    async def _undo(
        self,
        owner: str,
        owner_id: int,
        number: int | None,
        *,
        is_withdrawal: bool,
        slices: _Slices | None = None,
        entry: int | None = None,
    ) -> UndoResult | None:
        """Undo a change, or the rest of a large import, in one transaction."""
        refused: MemoryRefused | None = None
        async with self._database.transaction() as connection:
            rows = await _find_records(connection, owner_id, number, is_withdrawal=is_withdrawal)
            if not rows:
                return None if slices is None else _create_result(slices)
            batch = rows[0]["batch"]
            states = {row["entry_id"]: row["before"] for row in rows if row["entry_id"] != 0}  # The oldest state wins.
            every = len(states)
            if entry is not None:
                states = await _select_states(connection, states, entry)
                if not states:
                    return None  # Already undone separately.
            is_whole = len(states) == every
            if slices is None and number is not None and await _is_built_on(connection, owner_id, batch, states):
                raise MemoryRefused(_(BUILT_ON))
            outcomes = [await describe_entry_outcome(connection, entry_id, state) for entry_id, state in states.items()]
            await record_causes(connection)
            edit = _join_edits([row for row in rows if row["entry_id"] == 0])
            change_of_file = await build_file_change(connection, edit, states, is_whole=is_whole)
            await self._forget_words(connection, owner_id, batch, rows[0]["operation"], states)
            names = await _restore_all(connection, owner_id, states)
            await self._record_undone(connection, batch, states, is_whole=is_whole)
            if change_of_file.changes_anything:
                # The last step before the commit, so that no later refusal leaves file and database different.
                try:
                    former, text = await self._files.change_long_term(owner, change_of_file.apply)
                    if self._copies is not None:
                        await self._copies.store(connection, self._files.long_term_path(owner))
                    names += [MEMORY_FILE] if text != former else []
                    outcomes = [*describe_file_outcomes(text, former, change_of_file.of_entries), *outcomes]
                except MemoryRefused as error:
                    refused = error
        if refused is not None and not states and slices is None:
            raise MemoryRefused(_("{why} The next undo continues with the change before it.", why=refused))
        operation, author = rows[0]["operation"], rows[0]["author"]
        if slices is not None:
            names, outcomes = [*slices.names, *names], [*slices.outcomes, *outcomes]
        return UndoResult(operation, author, tuple(names), select_shown(outcomes), refused is not None)

    async def _forget_words(
        self, connection: aiosqlite.Connection, owner_id: int, batch: int, operation: str, states: States
    ) -> None:
        """Mark the source words of memories that are deleted, and remove the marks of an undone removal."""
        await unmark(connection, batch, states)
        gone = [entry_id for entry_id, state in states.items() if state is None]
        # The messages of an import are deleted too, and importing the file again is a deliberate act.
        if operation == Operation.IMPORT or not gone:
            return

        async def read(sql: str, parameters: tuple[object, ...] = ()) -> list[Row]:
            return list(await connection.execute_fetchall(sql, parameters))

        numbers = json.dumps(gone)
        for entry in await read_entries(read, "e.id IN (SELECT value FROM json_each(?))", (numbers,)):
            await mark_words(connection, owner_id, None, entry, now_text(self._clock))

    async def _record_undone(
        self, connection: aiosqlite.Connection, batch: int, states: States, *, is_whole: bool
    ) -> None:
        now, ids = now_text(self._clock), json.dumps([*states])
        # Later changes of a deleted entry can't be undone separately. A withdrawal is another person's change.
        gone = json.dumps([entry_id for entry_id, state in states.items() if state is None])
        await connection.execute(
            "UPDATE changes SET undone_at = ? WHERE batch > ? AND undone_at IS NULL AND operation <> ?"
            " AND entry_id IN (SELECT value FROM json_each(?))",
            (now, batch, Operation.WITHDRAW, gone),
        )
        if is_whole:
            await connection.execute("UPDATE changes SET undone_at = ?, unwritten = 0 WHERE batch = ?", (now, batch))
        else:
            await connection.execute(
                "UPDATE changes SET undone_at = ? WHERE batch = ? AND entry_id IN (SELECT value FROM json_each(?))",
                (now, batch, ids),
            )


async def _select_states(connection: aiosqlite.Connection, states: States, entry: int) -> dict[int, str | None]:
    """Return the states of an entry and of those that it has replaced in the change, directly or indirectly."""
    wanted, grown = {entry}, True
    while grown:
        rows = await connection.execute_fetchall(
            "WITH wanted AS (SELECT value FROM json_each(?))"
            " SELECT id FROM entries WHERE superseded_by IN (SELECT value FROM wanted)"
            # Entries that it has provisionally replaced.
            " UNION SELECT j.value FROM entries e, json_each(e.proposal, '$.replaces') j"
            " WHERE e.id IN (SELECT value FROM wanted) AND e.proposal IS NOT NULL AND e.unconfirmed IS NULL",
            (json.dumps([*wanted]),),
        )
        found = {int(row["id"]) for row in rows} & states.keys()
        grown = not found <= wanted
        wanted |= found
    return {entry_id: state for entry_id, state in states.items() if entry_id in wanted} if entry in states else {}


def _create_result(slices: _Slices) -> UndoResult:
    return UndoResult(Operation.IMPORT, Author.IMPORT, slices.names, select_shown(slices.outcomes))


async def _find_large_import(connection: aiosqlite.Connection, owner_id: int, number: int | None) -> int | None:
    """Return the number of the given or the newest change if it is an import that needs several transactions."""
    rows = await connection.execute_fetchall(
        "SELECT batch FROM changes WHERE undone_at IS NULL AND owner_id = :owner AND operation = :import"
        " AND entry_id <> 0 AND before IS NULL AND batch = coalesce(:number, (SELECT max(batch) FROM changes"
        " WHERE undone_at IS NULL AND owner_id = :owner AND operation <> :withdraw)) LIMIT :more",
        {"owner": owner_id, "number": number, "import": Operation.IMPORT, "withdraw": Operation.WITHDRAW}
        | {"more": MEMORIES_PER_WRITE + 1},
    )
    batches = [int(row["batch"]) for row in rows]
    return batches[0] if len(batches) > MEMORIES_PER_WRITE else None


async def _find_records(
    connection: aiosqlite.Connection, owner_id: int, number: int | None, *, is_withdrawal: bool
) -> list[Row]:
    """Return the records of the given or the newest change, newest first, or none if it is undone."""
    standing = "undone_at IS NULL AND owner_id = :owner AND (operation = :withdraw) = :is_withdrawal"
    return list(
        await connection.execute_fetchall(
            f"SELECT * FROM changes WHERE {standing} AND batch = coalesce(:number,"
            f" (SELECT max(batch) FROM changes WHERE {standing})) ORDER BY id DESC",
            {"owner": owner_id, "number": number, "withdraw": Operation.WITHDRAW, "is_withdrawal": is_withdrawal},
        )
    )


async def _is_built_on(
    connection: aiosqlite.Connection, owner_id: int, number: int, states: States | None = None
) -> bool:
    """Return True if a later change affects the same entries and must be undone first.

    Changes of a new entry by the consolidation don't count, nor do edits of MEMORY.md, which is reverted line by line.

    Args:
        states: The entries to check. None for all of the change.
    """
    touched = "SELECT entry_id FROM changes WHERE batch = :number AND entry_id <> 0"
    touched += "" if states is None else " AND entry_id IN (SELECT value FROM json_each(:states))"
    by_program = (
        "(author = :program AND entry_id IN"
        " (SELECT entry_id FROM changes WHERE batch = :number AND entry_id <> 0 AND before IS NULL))"
    )
    # The owner of a withdrawn entry may have undone the sharing since.
    since = "undone_at >= (SELECT at FROM changes WHERE batch = :number AND operation = 'withdraw')"
    rows = await connection.execute_fetchall(
        f"SELECT 1 FROM changes WHERE owner_id = :owner AND entry_id IN ({touched})"
        f" AND ((batch > :number AND undone_at IS NULL AND NOT {by_program}) OR (batch <> :number AND {since}))"
        " UNION ALL SELECT 1 FROM entries WHERE superseded_by IN"
        f" ({touched} AND before IS NULL) AND superseded_by <> id AND id NOT IN ({touched})",
        {"owner": owner_id, "number": number, "program": Author.CONSOLIDATION}
        | {"states": json.dumps([*states]) if states is not None else None},
    )
    return bool(list(rows))


def _join_edits(edits: Sequence[Row]) -> tuple[str, str] | None:
    """Join edits of the file, newest first. Return its text before and after, or None if there are no edits."""
    if not edits:
        return None
    before, after = edits[0]["before"], edits[0]["after"]
    for earlier in edits[1:]:
        # A person edited the file in between. The edits before that stay.
        if earlier["after"] != before:
            break
        before = earlier["before"]
    return before, after


async def _restore_all(connection: aiosqlite.Connection, owner_id: int, states: States) -> list[str]:
    """Restore the former state of entries and return their names. Raises MemoryRefused."""
    # A superseded entry refers to its successor until it is restored itself.
    await connection.execute("PRAGMA defer_foreign_keys = ON")
    # All names are deleted first, since entries of one change may have exchanged theirs.
    unbound = {entry_id: await _unbind_names(connection, entry_id) for entry_id in states}
    names = [name for entry_id, name in unbound.items() if states[entry_id] is None and name]
    former = {entry_id: json.loads(state) for entry_id, state in states.items() if state is not None}
    for entry_id in states:
        await _restore(connection, entry_id, former[entry_id]["row"] if entry_id in former else None)
    for entry_id, state in former.items():
        for name, is_alias in state["names"]:
            await bind_name(connection, owner_id, entry_id, name, is_alias=bool(is_alias))
            names += [] if is_alias else [name]
    return list(dict.fromkeys(names))


async def _unbind_names(connection: aiosqlite.Connection, entry_id: int) -> str | None:
    held = await connection.execute_fetchall("SELECT name FROM names WHERE entry_id = ? AND NOT is_alias", (entry_id,))
    await connection.execute("DELETE FROM names WHERE entry_id = ?", (entry_id,))
    return next((row[0] for row in held), None)


async def _restore(connection: aiosqlite.Connection, entry_id: int, row: dict[str, object] | None) -> None:
    if row is None:
        # Without the marker, the conversation is no longer compacted.
        await connection.execute("DELETE FROM markers WHERE archive_id = ?", (entry_id,))
        # The import's messages are erased later.
        await connection.execute("UPDATE imported SET undone = 1 WHERE entry_id = ?", (entry_id,))
        await connection.execute("UPDATE import_edits SET undone = 1 WHERE entry_id = ?", (entry_id,))
        await connection.execute("DELETE FROM entries WHERE id = ?", (entry_id,))
        return
    columns = [column for column in row if column != "id"]
    assignments = ", ".join(f"{column} = ?" for column in columns)
    values = (*(row[column] for column in columns), entry_id)
    await connection.execute(f"UPDATE entries SET {assignments} WHERE id = ?", values)
    # The successor may have been purged since.
    await connection.execute(
        "UPDATE entries SET superseded_by = id WHERE id = ? AND superseded_by NOT IN (SELECT id FROM entries)",
        (entry_id,),
    )
