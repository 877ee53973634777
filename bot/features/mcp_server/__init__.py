"""Memory for other programs, through the Model Context Protocol. Imported late, since it needs the extra `mcp`."""

from __future__ import annotations

import importlib.util

from config.errors import ConfigurationError


def check_packages() -> None:
    """Raise ConfigurationError if the packages of the extra are missing."""
    if importlib.util.find_spec("mcp") is None:
        raise ConfigurationError("Serving memory to other programs needs the package mcp: see docs/mcp.md.")
