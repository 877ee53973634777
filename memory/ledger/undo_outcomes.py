"""Descriptions of what an undo restored or removed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

import aiosqlite

from config.texts import N_, _, ngettext

MEMORY_FILE = "MEMORY.md"
UNDO_PERIOD = timedelta(days=30)


class Effect(StrEnum):
    """The effects of an undo on one entry or line. Translate them for display."""

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
class UndoResult:
    """The result of an undo: the undone operation, its author, the names of affected entries and the effects."""

    operation: str
    author: str
    names: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    left_as_edited: bool = False  # MEMORY.md was not changed, since a person has edited it


def select_shown(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """Return the outcomes to show. Changes of names are left out if there are others."""
    texts = dict.fromkeys(outcomes)
    plain = [text for text in texts if text.effect in (Effect.TAKEN_BACK, Effect.BROUGHT_BACK, Effect.BACK_TO)]
    return tuple(plain or texts)


def describe_file_outcomes(text_before: str, text_after: str, of_entries: Collection[str]) -> list[Outcome]:
    """Return the outcomes of reverting MEMORY.md, without lines of entries, which are reported themselves."""
    before, after, others = (_collect_lines(text) for text in (text_before, text_after, "\n".join(of_entries)))
    gone = [Outcome(Effect.TAKEN_BACK, line) for line in after if line not in before and line not in others]
    return gone + [Outcome(Effect.BROUGHT_BACK, line) for line in before if line not in after and line not in others]


async def describe_entry_outcome(connection: aiosqlite.Connection, entry_id: int, state: str | None) -> Outcome:
    """Return the outcome of restoring an entry. Must run before the restore."""
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


def _collect_lines(text: str) -> dict[str, None]:
    return dict.fromkeys(line for part in text.splitlines() if (line := part.strip().removeprefix("- ")))


def explain_nothing_undone(*, is_expired: bool) -> str:
    """Return why a change couldn't be undone: it was undone before, or it is too old."""
    if not is_expired:
        return _("That was already undone.")
    days = UNDO_PERIOD.days
    return ngettext("A change can be undone for {n} day.", "A change can be undone for {n} days.", days)
