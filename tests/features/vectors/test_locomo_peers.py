"""Tests of the benchmark's other methods and its chart."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from benchmarks.locomo_data import Dialogue, Question, SaidMessage
from benchmarks.locomo_figures import summarize
from benchmarks.locomo_peers import BM25, COSINES, ask_peers
from benchmarks.locomo_plot import PERCENT, draw
from tests.support.servers.embedder import MeaningEmbedder

AT = datetime(2026, 2, 7, tzinfo=UTC)
TEXTS = ("The boats are painted green", "A heron stood in the reeds", "My cat sleeps all day", "The kettle sings")


async def test_methods_rank_by_words_or_meaning() -> None:
    said = tuple(SaidMessage(f"D1:{number}", "Ann", text, AT) for number, text in enumerate(TEXTS))
    questions = (
        Question("What colour is the boat painted?", frozenset({"D1:0"}), 4),
        Question("Where is her pet?", frozenset({"D1:2"}), 4),
    )
    answers = await ask_peers(
        [Dialogue(("Ann", "Ben"), (said,), questions)], MeaningEmbedder({"pet": "cat", "cat": "cat"})
    )
    assert [one.ranks for one in answers[BM25]] == [(1,), ()]
    assert answers[COSINES][1].ranks == (1,)
    assert summarize(answers[BM25])["R@5"][0] == 50.0


def test_chart_bars_have_proportional_lengths_and_escaped_names() -> None:
    figures = {f"R@{depth}": [share, share - 5, share + 5] for depth, share in ((5, 20.0), (10, 40.0), (20, 80.0))}
    picture = ET.fromstring(draw("a < b & c", {"<one>": figures}))  # noqa: S314  # Our own output.
    texts = [one.text for one in picture.iter() if one.tag.endswith("text")]
    widths = [float(one.get("width", "0")) for one in picture.iter() if one.tag.endswith("rect")]
    assert {"a < b & c", "<one>", "20%", "80%"} <= set(texts)
    assert widths[-3:] == [round(share * PERCENT) for share in (20, 40, 80)]
