"""What taking a change back means to a person, in the words of what it was about."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from config.texts import N_

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import aiosqlite

    from memory.ledger.changes import FileChange, Snapshot


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
    """One thing that an undo did, with the text that went or that is there again."""

    effect: Effect
    text: str


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo took back: the operation, who had made it, the names of what it touched, and what it did.

    left_as_edited: MEMORY.md belonged to it too, but a person has edited that since.
    """

    operation: str
    author: str
    names: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    left_as_edited: bool = False


def telling(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """What is worth telling: of what only gave a name or a number to something else, nothing."""
    texts = dict.fromkeys(outcomes)
    plain = [text for text in texts if text.effect in (Effect.TAKEN_BACK, Effect.BROUGHT_BACK, Effect.BACK_TO)]
    return tuple(plain or texts)


def outcomes_of_file(change: FileChange, of_entries: Collection[str]) -> list[Outcome]:
    """What putting MEMORY.md back does, but for the lines of entries of which it is told beside it."""
    before, after, others = (_said_lines(text) for text in (change.before, change.after, "\n".join(of_entries)))
    gone = [Outcome(Effect.TAKEN_BACK, line) for line in after if line not in before and line not in others]
    return gone + [Outcome(Effect.BROUGHT_BACK, line) for line in before if line not in after and line not in others]


async def lines_of_entries(connection: aiosqlite.Connection, entries: Iterable[Snapshot]) -> list[str]:
    """The lines of MEMORY.md that stand for entries as they are now, and those of what they will be again."""
    numbers = json.dumps([was.entry_id for was in entries])
    rows = await connection.execute_fetchall(
        "SELECT line FROM entries WHERE id IN (SELECT value FROM json_each(?)) AND line IS NOT NULL", (numbers,)
    )
    former = (json.loads(was.state)["row"].get("line") for was in entries if was.state is not None)
    return [*(row["line"] for row in rows), *filter(None, former)]


async def outcome_of_entry(connection: aiosqlite.Connection, was: Snapshot) -> Outcome:
    """What making an entry what it was does; to be asked before it is done."""
    rows = await connection.execute_fetchall("SELECT * FROM entries WHERE id = ?", (was.entry_id,))
    now = {key: row[key] for row in rows for key in row.keys()}  # noqa: SIM118  # a row iterates over its values
    if was.state is None:
        return Outcome(Effect.TAKEN_BACK, now.get("content", ""))
    state = json.loads(was.state)
    before = state["row"]
    for mark in ("deleted_at", "superseded_by", "archived_at"):
        if before[mark] is None and now.get(mark) is not None:
            return Outcome(Effect.BROUGHT_BACK, before["content"])
    if before["content"] != now.get("content"):
        return Outcome(Effect.BACK_TO, before["content"])
    rows = await connection.execute_fetchall("SELECT name, is_alias FROM names WHERE entry_id = ?", (was.entry_id,))
    goes = {(row["name"], bool(row["is_alias"])) for row in rows} - {(name, bool(a)) for name, a in state["names"]}
    if any(not is_alias for _, is_alias in goes):
        return Outcome(Effect.BACK_TO_NAME, "".join(name for name, is_alias in state["names"] if not is_alias))
    if goes:
        return Outcome(Effect.WITHOUT_NAME, ", ".join(sorted(name for name, _ in goes)))
    return Outcome(Effect.AS_IT_WAS, before["content"])


def _said_lines(text: str) -> dict[str, None]:
    """The lines of a Markdown text, in order, without what makes them items of a list."""
    return dict.fromkeys(line for part in text.splitlines() if (line := part.strip().removeprefix("- ")))
