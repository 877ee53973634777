"""The vocabulary of a conversation: messages, tool calls, and where words came from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


class Role(StrEnum):
    """Who speaks in a message, as chat completions name it."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Provenance(StrEnum):
    """How a user's words came here. Only typed ones may write memory unasked."""

    TYPED = "typed"
    FORWARDED = "forwarded"
    FILE = "file"
    WEB = "web"


ECHO = "memory"
"""The speaker of an answer that only repeats memory: it is logged, but neither found nor noted again."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to have a tool run. `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `id` and `turn_id` are None until the message is in the log.

    speaker: the name of the user who said it, or of the tool that answered.
    """

    role: Role
    content: str
    created_at: datetime
    speaker: str | None = None
    provenance: Provenance | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    id: int | None = None
    turn_id: int | None = None


def storable(text: str) -> str:
    """`text` as UTF-8 can hold it: surrogates that came apart are paired again, half a pair becomes U+FFFD.

    Models write them, where a stream cuts an emoji in two.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def complete_groups(messages: list[Message]) -> list[Message]:
    """`messages` without tool calls that lack a result and without results that lack their call.

    A provider refuses both with a 400, for ever, so history is repaired before it is sent.
    """
    kept: list[Message] = []
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if message.role is Role.TOOL:
            continue
        if not message.tool_calls:
            kept.append(message)
            continue
        results: list[Message] = []
        while at < len(messages) and messages[at].role is Role.TOOL:
            results.append(messages[at])
            at += 1
        if Counter(call.id for call in message.tool_calls) == Counter(result.tool_call_id for result in results):
            kept += [message, *results]
    return kept
