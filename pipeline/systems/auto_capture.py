"""AutoCapture (15): what the user's own words ask for, prefer, forbid or correct is kept, without a model (S4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from config.texts import N_, _
from memory.buttons import QuietLine, edit_button, undo_button
from memory.capture.capture import captured, requested, restated
from memory.capture.classifier import CaptureKind
from memory.errors import MemoryRefused
from memory.ledger.page import appending
from memory.messages import Provenance
from memory.store.entry import Author, Kind, NewEntry, Operation, Priority

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.capture.capture import Captured
    from memory.facts.fact_store import Learned
    from memory.files.long_term import LongTermMemory
    from memory.learning.learning import Learning
    from memory.ledger.change import Change
    from memory.ledger.ledger import Ledger
    from memory.messages import Message
    from memory.store.entry import Entry
    from pipeline.turn import Turn

_NOT_KEPT = N_("Not noted: nothing is kept of a private talk; send /new to end it, then say it again.")


@dataclass(frozen=True, slots=True)
class _Planned:
    """A capture as the memory that it becomes, and what it takes the place of."""

    new: NewEntry
    former: Entry | None


@dataclass(slots=True)
class _Kept:
    """What became of one message: what was noted in MEMORY.md, what was learned, and why anything was refused."""

    note: str | None = None
    note_refused: str | None = None
    learned: list[Learned] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    change: int | None = None


class AutoCapture:
    """Captures from the words that the user typed; forwarded and attached text never writes memory.

    An explicit request goes to MEMORY.md. What else is stated becomes memories; a correction takes the place of what
    it corrects where that is clear. All of one message is one change of memory, which one undo takes back. tells:
    whether a session is told of what nobody asked for.
    """

    name = "AutoCapture"

    def __init__(
        self,
        ledger: Ledger,
        memory: LongTermMemory,
        learning: Learning,
        *,
        enabled: bool,
        tells: Callable[[str], bool],
    ) -> None:
        self._ledger = ledger
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
        tells = self._tells(turn.session.id)
        for message in typed:
            kept = await self._keep(turn.session.owner, message)
            turn.written_entries += [one.entry.id for one in kept.learned if not one.known]
            turn.notices += _notices(kept, tells=tells)

    async def _keep(self, owner: str, message: Message) -> _Kept:
        """Write what one message asks to remember and what it states, as one change."""
        request = requested(message.content)
        found = captured(message.content if request is None else request.besides)
        note = await self._new_note(owner, request.what) if request is not None else None
        planned = [plan for one in found if (plan := await self._planned(owner, one, message.speaker)) is not None]
        kept = _Kept()
        if note is None and not planned:
            return kept
        async with self._ledger.change(owner, Operation.LEARN, Author.CAPTURE) as change:
            if note is not None:
                try:
                    await change.edit_file(appending(f"- {note}"))
                    kept.note = note
                except MemoryRefused as error:
                    kept.note_refused = str(error)
            await self._learn(change, owner, planned, kept)
        kept.change = change.number
        if not change.is_written and kept.note is not None:
            await self._note_again(owner, kept)
        return kept

    async def _new_note(self, owner: str, what: str) -> str | None:
        """What is to be noted in MEMORY.md, None where it stands there; a memory that says it decays from now on."""
        await self._learning.reinforce_known(owner, what)
        return None if f"- {what}" in (await self._memory.read(owner)).splitlines() else what

    async def _note_again(self, owner: str, kept: _Kept) -> None:
        """Note it anew: a person was editing the file, and their edit won."""
        try:
            await self._memory.append(owner, f"- {kept.note}", Author.CAPTURE)
        except MemoryRefused as error:
            kept.note, kept.note_refused = None, str(error)

    async def _learn(self, change: Change, owner: str, planned: Sequence[_Planned], kept: _Kept) -> None:
        for plan in planned:
            gone = {one.superseded.id for one in kept.learned if one.superseded is not None}
            former = plan.former if plan.former is not None and plan.former.id not in gone else None
            try:
                learned = await self._learning.learn_in(change, owner, plan.new, former.name if former else None)
            except MemoryRefused as error:
                kept.refusals.append(str(error))
            else:
                kept.learned.append(learned)

    async def _planned(self, owner: str, found: Captured, speaker: str | None) -> _Planned | None:
        """What a capture is to become; None where it is a correction that has been made before."""
        is_correcting = found.is_change or found.kind is CaptureKind.CORRECTION
        if is_correcting and await self._is_told_again(owner, found):
            return None
        former = None
        if is_correcting:
            former = await self._learning.corrected_by(
                owner, found.text, found.corrects, of_oneself=found.is_change, speaker=speaker
            )
        if former is None and found.is_answer:
            named = speaker if _is_of_the_speaker(found) else None
            former = await self._learning.said_otherwise(owner, found.text, named)
        return _Planned(_made_of(found, former, speaker), former)

    async def _is_told_again(self, owner: str, found: Captured) -> bool:
        """Whether a correction has been made before; what it made of the memory is reinforced."""
        if await self._learning.reinforce_known(owner, found.text) is not None:
            return True
        if not found.corrects or not found.becomes:
            return False
        return await self._learning.reinforce_changed(owner, found.corrects, found.becomes) is not None


def _notices(kept: _Kept, *, tells: bool) -> list[QuietLine]:
    """What is said of it: one line for all that one undo takes back, and one for each refusal.

    tells: whether of what nobody asked for, too.
    """
    news = [one for one in kept.learned if tells and (one.superseded is not None or not one.known)]
    refusals = [*([kept.note_refused] if kept.note_refused is not None else []), *(kept.refusals if tells else [])]
    told = [QuietLine(_("Not noted: {why}", why=why)) for why in refusals]
    edits = [edit_button(one.entry.id, one.entry.content) for one in news]
    undo = undo_button(kept.change, "") if kept.change is not None else None
    if len(news) + (kept.note is not None) > 1:
        contents = "; ".join([*([kept.note] if kept.note is not None else []), *map(_content, news)])
        said = _("Noted: {contents} (/undo takes it all back)", contents=contents)
        rows = (((undo,),) if undo is not None else ()) + tuple((edit,) for edit in edits)
        return [QuietLine(said, rows), *told]
    if kept.note is not None:
        said, about = _("Noted in MEMORY.md: {content} (/undo takes it back)", content=kept.note), kept.note
    elif news:
        said, about = _said(news[0]), news[0].entry.content
    else:
        return told
    row = ((undo_button(kept.change, about), *edits),) if kept.change is not None else ()
    return [QuietLine(said, row), *told]


def _said(learned: Learned) -> str:
    content, former = learned.entry.content, learned.superseded
    if former is None:
        return _("Noted as a {kind}: {content} (/undo takes it back)", kind=_(learned.entry.kind), content=content)
    return _("Noted: {content} (was: {former}; /undo takes it back)", content=content, former=former.content)


def _content(learned: Learned) -> str:
    content, former = learned.entry.content, learned.superseded
    return content if former is None else _("{content} (was: {former})", content=content, former=former.content)


def _is_of_the_speaker(found: Captured) -> bool:
    """Whether it is said of oneself, so that in a group it matters who says it."""
    return not found.is_standing and found.kind is not CaptureKind.CONSTRAINT


def _kind_of(found: Captured) -> tuple[Kind, Priority | None]:
    """What a capture is kept as. Only what the bot is told to do for good stands in every request: S4's policies."""
    if found.is_standing:
        is_policy = found.kind is CaptureKind.CONSTRAINT
        return (Kind.POLICY, None) if is_policy else (Kind.PREFERENCE, Priority.HIGH)
    if found.is_change:
        return Kind.FACT, None
    return {
        CaptureKind.FACT: (Kind.FACT, None),
        CaptureKind.PREFERENCE: (Kind.PREFERENCE, None),
        CaptureKind.CONSTRAINT: (Kind.FACT, Priority.HIGH),
        CaptureKind.DECISION: (Kind.DECISION, None),
        CaptureKind.CORRECTION: (Kind.FACT, Priority.HIGH),
    }[found.kind]


def _made_of(found: Captured, former: Entry | None, speaker: str | None) -> NewEntry:
    """The memory that a capture becomes; former: what it corrects, speaker: who says so in a group."""
    kind, priority = _kind_of(found)
    text = f"{speaker}: {found.text}" if speaker and _is_of_the_speaker(found) else found.text
    if former is None:
        return NewEntry(text, stem=kind, kind=kind, priority=priority, author=Author.CAPTURE)
    # what corrects a rule is a rule, and what corrects a wish is none
    given = priority if former.kind == kind else None
    said = restated(former.content, found.corrects, found.becomes) if found.corrects and found.becomes else None
    return NewEntry(said or text, kind=former.kind, priority=given or Priority(former.priority), author=Author.CAPTURE)
