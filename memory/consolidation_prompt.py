"""What a model is asked in a consolidation, and what stands in when it gives no usable answer (S2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.messages import Message, Provenance, Role

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from memory.entry import Entry

MESSAGE_CHARACTERS = 600
"""How much of each message is processed."""
CONVERSATION_CHARACTERS = 16_000
FALLBACK_MESSAGES = 10
"""How many of the last messages the fallback keeps (S2)."""
FALLBACK_CHARACTERS = 200
"""How much of each of them (S2)."""
FALLBACK_MARK = "[raw-fallback]"

_TASK = """\
You are a memory consolidation agent. Return one JSON object and nothing else:
{{"history_entry": "<one paragraph on what happened, beginning with [{now}]>",
 "memory_update": "<the whole updated long-term memory as Markdown lines, or null when nothing is to be changed>",
 "facts": [{{"subject": "<what it is about>", "fact": "<one sentence>", "kind": "fact|preference|decision|policy", \
"since": "YYYY-MM-DD or null"}}]}}

Rules:
- Long-term memory holds what will still matter in months: who the user is, their people, preferences, projects, \
decisions. Keep its lines as they are unless the user corrected them; add new ones as "- ...". No small talk.
- Facts come only from the user's own words, at most 12, and are about the user's world. The subject is short and the \
same for the same thing, such as "home city"; use a known subject again when the fact changes.
- Write in the language of the conversation."""

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
    parts = [_TASK.format(now=f"{now.astimezone(zone):%Y-%m-%d %H:%M}")]
    if compress_to is not None:
        parts.append(_COMPRESS.format(size=len(memory.encode()), limit=compress_to))
    parts.append(f"## Current Long-term Memory\n{memory.strip() or '(empty)'}")
    if known:
        parts.append("## Known Facts\n" + "\n".join(f"- {subject}: {entry.content}" for subject, entry in known))
    parts.append(f"## Conversation to Process\n{_formatted(messages, zone)}")
    return "\n\n".join(parts)


def raw_fallback(messages: Sequence[Message]) -> str:
    """The history entry that is written when there is no usable answer."""
    lines = [f"{m.role.value}: {' '.join(m.content.split())[:FALLBACK_CHARACTERS]}" for m in messages]
    return "\n".join([FALLBACK_MARK, *lines[-FALLBACK_MESSAGES:]])


def _formatted(messages: Sequence[Message], zone: ZoneInfo) -> str:
    lines = []
    for message in messages:
        who = message.speaker or message.role.value
        if message.role is Role.USER and message.provenance is not Provenance.TYPED:
            who += f" ({message.provenance})"
        text = " ".join(message.content.split())[:MESSAGE_CHARACTERS]
        lines.append(f"[{message.created_at.astimezone(zone):%Y-%m-%d %H:%M}] {who}: {text}")
    text = "\n".join(lines)
    return text if len(text) <= CONVERSATION_CHARACTERS else text[-CONVERSATION_CHARACTERS:]
