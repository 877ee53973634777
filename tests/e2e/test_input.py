"""Tests of cleaning incoming text."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.kernel import App
from pipeline.arrival import MAX_MESSAGE_CHARS, clean
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says

# Any characters including lone surrogates, with a bias towards difficult ones.
TROUBLE = "\x00\x07\x0b\x1b\r\n\t\x7f\x85\ud83d\ude00\u202e\u2066\ufeff\u0301\u200e\u200f\u2126e "
ANY_TEXT = st.text(st.one_of(st.sampled_from(TROUBLE), st.characters(codec=None, exclude_categories=[])), max_size=60)
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\r\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


@given(ANY_TEXT)
def test_clean_text_has_no_controls_overrides_or_lone_surrogates(text: str) -> None:
    assert FORBIDDEN.search(clean(text)) is None


@given(ANY_TEXT)
def test_clean_text_can_always_be_encoded(text: str) -> None:
    assert clean(text).encode().decode() == clean(text)


@given(ANY_TEXT)
def test_clean_text_is_normalised_and_cleaning_is_idempotent(text: str) -> None:
    once = clean(text)
    assert unicodedata.is_normalized("NFC", once)
    assert clean(once) == once


@given(st.text(st.characters(categories=["L", "N", "P"]), min_size=1))
def test_ordinary_words_are_unchanged(text: str) -> None:
    assert clean(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("  hello\n", "hello"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("a\x00b\x1b[31mc", "ab[31mc"),
        ("cafe\u0301", "café"),
        ("e\x00\u0301", "é"),
        ("\ud83d\ude00", "😀"),
        ("half \ud83d", "half \ufffd"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("\u200fשלום\u200e", "\u200fשלום\u200e"),
        ("\u200f", "\u200f"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
    ],
)
def test_clean_handles_typical_texts(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


def test_message_over_the_limit_is_cut_and_marked() -> None:
    cut = clean("x" * (MAX_MESSAGE_CHARS + 5))
    assert len(cut) == MAX_MESSAGE_CHARS
    assert cut.endswith(f"[... the rest of {MAX_MESSAGE_CHARS + 5} characters was not kept]")
    assert clean(cut) == cut


async def test_message_of_100_kilobytes_is_stored_whole_but_shown_shortened(
    app: App, person: Person, model: ModelServer
) -> None:
    text = "begin " + "x" * 100_000 + " end"
    model.script(Says("Long."))
    await person.says(text)
    shown = model.requests[-1].last
    assert shown.startswith("begin")
    assert shown.endswith("end")
    assert "characters left out" in shown
    assert len(shown) < 40_000
    assert (await app.sessions.read_transcript("console:local")).messages[0].content == text


@pytest.mark.parametrize("text", ["", "   \n\t ", "\x00\x07", "\u202e\ufeff"])
async def test_message_without_text_is_answered_with_a_sentence(
    app: App, person: Person, model: ModelServer, text: str
) -> None:
    assert await person.says(text) == "That message has no text: write me something."
    assert model.requests == []
    last = await app.memory.turns.find_last("console:local")
    assert last is not None
    assert last.outcome == "failed"
