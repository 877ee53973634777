"""Judgement of captures from a message, after its turn: candidates become memories, corrections are settled.

Candidates aren't stored. If one is never judged, because the process ended or the model failed, the consolidation reads
the message again. A correction is stored already. Its `proposal` names the entries that it has put aside, which stay
out of the prompts until the judgement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import structlog

from bot.features.capture.certainty import create_new_entry, is_certain_statement
from bot.features.capture.classifier import CaptureKind
from bot.features.capture.corrections import Corrections
from bot.features.capture.look import CaptureLook, CaptureVerdict, stands_alone
from bot.features.capture.statements import Capture, capture_statements
from config.texts import _, strip_full_stop
from memory.buttons import Notice
from memory.clock import TimezoneLookup
from memory.errors import MemoryRefused
from memory.facts.fact import Excerpt, KnownMemory
from memory.facts.fact_learner import LearnedMemory
from memory.facts.learned_notices import create_notices
from memory.facts.learning import Learning
from memory.facts.sharing import Sharing
from memory.ledger.change import Change
from memory.ledger.ledger import Ledger
from memory.log.quoted import read_messages_around
from memory.messages import Message
from memory.store.database import Database
from memory.store.entry import Author, Details, Entry, Kind, Nature, NewEntry, Operation, Priority, Proposal
from memory.store.entry_rows import Read, read_entries
from memory.store.erasure import IS_KEPT
from memory.store.forgotten import read_forgotten_words, read_forgotten_words_by_id
from memory.text.values import insert_value

log = structlog.get_logger(__name__)

MAX_LATER_MESSAGES = 3
"""Number of later messages in the prompt, since they may retract the judged message."""
MAX_CLAIMS = 8
_IS_PENDING = "e.proposal IS NOT NULL AND e.unconfirmed IS NULL AND e.superseded_by IS NULL"


@dataclass(frozen=True, slots=True)
class MessageCaptures:
    """The captures from one message.

    Attributes:
        owner: The owner of the memory.
        content: The message, as typed.
        speaker: The sender's name in a group.
        candidates: Possible memories, not stored yet.
        stored: Ids of corrections and rules that are stored already.
        change: Number of the change that stored them.
    """

    owner: str
    content: str
    speaker: str | None = None
    candidates: tuple[Capture, ...] = ()
    stored: tuple[int, ...] = ()
    change: int | None = None

    @property
    def is_empty(self) -> bool:
        return not self.candidates and not self.stored


@dataclass(slots=True)
class _WriteResult:
    learned: list[LearnedMemory] = field(default_factory=list)
    put_back: list[Entry] = field(default_factory=list)
    change: int | None = None


@dataclass(eq=False)
class CaptureReview:
    """Asks a model about captures and stores those that it confirms, or only certain ones without a reliable model."""

    database: Database
    ledger: Ledger
    learning: Learning
    corrections: Corrections
    look: CaptureLook
    sharing: Sharing
    zone_of: TimezoneLookup
    seconds: float

    async def judge(self, captures: MessageCaptures, turn_id: int | None = None) -> list[Notice]:
        """Judge the captures from a message and return notices for the user. Raises Postponed.

        Args:
            turn_id: The turn of the message, or None to judge only stored corrections.
        """
        stored = await self._read_pending(captures.stored)
        message_id = await self._find_message_id(captures, turn_id, stored)
        if message_id is None:
            return []
        if not await self._is_open(self.database.rows, message_id):
            captures = replace(captures, candidates=())
        if not (captures.candidates or stored):
            return []
        if not await self.look.is_reliable():
            return await self._store_certain(captures, message_id)
        claims = [
            *(capture.text for capture in captures.candidates),
            *(entry.quote or entry.content for entry in stored),
        ]
        claims = claims[:MAX_CLAIMS]
        excerpt, number, source = await self._read_excerpt(captures.owner, message_id)
        if source is None:
            return []
        aside = [id_ for entry in stored for id_ in _parse_replaced_ids(entry)]
        known = await self.corrections.find_comparable(captures.owner, claims, aside)
        known = [entry for entry in known if entry.id not in captures.stored]
        doubted = frozenset(at for at, entry in enumerate(known) if entry.id in aside)
        memories = [KnownMemory(entry.content, entry.subject, entry) for entry in known]
        verdicts = await self.look.look(claims, number, excerpt, memories, doubted, self.seconds)
        if not verdicts:
            return []
        written = await self._write(captures, source, stored, verdicts, known)
        of_family = await self.sharing.includes(captures.owner)
        lines = [
            Notice(_("Still remembered: {content}", content=strip_full_stop(entry.content)))
            for entry in written.put_back
        ]
        return [*create_notices(written.learned, written.change, of_family=of_family), *lines]

    async def list_pending(self) -> list[MessageCaptures]:
        """Return the stored corrections that no model has judged yet."""
        entries = await read_entries(self.database.rows, f"{_IS_PENDING} ORDER BY e.id")
        return [MessageCaptures(entry.owner, entry.quote or entry.content, stored=(entry.id,)) for entry in entries]

    async def _read_pending(self, ids: Sequence[int]) -> list[Entry]:
        numbers = ", ".join(str(number) for number in ids)
        return await read_entries(self.database.rows, f"e.id IN ({numbers}) AND {_IS_PENDING} ORDER BY e.id")

    async def _find_message_id(
        self, captures: MessageCaptures, turn_id: int | None, stored: Sequence[Entry]
    ) -> int | None:
        if turn_id is None:
            return next((entry.source_message_id for entry in stored), None)
        number: int | None = await self.database.value(
            "SELECT min(id) FROM messages WHERE turn_id = ? AND role = 'user' AND content = ?",
            (turn_id, captures.content),
        )
        return number

    async def _read_excerpt(self, owner: str, message_id: int) -> tuple[Excerpt, int, Message | None]:
        """Return the masked messages around a message, its number among them from 1, and the unmasked message."""
        forgotten = await read_forgotten_words(self.database.rows, owner)
        messages: list[Message] = []
        number, source, later = 0, None, 0
        for message in await read_messages_around(self.database, message_id):
            later += message.id is not None and message.id > message_id
            if later > MAX_LATER_MESSAGES:
                break
            messages.append(forgotten.mask(message))
            if message.id == message_id:
                number, source = len(messages), message
        return Excerpt(messages, self.zone_of(owner)), number, source

    async def _store_certain(self, captures: MessageCaptures, message_id: int) -> list[Notice]:
        """Store the captures that need no judgement, if no model can judge."""
        certain = [
            capture
            for capture in captures.candidates
            if not capture.can_replace and capture in capture_statements(captures.content)
            if is_certain_statement(captures.content, capture)
        ]
        if not certain:
            return []
        learned = []
        async with self.ledger.change(captures.owner, Operation.LEARN, Author.CAPTURE) as change:
            if await self._is_open(change.read, message_id):
                for capture in certain:
                    new = replace(create_new_entry(capture, None, captures.speaker), source_message_id=message_id)
                    learned += await self._learn(change, captures.owner, new)
        return create_notices(learned, change.number, of_family=await self.sharing.includes(captures.owner))

    async def _write(
        self,
        captures: MessageCaptures,
        source: Message,
        stored: Sequence[Entry],
        verdicts: dict[int, CaptureVerdict],
        known: Sequence[Entry],
    ) -> _WriteResult:
        """Apply the verdicts. Corrections are settled in the change that stored them, candidates in a new one."""
        done = _WriteResult()
        count = len(captures.candidates)
        settled = [(entry, verdicts[at]) for at, entry in enumerate(stored, count) if at in verdicts]
        if settled:
            async with self.ledger.change(
                captures.owner, Operation.LEARN, Author.CAPTURE, continues=captures.change
            ) as change:
                for entry, verdict in settled:
                    done.put_back += await self._settle(change, entry, verdict, known)
        pairs = zip(range(count), captures.candidates, strict=False)
        confirmed = [(capture, verdicts[at]) for at, capture in pairs if at in verdicts and verdicts[at].is_confirmed]
        if confirmed:
            async with self.ledger.change(captures.owner, Operation.LEARN, Author.CAPTURE) as change:
                if await self._is_open(change.read, source.id or 0):
                    forgotten = await read_forgotten_words_by_id(change.read, change.owner_id)
                    for capture, verdict in confirmed:
                        if not forgotten.forbids(verdict.text or capture.text, capture.text, source):
                            done.learned += await self._store_candidate(
                                change, captures, source, capture, verdict, known
                            )
            done.change = change.number
        return done

    async def _is_open(self, read: Read, message_id: int) -> bool:
        """Return True if the message still exists and is neither consolidated nor due for it."""
        return bool(
            await read(
                "SELECT 1 FROM messages m JOIN conversations c ON c.id = m.conversation_id"
                f" JOIN owners o ON o.id = c.owner_id WHERE m.id = ? AND {IS_KEPT} AND c.ended_at IS NULL"
                " AND max(c.consolidation_due, c.consolidated_through) < m.id",
                (message_id,),
            )
        )

    async def _store_candidate(
        self,
        change: Change,
        captures: MessageCaptures,
        source: Message,
        capture: Capture,
        verdict: CaptureVerdict,
        known: Sequence[Entry],
    ) -> list[LearnedMemory]:
        """Store a confirmed candidate, unless it is only understandable in context. The consolidation handles those."""
        replaced = await _select_current(change, known, verdict.replaces)
        repeated = await _select_current(change, known, verdict.repeats)
        text = verdict.text
        if text is None and not stands_alone(capture.text):
            restated = (insert_value(entry.content, capture.text) for entry in replaced)
            text = next((item for item in restated if item is not None), None)
            if text is None:
                return []
        if repeated:
            same = repeated[0]
            for other in replaced:
                if other.id != same.id:
                    same = await _supersede(change, other, same)
            await change.reinforce(same)
            return []
        former = replaced[0] if replaced else None
        new = _set_kind(
            create_new_entry(capture, former, captures.speaker, text, is_own=verdict.is_own), verdict, capture, former
        )
        new = replace(new, source_message_id=source.id, nature=verdict.nature)
        learned = await self._learn(change, captures.owner, new)
        for outcome in learned:
            for other in replaced:
                if other.id != outcome.entry.id:
                    await _supersede(change, other, outcome.entry)
        return [replace(outcome, superseded=former) for outcome in learned]

    async def _learn(self, change: Change, owner: str, new: NewEntry) -> list[LearnedMemory]:
        try:
            return [await self.learning.learn_in(change, owner, new)]
        except MemoryRefused as refusal:
            log.info("capture_refused", reason=refusal.loggable)
            return []

    async def _settle(
        self, change: Change, entry: Entry, verdict: CaptureVerdict, known: Sequence[Entry]
    ) -> list[Entry]:
        """Apply a verdict to a stored correction and return the entries that are restored.

        If the model is not sure of the correction, the entries that it has put aside stay out, since both would
        contradict each other.
        """
        aside = [item for id_ in _parse_replaced_ids(entry) if (item := await change.find_by_number(id_)) is not None]
        aside = [item for item in aside if item.unconfirmed is not None and item.superseded_by is None]
        if verdict.is_contradicted:
            await change.propose(entry, None, None)
            await change.remove(entry)
            return [await change.put_back(item) for item in aside]
        if not verdict.is_confirmed:
            await change.propose(entry, None, None)
            return []
        if verdict.nature is Nature.VITAL:
            entry = await change.set_nature(entry, verdict.nature)
        if verdict.text is not None and verdict.text != entry.content:
            entry = await change.rewrite(entry, verdict.text, Details(quote=entry.quote or entry.content))
        replaced = [known[at] for at in (*verdict.replaces, *verdict.repeats) if known[at].id != entry.id]
        kept = [item for item in aside if all(item.id != other.id for other in replaced)]
        back = [await change.put_back(item) for item in kept]
        for other in replaced:
            former = await change.find_by_number(other.id)
            if former is not None and former.superseded_by is None:
                entry = await _supersede(change, former, entry)
        await change.propose(entry, None, None)
        return back


def _parse_replaced_ids(entry: Entry) -> tuple[int, ...]:
    return Proposal.from_text(entry.proposal).replaces if entry.proposal is not None else ()


async def _select_current(change: Change, known: Sequence[Entry], places: Sequence[int]) -> list[Entry]:
    """Return the known memories at `places` that are not superseded by now."""
    entries = [await change.find_by_number(known[at].id) for at in places]
    return [entry for entry in entries if entry is not None and entry.superseded_by is None]


async def _supersede(change: Change, former: Entry, entry: Entry) -> Entry:
    """Let an entry supersede a memory. It takes over the name if that memory has a subject."""
    if former.unconfirmed is not None:
        await change.propose(former, None, None)
    entry = await change.supersede_by_known(former, entry)
    return entry if former.subject is None else await change.rename(entry, former.name)


def _set_kind(new: NewEntry, verdict: CaptureVerdict, capture: Capture, former: Entry | None) -> NewEntry:
    """Return an entry with the kind that the model has chosen, unless it replaces another entry and keeps its kind."""
    if verdict.kind is None or former is not None:
        return new
    kind, priority = verdict.kind, new.priority if verdict.kind == new.kind else None
    if verdict.kind is Kind.POLICY and capture.kind is not CaptureKind.CONSTRAINT:
        kind, priority = Kind.PREFERENCE, Priority.HIGH
    elif verdict.kind is Kind.PREFERENCE:
        priority = None
    return replace(new, kind=kind, stem=kind, priority=priority)
