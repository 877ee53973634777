"""Markdown as models write it, made what the rendering library reads: formulas with dollars, and nothing swallowed."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import pyromark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Event = tuple[str | Mapping[str, object], Mapping[str, int]]

OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_MATH
)
"""The extensions that the rendering library reads Markdown with."""
ROUNDS = 6
"""How often a text is read again after something in it was made literal, which can bring up more; then it is left."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[^/\s]+\.[A-Za-z]{2,}(?:[/?#:]|$)")
_DEFINITION = re.compile(rb"^[ \t>*+\-\d.)]*(\[([^\]\n]+)\]):", re.MULTILINE)

_FORMULA = re.compile(
    rb"(?<!\\)(?:\\\\)*(?:\\\((?P<inline>(?:(?!\n\s*\n)[^$])+?)\\\)|\\\[(?P<display>(?:(?!\n\s*\n)[^$])+?)\\\])"
)


def literal(markdown: str) -> str | None:
    """`markdown` with a backslash before whatever would vanish from what is shown; None where that has no end."""
    for _ in range(ROUNDS):
        source = markdown.encode()
        events = cast("list[Event]", list(pyromark.events_with_range(markdown, options=OPTIONS)))
        swallowed = sorted({*_html(events, source), *_empty(events), *_definitions(events, source)})
        if not swallowed:
            return markdown
        bounds = [0, *swallowed, len(source)]
        markdown = b"\\".join(source[a:b] for a, b in pairwise(bounds)).decode()
    return None


def _html(events: Sequence[Event], source: bytes) -> Iterator[int]:
    """Where the marks of raw HTML begin. Telegram shows no HTML, and people write `List<String>` and `a<b`."""
    for payload, span in events:
        if isinstance(payload, dict) and ("Html" in payload or "InlineHtml" in payload):
            for at in range(span["start"], span["end"]):
                if source[at : at + 1] == b"<":
                    yield at


def _empty(events: Sequence[Event]) -> Iterator[int]:
    """Where links and pictures begin that have no text or lead nowhere, and formulas that say nothing."""
    for (payload, span), (following, _) in pairwise([*events, ("", {})]):
        if not isinstance(payload, dict):
            continue
        kind, link = _link(payload)
        is_empty = isinstance(following, dict) and following.get("End") == kind
        if link is not None and (is_empty or not _leads_somewhere(link)):
            yield span["start"] + (kind == "Image")  # behind the exclamation mark of a picture
        if not str(payload.get("DisplayMath", payload.get("InlineMath", "x"))).strip():
            yield from range(span["start"], span["end"])


def _definitions(events: Sequence[Event], source: bytes) -> Iterator[int]:
    """Where definitions begin, such as `[note]: text`, that no link refers to: they look like words of the answer."""
    matches = [match for match in _DEFINITION.finditer(source) if not match[0].endswith(b"\\")]
    if not matches:
        return
    visible = [
        (span["start"], span["end"]) for payload, span in events if isinstance(payload, dict) and _shows(payload)
    ]
    links = [_link(payload)[1] for payload, _ in events if isinstance(payload, dict)]
    used = {str(link["id"]).casefold() for link in links if link is not None and _leads_somewhere(link)}
    for match in matches:
        at = match.start(1)
        label = match[2].decode(errors="replace").casefold()
        if label not in used and not any(start <= at < end for start, end in visible):
            yield at


def _link(payload: Mapping[str, object]) -> tuple[str, Mapping[str, object] | None]:
    """What an event begins: a link or a picture, by its kind; None for anything else."""
    started = payload.get("Start")
    for kind in ("Link", "Image"):
        if isinstance(started, dict) and isinstance(started.get(kind), dict):
            return kind, started[kind]
    return "", None


def _leads_somewhere(link: Mapping[str, object]) -> bool:
    """Whether Telegram can open a link: of others it shows the words and drops where they lead."""
    return link["link_type"] == "Email" or _ADDRESS.match(str(link["dest_url"])) is not None


def _shows(payload: Mapping[str, object]) -> bool:
    return not payload.keys().isdisjoint(("Text", "Code", "InlineMath", "DisplayMath", "Html", "InlineHtml"))


def with_dollars(markdown: str) -> str:
    r"""`markdown` with `$x$` for `\(x\)` and `$$x$$` for `\[x\]`, but in code."""
    if "\\(" not in markdown and "\\[" not in markdown:
        return markdown
    source = markdown.encode()
    code = list(_code(cast("list[Event]", list(pyromark.events_with_range(markdown, options=OPTIONS)))))

    def rewritten(match: re.Match[bytes]) -> bytes:
        kind = "inline" if match["inline"] is not None else "display"
        formula, mark = match[kind].strip(), b"$" if kind == "inline" else b"$$"
        start = match.start(kind) - 2  # where its bracket begins
        if not formula or any(first < match.end() and start < last for first, last in code):
            return match[0]
        return source[match.start() : start] + mark + formula + mark

    return _FORMULA.sub(rewritten, source).decode()


def _code(events: Sequence[Event]) -> Iterator[tuple[int, int]]:
    """From where to where code stands, in bytes."""
    for payload, span in events:
        if not isinstance(payload, dict):
            continue
        started = payload.get("Start")
        if "Code" in payload or started == "CodeBlock" or (isinstance(started, dict) and "CodeBlock" in started):
            yield span["start"], span["end"]
