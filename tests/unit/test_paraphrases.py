"""Tests of the paraphrased pairs of the benchmark."""

from __future__ import annotations

from collections import Counter

from benchmarks.paraphrases import HALVES, OTHER_MESSAGES, read_other_messages, read_paraphrases

LANGUAGES = {"en", "de", "ru", "es", "fr", "zh"}


def test_each_half_has_twenty_facts_in_each_language() -> None:
    counts = Counter((pair.language, pair.half) for pair in read_paraphrases())
    assert counts == {(language, half): 20 for language in LANGUAGES for half in HALVES}


def test_facts_are_hidden_among_equally_many_messages_per_language() -> None:
    told = {pair.told for pair in read_paraphrases()}
    for language in LANGUAGES:
        others = read_other_messages(language)
        assert len(others) == OTHER_MESSAGES
        assert told.isdisjoint(others)
