"""A script that reads the pages of HTML exports in a child process. It imports nothing of Mneme.

A hostile page can cost the parser minutes and gigabytes, and only the limits of a process stop that. Each line of
standard input is a JSON object with the format and the text of a page. Each line of output contains the messages of the
page.
"""

from __future__ import annotations

import contextlib
import json
import math
import resource
import sys
import time
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_PAGE_CPU_SECONDS = 20
"""CPU time for one page. A page of 16 MB takes three seconds."""
MAX_MEMORY_BYTES = 1024**3
_BLOCKS = ("p", "div", "ul", "ol", "table", "pre")


def main() -> None:
    for limit, value in ((resource.RLIMIT_AS, MAX_MEMORY_BYTES), (resource.RLIMIT_FSIZE, 0)):
        with contextlib.suppress(ValueError, OSError):  # Not every system supports every limit.
            resource.setrlimit(limit, (value, value))
    for line in sys.stdin.buffer:
        request = json.loads(line)
        with contextlib.suppress(ValueError, OSError):
            seconds = math.ceil(time.process_time()) + MAX_PAGE_CPU_SECONDS
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        sys.stdout.write(json.dumps(read_page(request["format"], request["page"])) + "\n")
        sys.stdout.flush()


def read_page(form: str, page: str) -> dict[str, Any]:
    """Return the content of a page.

    Args:
        form: The format of the page, "telegram" or "activity".
    """
    tree = LexborHTMLParser(page)
    if form == "telegram":
        title = tree.css_first(".page_header .text")
        return {"title": _get_text(title), "messages": [_read_message(node) for node in tree.css("div.message")]}
    return {"records": [_read_record(node) for node in tree.css(".outer-cell")]}


def _read_message(node: LexborNode) -> dict[str, Any]:
    """Read a message of Telegram. The sender is None if the message doesn't name one."""
    if "service" in _get_classes(node):
        return {"is_service": True}
    sender, forwarded, date = _find_child(node, "from_name"), _find_child(node, "forwarded"), node.css_first(".date")
    message: dict[str, Any] = {
        "id": node.attributes.get("id") or "",
        "sender": None if sender is None else _get_text(sender),
        "date": (date.attributes.get("title") if date is not None else "") or "",
        "text": _get_text(_find_child(node, "text")),
    }
    if forwarded is not None:
        origin = forwarded.css_first(".from_name")
        for details in origin.css(".details") if origin is not None else ():
            details.decompose()
        message |= {"origin": _get_text(origin), "text": _get_text(forwarded.css_first(".text"))}
    return message


def _find_child(node: LexborNode, name: str) -> LexborNode | None:
    """Return the first element with a class that belongs to the message itself, not to a forwarded message in it."""
    for found in node.css(f".{name}"):
        if "forwarded" not in _get_classes(found.parent):
            return found
    return None


def _get_classes(node: LexborNode | None) -> list[str]:
    return (node.attributes.get("class") or "").split() if node is not None else []


def _read_record(node: LexborNode) -> dict[str, str]:
    """Read an activity: its title, the date after the first line break, and then the answer."""
    header, cell = node.css_first(".header-cell"), node.css_first(".content-cell.mdl-typography--body-1")
    lines: list[str] = [""]
    answer: list[str] = []
    for child in cell.iter(include_text=True) if cell is not None else ():
        if child.tag == "br":
            lines.append("")
        elif len(lines) > 2:
            answer.append(_get_text(child))
        elif child.tag in _BLOCKS:
            lines += [""] * (3 - len(lines))
            answer.append(_get_text(child))
        else:
            lines[-1] += child.text()
    # A line break separates the title from the date.
    return {
        "title": " ".join(lines[0].split()),
        "date": lines[1].strip() if len(lines) > 1 else "",
        "answer": "\n".join(filter(None, answer)),
        "header": header.text() if header is not None else "",
    }


def _get_text(node: LexborNode | None) -> str:
    if node is None:
        return ""
    if node.tag == "-text":
        return node.text().strip()
    for line_break in node.css("br"):
        line_break.replace_with("\n")
    return node.text().strip()


if __name__ == "__main__":
    main()
