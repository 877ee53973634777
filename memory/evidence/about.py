"""About whom a fact is and about whom a quote: relatives, names, pronouns, as far as they stand where subjects do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.evidence.lexicon import POSSESSIVE, USER
from memory.text.forms import comparable, unelided
from memory.text.languages import PRONOUNS, Language
from memory.text.people import people_in
from memory.text.sounds import names_in, sounds_in

if TYPE_CHECKING:
    from collections.abc import Collection, Set

    from memory.evidence.evidence import Evidence

_KIN = (
    frozenset(("mother", "father", "parents", "relative", "grandparent")),
    frozenset(("son", "daughter", "child")),
    frozenset(("wife", "husband", "partner", "friend")),
)
_BY_SEX = (("mother", "father"), ("sister", "brother"), ("wife", "husband"), ("daughter", "son"))
_SWAPPED = tuple(map(frozenset, _BY_SEX))
FEMALE, MALE = map(frozenset, zip(*_BY_SEX, strict=True))
_PARENTS, _CHILDREN = frozenset(("mother", "father", "parents")), frozenset(("son", "daughter", "child"))
_SIBLINGS, _COUPLE = frozenset(("sister", "brother")), frozenset(("wife", "husband", "partner"))
_GRANDPARENTS = frozenset(("grandparent",))
_OF_EACH_OTHER = (
    (_PARENTS | {"child"}, _CHILDREN),
    (_GRANDPARENTS, _CHILDREN | _GRANDPARENTS),
    (_SIBLINGS, _SIBLINGS),
    (_COUPLE, _COUPLE),
)
"""What two people are to each other: who speaks of "my son" is a parent."""
_HAN_KIN = re.compile("我(?:的)?(?:妈|爸|媽|哥|姐|弟|妹|老婆|老公|儿子|女儿|朋友|同事|室友|家)|我们家")
_WE_IN_SPANISH = re.compile(r"\w{2,}[aei]mos")
SUBJECT = 4
"""Words at the beginning of a clause among which its subject is."""
NEAR = 24
"""Characters before a name in which a word for a relative tells whose it is."""
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
    words = comparable(unelided(_HAN_KIN.sub("", clause)))
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
    return (
        speaker is not None
        and not _people_beside(speaker, text[:30])
        and sounds_in(speaker, " ".join(text.split()[:2]))
    )


def is_of_other(text: str, speaker: str | None, known: Collection[str]) -> bool:
    """Whether a fact begins with somebody else: a relative, or a known name that is not the speaker's."""
    found = USER.match(text)
    head = text[found.end() :][:30] if found else " ".join(text.split()[:4])
    if found is not None:
        return bool(POSSESSIVE.match(text[found.end() :]) and people_in(head))
    named = names_in(text, sentence=True)[:1]
    is_speaker = speaker is not None and sounds_in(speaker, head)
    is_known = bool(named) and text.lstrip().startswith(named[0]) and named[0].casefold() in known
    return bool(_people_beside(speaker, head)) or (is_known and not is_speaker)


def _people_beside(speaker: str | None, text: str) -> set[str]:
    """Whom a text names by what they are, but for what stands in the speaker's own name: "Brother Chen"."""
    return people_in(text.replace(speaker, "") if speaker else text)


def swapped(told: Set[str], spoken: Set[str]) -> bool:
    """Whether two sets of relatives can't be the same people: a sister for a brother, a friend for a mother."""
    if not told or not spoken or told & spoken:
        return False
    if any(pair <= told | spoken and told & pair and spoken & pair for pair in _SWAPPED):
        return True
    return not any(told & group and spoken & group for group in _KIN)


def _are_related(told: Set[str], spoken: Set[str]) -> bool:
    """Whether the one names what the user is to those whom the other names."""
    return any((told & one and spoken & other) or (told & other and spoken & one) for one, other in _OF_EACH_OTHER)


def names_another(text: str, evidence: Evidence) -> bool:
    """In a group: whether a fact begins with a speaker who neither said the words nor stands in them."""
    if not evidence.is_users:
        return False
    head = " ".join(text.split()[:3])
    if people_in(head) or (evidence.speaker is not None and sounds_in(evidence.speaker, head)):
        return False
    named = [other for other in evidence.others if sounds_in(other, head)]
    return bool(named) and not any(sounds_in(other, evidence.message) for other in named)


def given_to_another(text: str, clause: str, evidence: Evidence, said_in: Language) -> bool:
    """Whether the fact gives one person's thing to another: by who is spoken of, by a pronoun alone, by a relative."""
    if not evidence.is_users:
        return False  # the assistant says "you" where the fact says "the user"
    spoken = spoken_of(clause, said_in)
    known = _known_names(evidence)
    told = people_in(text)
    in_both = told & people_in(clause)
    of_user = is_of_user(text, evidence.speaker)
    related = of_user and _are_related(told, spoken.people)
    childs = spoken.others and spoken.people & _PARENTS and told & _COUPLE  # "his dad" is the user's husband
    if swapped(told, spoken.people) and not (spoken.me or in_both or childs or related):
        return True
    if of_user:
        named_people = [name for name in spoken.names if name.casefold() in known]  # a sentence begins large anyhow
        named = any(sounds_in(name, text) for name in spoken.names) or bool(told & spoken.people)
        of_another = bool(spoken.people or named_people or (spoken.others and not told))
        return of_another and not (spoken.me or spoken.mine or named or related)
    if is_of_other(text, evidence.speaker, known):
        of_self = spoken.first and not spoken.people and not spoken.others
        return (
            of_self and not in_both and not any(sounds_in(name, clause) for name in names_in(text, sentence=True)[:1])
        )
    return False


def _known_names(evidence: Evidence) -> set[str]:
    """The names that are known for people's: of who speaks, and those that stand behind what they are to the user."""
    texts = (*evidence.before, *evidence.known, evidence.message, evidence.quote)
    found = {evidence.speaker.casefold()} if evidence.speaker else set()
    for text in texts:
        for name in names_in(text):
            before = text[: text.find(name)][-NEAR:]
            if people_in(before):
                found.add(name.casefold())
    return found
