"""Which models an endpoint says it has, and whether one of them answers: what setup asks before it keeps anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.clock import system_clock
from memory.messages import Message, Role
from pipeline.endpoint.client import client_of
from pipeline.endpoint.known_endpoint import KnownEndpoint
from pipeline.endpoint.openai_model import OpenAIModel
from pipeline.endpoint.probe import looks_well
from pipeline.endpoint.wire import Part
from pipeline.models.model import ModelRequest

if TYPE_CHECKING:
    from config.models import ModelWindow
    from pipeline.endpoint.known_endpoint import Endpoint, Keeping

LISTING_SECONDS = 10.0
CHECK_TOKENS = 16
"""How long the answer of a model may get that is only to show that it answers."""


async def listed_models(endpoint: Endpoint) -> list[str] | None:
    """The names of an endpoint's models as `/v1/models` has them; None where it does not say."""
    import openai

    async with client_of(endpoint, seconds=LISTING_SECONDS, retries=0, connecting=LISTING_SECONDS) as client:
        try:
            page = await client.models.list()
        except (openai.OpenAIError, ValueError):
            return None
    # nothing checks what arrives, and Ollama says null where it has no model
    names = (getattr(model, "id", None) for model in getattr(page, "data", None) or ())
    return [name for name in names if isinstance(name, str)] if hasattr(page, "data") else None


async def check_model(
    endpoint: Endpoint, name: str, window: ModelWindow, patience: float, keeping: Keeping
) -> ModelWindow:
    """Have a model say something within `patience` seconds; how much it reads and writes, as far as is known.

    What is found out about the endpoint is kept. Raises ModelError, in one sentence, when the model says nothing.
    """

    async def connect() -> Endpoint:
        return endpoint

    known = KnownEndpoint(name, keeping)
    model = OpenAIModel(name, window, connect, timeout=patience, known=known)
    hello = Message(Role.USER, "Say hello.", system_clock())
    try:
        await model.complete(ModelRequest([hello], max_output_tokens=CHECK_TOKENS))
        if not await looks_well(model, patience):
            await known.learn_refused(frozenset({Part.SECOND_LOOK}))
        await model.get_to_know()
        return model.window
    finally:
        await model.close()
