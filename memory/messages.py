"""Messages, tool calls, passages and the provenance of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memory.text import validity

make_storable = validity.make_storable
"""Re-exported, since most stored texts are messages."""


class Role(StrEnum):
    """The role of a message in the chat completions API."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Provenance(StrEnum):
    """The origin of a text. Foreign text may contain instructions to the model that reads it."""

    TYPED = "typed"
    TASK = "task"  # A scheduled task. The user typed it or agreed to it once, and did not say it again.
    IMPORTED = "imported"  # From the export of another program.
    FILE = "file"
    WEB = "web"
    FORWARDED = "forwarded"
    FOREIGN = "foreign"  # Not the user's own words, and nothing more is known, as in a summary.

    @property
    def is_foreign(self) -> bool:
        """Return True if others wrote the text. The owner's scheduled tasks are not foreign."""
        return self not in (Provenance.TYPED, Provenance.TASK)

    @property
    def mark(self) -> str:
        """Return a suffix such as ` [forwarded]`, or an empty string for the user's own words."""
        return f" [{self}]" if self is not Provenance.TYPED else ""

    @property
    def stored(self) -> Provenance | None:
        """Return the provenance to store with an answer or a tool's result, or None if all of it was typed."""
        return self if self is not Provenance.TYPED else None


# The members are declared from trusted to unknown.
_FROM_TRUSTED_TO_FOREIGN = list(Provenance)


def get_speaker(message: Message) -> str:
    """Return the user's name in a group, otherwise the role."""
    return (message.speaker if message.role is Role.USER else None) or message.role.value


def find_least_trusted(provenances: Iterable[Provenance | None]) -> Provenance:
    """Return the least trusted provenance. None is the program's own text and doesn't count."""
    return max((p for p in provenances if p is not None), key=_FROM_TRUSTED_TO_FOREIGN.index, default=Provenance.TYPED)


@dataclass(frozen=True, slots=True)
class Image:
    """An image for a model. It is never stored."""

    mime_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Passage:
    """A text for a model, with the worst provenance of its parts.

    Attributes:
        images: Images to show with the text.
        files: Files that the model can send to the user.
        messages: Ids of log messages. It quotes their exchanges.
        entries: Ids of the entries that it quotes.
        parts: Parts with separate provenances. Empty if the text is a single piece.
    """

    text: str
    provenance: Provenance = Provenance.TYPED
    images: tuple[Image, ...] = ()
    files: tuple[Document, ...] = ()
    messages: tuple[int, ...] = ()
    entries: tuple[int, ...] = ()
    parts: tuple[Passage, ...] = ()

    @property
    def pieces(self) -> tuple[Passage, ...]:
        """Return the parts, or the passage itself if it has none."""
        return self.parts or (self,)


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's text. `is_whole` is False if a limit or a broken connection cut it off."""

    text: str
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call requested by a model. `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ProviderData:
    """Provider data that is sent back unchanged with its assistant message.

    It holds reasoning, signatures and the provider's tool call ids, which other models and endpoints can't use.

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
    """A message of a conversation.

    Attributes:
        speaker: The name of the user, or of the tool that answered.
        provenance: For an answer or a tool's result, the worst provenance of its sources. None if nothing was foreign.
        id: None until the message is in the log.
        turn_id: None until the message is in the log.
        media: Ids of the photos, files and recordings that it describes.
        images: Images to show in the message's turn. They are not logged.
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
    media: tuple[int, ...] = ()
    images: tuple[Image, ...] = ()
    provider_data: ProviderData | None = None

    @property
    def is_attachment(self) -> bool:
        """Return True if the message describes media instead of quoting the user."""
        return bool(self.media) and self.provenance is not Provenance.TYPED


def join_messages(messages: Iterable[Message]) -> Passage:
    """Join messages into one passage, separated by line breaks."""
    parts = list(messages)
    return Passage(
        "\n".join(message.content for message in parts), find_least_trusted(message.provenance for message in parts)
    )


def group_messages(messages: Iterable[Message]) -> list[list[Message]]:
    """Group each tool call with the results that follow it. Every other message is a group of one."""
    results: list[list[Message]] = []
    for message in messages:
        if message.role is Role.TOOL and results and (results[-1][0].tool_calls or results[-1][0].role is Role.TOOL):
            results[-1].append(message)
        else:
            results.append([message])
    return results


def drop_incomplete_calls(messages: list[Message]) -> list[Message]:
    """Return `messages` without tool calls that lack a result and without results that lack their call."""
    # Providers refuse every request that contains either (status 400).
    return [message for group in group_messages(messages) if _is_complete(*group) for message in group]


def _is_complete(first: Message, *results: Message) -> bool:
    called, answered = (call.id for call in first.tool_calls), (result.tool_call_id for result in results)
    return first.role is not Role.TOOL and Counter[str | None](called) == Counter(answered)


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    content: bytes
    is_voice: bool = False  # A spoken version of a text that was sent.
