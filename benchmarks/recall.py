"""Evidence for questions in the requests that ask them, on chats of people with an assistant in three languages.

The chats belong to the project (benchmarks/recall_chats.py). The product's log stores them, and each question is asked
in a new conversation. By language and kind of question, this prints for how many questions any or all of the evidence
is in `# Relevant Memory`, for how many it is within the first tokens, how high the search ranks it, and how often
memories are shown for unrelated messages and for questions without an answer. No model is involved.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.locomo import Asker, is_in
from benchmarks.locomo_data import Form, store_dialogue
from benchmarks.locomo_figures import QuestionResult, summarize
from benchmarks.recall_chats import KINDS, read_chats
from memory.store.database import Database
from memory.text.tokens import TokenCounter

FIRST_TOKENS = 300
"""Size of the memory section in a small context window."""
FIRST = f"first {FIRST_TOKENS} tokens"
_STDERR = Console(stderr=True)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question and its result. `first` is True if any of its evidence is within the first tokens."""

    language: str
    answered: QuestionResult
    first: bool

    @property
    def kind(self) -> str:
        """Return the kind of the question."""
        return KINDS[self.answered.category]


@dataclass(frozen=True, slots=True)
class UnrelatedMessage:
    """A message for which no memory should be shown, and the tokens that were shown."""

    language: str
    kind: str
    tokens: int


async def measure(half: str) -> tuple[list[AskedQuestion], list[UnrelatedMessage]]:
    """Ask all questions and messages of a half."""
    counter = TokenCounter()
    asked: list[AskedQuestion] = []
    unasked: list[UnrelatedMessage] = []
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            chats = read_chats(half)
            kept = [(chat, await store_dialogue(database, chat.dialogue, chat.name, Form.PRIVATE)) for chat in chats]
            asking = Asker(database)
            for chat, session in track(kept, "Asking", console=_STDERR):
                texts = chat.dialogue.texts
                never = [question.text for question in chat.dialogue.questions if not question.evidence]
                for question in chat.dialogue.questions:
                    if question.evidence:
                        answered = await asking.ask(session, question, texts)
                        beginning = _take_beginning(await asking.find_relevant(session, question.text), counter)
                        first = any(is_in(texts[key], beginning) for key in question.evidence)
                        asked.append(AskedQuestion(chat.language, answered, first))
                for kind, messages in (
                    ("never said", never),
                    ("off topic", chat.off_topic),
                    ("small talk", chat.small_talk),
                ):
                    shown = [counter.count(await asking.find_relevant(session, message)) for message in messages]
                    unasked += [UnrelatedMessage(chat.language, kind, tokens) for tokens in shown]
        finally:
            await database.close()
    return asked, unasked


def _take_beginning(relevant: str, counter: TokenCounter) -> str:
    """Return the lines within the first tokens."""
    lines: list[str] = []
    left = FIRST_TOKENS
    for line in relevant.splitlines():
        left -= counter.count(line) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def summarize_answers(asked: list[AskedQuestion]) -> dict[str, dict[str, float | list[float]]]:
    """Return means with 95% intervals in percent, and tokens, by language and by kind of question."""
    groups = {"all": asked}
    groups |= {one: [of for of in asked if of.language == one] for one in sorted({of.language for of in asked})}
    groups |= {kind: [of for of in asked if of.kind == kind] for kind in KINDS}
    return {
        name: {
            "questions": len(some),
            **summarize([one.answered for one in some]),
            FIRST: _to_percent(one.first for one in some),
            "tokens": round(statistics.fmean(one.answered.tokens for one in some)),
        }
        for name, some in groups.items()
        if some
    }


def summarize_noise(unasked: list[UnrelatedMessage]) -> dict[str, dict[str, float]]:
    """Return by kind and language how many messages show any memory, in percent, and its tokens."""
    found: dict[str, dict[str, float]] = {}
    for kind in dict.fromkeys(one.kind for one in unasked):
        for language in ("all", *sorted({one.language for one in unasked})):
            shown = [one.tokens for one in unasked if one.kind == kind and language in ("all", one.language)]
            tokens = round(statistics.fmean(shown))
            found[f"{kind}, {language}"] = {"show anything": _to_percent(map(bool, shown)), "tokens": tokens}
    return found


def _to_percent(which: Iterable[bool]) -> float:
    return round(100 * statistics.fmean(map(float, which)), 1)


def build_tables(asked: list[AskedQuestion], unasked: list[UnrelatedMessage]) -> list[Table]:
    """Return a table for questions, and one for messages that should show nothing."""
    columns = ("questions", "any", "all", FIRST, "tokens", "R@5", "R@10", "MRR")
    answered = Table("of", *columns, title="Evidence in the request, own chats")
    for name, of in summarize_answers(asked).items():
        answered.add_row(name, *(_format_cell(of[column]) for column in columns))
    shown = Table("messages", "show anything", "tokens", title="What should show nothing")
    for name, parts in summarize_noise(unasked).items():
        shown.add_row(name, f"{parts['show anything']}%", str(parts["tokens"]))
    return [answered, shown]


def _format_cell(figure: float | list[float]) -> str:
    if isinstance(figure, list):
        mean, low, high = figure
        return f"{mean:.1f} [{low:.0f}, {high:.0f}]"
    return str(figure)


async def main() -> None:
    """Store, ask and print the tables, and optionally write all figures to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("tune", "kept"), default="tune", help="kept: only when work is finished")
    parser.add_argument("--json", type=Path, help="write all figures into this file")
    arguments = parser.parse_args()
    asked, unasked = await measure(arguments.half)
    console = Console(width=130)
    for table in build_tables(asked, unasked):
        console.print(table)
    if arguments.json is not None:
        written: dict[str, object] = {"at": f"{datetime.now(UTC):%Y-%m-%d}", "half": arguments.half}
        written |= {"answers": summarize_answers(asked), "noise": summarize_noise(unasked)}
        arguments.json.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
