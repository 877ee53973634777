"""Memories of other programs that come as lists: mem0's results, the MCP memory server's lines, and a pasted list."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from config.texts import N_
from memory.imports.items import MAX_ID_CHARS, ImportedMemory, LeftOut, moment_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.imports.items import Item
    from memory.imports.source import ImportSource

_ENTRY = re.compile(r"(?:[-*]\s*)?\[(?P<day>\d{4}-\d\d-\d\d|unknown|date unknown)\]\s*[-–—:]\s*(?P<text>.+)")
_FENCE = re.compile(r"\s*```")
LEAST_ENTRIES = 2
"""A list has so many entries: one line in brackets is no list."""


class Mem0Reader:
    """Reads what mem0's get_all gives: {"results": [{"memory": ...}]}."""

    name = "mem0"

    def detects(self, source: ImportSource) -> bool:
        return bool(source.json_with("results.item.memory"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.json_with("results.item.memory"):
            for item in source.items(name, "results.item"):
                text = item.get("memory") if isinstance(item, dict) else None
                if not isinstance(text, str) or not text.strip():
                    yield LeftOut(N_("memories without words"))
                    continue
                at = item.get("updated_at") or item.get("created_at")
                yield ImportedMemory(text.strip(), moment_of(at) if isinstance(at, str) else None)


class McpMemoryReader:
    """Reads the lines of the MCP memory server: entities with observations, and relations between them."""

    name = "MCP memory"

    def detects(self, source: ImportSource) -> bool:
        return bool(_graphs(source))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in _graphs(source):
            for line in source.lines(name):
                if line.strip():
                    yield from _facts(json.loads(line))


class PastedListReader:
    """Reads a list of `[YYYY-MM-DD] - entry`, as assistants write it when asked for all that they remember."""

    name = "a list"

    def detects(self, source: ImportSource) -> bool:
        return any(is_list(source.head(name)) for name in source.ending(".txt", ".md"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.ending(".txt", ".md"):
            if is_list(source.head(name)):
                yield from list_entries(source.text(name))


def is_list(text: str) -> bool:
    """Whether a text is a list of memories: entries, headings between them, and at most a line of talk around it."""
    lines = [line for line in text.splitlines() if line.strip() and not _FENCE.match(line)]
    entries = sum(_ENTRY.fullmatch(line.strip()) is not None for line in lines)
    return entries >= LEAST_ENTRIES and entries * 2 > len(lines)


def list_entries(text: str) -> Iterator[ImportedMemory]:
    """The entries of a list; what follows one on further lines without a date belongs to it no more."""
    for line in text.splitlines():
        if match := _ENTRY.fullmatch(line.strip()):
            known = match["day"][0].isdigit()
            yield ImportedMemory(match["text"].strip(), moment_of(match["day"]) if known else None)


def _graphs(source: ImportSource) -> list[str]:
    return [name for name in source.ending(".jsonl", ".json") if _is_graph(source.head(name))]


def _is_graph(head: str) -> bool:
    first = next((line for line in head.splitlines() if line.strip()), "")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    if not isinstance(row, dict):
        return False
    return row.get("type") in ("entity", "relation") and (
        {"name", "observations"} <= row.keys() or {"from", "to", "relationType"} <= row.keys()
    )


def _facts(row: object) -> Iterator[Item]:
    if not isinstance(row, dict):
        raise ValueError("a line is no object")  # of a file: it is its content that is wrong
    if row.get("type") == "entity":
        name, observations = str(row.get("name"))[:MAX_ID_CHARS], row.get("observations")
        for observation in observations if isinstance(observations, list) else ():
            yield ImportedMemory(f"{name}: {observation}")
    elif row.get("type") == "relation":
        yield ImportedMemory(f"{row.get('from')} {row.get('relationType')} {row.get('to')}")
    else:
        yield LeftOut(N_("lines of another kind"))
