"""Child processes for native code, which may crash, run forever or fill the memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any


class JsonChild:
    """A running child process that answers lines of JSON.

    All methods block, so call them in a thread; another thread may kill `process`.

    The script must not import Mneme and must end when its input ends, so that it never outlives the bot. `log` receives
    its standard error.
    """

    def __init__(self, script: Path, *, env: Mapping[str, str] | None = None, log: IO[bytes] | None = None) -> None:
        self.process = subprocess.Popen(  # noqa: S603  # The script is part of Mneme.
            [sys.executable, "-P", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if log is None else log,
            process_group=0,  # Ctrl-C must reach only the bot, which ends the child itself.
            env=env,
        )
        if self.process.stdin is None or self.process.stdout is None:
            raise AssertionError("both were asked for as pipes")
        self._stdin, self._stdout = self.process.stdin, self.process.stdout

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process.poll() is None else None

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message that needs no answer."""
        # `ask` detects a dead child by its missing answer.
        with contextlib.suppress(BrokenPipeError):
            self._stdin.write(json.dumps(message).encode() + b"\n")
            self._stdin.flush()

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send a message and wait for its answer. Return an empty dict if the child died without answering."""
        self.tell(message)
        line = self._stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
        return answer

    def end(self, seconds: float) -> None:
        """Close the child's input and wait for it to exit. Kill it after `seconds`."""
        with contextlib.suppress(BrokenPipeError):
            self._stdin.close()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._stdout.close()


async def run_isolated(
    script: Path, arguments: Iterable[str], content: bytes, seconds: float
) -> subprocess.CompletedProcess[bytes]:
    """Run a script with `content` as its standard input, and return its status and standard output.

    The script must not import Mneme. It gets neither the bot's environment, which contains keys, nor Python's settings.
    Raises TimeoutError after `seconds`.
    """
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", str(script), *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"LANG": "C.UTF-8"},
    )
    try:
        async with asyncio.timeout(seconds):
            output, _errors = await child.communicate(content)
            return subprocess.CompletedProcess(script.name, await child.wait(), output)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
