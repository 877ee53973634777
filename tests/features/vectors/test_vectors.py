"""Tests of quantised vectors and their comparison."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.features.vectors.search import BARE_QUESTIONS, OwnerVectors, VectorSearch, remove_names
from bot.features.vectors.store import EmbedderError, Embedding, Vectors, format_for_embedding, quantise
from memory.search.search import Search
from memory.search.types import MESSAGE_KIND, Filter, make_hit_key
from memory.store.database import Database
from tests.support.fakes import FakeClock
from tests.support.servers.embedder import MeaningEmbedder
from tests.support.talk import Store

NUMBERS = st.floats(-1000, 1000, allow_nan=False, width=32)


@given(st.lists(NUMBERS, min_size=1, max_size=200))
def test_quantised_vector_keeps_its_direction(vector: list[float]) -> None:
    small = quantise(vector)
    assert len(small) == len(vector)
    largest = max(map(abs, vector))
    for number, kept in zip(vector, small, strict=True):
        assert abs(kept * largest / 127 - number) <= largest / 127


def test_quantised_vectors_keep_their_cosines() -> None:
    source = np.random.default_rng(1)
    vectors = source.normal(size=(1_000, 384)).astype(np.float32)
    asked = source.normal(size=(2, 384)).astype(np.float32)
    small = np.array([quantise(vector) for vector in vectors.tolist()], np.int8)
    norms = np.linalg.norm(small.astype(np.float32), axis=1)
    known = OwnerVectors(np.arange(1_000), np.zeros(1_000, np.int64), small, norms)
    exact = asked @ vectors.T / np.linalg.norm(asked, axis=1)[:, None] / np.linalg.norm(vectors, axis=1)
    assert np.abs(known.compute_cosines(asked) - exact).max() < 0.01


def test_question_of_another_length_is_refused() -> None:
    known = OwnerVectors(np.arange(3), np.zeros(3, np.int64), np.ones((3, 384), np.int8), np.ones(3, np.float32))
    with pytest.raises(EmbedderError):
        known.compute_cosines(np.ones((2, 8), np.float32))


def test_speaker_names_are_left_out_of_a_question() -> None:
    speakers = {"Caroline", "Melanie Ford"}
    assert remove_names("What did Caroline buy for Melanie's birthday?", speakers) == "What did buy for birthday?"
    assert remove_names("Caroline?", speakers) == "Caroline?"
    assert remove_names("Who sang?", set()) == "Who sang?"


def test_embedded_form_begins_with_the_speaker() -> None:
    assert format_for_embedding("user", "hello") == "User: hello"
    assert format_for_embedding("Ann B", "hello") == "Ann B: hello"


async def test_phrasing_of_a_question_does_not_count_as_meaning(database: Database, clock: FakeClock) -> None:
    store, vectors = Store.create(database, clock), Vectors(database)
    asking = {word: "asking" for question in BARE_QUESTIONS for word in re.findall(r"\w+", question.casefold())}
    embedder = MeaningEmbedder({**asking, "really": "asking", "dachshund": "dog", "pet": "dog"})
    session = await store.session("ann")
    for text in ("What? Really? What?", "The dachshund is asleep on the new carpet in the hall", "It rained"):
        await store.commit_exchange(session, text, "I see.")
    embedding = Embedding(vectors, embedder)
    while await embedding.embed_batch():
        pass
    only = Filter(kinds=[MESSAGE_KIND])
    near = await VectorSearch(Search(database), vectors, embedder).compare("What of the pet?", session.owner, [], only)
    best = max(near.found, key=lambda hit: near.by_key[make_hit_key(hit)].bare)
    assert best.content.startswith("The dachshund")
