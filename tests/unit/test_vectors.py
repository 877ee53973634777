"""Vectors as they are kept: a byte a number, and the signs; what is nearest by them is nearest."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory.search.meaning import without_names
from memory.search.nearness import Known
from memory.search.vectors import embedded_form, quantised, signs_of

NUMBERS = st.floats(-1000, 1000, allow_nan=False, width=32)


@given(st.lists(NUMBERS, min_size=1, max_size=200))
def test_a_kept_vector_points_where_the_vector_did(vector: list[float]) -> None:
    small = quantised(vector)
    assert len(small) == len(vector)
    largest = max(map(abs, vector))
    for number, kept in zip(vector, small, strict=True):
        assert abs(kept * largest / 127 - number) <= largest / 127


@given(st.lists(NUMBERS, min_size=1, max_size=200))
def test_signs_are_whole_words_with_a_bit_for_each_number_above_nothing(vector: list[float]) -> None:
    small = quantised(vector)
    signs = signs_of(small)
    assert len(signs) % 8 == 0
    assert len(signs) * 8 - len(vector) < 64
    assert sum(byte.bit_count() for byte in signs) == sum(number > 0 for number in small)


def test_the_nearest_of_many_are_among_those_with_the_nearest_signs() -> None:
    source = np.random.default_rng(1)
    vectors = source.normal(size=(5_000, 384))
    asked = vectors[1234] + source.normal(size=384) * 0.8
    signs = np.stack([np.frombuffer(signs_of(quantised(vector)), np.uint64) for vector in vectors.tolist()])
    known = Known(np.arange(5_000), np.zeros(5_000, np.int64), signs)
    nearest = known.nearest(np.frombuffer(signs_of(quantised(asked.tolist())), np.uint64))
    best = np.argsort(-(vectors @ asked) / np.linalg.norm(vectors, axis=1))
    assert best[0] == 1234
    assert len(set(best[:10].tolist()) & set(nearest.tolist())) >= 7
    assert 1234 in nearest
    assert len(nearest) < 1_000


def test_signs_of_another_length_are_near_to_nothing() -> None:
    known = Known(np.arange(3), np.zeros(3, np.int64), np.zeros((3, 6), np.uint64))
    assert len(known.nearest(np.zeros(1, np.uint64))) == 0


def test_the_names_of_speakers_are_left_out_of_a_question() -> None:
    speakers = {"Caroline", "Melanie Ford"}
    assert without_names("What did Caroline buy for Melanie's birthday?", speakers) == "What did buy for birthday?"
    assert without_names("Caroline?", speakers) == "Caroline?"
    assert without_names("Who sang?", set()) == "Who sang?"


def test_who_said_it_stands_before_what_was_said() -> None:
    assert embedded_form("user", "hello") == "User: hello"
    assert embedded_form("Ann B", "hello") == "Ann B: hello"
