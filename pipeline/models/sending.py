"""Sends a request, and adapts and repeats it until the server accepts it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import structlog

from memory.messages import Message, Role
from memory.text.validity import replace_invalid_in_json
from pipeline.models.answer import AnswerBuilder
from pipeline.models.anthropic import Messages
from pipeline.models.capabilities import NOTHING, Adjustments, Part
from pipeline.models.chat_completions import ChatCompletions, make_tool_key, select_tools
from pipeline.models.endpoint import Endpoint, is_refused_connection
from pipeline.models.events import DONE, read_events
from pipeline.models.model import ModelRequest, ToolSpec
from pipeline.models.refusals import BAD_REQUEST, NO_REFUSALS, Complaint, find_complaint, find_remedy, read_complaint
from pipeline.models.responses import Responses

if TYPE_CHECKING:
    import httpx2
    import openai

log = structlog.get_logger(__name__)

MAX_ATTEMPTS = 24
"""Each attempt differs from the one before, so this only guards against a bug."""
TEST_TOKENS = 64
LOADING_PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds between attempts while a server is starting or loads its model. The last value repeats."""


class Rejected(Exception):
    """Raised if the server refuses the request, by status or within the stream."""

    def __init__(self, complaint: Complaint) -> None:
        super().__init__(complaint.message)
        self.complaint = complaint


class Loading(Exception):
    """Raised while the server is starting or loads its model."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class WireFormat(Protocol):
    """An API: creates the body of a request and reads the events of its answer."""

    path: str

    def build_body(
        self, endpoint: Endpoint, model: str, request: ModelRequest, adjustments: Adjustments
    ) -> dict[str, Any]: ...

    def list_parts(self, sent: Mapping[str, Any]) -> list[Part]: ...

    def read(self, event: object, builder: AnswerBuilder) -> None: ...


@dataclass(slots=True)
class OpenAnswer:
    """An answer after its first event, since some servers refuse a request only in that event.

    Attributes:
        wire: The format of the answer.
        used: The adjustments of the request.
        learned: The parts that the server turned out to refuse permanently.
    """

    response: httpx2.Response
    events: AsyncIterator[object]
    first: object
    wire: WireFormat
    used: Adjustments
    learned: Adjustments

    async def read_into(self, builder: AnswerBuilder, on_event: Callable[[], object]) -> AsyncIterator[None]:
        """Add the events to `builder` one by one. Raises Rejected for an error in the stream."""
        event = self.first
        while True:
            on_event()
            if event is DONE:
                builder.is_complete = True
            elif (complaint := _find_error(event)) is not None:
                raise Rejected(complaint)
            else:
                self.wire.read(event, builder)
            yield
            try:
                event = await anext(self.events)
            except StopAsyncIteration:
                return


@dataclass(frozen=True, slots=True)
class Sender:
    """A request on its way to an endpoint.

    Args:
        on_sign_of_life: Called for each response of the server.
        on_comment: Called for comments in the stream, which keep the connection alive.
    """

    client: openai.AsyncOpenAI
    endpoint: Endpoint
    model: str
    request: ModelRequest
    on_sign_of_life: Callable[[], None]
    on_comment: Callable[[], None]

    async def send(self, known: Adjustments) -> OpenAnswer:
        """Return the answer to the request, without the optional parts that the server refuses.

        Raises:
            Rejected: The server refuses the request even without its optional parts.
            Loading: The server is starting.
            openai.OpenAIError, httpx2.HTTPError, ValueError: It can't be reached, or its answer can't be read.
        """
        adjustments, learned = known, NOTHING
        tested = False
        for _attempt in range(MAX_ATTEMPTS):
            wire = self._choose_wire(adjustments)
            body = wire.build_body(self.endpoint, self.model, self.request, adjustments)
            tools = select_tools(self.request, adjustments)
            try:
                answer = await self._post(wire, body)
            except Rejected as rejected:
                complaint = rejected.complaint
                if isinstance(wire, Responses) and _has_no_responses(complaint):
                    no_responses = Adjustments(frozenset({Part.RESPONSES}))
                    adjustments, learned = adjustments | no_responses, learned | no_responses
                    continue
                if complaint.is_filter or complaint.is_overflow or complaint.status in NO_REFUSALS:
                    raise
                found = find_remedy(complaint, wire.list_parts(body), tools, adjustments)
                may_be_tools = complaint.status in BAD_REQUEST and complaint.param != "model"
                if found is None and tools and not tested and may_be_tools:
                    tested = True
                    bad = await self._find_refused_tools(wire, tools, adjustments)
                    if bad != NOTHING:
                        adjustments, learned = adjustments | bad, learned | bad
                        continue
                log.warning(
                    "request_refused", status=complaint.status, remedy=found and sorted(found.adjustments.to_names())
                )
                if found is None:
                    raise
                adjustments, learned = found.adjustments, learned | found.lasting
            else:
                answer.used, answer.learned = adjustments, learned
                return answer
        raise Rejected(Complaint(None, "the server refuses every form of the request"))

    def _choose_wire(self, adjustments: Adjustments) -> WireFormat:
        if self.endpoint.provider.uses_messages:
            return Messages()
        uses_responses = Part.CHAT_COMPLETIONS in adjustments.without and Part.RESPONSES not in adjustments.without
        return Responses() if uses_responses else ChatCompletions()

    async def _post(self, wire: WireFormat, body: dict[str, Any]) -> OpenAnswer:
        import httpx2
        import openai

        try:
            # Bypass the SDK's models of requests and events, which take as long as the rest of a turn.
            response = cast(
                "httpx2.Response",
                await self.client.post(
                    wire.path,
                    body=replace_invalid_in_json(body),
                    cast_to=httpx2.Response,
                    stream=True,
                    stream_cls=openai.AsyncStream[object],
                ),
            )
        except openai.APIStatusError as error:
            self.on_sign_of_life()
            raise _to_error(error) from error
        except openai.APIConnectionError as error:
            # While the machine starts, the network may not be up yet.
            is_starting = bool(self.request.loading_seconds) and not isinstance(error, openai.APITimeoutError)
            if is_starting or is_refused_connection(error):
                raise Loading(error) from error
            raise
        events = read_events(response, self.on_comment)
        try:
            first = await anext(events, DONE)
            self.on_sign_of_life()
            complaint = _find_error(first)
        except BaseException:
            await response.aclose()
            raise
        if complaint is not None:
            await response.aclose()
            if complaint.status in (502, 503):
                raise Loading(Rejected(complaint))
            raise Rejected(complaint)
        return OpenAnswer(response, events, first, wire, NOTHING, NOTHING)

    async def _find_refused_tools(
        self, wire: WireFormat, tools: list[ToolSpec], adjustments: Adjustments
    ) -> Adjustments:
        """Find out with small requests which tools the server refuses, or that it refuses all tools."""
        if await self._accepts(wire, tools, adjustments) or not await self._accepts(wire, [], adjustments):
            return NOTHING
        bad = await self._find_bad_tools(wire, tools, adjustments)
        if len(bad) == len(tools):
            return Adjustments(frozenset({Part.TOOLS}))
        return Adjustments(bad_tools=frozenset(make_tool_key(tool) for tool in bad))

    async def _find_bad_tools(
        self, wire: WireFormat, tools: list[ToolSpec], adjustments: Adjustments
    ) -> list[ToolSpec]:
        if await self._accepts(wire, tools, adjustments):
            return []
        if len(tools) == 1:
            return tools
        middle = len(tools) // 2
        return [
            *await self._find_bad_tools(wire, tools[:middle], adjustments),
            *await self._find_bad_tools(wire, tools[middle:], adjustments),
        ]

    async def _accepts(self, wire: WireFormat, tools: list[ToolSpec], adjustments: Adjustments) -> bool:
        message = Message(Role.USER, "Say OK.", self.request.messages[-1].created_at)
        request = ModelRequest([message], tuple(tools), purpose="probe")
        body = wire.build_body(self.endpoint, self.model, request, adjustments)
        try:
            answer = await self._post(wire, body)
        except Rejected:
            return False
        await answer.response.aclose()
        return True


def _has_no_responses(complaint: Complaint) -> bool:
    """Return True if the server lacks the Responses API, or the key may not use it."""
    return complaint.status in (404, 405, 501) or "api.responses.write" in complaint.text


def _find_error(event: object) -> Complaint | None:
    if event is DONE or not isinstance(event, dict | list):
        return None
    if isinstance(event, dict):
        if event.get("type") == "response.failed":
            return find_complaint(event.get("response"))
        if event.get("type") == "error" and "error" not in event:
            return find_complaint({"error": {key: event.get(key) for key in ("message", "code", "param")}})
        if event.get("choices") or str(event.get("type", "")).startswith("response."):
            return None
    return find_complaint(event)


def _to_error(error: openai.APIStatusError) -> Exception:
    try:
        body = error.response.text
    except Exception:  # noqa: BLE001  # The body may be incomplete. Use the error's own text.
        body = str(error)
    complaint = read_complaint(error.status_code, body)
    if error.status_code in (502, 503) and not complaint.is_overflow and not complaint.is_filter:
        return Loading(error)
    return Rejected(complaint)


def get_loading_pause(attempt: int) -> float:
    return LOADING_PAUSES[min(attempt, len(LOADING_PAUSES) - 1)]
