"""What the Markdown files say: long-term memory and daily notes, and their place in the prompt (S0)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING

from config.secrets import without_secrets
from memory.messages import Message, Role, storable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

USER_CHARACTERS = 200
"""How much of a user's message a daily note holds (S0)."""
ASSISTANT_CHARACTERS = 300
"""How much of an answer a daily note holds (S0)."""

LONGEST_SECRET = 400
"""So many characters behind the cut are looked at, so that half a secret is not taken for none."""
# what the text of something sent begins with: its kind and number
_MEDIA = re.compile(r"\[([a-z ]{1,20} \d+)")
_BREAKS = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+\s*")


@dataclass(frozen=True, slots=True)
class Memory:
    """What an owner's Markdown files say: the long-term memory, and the notes of today and recent days."""

    long_term: str
    today: str
    recent: tuple[tuple[date, str], ...]
    unreadable: str | None = None  # what was left out, for the user; None: all could be read

    def to_context(self, *sections: str) -> str:
        """Return the part of the prompt that shows it, with S0's headings. It is empty when every part is empty.

        What changes least stands first, so that providers read most of it from their cache: what MEMORY.md said
        on Monday, then the recent days, then what changes with each conversation.

        Args:
            sections: What else there is to show, with its headings, before today's notes.
        """
        parts: list[str] = []
        if self.long_term.strip():
            parts.append(f"## Long-term Memory\n{self.long_term.strip()}")
        days = [f"### {day.isoformat()}\n{notes.strip()}" for day, notes in self.recent if notes.strip()]
        if days:
            parts.append("## Recent Context\n" + "\n\n".join(days))
        parts += sections
        if self.today.strip():
            parts.append(f"## Today's Notes\n{self.today.strip()}")
        return "\n\n".join(parts)


def daily_note(moment: datetime, user: str, assistant: str) -> str:
    """The line of an exchange (S0), `[HH:mm] User: {200}

    Assistant: {300}`, at a moment in the chat's zone.
    """
    text, answered = _one_line(user, USER_CHARACTERS), _one_line(assistant, ASSISTANT_CHARACTERS)
    return f"[{moment:%H:%M}] User: {text} | Assistant: {answered}"


def exchange_notes(messages: Sequence[Message], zone: ZoneInfo) -> list[str]:
    """The daily notes of the exchanges in `messages`: one for each turn that has a user's and a final message."""
    return [note for _, note in _dated_notes(messages, zone)]


def without_visible(memory: Memory, visible: Sequence[Message], zone: ZoneInfo) -> Memory:
    """`memory` without the notes of exchanges that the conversation itself still holds."""
    recent_days = {day for day, _ in memory.recent}
    # None stands for today: what is visible is of a recent day or of this one
    remaining = Counter((day if day in recent_days else None, note) for day, note in _dated_notes(visible, zone))

    def unseen(day: date | None, notes: str) -> str:
        lines_left = []
        for line in notes.splitlines():
            if remaining[day, line] > 0:
                remaining[day, line] -= 1
            else:
                lines_left.append(line)
        return "\n".join(lines_left)

    recent = tuple((day, unseen(day, notes)) for day, notes in memory.recent)
    return Memory(memory.long_term, unseen(None, memory.today), recent)


def _dated_notes(messages: Sequence[Message], zone: ZoneInfo) -> Iterator[tuple[date, str]]:
    questions: list[Message] = []
    for message, following in zip_longest(messages, messages[1:]):
        if message.role is Role.USER:
            questions.append(message)
        if following is None or following.turn_id != message.turn_id:
            if message.role is Role.ASSISTANT and questions:
                answered_at = message.created_at.astimezone(zone)
                text = "\n".join(map(_with_speaker, questions))
                yield answered_at.date(), daily_note(answered_at, text, _without_others_words(message))
            questions = []


def _with_speaker(message: Message) -> str:
    """Return what a message says, in a group with who says it."""
    text = _without_others_words(message)
    return f"{message.speaker}: {text}" if message.speaker else text


def _without_others_words(message: Message) -> str:
    """What a message says, where nobody else's words are in it; else the kind of thing that came."""
    # notes stand in every prompt as words of our own, which others' words must not become
    if message.provenance is None or not message.provenance.is_foreign:
        return message.content
    if message.role is Role.ASSISTANT:
        return "(about what was sent)"
    named = _MEDIA.search(message.content) if message.media else None
    return f"({named[1] if named else message.provenance})"


def _one_line(text: str, limit: int) -> str:
    # cut first, as S0 does: what is searched stays short however long the text is; but not through a secret
    return _BREAKS.sub(" ", _without_secrets(storable(text.strip()[: limit + LONGEST_SECRET]))[:limit]).strip()


# each turn asks again for all that the conversation holds
_without_secrets = lru_cache(maxsize=512)(without_secrets)
