"""What memory asks of models that know what texts mean; pipeline/ implements it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memory.errors import MnemeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Vector = Sequence[float]


class EmbedderError(MnemeError):
    """There are no vectors for now. refused: it is about these texts, and others may go well."""

    def __init__(self, text: str, *, refused: bool = False) -> None:
        super().__init__(text)
        self.refused = refused


class Embedder(Protocol):
    """Makes vectors of texts, such that those of texts that mean the like point the same way."""

    @property
    def name(self) -> str:
        """What made a vector; those of different names can't be compared."""

    def reads(self, text: str) -> bool:
        """Whether it knows the language of a question; in one that it does not know vectors would mislead."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text, all of one length and of any norm. Raises EmbedderError."""


class Reranker(Protocol):
    """Reads a question together with each text, which tells more than comparing vectors and takes longer."""

    def reads(self, text: str) -> bool:
        """Whether it knows the language of a question."""

    async def scores(self, question: str, texts: Sequence[str], within: float) -> list[float]:
        """How well each text answers the question, greater is better.

        Of the first ones alone where more can't be read within so many seconds. Raises EmbedderError.
        """
