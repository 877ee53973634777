"""Creates the local model."""

from __future__ import annotations

import contextlib

from bot.features.local_model.choice import require_local
from bot.features.local_model.embedded import EmbeddedServer, PromptState
from bot.models import ProvidedModel
from config.models import ModelCatalogue
from config.settings import Settings
from memory.store.erasure import PendingErasures
from pipeline.models.capabilities import Part
from pipeline.models.endpoint import Endpoint
from pipeline.models.model import Tier
from pipeline.models.openai_model import ModelDefaults, OpenAIModel
from pipeline.models.routing import Models


def create_local_model(
    settings: Settings, catalogue: ModelCatalogue, erasures: PendingErasures, stack: contextlib.AsyncExitStack
) -> ProvidedModel:
    """Create the configured local model. Its process starts with the first request, and `stack` closes it."""
    choice = require_local(settings, catalogue)
    local, has_tools = choice.model, choice.tools is None or bool(choice.tools)
    state = PromptState(settings.mneme_data_dir / "models" / "state", local.name)
    server = EmbeddedServer(local, choice.weights, state=state)
    stack.push_async_callback(server.stop)
    erasures.add_place(server.forget)

    async def connect() -> Endpoint:
        return Endpoint(await server.start(), server.api_key, server.explain_loss)

    talking = OpenAIModel(
        local.name,
        local.window,
        connect,
        timeout=settings.llm_timeout,
        defaults=ModelDefaults(catalogue.temperatures[Tier.FAST], local.max_output_tokens),
        unable=frozenset({Part.IMAGES} if has_tools else {Part.IMAGES, Part.TOOLS}),
    )
    stack.push_async_callback(talking.close)
    return ProvidedModel(Models(balanced=talking, fast=talking), choice.style, choice.tools, choice.second_look)
