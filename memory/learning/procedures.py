"""Workflows (S4): named steps for a task, and how often they have worked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.errors import MemoryRefused
from memory.messages import storable
from memory.store.entry import Author, Entry, Kind, NewEntry, Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.ledger.ledger import Ledger

MOST_STEPS = 50


class Procedures:
    """Saves workflows and records how they went; each can be undone."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def save(
        self, owner: str, name: str, task: str, steps: Sequence[str], author: Author, *, success: bool | None = None
    ) -> Entry:
        """Write a workflow, or its new steps; what is known of its successes stays. Raises MemoryRefused.

        success: how a run of it went, recorded in the same change; None: there was none.
        """
        plain, content = _plain(steps), workflow_text(task, steps)
        async with self._ledger.change(owner, Operation.LEARN, author) as change:
            known = await change.holder(name)
            if known is None:
                entry = await change.add(NewEntry(content, name=name, kind=Kind.WORKFLOW, steps=tuple(plain)))
            elif known.kind != Kind.WORKFLOW:
                raise MemoryRefused(f"The name {name!r} is taken by a {known.kind}: choose another.")
            else:
                _refuse_superseded(known)
                entry = await change.renew(await change.rewrite(known, content, steps=plain))
            return entry if success is None else await change.record_run(entry, success=success)

    async def record(self, owner: str, name: str, author: Author, *, success: bool) -> Entry:
        """Count a run of a workflow; a run is a use, and makes it stronger. Raises MemoryRefused for an unknown one."""
        async with self._ledger.change(owner, Operation.RECORD, author) as change:
            entry = await change.find(name)
            if entry.kind != Kind.WORKFLOW:
                raise MemoryRefused(f"{entry.name} is a {entry.kind} and no workflow: save its steps first.")
            _refuse_superseded(entry)
            return await change.record_run(entry, success=success)


def workflow_text(task: str, steps: Sequence[str]) -> str:
    """A workflow in one text. Raises MemoryRefused for too few or too many steps."""
    numbered = " ".join(f"{number}. {step}" for number, step in enumerate(_plain(steps), 1))
    return f"{task.strip()}: {numbered}" if task.strip() else numbered


def _plain(steps: Sequence[str]) -> list[str]:
    plain = [" ".join(storable(step).split()) for step in steps if step.strip()]
    if not plain:
        raise MemoryRefused("A workflow needs steps: say what is done, one after the other.")
    if len(plain) > MOST_STEPS:
        raise MemoryRefused(f"A workflow has at most {MOST_STEPS} steps, and this one has {len(plain)}: split it.")
    return plain


def _refuse_superseded(entry: Entry) -> None:
    if entry.superseded_by is not None:
        raise MemoryRefused(f"{entry.name} was superseded: use the workflow that took its place.")
