"""Extraction of facts from one part of a conversation by a model, and the fallback without a model (S2)."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

import structlog

from memory.clock import Clock, TimezoneLookup
from memory.consolidation.consolidation_answer import ConsolidationAnswer, parse_answer
from memory.consolidation.parts import Part
from memory.consolidation.selection import build_selection_prompt, find_statements, parse_selection
from memory.errors import ContentFiltered
from memory.facts.fact import format_excerpt, is_foreign, is_typed, to_one_line
from memory.facts.fact_learner import FactLearner
from memory.facts.second_look import PromptFn, always_true, ask_until
from memory.messages import Message, Role, get_speaker
from memory.store.entry import Entry
from memory.text.tokens import TokenCounter

log = structlog.get_logger(__name__)

MAX_KNOWN_FACTS = 30
"""Maximum number of related facts in the prompt, so that the model uses known subjects and notices changes."""
MAX_KNOWN_SUBJECTS = 250
"""Maximum number of other subjects in the prompt, which may be related but in another language."""
MAX_SEARCHED = 60
"""Maximum number of messages for which related facts are looked up."""
MAX_CANDIDATES = 20
MAX_FALLBACK_MESSAGES = 10
"""Number of messages in the fallback (S2)."""
MAX_FALLBACK_CHARS = 200
"""Maximum number of characters of each message in the fallback (S2)."""
FALLBACK_MARK = "[raw-fallback]"
LEFT_OUT = "(left out)"
"""Replaces a message that the provider's content filter refuses."""

_TASK = """\
You are a memory consolidation agent. Return one JSON object with these fields:

"history_entry": one to four sentences, told in the third person, on what the user and the assistant talked about. \
It begins with [{now}].
"facts": what is worth remembering for months about the user, their people, their things, plans, decisions and \
wishes; at most 12, [] for none. Each is {{"subject": "<what it is about>", "fact": "<one whole sentence in the third \
person, in the user's language>", "kind": "fact", "nature": "state", "message": <number of the message that says it>, \
"quote": "<the words of that message that say it, copied exactly>"}}. Only what the user said, asked for, or \
mentioned in a question counts, and what they said yes to when the assistant said it (then message and quote are the \
assistant's). Requests and the entries of lists (shopping, packing, to-do) are no facts. \
The fact says what the quote says and nothing more: no guesses, no reasons nobody gave. "kind" is \
"preference" for likes and dislikes, "decision" for what was decided. "nature" is "vital" for what must be known in \
every conversation: allergies, illnesses, blood type, emergency contacts, the closest people and their names, home, \
address, phone number; "event" for what happened once and is over; else "state". With "since" and "until": \
"<YYYY-MM-DD>" where a time was said: work out "tomorrow" and "next Friday" from the day of the message, and write \
the date into the fact too. Where something changes a known fact, write the new state under the known subject. \
Subjects are in English, whatever the language of the fact, short, and stay the same for the same thing: "name", \
"home city", "job", of people "sister: job". If a known subject is about the same thing, take that one, even if its \
fact is in another language.{people}
"forget": [{{"subject": "<a known subject>", "message": <number>, "quote": "<words>"}}] for what the user wants \
forgotten, or no longer has or does (sold, ended, moved away from); [] for none. Instead of "subject" it may name a \
"line" of the long-term memory, copied exactly.
"memory_update": null
Write in the language of the user."""
_PEOPLE = """ Several people speak: each fact also has "person": "<the name of whom it is about>", or null if it is \
about a thing or a place that is nobody's in particular, and names people instead of saying "the user". \
"history_entry" names who said what, too."""


@dataclass(frozen=True, slots=True)
class ModelAbilities:
    """The abilities of the model."""

    part_tokens: Callable[[], int]  # maximum size of a part
    # Whether the model passed the verification self-test. If not, it only selects the user's own sentences.
    is_reliable: Callable[[], Awaitable[bool]] = always_true


@dataclass(frozen=True, slots=True)
class Extractor:
    """Asks a model for a history entry and facts.

    Attributes:
        find_candidates: Returns the sentences of a typed message that are perhaps worth remembering.
    """

    prompt: PromptFn
    contract: ModelAbilities
    facts: FactLearner
    counter: TokenCounter
    clock: Clock
    zone_of: TimezoneLookup
    find_candidates: Callable[[str], Iterable[str]]

    def count(self, text: str) -> int:
        return self.counter.count(text)

    async def extract(self, part: Part, owner: str, memory: str, deadline: float) -> ConsolidationAnswer | None:
        """Return the model's answer about a part, or None if it is unusable. Raises Postponed."""
        try:
            return await self._extract(part, owner, memory, deadline)
        except ContentFiltered:
            refused = await self._find_refused(part, range(len(part.messages)), owner, memory, deadline)
            log.warning("messages_filtered", refused=len(refused), messages=len(part.messages))
        shown = set(range(len(part.messages))) - refused
        try:
            return await self._extract(_show_only(part, shown), owner, memory, deadline)
        except ContentFiltered:
            return None

    async def _find_refused(
        self, part: Part, places: Sequence[int], owner: str, memory: str, deadline: float
    ) -> set[int]:
        """Find the messages that the provider's content filter refuses, by bisection."""
        try:
            await self._extract(_show_only(part, places), owner, memory, deadline)
        except ContentFiltered:
            if len(places) == 1:
                return {places[0]}
            middle = len(places) // 2
            first = await self._find_refused(part, places[:middle], owner, memory, deadline)
            return first | await self._find_refused(part, places[middle:], owner, memory, deadline)
        return set()

    async def _extract(self, part: Part, owner: str, memory: str, deadline: float) -> ConsolidationAnswer | None:
        texts = [message.content for message in part.messages if is_typed(message)][-MAX_SEARCHED:]
        known = await self.facts.find_mentioned(owner, texts, MAX_KNOWN_FACTS)
        subjects = await self.facts.list_subjects(owner, MAX_KNOWN_SUBJECTS)
        selects = not await self.contract.is_reliable()
        if selects:
            text = build_selection_prompt(part, known)
        else:
            typed = (message.content for message in part.messages if is_typed(message))
            candidates = (sentence for content in typed for sentence in self.find_candidates(content))
            text = build_consolidation_prompt(
                part, memory, known, self.clock(), self.zone_of(owner), subjects, candidates
            )
        completion = await ask_until(self.prompt, text, deadline, "consolidation_failed")
        if completion is None:
            return None
        answer = parse_selection(completion, find_statements(part)) if selects else parse_answer(completion)
        if answer is None:
            log.warning("consolidation_unusable")
        return answer


def _show_only(part: Part, places: Collection[int]) -> Part:
    """Return a part in which only the messages at `places` have their text. All keep their numbers."""
    messages = (m if place in places else replace(m, content=LEFT_OUT) for place, m in enumerate(part.messages))
    return replace(part, messages=tuple(messages), before=())


def build_consolidation_prompt(
    part: Part,
    memory: str,
    known: Sequence[tuple[str, Entry]],
    now: datetime,
    zone: ZoneInfo,
    subjects: Sequence[str] = (),
    candidates: Iterable[str] = (),
) -> str:
    """Return the prompt.

    Args:
        known: Subjects and current facts that are related to the part.
        subjects: The subjects of all current facts.
        candidates: Sentences that are perhaps worth remembering.
    """
    people = _PEOPLE if list_speakers(part) else ""
    parts = [
        _TASK.format(now=f"{now.astimezone(zone):%Y-%m-%d %H:%M}", people=people),
        f"## Current Long-term Memory\n{memory.strip() or '(empty)'}",
    ]
    if known:
        parts.append("## Known Facts\n" + "\n".join(f"- {subject}: {entry.content}" for subject, entry in known))
    others = [subject for subject in subjects if subject not in {named for named, _ in known}]
    if others:
        parts.append("## Other Known Subjects\n" + "; ".join(others))
    if part.before:
        earlier = format_excerpt(((None, message) for message in part.before), zone)
        parts.append(f"## Said Before (only to understand, not to process)\n{earlier}")
    parts.append(f"## Conversation to Process\n{format_excerpt(enumerate(part.messages, 1), zone)}")
    if listed := [f"- {to_one_line(sentence)}" for sentence in itertools.islice(candidates, MAX_CANDIDATES)]:
        parts.append("\n".join(["## Perhaps Worth Remembering", *listed]))
    return "\n\n".join(parts)


def list_speakers(part: Part) -> set[str]:
    """Return the names of the speakers in a part, which only exist in groups."""
    return {message.speaker for message in part.messages if message.role is Role.USER and message.speaker}


def format_raw_history(messages: Sequence[Message]) -> str:
    """Return the history entry for messages without a usable answer. Texts of others are left out."""
    lines = [
        f"{get_speaker(m)}: {f'({m.provenance})' if is_foreign(m) else to_one_line(m.content)[:MAX_FALLBACK_CHARS]}"
        for m in messages
    ]
    return "\n".join([FALLBACK_MARK, *lines[-MAX_FALLBACK_MESSAGES:]])
