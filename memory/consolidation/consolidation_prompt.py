"""What a model is asked in a consolidation, and what stands in when it gives no usable answer (S2)."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from config.secrets import without_secrets
from memory.learning.capture import is_one_wish
from memory.messages import Message, Provenance, Role, worst
from memory.text.words import is_small_talk

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from memory.store.entry import Entry

MESSAGE_CHARACTERS = 600
"""How much of each of the user's messages is processed."""
ANSWER_CHARACTERS = 80
"""How much of each answer is: enough to tell what it was about, and a slow machine reads it in time."""
CONVERSATION_CHARACTERS = 12_000
STATEMENT_CHARACTERS = 6_000
FALLBACK_MESSAGES = 10
"""How many of the last messages the fallback keeps (S2)."""
FALLBACK_CHARACTERS = 200
"""How much of each of them (S2)."""
FALLBACK_MARK = "[raw-fallback]"

# one sentence that asks for something, and says nothing about who asks
_REQUEST = re.compile(
    r"(?:please\s|can you\s|could you\s|пожалуйста,?\s|будь ласка,?\s|bitte\s|por favor,?\s)?"
    r"(?:(?:tell|show|teach) me|explain|describe|translate|summari[sz]e|list|calculate|compare|recommend|suggest|"
    r"define|write|(?:рас)?скажи(?:те)?|расскажи(?:те)?|объясни(?:те)?|опиши(?:те)?|переведи(?:те)?|напиши(?:те)?|покажи(?:те)?|"
    r"розкажи|поясни|опиши|переклади|покажи|erzähl\w*|erklär\w*|beschreib\w*|übersetz\w*|schreib\w*|zeig\w*|"
    r"cuéntame|dime|explica|describe|traduce|escribe|muéstrame|dis-moi|raconte|explique|décris|traduis|écris|montre)\b"
    r"[^.!?\n]*[.!]*|请?(?:告诉我|解释|描述|翻译|写)[^。！？\n]*[。！]*",
    re.IGNORECASE,
)

_TASK = """\
You are a memory consolidation agent. Return one JSON object with these fields:

"history_entry": one to four sentences, told in the third person, on what the user and the assistant talked about. \
It begins with [{now}].
"facts": what the user's own statements (the last section) say about the user, their people, their things and their \
wishes, at most 12; [] when they say nothing of the kind. Each is {{"subject": "<what it is about>", "fact": "<one \
whole sentence in the third person, in the user's language>", "kind": "fact"}}; "kind" is "preference" for likes and \
dislikes, "decision" for what was decided. With "since": "<YYYY-MM-DD>" only where a date was said. Where a statement \
changes a known fact, write only the new state, under the known subject: who moved from A to B lives in B. Subjects \
are short and stay the same for the same thing: "name", "home city", "job".
{update}
Write in the language of the user."""

_UPDATE = """\
"memory_update": the current long-term memory with what is new in it, as lines that begin with "- "; lines stay as \
they are unless the user corrected them. No small talk, no general knowledge. null when nothing is to be changed.
"""
# the facts become its lines: to write them twice is what takes a small model longest
_NO_UPDATE = """\
"memory_update": null
"""

_COMPRESS = """\
The long-term memory is too long ({size} bytes of {limit}). Compress it to less than {limit} bytes: merge lines that \
say the same, drop what is stale or of little value, keep what the user asked to be remembered."""


def consolidation_prompt(
    messages: Sequence[Message],
    memory: str,
    known: Sequence[tuple[str, Entry]],
    now: datetime,
    zone: ZoneInfo,
    compress_to: int | None,
) -> str:
    """What the model is asked. known: current facts by subject. compress_to: bytes, when memory is too long."""
    update = _UPDATE if memory.strip() else _NO_UPDATE
    parts = [_TASK.format(now=f"{now.astimezone(zone):%Y-%m-%d %H:%M}", update=update)]
    if compress_to is not None:
        parts.append(_COMPRESS.format(size=len(memory.encode()), limit=compress_to))
    parts.append(f"## Current Long-term Memory\n{memory.strip() or '(empty)'}")
    if known:
        parts.append("## Known Facts\n" + "\n".join(f"- {subject}: {entry.content}" for subject, entry in known))
    parts.append(f"## Conversation to Process\n{_formatted(messages, zone)}")
    stated = [f"- {_one_line(text, MESSAGE_CHARACTERS)}" for text in statements(messages)]
    parts.append("## The User's Own Statements\n" + ("\n".join(stated)[-STATEMENT_CHARACTERS:] or "(none)"))
    return "\n\n".join(parts)


def statements(messages: Sequence[Message]) -> list[str]:
    """What the user typed that is no question and no mere request: all that facts may come from.

    Wishes and rules were captured when they were said, and need not be learned in other words once more; nor when the
    user has undone that.
    """
    typed = [m.content for m in messages if m.role is Role.USER and m.provenance is Provenance.TYPED]
    stated = (text for text in typed if not text.rstrip().endswith(("?", "？")) and not is_small_talk(text))
    return [text for text in stated if not _REQUEST.fullmatch(text.strip()) and not is_one_wish(text)]


def raw_fallback(messages: Sequence[Message]) -> str:
    """The history entry that is written when there is no usable answer."""
    lines = [
        f"{m.role.value}{worst([m.provenance]).mark}: {_one_line(m.content, FALLBACK_CHARACTERS)}" for m in messages
    ]
    return "\n".join([FALLBACK_MARK, *lines[-FALLBACK_MESSAGES:]])


def _formatted(messages: Sequence[Message], zone: ZoneInfo) -> str:
    """The messages, a line each, under their days: a time before each line would be most of what the model reads."""
    lines: list[str] = []
    for day, of_day in itertools.groupby(messages, key=lambda message: message.created_at.astimezone(zone).date()):
        lines.append(f"[{day}]")
        for message in of_day:
            who = message.speaker or message.role.value
            if message.role is Role.USER and message.provenance is not Provenance.TYPED:
                who += f" ({message.provenance})"
            longest = MESSAGE_CHARACTERS if message.role is Role.USER else ANSWER_CHARACTERS
            lines.append(f"{who}: {_one_line(message.content, longest)}")
    text = "\n".join(lines)
    return text if len(text) <= CONVERSATION_CHARACTERS else text[-CONVERSATION_CHARACTERS:]


def _one_line(text: str, longest: int) -> str:
    # masked before it is cut: half a key is no longer known for one
    return " ".join(without_secrets(text).split())[:longest]
