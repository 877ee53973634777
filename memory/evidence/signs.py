"""What the judge sees of a fact beside its evidence: comparisons as signs, pairs of these, the words of one side.

What the rules of this room find is among them: none of them is always right, and what one is worth beside the others
is learned.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from memory.evidence.about import FEMALE, MALE, spoken_of
from memory.evidence.clauses import plain
from memory.evidence.lexicon import AVERSE, NEGATIVES, OF_USER, POSSESSIVE, USER
from memory.text.classes import classes, pieces_of
from memory.text.forms import akin, comparable, in_common, roots, unelided
from memory.text.languages import THIRD_PERSON, Language
from memory.text.people import people_at, people_in
from memory.text.sounds import names_in, sounds_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memory.evidence.comparison import Comparison
    from memory.evidence.evidence import Evidence

HEAD = 4
"""Words at the beginning of a fact among which it names whom it is about."""
NEARLY = 4
"""Messages before the cited one in which whom it is about is looked for."""
WITHIN = 8
"""Messages before the cited one from which the names of people are taken."""
MOST = 7
"""The largest number that is told from larger ones."""
PARTS = 5
"""A share is told by fifths."""

_NO_CLASSES = frozenset({"|", "name"})


def signs(compared: Comparison) -> tuple[list[str], ...]:
    """The signs of a fact beside its evidence, in groups that count alike: comparisons, pairs of them, words."""
    told = [f"{name}={value}" for name, value in _things(compared)]
    pairs = [f"{one} {other}" for one, other in itertools.combinations(sorted(told), 2)]
    return [*told, *_classes(compared)], pairs, [*_words(compared)]


def _things(compared: Comparison) -> Iterator[tuple[str, object]]:
    evidence, text = compared.evidence, compared.text
    yield "language", compared.said_in.value
    yield "comparable", compared.language is compared.said_in
    yield "affirmed", not evidence.is_users
    yield "group", evidence.speaker is not None
    yield from _found(compared)
    yield from _shares(text, evidence)
    yield from _subjects(compared)
    yield from _denials(compared)


def _found(compared: Comparison) -> Iterator[tuple[str, object]]:
    """What the rules find."""
    turned, surplus = compared.turned, compared.surplus
    yield "numbers", _few(compared.numbers)
    yield "names", _few(compared.names)
    yield "days fit", compared.days_fit
    yield "of another", compared.of_another or compared.of_other_speaker
    yield "turned", compared.is_turned
    yield "opposite", compared.is_opposite
    yield "crossed", compared.is_crossed
    yield "lost", _few(turned.lost)
    yield "gained", _few(turned.gained)
    yield "weakly", _few(turned.weakly)
    yield "decided", _few(turned.decided)
    yield "words shared", _share(turned.shared, turned.words)
    yield "more", _few(surplus.more)
    yield "left", _few(surplus.left)
    yield "bare", _few(surplus.bare)


def _shares(text: str, evidence: Evidence) -> Iterator[tuple[str, object]]:
    """How much of the fact was said, and how much of the quote it takes up."""
    told = [root for root in roots(text) if not USER.fullmatch(root)]
    quoted, said = roots(evidence.quote), roots(evidence.message)
    before, known = roots("\n".join(evidence.before[:NEARLY])), roots("\n".join(evidence.known))
    everything = [*quoted, *said, *before, *known]
    yield "told", _few(len(told))
    yield "quoted", _few(len(quoted))
    yield "in quote", _share(in_common(told, quoted), len(told))
    yield "in message", _share(in_common(told, said), len(told))
    yield "unsaid", _share(sum(not any(akin(one, other) for other in everything) for one in told), len(told))
    yield "taken up", _share(in_common(quoted, told), len(quoted))
    mine, theirs = _trigrams(text), _trigrams(evidence.quote)
    yield "letters in quote", _share(len(mine & theirs), len(mine))
    yield "letters taken up", _share(len(mine & theirs), len(theirs))


def _subjects(compared: Comparison) -> Iterator[tuple[str, object]]:
    """Whom the fact is about, and of whom the quote speaks."""
    text, evidence = compared.text, compared.evidence
    names = [name for name in names_in(text, sentence=True) if not USER.match(name)]
    subject = _subject(text, names, evidence)
    yield "subject", subject
    for where, words in (("quote", evidence.quote), ("clause", compared.clause)):
        spoken = spoken_of(words, compared.said_in)
        flags = (spoken.me, spoken.mine, spoken.others, bool(spoken.people), bool(spoken.names))
        yield f"who in {where}", "".join(str(int(flag)) for flag in flags)
        if where == "quote":
            yield "me first", spoken.first
    first = names[0] if names else None
    yield "first name", "none" if first is None else _where(first, evidence)
    yield "names told", _few(len(names))
    yield "names elsewhere", _few(sum(not sounds_in(name, evidence.message) for name in names))
    yield "names left", _few(sum(not sounds_in(name, text) for name in names_in(evidence.quote)))
    told, quoted = people_in(text), people_in(evidence.quote)
    yield "people told", _few(len(told - quoted))
    yield "people left", _few(len(quoted - told))
    yield "people in both", _few(len(told & quoted))
    yield from _persons(compared, subject, first)


def _persons(compared: Comparison, subject: str, first: str | None) -> Iterator[tuple[str, object]]:
    """Which of the people in the conversation fact and quote name, and how lately the fact's was named before."""
    text, evidence = compared.text, compared.evidence
    persons = sorted(_all_persons(evidence))
    told = {name for name in persons if sounds_in(name, text)}
    quoted = {name for name in persons if sounds_in(name, evidence.quote)}
    yield "persons told", _few(len(told - quoted))
    yield "persons left", _few(len(quoted - told))
    kin = people_in(text[:60])
    pronouns = _pronouns(compared.clause, compared.said_in)
    sex = "f" if kin & FEMALE else "m" if kin & MALE else "?"
    if subject == "name" and first is not None:
        sex = "f" if first.casefold().endswith(("a", "а", "я", "ie")) else "m"
    yield "pronouns", f"{pronouns} {sex}"
    yield "pronouns told", f"{_pronouns(text, compared.language)} {subject}"
    named = list(dict.fromkeys(_named_lately(evidence, persons)))
    yield "candidates", _few(len(named))
    place: int | None = None
    if first is not None and subject in ("name", "speaker"):
        place = next((at for at, one in enumerate(named) if one in told and sounds_in(first, one)), MOST)
    elif kin:
        place = next((at for at, one in enumerate(named) if one in kin), MOST)
    stands = bool(told & quoted or kin & people_in(evidence.quote))
    yield "named lately", "in quote" if stands else "none" if place is None else _few(place)


def _denials(compared: Comparison) -> Iterator[tuple[str, object]]:
    """How often each side denies, and whether it has a word like "hates"."""
    text, clause = plain(compared.text), plain(compared.clause)
    yield "denies", _few(len(NEGATIVES[compared.language].findall(text)))
    yield "denied", _few(len(NEGATIVES[compared.said_in].findall(clause)))
    yield "averse", f"{AVERSE.search(text) is not None} {AVERSE.search(clause) is not None}"


def _subject(text: str, names: list[str], evidence: Evidence) -> str:
    """What a fact is about, by how it begins."""
    head = " ".join(text.split()[:HEAD])
    user = USER.match(text)
    if evidence.speaker is not None and sounds_in(evidence.speaker, head):
        return "speaker"
    if user is not None:
        return "user's" if POSSESSIVE.match(text[user.end() :]) else "to user" if OF_USER.match(text) else "user"
    if people_in(head[:40]):
        return "kin"
    if names and text.lstrip().startswith(names[0]):
        return "other speaker" if any(sounds_in(names[0], other) for other in evidence.others) else "name"
    return "thing"


def _where(name: str, evidence: Evidence) -> str:
    """The nearest place where a name stands."""
    if sounds_in(name, evidence.quote):
        return "quote"
    if sounds_in(name, evidence.message):
        return "message"
    return "before" if any(sounds_in(name, one) for one in evidence.before[:2]) else "nowhere"


def _all_persons(evidence: Evidence) -> set[str]:
    """All that may be somebody's name."""
    texts = (evidence.message, *evidence.before[:WITHIN], *evidence.known)
    speaker = {evidence.speaker} if evidence.speaker is not None else set[str]()
    return {name for text in texts for name in names_in(text)} | evidence.others | speaker


def _named_lately(evidence: Evidence, persons: Iterable[str]) -> Iterator[str]:
    """Who was named before the quote, by name or as a relative, the last one first."""
    begin = evidence.message.find(evidence.quote[:10])
    for text in (evidence.message[: max(0, begin)], *evidence.before[:NEARLY]):
        at = [(text.rfind(name), name) for name in persons if name in text] + [*people_at(text)]
        yield from (name for _, name in sorted(at, reverse=True))


def _pronouns(text: str, language: Language) -> str:
    """Which pronouns of the third person a text has: of a woman, a man, several."""
    words = set(text) if language is Language.HAN else set(comparable(unelided(text)))
    return "".join(letter for letter, pronouns in THIRD_PERSON.items() if words & pronouns)


def _classes(compared: Comparison) -> Iterator[str]:
    """The classes of the words that stand in the fact alone, in the quote alone, in both."""
    user = USER.match(compared.text)
    told = _classes_of(compared.text[user.end() :] if user else compared.text)
    quoted = _classes_of(compared.evidence.quote)
    yield from (f"+{name}" for name in sorted(told - quoted))
    yield from (f"-{name}" for name in sorted(quoted - told))
    yield from (f"={name}" for name in sorted(told & quoted))


def _classes_of(text: str) -> set[str]:
    return set().union(*classes(pieces_of(text))) - _NO_CLASSES


def _words(compared: Comparison) -> Iterator[str]:
    """The words that stand on one side only."""
    told, quoted = set(comparable(unelided(compared.text))), set(comparable(unelided(compared.evidence.quote)))
    yield from (f"+{word}" for word in sorted(told - quoted))
    yield from (f"-{word}" for word in sorted(quoted - told))


def _trigrams(text: str) -> set[str]:
    joined = " ".join(comparable(text))
    return {joined[at : at + 3] for at in range(len(joined) - 2)}


def _few(number: float) -> int:
    """A number as it is told from others: exactly while it is small."""
    whole = int(number)
    return whole if whole < PARTS else PARTS if whole <= MOST else MOST


def _share(part: int, whole: int) -> int:
    return PARTS * part // max(1, whole)
