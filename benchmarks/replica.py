"""Loss of a machine: a bot with a replica is killed during a conversation, its disk is deleted, and another takes over.

    python -m benchmarks.replica                 30 times; about 3 minutes
    python -m benchmarks.replica --times 100 --seed 7

The program talks to a Bot API server and a scripted model in this process. A user writes every tenth of a second,
either a note to remember or a question with a streamed answer. At a random time the bot and its children are killed
with kill -9 and the data directory is deleted. `mneme restore --replica` restores the replica into a new directory, and
a bot starts there. After it has finished, each message must have been handled once and answered, each note must exist
once in the database and at most once in MEMORY.md, and each exchange once in the daily note.

Seconds lost are those from the last commit in the restored database to the kill, if a later commit is missing. Telegram
sends unconfirmed messages again. Seconds until it answers are those from the start of the restore to the second
machine's first answer.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.support.bot_api.server import BotApiServer
from tests.support.processes import bot_environment
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import ChatRequest, Reply, Says

ANN = 1001
END = "so it is."
INTERVAL_SECONDS = 0.1
TIMEOUT_SECONDS = 60
_MARK = re.compile(r"\b[mr]\d+\b")


@dataclass(slots=True)
class RunResults:
    """Results of all runs."""

    wrong: collections.Counter[str] = field(default_factory=collections.Counter)
    shown_twice: int = 0
    messages: int = 0
    lost: list[float] = field(default_factory=list)
    unknown: int = 0
    not_waited: int = 0
    until_answer: list[float] = field(default_factory=list)


def answer(chat: ChatRequest) -> Reply:
    """Answer with the marks of the messages in the request."""
    newest: list[str] = []
    for message in reversed(chat.messages):
        if message["role"] == "assistant":
            break
        if message["role"] == "user":
            newest += _MARK.findall(message["content"].partition("<context>")[0])
    return Says(f"I have read {' '.join(dict.fromkeys(newest))} and {'thought about it, ' * 12}{END}")


async def write(telegram: BotApiServer, marks: list[str], chance: random.Random) -> None:
    """Write messages until cancelled."""
    while True:
        kind = chance.choice("mmr")
        mark = f"{kind}{len(marks)}"
        marks.append(mark)
        text = f"/remember the boat {mark} is for sale" if kind == "r" else mark  # Short, so that a note holds many
        telegram.user_says(text, chat_id=ANN)
        await asyncio.sleep(INTERVAL_SECONDS)


async def start_mneme(environment: dict[str, str], folder: Path, *arguments: str) -> asyncio.subprocess.Process:
    """Start the command line in a new process group, with its log in `folder`."""
    with (folder / "log").open("ab") as log:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "bot", *arguments),
            env=environment,
            stdout=log,
            stderr=log,
            cwd=folder,
            start_new_session=True,
        )


def kill_all(process: asyncio.subprocess.Process) -> None:
    """Kill a bot and its child processes at once."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    for pid in (*map(int, children), process.pid):  # Litestream first, since it would send pending data
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def read_commits(database: Path) -> dict[str, str]:
    """Return the times at which updates were received and turns and entries written, by id."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        rows = connection.execute(
            "SELECT 'inbox ' || update_id, received_at FROM inbox UNION ALL"
            " SELECT 'turn ' || id, finished_at FROM turns UNION ALL SELECT 'entry ' || id, created_at FROM entries"
        )
        return dict(rows)


async def run_once(found: RunResults, chance: random.Random) -> None:
    """Run a bot, kill it, continue on another machine, and count errors."""
    marks: list[str] = []
    with tempfile.TemporaryDirectory(prefix="mneme-replica-") as name:
        async with ModelServer() as model, BotApiServer() as telegram:
            folder = Path(name)
            model.otherwise = answer
            model.pace = 0.002
            first, second = folder / "first", folder / "second"
            environment = bot_environment(telegram, model, ANN) | {"REPLICA_URL": str(folder / "replica")}
            bot = await start_mneme(environment | {"MNEME_DATA_DIR": str(first)}, folder, "run")
            await telegram.wait_for(lambda: telegram.polled, timeout=TIMEOUT_SECONDS)
            writing = asyncio.create_task(write(telegram, marks, chance))
            await asyncio.sleep(chance.uniform(1.5, 5))
            kill_all(bot)
            await bot.wait()
            killed_at = time.time()
            writing.cancel()
            known = read_commits(first / "mneme.db")
            await asyncio.to_thread(shutil.rmtree, first)
            answered, began = len(telegram.list_sent(ANN)), time.monotonic()
            environment |= {"MNEME_DATA_DIR": str(second)}
            replica = ("--replica", str(folder / "replica"))
            restoring = await start_mneme(environment, folder, "restore", "--yes", *replica)
            if await restoring.wait():
                sys.exit((folder / "log").read_text(encoding="utf-8")[-2000:])
            missing = known.keys() - read_commits(second / "mneme.db").keys()
            found.lost.append(max((killed_at - _to_seconds(known[key]) for key in missing), default=0.0))
            found.unknown += len(missing)
            bot = await start_mneme(environment, folder, "run")
            telegram.user_says("m99999", chat_id=ANN)
            marks.append("m99999")
            await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) > answered, timeout=TIMEOUT_SECONDS)
            found.until_answer.append(time.monotonic() - began)
            await _wait_until_idle(telegram, second)
            bot.terminate()
            await bot.wait()
            _count(found, telegram, second, marks)
            found.not_waited += (folder / "log").read_text(encoding="utf-8").count("replica_behind")


def _to_seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def _read_rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "mneme.db", timeout=30)) as connection:
        return list(connection.execute(sql))


async def _wait_until_idle(telegram: BotApiServer, folder: Path) -> None:
    """Wait until everything that was received is handled and sent, and its note is written."""
    end = time.monotonic() + TIMEOUT_SECONDS
    waits = (
        "SELECT (SELECT count(*) FROM inbox WHERE state <> 'done') + (SELECT count(*) FROM outbox WHERE state ="
        " 'waiting') + (SELECT count(*) FROM turns WHERE note = 'due')"
    )
    while _read_rows(folder, waits)[0][0] or telegram.pending_update_ids:
        if time.monotonic() > end:
            sys.exit("it did not come to rest")
        await asyncio.sleep(0.1)


def _count(found: RunResults, telegram: BotApiServer, folder: Path, marks: list[str]) -> None:
    said, stored, shown = (collections.Counter[str]() for _ in range(3))
    for (content,) in _read_rows(folder, "SELECT content FROM messages WHERE role = 'user'"):
        said.update(_MARK.findall(content))
    for (content,) in _read_rows(folder, "SELECT content FROM entries WHERE deleted_at IS NULL"):
        stored.update(_MARK.findall(content))
    half = 0
    for message in telegram.list_sent(ANN):
        shown.update(set(_MARK.findall(message.text)))
        half += message.text.startswith("I have read") and END not in message.text
    notes = folder / "memory" / f"telegram:{ANN}"
    lines, page = (
        collections.Counter(_MARK.findall("".join(path.read_text(encoding="utf-8") for path in notes.glob(pattern))))
        for pattern in ("20*.md", "MEMORY.md")
    )
    asked, noted = ([mark for mark in marks if mark[0] == kind] for kind in "mr")
    found.messages += len(marks)
    found.shown_twice += sum(shown[mark] > 1 for mark in marks)
    found.wrong.update(
        {
            "questions that no turn has worked on": sum(said[mark] == 0 for mark in asked),
            "questions that two turns have worked on": sum(said[mark] > 1 for mark in asked),
            "messages without an answer": sum(shown[mark] == 0 for mark in marks),
            "halves of answers": half,
            "notes that are missing": sum(stored[mark] == 0 for mark in noted),
            "notes that stand twice": sum(stored[mark] > 1 for mark in noted),
            # A line contains the mark in the question and in the answer
            "exchanges that are not once in the daily note": sum(lines[mark] != 2 for mark in asked),
            "notes that are in MEMORY.md twice": sum(page[mark] > 1 for mark in noted),
        }
    )


async def run_trial(times: int, seed: int) -> int:
    """Run the benchmark and print the results. Return the number of errors."""
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    found, chance = RunResults(), random.Random(seed)
    for number in range(times):
        await run_once(found, chance)
        print(f"{number + 1}: {found.lost[-1]:.2f} s lost, answers after {found.until_answer[-1]:.2f} s", flush=True)
    print(f"burnt {times} times, {found.messages} messages; shown twice: {found.shown_twice}")
    print(f"seconds lost: median {statistics.median(found.lost):.2f}, most {max(found.lost):.2f}")
    print(f"commits that the replica did not have: {found.unknown}")
    print(f"times that the replica was too slow to be waited for: {found.not_waited}")
    print(
        f"seconds until the second machine answers: median {statistics.median(found.until_answer):.1f},"
        f" most {max(found.until_answer):.1f}"
    )
    for what, number in found.wrong.items():
        print(f"{what}: {number}")
    return sum(found.wrong.values())


def main() -> None:
    """Parse the command line. Exit with status 1 after any error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.exit(1 if asyncio.run(run_trial(options.times, options.seed)) else 0)


if __name__ == "__main__":
    main()
