"""Whether two texts are the same words (`wording`), and whether one says all of the other (`says_whole`)."""

from __future__ import annotations

import re

from memory.text.naming import name_key, telling_words

LONGEST_SUBJECT = 4
"""Words of a subject in front of a short fact."""
_NUMBER = re.compile(r"(?:(?<!\w)[-−])?\d+(?:[.,:]\d+)*")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|don['’]?t|doesn['’]?t|isn['’]?t|won['’]?t|can['’]?t|without|"
    r"не|нет|нельзя|никогда|без|ні|немає|ніколи|"
    r"nicht|kein\w*|nie|niemals|ohne|nunca|jamás|sin|ne|pas|jamais|sans)\b|[不没沒无無别別]",
    re.IGNORECASE,
)
"""Words that turn around what is said."""
_AT_THE_END = " .!?…。！？"


def wording(text: str) -> str:
    """What two texts in the same words have in common: case, width, spaces and how they end don't count."""
    key = name_key(text)
    return key.rstrip(_AT_THE_END) or key


def numbers(text: str) -> list[str]:
    """The numbers of `text` with sign and fraction."""
    return _NUMBER.findall(text)


def negations(text: str) -> int:
    """How often `text` turns around what it says."""
    return len(_NEGATION.findall(text))


def says_whole(line: str, fact: str) -> bool:
    """Whether `line` says all of `fact`: its telling words, whole, and its numbers, with as many negations."""
    said, meant = _whole_words(line), _whole_words(value_of(fact))
    return meant <= said and negations(line) == negations(fact)


def _whole_words(text: str) -> set[str]:
    return set(telling_words(text, 200)) | set(numbers(text)) or {text.strip()}


def value_of(fact: str) -> str:
    """What a short fact says without the subject in front of it: `Kyiv` of `home city: Kyiv`."""
    subject, _, value = fact.partition(": ")
    return value if value and len(subject.split()) <= LONGEST_SUBJECT else fact
