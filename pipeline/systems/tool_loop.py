"""ToolLoop (30): model and tools in turn, until there is a final answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from memory.messages import ECHO, Message, Provenance, Role, ToolCall
from pipeline.budget import Budget
from pipeline.model import ContextOverflow, Finish, LimitReached, ModelError, ModelRequest
from pipeline.tools.toolbox import ToolContext

if TYPE_CHECKING:
    from memory.clock import Clock
    from memory.tokens import TokenCounter
    from pipeline.model import ChatModel, ModelAnswer
    from pipeline.tools.toolbox import Toolbox
    from pipeline.turn import Turn

log = structlog.get_logger(__name__)

SAME_CALL_LIMIT = 3
"""The same tool with the same arguments this many times in a turn ends the loop."""
CUT_OFF_NOTE = "(The answer was cut off here.)"


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """What one turn may use."""

    model_calls: int
    tool_calls: int
    seconds: float


class ToolLoop:
    """Queries the model, runs the tools it calls, appends both, and goes on until it answers in words."""

    name = "ToolLoop"

    def __init__(
        self, model: ChatModel, toolbox: Toolbox, limits: TurnLimits, counter: TokenCounter, clock: Clock
    ) -> None:
        self._model = model
        self._toolbox = toolbox
        self._limits = limits
        self._counter = counter
        self._clock = clock

    async def process(self, turn: Turn) -> None:
        """Set what the turn produced; its last message is the answer. Raises ModelError or LimitReached."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                await self._loop(turn)
        except TimeoutError:
            raise LimitReached(
                f"This took longer than {self._limits.seconds:g} seconds and was ended: ask for less at a time."
            ) from None

    async def _loop(self, turn: Turn) -> None:
        seen: Counter[tuple[str, str]] = Counter()
        for _ in range(self._limits.model_calls):
            answer = await self._query(turn)
            if not answer.tool_calls:
                self._finish(turn, answer)
                return
            self._check_calls(answer.tool_calls, seen)
            await self._execute(turn, answer)
        raise LimitReached(
            f"I called the model {self._limits.model_calls} times without coming to an end: ask in smaller steps."
        )

    async def _query(self, turn: Turn) -> ModelAnswer:
        budget = Budget(self._model.name, self._model.window, self._counter)
        messages = budget.fit([*turn.context, *turn.produced], turn.tools)
        try:
            answer = await self._ask(turn, messages)
        except ContextOverflow:
            log.warning("context_overflow", messages=len(messages))
            answer = await self._ask(turn, budget.emergency(messages))
        if answer.finish is Finish.CUT_OFF or not (answer.text.strip() or answer.tool_calls):
            log.warning("unusable_answer", finish=str(answer.finish), characters=len(answer.text))
            again = await self._ask(turn, messages)
            answer = again if again.text.strip() or again.tool_calls else answer
        if not (answer.text.strip() or answer.tool_calls):
            raise ModelError(f"The model {answer.model} gave an empty answer twice: send /retry or rephrase.")
        return answer

    async def _ask(self, turn: Turn, messages: list[Message]) -> ModelAnswer:
        turn.partial = ""

        async def on_text(piece: str) -> None:
            turn.partial += piece
            await turn.channel.show_text(turn.partial)

        request = ModelRequest(messages, turn.tools, session_id=turn.session.id)
        return await self._model.complete(request, on_text)

    def _check_calls(self, calls: tuple[ToolCall, ...], seen: Counter[tuple[str, str]]) -> None:
        seen.update((call.name, call.arguments) for call in calls)
        if seen.total() > self._limits.tool_calls:
            raise LimitReached(
                f"This needed more than {self._limits.tool_calls} tool calls and was ended: ask in smaller steps."
            )
        (name, _), most = seen.most_common(1)[0]
        if most >= SAME_CALL_LIMIT:
            raise LimitReached(f"I went in circles, calling {name} with the same words: rephrase, or send /retry.")

    async def _execute(self, turn: Turn, answer: ModelAnswer) -> None:
        """Run the calls; the calls and their results are appended together, so none is ever without the other."""
        budget = Budget(self._model.name, self._model.window, self._counter)
        typed = any(message.provenance is Provenance.TYPED for message in turn.user_messages)
        context = ToolContext(turn.session.owner, turn.session.id, typed=typed, written=turn.written_entries)
        group = [Message(Role.ASSISTANT, answer.text, self._clock(), tool_calls=answer.tool_calls)]
        for call in answer.tool_calls:
            await turn.channel.show_tool(call.name)
            result = await self._toolbox.run(context, call)
            bounded = budget.cut(result, budget.message // 2, hint=": ask for less at a time")
            group.append(Message(Role.TOOL, bounded, self._clock(), speaker=call.name, tool_call_id=call.id))
        turn.produced += group
        turn.partial = ""

    def _finish(self, turn: Turn, answer: ModelAnswer) -> None:
        text = answer.text.strip()
        if answer.finish in (Finish.CUT_OFF, Finish.LENGTH):
            text = f"{text}\n\n{CUT_OFF_NOTE}"
        turn.produced.append(Message(Role.ASSISTANT, text, self._clock(), speaker=ECHO if answer.echo else None))
        turn.partial = ""
