"""Assembles an answer from the pieces in which it arrives, for all APIs, and separates the thinking from the text."""

from __future__ import annotations

import codecs
import json
import re
import secrets
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from config.texts import _
from memory.messages import ToolCall
from memory.text.validity import replace_invalid
from pipeline.models.model import Finish, ModelAnswer, ToolSpec, Usage
from pipeline.models.written_calls import MAX_MARKER_CHARS, find_marker, read_written_calls

_TAG_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "seed:think")
# Magistral and Kimi-VL use other brackets.
_CLOSING = {f"<{name}>": f"</{name}>" for name in _TAG_NAMES} | {"[think]": "[/think]", "◁think▷": "◁/think▷"}
_MARKER = re.compile("|".join(map(re.escape, (*_CLOSING, *_CLOSING.values()))), re.IGNORECASE)
_MAX_MARKER_CHARS = max(map(len, _CLOSING.values()))
_QUOTES = tuple("\"'`“‘«")


class ThinkingSplitter:
    """Splits streamed text into thinking and answer.

    A closing tag without an opening one means that everything before it was thinking: many chat templates put the
    opening tag into the prompt. Tags inside Markdown code or directly after a quotation mark are part of the answer.
    """

    def __init__(self) -> None:
        self.text = ""
        self.thinking = ""
        self.closed_without_opening = False
        self._pending = ""  # Text that may become a tag.
        self._opening = ""  # The opening tag of the current thinking, if any.
        self._start = 0  # The position in `thinking` where the current thinking begins.
        self._had_thinking = False
        self._skips_space = False

    def feed(self, piece: str) -> None:
        self._pending += piece
        while self._advance():
            pass

    def close(self) -> None:
        if not self._opening:
            self._emit(self._pending)
        elif self.text.strip():
            # The tag is never closed, so the answer only mentions it.
            self._emit(self._opening + self.thinking[self._start :] + self._pending)
            self.thinking = self.thinking[: self._start]
        else:
            self.thinking += self._pending
        self._pending = self._opening = ""

    def _advance(self) -> bool:
        """Handle the next tag in the pending text. Return False if no tag has arrived yet."""
        return self._advance_thinking() if self._opening else self._advance_answer()

    def _advance_thinking(self) -> bool:
        closing = _CLOSING[self._opening.lower()]
        at = self._pending.lower().find(closing)
        if at < 0:
            keep = min(len(self._pending), len(closing) - 1)
            self.thinking += self._pending[: len(self._pending) - keep]
            self._pending = self._pending[len(self._pending) - keep :]
            return False
        self.thinking += self._pending[:at]
        self._pending = self._pending[at + len(closing) :]
        self._opening = ""
        self._end_thinking()
        return True

    def _advance_answer(self) -> bool:
        match = _MARKER.search(self._pending)
        if match is None:
            certain = len(self._pending) - _count_unfinished_marker_chars(self._pending)
            self._emit(self._pending[:certain])
            self._pending = self._pending[certain:]
            return False
        self._emit(self._pending[: match.start()])
        self._pending = self._pending[match.end() :]
        marker = match[0].lower()
        if self._is_literal():
            self._emit(match[0])
        elif marker in _CLOSING:
            self._opening, self._start = match[0], len(self.thinking)
        elif not self._had_thinking:
            self.thinking, self.text = self.thinking + self.text, ""
            self.closed_without_opening = True
            self._end_thinking()
        return True

    def _end_thinking(self) -> None:
        self._had_thinking = True
        self._skips_space = not self.text

    def _emit(self, text: str) -> None:
        if self._skips_space:
            text = text.lstrip()
            self._skips_space = not text
        self.text += text

    def _is_literal(self) -> bool:
        if self.text.endswith(_QUOTES) or self.text.count("```") % 2:
            return True
        line = self.text.rpartition("\n")[2].replace("```", "")
        return line.count("`") % 2 == 1


def _count_unfinished_marker_chars(text: str) -> int:
    """Return how many characters at the end of `text` may be the beginning of a tag."""
    tail = text[-(_MAX_MARKER_CHARS - 1) :].lower()
    for at, char in enumerate(tail):
        if char in "<[◁" and any(marker.startswith(tail[at:]) for marker in (*_CLOSING, *_CLOSING.values())):
            return len(tail) - at
    return 0


_CALL_ID_CHARS = string.ascii_letters + string.digits
CALL_ID_LENGTH = 9
"""Mistral accepts no other length, and all other servers accept this one."""
MAX_PROVIDER_DATA_CHARS = 1_000_000
_LENGTH_REASONS = frozenset(("length", "max_tokens", "max_output_tokens", "model_length", "max_length"))
_FILTER_REASONS = frozenset(("content_filter", "safety", "prohibited_content", "recitation", "blocklist", "sensitive"))


def generate_call_id() -> str:
    return "".join(secrets.choice(_CALL_ID_CHARS) for _position in range(CALL_ID_LENGTH))


@dataclass(slots=True)
class OpenCall:
    """A tool call that is still arriving.

    Attributes:
        index: Its position among the calls. None if the server doesn't state it.
        provider_id: The server's ID.
        data: Fields that must be sent back with it unchanged.
    """

    index: int | None
    provider_id: str
    name: str = ""
    arguments: str = ""
    data: dict[str, Any] = field(default_factory=dict)


class TextDecoder:
    """Joins surrogate pairs, such as emoji, that a server splits between two pieces of text."""

    def __init__(self) -> None:
        self._halves = codecs.getincrementaldecoder("utf-16-le")("replace")

    def decode(self, piece: str) -> str:
        return self._halves.decode(piece.encode("utf-16-le", "surrogatepass")).replace("\0", "")


class AnswerBuilder:
    """Collects the parts of an answer, and decides how much of it may be shown.

    Args:
        shows_late: The model writes its thinking without an opening tag, so show nothing before the closing tag.

    Attributes:
        fields: Data to send back with the message: fields of a chat completion, or items of a response.
        is_complete: The server has ended the stream properly.
    """

    def __init__(self, model: str, *, shows_late: bool = False) -> None:
        self._model = model
        self._decoder = TextDecoder()
        self._splitter = ThinkingSplitter()
        self._shows_late = shows_late
        self._searched = 0  # The number of characters searched for written calls.
        self._marker: int | None = None
        self._refusal: list[str] = []
        self.calls: list[OpenCall] = []
        self.fields: dict[str, Any] = {}
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self.reasoned = False
        self.is_complete = False

    @property
    def has_content(self) -> bool:
        """True if text, a refusal or the end has arrived. Otherwise the request may be repeated."""
        return bool(self.finish_reason or self._splitter.text.strip() or self._refusal)

    @property
    def is_thinking(self) -> bool:
        return self.reasoned or bool(self._splitter.thinking)

    @property
    def thought_without_opening_tag(self) -> bool:
        return self._splitter.closed_without_opening

    @property
    def visible(self) -> str:
        text = self._splitter.text
        if self._shows_late and not self._splitter.closed_without_opening:
            return ""
        if len(text) < self._searched:  # The earlier text turned out to be thinking.
            self._searched, self._marker = 0, None
        if self._marker is None:
            self._marker = find_marker(text, max(0, self._searched - MAX_MARKER_CHARS))
            self._searched = len(text)
        return text if self._marker is None else text[: self._marker].rstrip()

    def add_text(self, piece: str) -> None:
        self._splitter.feed(self._decoder.decode(piece))

    def add_refusal(self, piece: str) -> None:
        if piece:
            self._refusal.append(replace_invalid(piece))

    def get_or_add_call(self, index: int | None, provider_id: str, name: str) -> OpenCall:
        """Return the open call that a piece belongs to, or a new one.

        Some servers give all calls the same index, or none. Then a repeated name or another ID begins a new call.
        """
        call = next((c for c in reversed(self.calls) if index is None or c.index == index), None)
        has_other_id = call is not None and bool(provider_id and call.provider_id and provider_id != call.provider_id)
        is_repeated = call is not None and bool(name and call.name) and (not provider_id or not call.provider_id)
        if call is None or (name and has_other_id) or (is_repeated and (index is None or _is_whole(call.arguments))):
            call = OpenCall(index, provider_id)
            self.calls.append(call)
        call.provider_id = call.provider_id or provider_id
        call.name = call.name or name
        return call

    def build(self, tools: Sequence[ToolSpec]) -> ModelAnswer:
        """Return the whole answer.

        Args:
            tools: The offered tools. Calls of these that the model wrote into its text become real calls.
        """
        self._splitter.close()
        text = self._splitter.text
        calls = {generate_call_id(): call for call in self.calls if call.name}
        finish = self._finish(bool(calls), bool(text.strip()))
        written: list[tuple[str, dict[str, Any]]] = []
        if tools and finish in (Finish.STOP, Finish.TOOL_CALLS):
            text, written = read_written_calls(text, {tool.name: _get_schema(tool) for tool in tools})
        made = [
            ToolCall(new_id, replace_invalid(call.name), replace_invalid(call.arguments))
            for new_id, call in calls.items()
        ]
        if written and not made:
            made = [
                ToolCall(generate_call_id(), name, json.dumps(arguments, ensure_ascii=False))
                for name, arguments in written
            ]
            finish = Finish.TOOL_CALLS
        refusal = "".join(self._refusal).strip()
        if refusal and not text.strip():
            text = _("The model declined: {refusal}", refusal=refusal)
        return ModelAnswer(
            replace_invalid(text),
            self._model,
            finish,
            # A call that was cut off must not run with half its arguments.
            tuple(made) if finish is Finish.TOOL_CALLS else (),
            self.usage,
            thought=self.is_thinking,
            refusal=bool(refusal),
        )

    def build_provider_data(self, answer: ModelAnswer) -> str | None:
        by_call = {
            call.id: {"id": open_call.provider_id, **open_call.data}
            for call, open_call in zip(answer.tool_calls, (c for c in self.calls if c.name), strict=False)
        }
        data: dict[str, Any] = {}
        if self.fields:
            data["fields"] = self.fields
        if by_call:
            data["calls"] = by_call
        written = json.dumps(data)
        return written if data and len(written) <= MAX_PROVIDER_DATA_CHARS else None

    def _finish(self, has_calls: bool, has_text: bool) -> Finish:
        reason = (self.finish_reason or "").lower()
        if reason in _LENGTH_REASONS:
            return Finish.LENGTH
        if reason in _FILTER_REASONS:
            return Finish.FILTERED
        # The server reports an error, or the stream ends without a reason.
        if reason == "error" or not (reason or (self.is_complete and (has_text or has_calls))):
            return Finish.CUT_OFF
        return Finish.TOOL_CALLS if has_calls else Finish.STOP


def _is_whole(arguments: str) -> bool:
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True


def _get_schema(tool: ToolSpec) -> Mapping[str, Any]:
    schema = json.loads(tool.parameters)
    return schema if isinstance(schema, dict) else {}
