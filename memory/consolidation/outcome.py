"""The result of a consolidation and its notices for the user."""

from __future__ import annotations

from dataclasses import dataclass, replace

from config.texts import _, join_sentences, ngettext
from memory.buttons import Button, Keyboard, Notice, create_edit_button, create_review_buttons, create_undo_button
from memory.facts.fact import Doubt
from memory.facts.fact_learner import LearnedMemory
from memory.ledger.undo_outcomes import MEMORY_FILE
from memory.store.entry import Entry

MAX_UNSURE_SHOWN = 3
"""Maximum number of unconfirmed facts in a notice. /memory unsure lists all."""
MAX_EDIT_BUTTONS = 5
"""Maximum number of facts of one change that get an edit button."""


@dataclass(frozen=True, slots=True)
class ConsolidationResult:
    """The result of a consolidation."""

    messages: int = 0
    fell_back: bool = False  # there was no usable answer, so the history has the messages themselves
    memory_changed: bool = False
    learned: tuple[LearnedMemory, ...] = ()
    forgotten: tuple[str, ...] = ()
    changes: tuple[int, ...] = ()  # numbers of the changes; each is one /undo
    is_left: bool = False  # messages are still due
    warning: str | None = None

    def __add__(self, other: ConsolidationResult) -> ConsolidationResult:
        return ConsolidationResult(
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
        """Return the learned facts that a person should confirm. Unchecked ones are not included."""
        entries = (item.entry for item in self.learned)
        return [entry for entry in entries if entry.unconfirmed not in (None, Doubt.NOT_CHECKED)]

    @property
    def notices(self) -> list[Notice]:
        if self._confirmed_lines or self.forgotten:
            lines = [Notice(self._changes_text, self._undo_buttons)]
        elif self.memory_changed:
            lines = [Notice(_("MEMORY.md was updated (/undo takes it back)."), self._undo_buttons)]
        else:
            lines = []
        if self.unsure:
            rows = tuple(create_review_buttons(entry.id, entry.content) for entry in self.unsure[:MAX_UNSURE_SHOWN])
            lines.append(Notice(self._unsure_text, rows))
        return [*lines, *([Notice(self.warning)] if self.warning else [])]

    @property
    def _changes_text(self) -> str:
        learned, forgotten, back = (
            join_sentences(self._confirmed_lines),
            join_sentences(self.forgotten),
            self._undo_hint,
        )
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
    def _confirmed_lines(self) -> list[str]:
        return [item.wording for item in self.learned if item.entry.unconfirmed is None]

    @property
    def _unsure_text(self) -> str:
        visible = join_sentences(entry.content for entry in self.unsure[:MAX_UNSURE_SHOWN])
        more = len(self.unsure) - MAX_UNSURE_SHOWN
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
        """Return a row to undo or edit each confirmed fact, and one to undo all of a change."""
        rows: list[tuple[Button, ...]] = []
        for number in self.changes:
            learned = [item.entry for item in self.learned if item.change == number]
            sure = [entry for entry in learned if entry.unconfirmed is None]
            if len(learned) == 1 and not self.forgotten:
                undo = create_undo_button(number, learned[0].content, learned[0].id)
                rows.append((undo, *(create_edit_button(entry.id, entry.content) for entry in sure)))
                continue
            rows += [
                (create_undo_button(number, entry.content, entry.id), create_edit_button(entry.id, entry.content))
                for entry in sure[:MAX_EDIT_BUTTONS]
            ]
            about = "" if learned else (self.forgotten[0] if len(self.forgotten) == 1 else MEMORY_FILE)
            undo = create_undo_button(number, about)
            rows.append((undo if about else replace(undo, label=_("Undo all")),))
        return tuple(rows)
