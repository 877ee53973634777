"""Trains the capture classifier (bot/features/capture/classifier.py) and measures its quality.

The model is a logistic regression over hashed features. The figures are cross-validated by writer: the sentences of
each writer are judged by weights trained on other writers, so they show what to expect for new users. The training
sentences are not part of the repository: the first argument names them, a gzip file of JSON lines. With --write the
weights trained on all sentences are saved in bot/features/capture/.
"""

from __future__ import annotations

import argparse
import itertools
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.capture import REGISTERS, REMEMBER, SENTENCES, LabelledSentence, read_labels
from benchmarks.fitting import build_table, compute_rarity, find_threshold, fit, quantize
from bot.features.capture.classifier import BUCKETS, KIND_BUCKETS, WEIGHTS, CaptureKind, Header, hash_features
from bot.features.capture.requests import find_remember_request
from bot.features.capture.statements import parse_sentences

if TYPE_CHECKING:
    Floats = NDArray[np.float64]

MIN_PRECISION = 0.952
"""Minimum precision of immediate captures over all writers except LOOK_ALIKE_WRITER."""
MIN_LATER_RECALL = 0.97
"""Share of statements that are marked for a later check by a model."""
LOOK_ALIKE_WRITER = 3
"""The writer of sentences that imitate statements. They are used for training, but not for thresholds."""
FOLDS = 6
"""Number of groups of writers for cross-validation."""
_KIND_OF = {"rule": CaptureKind.PREFERENCE, "change": CaptureKind.FACT, REMEMBER: CaptureKind.FACT}
"""Classifier kinds of patterns that are recognized by phrases or requests."""


@dataclass(frozen=True, slots=True)
class Message:
    """A labelled message: features and explicitness of each sentence, and whether it is a request to remember."""

    label: LabelledSentence
    sentences: list[tuple[list[set[int]], bool]]
    is_request: bool


def create_messages(labels: Sequence[LabelledSentence]) -> list[Message]:
    """Convert labelled sentences to messages with features."""
    messages = []
    for one in labels:
        request = find_remember_request(one.text)
        text = request.rest if request is not None else one.text
        judged = [(hash_features(part.said), part.is_explicit) for part in parse_sentences(text)]
        messages.append(Message(one, judged, request is not None))
    return messages


@dataclass(frozen=True, slots=True)
class FittedClassifier:
    """Trained weights by bucket, and the bias."""

    weights: Floats
    bias: float

    def score(self, message: Message) -> tuple[float, bool]:
        """Return the log-odds of the message's best sentence, and whether that is explicit."""
        scores = [(-np.inf, False)]
        for groups, is_explicit in message.sentences:
            features = sum(self.weights[list(group)].sum() / len(group) ** 0.5 for group in groups if group)
            scores.append((self.bias + features, is_explicit))
        return max(scores)


def train_classifier(messages: Sequence[Message]) -> FittedClassifier:
    """Train the classifier on messages."""
    parts = [(message, groups) for message in messages for groups, _ in message.sentences]
    known = build_table([(groups, []) for _, groups in parts], BUCKETS)
    states = np.array([float(message.label.pattern is not None) for message, _ in parts])
    alone = np.array([len(message.sentences) == 1 for message, _ in parts])
    scale = compute_rarity(known, BUCKETS)
    # First on single sentences. Their weights then show which sentence of a longer message is the statement
    weights = fit(known, states, np.where(alone | (states == 0), 1.0, 0.0), scale)
    states = np.where(alone, states, states * (known.multiply(weights) > 0))
    weights = fit(known, states, np.ones(len(states)), scale)
    return FittedClassifier(weights[:BUCKETS], float(weights[-1]))


def train_kinds(messages: Sequence[Message]) -> Floats:
    """Train the weights of each kind against all others. The last weight of each is its bias."""
    rows: list[tuple[list[set[int]], list[int]]] = []
    labels: list[str] = []
    for message in messages:
        pattern = message.label.pattern
        if pattern is not None and message.sentences:
            rows.append((message.sentences[0][0], []))
            labels.append(_KIND_OF.get(pattern, pattern))
    known = build_table(rows, KIND_BUCKETS)
    even, scale = np.ones(len(rows)), compute_rarity(known, KIND_BUCKETS)
    return np.array([fit(known, np.array([one == kind for one in labels], float), even, scale) for kind in CaptureKind])


def format_figures(name: str, messages: Sequence[Message], is_found: NDArray[np.bool_]) -> str:
    """Format precision and recall. Requests to remember always count as found."""
    wanted = np.array([message.label.pattern is not None for message in messages])
    found = np.array([message.is_request for message in messages]) | is_found
    right = (wanted & found).sum()
    return (
        f"{name:12}{len(messages):6} sentences   precision {100 * right / max(1, found.sum()):5.1f}   "
        f"recall {100 * right / max(1, wanted.sum()):5.1f}"
    )


def main() -> None:
    """Cross-validate by writer and print the figures, then train on everything and optionally save the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("training", type=Path, help="the training sentences, a gzip file of JSON lines")
    parser.add_argument("--write", action="store_true", help=f"replace bot/features/capture/{WEIGHTS.name}")
    arguments = parser.parse_args()
    training = read_labels("tune", path=arguments.training)
    fresh = create_messages([one for one in training if one.writer])
    others = [one for path in (SENTENCES, REGISTERS) for one in read_labels("tune", path=path)]
    seen = create_messages([*others, *(one for one in training if not one.writer)])
    scores, explicit = np.zeros(len(fresh)), np.zeros(len(fresh), bool)
    for fold in range(FOLDS):
        without = train_classifier([message for message in [*fresh, *seen] if not _is_in(message, fold)])
        for at, message in enumerate(fresh):
            if _is_in(message, fold):
                scores[at], explicit[at] = without.score(message)
    wanted = np.array([message.label.pattern is not None for message in fresh])
    usual = np.array([message.label.writer != LOOK_ALIKE_WRITER and not message.is_request for message in fresh])
    at_once, at_once_explicit = (
        find_threshold(scores[usual & one], wanted[usual & one], MIN_PRECISION) for one in (~explicit, explicit)
    )
    later = float(np.quantile(scores[usual & wanted], 1 - MIN_LATER_RECALL))
    found = scores >= np.where(explicit, at_once_explicit, at_once)
    print(f"Cross-fitted by writer, from log-odds of {at_once:.2f}, and {at_once_explicit:.2f} where it is explicit:")
    _print_by(fresh, found, lambda label: f"writer {label.writer}")
    _print_by(fresh, found, lambda label: label.language)
    print(
        format_figures(
            "explicit", [message for message, one in zip(fresh, explicit, strict=True) if one], found[explicit]
        )
    )
    print(format_figures("all", fresh, found))
    print(format_figures("later", fresh, scores >= later))
    everything = [*fresh, *seen]
    thresholds = {"at_once": round(at_once, 3), "explicit": round(at_once_explicit, 3), "later": round(later, 3)}
    file = pack_weights(train_classifier(everything), train_kinds(everything), len(everything), thresholds)
    print(f"{len(file)} bytes, {thresholds}")
    if arguments.write:
        WEIGHTS.write_bytes(file)


def _is_in(message: Message, fold: int) -> bool:
    """Return True if the message's writer is in a group. Messages without a writer are in none."""
    return bool(message.label.writer) and message.label.writer % FOLDS == fold


def pack_weights(judged: FittedClassifier, kinds: Floats, messages: int, thresholds: Mapping[str, float]) -> bytes:
    """Return the content of the weights file."""
    step, kind_step = (np.quantile(np.abs(some), 0.9999) / 127 for some in (judged.weights, kinds[:, :-1]))
    units = b"".join([quantize(judged.weights, step), *(quantize(one, kind_step) for one in kinds[:, :-1])])
    header = Header(
        origin=f"Written by `python -m benchmarks.fit_capture TRAINING --write`; fitted on {messages} messages.",
        **thresholds,
        bias=round(judged.bias, 4),
        step=float(step),
        kind_step=float(kind_step),
        kind_bias=[round(float(one[-1]), 4) for one in kinds],
    )
    return json.dumps(asdict(header)).encode() + b"\n" + zlib.compress(units, 9)


def _print_by(messages: list[Message], found: NDArray[np.bool_], name: Callable[[LabelledSentence], str]) -> None:
    order = sorted(range(len(messages)), key=lambda at: name(messages[at].label))
    for shown, of_name in itertools.groupby(order, key=lambda at: name(messages[at].label)):
        chosen = list(of_name)
        print(format_figures(shown, [messages[at] for at in chosen], found[chosen]))


if __name__ == "__main__":
    main()
