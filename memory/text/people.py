"""Whom a text speaks of besides the one who says it: the words for relatives and others, in seven languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEFORE_SON = "|".join(
    f"(?<={word}[ -])"
    for word in "my our his her your their the user's eldest older oldest younger youngest little step grand".split()
)
"""Behind these "son" is English: in Spanish it says "are", in French "his"."""
_PEOPLE = {
    "mother": (
        "mother|mom|mum|mama|vieja|мам|мать|матер|матір|мат[иі]|mutter|madre|mamá|mère|maman|妈妈|母亲|妈|媽媽|母親|媽"
    ),
    "father": "father|dad|papa|пап|отец|отц|батьк|тат|vater|padre|papá|père|爸爸|父亲|爸|父親",
    "parents": "parent|родител|eltern|padres|父母",
    "sister": "sister|сестр|schwester|hermana|sœur|soeur|姐姐|妹妹|姐|妹",
    "brother": "brother|брат|bruder|hermano|frère|哥哥|弟弟|哥|弟",
    "wife": "wife|жен|дружин|ehefrau|frau|esposa|mujer|femme|épouse|妻子|老婆|太太|媳妇|媳婦",
    "husband": "husband|муж|чоловік|ehemann|mann|esposo|marido|mari|丈夫|老公",
    "partner": (
        "partner|партн[её]р|партнер|lebensgefährt|pareja|compagn|girlfriend|boyfriend|fiancé|伴侣|"
        "married|verheiratet|женат|замужем|одружен|casad[oa]s?|mariée?s?|已婚|结婚"
    ),
    "son": f"(?:{_BEFORE_SON})son|sons|сын|син|малий|sohn|hijo|fils|儿子|兒子",
    "daughter": "daughter|доч|дочк|доньк|tochter|hija|fille|女儿|女兒",
    "child": "child|children|kid|реб[её]н|дет|дитин|діт|niñ[oa]|enfant|孩子",
    "grandparent": "grand\\w{2,6}|granny|бабушк|дедушк|бабус|дідус|großmutter|großvater|oma|opa|abuel[oa]|奶奶|爷爷",
    "relative": "aunt|uncle|cousin|nephew|niece|т[её]т|дяд(?!ька\\b)|тіт|tante|onkel|tío|tía|prim[oa]|oncle|阿姨|叔叔",
    "friend": "friend|друг|подруг|друз|freund|amig[oa]|ami|amie|朋友",
    "colleague": (
        "colleague|boss(?!e\\b)|manager|коллег|начальник|колег|kolleg|chef|jefe|compañer[oa]|collègue|同事|老板"
    ),
    "neighbour": "neighbou?r|сосед|сусід|nachbar|vecin[oa]|voisin|邻居",
}
_HAN = "\u3400"
"""Where the characters of Chinese begin, whose words have neither endings nor gaps between them."""
# genitives and plurals, and whatever declensions of Russian and Ukrainian put behind the stems above
_ENDING = "(?:['’]?s|e[nrs]?|n|in|innen|[\u0400-\u04ff]{1,3})?"


def _pattern(person: str, words: str) -> str:
    spaced = "|".join(word for word in words.split("|") if word < _HAN)
    unspaced = "".join(f"|{word}" for word in words.split("|") if word >= _HAN)
    return f"(?P<{person}>\\b(?:{spaced}){_ENDING}\\b{unspaced})"


_PATTERN = re.compile("|".join(_pattern(person, words) for person, words in _PEOPLE.items()), re.IGNORECASE)


def people_in(text: str) -> set[str]:
    """Which relatives, friends and others a text names by what they are; of one who is named twice, once."""
    return {person for _, person in people_at(text)}


def people_at(text: str) -> Iterator[tuple[int, str]]:
    """The same with the places where they stand."""
    return ((found.start(), found.lastgroup) for found in _PATTERN.finditer(text) if found.lastgroup)


_NAME = re.compile(r"[^\W\d_][\w'’-]*")
_NO_NAMES = frozenset("i i'm my the user user's he she it we they this that a an".split())


def names_in(text: str) -> set[str]:
    """The words of a text that look like names, in lower case; `Likes` at its beginning does not."""
    found = set()
    for place, word in enumerate(_NAME.findall(text)):
        plain = word.lower()
        is_verb = place == 0 and plain.endswith(("s", "ing"))
        if word[0].isupper() and plain not in _NO_NAMES and not is_verb:
            found.add(re.sub(r"['’]s$", "", plain))
    return found
