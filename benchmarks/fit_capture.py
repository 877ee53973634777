"""Fits the judge of what is captured (memory/capture/judge.py) on labelled sentences, and tells what it is worth.

Logistic regression over hashed signs. Cross-fitted by writer: the figures for the sentences of one writer come from
weights that were fitted on those of the others, so they are what to expect of people whose sentences nobody has seen.
What the phrases say counts only as it shows on tests/sets/capture_training.jsonl: on the other sets they were tuned,
so there it proves nothing. With --write what was fitted on all sentences takes its place in memory/capture/.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.capture import REGISTERS, REMEMBER, SENTENCES, TRAINING, labelled
from benchmarks.fitting import fitted, least, packed, rarity, table
from memory.capture.capture import considered
from memory.capture.judge import BUCKETS, PATTERN_BUCKETS, PATTERNS, WEIGHTS, Header, buckets
from memory.capture.phrases.grammar import Pattern
from memory.capture.remembering import requested
from memory.text.linear import written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from benchmarks.capture import Labelled

    Floats = NDArray[np.float64]

PRECISION = 0.95
"""What is captured at once is right so often, over all writers."""
WORTH_A_LOOK = 0.97
"""The share of what states something that is marked for the next consolidation."""
LOOK_ALIKES = 3
"""The writer who made what states nothing as like to what does as can be: to learn from, not to set thresholds by."""
_OF_PATTERN = {Pattern.RULE: Pattern.PREFERENCE, Pattern.CHANGE: Pattern.FACT, REMEMBER: Pattern.FACT}
"""What the judge calls what only a phrase or a request tells apart."""


@dataclass(frozen=True, slots=True)
class Message:
    """A labelled message: its sentences that are judged, and whether it asks for something to be remembered."""

    label: Labelled
    sentences: list[tuple[list[set[int]], tuple[str, ...]]]
    is_request: bool


def read(sentences: Sequence[Labelled]) -> list[Message]:
    """The messages as they are judged."""
    messages = []
    for one in sentences:
        request = requested(one.text)
        text = request.besides if request is not None else one.text
        judged = [(buckets(part.said), part.told) for part in considered(text) if part.is_judged]
        messages.append(Message(one, judged, request is not None))
    return messages


@dataclass(frozen=True, slots=True)
class Fitted:
    """Weights of buckets and of what is told, with the bias."""

    weights: Floats
    told: dict[str, float]
    bias: float

    def score(self, message: Message, *, by_words: bool = False) -> float:
        """The log-odds of the sentence of a message that states most; by_words: nothing is told of it."""
        scores = [-np.inf]
        for groups, told in message.sentences:
            signs = sum(self.weights[list(group)].sum() / len(group) ** 0.5 for group in groups if group)
            scores.append(self.bias + signs + (0 if by_words else sum(self.told.get(name, 0.0) for name in told)))
        return float(max(scores))


def judge_of(messages: Sequence[Message]) -> Fitted:
    """What is learned from these messages."""
    names = sorted({name for message in messages for _, told in message.sentences for name in told})
    number = {name: at for at, name in enumerate(names)}
    parts = [(message, part) for message in messages for part in message.sentences]
    rows = [
        (groups, [number[name] for name in told] if message.label.writer else []) for message, (groups, told) in parts
    ]
    known = table(rows, BUCKETS, len(names))
    states = np.array([float(message.label.pattern is not None) for message, _ in parts])
    alone = np.array([len(message.sentences) == 1 for message, _ in parts])
    scale = rarity(known, BUCKETS)
    # first of sentences by themselves; by that is then told which sentence of a longer message states something
    weights = fitted(known, states, np.where(alone | (states == 0), 1.0, 0.0), scale)
    states = np.where(alone, states, states * (known.times(weights) > 0))
    weights = fitted(known, states, np.ones(len(states)), scale)
    told = dict(zip(names, weights[BUCKETS:-1].tolist(), strict=True))
    return Fitted(weights[:BUCKETS], told, float(weights[-1]))


def patterns_of(messages: Sequence[Message]) -> Floats:
    """The weights of each pattern, one against the others; the last of each is its bias."""
    rows: list[tuple[list[set[int]], list[int]]] = []
    labels: list[str] = []
    for message in messages:
        pattern = message.label.pattern
        if pattern is not None and message.sentences:
            rows.append((message.sentences[0][0], []))
            labels.append(_OF_PATTERN.get(pattern, pattern))
    known = table(rows, PATTERN_BUCKETS)
    even, scale = np.ones(len(rows)), rarity(known, PATTERN_BUCKETS)
    return np.array(
        [fitted(known, np.array([one == pattern for one in labels], float), even, scale) for pattern in PATTERNS]
    )


def told_of(name: str, messages: Sequence[Message], scores: Floats, threshold: float) -> str:
    """Precision and recall of messages in words; a request to remember is always obeyed."""
    wanted = np.array([message.label.pattern is not None for message in messages])
    found = np.array([message.is_request for message in messages]) | (scores >= threshold)
    right = (wanted & found).sum()
    return (
        f"{name:12}{len(messages):6} sentences   precision {100 * right / max(1, found.sum()):5.1f}   "
        f"recall {100 * right / max(1, wanted.sum()):5.1f}"
    )


def main() -> None:
    """Fit without each writer in turn and print; fit on all and write where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"replace memory/capture/{WEIGHTS.name}")
    arguments = parser.parse_args()
    written = labelled("tune", path=TRAINING)
    fresh = read([one for one in written if one.writer])
    others = [one for path in (SENTENCES, REGISTERS) for one in labelled("tune", path=path)]
    tuned = read([*others, *(one for one in written if not one.writer)])
    writers = sorted({message.label.writer for message in fresh})
    scores, by_words = np.zeros(len(fresh)), np.zeros(len(fresh))
    for writer in writers:
        without = judge_of([message for message in [*fresh, *tuned] if message.label.writer != writer])
        for at, message in enumerate(fresh):
            if message.label.writer == writer:
                scores[at], by_words[at] = without.score(message), without.score(message, by_words=True)
    wanted = np.array([message.label.pattern is not None for message in fresh])
    usual = np.array([message.label.writer != LOOK_ALIKES and not message.is_request for message in fresh])
    at_once = least(scores[usual], wanted[usual], PRECISION)
    later = float(np.quantile(by_words[usual & wanted], 1 - WORTH_A_LOOK))
    print(f"Cross-fitted by writer, from log-odds of {at_once:.2f}:")
    _print_by(fresh, scores, at_once, lambda label: f"writer {label.writer}")
    _print_by(fresh, scores, at_once, lambda label: label.language)
    print(told_of("all", fresh, scores, at_once))
    for precision in (0.9, 0.85, 0.8):
        other = least(scores[usual], wanted[usual], precision)
        print(told_of(f"from {other:.2f}", fresh, scores, other))
    print(f"Marked for later, by words alone, from {later:.2f}:")
    print(told_of("all", fresh, by_words, later))
    everything = [*fresh, *tuned]
    judged, patterns = judge_of(everything), patterns_of(everything)
    file, header = packed_from(judged, patterns, len(everything), at_once, later)
    print(f"{len(file)} bytes; told: { ({name: round(value, 2) for name, value in header.told.items()}) }")
    if arguments.write:
        WEIGHTS.write_bytes(file)


def packed_from(judged: Fitted, patterns: Floats, sentences: int, at_once: float, later: float) -> tuple[bytes, Header]:
    """The file of weights."""
    step, pattern_step = (np.quantile(np.abs(some), 0.9999) / 127 for some in (judged.weights, patterns[:, :-1]))
    units = b"".join([packed(judged.weights, step), *(packed(one, pattern_step) for one in patterns[:, :-1])])
    header = Header(
        origin="Written by `python -m benchmarks.fit_capture --write`; fitted on "
        f"{sentences} sentences of tests/sets/capture_*.",
        at_once=round(at_once, 3),
        later=round(later, 3),
        bias=round(judged.bias, 4),
        step=float(step),
        told={name: round(value, 4) for name, value in judged.told.items()},
        pattern_step=float(pattern_step),
        pattern_bias=[round(float(one[-1]), 4) for one in patterns],
    )
    return written(asdict(header), units), header


def _print_by(messages: list[Message], scores: Floats, threshold: float, name: Callable[[Labelled], str]) -> None:
    order = sorted(range(len(messages)), key=lambda at: name(messages[at].label))
    for shown, of_name in itertools.groupby(order, key=lambda at: name(messages[at].label)):
        chosen = list(of_name)
        print(told_of(shown, [messages[at] for at in chosen], scores[chosen], threshold))


if __name__ == "__main__":
    main()
