"""The amounts of an export, a backup or an installation, in the words of users."""

from __future__ import annotations

from collections.abc import Mapping

_WORDS: Mapping[str, tuple[str, str]] = {
    "messages": ("message", "messages"),
    "conversations": ("conversation", "conversations"),
    "entries": ("memory", "memories"),
    "reminders": ("reminder", "reminders"),
}
"""The tables that a user knows about, with their nouns in singular and plural."""

COUNTED = frozenset(_WORDS)


def describe_amounts(rows: Mapping[str, int]) -> str:
    """Describe the number of rows by table, such as "2 messages, 1 conversation, 1 memory"."""
    amounts = ((rows.get(table, 0), words) for table, words in _WORDS.items())
    named = [f"{amount:,} {one if amount == 1 else several}" for amount, (one, several) in amounts if amount]
    return ", ".join(named) or "no messages or memories"
