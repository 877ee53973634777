"""Scripted replies of the model server, and the requests that it received."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

CHARACTERS_PER_TOKEN = 4
_DENSE = re.compile("[\u2e80-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Says:
    """A text answer, streamed in pieces of a few characters.

    Attributes:
        finish: The finish reason. None cuts the stream off.
    """

    text: str
    finish: str | None = "stop"


@dataclass(frozen=True, slots=True)
class Calls:
    """Tool calls as pairs of name and arguments.

    Attributes:
        calls: Arguments are JSON text or a value that is encoded as JSON.
        cites: Add the user's last message as the quote if a tool takes a quote and the call has none.
    """

    calls: tuple[tuple[str, object], ...]
    text: str = ""
    cites: bool = True

    def arguments_for(self, chat: ChatRequest, name: str, arguments: object) -> str:
        """Return the arguments of a call as JSON text."""
        takes = {
            tool["function"]["name"]: tool["function"]["parameters"]["properties"]
            for tool in chat.body.get("tools", [])
        }
        if self.cites and isinstance(arguments, dict) and "quote" in takes.get(name, {}):
            arguments = {"quote": chat.last_by_user, **arguments}
        return arguments if isinstance(arguments, str) else json.dumps(arguments)


@dataclass(frozen=True, slots=True)
class Fails:
    """An error status."""

    status: int
    message: str = "scripted failure"
    code: str | None = None
    param: str | None = None
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Holds:
    """Streams `text` and then waits until `release` is set before it finishes."""

    text: str
    release: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Hangs:
    """Accepts the request and never responds."""


@dataclass(frozen=True, slots=True)
class Garbles:
    """A stream that contains invalid JSON."""


@dataclass(frozen=True, slots=True)
class Streams:
    """Chunks that are streamed unchanged, each as JSON, to imitate servers that deviate from the standard.

    Attributes:
        hangs: The stream stays open after the last chunk.
    """

    chunks: tuple[object, ...]
    hangs: bool = False


@dataclass(frozen=True, slots=True)
class ShowsPage:
    """A web page with status 200, as from a proxy or another program."""


Reply = Says | Calls | Fails | Holds | Hangs | Garbles | Streams | ShowsPage


class Wrong(StrEnum):
    """Message structures that strict chat templates refuse."""

    LATER_SYSTEM = "a later system message"
    SYSTEM = "a system message"
    SAME_ROLE = "two messages of one role in a row"


@dataclass(frozen=True, slots=True)
class Refuses:
    """Refuses a field of the request or a message structure, with its wording."""

    what: str | Wrong
    message: str = "bad request"
    status: int = 400
    param: str | None = None
    streamed: bool = False

    def applies(self, chat: ChatRequest) -> bool:
        """Return whether the request is refused."""
        roles = [message["role"] for message in chat.messages]
        if self.what == Wrong.LATER_SYSTEM:
            return "system" in roles[1:]
        if self.what == Wrong.SYSTEM:
            return "system" in roles
        if self.what == Wrong.SAME_ROLE:
            talk = roles[1:] if roles[0] == "system" else roles
            return talk != [("user", "assistant")[n % 2] for n in range(len(talk))]
        return self.what in chat.body


@dataclass(frozen=True, slots=True)
class RefusesTool(Refuses):
    """A server that refuses the schema of one tool."""

    message: str = "Bad Request"

    def applies(self, chat: ChatRequest) -> bool:
        """Return True if the request offers the tool."""
        return self.what in {tool["function"]["name"] for tool in chat.body.get("tools", [])}


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One received request."""

    body: dict[str, Any]
    raw: bytes

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the messages of the request."""
        return list(self.body["messages"])

    @property
    def prompt(self) -> str:
        """Return tools and messages as one text in the order of a provider's prompt."""
        return json.dumps(self.body.get("tools", []), ensure_ascii=False) + "".join(
            json.dumps(message, ensure_ascii=False) for message in self.messages
        )

    @property
    def tokens(self) -> int:
        """Estimate the tokens: four characters, one Chinese character or one emoji each."""
        prompt = self.prompt
        dense = len(_DENSE.findall(prompt))
        return dense + (len(prompt) - dense) // CHARACTERS_PER_TOKEN

    @property
    def last(self) -> str:
        """Return the text of the last message without the context added for this request."""
        return text_of(self.messages[-1]).partition("\n\n<context>\n")[0]

    @property
    def last_by_user(self) -> str:
        """Return the last message of the user."""
        spoken = [text_of(message) for message in self.messages if message["role"] == "user"]
        return spoken[-1].partition("\n\n<context>\n")[0] if spoken else ""

    @property
    def said(self) -> list[str]:
        """Return the texts of all messages except the system message and added context."""
        return [*(text_of(m) for m in self.messages[:-1] if m["role"] != "system"), self.last]

    @property
    def added(self) -> str:
        """Return the context added to the last message, or an empty text."""
        added = text_of(self.messages[-1]).partition("\n\n<context>\n")[2]
        assert not added or added.endswith("\n</context>"), added
        return added.removesuffix("\n</context>")

    @property
    def pictures(self) -> list[bytes]:
        """Return the pictures in the order in which the model sees them."""
        return [picture for message in self.messages for picture in pictures_of(message)]

    @property
    def is_consolidation(self) -> bool:
        """Return whether this is a consolidation."""
        return "memory consolidation agent" in str(self.messages[0]["content"])

    @property
    def is_second_look(self) -> bool:
        """Return whether this is a second look."""
        return "check what a memory program is about to keep" in str(self.messages[0]["content"])

    @property
    def is_summary(self) -> bool:
        """Return whether this is a summary."""
        return "You summarise" in str(self.messages[0]["content"])

    def system(self) -> str:
        """Return the system message and the added context."""
        assert [m["role"] for m in self.messages].count("system") <= 1
        first = str(self.messages[0]["content"]) if self.messages[0]["role"] == "system" else ""
        return f"{first}\n{self.added}"


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message, with or without pictures."""
    content = message["content"]
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n\n".join(part["text"] for part in content if part["type"] == "text")


def pictures_of(message: dict[str, Any]) -> list[bytes]:
    """Return the pictures of a message, which are embedded."""
    if isinstance(message["content"], str) or message["content"] is None:
        return []
    found = [part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url"]
    return [base64.b64decode(url.partition(";base64,")[2], validate=True) for url in found]


def as_chat(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request of the Responses or the Messages API as a chat completion, for scripts that read one."""
    if "input" in body:
        return {
            "model": body["model"],
            "messages": _of_items(body["input"]),
            "tools": [{"type": "function", "function": tool} for tool in body.get("tools", [])],
        }
    tools = body.get("tools", [])
    if not ("system" in body or any("input_schema" in tool for tool in tools) or _has_blocks(body)):
        return body
    functions = [
        {"name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]} for tool in tools
    ]
    system = [{"role": "system", "content": body["system"][0]["text"]}] if body.get("system") else []
    return {
        "model": body["model"],
        "messages": [*system, *(made for message in body["messages"] for made in _of_blocks(message))],
        "tools": [{"type": "function", "function": function} for function in functions],
    }


def _has_blocks(body: dict[str, Any]) -> bool:
    return "max_tokens" in body and all(isinstance(message["content"], list) for message in body["messages"])


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _of_items(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call":
            call = _call(item["call_id"], item["name"], item["arguments"])
            if messages and messages[-1].get("tool_calls"):
                messages[-1]["tool_calls"].append(call)
            else:
                messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        elif kind == "function_call_output":
            messages.append({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]})
        elif kind == "message":
            text = "".join(part.get("text", "") for part in item["content"])
            messages.append({"role": item["role"], "content": text})
    return messages


def _of_blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for block in message["content"]:
        if block["type"] == "tool_result":
            text = "".join(part.get("text", "") for part in block["content"])
            made.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": text})
    text = "\n\n".join(block["text"] for block in message["content"] if block["type"] == "text")
    calls = [_call(b["id"], b["name"], json.dumps(b["input"])) for b in message["content"] if b["type"] == "tool_use"]
    if text or calls:
        made.append({"role": message["role"], "content": text} | ({"tool_calls": calls} if calls else {}))
    return made


NOTHING_LEARNED = '{"history_entry": "They talked.", "memory_update": null, "facts": []}'
