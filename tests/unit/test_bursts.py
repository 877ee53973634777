"""Tests of how long a message waits for others that belong to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.telegram import bursts
from bot.telegram.bursts import MAX_BURST_SECONDS, choose_wait
from memory.clock import system_clock
from memory.log.sessions import Address
from memory.media.media import MediaFile, MediaKind
from memory.messages import Provenance
from pipeline.arrival import Arrival
from tests.support.fakes import FakeChannel


@given(
    texts=st.lists(st.text(max_size=5_000), min_size=1, max_size=5),
    gaps=st.lists(st.floats(0, 20), min_size=5, max_size=5),
)
def test_no_burst_waits_for_ever(texts: list[str], gaps: list[float]) -> None:
    channel = FakeChannel()
    arrivals = [Arrival(Address("telegram", "1"), text, Provenance.TYPED, system_clock(), channel) for text in texts]
    arrived = [sum(gaps[: i + 1]) for i in range(len(texts))]
    assert choose_wait(arrivals, arrived, arrived[0] + MAX_BURST_SECONDS) <= 0


@pytest.mark.parametrize("question", ["what is my dentist's name", "Wann ist der Termin?", "где ключи?", "几点了？"])
def test_plain_question_waits_at_most_a_third_of_a_second(question: str) -> None:
    arrival = Arrival(Address("telegram", "1"), question, Provenance.TYPED, system_clock(), FakeChannel())
    assert choose_wait([arrival], [7.0], 7.0) <= 0.3


def test_caption_of_an_album_completes_all_of_its_photos() -> None:
    photo = MediaFile(MediaKind.PHOTO, "telegram", "reference", "unique")
    first = Arrival(
        Address("telegram", "1"), "Which?", Provenance.TYPED, system_clock(), FakeChannel(), files=(photo,), album="77"
    )
    second = replace(first, text="")
    assert choose_wait([first, second], [0.0, 0.0], 0.0) == bursts.COMPLETE_SECONDS
    assert choose_wait([second], [0.0], 0.0) == bursts.CONTINUED_SECONDS
    assert bursts.CONTINUED_SECONDS > bursts.COMPLETE_SECONDS
