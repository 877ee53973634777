"""Memory, start time and CPU of the running bot, CPU of the command line, and the size of an installation.

    python -m benchmarks.footprint                  everything except the installation
    python -m benchmarks.footprint --installed      also installs as on a server (downloads packages)
    python -m benchmarks.footprint --python PYTHON  runs the bot with the interpreter of another environment, such as
                                                    one with only requirements.lock
    python -m benchmarks.footprint --nanobot PROGRAM  also runs one-off turns of nanobot, alternating with Mneme's
    python -m benchmarks.footprint --data FOLDER    only memory and CPU in a conversation of 2,000 messages, with data
                                                    such as of `benchmarks.year --keep FOLDER`

`mneme run` talks to a Bot API server and a scripted model in this process, so that only the bot's CPU is counted. CPU
is user and system time. The figures of the command line are medians.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says

ROOT = Path(__file__).parent.parent
CHATS, ROUNDS = 100, 5
CONCURRENT_CHATS = 10
"""Chats that write at the same time. With more, Telegram's limits would drop drafts and typing."""
RUNS = 21
"""Runs of a command. With 7, the median varied by a tenth on a busy machine."""
LONG_CONVERSATION = 2_000
"""Number of messages of a conversation that never ends."""
THINKING, PACE = 0.5, 0.02
"""Seconds until the model starts to answer, and between tokens, as in hosted models."""
ANSWER = (
    "The gate opens with the code that you told me last week; the spare key hangs behind the shed, and the neighbour "
    "has one more. Shall I remind you to change the code before the holidays?"
)
TIMEOUT_SECONDS = 300


class Bot:
    """A running `mneme run`."""

    def __init__(self, process: asyncio.subprocess.Process, ready_seconds: float) -> None:
        self.process = process
        self.ready_seconds = ready_seconds

    @property
    def resident_mib(self) -> float:
        """Return the resident memory in MiB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.asynccontextmanager
async def run_bot(
    folder: Path, telegram: BotApiServer, model: ModelServer, python: str = sys.executable
) -> AsyncIterator[Bot]:
    """Run `mneme run`, from the moment when it is ready."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind(str(folder / "notify"))
        line.setblocking(False)
        environment = build_bot_settings(folder, model) | {
            "NOTIFY_SOCKET": str(folder / "notify"),
            "TELEGRAM_BOT_TOKEN": BotApiServer.TOKEN,
            "TELEGRAM_API_URL": telegram.url,
            "TELEGRAM_ALLOWED_IDS": ",".join(str(chat) for chat in list_chats()),
        }
        began = time.monotonic()
        with (folder / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                python, "-m", "bot", "run", env=environment, cwd=folder, stderr=log
            )
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while b"READY=1" not in await asyncio.get_running_loop().sock_recv(line, 4096):
                    pass
            yield Bot(process, time.monotonic() - began)
        finally:
            process.send_signal(signal.SIGTERM)
            await process.wait()
            (folder / "notify").unlink()


def build_bot_settings(folder: Path, model: ModelServer) -> dict[str, str]:
    """Return the environment of a service."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "MNEME_DATA_DIR": str(folder / "data"),
        "TIMEZONE": "UTC",
        "LOG_FORMAT": "json",
        "OPENAI_BASE_URL": model.url,
        "LLM_MODEL": "scripted",
    }


def list_chats() -> range:
    """Return the ids of the chats."""
    return range(1001, 1001 + CHATS)


async def talk(telegram: BotApiServer, writing: range, text: str) -> None:
    """Send a message from each chat at the same time, and wait for the answers."""
    before = len(telegram.list_calls("sendMessage"))
    for chat in writing:
        telegram.user_says(text, chat_id=chat)
    await telegram.wait_for(
        lambda: len(telegram.list_calls("sendMessage")) >= before + len(writing), timeout=TIMEOUT_SECONDS
    )


async def measure_bot(folder: Path, python: str) -> None:
    """Measure memory, start time and CPU of the running bot."""
    async with BotApiServer() as telegram, ModelServer() as model:
        model.otherwise = lambda _: Says(ANSWER)
        async with run_bot(folder, telegram, model, python) as first:
            print(f"first start (the database is made)  {first.ready_seconds:8.2f} s to ready")
        starts = []
        for _ in range(3):
            async with run_bot(folder, telegram, model, python) as again:
                starts.append(again.ready_seconds)
        print(f"later starts                        {statistics.median(starts):8.2f} s to ready")
        async with run_bot(folder, telegram, model, python) as bot:
            model.thinking, model.pace = THINKING, PACE
            await asyncio.sleep(1)  # For work that the start leaves to the background
            start = f"{bot.cpu_seconds:.2f} s of CPU for the start"
            print(f"resident, idle                      {bot.resident_mib:8.1f} MB, {start}")
            for turn in range(5):
                await talk(telegram, range(1001, 1002), f"I keep {turn} bees in Poltava. What about the gate?")
            print(f"resident, after five turns          {bot.resident_mib:8.1f} MB")
            before, calls = bot.cpu_seconds, len(telegram.calls)
            for turn in range(ROUNDS):
                for first_chat in list_chats()[::CONCURRENT_CHATS]:
                    writing = range(first_chat, first_chat + CONCURRENT_CHATS)
                    await talk(telegram, writing, f"Round {turn}: where is the spare key, and who else has one?")
            turns = CHATS * ROUNDS
            print(f"CPU a turn, over {turns} of {CHATS} chats   {(bot.cpu_seconds - before) / turns * 1000:8.1f} ms")
            made = [call.method for call in telegram.calls[calls:]]
            counts = ", ".join(f"{method} {made.count(method) / turns:.2f}" for method in sorted(set(made)))
            print(f"  calls a turn: {counts}")
            print(f"resident, after {turns + 5} turns           {bot.resident_mib:8.1f} MB")


async def measure_with_data(folder: Path, data: Path, python: str) -> None:
    """Measure memory and CPU of a bot that has a copy of the data, in one long conversation without a restart."""
    shutil.copytree(data, folder / "data")
    with contextlib.closing(sqlite3.connect(folder / "data" / "mneme.db")) as database:
        said = "SELECT content FROM messages WHERE role = 'user' AND length(content) < 1000 ORDER BY id LIMIT ?"
        messages = [content for (content,) in database.execute(said, (LONG_CONVERSATION,))]
    async with BotApiServer() as telegram, ModelServer() as model:
        model.otherwise = lambda _: Says(ANSWER)
        async with run_bot(folder, telegram, model, python) as bot:
            await asyncio.sleep(1)  # For work that the start leaves to the background
            print(f"resident, idle                      {bot.resident_mib:8.1f} MB")
            before = bot.cpu_seconds
            for number, text in enumerate(messages, 1):
                telegram.calls.clear()
                model.requests.clear()
                await talk(telegram, range(1001, 1002), text)
                if number == 5 or number % 500 == 0 or number == len(messages):
                    print(f"resident, after {number:5} messages      {bot.resident_mib:8.1f} MB", flush=True)
            print(f"CPU a turn                          {(bot.cpu_seconds - before) / len(messages) * 1000:8.1f} ms")


async def measure_commands(folder: Path, python: str) -> None:
    """Measure the CPU and the memory of the command line."""
    async with ModelServer() as model:
        model.otherwise = lambda _: Says(ANSWER)
        environment = build_bot_settings(folder, model)
        for arguments in (["--help"], ["chat", "-m", "hello"]):
            command = [python, "-m", "bot", *arguments]
            spent = [await asyncio.to_thread(measure_process, command, environment, folder) for _ in range(RUNS + 1)]
            print_costs(f"mneme {' '.join(arguments)}", spent[1:])


async def compare_with_nanobot(folder: Path, python: str, nanobot: str) -> None:
    """Measure a one-off turn of both programs by turns. Each has a folder of its own and the same model."""
    async with ModelServer() as model:
        model.otherwise = lambda _: Says(ANSWER)
        home = folder / "nanobot"
        home.mkdir()
        config = home / "config.json"
        provider = {"apiKey": "a-key", "apiBase": model.url}
        defaults = {"model": "scripted", "provider": "custom", "workspace": str(home / "workspace")}
        config.write_text(json.dumps({"providers": {"custom": provider}, "agents": {"defaults": defaults}}))
        ours = ([python, "-m", "bot", "chat", "-m", "hello"], build_bot_settings(folder, model))
        theirs = (
            [nanobot, "agent", "--classic", "-m", "hello", "-c", str(config)],
            {"PATH": os.environ["PATH"], "HOME": str(home)},
        )
        costs: dict[str, list[Cost]] = {"mneme": [], "nanobot": []}
        for number in range(RUNS + 1):
            for name, (command, environment) in zip(costs, (ours, theirs), strict=True):
                cost = await asyncio.to_thread(measure_process, command, environment, folder)
                if number:  # The first run creates files
                    costs[name].append(cost)
        for name, spent in costs.items():
            print_costs(f"one-off turn of {name}", spent)
        ratios = [mine.cpu_seconds / other.cpu_seconds for mine, other in zip(*costs.values(), strict=True)]
        print(f"CPU of mneme by that of nanobot     {statistics.median(ratios):8.2f}")


class Cost(NamedTuple):
    """The CPU seconds of a process and its children, its largest resident memory in MB, and all its seconds."""

    cpu_seconds: float
    resident_mb: float
    seconds: float


def print_costs(name: str, costs: Sequence[Cost]) -> None:
    """Print the medians."""
    cpu, memory, _seconds = (statistics.median(values) for values in zip(*costs, strict=True))
    print(f"{name:<35} {cpu:8.3f} s of CPU, {memory:.0f} MB")


def measure_process(command: Sequence[str], environment: dict[str, str], folder: Path) -> Cost:
    """Return the cost of one command, which must succeed and say something."""
    began = time.monotonic()
    with (folder / "output").open("wb+") as output:
        process = subprocess.Popen(  # noqa: S603  # Our own command
            command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read().decode(errors="replace")
    if process.returncode != 0 or not said.strip():
        raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}: {said}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, time.monotonic() - began)


def measure_installed(folder: Path) -> None:
    """Measure the disk space of an environment created as by install.sh."""
    release = folder / "release"
    subprocess.run([sys.executable, "-m", "venv", release], check=True)  # noqa: S603  # Our own path
    pip = [str(release / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    locked = str(ROOT / "requirements.lock")
    subprocess.run([*pip, "--require-hashes", "-r", locked], check=True)  # noqa: S603  # As above
    subprocess.run([*pip, "--no-deps", str(ROOT)], check=True)  # noqa: S603  # As above
    sizes = {path: measure_disk_bytes(path) for path in (release / "lib").glob("python*/site-packages/*")}
    print(f"installed                           {measure_disk_bytes(release) / 1e6:8.1f} MB")
    for path in sorted(sizes, key=lambda path: -sizes[path])[:8]:
        print(f"  {path.name:<34}{sizes[path] / 1e6:8.1f} MB")


def measure_disk_bytes(path: Path) -> int:
    """Return the bytes on disk."""
    inside = path.rglob("*") if path.is_dir() else [path]
    return sum(p.lstat().st_blocks * 512 for p in inside)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--installed", action="store_true", help="also make an installation and measure it")
    parser.add_argument("--python", metavar="PYTHON", default=sys.executable, help="the interpreter that runs the bot")
    parser.add_argument("--nanobot", metavar="PROGRAM", help="also measure this program of nanobot")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="only measure a bot with a copy of this data")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if wanted.data is not None:
            asyncio.run(measure_with_data(Path(name), wanted.data, wanted.python))
            return
        asyncio.run(measure_bot(Path(name), wanted.python))
        asyncio.run(measure_commands(Path(name), wanted.python))
        if wanted.nanobot is not None:
            asyncio.run(compare_with_nanobot(Path(name), wanted.python, wanted.nanobot))
        if wanted.installed:
            measure_installed(Path(name))


if __name__ == "__main__":
    main()
