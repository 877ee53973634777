"""A script that finds the main text of an HTML page, in a child process. It imports nothing of Mneme.

A hostile page with deeply nested elements takes the parser minutes, and only killing the process stops that. Standard
input is the page. Standard output gets one JSON object: ``{"title": "...", "text": "..."}``. The arguments are the
charset that the server states, seconds of processor time, and bytes of memory.

The reader is a walk over selectolax, which is a dependency already. trafilatura finds the main text of more pages that
don't mark it, but needs 100 MB of packages and fails at import without the undeclared lxml_html_clean.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import logging
import os
import re
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import charset_normalizer
from selectolax.lexbor import LexborHTMLParser

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MIN_MAIN_CHARS = 200
"""If the marked main part is shorter, the text of the whole body is used."""
MAX_TITLE_CHARS = 300
_SKIPPED = frozenset(
    (
        *("script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "head", "nav", "aside"),
        *("footer", "dialog", "button", "select", "input", "textarea", "label"),
    )
)
"""Forms lose only their controls, since some sites wrap the whole page in a form."""
_SKIPPED_ROLES = frozenset(("navigation", "banner", "contentinfo", "complementary", "search"))
_MAIN = ("main", "[role=main]", "article")
_HEADINGS = {f"h{level}": f"{'#' * level} " for level in range(1, 7)}
_PREFIXES = {**_HEADINGS, "li": "- "}
_SPACED = frozenset((*_HEADINGS, "blockquote", "dl", "figure", "ol", "p", "pre", "table", "ul"))
"""Blocks with an empty line before and after them."""
_BLOCKS = _SPACED.union(
    ("address", "article", "br", "caption", "dd", "details", "div", "dt", "fieldset", "figcaption", "form", "header"),
    ("hr", "li", "main", "section", "summary", "tr"),
)
_CELLS = ("td", "th")
_CELL_END = " | "
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([a-zA-Z0-9_:.-]{1,40})""", re.IGNORECASE)
_META_BYTES = 4_096
_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SPACE = re.compile(r"\s+")


def main() -> None:
    charset, seconds, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with contextlib.suppress(OSError):
        os.nice(10)
    for limit, value in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, size), (resource.RLIMIT_FSIZE, 0)):
        with contextlib.suppress(ValueError, OSError):  # Not every system supports every limit
            resource.setrlimit(limit, (value, value))
    logging.disable(logging.CRITICAL)
    page = read_html(sys.stdin.buffer.read(), charset or None)
    sys.stdout.write(json.dumps({"title": page.title, "text": page.text}))


@dataclass(frozen=True, slots=True)
class PageText:
    """The title of a page, which may be empty, and its main text."""

    title: str
    text: str


def read_html(content: bytes, charset: str | None) -> PageText:
    """Return the main text of an HTML page. It is empty if the page consists of scripts."""
    declared = _META_CHARSET.search(content[:_META_BYTES])
    tree = LexborHTMLParser(decode(content, charset or (declared[1].decode("ascii") if declared else None)))
    title = tree.css_first("title")
    name = _SPACE.sub(" ", title.text()).strip() if title is not None else ""
    return PageText(name[:MAX_TITLE_CHARS], _find_text(tree))


def decode(content: bytes, charset: str | None) -> str:
    """Decode a text with the stated charset if it is known, and never fail."""
    for mark, name in _BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return content.decode(name, "replace")
    with contextlib.suppress(LookupError, UnicodeError):
        if charset is not None:
            return content.decode(charset, "replace")
        return codecs.getincrementaldecoder("utf-8")().decode(content)  # The end may be cut off within a character
    best = charset_normalizer.from_bytes(content[:100_000]).best()
    return content.decode(best.encoding if best is not None else "utf-8", "replace")


def _find_text(tree: LexborHTMLParser) -> str:
    for selector in _MAIN:
        found = tree.css(selector)
        if len(found) == 1:  # Several articles are a list of teasers
            text = _write(found[0], skips_header=False)
            if len(text) >= MIN_MAIN_CHARS:
                return text
    return _write(tree.body, skips_header=True) if tree.body is not None else ""


def _write(root: LexborNode, *, skips_header: bool) -> str:
    """Return the text of a node as headings, paragraphs, lists and table rows."""
    writer = _Writer()
    for node, is_end in _walk(root, skips_header=skips_header):
        tag = node.tag or ""
        if tag == "-text":
            writer.write(node.text(deep=False))
        elif tag in _CELLS:
            writer.separate_cells(is_end=is_end)
        elif tag in _BLOCKS:
            writer.break_line(with_gap=tag in _SPACED)
            writer.prefix = "" if is_end else _PREFIXES.get(tag, writer.prefix)
            writer.is_verbatim = not is_end if tag == "pre" else writer.is_verbatim
    return writer.finish()


def _walk(root: LexborNode, *, skips_header: bool) -> Iterator[tuple[LexborNode, bool]]:
    """Yield each node when it begins and when it ends. It uses no recursion, since pages may be nested very deeply."""
    stack = [(root, False)]
    while stack:
        node, is_end = stack.pop()
        yield node, is_end
        if is_end or node.tag == "-text":
            continue
        stack.append((node, True))
        children = []
        child = node.child
        while child is not None:
            if child.tag == "-text" or not _is_skipped(child, skips_header=skips_header):
                children.append((child, False))
            child = child.next
        stack += reversed(children)


def _is_skipped(node: LexborNode, *, skips_header: bool) -> bool:
    tag = node.tag or ""
    if tag in _SKIPPED or tag.startswith(("-", "!", "_")):
        return True
    if tag == "header" and skips_header:
        parent = node.parent
        return parent is None or parent.tag not in ("article", "main", "section")
    attributes = node.attributes
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or attributes.get("role") in _SKIPPED_ROLES
        or "display:none" in (attributes.get("style") or "").replace(" ", "").lower()
    )


class _Writer:
    """Joins the texts of a page to lines.

    Attributes:
        prefix: The beginning of the next line that has a text.
        is_verbatim: Keep spaces and line breaks, as in `<pre>`.
    """

    def __init__(self) -> None:
        self.prefix = ""
        self.is_verbatim = False
        self._lines: list[str] = []
        self._pieces: list[str] = []

    def write(self, text: str) -> None:
        if self.is_verbatim:
            first, *others = text.split("\n")
            self._pieces.append(first)
            for other in others:
                self._lines.append("".join(self._pieces).rstrip())
                self._pieces = [other]
            return
        if not text.strip() and not self._pieces:
            return
        if self.prefix and text.strip():
            self._pieces.append(self.prefix)
            self.prefix = ""
        self._pieces.append(text)

    def separate_cells(self, *, is_end: bool) -> None:
        if not is_end and self._pieces and self._pieces[-1] != _CELL_END:
            self._pieces.append(_CELL_END)

    def break_line(self, *, with_gap: bool) -> None:
        line = "".join(self._pieces)
        line = line.rstrip() if self.is_verbatim else _SPACE.sub(" ", line).strip().removesuffix(" |")
        self._pieces = []
        if line:
            self._lines.append(line)
        if with_gap and self._lines and self._lines[-1]:
            self._lines.append("")

    def finish(self) -> str:
        self.break_line(with_gap=False)
        return "\n".join(self._lines).strip()


if __name__ == "__main__":
    main()
