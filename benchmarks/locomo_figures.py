"""Figures about evidence in requests, and about its rank."""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from rich.table import Table

from benchmarks.locomo_data import CATEGORIES, Form

DEPTHS = (5, 10, 20)
DRAWS = 1_000
_PLACES = (*(f"R@{depth}" for depth in DEPTHS), "MRR")


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of one question.

    Args:
        shown: share of its evidence in the request.
        ranks: ranks of the evidence that was found.
        words: share of the answer's words in the evidence that the request contains, or None without such words.
    """

    category: int
    shown: float
    tokens: int
    milliseconds: float
    evidence: int
    ranks: tuple[int, ...]
    words: float | None = None

    def compute_figures(self) -> dict[str, float]:
        """Return the figures of this question by name."""
        found = {f"R@{depth}": sum(rank <= depth for rank in self.ranks) / self.evidence for depth in DEPTHS}
        reciprocal = 1 / min(self.ranks) if self.ranks else 0.0
        words = {} if self.words is None else {"words": self.words}
        return {"any": float(self.shown > 0), "all": float(self.shown == 1), **words, **found, "MRR": reciprocal}


def compute_interval(values: list[float]) -> tuple[float, float]:
    """Return a 95% bootstrap interval of the mean."""
    source = random.Random(1)
    means = sorted(statistics.fmean(source.choices(values, k=len(values))) for _ in range(DRAWS))
    return means[DRAWS // 40], means[-DRAWS // 40]


def summarize(answers: list[QuestionResult]) -> dict[str, list[float]]:
    """Return mean and interval of each figure, in percent."""
    figures = [one.compute_figures() for one in answers]
    summed: dict[str, list[float]] = {}
    for name in dict.fromkeys(name for of in figures for name in of):
        values = [of[name] for of in figures if name in of]
        summed[name] = [round(100 * value, 1) for value in (statistics.fmean(values), *compute_interval(values))]
    return summed


def build_report(form: Form, answers: list[QuestionResult], noise: dict[str, float]) -> dict[str, object]:
    """Return all figures of a form for the JSON file."""
    by_category = {
        name: summarize(chosen)
        for number, name in CATEGORIES.items()
        if (chosen := [one for one in answers if one.category == number])
    }
    return {
        "form": str(form),
        "questions": len(answers),
        "tokens": round(statistics.fmean(one.tokens for one in answers)),
        "milliseconds": round(statistics.median(one.milliseconds for one in answers), 1),
        "noise": {kind: round(100 * part, 1) for kind, part in noise.items()},
        "all categories": summarize(answers),
        **by_category,
    }


def build_headline_table(answers: Mapping[str, list[QuestionResult]]) -> Table:
    """Return a table of evidence in the requests by form."""
    table = Table("form", "questions", "any", "all", "answer words", "tokens", "ms", title="Evidence in the request")
    for form, some in answers.items():
        figures = summarize(some)
        tokens = statistics.fmean(one.tokens for one in some)
        spent = statistics.median(one.milliseconds for one in some)
        cells = [_format_cell(figures[name]) if name in figures else "" for name in ("any", "all", "words")]
        table.add_row(form, str(len(some)), *cells, f"{tokens:.0f}", f"{spent:.1f}")
    return table


def build_ranking_table(form: Form, answers: list[QuestionResult]) -> Table:
    """Return a table of ranks by category."""
    table = Table("category", "questions", title=f"Ranking of the evidence, {form} form")
    kinds = {"all": answers} | {
        name: [one for one in answers if one.category == number] for number, name in CATEGORIES.items()
    }
    for name in _PLACES:
        table.add_column(name)
    for kind, some in kinds.items():
        if some:
            figures = summarize(some)
            table.add_row(kind, str(len(some)), *(_format_cell(figures[name]) for name in _PLACES))
    return table


def build_methods_table(answers: dict[str, list[QuestionResult]]) -> Table:
    """Return a table of ranks by method."""
    table = Table("method", *_PLACES, "ms", title="Ranking of the evidence beside other methods")
    for name, some in answers.items():
        figures = summarize(some)
        spent = statistics.median(one.milliseconds for one in some)
        table.add_row(name, *(_format_cell(figures[column]) for column in _PLACES), f"{spent:.1f}")
    return table


def _format_cell(figure: list[float]) -> str:
    mean, low, high = figure
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"
