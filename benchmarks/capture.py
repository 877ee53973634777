"""Precision and recall of capturing facts from sentences in seven languages, and the quality of the captured texts.

The sentences are labelled by hand: tests/sets/capture_sentences.json with the pattern and the corrected words,
tests/sets/capture_registers.json with several registers, and words that the memory must or must not contain. The
classifier (bot/features/capture/classifier.py) was trained on the "tune" half of each, among other data, including
former holdout data. The half "holdout" was never used for tuning.

For each set, half and language this prints precision and recall, and the shares of correctly captured sentences with
the right pattern, with the right corrected words, and with a text that reads well alone. At the end it prints the time
for the candidates, which each typed message takes.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bot.features.capture.requests import find_remember_request
from bot.features.capture.statements import Capture, capture_statements, find_candidates

SETS = Path(__file__).parent.parent / "tests" / "sets"
SENTENCES = SETS / "capture_sentences.json"
REGISTERS = SETS / "capture_registers.json"
HALVES = ("tune", "holdout")
REMEMBER = "remember"
"""Label of explicit requests to remember."""
_SAME = {
    # Being called by a name is a rule or a fact, and "from now on" a rule or a preference. Either counts
    "preference": {"preference", "rule"},
    "constraint": {"constraint", "rule"},
    "fact": {"fact", "change"},
    "correction": {"correction", "change"},
}


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence and its label. `pattern` is None if nothing should be captured."""

    language: str
    text: str
    pattern: str | None
    half: str
    corrects: str | None = None
    holds: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    register: str = ""
    writer: int = 0
    """Number of the writer in the training set."""


@dataclass(frozen=True, slots=True)
class CapturedText:
    """The first capture of a sentence, and the texts of all captures."""

    pattern: str
    corrects: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares from 0 to 1."""

    sentences: int
    precision: float
    recall: float
    right_pattern: float
    right_correction: float
    reads_well: float


def read_labels(half: str, language: str = "all", path: Path = SENTENCES) -> list[LabelledSentence]:
    """Load the labelled sentences of one half, in one language or all."""
    if path.suffix == ".gz":
        rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    else:
        rows = json.loads(path.read_text(encoding="utf-8"))
    lists = ({name: tuple(row.get(name, ())) for name in ("holds", "lacks")} for row in rows)
    sentences = [LabelledSentence(**{"half": "tune", **row, **words}) for row, words in zip(rows, lists, strict=True)]
    return [one for one in sentences if one.half == half and language in (one.language, "all")]


def compute_figures(sentences: list[LabelledSentence]) -> Figures:
    """Compare the captures of sentences with their labels."""
    results = [(one, capture(one.text)) for one in sentences]
    found = [(one, kept) for one, kept in results if kept is not None]
    right = [(one, kept) for one, kept in found if one.pattern is not None]
    wanted = sum(one.pattern is not None for one in sentences)
    return Figures(
        len(sentences),
        _compute_share(len(right), len(found)),
        _compute_share(len(right), wanted),
        _compute_share(sum(_is_pattern(one, kept) for one, kept in right), len(right)),
        _compute_share(sum(one.corrects == kept.corrects or bool(one.register) for one, kept in right), len(right)),
        _compute_share(sum(reads_well(one, kept) for one, kept in right), len(right)),
    )


def capture(text: str) -> CapturedText | None:
    """Capture facts from one message. Explicit requests come first."""
    request = find_remember_request(text)
    captures = capture_statements(request.rest if request is not None else text)
    texts = [request.what] if request is not None else []
    texts += [one.text for one in captures]
    if not texts:
        return None
    pattern = REMEMBER if request is not None else _get_label(captures[0])
    return CapturedText(pattern, captures[0].corrects if captures else None, " | ".join(texts))


def _get_label(capture: Capture) -> str:
    """Return the label for a capture."""
    return "rule" if capture.is_standing else "change" if capture.is_change else capture.kind


def reads_well(one: LabelledSentence, kept: CapturedText) -> bool:
    """Return True if the captured text contains all required words and no words that belong to the conversation."""
    text = kept.text.casefold()
    lacking = (
        rf"(?<!\w){re.escape(word.casefold())}" + (r"(?!\w)" if word[-1].isalnum() else "") for word in one.lacks
    )
    return all(word.casefold() in text for word in one.holds) and not any(re.search(word, text) for word in lacking)


def main() -> None:
    """Print the figures by set, half and language. If one half is named, also print its mistakes."""
    halves = [half for half in HALVES if half in sys.argv[1:]] or list(HALVES)
    heads = ("sentences", "precision", "recall", "pattern", "corrects", "reads well")
    print(" " * 26 + "".join(f"{head:>11}" for head in heads))
    for path in (path for path in (SENTENCES, REGISTERS) if path.exists()):
        for half in halves:
            languages = dict.fromkeys(one.language for one in read_labels(half, path=path))
            for language in [*languages, "all"] if languages else []:
                row = compute_figures(read_labels(half, language, path))
                shares = (row.precision, row.recall, row.right_pattern, row.right_correction, row.reads_well)
                name = f"{path.stem.removeprefix('capture_'):10} {half:8} {language:6}"
                print(f"{name}{row.sentences:11}" + "".join(f"{100 * share:11.1f}" for share in shares))
            if len(halves) == 1:
                _print_mistakes(read_labels(half, path=path))
    milliseconds = measure_candidates([one.text for one in read_labels("tune", path=REGISTERS)])
    print(f"candidates of a message in {milliseconds:.2f} ms")


def measure_candidates(texts: list[str]) -> float:
    """Return the CPU milliseconds that finding the candidates of a message takes, on average."""
    for text in texts:
        find_candidates(text)  # Expressions are compiled once
    begin = time.process_time()
    for text in texts:
        find_candidates(text)
    return 1000 * (time.process_time() - begin) / len(texts)


def _print_mistakes(sentences: list[LabelledSentence]) -> None:
    for one in sentences:
        kept = capture(one.text)
        if kept is None or one.pattern is None:
            if (kept is None) != (one.pattern is None):
                print(f"{one.language} wanted {one.pattern}, found {kept}: {one.text}")
        elif not _is_pattern(one, kept) or (not one.register and one.corrects != kept.corrects):
            print(f"{one.language} wanted {one.pattern} {one.corrects!r}, found {kept}: {one.text}")
        elif not reads_well(one, kept):
            print(f"{one.language} holds {one.holds}, lacks {one.lacks}, found {kept}: {one.text}")


def _is_pattern(one: LabelledSentence, kept: CapturedText) -> bool:
    if not one.register:
        return one.pattern == kept.pattern
    return kept.pattern == one.pattern or kept.pattern in _SAME.get(one.pattern or "", ())


def _compute_share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


if __name__ == "__main__":
    main()
