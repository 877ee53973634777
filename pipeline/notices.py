"""Quiet lines that wait for a session's next reply."""

from __future__ import annotations

from collections import defaultdict


class PendingNotices:
    """What background work has to tell a session's user, told under the next reply."""

    def __init__(self) -> None:
        self._lines: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, session_id: str, line: str) -> None:
        """Tell `line` with the next reply."""
        self._lines[session_id].append(line)

    def take(self, session_id: str) -> list[str]:
        """What is to be told now; it is told once."""
        return self._lines.pop(session_id, [])
