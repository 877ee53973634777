"""What a model is asked in a consolidation, and what stands in when it gives no usable answer (S2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.facts.citation import is_foreign
from memory.facts.transcript import one_line, transcript
from memory.messages import Message, Role

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from memory.consolidation.parts import Part
    from memory.store.entry import Entry

FALLBACK_MESSAGES = 10
"""How many of the last messages the fallback keeps (S2)."""
FALLBACK_CHARACTERS = 200
"""How much of each of them (S2)."""
FALLBACK_MARK = "[raw-fallback]"

_BEGINNING = """\
You are a memory consolidation agent. Return one JSON object with these fields:

"history_entry": one to four sentences, told in the third person, on what the user and the assistant talked about. \
It begins with [{now}].
"""
_FACTS = """\
"facts": what is worth remembering for months about the user, their people, their things, plans, decisions and \
wishes; at most 12, [] for none. Each is {{"subject": "<what it is about>", "fact": "<one whole sentence in the third \
person, in the user's language>", "kind": "fact", "message": <number of the message that says it>, "quote": "<the \
words of that message that say it, copied exactly>"}}. Only what the user said, asked for, or mentioned in a question \
counts, and what they said yes to when the assistant said it (then message and quote are the assistant's). The fact \
says what the quote says and nothing more: no guesses, no reasons nobody gave. "kind" is "preference" for likes and \
dislikes, "decision" for what was decided. With "since" and "until": "<YYYY-MM-DD>" where a time was said: work out \
"tomorrow" and "next Friday" from the day of the message, and write the date into the fact too. Where something \
changes a known fact, write the new state under the known subject. Subjects are short and stay the same for the same \
thing: "name", "home city", "job".{people}
"forget": [{{"subject": "<a known subject>", "message": <number>, "quote": "<words>"}}] for what the user wants \
forgotten, or no longer has or does (sold, ended, moved away from); [] for none. Instead of "subject" it may name a \
"line" of the long-term memory, copied exactly.
"""
_PEOPLE = """ Several people speak: each fact also has "person": "<the name of whom it is about>", and names \
them instead of saying "the user"."""
_KEEP = """\
"memory_update": null
"""
_ENDING = """\
Write in the language of the user."""


@dataclass(frozen=True, slots=True)
class ExtractionPrompt:
    """What a consolidation's prompt is made of.

    known: current facts by subject. candidates: statements that the classifier took for worth remembering.
    """

    part: Part
    memory: str
    known: Sequence[tuple[str, Entry]]
    candidates: Sequence[str]
    now: datetime
    zone: ZoneInfo


def consolidation_prompt(prompt: ExtractionPrompt) -> str:
    """What the model is asked."""
    facts = _FACTS.format(people=_PEOPLE if speakers(prompt.part) else "")
    now = f"{prompt.now.astimezone(prompt.zone):%Y-%m-%d %H:%M}"
    parts = [f"{_BEGINNING.format(now=now)}{facts}{_KEEP}{_ENDING}"]
    parts.append(f"## Current Long-term Memory\n{prompt.memory.strip() or '(empty)'}")
    if prompt.known:
        parts.append("## Known Facts\n" + "\n".join(f"- {subject}: {e.content}" for subject, e in prompt.known))
    if prompt.part.before:
        earlier = transcript(((None, message) for message in prompt.part.before), prompt.zone)
        parts.append(f"## Said Before (only to understand, not to process)\n{earlier}")
    processed = transcript(enumerate(prompt.part.messages, 1), prompt.zone)
    parts.append(f"## Conversation to Process\n{processed}")
    if prompt.candidates:
        listed = "\n".join(f"- {one_line(sentence)}" for sentence in prompt.candidates)
        parts.append(f"## Perhaps Worth Remembering\n{listed}")
    return "\n\n".join(parts)


def speakers(part: Part) -> set[str]:
    """Who speaks in a part, where that is told: in a group."""
    return {message.speaker for message in part.messages if message.role is Role.USER and message.speaker}


def raw_fallback(messages: Sequence[Message]) -> str:
    """The history entry that is written when there is no usable answer; of what others wrote only that it came."""
    lines = [
        f"{m.role.value}: {f'({m.provenance})' if is_foreign(m) else one_line(m.content)[:FALLBACK_CHARACTERS]}"
        for m in messages
    ]
    return "\n".join([FALLBACK_MARK, *lines[-FALLBACK_MESSAGES:]])
