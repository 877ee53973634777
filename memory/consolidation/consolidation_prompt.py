"""What a model is asked in a consolidation, and what stands in when it gives no usable answer (S2)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.capture.capture import is_one_wish
from memory.consolidation.transcript import one_line, transcript, typed
from memory.evidence.assent import is_statement
from memory.messages import Message, Role, worst

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
_CITED = """\
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
_SHORT = """\
"facts": what the user's own statements (the last section) say about the user, their people, their things and their \
wishes, at most 12; [] when they say nothing of the kind. Each is {{"subject": "<what it is about>", "fact": "<one \
whole sentence in the third person, in the user's language>", "kind": "fact"}}; "kind" is "preference" for likes and \
dislikes, "decision" for what was decided. With "since": "<YYYY-MM-DD>" only where a date was said. Where a statement \
changes a known fact, write only the new state, under the known subject: who moved from A to B lives in B. Subjects \
are short and stay the same for the same thing: "name", "home city", "job".
"""
_KEEP = """\
"memory_update": null
"""
_COMPRESS = """\
"memory_update": the long-term memory, compressed. It is too long ({size} bytes of {limit}): write it anew in less \
than {limit} bytes, as lines that begin with "- ": merge lines that say the same, drop what is stale or of little \
value, keep what the user asked to be remembered.
"""
_ENDING = """\
Write in the language of the user."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a consolidation's prompt is made of.

    known: current facts by subject. candidates: statements that a first look took for worth remembering. compress_to:
    bytes, when the long-term memory is too long. cited: facts are to be given with their evidence; a small model is
    asked for less.
    """

    part: Part
    memory: str
    known: Sequence[tuple[str, Entry]]
    candidates: Sequence[str]
    now: datetime
    zone: ZoneInfo
    compress_to: int | None
    cited: bool


def consolidation_prompt(asked: Asked) -> str:
    """What the model is asked."""
    memory = asked.memory.strip()
    update = _KEEP
    if asked.compress_to is not None:
        update = _COMPRESS.format(size=len(asked.memory.encode()), limit=asked.compress_to)
    facts = _CITED.format(people=_PEOPLE if speakers(asked.part) else "") if asked.cited else _SHORT.format()
    now = f"{asked.now.astimezone(asked.zone):%Y-%m-%d %H:%M}"
    parts = [f"{_BEGINNING.format(now=now)}{facts}{update}{_ENDING}"]
    parts.append(f"## Current Long-term Memory\n{memory or '(empty)'}")
    if asked.known:
        parts.append("## Known Facts\n" + "\n".join(f"- {subject}: {entry.content}" for subject, entry in asked.known))
    if asked.part.before and asked.cited:
        parts.append(
            "## Said Before (only to understand, not to process)\n"
            + transcript(((None, one) for one in asked.part.before), asked.zone)
        )
    numbers = itertools.count(1) if asked.cited else itertools.repeat(None)
    said = transcript(zip(numbers, asked.part.messages, strict=False), asked.zone)
    parts.append(f"## Conversation to Process\n{said}")
    if asked.cited:
        if asked.candidates:
            listed = "\n".join(f"- {one_line(sentence)}" for sentence in asked.candidates)
            parts.append(f"## Perhaps Worth Remembering\n{listed}")
    else:
        stated = [f"- {one_line(said_by(message))}" for message in statements(asked.part.messages)]
        parts.append("## The User's Own Statements\n" + ("\n".join(stated) or "(none)"))
    return "\n\n".join(parts)


def speakers(part: Part) -> set[str]:
    """Who speaks in a part, where that is told: in a group."""
    return {message.speaker for message in part.messages if message.role is Role.USER and message.speaker}


def said_by(message: Message) -> str:
    """What was said, with who said it where several people speak."""
    return f"{message.speaker}: {message.content}" if message.speaker else message.content


def statements(messages: Sequence[Message]) -> list[Message]:
    """What the user typed that is no question and no mere request: all that a small model is to make facts of.

    Wishes and rules were captured when they were said, and need not be learned in other words once more; nor when the
    user has undone that.
    """
    return [
        message for message in typed(messages) if is_statement(message.content) and not is_one_wish(message.content)
    ]


def raw_fallback(messages: Sequence[Message]) -> str:
    """The history entry that is written when there is no usable answer."""
    lines = [
        f"{m.role.value}{worst([m.provenance]).mark}: {one_line(m.content)[:FALLBACK_CHARACTERS]}" for m in messages
    ]
    return "\n".join([FALLBACK_MARK, *lines[-FALLBACK_MESSAGES:]])
