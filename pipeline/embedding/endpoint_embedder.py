"""Vectors by a model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import structlog

from config.secrets import without_secrets
from memory.search.vectors import EmbedderError
from pipeline.models.client import client_of, load_sdk, loggable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import openai

    from memory.search.vectors import Vector
    from pipeline.models.endpoint import Endpoint

log = structlog.get_logger(__name__)

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
    return any(vector) and all(isinstance(number, float | int) and math.isfinite(number) for number in vector)
