"""Detection of sentences about the speaker or about "the user"."""

from __future__ import annotations

import re

from memory.text.classes import classify_words, split_pieces

_ONE = frozenset({"I", "ME", "MY"})
_SELF = _ONE | {"WE", "OUR"}
# In languages that drop the pronoun, such as "vivo" and "живу", the speaker is the subject.
_VERBS = frozenset({"LIVE", "WORK", "LIKE", "PREFER", "HATE", "EAT", "HAVE"})
# A pronoun in French, but a preposition in English.
_NO_PRONOUN = frozenset({"on"})
_USER = re.compile(
    r"\bthe user\b|\buser'?s\b|\b(?:be)?nutzer(?:in|s)?\b|\busuari[oa]\b|\butilisat(?:eur|rice)\b"
    r"|пользовател|користувач|用户",
    re.IGNORECASE,
)


def is_about_speaker(sentence: str, *, alone: bool = False) -> bool:
    """Return True if a sentence is about the speaker: "my sister is called Anna", "vivo en Madrid".

    Args:
        alone: "We" doesn't count.
    """
    pieces = [piece for piece in split_pieces(sentence) if piece.casefold() not in _NO_PRONOUN]
    row = classify_words(pieces)
    if not row:
        return False
    selves = _ONE if alone else _SELF
    return not selves.isdisjoint(frozenset().union(*row)) or (bool(row[0] & _VERBS) and "IN" not in row[0])


def attribute(text: str, speaker: str | None) -> str:
    """Return what somebody asks to remember, with their name as a prefix if it is about them: "Ann: I am vegan".

    In a group, "we" usually means the group.

    Args:
        speaker: The speaker's name in a group, or None in a private chat.
    """
    return f"{speaker}: {text}" if speaker and is_about_speaker(text, alone=True) else text


def names_user(text: str) -> bool:
    """Return True if a text mentions "the user", as texts by models do."""
    return _USER.search(text) is not None
