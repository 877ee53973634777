"""Reads documents (plain text of every kind, and PDF) and splits their text into parts."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

import structlog

from config.texts import _
from pipeline.child import run_isolated
from pipeline.media.files import MediaUnreadable

log = structlog.get_logger(__name__)

PART_CHARS = 3_000
"""Maximum length of a part: about 750 tokens, so that a few parts fit into any window."""
MAX_DOCUMENT_CHARS = 2_000_000
"""About a thousand pages of a book. The rest of a longer document is not stored."""
MAX_PAGES = 1_000
PDF_TIMEOUT_SECONDS = 30
MAX_PDF_MEMORY_BYTES = 512_000_000
SAMPLE_BYTES = 64_000
MAX_CONCURRENT_PDFS = 3
_CHILD = Path(__file__).with_name("pdf_child.py")
_OTHERS = (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftypavif", b"BM", b"II*\x00", b"MM\x00*")
"""The beginnings of images that models don't accept."""
_CONTROLS = frozenset(range(32)) - {9, 10, 12, 13, 27}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a document. `label` names it, such as `page 3`."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a document."""

    about: str  # Its length, such as `30 pages`, and how much of it was read.
    parts: tuple[Part, ...]


class DocumentReader:
    """Reads PDFs in a child process and text in a thread."""

    def __init__(self, seconds: float = PDF_TIMEOUT_SECONDS) -> None:
        self._seconds = seconds
        self._free = asyncio.Semaphore(MAX_CONCURRENT_PDFS)

    async def read(self, name: str, content: bytes) -> Document:
        """Read a file called `name`. Raises MediaUnreadable."""
        if not content.strip():
            raise MediaUnreadable(_("{name} is empty.", name=name))
        # Like PDF readers, accept the signature anywhere in the first 1,024 bytes.
        if b"%PDF-" in content[:1024]:
            async with self._free:
                pages, count = await self._read_pages(name, content)
            return await asyncio.to_thread(_build_from_pages, name, pages, count)
        return await asyncio.to_thread(_build_from_text, name, content)

    async def _read_pages(self, name: str, content: bytes) -> tuple[list[str], int]:
        limits = (MAX_PAGES, MAX_DOCUMENT_CHARS, int(self._seconds) + 1, MAX_PDF_MEMORY_BYTES)
        try:
            child = await run_isolated(_CHILD, map(str, limits), content, self._seconds)
        except TimeoutError:
            raise MediaUnreadable(
                _(
                    "{name} took longer than {seconds} seconds to read: send only the important pages.",
                    name=name,
                    seconds=f"{self._seconds:g}",
                ),
                can_retry=True,
            ) from None
        try:
            answer = json.loads(child.stdout)
        except ValueError:  # The child exceeded one of its limits.
            log.warning("pdf_not_read", status=child.returncode)
            answer = {"error": "broken"}
        if answer.get("error") == "locked":
            raise MediaUnreadable(
                _("{name} is protected with a password, so I can't read it: send it without one.", name=name)
            )
        if "error" in answer:
            raise MediaUnreadable(
                _("{name} is damaged or too large to read: save it as a PDF again and send that.", name=name)
            )
        return answer["pages"], answer["count"]


def _build_from_pages(name: str, pages: list[str], count: int) -> Document:
    parts = []
    for number, page in enumerate(pages, 1):
        cut = split_text(f"{page.strip()}\n") if page.strip() else []
        for at, text in enumerate(cut, 1):
            parts.append(Part(f"page {number}" if len(cut) == 1 else f"page {number}, {at} of {len(cut)}", text))
    if not parts:
        raise MediaUnreadable(
            _("{name} contains only pictures of its pages and no text: send the pages as photos.", name=name)
        )
    about = "1 page" if count == 1 else f"{count:,} pages"
    return Document(about if len(pages) == count else f"{about}, of which I read {len(pages):,}", tuple(parts))


def _build_from_text(name: str, content: bytes) -> Document:
    text = _decode(content)
    if text is None:
        if _is_other_image(content):
            raise MediaUnreadable(
                _("{name} isn't a picture that I can open: send it as a photo, not as a file.", name=name)
            )
        raise MediaUnreadable(_("I can't read {name}: I can read text files of any kind, and PDF.", name=name))
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not text:  # The file may contain only a byte order mark.
        raise MediaUnreadable(_("{name} is empty.", name=name))
    lines = text.count("\n") + 1
    about = "1 line" if lines == 1 else f"{lines:,} lines"
    if len(text) > MAX_DOCUMENT_CHARS:
        text = text[:MAX_DOCUMENT_CHARS]
        about = f"{about}, of which I read {text.count(chr(10)):,}"
    parts, line = [], 1
    for piece in split_text(text):
        last = line + piece.removesuffix("\n").count("\n")
        parts.append(Part(f"line {line}" if line == last else f"lines {line} to {last}", piece))
        line += piece.count("\n")
    return Document(about, tuple(parts))


def split_text(text: str) -> list[str]:
    """Split text into pieces, between lines if possible, or else between words. Joined, the pieces give the text."""
    results = []
    start = 0
    while len(text) - start > PART_CHARS:
        half, end = start + PART_CHARS // 2, start + PART_CHARS
        at = max(text.rfind("\n", half, end), 0) or max(text.rfind(" ", half, end), 0) or end - 1
        results.append(text[start : at + 1])
        start = at + 1
    return [*results, text[start:]] if start < len(text) else results


def _decode(content: bytes) -> str | None:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    if not _CONTROLS.isdisjoint(content[:SAMPLE_BYTES]):
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        import charset_normalizer

        best = charset_normalizer.from_bytes(content[:SAMPLE_BYTES]).best()
        return None if best is None else content.decode(best.encoding, "replace")


def _is_other_image(content: bytes) -> bool:
    # The brands of HEIF and AVIF follow a length of four bytes.
    return content[4:12] in _OTHERS or any(content.startswith(other) for other in _OTHERS[4:])
