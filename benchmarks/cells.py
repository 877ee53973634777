"""Memory and CPU of many bots on one machine, idle and during conversations.

    python -m benchmarks.cells                  20 bots; about 3 minutes
    python -m benchmarks.cells --cells 50 --idle 60

Each bot has a separate Telegram server and data directory. One scripted model in this process serves all. Memory is
the proportional set size (Pss) of each process, CPU is user and system time of the bots. All bots start at once, then
are idle, then each of them answers five messages.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.bot_api.server import BotApiServer
from tests.support.processes import bot_environment, running_bot
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says

ANN = 1001
TURNS_PER_BOT = 5
TIMEOUT_SECONDS = 600
ANSWER = "The gate opens with the code that you told me last week; the spare key hangs behind the shed."


def read_memory(pids: Sequence[int], what: str) -> float:
    """Return the memory of processes in MiB, as `what` measures it: Rss or Pss."""
    kilobytes = 0
    for pid in pids:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        kilobytes += next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:"))
    return kilobytes / 1024


def read_cpu_seconds(pids: Sequence[int]) -> float:
    """Return the CPU seconds of processes."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def measure(cells: int, idle: float) -> None:
    """Run the benchmark and print the figures."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mneme-cells-")))
        model = await stack.enter_async_context(ModelServer())
        model.otherwise = lambda _: Says(ANSWER)
        telegrams = [await stack.enter_async_context(BotApiServer()) for _ in range(cells)]
        began, pids = time.monotonic(), []
        for number, telegram in enumerate(telegrams):
            own = folder / str(number)
            own.mkdir()
            environment = bot_environment(telegram, model, ANN) | {"MNEME_DATA_DIR": str(own / "data")}
            process = await stack.enter_async_context(running_bot(environment, own))
            pids.append(process.pid)
        for telegram in telegrams:
            await telegram.wait_for(lambda telegram=telegram: telegram.polled, timeout=TIMEOUT_SECONDS)  # type: ignore[misc]
        print(f"{cells} cells: all ready after {time.monotonic() - began:.1f} s, {read_cpu_seconds(pids):.1f} s of CPU")
        await asyncio.sleep(10)  # Until the menus are set
        _print_memory("nobody has written", pids)
        before = read_cpu_seconds(pids)
        await asyncio.sleep(idle)
        share = (read_cpu_seconds(pids) - before) / idle
        print(f"idle for {idle:.0f} s: {share:.1%} of one processor in all, {share / cells:.2%} each")
        before, began = read_cpu_seconds(pids), time.monotonic()
        await asyncio.gather(*(_send_messages(telegram) for telegram in telegrams))
        seconds, turns = time.monotonic() - began, cells * TURNS_PER_BOT
        print(
            f"{turns} turns in {seconds:.1f} s: {turns / seconds:.1f} a second in all,"
            f" {(read_cpu_seconds(pids) - before) / turns * 1000:.0f} ms of CPU each"
        )
        _print_memory(f"after {TURNS_PER_BOT} turns each", pids)


def _print_memory(when: str, pids: Sequence[int]) -> None:
    whole, shared = read_memory(pids, "Pss"), read_memory(pids, "Rss")
    print(f"{when}: {whole:.0f} MB in all, {whole / len(pids):.0f} each; counted alone {shared / len(pids):.0f} each")


async def _send_messages(telegram: BotApiServer) -> None:
    for number in range(1, TURNS_PER_BOT + 1):
        telegram.user_says(f"Where is the key? {number}", chat_id=ANN)
        await telegram.wait_for(lambda number=number: len(telegram.list_sent(ANN)) >= number, timeout=TIMEOUT_SECONDS)  # type: ignore[misc]


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=20)
    parser.add_argument("--idle", type=float, default=30)
    options = parser.parse_args()
    asyncio.run(measure(options.cells, options.idle))


if __name__ == "__main__":
    main()
