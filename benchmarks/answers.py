"""Right answers to LoCoMo's questions by your own model, which reads what Mneme remembers.

    python -m benchmarks.answers PATH --model gpt-6-luna --limit 100

The dialogues are in the log of a private chat. Each question is asked in a new conversation and on a new copy of the
data, one day after the last message. A second request, to `--judge` or the same model, decides whether the answer says
the same as LoCoMo's. The endpoint and the key come from the settings of the bot (`.env`) or `--base-url` and
OPENAI_API_KEY. PATH is LoCoMo's JSON file (see docs/retrieval.md).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.live import add_endpoint_arguments, create_settings
from benchmarks.locomo_data import CATEGORIES, Dialogue, Form, Question, read_dialogues, store_dialogue
from bot.app import open_app
from bot.models import find_endpoint_and_model
from config.logs import configure_logging
from config.models import load_catalogue
from config.settings import Settings
from memory.clock import system_clock
from memory.log.sessions import Address
from memory.messages import Message, Role
from memory.store.database import Database
from pipeline.models.endpoint import Endpoint
from pipeline.models.model import ChatModel, ModelRequest
from pipeline.models.openai_model import OpenAIModel
from tests.support.fakes import FakeClock, Person

JUDGING = """\
Question: {question}
Expected answer: {expected}
Given answer: {given}

Does the given answer say what the expected answer says? Other words, other formats of dates and further details are
fine. An answer that leaves out the expected content, contradicts it, or says that it doesn't know is not.
Reply with JSON only: {{"right": true}} or {{"right": false}}"""
_VERDICT = re.compile(r'"right"\s*:\s*(true|false)')


@dataclass(frozen=True, slots=True)
class Answered:
    """A question, the bot's answer, and the judge's verdict, or None if that can't be read."""

    question: Question
    text: str
    is_right: bool | None
    seconds: float


async def ask_all(
    settings: Settings, judge: str, dialogues: Sequence[Dialogue], limit: int, folder: Path
) -> list[Answered]:
    """Ask `limit` questions, spread evenly over all dialogues.

    Args:
        settings: those with the endpoint. The data directory is replaced.
        judge: the name of the model that judges, at the same endpoint.
    """
    asked = [(number, question) for number, d in enumerate(dialogues) for question in d.read_questions(Form.PERSONAL)]
    chosen = [asked[at * len(asked) // limit] for at in range(limit)] if limit < len(asked) else asked
    for number, dialogue in enumerate(dialogues):
        data = folder / f"dialogue-{number}"
        data.mkdir(mode=0o700)
        database = await Database.open(data / "mneme.db")
        await store_dialogue(database, dialogue, "one", Form.PERSONAL)
        await database.close()
    endpoint, name = find_endpoint_and_model(settings, judge)

    async def connect() -> Endpoint:
        return endpoint

    model = OpenAIModel(name, load_catalogue().get_window(name), connect, timeout=settings.llm_timeout)
    answers = []
    try:
        for number, question in track(chosen, "Asking", console=Console(stderr=True)):
            copy = folder / "copy"
            shutil.copytree(folder / f"dialogue-{number}", copy)
            started = time.monotonic()
            text = await _ask(settings.model_copy(update={"mneme_data_dir": copy}), dialogues[number], question)
            seconds = time.monotonic() - started
            shutil.rmtree(copy)
            answers.append(Answered(question, text, await _judge(model, question, text), seconds))
    finally:
        await model.close()
    return answers


async def _ask(settings: Settings, dialogue: Dialogue, question: Question) -> str:
    last = dialogue.sessions[-1][-1].at
    async with open_app(settings, FakeClock(last + timedelta(days=1)), load_catalogue()) as app:
        return await Person(app, Address("locomo", "one")).says(question.text)


async def _judge(model: ChatModel, question: Question, text: str) -> bool | None:
    prompt = JUDGING.format(question=question.text, expected=question.answer, given=text)
    request = ModelRequest([Message(Role.USER, prompt, system_clock())], steady=True, json=True, low_effort=True)
    verdict = _VERDICT.search((await model.complete(request)).text)
    return json.loads(verdict[1]) if verdict is not None else None


def build_table(title: str, answers: Sequence[Answered]) -> Table:
    """Return the shares of right answers by category. Answers without a verdict count as wrong."""
    table = Table("category", "questions", "right", "without verdict", "seconds", title=title)
    by_category: dict[str, list[Answered]] = defaultdict(list)
    for answer in answers:
        by_category[CATEGORIES[answer.question.category]].append(answer)
    for name, of_category in (*sorted(by_category.items()), ("all", list(answers))):
        count = len(of_category)
        right = sum(answer.is_right is True for answer in of_category)
        unread = sum(answer.is_right is None for answer in of_category)
        seconds = sum(answer.seconds for answer in of_category) / count
        table.add_row(name, str(count), f"{right / count:.1%}", str(unread), f"{seconds:.1f}")
    return table


def main() -> None:
    """Ask the questions and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="LoCoMo's JSON file")
    add_endpoint_arguments(parser)
    parser.add_argument("--judge", help="model that judges the answers; default: the same")
    parser.add_argument("--limit", type=int, default=100, help="number of questions (default: 100)")
    arguments = parser.parse_args()
    configure_logging("error", "console")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = create_settings(arguments, folder)
        judge = arguments.judge or settings.llm_model or ""
        dialogues = read_dialogues(arguments.path)
        answers = asyncio.run(ask_all(settings, judge, dialogues, arguments.limit, folder))
    title = f"{settings.llm_model}, judged by {judge}, {time.strftime('%Y-%m-%d')}"
    Console(width=120).print(build_table(title, answers))


if __name__ == "__main__":
    main()
