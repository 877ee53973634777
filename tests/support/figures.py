"""Parser of the /status message: groups with figures by label and sentences."""

from __future__ import annotations

import re


def parse_figures(status: str) -> dict[str, dict[str, str]]:
    """Return the values by group and label. `%` is the bar, and sentences are below the empty label."""
    found: dict[str, dict[str, str]] = {}
    for group in status.split("\n\n"):
        title, *lines = group.splitlines()
        rows = found[title.strip("*")] = {}
        if lines and lines[0] == "```":
            end = lines.index("```", 1)
            for line in lines[1:end]:
                if share := re.fullmatch(r"[█░]+ +(\d+%)", line):
                    rows["%"] = share[1]
                else:
                    label, value = re.split(r" {2,}|(?<=\S) (?=\S+$)", line, maxsplit=1)
                    rows[label] = value
            lines = lines[end + 1 :]
        if lines:
            rows[""] = "\n".join(lines)
    return found
