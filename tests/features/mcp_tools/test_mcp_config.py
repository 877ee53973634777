"""Tests of the MCP configuration file: entries are read or reported, and tool names are valid."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.features.mcp_tools.config import HttpServer, OAuthClient, StdioServer, make_tool_names, read_config

TAKEN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    [
        "command",
        "args",
        "env",
        "cwd",
        "url",
        "headers",
        "type",
        "disabled",
        "enabledTools",
        "disabledTools",
        "oauth",
        "other",
    ]
)
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@in_one_folder
@given(st.lists(st.text(), min_size=1, max_size=4, unique=True), st.lists(st.text(), max_size=6, unique=True))
def test_tool_names_are_unique_and_valid_for_endpoints(tmp_path: Path, servers: list[str], tools: list[str]) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {name: {"command": "x"} for name in servers}}))
    config = read_config(path)
    assert len(config.servers) == len(servers)
    names = [name for server in config.servers for name in make_tool_names(server.prefix, tools).values()]
    assert len(set(names)) == len(servers) * len(tools)
    assert all(TAKEN.fullmatch(name) for name in names)


@in_one_folder
@given(st.dictionaries(st.text(), st.dictionaries(FIELDS, ANYTHING, max_size=4) | ANYTHING, max_size=3))
def test_any_entry_is_read_disabled_or_reported(tmp_path: Path, entries: dict[str, object]) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": entries}))
    config = read_config(path, {})
    assert config.trouble is None
    read = [server.name for server in config.servers]
    assert set(read) | set(config.troubles) <= set(entries)
    assert not set(read) & set(config.troubles)
    assert all(str(trouble) for trouble in config.troubles.values())


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"mcpServers": 7}', '{"servers": {}}', "\ufeff{", '{"mcpServers": {"a": 1e999}}']
)
def test_any_file_is_read_without_an_exception(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    config = read_config(path)
    assert config.trouble is not None or config.troubles
    assert not config.servers


def test_entries_of_other_programs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(
        "\ufeff"
        + json.dumps(
            {
                "theme": "dark",
                "mcpServers": {
                    "a": {"command": "npx", "args": ["-y", "x", 8080], "env": {"PORT": 1, "KEY": "${KEY}"}},
                    "b": {"type": "http", "url": "https://x.example/${PATH_PART:-mcp}", "headers": {"X": "${env:KEY}"}},
                    "c": {"type": "sse", "serverUrl": "http://x.example/sse", "autoApprove": ["look"]},
                    "d": {"command": "x", "disabled": True},
                    "e": {"command": "x", "env": {"KEY": "${MISSING}"}},
                    "f": {"url": "ftp://x.example"},
                    "g": {"url": "https://x.example", "oauth": False},
                    "h": {
                        "url": "https://x.example",
                        "oauth": {"clientId": "mine", "clientSecret": "${KEY}", "scopes": "mail calendar", "x": 1},
                    },
                    "i": {"url": "https://[x.example"},
                },
            }
        )
    )
    config = read_config(path, {"KEY": "secret"})
    assert {server.name: server.transport for server in config.servers} == {
        "a": StdioServer("npx", ("-y", "x", "8080"), {"PORT": "1", "KEY": "secret"}),
        "b": HttpServer("https://x.example/mcp", {"X": "secret"}),
        "c": HttpServer("http://x.example/sse", sse=True),
        "g": HttpServer("https://x.example"),
        "h": HttpServer("https://x.example", oauth=OAuthClient("mine", "secret", None, ("mail", "calendar"))),
    }
    assert {name: str(trouble) for name, trouble in config.troubles.items()} == {
        "e": "Its entry needs the variable MISSING, which is not set.",
        "f": "Its entry can't be used: url is missing or of the wrong kind.",
        "i": "Its entry can't be used: url is missing or of the wrong kind.",
    }
    assert "secret" not in repr(config)
