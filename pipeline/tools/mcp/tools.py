"""The servers' tools as the toolbox has them: which a model is told of, and what becomes of a call."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from config.texts import use_language
from memory.messages import Image, Passage, Provenance
from memory.text.tokens import TokenCounter
from memory.text.validity import valid_json, valid_text
from pipeline.arrival import clean
from pipeline.models.capabilities import Part
from pipeline.models.model import ToolSpec
from pipeline.tools.mcp.approval import ToolCallRequest
from pipeline.tools.mcp.config import tool_names
from pipeline.tools.mcp.connection import CallFailed, ServerConnection
from pipeline.tools.toolbox import lean_schema

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.types import CallToolResult, ContentBlock, Tool

    from config.models import ModelWindow
    from pipeline.tools.mcp.approval import Approvals
    from pipeline.tools.mcp.config import McpConfig, Trouble
    from pipeline.tools.toolbox import ToolContext

LONGEST_DESCRIPTION = 1_500
"""Characters of a tool's description that a model is told."""
LONGEST_RESULT = 400_000
"""Characters of a result that are looked at: what the model's window holds of them is cut from these."""
MOST_IMAGES = 4
LARGEST_IMAGE = 5_000_000
"""Bytes."""
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
"""The kinds that models take."""
SHARE = 8
"""The part of a model's window that descriptions may take at most: one eighth."""
FIRST_TRY = 10.0
"""Seconds that the first turns wait for servers which are being started."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server for /status and the doctor. trouble: why it is off; tools: how many of its tools are on."""

    name: str
    tools: int
    trouble: Trouble | None


class McpTool:
    """A tool of a server. What its server says of it is told to the model as it is: its words, not ours."""

    def __init__(
        self,
        name: str,
        described: Tool,
        connection: ServerConnection,
        approvals: Approvals,
        record: Callable[[], Awaitable[None]],
    ) -> None:
        schema = lean_schema({key: value for key, value in described.input_schema.items() if key != "$schema"})
        parameters = {"type": "object", "properties": {}} | schema
        description = clean(described.description or described.title or "")[:LONGEST_DESCRIPTION]
        self.spec = ToolSpec(name, description, valid_text(json.dumps(parameters, ensure_ascii=False)))
        self._described = described
        self._required = frozenset(_texts(described.input_schema.get("required")))
        self._connection = connection
        self._approvals = approvals
        self._record = record

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def server(self) -> str:
        return self._connection.config.name

    async def run(self, context: ToolContext, arguments: str) -> str | Passage:
        """Run with the arguments that the model wrote. Whatever goes wrong comes back as text for the model."""
        try:
            written = valid_json(json.loads(arguments or "{}"))
        except (ValueError, RecursionError) as error:
            return f"error: the arguments are wrong: they are no JSON ({error})"
        if not isinstance(written, dict):
            return "error: the arguments are wrong: an object is needed"
        # what a model leaves out it often writes as null
        values = {key: value for key, value in written.items() if value is not None or key in self._required}
        if asks_first(self._described):
            request = ToolCallRequest(self.server, self._described.name, self._digest(), values)
            with use_language(context.language):  # the question is for the person
                refusal = await self._approvals.refusal(context.session_id, context.asking, request)
            if refusal is not None:
                return refusal
            # before it is run: what it does can't be looked up after a kill, and must not be done twice
            await self._record()
        try:
            result = await self._connection.call(self._described.name, values)
        except CallFailed as error:
            return f"error: {error}"
        pictured = any(block.type == "image" for block in result.content)
        sees = pictured and context.model is not None and await context.model.can(Part.IMAGES)
        return await asyncio.to_thread(_passage, result, sees=sees)

    def _digest(self) -> str:
        description = f"{self.spec.description}\n{self.spec.parameters}"
        return hashlib.sha256(description.encode("utf-8", "replace")).hexdigest()[:16]


class McpTools:
    """All servers, and the tools that they offer now.

    record: keeps that a call is about to change something. most_tokens: what descriptions may cost in any request.
    """

    def __init__(
        self,
        config: McpConfig,
        approvals: Approvals,
        record: Callable[[], Awaitable[None]],
        most_tokens: int,
    ) -> None:
        self.config = config
        self.connections = [ServerConnection(server, self._changed) for server in config.servers]
        self._approvals = approvals
        self._record = record
        self._most_tokens = most_tokens
        self._counter = TokenCounter()  # never corrected by usage: which tools a model is given must not change with it
        self._tools: dict[str, McpTool] | None = None
        self._former: dict[str, McpTool] = {}
        self._until = 0.0

    def start(self) -> None:
        self._until = asyncio.get_running_loop().time() + FIRST_TRY
        for connection in self.connections:
            connection.start()

    async def close(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self.connections))

    async def ready(self) -> None:
        """Wait until each server was tried once, but no longer than the first seconds: a turn is to have its tools."""
        remaining = self._until - asyncio.get_running_loop().time()
        waiting = [asyncio.ensure_future(c.tried.wait()) for c in self.connections if not c.tried.is_set()]
        if waiting and remaining > 0:
            await asyncio.wait(waiting, timeout=remaining)
        for task in waiting:
            task.cancel()

    @property
    def count(self) -> int:
        return len(self._offered())

    def get(self, name: str) -> McpTool | None:
        """The tool that a model calls by that name; of a server that is off meanwhile the one that says so."""
        return self._offered().get(name) or self._former.get(name)

    def specs(self, window: ModelWindow) -> tuple[ToolSpec, ...]:
        """The tools that a model with that window is given, in the order of the file; what does not fit is left out."""
        tokens = min(self._most_tokens, window.max_input_tokens // SHARE)
        fitting = []
        for tool in self._offered().values():
            spec = tool.spec
            cost = self._counter.text(spec.name + spec.description + spec.parameters)
            if cost <= tokens:
                tokens -= cost
                fitting.append(spec)
        return tuple(fitting)

    @property
    def retries(self) -> bool:
        """Whether any server is off that is connected to again by itself."""
        return any(connection.trouble is not None for connection in self.connections)

    def states(self) -> list[ServerState]:
        """How each server is, in the order of the file; those whose entries can't be used are last."""
        counts = Counter(tool.server for tool in self._offered().values())
        states = [ServerState(c.config.name, counts[c.config.name], c.trouble) for c in self.connections]
        return states + [ServerState(name, 0, trouble) for name, trouble in self.config.troubles.items()]

    def _changed(self) -> None:
        self._tools = None

    def _offered(self) -> dict[str, McpTool]:
        if self._tools is None:
            self._tools = {tool.name: tool for c in self.connections for tool in self._tools_of(c)}
            self._former |= self._tools
        return self._tools

    def _tools_of(self, connection: ServerConnection) -> list[McpTool]:
        described = {tool.name: tool for tool in connection.tools}
        return [
            McpTool(name, described[tool], connection, self._approvals, self._record)
            for tool, name in tool_names(connection.config.prefix, described).items()
            if connection.config.offers(tool)
        ]


def asks_first(tool: Tool) -> bool:
    """Whether a person is asked before a tool is run: whatever does not say that it only reads."""
    return tool.annotations is None or tool.annotations.read_only_hint is not True


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _passage(result: CallToolResult, *, sees: bool) -> Passage:
    """What a tool has answered: the words of others, whatever they are and wherever they come from."""
    parts: list[str] = []
    images: list[Image] = []
    for block in result.content:
        image = _image(block) if sees and len(images) < MOST_IMAGES else None
        images += [image] if image is not None else []
        parts.append("[an image, shown below]" if image is not None else _words(block))
    if not parts and result.structured_content is not None:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    text = clean("\n".join(part[:LONGEST_RESULT] for part in parts)[:LONGEST_RESULT]) or "(nothing)"
    return Passage(f"error: {text}" if result.is_error else text, Provenance.FOREIGN, tuple(images))


def _words(block: ContentBlock) -> str:
    match block.type:
        case "text":
            return block.text
        case "resource":
            text = getattr(block.resource, "text", None)
            return f"[{block.resource.uri}]\n" + (text if isinstance(text, str) else "[no text]")
        case "resource_link":
            return f"[{block.name}: {block.uri}]"
        case _:
            return f"[{block.type}, which can't be shown]"


def _image(block: ContentBlock) -> Image | None:
    # base64 is a third longer than the bytes
    if block.type != "image" or block.mime_type not in IMAGES or len(block.data) > LARGEST_IMAGE * 4 / 3:
        return None
    try:
        return Image(block.mime_type, base64.b64decode(block.data, validate=True))
    except (binascii.Error, ValueError):
        return None
