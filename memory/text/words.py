"""Tokenisation for the search index and its queries: which words count, and how text is split.

FTS5 needs the exact indexed text to delete it from the index. So a change to the results of `prepare_for_index` or
`format_date_words` needs a migration that rebuilds the index: see REBUILD in memory/store/schema.py.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime

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
from memory.text.stemming import find_common_prefix, stem_word

# Scripts without spaces: Thai, Lao, Myanmar, Khmer, kana, Han and Yi, and Hangul because of its particles.
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
"""A word of `to_plain` text, or a run of characters of a script without spaces."""
MAX_SMALL_TALK_CHARS = 200
MAX_INDEXED_CHARS = 20_000
"""Characters of a text that are indexed. The rest is stored, but can't be found."""
MAX_TERMS = 40
"""Terms of one query. The first ones are used, since rarity is not known before the search."""
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
"""Words that are left out of queries. Measured on LoCoMo: without them R@10 rises by 5 to 6 points."""

_FUNCTION_WORDS = re.compile("|".join(sorted(FUNCTION_PHRASES, key=len, reverse=True)))
_SMALL_TALK_WORDS = ACKNOWLEDGEMENTS | PLEASANTRIES | STOP_WORDS
_SMALL_TALK_RUN = re.compile(f"(?:{'|'.join(sorted(SMALL_TALK_PHRASES, key=len, reverse=True))})+")
_ASKS_FOR_MORE = ASKING_WHO | ASKING_WHEN
_ADDRESSES = ASKED | ASKED_OBJECTS
MAX_TELLING_SHARE = 0.2
"""Maximum share of telling words in chatter."""
MAX_TELLING_SHARE_WITHOUT_QUESTION = 0.5
"""Maximum share of telling words in a message that asks for nothing."""
MAX_SMALL_TALK_WORDS = 6
# Accents on Latin letters, and the vowel signs and tone marks of Thai, Lao, Burmese and Khmer.
_ACCENT = re.compile(
    "(?<=[a-z])[\u0300-\u036f]+"
    "|[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3]"
)
_INNER_APOSTROPHE = re.compile("(?<=[\u0400-\u04ff])['’](?=[\u0400-\u04ff])")


@functools.lru_cache(maxsize=64)  # A message is also in the columns of its four neighbours.
def prepare_for_index(text: str | None) -> str | None:
    """Return `text` for the index: compatibility forms folded, unspaced scripts split into characters."""
    if text is None:
        return None
    beginning = text[:MAX_INDEXED_CHARS]
    if beginning.isascii():
        return beginning
    # Cyrillic words are stemmed here, since FTS5 stems English only.
    stemmed = _CYRILLIC_WORD.sub(lambda word: stem_word(to_plain(word.group())), _fold(beginning))
    # FTS5 treats a whole Chinese sentence as one word. With single characters a query can match adjacent pairs.
    return _UNSPACED_CHARACTER.sub(r" \1 ", stemmed)


def format_date_words(moment: str | None) -> str | None:
    """Return the index words of a timestamp: `2026 february 7 saturday` for `2026-02-07T...`."""
    if moment is None:
        return None
    try:
        day = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return f"{day:%Y %B} {day.day} {day:%A}"


def build_match_expression(query: str) -> str | None:
    """Return the FTS5 expression for `query`, or None if it has no terms. Every term is quoted."""
    return " OR ".join(extract_query_terms(query)) or None


def build_mention_expressions(subjects: Iterable[str]) -> tuple[str, str] | None:
    """Return FTS5 expressions that match subjects in the text itself, not in neighbouring messages.

    The first requires all telling words of one of the subjects, the second any of them. None if there are no terms.
    """
    whole: list[str] = []
    some: list[str] = []
    for subject in subjects:
        words, languages = extract_sought_parts(subject)
        pieces = [piece for word in words for piece in ([word] if has_gaps(word) else split_at_function_words(word))]
        terms = [_build_terms(piece, languages) for piece in pieces[:MAX_TERMS]]
        # Any form of a word, but all pairs of a run without spaces.
        needed = [f"({(' OR ' if has_gaps(p) else ' AND ').join(t)})" for p, t in zip(pieces, terms, strict=False) if t]
        whole += [f"({' AND '.join(needed)})"] if needed else []
        some += [term for each in terms for term in each]
    if not whole:
        return None
    everything = f"{{body name tags scope speaker date}} : ({' OR '.join(whole)})"
    # A match of only the speaker or the date is not a mention.
    anything = f"({everything}) OR ({{body name tags scope}} : ({' OR '.join(dict.fromkeys(some))}))"
    return everything, anything


def extract_query_terms(query: str) -> list[str]:
    """Return the FTS5 terms of a query, without stop words unless there are no other words."""
    telling, languages = extract_telling_parts(query)
    terms: list[str] = []
    for word in telling:
        terms += _build_terms(word, languages)
        if len(terms) >= MAX_TERMS:
            break
    return list(dict.fromkeys(terms))[:MAX_TERMS]


def extract_telling_parts(query: str) -> tuple[list[str], tuple[str, ...]]:
    """Return the words of a query without stop words, and its likely languages among those that FTS5 doesn't stem."""
    matches = _WORD.findall(_fold(query[:MAX_INDEXED_CHARS]))
    words = list(dict.fromkeys(part for word in matches for part in _split_word(word)))
    said_nothing, languages = _detect_language(words)
    return [word for word in words if word not in said_nothing] or words, languages


def extract_sought_parts(question: str) -> tuple[list[str], tuple[str, ...]]:
    """Return `extract_telling_parts` without words that only ask, such as "remember", unless there are no others."""
    words, languages = extract_telling_parts(question)
    return [word for word in words if word not in RECALLING and word not in ASKING_WHO] or words, languages


def split_at_function_words(run: str) -> list[str]:
    """Split a run of a script without spaces at its function words. Return all of it if nothing else remains."""
    return [part for part in _FUNCTION_WORDS.split(run) if part] or [run]


def split_into_pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else ["".join(pair) for pair in itertools.pairwise(run)]


def is_small_talk(text: str) -> bool:
    """Return True if `text` is a greeting or an acknowledgement, with nothing to search for, to find or to learn."""
    matches = _WORD.finditer(_fold(text[:MAX_SMALL_TALK_CHARS]))
    words = [word.group() for word in itertools.islice(matches, MAX_SMALL_TALK_WORDS + 1)]
    return len(words) <= MAX_SMALL_TALK_WORDS and all(word in ACKNOWLEDGEMENTS or word in STOP_WORDS for word in words)


def is_chatter(text: str) -> bool:
    """Return True if `text` is small talk of any length, or a greeting with few telling words.

    It is less certain than `is_small_talk`. Use it for queries, but not for hits or captures, since it matches "no, I
    never work" too.
    """
    if is_small_talk(text):
        return True
    words = split_words(text)
    if len(text) > MAX_SMALL_TALK_CHARS or not words:
        return False
    has_acknowledged = any(word in ACKNOWLEDGEMENTS or not has_gaps(word) for word in words)
    if has_acknowledged and all(map(_is_pleasant, words)):
        return _ASKS_FOR_MORE.isdisjoint(words)
    if _asks_how_you_are(words):
        return True
    if not only_greets(text):
        return False
    if not all(has_gaps(word) for word in words):
        return _compute_unknown_share("".join(words)) <= MAX_TELLING_SHARE
    telling = sum(word not in _SMALL_TALK_WORDS for word in words)
    return len(words) > MAX_SMALL_TALK_WORDS and telling <= MAX_TELLING_SHARE * len(words)


def _asks_how_you_are(words: list[str]) -> bool:
    """Return True for a question about the listener without telling words, such as "how are you today?"."""
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
    """Return True if `text` is a greeting, thanks or a goodbye that asks for nothing."""
    words = split_words(text[:MAX_SMALL_TALK_CHARS])
    if not words or len(text) > MAX_SMALL_TALK_CHARS or text.rstrip().endswith(("?", "？")):
        return False
    if any(map(str.isdigit, words)) or not _ASKS_FOR_MORE.union(REQUESTS).isdisjoint(words):
        return False
    return not GREETINGS.isdisjoint(words) or _SMALL_TALK_RUN.match(words[0]) is not None


def asks_for_nothing(text: str) -> bool:
    """Return True if `text` is a greeting, or no question or request and at most half of its words are telling."""
    if only_greets(text):
        return True
    words = split_words(text[:MAX_SMALL_TALK_CHARS])
    if not words or len(text) > MAX_SMALL_TALK_CHARS or text.rstrip().endswith(("?", "？")):
        return False
    asks = _ASKS_FOR_MORE | REQUESTS | RECALLING
    if not asks.isdisjoint(words) or any(map(str.isdigit, words)) or not all(map(has_gaps, words)):
        return False
    return sum(word not in _SMALL_TALK_WORDS for word in words) <= MAX_TELLING_SHARE_WITHOUT_QUESTION * len(words)


def says_nothing(words: Iterable[str]) -> bool:
    return all(word in _SMALL_TALK_WORDS for word in words)


def has_telling_words(text: str) -> bool:
    return any(
        word not in STOP_WORDS if has_gaps(word) else _FUNCTION_WORDS.sub("", word) for word in split_words(text)
    )


def split_words(text: str) -> list[str]:
    """Return the case-folded words of a text. A run of a script without spaces is one word."""
    return [part for word in _WORD.findall(_fold(text)) for part in _split_word(word)]


def find_words(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each word. In a script without spaces two letters count as a word."""
    places: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        start, end = word.span()
        step = end - start if has_gaps(word.group()) else _LETTERS_OF_WORD
        places += [(at, min(at + step, end)) for at in range(start, end, step)]
    return places


def _compute_unknown_share(run: str) -> float:
    return len(_SMALL_TALK_RUN.sub("", run)) / len(run)


def has_gaps(word: str) -> bool:
    """Return True if the word's script has spaces between words."""
    return _UNSPACED_CHARACTER.match(word) is None


def to_plain(text: str) -> str:
    """Return case-folded `text` without accents, like the index, and without apostrophes inside Cyrillic words."""
    if text.isascii():
        return text.lower()
    bare = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", text).casefold()))
    return _INNER_APOSTROPHE.sub("", bare.replace("\u02bc", "'").replace("ё", "е"))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("\u02bc", "'")


def _split_word(word: str) -> list[str]:
    """Split a word at apostrophes and drop single letters: `l'école` becomes `école`."""
    if _CYRILLIC_WORD.fullmatch(word):
        return [word]
    parts = _APOSTROPHE.split(word)
    return [part for part in parts if len(part) > 1] or parts


def _detect_language(words: list[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the stop words for the language of `words`, and its likely names if FTS5 doesn't stem it."""
    hits = {languages: len(vocabulary.intersection(words)) for languages, vocabulary in _OTHERS.items()}
    most = max(hits.values())
    # One word doesn't identify a language: `war` and `hat` are German stop words, but telling in English.
    if most > len(_ENGLISH.intersection(words)) and (most > 1 or not "".join(words).isascii()):
        likely = [languages for languages, count in hits.items() if count == most]
        return _CYRILLIC.union(*(_OTHERS[languages] for languages in likely)), tuple(itertools.chain(*likely))
    return _ENGLISH | _CYRILLIC, ()


def _build_terms(word: str, languages: Sequence[str]) -> list[str]:
    if _UNSPACED_RUN.fullmatch(word):
        # FTS5 treats vowel signs and tone marks, such as those of Thai, as separators.
        letters = [character for character in word if not unicodedata.category(character).startswith("M")]
        return [f'"{a} {b}"' for a, b in itertools.pairwise(letters)] or [f'"{word}"']
    if _CYRILLIC_WORD.fullmatch(word):
        return [f'"{stem_word(to_plain(word))}"']
    return [f'"{word}"', *(f'"{beginning}" *' for beginning in find_prefixes(to_plain(word), languages))]


def find_prefixes(word: str, languages: Iterable[str]) -> list[str]:
    """Return prefixes of the forms of a word in languages that FTS5 doesn't stem."""
    of_languages = (find_common_prefix(word, language) for language in languages)
    return list(dict.fromkeys(to_plain(beginning) for beginning in of_languages if beginning))
