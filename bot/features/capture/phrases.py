"""Phrases of statements and of requests to the memory: the lists in phrases.txt, next to those of the kernel."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from memory.text.phrases import HAN, PHRASES, Phrases, find_scripts, read_languages

_OWN_PHRASES = Path(__file__).with_name("phrases.txt")
_OLD = r"(?P<old>[^,;:!?，；：。]{1,60}?)"
_NEW = r"(?P<new>[^,;:.!?，；：。！？]{1,60})"


class StatementPhrases(Phrases):
    """The phrase lists of all languages that a text may be in."""

    @functools.cached_property
    def forget(self) -> re.Pattern[str]:
        """Match a request to forget the following text, but not "vergiss nicht"."""
        return re.compile(rf"(?:{self.join('forget')})(?!\s+(?:not|nicht|pas)\b)[\s:,：，–—-]*", re.IGNORECASE)

    @functools.cached_property
    def objection(self) -> re.Pattern[str]:
        """Match the next phrase of a message that only objects. The group `wrong` is the objection itself."""
        around = "|".join(self.join(name) for name in ("marks", "openers", "closers"))
        return re.compile(rf"\W*(?:(?P<wrong>{self.join('wrong')})|{around})", re.IGNORECASE)

    @functools.cached_property
    def lists(self) -> re.Pattern[str]:
        return self.compile_anywhere("lists")

    @functools.cached_property
    def errands(self) -> re.Pattern[str]:
        """Match a shopping or to-do list, or a change to one."""
        return self.compile_anywhere("errands")

    @functools.cached_property
    def standing(self) -> re.Pattern[str]:
        return self.compile_anywhere("standing")

    @functools.cached_property
    def explicit(self) -> re.Pattern[str]:
        """Match explicit words for a preference, an obligation or a prohibition."""
        return self.compile_anywhere("explicit")

    @functools.cached_property
    def forbids(self) -> re.Pattern[str]:
        """Match the start of a strict prohibition (S4: "don't ever")."""
        return self.compile_anywhere("forbids")

    @functools.cached_property
    def obliges(self) -> re.Pattern[str]:
        """Match the start of an order to the bot (S4: "must")."""
        return self.compile_anywhere("obliges")

    @functools.cached_property
    def resumes(self) -> re.Pattern[str]:
        """Match the end of a prohibition: "use emojis again"."""
        return self.compile_anywhere("resumes")

    def match_values(self, kind: str, text: str) -> re.Match[str] | None:
        """Find a statement that something is no longer true. `kind` is "moves", "ends" or "corrections"."""
        folded = text.casefold()
        forms = (form for lists in self.languages for form in lists.get(kind, ()))
        # Skip forms with words that the text lacks, so that their expressions are not compiled.
        likely = (form for form in forms if all(part.strip() in folded for part in re.split(r"\{\w+\}", form)))
        return next((match for form in likely if (match := _compile_form(form).search(text))), None)


def select_phrases(text: str) -> StatementPhrases:
    return _load_phrases(find_scripts(text))


@functools.cache
def _load_phrases(scripts: tuple[str, ...]) -> StatementPhrases:
    return StatementPhrases((*read_languages(PHRASES, scripts), *read_languages(_OWN_PHRASES, scripts)))


@functools.cache
def _compile_form(form: str) -> re.Pattern[str]:
    """Compile a form with placeholders for the old and the new value."""
    expression = re.escape(form).replace(r"\ ", r"\s+").replace(r"\{old\}", _OLD).replace(r"\{new\}", _NEW)
    begins = r"(?<!\w)" if form[0].isalpha() and not re.match(f"[{HAN}]", form) else ""
    ends = r"(?=\s*[,;!。，！]|\s*\.?\s*$)" if form.endswith("{old}") else ""
    return re.compile(begins + expression + ends, re.IGNORECASE)
