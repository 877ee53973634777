"""Load test of `mneme run` with many chats and a slow model: are all messages answered in order, and does /stop work?

    python -m benchmarks.load                       500 chats write three messages each; some of them say /stop
    python -m benchmarks.load --soak 20             then 20 minutes of conversations: does anything grow?

The program talks to a Bot API server and a scripted model in this process. Each chat's messages must be answered once
and in order. /stop is sent while the model thinks about all chats, and its latency is the time until its answer is in
the chat. The soak test prints memory, file handles and the size of the write-ahead log every minute, and the rows of
each table at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from asyncio.subprocess import Process
from contextlib import closing
from pathlib import Path

from tests.support.bot_api.server import BotApiServer
from tests.support.processes import bot_environment, running_bot
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import ChatRequest, Says

FIRST_CHAT = 10_001
THINKING_SECONDS = 2.0
"""Seconds until the model starts to answer."""
STOPPED_CHATS = 20
SOAK_CHATS = 50
EDGE_MESSAGES = 300
"""Number of messages at the start and end of a soak test with separate latencies."""
TIMEOUT_SECONDS = 300
_ANSWERED = re.compile(r"Stopped\.|Nothing is running\.")
_MARK = re.compile(r"\bm\d+\b")


def answer(chat: ChatRequest) -> Says:
    """Answer with the marks of the messages in the request."""
    asked: list[str] = []
    for message in reversed(chat.messages):
        if message["role"] != "user":
            break
        asked = [*_MARK.findall(message["content"].partition("<context>")[0]), *asked]
    return Says(f"I have read {' '.join(asked)}.")


def read_marks(telegram: BotApiServer, chat: int) -> list[str]:
    """Return the marks that were answered in a chat, in order."""
    return [mark for message in telegram.list_sent(chat) for mark in _MARK.findall(message.text)]


async def run_crowd(telegram: BotApiServer, chats: list[int]) -> int:
    """Write in all chats at once. Return the number of chats with wrong answers or a slow /stop."""
    began = time.monotonic()
    for number in range(3):
        for chat in chats:
            telegram.user_says(f"m{number}", chat_id=chat)
    await asyncio.sleep(THINKING_SECONDS / 2)
    stopping = chats[:: max(1, len(chats) // STOPPED_CHATS)]
    stops = await asyncio.gather(*(measure_stop(telegram, chat) for chat in stopping))
    rest = [chat for chat in chats if chat not in stopping]
    wanted = ["m0", "m1", "m2"]
    await telegram.wait_for(lambda: all(len(read_marks(telegram, chat)) >= 3 for chat in rest), timeout=TIMEOUT_SECONDS)
    wrong = sum(read_marks(telegram, chat) != wanted for chat in rest)
    print(f"{len(chats)} chats, 3 messages each, all answered after {time.monotonic() - began:.1f} s; wrong: {wrong}")
    print(f"/stop in {len(stops)} chats: median {statistics.median(stops):.2f} s, slowest {max(stops):.2f} s")
    return wrong + sum(seconds > 1 for seconds in stops)


async def measure_stop(telegram: BotApiServer, chat: int) -> float:
    """Send /stop in a chat. Return the seconds until it was answered."""
    said = time.monotonic()
    telegram.user_says("/stop", chat_id=chat)
    await telegram.wait_for(lambda: _ANSWERED.search(str(telegram.list_sent(chat))), timeout=TIMEOUT_SECONDS)
    return time.monotonic() - said


async def run_soak(telegram: BotApiServer, process: Process, folder: Path, minutes: int) -> None:
    """Talk for some minutes, and print the resources of the program."""
    chats, number, latencies = list(range(FIRST_CHAT, FIRST_CHAT + SOAK_CHATS)), 10, list[float]()
    for minute in range(minutes):
        end, took = time.monotonic() + 60, []
        while time.monotonic() < end:
            chat, number = chats[number % SOAK_CHATS], number + 1
            said, mark = time.monotonic(), f"m{number}"
            telegram.user_says(f"about {mark}", chat_id=chat)
            await telegram.wait_for(
                lambda chat=chat, mark=mark: mark in read_marks(telegram, chat)[-3:],  # type: ignore[misc]  # bound now
                timeout=TIMEOUT_SECONDS,
            )
            took.append(time.monotonic() - said)
        print(f"minute {minute + 1}: {len(took)} messages, median {statistics.median(took) * 1000:.0f} ms, "
              f"{format_resources(process, folder)}", flush=True)  # fmt: skip
        latencies += took
    for which, some in (("first", latencies[:EDGE_MESSAGES]), ("last", latencies[-EDGE_MESSAGES:])):
        print(f"the {which} {len(some)} of {len(latencies)} messages: median {statistics.median(some) * 1000:.0f} ms, "
              f"slowest {max(some) * 1000:.0f} ms")  # fmt: skip
    print(", ".join(f"{table} {rows}" for table, rows in count_rows(folder)))


def format_resources(process: Process, folder: Path) -> str:
    """Return resident memory, open handles and the size of the write-ahead log as text."""
    lines = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
    resident = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024
    handles = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
    log = (folder / "data" / "mneme.db-wal").stat().st_size / 1e6
    return f"{resident:.0f} MB resident, {handles} handles, {log:.1f} MB write-ahead log"


def count_rows(folder: Path) -> list[tuple[str, int]]:
    """Return the number of rows of each table."""
    with closing(sqlite3.connect(folder / "data" / "mneme.db", timeout=30)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        kept = [table for table in tables if not table.startswith(("search", "sqlite"))]
        count = 'SELECT count(*) FROM "{}"'  # The names come from the schema
        return [(table, connection.execute(count.format(table)).fetchone()[0]) for table in kept]


async def run_load_test(chats: int, minutes: int) -> int:
    """Run the load test. Return the number of failures."""
    people = list(range(FIRST_CHAT, FIRST_CHAT + max(chats, SOAK_CHATS)))
    async with ModelServer() as model, BotApiServer() as telegram:
        model.otherwise, model.thinking = answer, THINKING_SECONDS
        with tempfile.TemporaryDirectory(prefix="mneme-load-") as name:
            folder = Path(name)
            environment = bot_environment(telegram, model, *people) | {"MNEME_DATA_DIR": str(folder / "data")}
            async with running_bot(environment, folder) as process:
                await telegram.wait_for(lambda: telegram.polled, timeout=TIMEOUT_SECONDS)
                wrong = await run_crowd(telegram, people[:chats])
                print(format_resources(process, folder))
                if minutes:
                    model.thinking = 0
                    await run_soak(telegram, process, folder, minutes)
            return wrong


def main() -> None:
    """Parse the command line. Exit with status 1 if a chat got wrong answers, or /stop took more than a second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chats", type=int, default=500)
    parser.add_argument("--soak", type=int, default=0, metavar="MINUTES")
    options = parser.parse_args()
    sys.exit(1 if asyncio.run(run_load_test(options.chats, options.soak)) else 0)


if __name__ == "__main__":
    main()
