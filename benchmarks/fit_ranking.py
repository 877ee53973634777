"""Fits the weights of the ranking on conversations in LoCoMo's format, and tells what they are worth.

Each question's candidates compete: the weights make what answers it likely (softmax over the candidates, the evidence
sharing the mark). Cross-fitted: the figures for a dialogue come from weights that were fitted on the others. With
--embedder the weights are those for rankings with vectors, made by the local model: where words tell of what was found,
and where only meaning does. They are fitted also on half of the paraphrases in six languages
(benchmarks/paraphrases.py), since LoCoMo's questions share their words with what answers them.
With --write what was fitted on all takes its place in memory/search/weights.py.
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

import memory.search.weights
from benchmarks.embedding import embedded
from benchmarks.locomo_data import Dialogue, Form, keep, read_dialogues
from benchmarks.paraphrases import FITTING, chats, questions_of, read_paraphrases
from memory.search.features import Features, Question
from memory.search.ranking import neighbourhood, share_of_words
from memory.search.recall import CANDIDATES
from memory.search.search import MESSAGE_KIND, NOT_COMPARED, Filter, Search
from memory.search.weights import BY_MEANING, ORIGINS, RANKING, WITH_VECTORS
from memory.store.database import Database
from pipeline.embedding.embedders import NAME, LocalEmbedder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from memory.search.vector_search import VectorSearch
    from memory.search.vectors import Embedder

    Weights = NDArray[np.float64]

FORMS = tuple(Form)
PARAPHRASES = -1
"""Stands for the number of a dialogue."""
DEPTHS = (5, 10, 20)
STEPS = 200
RATE = 0.15
RIDGE = 0.001
"""What large weights cost: features that say nearly the same share what they count."""
PRESENT = {"RANKING": RANKING, "WITH_VECTORS": WITH_VECTORS, "BY_MEANING": BY_MEANING}
OF_WORDS = ("fit", "coverage", "surroundings")
"""These may not count against a hit: that they mislead is only so where questions were worded to share no words."""
WEIGHTS = Path(memory.search.weights.__file__)
_TELLING = Console(stderr=True)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's candidates: features and texts; the texts of all its evidence."""

    dialogue: int
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
            for number, dialogue in track([*enumerate(dialogues)], f"Asking in the {form} form", console=_TELLING):
                session = await keep(database, dialogue, str(number), form)
                vectors = await embedded(database, Search(database), embedder) if embedder is not None else None
                texts = dialogue.texts
                for question in dialogue.questions_in(form):
                    evidence = frozenset(texts[key] for key in question.evidence)
                    found = await found_for(question.text, session.owner, database, vectors)
                    asked.append(Asked(number, *found, evidence))
        finally:
            await database.close()
    return asked


async def paraphrased(embedder: Embedder) -> list[Asked]:
    """The same for the half of the paraphrases that is for fitting, asked in all languages."""
    pairs = read_paraphrases()
    return [
        Asked(PARAPHRASES, *await found_for(question, chat.owner, chat.database, chat.vectors), frozenset({pair.told}))
        async for chat in chats(embedder)
        for pair in chat.pairs
        if pair.half == FITTING
        for question in questions_of(pair, pairs).values()
    ]


async def found_for(
    question: str, owner: str, database: Database, vectors: VectorSearch | None
) -> tuple[NDArray[np.float64], list[str]]:
    """The features and the texts of what may answer a question.

    With vectors the features stand twice: by how much words tell, and by how much they don't.
    """
    only, similarities = Filter(kinds=[MESSAGE_KIND]), NOT_COMPARED
    hits = await Search(database).find(question, owner, only=only, limit=CANDIDATES)
    if vectors is not None:
        similarities = await vectors.of(question, owner, hits, only)
    hits = [*hits, *similarities.found]
    held = Question(question, hits, await neighbourhood(database, [hit.id for hit in hits]), similarities)
    described = [held.features(hit) for hit in hits]
    features = np.array([each.values for each in described]).reshape(len(hits), len(fields(Features)))
    if vectors is not None:
        share = share_of_words(described)
        features = np.hstack((share * features, (1 - share) * features))
    return features, [hit.content for hit in hits]


def fitted(asked: Sequence[Asked]) -> Weights:
    """The weights that fit, found by gradient descent with Adam's steps, with vectors those of both sets."""
    learnt = [one for one in asked if 0 < one.right.sum() < len(one.texts)]
    features = np.concatenate([one.features for one in learnt])
    wanted = np.concatenate([one.right / one.right.sum() for one in learnt])
    lengths = [len(one.texts) for one in learnt]
    starts = np.cumsum([0, *lengths[:-1]])
    weights = np.ones(features.shape[1])
    least = np.full_like(weights, -np.inf)
    if len(weights) > (length := len(fields(Features))):
        least[length:] = [0.0 if field.name in OF_WORDS else -np.inf for field in fields(Features)]
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        scores = features @ weights
        likely = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), lengths))
        likely /= np.repeat(np.add.reduceat(likely, starts), lengths)
        slope = RIDGE * weights + features.T @ (likely - wanted) / len(learnt)
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        weights -= RATE * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
        weights = np.maximum(weights, least)
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


def source_of(constants: Mapping[str, Weights], origins: Mapping[str, str]) -> str:
    """The module that holds the weights."""
    parts = [
        '"""What each feature counts in the ranking. Written by `python -m benchmarks.fit_ranking PATH --write`."""\n',
        "from memory.search.features import Features\n",
    ]
    for name, weights in constants.items():
        lines = [f"    {field.name}={weight:.2f}," for field, weight in zip(fields(Features), weights, strict=True)]
        parts.append("\n".join([f"{name} = Features(", *lines, ")"]))
    written = [line for name, origin in origins.items() for line in _wrapped(name, origin)]
    parts.append("\n".join(["ORIGINS = {", *written, "}"]))
    parts.append('"""What each was fitted on."""')
    return "\n".join(parts) + "\n"


def _wrapped(name: str, origin: str) -> list[str]:
    # As wide as a line of 120 leaves it: the formatter joins what would fit into one.
    lines = textwrap.wrap(origin, 110, drop_whitespace=False)
    return [f'    "{name}": (', *(f'        "{line}"' for line in lines), "    ),"]


async def main() -> None:
    """Collect, fit without each dialogue in turn, print; fit on all and write where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="JSON file of conversations")
    parser.add_argument("--embedder", action="store_true", help="fit the weights for rankings with vectors")
    parser.add_argument("--write", action="store_true", help="replace memory/search/weights.py")
    arguments = parser.parse_args()
    dialogues = read_dialogues(arguments.path)
    models = LocalEmbedder()
    try:
        embedder = models if arguments.embedder else None
        found: dict[str, list[Asked]] = {form: await candidates(dialogues, form, embedder) for form in FORMS}
        if embedder is not None:
            found["paraphrases"] = await paraphrased(embedder)
    finally:
        await models.close()
    sets, by = (["RANKING"], "") if embedder is None else (["WITH_VECTORS", "BY_MEANING"], f" with vectors of {NAME}")
    constants = {name: np.array(weights.values) for name, weights in PRESENT.items()}
    fit = _fitted_and_told(" and ".join(sets), found, np.concatenate([constants[name] for name in sets]))
    constants |= dict(zip(sets, np.split(fit, len(sets)), strict=True))
    origin = (
        f"Fitted on {len(dialogues)} dialogues in LoCoMo's format ({arguments.path.name}), "
        f"{sum(map(len, found.values()))} questions{by}; forms: {'; '.join(found)}."
    )
    origins = ORIGINS | dict.fromkeys(sets, origin)
    source = source_of(constants, origins)
    print(source)
    if arguments.write:
        await asyncio.to_thread(WEIGHTS.write_text, source, encoding="utf-8")


def _without_each(found: Mapping[str, Sequence[Asked]]) -> dict[int, Weights]:
    """For each dialogue the weights that were fitted on the others."""
    everything = [one for asked in found.values() for one in asked]
    return {
        number: fitted([one for one in everything if one.dialogue != number])
        for number in sorted({one.dialogue for one in everything})
    }


def _fitted_and_told(name: str, found: Mapping[str, Sequence[Asked]], present: Weights) -> Weights:
    """The weights that fit all, after figures were printed."""
    without = _without_each(found)
    by_index = np.resize([float(field.name == "fit") for field in fields(Features)], len(present))
    for form, asked in found.items():
        print(f"{name}, {form}, as the index ranks: {told(asked, dict.fromkeys(without, by_index))}")
        print(f"{name}, {form}, present weights:    {told(asked, dict.fromkeys(without, present))}")
        print(f"{name}, {form}, cross-fitted:       {told(asked, without)}")
    return fitted([one for asked in found.values() for one in asked])


if __name__ == "__main__":
    asyncio.run(main())
