"""AutoCapture (15): what the user's own words ask for, forbid or correct is kept at once, without a model (S4).

What else they state is only found here. A model judges it after the turn (`bot/jobs/capturing.py`).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from config.secrets import secret_in
from config.texts import N_, _, listed, unstopped
from memory.buttons import Button, Notice, edit_button, share_button, undo_button
from memory.capture.capture import is_for_all, objects, proposed, requested, resuming, to_forget
from memory.capture.certainty import hands_over_text, is_certain_order
from memory.capture.new_entry import new_entry
from memory.capture.values import with_value
from memory.consolidation.capture_review import Heard
from memory.errors import MemoryRefused
from memory.facts.fact import Doubt, is_typed
from memory.facts.fact_store import Learned
from memory.facts.noted import noted_text
from memory.imports.memories import is_list
from memory.ledger.page import appending, format_line
from memory.messages import Provenance, Role
from memory.store.entry import Author, Kind, NewEntry, Operation, Proposal
from memory.store.entry_rows import looks_like
from memory.text.same_words import same_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from memory.capture.capture import Captured
    from memory.clock import TimezoneLookup
    from memory.facts.corrections import Corrections
    from memory.facts.learning import Learning
    from memory.facts.sharing import Sharing
    from memory.ledger.change import Change
    from memory.ledger.ledger import Ledger
    from memory.ledger.page import LongTermMemory
    from memory.log.sessions import SessionService
    from memory.messages import Message
    from memory.search.lookup import MemoryLookup, NamedMemory
    from memory.store.entry import Entry
    from pipeline.turn import Turn

    # a statement that is stored at once, and the memories that it may take the place of
    _Plan = tuple[Captured, list[Entry]]

_NOT_KEPT = N_("Not noted: nothing is kept of a private talk; send /new to end it, then say it again.")

_NOT_SHARED = N_("Noted for this chat alone, which is no part of the family: {content} (/undo takes it back)")

_A_LIST = N_("This looks like a list of memories. /import takes them in, for you to confirm; /undo takes them back.")

MOST_TO_FORGET = 3
"""Memories that are offered where somebody asks to forget something."""
MAX_TOLD_CHARS = 300
MAX_TALK_MESSAGES = 3
"""Earlier messages of the user that a correction such as "no, 15 March" may be about."""


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
    candidates: list[Captured] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Talk:
    """What was said before: ids of the user's latest messages, and of the memories that the last answer states."""

    messages: tuple[int, ...]
    stated: tuple[int, ...]


@dataclass(eq=False)
class AutoCapture:
    """Captures from the words that the user typed; forwarded and attached text never writes memory.

    What it asks to remember becomes a note that stands in MEMORY.md too, and what it asks to forget is offered for one
    tap. Orders to the bot and corrections of what is known are stored at once; what a correction may replace leaves
    the prompts until a model has judged it. What else is stated becomes `Turn.heard`. All that is written of one
    message is one change of memory, which one undo takes back. tells: whether a session is told of what nobody asked
    for.
    """

    name = "AutoCapture"

    ledger: Ledger
    memory: LongTermMemory
    learning: Learning
    corrections: Corrections
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
            outcome = await self._keep(turn, message, sharer)
            if objects(message.content):
                outcome.doubted = await self.lookup.stated_in(
                    await self._answer(turn), turn.session.owner, MOST_TO_FORGET
                )
            written = [learned.entry.id for learned in outcome.learned if not learned.known]
            turn.written_entries += written
            turn.written_entries += [outcome.note_entry.id] if outcome.note_entry is not None else []
            turn.heard.append(
                Heard(
                    turn.session.owner,
                    message.content,
                    message.speaker,
                    tuple(outcome.candidates),
                    tuple(written),
                    outcome.change,
                )
            )
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

    async def _keep(self, turn: Turn, message: Message, sharer: str | None) -> _Outcome:
        """Write what a message asks to remember, orders and corrects, as one change.

        Args:
            sharer: The person who shares its note, if anybody does.
        """
        session = turn.session
        owner = session.owner
        outcome = _Outcome()
        request = requested(message.content)
        text = message.content if request is None else request.besides
        if (forget := to_forget(text)) is not None:
            text = forget.besides
            outcome.to_forget = await self.lookup.meant_by(forget.what, owner, MOST_TO_FORGET)
        note = await self._new_note(owner, request.what, outcome) if request is not None else None
        plans = await self._plans(turn, text, outcome)
        if not outcome.refusals and (secret := told_secret(text)) is not None:
            outcome.refusals.append(str(looks_like(secret)))
        if note is None and not plans:
            return outcome
        day = message.created_at.astimezone(self.zone_of(session.id)).date()
        async with self.ledger.change(owner, Operation.LEARN, Author.CAPTURE) as change:
            if note is not None:
                await self._write_note(change, note, _note_line(note, day), outcome)
                if sharer is not None and outcome.note_entry is not None:
                    outcome.note_entry = await change.share(outcome.note_entry, sharer)
                    outcome.shared = True
            for capture, doubted in plans:
                await self._store(change, owner, capture, doubted, message.speaker, outcome)
        outcome.change = change.number
        if not change.is_written and outcome.note is not None:
            await self._note_again(owner, _note_line(outcome.note, day), outcome)
        return outcome

    async def _plans(self, turn: Turn, text: str, outcome: _Outcome) -> list[_Plan]:
        """Return what is stored at once, with what that may replace; all else becomes a candidate."""
        owner = turn.session.owner
        plans: list[_Plan] = []
        captures = proposed(text)
        resumed = resuming(text)
        is_handed_over = hands_over_text(text)
        former = await self._edited(turn)
        if former and captures and not is_handed_over:
            # the order in a message tells which sentence was edited
            pairs = zip(captures, former, strict=False) if len(captures) == len(former) else [(captures[0], former[0])]
            return [(c, [entry]) for c, entry in pairs if not same_words(c.text, entry.content)]
        talk = await self._talk(turn) if any(capture.may_replace for capture in captures) else _Talk((), ())
        for capture in captures:
            if (secret := secret_in(capture.text)) is not None:
                outcome.refusals.append(str(looks_like(secret)))
                continue
            if capture.text == (resumed.text if resumed is not None else None):
                continue
            is_order = is_certain_order(text, capture)
            if not is_order and (capture.is_standing or is_handed_over or not capture.may_replace):
                outcome.candidates.append(capture)
                continue
            if await self.learning.reinforce_known(owner, capture.text) is not None:
                continue
            doubted = await self.corrections.doubted(owner, capture, talk.stated, talk.messages)
            # what corrects nothing that is known, and can't be understood alone, is for a model to read
            if is_order or doubted:
                plans.append((capture, doubted))
            else:
                outcome.candidates.append(capture)
        if resumed is not None and not is_handed_over:
            rules = await self.corrections.ended_by(owner, resumed.text)
            plans += [(resumed, rules)] if rules else []
        return plans

    async def _edited(self, turn: Turn) -> list[Entry]:
        """Return what was captured of the message that the turn's one is the edited form of."""
        text = next((arrival.corrects for arrival in turn.arrivals if arrival.corrects is not None), None)
        return await self.corrections.from_message(turn.session.id, text) if text is not None else []

    async def _talk(self, turn: Turn) -> _Talk:
        messages = (await self.sessions.transcript(turn.session.id)).messages
        typed = [message.id for message in messages if is_typed(message) and message.id is not None]
        answer = await self._answer(turn)
        stated = await self.lookup.stated_in(answer, turn.session.owner) if answer else []
        return _Talk(
            tuple(typed[-MAX_TALK_MESSAGES:]), tuple(memory.entry for memory in stated if memory.entry is not None)
        )

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

    async def _store(
        self,
        change: Change,
        owner: str,
        capture: Captured,
        doubted: Sequence[Entry],
        speaker: str | None,
        outcome: _Outcome,
    ) -> None:
        """Store an order or a correction, and put aside what it may replace until a model has judged that."""
        aside = [entry for entry in doubted if await change.is_current(entry)]
        former = aside[0] if aside else None
        text = with_value(former.content, capture.text) if former is not None and capture.leans_on_talk else None
        new = new_entry(capture, former, speaker, text)
        waits = Proposal(replaces=tuple(entry.id for entry in aside)).to_text()
        try:
            learned = await self.learning.learn_in(change, owner, replace(new, proposal=waits))
        except MemoryRefused as error:
            outcome.refusals.append(str(error))
            return
        if learned.entry.proposal != waits:  # it was known, or waited to be confirmed
            await change.propose(learned.entry, None, waits)
        for entry in aside:
            if entry.id != learned.entry.id:
                await change.put_aside(entry, learned.entry, Doubt.OUTDATED)
        outcome.learned.append(replace(learned, superseded=former))


def told_secret(text: str) -> str | None:
    """Return the kind of a secret that a short message tells, and does not only ask about or paste."""
    if len(text) > MAX_TOLD_CHARS or "\n" in text.strip() or text.rstrip().endswith(("?", "？")):
        return None
    return secret_in(text)


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
        *(dict.fromkeys(outcome.refusals) if tells else []),
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
        text, about, written = noted_text(news[0]), news[0].entry.content, news[0].entry
    else:
        return lines
    if of_family and written is not None and written.shared_at is None:
        edits = [*edits, share_button(written.id, about)]
    row = ((undo_button(outcome.change, about), *edits),) if outcome.change is not None else ()
    return [Notice(text, row), *lines]


def _forgetting(memory: NamedMemory) -> Button:
    return Button(_("Forget"), memory.forget, memory.content)
