"""Text as the search index and its queries take it: which words count, and how they are cut apart.

The index holds what `indexable` and `date_words` made of a text, and can only be told to forget exactly that.
Whoever changes what they make adds a migration that rebuilds it: see REBUILD in memory/store/schema.py.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from datetime import datetime
from typing import TYPE_CHECKING

from memory.text.cues import (
    ACKNOWLEDGEMENTS,
    ASKED,
    ASKED_OBJECTS,
    ASKER,
    ASKER_OBJECTS,
    ASKING_WHEN,
    ASKING_WHO,
    FUNCTION_PHRASES,
    GREETINGS,
    PLEASANTRIES,
    RECALLING,
    REQUESTS,
    SMALL_TALK_PHRASES,
)
from memory.text.stemming import beginning_of, stem_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Scripts that are written without spaces: Thai, Lao, Myanmar, Khmer, kana, Han, Yi; and Hangul, whose words
# grow particles.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\ua000-\ua4cf\uac00-\ud7af"
    "\U00020000-\U0003ffff"
)
# Marks that stand inside words: combining accents, Hebrew points, Arabic and Indic vowel signs.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0971-\u0de5\u0df2-\u0dff"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_UNSPACED_CHARACTER = re.compile(f"([{_UNSPACED}])")
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:[^\W_{_UNSPACED}]|[{_MARKS}])+(?:['’](?:[^\W_{_UNSPACED}]|[{_MARKS}])+)*")

BARE_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
"""A word of `plain` text; of a script without gaps all up to the next one."""
LONGEST_SMALL_TALK = 200
"""Characters."""
LONGEST_INDEXED = 20_000
"""Characters of a text that the index takes in: what comes after is found by nothing but is still stored."""
MOST_TERMS = 40
"""Terms of one query; the rarest are not known before the search, so the first ones count."""
_LETTERS_OF_WORD = 2
_CYRILLIC_WORD = re.compile("[\u0400-\u04ff]+(?:['’][\u0400-\u04ff]+)*")
_APOSTROPHE = re.compile("['’]")

_ENGLISH = frozenset(
    "a about am an and any are as at be been but by can could did do does for from had has have he her him his "
    "how i if in is it its let many me much my no not of on or our she should so some than that the their them "
    "then there these they this to up was we were what when where which who whom whose why will with would you your "
    "ll re ve".split()
)
_CYRILLIC = frozenset(
    # Russian and Ukrainian
    "а бы был была были было быть в вам вас во вот все всё вы где да для до его ее её если есть ещё же за и из "
    "или им их к как какая какие какой когда кого кому кто ли меня мне мой моя мои мы на нам нас не него нет ни но о "
    "об он она они от по при с со так там то тобой тот ты у уже что чтобы это я або але б бути був була було був в вже "
    "ви від він вона вони де до з за зі й його її їх і із коли який яка яке які мене мені мій моє мої ми ні про "
    "та так там те ти треба хто це цей ця чи що щоб як якщо".split()
)
_OTHERS: dict[tuple[str, ...], frozenset[str]] = {
    ("german",): frozenset(
        "aber als am an auch auf aus bei beim bin bis bist da das dass dein dem den der des die du ein eine einem "
        "einen einer es für hab habe haben hat ich ihm ihn ihr im in ist kann kein man mein mich mir mit nach nicht "
        "noch nur ob oder sein sich sie sind so über um und uns unser unsere vom von vor war was wann wem wen wenn "
        "wer werden wie wir wird wo zu zum zur".split()
    ),
    ("spanish",): frozenset(
        "a al algo como con cual cuál cuando cuándo de del desde donde dónde el él ella ellos en era eres es esa ese "
        "eso esta está este esto fue ha han hay la las le les lo los más me mi mis muy no nos o para pero por porque "
        "que qué quien quién se ser si sí sin sobre son soy su sus también te tengo tiene tu un una uno y ya yo".split()
    ),
    ("french",): frozenset(
        "à au aux avec ce ces cette dans de des du elle elles en est et était eux il ils je la le les leur lui "
        "ma mais me même mes moi mon ne nos notre nous on ou où par pas pour qu quand que quel quelle qui sa "
        "sans se ses son suis sur ta tes toi ton tu un une vos votre vous y".split()
    ),
    ("italian", "portuguese"): frozenset(
        "a ai al alla che chi ci come con cosa da dal dalla de dei del della delle di do dos e è em era foi gli ha ho "
        "i il in io la le lo ma me mi mia mio na nel nella no non o onde os para per perché por quando que qual quale "
        "quem se seu si sono su sua te tu um uma un una você".split()
    ),
}
STOP_WORDS = _ENGLISH.union(_CYRILLIC, *_OTHERS.values())
"""Words that say nothing about what is looked for. Measured on LoCoMo: without them R@10 rises by 5 to 6 points."""

_FUNCTION_WORDS = re.compile("|".join(sorted(FUNCTION_PHRASES, key=len, reverse=True)))
_SMALL_TALK_WORDS = ACKNOWLEDGEMENTS | PLEASANTRIES | STOP_WORDS
_SMALL_TALK_RUN = re.compile(f"(?:{'|'.join(sorted(SMALL_TALK_PHRASES, key=len, reverse=True))})+")
_ASKS_FOR_MORE = ASKING_WHO | ASKING_WHEN
_ADDRESSES = ASKED | ASKED_OBJECTS
MOST_TELLING = 0.2
"""The part of the words of chatter that may tell something."""
MOST_TELLING_OF_NO_QUESTION = 0.5
"""The same of what is no question: half of it may tell something, and it still speaks rather than asks."""
SHORT = 6
"""Words up to which a text that says nothing telling is small talk."""
# on Latin letters; and the vowel signs and tone marks of Thai, Lao, Burmese and Khmer
_ACCENT = re.compile(
    "(?<=[a-z])[\u0300-\u036f]+"
    "|[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3]"
)
_INNER_APOSTROPHE = re.compile("(?<=[\u0400-\u04ff])['’](?=[\u0400-\u04ff])")


@functools.lru_cache(maxsize=64)  # a message stands in the columns of its four neighbours, too
def indexable(text: str | None) -> str | None:
    """`text` as the index takes it: compatibility forms folded, unspaced scripts cut into characters."""
    if text is None:
        return None
    beginning = text[:LONGEST_INDEXED]
    if beginning.isascii():
        return beginning
    # Cyrillic words lose their endings here, since FTS5 stems English only
    stemmed = _CYRILLIC_WORD.sub(lambda word: stem_of(plain(word.group())), _folded(beginning))
    # FTS5 takes a whole Chinese sentence for one word; of single characters a query finds neighbouring pairs
    return _UNSPACED_CHARACTER.sub(r" \1 ", stemmed)


def date_words(moment: str | None) -> str | None:
    """The words under which a moment is found: `2026-02-07T...` as `2026 february 7 saturday`."""
    if moment is None:
        return None
    try:
        day = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return f"{day:%Y %B} {day.day} {day:%A}"


def match_expression(query: str) -> str | None:
    """The FTS5 expression that finds `query`; None when no word of it counts. Every term is quoted: it is data."""
    return " OR ".join(query_terms(query)) or None


def mention_expressions(subjects: Iterable[str]) -> tuple[str, str] | None:
    """The FTS5 expressions for what speaks of a subject in its own text, not in that of its neighbours.

    The first asks for all telling words of one of the subjects, the second for any of them; None when no word counts.
    """
    whole: list[str] = []
    some: list[str] = []
    for subject in subjects:
        words, languages = sought_parts(subject)
        pieces = [piece for word in words for piece in ([word] if has_gaps(word) else between_function_words(word))]
        terms = [_terms_of(piece, languages) for piece in pieces[:MOST_TERMS]]
        # of a word any form, of a run of letters each pair
        needed = [f"({(' OR ' if has_gaps(p) else ' AND ').join(t)})" for p, t in zip(pieces, terms, strict=False) if t]
        whole += [f"({' AND '.join(needed)})"] if needed else []
        some += [term for each in terms for term in each]
    if not whole:
        return None
    everything = f"{{body name tags scope speaker date}} : ({' OR '.join(whole)})"
    # that the person who is named speaks, or the day, tells nothing by itself
    anything = f"({everything}) OR ({{body name tags scope}} : ({' OR '.join(dict.fromkeys(some))}))"
    return everything, anything


def query_terms(query: str) -> list[str]:
    """The terms of a query as FTS5 takes them, without stop words unless there is nothing else."""
    telling, languages = telling_parts(query)
    terms: list[str] = []
    for word in telling:
        terms += _terms_of(word, languages)
        if len(terms) >= MOST_TERMS:
            break
    return list(dict.fromkeys(terms))[:MOST_TERMS]


def telling_parts(query: str) -> tuple[list[str], tuple[str, ...]]:
    """The words of a query but for stop words, once each, and the languages they may be in that FTS5 does not stem."""
    matches = _WORD.findall(_folded(query[:LONGEST_INDEXED]))
    words = list(dict.fromkeys(part for word in matches for part in _parts(word)))
    said_nothing, languages = _language_of(words)
    return [word for word in words if word not in said_nothing] or words, languages


def sought_parts(question: str) -> tuple[list[str], tuple[str, ...]]:
    """The same without the words that only ask, unless there is nothing else."""
    words, languages = telling_parts(question)
    return [word for word in words if word not in RECALLING and word not in ASKING_WHO] or words, languages


def between_function_words(run: str) -> list[str]:
    """What a run of letters without gaps holds between its function words; all of it where there is nothing else."""
    return [part for part in _FUNCTION_WORDS.split(run) if part] or [run]


def pairs_of(run: str) -> list[str]:
    """The neighbouring letters of a run without gaps; one letter alone is itself."""
    return [run] if len(run) == 1 else ["".join(pair) for pair in itertools.pairwise(run)]


def is_small_talk(text: str) -> bool:
    """Whether `text` is a greeting or an acknowledgement: nothing to look for and nothing to find or to learn."""
    matches = _WORD.finditer(_folded(text[:LONGEST_SMALL_TALK]))
    words = [word.group() for word in itertools.islice(matches, SHORT + 1)]
    return len(words) <= SHORT and all(word in ACKNOWLEDGEMENTS or word in STOP_WORDS for word in words)


def is_chatter(text: str) -> bool:
    """Whether `text` is small talk, of any length, or a greeting with hardly a word that tells something.

    Not as sure as `is_small_talk`: for what is looked up, not for what is found or learnt ("no, I never work" is both).
    """
    if is_small_talk(text):
        return True
    words = words_of(text)
    if len(text) > LONGEST_SMALL_TALK or not words:
        return False
    has_acknowledged = any(word in ACKNOWLEDGEMENTS or not has_gaps(word) for word in words)
    if has_acknowledged and all(map(_is_pleasant, words)):
        return _ASKS_FOR_MORE.isdisjoint(words)
    if _asks_how_you_are(words):
        return True
    if not only_greets(text):
        return False
    if not all(has_gaps(word) for word in words):
        return _unknown_part("".join(words)) <= MOST_TELLING
    telling = sum(word not in _SMALL_TALK_WORDS for word in words)
    return len(words) > SHORT and telling <= MOST_TELLING * len(words)


def _asks_how_you_are(words: list[str]) -> bool:
    """Whether it is said to the one who is spoken to, about them alone, without a word that tells anything."""
    present = set(words)
    return (
        not present.isdisjoint(_ADDRESSES)
        and present.isdisjoint(ASKER | ASKER_OBJECTS | RECALLING | _ASKS_FOR_MORE)
        and not any(map(str.isdigit, words))
        and all(word in _ADDRESSES or _is_pleasant(word) for word in words)
    )


def _is_pleasant(word: str) -> bool:
    return word in _SMALL_TALK_WORDS or _SMALL_TALK_RUN.fullmatch(word) is not None


def only_greets(text: str) -> bool:
    """Whether `text` greets, thanks, laughs or takes leave, and asks for nothing."""
    words = words_of(text[:LONGEST_SMALL_TALK])
    if not words or len(text) > LONGEST_SMALL_TALK or text.rstrip().endswith(("?", "？")):
        return False
    if any(map(str.isdigit, words)) or not _ASKS_FOR_MORE.union(REQUESTS).isdisjoint(words):
        return False
    return not GREETINGS.isdisjoint(words) or _SMALL_TALK_RUN.match(words[0]) is not None


def asks_for_nothing(text: str) -> bool:
    """Whether `text` greets, or is no question and no request, and at most half of its words tell something."""
    if only_greets(text):
        return True
    words = words_of(text[:LONGEST_SMALL_TALK])
    if not words or len(text) > LONGEST_SMALL_TALK or text.rstrip().endswith(("?", "？")):
        return False
    asks = _ASKS_FOR_MORE | REQUESTS | RECALLING
    if not asks.isdisjoint(words) or any(map(str.isdigit, words)) or not all(map(has_gaps, words)):
        return False
    return sum(word not in _SMALL_TALK_WORDS for word in words) <= MOST_TELLING_OF_NO_QUESTION * len(words)


def says_nothing(words: Iterable[str]) -> bool:
    return all(word in _SMALL_TALK_WORDS for word in words)


def has_telling_words(text: str) -> bool:
    return any(word not in STOP_WORDS if has_gaps(word) else _FUNCTION_WORDS.sub("", word) for word in words_of(text))


def words_of(text: str) -> list[str]:
    """The words of a text, in one case; of a script without gaps all up to the next one."""
    return [part for word in _WORD.findall(_folded(text)) for part in _parts(word)]


def word_places(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end; of a script without gaps, where each two letters do."""
    places: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        start, end = word.span()
        step = end - start if has_gaps(word.group()) else _LETTERS_OF_WORD
        places += [(at, min(at + step, end)) for at in range(start, end, step)]
    return places


def _unknown_part(run: str) -> float:
    return len(_SMALL_TALK_RUN.sub("", run)) / len(run)


def has_gaps(word: str) -> bool:
    """Whether a word is of a script that puts gaps between words."""
    return _UNSPACED_CHARACTER.match(word) is None


def plain(text: str) -> str:
    """`text` in one case, without accents, which the index leaves out too, and apostrophes inside Cyrillic words."""
    if text.isascii():
        return text.lower()
    bare = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", text).casefold()))
    return _INNER_APOSTROPHE.sub("", bare.replace("\u02bc", "'").replace("ё", "е"))


def _folded(text: str) -> str:
    """`text` without differences of case, width and apostrophe."""
    return unicodedata.normalize("NFKC", text).casefold().replace("\u02bc", "'")


def _parts(word: str) -> list[str]:
    """What an apostrophe joins, single letters left out: `l'école d'ann` is `école` and `ann`."""
    if _CYRILLIC_WORD.fullmatch(word):
        return [word]
    parts = _APOSTROPHE.split(word)
    return [part for part in parts if len(part) > 1] or parts


def _language_of(words: list[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The stop words of the language that `words` are in, and which it may be where FTS5 does not stem it."""
    hits = {languages: len(vocabulary.intersection(words)) for languages, vocabulary in _OTHERS.items()}
    most = max(hits.values())
    # one word tells no language: `war` and `hat` are German stop words and telling English ones
    if most > len(_ENGLISH.intersection(words)) and (most > 1 or not "".join(words).isascii()):
        likely = [languages for languages, count in hits.items() if count == most]
        return _CYRILLIC.union(*(_OTHERS[languages] for languages in likely)), tuple(itertools.chain(*likely))
    return _ENGLISH | _CYRILLIC, ()


def _terms_of(word: str, languages: Sequence[str]) -> list[str]:
    if _UNSPACED_RUN.fullmatch(word):
        # FTS5 takes vowel signs and tone marks, as Thai has them, for gaps between words
        letters = [character for character in word if not unicodedata.category(character).startswith("M")]
        return [f'"{a} {b}"' for a, b in itertools.pairwise(letters)] or [f'"{word}"']
    if _CYRILLIC_WORD.fullmatch(word):
        return [f'"{stem_of(plain(word))}"']
    return [f'"{word}"', *(f'"{beginning}" *' for beginning in beginnings(plain(word), languages))]


def beginnings(word: str, languages: Iterable[str]) -> list[str]:
    """With what the forms of a word of `plain` text begin in languages that FTS5 does not stem."""
    of_languages = (beginning_of(word, language) for language in languages)
    return list(dict.fromkeys(plain(beginning) for beginning in of_languages if beginning))
