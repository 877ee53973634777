"""`mneme mcp add|list|test|remove`: the servers whose tools the bot may use."""

from __future__ import annotations

import typer

mcp_cli = typer.Typer(help="Tools of MCP servers: add, list, test, remove.", no_args_is_help=True)
