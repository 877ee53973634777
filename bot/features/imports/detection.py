"""Finds the readers for the parts of a file, or explains why Mneme can't read it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import date
from zoneinfo import ZoneInfo

from bot.features.imports.agents import HermesReader, MarkdownReader, NanobotReader, OpenClawReader
from bot.features.imports.chatgpt import ChatGptReader
from bot.features.imports.claude import ClaudeReader
from bot.features.imports.gemini import GeminiReader
from bot.features.imports.gemini_html import GeminiHtmlReader
from bot.features.imports.items import ImportRefused
from bot.features.imports.memories import McpMemoryReader, Mem0Reader, PastedListReader
from bot.features.imports.source import DAMAGED, SOURCE_ERRORS, ImportSource, PartKind, Reader
from bot.features.imports.telegram import TelegramReader
from bot.features.imports.telegram_html import TelegramHtmlReader
from bot.features.imports.unsupported import find_unsupported_format
from bot.features.imports.whatsapp import WhatsAppReader
from config.json_stream import TooComplex
from config.texts import N_, _

_PROGRAMS = "ChatGPT, Claude, Gemini, Telegram, WhatsApp, OpenClaw, nanobot, Hermes, mem0, MCP memory, Markdown"
Found = Sequence[tuple[Reader, Sequence[str]]]
"""The readers for a file, with the names of their parts."""
_TOO_COMPLEX = N_("{file} has more nesting or longer values than a real export: nothing was imported.")


def detect_readers(source: ImportSource, zone: ZoneInfo, today: date) -> Found:
    """Return the readers for the parts of a file. Raise ImportRefused for an unknown format.

    Args:
        zone: The time zone for times that don't state one.
        today: The current date in this zone. Later dates are errors.
    """
    readers: tuple[Reader, ...] = (
        ChatGptReader(),
        ClaudeReader(),
        TelegramHtmlReader(zone),  # Before TelegramReader, since resolving.py needs the chats without ids first.
        TelegramReader(zone),
        GeminiReader(),
        GeminiHtmlReader(zone, today),
        Mem0Reader(),
        McpMemoryReader(),
        WhatsAppReader(zone, today),
        PastedListReader(),
        NanobotReader(zone),
        HermesReader(),
        OpenClawReader(),
    )
    found: list[tuple[Reader, Sequence[str]]] = []
    taken: set[str] = set()
    with readable(source):
        for reader in readers:
            if names := [name for name in reader.find(source) if name not in taken]:
                found.append((reader, names))
                taken.update(names)
        # Other exports may contain Markdown files too.
        if not found and (names := MarkdownReader().find(source)):
            found.append((MarkdownReader(), names))
    if not found:
        raise _refuse_unknown(source)
    return found


def _refuse_unknown(source: ImportSource) -> ImportRefused:
    """Return the error for a file without anything to import."""
    for name in () if source.has_too_complex else source.find_kind(PartKind.JSON):
        if unsupported := find_unsupported_format(source.detect_prefixes(name)):
            sentence = _(unsupported.refusal, file=source.path.name, program=unsupported.program)
            return ImportRefused(sentence, is_export=True)
    if any(map(source.is_empty_export, source.find_kind(PartKind.JSON))):
        sentence = _(
            "{file} is an export without messages: nothing was imported. Export again, and choose what to include.",
            file=source.path.name,
        )
        return ImportRefused(sentence, is_export=True)
    return ImportRefused(_explain_unknown(source))


def _explain_unknown(source: ImportSource) -> str:
    file = source.path.name
    if source.has_too_complex:
        return _(_TOO_COMPLEX, file=file)
    if source.find_kind(PartKind.HTML):
        return _(
            "{file} is a web page, which I can't read: nothing was imported. Export again as JSON, or send the whole"
            " export.",
            file=file,
        )
    if not source.names:
        return _("{file} contains no files: nothing was imported. Send the whole export.", file=file)
    return _(
        "{file} isn't an export that I can read ({known}): nothing was imported. Send the file exactly as the program"
        " exported it.",
        file=file,
        known=_PROGRAMS,
    )


@contextlib.contextmanager
def readable(source: ImportSource, *, is_export: bool = False) -> Iterator[None]:
    """Raise ImportRefused for the errors of a damaged or malicious file.

    Args:
        is_export: Whether the file is known to be an export.
    """
    try:
        yield
    except ImportRefused as refusal:
        refusal.is_export |= is_export
        raise
    except TooComplex as error:
        raise ImportRefused(_(_TOO_COMPLEX, file=source.path.name), is_export=is_export) from error
    except SOURCE_ERRORS as error:
        raise ImportRefused(_(DAMAGED, file=source.path.name), is_export=is_export) from error
