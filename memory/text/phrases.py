"""Phrases around statements: the lists in phrases.txt as regular expressions, by script.

Each list is compiled at its first use, so that a message needs only those of its script.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PHRASES = Path(__file__).with_name("phrases.txt")
HAN = "\u3400-\u9fff"
STRAIGHT = {ord("’"): "'", ord("ʼ"): "'", ord("\u00a0"): " "}
"""Replacements for typographic characters. They have the same length, so that offsets stay valid."""
_ANY_MARK = r"[,，、.:：!！…~–—-]"

Lists = Mapping[str, tuple[str, ...]]
"""The phrases of a language by the name of their list."""


@dataclass(frozen=True)
class Phrases:
    """The phrase lists of all languages that a text may be in."""

    languages: tuple[Lists, ...]

    @functools.cached_property
    def openers(self) -> re.Pattern[str]:
        """Match one filler before a statement. The group `mark` is an objection."""
        openers = f"(?P<mark>{self.join('marks')})|(?:{self.join('openers')})"
        return re.compile(rf"[^\w@#/\\<*]{{0,8}}(?:{openers})(?:\s|{_ANY_MARK})*", re.IGNORECASE)

    @functools.cached_property
    def closers(self) -> re.Pattern[str]:
        parted = rf"(?:[,;，；(:~–—-]+\s*|\s+|(?<=[{HAN}]))"
        return re.compile(rf"{parted}(?:{self.join('closers')})[\s.!?…,)~！？。]*$", re.IGNORECASE)

    @functools.cached_property
    def remember(self) -> re.Pattern[str]:
        """Match a request to remember the following text.

        The group `for_all` is a request for the family. The group `recalls` may also ask whether the bot remembers.
        """
        shares, remembers, recalls = map(self.join, ("share", "remember", "recalls"))
        asks = f"(?P<for_all>{shares})|(?:{remembers})|(?P<recalls>{recalls})"
        return re.compile(rf"(?:{asks})[\s:,：，–—-]*", re.IGNORECASE)

    @functools.cached_property
    def remind(self) -> re.Pattern[str]:
        return self.compile_anywhere("remind")

    def compile_anywhere(self, name: str) -> re.Pattern[str]:
        return re.compile(rf"(?<![^\W{HAN}])(?:{self.join(name)})", re.IGNORECASE)

    def join(self, name: str) -> str:
        """Return a list as alternatives of a regular expression."""
        phrases = {phrase for lists in self.languages for phrase in lists.get(name, ())}
        # Longest first, so that "remember that" is matched before "remember".
        return "|".join(_to_expression(phrase) for phrase in sorted(phrases, key=len, reverse=True)) or "(?!)"


def select_phrases(text: str) -> Phrases:
    return _load_phrases(find_scripts(text))


def find_scripts(text: str) -> tuple[str, ...]:
    """Return the scripts of a text, as the character ranges that phrases.txt names."""
    _, languages = _read_lists(PHRASES)
    return tuple(script for script in languages if re.search(f"[{script}]", text))


def read_languages(path: Path, scripts: Sequence[str]) -> tuple[Lists, ...]:
    """Return the phrase lists of a file in the format of phrases.txt, for the languages in these scripts."""
    _, languages = _read_lists(path)
    return tuple(lists for script in scripts for lists in languages.get(script, ()))


def is_abbreviation(word: str) -> bool:
    """Return True if `word`, in lower case, is an abbreviation that ends in a full stop."""
    return word in _read_lists(PHRASES)[0]


def asks_for_reminder(text: str) -> bool:
    plain = text.translate(STRAIGHT)
    return select_phrases(plain).remind.search(plain) is not None


@functools.cache
def _load_phrases(scripts: tuple[str, ...]) -> Phrases:
    return Phrases(read_languages(PHRASES, scripts))


@functools.cache
def _read_lists(path: Path) -> tuple[frozenset[str], dict[str, list[Lists]]]:
    """Return the abbreviations in a file, and its phrase lists by script."""
    abbreviations: frozenset[str] = frozenset()
    languages: dict[str, list[Lists]] = {}
    lists: dict[str, tuple[str, ...]] = {}
    text = path.read_text(encoding="utf-8").replace("\n  ", " ")  # Indented lines continue the line before.
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if not line or line.startswith("#"):
            continue
        if name.startswith("["):
            lists = {}
            languages.setdefault(rest, []).append(lists)
            continue
        phrases = tuple(phrase.strip() for phrase in rest.split("|"))
        if name == "abbreviations":
            abbreviations = frozenset(phrases)
        else:
            lists[name] = phrases
    return abbreviations, languages


def _to_expression(phrase: str) -> str:
    words, needs_mark = phrase.rstrip(",:").rstrip(), phrase.endswith((",", ":"))
    expression = re.escape(words).replace(r"\*", r"\w*").replace(r"\ ", r"\s+").replace(",", ",?")
    if needs_mark:
        return rf"{expression}(?=\s?{_ANY_MARK})"
    return expression + (r"(?!\w)" if words[-1].isalpha() and not re.match(f"[{HAN}]", words[-1]) else "")
