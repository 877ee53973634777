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
