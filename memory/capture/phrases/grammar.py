r"""How the tables of phrases are written, and what they are put together to.

A phrase is matched where a clause begins, behind what says nothing itself (openers: "hey", "so", "by the way"). That is
what keeps reports, questions and hypotheses out: "he never calls" and "if I prefer tea" begin with other words.

Each line of a table is a kind and an expression. A star after the kind: only with a name, a date or a number. A caret:
only after a mark that something was wrong ("no,", "actually"). A question mark: in a question too. A tilde: only with
a "please". A plus: its form alone speaks for it, so nothing in it may be supposed, of others, of the moment or a
feeling. In expressions `_` stands for a gap between words, `{old}` for words that hold no longer, `{end}` for the end
of a clause, other names in braces for the lists of words above the table; a group named ask is passed over ("can you
always ..."). A line that is indented further continues the one before it. Every repetition is bounded, so no sentence
makes matching slow.
"""

from __future__ import annotations

import functools
import importlib
import re
from dataclasses import dataclass
from enum import StrEnum

SCRIPTS = {"\u3400-\u9fff": ("zh",), "\u0400-\u04ff": ("ru", "uk"), "A-Za-z\u00c0-\u024f": ("en", "de", "es", "fr")}
"""The languages by the script that they are written in; a Chinese sentence may have Latin words in it."""
_OLD = r"(?P<old>[^,;:!?，；：。]{1,60}?)"
# a word with what belongs to it: "555-0101", "d'Android", "Dr."
_TO_END = r"(?=\s*[,;!。，]|\s*\.?\s*$)"


class Pattern(StrEnum):
    """What kind of statement a sentence is, those first that say most."""

    CHANGE = "change"
    RULE = "rule"
    CONSTRAINT = "constraint"
    PREFERENCE = "preference"
    DECISION = "decision"
    CORRECTION = "correction"
    FACT = "fact"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A way to say something of one kind, and where it counts."""

    pattern: Pattern
    source: str
    needs_name: bool = False
    corrects: bool = False
    """Whether it counts only after a mark that something was wrong."""
    asks: bool = False
    """Whether it counts in a question too."""
    courteous: bool = False
    """Whether it counts only with a "please"."""
    wide: bool = False
    """Whether it says little itself, so that nothing in what it finds may be supposed, of others or a feeling."""

    @property
    def expression(self) -> re.Pattern[str]:
        """The expression, compiled when it is first tried."""
        return compiled(self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What one language has: phrases, and the words around them, each an alternation of expressions."""

    phrases: tuple[Phrase, ...]
    openers: str
    """What stands before a statement and says nothing."""
    marks: str
    """What says that something was wrong, and stands before what is right."""
    joins: str
    """The words with which a clause may begin."""
    feelings: str
    """What one feels, needs, thinks or does at the moment: a sentence with it is no fact by its form alone."""
    closers: str
    """What stands behind a statement and says nothing."""
    courtesies: str
    """How one says please; left out wherever it stands."""
    fillers: str = ""
    """What else is left out wherever it stands."""
    requests: str
    """How a clause begins that asks for something else: what was stated ends before it."""
    doubts: str
    """What makes all that follows it in a sentence supposed, reported or quoted."""
    reports: str
    """What makes a rule or a fact that of somebody else: "my boss says"."""
    voids: str
    """What makes the whole sentence one that states nothing."""
    moments: str
    """What is of the moment: no liking, duty or fact with it lasts."""
    remember: str
    """How one asks to remember what follows."""
    topics: str = ""
    """How a part of a sentence begins that says what a rule is for: "for the recipes"."""
    abbreviations: str = ""
    """Words whose full stop ends no sentence, without that stop."""
    empty: str = ""
    """Words that mean nothing outside of the talk, beyond the stop words of the index."""
    emphatic: str
    """What belongs to the sentence before it where it is one by itself: "No pork. Ever!"."""
    relatives: str = ""
    """How a clause begins that is a part of the one before it: "where one must not"."""
    calendar: str
    """Days and months: they count as names also in lower case."""
    leading: str = ""
    """What stands before the words that hold no longer and is not a part of them."""
    since: str = ""
    """When something came to an end, or became what it is: no part of the words that hold no longer, or that do."""


@dataclass(frozen=True)
class Grammar:
    """The tables of the languages that a sentence may be in, as one."""

    tables: tuple[Table, ...]

    @functools.cached_property
    def phrases(self) -> list[Phrase]:
        """All phrases in the order in which they are tried."""
        order = list(Pattern)
        # of two phrases of a kind, the one that names what holds no longer
        return sorted(
            (phrase for table in self.tables for phrase in table.phrases),
            key=lambda phrase: (order.index(phrase.pattern), _OLD not in phrase.source),
        )

    @functools.cached_property
    def openers(self) -> re.Pattern[str]:
        """What is passed over before a statement, one at a time."""
        return compiled(rf"(?:\d{{1,2}}[.)]_)?[^\w@#/\\<*]{{0,8}}(?:{self._any('openers')})[,，、.:!…~–—_-]*")

    @functools.cached_property
    def marks(self) -> re.Pattern[str]:
        """What says that something was wrong."""
        return compiled(rf"[^\w@#/\\<]{{0,4}}(?:{self._any('marks')})[,，.:：!！…~–—_-]*|\*(?=\w)")

    @functools.cached_property
    def clause(self) -> re.Pattern[str]:
        """Where a clause ends and the next one begins."""
        return compiled(
            r"[,;，；、—–]+_*|_-_|_+(?=(?:" + self._any("joins") + r"))|(?<=[\u3400-\u9fff])_+(?=[\u3400-\u9fff])"
        )

    @functools.cached_property
    def closers(self) -> re.Pattern[str]:
        """What is left out at the end of a statement."""
        return compiled(
            rf"[,;，；_(:~–—-]*(?:(?<!\w)(?:{self._any('closers')})|(?<=[\u3400-\u9fff])哈)[_.!?…,)~！？。]*$"
        )

    @functools.cached_property
    def courtesies(self) -> re.Pattern[str]:
        """How one says please."""
        return compiled(rf"(?<!\w)(?:{self._any('courtesies')})(?!\w)")

    @functools.cached_property
    def left_out(self) -> re.Pattern[str]:
        """What is left out anywhere, with the comma behind it, and the one before it where both are."""
        words = rf"(?<!\w)(?:{self._any('courtesies')}|{self._any('fillers')})(?!\w)"
        return compiled(rf",_*{words}(?:,|$)|_*{words},?")

    @functools.cached_property
    def requests(self) -> re.Pattern[str]:
        """Where something else is asked for."""
        between = rf"(?:(?:{self._any('joins')}|{self._any('openers')})[,_]*){{0,3}}"
        return compiled(rf"(?:[,;，；、—–-]+_*|_|(?<=[\u3400-\u9fff])){between}(?:{self._any('requests')})")

    @functools.cached_property
    def doubts(self) -> re.Pattern[str]:
        """What makes what follows supposed, reported or quoted."""
        return compiled(self._any("doubts"))

    @functools.cached_property
    def reports(self) -> re.Pattern[str]:
        """What tells that somebody else says so."""
        return compiled(self._any("reports"))

    @functools.cached_property
    def feelings(self) -> re.Pattern[str]:
        """What one feels, needs or does at the moment."""
        return compiled(self._any("feelings"))

    @functools.cached_property
    def passing(self) -> re.Pattern[str]:
        """What takes from a sentence that it states something lasting, if its form is all that speaks for it."""
        return compiled("|".join(self._any(part) for part in ("doubts", "reports", "feelings")))

    @functools.cached_property
    def voids(self) -> re.Pattern[str]:
        """What makes the sentence one that states nothing."""
        return compiled("🙄|♪|♫|🎵|🎶|(?:^|_)/s(?:$|_)|" + self._any("voids"))

    @functools.cached_property
    def moments(self) -> re.Pattern[str]:
        """What is of the moment."""
        return compiled(self._any("moments"))

    @functools.cached_property
    def remember(self) -> re.Pattern[str]:
        """How one asks to remember what follows."""
        return compiled(self._any("remember"))

    @functools.cached_property
    def empty(self) -> frozenset[str]:
        """Words that mean nothing outside of the talk."""
        return frozenset(word for table in self.tables for word in table.empty.split("|"))

    @functools.cached_property
    def emphatic(self) -> re.Pattern[str]:
        """What belongs to the sentence before it."""
        return compiled(rf"_*(?:{self._any('emphatic')})_*(?:[.!,]|$)")

    @functools.cached_property
    def topics(self) -> re.Pattern[str]:
        """How begins what a rule is for."""
        return compiled(self._any("topics"))

    @functools.cached_property
    def relatives(self) -> re.Pattern[str]:
        """How a clause begins that is a part of the one before it."""
        return compiled(rf"(?:{self._any('relatives')})(?!\w)")

    @functools.cached_property
    def calendar(self) -> re.Pattern[str]:
        """Days and months."""
        return compiled(self._any("calendar"))

    @functools.cached_property
    def leading(self) -> re.Pattern[str]:
        """What joins the words that hold no longer to the sentence."""
        return compiled(self._any("leading"))

    @functools.cached_property
    def since(self) -> re.Pattern[str]:
        """When something ended or began, at the end of some words."""
        return compiled(rf"_+(?:{self._any('since')})$")

    @functools.cached_property
    def abbreviations(self) -> frozenset[str]:
        """Words whose full stop ends no sentence."""
        return frozenset(word for table in self.tables for word in table.abbreviations.split("|"))

    def _any(self, part: str) -> str:
        return "|".join(f"(?:{words})" for table in self.tables if (words := getattr(table, part))) or r"(?!)"


_SHARED = r"""
    constraint {without}_?(?:[\w'-]+_){0,4}?[\w'-]+[.,]?_{always}{end}
    constraint (?:{in}_)?(?:(?!{whom}(?!\w))[\w'/-]+_){1,8}?{must}_(?=[^?!]*(?<!\w){lastingly}(?!\w))
    constraint {in}_(?:(?!{whom}(?!\w))[\w'/-]+_){1,4}?{always}_{inf}_\w
    constraint~ {without}_?[^,?!]{2,40},_{only}(?!\w)
    constraint* {nobody}_(?:[\w'-]+_){0,4}?(?:{must}|{may})_\w
    decision [^?!]{8,80},_{settled}{end}
    correction^* (?:{it}_)?{no}_(?:{it}_)?(?:{articles}_)?{old},_(?!{no}(?!\w)|{whom}(?!\w))[^,?!]{2,60}{end}
    correction* {no}_(?:{articles}_)?(?P<old>\S*\d[^\s,]*),_(?:[\w'-]+_){0,2}?\S*\d[^,?!]{0,20}{end}
    rule {beg}(?=[^?!]*(?<!\w)(?:{lastingly}|{now}|{manner})(?!\w))\w
    """
"""Ways to say something that differ between languages in their words alone; each counts where a table has them all."""

_GENERAL = r"""
    change+ {moving}[^?!]{2,}
    change+ (?=[^?!]{0,60}?(?<!\w){nowadays}(?!\w)){being}\w
    change+ {from_when},?_{self}\w
    rule (?P<ask>{label}_?[:–—-]+_*)\w[^?!]{6,}
    rule {situation}[^?!]{2,70}?,_(?!{whom}(?!\w)|{asking}(?!\w))\w[^?!]{5,}
    rule (?:(?!{whom}(?!\w))[\w'-]+,?_){1,6}?{ever}{end}
    constraint+ {nothing}_(?:[\w'/-]+[_,]*){4,}
    preference+ [^?!]{2,80}?(?<!\w){taste}(?!\w)
    constraint (?!{whom}(?!\w))[^,?!]{3,40}_{lastingly}_(?:\w+_){0,3}?{our}_\w
    rule~ (?:\w{1,3}_)?{things}_(?:\w+_){0,3}?{in}_\w
    preference {rather}\w[^?!]{3,}
    rule? {could}(?=[^?!]*(?<!\w)(?:{ever}|{now})(?!\w))\w[^!]{6,}
    fact+ {kin}_?(?:[\w'-]+_){0,2}?{be}{lasting}
    change+ {from_when},?_(?:{me}_)?{lasting}
    decision+ (?:[\w'-]+_){0,6}?{decided}[:,]?_\w
    fact* {called}_\w
    fact+ {kin}_?(?:[\w'-]+_){0,2}?{lives}(?!\w)
    fact+* {kin}_(?:[\w'-]+_){0,2}?(?:{be})?{place}_\w{3,}
    fact+ (?=[^?!]{0,90}?(?<!\w){habit}(?!\w))(?:[^,?!]{0,40}_)?{me}(?!\w)
    fact+* {self}\w
    fact+ {self}[^,?!]{0,30}?(?<!\w){place}_\w{3,}
    fact+ {never_do}_?\w
    fact+ {have}_\w
    fact+ (?=[^?!,]{3,80}?(?<!\w){restrict}(?!\w))(?![^,?!]*(?<!\w){this}(?!\w))(?=(?:\S+\s){2}){first}(?!\w)
    """
"""The same for what is known by the form of a sentence: tried after all that a table has of that kind."""


def table(words: str, around: str, rows: str) -> Table:
    """What one language has: lists of words, the parts of Table beside its phrases, and a phrase a line.

    A line of the first two texts is a name and an expression.
    """
    known = {"old": _OLD, "end": _TO_END}
    for name, expression in _named(words).items():
        known[name] = _filled(expression, known)  # a list may name those above it
    lines = [*_shared(_SHARED, known), *_lines(rows), *_shared(_GENERAL, known)]
    return Table(phrases=tuple(_phrase(line, known) for line in lines), **_named(around))


def _shared(rows: str, known: dict[str, str]) -> list[str]:
    return [row for row in _lines(rows) if set(re.findall(r"\{([a-z]\w*)\}", row)) <= known.keys()]


def _phrase(row: str, known: dict[str, str]) -> Phrase:
    kind, _, words = row.partition(" ")
    expression = _filled(words, known)
    return Phrase(Pattern(kind.rstrip("*^?~+")), expression, *(sign in kind for sign in "*^?~+"))


def _filled(expression: str, known: dict[str, str]) -> str:
    for name, words in known.items():
        expression = expression.replace("{" + name + "}", words)
    return expression


def _named(text: str) -> dict[str, str]:
    return {name: words for name, _, words in (line.partition(" ") for line in _lines(text))}


def _lines(text: str) -> list[str]:
    # a line that is indented once more continues the one before
    lines = text.replace("\n" + " " * 8, "").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def grammar_of(text: str) -> Grammar:
    """What is needed to read `text`, by the scripts that it is written in."""
    return _grammar(tuple(script for script in SCRIPTS if re.search(f"[{script}]", text)))


@functools.cache
def _grammar(scripts: tuple[str, ...]) -> Grammar:
    languages = [language for script in scripts for language in SCRIPTS[script]] or ["en"]
    # a table is read when its script is first seen
    modules = [importlib.import_module(f"memory.capture.phrases.{language}") for language in languages]
    return Grammar(tuple(module.TABLE for module in modules))


@functools.cache
def compiled(expression: str) -> re.Pattern[str]:
    """`expression` as it is matched: a table is read more easily with "_" than with "\\s"."""
    return re.compile(expression.replace("_", r"\s"), re.IGNORECASE)
