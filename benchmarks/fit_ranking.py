"""Fits the weights of the ranking on conversations in LoCoMo's format, and tells what they are worth.

Each question's candidates compete: the weights make what answers it likely (softmax over the candidates, the evidence
sharing the mark). Cross-fitted: the figures for a dialogue come from weights that were fitted on the others. With
--write the weights that were fitted on all of them replace memory/retrieval/weights.py.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path

from rich.console import Console
from rich.progress import track

import memory.retrieval.weights
from benchmarks.locomo_data import Dialogue, Form, keep, read_dialogues
from memory.retrieval.features import Features, Question
from memory.retrieval.neighbourhood import neighbourhood
from memory.retrieval.recall import CANDIDATES
from memory.retrieval.search import MESSAGE_KIND, Filter, Search
from memory.store.database import Database

FORMS = (Form.GROUP, Form.PERSONAL)
DEPTHS = (5, 10, 20)
STEPS = 80
RATE = 0.15
RIDGE = 0.001
"""What large weights cost: features that say nearly the same share what they count."""
WEIGHTS = Path(memory.retrieval.weights.__file__)
_TELLING = Console(stderr=True)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's candidates: their features and texts; which are its evidence, and the texts of all its evidence."""

    dialogue: int
    features: list[tuple[float, ...]]
    texts: list[str]
    evidence: frozenset[str]

    @property
    def right(self) -> list[int]:
        """The candidates that are evidence."""
        return [number for number, text in enumerate(self.texts) if text in self.evidence]


async def candidates(dialogues: list[Dialogue], form: Form) -> list[Asked]:
    """What the index finds for each question, with its features."""
    asked: list[Asked] = []
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            search, only = Search(database), Filter(kinds=[MESSAGE_KIND])
            for number, dialogue in track([*enumerate(dialogues)], f"Asking in the {form} form", console=_TELLING):
                session = await keep(database, dialogue, str(number), form)
                texts = dialogue.texts
                for question in dialogue.questions_in(form):
                    hits = await search.find(question.text, session.owner, only=only, limit=CANDIDATES)
                    around = await neighbourhood(database, [hit.id for hit in hits])
                    held = Question(question.text, hits, around)
                    features = [held.features(hit).values for hit in hits]
                    evidence = frozenset(texts[key] for key in question.evidence)
                    asked.append(Asked(number, features, [hit.content for hit in hits], evidence))
        finally:
            await database.close()
    return asked


def fitted(asked: list[Asked], what: str) -> tuple[float, ...]:
    """The weights that fit, found by gradient descent with Adam's steps."""
    learnt = [(one.features, one.right) for one in asked if 0 < len(one.right) < len(one.features)]
    size = len(fields(Features))
    weights, mean, square = [1.0] * size, [0.0] * size, [0.0] * size
    for step in track(range(1, STEPS + 1), what, console=_TELLING):
        gradient = [RIDGE * weight for weight in weights]
        for features, right in learnt:
            for share, values in zip(_misses(features, right, weights), features, strict=True):
                for number, value in enumerate(values):
                    gradient[number] += share * value / len(learnt)
        for number, slope in enumerate(gradient):
            mean[number] = 0.9 * mean[number] + 0.1 * slope
            square[number] = 0.99 * square[number] + 0.01 * slope**2
            size_of_step = math.sqrt(square[number] / (1 - 0.99**step)) + 1e-9
            weights[number] -= RATE * mean[number] / (1 - 0.9**step) / size_of_step
    return tuple(weights)


def _misses(features: list[tuple[float, ...]], right: list[int], weights: list[float]) -> list[float]:
    """By how much each candidate is likelier than it ought to be."""
    scores = [sum(map(float.__mul__, weights, values)) for values in features]
    highest = max(scores)
    likely = [math.exp(score - highest) for score in scores]
    total = sum(likely)
    shares = [one / total for one in likely]
    for number in right:
        shares[number] -= 1 / len(right)
    return shares


def figures(asked: list[Asked], weights: dict[int, tuple[float, ...]]) -> str:
    """Recall and mean reciprocal rank, each dialogue ranked by its own weights."""
    recall, reciprocal = dict.fromkeys(DEPTHS, 0.0), 0.0
    for one in asked:
        scores = [sum(map(float.__mul__, weights[one.dialogue], values)) for values in one.features]
        order = sorted(range(len(scores)), key=lambda number: -scores[number])
        texts = list(dict.fromkeys(one.texts[number] for number in order))
        for depth in DEPTHS:
            recall[depth] += len(one.evidence.intersection(texts[:depth])) / len(one.evidence)
        reciprocal += next((1 / rank for rank, text in enumerate(texts, 1) if text in one.evidence), 0.0)
    shown = "  ".join(f"R@{depth} {100 * value / len(asked):.1f}" for depth, value in recall.items())
    return f"{len(asked)} questions: {shown}  MRR {100 * reciprocal / len(asked):.1f}"


def source_of(weights: tuple[float, ...], origin: str) -> str:
    """The module that holds the weights."""
    lines = [f"    {field.name}={weight:.2f}," for field, weight in zip(fields(Features), weights, strict=True)]
    return (
        '"""What each feature counts in the ranking. Written by `python -m benchmarks.fit_ranking PATH --write`.\n\n'
        f'{origin}\n"""\n\nfrom memory.retrieval.features import Features\n\n'
        "RANKING = Features(\n" + "\n".join(lines) + "\n)\n"
    )


async def main() -> None:
    """Collect, fit without each dialogue in turn, print; fit on all and write where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="JSON file of conversations")
    parser.add_argument("--write", action="store_true", help="replace memory/retrieval/weights.py")
    arguments = parser.parse_args()
    dialogues = read_dialogues(arguments.path)
    found = {form: await candidates(dialogues, form) for form in FORMS}
    everything = [one for asked in found.values() for one in asked]
    present = memory.retrieval.weights.RANKING.values
    by_index = tuple(float(field.name == "fit") for field in fields(Features))
    without = {
        number: fitted([one for one in everything if one.dialogue != number], f"Fitting without dialogue {number + 1}")
        for number in range(len(dialogues))
    }
    numbers = range(len(dialogues))
    for form, asked in found.items():
        print(f"{form}, as the index ranks: {figures(asked, dict.fromkeys(numbers, by_index))}")
        print(f"{form}, present weights:    {figures(asked, dict.fromkeys(numbers, present))}")
        print(f"{form}, cross-fitted:       {figures(asked, without)}")
    origin = (
        f"Fitted on {len(dialogues)} dialogues in LoCoMo's format ({arguments.path.name}), "
        f"{len(everything)} questions in\n"
        f"these forms: {'; '.join(FORMS)}."
    )
    source = source_of(fitted(everything, "Fitting on all"), origin)
    print(source)
    if arguments.write:
        await asyncio.to_thread(WEIGHTS.write_text, source, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
