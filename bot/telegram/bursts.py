"""Bursts: what people send in several messages, such as a long paste, which one turn should answer."""

from __future__ import annotations

from collections.abc import Sequence

from memory.text.sentences import ENDS_ASKING, QUESTION_OPENERS, classify_opening
from pipeline.arrival import Arrival

COMPLETE_SECONDS = 0.3
"""Wait after a message that ends like a sentence, or is a question."""
OPEN_SECONDS = 1.2
"""Wait after any other message, such as "listen"."""
CONTINUED_SECONDS = 3.0
"""Wait after a part of a long text, or a file without caption, whose comment often follows."""
MAX_BURST_SECONDS = 10.0
"""Maximum wait for a whole burst."""
MIN_CUT_UNITS = 4_000
"""Minimum length of a message that may be a part of a longer text. Telegram's apps cut at 4,096 UTF-16 units, or at
a space before."""
_ENDS = frozenset(".!…。！\"'”’»)]}`")


def choose_wait(arrivals: Sequence[Arrival], arrived: Sequence[float], now: float) -> float:
    """Return how many seconds to wait for further messages. 0 or less means that the burst is over.

    Args:
        arrivals: The messages of the burst so far.
        arrived: When each of them arrived, as event loop time.
    """
    return min(arrived[-1] + _choose_quiet_seconds(arrivals), arrived[0] + MAX_BURST_SECONDS) - now


def _choose_quiet_seconds(arrivals: Sequence[Arrival]) -> float:
    arrival = arrivals[-1]
    # The caption of an album belongs to all of it
    album = (other for other in arrivals if arrival.album is not None and other.album == arrival.album)
    text = next((other.text for other in album if other.text), arrival.text).rstrip()
    if len(text.encode("utf-16-le")) // 2 >= MIN_CUT_UNITS:
        return CONTINUED_SECONDS
    if not text:
        is_spoken = any(file.kind.is_own_voice for file in arrival.files)
        return CONTINUED_SECONDS if arrival.files and not is_spoken else COMPLETE_SECONDS
    # The classes of words are looked up last, since that takes the longest
    is_complete = text[-1] in _ENDS or ENDS_ASKING.search(text) or classify_opening(text) & QUESTION_OPENERS
    return COMPLETE_SECONDS if is_complete else OPEN_SECONDS
