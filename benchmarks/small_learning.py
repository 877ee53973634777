"""Facts that the embedded model learns from conversations: confirmed, unconfirmed and wrong ones, and the duration.

Five conversations of ten turns contain five facts each. The answers are the real model's. A memory is right if it
contains a required word. `python -m benchmarks.small_learning` works in temporary data directories.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from bot.app import open_app
from bot.kernel import App
from config.loading import load_settings
from config.logs import configure_logging
from config.settings import Settings
from tests.support.fakes import Person


@dataclass(frozen=True, slots=True)
class Talk:
    """Ten messages, and for each of their five facts the words of which a memory must contain one."""

    messages: tuple[str, ...]
    facts: tuple[tuple[str, ...], ...]


TALKS = (
    Talk(
        (
            "Hi! My name is Olena and I keep bees in Poltava.",
            "How many legs does a bee have?",
            "My sister Oksana helps me with the honey every August.",
            "What is honey made of?",
            "I'm allergic to peanuts, by the way.",
            "What could I plant for the bees?",
            "I sold 40 jars of honey last week.",
            "When does lavender bloom?",
            "Tell me one thing about wax.",
            "Thanks, that helps.",
        ),
        (("olena",), ("poltava", "bees"), ("oksana",), ("peanut",), ("40", "jars")),
    ),
    Talk(
        (
            "Good morning, I work as a nurse in Leeds.",
            "What is a good breakfast before a night shift?",
            "I don't eat eggs though.",
            "And something quick for two?",
            "My husband Mark drives a bus.",
            "How long should I nap before the shift?",
            "We have a cat called Pepper.",
            "Do cats like oats?",
            "My birthday is on the 3rd of June.",
            "Good to know, bye.",
        ),
        (("nurse",), ("egg",), ("mark", "bus"), ("pepper",), ("june",)),
    ),
    Talk(
        (
            "I'm learning Italian for a trip to Rome in October.",
            "How do I say good evening?",
            "My teacher is called Paola.",
            "What is the past tense of andare?",
            "I practise every Tuesday at seven.",
            "Give me a short sentence with it.",
            "My brother lives in Milan.",
            "Is Milan far from Rome?",
            "I can't stand olives, so no olive dishes please.",
            "Grazie!",
        ),
        (("italian", "rome"), ("paola",), ("tuesday",), ("milan",), ("olive",)),
    ),
    Talk(
        (
            "We bought a house in Ghent last year.",
            "What should I check before winter?",
            "The roof is from 1974.",
            "How often should gutters be cleaned?",
            "I work from home on Fridays.",
            "Any tips against draughts?",
            "My daughter Lise is seven.",
            "What colour suits a child's room?",
            "Our neighbour Jan is a plumber.",
            "Perfect, thank you.",
        ),
        (("ghent",), ("1974", "roof"), ("friday",), ("lise",), ("jan", "plumber")),
    ),
    Talk(
        (
            "I run a small bakery called Crumb.",
            "How long does sourdough rise?",
            "My oven only takes two trays.",
            "What can I bake for thirty people?",
            "My business partner is Dana.",
            "How do I price a cake?",
            "I moved here from Lisbon in 2019.",
            "What is a pastel de nata?",
            "I prefer short answers.",
            "See you tomorrow.",
        ),
        (("crumb", "bakery"), ("tray",), ("dana",), ("lisbon",), ("short",)),
    ),
)


async def learn(app: App, talk: Talk) -> tuple[list[tuple[str, str | None]], float]:
    """Hold a conversation. Return the learned entries with their doubts, and the seconds of learning."""
    person = Person(app)
    for message in talk.messages:
        await person.says(message)
    began = time.monotonic()
    await person.says("/new")
    await app.jobs.consolidation.run_pending()
    rows = await app.database.rows(
        "SELECT e.content, e.unconfirmed FROM entries e WHERE e.deleted_at IS NULL AND e.superseded_by IS NULL"
    )
    return [(row["content"], row["unconfirmed"]) for row in rows], time.monotonic() - began


def create_settings(folder: Path) -> Settings:
    """Return settings with a data directory in `folder`, and the weights of this machine."""
    (folder / "models").mkdir()
    here = [*load_settings().models_dir.glob("*.gguf")]
    if not here:
        raise SystemExit("There are no weights here: fetch them with mneme model pull.")
    for weights in here:
        (folder / "models" / weights.name).symlink_to(weights)
    return Settings.model_validate({"mneme_data_dir": folder})


async def measure() -> None:
    """Hold the conversations, and print a line for each."""
    total: Counter[str] = Counter()
    print(f"{'talk':6}{'found':>7}{'confirmed':>11}{'unconfirmed':>13}{'wrong or idle':>15}{'seconds':>9}")
    for number, talk in enumerate(TALKS, start=1):
        with tempfile.TemporaryDirectory() as folder:
            async with open_app(create_settings(Path(folder))) as app:
                entries, seconds = await learn(app, talk)
        kept = [(content.lower(), unconfirmed) for content, unconfirmed in entries]
        found = sum(
            any(word in content for content, doubt in kept if doubt is None for word in fact) for fact in talk.facts
        )
        idle = sum(not any(word in content for fact in talk.facts for word in fact) for content, _ in kept)
        row = Counter(
            found=found,
            confirmed=sum(doubt is None for _, doubt in kept),
            unconfirmed=sum(doubt is not None for _, doubt in kept),
            idle=idle,
        )
        total.update(row)
        print(f"{number:<6}{found:>5}/5{row['confirmed']:>11}{row['unconfirmed']:>13}{idle:>15}{seconds:>9.1f}")
        for content, doubt in entries:
            print(f"      {'?' if doubt else '+'} {content}")
    print(f"{'all':6}{total['found']:>4}/25{total['confirmed']:>11}{total['unconfirmed']:>13}{total['idle']:>15}")


def main() -> None:
    """Measure, without log output."""
    configure_logging("error", "console")
    asyncio.run(measure())


if __name__ == "__main__":
    main()
