"""Names in a fact, and whether they were said, in whatever letters: `Kyiv` for `Київ`, `Shanghai` for `上海`."""

from __future__ import annotations

import difflib
import re

from anyascii import anyascii

from memory.text.words import STOP_WORDS

_LARGE = re.compile(
    "(?<![^\\W\u3040-\u9fff])[A-Z\u00c0-\u00de\u0100-\u017f\u0400-\u042f\u0490][A-Za-z0-9\u00c0-\u024f\u0400-\u052f'’-]*"
)
_BEGINS = re.compile(r"(?:^|[.!?:\n]\s*|[\"“„«]\s*)$")
_DAYS = (
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december christmas easter"
)
_LANGUAGES = (
    "american arabic asian balinese british burmese cantonese chinese congolese danish dutch english european finnish "
    "flemish french german greek irish italian japanese jewish kurdish lebanese maltese nepalese polish portuguese "
    "russian scottish senegalese spanish sudanese swedish taiwanese turkish ukrainian vietnamese"
)
_TITLES = "aunt auntie uncle grandma grandpa granny mr mrs dr"
_PLACES = "university college school lake street road river mount island hospital airport station park"
_OTHERS = "i it the user new year day ok tv pc x-ray"
_NO_NAMES = frozenset(" ".join((_DAYS, _LANGUAGES, _TITLES, _PLACES, _OTHERS)).split())
"""What English writes large and is nobody's name, or only a part of one."""
_NO_NAME = re.compile(r"i['’]\w+$", re.IGNORECASE)
_EVE = re.compile(r"\b(?:christmas|new year['’]?s?) eve\b", re.IGNORECASE)
_ALIKE = 0.62
"""How like the sounds of two names must be for one name in two spellings."""


def names_in(text: str, *, sentence: bool = False) -> list[str]:
    """The words of `text` that are written like names; with `sentence`, also what merely begins a sentence."""
    found = []
    text = _EVE.sub(lambda eve: eve.group().lower(), text)
    for match in _LARGE.finditer(text):
        word = match.group()
        if not word[0].isupper() or len(word) < 2 or _is_no_name(word.casefold()):
            continue
        if sentence or not _BEGINS.search(text[: match.start()]):
            found.append(re.sub(r"['’]s?$", "", word))
    return found


def _is_no_name(word: str) -> bool:
    return word in STOP_WORDS or _NO_NAME.match(word) is not None or not _NO_NAMES.isdisjoint(_stems(word))


def _stems(word: str) -> set[str]:
    """A word without a genitive or plural ending, and the first of those that a hyphen joins."""
    bare = re.sub(r"['’]s?$", "", word)
    return {bare, bare.removesuffix("s"), bare.partition("-")[0]}


def sounds_in(name: str, *texts: str) -> bool:
    """Whether a name stands in one of the texts, in some form, spelling or alphabet."""
    wanted = _sound(name)
    for text in texts:
        plain = text.casefold()
        if name.casefold() in plain:
            return True
        spoken = [_sound(word) for word in re.findall(r"[^\W\d_][\w'’-]*", text)]
        if any(_same(wanted, one) for one in spoken):
            return True
        if not text.isascii() and _is_within(name, text):
            return True
    return False


def _is_within(name: str, text: str) -> bool:
    """Whether a name stands within a run of characters: letter by letter, or by its consonants if these are enough."""
    wanted = _letters(name)
    consonants = re.sub("[aeiou]", "", _sound(name))
    return (len(wanted) > 1 and wanted in _letters(text)) or (
        len(consonants) > 2 and consonants in re.sub("[aeiou]", "", _sound(text))
    )


def _letters(text: str) -> str:
    return re.sub("[^a-z]", "", anyascii(text).lower())


def _sound(word: str) -> str:
    """The consonants of a word in Latin letters, those that are written now this way now that made one."""
    plain = _letters(word)
    for many, one in (
        ("sch", "s"),
        ("tsch", "c"),
        ("shch", "s"),
        ("sh", "s"),
        ("ch", "c"),
        ("kh", "h"),
        ("ph", "f"),
        ("ck", "k"),
        ("x", "ks"),
        ("w", "v"),
        ("z", "s"),
        ("q", "k"),
        ("j", "i"),
        ("y", "i"),
        ("c", "k"),
        ("h", ""),
    ):
        plain = plain.replace(many, one)
    return plain[:1] + re.sub(r"[aeiou]", "", plain[1:])


def _same(wanted: str, spoken: str) -> bool:
    if not wanted or not spoken:
        return False
    if wanted == spoken:
        return True
    if min(len(wanted), len(spoken)) < 2:
        return False
    # endings come and go: Киева, Kyivs
    if len(wanted) > 2 and (spoken.startswith(wanted) or (wanted.startswith(spoken) and len(spoken) > 2)):
        return True
    one, other = (re.sub("^[aeiou]", "", sound) for sound in (wanted, spoken))  # Istanbul, Стамбул
    return one[:1] == other[:1] and difflib.SequenceMatcher(None, wanted, spoken).ratio() >= _ALIKE
