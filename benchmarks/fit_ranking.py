"""Fits the weights of the ranking on conversations in LoCoMo's format, and tells what they are worth.

Each question's candidates compete: the weights make what answers it likely (softmax over the candidates, the evidence
sharing the mark). Cross-fitted: the figures for a dialogue come from weights that were fitted on the others. With
--embedder the weights are those for rankings with vectors, made by the local model; with --rerank what its
cross-encoder counts besides, the best of some. With --write what was fitted on all dialogues takes its place in
memory/retrieval/weights.py.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import textwrap
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import track

import memory.retrieval.weights
from benchmarks.embedding import embedded
from benchmarks.locomo_data import Dialogue, Form, keep, read_dialogues
from memory.retrieval.features import Features, Question
from memory.retrieval.meaning import NOT_COMPARED
from memory.retrieval.neighbourhood import neighbourhood
from memory.retrieval.ranking import PAIRS, gains
from memory.retrieval.recall import CANDIDATES
from memory.retrieval.search import MESSAGE_KIND, Filter, Search
from memory.retrieval.weights import OF_PAIR, ORIGINS, RANKING, WITH_VECTORS
from memory.store.database import Database
from pipeline.embedding.local_models import NAME, LocalEmbedder, LocalModels, LocalReranker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from memory.retrieval.embedder import Embedder

    Weights = NDArray[np.float64]

FORMS = (Form.GROUP, Form.PERSONAL)
DEPTHS = (5, 10, 20)
STEPS = 200
RATE = 0.15
RIDGE = 0.001
"""What large weights cost: features that say nearly the same share what they count."""
WEIGHTS = Path(memory.retrieval.weights.__file__)
OF_PAIRS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""What the cross-encoder may count."""
_TELLING = Console(stderr=True)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's candidates: their features and texts, and the texts of all its evidence."""

    dialogue: int
    question: str
    features: NDArray[np.float64]
    texts: list[str]
    evidence: frozenset[str]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which candidates are evidence."""
        return np.array([text in self.evidence for text in self.texts], bool)

    def order(self, weights: Weights) -> list[int]:
        """The candidates, best first."""
        best: list[int] = np.argsort(-(self.features @ weights), kind="stable").tolist()
        return best


async def candidates(dialogues: list[Dialogue], form: Form, embedder: Embedder | None) -> list[Asked]:
    """What the index finds for each question, and what is near in meaning, with its features."""
    asked: list[Asked] = []
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            search, only = Search(database), Filter(kinds=[MESSAGE_KIND])
            for number, dialogue in track([*enumerate(dialogues)], f"Asking in the {form} form", console=_TELLING):
                session = await keep(database, dialogue, str(number), form)
                nearness = await embedded(database, search, embedder) if embedder is not None else None
                texts = dialogue.texts
                for question in dialogue.questions_in(form):
                    hits = await search.find(question.text, session.owner, only=only, limit=CANDIDATES)
                    meanings = NOT_COMPARED
                    if nearness is not None:
                        meanings = await nearness.of(question.text, session.owner, hits, only)
                    hits = [*hits, *meanings.found]
                    around = await neighbourhood(database, [hit.id for hit in hits])
                    held = Question(question.text, hits, around, meanings)
                    features = np.array([held.features(hit).values for hit in hits]).reshape(len(hits), -1)
                    evidence = frozenset(texts[key] for key in question.evidence)
                    asked.append(Asked(number, question.text, features, [hit.content for hit in hits], evidence))
        finally:
            await database.close()
    return asked


def fitted(asked: Sequence[Asked]) -> Weights:
    """The weights that fit, found by gradient descent with Adam's steps."""
    learnt = [one for one in asked if 0 < one.right.sum() < len(one.texts)]
    features = np.concatenate([one.features for one in learnt])
    wanted = np.concatenate([one.right / one.right.sum() for one in learnt])
    lengths = [len(one.texts) for one in learnt]
    starts = np.cumsum([0, *lengths[:-1]])
    weights = np.ones(features.shape[1])
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        scores = features @ weights
        likely = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), lengths))
        likely /= np.repeat(np.add.reduceat(likely, starts), lengths)
        slope = RIDGE * weights + features.T @ (likely - wanted) / len(learnt)
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        weights -= RATE * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
    weights[~features.any(axis=0)] = 0.0
    return weights


def figures(asked: Sequence[Asked], orders: Sequence[Sequence[int]]) -> dict[str, float]:
    """Recall and mean reciprocal rank of the candidates in these orders, in percent."""
    names = [f"R@{depth}" for depth in DEPTHS]
    sums = dict.fromkeys([*names, "MRR"], 0.0)
    for one, order in zip(asked, orders, strict=True):
        texts = list(dict.fromkeys(one.texts[number] for number in order))
        for name, depth in zip(names, DEPTHS, strict=True):
            sums[name] += len(one.evidence.intersection(texts[:depth])) / len(one.evidence)
        sums["MRR"] += next((1 / rank for rank, text in enumerate(texts, 1) if text in one.evidence), 0.0)
    return {name: 100 * value / len(asked) for name, value in sums.items()}


def told(asked: Sequence[Asked], weights: Mapping[int, Weights]) -> str:
    """The figures in words, each dialogue ranked by its own weights."""
    orders = [one.order(weights[one.dialogue]) for one in asked]
    shown = "  ".join(f"{name} {value:.1f}" for name, value in figures(asked, orders).items())
    return f"{len(asked)} questions: {shown}"


async def of_pair(asked: Sequence[Asked], weights: Mapping[int, Weights], reranker: LocalReranker) -> float:
    """What the cross-encoder's word on the best is to count."""
    orders: dict[float, list[list[int]]] = {counts: [] for counts in OF_PAIRS}
    for one in track(asked, "Reading pairs", console=_TELLING):
        order = one.order(weights[one.dialogue])
        best, others = order[:PAIRS], order[PAIRS:]
        said = gains(await reranker.scores(one.question, [one.texts[number] for number in best])) if best else []
        scores = one.features @ weights[one.dialogue]
        for counts, kept in orders.items():
            gained = {number: scores[number] + counts * gain for number, gain in zip(best, said, strict=True)}
            kept.append([*sorted(best, key=lambda number: -gained[number]), *others])
    measured = {counts: figures(asked, kept) for counts, kept in orders.items()}
    for counts, values in measured.items():
        print(f"pairs count {counts:g}: " + "  ".join(f"{name} {value:.1f}" for name, value in values.items()))
    return max(measured, key=lambda counts: measured[counts]["R@10"] + measured[counts]["MRR"])


def source_of(constants: Mapping[str, Weights], origins: Mapping[str, str], pair: float) -> str:
    """The module that holds the weights."""
    parts = [
        '"""What each feature counts in the ranking. Written by `python -m benchmarks.fit_ranking PATH --write`."""\n',
        "from memory.retrieval.features import Features\n",
    ]
    for name, weights in constants.items():
        lines = [f"    {field.name}={weight:.2f}," for field, weight in zip(fields(Features), weights, strict=True)]
        parts.append("\n".join([f"{name} = Features(", *lines, ")"]))
    parts.append(f"OF_PAIR = {pair:.2f}")
    parts.append('"""What the reranker counts: so much for the one that it puts first of the best."""')
    written = [line for name, origin in origins.items() for line in _wrapped(name, origin)]
    parts.append("\n".join(["ORIGINS = {", *written, "}"]))
    return "\n".join(parts) + "\n"


def _wrapped(name: str, origin: str) -> list[str]:
    lines = textwrap.wrap(origin, 100, drop_whitespace=False)
    return [f'    "{name}": (', *(f'        "{line}"' for line in lines), "    ),"]


async def main() -> None:
    """Collect, fit without each dialogue in turn, print; fit on all and write where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="JSON file of conversations")
    parser.add_argument("--embedder", action="store_true", help="fit the weights for rankings with vectors")
    parser.add_argument("--rerank", action="store_true", help="with --embedder: also what the cross-encoder counts")
    parser.add_argument("--write", action="store_true", help="replace memory/retrieval/weights.py")
    arguments = parser.parse_args()
    dialogues = read_dialogues(arguments.path)
    models = LocalModels()
    embedder = LocalEmbedder(models) if arguments.embedder else None
    try:
        found = {form: await candidates(dialogues, form, embedder) for form in FORMS}
        name = "WITH_VECTORS" if arguments.embedder else "RANKING"
        constants = {"RANKING": np.array(RANKING.values), "WITH_VECTORS": np.array(WITH_VECTORS.values)}
        everything = [one for asked in found.values() for one in asked]
        numbers = range(len(dialogues))
        by_index = np.array([float(field.name == "fit") for field in fields(Features)])
        without = {number: fitted([one for one in everything if one.dialogue != number]) for number in numbers}
        for form, asked in found.items():
            print(f"{form}, as the index ranks: {told(asked, dict.fromkeys(numbers, by_index))}")
            print(f"{form}, present weights:    {told(asked, dict.fromkeys(numbers, constants[name]))}")
            print(f"{form}, cross-fitted:       {told(asked, without)}")
        pair = await of_pair(everything, without, LocalReranker(models)) if arguments.rerank else OF_PAIR
    finally:
        await models.close()
    constants[name] = fitted(everything)
    by_model = f" with vectors of {NAME}" if arguments.embedder else ""
    origin = (
        f"Fitted on {len(dialogues)} dialogues in LoCoMo's format ({arguments.path.name}), {len(everything)} questions"
        f"{by_model} in these forms: {'; '.join(FORMS)}."
    )
    source = source_of(constants, ORIGINS | {name: origin}, pair)
    print(source)
    if arguments.write:
        await asyncio.to_thread(WEIGHTS.write_text, source, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
