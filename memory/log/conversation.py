"""The working history of a turn: messages in memory, pruned to a token budget (S3)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Protocol

import structlog

from memory.messages import Message, Role, group_messages
from memory.text.tokens import TokenCounter

log = structlog.get_logger(__name__)


class Memory(Protocol):
    """The working memory of a conversation (S3). Methods are thread-safe and return copies of lists."""

    def add(self, message: Message) -> None: ...

    def add_many(self, messages: Iterable[Message]) -> None: ...

    def all(self) -> list[Message]: ...

    def recent(self, n: int) -> list[Message]: ...

    def by_role(self, role: Role) -> list[Message]: ...

    def clear(self) -> None: ...

    def prune(self, max_tokens: int) -> int: ...

    def count(self) -> int: ...


class InMemoryConversation:
    def __init__(self, count_tokens: Callable[[Iterable[Message]], int] | None = None) -> None:
        self._count_tokens = count_tokens or TokenCounter().count_messages
        self._messages: list[Message] = []
        self._lock = threading.Lock()

    def add(self, message: Message) -> None:
        with self._lock:
            self._messages.append(message)

    def add_many(self, messages: Iterable[Message]) -> None:
        added = list(messages)
        with self._lock:
            self._messages += added

    def all(self) -> list[Message]:
        with self._lock:
            return list(self._messages)

    def recent(self, n: int) -> list[Message]:
        """Return the newest `n` messages, oldest first, or none for `n` below 1."""
        with self._lock:
            return self._messages[-n:] if n > 0 else []

    def by_role(self, role: Role) -> list[Message]:
        with self._lock:
            return [message for message in self._messages if message.role is role]

    def clear(self) -> None:
        with self._lock:
            self._messages.clear()

    def count(self) -> int:
        with self._lock:
            return len(self._messages)

    def prune(self, max_tokens: int) -> int:
        """Drop the oldest messages that exceed the budget and return their number.

        System messages always stay. A tool call and its results stay or go together. If the system messages alone
        exceed the budget, only the last user message stays with them.

        Raises ValueError for a budget below zero.
        """
        if max_tokens < 0:
            raise ValueError(f"a token budget can't be below zero: {max_tokens}")
        with self._lock:
            messages = self._select_fitting(max_tokens)
            dropped = len(self._messages) - len(messages)
            self._messages = messages
        return dropped

    def _select_fitting(self, max_tokens: int) -> list[Message]:
        results = group_messages(self._messages)
        system = [group for group in results if group[0].role is Role.SYSTEM]
        remaining = max_tokens - sum(self._count_tokens(group) for group in system)
        if remaining < 0:
            log.warning("system_messages_exceed_budget", budget=max_tokens)
            last_user = next((m for m in reversed(self._messages) if m.role is Role.USER), None)
            return [m for m in self._messages if m.role is Role.SYSTEM or m is last_user]
        keep: set[int] = {id(group) for group in system}
        for group in reversed(results):
            if group[0].role is Role.SYSTEM:
                continue
            remaining -= self._count_tokens(group)
            if remaining < 0:
                break
            keep.add(id(group))
        return [message for group in results if id(group) in keep for message in group]
