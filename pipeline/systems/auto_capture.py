"""AutoCapture (15): what the user's own words ask for, prefer, forbid or correct is kept, without a model (S4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from config.texts import N_, _
from memory.buttons import QuietLine, edit_button, undo_button
from memory.capture.capture import Captured, captured, restated
from memory.capture.phrases.grammar import Pattern
from memory.capture.remembering import requested
from memory.errors import MemoryRefused
from memory.messages import Provenance
from memory.store.entry import Author, Kind, NewEntry, Priority

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.files.long_term import LongTermMemory
    from memory.learning.learning import Learning
    from memory.store.entry import Entry
    from pipeline.turn import Turn


@dataclass(frozen=True, slots=True)
class _Taken:
    """What a pattern is captured as (S4)."""

    kind: Kind
    priority: Priority | None = None


_TAKEN = {
    Pattern.PREFERENCE: _Taken(Kind.PREFERENCE),
    # what is to hold always stands in every request
    Pattern.RULE: _Taken(Kind.PREFERENCE, Priority.HIGH),
    Pattern.CONSTRAINT: _Taken(Kind.POLICY),
    Pattern.CORRECTION: _Taken(Kind.FACT, Priority.HIGH),
    Pattern.CHANGE: _Taken(Kind.FACT),
    Pattern.DECISION: _Taken(Kind.DECISION),
    Pattern.FACT: _Taken(Kind.FACT),
}
_OF_THE_SPEAKER = (Pattern.PREFERENCE, Pattern.CORRECTION, Pattern.CHANGE, Pattern.FACT, Pattern.DECISION)
"""What is said of oneself, so that in a group it matters who says it."""
_NOT_KEPT = N_("Not noted: nothing is kept of a private talk; send /new to end it, then say it again.")
_CORRECTING = (Pattern.CORRECTION, Pattern.CHANGE)


class AutoCapture:
    """Captures from the words that the user typed; forwarded and attached text never writes memory.

    An explicit request goes to MEMORY.md. Preferences, rules, constraints and corrections become memories; a
    correction takes the place of what it corrects where that is clear. tells: whether a session is told of it.
    """

    name = "AutoCapture"

    def __init__(
        self, memory: LongTermMemory, learning: Learning, *, enabled: bool, tells: Callable[[str], bool]
    ) -> None:
        self._memory = memory
        self._learning = learning
        self._enabled = enabled
        self._tells = tells

    async def process(self, turn: Turn) -> None:
        """Capture, and say so in quiet lines under the reply."""
        if not self._enabled or turn.replaces_turn is not None:
            return
        typed = [message for message in turn.user_messages if message.provenance is Provenance.TYPED]
        if turn.session.private:
            if any(requested(message.content) is not None for message in typed):
                turn.notices.append(QuietLine(_(_NOT_KEPT)))
            return
        for message in typed:
            text = message.content
            request = requested(text)
            if request is not None:
                await self._note(turn, request.what)
                text = request.besides
            for found in captured(text):
                try:
                    told = await self._learn(turn, found, message.speaker)
                except MemoryRefused as error:
                    told = QuietLine(_("Not noted: {why}", why=error))
                if told and self._tells(turn.session.id):
                    turn.notices.append(told)

    async def _note(self, turn: Turn, what: str) -> None:
        """Write what was explicitly asked for into MEMORY.md; a memory that says it decays from now on."""
        owner = turn.session.owner
        await self._learning.reinforce_known(owner, what)
        line = f"- {what}"
        if line in (await self._memory.read(owner)).splitlines():
            return
        try:
            change = await self._memory.append(owner, line, Author.CAPTURE)
        except MemoryRefused as error:
            turn.notices.append(QuietLine(_("Not noted: {why}", why=error)))
        else:
            turn.notices.append(
                _undoable(_("Noted in MEMORY.md: {content} (/undo takes it back)", content=what), change, what)
            )

    async def _learn(self, turn: Turn, found: Captured, speaker: str | None) -> QuietLine | None:
        """Make a memory of what was captured; the line that says so, None for what was known."""
        owner = turn.session.owner
        if found.pattern in _CORRECTING and await self._is_told_again(owner, found):
            return None
        former = await self._former(owner, found, speaker)
        new = _made_of(found, former, speaker)
        learned = await self._learning.learn(owner, new, former.name if former is not None else None)
        if not learned.known:
            turn.written_entries.append(learned.entry.id)
        if learned.superseded is None and learned.known:
            return None
        if learned.superseded is None:
            said = _("Noted as a {kind}: {content} (/undo takes it back)", kind=_(new.kind), content=new.content)
        else:
            former_content = learned.superseded.content
            said = _(
                "Noted: {content} (was: {former}; /undo takes it back)", content=new.content, former=former_content
            )
        return _undoable(said, learned.change, new.content, learned.entry)

    async def _former(self, owner: str, found: Captured, speaker: str | None) -> Entry | None:
        """The memory that a capture takes the place of; None where it corrects nothing, or not clearly."""
        former = None
        if found.pattern in _CORRECTING:
            of_oneself = found.pattern is Pattern.CHANGE
            former = await self._learning.corrected_by(
                owner, found.text, found.corrects, of_oneself=of_oneself, speaker=speaker
            )
        if former is None and found.is_answer:
            named = speaker if found.pattern in _OF_THE_SPEAKER else None
            former = await self._learning.said_otherwise(owner, found.text, named)
        return former

    async def _is_told_again(self, owner: str, found: Captured) -> bool:
        """Whether a correction has been made before; what it made of the memory is reinforced."""
        if await self._learning.reinforce_known(owner, found.text) is not None:
            return True
        if not found.corrects or not found.becomes:
            return False
        return await self._learning.reinforce_changed(owner, found.corrects, found.becomes) is not None


def _undoable(said: str, change: int | None, about: str, entry: Entry | None = None) -> QuietLine:
    if change is None:
        return QuietLine(said)
    edit = () if entry is None else (edit_button(entry.id, about),)
    return QuietLine(said, ((undo_button(change, about), *edit),))


def _made_of(found: Captured, former: Entry | None, speaker: str | None) -> NewEntry:
    """The memory that a capture becomes; former: what it corrects, speaker: who says so in a group."""
    taken = _TAKEN[found.pattern]
    text = f"{speaker}: {found.text}" if speaker and found.pattern in _OF_THE_SPEAKER else found.text
    if former is None:
        return NewEntry(text, stem=taken.kind, kind=taken.kind, priority=taken.priority, author=Author.CAPTURE)
    # what corrects a rule is a rule, and what corrects a wish is none
    given = taken.priority if former.kind == taken.kind else None
    said = restated(former.content, found.corrects, found.becomes) if found.corrects and found.becomes else None
    return NewEntry(said or text, kind=former.kind, priority=given or Priority(former.priority), author=Author.CAPTURE)
