"""How two texts compare, word by word: whether they say the same, how much of one stands in the other.

`wording` and `same_words` are for the same words, `is_quoted_from` for a text that stands in another, `stems` and
`share` for what speaks of the same.
"""

from __future__ import annotations

import itertools
import re
import unicodedata

from memory.text.naming import name_key, telling_words
from memory.text.words import query_stems

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


_ELLIPSIS = re.compile(r"\s*(?:\[?(?:\.{3,}|…)\]?)\s*")
_APOSTROPHES = re.compile("['’‘ʼ`´]")
_ELIDED = re.compile(r"\b([cdjlmnst]|qu)['’](?=\w)", re.IGNORECASE)
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
# numbers whole; the characters of scripts without spaces one by one, since models quote from the middle of a run
_TOKEN = re.compile(rf"\d+(?:[.,:/-]\d+)*|[{_UNSPACED}]|[^\W\d_{_UNSPACED}]+")
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")


def comparable(text: str) -> list[str]:
    """The words and numbers of `text` without what does not matter: case, width, spaces, quotation marks, dashes."""
    apart = _ELIDED.sub(r"\1 ", text)
    plain = _APOSTROPHES.sub("", unicodedata.normalize("NFKC", apart).casefold().replace("ё", "е"))
    return _TOKEN.findall(plain)


def same_words(one: str, other: str) -> bool:
    """Whether two texts are the same but for case, width, spaces and punctuation."""
    return comparable(one) == comparable(other)


def is_quoted_from(quote: str, text: str) -> bool:
    """Whether `quote` stands in `text` word for word; what it leaves out by an ellipsis may be anything."""
    words = comparable(text)
    parts = [part for part in (comparable(piece) for piece in _ELLIPSIS.split(quote)) if part]
    start = 0
    for part in parts:
        found = _find(part, words, start)
        if found is None:
            return False
        start = found + len(part)
    return bool(parts)


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script that is written without spaces."""
    return _UNSPACED_CHARACTER.match(character) is not None


def _find(part: list[str], words: list[str], start: int) -> int | None:
    places = (at for at, word in itertools.islice(enumerate(words), start, None) if word == part[0])
    return next((at for at in places if words[at : at + len(part)] == part), None)
