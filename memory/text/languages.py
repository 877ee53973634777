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
    """Who a clause speaks of: `me` as who does or is something, what is `mine`, `others`, and to whom: `to_me`."""

    me: frozenset[str]
    mine: frozenset[str]
    others: frozenset[str]
    to_me: frozenset[str]


def _pronouns(me: str, mine: str, others: str, to_me: str) -> Pronouns:
    return Pronouns(*(frozenset(words.split()) for words in (me, mine, others, to_me)))


PRONOUNS = {
    Language.ENGLISH: _pronouns(
        "i im ive id ill we were weve well gonna",
        "my mine me our us myself",
        "he she they him her his hers them their hes shes theyre",
        "me us",
    ),
    Language.RUSSIAN: _pronouns(
        "я мы",
        "мой моя мое мои моего моей моему моим моих мою меня мне мной наш наша наше наши нас нам нами",
        "он она они его ее ей ему им их него нее ним ней него",
        "меня мне мной мною нас нам нами",
    ),
    Language.UKRAINIAN: _pronouns(
        "я ми",
        "мій моя моє мої мого моєї моєму моїм моїх мою мене мені мною наш наша наше наші нас нам",
        "він вона вони його її їй йому їх їм нього неї ним нею",
        "мене мені мною нас нам нами",
    ),
    Language.GERMAN: _pronouns(
        "ich wir hab bin",
        "mein meine meinen meinem meiner meines mich mir uns unser unsere unserem unseren",
        "er sie ihm ihn ihr ihre ihrem sein seine seinem ihren",
        "mir mich uns",
    ),
    Language.SPANISH: _pronouns(
        "yo nosotros nosotras soy estoy tengo vivo trabajo voy he fui hago quiero puedo llevo prefiero odio bebo "
        "uso pago vivimos tenemos somos estamos vamos tuve compré vendí dejé empecé nací",
        "mi mis mío mía me conmigo mí nos nuestro nuestra",
        "él ella ellos ellas su sus le les",
        "me nos mí conmigo",
    ),
    Language.FRENCH: _pronouns(
        "je j nous jai jsuis jme jy jaime jhabite",
        "mon ma mes moi me notre nos",
        "il elle ils elles lui leur leurs son sa ses y",
        "m' me moi",
    ),
    Language.HAN: _pronouns("我 咱 私 僕 俺", "", "他 她 彼", ""),
    Language.OTHER: _pronouns(
        "io sono ho eu tenho sou estou jestem mam lecę",
        "mio mia miei mie meu minha mój moja",
        "lui lei loro ele ela ona",
        "mi me mnie",
    ),
}

_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_SIGNS = {
    Language.ENGLISH: (
        "the is i my and to of in has user have a with it that for user's im are was she he his her not from "
        "on at works lives likes"
    ),
    Language.GERMAN: (
        "der die das ich ist und nicht mein meine hat nutzer ein eine zu von mit auf im am den dem wir für "
        "bin auch sich"
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
