"""In which language a text is, as far as its commonest words tell, and that language's pronouns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Language(Enum):
    """A language as far as its commonest words and its letters tell."""

    ENGLISH = "en"
    GERMAN = "de"
    SPANISH = "es"
    FRENCH = "fr"
    RUSSIAN = "ru"
    UKRAINIAN = "uk"
    HAN = "han"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Pronouns:
    """Who a clause speaks of: `me` as who does or is something, what is `mine`, to whom: `to_me`; the same of others.

    others: who do or are something, and whose something is; to_others: only to whom something is done.
    """

    me: frozenset[str]
    mine: frozenset[str]
    others: frozenset[str]
    to_me: frozenset[str]
    to_others: frozenset[str]


def _pronouns(me: str, mine: str, others: str, to_me: str, to_others: str = "") -> Pronouns:
    return Pronouns(*(frozenset(words.split()) for words in (me, mine, others, to_me, to_others)))


PRONOUNS = {
    Language.ENGLISH: _pronouns(
        "i im ive id ill we were weve well gonna",
        "my mine me our us myself",
        "he she they her his hers their hes shes theyre",
        "me us",
        "him them",
    ),
    Language.RUSSIAN: _pronouns(
        "я мы",
        "мой моя мое мои моего моей моему моим моих мою меня мне мной наш наша наше наши нас нам нами",
        "он она они его ее их",
        "меня мне мной мною нас нам нами",
        "ей ему им него нее ним ней них",
    ),
    Language.UKRAINIAN: _pronouns(
        "я ми",
        "мій моя моє мої мого моєї моєму моїм моїх мою мене мені мною наш наша наше наші нас нам",
        "він вона вони його її їх",
        "мене мені мною нас нам нами",
        "їй йому їм нього неї ним нею них",
    ),
    Language.GERMAN: _pronouns(
        "ich wir hab bin i ick",
        "mein meine meinen meinem meiner meines mich mir mi uns unser unsere unserem unseren",
        "er sie ihr ihre ihrem sein seine seinem ihren",
        "mir mich uns",
        "ihm ihn ihnen",
    ),
    Language.SPANISH: _pronouns(
        "yo nosotros nosotras soy estoy tengo vivo trabajo voy he fui hago quiero puedo llevo prefiero odio bebo "
        "uso pago vivimos tenemos somos estamos vamos tuve compré vendí dejé empecé nací",
        "mi mis mío mía me conmigo mí nos nuestro nuestra",
        "él ella ellos ellas su sus",
        "me nos mí conmigo",
        "le les",
    ),
    Language.FRENCH: _pronouns(
        "je j nous jai jsuis jme jy jaime jhabite",
        "mon ma mes moi me notre nos",
        "il elle ils elles leur leurs son sa ses y",
        "m' me moi",
        "lui",
    ),
    Language.HAN: _pronouns("我 咱 私 僕 俺", "", "他 她 彼", ""),
    Language.OTHER: _pronouns(
        "io sono ho eu tenho sou estou jestem mam lecę",
        "mio mia miei mie meu minha mój moja",
        "lui lei loro ele ela ona",
        "mi me mnie",
    ),
}

THIRD_PERSON = {
    "f": frozenset(
        "she her hers shes sie ihr ihre ihren ihrem ella elle она ее ей нее ней вона її їй неї нею 她".split()
    ),
    "m": frozenset(
        "he his him hes er sein seine ihm ihn seinem seinen él il lui он его ему него ним нем він його йому нього "
        "他".split()
    ),
    "p": frozenset("they their them theyre ellos ellas ils elles leur leurs они их им вони їх їм les".split()),
}
"""Pronouns of a woman, of a man, of several, in all languages."""

_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_SIGNS = {
    Language.ENGLISH: (
        "the is i my and to of in has user have a with it that for user's im are was she he his her not from "
        "on at works lives likes"
    ),
    Language.GERMAN: (
        "der die das ich ist und nicht mein meine hat nutzer ein eine zu von mit auf im am den dem wir für "
        "bin auch sich nutzers nutzerin benutzer werden keine seit bei"
    ),
    Language.SPANISH: (
        "el la los las es y mi mis que de en un una por para no con se del al tiene usuario yo su lo le soy muy"
    ),
    Language.FRENCH: (
        "le la les est et mon ma mes que de des un une pour ne pas avec je j l d n c utilisateur utilisatrice "
        "lutilisateur lutilisatrice a dans du au il elle en sa son"
    ),
}
_SIGN_WORDS = {language: frozenset(words.split()) for language, words in _SIGNS.items()}


def language_of(text: str) -> Language:
    """The language of a text; OTHER where nothing tells."""
    if len(_HAN.findall(text)) * 3 > len(text):
        return Language.HAN
    letters = text.casefold()
    if re.search("[\u0400-\u04ff]", letters):
        return Language.UKRAINIAN if re.search("[іїєґ]", letters) else Language.RUSSIAN
    letters = letters.replace("’", "'")
    # "im" for "I'm", and the "l" of "l'utilisateur"
    words = re.findall(r"[^\W\d_]+", letters.replace("'", "")) + re.findall(r"[^\W\d_]+(?=')", letters)
    hits = {language: sum(word in signs for word in words) for language, signs in _SIGN_WORDS.items()}
    best = max(hits, key=lambda language: hits[language])
    return best if hits[best] else Language.OTHER
