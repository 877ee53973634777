"""Detection of sentences about the speaker or about "the user"."""

from __future__ import annotations

import re

from memory.text.classes import classify_words, split_pieces

_SELF = frozenset({"I", "ME", "MY", "WE", "OUR"})
# In languages that drop the pronoun, such as "vivo" and "живу", the speaker is the subject.
_VERBS = frozenset({"LIVE", "WORK", "LIKE", "PREFER", "HATE", "EAT", "HAVE"})
# A pronoun in French, but a preposition in English.
_NO_PRONOUN = frozenset({"on"})
_USER = re.compile(
    r"\bthe user\b|\buser'?s\b|\b(?:be)?nutzer(?:in|s)?\b|\busuari[oa]\b|\butilisat(?:eur|rice)\b"
    r"|пользовател|користувач|用户",
    re.IGNORECASE,
)


def is_about_speaker(sentence: str) -> bool:
    """Return True if a sentence is about the speaker: "my sister is called Anna", "vivo en Madrid"."""
    pieces = [piece for piece in split_pieces(sentence) if piece.casefold() not in _NO_PRONOUN]
    row = classify_words(pieces)
    if not row:
        return False
    return not _SELF.isdisjoint(frozenset().union(*row)) or (bool(row[0] & _VERBS) and "IN" not in row[0])


def attribute(text: str, speaker: str | None, *, is_own: bool = False) -> str:
    """Return a text with the speaker's name as a prefix if it is about the speaker: "Ann: My cat is called Tom".

    Args:
        speaker: The speaker's name in a group, or None in a private chat.
        is_own: It is about the speaker, even if the words don't show it.
    """
    return f"{speaker}: {text}" if speaker and (is_own or is_about_speaker(text)) else text


def names_user(text: str) -> bool:
    """Return True if a text mentions "the user", as texts by models do."""
    return _USER.search(text) is not None
