"""Reads HTML pages in a child process that lives as long as the import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from config.json_stream import TooComplex
from pipeline.child import JsonChild

_SCRIPT = Path(__file__).with_name("html_child.py")
_END_SECONDS = 1.0


class PageReader:
    """Reads pages in a child process, which starts with the first page. All methods block."""

    def __init__(self) -> None:
        self._child: JsonChild | None = None

    def read(self, form: str, page: str) -> dict[str, Any]:
        """Return the content of a page as html_child.py returns it. Raises TooComplex if a page exceeds its limits."""
        if self._child is None:
            # Don't pass on the environment, which contains API keys.
            self._child = JsonChild(_SCRIPT, env={"LANG": "C.UTF-8"})
        found = self._child.ask({"format": form, "page": page})
        if not found:
            raise TooComplex("a page is too complex")
        return found

    def close(self) -> None:
        if self._child is not None:
            self._child.end(_END_SECONDS)
            self._child = None
