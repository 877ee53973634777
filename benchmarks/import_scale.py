"""Duration and memory of imports, and the delay that they cause in another chat.

    python -m benchmarks.import_scale [--large [MESSAGES]]
    python -m benchmarks.import_scale --before COMMIT [--messages MESSAGES]

Imports each format with 10 and 1,000 messages. With --large, also ChatGPT with 100,000 messages, which unpack to 200 MB
and take minutes. Another chat commits a turn every 20 ms. The durations are seconds of processor time, so that other
programs on the machine change them little. The delay is the longest time that a write of the other chat took.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from benchmarks.footprint import measure_process
from bot.app import open_app
from bot.features.imports.feature import ImportsFeature
from bot.kernel import App
from config.logs import configure_logging
from config.settings import Settings
from memory.log.sessions import Address
from memory.log.turn_log import FinishedTurn, Outcome
from memory.messages import Message, Role
from tests.support import exports

MINE, OTHER = Address("console", "mine"), Address("console", "other")
ROOT = Path(__file__).parent.parent
LARGE = 100_000
"""Messages of 2 KB in the large file."""
MESSAGE_CHARS = 1_800
"""Length of a message in the large file, so that it has 200 MB."""
INTERVAL_SECONDS = 0.02


@contextlib.asynccontextmanager
async def talk_in_another_chat(app: App) -> AsyncIterator[list[float]]:
    """Commit turns in another chat. Yield the list of durations of its writes in seconds."""
    session = await app.sessions.get_or_create(OTHER)
    took: list[float] = []

    async def talk() -> None:
        while True:
            now = app.clock()
            began = time.perf_counter()
            messages = [Message(Role.USER, "Hello", now), Message(Role.ASSISTANT, "Hello!", now)]
            await app.memory.turns.commit(FinishedTurn(session.id, Outcome.ANSWERED, messages, now))
            took.append(time.perf_counter() - began)
            await asyncio.sleep(INTERVAL_SECONDS)

    task = asyncio.create_task(talk())
    try:
        yield took
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def measure(write: Callable[[Path, int], Path], count: int) -> str:
    """Import a file, import it again, undo it, export and forget everything. Return a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        file = write(Path(folder), count)
        settings = Settings.model_validate({"mneme_data_dir": Path(folder) / "data"})
        async with open_app(settings) as app, talk_in_another_chat(app) as took:
            session = await app.sessions.get_or_create(MINE)

            async def measure_step(work: Callable[[], object]) -> tuple[float, float]:
                took.clear()
                began = time.process_time()
                await work()  # type: ignore[misc]  # The awaitables differ
                return time.process_time() - began, max(took, default=0.0)

            importer = ImportsFeature().create_importer(app.memory)
            brings = await measure_step(lambda: importer.run(file, session))
            again = await measure_step(lambda: importer.run(file, session))
            undoes = await measure_step(lambda: app.memory.undo.undo(session.owner))
            await importer.run(file, session)
            exported = await measure_step(lambda: app.memory.portable.export(Path(folder) / "export", session.owner))
            forgets = await measure_step(lambda: app.memory.forgetting.forget_all(session.owner))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    steps = (brings, again, undoes, exported, forgets)
    cells = " ".join(f"{seconds:9.2f} s {waits * 1000:5.0f} ms" for seconds, waits in steps)
    return f"{count:8,} {cells} {peak:7.0f} MB"


def write_large_chatgpt(folder: Path, messages: int) -> Path:
    """Write an export with messages of realistic length in pieces."""
    file = folder / "chatgpt.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("conversations.json", "w") as part:
        for first in range(0, messages, exports.PER_CONVERSATION):
            conversation = exports.create_chatgpt_conversation(first, exports.PER_CONVERSATION)
            for number in range(first, first + exports.PER_CONVERSATION):
                filler = " ".join(f"word{(number * 31 + i * 7) % 4999}" for i in range(MESSAGE_CHARS // 8))
                conversation["mapping"][f"m{number}"]["message"]["content"]["parts"][0] += f" {filler}"
            part.write((b"," if first else b"[") + json.dumps(conversation).encode())
        part.write(b"]")
    return file


def compare_with(commit: str, messages: int) -> None:
    """Import and undo a large ChatGPT export with the command line of an earlier commit and of this one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = write_large_chatgpt(folder, messages)
        git = shutil.which("git") or "git"
        subprocess.run([git, "worktree", "add", "--detach", "--quiet", folder / "before", commit], cwd=ROOT, check=True)  # noqa: S603  # Our own words
        try:
            print(f"{messages:,} messages     {'import':>24} {'undo':>24}   (seconds: processor, in all)")
            for title, root in ((commit, folder / "before"), ("now", ROOT)):
                environment = {"PYTHONPATH": str(root), "MNEME_DATA_DIR": str(folder / title / "data"), "PATH": ""}
                (folder / title).mkdir(exist_ok=True)
                steps = (["import", str(file)], ["memory", "undo"])
                commands = [[sys.executable, "-m", "bot", *step] for step in steps]
                costs = [measure_process(command, environment, folder / title) for command in commands]
                cells = " ".join(f"{cost.cpu_seconds:12.1f} {cost.seconds:11.1f}" for cost in costs)
                print(f"{title:20} {cells}", flush=True)
        finally:
            subprocess.run([git, "worktree", "remove", "--force", folder / "before"], cwd=ROOT, check=True)  # noqa: S603  # As above


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--large", type=int, nargs="?", const=LARGE, metavar="MESSAGES", help="also ChatGPT with 100,000 messages"
    )
    parser.add_argument("--before", metavar="COMMIT", help="compare only this commit with the present, in one run")
    parser.add_argument("--messages", type=int, default=20_000, help="messages for --before, of 2 KB each")
    wanted = parser.parse_args()
    if wanted.before is not None:
        compare_with(wanted.before, wanted.messages)
        return
    large = wanted.large
    steps = ("import", "again", "undo", "export", "forget all")
    print(f"{'':18}{'count':>8} " + " ".join(f"{step:>11} {'waits':>8}" for step in steps) + f" {'peak':>7}")
    for name, (_program, write) in {**exports.CONVERSATIONS, **exports.MEMORIES}.items():
        for count in (10, 1_000):
            print(f"{name:18}{await measure(write, count)}", flush=True)
    if large:
        print(f"{'chatgpt':18}{await measure(write_large_chatgpt, large)}", flush=True)


if __name__ == "__main__":
    configure_logging("error", "console")
    asyncio.run(main())
