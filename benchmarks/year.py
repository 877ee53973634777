"""A simulated year with the bot: do requests still contain the right facts after months, and what do they cost?

A person tells, changes and asks for things in two languages (`benchmarks/year_life.py`). The program runs over real
HTTP with a simulated clock. A scripted model knows what each message says, so extraction and verification make no
mistakes. On days 30, 90, 180 and 365 the program asks a copy of the data for every fact so far.

`python -m benchmarks.year --days 90 --seed 2` runs a shorter life of another person. With `--keep FOLDER`, the data
stays there, and `python -m benchmarks.footprint --data FOLDER` runs the bot with it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from benchmarks.year_life import ANSWERS, BEGIN, EN, Attribute, Life, Line, Purpose, make_life
from bot.app import open_app
from bot.kernel import App
from config.logs import configure_logging
from config.settings import Settings
from memory.log.sessions import Address
from memory.text.wording import make_name_key
from tests.support.agreement import confirm_claims
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_tidying
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import ChatRequest, Says

CHECKPOINTS = (30, 90, 180, 365)
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108  # Only for a temporary folder in it
TIMED_TURNS = 60
ADDRESS = Address("telegram", "1001")
OWNER = ADDRESS.owner
_MESSAGE = re.compile(r"^\[(\d+)\] user: (.*)$", re.MULTILINE)
_KNOWN_FACT = re.compile(r"^- ([^:\n]*(?:: (?:name|Name|city|Wohnort|job|Beruf|hobby|Hobby))?): (.*)$", re.MULTILINE)
_KNOWN = re.compile(r"^K(\d+)\. (?:\((.*?)\) )?(.*)$", re.MULTILINE)
_CLAIM = re.compile(r"^(\d+)\. (?:\((.*?)\) )?(.*)$", re.MULTILINE)


class Oracle:
    """The scripted model: converses, extracts facts from the script, and verifies them by the script's values."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._facts = {" ".join(line.text.split()): line.facts for line in life.lines if line.facts}
        self._answers = 0
        self._by_subject = {
            make_name_key(subject): attribute.key
            for attribute in life.attributes
            for names in attribute.subjects.values()
            for subject in names
        }

    def answer(self, _chat: ChatRequest) -> Says:
        """Return an answer of usual length without any facts of the script."""
        self._answers += 1
        return Says(ANSWERS[self._answers % len(ANSWERS)])

    def extract(self, chat: ChatRequest) -> Says:
        """Return the answer of a consolidation: each fact once, under a known subject if the prompt shows one."""
        prompt = str(chat.messages[0]["content"])
        known = self._read_known_subjects(prompt)
        in_english = "Subjects are in English" in prompt
        asks_nature = '"nature"' in prompt
        facts = []
        for number, text in _MESSAGE.findall(prompt.partition("## Conversation to Process\n")[2]):
            for fact in self._facts.get(text, ()):
                key = fact.attribute.key if fact.attribute is not None else ""
                subject = known.get(key, fact.subject[EN if in_english else fact.language])
                nature = "event"
                if fact.attribute is not None:
                    nature = "vital" if fact.attribute.is_vital else "state"
                elif fact.until:
                    nature = "state"
                facts.append(
                    {"subject": subject, "fact": fact.text, "kind": "fact", "message": int(number), "quote": text}
                    | ({"until": fact.until} if fact.until else {})
                    | ({"nature": nature} if asks_nature else {})
                )
        return Says(json.dumps({"history_entry": "They talked.", "memory_update": None, "facts": facts, "forget": []}))

    def _read_known_subjects(self, prompt: str) -> dict[str, str]:
        others = prompt.partition("## Other Known Subjects\n")[2].partition("\n\n")[0]
        known = {self._by_subject[name]: name for name in others.split("; ") if name in self._by_subject}
        listed = prompt.partition("## Known Facts\n")[2].partition("\n\n")[0]
        return known | {
            key: subject for subject, content in _KNOWN_FACT.findall(listed) for key in self._life.recognise(content)
        }

    def judge(self, chat: ChatRequest) -> Says:
        """Return verdicts: which known memories contain an older or the same value."""
        prompt = str(chat.messages[0]["content"])
        if "I lent Marco my drill" in prompt:
            return Says(confirm_claims(prompt))
        known = [(f"K{at}", text, self._life.recognise(text)) for at, _, text in _KNOWN.findall(prompt)]
        verdicts = {}
        for number, _subject, text in _CLAIM.findall(prompt.rpartition("## Claims")[2]):
            said = self._life.recognise(text)
            replaced = [at for at, _, has in known if any(has.get(key, 99) < said[key] for key in said)]
            same = [at for at, other, has in known if (said and has == said) or other in text or text in other]
            verdicts[number] = {"verdict": "follows", "now": True, "replaces": replaced, "same": same}
        return Says(json.dumps(verdicts))


@dataclass
class Period:
    """Counts between two checkpoints."""

    days: int = 0
    turns: int = 0
    notices: int = 0
    warnings: int = 0
    repeated: list[float] = field(default_factory=list)
    characters: list[int] = field(default_factory=list)
    former: str = ""

    def count(self, requests: list[ChatRequest]) -> None:
        """Count the part of each request that repeats the start of the previous one."""
        for request in requests:
            prompt = request.prompt
            if self.former:
                self.repeated.append(_count_common(self.former, prompt) / len(prompt))
            self.characters.append(len(prompt))
            self.former = prompt


@dataclass(frozen=True, slots=True)
class Figures:
    """Results of a checkpoint. Shares refer to the questions, times to one turn."""

    day: int
    questions: int
    right: float
    outdated_beside: float
    outdated_alone: float
    vital: float
    archived: int
    outdated_current: int
    repeated: float
    characters: int
    milliseconds: float
    notices: float
    warnings: float
    file_bytes: int
    missing: tuple[str, ...] = ()


async def main() -> None:
    """Simulate the year and print a row for each checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--notes", type=int, default=1, help="requests to remember something a day")
    parser.add_argument("--missing", action="store_true", help="list the questions without the right fact")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="copy the data of the last day into a new folder")
    arguments = parser.parse_args()
    configure_logging("critical", "console")
    life = make_life(arguments.days, arguments.seed, arguments.notes)
    spoken = sum(line.purpose is not Purpose.NEW for line in life.lines)
    print(f"{spoken} messages, {len(life.attributes)} attributes, {sum(len(a.values) for a in life.attributes)} values")
    print(
        f"{'day':>4}{'asked':>7}{'right':>7}{'beside':>8}{'alone':>7}{'vital':>7}{'archived':>10}{'stale':>7}"
        f"{'repeats':>9}{'chars':>8}{'ms':>7}{'notices':>9}{'warned':>8}{'file':>7}"
    )
    async for figures in simulate(life, arguments.days, arguments.keep):
        print(
            f"{figures.day:>4}{figures.questions:>7}{figures.right:>7.0%}{figures.outdated_beside:>8.0%}"
            f"{figures.outdated_alone:>7.0%}{figures.vital:>7.0%}{figures.archived:>10}{figures.outdated_current:>7}"
            f"{figures.repeated:>9.3f}{figures.characters:>8}{figures.milliseconds:>7.1f}{figures.notices:>9.1f}"
            f"{figures.warnings:>8.1f}{figures.file_bytes:>7}",
            flush=True,
        )
        if arguments.missing:
            print("     " + "; ".join(figures.missing))


async def simulate(life: Life, days: int, keep: Path | None = None) -> AsyncIterator[Figures]:
    """Simulate a life. Yield the figures of each checkpoint, and copy the data into `keep` at the end."""
    oracle, clock = Oracle(life), FakeClock(BEGIN)
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        async with ModelServer() as server, open_app(_create_settings(Path(folder) / "data", server), clock) as app:
            server.otherwise, server.consolidation, server.second_look = oracle.answer, oracle.extract, oracle.judge
            person, period = Person(app, ADDRESS), Period()
            lines = iter(life.lines)
            line = next(lines, None)
            for day in range(days):
                while line is not None and line.minute < (day + 1) * 24 * 60:
                    await _say(person, clock, line, server, period)
                    line = next(lines, None)
                period.days += 1
                if day % 7 == 6:
                    clock.now = BEGIN + timedelta(days=day, hours=23, minutes=30)
                    await find_tidying(app).run(OWNER)
                if day + 1 in (*CHECKPOINTS, days):
                    copy = Path(folder) / f"copy-{day + 1}"
                    _copy_data(Path(folder) / "data", copy)
                    yield await _measure_checkpoint(life, day, copy, server, clock, period)
                    period = Period(former=period.former)
            if keep is not None:
                _copy_data(Path(folder) / "data", keep)


def _create_settings(folder: Path, server: ModelServer) -> Settings:
    return Settings.model_validate(
        {
            "mneme_data_dir": folder,
            "openai_base_url": server.url,
            "llm_model": "scripted",
            "llm_timeout": 20,
            "timezone": "UTC",
        }
    )


async def _say(person: Person, clock: FakeClock, line: Line, server: ModelServer, period: Period) -> None:
    clock.now = max(clock.now, BEGIN + timedelta(minutes=line.minute))
    before = len(server.requests)
    answer = await person.says(line.text)
    if line.purpose is Purpose.NEW:
        await person.app.jobs.consolidation.run_pending()
    period.turns += line.purpose is not Purpose.NEW
    period.notices += len(re.findall(r"(?:^|\n)_(.+)_(?:\n|$)", answer))
    period.warnings += "MEMORY.md is too long" in answer
    period.count(server.requests[before:])
    for kept in (server.requests, server.consolidations, server.second_looks, person.channel.said):
        kept.clear()
    person.channel.shown.clear()
    person.channel.begun.clear()


def _copy_data(folder: Path, copy: Path) -> None:
    copy.mkdir(mode=0o700)
    source, target = sqlite3.connect(folder / "mneme.db"), sqlite3.connect(copy / "mneme.db")
    source.backup(target)
    source.close()
    target.close()
    if (folder / "memory").is_dir():
        shutil.copytree(folder / "memory", copy / "memory")


async def _measure_checkpoint(
    life: Life, day: int, folder: Path, server: ModelServer, clock: FakeClock, period: Period
) -> Figures:
    """Ask a copy of the data for every current fact, each in a new conversation."""
    at = clock.now
    clock.now = BEGIN + timedelta(days=day + 1, hours=9)
    current = list(life.list_current(day))
    right = beside = alone = vital = vitals = 0
    missing: list[str] = []
    async with open_app(_create_settings(folder, server), clock) as app:
        person = Person(app, ADDRESS)
        session = await app.sessions.get_or_create(person.address)
        for number, (attribute, version) in enumerate(current):
            # Usually ask in the language of the last statement.
            told_in = life.languages[attribute.key, version]
            other = next(spoken for spoken in attribute.question if spoken != told_in)
            server.requests.clear()
            await person.says(attribute.question[other if number % 10 in (2, 5, 9) else told_in])
            request = server.requests[-1]
            await app.sessions.clear_messages(session.id)
            text = request.system()
            is_right = version in [life.recognise(row).get(attribute.key) for row in text.splitlines()]
            stale = [
                row
                for row in text.splitlines()
                if row.startswith("- ") and ", conversation" not in row
                and life.recognise(row).get(attribute.key, version) < version
            ]  # fmt: skip
            older = any(life.recognise(row).get(attribute.key, version) < version for row in text.splitlines())
            right += is_right
            beside += is_right and bool(stale)
            alone += not is_right and older
            if not is_right:
                missing.append(f"{attribute.key} (told on day {life.days[attribute.key][version]})")
            if attribute.is_vital:
                vitals += 1
        server.requests.clear()
        await person.says("Haha.")
        text = server.requests[-1].system()
        shown = life.recognise(text)
        for attribute, version in current:
            vital += attribute.is_vital and shown.get(attribute.key) == version
        milliseconds = await _time_turns(person)
        archived, outdated = await _count_stored(app, life, current)
        page = await app.memory.ledger.read_page(OWNER)
    clock.now = at
    server.requests.clear()
    asked = len(current)
    return Figures(
        day + 1, asked, right / asked, beside / asked, alone / asked, vital / max(1, vitals), archived, outdated,
        statistics.fmean(period.repeated), int(statistics.fmean(period.characters)), milliseconds,
        period.notices / period.days, period.warnings / period.days, len(page.encode()), tuple(missing),
    )  # fmt: skip


async def _time_turns(person: Person) -> float:
    """Return the median CPU time of a plain turn in milliseconds, including the scripted server."""
    times = []
    for number in range(TIMED_TURNS):
        began = time.process_time()
        await person.says(f"How long should I boil lentils, try {number % 7}?")
        times.append(1000 * (time.process_time() - began))
    return statistics.median(times)


async def _count_stored(app: App, life: Life, current: Sequence[tuple[Attribute, int]]) -> tuple[int, int]:
    """Return the number of true facts with archived memories only, and of outdated values that count as current."""
    rows = await app.database.rows(
        "SELECT content, archived_at FROM entries e WHERE kind <> 'archive' AND deleted_at IS NULL AND superseded_by"
        " IS NULL AND unconfirmed IS NULL AND (valid_until IS NULL OR valid_until > present())"
    )
    live: dict[str, set[int]] = {}
    faded: dict[str, set[int]] = {}
    for row in rows:
        for key, version in life.recognise(row["content"]).items():
            (live if row["archived_at"] is None else faded).setdefault(key, set()).add(version)
    archived = sum(
        version in faded.get(attribute.key, ()) and version not in live.get(attribute.key, ())
        for attribute, version in current
    )
    outdated = sum(any(other < version for other in live.get(attribute.key, ())) for attribute, version in current)
    return archived, outdated


def _count_common(former: str, prompt: str) -> int:
    """Return the length of the common start of two prompts."""
    low, high = 0, min(len(former), len(prompt))
    while low < high:
        middle = (low + high + 1) // 2
        if former[:middle] == prompt[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


if __name__ == "__main__":
    asyncio.run(main())
