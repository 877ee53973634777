"""One model of an endpoint: answers requests, and adapts them to the endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog

from config.models import ModelWindow
from config.process import limit_connections
from config.texts import _, ngettext
from memory.messages import ProviderData
from memory.text.tokens import TokenCounter
from pipeline.models.answer import AnswerBuilder
from pipeline.models.capabilities import NOTHING, Adjustments, EndpointCapabilities, Part
from pipeline.models.chat_completions import parse_tool_name
from pipeline.models.endpoint import (
    Endpoint,
    create_client,
    describe_for_log,
    idle_timeout,
    is_own_server,
    is_refused_connection,
    load_sdk,
    takes_low_temperature,
)
from pipeline.models.events import NotAModel
from pipeline.models.failures import explain_complaint, explain_error, explain_loading
from pipeline.models.model import Finish, ModelAnswer, ModelError, ModelRequest, OnText, OnWait
from pipeline.models.refusals import Complaint
from pipeline.models.sending import Loading, OpenAnswer, Rejected, Sender, get_loading_pause

if TYPE_CHECKING:
    import openai

log = structlog.get_logger(__name__)

MAX_CONNECTIONS = 1000
"""Limit for the connections to one model. The system may allow fewer."""
SDK_RETRIES = 2
"""The SDK retries 429, 5xx and lost connections, with backoff and Retry-After."""
WAIT_NOTICE_SECONDS = 0.3
MAX_COMMENT_SECONDS = 600
"""How long comments alone keep a stream without text alive."""
STEADY_TEMPERATURE = 0.2
REASONING_FACTOR = 8
"""Output limits are multiplied by this for a model that reasons, since its reasoning counts as output."""


@dataclass(frozen=True, slots=True)
class ModelDefaults:
    """Defaults for the requests to a model. None leaves the choice to the server."""

    temperature: float | None = None
    max_output_tokens: int | None = None
    effort: str | None = None


NO_DEFAULTS = ModelDefaults()


class OpenAIModel:
    """A model at an endpoint.

    The parts of a request that the endpoint refuses are left out from then on and stored in `known`.

    Args:
        name: The model's name for people and in the usage log.
        connect: Returns the endpoint. It is called for each request, so it may start the server on demand.
        known: What is known of its endpoint, and its name there. None means `name`.
        timeout: Maximum time without data from the endpoint, in seconds.
        unable: Parts that the model itself can't handle.
    """

    def __init__(
        self,
        name: str,
        window: ModelWindow,
        connect: Callable[[], Awaitable[Endpoint]],
        *,
        timeout: float,
        defaults: ModelDefaults = NO_DEFAULTS,
        known: EndpointCapabilities | None = None,
        unable: frozenset[Part] = frozenset(),
    ) -> None:
        self.name = name
        self._window = window
        self._connect = connect
        self._timeout = timeout
        self._defaults = defaults
        self._known = known or EndpointCapabilities(name)
        self._served_name = self._known.model
        self._unable = unable
        self._client: openai.AsyncOpenAI | None = None
        self._endpoint: Endpoint | None = None
        self._under_v1 = False
        self._thinks_without_opening_tag = False

    @property
    def window(self) -> ModelWindow:
        return self._known.get_window(self._window)

    async def learn_facts(self) -> None:
        if self._known.asks:
            await self._known.ask(await self._find_endpoint())

    async def load(self) -> None:
        """Start the server if Mneme runs it, and load the SDK."""
        with contextlib.suppress(ModelError):  # The answer to the next message will explain it.
            await self._open(None)

    async def can(self, part: Part) -> bool:
        if part in self._unable:
            return False
        # Nothing is stored about a server that Mneme runs, and asking for its address would start it.
        if self._known.is_stored:
            with contextlib.suppress(ModelError):
                await self._known.load_facts(await self._find_endpoint())
        return part not in self._known.refused

    def refused_tools(self) -> frozenset[str]:
        return frozenset(parse_tool_name(key) for key in self._known.adjustments.bad_tools)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """Answer a request, and show the text with `on_text`. Cancelling closes the connection.

        If the stream breaks after text has arrived, the answer is cut off, and no error is raised.
        """
        answer = await self._complete(request, on_text)
        if answer.thought and Part.TIGHT_LIMITS not in self._known.refused:
            await self._known.learn(Adjustments(frozenset({Part.TIGHT_LIMITS})))
            if answer.finish is Finish.LENGTH and not answer.text.strip() and not answer.tool_calls:
                used = answer.usage.completion_tokens if answer.usage is not None else 0
                room = request.max_output_tokens or self._defaults.max_output_tokens or used or None
                log.warning("all_tokens_thought", model=self.name, limit=room)
                answer = await self._complete(replace(request, max_output_tokens=room), on_text)
        return answer

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _complete(self, request: ModelRequest, on_text: OnText | None) -> ModelAnswer:
        import openai

        await self._open(request.on_wait)
        prepared = self._prepare(request)
        silence = self._timeout if request.silence is None else min(request.silence, self._timeout)
        builder = AnswerBuilder(self.name, shows_late=self._thinks_without_opening_tag)
        opened: OpenAnswer | None = None
        if request.on_wait is not None:
            await request.on_wait(_format_reading_text(prepared))
        try:
            async with idle_timeout(silence, request.seconds) as keep_alive:
                opened = await self._send(prepared, keep_alive, silence)
                async with contextlib.aclosing(opened.response):
                    await self._read(opened, builder, keep_alive, on_text, request.on_wait)
        except Rejected as rejected:
            if builder.has_content:
                log.warning("stream_broke", model=self.name, status=rejected.complaint.status)
            elif self._is_above_v1(rejected.complaint):
                self._under_v1 = True
                return await self._complete(request, on_text)
            else:
                # The original error may quote the conversation, which must stay out of the log.
                raise self._explain_failure(rejected.complaint, request) from None
        except Loading as loading:
            raise await self._explain_loading(loading, silence) from None
        except (openai.OpenAIError, ValueError, OSError, TimeoutError, _get_http_error_type()) as error:
            if not builder.has_content:
                if isinstance(error, NotAModel) and self._lacks_path():
                    self._under_v1 = True
                    return await self._complete(request, on_text)
                raise await self._explain(error, min(silence, request.seconds or silence)) from None
            log.warning("stream_broke", model=self.name, **describe_for_log(error))
        return self._finish(prepared, builder, opened)

    async def _read(
        self,
        opened: OpenAnswer,
        builder: AnswerBuilder,
        keep_alive: Callable[[], None],
        on_text: OnText | None,
        on_wait: OnWait | None,
    ) -> None:
        shown, said_thinking = "", False
        async for _event in opened.read_into(builder, keep_alive):
            if not said_thinking and on_wait is not None and not builder.visible:
                said_thinking = True
                await on_wait(_("thinking"))
            visible = builder.visible
            if on_text is not None and visible and visible != shown:
                shown = visible
                await on_text(shown)

    def _finish(self, request: ModelRequest, builder: AnswerBuilder, opened: OpenAnswer | None) -> ModelAnswer:
        without = opened.used.without if opened is not None else frozenset()
        no_tools = Part.TOOLS in without or Part.TOOLS in self._unable
        answer = builder.build(() if no_tools else request.tools)
        self._thinks_without_opening_tag = builder.thought_without_opening_tag
        data = builder.build_provider_data(answer)
        shows = any(message.images for message in request.messages)
        return replace(
            answer,
            unseen=shows and Part.IMAGES in without,
            without_tools=bool(request.tools) and Part.TOOLS in without,
            provider_data=ProviderData(self._address, self._served_name, data) if data is not None else None,
        )

    async def _send(self, request: ModelRequest, keep_alive: Callable[[], None], silence: float) -> OpenAnswer:
        """Send the request. Retry while the server is starting or loads its model."""
        assert self._client is not None  # noqa: S101  # The caller has opened it.
        assert self._endpoint is not None  # noqa: S101
        started = time.monotonic()
        patience = request.loading_seconds if request.loading_seconds is not None else silence

        def on_comment() -> None:
            if time.monotonic() - started < MAX_COMMENT_SECONDS:
                keep_alive()

        endpoint = self._endpoint
        known = self._known.adjustments | Adjustments(self._unable & {Part.IMAGES, Part.TOOLS})
        if endpoint.provider.uses_responses:
            known = known.plus(Part.CHAT_COMPLETIONS)
        sender = Sender(self._client, endpoint, self._served_name, request, keep_alive, on_comment)
        attempt = 0
        while True:
            try:
                answer = await sender.send(known)
            except Loading as loading:
                remaining = patience - (time.monotonic() - started)
                is_down = is_refused_connection(loading.cause)
                if remaining <= 0 or endpoint.explain_loss is not None or (is_down and not request.waits_for_start):
                    raise
                keep_alive()
                if request.on_wait is not None:
                    what = _("waiting for the model server to start") if is_down else _("waiting for the model to load")
                    await request.on_wait(what)
                await asyncio.sleep(min(get_loading_pause(attempt), remaining, silence / 2))
                keep_alive()
                attempt += 1
            else:
                if answer.learned != NOTHING:
                    await self._known.learn(answer.learned)
                return answer

    async def _open(self, on_wait: OnWait | None) -> openai.AsyncOpenAI:
        telling = asyncio.create_task(_notify_late(on_wait, _("loading the model"))) if on_wait is not None else None
        try:
            endpoint = await self._find_endpoint()
        finally:
            if telling is not None:
                telling.cancel()
        await load_sdk()
        if self._client is None or endpoint != self._endpoint:
            await self.close()
            limit = limit_connections(MAX_CONNECTIONS)
            self._client = create_client(endpoint, seconds=self._timeout, retries=SDK_RETRIES, connections=limit)
            self._endpoint = endpoint
            await self._known.load_facts(endpoint)
        return self._client

    async def _find_endpoint(self) -> Endpoint:
        """Return the endpoint, with /v1 added if the configured URL turned out to lack it."""
        endpoint = await self._connect()
        return replace(endpoint, base_url=f"{endpoint.address}/v1") if self._under_v1 else endpoint

    @property
    def _address(self) -> str:
        return self._endpoint.address if self._endpoint is not None else ""

    def _lacks_path(self) -> bool:
        """Return True if the URL has no path. Most servers need /v1, and many users leave it out."""
        url = self._endpoint.base_url if self._endpoint is not None else None
        return not self._under_v1 and bool(url) and not urlsplit(url or "").path.strip("/")

    def _is_above_v1(self, complaint: Complaint) -> bool:
        return complaint.status == 404 and self._lacks_path()

    def _prepare(self, request: ModelRequest) -> ModelRequest:
        defaults = self._defaults
        limit = request.max_output_tokens or defaults.max_output_tokens
        if limit and Part.TIGHT_LIMITS in self._known.refused:
            limit = max(limit, min(limit * REASONING_FACTOR, self.window.max_output_tokens))
        return replace(
            request,
            tools=() if Part.TOOLS in self._unable else request.tools,
            temperature=self._choose_temperature(request),
            max_output_tokens=limit,
            effort=request.effort or defaults.effort,
        )

    def _choose_temperature(self, request: ModelRequest) -> float | None:
        url = self._endpoint.url if self._endpoint is not None else None
        if takes_low_temperature(url, self._served_name):
            if request.temperature is not None:
                return request.temperature
            if request.steady and is_own_server(url):
                return STEADY_TEMPERATURE
        return self._defaults.temperature

    def _explain_failure(self, complaint: Complaint, request: ModelRequest) -> ModelError:
        log.warning("model_call_failed", model=self.name, status=complaint.status)
        texts = (message.content for message in request.messages)
        return explain_complaint(complaint.remove_quotes(texts), self.name, self._where)

    async def _explain_loading(self, loading: Loading, seconds: float) -> ModelError:
        log.warning("model_not_ready", model=self.name, **describe_for_log(loading.cause))
        if self._endpoint is not None and self._endpoint.explain_loss is not None:
            return ModelError(await self._endpoint.explain_loss())
        return explain_loading(loading.cause, self._where, seconds)

    async def _explain(self, error: Exception, seconds: float) -> ModelError:
        import openai

        log.warning("model_call_failed", model=self.name, **describe_for_log(error))
        endpoint = self._endpoint
        lost = isinstance(error, openai.APIConnectionError | _get_http_error_type()) and not isinstance(
            error, openai.APITimeoutError
        )
        if lost and endpoint is not None and endpoint.explain_loss is not None:
            return ModelError(await endpoint.explain_loss())
        return explain_error(error, self.name, self._where, seconds)

    @property
    def _where(self) -> str:
        return self._endpoint.address if self._endpoint and self._endpoint.base_url else "OpenAI"


def _get_http_error_type() -> type[Exception]:
    import httpx2

    return httpx2.HTTPError


async def _notify_late(on_wait: OnWait, reason: str) -> None:
    await asyncio.sleep(WAIT_NOTICE_SECONDS)
    await on_wait(reason)


def _format_reading_text(request: ModelRequest) -> str:
    """Return the text that says how long the prompt is. It has two digits, since the count is an estimate."""
    counter = TokenCounter()
    tools = sum(counter.count(tool.name + tool.description + tool.parameters) for tool in request.tools)
    tokens = int(float(f"{counter.count_messages(request.messages) + tools:.1e}"))
    return ngettext("reading {n} token", "reading {n} tokens", tokens)
