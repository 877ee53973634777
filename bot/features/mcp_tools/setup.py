"""The question of `mneme setup` for tools that need no configuration."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from bot.features.mcp_tools.cli import add_server, format_usage_hint, list_missing
from bot.features.mcp_tools.config import PRESETS, read_config
from bot.features.mcp_tools.settings import find_mcp_file
from bot.setup.questions import say
from config.loading import load_settings

OFFERED_PRESETS = ("search", "pages")
"""Presets of tools that need no configuration."""


def offer_tools(env_file: Path) -> None:
    settings = load_settings(env_file)
    path = find_mcp_file(settings)
    # An embedded model can handle only the tools of the memory
    if not settings.has_endpoint or not sys.stdin.isatty():
        return
    if not read_config(path).is_empty:
        say(f"The tools in {path} are kept: `mneme mcp` changes them.")
        return
    say("The model can use tools: " + ", ".join(f"{name} to {PRESETS[name].wish}" for name in OFFERED_PRESETS) + ".")
    while True:
        name = str(typer.prompt("Tool (empty: none)", default="", show_default=False)).strip()
        if not name:
            return
        if name in OFFERED_PRESETS:
            add_server(path, name, PRESETS[name].entry(()))
            say(" ".join([f"{name} was saved in {path}.", *list_missing(PRESETS[name]), format_usage_hint(name)]))
            return
        say(f"Enter {' or '.join(OFFERED_PRESETS)}, or nothing.")
