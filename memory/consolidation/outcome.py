"""What a consolidation did, and how that is said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from config.texts import _, listed, ngettext
from memory.buttons import Notice, edit_button, right_or_wrong, undo_button
from memory.facts.fact import Doubt
from memory.ledger.undo import MEMORY_FILE

if TYPE_CHECKING:
    from memory.buttons import Button, Keyboard
    from memory.facts.fact_learner import Learned
    from memory.store.entry import Entry

UNSURE_SHOWN = 3
"""How many of the doubtful facts are told; all are listed by /memory unsure."""
EDITS_SHOWN = 5
"""How many of the facts of one change have a button to be edited."""


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What a consolidation did."""

    messages: int = 0
    fell_back: bool = False  # no usable answer came, and the history holds the messages as they were
    memory_changed: bool = False
    learned: tuple[Learned, ...] = ()
    forgotten: tuple[str, ...] = ()
    changes: tuple[int, ...] = ()  # their numbers, each one /undo
    is_left: bool = False  # something is still due
    warning: str | None = None

    def __add__(self, other: Consolidated) -> Consolidated:
        return Consolidated(
            self.messages + other.messages,
            self.fell_back or other.fell_back,
            self.memory_changed or other.memory_changed,
            (*self.learned, *other.learned),
            (*self.forgotten, *other.forgotten),
            tuple(dict.fromkeys((*self.changes, *other.changes))),
            self.is_left or other.is_left,
            other.warning or self.warning,
        )

    @property
    def unsure(self) -> list[Entry]:
        """What was learned and is for a person to confirm; what only waits for a second look is not."""
        entries = (item.entry for item in self.learned)
        return [entry for entry in entries if entry.unconfirmed not in (None, Doubt.NOT_CHECKED)]

    @property
    def notices(self) -> list[Notice]:
        """What was learned, in a line or two for the user, in the language that is spoken."""
        if self._sure or self.forgotten:
            lines = [Notice(self._changed, self._undo_buttons)]
        elif self.memory_changed:
            lines = [Notice(_("MEMORY.md was updated (/undo takes it back)."), self._undo_buttons)]
        else:
            lines = []
        if self.unsure:
            rows = tuple(right_or_wrong(entry.id, entry.content) for entry in self.unsure[:UNSURE_SHOWN])
            lines.append(Notice(self._doubted, rows))
        return [*lines, *([Notice(self.warning)] if self.warning else [])]

    @property
    def _changed(self) -> str:
        learned, forgotten, back = listed(self._sure), listed(self.forgotten), self._undo_hint
        if not forgotten:
            return _("Learned: {learned} ({back})", learned=learned, back=back)
        if not learned:
            return _("Forgotten: {forgotten} ({back})", forgotten=forgotten, back=back)
        return _("Learned: {learned}. Forgotten: {forgotten} ({back})", learned=learned, forgotten=forgotten, back=back)

    @property
    def _undo_hint(self) -> str:
        changes = len(self.changes)
        if changes <= 1:
            return _("/undo takes it back")
        return ngettext("/undo, sent {n} time, takes it back", "/undo, sent {n} times, takes it back", changes)

    @property
    def _sure(self) -> list[str]:
        return [item.wording for item in self.learned if item.entry.unconfirmed is None]

    @property
    def _doubted(self) -> str:
        visible = listed(entry.content for entry in self.unsure[:UNSURE_SHOWN])
        more = len(self.unsure) - UNSURE_SHOWN
        if more <= 0:
            return _("Not sure: {facts} - /memory unsure", facts=visible)
        return ngettext(
            "Not sure: {facts} and {n} more - /memory unsure",
            "Not sure: {facts} and {n} more - /memory unsure",
            more,
            facts=visible,
        )

    @property
    def _undo_buttons(self) -> Keyboard:
        """Return a row for each fact that is sure, which takes back or edits it alone, and one for all of a change."""
        rows: list[tuple[Button, ...]] = []
        for number in self.changes:
            learned = [item.entry for item in self.learned if item.change == number]
            sure = [entry for entry in learned if entry.unconfirmed is None]
            if len(learned) == 1 and not self.forgotten:
                undo = undo_button(number, learned[0].content, learned[0].id)
                rows.append((undo, *(edit_button(entry.id, entry.content) for entry in sure)))
                continue
            rows += [
                (undo_button(number, entry.content, entry.id), edit_button(entry.id, entry.content))
                for entry in sure[:EDITS_SHOWN]
            ]
            about = "" if learned else (self.forgotten[0] if len(self.forgotten) == 1 else MEMORY_FILE)
            undo = undo_button(number, about)
            rows.append((undo if about else replace(undo, label=_("Undo all")),))
        return tuple(rows)
