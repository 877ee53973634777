"""How well sentences that state a wish, a rule, a correction or a change are told from others, in seven languages.

The sentences are labelled by hand (tests/sets/capture_sentences.json). The tables of memory/learning/phrases were tuned
on one half of them, the other was kept apart. Printed for each half: precision and recall of being captured at
all, and of the rightly captured the share with the right pattern, and with the right words that hold no longer.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from memory.learning.capture import Captured, captured
from memory.learning.phrases.grammar import Pattern

SENTENCES = Path(__file__).parent.parent / "tests" / "sets" / "capture_sentences.json"
HALVES = ("tune", "holdout")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One sentence and what is to be captured of it; pattern None means nothing."""

    language: str
    text: str
    pattern: Pattern | None
    corrects: str | None
    half: str


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares between 0 and 1."""

    sentences: int
    precision: float
    recall: float
    right_pattern: float
    right_correction: float


def labelled(half: str, language: str = "all") -> list[Labelled]:
    """The sentences of one half, of one language or of all."""
    rows = json.loads(SENTENCES.read_text(encoding="utf-8"))
    sentences = [Labelled(**{**row, "pattern": row["pattern"] and Pattern(row["pattern"])}) for row in rows]
    return [one for one in sentences if one.half == half and language in (one.language, "all")]


def figures(sentences: list[Labelled]) -> Figures:
    """What is captured of `sentences` against their labels."""
    results = [(one, _first(one.text)) for one in sentences]
    found = [(one, capture) for one, capture in results if capture is not None]
    right = [(one, capture) for one, capture in found if one.pattern is not None]
    wanted = sum(one.pattern is not None for one in sentences)
    return Figures(
        len(sentences),
        _share(len(right), len(found)),
        _share(len(right), wanted),
        _share(sum(one.pattern is capture.pattern for one, capture in right), len(right)),
        _share(sum(one.corrects == capture.corrects for one, capture in right), len(right)),
    )


def main() -> None:
    """Print a table of figures by half and language; with the name of a half, its mistakes too."""
    halves = [half for half in HALVES if half in sys.argv[1:]] or HALVES
    print(f"{'':16}{'sentences':>10}{'precision':>10}{'recall':>10}{'pattern':>10}{'corrects':>10}")
    for half in halves:
        languages = dict.fromkeys(one.language for one in labelled(half))
        for language in [*languages, "all"]:
            row = figures(labelled(half, language))
            shares = (row.precision, row.recall, row.right_pattern, row.right_correction)
            print(f"{half:9}{language:7}{row.sentences:10}" + "".join(f"{100 * share:10.1f}" for share in shares))
    if len(halves) == 1:
        _print_mistakes(halves[0])


def _print_mistakes(half: str) -> None:
    for one in labelled(half):
        capture = _first(one.text)
        pattern, corrects = (capture.pattern, capture.corrects) if capture else (None, None)
        if (pattern, corrects) != (one.pattern, one.corrects):
            print(f"{one.language} wanted {one.pattern} {one.corrects!r}, found {pattern} {corrects!r}: {one.text}")


def _first(text: str) -> Captured | None:
    return next(iter(captured(text)), None)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


if __name__ == "__main__":
    main()
