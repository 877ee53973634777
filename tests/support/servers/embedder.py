"""The embeddings endpoint of the scripted model server. Words with equal meanings have equal vectors."""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any

from tests.support.servers.web import Answer

_WORD = re.compile(r"[^\W_]+")


class Fault(Enum):
    """The failure of a request for vectors."""

    ERROR = auto()
    REFUSED = auto()
    HANGS = auto()
    GARBLED = auto()
    TOO_FEW = auto()


class ScriptedEmbedder:
    """Computes vectors from the meanings of words. Texts with equal meanings point in similar directions.

    The order of words does not matter.

    Attributes:
        meanings: The meanings of words. Any other word has a small weight and counts as its own meaning.
        fault: How requests fail, or None.
        refuses: A text with one of these words is refused.
        asked: The texts of all requests, in order.
        models: The model names of all requests, in order.
    """

    def __init__(self) -> None:
        self.meanings: dict[str, str] = {}
        self.length = 64
        self.fault: Fault | None = None
        self.refuses: set[str] = set()
        self.asked: list[str] = []
        self.models: list[str] = []

    async def answer(self, request: dict[str, Any]) -> Answer:
        """Return the response in the format of OpenAI's API."""
        texts = request["input"]
        self.asked += texts
        self.models.append(request["model"])
        if self.fault is Fault.HANGS:
            await asyncio.Event().wait()
        if self.fault is Fault.ERROR:
            return _error(500, "the model crashed")
        if self.fault is Fault.REFUSED or any(self.refuses.intersection(_split_words(text)) for text in texts):
            return _error(400, "this input can't be embedded")
        if self.fault is Fault.GARBLED:
            return Answer(200, b"{no json")
        made = texts[1:] if self.fault is Fault.TOO_FEW else texts
        found = [
            {"object": "embedding", "index": n, "embedding": self.compute_vector(text)} for n, text in enumerate(made)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        answer = {"object": "list", "data": found, "model": request["model"], "usage": usage}
        return Answer(200, json.dumps(answer).encode())

    def compute_vector(self, text: str) -> list[float]:
        """Return the vector of a text. Known meanings weigh more than other words."""
        numbers = [0.01] * self.length
        for word in _split_words(text):
            meaning = self.meanings.get(word)
            numbers[zlib.crc32((meaning or word).encode()) % self.length] += 1.0 if meaning else 0.1
        return numbers


class MeaningEmbedder:
    """An Embedder that computes the vectors of ScriptedEmbedder without a server."""

    name = "meanings"

    def __init__(self, meanings: dict[str, str]) -> None:
        self._scripted = ScriptedEmbedder()
        self._scripted.meanings = meanings

    async def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> list[Sequence[float]]:
        """Return a vector for each text."""
        return [self._scripted.compute_vector(text) for text in texts]


def _split_words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _error(status: int, message: str) -> Answer:
    return Answer(status, json.dumps({"error": {"message": message, "type": "error", "code": None}}).encode())
