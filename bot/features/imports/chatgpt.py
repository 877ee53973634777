"""The reader for ChatGPT's export: conversations.json or conversations-NNN.json, arrays of message trees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from bot.features.imports.items import ImportedConversation, ImportedMessage, Item, SkippedItem, parse_timestamp
from bot.features.imports.source import ImportSource
from config.texts import N_

# The placeholder of a citation, which the page shows as a link.
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201")
_SPOKEN = frozenset({"text", "multimodal_text", "code"})
"""Content types of messages. Others are reasoning, tool results and settings."""


class ChatGptReader:
    name = "ChatGPT"

    def detects(self, source: ImportSource) -> bool:
        return bool(source.find_json("item.mapping"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        """Yield the branch of each conversation that was shown last."""
        for name in source.find_json("item.mapping"):
            # `map` releases each conversation before it reads the next one.
            yield from map(_parse_conversation, source.read_items(name, "item"))


def _parse_conversation(data: Any) -> Item:  # parsed JSON
    if not isinstance(data, dict) or not isinstance(data.get("mapping"), dict):
        raise ValueError("a conversation has no messages")
    source_id = data.get("conversation_id") or data.get("id")
    messages = tuple(_parse_messages(data, data["mapping"]))
    if not isinstance(source_id, str) or not messages:
        return SkippedItem(N_("conversations without a message"))
    return ImportedConversation(source_id, messages)


def _parse_messages(data: dict[str, Any], nodes: dict[str, Any]) -> Iterator[ImportedMessage]:
    at = _parse_moment(data.get("create_time")) or datetime.fromtimestamp(0, UTC)
    for node in _find_branch(data.get("current_node"), nodes):
        message = node.get("message")
        if not isinstance(message, dict) or not _is_shown(message):
            continue
        # A message without a time gets that of the previous one.
        at = _parse_moment(message.get("create_time")) or at
        if text := _parse_text(message.get("content")):
            yield ImportedMessage(text, at, by_assistant=message["author"]["role"] == "assistant")


def _find_branch(newest: object, nodes: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the nodes from the first to the one shown last, or to the newest leaf if that is unknown."""
    if not isinstance(newest, str) or newest not in nodes:
        leaves = [key for key, node in nodes.items() if isinstance(node, dict) and not node.get("children")]
        newest = max(leaves, key=lambda key: _get_time(nodes[key]), default=None)
    branch: list[dict[str, Any]] = []
    seen: set[str] = set()
    # `seen` stops at cycles.
    while isinstance(newest, str) and newest not in seen and isinstance(node := nodes.get(newest), dict):
        seen.add(newest)
        branch.append(node)
        newest = node.get("parent")
    return branch[::-1]


def _get_time(node: dict[str, Any]) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, dict) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _is_shown(message: dict[str, Any]) -> bool:
    """Return True if a message is from the user, or from the assistant to the user."""
    author, metadata = message.get("author"), message.get("metadata") or {}
    role = author.get("role") if isinstance(author, dict) else None
    to_all = message.get("recipient") in (None, "all")
    return role in ("user", "assistant") and to_all and not metadata.get("is_visually_hidden_from_conversation")


def _parse_text(content: object) -> str:
    if not isinstance(content, dict) or content.get("content_type") not in _SPOKEN:
        return ""
    parts = content.get("parts")
    pieces = [_parse_part(part) for part in parts] if isinstance(parts, list) else [content.get("text")]
    return _CITATION.sub("", "\n".join(piece for piece in pieces if isinstance(piece, str) and piece)).strip()


def _parse_part(part: object) -> object:
    """Return text, or the transcript of a voice message. Pictures and files have none."""
    if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
        return part.get("text")
    return part


def _parse_moment(value: object) -> datetime | None:
    """Convert a timestamp. Return None if it is not a number. Raise ValueError if it is out of range."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return parse_timestamp(value)
