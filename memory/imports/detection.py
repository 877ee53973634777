"""Which program a file comes from, by what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.texts import _
from memory.imports.agents import HermesReader, MarkdownReader, NanobotReader, OpenClawReader
from memory.imports.chatgpt import ChatGptReader
from memory.imports.claude import ClaudeReader
from memory.imports.gemini import GeminiReader
from memory.imports.items import ImportRefused
from memory.imports.memories import McpMemoryReader, Mem0Reader, PastedListReader
from memory.imports.source import BROKEN
from memory.imports.telegram import TelegramReader
from memory.imports.whatsapp import WhatsAppReader

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from memory.imports.items import Reader
    from memory.imports.source import ImportSource

KNOWN = "ChatGPT, Claude, Gemini, Telegram, WhatsApp, OpenClaw, nanobot, Hermes, mem0, MCP memory, Markdown"


def detected(source: ImportSource, zone: ZoneInfo) -> Reader:
    """The reader of a file. zone: where its clock stood, if it does not say. Raises ImportRefused for a foreign one."""
    readers: tuple[Reader, ...] = (
        ChatGptReader(),
        ClaudeReader(),
        TelegramReader(),
        GeminiReader(),
        Mem0Reader(),
        NanobotReader(zone),
        McpMemoryReader(),
        WhatsAppReader(zone),
        PastedListReader(),
        HermesReader(),
        OpenClawReader(),
        MarkdownReader(),  # the last: each of those before it may have such notes too
    )
    try:
        for reader in readers:
            if reader.detects(source):
                return reader
    except BROKEN as error:
        raise ImportRefused(_("{file} is damaged: nothing was imported.", file=source.path.name)) from error
    raise ImportRefused(
        _("{file} is no export that I know ({known}): nothing was imported.", file=source.path.name, known=KNOWN)
    )
