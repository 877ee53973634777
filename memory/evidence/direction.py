"""Which way round a fact says what its quote says: who does it to whom, what comes before or instead of what.

It is looked at only where a fact keeps to the words of its quote: in other words the same can be said either way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.evidence.clauses import content, parts_of, same
from memory.evidence.lexicon import OF_USER, POSSESSIVE, TO_USER, USER
from memory.text.languages import PRONOUNS, Language
from memory.text.people import people_in
from memory.text.sounds import names_in, sounds_in

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

CLOSE = 0.75
"""The part of a fact's words that must stand in the quote."""

_PASSIVE = re.compile(
    r"\b(?:by|from|von|vom|durch|par|por|de parte|від|wurd\w*|worden|was|were|been|being|fue|été)\b|被|由|从|從",
    re.IGNORECASE,
)
_WORD = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\W\d_]+'?")
_COMPARING = re.compile(r"\b(?:than|als|чем|ніж|аніж|que|qu)\b|比|和|与|跟", re.IGNORECASE)
_NO_SUBJECTS = frozenset("the a an der die das dem den el la los las le les un une und and y et и а та але но".split())

_ONE = r"[^\s,;.!?]+"
_THREE, _SOME = rf"{_ONE}(?:\s+{_ONE}){{0,2}}", rf"{_ONE}(?:\s+{_ONE}){{0,5}}?"
_FROM = r"from|out of|left|leaving|von|vom|aus|из|с|со|від|з|із|зі|desde|del?|des|du|quitt\w+|dalla?|z|od"
_TO = r"to|into|for|nach|zu|zum|zur|auf|ins?|в|во|на|до|у|к|a|al|hacia|à|au|aux|vers|en|do|pour|para"
_THAN = (
    r"than|over|instead of|als|statt|anstatt|чем|нежели|вместо|ніж|аніж|замість|за|que|qu['’]|en vez de|en lugar de|"
    r"au lieu de|before|after|bevor|vor|nach|до|перед|после|після|antes (?:de|que)|después (?:de|que)|avant|après"
)
_SIDES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:{_FROM})\s+(?P<a>{_THREE}?)\s+(?:{_ONE}\s+)?(?:{_TO})\s+(?P<b>{_THREE})",
        rf"(?P<a>{_THREE})\s+(?:{_THAN})\s+(?P<b>{_THREE})",
        rf"\b(?:prefer\w*|prefier\w*|préf\w*)\s+(?P<a>{_SOME})\s+(?:to|over|a|al|à|au|aux)\s+(?P<b>{_THREE})",
        r"\b(?:предпоч\w+)\s+(?P<a>\S+)\s+(?P<b>\S+)",
        r"[从從](?P<a>\w{1,6}?)(?:搬|去|到|换|調|调|转|改)\w?到?(?P<b>\w{2,4})",
        r"(?P<a>\w{2,8})から(?P<b>\w{2,8}?)(?:に|へ|側)",
        r"比起?(?P<b>\w{1,6}?)(?:[,，]|我|用户|用戶|更).*?(?:更|喜欢|喜歡|爱|愿意)+(?P<a>\w{1,6})",
        r"(?P<a>\w{1,6})比(?P<b>\w{1,6}?)(?:大|小|高|矮|早|晚|快|慢|贵|便宜|好|多|少|重|轻)",
    )
)
"""Two sides that mean something else the other way round: ways, comparisons, choices."""


def swaps_places(text: str, quote: str, said_in: Language) -> bool:
    """`from Lviv to Kyiv` for `from Kyiv to Lviv`, and `tea rather than coffee` for `coffee rather than tea`."""
    return any(
        _crossed((_told(told["a"]), _told(told["b"])), (_said(said["a"], said_in), _said(said["b"], said_in)))
        for pattern in _SIDES
        for told in pattern.finditer(text)
        for said in pattern.finditer(quote)
    )


def _crossed(told: tuple[Sequence[str], Sequence[str]], said: tuple[Sequence[str], Sequence[str]]) -> bool:
    """Whether what stands on one side of the one stands on the other side of the other, and that for both."""
    first, second = (_only(side, by) for side, by in zip(told, said, strict=True))
    return _meet(first, _only(said[1], told[1])) and _meet(second, _only(said[0], told[0]))


def _only(words: Sequence[str], others: Sequence[str]) -> list[str]:
    return [word for word in words if not _meet([word], others)]


def _meet(some: Sequence[str], others: Sequence[str]) -> bool:
    return any(same(one, other) for one in some for other in others)


def is_crossed(text: str, quote: str, said_in: Language) -> bool:
    """Whether what fact and quote share, the user among it, stands in another order in the one than in the other."""
    said = _said(quote, said_in)
    places = [next((at for at, other in enumerate(said) if same(word, other)), None) for word in _told(text)]
    found = [place for place in places if place is not None]
    return found != sorted(found)


def gives_to_giver(text: str, quote: str, said_in: Language) -> bool:
    """Whether the user does to another what, as they said, the other does to them; or one named person to another."""
    telling = [word for word in content(text) if not USER.fullmatch(word)]
    if len(_shared(telling, content(quote))) < CLOSE * len(telling) or _PASSIVE.search(text):
        return False
    return _turns_names(text, quote) or any(_turns_user(part, quote, said_in) for part in parts_of(text))


def _turns_user(part: str, quote: str, said_in: Language) -> bool:
    """Whether a clause of the fact turns round what the user and another do in the clause of the quote about it."""
    user = USER.match(part)
    does = user is not None and not POSSESSIVE.match(part[user.end() :]) and not OF_USER.match(part)
    suffers = not does and not OF_USER.match(part) and TO_USER.search(part) is not None
    if not (does or suffers) or _COMPARING.search(part):
        return False
    names = [name for name in names_in(part, sentence=True) if not USER.match(name) and sounds_in(name, quote)]
    kin = people_in(part) & people_in(quote)
    told = content(part)
    clause = next(
        (one for one in parts_of(quote) if _names_one(one, names, kin) and len(_shared(content(one), told)) > 1), None
    )
    if clause is None or _COMPARING.search(clause):
        return False
    by_me, to_me = _roles_of_speaker(clause, said_in, names, kin)
    return (does and to_me and not by_me) or (suffers and by_me and not to_me)


def _names_one(text: str, names: Sequence[str], kin: Collection[str]) -> bool:
    return any(sounds_in(name, text) for name in names) or bool(people_in(text) & set(kin))


def _shared(some: Sequence[str], others: Sequence[str]) -> list[str]:
    return [word for word in some if _meet([word], others)]


def _roles_of_speaker(clause: str, said_in: Language, names: Sequence[str], kin: Collection[str]) -> tuple[bool, bool]:
    """Whether the speaker does something in a clause, and whether something is done to them."""
    if said_in is Language.HAN:
        at = _NO_POSSESSIVE_HAN.sub("", clause).find("我")
        return 0 <= at <= 1, at > 1
    pronouns = PRONOUNS[said_in]
    words = _WORD.findall(clause.casefold().replace("’", "'"))
    plain = [word.rstrip("'") for word in words]
    by_me = any(word in pronouns.me for word in plain)
    to_me = any(word in pronouns.to_me for word in words)
    if not by_me and not to_me and not pronouns.others.intersection(plain):
        first = next((word for word in plain if word not in pronouns.mine and word not in _NO_SUBJECTS), None)
        by_me = first is not None and not _names_one(first, names, kin)  # "lent Marco 200": who speaks did
    return by_me, to_me


_NO_POSSESSIVE_HAN = re.compile("我(?=的|们家|家|爸|妈|媽|哥|姐|弟|妹|老|儿|兒|女)")


_GERMAN_NOUN = re.compile(
    r"\b(?:de[rmns]|das|die|k?ein\w{0,2}|[ms]ein\w{0,2}|ihr\w{0,2}|seit|[iau]m|zu[mr]?|bis|ab|vor|nach|mit|auf|in|an|bei|beim|für)"
    r"\s+[A-ZÄÖÜ]\w+"
)
"""What German writes large like a name, behind a word that names hardly ever follow."""


def _turns_names(text: str, quote: str) -> bool:
    """Whether two people's names stand in the one order in a clause of the fact and in the other in the quote."""
    if _PASSIVE.search(quote):
        return False
    said = _WORD.findall(quote)
    for part in parts_of(text):
        names = [name for name in names_in(_GERMAN_NOUN.sub(" ", part), sentence=True) if not USER.match(name)]
        places = [next((at for at, word in enumerate(said) if sounds_in(name, word)), None) for name in names]
        found = [place for place in places if place is not None]
        if found != sorted(found):
            return True
    return False


def mixes_up(text: str, quote: str, said_in: Language) -> bool:
    """Whether two statements have changed parts: `Kenji cooks, I wash up` told as `the user cooks, Kenji washes up`."""
    told = [_told(part) for part in parts_of(text)]
    said = [_said(part, said_in) for part in parts_of(quote)]
    everything = [word for words in said for word in words]
    words = [word for part in told for word in part]
    if min(len(told), len(said)) < 2 or len(_shared(words, everything)) < CLOSE * len(words):
        return False
    return sum(len({_where(word, said) for word in part} - {None}) > 1 for part in told) > 1


_SPEAKER = "i"
"""Stands for who speaks, among the words of a clause."""


def _told(text: str) -> list[str]:
    """The words of a fact in order, the user among them."""
    found: list[str] = []
    at = 0
    for user in USER.finditer(text):
        found += content(text[at : user.start()])
        found += [] if POSSESSIVE.match(text[user.end() :]) else [_SPEAKER]
        at = user.end()
    return list(dict.fromkeys([*found, *content(text[at:])]))


def _said(text: str, language: Language) -> list[str]:
    """The words of a quote in order, who speaks among them."""
    if language is Language.HAN:
        before, me, after = _NO_POSSESSIVE_HAN.sub("", text).partition("我")
        return [*content(before), *([_SPEAKER] if me else []), *content(after)]
    pronouns = PRONOUNS[language]
    found: list[str] = []
    for word in _WORD.findall(text.casefold().replace("’", "'")):
        is_speaker = word.rstrip("'") in pronouns.me or word in pronouns.to_me
        found += [_SPEAKER] if is_speaker else content(word)
    return list(dict.fromkeys(found))


def _where(word: str, clauses: Sequence[Sequence[str]]) -> int | None:
    """The one clause that a word stands in; None for none and for several."""
    found = [at for at, words in enumerate(clauses) if _meet([word], words)]
    return found[0] if len(found) == 1 else None
