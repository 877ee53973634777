"""ToolLoop (30): model and tools in turn, until there is a final answer."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from config.texts import _, ngettext, spoken
from memory.buttons import Notice
from memory.errors import MnemeError
from memory.messages import Message, Provenance, Role, ToolCall
from memory.search.questions import is_question
from memory.search.search import Filter
from memory.text.validity import valid_text
from pipeline.arrival import inbox_ids
from pipeline.media.files import blind
from pipeline.models.model import ContextOverflow, EmptyAnswer, Finish, LimitReached, ModelError, ModelRequest
from pipeline.models.request_body import Part
from pipeline.tools.toolbox import Asking, ToolContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from memory.clock import Clock
    from memory.search.recall import Recall
    from memory.search.search import Hit
    from pipeline.models.model import ChatModel, ModelAnswer
    from pipeline.prompt.budget import Budget
    from pipeline.tools.reminders import PlainReminders
    from pipeline.tools.toolbox import Toolbox
    from pipeline.turn import Turn

log = structlog.get_logger(__name__)

RECALLED_LINES = 6
"""How many lines of memory stand where no model answers."""

SETS_REMINDERS = "reminder_set"
SAME_CALL_LIMIT = 3
"""The same tool with the same arguments this many times in a row ends the loop."""


@dataclass(frozen=True, slots=True)
class TurnLimits:
    model_calls: int
    tool_calls: int
    seconds: float


@dataclass(slots=True)
class _TurnUsage:
    """The budget of a turn's requests, and what it has used of its limits."""

    budget: Budget
    limit: asyncio.Timeout  # when its time is over
    model_calls: int = 0
    tool_calls: int = 0
    last_call: tuple[str, str] | None = None
    repeats: int = 0  # of the last call, in a row

    @contextlib.contextmanager
    def untimed(self) -> Iterator[None]:
        """What is waited in here counts for no limit: a person who is asked may take their time."""
        loop, end = asyncio.get_running_loop(), self.limit.when()
        started = loop.time()
        self.limit.reschedule(None)
        try:
            yield
        finally:
            if end is not None:
                self.limit.reschedule(end + loop.time() - started)


@dataclass(eq=False)
class ToolLoop:
    """Queries the model, runs the tools it calls, appends both, and goes on until it answers in words."""

    name = "ToolLoop"

    toolbox: Toolbox
    limits: TurnLimits
    recall: Recall | None  # for where no model answers; None: memory is off
    reminders: PlainReminders | None  # answers a wish for a reminder where the model has no tool for it
    clock: Clock

    async def process(self, turn: Turn) -> None:
        """Set what the turn produced; its last message is the answer. Raises ModelError or LimitReached."""
        try:
            async with asyncio.timeout(self.limits.seconds) as limit:
                if not await self._offers_reminder(turn):
                    await self._loop(turn, limit)
        except ModelError as error:
            if self.recall is None or not error.elsewhere or turn.produced:
                raise
            raise Recalled(await _recalled(self.recall, turn, str(error)), error) from error
        except TimeoutError:
            raise LimitReached(
                _(
                    "This took longer than {seconds} seconds and was ended: ask for less at a time, or raise"
                    " TURN_MAX_SECONDS.",
                    seconds=f"{self.limits.seconds:g}",
                )
            ) from None

    async def _loop(self, turn: Turn, limit: asyncio.Timeout) -> None:
        assert turn.budget is not None, "ContextBuilding gives it"  # noqa: S101  # or ends the turn: the order table
        used = _TurnUsage(turn.budget, limit)
        can_set = await _can_set_reminders(turn)
        while True:
            answer = await self._query(turn, used)
            if not answer.tool_calls:
                # a server that refused them just now has a model that promises what it can't set
                if can_set and await self._offers_reminder(turn):
                    return
                if answer.unseen:
                    turn.notices.append(Notice(await _why_unseen(turn.talking)))
                self._finish(turn, answer)
                return
            self._check_calls(answer.tool_calls, used)
            await self._execute(turn, used, answer)

    async def _offers_reminder(self, turn: Turn) -> bool:
        """Whether the message was answered with the offer of a reminder, which a model without tools can't set."""
        typed = [message.content for message in turn.user_messages if message.provenance is Provenance.TYPED]
        is_one = len(typed) == len(turn.user_messages) == 1
        if self.reminders is None or not is_one or turn.session.private or await _can_set_reminders(turn):
            return False
        answer = await self.reminders.answer(turn.session, typed[0], turn.talking, spoken())
        if answer is not None:
            turn.produced.append(Message(Role.ASSISTANT, answer, self.clock()))
        return answer is not None

    async def _query(self, turn: Turn, used: _TurnUsage) -> ModelAnswer:
        """An answer that says something. An unusable one is asked for once more."""
        messages = used.budget.fit([*turn.context, *turn.produced])
        try:
            answer = await self._ask(turn, messages, used)
        except ContextOverflow:
            log.warning("context_overflow", messages=len(messages))
            messages = used.budget.emergency(messages)
            answer = await self._ask(turn, messages, used)
        if answer.finish is Finish.CUT_OFF or not _says_something(answer):
            log.warning("unusable_answer", finish=str(answer.finish), characters=len(answer.text))
            answer = await self._ask_again(turn, messages, used, answer)
        if not _says_something(answer):
            raise EmptyAnswer(
                _("The model {model} gave an empty answer twice: send /retry or rephrase.", model=answer.model)
            )
        return answer

    async def _ask_again(
        self, turn: Turn, messages: list[Message], used: _TurnUsage, first: ModelAnswer
    ) -> ModelAnswer:
        try:
            again = await self._ask(turn, messages, used)
        except MnemeError:
            if not _says_something(first):
                raise
            return first  # half an answer is worth more than a sentence about the second half
        return again if _says_something(again) else first

    async def _ask(self, turn: Turn, messages: list[Message], used: _TurnUsage) -> ModelAnswer:
        if used.model_calls >= self.limits.model_calls:
            raise LimitReached(
                ngettext(
                    "I called the model {n} time without coming to an end: ask in smaller steps, or raise"
                    " TURN_MAX_MODEL_CALLS.",
                    "I called the model {n} times without coming to an end: ask in smaller steps, or raise"
                    " TURN_MAX_MODEL_CALLS.",
                    self.limits.model_calls,
                )
            )
        used.model_calls += 1
        turn.partial = ""

        async def on_text(piece: str) -> None:
            turn.partial += piece
            await _show_safely(turn.channel.show_text(valid_text(turn.partial)))

        async def on_wait(what: str) -> None:
            await _show_safely(turn.channel.show_waiting(what))

        request = ModelRequest(messages, used.budget.tools, session_id=turn.session.id, on_wait=on_wait)
        return _with_valid_text(await turn.talking.complete(request, on_text))

    def _check_calls(self, calls: tuple[ToolCall, ...], used: _TurnUsage) -> None:
        for call in calls:
            used.tool_calls += 1
            same = used.last_call == (call.name, call.arguments)
            used.repeats = used.repeats + 1 if same else 1
            used.last_call = (call.name, call.arguments)
            if used.repeats >= SAME_CALL_LIMIT:
                raise LimitReached(
                    _("I went in circles, calling {tool} with the same words: rephrase, or /retry.", tool=call.name)
                )
        if used.tool_calls > self.limits.tool_calls:
            raise LimitReached(
                ngettext(
                    "This needed more than {n} tool call and was ended: ask in smaller steps, or raise"
                    " TURN_MAX_TOOL_CALLS.",
                    "This needed more than {n} tool calls and was ended: ask in smaller steps, or raise"
                    " TURN_MAX_TOOL_CALLS.",
                    self.limits.tool_calls,
                )
            )

    async def _execute(self, turn: Turn, used: _TurnUsage, answer: ModelAnswer) -> None:
        """Run the calls; the calls and their results are appended together, so none is ever without the other."""
        budget = used.budget
        context = ToolContext(
            turn.session.owner,
            turn.session.id,
            model=turn.talking,
            messages=turn.citable,  # of what the model had read when it called
            recalled_text=turn.found.content if turn.found is not None else "",
            notices=turn.notices,
            written=turn.written_entries,
            recalled=turn.recalled_entries,
            inbox_ids=tuple(inbox_ids(turn.arrivals)),
            private=turn.session.private,
            asking=Asking(turn.session.address.owner, turn.arrivals[-1].asker, turn.channel.ask, used.untimed),
        )
        calls = answer.tool_calls
        group = [Message(Role.ASSISTANT, answer.text, self.clock(), provenance=turn.provenance.kept, tool_calls=calls)]
        earlier = [call for message in turn.produced for call in message.tool_calls]
        for call in calls:
            await _show_safely(turn.channel.show_tool(call.name))
            result = await self.toolbox.run(context, call, earlier)
            earlier.append(call)
            bounded = budget.cut(result.text, budget.message // 2, hint=": ask for less at a time")
            group.append(
                Message(
                    Role.TOOL,
                    bounded,
                    self.clock(),
                    speaker=call.name,
                    provenance=result.provenance.kept,
                    tool_call_id=call.id,
                    images=result.images,
                )
            )
        turn.produced += group
        turn.partial = ""

    def _finish(self, turn: Turn, answer: ModelAnswer) -> None:
        text = answer.text.strip()
        if not answer.is_whole:
            text = f"{text}\n\n" + _("(The answer was cut off here.)")
        turn.produced.append(Message(Role.ASSISTANT, text, self.clock(), provenance=turn.provenance_of(text)))
        turn.partial = ""


def _with_valid_text(answer: ModelAnswer) -> ModelAnswer:
    """Repair what a model wrote: it becomes part of the next request, and half an emoji would fail that."""
    calls = tuple(ToolCall(*map(valid_text, (call.id, call.name, call.arguments))) for call in answer.tool_calls)
    return replace(answer, text=valid_text(answer.text), tool_calls=calls)


async def _can_set_reminders(turn: Turn) -> bool:
    assert turn.budget is not None, "ContextBuilding gives it"  # noqa: S101  # or ends the turn: the order table
    return any(tool.name == SETS_REMINDERS for tool in turn.budget.tools) and await turn.talking.can(Part.TOOLS)


async def _why_unseen(model: ChatModel) -> str:
    if await model.can(Part.IMAGES):
        return _("The model could not take the picture: send it as a photo, or say what is in it.")
    return blind(model.name)


def _says_something(answer: ModelAnswer) -> bool:
    return bool(answer.text.strip() or answer.tool_calls)


async def _show_safely(showing: Awaitable[None]) -> None:
    """What is only for show can't fail a turn."""
    try:
        await showing
    except Exception:
        log.exception("show_failed")


def _says_nothing_new(hit: Hit, turn: Turn) -> bool:
    return hit.id in turn.written_entries if hit.turn_id is None else is_question(hit.content)


class Recalled(ModelError):
    """Why no model answered, with what memory holds about the question, of which the log is to have nothing."""

    def __init__(self, text: str, cause: ModelError) -> None:
        super().__init__(text)
        self._cause = cause

    @property
    def loggable(self) -> str:
        return self._cause.loggable


async def _recalled(recall: Recall, turn: Turn, reason: str) -> str:
    """Why no model answers, and the lines of memory that fit the question best.

    It is the sentence of a failed turn, so it enters no transcript, no note and no prompt.
    """
    question = "\n".join(message.content for message in turn.user_messages)
    hits = await recall.recall(question, turn.session.owner, Filter(current=True), RECALLED_LINES * 2)
    results = [result for result in hits if not _says_nothing_new(result.hit, turn)]
    if not results:
        return reason
    head = _("No model answers, so I can only recall, not think. {why}", why=reason)
    lines = (f"- {result.text}" for result in results[:RECALLED_LINES])
    return "\n".join([head, "", _("What I remember about that:"), *lines])
