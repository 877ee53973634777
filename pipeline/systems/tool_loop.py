"""ToolLoop (30): asks the model and runs its tool calls until it gives a final answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

import structlog

from config.texts import _, name_setting, ngettext
from memory.buttons import Notice
from memory.clock import Clock
from memory.errors import MnemeError
from memory.messages import Message, Role, ToolCall
from memory.search.recall import Recall
from pipeline.answering import AnswerAid, AnswerCheck, Review
from pipeline.arrival import collect_inbox_ids
from pipeline.media.files import explain_no_vision
from pipeline.models.capabilities import Part
from pipeline.models.model import (
    ChatModel,
    ContentRefused,
    ContextOverflow,
    EmptyAnswer,
    Finish,
    LimitReached,
    MessageRefused,
    ModelAnswer,
    ModelError,
    ModelRequest,
    RequestRejected,
)
from pipeline.models.routing import ModelChoice
from pipeline.prompt.prompts import NOTHING_TO_TELL
from pipeline.recalled import AnsweredFromMemory, answer_from_memory
from pipeline.tools.toolbox import Asking, Toolbox, ToolContext, TurnLimits, TurnUsage
from pipeline.turn import Turn

log = structlog.get_logger(__name__)

STARTUP_SECONDS = 300
"""How long after the bot's start the model server may still be starting."""
MAX_IDENTICAL_CALLS = 3


@dataclass(eq=False)
class ToolLoop:
    """Asks the model, runs the tools it calls, and repeats this until the model answers in words.

    Attributes:
        recall: Finds memories to show if no model can be reached. None if memory is off.
        aids: Help models that don't call the tools that a message asks for.
    """

    name = "ToolLoop"

    toolbox: Toolbox
    limits: TurnLimits
    recall: Recall | None
    aids: Sequence[AnswerAid]
    models: ModelChoice
    clock: Clock

    def __post_init__(self) -> None:
        self._started_at = self.clock()

    async def process(self, turn: Turn) -> None:
        """Append the answer and the tool calls before it to `turn.produced`. Raises ModelError or LimitReached."""
        try:
            async with asyncio.timeout(self.limits.seconds) as limit:
                checks = [await aid.begin(turn) for aid in self.aids]
                if not await _answer_instead(checks):
                    await self._loop(turn, limit, checks)
        except ModelError as error:
            if self.recall is None or not error.elsewhere or turn.produced:
                raise
            raise AnsweredFromMemory(await answer_from_memory(self.recall, turn, str(error)), error) from error
        except TimeoutError:
            raise LimitReached(
                name_setting(
                    _(
                        "This took longer than {seconds} seconds, so I stopped: ask for less at a time.",
                        seconds=f"{self.limits.seconds:g}",
                    ),
                    "TURN_MAX_SECONDS",
                )
            ) from None

    async def _loop(self, turn: Turn, limit: asyncio.Timeout, checks: Sequence[AnswerCheck]) -> None:
        # Without a budget ContextBuilding fails, which aborts the turn.
        assert turn.budget is not None, "ContextBuilding gives it"  # noqa: S101
        used = TurnUsage(turn.budget, limit)
        while True:
            answer = await self._query(turn, used)
            if not answer.tool_calls:
                review = await self._review(turn, used, checks)
                if review is Review.CONTINUED:
                    continue
                if review is Review.REPLACED:
                    return
                chat = turn.session.address.owner
                if answer.without_tools and await self.models.should_notify(chat, turn.chat_model.name):
                    turn.notices.append(Notice(_explain_no_tools(turn.chat_model.name)))
                if answer.unseen:
                    turn.notices.append(Notice(await _explain_unseen_image(turn.chat_model)))
                self._finish(turn, answer)
                return
            self._check_calls(answer.tool_calls, used)
            await self._execute(turn, used, answer)

    async def _review(self, turn: Turn, used: TurnUsage, checks: Sequence[AnswerCheck]) -> Review:
        async def require_tool(name: str) -> bool:
            with contextlib.suppress(ModelError, LimitReached):
                messages = used.budget.fit([*turn.context, *turn.produced])
                again = await self._ask(turn, messages, used, required_tool=name)
                if any(call.name == name for call in again.tool_calls):
                    self._check_calls(again.tool_calls, used)
                    await self._execute(turn, used, again)
                    return not turn.produced[-1].content.startswith("error")
            return False

        for check in checks:
            if (review := await check.review(require_tool)) is not Review.FINAL:
                return review
        return Review.FINAL

    async def _query(self, turn: Turn, used: TurnUsage) -> ModelAnswer:
        """Return an answer with text or tool calls. Ask again, once, if the answer is unusable."""
        messages = used.budget.fit([*turn.context, *turn.produced])
        try:
            answer = await self._ask(turn, messages, used)
        except (ContextOverflow, RequestRejected) as error:
            shorter = used.budget.shorten(messages)
            if isinstance(error, RequestRejected) and shorter == messages:
                raise
            log.warning("asked_with_shorter_history", error=type(error).__name__, messages=len(messages))
            messages = shorter
            answer = await self._ask(turn, messages, used)
        except ContentRefused:
            messages, answer = await self._ask_without_history(turn, messages, used)
        if answer.finish is Finish.FILTERED and not _says_something(answer):
            messages, answer = await self._ask_without_history(turn, messages, used)
        if turn.task is not None and answer.is_whole and not _says_something(answer):
            return answer  # It has nothing to tell
        if answer.finish is Finish.CUT_OFF or not _says_something(answer):
            log.warning("unusable_answer", finish=str(answer.finish), characters=len(answer.text))
            answer = await self._ask_again(turn, messages, used, answer)
        if not _says_something(answer):
            raise EmptyAnswer(
                name_setting(
                    _("The model {model} used all its tokens for thinking: try /retry.", model=answer.model),
                    "LLM_EFFORT",
                )
                if answer.thought and answer.finish is Finish.LENGTH
                else _("The model {model} sent an empty answer twice: send /retry or rephrase.", model=answer.model)
            )
        return answer

    def _choose_loading_seconds(self, turn: Turn) -> float | None:
        """Return how long to wait for a model server that is not ready. None means the default.

        After a reboot the server may start later than the bot, so messages from before the start wait longer.
        """
        waited = any(arrival.received_at < self._started_at for arrival in turn.arrivals)
        elapsed = (self.clock() - self._started_at).total_seconds()
        return STARTUP_SECONDS - elapsed if waited and elapsed < STARTUP_SECONDS else None

    async def _ask_without_history(
        self, turn: Turn, messages: list[Message], used: TurnUsage
    ) -> tuple[list[Message], ModelAnswer]:
        """Repeat a request that a content filter refused, with only the system message and this turn.

        Raises MessageRefused if the filter refuses that too, since then the new message is the reason.
        """
        asked = len(turn.user_messages) + len(turn.produced)
        newest = messages[-asked:]
        system = [message for message in messages[:-asked] if message.role is Role.SYSTEM]
        if len(system) + len(newest) < len(messages):
            log.warning("asked_without_history", messages=len(messages))
            with contextlib.suppress(ContentRefused):
                answer = await self._ask(turn, [*system, *newest], used)
                if answer.finish is not Finish.FILTERED or _says_something(answer):
                    return [*system, *newest], answer
        turn.given_up = True
        raise MessageRefused(
            _(
                "The provider's content filter blocked this message, so I'll leave it out from now on: say it"
                " differently."
            )
        )

    async def _ask_again(self, turn: Turn, messages: list[Message], used: TurnUsage, first: ModelAnswer) -> ModelAnswer:
        try:
            again = await self._ask(turn, messages, used)
        except MnemeError:
            if not _says_something(first):
                raise
            return first  # Half an answer is more useful than an error message.
        return again if _says_something(again) else first

    async def _ask(
        self, turn: Turn, messages: list[Message], used: TurnUsage, required_tool: str | None = None
    ) -> ModelAnswer:
        if used.model_calls >= self.limits.model_calls:
            raise LimitReached(
                name_setting(
                    ngettext(
                        "I called the model {n} time without finishing: ask in smaller steps.",
                        "I called the model {n} times without finishing: ask in smaller steps.",
                        self.limits.model_calls,
                    ),
                    "TURN_MAX_MODEL_CALLS",
                )
            )
        used.model_calls += 1
        turn.partial = ""

        async def on_text(text: str) -> None:
            turn.partial = text
            await _show_safely(turn.channel.show_text(text))

        async def on_wait(what: str) -> None:
            await _show_safely(turn.channel.show_waiting(what))

        request = ModelRequest(
            messages,
            used.budget.tools,
            required_tool=required_tool,
            session_id=turn.session.id,
            loading_seconds=self._choose_loading_seconds(turn),
            on_wait=on_wait,
        )
        return await turn.chat_model.complete(request, on_text)

    def _check_calls(self, calls: tuple[ToolCall, ...], used: TurnUsage) -> None:
        for call in calls:
            used.tool_calls += 1
            same = used.last_call == (call.name, call.arguments)
            used.repeats = used.repeats + 1 if same else 1
            used.last_call = (call.name, call.arguments)
            if used.repeats >= MAX_IDENTICAL_CALLS:
                raise LimitReached(
                    _(
                        "I kept calling {tool} with the same input, so I stopped: rephrase, or send /retry.",
                        tool=call.name,
                    )
                )
        if used.tool_calls > self.limits.tool_calls:
            raise LimitReached(
                name_setting(
                    ngettext(
                        "This needed more than {n} tool call, so I stopped: ask in smaller steps.",
                        "This needed more than {n} tool calls, so I stopped: ask in smaller steps.",
                        self.limits.tool_calls,
                    ),
                    "TURN_MAX_TOOL_CALLS",
                )
            )

    async def _execute(self, turn: Turn, used: TurnUsage, answer: ModelAnswer) -> None:
        """Run the calls. Append calls and results together, since providers refuse one without the other."""
        budget = used.budget
        turn.files.can_send = turn.channel.can_send_files()
        context = ToolContext(
            turn.session.owner,
            turn.session.id,
            model=turn.chat_model,
            messages=turn.citable_messages,
            recalled_text=turn.recalled_text,
            notices=turn.notices,
            written=turn.written_entries,
            recalled=turn.recalled_entries,
            inbox_ids=tuple(collect_inbox_ids(turn.arrivals)),
            private=turn.session.private,
            is_task=turn.task is not None,
            files=turn.files,
            asking=Asking(turn.session.address.owner, turn.arrivals[-1].asker, turn.channel.ask, used.untimed),
        )
        calls = answer.tool_calls
        group = [
            Message(
                Role.ASSISTANT,
                answer.text,
                self.clock(),
                provenance=turn.provenance.stored,
                tool_calls=calls,
                provider_data=answer.provider_data,
            )
        ]
        earlier = [call for message in turn.produced for call in message.tool_calls]
        for call in calls:
            await _show_safely(turn.channel.show_tool(call.name))
            result = await self.toolbox.run(context, call, earlier)
            earlier.append(call)
            bounded = budget.cut(result.text, budget.message // 2, hint=": ask for less at a time")
            bounded = "\n".join([bounded, *turn.files.add(call.name, result.files)])
            group.append(
                Message(
                    Role.TOOL,
                    bounded,
                    self.clock(),
                    speaker=call.name,
                    provenance=result.provenance.stored,
                    tool_call_id=call.id,
                    images=result.images,
                )
            )
        turn.produced += group
        turn.partial = ""

    def _finish(self, turn: Turn, answer: ModelAnswer) -> None:
        text = answer.text.strip()
        if turn.task is not None and answer.is_whole:
            turn.is_silent = text.strip("().").casefold() in ("", NOTHING_TO_TELL.strip("()"))
            text = text or NOTHING_TO_TELL
        if answer.finish is Finish.FILTERED:
            text = f"{text}\n\n" + _("(The provider's content filter ended the answer here.)")
        elif not answer.is_whole:
            text = f"{text}\n\n" + _("(The answer was cut off here.)")
        provenance = turn.get_provenance(text)
        data = answer.provider_data if answer.is_whole else None
        turn.produced.append(Message(Role.ASSISTANT, text, self.clock(), provenance=provenance, provider_data=data))
        turn.partial = ""


async def _answer_instead(checks: Sequence[AnswerCheck]) -> bool:
    for check in checks:
        if await check.answer():
            return True
    return False


def _explain_no_tools(model: str) -> str:
    return _(
        "The model {model} can't use tools here, so I can't look things up or change memory by myself in this chat."
        " Memory, reminders in plain words and all commands still work.",
        model=model,
    )


async def _explain_unseen_image(model: ChatModel) -> str:
    if await model.can(Part.IMAGES):
        return _("The model couldn't read the picture: send it as a photo, or say what is in it.")
    return explain_no_vision(model.name)


def _says_something(answer: ModelAnswer) -> bool:
    return bool(answer.text.strip() or answer.tool_calls)


async def _show_safely(showing: Awaitable[None]) -> None:
    """Await a preview update. Log its failure, which must not end the turn."""
    try:
        await showing
    except Exception:
        log.exception("show_failed")
