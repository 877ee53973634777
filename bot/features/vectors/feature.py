"""The feature vectors."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from bot.commands.figures import Group, format_part
from bot.doctor.finding import DoctorContext, Finding
from bot.feature import MEMORY_OFF, Contributions, Feature
from bot.features.vectors.settings import LOCAL_EMBEDDER, VectorsSettings
from bot.kernel import Kernel
from bot.services import MemoryServices
from config.errors import ConfigurationError
from config.settings import Settings
from config.texts import N_, _, for_owner
from memory.log.sessions import Session
from pipeline.order import OnFailure, Phase, Step

if TYPE_CHECKING:
    from bot.features.vectors.job import BackgroundEmbedding
    from bot.features.vectors.models import MeaningModels

STEP = Step(55, "Indexing", OnFailure.CONTINUE, Phase.AFTER)


async def check(context: DoctorContext) -> list[Finding]:
    from bot.features.vectors.check import check_embeddings

    return await check_embeddings(context)


class VectorsFeature(Feature):
    name = "vectors"
    checks: ClassVar = {"embedder": check}
    models: MeaningModels
    job: BackgroundEmbedding | None = None

    def check_settings(self, settings: Settings) -> None:
        own = settings.group(VectorsSettings)
        if own.embedding_model is not None and not (own.is_local or own.has_endpoint or settings.has_endpoint):
            raise ConfigurationError(
                f"EMBEDDING_MODEL without an endpoint must be {LOCAL_EMBEDDER}: use that, or set EMBEDDING_BASE_URL."
            )

    def why_off(self, settings: Settings) -> str | None:
        if settings.group(VectorsSettings).embedding_model is None:
            return "EMBEDDING_MODEL is not set"
        return None if settings.memory_enabled else MEMORY_OFF

    async def extend_search(
        self, settings: Settings, memory: MemoryServices, stack: contextlib.AsyncExitStack
    ) -> str | None:
        from bot.features.vectors.models import check_embedder, create_meaning_models

        models = await check_embedder(create_meaning_models(settings, stack))
        if models.embedder is not None:
            from bot.features.vectors.search import create_vector_search

            memory.compare_with(create_vector_search(memory, models.embedder))
        return models.trouble

    async def open(self, kernel: Kernel) -> Contributions:
        from bot.features.vectors.models import create_meaning_models

        self.models = create_meaning_models(kernel.settings, kernel.stack)
        if self.models.embedder is None:
            return Contributions(status=[self._report])
        from bot.features.vectors.job import BackgroundEmbedding, Indexing
        from bot.features.vectors.search import create_vector_search
        from bot.features.vectors.store import Embedding, Vectors

        memory = kernel.memory
        vector_search = create_vector_search(memory, self.models.embedder)
        memory.compare_with(vector_search)
        embedding = Embedding(Vectors(memory.database), self.models.embedder)
        self.job = BackgroundEmbedding(embedding, kernel.setup.quiet)
        return Contributions(
            systems=[(STEP, Indexing(self.job.wake))],
            jobs=[self.job],
            status=[self._report],
            on_forget=[vector_search.clear_cache],
        )

    async def _report(self, session: Session) -> Sequence[Group]:
        """Report the progress of an owner's vectors, or why a configured embedder is missing."""
        title = _("Search by meaning")
        if self.job is None or self.models.embedder is None:
            return (
                [Group(title, notes=(_hide_trouble(self.models.trouble),))] if self.models.trouble is not None else []
            )
        progress = await self.job.measure_progress(session.owner)
        rows = ((_("model"), self.models.embedder.name), (_("texts"), format_part(progress.done, progress.total)))
        return [Group(title, rows, notes=(_hide_trouble(self.job.trouble),) if self.job.trouble else ())]


def _hide_trouble(trouble: str) -> str:
    """Return why a model of embeddings fails. The reason names settings, so it is for the owner only."""
    text = "{trouble}"
    return for_owner(text, N_("It doesn't work at the moment, and only my owner can change that."), trouble=trouble)
