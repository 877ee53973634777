"""Workflows (S4): named steps for a task, and how often they have worked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from memory.clock import Clock, now_text
from memory.errors import MemoryRefused
from memory.messages import storable
from memory.store.changes import Snapshot, snapshot
from memory.store.entry import Author, Entry, Kind, NewEntry, Operation
from memory.store.entry_rows import find, insert_entry, owner_number, usable_content, usable_name
from memory.store.strength import MOST_REINFORCED
from memory.text.naming import name_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    import aiosqlite

    from memory.store.changes import ChangeLog
    from memory.store.database import Database

MOST_STEPS = 50
MOST_RECORDED = 1_000_000
"""Where the counts of successes and failures stop."""


class Procedures:
    """Saves workflows and records how they went; each can be undone."""

    def __init__(self, database: Database, changes: ChangeLog, clock: Clock) -> None:
        self._database = database
        self._changes = changes
        self._clock = clock

    async def save(self, owner: str, name: str, task: str, steps: Sequence[str], author: Author) -> Entry:
        """Write a workflow, or its new steps; what is known of its successes stays. Raises MemoryRefused."""
        plain = [" ".join(storable(step).split()) for step in steps if step.strip()]
        if not plain:
            raise MemoryRefused("A workflow needs steps: say what is done, one after the other.")
        if len(plain) > MOST_STEPS:
            raise MemoryRefused(f"A workflow has at most {MOST_STEPS} steps, and this one has {len(plain)}: split it.")
        numbered = " ".join(f"{number}. {step}" for number, step in enumerate(plain, 1))
        content = usable_content(f"{task.strip()}: {numbered}" if task.strip() else numbered)
        usable = usable_name(name)
        now = now_text(self._clock)
        async with self._database.transaction() as connection:
            owner_id = await owner_number(connection, owner)
            known = await _workflow(connection, owner_id, usable)
            if known is None:
                new = NewEntry(content, kind=Kind.WORKFLOW, author=author, steps=tuple(plain))
                before = Snapshot(await insert_entry(connection, owner_id, usable, content, new, now), None)
            else:
                before = await snapshot(connection, known.id)
                await connection.execute(
                    "UPDATE entries SET content = ?, steps = ?,"
                    " last_reinforced_at = ?, archived_at = NULL WHERE id = ?",
                    (content, json.dumps(plain, ensure_ascii=False), now, known.id),
                )
            await self._changes.record(connection, owner_id, Operation.LEARN, author, [before])
            return await find(connection, owner_id, usable)

    async def record(self, owner: str, name: str, author: Author, *, success: bool) -> Entry:
        """Count a run of a workflow; a run is a use, and makes it stronger. Raises MemoryRefused for an unknown one."""
        column = "success_count" if success else "failure_count"
        async with self._database.transaction() as connection:
            owner_id = await owner_number(connection, owner)
            entry = await find(connection, owner_id, name)
            if entry.kind != Kind.WORKFLOW:
                raise MemoryRefused(f"{entry.name} is a {entry.kind} and no workflow: save its steps first.")
            _refuse_superseded(entry)
            before = await snapshot(connection, entry.id)
            await connection.execute(
                f"UPDATE entries SET {column} = min({column} + 1, ?),"
                " reinforcement_count = min(reinforcement_count + 1, ?), archived_at = NULL WHERE id = ?",
                (MOST_RECORDED, MOST_REINFORCED, entry.id),
            )
            await self._changes.record(connection, owner_id, Operation.RECORD, author, [before])
            return await find(connection, owner_id, name)


async def _workflow(connection: aiosqlite.Connection, owner_id: int, name: str) -> Entry | None:
    """The workflow of that name; None where the name is free. Raises MemoryRefused where something else has it."""
    taken = await connection.execute_fetchall(
        "SELECT 1 FROM names WHERE owner_id = ? AND key = ?", (owner_id, name_key(name))
    )
    if not list(taken):
        return None
    known = await find(connection, owner_id, name)
    if known.kind != Kind.WORKFLOW:
        raise MemoryRefused(f"The name {name!r} is taken by a {known.kind}: choose another.")
    _refuse_superseded(known)
    return known


def _refuse_superseded(entry: Entry) -> None:
    if entry.superseded_by is not None:
        raise MemoryRefused(f"{entry.name} was superseded: use the workflow that took its place.")
