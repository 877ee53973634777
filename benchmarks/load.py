"""Many chats at once: `mneme run` with a model that takes its time; is everybody answered, in order, and stopped?

    python -m benchmarks.load                       500 chats write three messages each; some of them say /stop
    python -m benchmarks.load --soak 20             then 20 minutes of talk: does anything grow?

The real program talks to a Bot API server and a scripted model in this process. Each chat's messages must be answered
in the order they were written in, each once. /stop is said while all models think; what counts is the time until
its answer stands in the chat. The soak prints, minute by minute, memory, handles, the size of the write-ahead log and
the rows of each table.
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
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.processes import bot_environment, running_bot
from tests.support.servers.model import ModelServer, Says
from tests.support.servers.telegram import BotApiServer

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from tests.support.servers.model import ChatRequest

FIRST_CHAT = 10_001
THINKING = 2.0
"""Seconds until the model begins to answer."""
STOPPED_CHATS = 20
SOAK_CHATS = 50
EDGE = 300
"""Messages at either end of a soak whose latency is told apart."""
PATIENCE = 300
_ANSWERED = re.compile(r"Stopped\.|Nothing is running\.")
_MARK = re.compile(r"\bm\d+\b")


def answer(chat: ChatRequest) -> Says:
    """What the model says: the marks of the messages that it was asked about."""
    asked: list[str] = []
    for message in reversed(chat.messages):
        if message["role"] != "user":
            break
        asked = [*_MARK.findall(message["content"].partition("<context>")[0]), *asked]
    return Says(f"I have read {' '.join(asked)}.")


def read_in(telegram: BotApiServer, chat: int) -> list[str]:
    """The marks that were answered in a chat, in order."""
    return [mark for message in telegram.sent(chat) for mark in _MARK.findall(message.text)]


async def crowd(telegram: BotApiServer, chats: list[int]) -> int:
    """Everybody writes at once; how many chats were not answered as they should have been."""
    began = time.monotonic()
    for number in range(3):
        for chat in chats:
            telegram.user_says(f"m{number}", chat_id=chat)
    await asyncio.sleep(THINKING / 2)
    stopping = chats[:: max(1, len(chats) // STOPPED_CHATS)]
    stops = await asyncio.gather(*(stop(telegram, chat) for chat in stopping))
    rest = [chat for chat in chats if chat not in stopping]
    wanted = ["m0", "m1", "m2"]
    await telegram.wait_for(lambda: all(len(read_in(telegram, chat)) >= 3 for chat in rest), timeout=PATIENCE)
    wrong = sum(read_in(telegram, chat) != wanted for chat in rest)
    print(f"{len(chats)} chats, 3 messages each, all answered after {time.monotonic() - began:.1f} s; wrong: {wrong}")
    print(f"/stop in {len(stops)} chats: median {statistics.median(stops):.2f} s, slowest {max(stops):.2f} s")
    return wrong + sum(seconds > 1 for seconds in stops)


async def stop(telegram: BotApiServer, chat: int) -> float:
    """Say /stop in a chat; how many seconds it took until it was answered, also where nothing ran any more."""
    said = time.monotonic()
    telegram.user_says("/stop", chat_id=chat)
    await telegram.wait_for(lambda: _ANSWERED.search(str(telegram.sent(chat))), timeout=PATIENCE)
    return time.monotonic() - said


async def soak(telegram: BotApiServer, process: Process, folder: Path, minutes: int) -> None:
    """Talk for a while, and print what the program holds."""
    chats, number, latencies = list(range(FIRST_CHAT, FIRST_CHAT + SOAK_CHATS)), 10, list[float]()
    for minute in range(minutes):
        end, took = time.monotonic() + 60, []
        while time.monotonic() < end:
            chat, number = chats[number % SOAK_CHATS], number + 1
            said, mark = time.monotonic(), f"m{number}"
            telegram.user_says(f"about {mark}", chat_id=chat)
            await telegram.wait_for(
                lambda chat=chat, mark=mark: mark in read_in(telegram, chat)[-3:],  # type: ignore[misc]  # bound now
                timeout=PATIENCE,
            )
            took.append(time.monotonic() - said)
        print(f"minute {minute + 1}: {len(took)} messages, median {statistics.median(took) * 1000:.0f} ms, "
              f"{held_by(process, folder)}", flush=True)  # fmt: skip
        latencies += took
    for which, some in (("first", latencies[:EDGE]), ("last", latencies[-EDGE:])):
        print(f"the {which} {len(some)} of {len(latencies)} messages: median {statistics.median(some) * 1000:.0f} ms, "
              f"slowest {max(some) * 1000:.0f} ms")  # fmt: skip
    print(", ".join(f"{table} {rows}" for table, rows in rows_of(folder)))


def held_by(process: Process, folder: Path) -> str:
    """Resident memory, open handles, and the write-ahead log."""
    lines = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
    resident = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024
    handles = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
    log = (folder / "data" / "mneme.db-wal").stat().st_size / 1e6
    return f"{resident:.0f} MB resident, {handles} handles, {log:.1f} MB write-ahead log"


def rows_of(folder: Path) -> list[tuple[str, int]]:
    """How many rows each table has."""
    with closing(sqlite3.connect(folder / "data" / "mneme.db", timeout=30)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        kept = [table for table in tables if not table.startswith(("search", "sqlite"))]
        count = 'SELECT count(*) FROM "{}"'  # the names are the schema's own
        return [(table, connection.execute(count.format(table)).fetchone()[0]) for table in kept]


async def load(chats: int, minutes: int) -> int:
    """Run it; how much went wrong."""
    everybody = list(range(FIRST_CHAT, FIRST_CHAT + max(chats, SOAK_CHATS)))
    async with ModelServer() as model, BotApiServer() as telegram:
        model.otherwise, model.thinking = answer, THINKING
        with tempfile.TemporaryDirectory(prefix="mneme-load-") as name:
            folder = Path(name)
            environment = bot_environment(telegram, model, *everybody) | {"MNEME_DATA_DIR": str(folder / "data")}
            async with running_bot(environment, folder) as process:
                await telegram.wait_for(lambda: telegram.polled, timeout=PATIENCE)
                wrong = await crowd(telegram, everybody[:chats])
                print(held_by(process, folder))
                if minutes:
                    model.thinking = 0
                    await soak(telegram, process, folder, minutes)
            return wrong


def main() -> None:
    """Read the command line; status 1 where a chat was not answered in order, or /stop took more than a second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chats", type=int, default=500)
    parser.add_argument("--soak", type=int, default=0, metavar="MINUTES")
    options = parser.parse_args()
    sys.exit(1 if asyncio.run(load(options.chats, options.soak)) else 0)


if __name__ == "__main__":
    main()
