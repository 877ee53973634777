"""An answer as a rich message (Bot API 10.1), which Telegram's own apps lay out: tables, headings, lists in lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pyromark
from telegram import Message
from telegram.error import TelegramError

from bot.telegram.calls import chat_of, explained, placed_at, readable
from bot.telegram.rendering import OPTIONS, code_spans, literal, with_dollars

if TYPE_CHECKING:
    from telegram import Bot

    from bot.telegram.calls import Markup
    from bot.telegram.rendering import Event
    from memory.log.sessions import Address

SEND = "sendRichMessage"
LONGEST = 32_768
"""Characters of a rich message, and below what it may have of each (Bot API)."""
MOST_BLOCKS = 500
MOST_COLUMNS = 20
DEEPEST = 16
_BLOCKS = {"Paragraph", "Heading", "BlockQuote", "CodeBlock", "List", "Item", "Table", "TableHead", "TableRow"}
_PICTURE = b"!["


@dataclass(frozen=True, slots=True)
class Rich:
    """A reply that Telegram lays out itself."""

    markdown: str


def as_rich(markdown: str) -> Rich | None:
    """A text as one rich message; None where it has nothing that only such a message shows, or more than one may have.

    Pictures become links: Telegram would fetch them, and so tell their server what a model was made to write into the
    address.
    """
    if len(markdown) > LONGEST:
        return None
    source = literal(with_dollars(markdown))
    if source is None:
        return None
    events = cast("list[Event]", list(pyromark.events_with_range(source, options=OPTIONS)))
    if not _needs_layout(events):
        return None
    text = _without_pictures(source.encode(), list(code_spans(events))).decode()
    return Rich(text) if len(text) <= LONGEST else None


def _needs_layout(events: list[Event]) -> bool:
    """Whether there is a table, a heading, a quote or a list in a list, all within Telegram's limits."""
    open_blocks: list[str] = []
    blocks, needed = 0, False
    for payload, _span in events:
        started, ended = (payload.get("Start"), payload.get("End")) if isinstance(payload, dict) else (None, None)
        if (kind := _kind(started)) in _BLOCKS:
            needed = needed or kind in {"Table", "Heading", "BlockQuote"} or (kind == "List" and kind in open_blocks)
            open_blocks.append(kind)
            blocks += 1
            if kind == "Table" and isinstance(started, dict) and len(started["Table"]) > MOST_COLUMNS:
                return False
            if len(open_blocks) > DEEPEST or blocks > MOST_BLOCKS:
                return False
        elif _kind(ended) in _BLOCKS and open_blocks:
            open_blocks.pop()
    return needed


def _kind(part: object) -> str:
    """What an event begins or ends."""
    return str(next(iter(part), "")) if isinstance(part, dict) else str(part)


def _without_pictures(source: bytes, code: list[tuple[int, int]]) -> bytes:
    """Markdown whose pictures are links behind an exclamation mark. code: where it stands, and stays as it is."""
    parts, begun, at = [], 0, source.find(_PICTURE)
    while at >= 0:
        if not any(first <= at < last for first, last in code):
            parts += [source[begun:at], b"\\"]
            begun = at
        at = source.find(_PICTURE, at + 1)
    return b"".join([*parts, source[begun:]])


async def send_rich(
    bot: Bot,
    address: Address,
    rich: Rich,
    reply_to: str | None,
    markup: Markup,
    *,
    preview_id: str | None = None,
    silent: bool = False,
) -> str:
    """Send a rich message, or turn the message `preview_id` into it; its id. Raises SendFailed."""
    content: dict[str, Any] = {"rich_message": {"markdown": rich.markdown}}
    try:
        with readable():
            if preview_id is not None:
                # the library's own method knows texts only
                only_rich = {"text": None, "entities": None, "link_preview_options": None, "reply_markup": markup}
                await bot.edit_message_text("", chat_of(address), int(preview_id), api_kwargs=only_rich | content)
                return preview_id
            where = placed_at(address, reply_to, markup, silent=silent)
            message: Message = await bot.do_api_request(SEND, api_kwargs=where | content, return_type=Message)
            return str(message.message_id)
    except TelegramError as error:
        raise explained(error) from error
