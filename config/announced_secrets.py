"""Secrets that words announce: `api_key = x7...`, `my password is sunshine`, `Mein Passwort: Apfel Birne`.

A name of secrets stands there, what it is for, and what stands for `is`. What follows is a secret where no sentence
would say it (`hunter2`, "quoted"), in any language; in plain words no shape tells it, only the sentence does: there
stand either words that say something of the password (`too short`, `in the safe`) or the password.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from config.secret_words import ANY_LINK, HAN_LIGHT, LANGUAGES, LIGHT, QUALITIES, Language

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST_NAME = 60
"""Characters of a name of secrets, with what a look behind or ahead of it takes in."""
MOST_WORDS = 6
"""Words of a secret: what has more is a sentence."""
MAX_PHRASE_WORDS = 12
"""Words of a passphrase, which may be a sentence."""
MIN_PHRASE_WORDS = 4
"""Words behind `my passphrase` from which they are one although a verb is among them."""
MAX_WORD_CHARS = 1_000

_WORD = re.compile(r"[^\s.,;:!?…。，；：！？()\[\]\"“”„«»<>{}]+(?:[.'’-][^\W_]+)*")
_GAP = re.compile(r"[ \t]+")
_OPENING = re.compile(r"[\s\"'`“„«‘*]*")
_PHRASE = re.compile("phrase|фраз|frase")
_DIGITS = r"(?P<digits>\d{1,6}[a-zа-яі]\d{0,6}(?![^\W_])|\d(?:[ -]?\d){2,11})(?![\d.,:]?\d|[ -]?\d| ?[%€$°])"
_HAN_VALUE = re.compile("[\u3400-\u9fff]{1,12}|[!#-&*-+/-9=@-Z^-z~-]{3,}")
_FEW = re.compile(r"\d{1,2}\W?")


_OPEN, _SHUT = "\\\\{0,2}[\"'`“„«‘「『]", "\\\\{0,2}[\"'`”“»’」』]"
# A command or a path of the bot, which a text about secrets may name: `password: /memory`.
COMMAND = r"(?:/[a-z_]{1,32}(?:_\d{1,12}|@\w{1,40})?){1,3}(?![^\s.,;:!?\"'`“”»’」』)\]}*\\])"
_COMMAND = re.compile(COMMAND)
_HAN_COMMAND = re.compile(f"(?:[^\\x00-\\x7f]|[:=]){{0,3}}{COMMAND}")  # no space parts it from the words before it
_MARKUP = "\"'`“„«‘「『*_"
# The mask itself, a command, or a placeholder of a secret: a variable, nothing.
_NO_SECRET = (
    rf"(?!(?:{_OPEN})?(?:{COMMAND}|\[secret\]|[<{{*]|\$[{{(]|%[({{s]|(?:none|null|nil|true|false|undefined)\b))"
)


def _sign(group: str) -> str:
    """What no sentence would say: a word with a digit, or with a sign inside that is no punctuation."""
    sign = r"(?=\S{0,100}?(?:\d|[@#$%^&*+=~<>|/\\]|[!?]\S))"
    return rf"{_OPEN}?{_NO_SECRET}{sign}(?P<{group}>\S{{4,}})"


_GIVEN = (
    rf"\s*(?:[:=]|:=|=>|->|→)\s*{_OPEN}{_NO_SECRET}(?P<quoted>[^\n\"'`”»」』\\]{{3,100}})(?={_SHUT})"
    rf"|\s*(?:=|:=|=>|->|→)\s*{_OPEN}?{_NO_SECRET}(?P<set>[^\s\"'&;]{{4,}})"
    # a single word behind a colon
    rf"|\s*:\s*{_NO_SECRET}(?P<alone>[^\s.,;!?]{{6,}}[\"'`.]?)\s*$"
    rf"|\s*[:-]\s*{_sign('listed')}"
)


def _following(links: str, *, direct: bool) -> re.Pattern[str]:
    """What may follow the name of a secret: some words (`for the router`), what stands for `is`, and the secret."""
    link = rf"\s*(?:{ANY_LINK}|{links or 'is'})?\s*" if direct else rf"\s+(?:{ANY_LINK}|{links or 'is'})\s+"
    return re.compile(
        rf"[\\\"'`*\]]*(?:[ ]+[^\W\d]+){{0,4}}?(?:{_GIVEN}|{link}{_sign('told')})", re.IGNORECASE | re.MULTILINE
    )


class _Rule(NamedTuple):
    """How a language's sentences are read. telling: what may follow a name where no sentence would say it."""

    words: Language
    any_names: re.Pattern[str]
    telling: re.Pattern[str]
    names: re.Pattern[str]
    codes: re.Pattern[str]
    before_value: re.Pattern[str]
    before_digits: re.Pattern[str]


@functools.cache
def _rule(words: Language) -> _Rule:
    """Compiled when a text holds a cue of the language: all of them take as long as a turn."""
    # letters before a name are allowed, as in `Routerpasswort`, and none behind it, as in `password's` or `Passwörter`
    end = "" if words.is_han else r"(?![^\W_]|['’-][^\W_])"
    tie = rf"(?:[ ]+(?:{words.ties})(?:[ ]+[^\W_][\w-]*){{1,3}}?)?" if words.ties else ""
    link = rf"(?P<link>[ ]+(?:{words.links}):?[ ]+|\s*(?:[:：=]|=>|->|→)\s*|[ ]+[-–—][ ]+)"
    if words.is_han:
        link = rf"(?P<link>\s*(?:{words.links}|[:：=])\s*)"
    bare = r"|(?P<bare>[ ]+)" if words.mine else ""
    keys = f"|{words.keys}" if words.keys else ""
    return _Rule(
        words,
        re.compile(rf"(?:{words.names}{keys})"),
        _following(words.links, direct=words.direct),
        re.compile(rf"(?:{words.names}){end}"),
        re.compile(rf"(?:(?<![^\W_]){words.codes}){end}" if not words.is_han else words.codes),
        re.compile(rf"{tie}(?:{link}{bare})", re.IGNORECASE),
        re.compile(rf"{tie}(?:{link}|[ ]*)(?:[#№]\s?)?{_DIGITS}", re.IGNORECASE),
    )


_CUES = [(words, frozenset(words.cues.split())) for words in LANGUAGES]
_ALL_CUES = frozenset().union(*(cues for _, cues in _CUES))


def _named_in(small: str, names: re.Pattern[str], cues: Iterable[str]) -> Iterator[re.Match[str]]:
    """Where one of `names` stands in a text. cues: one of them stands in each name."""
    # a cue is found far faster than the alternation is tried at each character
    near: list[tuple[int, int]] = []
    for place in sorted([place for cue in cues if cue in small for place in _places(cue, small)]):
        start, end = max(0, place - LONGEST_NAME), place + LONGEST_NAME
        if near and start <= near[-1][1]:
            near[-1] = near[-1][0], end
        else:
            near.append((start, end))
    for start, end in near:
        yield from names.finditer(small, start, end)


def _places(cue: str, small: str) -> Iterator[int]:
    at = small.find(cue)
    while at >= 0:
        yield at
        at = small.find(cue, at + len(cue))


def announced(text: str, small: str) -> Iterator[tuple[int, int]]:
    """Where in a text secrets stand that words announce; they may overlap. small: the same in small letters."""
    here = {cue for cue in _ALL_CUES if cue in small}
    for words, all_cues in _CUES:
        cues = here & all_cues
        if cues:
            rule = _rule(words)
            yield from _telling(rule, text, small, cues)
            if words.codes:
                yield from _plain(rule, small, cues)


def _telling(rule: _Rule, text: str, small: str, cues: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Find the secrets that no sentence would say."""
    long_until = 0
    for name in _named_in(small, rule.any_names, cues):
        # names inside a long secret are not tried again, each up to its end
        if name.end() < long_until - MAX_WORD_CHARS:
            continue
        match = rule.telling.match(text, name.end())
        long_until = max(long_until, match.end() if match is not None else 0)
        if match is not None and rule.words.is_han and _HAN_COMMAND.match(match[match.lastgroup or 0]):
            continue
        # a single word behind a colon can be what the password is like: `Password: required`
        if match is not None and (match["alone"] or "").strip(".\"'`").lower() not in QUALITIES:
            yield match.span(match.lastgroup or 0)


def _plain(rule: _Rule, small: str, cues: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Digits and plain words, in small letters."""
    for name in _named_in(small, rule.codes, cues):
        match = rule.before_digits.match(small, name.end())
        if match is not None:
            yield match.span("digits")
    for name in _named_in(small, rule.names, cues):
        match = rule.before_value.match(small, name.end())
        if match is None:
            continue
        span = _han_value(rule, small, match.end()) if rule.words.is_han else _value(rule, small, name, match)
        if span is not None:
            yield span


def _value(rule: _Rule, small: str, name: re.Match[str], match: re.Match[str]) -> tuple[int, int] | None:
    """The password behind what stands for `is`; None where a sentence goes on there."""
    link = (match["link"] or "").strip()
    is_listed, is_dash = link != "" and (link in ":：==>->→" or link.endswith(":")), link in ("-", "–", "—")
    start = match.end()
    if not link and not _is_owned(rule, small, name.start()):
        return None
    if not is_listed:
        start = _OPENING.match(small, start).end()  # type: ignore[union-attr]  # it matches nothing, too
    is_phrase = _PHRASE.search(name.group()) is not None
    most = MAX_PHRASE_WORDS if is_phrase else MOST_WORDS
    # those that decide: a text may go on for a million more
    words = list(itertools.islice(_words(small, start), most + 1))
    value = list(itertools.takewhile(lambda word: word.group().replace("’", "'") not in LIGHT, words))
    # behind a colon or a dash stands the password alone, or a sentence
    goes_on = (is_listed or is_dash) and len(value) < len(words)
    if is_phrase and is_listed and MIN_PHRASE_WORDS <= len(words) <= most:
        value, goes_on = words, False
    if any(_COMMAND.match(word.group().lstrip(_MARKUP)) for word in value):
        return None
    if goes_on or not 0 < len(value) <= (1 if is_dash and not rule.words.mine else most):
        return None
    if all(_says_something(rule, word.group(), strict=is_listed) for word in value):
        return None
    is_long = is_phrase and len(value) >= MIN_PHRASE_WORDS
    if not link and not is_long and any(re.search(rule.words.verbs, word.group()) for word in value):
        return None
    return value[0].start(), value[-1].end()


def _words(small: str, start: int) -> Iterator[re.Match[str]]:
    while (word := _WORD.match(small, start, start + MAX_WORD_CHARS)) is not None:
        yield word
        gap = _GAP.match(small, word.end())
        if gap is None:
            return
        start = gap.end()


def _is_owned(rule: _Rule, small: str, start: int) -> bool:
    """Whether `my` stands before a name, without which a word that follows it says nothing."""
    return re.search(rf"(?:{rule.words.mine})(?: [^\W_]+)?[ ]*$", small[max(0, start - 40) : start]) is not None


def _says_something(rule: _Rule, word: str, *, strict: bool) -> bool:
    """Whether a word says what a password is like. strict: by the list alone, and not by how it ends."""
    if word in QUALITIES or _FEW.fullmatch(word) or not any(map(str.isalnum, word)):
        return True
    return not strict and re.search(rule.words.like, word) is not None


def _han_value(rule: _Rule, small: str, start: int) -> tuple[int, int] | None:
    match = _HAN_VALUE.match(small, start) if _COMMAND.match(small, start) is None else None
    value = match.group() if match is not None else ""
    # these end a sentence, as in `密码是错的`
    if match is None or value.startswith(HAN_LIGHT) or value.endswith(("的", "了", "吗", "呢")):
        return None
    return match.span()
