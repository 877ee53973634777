"""Tests the abilities of a model with short requests. Later turns use the results."""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Awaitable
from dataclasses import dataclass, replace

from config.models import ModelWindow
from memory.clock import system_clock
from memory.facts.second_look import passes_self_test
from memory.messages import Completion, Image, Message, Role
from memory.runtime.endpoints import EndpointStore
from pipeline.models.capabilities import Adjustments, EndpointCapabilities, Part
from pipeline.models.endpoint import Endpoint, create_client
from pipeline.models.model import Finish, ModelAnswer, ModelError, ModelRequest, ToolSpec
from pipeline.models.openai_model import OpenAIModel

LISTING_SECONDS = 10.0
PROBE_TOKENS = 64
"""Output limit, since the content of the answers doesn't matter."""
NOTE_TOOL = ToolSpec(
    "note", "Keep a note.", '{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}'
)
_IMAGE_SIDE = 64


@dataclass(frozen=True, slots=True)
class Trial:
    """The test of one ability."""

    name: str
    works: bool | None  # None if it could not be tested.
    instead: str = ""  # How the bot behaves if it does not work.

    def __str__(self) -> str:
        if self.works:
            return f"{self.name}: works"
        return f"{self.name}: {'not tried' if self.works is None else 'no'}; {self.instead}"


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The results of testing a model.

    Attributes:
        streams: The answer arrived as a stream.
        refused: The parts that are left out of its requests.
        has_stated_window: The endpoint itself stated the context window.
        seconds: How long the first answer took.
    """

    streams: bool
    refused: frozenset[Part]
    window: ModelWindow
    has_stated_window: bool
    seconds: float
    trials: tuple[Trial, ...] = ()


async def probe(
    endpoint: Endpoint,
    name: str,
    assumed: ModelWindow,
    patience: float,
    endpoint_store: EndpointStore | None,
    *,
    asks: bool,
) -> ProbeResult:
    """Hold a short conversation with a model: text, a tool call, its result, another turn, JSON and an image.

    Args:
        assumed: The window if the endpoint states none.
        patience: Timeout for each answer, in seconds.
        asks: Ask the endpoint for the window.

    Raises:
        ModelError: The model does not answer at all.
    """
    capabilities = EndpointCapabilities(name, endpoint_store, asks=asks, ignores_stored=True)

    async def connect() -> Endpoint:
        return endpoint

    model = OpenAIModel(name, assumed, connect, timeout=patience, known=capabilities)
    began = time.monotonic()
    try:
        answer = await model.complete(_create_conversation())
        seconds = time.monotonic() - began
        trials = [Trial("streaming", answer.finish is not Finish.CUT_OFF), *await _try_tools(model)]
        # Tested separately from tools, since some servers accept both but not in one request.
        trials.append(
            await _create_trial(
                "JSON", model.complete(_create_json_request()), Part.RESPONSE_FORMAT, capabilities, "asked for in words"
            )
        )
        trials.append(
            await _create_trial(
                "images",
                model.complete(_create_image_request()),
                Part.IMAGES,
                capabilities,
                "I say that I can't see them",
            )
        )
        looks = await passes_second_look(model, patience)
        trials.append(Trial("judging facts", looks, "I remember your own sentences as you wrote them"))
        await capabilities.learn(Adjustments(frozenset() if looks else frozenset({Part.SECOND_LOOK})))
        await model.learn_facts()  # At the end, since Ollama states the window only of a loaded model.
    finally:
        await model.close()
    streams = answer.finish is not Finish.CUT_OFF or bool(answer.text)
    return ProbeResult(
        streams, capabilities.refused, model.window, capabilities.has_stated_window, seconds, tuple(trials)
    )


async def _try_tools(model: OpenAIModel) -> list[Trial]:
    """Have the model call a tool, send back the result, and continue the conversation."""
    without = "reminders in plain words and commands still work; memory is learned after conversations"
    user = Message(Role.USER, "Call the tool `note` with the text OK.", system_clock())
    request = ModelRequest([user], (NOTE_TOOL,), max_output_tokens=PROBE_TOKENS, purpose="probe", required_tool="note")
    try:
        called = await model.complete(request)
    except ModelError as error:
        return [Trial("tools", False, str(error))]
    if not called.tool_calls:
        return [Trial("tools", False, without), Trial("tool results", None, "the model called no tool")]
    conversation = [user, *_add_results(called)]
    follow = replace(request, required_tool=None)
    trials = [Trial("tools", True)]
    for name in ("tool results", "another turn"):
        try:
            answer = await model.complete(replace(follow, messages=conversation))
        except ModelError as error:
            return [*trials, Trial(name, False, str(error))]
        trials.append(Trial(name, True))
        conversation += _add_results(answer) if answer.tool_calls else [_to_message(answer)]
        conversation.append(Message(Role.USER, "Say OK.", system_clock()))
    return trials


def _to_message(answer: ModelAnswer) -> Message:
    return Message(
        Role.ASSISTANT,
        answer.text,
        system_clock(),
        tool_calls=answer.tool_calls,
        provider_data=answer.provider_data,
    )


def _add_results(answer: ModelAnswer) -> list[Message]:
    results = [
        Message(Role.TOOL, "kept", system_clock(), speaker=call.name, tool_call_id=call.id)
        for call in answer.tool_calls
    ]
    return [_to_message(answer), *results]


async def _create_trial(
    name: str, answer: Awaitable[ModelAnswer], part: Part, capabilities: EndpointCapabilities, instead: str
) -> Trial:
    try:
        done = await answer
    except ModelError as error:
        return Trial(name, False, str(error))
    return Trial(name, part not in capabilities.refused and not done.unseen, instead)


async def passes_second_look(model: OpenAIModel, patience: float) -> bool:
    """Return True if a model can judge whether a fact follows from a text. Raises ModelError."""

    async def ask(prompt: str, _seconds: float) -> Completion:
        message = Message(Role.USER, prompt, system_clock())
        answer = await model.complete(ModelRequest([message], steady=True, json=True, purpose="probe"))
        return answer.completion

    return await passes_self_test(ask, patience)


def _create_conversation() -> ModelRequest:
    """Return a request with a later system message, two messages of the same role in a row, and tools."""
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
    return ModelRequest(
        messages,
        (NOTE_TOOL,),
        max_output_tokens=PROBE_TOKENS,
        waits_for_start=False,  # The report is about the present
        steady=True,
        purpose="probe",
    )


def _create_json_request() -> ModelRequest:
    message = Message(Role.USER, 'Answer with this JSON object and nothing else: {"ok": true}', system_clock())
    return ModelRequest([message], max_output_tokens=PROBE_TOKENS, steady=True, json=True, purpose="probe")


def _create_image_request() -> ModelRequest:
    message = Message(
        Role.USER, "Which colour is this?", system_clock(), images=(Image("image/png", _draw_red_square()),)
    )
    return ModelRequest([message], max_output_tokens=PROBE_TOKENS, purpose="probe")


def _draw_red_square() -> bytes:
    """Return a PNG. Some servers refuse smaller images."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", _IMAGE_SIDE, _IMAGE_SIDE, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\xff\0\0" * _IMAGE_SIDE) * _IMAGE_SIDE
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@dataclass(frozen=True, slots=True)
class ModelListing:
    """The models of an endpoint.

    Attributes:
        trouble: why the endpoint can't be used. None also if it only has no list of models.
    """

    names: list[str]
    trouble: str | None = None


async def list_models(endpoint: Endpoint) -> ModelListing:
    """Return the names of the models in `/v1/models`."""
    import openai

    async with create_client(endpoint, seconds=LISTING_SECONDS, retries=0, connecting=LISTING_SECONDS) as client:
        try:
            page = await client.models.list()
        except openai.AuthenticationError:
            return ModelListing([], f"{endpoint.address} doesn't accept this API key.")
        except openai.APIConnectionError:
            return ModelListing([], f"No server answers at {endpoint.address}: check the address and its port.")
        except (openai.OpenAIError, ValueError):
            return ModelListing([])
    # Ollama answers null if it has no model.
    names = (getattr(model, "id", None) for model in getattr(page, "data", None) or ())
    return ModelListing([name for name in names if isinstance(name, str)])
