"""The reader for Claude's export: zip files with conversations.json and memories, in one file or in parts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from bot.features.imports.items import (
    ImportedConversation,
    ImportedMemory,
    ImportedMessage,
    Item,
    SkippedItem,
    parse_moment,
)
from bot.features.imports.source import ImportSource
from config.texts import N_

_CONVERSATIONS = "item.chat_messages"
_MEMORY = "conversations_memory"


class ClaudeReader:
    """Reads conversations and memories. Users, logins and feedback are left out."""

    name = "Claude"

    def detects(self, source: ImportSource) -> bool:
        return bool(source.find_json(_CONVERSATIONS) or _find_memories(source))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.find_json(_CONVERSATIONS):
            yield from map(_parse_conversation, source.read_items(name, "item"))
        for name, prefix in _find_memories(source):
            for memory in source.read_items(name, prefix):
                yield from _parse_memories(memory)


def _find_memories(source: ImportSource) -> list[tuple[str, str]]:
    """Return the files with memories and the JSON path of an account in each. Older exports have a list of accounts."""
    return [(name, "item") for name in source.find_json(f"item.{_MEMORY}")] + [
        (name, "") for name in source.find_json(_MEMORY)
    ]


def _parse_conversation(data: Any) -> Item:  # parsed JSON
    if not isinstance(data, dict) or not isinstance(data.get("chat_messages"), list):
        raise ValueError("a conversation has no messages")
    messages = tuple(message for said in data["chat_messages"] if (message := _parse_message(said)) is not None)
    if not isinstance(data.get("uuid"), str) or not messages:
        return SkippedItem(N_("conversations without a message"))
    return ImportedConversation(data["uuid"], messages)


def _parse_message(data: Any) -> ImportedMessage | None:  # parsed JSON
    if not isinstance(data, dict) or data.get("sender") not in ("human", "assistant"):
        return None
    blocks = data.get("content")
    texts = [block.get("text") for block in blocks if _is_said(block)] if isinstance(blocks, list) else []
    said = "\n".join(text for text in texts if isinstance(text, str) and text.strip()) or data.get("text") or ""
    text = said.strip() if isinstance(said, str) else ""
    at = data.get("created_at")
    return ImportedMessage(text, parse_moment(at), by_assistant=data["sender"] == "assistant") if text else None


def _is_said(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in ("text", "voice_note")


def _parse_memories(data: Any) -> Iterator[ImportedMemory]:  # parsed JSON
    if not isinstance(data, dict):
        raise ValueError("memories are not as Claude writes them")
    projects = data.get("project_memories")
    files = data.get("memory_files")
    texts = [data.get(_MEMORY), *(projects.values() if isinstance(projects, dict) else ())]
    for text in texts:
        yield from _split_memory(text, None)
    for file in files if isinstance(files, list) else ():
        if isinstance(file, dict):
            at = file.get("updated_at")
            yield from _split_memory(file.get("content"), parse_moment(at) if at else None)


def _split_memory(text: object, at: datetime | None) -> Iterator[ImportedMemory]:
    """Yield the lines of a memory, which Claude stores as one long text, without headings."""
    for line in text.splitlines() if isinstance(text, str) else ():
        said = line.strip().removeprefix("- ").removeprefix("* ").strip()
        if said and not said.startswith("#") and not (said.startswith("**") and said.endswith("**")):
            yield ImportedMemory(said, at)
