"""Fits the judge of facts (memory/evidence/judge.py) on labelled ones, and tells what it is worth.

Logistic regression over hashed signs, fitted on the sets "tune" and "pairs" of tests/sets/grounding, cross-fitted by
writer: the figures for what one wrote come from weights that were fitted on the others, so they are what to expect of
conversations that nobody has seen. With --write what was fitted on all of them takes its place in memory/evidence/.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.fitting import fitted, packed, table
from benchmarks.grounding import INVENTED, TRUE, cases
from memory.evidence.agreement import certain_doubt
from memory.evidence.comparison import compare
from memory.evidence.judge import BUCKETS, WEIGHTS, Header, buckets
from memory.text.linear import written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from benchmarks.fitting import Table
    from benchmarks.grounding import Case

    Floats = NDArray[np.float64]

DOUBTED = 0.0125
"""The share of the true facts of whole conversations that the judge may doubt, over all writers but the first."""
FIRST = 1
"""The writers of the first sets, by which the rules were made: what these find there proves nothing."""
CONVERSATIONS, PAIRS = "tune", "pairs"
RIDGE = 3.0
"""What large weights cost: many signs of a fact say nearly the same."""
FOLDS = ((FIRST,), (2, 3, 10), (4, 5, 11), (6, 7, 12), (8, 9, 13, 14))
"""Writers whose facts are judged together by what was learned of the others."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A fact with its signs; is_lost: it is doubted whatever the judge says."""

    case: Case
    of_conversation: bool
    is_lost: bool
    groups: list[set[int]]

    @property
    def is_true(self) -> bool:
        """Whether it follows from its evidence."""
        return self.case.group == TRUE


def read() -> list[Labelled]:
    """The facts that cite something, true and invented."""
    return [
        _labelled(case, name)
        for name in (CONVERSATIONS, PAIRS)
        for listed in cases(name)
        for case in listed
        if case.group in (TRUE, INVENTED)
    ]


def _labelled(case: Case, name: str) -> Labelled:
    evidence = case.hearing.evidence_of(case.fact)
    if evidence is None:
        return Labelled(case, name == CONVERSATIONS, is_lost=True, groups=[])
    compared = compare(case.fact, evidence)
    is_lost = certain_doubt(compared) is not None
    return Labelled(case, name == CONVERSATIONS, is_lost, buckets(compared))


def judge_of(facts: Sequence[Labelled]) -> Floats:
    """The weights of the buckets that are learned from these facts, with the bias behind them."""
    kept = [one for one in facts if one.groups]
    known = _table(kept)
    wanted = np.array([float(one.is_true) for one in kept])
    return fitted(known, wanted, np.ones(len(kept)), np.ones(known.width), RIDGE)


def _table(facts: Sequence[Labelled]) -> Table:
    return table([(one.groups, ()) for one in facts], BUCKETS)


def main() -> None:
    """Fit without some writers in turn and print; fit on all and write where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"replace memory/evidence/{WEIGHTS.name}")
    arguments = parser.parse_args()
    facts = read()
    scores = np.zeros(len(facts))
    for fold in FOLDS:
        weights = judge_of([one for one in facts if one.case.writer not in fold])
        left_out = [at for at, one in enumerate(facts) if one.case.writer in fold]
        scores[left_out] = _table([facts[at] for at in left_out]).times(weights)
    usual = np.array([one.is_true and one.of_conversation and one.case.writer != FIRST for one in facts])
    least = float(np.quantile(scores[usual], DOUBTED))
    scores[[one.is_lost for one in facts]] = -np.inf
    print(f"Cross-fitted by writer; confirmed from log-odds of {least:.2f}, in percent:")
    _print_by(facts, scores, least, lambda case: f"writer {case.writer:2}")
    _print_by(facts, scores, least, lambda case: case.language)
    _print_by(facts, scores, least, lambda _: "all")
    judged = judge_of(facts)
    file = file_of(judged, len(facts), least)
    print(f"{len(file)} bytes")
    if arguments.write:
        WEIGHTS.write_bytes(file)


def file_of(judged: Floats, facts: int, least: float) -> bytes:
    """The file of weights."""
    weights = judged[:BUCKETS]
    step = float(np.quantile(np.abs(weights), 0.9999) / 127)
    header = Header(
        origin="Written by `python -m benchmarks.fit_evidence --write`; fitted on "
        f"{facts} facts of tests/sets/grounding.",
        confirmed=round(least, 3),
        bias=round(float(judged[-1]), 4),
        step=step,
    )
    return written(asdict(header), packed(weights, step))


def _print_by(facts: Sequence[Labelled], scores: Floats, least: float, name: Callable[[Case], str]) -> None:
    """A line for each name: the share confirmed of the true facts, and of the inventions by their kind."""
    rows: dict[str, dict[str, list[bool]]] = {}
    for one, score in zip(facts, scores, strict=True):
        kind = TRUE if one.is_true else one.case.kind
        rows.setdefault(name(one.case), {}).setdefault(kind, []).append(bool(score >= least))
    for row, kinds in sorted(rows.items()):
        ordered = sorted(kinds.items(), key=lambda pair: (pair[0] != TRUE, pair[0]))
        shares = "  ".join(f"{kind} {100 * np.mean(kept):5.1f}" for kind, kept in ordered)
        print(f"{row:10} {sum(map(len, kinds.values())):6} facts   {shares}")


if __name__ == "__main__":
    main()
