"""The reader for Claude's export: zip files with conversations, projects and memories, in one file or in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import count
from typing import Any

from bot.features.imports.items import (
    ATTACHED,
    EMPTY,
    ITEM_ERRORS,
    OTHER_BRANCHES,
    TOOLS,
    UNREADABLE,
    UNREADABLE_CONVERSATIONS,
    UNREADABLE_MEMORIES,
    ImportedConversation,
    ImportedMemory,
    ImportedMessage,
    Item,
    SkippedItem,
    parse_moment,
    parse_optional_moment,
)
from bot.features.imports.source import ImportSource
from config.texts import N_

_CONVERSATIONS = {
    "item.chat_messages": "item",
    "conversations.item.chat_messages": "conversations.item",
    "chat_messages": "",
}
_MEMORIES = {
    "item.conversations_memory": "item",
    "item.memory_files.item.content": "item",
    "conversations_memory": "",
    "memory_files.item.content": "",
}
"""The paths of memories in a file, by a path in them. Older exports have a list of accounts."""
_PROJECTS = {"item.prompt_template": "item", "prompt_template": ""}
"""The paths of projects in a file, by a path that occurs only in them."""
_DOCUMENT_TOOLS = frozenset({"artifacts", "create_file"})
_DOCUMENT_KEYS = ("content", "file_text", "new_str")


class ClaudeReader:
    """Reads conversations, projects and memories. Users, logins and feedback are skipped."""

    name = "Claude"

    def find(self, source: ImportSource) -> list[str]:
        paths = (_CONVERSATIONS, _MEMORIES, _PROJECTS)
        return [name for name in source.find_json() if any(_find_places(source, name, kind) for kind in paths)]

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        for name in names:
            for place in _find_places(source, name, _CONVERSATIONS):
                # `map` releases each conversation before it reads the next one.
                places = (f"{name}, conversation {number}" for number in count(1))
                for items in map(_parse_safely, source.read_items(name, place), places):
                    yield from items
        for name in names:
            for place in _find_places(source, name, _PROJECTS):
                for number, project in enumerate(source.read_items(name, place), 1):
                    yield _parse_project(project, f"{name}, project {number}")
        for name in names:
            for place in _find_places(source, name, _MEMORIES):
                for memory in source.read_items(name, place):
                    yield from _parse_memories(memory, name)


def _find_places(source: ImportSource, name: str, paths: dict[str, str]) -> list[str]:
    prefixes = source.detect_prefixes(name)
    return [place for path, place in paths.items() if path in prefixes][:1]


def _parse_safely(data: Any, place: str) -> list[Item]:  # parsed JSON
    try:
        return [*_parse_conversation(data, place)]
    except ITEM_ERRORS:
        return [SkippedItem(UNREADABLE_CONVERSATIONS, place)]


def _parse_conversation(data: Any, place: str) -> Iterator[Item]:  # parsed JSON
    branch = _find_branch(data["chat_messages"], data.get("current_leaf_message_uuid"))
    messages: list[ImportedMessage] = []
    is_bad = False
    for number, message in enumerate(data["chat_messages"], 1):
        if id(message) not in branch:
            yield SkippedItem(OTHER_BRANCHES)
            continue
        try:
            for item in _parse_message(message):
                if isinstance(item, ImportedMessage):
                    messages.append(item)
                else:
                    yield item
        except ITEM_ERRORS:
            is_bad = True
            yield SkippedItem(UNREADABLE, f"{place}, message {number}")
    if messages:
        source_id = data.get("uuid")
        title = str(data.get("name") or "")
        yield ImportedConversation(source_id if isinstance(source_id, str) else "", tuple(messages), title)
    elif not is_bad:
        yield SkippedItem(EMPTY)


def _find_branch(messages: Sequence[Any], newest: object) -> set[int]:  # parsed JSON
    """Return the `id()` of each message in the newest branch. If no message has a parent, all belong to it."""
    by_id = {message.get("uuid"): message for message in messages if isinstance(message, dict)}
    parents = {message.get("parent_message_uuid") for message in by_id.values()}
    if not parents & by_id.keys():
        return {id(message) for message in messages}
    leaf = by_id.get(newest) or messages[-1]
    branch: set[int] = set()
    while leaf is not None and id(leaf) not in branch:
        branch.add(id(leaf))
        leaf = by_id.get(leaf.get("parent_message_uuid"))
    return branch


def _parse_message(data: Any) -> Iterator[ImportedMessage | SkippedItem]:  # parsed JSON
    if data["sender"] not in ("human", "assistant"):
        yield SkippedItem(TOOLS)
        return
    by_assistant = data["sender"] == "assistant"
    identifier = str(data.get("uuid") or "")
    blocks = [block for block in data.get("content") or () if isinstance(block, dict)]
    # The key `text` of a message repeats its blocks, including the reasoning.
    texts = [_get_text(block, "text") for block in blocks if block.get("type") in ("text", "voice_note")]
    text = "\n".join(filter(None, texts)) if blocks else _get_text(data, "text")
    documents = [document for block in blocks if (document := _parse_document(block))]
    attachments = [_parse_attachment(attached) for attached in data.get("attachments") or ()]
    if not (text or documents or any(attachments)):
        yield from [SkippedItem(TOOLS)] if blocks else []
    else:
        at = parse_moment(data.get("created_at"))
        parts = [(text, False), *((document, False) for document in documents)]
        parts += [(attached, True) for attached in attachments if attached]
        for number, (text_part, is_foreign) in enumerate(parts):
            if text_part:
                part_id = f"{identifier}/{number}" if number and identifier else identifier
                yield ImportedMessage(text_part, at, by_assistant=by_assistant, id=part_id, is_foreign=is_foreign)
    files = data.get("files") or data.get("files_v2")
    yield from [SkippedItem(ATTACHED)] * (attachments.count("") + (len(files) if isinstance(files, list) else 0))


def _get_text(data: dict[str, Any], key: str) -> str:
    text = data.get(key)
    return text.strip() if isinstance(text, str) else ""


def _parse_attachment(data: Any) -> str:  # parsed JSON
    """Return the text of an attached file or of pasted text, or an empty string if there is no text."""
    text = _get_text(data, "extracted_content")
    return f"[attached: {data.get('file_name') or 'pasted text'}]\n{text}" if text else ""


def _parse_document(block: dict[str, Any]) -> str:
    """Return the text of a document that the assistant wrote next to the conversation."""
    written = block.get("input")
    if block.get("type") != "tool_use" or block.get("name") not in _DOCUMENT_TOOLS or not isinstance(written, dict):
        return ""
    text = next((text for key in _DOCUMENT_KEYS if (text := _get_text(written, key))), "")
    title = written.get("title") or written.get("id") or written.get("path") or ""
    return f"[artifact {title}]\n{text}" if text else ""


def _parse_project(data: Any, place: str) -> Item:  # parsed JSON
    """Return the instructions and documents of a project as one conversation."""
    try:
        name = str(data.get("name") or "")
        texts = [(f"[instructions of the project {name}]", data.get("prompt_template"), data.get("created_at"))]
        texts += [
            (f"[attached: {doc.get('filename')}]", doc.get("content"), doc.get("created_at") or data.get("created_at"))
            for doc in data.get("docs") or ()
        ]
        messages = tuple(
            ImportedMessage(f"{label}\n{text.strip()}", parse_moment(at), is_foreign=True)
            for label, text, at in texts
            if isinstance(text, str) and text.strip()
        )
        if not messages or data.get("is_starter_project"):
            return SkippedItem(N_("projects without texts"))
        return ImportedConversation(str(data.get("uuid") or ""), messages, name)
    except ITEM_ERRORS:
        return SkippedItem(UNREADABLE_CONVERSATIONS, place)


def _parse_memories(data: Any, name: str) -> Iterator[Item]:  # parsed JSON
    if not isinstance(data, dict):
        yield SkippedItem(UNREADABLE_MEMORIES, name)
        return
    projects = data.get("project_memories")
    files = data.get("memory_files")
    texts = [data.get("conversations_memory"), *(projects.values() if isinstance(projects, dict) else ())]
    for text in texts:
        yield from _split_memory(text, None)
    for file in files if isinstance(files, list) else ():
        if isinstance(file, dict):
            yield from _split_memory(file.get("content"), parse_optional_moment(file.get("updated_at")))


def _split_memory(text: object, at: datetime | None) -> Iterator[ImportedMemory]:
    """Yield the lines of a memory, without headings. Claude stores a memory as one long text."""
    for raw_line in text.splitlines() if isinstance(text, str) else ():
        line = raw_line.strip().removeprefix("- ").removeprefix("* ").strip()
        if line and not line.startswith("#") and not (line.startswith("**") and line.endswith("**")):
            yield ImportedMemory(line, at)
