"""The file that names the servers: `mcpServers`, as other programs have it.

    {"mcpServers": {"files": {"command": "npx", "args": ["-y", "..."], "env": {"KEY": "${KEY}"}},
                    "search": {"url": "https://...", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}

`type` is stdio, http or sse, and may be left out. `${NAME}`, `${env:NAME}` and `${NAME:-default}` stand for variables
of the environment. `disabled`, `enabledTools` and `disabledTools` choose. What else stands there is for other programs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from config.texts import N_, _

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

SERVERS = "mcpServers"
LONGEST_NAME = 64
"""Characters that a tool's name may have in a request to a model."""
LONGEST_PREFIX = 24
"""Characters of a server's name in the names of its tools."""
SEPARATOR = "__"
_DIGEST = 8
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]+")
_VARIABLE = re.compile(r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a server is off, worded in the language of whoever asks."""

    text: str
    values: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return _(self.text, **self.values)


# shown in chats, so they contain no path of the machine
UNREADABLE = N_("{path} can't be read ({reason}).")
NO_JSON = N_("Line {line} of {path} is no JSON: a comma or a quotation mark may be missing there.")
NO_SERVERS = N_('{path} has no servers in it: write {{"mcpServers": {{...}}}}, or use `mneme mcp add`.')
WRONG_ENTRY = N_("Its entry can't be used: {field} is missing or of the wrong kind.")
NO_TRANSPORT = N_("Its entry names neither a command nor a url.")
UNSET = N_("Its entry needs the variable {name}, which is not set.")


@dataclass(frozen=True, slots=True)
class StdioServer:
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server at an address. sse: it speaks the transport of 2024, which some still do."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sse: bool = False

    @property
    def host(self) -> str:
        """Where it is, without what may be secret in its address."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server. name: as the file has it; prefix: as it stands in front of its tools' names."""

    name: str
    prefix: str
    transport: StdioServer | HttpServer
    enabled_tools: frozenset[str] | None = None
    disabled_tools: frozenset[str] = frozenset()

    def offers(self, tool: str) -> bool:
        return tool not in self.disabled_tools and (self.enabled_tools is None or tool in self.enabled_tools)


@dataclass(frozen=True, slots=True)
class McpConfig:
    """What a file says. trouble: why none of it can be used; troubles: why some servers can't, by their names."""

    servers: tuple[ServerConfig, ...] = ()
    troubles: Mapping[str, Trouble] = field(default_factory=dict)
    trouble: Trouble | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.servers or self.troubles or self.trouble)


def _as_text(value: object) -> object:
    """What is written without quotation marks, such as a port."""
    return json.dumps(value) if isinstance(value, int | float) else value


Text = Annotated[str, BeforeValidator(_as_text)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore")

    type: Literal["stdio", "http", "streamable-http", "streamableHttp", "streamable_http", "sse"] | None = None
    command: str | None = Field(default=None, min_length=1)
    args: list[Text] = []
    env: dict[str, Text] = {}
    cwd: str | None = None
    url: str | None = Field(
        default=None, validation_alias=AliasChoices("url", "serverUrl", "httpUrl"), pattern=r"^https?://[^\s/]"
    )
    headers: dict[str, Text] = {}
    disabled: bool = False
    enabled_tools: list[str] | None = Field(default=None, alias="enabledTools")
    disabled_tools: list[str] = Field(default=[], alias="disabledTools")


class _Unset(Exception):
    """A variable that an entry names has no value."""


def read_config(path: Path, environment: Mapping[str, str] = os.environ, *, must_exist: bool = False) -> McpConfig:
    """What the file at `path` says; one that there is not and need not be says nothing. What is wrong is told."""
    try:
        entries = read_entries(path)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not must_exist:
            return McpConfig()
        return McpConfig(trouble=Trouble(UNREADABLE, {"path": path.name, "reason": error.strerror or error}))
    except json.JSONDecodeError as error:
        return McpConfig(trouble=Trouble(NO_JSON, {"path": path.name, "line": error.lineno}))
    except ValueError:
        return McpConfig(trouble=Trouble(NO_SERVERS, {"path": path.name}))
    servers: list[ServerConfig] = []
    troubles: dict[str, Trouble] = {}
    for name, raw in entries.items():
        read = _server(name, raw, {server.prefix for server in servers}, environment)
        if isinstance(read, Trouble):
            troubles[name] = read
        elif read is not None:
            servers.append(read)
    return McpConfig(tuple(servers), troubles)


def read_entries(path: Path) -> dict[str, object]:
    """The servers in a file as they are written. Raises OSError, or ValueError where they are not such a file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply") from error
    entries = document.get(SERVERS) if isinstance(document, dict) else None
    if not isinstance(entries, dict):
        raise ValueError(f"{path} has no {SERVERS}")
    return entries


def _server(name: str, raw: object, taken: set[str], environment: Mapping[str, str]) -> ServerConfig | Trouble | None:
    """A server, or why it can't be one; None where it is switched off."""
    try:
        entry = _Entry.model_validate(raw)
        if entry.disabled:
            return None
        transport = _transport(entry, environment)
    except ValidationError as error:
        where = error.errors(include_url=False, include_input=False)[0]["loc"]
        return Trouble(WRONG_ENTRY, {"field": ".".join(map(str, where[:1])) or SERVERS})
    except _Unset as error:
        return Trouble(UNSET, {"name": error})
    if transport is None:
        return Trouble(NO_TRANSPORT)
    enabled = frozenset(entry.enabled_tools) if entry.enabled_tools is not None else None
    return ServerConfig(name, _prefix(name, taken), transport, enabled, frozenset(entry.disabled_tools))


def _transport(entry: _Entry, environment: Mapping[str, str]) -> StdioServer | HttpServer | None:
    def filled(text: str) -> str:
        return _VARIABLE.sub(value_of, text)

    def value_of(match: re.Match[str]) -> str:
        value = environment.get(match["name"]) or match["default"]
        if value is None:
            raise _Unset(match["name"])
        return value

    def all_filled(texts: Mapping[str, str]) -> dict[str, str]:
        return {key: filled(text) for key, text in texts.items()}

    if entry.command is not None and entry.type in (None, "stdio"):
        args = tuple(map(filled, entry.args))
        cwd = filled(entry.cwd) if entry.cwd is not None else None
        return StdioServer(os.path.expanduser(filled(entry.command)), args, all_filled(entry.env), cwd)  # noqa: PTH111  # a name on the PATH is no path
    if entry.url is not None and entry.type != "stdio":
        return HttpServer(filled(entry.url), all_filled(entry.headers), entry.type == "sse")
    return None


def _prefix(name: str, taken: Iterable[str]) -> str:
    """A server's name in front of its tools' names. It holds no SEPARATOR, so no two servers' tools have one name."""
    plain = re.sub("_{2,}", "_", _UNUSABLE.sub("_", name)).strip("_") or "server"
    return plain if len(plain) <= LONGEST_PREFIX and plain not in taken else _shortened(plain, name, LONGEST_PREFIX)


def tool_names(prefix: str, tools: Iterable[str]) -> dict[str, str]:
    """What a model calls the tools of a server by: `prefix__tool`, in A-Z, a-z, 0-9, _ and -, at most 64 characters."""
    names: dict[str, str] = {}
    for tool in tools:
        name = f"{prefix}{SEPARATOR}{_UNUSABLE.sub('_', tool)}"
        if len(name) > LONGEST_NAME or name in names.values():
            name = _shortened(name, tool, LONGEST_NAME)
        names[tool] = name
    return names


def _shortened(text: str, known_as: str, length: int) -> str:
    """`text` in so many characters, told from others by a digest of what it is really called."""
    digest = hashlib.sha256(known_as.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{text[: length - _DIGEST - 1]}-{digest}"


SEARXNG = "http://localhost:8888"
"""Where SearXNG listens as its own instructions have it."""
NODE = "Node.js 22 or newer, which brings npx (https://nodejs.org)"


@dataclass(frozen=True, slots=True)
class Preset:
    """A server by the wish that it fulfils. needs: what is to be installed; entry: makes its entry of some words."""

    wish: str
    needs: str
    entry: Callable[[Sequence[str]], dict[str, object]]


def _search(given: Sequence[str]) -> dict[str, object]:
    return {"command": "npx", "args": ["-y", "mcp-searxng@2"], "env": {"SEARXNG_URL": given[0] if given else SEARXNG}}


def _pages(given: Sequence[str]) -> dict[str, object]:
    return {"command": "uvx", "args": ["mcp-server-fetch>=2026.10.24", *given]}


def _files(given: Sequence[str]) -> dict[str, object]:
    folders = [str(Path(folder).expanduser().absolute()) for folder in given or [str(Path.cwd())]]
    return {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@2026", *folders]}


PRESETS = {
    "search": Preset(
        "search the web by a SearXNG of yours",
        f"{NODE}, and SearXNG with its JSON format on (https://docs.searxng.org)",
        _search,
    ),
    "pages": Preset("read web pages", "uv, which brings uvx (https://docs.astral.sh/uv)", _pages),
    "files": Preset("read and write files in folders", NODE, _files),
}
"""By their names. They take: search the address of SearXNG, pages options of mcp-server-fetch, files the folders."""
