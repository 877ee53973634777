"""Benefit of memory for a small model: questions after scripted conversations, with and without memory and prompts.

The conversations run through the product with scripted answers and a scripted consolidation. Each question is then
asked in a new conversation with the real embedded model at temperature 0. Rules judge the answers: required and
forbidden words, maximum length, and no repetition of the prompt or the user's words. `python -m benchmarks.small_model
--answers` prints every answer.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.small_model_cases import CONVERSATIONS, Conversation, Question
from bot.app import open_app
from bot.features.local_model.embedded import EmbeddedServer
from bot.features.local_model.model_files import get_weights_path, set_real_size
from config.loading import load_settings
from config.logs import configure_logging
from config.models import LocalModel, ModelCatalogue, load_catalogue
from config.settings import Settings
from pipeline.prompt.prompts import STYLES, PromptStyle
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says

FORBIDDEN_PARTS = (
    "# memory",
    "# rules",
    "# relevant",
    "<context",
    "</context",
    "| assistant:",
    "user:",
    "[20",
    "now:",
    "tool call:",
)
"""Parts of the prompt that must not appear in an answer."""
MIN_ECHO_WORDS = 4
"""Number of consecutive words of a user's statement, including `I` or `my`, that count as an echo."""
FIRST_PERSON = frozenset("i my me mine we our us ich mein meine mir mich wir unser unsere".split())
WORD = r"\w+"
DAYS_LATER = 2
"""Days after the conversation when the questions are asked."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A configuration of prompt and tools. `tools` is None for those of the catalogue."""

    name: str
    style: PromptStyle
    tools: tuple[str, ...] | None = None
    memory: bool = True


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer and its errors, which are empty for a right answer."""

    question: Question
    answer: str
    wrong: str
    echoed: bool
    seconds: float


def list_variants(model: LocalModel) -> list[Variant]:
    """Return the configurations to compare, the catalogue's first."""
    chosen = STYLES[model.prompt]
    small = STYLES["small"]
    return [
        Variant("as in the catalogue", chosen),
        Variant("without memory", chosen, memory=False),
        Variant("the full prompt", STYLES["full"], ("memory_file", "memory_recall")),
        Variant("small, with tools", small, ("memory_file", "memory_recall")),
        Variant("small, in headings", replace(small, plain=False), ()),
    ]


def judge(conversation: Conversation, question: Question, answer: str, seconds: float) -> JudgedAnswer:
    """Check an answer against its rules."""
    said = answer.lower().replace("’", "'")
    missing = [group[0] for group in question.wants if not any(_contains(said, word) for word in group)]
    present = [word for word in question.never if word.lower() in said]
    parroted = [part for part in FORBIDDEN_PARTS if part in said]
    wrong = [f"lacks {word!r}" for word in missing] + [f"has {word!r}" for word in (*present, *parroted)]
    wrong += [f"{len(answer)} characters"] if len(answer) > question.at_most else []
    wrong += ["is empty"] if not answer.strip() else []
    echoed = _is_echo(conversation, said)
    return JudgedAnswer(question, answer, ", ".join([*wrong, *(["echoes"] if echoed else [])]), echoed, seconds)


def _contains(said: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word.lower())}", said) is not None


def _is_echo(conversation: Conversation, said: str) -> bool:
    """Return True if the answer repeats a user's statement as if it was the bot's."""
    answered = f" {' '.join(re.findall(WORD, said))} "
    return any(
        f" {' '.join(piece)} " in answered
        for text, _ in conversation.exchanges
        for piece in _split_statement(re.findall(WORD, text.lower()))
    )


def _split_statement(words: list[str]) -> Iterator[list[str]]:
    """Yield the parts of a statement that count as an echo."""
    for start in range(len(words) - MIN_ECHO_WORDS + 1):
        piece = words[start : start + MIN_ECHO_WORDS]
        if not FIRST_PERSON.isdisjoint(piece):
            yield piece


async def play(conversation: Conversation, folder: Path) -> None:
    """Hold a conversation in a data directory, and end it."""
    clock = FakeClock()
    async with ModelServer() as scripted:
        scripted.script(*(Says(answer) for _, answer in conversation.exchanges))
        scripted.consolidation = lambda _: Says(conversation.consolidation)
        settings = _create_settings(folder, scripted.url, "scripted", "none")
        async with open_app(settings, clock) as app:
            person = Person(app)
            for text, _ in conversation.exchanges:
                await person.says(text)
                clock.forward(minutes=3)
            await person.says("/new")


async def ask(
    conversation: Conversation, question: Question, folder: Path, server: EmbeddedServer, variant: Variant
) -> JudgedAnswer:
    """Ask one question in a copy of the conversation's data directory."""
    clock = FakeClock()
    clock.forward(days=DAYS_LATER)
    with tempfile.TemporaryDirectory() as own:
        data = Path(own) / "data"
        if variant.memory:
            shutil.copytree(folder, data)
        settings = _create_settings(
            data, await server.start(), server.model.name, server.api_key, memory=variant.memory
        )
        async with open_app(
            settings, clock, _create_catalogue(load_catalogue().get_local(server.model.name), variant)
        ) as app:
            began = time.monotonic()
            answer = await Person(app).says(question.asked)
            return judge(conversation, question, answer, time.monotonic() - began)


def _create_settings(data: Path, url: str, model: str, key: str, *, memory: bool = True) -> Settings:
    return Settings.model_validate(
        {
            "mneme_data_dir": data,
            "openai_base_url": url,
            "openai_api_key": key,
            "llm_model": model,
            "llm_timeout": 600,
            "timezone": "UTC",
            "memory_enabled": memory,
            "memory_notices": False,
        }
    )


def _create_catalogue(model: LocalModel, variant: Variant) -> ModelCatalogue:
    """Return the catalogue with the configuration's prompt and tools, at temperature 0."""
    STYLES[variant.name] = variant.style
    tools = model.tools if variant.tools is None else variant.tools
    changed = replace(model, prompt=variant.name, tools=tools)
    catalogue = load_catalogue()
    others = tuple(changed if local.name == model.name else local for local in catalogue.local_models)
    return replace(catalogue, local_models=others, temperatures=dict.fromkeys(catalogue.temperatures, 0.0))


async def measure(
    model: LocalModel, chosen: list[Variant], models_dir: Path, console: Console
) -> dict[str, list[JudgedAnswer]]:
    """Ask all questions in each configuration."""
    server = EmbeddedServer(set_real_size(model, models_dir), get_weights_path(model, models_dir))
    results: dict[str, list[JudgedAnswer]] = {}
    questions = sum(len(conversation.questions) for conversation in CONVERSATIONS)
    with tempfile.TemporaryDirectory() as own, Progress(console=console) as progress:
        folders = {conversation.name: Path(own) / conversation.name for conversation in CONVERSATIONS}
        for conversation in CONVERSATIONS:
            await play(conversation, folders[conversation.name])
        try:
            for variant in chosen:
                task = progress.add_task(variant.name, total=questions)
                results[variant.name] = []
                for conversation in CONVERSATIONS:
                    for question in conversation.questions:
                        one = await ask(conversation, question, folders[conversation.name], server, variant)
                        results[variant.name].append(one)
                        progress.advance(task)
        finally:
            await server.stop()
    return results


def build_table(results: dict[str, list[JudgedAnswer]]) -> Table:
    """Return a table of right answers by kind, echoes and seconds of each configuration."""
    kinds = list(dict.fromkeys(q.kind for c in CONVERSATIONS for q in c.questions))
    shown = Table("prompt", "right", *kinds, "echoes", "s/answer", box=None)
    for name, judged in results.items():
        right = Counter(one.question.kind for one in judged if not one.wrong)
        all_of = Counter(one.question.kind for one in judged)
        shown.add_row(
            name,
            f"{right.total()}/{len(judged)}",
            *(f"{right[kind]}/{all_of[kind]}" for kind in kinds),
            str(sum(one.echoed for one in judged)),
            f"{sum(one.seconds for one in judged) / len(judged):.1f}",
        )
    return shown


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", action="store_true", help="print every answer")
    parser.add_argument("--only", help="only the variants whose name contains this")
    parser.add_argument("--model", help="the local model; without it the default one")
    arguments = parser.parse_args()
    configure_logging("error", "console")
    model = load_catalogue().get_local(arguments.model)
    chosen = [v for v in list_variants(model) if not arguments.only or arguments.only in v.name]
    console = Console(width=150)
    began = time.monotonic()
    results = asyncio.run(measure(model, chosen, load_settings().models_dir, Console(file=sys.stderr)))
    if arguments.answers:
        for name, judged in results.items():
            console.print(f"\n[bold]{name}[/bold]")
            for one in judged:
                mark = f"[red]{one.wrong}[/red]" if one.wrong else "right"
                console.print(
                    f"- {one.question.asked} -> {one.answer!r} ({mark}, {one.seconds:.0f} s)", highlight=False
                )
    console.print(build_table(results))
    console.print(f"{model.name}, temperature 0, {time.monotonic() - began:.0f} s in all")


if __name__ == "__main__":
    main()
