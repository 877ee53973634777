"""The text of a document, in parts that can be read one by one: plain text of every kind, and PDF."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import structlog

from config.texts import _
from memory.media.media import Part
from pipeline.media.files import MediaUnreadable, is_other_image

log = structlog.get_logger(__name__)

PART_CHARACTERS = 3_000
"""How long a part gets: some 750 tokens, so that a few of them fit into every window."""
MOST_CHARACTERS = 2_000_000
"""Characters of a document that are stored: a thousand pages of a book."""
MOST_PAGES = 1_000
PDF_SECONDS = 30
"""How long reading a PDF may take."""
PDF_MEMORY = 512_000_000
"""Bytes that it may take for that."""
SAMPLE = 64_000
"""Bytes that are looked at to tell in which characters a text is written."""
AT_ONCE = 3
"""PDFs that are read at the same time."""
_CHILD = Path(__file__).with_name("pdf_child.py")
_CONTROLS = frozenset(range(32)) - {9, 10, 12, 13, 27}


@dataclass(frozen=True, slots=True)
class Document:
    """What is in a document. about: how much that is, such as `30 pages`, and what of it was not read."""

    about: str
    parts: tuple[Part, ...]


class DocumentReader:
    """Reads documents off the event loop: PDFs in a process of their own, text in a thread."""

    def __init__(self, seconds: float = PDF_SECONDS) -> None:
        self._seconds = seconds
        self._free = asyncio.Semaphore(AT_ONCE)

    async def read(self, name: str, content: bytes) -> Document:
        """The document in a file called `name`. Raises MediaUnreadable."""
        if not content.strip():
            raise MediaUnreadable(_("{name} is empty.", name=name))
        # PDF readers look for the mark in the first 1,024 bytes, too
        if b"%PDF-" in content[:1024]:
            async with self._free:
                pages, count = await self._pages(name, content)
            return await asyncio.to_thread(_of_pages, name, pages, count)
        return await asyncio.to_thread(_of_text, name, content)

    async def _pages(self, name: str, content: bytes) -> tuple[list[str], int]:
        limits = (MOST_PAGES, MOST_CHARACTERS, int(self._seconds) + 1, PDF_MEMORY)
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            str(_CHILD),
            *map(str, limits),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # nothing of the bot's own environment, which holds keys
            env={"LANG": "C.UTF-8"},
        )
        try:
            async with asyncio.timeout(self._seconds):
                text, _errors = await child.communicate(content)
        except TimeoutError:
            raise MediaUnreadable(
                _(
                    "{name} took longer than {seconds} seconds to read: send the pages that matter.",
                    name=name,
                    seconds=f"{self._seconds:g}",
                )
            ) from None
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        try:
            answer = json.loads(text)
        except ValueError:  # it was ended by one of its limits
            log.warning("pdf_not_read", status=child.returncode)
            answer = {"error": "broken"}
        if answer.get("error") == "locked":
            raise MediaUnreadable(
                _("{name} opens with a password only, so I can't read it; send it without one.", name=name)
            )
        if "error" in answer:
            raise MediaUnreadable(
                _("{name} is damaged, or too large to read: save it anew as PDF and send that.", name=name)
            )
        return answer["pages"], answer["count"]


def _of_pages(name: str, pages: list[str], count: int) -> Document:
    parts = []
    for number, page in enumerate(pages, 1):
        cut = pieces(f"{page.strip()}\n") if page.strip() else []
        for at, text in enumerate(cut, 1):
            parts.append(Part(f"page {number}" if len(cut) == 1 else f"page {number}, {at} of {len(cut)}", text))
    if not parts:
        raise MediaUnreadable(
            _("{name} has pictures of its pages and no text in it: send the pages as photos.", name=name)
        )
    about = "1 page" if count == 1 else f"{count:,} pages"
    return Document(about if len(pages) == count else f"{about}, of which I read {len(pages):,}", tuple(parts))


def _of_text(name: str, content: bytes) -> Document:
    text = _decoded(content)
    if text is None:
        if is_other_image(content):
            raise MediaUnreadable(
                _("{name} is no picture that I can look at: send it as a photo, not as a file.", name=name)
            )
        raise MediaUnreadable(_("I can't read {name}: of documents I read text of every kind, and PDF.", name=name))
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not text:  # such as a mark of the byte order alone
        raise MediaUnreadable(_("{name} is empty.", name=name))
    lines = text.count("\n") + 1
    about = "1 line" if lines == 1 else f"{lines:,} lines"
    if len(text) > MOST_CHARACTERS:
        text, about = text[:MOST_CHARACTERS], f"{about}, of which I read {text[:MOST_CHARACTERS].count(chr(10)):,}"
    parts, line = [], 1
    for piece in pieces(text):
        last = line + piece.removesuffix("\n").count("\n")
        parts.append(Part(f"line {line}" if line == last else f"lines {line} to {last}", piece))
        line += piece.count("\n")
    return Document(about, tuple(parts))


def pieces(text: str) -> list[str]:
    """`text` in pieces that make it up again, cut between lines where that is possible, or else between words."""
    results = []
    start = 0
    while len(text) - start > PART_CHARACTERS:
        half, end = start + PART_CHARACTERS // 2, start + PART_CHARACTERS
        at = max(text.rfind("\n", half, end), 0) or max(text.rfind(" ", half, end), 0) or end - 1
        results.append(text[start : at + 1])
        start = at + 1
    return [*results, text[start:]] if start < len(text) else results


def _decoded(content: bytes) -> str | None:
    """The text in a file; None where it is none."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    if not _CONTROLS.isdisjoint(content[:SAMPLE]):
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        import charset_normalizer

        best = charset_normalizer.from_bytes(content[:SAMPLE]).best()
        return None if best is None else content.decode(best.encoding, "replace")
