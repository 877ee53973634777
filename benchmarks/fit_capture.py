"""Fits the classifier of what is captured (memory/capture/classifier.py), and tells what it is worth.

Logistic regression over hashed features. Cross-fitted by writer: the figures for the sentences of one writer come from
weights that were fitted on those of others, so they are what to expect of people whose sentences nobody has seen. The
training sentences are no part of the repository: the first argument names them, a gzip file of JSON lines. With --write
what was fitted on all sentences takes its place in memory/capture/.
"""

from __future__ import annotations

import argparse
import itertools
import json
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.capture import REGISTERS, REMEMBER, SENTENCES, labelled
from benchmarks.fitting import fitted, least, packed, rarity, table
from memory.capture.capture import parsed, requested
from memory.capture.classifier import BUCKETS, KIND_BUCKETS, WEIGHTS, CaptureKind, Header, buckets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.capture import Labelled

    Floats = NDArray[np.float64]

PRECISION = 0.952
"""What is captured at once is right so often, over all writers but the one who made it hardest."""
WORTH_A_LOOK = 0.97
"""The share of what states something that is marked for the next consolidation."""
LOOK_ALIKES = 3
"""The writer who made what states nothing as like to what does as can be: to learn from, not to set thresholds by."""
FOLDS = 6
"""Groups of writers; each is judged by what was fitted on the others."""
_KIND_OF = {"rule": CaptureKind.PREFERENCE, "change": CaptureKind.FACT, REMEMBER: CaptureKind.FACT}
"""What the classifier calls what only a phrase or a request tells apart."""


@dataclass(frozen=True, slots=True)
class Message:
    """A labelled message: each sentence's features, and whether it is explicit; whether it is a request to remember."""

    label: Labelled
    sentences: list[tuple[list[set[int]], bool]]
    is_request: bool


def read(labels: Sequence[Labelled]) -> list[Message]:
    """The messages as they are judged."""
    messages = []
    for one in labels:
        request = requested(one.text)
        text = request.besides if request is not None else one.text
        judged = [(buckets(part.said), part.is_explicit) for part in parsed(text)]
        messages.append(Message(one, judged, request is not None))
    return messages


@dataclass(frozen=True, slots=True)
class Fitted:
    """Weights of buckets, with the bias."""

    weights: Floats
    bias: float

    def score(self, message: Message) -> tuple[float, bool]:
        """The log-odds of the sentence of a message that states most, and whether that is explicit."""
        scores = [(-np.inf, False)]
        for groups, is_explicit in message.sentences:
            features = sum(self.weights[list(group)].sum() / len(group) ** 0.5 for group in groups if group)
            scores.append((self.bias + features, is_explicit))
        return max(scores)


def classifier_of(messages: Sequence[Message]) -> Fitted:
    """What is learned from these messages."""
    parts = [(message, groups) for message in messages for groups, _ in message.sentences]
    known = table([(groups, []) for _, groups in parts], BUCKETS)
    states = np.array([float(message.label.pattern is not None) for message, _ in parts])
    alone = np.array([len(message.sentences) == 1 for message, _ in parts])
    scale = rarity(known, BUCKETS)
    # first of sentences by themselves; by that is then told which sentence of a longer message states something
    weights = fitted(known, states, np.where(alone | (states == 0), 1.0, 0.0), scale)
    states = np.where(alone, states, states * (known.times(weights) > 0))
    weights = fitted(known, states, np.ones(len(states)), scale)
    return Fitted(weights[:BUCKETS], float(weights[-1]))


def kinds_of(messages: Sequence[Message]) -> Floats:
    """The weights of each kind, one against the others; the last of each is its bias."""
    rows: list[tuple[list[set[int]], list[int]]] = []
    labels: list[str] = []
    for message in messages:
        pattern = message.label.pattern
        if pattern is not None and message.sentences:
            rows.append((message.sentences[0][0], []))
            labels.append(_KIND_OF.get(pattern, pattern))
    known = table(rows, KIND_BUCKETS)
    even, scale = np.ones(len(rows)), rarity(known, KIND_BUCKETS)
    return np.array(
        [fitted(known, np.array([one == kind for one in labels], float), even, scale) for kind in CaptureKind]
    )


def told_of(name: str, messages: Sequence[Message], is_found: NDArray[np.bool_]) -> str:
    """Precision and recall of messages in words; a request to remember is always obeyed."""
    wanted = np.array([message.label.pattern is not None for message in messages])
    found = np.array([message.is_request for message in messages]) | is_found
    right = (wanted & found).sum()
    return (
        f"{name:12}{len(messages):6} sentences   precision {100 * right / max(1, found.sum()):5.1f}   "
        f"recall {100 * right / max(1, wanted.sum()):5.1f}"
    )


def main() -> None:
    """Fit without each group of writers in turn and print; fit on all and write where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("training", type=Path, help="the training sentences, a gzip file of JSON lines")
    parser.add_argument("--write", action="store_true", help=f"replace memory/capture/{WEIGHTS.name}")
    arguments = parser.parse_args()
    training = labelled("tune", path=arguments.training)
    fresh = read([one for one in training if one.writer])
    others = [one for path in (SENTENCES, REGISTERS) for one in labelled("tune", path=path)]
    seen = read([*others, *(one for one in training if not one.writer)])
    scores, explicit = np.zeros(len(fresh)), np.zeros(len(fresh), bool)
    for fold in range(FOLDS):
        without = classifier_of([message for message in [*fresh, *seen] if not _is_in(message, fold)])
        for at, message in enumerate(fresh):
            if _is_in(message, fold):
                scores[at], explicit[at] = without.score(message)
    wanted = np.array([message.label.pattern is not None for message in fresh])
    usual = np.array([message.label.writer != LOOK_ALIKES and not message.is_request for message in fresh])
    at_once, at_once_explicit = (
        least(scores[usual & one], wanted[usual & one], PRECISION) for one in (~explicit, explicit)
    )
    later = float(np.quantile(scores[usual & wanted], 1 - WORTH_A_LOOK))
    found = scores >= np.where(explicit, at_once_explicit, at_once)
    print(f"Cross-fitted by writer, from log-odds of {at_once:.2f}, and {at_once_explicit:.2f} where it is explicit:")
    _print_by(fresh, found, lambda label: f"writer {label.writer}")
    _print_by(fresh, found, lambda label: label.language)
    print(told_of("explicit", [message for message, one in zip(fresh, explicit, strict=True) if one], found[explicit]))
    print(told_of("all", fresh, found))
    print(told_of("later", fresh, scores >= later))
    everything = [*fresh, *seen]
    thresholds = {"at_once": round(at_once, 3), "explicit": round(at_once_explicit, 3), "later": round(later, 3)}
    file = packed_from(classifier_of(everything), kinds_of(everything), len(everything), thresholds)
    print(f"{len(file)} bytes, {thresholds}")
    if arguments.write:
        WEIGHTS.write_bytes(file)


def _is_in(message: Message, fold: int) -> bool:
    """Whether a message is by a writer of that group; those that belong to nobody are in none."""
    return bool(message.label.writer) and message.label.writer % FOLDS == fold


def packed_from(judged: Fitted, kinds: Floats, messages: int, thresholds: Mapping[str, float]) -> bytes:
    """The file of weights."""
    step, kind_step = (np.quantile(np.abs(some), 0.9999) / 127 for some in (judged.weights, kinds[:, :-1]))
    units = b"".join([packed(judged.weights, step), *(packed(one, kind_step) for one in kinds[:, :-1])])
    header = Header(
        origin=f"Written by `python -m benchmarks.fit_capture TRAINING --write`; fitted on {messages} messages.",
        **thresholds,
        bias=round(judged.bias, 4),
        step=float(step),
        kind_step=float(kind_step),
        kind_bias=[round(float(one[-1]), 4) for one in kinds],
    )
    return json.dumps(asdict(header)).encode() + b"\n" + zlib.compress(units, 9)


def _print_by(messages: list[Message], found: NDArray[np.bool_], name: Callable[[Labelled], str]) -> None:
    order = sorted(range(len(messages)), key=lambda at: name(messages[at].label))
    for shown, of_name in itertools.groupby(order, key=lambda at: name(messages[at].label)):
        chosen = list(of_name)
        print(told_of(shown, [messages[at] for at in chosen], found[chosen]))


if __name__ == "__main__":
    main()
