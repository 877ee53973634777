"""Rich messages (Bot API 10.1), in which Telegram's apps lay out tables, headings and nested lists."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, cast

import pyromark
from telegram import Bot, Message
from telegram.error import TelegramError

from bot.telegram.calls import Markup, build_message_parameters, get_chat_id
from bot.telegram.failures import parsing_answer, to_send_failure
from bot.telegram.features import ServerFeatures
from bot.telegram.rendering import OPTIONS, Event, convert_formulas, escape_invisible, find_code_spans
from memory.log.sessions import Address
from memory.runtime.preferences import PreferenceStore

_SEND = "sendRichMessage"
_FEATURE = "rich"
MAX_CHARS = 32_768
"""Maximum number of characters of a rich message. The limits below are the Bot API's as well."""
MAX_BLOCKS = 500
MAX_COLUMNS = 20
MAX_DEPTH = 16
_BLOCKS = {"Paragraph", "Heading", "BlockQuote", "CodeBlock", "List", "Item", "Table", "TableHead", "TableRow"}
_PICTURE = b"!["


@dataclass(frozen=True, slots=True)
class RichMessage:
    markdown: str

    async def send(
        self, bot: Bot, address: Address, reply_to: str | None, markup: Markup, *, preview_id: str | None, silent: bool
    ) -> str:
        content: dict[str, Any] = {"rich_message": {"markdown": self.markdown}}
        try:
            with parsing_answer():
                if preview_id is not None:
                    # The library's method always sends a text
                    only_rich = {"text": None, "entities": None, "link_preview_options": None, "reply_markup": markup}
                    await bot.edit_message_text(
                        "", get_chat_id(address), int(preview_id), api_kwargs=only_rich | content
                    )
                    return preview_id
                parameters = build_message_parameters(address, reply_to, markup, silent=silent)
                message: Message = await bot.do_api_request(_SEND, api_kwargs=parameters | content, return_type=Message)
                return str(message.message_id)
        except TelegramError as error:
            raise to_send_failure(error) from error


class RichFormat:
    """Sends answers as rich messages in chats that want it, if the server supports them."""

    def __init__(self, bot: Bot, server: ServerFeatures, preferences: PreferenceStore) -> None:
        self._bot = bot
        self._server = server
        self._preferences = preferences

    async def convert(self, address: Address, markdown: str) -> RichMessage | None:
        if not (await self._preferences.get(address.owner)).rich:
            return None
        rich = await asyncio.to_thread(convert_to_rich, markdown)
        if rich is None or not await self._server.has_method(self._bot, _FEATURE, _SEND):
            return None
        return rich


def convert_to_rich(markdown: str) -> RichMessage | None:
    """Convert Markdown to a rich message. Return None if it needs no rich layout or exceeds Telegram's limits.

    Pictures become links: Telegram would fetch them and so send their server any data that a model was tricked into
    putting into the address.
    """
    if len(markdown) > MAX_CHARS:
        return None
    source = escape_invisible(convert_formulas(markdown))
    if source is None:
        return None
    events = cast("list[Event]", list(pyromark.events_with_range(source, options=OPTIONS)))
    if not _needs_layout(events):
        return None
    text = _escape_pictures(source.encode(), list(find_code_spans(events))).decode()
    return RichMessage(text) if len(text) <= MAX_CHARS else None


def _needs_layout(events: list[Event]) -> bool:
    """Return True if there is a table, a heading, a quote or a nested list, all within Telegram's limits."""
    open_blocks: list[str] = []
    blocks, needed = 0, False
    for payload, _span in events:
        started, ended = (payload.get("Start"), payload.get("End")) if isinstance(payload, dict) else (None, None)
        if (kind := _get_kind(started)) in _BLOCKS:
            needed = needed or kind in {"Table", "Heading", "BlockQuote"} or (kind == "List" and kind in open_blocks)
            open_blocks.append(kind)
            blocks += 1
            if kind == "Table" and isinstance(started, dict) and len(started["Table"]) > MAX_COLUMNS:
                return False
            if len(open_blocks) > MAX_DEPTH or blocks > MAX_BLOCKS:
                return False
        elif _get_kind(ended) in _BLOCKS and open_blocks:
            open_blocks.pop()
    return needed


def _get_kind(part: object) -> str:
    return str(next(iter(part), "")) if isinstance(part, dict) else str(part)


def _escape_pictures(source: bytes, code: list[tuple[int, int]]) -> bytes:
    """Escape the exclamation marks of pictures outside of `code` (byte ranges), so that they become links."""
    parts, start, at = [], 0, source.find(_PICTURE)
    while at >= 0:
        if not any(first <= at < last for first, last in code):
            parts += [source[start:at], b"\\"]
            start = at
        at = source.find(_PICTURE, at + 1)
    return b"".join([*parts, source[start:]])
