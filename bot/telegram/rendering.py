"""Rendering of replies: Markdown becomes messages with entities, split after rendering, or a file if it is long."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import pyromark
import structlog
from telegram import MessageEntity
from telegramify_markdown import RenderConfig, convert, utf16_len

from config.texts import _
from memory.messages import Document
from pipeline.media.files import detect_image_type

Event = tuple[str | Mapping[str, object], Mapping[str, int]]

log = structlog.get_logger(__name__)

OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_MATH
)
"""Markdown extensions of the rendering library."""
MAX_PASSES = 6
"""Maximum number of passes that escape text. Each pass can reveal more to escape."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[^/\s]+\.[A-Za-z]{2,}(?:[/?#:]|$)")
_DEFINITION = re.compile(rb"^[ \t>*+\-\d.)]*(\[([^\]\n]+)\]):", re.MULTILINE)

_FORMULA = re.compile(
    rb"(?<!\\)(?:\\\\)*(?:\\\((?P<inline>(?:(?!\n\s*\n)[^$])+?)\\\)|\\\[(?P<display>(?:(?!\n\s*\n)[^$])+?)\\\])"
)


def escape_invisible(markdown: str) -> str | None:
    """Escape everything that would vanish from the rendered text. Return None if this takes too many passes."""
    for _round in range(MAX_PASSES):
        source = markdown.encode()
        events = cast("list[Event]", list(pyromark.events_with_range(markdown, options=OPTIONS)))
        swallowed = sorted(
            {*_find_html(events, source), *_find_empty(events), *_find_unused_definitions(events, source)}
        )
        if not swallowed:
            return markdown
        bounds = [0, *swallowed, len(source)]
        markdown = b"\\".join(source[a:b] for a, b in pairwise(bounds)).decode()
    return None


def _find_html(events: Sequence[Event], source: bytes) -> Iterator[int]:
    """Yield the offsets of raw HTML tags. Telegram shows no HTML, and people write `List<String>` and `a<b`."""
    for payload, span in events:
        if isinstance(payload, dict) and ("Html" in payload or "InlineHtml" in payload):
            for at in range(span["start"], span["end"]):
                if source[at : at + 1] == b"<":
                    yield at


def _find_empty(events: Sequence[Event]) -> Iterator[int]:
    """Yield the offsets of links and pictures without a text or a target, and of empty formulas."""
    for (payload, span), (following, _span) in pairwise([*events, ("", {})]):
        if not isinstance(payload, dict):
            continue
        kind, link = _parse_link(payload)
        is_empty = isinstance(following, dict) and following.get("End") == kind
        if link is not None and (is_empty or not _can_be_opened(link)):
            yield span["start"] + (kind == "Image")  # After the exclamation mark of a picture
        if not str(payload.get("DisplayMath", payload.get("InlineMath", "x"))).strip():
            yield from range(span["start"], span["end"])


def _find_unused_definitions(events: Sequence[Event], source: bytes) -> Iterator[int]:
    """Yield the offsets of definitions such as `[note]: text` that no link uses: they look like part of the answer."""
    matches = [match for match in _DEFINITION.finditer(source) if not match[0].endswith(b"\\")]
    if not matches:
        return
    visible = [
        (span["start"], span["end"]) for payload, span in events if isinstance(payload, dict) and _is_visible(payload)
    ]
    links = [_parse_link(payload)[1] for payload, _ in events if isinstance(payload, dict)]
    used = {str(link["id"]).casefold() for link in links if link is not None and _can_be_opened(link)}
    for match in matches:
        at = match.start(1)
        label = match[2].decode(errors="replace").casefold()
        if label not in used and not any(start <= at < end for start, end in visible):
            yield at


def _parse_link(payload: Mapping[str, object]) -> tuple[str, Mapping[str, object] | None]:
    """Return kind and data of the link or picture that an event starts, else an empty kind and None."""
    started = payload.get("Start")
    for kind in ("Link", "Image"):
        if isinstance(started, dict) and isinstance(started.get(kind), dict):
            return kind, started[kind]
    return "", None


def _can_be_opened(link: Mapping[str, object]) -> bool:
    """Return True if Telegram can open a link. It drops the targets of other links."""
    return link["link_type"] == "Email" or _ADDRESS.match(str(link["dest_url"])) is not None


def _is_visible(payload: Mapping[str, object]) -> bool:
    return not payload.keys().isdisjoint(("Text", "Code", "InlineMath", "DisplayMath", "Html", "InlineHtml"))


def convert_formulas(markdown: str) -> str:
    r"""Write `$x$` for `\(x\)` and `$$x$$` for `\[x\]`, except in code."""
    if "\\(" not in markdown and "\\[" not in markdown:
        return markdown
    source = markdown.encode()
    code = list(find_code_spans(cast("list[Event]", list(pyromark.events_with_range(markdown, options=OPTIONS)))))

    def rewritten(match: re.Match[bytes]) -> bytes:
        kind = "inline" if match["inline"] is not None else "display"
        formula, mark = match[kind].strip(), b"$" if kind == "inline" else b"$$"
        start = match.start(kind) - 2  # At the opening bracket
        if not formula or any(first < match.end() and start < last for first, last in code):
            return match[0]
        return source[match.start() : start] + mark + formula + mark

    return _FORMULA.sub(rewritten, source).decode()


def find_code_spans(events: Sequence[Event]) -> Iterator[tuple[int, int]]:
    for payload, span in events:
        if not isinstance(payload, dict):
            continue
        started = payload.get("Start")
        if "Code" in payload or started == "CodeBlock" or (isinstance(started, dict) and "CodeBlock" in started):
            yield span["start"], span["end"]


MAX_TEXT_UNITS = 4096
"""UTF-16 code units of one message (Bot API)."""

MAX_GROWTH = 2
"""Maximum ratio of rendered to source length. The indentation of deeply nested lists grows quadratically."""
_FENCE = "```"
# A chunk may only end at a paragraph or line end behind this fraction of it, so that chunks don't get tiny.
_MIN_CHUNK_FRACTION = 0.5

MAX_PARTS = 5
"""A reply of more messages than this is sent as a file, with its beginning as a message above it."""
RENDER_SECONDS = 2.0
"""Timeout for rendering. After that a reply is sent as plain text."""
MAX_FILE_CHARS = 1_000_000
"""Maximum number of characters of a reply. The rest is not sent."""
BEGINNING_UNITS = 3_000
FILE_NAME = "answer.md"
PHOTO_TYPES = ("image/jpeg", "image/png")
MAX_PHOTO_BYTES = 10_000_000
"""Maximum size of a photo (Bot API). Larger ones are sent as documents."""
MAX_CAPTION_UNITS = 1024
"""UTF-16 code units of a file's caption (Bot API)."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One message: its text and its entities, with offsets in UTF-16 code units."""

    text: str
    entities: tuple[MessageEntity, ...] = ()


def render(markdown: str, max_units: int = MAX_TEXT_UNITS) -> list[Chunk]:
    """Render Markdown to messages of at most `max_units` UTF-16 code units. Return none for blank text.

    Code that is split stays code on both sides. Text that can't be rendered, vanishes or grows too much is sent as it
    is.
    """
    text, entities = _convert(markdown)
    if not text.strip() or len(text) > MAX_GROWTH * len(markdown) + max_units:
        text, entities = markdown, []
    return list(_split(text, entities, max_units))


def _convert(markdown: str) -> tuple[str, list[MessageEntity]]:
    try:
        source = escape_invisible(convert_formulas(markdown))
        if source is None:
            return markdown, []
        text, message_entities = convert(source, latex_escape=False, config=_create_config())
        return text, [MessageEntity.de_json(entity.to_dict(), None) for entity in message_entities]
    except Exception:
        log.exception("rendering_failed")
        return markdown, []


def split_plain(markdown: str) -> list[Chunk]:
    return list(_split(markdown, [], MAX_TEXT_UNITS))


def take_end(markdown: str, max_chars: int) -> str:
    """Return the last `max_chars` characters of a text, from the start of a line if possible.

    Code that began earlier stays code.
    """
    if len(markdown) <= max_chars:
        return markdown
    at = markdown.find("\n", len(markdown) - max_chars + len(_FENCE)) + 1 or len(markdown) - max_chars
    fences = sum(line.lstrip().startswith(_FENCE) for line in markdown[:at].splitlines())
    return f"{_FENCE}\n{markdown[at:]}" if fences % 2 else markdown[at:]


def take_beginning(text: str, max_units: int) -> str:
    """Return the first `max_units` UTF-16 code units of a text, up to the end of a paragraph or line."""
    return text[: _find_chunk_end(text, 0, max_units)]


def _create_config() -> RenderConfig:
    config = RenderConfig.isolated()
    symbol = config.markdown_symbol
    symbol.heading_level_1 = symbol.heading_level_2 = symbol.heading_level_3 = symbol.heading_level_4 = ""
    symbol.unordered_list_item = "•"
    return config


def _split(text: str, entities: Sequence[MessageEntity], max_units: int) -> Iterator[Chunk]:
    start, start16 = 0, 0
    while start < len(text):
        end = _find_chunk_end(text, start, max_units)
        piece = text[start:end]
        units = utf16_len(piece)
        visible = piece.strip()
        if visible:
            # Telegram strips both ends of a message, so strip them here and shift the entities
            lead = utf16_len(piece[: len(piece) - len(piece.lstrip())])
            yield Chunk(visible, tuple(_clip(entities, start16 + lead, utf16_len(visible))))
        start, start16 = end, start16 + units


def _find_chunk_end(text: str, start: int, max_units: int) -> int:
    units, end = 0, start
    while end < len(text):
        units += 2 if ord(text[end]) > 0xFFFF else 1
        if units > max_units:
            break
        end += 1
    if end == len(text):
        return end
    floor = start + int((end - start) * _MIN_CHUNK_FRACTION)
    for boundary in ("\n\n", "\n", ". ", " "):
        at = text.rfind(boundary, floor, end)
        if at > start:
            return at + len(boundary)
    return max(end, start + 1)


def _clip(entities: Sequence[MessageEntity], start: int, length: int) -> Iterator[MessageEntity]:
    for entity in entities:
        first = max(entity.offset, start)
        last = min(entity.offset + entity.length, start + length)
        if first < last:
            yield MessageEntity(
                entity.type,
                offset=first - start,
                length=last - first,
                url=entity.url,
                language=entity.language,
                custom_emoji_id=entity.custom_emoji_id,
            )


@dataclass(frozen=True, slots=True)
class File:
    """A reply that is sent as a photo or document, or as the text `instead` if the chat accepts no files."""

    content: bytes
    instead: str
    name: str = FILE_NAME
    caption: Chunk = Chunk("")
    is_photo: bool = False


@dataclass(frozen=True, slots=True)
class VoiceNote:
    """A reply that is sent as a voice message. Its text was sent before, so no text replaces it on failure."""

    content: bytes


Part = Chunk | File | VoiceNote


async def split_reply(markdown: str) -> list[Part]:
    """Return the messages of a reply. The result is always the same for the same text and language."""
    if len(markdown) <= MAX_PARTS * MAX_TEXT_UNITS:  # Rendering removes markup, so this rarely makes too many parts
        chunks = await _render_within_timeout(markdown)
        if len(chunks) <= MAX_PARTS:
            return [*chunks]
    beginning = (await _render_within_timeout(take_beginning(markdown, BEGINNING_UNITS)))[:1]
    shortened = markdown[:MAX_FILE_CHARS]
    is_whole = shortened == markdown
    note = _("The whole answer is in this file.") if is_whole else _("The beginning of the answer is in this file.")
    return [*beginning, Chunk(f"[...] {note}"), File(shortened.encode(), shortened)]


async def with_caption(markdown: str, document: Document) -> list[Part]:
    """Return a file with a short text as its caption, or a voice message."""
    if document.is_voice:
        return [VoiceNote(document.content)]
    caption = render(markdown, MAX_CAPTION_UNITS)[0]
    refused = _("I'm not allowed to send files in this chat: allow it, then ask again.")
    is_photo = len(document.content) <= MAX_PHOTO_BYTES and detect_image_type(document.content) in PHOTO_TYPES
    return [File(document.content, refused, document.name, caption, is_photo=is_photo)]


async def _render_within_timeout(markdown: str) -> list[Chunk]:
    try:
        # A thread can't be cancelled, but the length of the text is limited
        return await asyncio.wait_for(asyncio.to_thread(render, markdown), RENDER_SECONDS)
    except TimeoutError:
        log.warning("rendering_took_too_long", characters=len(markdown))
        return split_plain(markdown)
