"""AutoCapture (15): what the user's own words ask for, prefer, forbid or correct is kept, without a model (S4)."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from config.texts import N_, _, listed, unstopped
from memory.buttons import Button, Notice, edit_button, share_button, undo_button
from memory.capture.capture import captured, is_for_all, objects, requested, restated, to_forget
from memory.capture.classifier import CaptureKind
from memory.errors import MemoryRefused
from memory.facts.fact import CheckedFact, Citation, Excerpt, Fact
from memory.imports.memories import is_list
from memory.ledger.page import appending, format_line
from memory.messages import Provenance, Role
from memory.store.entry import Author, Kind, NewEntry, Operation, Priority

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from memory.capture.capture import Captured
    from memory.clock import TimezoneLookup
    from memory.facts.checker import FactChecker
    from memory.facts.fact_store import FactStore, Learned
    from memory.facts.learning import Learning
    from memory.facts.sharing import Sharing
    from memory.ledger.change import Change
    from memory.ledger.ledger import Ledger
    from memory.ledger.page import LongTermMemory
    from memory.log.sessions import Session, SessionService
    from memory.messages import Message
    from memory.search.lookup import MemoryLookup, NamedMemory
    from memory.store.entry import Entry
    from pipeline.turn import Turn

    # the memory that a capture becomes, and those that it takes the place of
    _Plan = tuple[NewEntry, list[Entry]]

_NOT_KEPT = N_("Not noted: nothing is kept of a private talk; send /new to end it, then say it again.")

_NOT_SHARED = N_("Noted for this chat alone, which is no part of the family: {content} (/undo takes it back)")

_A_LIST = N_("This looks like a list of memories. /import takes them in, for you to confirm; /undo takes them back.")

# later than all that was captured, so that only what is alike is looked at
_NO_MESSAGE = sys.maxsize
LOOK_SECONDS = 10.0
"""How long a turn waits for the look that says what a correction takes the place of."""
MOST_TO_FORGET = 3
"""Memories that are offered where somebody asks to forget something."""
BEFORE = 10
"""Messages of the conversation that the look sees before the correction, for what "no" answers."""


@dataclass(slots=True)
class _Outcome:
    """What became of one message: what was noted in MEMORY.md, what was learned, and why anything was refused."""

    note: str | None = None
    note_entry: Entry | None = None
    shared: bool = False
    note_refused: str | None = None
    learned: list[Learned] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    change: int | None = None
    to_forget: list[NamedMemory] = field(default_factory=list)
    doubted: list[NamedMemory] = field(default_factory=list)


@dataclass(eq=False)
class AutoCapture:
    """Captures from the words that the user typed; forwarded and attached text never writes memory.

    What it asks to remember becomes a note that stands in MEMORY.md too, and what it asks to forget is offered for one
    tap. What else is stated becomes memories; a correction takes the place of what a second look by a model says that
    it corrects. All of one message is one change of memory, which one undo takes back. tells: whether a session is told
    of what nobody asked for.
    """

    name = "AutoCapture"

    ledger: Ledger
    memory: LongTermMemory
    learning: Learning
    facts: FactStore
    checker: FactChecker
    sessions: SessionService
    zone_of: TimezoneLookup
    lookup: MemoryLookup
    sharing: Sharing
    enabled: bool
    tells: Callable[[str], bool]

    async def process(self, turn: Turn) -> None:
        # the words of a turn that is run again were captured when it ran first
        if not self.enabled or turn.replaces_turn is not None:
            return
        typed = [message for message in turn.user_messages if message.provenance is Provenance.TYPED]
        if turn.session.private:
            if any(requested(message.content) is not None for message in typed):
                turn.notices.append(Notice(_(_NOT_KEPT)))
            return
        notices_enabled = self.tells(turn.session.id)
        of_family = await self.sharing.includes(turn.session.owner)
        sender = next((arrival.sender for arrival in turn.arrivals if arrival.sender), "")
        for message in typed:
            if message.speaker is None and is_list(message.content):
                # written by another assistant as a rule, so it is nothing that the user states
                turn.notices.append(Notice(_(_A_LIST), ((Button(_("Import"), "/import"),),)))
                continue
            for_all = self.sharing.enabled and is_for_all(message.content)
            sharer = (message.speaker or sender) if of_family and for_all else None
            outcome = await self._keep(turn.session, message, sharer)
            if objects(message.content):
                outcome.doubted = await self.lookup.stated_in(
                    await self._answer(turn), turn.session.owner, MOST_TO_FORGET
                )
            turn.written_entries += [learned.entry.id for learned in outcome.learned if not learned.known]
            turn.written_entries += [outcome.note_entry.id] if outcome.note_entry is not None else []
            not_shared = for_all and not of_family
            notices = _notices(outcome, tells=notices_enabled, of_family=of_family, not_shared=not_shared)
            turn.notices += [replace(notice, alone=True) for notice in notices]

    async def _answer(self, turn: Turn) -> str:
        """The answer that a message objects to: the one that it replies to, else the last."""
        quoted = [arrival.quoted.text for arrival in turn.arrivals if arrival.quoted is not None]
        if quoted:
            return quoted[-1]
        messages = (await self.sessions.transcript(turn.session.id)).messages
        return next((message.content for message in reversed(messages) if message.role is Role.ASSISTANT), "")

    async def _keep(self, session: Session, message: Message, sharer: str | None) -> _Outcome:
        """Write what a message asks to remember and states, as one change. sharer: who shares its note, or None."""
        owner = session.owner
        outcome = _Outcome()
        request = requested(message.content)
        text = message.content if request is None else request.besides
        if (forget := to_forget(text)) is not None:
            text = forget.besides
            outcome.to_forget = await self.lookup.meant_by(forget.what, owner, MOST_TO_FORGET)
        statements = captured(text)
        note = await self._new_note(owner, request.what, outcome) if request is not None else None
        plans = [
            plan for statement in statements if (plan := await self._plan(session, message, statement)) is not None
        ]
        if note is None and not plans:
            return outcome
        day = message.created_at.astimezone(self.zone_of(session.id)).date()
        async with self.ledger.change(owner, Operation.LEARN, Author.CAPTURE) as change:
            if note is not None:
                await self._write_note(change, note, _note_line(note, day), outcome)
                if sharer is not None and outcome.note_entry is not None:
                    outcome.note_entry = await change.share(outcome.note_entry, sharer)
                    outcome.shared = True
            await self._learn(change, owner, plans, outcome)
        outcome.change = change.number
        if not change.is_written and outcome.note is not None:
            await self._note_again(owner, _note_line(outcome.note, day), outcome)
        return outcome

    async def _write_note(self, change: Change, note: str, line: str, outcome: _Outcome) -> None:
        """Store an explicit request to remember: an entry whose line is also written into MEMORY.md."""
        try:
            entry = outcome.note_entry or await change.add(
                NewEntry(note, stem=Kind.NOTE, kind=Kind.NOTE, author=Author.CAPTURE)
            )
        except MemoryRefused as error:
            outcome.note_refused = str(error)
            return
        outcome.note, outcome.note_entry = note, entry
        with contextlib.suppress(MemoryRefused):  # a file that is full: the entry is found all the same
            await change.edit_file(appending(line))
            await change.know_line(entry, line)

    async def _new_note(self, owner: str, what: str, outcome: _Outcome) -> str | None:
        """The text to note in MEMORY.md; None if it is there. A memory that says it is reinforced."""
        outcome.note_entry = await self.learning.reinforce_known(owner, what)
        return None if await self.lookup.is_written(what, owner) else what

    async def _note_again(self, owner: str, line: str, outcome: _Outcome) -> None:
        """Note it anew: a person was editing the file, and their edit won."""
        try:
            await self.memory.append(owner, line, Author.CAPTURE)
        except MemoryRefused as error:
            outcome.note, outcome.note_refused = None, str(error)

    async def _learn(self, change: Change, owner: str, plans: Sequence[_Plan], outcome: _Outcome) -> None:
        for new, replaces in plans:
            # two sentences of a message may replace the same
            holding = [entry for entry in replaces if await change.is_current(entry)]
            try:
                learned = await self.learning.learn_in(change, owner, new, holding[0].name if holding else None)
            except MemoryRefused as error:
                outcome.refusals.append(str(error))
                continue
            outcome.learned.append(learned)
            for other in holding[1:]:
                if other.id != learned.entry.id:
                    await change.supersede_by_known(other, learned.entry)

    async def _plan(self, session: Session, message: Message, captured: Captured) -> _Plan | None:
        """What a capture is to become, and what it takes the place of; None where it is known."""
        if not captured.may_replace:
            return _new_entry(captured, None, message.speaker), []
        if await self.learning.reinforce_known(session.owner, captured.text) is not None:
            return None
        look = await self._look(session, message, captured)
        replaces = [memory.entry for memory in look.replaces if memory.entry is not None]
        if look.repeats and not replaces:
            await self.learning.reinforce_known(session.owner, look.repeats[0].text)
            return None
        return _new_entry(captured, replaces[0] if replaces else None, message.speaker), replaces

    async def _look(self, session: Session, message: Message, captured: Captured) -> CheckedFact:
        """What a model says that a correction replaces or repeats: nothing where it is unsure, or does not answer."""
        fact = Fact("", captured.text, Kind.FACT, citation=Citation(None, captured.text), person=message.speaker)
        memories = await self.facts.related(session.owner, [fact], _NO_MESSAGE)
        if not memories:
            return CheckedFact(fact)
        before = (await self.sessions.transcript(session.id)).messages[-BEFORE:]
        excerpt = Excerpt([message], self.zone_of(session.id), before)
        deadline = asyncio.get_running_loop().time() + LOOK_SECONDS
        (checked,), _none = await self.checker.check([fact], excerpt, memories, deadline)
        return checked if checked.doubt is None else CheckedFact(fact)


def _note_line(note: str, day: date) -> str:
    """The line of a note in MEMORY.md: with its day, or "since last week" would mean another week by next month."""
    return format_line(_("{note} (noted {date})", note=note, date=day.isoformat()))


def _notices(outcome: _Outcome, *, tells: bool, of_family: bool = False, not_shared: bool = False) -> list[Notice]:
    """What is said of it: one line for all that one undo takes back, and one for each refusal.

    tells: whether of what nobody asked for, too. of_family: it may be shared. not_shared: that was asked for in vain.
    """
    news = [learned for learned in outcome.learned if tells and (learned.superseded is not None or not learned.known)]
    refusals = [
        *([outcome.note_refused] if outcome.note_refused is not None else []),
        *(outcome.refusals if tells else []),
    ]
    lines = [Notice(_("Not noted: {why}", why=why)) for why in refusals]
    lines += [
        Notice(
            _("Shall I forget this? {content}", content=f"{memory.content} ({memory.forget})"),
            ((_forgetting(memory),),),
        )
        for memory in outcome.to_forget
    ]
    lines += [
        Notice(
            _("I remember this: {content}. Is it wrong?", content=unstopped(memory.content)),
            (
                (
                    _forgetting(memory),
                    *([edit_button(memory.entry, memory.content)] if memory.entry is not None else []),
                ),
            ),
        )
        for memory in outcome.doubted
    ]
    edits = [edit_button(learned.entry.id, learned.entry.content) for learned in news]
    undo = undo_button(outcome.change, "") if outcome.change is not None else None
    if len(news) + (outcome.note is not None) > 1:
        contents = listed(
            [*([outcome.note] if outcome.note is not None else []), *(learned.wording for learned in news)]
        )
        text = _("Noted: {contents} (/undo takes it all back)", contents=contents)
        rows = (((undo,),) if undo is not None else ()) + tuple((edit,) for edit in edits)
        return [Notice(text, rows), *lines]
    if outcome.note is not None:
        about, written = outcome.note, outcome.note_entry
        text = N_("Noted: {content} (/undo takes it back)")
        text = N_("Noted for the family: {content} (/undo takes it back)") if outcome.shared else text
        text = _(_NOT_SHARED if not_shared else text, content=unstopped(about))
        edits = [edit_button(written.id, about)] if written is not None else []
    elif news:
        text, about, written = _notice_text(news[0]), news[0].entry.content, news[0].entry
    else:
        return lines
    if of_family and written is not None and written.shared_at is None:
        edits = [*edits, share_button(written.id, about)]
    row = ((undo_button(outcome.change, about), *edits),) if outcome.change is not None else ()
    return [Notice(text, row), *lines]


def _forgetting(memory: NamedMemory) -> Button:
    return Button(_("Forget"), memory.forget, memory.content)


def _notice_text(learned: Learned) -> str:
    content, former = unstopped(learned.entry.content), learned.superseded
    if former is None:
        return _("Noted as a {kind}: {content} (/undo takes it back)", kind=_(learned.entry.kind), content=content)
    return _("Noted: {content} (was: {former}; /undo takes it back)", content=content, former=unstopped(former.content))


def _is_of_the_speaker(captured: Captured) -> bool:
    """Whether it is said of oneself, so that in a group it matters who says it."""
    return not captured.is_standing and captured.kind is not CaptureKind.CONSTRAINT


def _kind_of(captured: Captured) -> tuple[Kind, Priority | None]:
    """The kind and priority of a capture. Only standing instructions to the bot go into every request (S4)."""
    if captured.is_standing:
        is_policy = captured.kind is CaptureKind.CONSTRAINT
        return (Kind.POLICY, None) if is_policy else (Kind.PREFERENCE, Priority.HIGH)
    if captured.is_change:
        return Kind.FACT, None
    return {
        CaptureKind.FACT: (Kind.FACT, None),
        CaptureKind.PREFERENCE: (Kind.PREFERENCE, None),
        CaptureKind.CONSTRAINT: (Kind.FACT, Priority.HIGH),
        CaptureKind.DECISION: (Kind.DECISION, None),
        CaptureKind.CORRECTION: (Kind.FACT, Priority.HIGH),
    }[captured.kind]


def _new_entry(captured: Captured, former: Entry | None, speaker: str | None) -> NewEntry:
    """The memory that a capture becomes; former: what it corrects, speaker: who says so in a group."""
    kind, priority = _kind_of(captured)
    text = f"{speaker}: {captured.text}" if speaker and _is_of_the_speaker(captured) else captured.text
    if former is None:
        return NewEntry(text, stem=kind, kind=kind, priority=priority, author=Author.CAPTURE)
    # what corrects a rule is a rule, and what corrects a wish is none
    given_priority = priority if former.kind == kind else None
    restated_text = (
        restated(former.content, captured.corrects, captured.becomes)
        if captured.corrects and captured.becomes
        else None
    )
    return NewEntry(
        restated_text or text,
        kind=former.kind,
        priority=given_priority or Priority(former.priority),
        author=Author.CAPTURE,
        quote=captured.text if restated_text else None,
    )
