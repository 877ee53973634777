"""Tests of the process's allocator."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# Fills and empties the heaps of four threads, as prompts do, and prints how many MB stay.
_FILLED_AND_FREED = """
import sys, threading
from config.process import return_freed_memory

def read_resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) // 1024

def fill():
    blocks, kept = [], []
    for number in range(400):
        blocks.append("x" * 100_000)
        kept.append("y" * 600)  # Small blocks in between keep a heap from shrinking
    barrier.wait()
    blocks.clear()
    barrier.wait()
    barrier.wait()

if sys.argv[1] == "return":
    return_freed_memory()
before, barrier = read_resident(), threading.Barrier(5)
threads = [threading.Thread(target=fill) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(2):
    barrier.wait()
print(read_resident() - before)
barrier.wait()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the options are those of glibc")
def test_memory_that_threads_have_freed_is_returned() -> None:
    def measure(mode: str) -> int:
        command = [sys.executable, "-c", _FILLED_AND_FREED, mode]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)  # noqa: S603  # Our own

    assert measure("keep") > 100
    assert measure("return") < 50
