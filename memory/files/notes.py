"""Long-term memory and daily notes, and their section of the prompt (S0)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from itertools import zip_longest
from zoneinfo import ZoneInfo

from config.secrets import mask_secrets
from memory.messages import Message, Role, make_storable

MAX_USER_CHARS = 200
"""Maximum length of a user's message in a daily note (S0)."""
MAX_ASSISTANT_CHARS = 300
"""Maximum length of an answer in a daily note (S0)."""

MAX_SECRET_CHARS = 400
"""Number of characters behind the cut that are searched for secrets, so that none is cut in half."""
# The beginning of a media item's text: its kind and number.
_MEDIA = re.compile(r"\[([a-z ]{1,20} \d+)")
_BREAKS = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+\s*")


@dataclass(frozen=True, slots=True)
class Memory:
    """The contents of an owner's Markdown files: long-term memory and the notes of today and recent days."""

    long_term: str
    today: str
    recent: tuple[tuple[date, str], ...]
    unreadable: str | None = None  # a message for the user if a file can't be read

    def to_context(self, *sections: str) -> str:
        """Return the section of the prompt with S0's headings. It is empty if there is nothing to show.

        The most stable parts come first, for the provider's prompt cache.

        Args:
            sections: More sections with headings, inserted before today's notes.
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


def format_daily_note(moment: datetime, user: str, assistant: str) -> str:
    """Return the line of an exchange (S0). `moment` is in the chat's time zone."""
    text, answered = _to_one_line(user, MAX_USER_CHARS), _to_one_line(assistant, MAX_ASSISTANT_CHARS)
    return f"[{moment:%H:%M}] User: {text} | Assistant: {answered}"


def format_exchange_notes(messages: Sequence[Message], zone: ZoneInfo) -> list[str]:
    """Return a daily note for each turn with a user's message and a final answer."""
    return [note for _, note in _format_dated_notes(messages, zone)]


def remove_visible(memory: Memory, visible: Sequence[Message], zone: ZoneInfo) -> Memory:
    """Remove the notes of exchanges that are still in the visible conversation."""
    recent_days = {day for day, _ in memory.recent}
    # None is today.
    remaining = Counter((day if day in recent_days else None, note) for day, note in _format_dated_notes(visible, zone))

    def keep_unseen(day: date | None, notes: str) -> str:
        lines_left = []
        for line in notes.splitlines():
            if remaining[day, line] > 0:
                remaining[day, line] -= 1
            else:
                lines_left.append(line)
        return "\n".join(lines_left)

    recent = tuple((day, keep_unseen(day, notes)) for day, notes in memory.recent)
    return Memory(memory.long_term, keep_unseen(None, memory.today), recent)


def _format_dated_notes(messages: Sequence[Message], zone: ZoneInfo) -> Iterator[tuple[date, str]]:
    questions: list[Message] = []
    for message, following in zip_longest(messages, messages[1:]):
        if message.role is Role.USER:
            questions.append(message)
        if following is None or following.turn_id != message.turn_id:
            if message.role is Role.ASSISTANT and questions:
                answered_at = message.created_at.astimezone(zone)
                text = "\n".join(map(_add_speaker, questions))
                yield answered_at.date(), format_daily_note(answered_at, text, _hide_texts_of_others(message))
            questions = []


def _add_speaker(message: Message) -> str:
    """Return the text of a message, in a group with its speaker."""
    text = _hide_texts_of_others(message)
    return f"{message.speaker}: {text}" if message.speaker else text


def _hide_texts_of_others(message: Message) -> str:
    """Return the text of a message, or only a description if it contains texts of others."""
    # Notes are trusted in every prompt, so they must not contain foreign text.
    if message.provenance is None or not message.provenance.is_foreign:
        return message.content
    if message.role is Role.ASSISTANT:
        return "(about what was sent)"
    named = _MEDIA.search(message.content) if message.media else None
    return f"({named[1] if named else message.provenance})"


def _to_one_line(text: str, limit: int) -> str:
    # Cut before the search for secrets to bound its work, then to the final length.
    return _BREAKS.sub(" ", _without_secrets(make_storable(text.strip()[: limit + MAX_SECRET_CHARS]))[:limit]).strip()


# Each turn formats all messages of the conversation again.
_without_secrets = lru_cache(maxsize=512)(mask_secrets)
