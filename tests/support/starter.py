"""Starts `mneme` without the time for its imports, which take longer than most commands in the tests.

A process that has imported the program forks for each command (`python -m tests.support.starter FD`). Each fork is a
separate process with its own arguments, environment, folder and pipes. Tests of interpreter settings, such as the
locale, start a new interpreter instead.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAX_REQUEST_BYTES = 1 << 17
MAX_INPUT_BYTES = 60_000
"""Maximum size of standard input. A pipe must buffer it before the program reads."""
_IMPORTED = (
    "bot.app",
    "bot.cli.main",
    "bot.console.console",
    "bot.doctor.examination",
    "bot.telegram.service",
    "openai.resources.chat.completions",
)
_IMPORTED_FOR = {"mcp": "bot.features.mcp_server.stdio"}
"""The module that a command needs, if it is installed. It is imported at the command's first use."""


class Program:
    """A forked program with the parts of asyncio's Process that the tests use. Create it in a running event loop."""

    def __init__(self, pid: int, status: int) -> None:
        self.pid = pid
        self._status = status
        self._read = b""
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._loop.add_reader(status, self._more)

    @property
    def returncode(self) -> int | None:
        return self._ended.result() if self._ended.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    def send_signal(self, number: int) -> None:
        """Send a signal. Raises ProcessLookupError after the end of the program."""
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _more(self) -> None:
        if more := os.read(self._status, 64):
            self._read += more
            return
        self._loop.remove_reader(self._status)
        os.close(self._status)
        self._ended.set_result(int(self._read))


async def start_mneme(
    *arguments: str,
    environment: Mapping[str, str],
    file: int,
    folder: Path,
    error: int | None = None,
    own_session: bool = False,
) -> Program:
    """Start `mneme` with these arguments.

    Args:
        file: the descriptor for all its input and output.
        error: a separate descriptor for standard error.
    """
    standard = (file, file, file if error is None else error)
    started = await asyncio.to_thread(_fork, arguments, environment, folder, standard, own_session=own_session)
    return Program(*started)


def run_mneme(
    *arguments: str | bytes, environment: Mapping[str, str], stdin: bytes = b"", folder: Path | None = None
) -> tuple[int, str, str]:
    """Run `mneme` with these arguments and return exit status, standard output and standard error."""
    assert len(stdin) < MAX_INPUT_BYTES
    (read_input, write_input), (read_output, write_output), (read_error, write_error) = (os.pipe() for _ in range(3))
    theirs = (read_input, write_output, write_error)
    _, status = _fork(arguments, environment, folder or Path.cwd(), theirs)
    for descriptor in theirs:
        os.close(descriptor)
    os.write(write_input, stdin)  # a pipe has room for it
    os.close(write_input)
    with ThreadPoolExecutor(3) as readers:
        output, error, ended = readers.map(_read_all, (read_output, read_error, status))
    return int(ended), output.decode(), error.decode()


def _read_all(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _fork(
    arguments: Sequence[str | bytes],
    environment: Mapping[str, str],
    folder: Path,
    standard: tuple[int, int, int],
    *,
    own_session: bool = False,
) -> tuple[int, int]:
    """Return the process id, and a pipe that yields the exit status at the end of the program."""
    request = {
        "arguments": [os.fsdecode(argument) for argument in arguments],
        "environment": dict(environment),
        "folder": str(folder),
        "own_session": own_session,
    }
    read_status, write_status = os.pipe()
    control, lock, _ = _starter()
    with lock:
        socket.send_fds(control, [json.dumps(request).encode()], [*standard, write_status])
    os.close(write_status)
    number = b""
    while byte := os.read(read_status, 1):
        if byte == b"\n":
            return int(number), read_status
        number += byte
    raise ChildProcessError("the forking process has ended")


@functools.cache
def _starter() -> tuple[socket.socket, threading.Lock, subprocess.Popen[bytes]]:
    """Return the connection to the forking process, which ends with this one."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        process = subprocess.Popen(  # noqa: S603  # our own words
            [sys.executable, "-m", "tests.support.starter", str(its.fileno())],
            cwd=ROOT,
            env=os.environ | {"PTB_TIMEDELTA": "1"},
            pass_fds=[its.fileno()],
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours, threading.Lock(), process


def serve(control: socket.socket) -> None:
    """Fork for each request until the connection is closed."""
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # Keep memory pages shared with the forks.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # The kernel reaps the forks.
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MAX_REQUEST_BYTES, 4)
        if not message:
            return
        request = json.loads(message)
        needed = _IMPORTED_FOR.get(next(iter(request["arguments"]), ""))
        if needed and needed not in sys.modules:
            with contextlib.suppress(ImportError):  # The tests also run without features and optional packages.
                importlib.import_module(needed)
                gc.freeze()
        if os.fork() == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            *standard, status = descriptors
            program = os.fork()
            if program == 0:
                os.close(status)
                _become(request, standard)
            for descriptor in standard:
                os.close(descriptor)
            os.write(status, f"{program}\n".encode())
            _, ended = os.waitpid(program, 0)
            os.write(status, str(os.waitstatus_to_exitcode(ended)).encode())
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def _become(request: dict[str, object], standard: list[int]) -> None:
    """Run the program with its environment applied as the interpreter would at startup."""
    status = 1
    try:
        os.environ.clear()
        os.environ.update(request["environment"])  # type: ignore[call-overload]  # as run_mneme has written it
        os.chdir(str(request["folder"]))
        if added := os.environ.get("PYTHONPATH"):
            sys.path[:0] = added.split(os.pathsep)
        if request["own_session"]:
            os.setsid()
        # ignored where the tests run in the background of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, descriptor in enumerate(standard):
            os.dup2(descriptor, number)
            os.close(descriptor)
        sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        sys.argv = ["mneme", *request["arguments"]]  # type: ignore[misc]  # the same
        from bot.cli.main import main

        main()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001  # as the interpreter does
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
