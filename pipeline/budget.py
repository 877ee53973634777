"""Keeping a request inside the model's window: what each part may cost, and how text is cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.conversation import InMemoryConversation
from memory.messages import Message, Role, complete_groups
from memory.notes import Memory

if TYPE_CHECKING:
    from config.models import ModelWindow
    from memory.tokens import TokenCounter
    from pipeline.model import ToolSpec

MARGIN = 0.9
"""The part of the window that is filled by estimate: the estimate can be off until the model has reported usage."""
MEMORY_TOKENS = 8_000
"""What `# Memory` may cost in a large window; in a small one it is a quarter of it."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a request to one model may cost, in tokens."""

    model: str
    window: ModelWindow
    counter: TokenCounter

    @property
    def request(self) -> int:
        """The whole request, tools included: the window without the margin and without room for the answer."""
        return int((self.window.max_input_tokens - self.answer) * MARGIN)

    @property
    def answer(self) -> int:
        """The room for the answer: most models count it into the same window."""
        return min(self.window.max_output_tokens, self.window.max_input_tokens // 4)

    @property
    def message(self) -> int:
        """One message: a quarter of the window."""
        return self.window.max_input_tokens // 4

    @property
    def memory(self) -> int:
        """The files under `# Memory`."""
        return min(MEMORY_TOKENS, self.window.max_input_tokens // 4)

    def text(self, text: str) -> int:
        """Tokens of `text`."""
        return self.counter.text(text, self.model)

    def tools(self, tools: tuple[ToolSpec, ...]) -> int:
        """Tokens of the tools' descriptions."""
        return sum(self.text(tool.name + tool.description + tool.parameters) for tool in tools)

    def cut(self, text: str, tokens: int, hint: str = "") -> str:
        """`text`, or its beginning and end where it is longer than `tokens`."""
        cost = self.text(text)
        if cost <= tokens:
            return text
        room = int(len(text) * tokens / cost)
        note = f"\n[... {len(text) - room} of {len(text)} characters left out{hint} ...]\n"
        room = max(0, room - len(note))
        return text[: room * 2 // 3] + note + text[len(text) - room // 3 :]

    def capped(self, message: Message, tokens: int) -> Message:
        """`message` with its text cut to `tokens`."""
        content = self.cut(message.content, tokens)
        return message if content == message.content else replace(message, content=content)

    def fit(self, messages: list[Message], tools: tuple[ToolSpec, ...]) -> list[Message]:
        """`messages` without the oldest that don't fit beside the tools, and without halves of tool calls."""
        conversation = InMemoryConversation(lambda group: self.counter.messages(group, self.model))
        conversation.add_many(complete_groups(messages))
        conversation.prune(max(0, self.request - self.tools(tools)))
        return conversation.all()

    def emergency(self, messages: list[Message]) -> list[Message]:
        """After the provider's own complaint: no message over a quarter of the window, then half of the rest."""
        cut = [self.capped(m, self.message if m.role is Role.SYSTEM else self.message // 2) for m in messages]
        conversation = InMemoryConversation(lambda group: self.counter.messages(group, self.model))
        conversation.add_many(cut)
        conversation.prune(self.request // 2)
        return conversation.all()

    def fit_memory(self, memory: Memory) -> Memory:
        """`memory` within its budget: MEMORY.md from its beginning, notes from the newest back."""
        long_term = self.cut(memory.long_term, self.memory // 2)
        left = self.memory - self.text(long_term)
        today, left = self._newest_lines(memory.today, left)
        recent = []
        for day, notes in memory.recent:
            kept, left = self._newest_lines(notes, left)
            recent.append((day, kept))
        return Memory(long_term, today, tuple((day, notes) for day, notes in recent if notes))

    def _newest_lines(self, notes: str, tokens: int) -> tuple[str, int]:
        kept: list[str] = []
        for line in reversed(notes.splitlines()):
            cost = self.text(line) + 1
            if cost > tokens:
                return "\n".join(reversed(kept)), 0
            tokens -= cost
            kept.append(line)
        return "\n".join(reversed(kept)), tokens
