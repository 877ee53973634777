"""Tests of the stemmer, which must match that of the index."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory.text.stemming import find_common_prefix, stem_word

WORDS = (
    "neighbours bicycles repaired allergies running activities painted happily happiness relational hoping ties sky "
    "is as us be keys boxes vietnamization controllable university formaliti oscillators conflated kuche"
).split()


def test_latin_words_have_the_stems_of_the_index() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE words USING fts5 (word, tokenize = 'porter unicode61 remove_diacritics 2')"
    )
    connection.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (words, 'instance')")
    connection.executemany("INSERT INTO words (rowid, word) VALUES (?, ?)", enumerate(WORDS))
    stems = dict(connection.execute("SELECT doc, term FROM terms").fetchall())
    connection.close()
    assert [stem_word(word) for word in WORDS] == [stems[number] for number in range(len(WORDS))]


@pytest.mark.parametrize(
    "forms",
    [
        "соседка соседки соседку",
        "сусідка сусідки сусідку",
        "бабусі бабусю бабусею",
        "ключ ключи ключами ключі",
        "читала читаю читать читает",
        "місто міста місті",
        "песня песню песни",
    ],
)
def test_cyrillic_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem_word(word) for word in forms.split()}) == 1


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("german", "küche küchen"),
        ("spanish", "canción canciones"),
        ("french", "chanson chansons"),
        ("italian", "canzone canzoni"),
    ],
)
def test_forms_of_a_word_share_a_prefix_in_their_language(language: str, forms: str) -> None:
    begun = {find_common_prefix(word, language) for word in forms.split()}
    assert len(begun) == 1
    assert None not in begun


def test_concurrent_threads_get_correct_stems() -> None:
    words = [f"word{number}s" for number in range(2_000)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(stem_word, words)) == [word[:-1] for word in words]
