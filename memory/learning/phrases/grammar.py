r"""How the tables of phrases are written and read.

A phrase is matched where a sentence begins, after courtesies (OPENERS) that say nothing themselves. That is what keeps
reports, questions and hypotheses out: "he never calls" and "if I prefer tea" begin with other words. What follows
"always" or "never" must be a verb that one says to an assistant: "never mind" and "never give up" have none.

Every repetition is bounded, so no sentence makes matching slow. `{old}` stands for words that hold no longer, the
other names in braces for the lists of words above each table. In the tables, `_` stands for a gap between words, and a
line that is indented further continues the one before it.
"""

from __future__ import annotations

import functools
import importlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Pattern(StrEnum):
    """What kind of statement a sentence is, those first that say most."""

    CHANGE = "change"
    CONSTRAINT = "constraint"
    RULE = "rule"
    PREFERENCE = "preference"
    CORRECTION = "correction"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A way to say something of one kind; some ways count only in a sentence with a name, a date or a number."""

    pattern: Pattern
    source: str
    needs_name: bool = False

    @property
    def expression(self) -> re.Pattern[str]:
        """The expression, compiled when it is first tried."""
        return compiled(self.source)


_OLD = r"(?P<old>[^,;:!?，；：。]{1,60}?)"
# a word with what belongs to it: "555-0101", "d'Android", "Dr."
_TO_END = r"(?=\s*[,;!。，]|\s*\.?\s*$)"
_LANGUAGES = {"\u3400-\u9fff": ("zh",), "\u0400-\u04ff": ("ru", "uk"), "A-Za-z\u00c0-\u024f": ("en", "de", "es", "fr")}
"""The languages by the script that they are written in; Chinese has Latin words in it, English no Chinese ones."""


def phrases(rows: str, **lists: str) -> tuple[Phrase, ...]:
    """One phrase a line: its kind, a star if it needs a name, its expression."""
    found = []
    # a line that is indented once more continues the one before
    for line in rows.replace("\n" + " " * 8, "").strip().splitlines():
        kind, _, expression = line.strip().partition(" ")
        for name, words in {"old": _OLD, "end": _TO_END, **lists}.items():
            expression = expression.replace("{" + name + "}", words)
        found.append(Phrase(Pattern(kind.rstrip("*")), expression, needs_name=kind.endswith("*")))
    return tuple(found)


def any_of(words: str) -> str:
    """An alternation of words that are separated by spaces; an underscore stands for a space within one."""
    return "(?:" + "|".join(words.split()) + ")"


@functools.cache
def compiled(expression: str) -> re.Pattern[str]:
    """`expression` as it is matched: a table is read more easily with "_" than with "\\s"."""
    return re.compile(expression.replace("_", r"\s"), re.IGNORECASE)


def phrases_in_scripts_of(said: str) -> Iterator[Phrase]:
    """The phrases that a sentence can be, by the scripts that it is written in, as they are to be tried."""
    return iter(_phrases_in(tuple(script for script in _LANGUAGES if re.search(f"[{script}]", said))))


@functools.cache
def _phrases_in(scripts: tuple[str, ...]) -> list[Phrase]:
    tables = [
        importlib.import_module(f"memory.learning.phrases.{language}").PHRASES
        for script in scripts
        for language in _LANGUAGES[script]
    ]
    order = list(Pattern)
    # of two phrases of a kind, the one that names what holds no longer
    return sorted(
        (phrase for table in tables for phrase in table),
        key=lambda phrase: (order.index(phrase.pattern), _OLD not in phrase.source),
    )
