"""Finds secrets that words announce: `api_key = x7...`, `my password is sunshine`, `Mein Passwort: Apfel Birne`.

The pattern is a name of a secret, optionally its purpose (`for the router`), and a word for "is". A word that follows
is a secret if it wouldn't occur in a sentence (`hunter2`, or a quoted text), in any language. Plain words may be a
secret or describe one (`too short`, `in the safe`), which lists of words decide.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from config.secret_words import ANY_LINK, HAN_LIGHT, LANGUAGES, LIGHT, QUALITIES, Language

CUE_CONTEXT_CHARS = 60
"""How far around a cue a name is searched. This covers the longest name with its lookbehind and lookahead."""
MAX_SECRET_WORDS = 6
"""More words are a sentence, not a secret."""
MAX_PHRASE_WORDS = 12
"""The limit for a passphrase, which may be a sentence."""
MIN_PHRASE_WORDS = 4
"""At least this many words after `my passphrase` are a passphrase, even if one of them is a verb."""
MAX_WORD_CHARS = 1_000

_WORD = re.compile(r"[^\s.,;:!?…。，；：！？()\[\]\"“”„«»<>{}]+(?:[.'’-][^\W_]+)*")
_GAP = re.compile(r"[ \t]+")
_OPENING = re.compile(r"[\s\"'`“„«‘*]*")
_PHRASE = re.compile("phrase|фраз|frase")
_DIGITS = r"(?P<digits>\d{1,6}[a-zа-яі]\d{0,6}(?![^\W_])|\d(?:[ -]?\d){2,11})(?![\d.,:]?\d|[ -]?\d| ?[%€$°])"
_HAN_VALUE = re.compile("[\u3400-\u9fff]{1,12}|[!#-&*-+/-9=@-Z^-z~-]{3,}")
_FEW = re.compile(r"\d{1,2}\W?")


_OPEN, _SHUT = "\\\\{0,2}[\"'`“„«‘「『]", "\\\\{0,2}[\"'`”“»’」』]"
# A command of the bot or a path, which a text about secrets may name: `password: /memory`.
COMMAND = r"(?:/[a-z_]{1,32}(?:_\d{1,12}|@\w{1,40})?){1,3}(?![^\s.,;:!?\"'`“”»’」』)\]}*\\])"
_COMMAND = re.compile(COMMAND)
_HAN_COMMAND = re.compile(f"(?:[^\\x00-\\x7f]|[:=]){{0,3}}{COMMAND}")  # There is no space before it.
_MARKUP = "\"'`“„«‘「『*_"
# Not a secret: the mask itself, a command, or a placeholder such as a variable or `none`.
_NO_SECRET = (
    rf"(?!(?:{_OPEN})?(?:{COMMAND}|\[secret\]|[<{{*]|\$[{{(]|%[({{s]|(?:none|null|nil|true|false|undefined)\b))"
)


def _build_sign_pattern(group: str) -> str:
    """Return a pattern for words that don't occur in sentences: with a digit, or with a sign inside."""
    sign = r"(?=\S{0,100}?(?:\d|[@#$%^&*+=~<>|/\\]|[!?]\S))"
    return rf"{_OPEN}?{_NO_SECRET}{sign}(?P<{group}>\S{{4,}})"


_GIVEN = (
    rf"\s*(?:[:=]|:=|=>|->|→)\s*{_OPEN}{_NO_SECRET}(?P<quoted>[^\n\"'`”»」』\\]{{3,100}})(?={_SHUT})"
    rf"|\s*(?:=|:=|=>|->|→)\s*{_OPEN}?{_NO_SECRET}(?P<set>[^\s\"'&;]{{4,}})"
    # A single word after a colon.
    rf"|\s*:\s*{_NO_SECRET}(?P<alone>[^\s.,;!?]{{6,}}[\"'`.]?)\s*$"
    rf"|\s*[:-]\s*{_build_sign_pattern('listed')}"
)


def _build_link_pattern(links: str, *, is_link_optional: bool) -> re.Pattern[str]:
    """Return a pattern for the text after a name: up to four words (`for the router`), a link, and the secret."""
    link = rf"\s*(?:{ANY_LINK}|{links or 'is'})?\s*" if is_link_optional else rf"\s+(?:{ANY_LINK}|{links or 'is'})\s+"
    return re.compile(
        rf"[\\\"'`*\]]*(?:[ ]+[^\W\d]+){{0,4}}?(?:{_GIVEN}|{link}{_build_sign_pattern('told')})",
        re.IGNORECASE | re.MULTILINE,
    )


class _Rule(NamedTuple):
    """The compiled patterns of a language.

    Attributes:
        any_names: Names of all secrets except codes.
        unusual: Text after such a name, with a secret that wouldn't occur in a sentence.
        names: Names of secrets that may be plain words.
        before_value: Text between such a name and a secret in plain words.
        before_digits: Text after the name of a code, including the code.
    """

    words: Language
    any_names: re.Pattern[str]
    unusual: re.Pattern[str]
    names: re.Pattern[str]
    codes: re.Pattern[str]
    before_value: re.Pattern[str]
    before_digits: re.Pattern[str]


@functools.cache
def _compile_rule(words: Language) -> _Rule:
    """Compile the patterns of a language on demand. Compiling all languages would take as long as a turn."""
    # Letters are allowed before a name, as in `Routerpasswort`, but not after it, as in `password's` or `Passwörter`.
    end = "" if words.is_han else r"(?![^\W_]|['’-][^\W_])"
    purpose = rf"(?:[ ]+(?:{words.prepositions})(?:[ ]+[^\W_][\w-]*){{1,3}}?)?" if words.prepositions else ""
    link = rf"(?P<link>[ ]+(?:{words.links}):?[ ]+|\s*(?:[:：=]|=>|->|→)\s*|[ ]+[-–—][ ]+)"
    if words.is_han:
        link = rf"(?P<link>\s*(?:{words.links}|[:：=])\s*)"
    bare = r"|(?P<bare>[ ]+)" if words.possessives else ""
    keys = f"|{words.keys}" if words.keys else ""
    return _Rule(
        words,
        re.compile(rf"(?:{words.names}{keys})"),
        _build_link_pattern(words.links, is_link_optional=words.is_link_optional),
        re.compile(rf"(?:{words.names}){end}"),
        re.compile(rf"(?:(?<![^\W_]){words.codes}){end}" if not words.is_han else words.codes),
        re.compile(rf"{purpose}(?:{link}{bare})", re.IGNORECASE),
        re.compile(rf"{purpose}(?:{link}|[ ]*)(?:[#№]\s?)?{_DIGITS}", re.IGNORECASE),
    )


_CUES = [(words, frozenset(words.cues.split())) for words in LANGUAGES]
_ALL_CUES = frozenset().union(*(cues for _, cues in _CUES))


def _find_names(small: str, names: re.Pattern[str], cues: Iterable[str]) -> Iterator[re.Match[str]]:
    """Find names of secrets. Only the text around the cues is searched.

    Finding a cue is much faster than trying the alternation at each character.
    """
    near: list[tuple[int, int]] = []
    for place in sorted([place for cue in cues if cue in small for place in _find_places(cue, small)]):
        start, end = max(0, place - CUE_CONTEXT_CHARS), place + CUE_CONTEXT_CHARS
        if near and start <= near[-1][1]:
            near[-1] = near[-1][0], end
        else:
            near.append((start, end))
    for start, end in near:
        yield from names.finditer(small, start, end)


def _find_places(cue: str, small: str) -> Iterator[int]:
    """Yield the places of a cue, without those between two whose surroundings overlap."""
    at = small.find(cue)
    while at >= 0:
        yield at
        last = small.rfind(cue, at + 1, at + CUE_CONTEXT_CHARS + len(cue))
        if last > at:
            yield last
            at = last
        at = small.find(cue, at + len(cue))


def find_announced(text: str, small: str) -> Iterator[tuple[int, int]]:
    """Find secrets that words announce, and yield their spans, which may overlap. `small` is the text in lower case."""
    here = {cue for cue in _ALL_CUES if cue in small}
    for words, all_cues in _CUES:
        cues = here & all_cues
        if cues:
            rule = _compile_rule(words)
            found = list(_find_names(small, rule.any_names, cues))
            if found:
                yield from _find_unusual(rule, text, found)
            if words.codes:
                yield from _find_codes(rule, small, cues)
            # Their names are among the others.
            if words.codes and found:
                yield from _find_plain(rule, small, cues)


def _find_unusual(rule: _Rule, text: str, names: Iterable[re.Match[str]]) -> Iterator[tuple[int, int]]:
    long_until = 0
    for name in names:
        # Skip names inside a long secret, since each would be matched up to its end.
        if name.end() < long_until - MAX_WORD_CHARS:
            continue
        match = rule.unusual.match(text, name.end())
        long_until = max(long_until, match.end() if match is not None else 0)
        if match is not None and rule.words.is_han and _HAN_COMMAND.match(match[match.lastgroup or 0]):
            continue
        # A single word after a colon may describe the password: `Password: required`.
        if match is not None and (match["alone"] or "").strip(".\"'`").lower() not in QUALITIES:
            yield match.span(match.lastgroup or 0)


def _find_codes(rule: _Rule, small: str, cues: Iterable[str]) -> Iterator[tuple[int, int]]:
    for name in _find_names(small, rule.codes, cues):
        match = rule.before_digits.match(small, name.end())
        if match is not None:
            yield match.span("digits")


def _find_plain(rule: _Rule, small: str, cues: Iterable[str]) -> Iterator[tuple[int, int]]:
    for name in _find_names(small, rule.names, cues):
        match = rule.before_value.match(small, name.end())
        if match is None:
            continue
        span = _find_han_value(rule, small, match.end()) if rule.words.is_han else _find_value(rule, small, name, match)
        if span is not None:
            yield span


def _find_value(rule: _Rule, small: str, name: re.Match[str], match: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of the password after a link. None if the sentence continues instead."""
    link = (match["link"] or "").strip()
    is_listed, is_dash = link != "" and (link in ":：==>->→" or link.endswith(":")), link in ("-", "–", "—")
    start = match.end()
    if not link and not _is_owned(rule, small, name.start()):
        return None
    if not is_listed:
        start = _OPENING.match(small, start).end()  # type: ignore[union-attr]  # It also matches an empty text.
    is_phrase = _PHRASE.search(name.group()) is not None
    limit = MAX_PHRASE_WORDS if is_phrase else MAX_SECRET_WORDS
    # More words don't matter, and there may be a million of them.
    words = list(itertools.islice(_iterate_words(small, start), limit + 1))
    value = list(itertools.takewhile(lambda word: word.group().replace("’", "'") not in LIGHT, words))
    # After a colon or a dash comes either only the password, or a sentence.
    goes_on = (is_listed or is_dash) and len(value) < len(words)
    if is_phrase and is_listed and MIN_PHRASE_WORDS <= len(words) <= limit:
        value, goes_on = words, False
    if any(_COMMAND.match(word.group().lstrip(_MARKUP)) for word in value):
        return None
    if goes_on or not 0 < len(value) <= (1 if is_dash and not rule.words.possessives else limit):
        return None
    if all(_describes(rule, word.group(), strict=is_listed) for word in value):
        return None
    is_long = is_phrase and len(value) >= MIN_PHRASE_WORDS
    if not link and not is_long and any(re.search(rule.words.verb_endings, word.group()) for word in value):
        return None
    return value[0].start(), value[-1].end()


def _iterate_words(small: str, start: int) -> Iterator[re.Match[str]]:
    while (word := _WORD.match(small, start, start + MAX_WORD_CHARS)) is not None:
        yield word
        gap = _GAP.match(small, word.end())
        if gap is None:
            return
        start = gap.end()


def _is_owned(rule: _Rule, small: str, start: int) -> bool:
    return re.search(rf"(?:{rule.words.possessives})(?: [^\W_]+)?[ ]*$", small[max(0, start - 40) : start]) is not None


def _describes(rule: _Rule, word: str, *, strict: bool) -> bool:
    """Return True if a word describes a password. If `strict`, check only the list of words, not the ending."""
    if word in QUALITIES or _FEW.fullmatch(word) or not any(map(str.isalnum, word)):
        return True
    return not strict and re.search(rule.words.quality_endings, word) is not None


def _find_han_value(rule: _Rule, small: str, start: int) -> tuple[int, int] | None:
    match = _HAN_VALUE.match(small, start) if _COMMAND.match(small, start) is None else None
    value = match.group() if match is not None else ""
    # These words end a sentence, as in `密码是错的`.
    if match is None or value.startswith(HAN_LIGHT) or value.endswith(("的", "了", "吗", "呢")):
        return None
    return match.span()
