"""What a model at an endpoint can do, found by asking it; what is found is kept for the turns that follow."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.clock import system_clock
from memory.facts.second_look import passes_self_test
from memory.messages import Completion, Message, Role
from pipeline.models.capabilities import Adjustments, EndpointCapabilities, Part
from pipeline.models.client import client_of
from pipeline.models.model import Finish, ModelRequest, ToolSpec
from pipeline.models.openai_model import OpenAIModel

if TYPE_CHECKING:
    from config.models import ModelWindow
    from memory.service.endpoints import EndpointStore
    from pipeline.models.endpoint import Endpoint

LISTING_SECONDS = 10.0
TOKENS = 64
"""How long the answers may get that are only to show that the model answers."""
NOTE_TOOL = ToolSpec(
    "note", "Keep a note.", '{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}'
)


@dataclass(frozen=True, slots=True)
class Probed:
    """What a model showed of itself."""

    streams: bool  # words or calls came as a stream
    refused: frozenset[Part]  # what its requests must do without
    window: ModelWindow
    told: bool  # the endpoint itself said how much the model reads
    seconds: float


async def probe(
    endpoint: Endpoint,
    name: str,
    assumed: ModelWindow,
    patience: float,
    endpoint_store: EndpointStore | None,
    *,
    asks: bool,
) -> Probed:
    """Ask a model two short questions with all that turns have in their requests, and its endpoint for its window.

    assumed: the window where the endpoint says none; asks: whether it is asked. Raises ModelError.
    """
    capabilities = EndpointCapabilities(name, endpoint_store, asks=asks, afresh=True)

    async def connect() -> Endpoint:
        return endpoint

    model = OpenAIModel(name, assumed, connect, timeout=patience, known=capabilities)
    began = time.monotonic()
    try:
        answer = await model.complete(_talking())
        # apart from the tools: servers that take either may refuse both at once
        await model.complete(_as_json())
        seconds = time.monotonic() - began
        looks = await looks_well(model, patience)
        # also that nothing is refused any more
        await capabilities.learn(Adjustments(frozenset() if looks else frozenset({Part.SECOND_LOOK})))
        await model.get_to_know()  # last: Ollama tells what it has loaded
    finally:
        await model.close()
    streams = answer.finish is not Finish.CUT_OFF or bool(answer.text)
    return Probed(streams, capabilities.refused, model.window, capabilities.told, seconds)


async def looks_well(model: OpenAIModel, patience: float) -> bool:
    """Whether a model passes the self-test of its second look. Raises ModelError."""

    async def ask(prompt: str, _seconds: float) -> Completion:
        message = Message(Role.USER, prompt, system_clock())
        answer = await model.complete(ModelRequest([message], steady=True, json=True, purpose="probe"))
        return answer.completion

    return await passes_self_test(ask, patience)


def _talking() -> ModelRequest:
    """A conversation as turns have them: a later system message, two of one role in a row, tools."""
    conversation = (
        (Role.SYSTEM, "You are being tested. Answer in one word."),
        (Role.USER, "Hello."),
        (Role.ASSISTANT, "Hello."),
        (Role.SYSTEM, "The user's name is Ann."),
        (Role.USER, "I am here."),
        (Role.USER, "Say hello."),
    )
    now = system_clock()
    messages = [Message(role, text, now) for role, text in conversation]
    return ModelRequest(messages, (NOTE_TOOL,), max_output_tokens=TOKENS, steady=True, purpose="probe")


def _as_json() -> ModelRequest:
    message = Message(Role.USER, 'Answer with this JSON object and nothing else: {"ok": true}', system_clock())
    return ModelRequest([message], max_output_tokens=TOKENS, steady=True, json=True, purpose="probe")


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
