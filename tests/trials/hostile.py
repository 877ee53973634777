"""Attack a running bot with hostile files. No file may crash it, fill its memory, or block a chat.

    python -m tests.trials.hostile [--seconds N] [--seed N]      five minutes

The trial sends crafted and random files to every importer (in a chat and on the memory page), installs skills from zip
files and by hand, sends random requests to the routes of the page, and connects to hostile tool servers. In another
chat it sends a message every second, and the bot must answer within two seconds. The process must keep running and
never use more than 512 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx

from bot.web.server import HOST
from tests.support import exports
from tests.support.bot_api.files import create_document
from tests.support.bot_api.server import BotApiServer
from tests.support.hostile_files import create_hostile_imports, create_nested, create_zip
from tests.support.hostile_skills import create_hostile_skills
from tests.support.memory_clients import find_free_port
from tests.support.mini_apps import sign_init_data
from tests.support.processes import bot_environment, running_bot
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, ChatRequest, Reply, Says

OWNER, SENDER, CALLER, TALKER = 1001, 1002, 1003, 1004
MAX_MEGABYTES = 512
MAX_ANSWER_SECONDS = 2.0
ATTACK_SECONDS = 90.0
"""Seconds that the bot may take to answer an attack. It reads one file at a time."""
SCRIPT = Path(__file__).parents[1] / "support" / "servers" / "hostile_mcp.py"
ATTACKS = ("endless", "flood", "half", "nested", "items", "hello")
ROUTES = ("overview", "entries", "search", "conversations", "conversations/1", "changes", "file", "last", "entries/1")


@dataclass
class Count:
    """The attacks of one kind.

    Attributes:
        failed: The number of failures, by error.
    """

    sent: int = 0
    slowest: float = 0.0
    failed: Counter[str] = field(default_factory=Counter)


class Trial:
    def __init__(self, telegram: BotApiServer, folder: Path, chance: random.Random, page: httpx.AsyncClient) -> None:
        self.telegram = telegram
        self.folder = folder
        self.chance = chance
        self.page = page
        self.crafted = create_hostile_imports()
        self.whole = _write_exports(folder)
        self.counts: dict[str, Count] = {}
        self.answers: list[float] = []
        self.current: dict[str, str] = {}
        self.problems: list[str] = []
        self.peak = 0

    async def attack(self, end: float) -> None:
        """Run all attacks in parallel until the time is over."""
        ways: dict[str, Callable[[], Awaitable[None]]] = {
            "file in a chat": self._send_file,
            "file at the page": self._upload_file,
            "request of the page": self._send_request,
            "skill in a chat": self._send_skill,
            "skill by hand": self._write_skill,
            "server of tools": self._call_server,
        }
        await asyncio.gather(*(self._repeat(name, way, end) for name, way in ways.items()))

    async def talk(self, end: float) -> None:
        """Send a message every second and record the response time."""
        number = 0
        while time.monotonic() < end:
            number += 1
            began = time.monotonic()
            await self.say(f"ping {number}", TALKER, f"You said: ping {number}")
            self.answers.append(time.monotonic() - began)
            if self.answers[-1] > MAX_ANSWER_SECONDS:
                print(f"answer {number} took {self.answers[-1]:.2f} s, next to {self.current}", flush=True)
            await asyncio.sleep(max(0.0, 1 - self.answers[-1]))

    async def watch(self, process: asyncio.subprocess.Process, end: float) -> None:
        """Check that the process runs, and record its peak memory."""
        while time.monotonic() < end:
            if process.returncode is not None:
                self.problems.append(f"the bot ended with {process.returncode}")
                return
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            self.peak = max(self.peak, int(status.partition("VmHWM:")[2].split()[0]) // 1_000)
            await asyncio.sleep(0.5)

    async def _repeat(self, name: str, way: Callable[[], Awaitable[None]], end: float) -> None:
        count = self.counts[name] = Count()
        while time.monotonic() < end:
            began = time.monotonic()
            count.sent += 1
            try:
                await way()
            except (AssertionError, httpx.HTTPError, TimeoutError) as error:
                count.failed[f"{type(error).__name__}: {str(error).partition(chr(10))[0][:80]}"] += 1
            count.slowest = max(count.slowest, time.monotonic() - began)
            await asyncio.sleep(0.2)

    async def say(self, text: str, chat: int, answer: str = "") -> None:
        before = len(self.telegram.list_sent(chat))
        self.telegram.user_says(text, chat_id=chat)
        await self._wait_for_answer(chat, before, answer)

    async def _wait_for_answer(self, chat: int, before: int, answer: str = "") -> None:
        await self.telegram.wait_for(
            lambda: [said for said in self.telegram.list_sent(chat)[before:] if answer in (said.text or "")],
            timeout=ATTACK_SECONDS,
        )

    def _choose_file(self) -> tuple[str, bytes]:
        """Choose a crafted file, a whole export that is damaged, or a random document."""
        kind = self.chance.randrange(3)
        if kind == 0:
            return self.chance.choice([*self.crafted.items()])
        if kind == 1:
            name, content = self.chance.choice([*self.whole.items()])
            damaged = bytearray(content)
            for _ in range(self.chance.randrange(1, 6)):
                at = self.chance.randrange(len(damaged))
                damaged[at : at + self.chance.randrange(20)] = self.chance.randbytes(self.chance.randrange(20))
            return name, bytes(damaged)
        document = json.dumps(_create_random_json(self.chance, 0)).encode() + create_nested(
            self.chance.choice([0, 0, 100, 10_000])
        )
        name = f"random{self.chance.choice(['.json', '.jsonl', '.md', '.txt'])}"
        return ("random.zip", create_zip({name: document})) if self.chance.random() < 0.3 else (name, document)

    async def _send_file(self) -> None:
        name, content = self._choose_file()
        self.current["file in a chat"] = f"{name} ({len(content):,} bytes)"
        before = len(self.telegram.list_sent(SENDER))
        self.telegram.user_says(chat_id=SENDER, sends=create_document(name, content))
        await self._wait_for_answer(SENDER, before)
        if self.chance.random() < 0.3:
            await self.say(f"/import {self.chance.randrange(1, 40)}", SENDER)

    async def _upload_file(self) -> None:
        name, content = self._choose_file()
        self.current["file at the page"] = f"{name} ({len(content):,} bytes)"
        look = "1" if self.chance.random() < 0.7 else "0"
        answer = await self.page.post("api/import", params={"name": name, "look": look}, content=content)
        assert answer.status_code < 500, f"{name}: {answer.status_code}"

    async def _send_request(self) -> None:
        route = self.chance.choice(ROUTES)
        odd = ["1", "-1", "x", "\0", "9" * 30, "\u202e", "é" * 900, "(" * 500, '"' * 900, "a* b* NEAR"]
        names = [name for name in ("q", "before", "state", "from") if self.chance.random() < 0.5]
        query = {name: self.chance.choice(odd) for name in names}
        if self.chance.random() < 0.3:
            body = (
                json.dumps(_create_random_json(self.chance, 0)).encode()
                if self.chance.random() < 0.5
                else create_nested(50_000)
            )
            answer = await self.page.post(f"api/{route}", content=body)
        else:
            answer = await self.page.get(f"api/{route}", params=query)
        assert answer.status_code < 500, f"{route} {query}: {answer.status_code}"

    def _choose_skill(self) -> str:
        text = self.chance.choice([*create_hostile_skills().values()])
        if self.chance.random() < 0.5:
            at = self.chance.randrange(len(text))
            odd = self.chance.choice(["&a ", "*a", "\n", "\ud83d", "[", "---\n", "\0", '"\\ud83d'])
            text = f"{text[:at]}{odd}{text[at:]}"
        return text

    async def _send_skill(self) -> None:
        content = create_zip({"trains/SKILL.md": self._choose_skill().encode("utf-8", "surrogatepass")})
        before = len(self.telegram.list_sent(OWNER))
        self.telegram.user_says(chat_id=OWNER, sends=create_document("trains.zip", content, "application/zip"))
        await self._wait_for_answer(OWNER, before)

    async def _write_skill(self) -> None:
        folder = self.folder / "data" / "skills" / self.chance.choice(["trains", "boats"])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_bytes(self._choose_skill().encode("utf-8", "surrogatepass"))
        await asyncio.sleep(1)

    async def _call_server(self) -> None:
        kind, server = self.chance.choice(ATTACKS), self.chance.choice(["lines", "json", "events"])
        self.current["server of tools"] = f"{kind} by {server}"
        await self.say(f"attack {kind} by {server}", CALLER, "It said")


def answer(chat: ChatRequest) -> Reply:
    """Call the tool that a message names, then answer with the result."""
    last = chat.messages[-1]
    if last["role"] == "tool":
        return Says(f"It said {str(last['content'])[:40]!r}")
    said = str(last["content"]).partition("<context>")[0].strip()
    words = said.split()
    if words[:1] == ["attack"] and len(words) == 4:
        return Calls(((f"{words[3]}__attack", {"kind": words[1]}),))
    return Says(f"You said: {said[:60]}")


def _create_random_json(chance: random.Random, depth: int) -> object:
    """Return a random value that uses the field names of the importers."""
    names = ["mapping", "chat_messages", "results", "memory", "messages", "date_unixtime", "from_id", "type", "id"]
    long = ["x" * 10_000, "<" * 1_000, "\u0301" * 2_000, "my password is " * 500]
    words = ["", "message", "entity", "\ud83d", "\0", "9" * 40, "2026-13-45", *long]
    kind = chance.randrange(6 if depth < 6 else 3)
    if kind == 0:
        return chance.choice([None, True, -1, 1e300, 2**70, 0.5])
    if kind < 3:
        return chance.choice(words)
    if kind == 3:
        return [_create_random_json(chance, depth + 1) for _ in range(chance.randrange(5))]
    return {chance.choice(names): _create_random_json(chance, depth + 1) for _ in range(chance.randrange(6))}


def _write_exports(folder: Path) -> dict[str, bytes]:
    """Write an export of each program and return the exports that are single files."""
    found: dict[str, bytes] = {}
    for name, (_program, write) in {**exports.CONVERSATIONS, **exports.MEMORIES}.items():
        place = folder / "exports" / name
        place.mkdir(parents=True)
        path = write(place, 200)
        if path.is_file():
            found[f"{name}{path.suffix}"] = path.read_bytes()
    return found


async def run_trial(seconds: float, seed: int) -> int:
    """Run the trial and print its table. Return the number of problems."""
    port, tools_port, events_port = find_free_port(), find_free_port(), find_free_port()
    with tempfile.TemporaryDirectory(prefix="mneme-hostile-") as name:
        folder = Path(name)
        servers = {
            "lines": {"command": sys.executable, "args": [str(SCRIPT)]},
            "json": {"url": f"http://127.0.0.1:{tools_port}/mcp"},
            "events": {"url": f"http://127.0.0.1:{events_port}/mcp"},
        }
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        async with (
            ModelServer() as model,
            BotApiServer() as telegram,
            _program(str(SCRIPT), str(tools_port)),
            _program(str(SCRIPT), str(events_port), "events"),
            httpx.AsyncClient(base_url=f"http://{HOST}:{port}/page/", timeout=ATTACK_SECONDS) as page,
        ):
            model.otherwise = answer
            environment = bot_environment(telegram, model, OWNER, SENDER, CALLER, TALKER)
            environment |= {"MNEME_DATA_DIR": str(folder / "data"), "MCP_CONFIG": str(folder / "mcp.json")}
            environment |= {"WEB_URL": "https://memory.example.org", "WEB_PORT": str(port)}
            async with running_bot(environment, folder) as process:
                trial = Trial(telegram, folder, random.Random(seed), page)
                await trial.say("ping 0", TALKER, "You said")
                entered = await page.post("enter", content=sign_init_data(SENDER, datetime.now(UTC)))
                page.headers["x-mneme"] = entered.json()["session"]
                end = time.monotonic() + seconds
                await asyncio.gather(trial.attack(end), trial.talk(end), trial.watch(process, end))
                await trial.watch(process, time.monotonic() + 1)
            return _print(trial, (folder / "log").read_text(encoding="utf-8", errors="replace"))


@contextlib.asynccontextmanager
async def _program(*arguments: str) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stderr=asyncio.subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        await process.wait()


def _print(trial: Trial, log: str) -> int:
    print(f"{'attack':22} {'sent':>6} {'failed':>7} {'slowest':>9}")
    for name, count in trial.counts.items():
        print(f"{name:22} {count.sent:6} {count.failed.total():7} {count.slowest:8.1f}s")
        trial.problems += [f"{name}: {times} times {why}" for why, times in count.failed.items()]
    slow = [seconds for seconds in trial.answers if seconds > MAX_ANSWER_SECONDS]
    print(
        f"{len(trial.answers)} messages answered, {statistics.median(trial.answers):.2f} s in the middle, "
        f"{max(trial.answers):.2f} s at most; {trial.peak} MB of memory at most; {log.count('Traceback')} tracebacks"
    )
    trial.problems += [f"{len(slow)} answers took longer than {MAX_ANSWER_SECONDS} s"] if slow else []
    trial.problems += [f"it took {trial.peak} MB"] if trial.peak > MAX_MEGABYTES else []
    for problem in trial.problems:
        print(f"PROBLEM: {problem}")
    return len(trial.problems)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=270)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    sys.exit(1 if asyncio.run(run_trial(chosen.seconds, chosen.seed)) else 0)
