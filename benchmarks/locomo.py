"""How much of what answers a question stands in its request, on conversations in LoCoMo's format.

Give the path of a JSON file (the data is not part of the project). The conversations are kept by the product's own log,
once as a group's and once as a private chat's; each question is then asked in a new conversation. Printed first: for
how many questions any, and for how many all of the messages that answer it stand in `# Relevant Memory`, and what that
costs; then how high the search ranks them, with intervals that hold in 95 of 100 draws of as many questions. No model
takes part.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.locomo_data import CATEGORIES, Dialogue, Form, Question, keep, read_dialogues
from config.models import ModelWindow
from memory.clock import system_clock
from memory.log.sessions import Session, Transcript
from memory.retrieval.activation import Activation
from memory.retrieval.recall import Recall
from memory.retrieval.search import MESSAGE_KIND, Filter, Search
from memory.store.database import Database
from memory.store.decay import Decay
from memory.text.tokens import TokenCounter
from pipeline.prompt.budget import Budget
from pipeline.prompt.prompt_builder import Memories, PromptBuilder, PromptSources
from pipeline.prompt.prompts import NOW_HEADER, RELEVANT_HEADER, STYLES

DEPTHS = (5, 10, 20)
RECOGNISED = 150
"""Characters in a row that show that a message which was cut is in a request: half of what is shown of one."""
UNRELATED = Path(__file__).parent.parent / "tests" / "sets" / "unrelated_messages.json"
DRAWS = 1_000
UTC_ZONE = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of one question. shown: the share of its evidence in the request; ranks: of each that was found."""

    category: int
    shown: float
    tokens: int
    milliseconds: float
    evidence: int
    ranks: tuple[int, ...]

    def figures(self) -> dict[str, float]:
        """The figures of this question by their names."""
        found = {f"R@{depth}": sum(rank <= depth for rank in self.ranks) / self.evidence for depth in DEPTHS}
        reciprocal = 1 / min(self.ranks) if self.ranks else 0.0
        return {"any": float(self.shown > 0), "all": float(self.shown == 1), **found, "MRR": reciprocal}


class Asking:
    """Asks questions of a store as a turn does."""

    def __init__(self, database: Database) -> None:
        search = Search(database)
        self._counter = TokenCounter()
        self._recall = Recall(search, database, self._counter, UTC_ZONE)
        activation = Activation(database, Decay(), system_clock, UTC_ZONE)
        memories = Memories(search, self._recall, activation, 800)
        self._builder = PromptBuilder(
            STYLES["full"], PromptSources(None, memories, None), self._budget, system_clock, UTC_ZONE
        )

    def _budget(self) -> Budget:
        return Budget("", ModelWindow(128_000, 8_000), self._counter)

    async def relevant(self, session: Session, message: str) -> str:
        """What stands under `# Relevant Memory` for a message that begins a conversation."""
        visible, budget = Transcript(None, None, []), self._budget()
        found = await self._builder.find(session, message, visible)
        stable = await self._builder.stable(session, visible, budget, found)
        volatile = await self._builder.volatile(message, found, visible, stable, budget)
        return volatile.text.text.partition(RELEVANT_HEADER)[2].rpartition(NOW_HEADER)[0].strip()

    async def ask(self, session: Session, question: Question, texts: dict[str, str]) -> Answered:
        """What the request of a question holds, and where the search ranks its evidence."""
        started = time.perf_counter()
        relevant = await self.relevant(session, question.text)
        spent = 1000 * (time.perf_counter() - started)
        shown = sum(_is_in(texts[key], relevant) for key in question.evidence) / len(question.evidence)
        only = Filter(kinds=[MESSAGE_KIND])
        hits = await self._recall.hits(question.text, session.owner, only, max(DEPTHS))
        places = {content: rank for rank, content in reversed([*enumerate((hit.content for hit in hits), 1)])}
        ranks = tuple(places[texts[key]] for key in question.evidence if texts[key] in places)
        tokens = self._counter.text(relevant)
        return Answered(question.category, shown, tokens, spent, len(question.evidence), ranks)


async def answered(dialogues: list[Dialogue], form: Form) -> tuple[list[Answered], dict[str, float]]:
    """All questions of all dialogues in one form, in a store of its own; and the noise.

    That is, by kind, the part of the English messages in tests/sets/unrelated_messages.json that show anything.
    """
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            kept = [
                (dialogue, await keep(database, dialogue, str(number), form))
                for number, dialogue in track([*enumerate(dialogues)], f"Keeping the {form} form", console=_TELLING)
            ]
            asking = Asking(database)
            asked = [(s, d.texts, question) for d, s in kept for question in d.questions_in(form)]
            answers = [
                await asking.ask(session, question, texts)
                for session, texts, question in track(asked, f"Asking in the {form} form", console=_TELLING)
            ]
            noise: dict[str, float] = {}
            for kind, messages in _unrelated().items():
                shown = [await asking.relevant(session, message) for _, session in kept for message in messages]
                noise[kind] = sum(map(bool, shown)) / len(shown)
            return answers, noise
        finally:
            await database.close()


def interval(values: list[float]) -> tuple[float, float]:
    """Between what the mean lies in 95 of 100 draws."""
    source = random.Random(1)
    means = sorted(statistics.fmean(source.choices(values, k=len(values))) for _ in range(DRAWS))
    return means[DRAWS // 40], means[-DRAWS // 40]


def summary(answers: list[Answered]) -> dict[str, list[float]]:
    """Mean and interval of each figure, in percent."""
    figures = [one.figures() for one in answers]
    summed: dict[str, list[float]] = {}
    for name in figures[0]:
        values = [of[name] for of in figures]
        summed[name] = [round(100 * value, 1) for value in (statistics.fmean(values), *interval(values))]
    return summed


def report(form: Form, answers: list[Answered], noise: dict[str, float]) -> dict[str, object]:
    """All figures of a form, for the file."""
    by_category = {
        name: summary(chosen)
        for number, name in CATEGORIES.items()
        if (chosen := [one for one in answers if one.category == number])
    }
    return {
        "form": str(form),
        "questions": len(answers),
        "tokens": round(statistics.fmean(one.tokens for one in answers)),
        "milliseconds": round(statistics.median(one.milliseconds for one in answers), 1),
        "noise": {kind: round(100 * part, 1) for kind, part in noise.items()},
        "all categories": summary(answers),
        **by_category,
    }


def _unrelated() -> dict[str, list[str]]:
    kinds = json.loads(UNRELATED.read_text(encoding="utf-8"))
    return {kind: messages["en"] for kind, messages in kinds.items() if kind != "about"}


def _is_in(text: str, request: str) -> bool:
    """Whether a request holds a message, or as much of a long one as is shown of it."""
    line = " ".join(text.split())
    starts = range(0, max(1, len(line) - RECOGNISED + 1), 10)
    return line in request or (len(line) > RECOGNISED and any(line[at : at + RECOGNISED] in request for at in starts))


def _headline(answers: dict[Form, list[Answered]]) -> Table:
    table = Table("form", "questions", "any", "all", "tokens", "ms", title="Evidence in the request")
    for form, some in answers.items():
        figures = summary(some)
        tokens = statistics.fmean(one.tokens for one in some)
        spent = statistics.median(one.milliseconds for one in some)
        table.add_row(
            form, str(len(some)), _cell(figures["any"]), _cell(figures["all"]), f"{tokens:.0f}", f"{spent:.1f}"
        )
    return table


def _ranking(form: Form, answers: list[Answered]) -> Table:
    table = Table("category", "questions", title=f"Ranking of the evidence, {form} form")
    kinds = {"all": answers} | {
        name: [one for one in answers if one.category == number] for number, name in CATEGORIES.items()
    }
    for name in (columns := [name for name in answers[0].figures() if name not in ("any", "all")]):
        table.add_column(name)
    for kind, some in kinds.items():
        if some:
            figures = summary(some)
            table.add_row(kind, str(len(some)), *(_cell(figures[name]) for name in columns))
    return table


def _cell(figure: list[float]) -> str:
    mean, low, high = figure
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


_TELLING = Console(stderr=True)


async def main() -> None:
    """Keep, ask, print the tables; write all figures into a file where one is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="JSON file of conversations")
    parser.add_argument("--json", type=Path, help="write all figures into this file")
    arguments = parser.parse_args()
    dialogues = read_dialogues(arguments.path)
    measured = {form: await answered(dialogues, form) for form in Form}
    console = Console(width=110)
    console.print(_headline({form: answers for form, (answers, _) in measured.items()}))
    for form, (answers, noise) in measured.items():
        parts = ", ".join(f"{kind.replace('_', ' ')} {part:.0%}" for kind, part in noise.items())
        console.print(f"{form} form, unrelated messages that show anything: {parts}")
        console.print(_ranking(form, answers))
    if arguments.json is not None:
        figures = {"at": f"{datetime.now(UTC):%Y-%m-%d}", "forms": [report(form, *of) for form, of in measured.items()]}
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
