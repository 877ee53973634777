"""The embedded model: a model on this machine behind the same kind of interface as a hosted one.

llama.cpp's server runs in a child process, not in the bot's own, for four reasons that were seen when trying it:
loading a model holds Python's global lock for seconds, which would stop the whole bot; a crash in native code or
the system's out-of-memory killer takes the child only; stopping gives all memory back at once; and nothing that
native code prints reaches the bot's output. The child reads its standard input and ends when that ends, so it
cannot outlive the bot, not even one that was killed.
"""

import asyncio
import contextlib
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from config.models import LocalModel, chat_template

_CHILD = Path(__file__).with_name("embedded_child.py")
_MOST_THREADS = 4
_STOP_SECONDS = 5.0
_LOG_TAIL_BYTES = 2000


class EmbeddedModelError(RuntimeError):
    """The embedded model cannot run; the text is one sentence that says why and what to do."""


@dataclass(frozen=True, slots=True)
class _Running:
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    base_url: str


class EmbeddedServer:
    """A local model that is started when it is first needed and serves chat completions on a loopback port.

    ``start`` may be called before every request: it costs nothing while the model runs and starts it again if it
    has died. ``api_key`` is a random token that requests must carry, so that no other user of the machine can
    use the port. ``threads`` is the number of cores to compute with (default: all, at most 4), ``slots`` the
    number of requests answered at the same time (each takes the memory of a whole context), ``load_seconds`` how
    long loading may take.
    """

    def __init__(
        self,
        model: LocalModel,
        weights: Path,
        *,
        threads: int | None = None,
        slots: int = 1,
        load_seconds: float = 300.0,
    ) -> None:
        self.model = model
        self.weights = weights
        self.api_key = secrets.token_urlsafe(24)
        self._threads = threads if threads is not None else min(os.cpu_count() or 1, _MOST_THREADS)
        self._slots = slots
        self._load_seconds = load_seconds
        self._lock = asyncio.Lock()
        self._running: _Running | None = None

    @property
    def is_running(self) -> bool:
        """Whether the model is loaded and its process alive."""
        return self._running is not None and self._running.process.poll() is None

    @property
    def pid(self) -> int | None:
        """The process that holds the model, while it runs."""
        return self._running.process.pid if self._running is not None and self.is_running else None

    async def start(self) -> str:
        """Have the model running and return its base URL, such as ``http://127.0.0.1:40000/v1``.

        Takes as long as loading does, without blocking the event loop; being cancelled ends a load under way.
        EmbeddedModelError says what is missing or went wrong.
        """
        async with self._lock:
            if self._running is not None and self.is_running:
                return self._running.base_url
            await self._discard()
            self._check()
            self._running = await self._load()
            return self._running.base_url

    async def stop(self) -> None:
        """End the model's process, with whatever request it is answering, and give its memory back."""
        async with self._lock:
            await self._discard()

    async def _discard(self) -> None:
        if self._running is not None:
            running, self._running = self._running, None
            await asyncio.to_thread(_end, running.process, running.log)

    def _check(self) -> None:
        """Find what can be known to be missing before a process is started for it."""
        if importlib.util.find_spec("xllamacpp") is None:
            raise EmbeddedModelError(
                "The embedded model needs the package xllamacpp: run pip install 'mneme[local]', "
                "or set up a model server with `mneme setup`."
            )
        try:
            size = self.weights.stat().st_size
        except OSError:
            raise EmbeddedModelError(
                f"The weights of {self.model.name} are not at {self.weights}: fetch them with `mneme model pull`."
            ) from None
        if size != self.model.size_bytes:
            raise EmbeddedModelError(
                f"The file {self.weights} has {size} bytes where {self.model.name} has {self.model.size_bytes}: "
                "fetch it afresh with `mneme model pull`."
            )

    async def _load(self) -> _Running:
        log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        process = subprocess.Popen(  # noqa: S603, ASYNC220 - our own script; forking takes no time worth a thread
            [sys.executable, "-P", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            process_group=0,  # Ctrl-C is for the bot, which ends the model when it is done
        )
        try:
            answer = await asyncio.wait_for(asyncio.to_thread(self._converse, process), self._load_seconds)
        except TimeoutError:
            await asyncio.to_thread(_end, process, log)
            raise EmbeddedModelError(
                f"{self.model.name} was not loaded within {self._load_seconds:.0f} seconds: try again when the "
                "machine is less busy, or choose a smaller model with `mneme setup`."
            ) from None
        except BaseException:
            process.kill()
            _end(process, log)
            raise
        if "base_url" in answer:
            return _Running(process, log, answer["base_url"])
        await asyncio.to_thread(process.wait)
        reason = answer.get("error") or _ending(process.returncode)
        said = _last_line(log)
        await asyncio.to_thread(_end, process, log)
        raise EmbeddedModelError(self._why_not_loaded(process.returncode, reason, said))

    def _converse(self, process: subprocess.Popen[bytes]) -> dict[str, str]:
        """Hand the child its settings and wait for its answer; empty if it died without one."""
        assert process.stdin is not None and process.stdout is not None
        settings = {
            "weights": str(self.weights),
            "alias": self.model.name,
            "api_key": self.api_key,
            "n_ctx": self.model.n_ctx,
            "max_output_tokens": self.model.max_output_tokens,
            "slots": self._slots,
            "threads": self._threads,
            "chat_template": chat_template(self.model.chat_template) if self.model.chat_template else None,
        }
        with contextlib.suppress(BrokenPipeError):  # it died already; the missing answer tells
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            process.stdin.flush()
        line = process.stdout.readline()
        answer: dict[str, str] = json.loads(line) if line.endswith(b"\n") else {}
        return answer

    def _why_not_loaded(self, code: int, reason: str, said: str) -> str:
        return f"{code} {reason} {said}"


def _end(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    """End the child by ending its standard input, or by force if it does not obey, and close what it held."""
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
    log.close()


def _ending(code: int) -> str:
    return f"its process ended with {code}"


def _last_line(log: IO[bytes]) -> str:
    log.seek(0, os.SEEK_END)
    log.seek(max(0, log.tell() - _LOG_TAIL_BYTES))
    return log.read().decode(errors="replace")
