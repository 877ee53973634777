"""A child process that runs a script and answers lines of JSON: native code that crashes takes only that one."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class JsonChild:
    """Started at once. All of it blocks, so it is called in a thread; `process` may be killed from outside of that.

    The script imports nothing of Mneme and ends with its input, so it cannot outlive even a killed bot. log: where its
    standard error goes, None: nowhere.
    """

    def __init__(self, script: Path, *, env: Mapping[str, str] | None = None, log: IO[bytes] | None = None) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-P", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if log is None else log,
            process_group=0,  # Ctrl-C is for the bot, which ends it when it is done
            env=env,
        )
        if self.process.stdin is None or self.process.stdout is None:
            raise AssertionError("both were asked for as pipes")
        self._stdin, self._stdout = self.process.stdin, self.process.stdout

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process.poll() is None else None

    def tell(self, message: Mapping[str, Any]) -> None:
        """Hand over what is not answered."""
        # a child that has died shows in `ask`, by the answer that is missing
        with contextlib.suppress(BrokenPipeError):
            self._stdin.write(json.dumps(message).encode() + b"\n")
            self._stdin.flush()

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Hand over a message and wait for its answer; empty where the child died without one."""
        self.tell(message)
        line = self._stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
        return answer

    def end(self, seconds: float) -> None:
        """End it by ending its input, by force where it does not obey in time, and close its files."""
        with contextlib.suppress(BrokenPipeError):
            self._stdin.close()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._stdout.close()
