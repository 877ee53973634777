"""An answer put together from the chunks of a stream, as servers really send them."""

from __future__ import annotations

import codecs
import json
import re
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.messages import ToolCall, storable
from pipeline.models.model import Finish, ModelAnswer, Usage

if TYPE_CHECKING:
    from pipeline.models.model import ToolSpec

_TOO_LONG = frozenset(("length", "max_tokens", "max_output_tokens", "model_length"))
# how servers say that an answer did not come to its end; an answer that ended for any other reason is whole
_BROKEN_OFF = frozenset(("error", "content_filter"))

# A tool call that a small model writes out as its answer instead of making it
_FENCED = re.compile(r"\s*(?:Tool call:\s*)?(?:```(?:json)?\s*)?(?P<object>\{.*\})\s*(?:```)?\s*", re.DOTALL)


def at(value: object, *names: str) -> object:
    """What stands under these names, one inside of the other; None where it does not."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def items(value: object, name: str) -> list[object]:
    """The list under a name; an empty one where there is none."""
    result = at(value, name)
    return result if isinstance(result, list) else []


@dataclass(slots=True)
class _OpenCall:
    """A tool call while it arrives."""

    index: int | None
    id: str
    name: str = ""
    arguments: str = ""


class AnswerStream:
    """An answer put together from its chunks.

    Nobody has checked what arrives, and servers leave out what they have nothing to say in: every field may be
    missing, null or something else.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._text: list[str] = []
        self._calls: list[_OpenCall] = []
        self._finish: str | None = None
        self._usage: Usage | None = None
        # an emoji may come as two halves in two chunks; half a one can be neither stored nor shown
        self._halves = codecs.getincrementaldecoder("utf-16-le")("replace")

    @property
    def begun(self) -> bool:
        """Whether something came that is worth keeping."""
        return bool(self._finish or "".join(self._text).strip())

    def take(self, chunk: object) -> str:
        """Add a chunk, as its JSON was; the piece of text in it."""
        self._take_usage(at(chunk, "usage"))
        piece = ""
        for choice in items(chunk, "choices")[:1]:
            finish = at(choice, "finish_reason")
            self._finish = str(finish) if finish else self._finish
            delta = at(choice, "delta")
            content = at(delta, "content")
            if isinstance(content, str):
                piece = self._halves.decode(content.encode("utf-16-le", "surrogatepass")).replace("\0", "")
            for call in items(delta, "tool_calls"):
                self._take_call(call)
        self._text.append(piece)
        return piece

    def _take_usage(self, usage: object) -> None:
        # a server that reports zeros reports nothing: then the tokens are counted here
        if prompt := _count(usage, "prompt_tokens"):
            cached = _count(at(usage, "prompt_tokens_details"), "cached_tokens")
            self._usage = Usage(prompt, _count(usage, "completion_tokens"), cached)

    def _take_call(self, piece: object) -> None:
        index, call_id = at(piece, "index"), at(piece, "id")
        index, call_id = index if isinstance(index, int) else None, str(call_id or "")
        function = at(piece, "function")
        name, arguments = str(at(function, "name") or ""), at(function, "arguments") or ""
        call = next((c for c in reversed(self._calls) if index is None or c.index == index), None)
        # some servers give every call the same index, or none: then a name that comes again begins the next call
        again = name and call is not None and call.name and (index is None or (call_id and call_id != call.id))
        if call is None or again:
            call = _OpenCall(index, call_id)
            self._calls.append(call)
        call.id = call.id or call_id
        call.name = call.name or name
        call.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments)

    def finished(self) -> ModelAnswer:
        calls = tuple(
            ToolCall(call.id or f"call_{secrets.token_hex(6)}", call.name, storable(call.arguments))
            for call in self._calls
            if call.name
        )
        finish = Finish.CUT_OFF
        reason = (self._finish or "").lower()
        if reason in _TOO_LONG:
            finish = Finish.LENGTH
        elif reason and reason not in _BROKEN_OFF:
            finish = Finish.TOOL_CALLS if calls else Finish.STOP
        # a tool call that was cut off must not run with half its arguments
        tool_calls = calls if finish is Finish.TOOL_CALLS else ()
        return ModelAnswer("".join(self._text), self._model, finish, tool_calls, self._usage)


def _count(value: object, name: str) -> int:
    result = at(value, name)
    return int(result) if isinstance(result, int | float) else 0


def with_written_calls(answer: ModelAnswer, tools: tuple[ToolSpec, ...]) -> ModelAnswer:
    """`answer` with its text taken for the tool call that it is, if all of it is one of a tool that there is."""
    if answer.tool_calls or answer.finish is not Finish.STOP or not tools:
        return answer
    match = _FENCED.fullmatch(answer.text)
    if match is None:
        return answer
    try:
        written = json.loads(match["object"])
    except (ValueError, RecursionError):
        return answer
    if not isinstance(written, dict) or written.keys() != {"name", "arguments"}:
        return answer
    name, arguments = written["name"], written["arguments"]
    if name not in {tool.name for tool in tools} or not isinstance(arguments, dict):
        return answer
    call = ToolCall(f"call_{secrets.token_hex(6)}", name, json.dumps(arguments, ensure_ascii=False))
    return replace(answer, text="", finish=Finish.TOOL_CALLS, tool_calls=(call,))
