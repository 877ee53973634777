"""Trains the weights of the ranking on conversations in LoCoMo's format, and measures their quality.

The candidates of each question compete in a softmax, in which all pieces of evidence count as right. The figures
are cross-validated: each dialogue is ranked by weights trained on the others. With --embedder this trains the weights
for rankings with vectors of the local model: for questions that share words with the evidence, and for others. Those
are also trained on half of the paraphrases in six languages (benchmarks/paraphrases.py), since LoCoMo's questions share
words with their evidence. With --write the weights trained on all data are saved in memory/search/weights.py.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

import memory.search.weights
from benchmarks.embedding import embed_missing
from benchmarks.locomo_data import Dialogue, Form, read_dialogues, store_dialogue
from benchmarks.paraphrases import FITTING, find_translations, open_chats, read_paraphrases
from bot.features.vectors.embedders import NAME, LocalEmbedder
from bot.features.vectors.store import Embedder
from memory.search.neighbourhood import read_neighbourhood
from memory.search.ranking import Question, compute_word_share
from memory.search.recall import MIN_CANDIDATES
from memory.search.search import Search
from memory.search.types import MESSAGE_KIND, NOT_COMPARED, Features, Filter, SimilaritySource
from memory.search.weights import BY_MEANING, ORIGINS, RANKING, WITH_VECTORS
from memory.store.database import Database

if TYPE_CHECKING:
    Weights = NDArray[np.float64]

FORMS = tuple(Form)
PARAPHRASES = -1
"""Number of the pseudo-dialogue that contains the paraphrases."""
DEPTHS = (5, 10, 20)
STEPS = 200
RATE = 0.15
RIDGE = 0.001
"""L2 penalty, so that correlated features share their weight."""
PRESENT = {"RANKING": RANKING, "WITH_VECTORS": WITH_VECTORS, "BY_MEANING": BY_MEANING}
NON_NEGATIVE_FEATURES = ("fit", "coverage", "surroundings")
"""Features that may not get a negative weight: only in questions worded without common words do they mislead."""
WEIGHTS = Path(memory.search.weights.__file__)
_TELLING = Console(stderr=True)


@dataclass(frozen=True, slots=True)
class QuestionCandidates:
    """A question's candidates with features and texts, and the texts of its evidence."""

    dialogue: int
    features: NDArray[np.float64]
    texts: list[str]
    evidence: frozenset[str]

    @property
    def is_evidence(self) -> NDArray[np.bool_]:
        """Return which candidates are evidence."""
        return np.array([text in self.evidence for text in self.texts], bool)

    def sort_candidates(self, weights: Weights) -> list[int]:
        """Return the order of candidates, best first."""
        best: list[int] = np.argsort(-(self.features @ weights), kind="stable").tolist()
        return best


async def read_candidates(dialogues: list[Dialogue], form: Form, embedder: Embedder | None) -> list[QuestionCandidates]:
    """Return the candidates of each question by words and by meaning, with their features."""
    asked: list[QuestionCandidates] = []
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            for number, dialogue in track([*enumerate(dialogues)], f"Asking in the {form} form", console=_TELLING):
                session = await store_dialogue(database, dialogue, str(number), form)
                vectors = await embed_missing(database, Search(database), embedder) if embedder is not None else None
                texts = dialogue.texts
                for question in dialogue.read_questions(form):
                    evidence = frozenset(texts[key] for key in question.evidence)
                    found = await find_candidates(question.text, session.owner, database, vectors)
                    asked.append(QuestionCandidates(number, *found, evidence))
        finally:
            await database.close()
    return asked


async def read_paraphrase_candidates(embedder: Embedder) -> list[QuestionCandidates]:
    """Return the candidates for the training half of the paraphrases, asked in all languages."""
    pairs = read_paraphrases()
    return [
        QuestionCandidates(
            PARAPHRASES,
            *await find_candidates(question, chat.owner, chat.database, chat.vectors),
            frozenset({pair.told}),
        )
        async for chat in open_chats(embedder)
        for pair in chat.pairs
        if pair.half == FITTING
        for question in find_translations(pair, pairs).values()
    ]


async def find_candidates(
    question: str, owner: str, database: Database, vectors: SimilaritySource | None
) -> tuple[NDArray[np.float64], list[str]]:
    """Return features and texts of the candidates for a question.

    With vectors the features appear twice, weighted by how informative the words are and by the remainder.
    """
    only, similarities = Filter(kinds=[MESSAGE_KIND]), NOT_COMPARED
    hits = await Search(database).find(question, owner, only=only, limit=MIN_CANDIDATES)
    if vectors is not None:
        similarities = await vectors.compare(question, owner, hits, only)
    hits = [*hits, *similarities.found]
    held = Question(question, hits, await read_neighbourhood(database, [hit.id for hit in hits]), similarities)
    described = [held.compute_features(hit) for hit in hits]
    features = np.array([each.values for each in described]).reshape(len(hits), len(fields(Features)))
    if vectors is not None:
        share = compute_word_share(described)
        features = np.hstack((share * features, (1 - share) * features))
    return features, [hit.content for hit in hits]


def fit(asked: Sequence[QuestionCandidates]) -> Weights:
    """Train weights by gradient descent with Adam's steps. With vectors both sets are trained together."""
    trainable = [one for one in asked if 0 < one.is_evidence.sum() < len(one.texts)]
    features = np.concatenate([one.features for one in trainable])
    wanted = np.concatenate([one.is_evidence / one.is_evidence.sum() for one in trainable])
    lengths = [len(one.texts) for one in trainable]
    starts = np.cumsum([0, *lengths[:-1]])
    weights = np.ones(features.shape[1])
    min_weights = np.full_like(weights, -np.inf)
    if len(weights) > (length := len(fields(Features))):
        min_weights[length:] = [0.0 if field.name in NON_NEGATIVE_FEATURES else -np.inf for field in fields(Features)]
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        scores = features @ weights
        likely = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), lengths))
        likely /= np.repeat(np.add.reduceat(likely, starts), lengths)
        slope = RIDGE * weights + features.T @ (likely - wanted) / len(trainable)
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        weights -= RATE * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
        weights = np.maximum(weights, min_weights)
    weights[~features.any(axis=0)] = 0.0
    return weights


def compute_figures(asked: Sequence[QuestionCandidates], orders: Sequence[Sequence[int]]) -> dict[str, float]:
    """Return recall and mean reciprocal rank for the given orders, in percent."""
    names = [f"R@{depth}" for depth in DEPTHS]
    sums = dict.fromkeys([*names, "MRR"], 0.0)
    for one, order in zip(asked, orders, strict=True):
        texts = list(dict.fromkeys(one.texts[number] for number in order))
        for name, depth in zip(names, DEPTHS, strict=True):
            sums[name] += len(one.evidence.intersection(texts[:depth])) / len(one.evidence)
        sums["MRR"] += next((1 / rank for rank, text in enumerate(texts, 1) if text in one.evidence), 0.0)
    return {name: 100 * value / len(asked) for name, value in sums.items()}


def format_figures(asked: Sequence[QuestionCandidates], weights: Mapping[int, Weights]) -> str:
    """Format the figures, with each dialogue ranked by its weights."""
    orders = [one.sort_candidates(weights[one.dialogue]) for one in asked]
    shown = "  ".join(f"{name} {value:.1f}" for name, value in compute_figures(asked, orders).items())
    return f"{len(asked)} questions: {shown}"


def render_module(constants: Mapping[str, Weights], origins: Mapping[str, str]) -> str:
    """Return the source of the module with the weights."""
    parts = [
        '"""What each feature counts in the ranking. Written by `python -m benchmarks.fit_ranking PATH --write`."""\n',
        "from memory.search.ranking import Features\n",
    ]
    for name, weights in constants.items():
        lines = [f"    {field.name}={weight:.2f}," for field, weight in zip(fields(Features), weights, strict=True)]
        parts.append("\n".join([f"{name} = Features(", *lines, ")"]))
    written = [line for name, origin in origins.items() for line in _wrap(name, origin)]
    parts.append("\n".join(["ORIGINS = {", *written, "}"]))
    parts.append('"""What each was fitted on."""')
    return "\n".join(parts) + "\n"


def _wrap(name: str, origin: str) -> list[str]:
    # Slightly narrower than a line of 120, since the formatter joins short strings
    lines = textwrap.wrap(origin, 110, drop_whitespace=False)
    return [f'    "{name}": (', *(f'        "{line}"' for line in lines), "    ),"]


async def main() -> None:
    """Cross-validate and print the figures, then train on everything and optionally save the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="JSON file of conversations")
    parser.add_argument("--embedder", action="store_true", help="fit the weights for rankings with vectors")
    parser.add_argument("--write", action="store_true", help="replace memory/search/weights.py")
    arguments = parser.parse_args()
    dialogues = read_dialogues(arguments.path)
    models = LocalEmbedder()
    try:
        embedder = models if arguments.embedder else None
        found: dict[str, list[QuestionCandidates]] = {
            form: await read_candidates(dialogues, form, embedder) for form in FORMS
        }
        if embedder is not None:
            found["paraphrases"] = await read_paraphrase_candidates(embedder)
    finally:
        await models.close()
    sets, by = (["RANKING"], "") if embedder is None else (["WITH_VECTORS", "BY_MEANING"], f" with vectors of {NAME}")
    constants = {name: np.array(weights.values) for name, weights in PRESENT.items()}
    trained = _fit_and_report(" and ".join(sets), found, np.concatenate([constants[name] for name in sets]))
    constants |= dict(zip(sets, np.split(trained, len(sets)), strict=True))
    origin = (
        f"Fitted on {len(dialogues)} dialogues in LoCoMo's format ({arguments.path.name}), "
        f"{sum(map(len, found.values()))} questions{by}; forms: {'; '.join(found)}."
    )
    origins = ORIGINS | dict.fromkeys(sets, origin)
    source = render_module(constants, origins)
    print(source)
    if arguments.write:
        await asyncio.to_thread(WEIGHTS.write_text, source, encoding="utf-8")


def _fit_without_each(found: Mapping[str, Sequence[QuestionCandidates]]) -> dict[int, Weights]:
    """Return weights for each dialogue, trained on all others."""
    everything = [one for asked in found.values() for one in asked]
    return {
        number: fit([one for one in everything if one.dialogue != number])
        for number in sorted({one.dialogue for one in everything})
    }


def _fit_and_report(name: str, found: Mapping[str, Sequence[QuestionCandidates]], present: Weights) -> Weights:
    """Print the figures and return weights trained on everything."""
    without = _fit_without_each(found)
    by_index = np.resize([float(field.name == "fit") for field in fields(Features)], len(present))
    for form, asked in found.items():
        print(f"{name}, {form}, as the index ranks: {format_figures(asked, dict.fromkeys(without, by_index))}")
        print(f"{name}, {form}, present weights:    {format_figures(asked, dict.fromkeys(without, present))}")
        print(f"{name}, {form}, cross-fitted:       {format_figures(asked, without)}")
    return fit([one for asked in found.values() for one in asked])


if __name__ == "__main__":
    asyncio.run(main())
