"""In what a fact differs from the words quoted for it, each difference measured by itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from memory.evidence.citation import comparable
from memory.evidence.dates import fits, is_month, speaks_of_time
from memory.evidence.lexicon import (
    AVERSE,
    CLAUSES,
    CONTRAST,
    IDLE_NEGATIVE,
    NEGATIVE,
    OPPOSITES,
    OPPOSITES_HAN,
    RATHER,
    ROUTE,
    USER,
    Language,
)
from memory.evidence.likeness import akin, is_light, language_of, roots
from memory.evidence.names import names_in, sounds_in
from memory.evidence.numbers import mentions, readings, times_of_day
from memory.evidence.people import is_of_other, is_of_user, names_another, spoken_of, swapped
from memory.text.overlap import value_of
from memory.text.people import people_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from memory.evidence.fact import Fact


_AN_HOUR = re.compile(r"hour|stunde|час|годин|\bhora|heure|小时|小時", re.IGNORECASE)
SHORT = 40
"""Characters below which a message does not tell its language."""
AVERSION = 0.7
"""How surely words like "hates" and "sold" turn a statement round, where "not" does with 1."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a fact is held against.

    quote: the cited words. message: the whole message they stand in. before: what was said before it, nearest first;
    known: what is remembered already. speaker: who said it, in a group. at: when, on the speaker's clock. is_users:
    whether it is the user's own message, and no sentence of the assistant that they affirmed.
    """

    quote: str
    message: str
    before: tuple[str, ...]
    known: tuple[str, ...]
    at: datetime
    speaker: str | None = None
    is_users: bool = True

    @property
    def said(self) -> str:
        """All that numbers and names may come from."""
        return "\n".join((self.message, *self.before, *self.known))


@dataclass(frozen=True, slots=True)
class Differences:
    """How much a fact differs in each way; 0 where it does not.

    more: words of the fact that nobody said. bare: those beyond the words of the quote that they could stand for.
    shared: words that fact and quote share, the other way round: the more, the likelier is the quote meant.
    """

    number: float
    date: float
    person: float
    pronoun: float
    kin: float
    turned: float
    opposite: float
    name: float
    more: float
    bare: float
    shared: int


def differences(fact: Fact, evidence: Evidence) -> Differences:
    """All differences of a fact from its evidence."""
    text = value_of(fact.text)  # the subject in front of a short fact is the model's own word for it
    language, said_in = language_of(text), _language_said(evidence)
    clause = _clause_of(text, evidence.quote)
    person, pronoun, kin = _about(text, clause, evidence, said_in)
    more, bare, shared = _more(text, evidence) if language is said_in else (0.0, 0.0, 0)
    return Differences(
        number=_missing_numbers(text, evidence),
        date=float(not all(fits(day, f"{evidence.quote}\n{evidence.message}", evidence.at) for day in _days(fact))),
        person=person,
        pronoun=pronoun,
        kin=kin,
        turned=_turned(text, evidence.quote) if language is said_in else 0.0,
        opposite=float(_is_opposite(text, clause) or _swaps_places(text, evidence.quote)),
        name=_strange_names(text, evidence, language),
        more=more,
        bare=bare,
        shared=shared,
    )


def _language_said(evidence: Evidence) -> Language:
    """The language of the message; of a short one that of the conversation, since a few words hardly tell."""
    message = evidence.message
    return language_of(message if len(message) >= SHORT else "\n".join((message, *evidence.before)))


# numbers and days


def _missing_numbers(text: str, evidence: Evidence) -> float:
    near = evidence.said
    said = readings(near) | times_of_day(near)
    digits = re.sub(r"\D", "", near)
    may_be_worked_out = speaks_of_time(evidence.message) or speaks_of_time(text)
    missing = 0
    for one in mentions(text):
        if _is_small_word(one, text) or one & said or _is_converted(one, said, near):
            continue
        longest = max(one, key=len)
        if len(longest) > 3 and longest in digits:
            continue
        missing += not (may_be_worked_out and any(_is_near_date(number, evidence.at, said) for number in one))
    return float(missing)


def _is_small_word(one: set[str], text: str) -> bool:
    """`one` and `two` as words are articles and pronouns as well."""
    return bool(one & {"0", "1", "2"}) and not any(re.search(rf"(?<!\d){number}(?!\d)", text) for number in one)


def _is_converted(one: set[str], said: set[str], near: str) -> bool:
    """Whether a number says one of those said in another way: 90 for an hour and a half, 17 for five o'clock."""
    values = [0.5] + [float(number) for number in said if re.fullmatch(r"\d+(?:\.\d+)?", number)]
    wanted = {float(number) for number in one if re.fullmatch(r"\d+(?:\.\d+)?", number)}
    clocks = {tuple(int(part) for part in number.split(":")) for number in said if ":" in number}
    made = {60.0 * hour + minute for hour, minute in clocks}
    made |= {30.0, 60.0, 90.0} if _AN_HOUR.search(near) else set()
    for value in values:
        halves = {value + 0.5, value}
        made |= {60 * half for half in halves} | {1000 * half for half in halves} | {12 * half for half in halves}
        made |= {
            value + 0.5,
            value + 12,
            value + 1900,
            value + 2000,
            7 * value,
            value / 60,
            value / 1000,
            value * 100,
            value / 2,
        }
        made |= {60 * value + other for other in values}
    return bool(wanted & made) or any(
        float(number.split(":")[0]) % 12 in {value % 12 for value in values}
        for number in one
        if re.fullmatch(r"\d+:(?:00|15|30|45)", number)
    )


def _is_near_date(number: str, at: datetime, said: set[str]) -> bool:
    """Whether a number may be part of a day near the message, or a year counted back from it."""
    if not number.isdigit() or len(number) > 4:
        return False
    value = int(number)
    counted = [int(one) for one in said if one.isdigit() and len(one) < 4]
    years = {at.year + one * sign for one in counted for sign in (1, -1)}
    return value <= 31 or abs(value - at.year) <= 1 or any(abs(value - year) <= 1 for year in years)


def _days(fact: Fact) -> Iterator[date]:
    for found in re.findall(r"\b(\d{4})-(\d{2})-(\d{2})\b", fact.text):
        try:
            yield date(*(int(part) for part in found))
        except ValueError:
            continue
    yield from (day for day in (fact.since, fact.until) if day is not None)


# who it is about


def _about(text: str, clause: str, evidence: Evidence, said_in: Language) -> tuple[float, float, float]:
    """Whether the fact gives one person's thing to another: by who is spoken of, by a pronoun alone, by a relative."""
    if not evidence.is_users:
        return 0.0, 0.0, 0.0  # the assistant says "you" where the fact says "the user"
    spoken = spoken_of(clause, said_in)
    told = frozenset(people_in(text))
    if evidence.speaker is not None and names_another(text, evidence.speaker, clause, evidence.message):
        return 1.0, 0.0, 0.0
    kin = float(swapped(told, spoken.people) and not spoken.me)
    if is_of_user(text, evidence.speaker):
        of_another = bool(spoken.people or spoken.others or _persons(spoken.names, evidence))
        named = any(sounds_in(name, text) for name in spoken.names) or bool(told & spoken.people)
        if of_another and not spoken.me and not spoken.mine and not named:
            by_pronoun = not spoken.people and not _persons(spoken.names, evidence)
            return float(not by_pronoun), float(by_pronoun and not told), kin
        return 0.0, 0.0, kin
    if is_of_other(text, evidence.speaker, _known_names(evidence)):
        of_self = spoken.first and not spoken.people and not spoken.others
        named = any(sounds_in(name, clause) for name in names_in(text, sentence=True)[:1])
        return float(of_self and not named), 0.0, kin
    return 0.0, 0.0, kin


def _persons(names: tuple[str, ...], evidence: Evidence) -> list[str]:
    """Of what looks like names in a quote those known as such from elsewhere: a sentence begins large anyhow."""
    elsewhere = _known_names(evidence)
    return [name for name in names if name.casefold() in elsewhere]


def _known_names(evidence: Evidence) -> set[str]:
    return {one.casefold() for text in (*evidence.before, *evidence.known, evidence.message) for one in names_in(text)}


def _clause_of(text: str, quote: str) -> str:
    """The parts of a quote that a fact is most like; the whole quote where that is all of them, or none."""
    parts = _parts(quote)
    if len(parts) < 2:
        return quote
    wanted = roots(text)
    shares = [sum(any(akin(a, b) for b in wanted) for a in roots(part)) for part in parts]
    best = max(shares)
    if best == 0:
        return quote
    return " ".join(part for part, share in zip(parts, shares, strict=True) if share == best)


def _parts(text: str) -> list[str]:
    pieces = text.split() if _is_han(text) else [text]
    return [part for piece in pieces for part in CLAUSES.split(piece) if part and part.strip()]


# which way round


def _turned(text: str, quote: str) -> float:
    """How much of a part of the fact is said, where one of the two negates it and the other does not."""
    if CONTRAST.search(text):
        return 0.0  # "on Tuesday, not on Monday" says both
    parts = _parts(text)
    worst = 0.0
    for part in parts if all(len(roots(part)) > 2 for part in parts) else [text]:
        clause = _clause_of(part, CONTRAST.sub(" ", quote))
        wanted, said = roots(part), roots(clause)
        if len(wanted) > 1 and _is_negative(part) != _is_negative(clause):
            share = sum(any(akin(a, b) for b in said) for a in wanted) / len(wanted)
            # "allergic" and "sold" turn less surely round than "not"
            worst = max(worst, share if _negates(part) != _negates(clause) else share * AVERSION)
    return worst


def _is_negative(text: str) -> bool:
    return _negates(text) or AVERSE.search(_plain(text)) is not None


def _negates(text: str) -> bool:
    return NEGATIVE.search(IDLE_NEGATIVE.sub(" ", _plain(text))) is not None


def _plain(text: str) -> str:
    return text if _is_han(text) else " ".join(comparable(text))


def _is_han(text: str) -> bool:
    return language_of(text) is Language.HAN


def _is_opposite(text: str, clause: str) -> bool:
    if _negates(text) or _negates(clause):
        return False  # "does not like" is "hates"
    fact, said = " ".join(comparable(text)), " ".join(comparable(clause))
    for one, other in OPPOSITES:
        for mine, theirs in ((one, other), (other, one)):
            if mine.search(fact) and theirs.search(said) and not theirs.search(fact) and not mine.search(said):
                return True
    return any(
        (a in text and b in clause and b not in text and a not in clause)
        or (b in text and a in clause and a not in text and b not in clause)
        for a, b in OPPOSITES_HAN
    )


def _swaps_places(text: str, quote: str) -> bool:
    """`from Lviv to Kyiv` for `from Kyiv to Lviv`, and `Bob is taller than Ann` for `Ann is taller than Bob`."""
    for pattern in (ROUTE, RATHER):
        ways = [_ends(found) for found in pattern.finditer(quote)]
        for found in pattern.finditer(text):
            a, b = _ends(found)
            if any(akin(a, d) and akin(b, c) and not akin(a, c) for c, d in ways):
                return True
    return False


def _ends(found: re.Match[str]) -> tuple[str, str]:
    ends = [part.casefold() for part in found.groups() if part]
    return ends[0], ends[1]


# more than was said


def _strange_names(text: str, evidence: Evidence, language: Language) -> float:
    if language in (Language.GERMAN, Language.HAN):
        return 0.0  # German writes every noun large, Chinese none
    user = USER.match(text)
    rest = text[user.end() :] if user else text
    allowed = (evidence.said, evidence.speaker or "")
    return float(sum(not sounds_in(name, *allowed) for name in names_in(rest)))


def _more(text: str, evidence: Evidence) -> tuple[float, float, int]:
    """Words of the fact that nobody said, those that no word of the quote is left for, and words of both."""
    said = roots(f"{evidence.said}\n{evidence.speaker or ''}")
    user = USER.match(text)
    told = roots(text[user.end() :] if user else text)
    wanted = [root for root in told if not mentions(root) and not is_month(root)]
    own = [root for root in wanted if not _is_explained(root, said)]
    left = [root for root in roots(evidence.quote) if not any(akin(root, other) for other in wanted)]
    quoted = roots(evidence.quote)
    shared = sum(any(akin(root, other) for other in quoted) for root in wanted)
    # a word of Chinese has two characters as a rule, and a fact says it in other ones
    scale = 3 if language_of(text) is Language.HAN else 1
    return len(own) / scale, max(0, len(own) - len(left)) / scale, shared


def _is_explained(root: str, said: list[str]) -> bool:
    """Whether a word was said, or says by itself no more than others: "takes" and "his mother" do not."""
    return is_light(root) or bool(people_in(root)) or any(akin(root, other) for other in said)
