"""A reply as the messages that carry it: text with entities, split after rendering, and a long one as a file."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import pyromark
import structlog
from telegram import MessageEntity
from telegramify_markdown import RenderConfig, convert, utf16_len

from config.texts import _

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memory.messages import Document

    Event = tuple[str | Mapping[str, object], Mapping[str, int]]

log = structlog.get_logger(__name__)

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
    for _round in range(ROUNDS):
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
    for (payload, span), (following, _span) in pairwise([*events, ("", {})]):
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


LONGEST_TEXT = 4096
"""UTF-16 code units of one message (Bot API)."""

GROWTH = 2
"""So many times its own length a text may become: deeply nested lists are indented ever further."""
_FENCE = "```"
# A paragraph or a line may end a chunk only past this part of it, so that chunks don't get tiny.
_SHORTEST_CHUNK = 0.5

MOST_PARTS = 5
"""A reply in more messages than this is sent as a file, with its beginning above it."""
RENDER_SECONDS = 2.0
"""How long rendering may take; after that a reply is shown as it was written."""
LONGEST_FILE = 1_000_000
"""Characters of a reply that are sent at all."""
BEGINNING = 3_000
"""UTF-16 code units of a reply that are shown above its file."""
FILE_NAME = "answer.md"
LONGEST_CAPTION = 1024
"""UTF-16 code units of the text at a file (Bot API)."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One message: its text, and entities whose offsets count UTF-16 code units."""

    text: str
    entities: tuple[MessageEntity, ...] = ()


def render(markdown: str, longest: int = LONGEST_TEXT) -> list[Chunk]:
    """`markdown` as messages of at most `longest` UTF-16 code units; none for text without a visible character.

    Code that a boundary cuts stays code on both sides. What can't be rendered, would vanish or would grow without
    measure is shown as it was written.
    """
    text, entities = _converted(markdown)
    if not text.strip() or len(text) > GROWTH * len(markdown) + longest:
        text, entities = markdown, []
    return list(_split(text, entities, longest))


def _converted(markdown: str) -> tuple[str, list[MessageEntity]]:
    try:
        source = literal(with_dollars(markdown))
        if source is None:
            return markdown, []
        text, message_entities = convert(source, latex_escape=False, config=_config())
        return text, [MessageEntity.de_json(entity.to_dict(), None) for entity in message_entities]
    except Exception:
        log.exception("rendering_failed")
        return markdown, []


def unrendered(markdown: str) -> list[Chunk]:
    """`markdown` as messages that show it as it was written."""
    return list(_split(markdown, [], LONGEST_TEXT))


def ending(markdown: str, longest: int) -> str:
    """The end of a text in `longest` characters at most, from the beginning of a line where there is one.

    Code that began before stays code.
    """
    if len(markdown) <= longest:
        return markdown
    at = markdown.find("\n", len(markdown) - longest + len(_FENCE)) + 1 or len(markdown) - longest
    fences = sum(line.lstrip().startswith(_FENCE) for line in markdown[:at].splitlines())
    return f"{_FENCE}\n{markdown[at:]}" if fences % 2 else markdown[at:]


def cut(text: str, longest: int) -> str:
    """The beginning of `text` with at most `longest` UTF-16 code units, up to the end of a paragraph or a line."""
    return text[: _end_of_chunk(text, 0, longest)]


def _config() -> RenderConfig:
    config = RenderConfig.isolated()
    symbol = config.markdown_symbol
    symbol.heading_level_1 = symbol.heading_level_2 = symbol.heading_level_3 = symbol.heading_level_4 = ""
    symbol.unordered_list_item = "•"
    return config


def _split(text: str, entities: Sequence[MessageEntity], longest: int) -> Iterator[Chunk]:
    start, start16 = 0, 0
    while start < len(text):
        end = _end_of_chunk(text, start, longest)
        piece = text[start:end]
        units = utf16_len(piece)
        visible = piece.strip()
        if visible:
            # Telegram strips the ends of a message, so they are stripped here, with the entities
            lead = utf16_len(piece[: len(piece) - len(piece.lstrip())])
            yield Chunk(visible, tuple(_clipped(entities, start16 + lead, utf16_len(visible))))
        start, start16 = end, start16 + units


def _end_of_chunk(text: str, start: int, longest: int) -> int:
    units, end = 0, start
    while end < len(text):
        units += 2 if ord(text[end]) > 0xFFFF else 1
        if units > longest:
            break
        end += 1
    if end == len(text):
        return end
    floor = start + int((end - start) * _SHORTEST_CHUNK)
    for boundary in ("\n\n", "\n", ". ", " "):
        at = text.rfind(boundary, floor, end)
        if at > start:
            return at + len(boundary)
    return max(end, start + 1)


def _clipped(entities: Sequence[MessageEntity], start: int, length: int) -> Iterator[MessageEntity]:
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
    """What is sent as a document. instead: the text that a chat gets which takes no files."""

    content: bytes
    instead: str
    name: str = FILE_NAME
    caption: Chunk = Chunk("")  # frozen


@dataclass(frozen=True, slots=True)
class VoiceNote:
    """What is sent as a voice message. Its words have been sent as text, so nothing takes its place."""

    content: bytes


Part = Chunk | File | VoiceNote


async def laid_out(markdown: str) -> list[Part]:
    """The messages of a reply, in order; always the same ones for the same text in the same language."""
    if len(markdown) <= MOST_PARTS * LONGEST_TEXT:  # markup is shorter than what it marks: no more parts than that
        chunks = await _rendered(markdown)
        if len(chunks) <= MOST_PARTS:
            return [*chunks]
    beginning = (await _rendered(cut(markdown, BEGINNING)))[:1]
    shortened = markdown[:LONGEST_FILE]
    whole = shortened == markdown
    note = _("The whole answer is in this file.") if whole else _("The beginning of the answer is in this file.")
    return [*beginning, Chunk(f"[...] {note}"), File(shortened.encode(), shortened)]


async def captioned(markdown: str, document: Document) -> list[Part]:
    """A file with a text as its caption, which must be short; or an answer that is spoken."""
    if document.is_voice:
        return [VoiceNote(document.content)]
    caption = render(markdown, LONGEST_CAPTION)[0]
    refused = _("This chat takes no files: let me send them here, or run `mneme export` on the machine that I run on.")
    return [File(document.content, refused, document.name, caption)]


async def _rendered(markdown: str) -> list[Chunk]:
    try:
        # a thread can't be ended, but what it is given is bounded
        return await asyncio.wait_for(asyncio.to_thread(render, markdown), RENDER_SECONDS)
    except TimeoutError:
        log.warning("rendering_took_too_long", characters=len(markdown))
        return unrendered(markdown)
