"""Tests of making text valid and visible."""

from __future__ import annotations

import json
import unicodedata
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.text.validity import JsonRepair, escape_invisible, make_storable, replace_invalid, replace_invalid_in_json

ANY_TEXT = (
    st.text(st.characters()) | st.text(st.sampled_from(["\ud83d", "\ude00"])) | st.text("\ud83d\ude00\0a\\", max_size=8)
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=10,
)


@given(ANY_TEXT)
def test_valid_text_of_any_text_can_be_encoded(text: str) -> None:
    valid = replace_invalid(text)
    assert "\0" not in valid
    assert valid.encode().decode() == valid
    assert replace_invalid(valid) == valid


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_valid_text_leaves_valid_text_alone(text: str) -> None:
    assert replace_invalid(text) == text


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("half \ud83d", "half \ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("a\0b", "a\ufffdb"),
        ("é\0", "é\ufffd"),
    ],
)
def test_valid_text_pairs_or_replaces_surrogates(text: str, valid: str) -> None:
    assert replace_invalid(text) == valid


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_storable_breaks_endless_runs_of_marks(form: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> None:
    text = make_storable("a" + "\u0301\u0323" * 100_000)
    assert make_storable(text) == text
    assert max(map(len, text.split("\u034f"))) <= 31
    # 200,000 in one run would take minutes.
    assert unicodedata.normalize(form, text)


@pytest.mark.parametrize("text", ["a" + "\u0301" * 30, "\U0001f600" * 500, "。" * 500, "שָׁלוֹם" * 50])
def test_storable_leaves_short_runs_of_marks_alone(text: str) -> None:
    assert make_storable(text) == text


@given(ANY_JSON)
def test_valid_json_of_any_value_can_be_encoded(value: object) -> None:
    valid = replace_invalid_in_json(value)
    encoded = json.dumps(valid, ensure_ascii=False).encode()
    assert json.loads(encoded) == valid


def test_valid_json_keeps_numbers_and_repairs_keys() -> None:
    assert replace_invalid_in_json({"\ud83d": [1, True, None, 2.5, ("\0",)]}) == {
        "\ufffd": [1, True, None, 2.5, ["\ufffd"]]
    }


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("evil\u202etxt.exe", "evil\\u202etxt.exe"),
        ("a\u200bb\u2066c", "a\\u200bb\\u2066c"),
        ("\x1b[2Jx\x7f\x85", "\\u001b[2Jx\\u007f\\u0085"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("half \ud83d", "half \\ud83d"),
        ("a\r\nb", "a\\u000d\nb"),
        ("pay\u200dpal", "pay\\u200dpal"),
        ("two\n\tlines", "two\n\tlines"),
        ("привіт, 你好, שלום", "привіт, 你好, שלום"),
        (
            "family \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f",
            "family \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f",
        ),
    ],
)
def test_visible_text_shows_hiding_characters_as_codes(text: str, visible: str) -> None:
    assert escape_invisible(text) == visible


@given(ANY_JSON, st.lists(st.integers(0, 400)))
def test_json_repair_gives_valid_json_in_any_pieces(value: object, cuts: list[int]) -> None:
    document = json.dumps(value).encode()
    repair = JsonRepair()
    places = [0, *sorted(min(cut, len(document)) for cut in cuts), len(document)]
    repaired = b"".join(repair.repair(document[start:end]) for start, end in pairwise(places)) + repair.finish()
    decoded = json.loads(repaired)
    json.dumps(decoded, ensure_ascii=False).encode()
    assert replace_invalid_in_json(decoded) == replace_invalid_in_json(json.loads(document))
