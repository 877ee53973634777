"""How two texts compare, word by word: whether they say the same, how much of one stands in the other.

`wording` is for the same words, `says_whole` for all of a text in another, `stems` and `share` for what speaks of the
same.
"""

from __future__ import annotations

import re

from memory.text.naming import name_key, telling_words
from memory.text.words import query_stems

LONGEST_SUBJECT = 4
"""Words of a subject in front of a short fact."""
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"(?:(?<!\w)[-−])?\d+(?:[.,:]\d+)*")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|don['’]?t|doesn['’]?t|isn['’]?t|won['’]?t|can['’]?t|without|"
    r"не|нет|нельзя|никогда|без|ні|немає|ніколи|"
    r"nicht|kein\w*|nie|niemals|ohne|nunca|jamás|sin|ne|pas|jamais|sans)\b|[不没沒无無别別]",
    re.IGNORECASE,
)
"""Words that turn around what is said."""
_AT_THE_END = " .!?…。！？"
# Киев, Киева, Києві: the stems that the index has of such names are not the same
_NAME_IN_OV = re.compile("\\b([\u0400-\u04ff]{2,})[оеєиії]в(?:[аіуеы]|ом|им)?\\b")
_ENDINGS_IN_OV = ("ов", "ова", "ева", "єва")


def wording(text: str) -> str:
    """What two texts in the same words have in common: case, width, spaces and how they end don't count."""
    key = name_key(text)
    return key.rstrip(_AT_THE_END) or key


def stems(text: str) -> set[str]:
    """The beginnings of the telling words of `text`, and its numbers: what many corrections are about."""
    text = _NAME_IN_OV.sub(r"\1", text.lower())
    return set(query_stems(" ".join([*telling_words(text, 100), *_DIGITS.findall(text)]) or text))


def share(text: str, said: set[str]) -> float:
    """The part of the stems of `text` that are among the stems in `said`; 0 for a text without any."""
    telling = stems(text)
    return len(telling & said) / len(telling) if telling else 0.0


def with_forms(words: str) -> str:
    """`words` with such forms of the names in them as the index may hold."""
    roots = _NAME_IN_OV.findall(words.lower())
    return " ".join([words, *(f"{root}{ending}" for root in roots for ending in _ENDINGS_IN_OV)])


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
