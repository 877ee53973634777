"""The reader for ChatGPT's export: conversations.json or conversations-NNN.json, arrays of message trees."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any

from bot.features.imports.items import (
    ATTACHED,
    EMPTY,
    ITEM_ERRORS,
    OTHER_BRANCHES,
    TOOLS,
    UNDATED,
    UNREADABLE,
    UNREADABLE_CONVERSATIONS,
    ImportedConversation,
    ImportedMemory,
    ImportedMessage,
    Item,
    SkippedItem,
    parse_timestamp,
)
from bot.features.imports.memories import parse_list
from bot.features.imports.source import ImportSource

# The placeholder of a citation. ChatGPT shows it as a link.
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201")
_MESSAGE_TYPES = frozenset({"text", "multimodal_text", "code", None})
"""Content types of messages. Other content types are reasoning, tool results and settings."""
_FENCED = re.compile(r"```(?:\w*\n)?(.*?)```", re.DOTALL)
_PLACES = {"item.mapping": "item", "conversations.item.mapping": "conversations.item", "mapping": ""}
"""The paths of conversations in a file, by the paths of their messages."""
_DEEPSEEK = frozenset({"item.inserted_at", "inserted_at", "conversations.item.inserted_at"})
"""Paths that only DeepSeek's exports have. Their conversations have a mapping too."""


class ChatGptReader:
    name = "ChatGPT"

    def find(self, source: ImportSource) -> list[str]:
        return [name for name in source.find_json() if _find_place(source.detect_prefixes(name)) is not None]

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        """Yield the last shown branch of each conversation, and each memory once."""
        memories: set[str] = set()
        for name in names:
            place = _find_place(source.detect_prefixes(name))
            # `map` releases each conversation before it reads the next one.
            places = (f"{name}, conversation {number}" for number in count(1))
            for items in map(_parse_safely, source.read_items(name, place or ""), places):
                for item in items:
                    if isinstance(item, ImportedMemory):
                        if item.text in memories:
                            continue
                        memories.add(item.text)
                    yield item


def _find_place(prefixes: frozenset[str]) -> str | None:
    if prefixes & _DEEPSEEK:
        return None
    return next((place for path, place in _PLACES.items() if path in prefixes), None)


def _parse_safely(data: Any, place: str) -> list[Item]:  # parsed JSON
    try:
        return [*_parse_conversation(data, place)]
    except ITEM_ERRORS:
        return [SkippedItem(UNREADABLE_CONVERSATIONS, place)]


def _parse_conversation(data: Any, place: str) -> Iterator[Item]:  # parsed JSON
    nodes: dict[str, Any] = data["mapping"]
    branch = _find_branch(data.get("current_node"), nodes)
    at = _parse_moment(data.get("create_time")) or _parse_moment(data.get("update_time")) or _find_time(branch)
    messages: list[ImportedMessage] = []
    is_bad = at is None and any(_is_visible_text(node.get("message")) for node in branch)
    if is_bad:
        yield SkippedItem(UNDATED, place)
    for item in _parse_branch(branch, at, place):
        is_bad |= isinstance(item, SkippedItem) and item.what == UNREADABLE
        if isinstance(item, ImportedMessage):
            messages.append(item)
        else:
            yield item
    shown = {id(node) for node in branch}
    for node in nodes.values():
        if isinstance(node, dict) and id(node) not in shown and _is_visible_text(node.get("message")):
            yield SkippedItem(OTHER_BRANCHES)
    source_id = data.get("conversation_id") or data.get("id") or ""
    if messages:
        yield ImportedConversation(str(source_id), tuple(messages), str(data.get("title") or ""))
    elif not is_bad:
        yield SkippedItem(EMPTY)


def _parse_branch(
    branch: Sequence[Mapping[str, Any]], at: datetime | None, place: str
) -> Iterator[Item | ImportedMessage]:
    for node in branch:
        if not isinstance(message := node.get("message"), dict):
            continue
        try:
            # A message without a time gets the time of the previous message.
            at = _parse_moment(message.get("create_time")) or at
            yield from [*_parse_message(message, node, at)]
        except ITEM_ERRORS:
            yield SkippedItem(UNREADABLE, f"{place}, message {message.get('id') or node.get('id')}")


def _find_branch(newest: object, nodes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the nodes from the root to the node shown last, or to the newest leaf if that node is unknown."""
    if not isinstance(newest, str) or newest not in nodes:
        parents = {node.get("parent") for node in nodes.values() if isinstance(node, dict)}
        leaves = [key for key, node in nodes.items() if isinstance(node, dict) and key not in parents]
        # Without times, the last leaf of the file is the newest.
        newest = max(reversed(leaves), key=lambda key: _get_time(nodes[key]), default=None)
    branch: list[dict[str, Any]] = []
    seen: set[str] = set()
    # Parents may form a cycle in a damaged file.
    while isinstance(newest, str) and newest not in seen and isinstance(node := nodes.get(newest), dict):
        seen.add(newest)
        branch.append(node)
        newest = node.get("parent")
    return branch[::-1]


def _get_time(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, dict) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _find_time(branch: Sequence[Mapping[str, Any]]) -> datetime | None:
    """Return the first time in a branch."""
    return next((parse_timestamp(at) for node in branch if (at := _get_time(node))), None)


def _is_visible_text(message: object) -> bool:
    """Return True if a message has text, and the user wrote it or the assistant wrote it to the user."""
    return isinstance(message, dict) and _is_shown(message) and bool(_parse_text(message.get("content")))


def _is_shown(message: Mapping[str, Any]) -> bool:
    author, metadata = message.get("author"), message.get("metadata") or {}
    role = author.get("role") if isinstance(author, dict) else None
    to_all = message.get("recipient") in (None, "all")
    return role in ("user", "assistant") and to_all and not metadata.get("is_visually_hidden_from_conversation")


def _parse_message(
    message: Mapping[str, Any], node: Mapping[str, Any], at: datetime | None
) -> Iterator[Item | ImportedMessage]:
    content = message.get("content")
    kind = content.get("content_type") if isinstance(content, dict) else None
    recipient = str(message.get("recipient") or "all")
    by_assistant = message["author"]["role"] == "assistant"
    if isinstance(content, dict) and kind in ("user_editable_context", "model_editable_context"):
        yield from _parse_context(content)
    elif by_assistant and recipient == "bio":
        if text := _parse_text(content):
            yield ImportedMemory(text, at)
    elif by_assistant and recipient.startswith("canmore."):
        if at is not None:
            yield ImportedMessage(_parse_canvas(content), at, by_assistant=True, id=_get_id(message, node))
    elif not _is_shown(message):
        if _parse_text(content, any_kind=True):
            yield SkippedItem(TOOLS)
    else:
        text = _parse_text(content)
        if text and at is not None:
            yield ImportedMessage(text, at, by_assistant=by_assistant, id=_get_id(message, node))
        elif kind not in _MESSAGE_TYPES:
            yield SkippedItem(TOOLS)
        yield from _count_attachments(message, content)


def _get_id(message: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    return str(message.get("id") or node.get("id") or "")


def _count_attachments(message: Mapping[str, Any], content: object) -> Iterator[SkippedItem]:
    parts = content.get("parts") if isinstance(content, dict) else None
    pictures = sum(isinstance(part, dict) and "image" in str(part.get("content_type")) for part in parts or () if part)
    attachments = (message.get("metadata") or {}).get("attachments")
    files = len(attachments) if isinstance(attachments, list) else 0
    # Most pictures are listed as attachments too, so don't add both counts.
    yield from [SkippedItem(ATTACHED)] * max(pictures, files)


def _parse_context(content: Mapping[str, Any]) -> Iterator[ImportedMemory]:
    """Yield the user's custom instructions and the memories from a message that gives them to the model."""
    for key in ("user_profile", "user_instructions"):
        text = content.get(key)
        if isinstance(text, str) and text.strip():
            fenced = _FENCED.search(text)
            yield ImportedMemory((fenced[1] if fenced else text).strip())
    if isinstance(listed := content.get("model_set_context"), str):
        yield from parse_list(listed)


def _parse_canvas(content: object) -> str:
    """Return the text of a document that the assistant wrote next to the conversation."""
    text = _parse_text(content, any_kind=True)
    try:
        data = json.loads(text)
        written = data.get("content") or "\n".join(update["replacement"] for update in data["updates"])
        return f"[canvas {data['name']}]\n{written}" if data.get("name") else f"[canvas]\n{written}"
    except ITEM_ERRORS:
        return f"[canvas]\n{text}"


def _parse_text(content: object, *, any_kind: bool = False) -> str:
    if not isinstance(content, dict) or (content.get("content_type") not in _MESSAGE_TYPES and not any_kind):
        return ""
    parts = content.get("parts")
    pieces = [_parse_part(part) for part in parts] if isinstance(parts, list) else [content.get("text")]
    return _CITATION.sub("", "\n".join(piece for piece in pieces if isinstance(piece, str) and piece)).strip()


def _parse_part(part: object) -> object:
    """Return the text of a part, or the transcript of a voice message. Pictures and files are returned unchanged."""
    if isinstance(part, dict) and part.get("content_type") in (None, "audio_transcription", "text"):
        return part.get("text")
    return part


def _parse_moment(value: object) -> datetime | None:
    """Convert a timestamp. Return None if it is not a number. Raise ValueError if it is out of range."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return parse_timestamp(value)
