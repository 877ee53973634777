r"""Formulas in TeX's own brackets, `\(...\)` and `\[...\]`, written with dollars, which Markdown's readers know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import pyromark

from bot.telegram.literal import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Event = tuple[str | Mapping[str, object], Mapping[str, int]]

_FORMULA = re.compile(
    rb"(?<!\\)(?:\\\\)*(?:\\\((?P<inline>(?:(?!\n\s*\n)[^$])+?)\\\)|\\\[(?P<display>(?:(?!\n\s*\n)[^$])+?)\\\])"
)


def with_dollars(markdown: str) -> str:
    r"""`markdown` with `$x$` for `\(x\)` and `$$x$$` for `\[x\]`, but in code."""
    if "\\(" not in markdown and "\\[" not in markdown:
        return markdown
    source = markdown.encode()
    code = list(_code(cast("list[Event]", list(pyromark.events_with_range(markdown, options=OPTIONS)))))

    def rewritten(found: re.Match[bytes]) -> bytes:
        kind = "inline" if found["inline"] is not None else "display"
        formula, mark = found[kind].strip(), b"$" if kind == "inline" else b"$$"
        start = found.start(kind) - 2  # where its bracket begins
        if not formula or any(first < found.end() and start < last for first, last in code):
            return found[0]
        return source[found.start() : start] + mark + formula + mark

    return _FORMULA.sub(rewritten, source).decode()


def _code(events: Sequence[Event]) -> Iterator[tuple[int, int]]:
    """From where to where code stands, in bytes."""
    for payload, span in events:
        if not isinstance(payload, dict):
            continue
        started = payload.get("Start")
        if "Code" in payload or started == "CodeBlock" or (isinstance(started, dict) and "CodeBlock" in started):
            yield span["start"], span["end"]
