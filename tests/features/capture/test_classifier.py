"""Tests of the capture classifier: reproducible, complete, and safe for any text."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.features.capture.classifier import (
    BUCKETS,
    KIND_BUCKETS,
    WEIGHTS,
    CaptureKind,
    extract_features,
    hash_features,
    load_classifier,
)
from bot.features.capture.statements import capture_statements

MAX_WEIGHTS_BYTES = 300_000
"""Bytes of the weights, which come with every copy of Mneme."""


def test_feature_has_the_same_bucket_in_every_process() -> None:
    said = "I live in Cork, я живу в Корке, 我住在科克"
    groups = f"[sorted(group) for group in hash_features({said!r})]"
    program = f"from bot.features.capture.classifier import hash_features; print({groups})"
    printed = {
        subprocess.run(  # noqa: S603 - fixed text
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert printed == {str([sorted(group) for group in hash_features(said)])}


def test_weights_file_is_complete_and_names_its_origin() -> None:
    assert WEIGHTS.stat().st_size < MAX_WEIGHTS_BYTES
    known = load_classifier()
    assert "benchmarks.fit_capture" in known.header.origin
    assert known.header.later < known.header.explicit < known.header.at_once
    assert len(known.weights) == BUCKETS
    assert [len(weights) for weights in known.kind_weights] == [KIND_BUCKETS] * len(CaptureKind)
    assert len(known.header.kind_bias) == len(CaptureKind)


@pytest.mark.parametrize(
    ("one", "other"),
    [("my sister is a vet", "моя сестра врач"), ("ich bin allergisch gegen Nüsse", "je suis allergique aux noix")],
)
def test_translations_share_features(one: str, other: str) -> None:
    assert set(extract_features(one)[2]) & set(extract_features(other)[2])


@pytest.mark.parametrize(
    "text", ["", " ", "?", "ฉันชอบชา", "私は京都に住んでいます", "أسكن في القاهرة", "\ud800", "\ue000" * 9]
)
def test_unknown_scripts_are_judged_without_errors(text: str) -> None:
    assert math.isfinite(load_classifier().score(text))
    assert load_classifier().kind(text) in CaptureKind


@given(st.text(max_size=2_000))
def test_any_text_is_judged_within_a_feature_limit(text: str) -> None:
    assert math.isfinite(load_classifier().score(text))
    assert sum(map(len, extract_features(text * 50))) < 20_000


def test_statement_contradicted_by_its_sentence_is_refused() -> None:
    assert capture_statements("in this chapter my name is Zorg and the villain always lies") == []


@pytest.mark.parametrize(
    "text",
    [
        "it's just me and our three huskies out on the farm",
        "meine Oma ist seit dem Schlaganfall im Rollstuhl",
        "у нас двое детей и старый спаниель",
    ],
)
def test_sentence_for_the_model_scores_above_the_lower_threshold(text: str) -> None:
    assert load_classifier().score(text) >= load_classifier().header.later
