"""Which sentences of a message may hold something lasting: recall before precision, and nothing is written.

What is captured at once has to be certain; a model that makes memory of a conversation later can weigh what is not. So
the judge marks whatever is not clearly of the moment. It takes a fraction of a millisecond, since no phrase is tried.
"""

from __future__ import annotations

import itertools

from memory.capture.judge import judge
from memory.capture.sentences import sentences
from memory.text.words import is_small_talk

_MOST = 6
"""Sentences that are marked in one message."""


def candidates(text: str) -> tuple[str, ...]:
    """The sentences of `text`, one message as typed, that may hold something lasting; verbatim, in their order."""
    judged, later = judge(), judge().header.later
    found = (
        sentence for sentence, plain in sentences(text) if not is_small_talk(plain) and judged.score(plain) >= later
    )
    return tuple(itertools.islice(found, _MOST))
