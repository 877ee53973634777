"""The configuration file for MCP servers, in the format that other programs use.

    {"mcpServers": {"files": {"command": "npx", "args": ["-y", "..."], "env": {"KEY": "${KEY}"}},
                    "search": {"url": "https://...", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}

`type` is stdio, http or sse, and optional. `${NAME}`, `${env:NAME}` and `${NAME:-default}` are replaced by environment
variables. `disabled`, `enabledTools` and `disabledTools` select servers and tools. `oauth` has `clientId`,
`clientSecret`, `callbackPort` and `scopes`, for servers at which programs can't register themselves. Other keys are
ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from bot.features.mcp_tools.settings import McpToolsSettings, find_mcp_file
from config.settings import Settings
from config.texts import N_, for_owner

SERVERS = "mcpServers"
MAX_TOOL_NAME_CHARS = 64
"""Limit of the model APIs for the name of a tool."""
MAX_PREFIX_CHARS = 24
SEPARATOR = "__"
_DIGEST_CHARS = 8
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]+")
_VARIABLE = re.compile(r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Trouble:
    """The reason why a server is off. It is translated when it is shown.

    Args:
        otherwise: the text for readers other than the owner, if `text` names a setting or an address.
    """

    text: str
    values: Mapping[str, object] = field(default_factory=dict)
    otherwise: str | None = None

    def __str__(self) -> str:
        return for_owner(self.text, self.otherwise or self.text, **self.values)


# Shown in chats, so these contain only the name of the file, not its path.
UNREADABLE = N_("{path} can't be read ({reason}).")
NO_JSON = N_("Line {line} of {path} isn't valid JSON: a comma or a quotation mark may be missing there.")
NO_SERVERS = N_('{path} has no servers in it: write {{"mcpServers": {{...}}}}, or use `mneme mcp add`.')
WRONG_ENTRY = N_("Its entry can't be used: {field} is missing or of the wrong kind.")
NO_TRANSPORT = N_("Its entry has neither a command nor a url: add one of them.")
UNSET_SOMEWHERE = N_("Its entry needs a variable that is not set.")
UNSET = N_("Its entry needs the variable {name}, which is not set.")


@dataclass(frozen=True, slots=True)
class StdioServer:
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The settings of a login. All are optional.

    Attributes:
        client_id: The id of a client that the user has registered with the service. None registers one at each login.
        callback_port: The port in the registered redirect address. None uses any free port.
        scopes: The scopes to ask for instead of those that the server names.
    """

    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    callback_port: int | None = None
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server at a URL.

    Attributes:
        sse: Use the HTTP+SSE transport of 2024, which some servers still need.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sse: bool = False
    oauth: OAuthClient = OAuthClient()

    @property
    def has_credentials(self) -> bool:
        """Whether the entry contains credentials. Then the server never gets an OAuth token."""
        return any(name.lower() == "authorization" for name in self.headers) or "@" in urlsplit(self.url).netloc

    @property
    def host(self) -> str:
        """The host and port, without credentials or a path."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class ServerConfig:
    name: str
    prefix: str
    transport: StdioServer | HttpServer
    enabled_tools: frozenset[str] | None = None
    disabled_tools: frozenset[str] = frozenset()

    def offers(self, tool: str) -> bool:
        return tool not in self.disabled_tools and (self.enabled_tools is None or tool in self.enabled_tools)


@dataclass(frozen=True, slots=True)
class McpConfig:
    """The content of a configuration file.

    Attributes:
        troubles: The reasons why some servers can't be used, by server name.
        trouble: The reason why the whole file can't be used.
    """

    servers: tuple[ServerConfig, ...] = ()
    troubles: Mapping[str, Trouble] = field(default_factory=dict)
    trouble: Trouble | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.servers or self.troubles or self.trouble)


def _as_text(value: object) -> object:
    return json.dumps(value) if isinstance(value, int | float) else value


Text = Annotated[str, BeforeValidator(_as_text)]


def _as_object(value: object) -> object:
    """Replace values such as `false`, by which some programs switch logins off."""
    return value if isinstance(value, dict) else {}


def _as_list(value: object) -> object:
    return value.split() if isinstance(value, str) else value


class _OAuthEntry(BaseModel):
    model_config = ConfigDict(extra="ignore")

    client_id: Text | None = Field(default=None, alias="clientId", min_length=1)
    client_secret: str | None = Field(default=None, alias="clientSecret", min_length=1)
    callback_port: int | None = Field(default=None, alias="callbackPort", ge=1, le=65_535)
    scopes: Annotated[list[str], BeforeValidator(_as_list)] = []


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
    oauth: Annotated[_OAuthEntry, BeforeValidator(_as_object)] = _OAuthEntry()
    disabled: bool = False
    enabled_tools: list[str] | None = Field(default=None, alias="enabledTools")
    disabled_tools: list[str] = Field(default=[], alias="disabledTools")


class _Unset(Exception):
    """Raised if an entry needs an environment variable that has no value."""


def read_config(path: Path, environment: Mapping[str, str] = os.environ, *, must_exist: bool = False) -> McpConfig:
    """Read a configuration file. Errors are part of the result. A missing file is empty unless `must_exist` is set."""
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
        read = _parse_server(name, raw, {server.prefix for server in servers}, environment)
        if isinstance(read, Trouble):
            troubles[name] = read
        elif read is not None:
            servers.append(read)
    return McpConfig(tuple(servers), troubles)


def read_configured(settings: Settings) -> McpConfig:
    """Read the file that the settings name. Without MCP_CONFIG it may be missing."""
    return read_config(find_mcp_file(settings), must_exist=settings.group(McpToolsSettings).mcp_config is not None)


def read_entries(path: Path) -> dict[str, object]:
    """Return the unparsed entries of a file. Raises OSError, or ValueError if it is not such a file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply") from error
    entries = document.get(SERVERS) if isinstance(document, dict) else None
    if not isinstance(entries, dict):
        raise ValueError(f"{path} has no {SERVERS}")
    return entries


def _parse_server(
    name: str, raw: object, taken: set[str], environment: Mapping[str, str]
) -> ServerConfig | Trouble | None:
    """Parse an entry. Return the reason if it can't be used, and None if it is disabled."""
    try:
        entry = _Entry.model_validate(raw)
        if entry.disabled:
            return None
        transport = _parse_transport(entry, environment)
    except ValidationError as error:
        where = error.errors(include_url=False, include_input=False)[0]["loc"]
        return Trouble(WRONG_ENTRY, {"field": ".".join(map(str, where[:1])) or SERVERS})
    except _Unset as error:
        return Trouble(UNSET, {"name": error}, otherwise=UNSET_SOMEWHERE)
    if transport is None:
        return Trouble(NO_TRANSPORT)
    if isinstance(transport, HttpServer) and not _is_address(transport.url):
        return Trouble(WRONG_ENTRY, {"field": "url"})
    enabled = frozenset(entry.enabled_tools) if entry.enabled_tools is not None else None
    return ServerConfig(name, _make_prefix(name, taken), transport, enabled, frozenset(entry.disabled_tools))


def _is_address(url: str) -> bool:
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:
        return False


def _parse_transport(entry: _Entry, environment: Mapping[str, str]) -> StdioServer | HttpServer | None:
    def fill(text: str) -> str:
        return _VARIABLE.sub(find_value, text)

    def find_value(match: re.Match[str]) -> str:
        value = environment.get(match["name"]) or match["default"]
        if value is None:
            raise _Unset(match["name"])
        return value

    def fill_all(texts: Mapping[str, str]) -> dict[str, str]:
        return {key: fill(text) for key, text in texts.items()}

    if entry.command is not None and entry.type in (None, "stdio"):
        args = tuple(map(fill, entry.args))
        cwd = fill(entry.cwd) if entry.cwd is not None else None
        # The command may be a name on the PATH, which pathlib would treat as a relative path.
        return StdioServer(os.path.expanduser(fill(entry.command)), args, fill_all(entry.env), cwd)  # noqa: PTH111
    if entry.url is not None and entry.type != "stdio":
        oauth = OAuthClient(
            fill(entry.oauth.client_id) if entry.oauth.client_id is not None else None,
            fill(entry.oauth.client_secret) if entry.oauth.client_secret is not None else None,
            entry.oauth.callback_port,
            tuple(entry.oauth.scopes),
        )
        return HttpServer(fill(entry.url), fill_all(entry.headers), entry.type == "sse", oauth)
    return None


def _make_prefix(name: str, taken: Iterable[str]) -> str:
    """Return the prefix of a server's tools. It never contains SEPARATOR, so tool names of two servers can't clash."""
    plain = re.sub("_{2,}", "_", _UNUSABLE.sub("_", name)).strip("_") or "server"
    return plain if len(plain) <= MAX_PREFIX_CHARS and plain not in taken else _shorten(plain, name, MAX_PREFIX_CHARS)


def make_tool_names(prefix: str, tools: Iterable[str]) -> dict[str, str]:
    """Map the names of a server's tools to those in requests: `prefix__tool`, with the characters that APIs allow."""
    names: dict[str, str] = {}
    for tool in tools:
        name = f"{prefix}{SEPARATOR}{_UNUSABLE.sub('_', tool)}"
        if len(name) > MAX_TOOL_NAME_CHARS or name in names.values():
            name = _shorten(name, tool, MAX_TOOL_NAME_CHARS)
        names[tool] = name
    return names


def _shorten(text: str, original: str, length: int) -> str:
    """Cut a name to `length` characters that end with a digest of the original name, which keeps it unique."""
    digest = hashlib.sha256(original.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{text[: length - _DIGEST_CHARS - 1]}-{digest}"


SEARXNG = "http://localhost:8888"
NODE = "Node.js 22 or newer, which brings npx (https://nodejs.org)"


@dataclass(frozen=True, slots=True)
class Preset:
    """A ready-made server. `entry` creates its entry from command-line arguments."""

    wish: str
    needs: str
    entry: Callable[[Sequence[str]], dict[str, object]]


def _build_search_entry(arguments: Sequence[str]) -> dict[str, object]:
    url = arguments[0] if arguments else SEARXNG
    return {"command": "npx", "args": ["-y", "mcp-searxng@2"], "env": {"SEARXNG_URL": url}}


def _build_pages_entry(arguments: Sequence[str]) -> dict[str, object]:
    return {"command": "uvx", "args": ["mcp-server-fetch>=2026.10.24", *arguments]}


def _build_files_entry(arguments: Sequence[str]) -> dict[str, object]:
    folders = [str(Path(folder).expanduser().absolute()) for folder in arguments or [str(Path.cwd())]]
    return {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@2026", *folders]}


PRESETS = {
    "search": Preset(
        "search the web by a SearXNG of yours",
        f"{NODE}, and SearXNG with its JSON format on (https://docs.searxng.org)",
        _build_search_entry,
    ),
    "pages": Preset("read web pages", "uv, which brings uvx (https://docs.astral.sh/uv)", _build_pages_entry),
    "files": Preset("read and write files in folders", NODE, _build_files_entry),
}
"""The arguments are: for `search` the address of SearXNG, for `pages` options of mcp-server-fetch, for `files` the
folders."""
