"""About whom a fact is and about whom a quote: relatives, names, pronouns, as far as they stand where subjects do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.evidence.citation import comparable
from memory.evidence.lexicon import POSSESSIVE, PRONOUNS, USER, Language
from memory.evidence.names import names_in, sounds_in
from memory.text.people import people_in

if TYPE_CHECKING:
    from collections.abc import Collection

_KIN = (
    frozenset(("mother", "father", "parents", "relative", "grandparent")),
    frozenset(("son", "daughter", "child")),
    frozenset(("wife", "husband", "partner", "friend")),
)
_SWAPPED = (
    frozenset(("mother", "father")),
    frozenset(("sister", "brother")),
    frozenset(("wife", "husband")),
    frozenset(("son", "daughter")),
)
_HAN_KIN = re.compile("我(?:的)?(?:妈|爸|媽|哥|姐|弟|妹|老婆|老公|儿子|女儿|朋友|同事|室友|家)|我们家")
_WE_IN_SPANISH = re.compile(r"\w{2,}[aei]mos")
SUBJECT = 4
"""Words at the beginning of a clause among which its subject is."""
SUBJECT_HAN = 6
"""The same in characters."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """Who a clause speaks of. me: the speaker does or is it; mine: something of theirs; first: me comes first.

    others: somebody by a pronoun; people: relatives, and names, that stand where the subject does.
    """

    me: bool
    first: bool
    mine: bool
    others: bool
    people: frozenset[str]
    names: tuple[str, ...]


def spoken_of(clause: str, language: Language) -> Spoken:
    """Who a clause of somebody's own words speaks of."""
    pronouns = PRONOUNS[language]
    words = comparable(_HAN_KIN.sub("", clause))
    begin = " ".join(comparable(clause)[: SUBJECT_HAN if language is Language.HAN else SUBJECT])
    begin = begin.replace(" ", "") if language is Language.HAN else begin
    own = [
        word
        for word, after in zip(words, [*words[1:], ""], strict=True)
        if word in pronouns.mine and not people_in(after)
    ]
    me = [
        word
        for word in words
        if word in pronouns.me or (language is Language.SPANISH and _WE_IN_SPANISH.fullmatch(word))
    ]
    named = tuple(name for name in names_in(clause, sentence=True) if name.casefold() in begin)
    return Spoken(
        me=bool(me),
        first=bool(me) and me[0] in words[:2],
        mine=bool(own),
        others=bool(pronouns.others.intersection(words)),
        people=frozenset(people_in(begin)),
        names=named,
    )


def is_of_user(text: str, speaker: str | None) -> bool:
    """Whether a fact says something of the user themselves; `User's sister ...` and `User's car ...` do not."""
    found = USER.match(text)
    if found is not None:
        return POSSESSIVE.match(text[found.end() :]) is None
    return speaker is not None and not people_in(text[:30]) and sounds_in(speaker, " ".join(text.split()[:2]))


def is_of_other(text: str, speaker: str | None, known: Collection[str]) -> bool:
    """Whether a fact begins with somebody else: a relative, or a known name that is not the speaker's."""
    found = USER.match(text)
    head = text[found.end() :][:30] if found else " ".join(text.split()[:4])
    if found is not None:
        return bool(POSSESSIVE.match(text[found.end() :]) and people_in(head))
    named = names_in(text, sentence=True)[:1]
    is_speaker = speaker is not None and sounds_in(speaker, head)
    is_known = bool(named) and text.lstrip().startswith(named[0]) and named[0].casefold() in known
    return bool(people_in(head)) or (is_known and not is_speaker)


def swapped(told: frozenset[str], spoken: frozenset[str]) -> bool:
    """Whether two sets of relatives can't be the same people: a sister for a brother, a friend for a mother."""
    if not told or not spoken or told & spoken:
        return False
    if any(pair <= told | spoken and told & pair and spoken & pair for pair in _SWAPPED):
        return True
    return not any(told & group and spoken & group for group in _KIN)


def names_another(text: str, speaker: str, quote: str, message: str) -> bool:
    """In a group: whether a fact begins with a name that neither said the words nor stands in them."""
    named = names_in(text, sentence=True)[:1]
    if not named or not text.lstrip('«"„“').startswith(named[0]) or people_in(text[:30]):
        return False
    return not any(sounds_in(named[0], where) for where in (speaker, quote, message))
