"""Token budgets for the parts of a request, and functions that cut text to fit them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from config.models import ModelWindow
from memory.files.notes import Memory
from memory.log.conversation import InMemoryConversation
from memory.messages import Message, Role, drop_incomplete_calls
from memory.text.tokens import TokenCounter
from pipeline.models.model import ChatModel, ToolSpec

MAX_WINDOW_SHARE = 0.9
"""The rest of the window is a margin, since token counts are estimates until the model has reported its usage."""
MAX_MEMORY_TOKENS = 8_000
"""Limit for `# Memory` in a large window. In a small one it is a quarter of the free tokens."""
OMITTED_LINES_STEP = 3
MAX_RELEVANT_TOKENS = 1_200
"""Limit for `# Relevant Memory` in a large window. In a small one it is an eighth of the free tokens."""


BudgetOf = Callable[[str, "ChatModel"], Awaitable["Budget"]]
"""Creates the budget of a turn for an owner and a model."""


@dataclass(frozen=True)
class Budget:
    """The token limits of the requests of one turn.

    Counts that several limits share are cached, since the counter may be corrected between two requests of a turn.

    Attributes:
        fixed: The text that every request begins with.
    """

    model: str
    window: ModelWindow
    counter: TokenCounter
    fixed: str = ""
    tools: tuple[ToolSpec, ...] = ()

    @property
    def messages(self) -> int:
        """Limit for all messages: the window without the margin, the tools and the answer."""
        return max(0, int((self.window.max_input_tokens - self.answer) * MAX_WINDOW_SHARE) - self.tool_tokens)

    @cached_property
    def tool_tokens(self) -> int:
        return sum(self.text(tool.name + tool.description + tool.parameters) for tool in self.tools)

    @cached_property
    def free(self) -> int:
        """Tokens for memory and conversation together, without the fixed part of the prompt."""
        return max(0, self.messages - self.text(self.fixed))

    @property
    def answer(self) -> int:
        """Tokens reserved for the answer, which most models count into the same window."""
        return min(self.window.max_output_tokens, self.window.max_input_tokens // 4)

    @property
    def message(self) -> int:
        """Limit for one message: a quarter of the window, or a third of the free tokens if that is less."""
        return min(self.window.max_input_tokens // 4, self.free // 3)

    @property
    def memory(self) -> int:
        return min(MAX_MEMORY_TOKENS, self.free // 4)

    def activation(self, limit: int) -> int:
        """Return the limit for activated memories: the configured one, or an eighth of the free tokens if less."""
        return min(limit, self.free // 8)

    @property
    def relevant(self) -> int:
        """Limit for the text under `# Relevant Memory`, and for the conversation summary."""
        return min(MAX_RELEVANT_TOKENS, self.free // 8)

    def text(self, text: str) -> int:
        return self.counter.count(text, self.model)

    def steady(self, text: str) -> int:
        """Estimate the tokens of a text that is cut, so that the next request cuts it at the same place."""
        return self.counter.count_steadily(text, self.model)

    def cut(self, text: str, tokens: int, hint: str = "") -> str:
        """Return the text, or only its beginning and end if it is longer than `tokens`."""
        cost = self.steady(text)
        if cost <= tokens:
            return text
        room = int(len(text) * tokens / cost)
        # Round to steps of an eighth. Otherwise a text that grows by a line would be cut at another place, which
        # invalidates the prompt cache.
        room -= room % (1 << max(0, room.bit_length() - 4))
        note = f"\n[... {len(text) - room} of {len(text)} characters left out{hint} ...]\n"
        room = max(0, room - len(note))
        return text[: room * 2 // 3] + note + text[len(text) - room // 3 :]

    def cap(self, message: Message, tokens: int) -> Message:
        content = self.cut(message.content, tokens)
        return message if content == message.content else replace(message, content=content)

    def fit(self, messages: list[Message]) -> list[Message]:
        """Drop incomplete tool calls, and the oldest messages until the rest fits."""
        return self._prune(drop_incomplete_calls(messages), self.messages)

    def shorten(self, messages: list[Message]) -> list[Message]:
        """Cut long messages and drop old ones to halve a request that the provider refused as too long."""
        cut = [self.cap(m, self.message if m.role is Role.SYSTEM else self.message // 2) for m in messages]
        return self._prune(cut, min(self.messages, self.counter.count_messages(messages, self.model)) // 2)

    def _prune(self, messages: list[Message], tokens: int) -> list[Message]:
        """Return the newest messages that fit. The user's last message always stays, even before long tool results."""
        question = next((m for m in reversed(messages) if m.role is Role.USER), None)
        conversation = InMemoryConversation(lambda group: self.counter.count_messages(group, self.model))
        conversation.add_many(message for message in messages if message is not question)
        question_tokens = self.counter.count_messages([question], self.model) if question else 0
        conversation.prune(max(0, tokens - question_tokens))
        retained = {id(message) for message in conversation.all()}
        return [message for message in messages if message is question or id(message) in retained]


def fit_memory(memory: Memory, tokens: int, budget: Budget) -> Memory:
    """Cut memory to `tokens`: MEMORY.md keeps its beginning, daily notes keep their newest lines."""
    # MEMORY.md gets at most half. Of the rest, today's notes have a quarter for themselves, or half if they are longer,
    # and what the other days don't need. Today's notes grow with every conversation. If the other days gave way to them
    # line by line, the prompt cache would lose those days each time.
    long_term = budget.cut(memory.long_term, tokens // 2)
    # Round to steps, since the estimate and today's notes change with every message, and a cut that moves invalidates
    # the prompt cache.
    step = _step(tokens)
    remaining = max(0, tokens - _round_up(budget.steady(long_term), step))
    reserved = remaining // 4 if budget.steady(memory.today) <= remaining // 4 else remaining // 2
    costs = [budget.steady(notes) for _, notes in memory.recent]
    recent = _shares(costs, remaining - reserved)
    recent = [cost if share >= cost else share - share % (step // 4) for share, cost in zip(recent, costs, strict=True)]
    today = remaining - sum(recent)
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
    """Return the step that shares of a budget are rounded to: a 64th of it."""
    return max(4, tokens // 64)


def _round_up(cost: int, step: int) -> int:
    return -(-cost // step) * step


def _shares(costs: Sequence[int], tokens: int) -> list[int]:
    """Divide tokens among parts: each gets its cost, and the parts that cost too much get equal shares."""
    shares = [0] * len(costs)
    cheapest_first = sorted(range(len(costs)), key=lambda at: costs[at])
    for number, at in enumerate(cheapest_first):
        shares[at] = min(costs[at], tokens // (len(costs) - number))
        tokens -= shares[at]
    return shares


def _newest_lines(notes: str, tokens: int, budget: Budget) -> str:
    if budget.steady(notes) <= tokens:
        return notes
    lines = notes.splitlines()
    retained: list[str] = []
    tokens -= budget.steady(_left_out(len(lines)))
    if tokens < 0:
        return ""  # Even the note about omitted lines doesn't fit.
    for line in reversed(lines):
        tokens -= budget.steady(line) + 1
        if tokens < 0:
            break
        retained.append(line)
    # Omit a multiple of the step, so that a slightly different estimate gives the same cut.
    retained = (
        retained[: len(retained) - (OMITTED_LINES_STEP - (len(lines) - len(retained))) % OMITTED_LINES_STEP] or retained
    )
    return "\n".join([_left_out(len(lines) - len(retained)), *reversed(retained)])


def _left_out(count: int) -> str:
    return f"[... {count} earlier lines of this day left out ...]"
