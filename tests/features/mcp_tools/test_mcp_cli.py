"""Tests of `mneme mcp add|list|test|remove`."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tests.support.mcp_servers import SCRIPT, Servers
from tests.support.starter import run_mneme

ROOT = Path(__file__).parents[3]


class Shell:
    """Runs `mneme mcp` in a process, so that a server inherits its standard error."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "data" / "mcp.json"

    def run(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        """Return exit status, standard output and standard error."""
        return run_mneme("mcp", *arguments, environment=os.environ | environment)

    def run_successfully(self, *arguments: str) -> str:
        """Run a command that must succeed and return its standard output."""
        status, out, err = self.run(*arguments)
        assert status == 0, err
        return out

    @property
    def entries(self) -> dict[str, object]:
        """Return the servers in the file."""
        entries: dict[str, object] = json.loads(self.file.read_text())["mcpServers"]
        return entries


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_mcp_server_is_added_tested_and_removed(shell: Shell, tmp_path: Path) -> None:
    servers = Servers(tmp_path)
    assert "There are no servers" in shell.run("list")[2]
    log = f"MCP_TRIAL_LOG={servers.log}"
    assert "Try it with `mneme mcp test trial`" in shell.run_successfully(
        "add", "trial", "--env", log, "--", sys.executable, SCRIPT
    )
    assert shell.entries == {
        "trial": {"command": sys.executable, "args": [SCRIPT], "env": {"MCP_TRIAL_LOG": str(servers.log)}}
    }
    assert stat.S_IMODE(shell.file.stat().st_mode) == 0o600
    tried = shell.run_successfully("test", "trial").splitlines()
    assert tried[0] == "trial works, with 11 tools:"
    assert "  trial__look  only reads" in tried
    assert "  trial__write  asks first" in tried
    assert servers.list_alive() == []
    assert "trial was removed from" in shell.run_successfully("remove", "trial")
    assert shell.entries == {}
    assert shell.run("remove", "trial")[0] == 1


def test_mcp_server_error_output_is_shown_on_failure(shell: Shell) -> None:
    shell.run_successfully("add", "broken", "--", sys.executable, "-c", "raise SystemExit('no key was given')")
    status, out, err = shell.run("test")
    assert (status, out) == (1, "broken: Its program has stopped: `mneme mcp test broken` shows its messages.\n")
    assert "no key was given" in err


def test_mcp_address_is_stored_and_its_secrets_not_listed(shell: Shell) -> None:
    url = "https://user:s3cret@x.example/mcp?key=s3cret"
    shell.run_successfully(
        "add", "web", "--url", url, "--header", "Authorization: Bearer ${T}", "--header", "X-Key=${T}"
    )
    assert shell.entries["web"] == {"url": url, "headers": {"Authorization": "Bearer ${T}", "X-Key": "${T}"}}
    assert "needs the variable T" in shell.run_successfully("list")
    assert shell.run("list", T="s3cret-value")[1] == "web  x.example\n"


def test_mcp_presets_write_their_entries(shell: Shell, tmp_path: Path) -> None:
    assert "SearXNG" in shell.run_successfully("add", "--preset", "search", "http://localhost:8080")
    assert "uvx" in shell.run_successfully("add", "--preset", "pages", "--", "--allow-private-ips")
    shell.run_successfully("add", "--preset", "files", "notes")
    assert shell.entries == {
        "search": {"command": "npx", "args": ["-y", "mcp-searxng@2"], "env": {"SEARXNG_URL": "http://localhost:8080"}},
        "pages": {"command": "uvx", "args": ["mcp-server-fetch>=2026.10.24", "--allow-private-ips"]},
        "files": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem@2026", str(tmp_path / "notes")],
        },
    }


def test_mcp_file_keeps_other_content_and_invalid_files_unchanged(shell: Shell) -> None:
    shell.file.parent.mkdir()
    shell.file.write_text('{"theme": "dark"}')
    shell.run_successfully("add", "a", "--", "x")
    assert json.loads(shell.file.read_text()) == {"theme": "dark", "mcpServers": {"a": {"command": "x", "args": []}}}
    for broken in ("{not json", "[]", '{"mcpServers": 7}'):
        shell.file.write_text(broken)
        status, _, err = shell.run("add", "b", "--", "x")
        assert status == 1
        assert "correct it first" in err
        assert shell.file.read_text() == broken


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("add",), "Give a name"),
        (("add", "a"), "Give a name"),
        (("add", "a", "--url", "http://x.example", "--", "x"), "Give a name"),
        (("add", "--preset", "serch"), "There is no preset serch: choose one of search, pages, files."),
        (("add", "a", "--env", "KEY", "--", "x"), "NAME=VALUE"),
        (("test", "a"), "a is not in"),
    ],
)
def test_mcp_wrong_usage_is_one_sentence(shell: Shell, arguments: tuple[str, ...], complaint: str) -> None:
    status, out, err = shell.run(*arguments)
    assert (status, out) == (1, "")
    assert complaint in err
    assert len(err.splitlines()) == 1
    assert not shell.file.exists()
