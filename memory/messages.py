"""The vocabulary of a conversation: messages, tool calls, and where words came from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from memory.text import validity

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


storable = validity.storable
"""Available here too, since most texts that are stored are those of messages."""


class Role(StrEnum):
    """Who speaks in a message, as chat completions name it."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Provenance(StrEnum):
    """Where words came from. Those of others are foreign: they could speak through the model that reads them."""

    TYPED = "typed"
    TASK = "task"  # of a task by the clock: typed once or agreed to, and not said again
    IMPORTED = "imported"  # from the export of another program, whoever wrote it there
    FILE = "file"
    WEB = "web"
    FORWARDED = "forwarded"
    FOREIGN = "foreign"  # not the user's own words; no more is known, as of a summary

    @property
    def is_foreign(self) -> bool:
        """Return True for the words of others. The owner's own task is none of them, and no new word of theirs."""
        return self not in (Provenance.TYPED, Provenance.TASK)

    @property
    def mark(self) -> str:
        """What shows it beside a text, such as ` [forwarded]`; nothing for the user's own words."""
        return f" [{self}]" if self is not Provenance.TYPED else ""

    @property
    def kept(self) -> Provenance | None:
        """Return what an answer or a tool's result keeps of it, or None if all was typed."""
        return self if self is not Provenance.TYPED else None


# from trusted to unknown, as its members are listed
_WORST_LAST = list(Provenance)


def speaker_of(message: Message) -> str:
    """Return who says a message: in a group the person's name, else the role."""
    return (message.speaker if message.role is Role.USER else None) or message.role.value


def worst(provenances: Iterable[Provenance | None]) -> Provenance:
    """Of all that went into a text the provenance to go by; None stands for our own words."""
    return max((p for p in provenances if p is not None), key=_WORST_LAST.index, default=Provenance.TYPED)


@dataclass(frozen=True, slots=True)
class Image:
    """A picture on its way to a model; never stored."""

    mime_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Passage:
    """A text on its way to a model, with the worst provenance of what is in it."""

    text: str
    provenance: Provenance = Provenance.TYPED
    images: tuple[Image, ...] = ()  # shown with it
    messages: tuple[int, ...] = ()  # those of the log whose exchanges it quotes
    entries: tuple[int, ...] = ()  # the notes and other entries that it quotes
    parts: tuple[Passage, ...] = ()  # what it consists of, each with its own provenance; none: it is one piece

    @property
    def pieces(self) -> tuple[Passage, ...]:
        """Return what it consists of, so that a foreign part makes no other part foreign."""
        return self.parts or (self,)


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote. is_whole: it came to its end; otherwise a limit or a broken connection cut it off."""

    text: str
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to have a tool run. `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ProviderData:
    """Data of a model's provider that goes back unchanged with the assistant message that it came with.

    Reasoning, signatures and the provider's ids of tool calls. Another model or endpoint can't use them.

    Attributes:
        endpoint: The address of the endpoint, without secrets.
        model: The model's name there.
        data: A JSON object; only the adapter that wrote it reads it.
    """

    endpoint: str
    model: str
    data: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `id` and `turn_id` are None until it is in the log."""

    role: Role
    content: str
    created_at: datetime
    speaker: str | None = None  # the user's name, or that of the tool that answered
    # of an answer or a tool's result the worst of what it was made of; None where nothing in it was foreign
    provenance: Provenance | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    id: int | None = None
    turn_id: int | None = None
    media: tuple[int, ...] = ()  # numbers of the photos, files and recordings that it tells of
    images: tuple[Image, ...] = ()  # shown in the turn that it is from; the log keeps none
    provider_data: ProviderData | None = None

    @property
    def is_attachment(self) -> bool:
        """Whether it tells of what was sent, and not what the user says."""
        return bool(self.media) and self.provenance is not Provenance.TYPED


def in_one(messages: Iterable[Message]) -> Passage:
    """Messages as one passage, a line break between them."""
    texts = list(messages)
    return Passage("\n".join(message.content for message in texts), worst(message.provenance for message in texts))


def groups(messages: Iterable[Message]) -> list[list[Message]]:
    """Messages one by one, but a tool call together with the results that follow it: they stay or go together."""
    results: list[list[Message]] = []
    for message in messages:
        if message.role is Role.TOOL and results and (results[-1][0].tool_calls or results[-1][0].role is Role.TOOL):
            results[-1].append(message)
        else:
            results.append([message])
    return results


def complete_groups(messages: list[Message]) -> list[Message]:
    """`messages` without tool calls that lack a result and without results that lack their call."""
    # providers refuse a request with either for ever (400)
    return [message for group in groups(messages) if _is_complete(*group) for message in group]


def _is_complete(first: Message, *results: Message) -> bool:
    called, answered = (call.id for call in first.tool_calls), (result.tool_call_id for result in results)
    return first.role is not Role.TOOL and Counter[str | None](called) == Counter(answered)


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    content: bytes
    is_voice: bool = False  # a recording of a text that was sent
