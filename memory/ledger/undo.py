"""/undo: the last change of memory is taken back, whoever made it, entries and MEMORY.md alike.

The memories of an import are taken back in slices, since thousands in one transaction would keep all other chats from
writing. The first transaction takes back the entry that tells of the import, so that nothing more is imported. A kill
in between leaves a change of which a part is undone, and the next start finishes it. The module is long since entries,
the slices of imports and what an undo says of itself are put back in one transaction.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from config.texts import N_, _
from memory.clock import now_text, to_text
from memory.errors import MemoryRefused
from memory.ledger.file_undo import file_change
from memory.store.effects import keep_causes
from memory.store.entry import Author, Operation
from memory.store.entry_rows import bind_name, entries_where, known_owner
from memory.store.forgotten import mark_words, unmark

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import aiosqlite

    from memory.clock import Clock
    from memory.files.markdown import MarkdownFiles
    from memory.store.database import Database, Row
    from memory.store.entry import Entry
    from memory.store.erasure import PendingErasures
    from memory.store.file_copies import FileCopies

    # entries as they were before a change, by id, as JSON; None: there was none
    States = Mapping[int, str | None]

MEMORY_FILE = "MEMORY.md"
UNDO_PERIOD = timedelta(days=30)
"""How long a change can be undone."""
SLICE = 50
"""Memories of an import that are taken back in one transaction."""
BUILT_ON = N_("That was changed again since: /undo starts with the newest change.")
_HALF_UNDONE = (
    "SELECT o.name, c.batch FROM changes c JOIN owners o ON o.id = c.owner_id WHERE c.operation = 'import'"
    " AND c.entry_id <> 0 GROUP BY c.batch HAVING count(c.undone_at) BETWEEN 1 AND count(*) - 1"
)


class Effect(StrEnum):
    """What an undo does to one thing, in the words for the person, to be translated where they are shown."""

    TAKEN_BACK = N_("Undone")
    BROUGHT_BACK = N_("Restored")
    BACK_TO = N_("Changed back to")
    BACK_TO_NAME = N_("Renamed back to")
    WITHOUT_NAME = N_("No longer also called")
    AS_IT_WAS = N_("Restored as it was")


@dataclass(frozen=True, slots=True)
class Outcome:
    effect: Effect
    text: str


@dataclass(frozen=True, slots=True)
class _Slices:
    """The memories of an import that were taken back before the rest of its change, and the entry that told of it."""

    batch: int
    outcomes: tuple[Outcome, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo took back: the operation, who had made it, the names of what it touched, and what it did."""

    operation: str
    author: str
    names: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    left_as_edited: bool = False  # MEMORY.md belonged to it too, but a person has edited that since


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
        erasures.after(self.finish)

    async def newest_of(self, entry: Entry) -> int | None:
        """The number of the newest change of an entry that still stands."""
        value = await self._database.value(
            "SELECT batch FROM changes WHERE entry_id = ? AND undone_at IS NULL ORDER BY id DESC LIMIT 1", (entry.id,)
        )
        return None if value is None else int(value)

    async def is_expired(self, owner: str, number: int) -> bool:
        """Return True if a change can't be undone any more because it is too old, and was not undone before."""
        row = await self._database.row(
            "SELECT (SELECT max(batch) FROM changes) AS newest, count(*) AS records,"
            " sum(o.name = :owner AND c.undone_at = c.at AND c.at < :before) AS purged, sum(o.name = :owner) AS own"
            " FROM changes c JOIN owners o ON o.id = c.owner_id WHERE c.batch = :number",
            {"owner": owner, "number": number, "before": to_text(self._clock() - UNDO_PERIOD)},
        )
        if row is None or row["newest"] is None or number > row["newest"]:
            return False
        # the purge deletes the records of entries, and marks those of MEMORY.md, of which it keeps some versions
        return row["records"] == 0 or (bool(row["own"]) and row["purged"] == row["own"])

    async def undo(
        self, owner: str, number: int | None = None, *, entry: int | None = None, is_withdrawal: bool = False
    ) -> Undone | None:
        """Take back the newest change of an owner that still stands, or the one of that number; None without one.

        What else was changed in MEMORY.md since stays as it is: the lines that the change has written are taken out,
        and those that it has replaced come back. A line that a person has edited since is left alone, and the entries
        of the change are taken back all the same. A new memory is removed although the program itself has reworded or
        weighed it since. The words that a removed memory was learned from are forgotten.

        Args:
            entry: Take back only what the change has done to this entry, and to those that it replaced.
            is_withdrawal: It is what the bot's owner has done to an entry of theirs, which only they undo.

        Raises MemoryRefused when nothing can be: there are none, a name is in use again, a later change has to do with
        the same; after an edit the next undo goes on with the change before.
        """
        owner_id = await known_owner(self._database, owner)
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
        """Finish undoing the imports that a kill has left half undone."""
        for row in await self._database.rows(_HALF_UNDONE):
            owner_id = await known_owner(self._database, row["name"])
            assert owner_id is not None, "the row is theirs"  # noqa: S101  # as the query joins them
            with contextlib.suppress(MemoryRefused):
                slices = await self._undo_memories(owner_id, row["batch"]) or _Slices(row["batch"], (), ())
                await self._undo(row["name"], owner_id, row["batch"], is_withdrawal=False, slices=slices)

    async def _undo_memories(self, owner_id: int, number: int | None) -> _Slices | None:
        """Take back the memories of an import slice by slice. None if the change is none, or a small one.

        Raises MemoryRefused if a later change has to do with the same entries.
        """
        async with self._database.transaction() as connection:
            batch = await _large_import(connection, owner_id, number)
            if batch is None:
                return None
            if number is not None and await _is_built_on(connection, owner_id, batch):
                raise MemoryRefused(_(BUILT_ON))
            await keep_causes(connection)
            # the oldest tells of the import, and one that is running ends when it is gone
            outcomes, names = await self._undo_slice(connection, owner_id, batch, "id", 1)
        others: list[Outcome] = []
        while True:
            async with self._database.transaction() as connection:
                taken, named = await self._undo_slice(connection, owner_id, batch, "id DESC", SLICE)
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
        outcomes = [await _outcome_of_entry(connection, entry_id, None) for entry_id in states]
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
    ) -> Undone | None:
        """Take back a change in one transaction, or what is left of it after its slices."""
        refused: MemoryRefused | None = None
        async with self._database.transaction() as connection:
            rows = await _standing(connection, owner_id, number, is_withdrawal=is_withdrawal)
            if not rows:
                return None if slices is None else _of_slices(slices)
            batch = rows[0]["batch"]
            states = {row["entry_id"]: row["before"] for row in rows if row["entry_id"] != 0}  # the oldest state counts
            every = len(states)
            if entry is not None:
                states = await _states_with(connection, states, entry)
                if not states:
                    return None  # it was undone by itself
            is_whole = len(states) == every
            if slices is None and number is not None and await _is_built_on(connection, owner_id, batch, states):
                raise MemoryRefused(_(BUILT_ON))
            outcomes = [await _outcome_of_entry(connection, entry_id, state) for entry_id, state in states.items()]
            lines = await _lines_of_entries(connection, states)
            await keep_causes(connection)
            edit = _joined([row for row in rows if row["entry_id"] == 0])
            change_of_file = await file_change(connection, edit, states, is_whole=is_whole)
            await self._forget_words(connection, owner_id, batch, rows[0]["operation"], states)
            names = await _restore_all(connection, owner_id, states)
            await self._record_undone(connection, batch, states, is_whole=is_whole)
            if change_of_file.changes_anything:
                # the last step before the commit: nothing that is refused after it leaves the two apart
                try:
                    former, text = await self._files.change_long_term(owner, change_of_file.apply)
                    if self._copies is not None:
                        await self._copies.keep(connection, self._files.long_term_path(owner))
                    names += [MEMORY_FILE] if text != former else []
                    outcomes = [*_outcomes_of_file(text, former, lines), *outcomes]
                except MemoryRefused as error:
                    refused = error
        if refused is not None and not states and slices is None:
            raise MemoryRefused(_("{why} The next /undo continues with the change before it.", why=refused))
        operation, author = rows[0]["operation"], rows[0]["author"]
        if slices is not None:
            names, outcomes = [*slices.names, *names], [*slices.outcomes, *outcomes]
        return Undone(operation, author, tuple(names), _telling(outcomes), refused is not None)

    async def _forget_words(
        self, connection: aiosqlite.Connection, owner_id: int, batch: int, operation: str, states: States
    ) -> None:
        """Mark the words of memories that go, and take back the marks of a removal that is undone."""
        await unmark(connection, batch, states)
        gone = [entry_id for entry_id, state in states.items() if state is None]
        # the messages of an import go with it, and who imports the file again means it
        if operation == Operation.IMPORT or not gone:
            return

        async def read(sql: str, parameters: tuple[object, ...] = ()) -> list[Row]:
            return list(await connection.execute_fetchall(sql, parameters))

        numbers = json.dumps(gone)
        for entry in await entries_where(read, "e.id IN (SELECT value FROM json_each(?))", (numbers,)):
            await mark_words(connection, owner_id, None, entry, now_text(self._clock))

    async def _record_undone(
        self, connection: aiosqlite.Connection, batch: int, states: States, *, is_whole: bool
    ) -> None:
        now, ids = now_text(self._clock), json.dumps([*states])
        # What was done since to an entry that is gone can't be taken back by itself. A withdrawal is another person's.
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


async def _states_with(connection: aiosqlite.Connection, states: States, entry: int) -> dict[int, str | None]:
    """Return the states of an entry, and of those that it has replaced in the same change, directly or not."""
    wanted, grown = {entry}, True
    while grown:
        rows = await connection.execute_fetchall(
            "WITH wanted AS (SELECT value FROM json_each(?))"
            " SELECT id FROM entries WHERE superseded_by IN (SELECT value FROM wanted)"
            # what it has put aside until a model has judged it
            " UNION SELECT j.value FROM entries e, json_each(e.proposal, '$.replaces') j"
            " WHERE e.id IN (SELECT value FROM wanted) AND e.proposal IS NOT NULL AND e.unconfirmed IS NULL",
            (json.dumps([*wanted]),),
        )
        found = {int(row["id"]) for row in rows} & states.keys()
        grown = not found <= wanted
        wanted |= found
    return {entry_id: state for entry_id, state in states.items() if entry_id in wanted} if entry in states else {}


def _of_slices(slices: _Slices) -> Undone:
    return Undone(Operation.IMPORT, Author.IMPORT, slices.names, _telling(slices.outcomes))


async def _large_import(connection: aiosqlite.Connection, owner_id: int, number: int | None) -> int | None:
    """Return the number of the newest change, or of the given one, if it is an import with more than one slice."""
    rows = await connection.execute_fetchall(
        "SELECT batch FROM changes WHERE undone_at IS NULL AND owner_id = :owner AND operation = :import"
        " AND entry_id <> 0 AND before IS NULL AND batch = coalesce(:number, (SELECT max(batch) FROM changes"
        " WHERE undone_at IS NULL AND owner_id = :owner AND operation <> :withdraw)) LIMIT :more",
        {"owner": owner_id, "number": number, "import": Operation.IMPORT, "withdraw": Operation.WITHDRAW}
        | {"more": SLICE + 1},
    )
    batches = [int(row["batch"]) for row in rows]
    return batches[0] if len(batches) > SLICE else None


async def _standing(
    connection: aiosqlite.Connection, owner_id: int, number: int | None, *, is_withdrawal: bool
) -> list[Row]:
    """What the change of that number, or the newest one, has recorded, newest first; nothing if none still stands."""
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
    """Return True if a later change that stands has to do with the same entries, so that it has to go first.

    What the program itself has done to a new entry since, such as wording it better, goes with it. MEMORY.md is put
    back line by line, so it is no reason. states: the entries that are meant, if those are not all of the change.
    """
    touched = "SELECT entry_id FROM changes WHERE batch = :number AND entry_id <> 0"
    touched += "" if states is None else " AND entry_id IN (SELECT value FROM json_each(:states))"
    by_program = (
        "(author = :program AND entry_id IN"
        " (SELECT entry_id FROM changes WHERE batch = :number AND entry_id <> 0 AND before IS NULL))"
    )
    # the owner of a withdrawn entry may have undone since what had shared it
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


def _joined(edits: Sequence[Row]) -> tuple[str, str] | None:
    """Several changes of the file, newest first, as one: what it said before and after, None where it is untouched."""
    if not edits:
        return None
    before, after = edits[0]["before"], edits[0]["after"]
    for earlier in edits[1:]:
        # a person edited the file in between: what came before that is not ours to take back
        if earlier["after"] != before:
            break
        before = earlier["before"]
    return before, after


async def _restore_all(connection: aiosqlite.Connection, owner_id: int, states: States) -> list[str]:
    """Make entries what they were before a change; their names. Raises MemoryRefused."""
    # one that was superseded points at its successor until its own turn comes
    await connection.execute("PRAGMA defer_foreign_keys = ON")
    # all names go first: entries of one change may have taken each other's
    unbound = {entry_id: await _unbound(connection, entry_id) for entry_id in states}
    names = [name for entry_id, name in unbound.items() if states[entry_id] is None and name]
    former = {entry_id: json.loads(state) for entry_id, state in states.items() if state is not None}
    for entry_id in states:
        await _restore(connection, entry_id, former[entry_id]["row"] if entry_id in former else None)
    for entry_id, state in former.items():
        for name, is_alias in state["names"]:
            await bind_name(connection, owner_id, entry_id, name, is_alias=bool(is_alias))
            names += [] if is_alias else [name]
    return list(dict.fromkeys(names))


async def _unbound(connection: aiosqlite.Connection, entry_id: int) -> str | None:
    held = await connection.execute_fetchall("SELECT name FROM names WHERE entry_id = ? AND NOT is_alias", (entry_id,))
    await connection.execute("DELETE FROM names WHERE entry_id = ?", (entry_id,))
    return next((row[0] for row in held), None)


async def _restore(connection: aiosqlite.Connection, entry_id: int, row: dict[str, object] | None) -> None:
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


def _telling(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """What was taken or brought back, where there is any: a mere change of names beside it is not worth a line."""
    texts = dict.fromkeys(outcomes)
    plain = [text for text in texts if text.effect in (Effect.TAKEN_BACK, Effect.BROUGHT_BACK, Effect.BACK_TO)]
    return tuple(plain or texts)


def _outcomes_of_file(text_before: str, text_after: str, of_entries: Collection[str]) -> list[Outcome]:
    """What putting MEMORY.md back does, but for the lines of entries of which it is told beside it."""
    before, after, others = (_said_lines(text) for text in (text_before, text_after, "\n".join(of_entries)))
    gone = [Outcome(Effect.TAKEN_BACK, line) for line in after if line not in before and line not in others]
    return gone + [Outcome(Effect.BROUGHT_BACK, line) for line in before if line not in after and line not in others]


async def _lines_of_entries(connection: aiosqlite.Connection, states: States) -> list[str]:
    """The lines of MEMORY.md that stand for entries as they are now, and those of what they will be again."""
    rows = await connection.execute_fetchall(
        "SELECT line FROM entries WHERE id IN (SELECT value FROM json_each(?)) AND line IS NOT NULL",
        (json.dumps([*states]),),
    )
    former = (json.loads(state)["row"].get("line") for state in states.values() if state is not None)
    return [*(row["line"] for row in rows), *filter(None, former)]


async def _outcome_of_entry(connection: aiosqlite.Connection, entry_id: int, state: str | None) -> Outcome:
    """What making an entry what it was does; to be asked before it is done."""
    rows = await connection.execute_fetchall("SELECT * FROM entries WHERE id = ?", (entry_id,))
    now = {key: row[key] for row in rows for key in row.keys()}  # noqa: SIM118  # a row iterates over its values
    if state is None:
        return Outcome(Effect.TAKEN_BACK, now.get("content", ""))
    former = json.loads(state)
    before = former["row"]
    for mark in ("deleted_at", "superseded_by", "archived_at"):
        if before[mark] is None and now.get(mark) is not None:
            return Outcome(Effect.BROUGHT_BACK, before["content"])
    if before["content"] != now.get("content"):
        return Outcome(Effect.BACK_TO, before["content"])
    rows = await connection.execute_fetchall("SELECT name, is_alias FROM names WHERE entry_id = ?", (entry_id,))
    goes = {(row["name"], bool(row["is_alias"])) for row in rows} - {(name, bool(a)) for name, a in former["names"]}
    if any(not is_alias for _, is_alias in goes):
        return Outcome(Effect.BACK_TO_NAME, "".join(name for name, is_alias in former["names"] if not is_alias))
    if goes:
        return Outcome(Effect.WITHOUT_NAME, ", ".join(sorted(name for name, _ in goes)))
    return Outcome(Effect.AS_IT_WAS, before["content"])


def _said_lines(text: str) -> dict[str, None]:
    return dict.fromkeys(line for part in text.splitlines() if (line := part.strip().removeprefix("- ")))
