"""Keeping a request inside the model's window: what each part may cost, and how text is cut."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from memory.log.conversation import InMemoryConversation
from memory.messages import Message, Role, complete_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from config.models import ModelWindow
    from memory.files.notes import Memory
    from memory.text.tokens import TokenCounter
    from pipeline.models.model import ChatModel, ToolSpec

MARGIN = 0.9
"""The part of the window that is filled by estimate: the estimate can be off until the model has reported usage."""
MEMORY_TOKENS = 8_000
"""What `# Memory` may cost in a large window; in a small one it is a quarter of what is free."""
LEFT_OUT_STEP = 3
"""Lines of a day's notes are left out by so many at a time."""
RELEVANT_TOKENS = 1_200
"""What `# Relevant Memory` may cost in a large window; in a small one it is an eighth of what is free."""


BudgetOf = Callable[[str, "ChatModel"], Awaitable["Budget"]]
"""Makes the budget of a turn of an owner with the model that talks in it."""


@dataclass(frozen=True)
class Budget:
    """What the requests of one turn may cost, in tokens.

    What takes counting is counted once: the estimate may be corrected between two requests of a turn.
    """

    model: str
    window: ModelWindow
    counter: TokenCounter
    fixed: str = ""  # the text that stands first in each
    tools: tuple[ToolSpec, ...] = ()

    @property
    def messages(self) -> int:
        """All messages: the window without the margin, the tools, and the room for the answer."""
        return max(0, int((self.window.max_input_tokens - self.answer) * MARGIN) - self.tool_tokens)

    @cached_property
    def tool_tokens(self) -> int:
        return sum(self.text(tool.name + tool.description + tool.parameters) for tool in self.tools)

    @cached_property
    def free(self) -> int:
        """What the fixed part of the prompt leaves for memory and conversation, which share it."""
        return max(0, self.messages - self.text(self.fixed))

    @property
    def answer(self) -> int:
        """The room for the answer: most models count it into the same window."""
        return min(self.window.max_output_tokens, self.window.max_input_tokens // 4)

    @property
    def message(self) -> int:
        """One message: a quarter of the window, in a small one a third of what is free."""
        return min(self.window.max_input_tokens // 4, self.free // 3)

    @property
    def memory(self) -> int:
        """The files under `# Memory`."""
        return min(MEMORY_TOKENS, self.free // 4)

    def activation(self, limit: int) -> int:
        """Activated memories: the configured tokens, in a small window at most an eighth of the free ones."""
        return min(limit, self.free // 8)

    @property
    def relevant(self) -> int:
        """The text under `# Relevant Memory`, and that of the conversation's summary."""
        return min(RELEVANT_TOKENS, self.free // 8)

    def text(self, text: str) -> int:
        return self.counter.text(text, self.model)

    def cut(self, text: str, tokens: int, hint: str = "") -> str:
        """`text`, or its beginning and end where it is longer than `tokens`."""
        cost = self.text(text)
        if cost <= tokens:
            return text
        room = int(len(text) * tokens / cost)
        # in steps of an eighth: the estimate is corrected all the time, and a cut that moves makes the cache cold
        room -= room % (1 << max(0, room.bit_length() - 4))
        note = f"\n[... {len(text) - room} of {len(text)} characters left out{hint} ...]\n"
        room = max(0, room - len(note))
        return text[: room * 2 // 3] + note + text[len(text) - room // 3 :]

    def capped(self, message: Message, tokens: int) -> Message:
        content = self.cut(message.content, tokens)
        return message if content == message.content else replace(message, content=content)

    def fit(self, messages: list[Message]) -> list[Message]:
        """`messages` without the oldest that don't fit, and without halves of tool calls."""
        return self._pruned(complete_groups(messages), self.messages)

    def emergency(self, messages: list[Message]) -> list[Message]:
        """After the provider's own complaint: no message over a quarter of the window, then half of what it was."""
        cut = [self.capped(m, self.message if m.role is Role.SYSTEM else self.message // 2) for m in messages]
        return self._pruned(cut, min(self.messages, self.counter.messages(messages, self.model)) // 2)

    def _pruned(self, messages: list[Message], tokens: int) -> list[Message]:
        """What is asked stays, however much the tools have said since; of the rest the newest that fits."""
        question = next((m for m in reversed(messages) if m.role is Role.USER), None)
        conversation = InMemoryConversation(lambda group: self.counter.messages(group, self.model))
        conversation.add_many(message for message in messages if message is not question)
        question_tokens = self.counter.messages([question], self.model) if question else 0
        conversation.prune(max(0, tokens - question_tokens))
        # by identity: two messages may say the same
        retained = {id(message) for message in conversation.all()}
        return [message for message in messages if message is question or id(message) in retained]


def fitted(memory: Memory, tokens: int, budget: Budget) -> Memory:
    """`memory` in at most `tokens`: MEMORY.md from its beginning, each day's notes from the newest back."""
    # MEMORY.md gets at most half; of the rest today's notes and those of all other days get half each, and what one
    # part does not need goes to the others
    long_term = budget.cut(memory.long_term, tokens // 2)
    # in steps, since the estimate and today's notes change with every message: a cut that moves makes the cache cold
    step = _step(tokens)
    remaining = max(0, tokens - _up(budget.text(long_term), step))
    today_cost = _up(budget.text(memory.today), step)
    costs = [budget.text(notes) for _, notes in memory.recent]
    today = max(remaining // 2, remaining - sum(costs))
    recent = _shares(costs, remaining - min(today, today_cost))
    recent = [cost if share >= cost else share - share % (step // 4) for share, cost in zip(recent, costs, strict=True)]
    return replace(
        memory,
        long_term=long_term,
        today=_newest_lines(memory.today, today, budget),
        recent=tuple(
            (day, note_lines)
            for (day, notes), share in zip(memory.recent, recent, strict=True)
            if (note_lines := _newest_lines(notes, share, budget))
        ),
    )


def _step(tokens: int) -> int:
    """Return the size of the steps in which the parts of a budget change: a 64th of it."""
    return max(4, tokens // 64)


def _up(cost: int, step: int) -> int:
    return -(-cost // step) * step


def _shares(costs: Sequence[int], tokens: int) -> list[int]:
    """`tokens` among parts: to each what it costs, where that is too much the same to each."""
    shares = [0] * len(costs)
    cheapest_first = sorted(range(len(costs)), key=lambda at: costs[at])
    for number, at in enumerate(cheapest_first):
        shares[at] = min(costs[at], tokens // (len(costs) - number))
        tokens -= shares[at]
    return shares


def _newest_lines(notes: str, tokens: int, budget: Budget) -> str:
    if budget.text(notes) <= tokens:
        return notes
    lines = notes.splitlines()
    retained: list[str] = []
    tokens -= budget.text(_left_out(len(lines)))
    if tokens < 0:
        return ""  # not even what says that they are missing
    for line in reversed(lines):
        tokens -= budget.text(line) + 1
        if tokens < 0:
            break
        retained.append(line)
    # several lines more are left out than have to be, or the next estimate would move the cut
    retained = retained[: len(retained) - (LEFT_OUT_STEP - (len(lines) - len(retained))) % LEFT_OUT_STEP] or retained
    return "\n".join([_left_out(len(lines) - len(retained)), *reversed(retained)])


def _left_out(count: int) -> str:
    return f"[... {count} earlier lines of this day left out ...]"
