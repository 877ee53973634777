"""Servers that many want, each an entry of the file: they need no key and no account."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SEARXNG = "http://localhost:8888"
"""Where SearXNG listens as its own instructions have it."""
NODE = "Node.js 22 or newer, which brings npx (https://nodejs.org)"


@dataclass(frozen=True, slots=True)
class Preset:
    """A server by the wish that it fulfils. takes: what may be given to it; needs: what is to be installed.

    entry: makes its entry of what was given.
    """

    name: str
    wish: str
    takes: str
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
    preset.name: preset
    for preset in (
        Preset(
            "search",
            "search the web by a SearXNG of yours",
            f"its address, {SEARXNG} where none is given",
            f"{NODE}, and SearXNG with its JSON format on (https://docs.searxng.org)",
            _search,
        ),
        Preset(
            "pages",
            "read web pages",
            "options of mcp-server-fetch",
            "uv, which brings uvx (https://docs.astral.sh/uv)",
            _pages,
        ),
        Preset("files", "read and write files in folders", "the folders, or this one", NODE, _files),
    )
}
