"""The feature LightRAG, its connection and its check."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bot.doctor.finding import DoctorContext, Finding, create_failed_from_error, create_ok, create_warning
from bot.feature import Contributions, Feature
from bot.features.lightrag.settings import LightRagSettings
from bot.kernel import Kernel
from config.errors import ConfigurationError
from config.settings import MemoryScope, Settings
from pipeline.order import OnFailure, Phase, Step
from pipeline.prompt.part import PartOrder

if TYPE_CHECKING:
    from bot.features.lightrag.client import LightRag

STEP = Step(60, "GraphIndexing", OnFailure.CONTINUE, Phase.AFTER)
REMEDY = "Start LightRAG, or correct LIGHTRAG_URL and LIGHTRAG_API_KEY. Until then, the bot answers without it."


async def check(context: DoctorContext) -> list[Finding]:
    url = context.settings.group(LightRagSettings).lightrag_url
    if url is None:
        return [create_ok("LightRAG", "None is configured")]
    try:
        check_scope(context.settings)
    except ConfigurationError as error:
        return [create_failed_from_error("LightRAG", error)]
    graph = _connect(context.settings)
    try:
        trouble = await graph.check()
    finally:
        await graph.close()
    if trouble is not None:
        return [create_warning("LightRAG", f"At {url} {trouble}", REMEDY)]
    return [create_ok("LightRAG", f"It answers at {url}")]


def _connect(settings: Settings) -> LightRag:
    from bot.features.lightrag.client import LightRag

    own = settings.group(LightRagSettings)
    key = own.lightrag_api_key.get_secret_value() if own.lightrag_api_key else None
    return LightRag(str(own.lightrag_url), key, own.lightrag_mode)


def check_scope(settings: Settings) -> None:
    """Raise ConfigurationError if the chats have memories of their own."""
    if settings.group(LightRagSettings).lightrag_url is not None and settings.memory_scope is not MemoryScope.SHARED:
        raise ConfigurationError(
            "LIGHTRAG_URL needs MEMORY_SCOPE=shared: LightRAG has one memory for all and would leak between chats."
        )


class LightRagFeature(Feature):
    name = "lightrag"
    checks: ClassVar = {"LightRAG": check}

    def check_settings(self, settings: Settings) -> None:
        check_scope(settings)

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.group(LightRagSettings).lightrag_url is not None else "LIGHTRAG_URL is not set"

    async def open(self, kernel: Kernel) -> Contributions:
        from bot.features.lightrag.parts import GraphIndexing, GraphPart

        graph = _connect(kernel.settings)
        kernel.stack.push_async_callback(graph.close)
        if not kernel.settings.memory_enabled:
            # Data that was sent there before memory was switched off has to be erased too
            return Contributions(on_forget=[graph.forget])
        return Contributions(
            prompt=[(PartOrder.MEMORY + 5, GraphPart(graph))],
            systems=[(STEP, GraphIndexing(graph))],
            on_forget=[graph.forget],
        )
