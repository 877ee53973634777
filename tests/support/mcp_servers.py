"""MCP servers for tests: their configuration, their log, and calls of their tools."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says

SCRIPT = str(Path(__file__).with_name("servers") / "mcp_tools.py")


class Servers:
    """The configuration file of the servers, and the log of the test server."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "mcp.json"
        self.log = folder / "server.log"
        self.log.touch()

    def __call__(self, **entries: object) -> str:
        self.path.write_text(json.dumps({"mcpServers": entries}))
        return str(self.path)

    def trial(self, **more: object) -> dict[str, object]:
        return {"command": sys.executable, "args": [SCRIPT], "env": {"MCP_TRIAL_LOG": str(self.log)}, **more}

    def list_logged(self, what: str) -> list[str]:
        return [line.removeprefix(f"{what} ") for line in self.log.read_text().splitlines() if line.startswith(what)]

    def has_logged(self, what: str, times: int) -> bool:
        """Return the log entries of a kind."""
        return len(self.list_logged(what)) == times

    def list_alive(self) -> list[str]:
        """Return the server processes that are still running."""
        return [pid for pid in self.list_logged("started") if _is_running(int(pid))]


def _is_running(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False


async def call_tools(
    person: Person, model: ModelServer, *calls: tuple[str, object], say: str = "Please do it"
) -> list[str]:
    """Have the model make calls and return their results in order."""
    before = len(model.requests)
    model.script(*(Calls((call,)) for call in calls), Says("Done."))
    assert "Done." in await person.says(say)
    return [str(request.last) for request in model.requests[before + 1 :]]


def list_offered_tools(model: ModelServer) -> list[str]:
    """Return the MCP tools in the newest request."""
    names = [tool["function"]["name"] for tool in model.requests[-1].body.get("tools", [])]
    return [name for name in names if "__" in name]


async def wait_until(condition: Callable[[], object]) -> None:
    """Wait for an effect of another process."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  # nothing tells of another process
            await asyncio.sleep(0.02)
