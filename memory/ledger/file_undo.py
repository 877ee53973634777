"""Undo of changes of MEMORY.md, line by line, so that later edits of other lines stay."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aiosqlite

from config.texts import _
from memory.errors import MemoryRefused
from memory.messages import make_storable


@dataclass(frozen=True, slots=True)
class FileChange:
    """The lines that an undo changes in MEMORY.md."""

    before: str = ""  # the file before the change that is undone
    after: str = ""
    gone: frozenset[str] = frozenset()  # lines of deleted memories, possibly reworded since the change
    back: tuple[str, ...] = ()  # lines of restored memories
    of_entries: frozenset[str] = frozenset()  # all current and former lines of memories

    @property
    def changes_anything(self) -> bool:
        return self.before != self.after or bool(self.gone or self.back)

    def apply(self, text: str) -> str:
        """Return the text without the change. Raise MemoryRefused if none of its lines are left."""
        shown = make_storable(text)
        if shown == self.after:
            return self._restore_entries(self.before)
        if shown == self.before:
            return text  # The change was never written because of a crash.
        reverted = self._restore_entries(_revert(shown, self.before, self.after))
        if reverted == shown and self.before != self.after:
            raise MemoryRefused(
                _("Nothing was undone, because MEMORY.md was edited after that change: correct it by hand.")
            )
        return reverted

    def _restore_entries(self, text: str) -> str:
        lines = [line for line in text.split("\n") if line not in self.gone]
        missing = [line for line in self.back if line not in lines]
        if not missing:
            return "\n".join(lines)
        body = "\n".join(lines).rstrip("\n")
        return "\n".join([*([body] if body else []), *missing]) + "\n"


def _revert(text: str, before: str, after: str) -> str:
    """Revert the difference between `before` and `after` in a text. Lines that were edited since stay."""
    lines, old, new = text.split("\n"), before.split("\n"), after.split("\n")
    for kind, first, last, start, end in reversed(
        difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    ):
        if kind == "equal":
            continue
        written, replaced = new[start:end], old[first:last]
        if not all(line in lines for line in written if line.strip()):
            continue
        at = _find_place(lines, written, new[:start])
        for line in written:
            if line in lines:
                lines.remove(line)
        missing = [line for line in replaced if line.strip() and line not in lines]
        lines[at:at] = missing
    return "\n".join(lines)


def _find_place(lines: Sequence[str], written: Sequence[str], before: Sequence[str]) -> int:
    """Return the index for restored lines: that of their replacement, or else behind the line that preceded them."""
    present = [lines.index(line) for line in written if line in lines and line.strip()]
    if present:
        return min(present)
    anchor = next((line for line in reversed(before) if line.strip() and line in lines), None)
    return lines.index(anchor) + 1 if anchor is not None else 0


async def build_file_change(
    connection: aiosqlite.Connection, edit: tuple[str, str] | None, states: Mapping[int, str | None], *, is_whole: bool
) -> FileChange:
    before, after = edit or ("", "")
    rows = await connection.execute_fetchall(
        "SELECT id, line FROM entries WHERE line IS NOT NULL AND id IN (SELECT value FROM json_each(?))",
        (json.dumps([*states]),),
    )
    own = {row["id"]: str(row["line"]) for row in rows}
    former = {entry_id: json.loads(state)["row"].get("line") for entry_id, state in states.items() if state is not None}
    of_entries = frozenset(own.values()) | frozenset(filter(None, former.values()))
    gone = frozenset(line for entry_id, line in own.items() if states[entry_id] is None)
    if is_whole:
        # A line that existed before the change must stay.
        return FileChange(before, after, gone - set(before.split("\n")), of_entries=of_entries)
    # Only some entries of the change are undone: their lines go, and those that they have replaced come back.
    back = tuple(line for line in former.values() if line and line in before.split("\n"))
    changed = {own[entry_id] for entry_id, line in former.items() if entry_id in own and own[entry_id] != line}
    return FileChange(gone=(gone | changed) - set(back), back=back, of_entries=of_entries)
