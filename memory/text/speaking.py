"""Tells whom a sentence is about: the person who says it, or somebody or something else."""

from __future__ import annotations

import re

from memory.text.classes import classes, pieces_of

_SELF = frozenset({"I", "ME", "MY", "WE", "OUR"})
# without a subject before it, as "vivo" and "живу" have none, the speaker is the subject
_VERBS = frozenset({"LIVE", "WORK", "LIKE", "PREFER", "HATE", "EAT", "HAVE"})
# of the same class as the French pronoun, and a preposition elsewhere
_NO_PRONOUN = frozenset({"on"})
_USER = re.compile(
    r"\bthe user\b|\buser'?s\b|\b(?:be)?nutzer(?:in|s)?\b|\busuari[oa]\b|\butilisat(?:eur|rice)\b"
    r"|пользовател|користувач|用户",
    re.IGNORECASE,
)


def is_of_speaker(sentence: str) -> bool:
    """Return True if a sentence is about the person who says it: "my sister is called Anna", "vivo en Madrid"."""
    pieces = [piece for piece in pieces_of(sentence) if piece.casefold() not in _NO_PRONOUN]
    row = [names for names in classes(pieces) if "|" not in names]
    if not row:
        return False
    return not _SELF.isdisjoint(frozenset().union(*row)) or (bool(row[0] & _VERBS) and "IN" not in row[0])


def names_user(text: str) -> bool:
    """Return True if a text speaks of "the user", as a model does of the person that it writes for."""
    return _USER.search(text) is not None
