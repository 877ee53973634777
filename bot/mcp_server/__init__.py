"""Memory for other programs, by the Model Context Protocol. Its modules need the extra `mcp`, and are imported late."""

from __future__ import annotations

import importlib.util

from config.errors import ConfigurationError


def check_packages() -> None:
    """Raises ConfigurationError where the packages of the extra are missing."""
    if importlib.util.find_spec("mcp") is None:
        raise ConfigurationError("Serving memory to other programs needs the package mcp: see docs/mcp.md.")
