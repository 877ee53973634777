"""Hold the conversations of the provider tests with a real endpoint, with your own key, and print what works.

Reads the settings of the bot (`.env`), or `--base-url`, `--model` and the key in OPENAI_API_KEY. It works in a
temporary data directory and takes about twenty short requests: `python -m benchmarks.live --model gpt-6-luna`.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import HttpUrl, SecretStr
from rich.console import Console
from rich.table import Table

from bot.app import open_app
from bot.kernel import App
from bot.models import find_endpoint_and_model
from config.loading import load_settings
from config.logs import configure_logging
from config.models import load_catalogue
from config.settings import Settings
from memory.clock import system_clock
from pipeline.models.probe import probe
from tests.support.fakes import Person

THINKING = ("<think", "</think", "<thought", "[think]")


class ConversationFailed(Exception):
    """A conversation failed. The text says how."""


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one conversation."""

    name: str
    works: bool
    remark: str
    seconds: float


async def run(settings: Settings) -> list[Row]:
    """Return a row for each conversation."""
    rows: list[Row] = []
    endpoint, model = find_endpoint_and_model(settings, settings.llm_model or "")
    assumed = load_catalogue().get_window(model)
    started = time.monotonic()
    probed = await probe(endpoint, model, assumed, settings.llm_timeout, None, asks=True)
    rows += [Row(trial.name, bool(trial.works), "" if trial.works else trial.instead, 0) for trial in probed.trials]
    rows.append(Row("probe", True, f"reads {probed.window.max_input_tokens:,} tokens", time.monotonic() - started))
    async with open_app(settings, system_clock, load_catalogue()) as app:
        person = Person(app)
        for name, conversation in CONVERSATIONS.items():
            rows.append(await _run_conversation(name, conversation(app, person)))
    async with open_app(settings, system_clock, load_catalogue()) as app:
        rows.append(await _run_conversation("after a restart", _check_memory(app, Person(app))))
    return rows


def _require(condition: object, otherwise: str) -> None:
    if not condition:
        raise ConversationFailed(otherwise)


async def _run_conversation(name: str, conversation: Awaitable[str]) -> Row:
    started = time.monotonic()
    try:
        remark = " ".join((await conversation).split())
    except ConversationFailed as error:
        return Row(name, False, " ".join(str(error).split())[:80], time.monotonic() - started)
    return Row(name, True, remark, time.monotonic() - started)


async def _answer(person: Person, text: str) -> str:
    said = await person.says(text)
    _require(said.strip(), "no answer")
    _require(not any(tag in said.lower() for tag in THINKING), f"thinking is shown: {said}")
    _require("try /retry" not in said, said)
    return said


async def _check_text(app: App, person: Person) -> str:
    return (await _answer(person, "I keep eleven bee hives in Poltava. Answer in one short sentence."))[:60]


async def _check_tool_call(app: App, person: Person) -> str:
    before = len(person.channel.tools)
    await _answer(person, "Please note in your long-term memory file that my hives are painted blue.")
    used = person.channel.tools[before:]
    _require(used, "no tool was called")
    return ", ".join(used)


async def _check_next_turn(app: App, person: Person) -> str:
    said = await _answer(person, "What colour are my hives, and where are they?")
    _require("blue" in said.lower(), said)
    return said[:60]


async def _check_reminder(app: App, person: Person) -> str:
    said = await _answer(person, "Remind me tomorrow at 8 to feed the bees.")
    listed = await person.says("/reminders")
    _require("bees" in listed or "Shall I remind you" in said, f"nothing was set: {said}")
    return "set" if "bees" in listed else "offered"


async def _check_summary(app: App, person: Person) -> str:
    said = await person.says("/compact 2")
    _require("Summarised" in said, said)
    return said[:60]


async def _check_consolidation(app: App, person: Person) -> str:
    await person.says("/new")
    entries = "\n".join(path.read_text(encoding="utf-8") for path in app.settings.mneme_data_dir.rglob("HISTORY*.md"))
    _require(entries, "no history entry")
    _require("[raw-fallback]" not in entries, "no usable JSON")
    return entries.splitlines()[-1][:60]


async def _check_memory(app: App, person: Person) -> str:
    said = await _answer(person, "Where do I keep my bees?")
    _require("poltava" in said.lower(), said)
    return said[:60]


CONVERSATIONS: dict[str, Callable[[App, Person], Awaitable[str]]] = {
    "a plain message": _check_text,
    "a tool call": _check_tool_call,
    "the next turn": _check_next_turn,
    "a reminder": _check_reminder,
    "a summary": _check_summary,
    "consolidation": _check_consolidation,
    "what was learned": _check_memory,
}


def add_endpoint_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that `create_settings` reads."""
    parser.add_argument("--base-url", help="address of the endpoint; default: the bot's settings")
    parser.add_argument("--model", help="name of the model; default: the bot's settings")


def create_settings(arguments: argparse.Namespace, folder: Path) -> Settings:
    """Return the settings of the bot with the given endpoint and model, and data in `folder`."""
    settings = load_settings()
    changes: dict[str, object] = {"mneme_data_dir": folder / "data"}
    if arguments.base_url:
        changes["openai_base_url"] = HttpUrl(arguments.base_url)
        changes["openai_api_key"] = settings.openai_api_key or SecretStr("none")
    if arguments.model:
        changes["llm_model"] = arguments.model
    return settings.model_copy(update=changes)


def main() -> None:
    """Run the conversations and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_endpoint_arguments(parser)
    arguments = parser.parse_args()
    configure_logging("error", "console")
    with tempfile.TemporaryDirectory() as folder:
        settings = create_settings(arguments, Path(folder))
        rows = asyncio.run(run(settings))
    table = Table(
        "conversation", "works", "seconds", "remark", title=f"{settings.llm_model}, {time.strftime('%Y-%m-%d')}"
    )
    for row in rows:
        table.add_row(row.name, "yes" if row.works else "no", f"{row.seconds:.1f}" if row.seconds else "", row.remark)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
