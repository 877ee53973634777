"""Phrases around statements: the lists in phrases.txt as regular expressions, by script.

Each list is compiled at its first use, so that a message only needs the lists of its own script.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PHRASES = Path(__file__).with_name("phrases.txt")
HAN = "\u3400-\u9fff"
STRAIGHT = {ord("’"): "'", ord("ʼ"): "'", ord("\u00a0"): " "}
"""Replacements for typographic characters. They have the same length, so that offsets stay valid."""
_ANY_MARK = r"[,，、.:：!！…~–—-]"
_OLD = r"(?P<old>[^,;:!?，；：。]{1,60}?)"
_NEW = r"(?P<new>[^,;:.!?，；：。！？]{1,60})"


@dataclass(frozen=True)
class Phrases:
    """The phrase lists of all languages that a text may be in."""

    languages: tuple[Mapping[str, tuple[str, ...]], ...]

    @functools.cached_property
    def openers(self) -> re.Pattern[str]:
        """Match one filler before a statement. The group `mark` is an objection."""
        openers = f"(?P<mark>{self._join_phrases('marks')})|(?:{self._join_phrases('openers')})"
        return re.compile(rf"[^\w@#/\\<*]{{0,8}}(?:{openers})(?:\s|{_ANY_MARK})*", re.IGNORECASE)

    @functools.cached_property
    def closers(self) -> re.Pattern[str]:
        parted = rf"(?:[,;，；(:~–—-]+\s*|\s+|(?<=[{HAN}]))"
        return re.compile(rf"{parted}(?:{self._join_phrases('closers')})[\s.!?…,)~！？。]*$", re.IGNORECASE)

    @functools.cached_property
    def remember(self) -> re.Pattern[str]:
        """Match a request to remember the following text.

        The group `for_all` is a request for the family. The group `recalls` may also ask whether the bot remembers.
        """
        shares, remembers, recalls = map(self._join_phrases, ("share", "remember", "recalls"))
        asks = f"(?P<for_all>{shares})|(?:{remembers})|(?P<recalls>{recalls})"
        return re.compile(rf"(?:{asks})[\s:,：，–—-]*", re.IGNORECASE)

    @functools.cached_property
    def forget(self) -> re.Pattern[str]:
        """Match a request to forget the following text, but not "vergiss nicht"."""
        return re.compile(rf"(?:{self._join_phrases('forget')})(?!\s+(?:not|nicht|pas)\b)[\s:,：，–—-]*", re.IGNORECASE)

    @functools.cached_property
    def objection(self) -> re.Pattern[str]:
        """Match the next phrase of a message that only objects. The group `wrong` is the objection itself."""
        around = "|".join(self._join_phrases(name) for name in ("marks", "openers", "closers"))
        return re.compile(rf"\W*(?:(?P<wrong>{self._join_phrases('wrong')})|{around})", re.IGNORECASE)

    @functools.cached_property
    def remind(self) -> re.Pattern[str]:
        return self._compile_anywhere("remind")

    @functools.cached_property
    def lists(self) -> re.Pattern[str]:
        return self._compile_anywhere("lists")

    @functools.cached_property
    def errands(self) -> re.Pattern[str]:
        """Match a shopping or to-do list, or a change to one."""
        return self._compile_anywhere("errands")

    @functools.cached_property
    def standing(self) -> re.Pattern[str]:
        return self._compile_anywhere("standing")

    @functools.cached_property
    def explicit(self) -> re.Pattern[str]:
        """Match explicit words for a preference, an obligation or a prohibition."""
        return self._compile_anywhere("explicit")

    @functools.cached_property
    def forbids(self) -> re.Pattern[str]:
        """Match the start of a strict prohibition (S4: "don't ever")."""
        return self._compile_anywhere("forbids")

    @functools.cached_property
    def obliges(self) -> re.Pattern[str]:
        """Match the start of an order to the bot (S4: "must")."""
        return self._compile_anywhere("obliges")

    @functools.cached_property
    def resumes(self) -> re.Pattern[str]:
        """Match the end of a prohibition: "use emojis again"."""
        return self._compile_anywhere("resumes")

    def match_values(self, kind: str, text: str) -> re.Match[str] | None:
        """Find a statement that something is no longer true. `kind` is "moves", "ends" or "corrections"."""
        folded = text.casefold()
        forms = (form for words in self.languages for form in words.get(kind, ()))
        # Skip forms with words that the text lacks, so that their expressions are not compiled.
        likely = (form for form in forms if all(part.strip() in folded for part in re.split(r"\{\w+\}", form)))
        return next((match for form in likely if (match := _compile_form(form).search(text))), None)

    def _compile_anywhere(self, name: str) -> re.Pattern[str]:
        return re.compile(rf"(?<![^\W{HAN}])(?:{self._join_phrases(name)})", re.IGNORECASE)

    def _join_phrases(self, name: str) -> str:
        phrases = {phrase for words in self.languages for phrase in words.get(name, ())}
        # Longest first, so that "remember that" is matched before "remember".
        return "|".join(_to_expression(phrase) for phrase in sorted(phrases, key=len, reverse=True)) or "(?!)"


def select_phrases(text: str) -> Phrases:
    _, languages = _read_lists()
    return _load_phrases(tuple(script for script in languages if re.search(f"[{script}]", text)))


def is_abbreviation(word: str) -> bool:
    """Return True if `word`, in lower case, is an abbreviation that ends in a full stop."""
    return word in _read_lists()[0]


@functools.cache
def _load_phrases(scripts: tuple[str, ...]) -> Phrases:
    _, languages = _read_lists()
    return Phrases(tuple(words for script in scripts for words in languages[script]))


@functools.cache
def _read_lists() -> tuple[frozenset[str], dict[str, list[dict[str, tuple[str, ...]]]]]:
    abbreviations: frozenset[str] = frozenset()
    languages: dict[str, list[dict[str, tuple[str, ...]]]] = {}
    words: dict[str, tuple[str, ...]] = {}
    for line in _read_lines():
        name, _, rest = line.partition(" ")
        if name.startswith("["):
            words = {}
            languages.setdefault(rest, []).append(words)
            continue
        phrases = tuple(phrase.strip() for phrase in rest.split("|"))
        if name == "abbreviations":
            abbreviations = frozenset(phrases)
        else:
            words[name] = phrases
    return abbreviations, languages


def _read_lines() -> Iterator[str]:
    text = PHRASES.read_text(encoding="utf-8").replace("\n  ", " ")  # Indented lines continue the line before.
    return (line for line in text.splitlines() if line and not line.startswith("#"))


def _to_expression(phrase: str) -> str:
    words, needs_mark = phrase.rstrip(",:").rstrip(), phrase.endswith((",", ":"))
    expression = re.escape(words).replace(r"\*", r"\w*").replace(r"\ ", r"\s+").replace(",", ",?")
    if needs_mark:
        return rf"{expression}(?=\s?{_ANY_MARK})"
    return expression + (r"(?!\w)" if words[-1].isalpha() and not re.match(f"[{HAN}]", words[-1]) else "")


@functools.cache
def _compile_form(form: str) -> re.Pattern[str]:
    """Compile a form with placeholders for the old and the new value."""
    expression = re.escape(form).replace(r"\ ", r"\s+").replace(r"\{old\}", _OLD).replace(r"\{new\}", _NEW)
    begins = r"(?<!\w)" if form[0].isalpha() and not re.match(f"[{HAN}]", form) else ""
    ends = r"(?=\s*[,;!。，！]|\s*\.?\s*$)" if form.endswith("{old}") else ""
    return re.compile(begins + expression + ends, re.IGNORECASE)
