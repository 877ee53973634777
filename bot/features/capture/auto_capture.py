"""AutoCapture (15): stores requests, orders and corrections in the user's own words at once, without a model.

Other statements are only collected here. A model judges them after the turn (CaptureJudging in job.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from bot.features.capture.certainty import asks_to_process_text, create_new_entry, is_certain_order
from bot.features.capture.corrections import Corrections
from bot.features.capture.requests import find_forget_request, find_remember_request, is_request_for_all
from bot.features.capture.review import MessageCaptures
from bot.features.capture.statements import Capture, find_resuming_order, is_objection, propose_statements
from config.secrets import list_secrets
from config.texts import N_, _, join_sentences, strip_full_stop
from memory.buttons import Button, Notice, create_edit_button, create_share_button, create_undo_button
from memory.clock import TimezoneLookup
from memory.errors import MemoryRefused, SecretRefused
from memory.facts.fact import Doubt, is_typed
from memory.facts.fact_learner import LearnedMemory
from memory.facts.learned_notices import format_noted
from memory.facts.learning import Learning
from memory.facts.sharing import Sharing
from memory.ledger.change import Change
from memory.ledger.entries import EntryStore
from memory.ledger.ledger import Ledger
from memory.ledger.long_term import LongTermMemory
from memory.ledger.page import appending, format_line
from memory.log.sessions import SessionService
from memory.messages import Message, Provenance, Role
from memory.search.named_memories import MemoryLookup, NamedMemory
from memory.store.entry import Author, Entry, Kind, NewEntry, Operation, Proposal
from memory.text.speaking import attribute
from memory.text.values import insert_value
from memory.text.wording import has_same_words
from pipeline.turn import Turn

_Plan = tuple[Capture, list[Entry]]

_NOT_KEPT = N_("Not noted: nothing is saved in a private conversation; send /new to end it, then say it again.")

_NO_SECRETS = N_("Not noted: {secrets}. I never store such things.")
_NOT_SHARED = N_("Noted for this chat only, because it isn't part of the family: {content} (/undo takes it back)")


MAX_OFFERED_MEMORIES = 3
"""Limit for the memories offered for deletion if the user asks to forget something or says that an answer is wrong."""
MAX_SECRET_MESSAGE_CHARS = 300
"""Longer messages are not searched for secrets that the user tells the bot."""
MAX_CORRECTABLE_MESSAGES = 3
"""Number of the user's latest messages that a correction such as "no, 15 March" may refer to."""


@dataclass(slots=True)
class _CaptureResult:
    note: str | None = None
    note_entry: Entry | None = None
    known_note: str | None = None  # The user asked to remember what MEMORY.md says already
    shared: bool = False
    note_refused: str | None = None
    learned: list[LearnedMemory] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    note_secrets: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    change: int | None = None
    to_forget: list[NamedMemory] = field(default_factory=list)
    doubted: list[NamedMemory] = field(default_factory=list)
    candidates: list[Capture] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _CorrectionContext:
    """The user's latest messages and the memories in the last answer, which a correction may refer to."""

    message_ids: tuple[int, ...]
    entry_ids: tuple[int, ...]


@dataclass(eq=False)
class AutoCapture:
    """Captures memories from the words that the user typed. Forwarded and attached text never writes memory.

    A request to remember becomes a note, also in MEMORY.md. A request to forget is answered with buttons that delete
    the matching memories. Orders to the bot and corrections are stored at once; the memories that a correction may
    replace are hidden from prompts until a model has judged it. Everything written for one message is one change, so
    one undo reverts it.

    Attributes:
        has_notices: Return True if a session wants notices about captures that the user did not ask for.
        collect: Collects the captures of a message for CaptureJudging.
    """

    name = "AutoCapture"

    ledger: Ledger
    memory: LongTermMemory
    entries: EntryStore
    learning: Learning
    corrections: Corrections
    sessions: SessionService
    zone_of: TimezoneLookup
    lookup: MemoryLookup
    sharing: Sharing
    has_notices: Callable[[str], bool]
    collect: Callable[[Turn, MessageCaptures], None]

    async def process(self, turn: Turn) -> None:
        # A retried turn was captured when it first ran.
        if turn.replaces_turn is not None:
            return
        typed = [message for message in turn.user_messages if message.provenance is Provenance.TYPED]
        typed = [message for message in typed if message not in turn.pasted]
        if turn.session.private:
            if any(find_remember_request(message.content) is not None for message in typed):
                turn.notices.append(Notice(_(_NOT_KEPT)))
            return
        notices_enabled = self.has_notices(turn.session.id)
        of_family = await self.sharing.includes(turn.session.owner)
        sender = next((arrival.sender for arrival in turn.arrivals if arrival.sender), "")
        secrets: list[str] = []
        for message in typed:
            for_all = self.sharing.enabled and is_request_for_all(message.content)
            sharer = (message.speaker or sender) if of_family and for_all else None
            result = await self._write(turn, message, sharer)
            if is_objection(message.content):
                result.doubted = await self.lookup.find_stated(
                    _find_answer(turn, await self._read_visible_messages(turn)),
                    turn.session.owner,
                    MAX_OFFERED_MEMORIES,
                )
            written = [learned.entry.id for learned in result.learned if not learned.known]
            turn.written_entries += written
            turn.written_entries += [result.note_entry.id] if result.note_entry is not None else []
            self.collect(
                turn,
                MessageCaptures(
                    turn.session.owner,
                    message.content,
                    message.speaker,
                    tuple(result.candidates),
                    tuple(written),
                    result.change,
                ),
            )
            secrets += result.note_secrets + (result.secrets if notices_enabled else [])
            not_shared = for_all and not of_family
            notices = _create_notices(result, tells=notices_enabled, of_family=of_family, not_shared=not_shared)
            turn.notices += [replace(notice, alone=True) for notice in notices]
        if secrets:
            kinds = ", ".join(_(secret) for secret in dict.fromkeys(secrets))
            turn.notices.append(Notice(_(_NO_SECRETS, secrets=kinds), alone=True))

    async def _read_visible_messages(self, turn: Turn) -> list[Message]:
        return (await self.sessions.read_transcript(turn.session.id)).messages

    async def _write(self, turn: Turn, message: Message, sharer: str | None) -> _CaptureResult:
        """Write the note, orders and corrections of a message as one change. `sharer` shares the note, if set."""
        session = turn.session
        owner = session.owner
        result = _CaptureResult()
        request = find_remember_request(message.content)
        text = message.content if request is None else request.rest
        if (forget := find_forget_request(text)) is not None:
            text = forget.rest
            result.to_forget = await self.lookup.find_meant(forget.what, owner, MAX_OFFERED_MEMORIES)
        what = attribute(request.what, message.speaker) if request is not None else None
        note = await self._prepare_note(owner, what, result) if what is not None else None
        plans = await self._make_plans(turn, text, result)
        result.secrets += _list_told_secrets(text)
        if note is None and not plans:
            return result
        day = message.created_at.astimezone(self.zone_of(session.id)).date()
        async with self.ledger.change(owner, Operation.LEARN, Author.CAPTURE) as change:
            if note is not None:
                await self._write_note(change, note, _format_note_line(note, day), result)
                if sharer is not None and result.note_entry is not None:
                    result.note_entry = await change.share(result.note_entry, sharer)
                    result.shared = True
            for capture, doubted in plans:
                await self._store(change, owner, capture, doubted, message.speaker, result)
        result.change = change.number
        if not change.is_written and result.note is not None:
            await self._retry_note(owner, _format_note_line(result.note, day), result)
        return result

    async def _make_plans(self, turn: Turn, text: str, result: _CaptureResult) -> list[_Plan]:
        """Return the statements to store at once, with the memories that they may replace.

        All other statements are added to the candidates of `result`.
        """
        owner = turn.session.owner
        plans: list[_Plan] = []
        captures = propose_statements(text)
        resumed = find_resuming_order(text)
        is_handed_over = asks_to_process_text(text)
        former = await self._find_former_captures(turn)
        if former and captures and not is_handed_over:
            # Sentences of an edited message are matched with the former ones by their order.
            pairs = zip(captures, former, strict=False) if len(captures) == len(former) else [(captures[0], former[0])]
            return [(c, [entry]) for c, entry in pairs if not has_same_words(c.text, entry.content)]
        context = _CorrectionContext((), ())
        if any(capture.can_replace for capture in captures):
            context = await self._find_correction_context(turn)
        for capture in captures:
            if secrets := list_secrets(capture.text):
                result.secrets += secrets
                continue
            if capture.text == (resumed.text if resumed is not None else None):
                continue
            is_order = is_certain_order(text, capture)
            if not is_order and (capture.is_standing or is_handed_over or not capture.can_replace):
                result.candidates.append(capture)
                continue
            if await self.learning.reinforce_known(owner, capture.text) is not None:
                continue
            doubted = await self.corrections.find_contradicted(owner, capture, context.entry_ids, context.message_ids)
            # A correction that matches no memory can't be understood alone, so a model reads it later.
            if is_order or doubted:
                plans.append((capture, doubted))
            else:
                result.candidates.append(capture)
        if resumed is not None and not is_handed_over:
            rules = await self.corrections.find_ended_rules(owner, resumed.text)
            plans += [(resumed, rules)] if rules else []
        return plans

    async def _find_former_captures(self, turn: Turn) -> list[Entry]:
        text = next((arrival.corrects for arrival in turn.arrivals if arrival.corrects is not None), None)
        return await self.entries.list_captured(turn.session.id, text) if text is not None else []

    async def _find_correction_context(self, turn: Turn) -> _CorrectionContext:
        messages = await self._read_visible_messages(turn)
        typed = [message.id for message in messages if is_typed(message) and message.id is not None]
        answer = _find_answer(turn, messages)
        stated = await self.lookup.find_stated(answer, turn.session.owner) if answer else []
        return _CorrectionContext(
            tuple(typed[-MAX_CORRECTABLE_MESSAGES:]),
            tuple(memory.entry_id for memory in stated if memory.entry_id is not None),
        )

    async def _write_note(self, change: Change, note: str, line: str, result: _CaptureResult) -> None:
        try:
            entry = result.note_entry or await change.add(
                NewEntry(note, stem=Kind.NOTE, kind=Kind.NOTE, author=Author.CAPTURE)
            )
        except SecretRefused:
            result.note_secrets = list_secrets(note)
            return
        except MemoryRefused as error:
            result.note_refused = str(error)
            return
        result.note, result.note_entry = note, entry
        with contextlib.suppress(MemoryRefused):  # The file may be full. Search still finds the entry.
            await change.edit_file(appending(line))
            await change.record_line(entry, line)

    async def _prepare_note(self, owner: str, what: str, result: _CaptureResult) -> str | None:
        """Return the text to note, or None if MEMORY.md already has it. Reinforce the memory that says the same."""
        known = result.note_entry = await self.learning.reinforce_known(owner, what, notes=True)
        text = what if known is None else known.content
        if not await self.lookup.is_in_file(text, owner):
            return what
        result.known_note = text
        return None

    async def _retry_note(self, owner: str, line: str, result: _CaptureResult) -> None:
        """Append the note again after a person's edit of the file was saved first."""
        try:
            await self.memory.append(owner, line, Author.CAPTURE)
        except SecretRefused:
            result.note, result.note_secrets = None, list_secrets(line)
        except MemoryRefused as error:
            result.note, result.note_refused = None, str(error)

    async def _store(
        self,
        change: Change,
        owner: str,
        capture: Capture,
        doubted: Sequence[Entry],
        speaker: str | None,
        result: _CaptureResult,
    ) -> None:
        aside = [entry for entry in doubted if await change.is_current(entry)]
        former = aside[0] if aside else None
        text = insert_value(former.content, capture.text) if former is not None and capture.needs_context else None
        new = create_new_entry(capture, former, speaker, text)
        waits = Proposal(replaces=tuple(entry.id for entry in aside)).to_text()
        try:
            learned = await self.learning.learn_in(change, owner, replace(new, proposal=waits))
        except SecretRefused:
            result.secrets += list_secrets(new.content)
            return
        except MemoryRefused as error:
            result.refusals.append(str(error))
            return
        if learned.entry.proposal != waits:  # The entry existed already, confirmed or not.
            await change.propose(learned.entry, None, waits)
        for entry in aside:
            if entry.id != learned.entry.id:
                await change.put_aside(entry, learned.entry, Doubt.OUTDATED)
        result.learned.append(replace(learned, superseded=former))


def _find_answer(turn: Turn, messages: Sequence[Message]) -> str:
    """Return the answer that a message objects to: the one that it quotes, or else the last one."""
    quoted = [arrival.quoted.text for arrival in turn.arrivals if arrival.quoted is not None]
    if quoted:
        return quoted[-1]
    return next((message.content for message in reversed(messages) if message.role is Role.ASSISTANT), "")


def _list_told_secrets(text: str) -> list[str]:
    """Return the kinds of secrets in a short message of one line. Questions and pasted texts don't count."""
    if len(text) > MAX_SECRET_MESSAGE_CHARS or "\n" in text.strip() or text.rstrip().endswith(("?", "？")):
        return []
    return list_secrets(text)


def _format_note_line(note: str, day: date) -> str:
    """Format a note for MEMORY.md. The date keeps phrases such as "since last week" meaningful."""
    return format_line(_("{note} (noted {date})", note=note, date=day.isoformat()))


def _create_notices(
    result: _CaptureResult, *, tells: bool, of_family: bool = False, not_shared: bool = False
) -> list[Notice]:
    """Return one notice for everything that one undo reverts, and one for each refusal and question.

    Args:
        tells: Also report captures that the user did not ask for.
        of_family: The chat belongs to the family, so offer to share the memory.
        not_shared: The user asked to share, but the chat doesn't belong to the family.
    """
    news = [learned for learned in result.learned if tells and (learned.superseded is not None or not learned.known)]
    refusals = [
        *([result.note_refused] if result.note_refused is not None else []),
        *(dict.fromkeys(result.refusals) if tells else []),
    ]
    lines = [Notice(_("Not noted: {why}", why=why)) for why in refusals]
    lines += [
        Notice(
            _("Should I forget this? {content}", content=f"{memory.content} ({memory.forget_command})"),
            ((_create_forget_button(memory),),),
        )
        for memory in result.to_forget
    ]
    lines += [
        Notice(
            _("I remember this: {content}. Is it wrong?", content=strip_full_stop(memory.content)),
            (
                (
                    _create_forget_button(memory),
                    *([create_edit_button(memory.entry_id, memory.content)] if memory.entry_id is not None else []),
                ),
            ),
        )
        for memory in result.doubted
    ]
    edits = [create_edit_button(learned.entry.id, learned.entry.content) for learned in news]
    undo = create_undo_button(result.change, "") if result.change is not None else None
    if len(news) + (result.note is not None) > 1:
        contents = join_sentences(
            [*([result.note] if result.note is not None else []), *(learned.wording for learned in news)]
        )
        text = _("Noted: {contents} (/undo takes it all back)", contents=contents)
        rows = (((undo,),) if undo is not None else ()) + tuple((edit,) for edit in edits)
        return [Notice(text, rows), *lines]
    if result.note is not None:
        about, written = result.note, result.note_entry
        text = N_("Noted: {content} (/undo takes it back)")
        text = N_("Noted for the family: {content} (/undo takes it back)") if result.shared else text
        text = _(_NOT_SHARED if not_shared else text, content=strip_full_stop(about))
        edits = [create_edit_button(written.id, about)] if written is not None else []
    elif news:
        text, about, written = format_noted(news[0]), news[0].entry.content, news[0].entry
    else:
        known = result.known_note
        return lines if known is None else [Notice(_("I already know that: {content}", content=known)), *lines]
    if of_family and written is not None and written.shared_at is None:
        edits = [*edits, create_share_button(written.id, about)]
    row = ((create_undo_button(result.change, about), *edits),) if result.change is not None else ()
    return [Notice(text, row), *lines]


def _create_forget_button(memory: NamedMemory) -> Button:
    return Button(_("Forget"), memory.forget_command, memory.content)
