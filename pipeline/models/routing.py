"""Chooses the model that answers, by tier and by the chat's choice, with fallbacks and daily limits."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from config.texts import _, name_setting, ngettext
from config.waiting import Gate
from memory.errors import Postponed, StoreError
from memory.runtime.preferences import PreferenceStore
from memory.runtime.usage import TokenUse, UsageLog
from memory.text.tokens import IMAGE_TOKENS, TokenCounter, format_as_read
from pipeline.models.capabilities import Part
from pipeline.models.model import (
    ChatModel,
    DailyLimitReached,
    Finish,
    ModelAnswer,
    ModelError,
    ModelRequest,
    OnText,
    Tier,
    Usage,
    WrappedModel,
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Models:
    """The models by role. Fallbacks are tried in order if the first model fails."""

    balanced: ChatModel
    fast: ChatModel
    fallbacks: tuple[ChatModel, ...] = ()
    others: tuple[ChatModel, ...] = ()  # A chat can choose one of these instead of `balanced`.


class _SharedTime:
    """Divides the time limit of a request among the models that may be asked. Unused time goes to later models."""

    def __init__(self, request: ModelRequest, patience: float, models: int) -> None:
        self._request = request
        self._began = time.monotonic()
        self._patience = patience
        self._min_silence = patience / models
        self._models_left = models

    def share(self) -> ModelRequest:
        elapsed, remaining = time.monotonic() - self._began, self._models_left
        self._models_left -= 1
        seconds = self._request.seconds
        return replace(
            self._request,
            # A model may stream for a long time before it fails. That must not shorten the silence of the others.
            silence=max((self._patience - elapsed) / remaining, self._min_silence),
            # Wait for a server that is starting only if no other model is left.
            loading_seconds=self._request.loading_seconds if remaining == 1 else 0,
            seconds=None if seconds is None else max((seconds - elapsed) / remaining, 0),
        )


class ModelRouter(WrappedModel):
    """A ChatModel that chooses among several models. Its name and window are those of the default one.

    Args:
        patience: Maximum silence of all models together, in seconds.
        daily_limit: Tokens per day. None means no limit.
        observers: Called with the usage of each call. More may be added later.
    """

    def __init__(
        self,
        models: Models,
        usage: UsageLog,
        counter: TokenCounter,
        *,
        patience: float,
        daily_limit: int | None = None,
        observers: Sequence[Callable[[TokenUse], None]] = (),
    ) -> None:
        super().__init__(models.balanced)
        self._models = models
        self._usage = usage
        self._observers = observers
        self._counter = counter
        self._patience = patience
        self._daily_limit = daily_limit

    async def can(self, part: Part) -> bool:
        """Ask the default model, or the fast model about the second look."""
        return await (self._models.fast if part is Part.SECOND_LOOK else self._model).can(part)

    def create_others(self) -> tuple[ModelRouter, ...]:
        """Return routers for the other models that a chat can choose, with the same fallbacks, limit and meter."""
        return tuple(
            ModelRouter(
                replace(self._models, balanced=model),
                self._usage,
                self._counter,
                patience=self._patience,
                daily_limit=self._daily_limit,
                observers=self._observers,
            )
            for model in self._models.others
        )

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """Answer with the model of the tier, or with the first fallback that works.

        If a whole answer is needed and all models break off, the first incomplete answer is returned.

        Raises:
            DailyLimitReached: The day's tokens are used up.
            ModelError: The first model's error, if none of them answers.
        """
        await self._check_limits(request)
        first = self._models.fast if request.tier is Tier.FAST else self._models.balanced
        models = (first, *(model for model in self._models.fallbacks if model.name != first.name))
        shared = _SharedTime(request, self._patience, len(models))
        half: ModelAnswer | None = None
        failure: ModelError | None = None
        for model in models:
            try:
                answer = await model.complete(shared.share(), on_text)
            except ModelError as error:
                failure = failure or error
                if not error.elsewhere:
                    break
                log.warning("model_failed", model=model.name, error=error.loggable)
                continue
            await self._meter_call(request, answer)
            if answer.finish is not Finish.CUT_OFF or not request.whole:
                return answer
            log.warning("model_failed", model=model.name, error="its answer was cut off")
            half = half or answer
        if half is not None:
            return half
        assert failure is not None, "no answer means a failure"  # noqa: S101  # There is at least one model.
        raise failure

    async def _check_limits(self, request: ModelRequest) -> None:
        if request.session_id and await self._usage.has_used_up(request.session_id):
            raise DailyLimitReached(
                _(
                    "This chat has reached its daily limit: write again after midnight, or ask the bot's owner to raise"
                    " the limit."
                )
            )
        if self._daily_limit is not None and await self._usage.count_tokens_today() >= self._daily_limit:
            raise DailyLimitReached(
                name_setting(
                    ngettext(
                        "Today's limit of {n} token is used up: write again tomorrow.",
                        "Today's limit of {n} tokens is used up: write again tomorrow.",
                        self._daily_limit,
                    ),
                    "DAILY_TOKEN_LIMIT",
                )
            )

    async def _meter_call(self, request: ModelRequest, answer: ModelAnswer) -> None:
        texts = [format_as_read(message) for message in request.messages]
        texts += [tool.name + tool.description + tool.parameters for tool in request.tools]
        usage = answer.usage
        images = sum(len(message.images) for message in request.messages)
        if usage is None:
            count = sum(self._counter.count(text, answer.model) for text in texts) + images * IMAGE_TOKENS
            usage = Usage(count, self._counter.count(answer.text, answer.model))
        elif not images:  # The cost of an image says nothing about the cost of text.
            self._counter.observe(answer.model, texts, usage.prompt_tokens)
        use = TokenUse(
            model=answer.model,
            purpose=request.purpose,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cached_tokens=usage.cached_tokens,
            cost_usd=usage.cost_usd,
            session_id=request.session_id,
        )
        for observe in self._observers:
            observe(use)
        try:
            await self._usage.record(use)
        except Exception:
            # The disk may be full, for example. The answer has arrived and is paid for, so return it anyway.
            log.exception("tokens_not_counted", model=use.model, tokens=use.prompt_tokens + use.completion_tokens)


class ModelChoice:
    """The models that a chat can choose by name, and the choices of the chats."""

    def __init__(self, usual: ChatModel, others: Iterable[ChatModel], preferences: PreferenceStore) -> None:
        self.usual = usual
        self.models: Mapping[str, ChatModel] = {model.name: model for model in (usual, *others)}
        self._preferences = preferences

    async def get(self, chat: str) -> ChatModel:
        return self.models.get(await self._read_choice(chat) or "", self.usual)

    async def get_for_turn(self, chat: str) -> tuple[ChatModel, str | None]:
        """Return the model for a turn, and a one-time notice if the chosen model is no longer configured."""
        gone = await self._read_choice(chat)
        if gone is None or gone in self.models:
            return await self.get(chat), None
        with contextlib.suppress(StoreError):  # The disk may be full. The notice is repeated then.
            await self.choose(chat, None)
        return self.usual, _(
            "The model {gone}, which was chosen here, is no longer available: I'm using {usual} again.",
            gone=gone,
            usual=self.usual.name,
        )

    async def choose(self, chat: str, name: str | None) -> None:
        """Store the choice of a chat. None means the default model. Raises StoreError."""
        await self._preferences.change(chat, model=name)

    async def should_notify(self, chat: str, toolless: str) -> bool:
        """Return True the first time that a chat must be notified that its model can't use tools."""
        try:
            is_news = (await self._preferences.get(chat)).toolless != toolless
            if is_news:
                await self._preferences.change(chat, toolless=toolless)
        except StoreError:  # The disk may be full. The chat is notified again then.
            return True
        return is_news

    async def _read_choice(self, chat: str) -> str | None:
        try:
            return (await self._preferences.get(chat)).model
        except StoreError as error:
            log.warning("model_choice_not_read", reason=str(error))
            return None


class YieldingModel(WrappedModel):
    """Wraps a model that answers one request at a time, and gives priority to requests of people.

    A background request ends at once with Postponed when a person's request arrives. Closing its connection frees the
    model within its next batch. The caller retries later.
    """

    def __init__(self, model: ChatModel) -> None:
        super().__init__(model)
        self._idle = Gate()
        self._background_tasks: set[asyncio.Task[ModelAnswer]] = set()

    async def wait_until_idle(self) -> None:
        await self._idle.wait()

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        if request.background:
            return await self._complete_in_background(request)
        with self._idle.shut():
            for task in self._background_tasks:
                task.cancel()
            return await self._model.complete(request, on_text)

    async def _complete_in_background(self, request: ModelRequest) -> ModelAnswer:
        if not self._idle.is_open:
            raise Postponed("Somebody waits for the model's answer.")
        task = asyncio.create_task(self._model.complete(request), name=request.purpose)
        self._background_tasks.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            # If this task itself was cancelled, the request did not give way to another one.
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
            log.info("gave_way", purpose=request.purpose)
            raise Postponed("Somebody began to wait for the model's answer.") from None
        finally:
            self._background_tasks.discard(task)
