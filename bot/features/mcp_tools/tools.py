"""The tools of MCP servers in the form that the toolbox and the requests use."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.features.mcp_tools.approval import Approvals, ToolCallRequest
from bot.features.mcp_tools.config import McpConfig, Trouble, make_tool_names
from bot.features.mcp_tools.connection import CallFailed, ServerConnection
from bot.features.mcp_tools.files import read_files
from config.models import ModelWindow
from config.texts import use_language
from memory.clock import Clock
from memory.messages import Image, Passage, Provenance
from memory.text.tokens import TokenCounter
from memory.text.validity import replace_invalid, replace_invalid_in_json
from pipeline.arrival import clean
from pipeline.models.capabilities import Part
from pipeline.models.model import ToolSpec
from pipeline.tools.toolbox import ToolContext, simplify_schema

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock, Tool

MAX_DESCRIPTION_CHARS = 1_500
MAX_RESULT_CHARS = 400_000
"""The tool loop cuts results further, to fit the model's window."""
MAX_IMAGES = 4
MAX_IMAGE_BYTES = 5_000_000
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
WINDOW_DIVISOR = 8
"""Tool descriptions may take at most this fraction (one eighth) of a model's window."""
STARTUP_SECONDS = 10.0
"""How long the first turns wait for servers that are starting."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """The state of a server, with the number of its enabled tools, for /status and the doctor."""

    name: str
    tools: int
    trouble: Trouble | None


class McpTool:
    """A tool of a server. The model reads the server's own description of it.

    Args:
        record: Called before a call that may change something, so that it is not repeated after a kill.
    """

    def __init__(
        self,
        name: str,
        described: Tool,
        connection: ServerConnection,
        approvals: Approvals,
        record: Callable[[], Awaitable[None]],
    ) -> None:
        schema = simplify_schema({key: value for key, value in described.input_schema.items() if key != "$schema"})
        parameters = {"type": "object", "properties": {}} | schema
        description = clean(described.description or described.title or "")[:MAX_DESCRIPTION_CHARS]
        self.spec = ToolSpec(name, description, replace_invalid(json.dumps(parameters, ensure_ascii=False)))
        self._described = described
        self._required = frozenset(_collect_texts(described.input_schema.get("required")))
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
        """Run the tool with the model's JSON arguments. Errors are returned as text for the model."""
        try:
            written = replace_invalid_in_json(json.loads(arguments or "{}"))
        except (ValueError, RecursionError) as error:
            return f"error: the arguments are wrong: they are no JSON ({error})"
        if not isinstance(written, dict):
            return "error: the arguments are wrong: an object is needed"
        # Models often write null for an omitted argument.
        values = {key: value for key, value in written.items() if value is not None or key in self._required}
        if needs_approval(self._described):
            request = ToolCallRequest(self.server, self._described.name, self._compute_digest(), values)
            with use_language(context.language):
                refusal = await self._approvals.request_approval(context.session_id, context.asking, request)
            if refusal is not None:
                return refusal
            # Recorded before the call: after a kill its effect can't be checked, and it must not happen twice.
            await self._record()
        try:
            result = await self._connection.call(self._described.name, values)
        except CallFailed as error:
            return f"error: {error}"
        pictured = any(block.type == "image" for block in result.content)
        sees = pictured and context.model is not None and await context.model.can(Part.IMAGES)
        passage = await asyncio.to_thread(_to_passage, result, sees=sees)
        return replace(passage, files=await asyncio.to_thread(read_files, result, self._described.name))

    def _compute_digest(self) -> str:
        description = f"{self.spec.description}\n{self.spec.parameters}"
        return hashlib.sha256(description.encode("utf-8", "replace")).hexdigest()[:16]


class McpTools:
    """All servers and their current tools. Their descriptions take at most `max_tokens` in a request.

    Args:
        data_directory: Contains the logins at servers.
    """

    def __init__(
        self,
        config: McpConfig,
        approvals: Approvals,
        record: Callable[[], Awaitable[None]],
        max_tokens: int,
        data_directory: Path,
        clock: Clock,
    ) -> None:
        self.config = config
        self.connections = [
            ServerConnection(server, self._discard_tools, data_directory=data_directory, clock=clock)
            for server in config.servers
        ]
        self._approvals = approvals
        self._record = record
        self._max_tokens = max_tokens
        # This counter is never corrected by usage, so that the selection of tools doesn't change.
        self._counter = TokenCounter()
        self._tools: dict[str, McpTool] | None = None
        self._former: dict[str, McpTool] = {}
        self._until = 0.0

    def start(self) -> None:
        self._until = asyncio.get_running_loop().time() + STARTUP_SECONDS
        for connection in self.connections:
            connection.start()

    async def close(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self.connections))

    async def report_ended_logins(self, tell: Callable[[str], Awaitable[None]]) -> None:
        """Call `tell` with each server at which the login has ended since the last report, also across restarts."""
        for connection in self.connections:
            if connection.login is not None and await connection.login.should_tell_owner():
                await tell(connection.config.name)
                await connection.login.record_owner_told()

    async def wait_until_ready(self) -> None:
        """Wait for the first attempt to connect to each server, within STARTUP_SECONDS of the start."""
        remaining = self._until - asyncio.get_running_loop().time()
        waiting = [asyncio.ensure_future(c.tried.wait()) for c in self.connections if not c.tried.is_set()]
        if waiting and remaining > 0:
            await asyncio.wait(waiting, timeout=remaining)
        for task in waiting:
            task.cancel()

    @property
    def count(self) -> int:
        return len(self._collect_tools())

    def get(self, name: str) -> McpTool | None:
        """Return the tool with that name. A former tool is returned too, since its call explains what is wrong."""
        return self._collect_tools().get(name) or self._former.get(name)

    def select_specs(self, window: ModelWindow) -> tuple[ToolSpec, ...]:
        tokens = min(self._max_tokens, window.max_input_tokens // WINDOW_DIVISOR)
        fitting = []
        for tool in self._collect_tools().values():
            spec = tool.spec
            cost = self._counter.count(spec.name + spec.description + spec.parameters)
            if cost <= tokens:
                tokens -= cost
                fitting.append(spec)
        return tuple(fitting)

    @property
    def is_retrying(self) -> bool:
        """True if a server is off and will be reconnected automatically."""
        return any(connection.trouble is not None for connection in self.connections)

    def list_states(self) -> list[ServerState]:
        counts = Counter(tool.server for tool in self._collect_tools().values())
        states = [ServerState(c.config.name, counts[c.config.name], c.trouble) for c in self.connections]
        return states + [ServerState(name, 0, trouble) for name, trouble in self.config.troubles.items()]

    def _discard_tools(self) -> None:
        self._tools = None

    def _collect_tools(self) -> dict[str, McpTool]:
        if self._tools is None:
            self._tools = {tool.name: tool for c in self.connections for tool in self._create_connection_tools(c)}
            self._former |= self._tools
        return self._tools

    def _create_connection_tools(self, connection: ServerConnection) -> list[McpTool]:
        described = {tool.name: tool for tool in connection.tools}
        return [
            McpTool(name, described[tool], connection, self._approvals, self._record)
            for tool, name in make_tool_names(connection.config.prefix, described).items()
            if connection.config.offers(tool)
        ]


def needs_approval(tool: Tool) -> bool:
    """Return True unless the server declares that the tool only reads."""
    return tool.annotations is None or tool.annotations.read_only_hint is not True


def _collect_texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _to_passage(result: CallToolResult, *, sees: bool) -> Passage:
    """Convert a tool's result. It always counts as foreign text.

    Args:
        sees: The model accepts images.
    """
    parts: list[str] = []
    images: list[Image] = []
    for block in result.content:
        image = _read_image(block) if sees and len(images) < MAX_IMAGES else None
        images += [image] if image is not None else []
        parts.append("[an image, shown below]" if image is not None else _read_text(block))
    if not parts and result.structured_content is not None:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    text = clean("\n".join(part[:MAX_RESULT_CHARS] for part in parts)[:MAX_RESULT_CHARS]) or "(nothing)"
    return Passage(f"error: {text}" if result.is_error else text, Provenance.FOREIGN, tuple(images))


def _read_text(block: ContentBlock) -> str:
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


def _read_image(block: ContentBlock) -> Image | None:
    # Base64 is a third longer than the bytes.
    if block.type != "image" or block.mime_type not in IMAGE_TYPES or len(block.data) > MAX_IMAGE_BYTES * 4 / 3:
        return None
    try:
        return Image(block.mime_type, base64.b64decode(block.data, validate=True))
    except (binascii.Error, ValueError):
        return None
