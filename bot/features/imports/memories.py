"""Readers for lists of memories: mem0's results, the MCP memory server's graph, and a pasted list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from bot.features.imports.items import (
    ITEM_ERRORS,
    MAX_ID_CHARS,
    UNREADABLE_MEMORIES,
    ImportedMemory,
    Item,
    SkippedItem,
    parse_optional_moment,
)
from bot.features.imports.source import ImportSource
from config.texts import N_

REPLACED = N_("memories that were replaced")
_DATED = r"\d{4}-\d\d(?:-\d\d)?(?: \d\d:\d\d)?"
_UNDATED = r"[^\W\d_][^\d\[\]]{1,30}(?:\d{4})?"
"""Words in place of a date, such as "unknown" and "May 2024"."""
_ENTRY = re.compile(
    rf"(?P<item>[-*+•]\s*|\d{{1,4}}[.)]\s*)?(?:\*\*|__|`)?\[(?P<day>{_DATED}|{_UNDATED})\](?:\*\*|__|`)?"
    r"(?:\s*[-–—:.]\s*|(?(item)\s+|(?!)))(?P<text>\S.*)"
)
_UNKNOWN = frozenset({"unknown", "date unknown"})
_FENCE = re.compile(r"\s*```")
MIN_ENTRIES = 2
"""A single line in brackets is not a list."""
_MEM0 = {
    "results.item.memory": "results.item",
    "item.memory": "item",
    "memories.item.memory": "memories.item",
    "memories.item.content": "memories.item",
}
_GRAPH_PATHS = frozenset({"entities.item.observations", "relations.item.relationType"})


class Mem0Reader:
    """Reads the result of mem0's get_all, {"results": [{"memory": ...}]} or only the list, and OpenMemory's export."""

    name = "mem0"

    def find(self, source: ImportSource) -> list[str]:
        return [name for name in source.find_json() if not source.detect_prefixes(name).isdisjoint(_MEM0)]

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        for name in names:
            prefixes = source.detect_prefixes(name)
            place = next(place for path, place in _MEM0.items() if path in prefixes)
            for item in source.read_items(name, place):
                yield _parse_mem0(item)


class McpMemoryReader:
    """Reads the MCP memory server's file with one entity or relation per line, or the result of read_graph."""

    name = "MCP memory"

    def find(self, source: ImportSource) -> list[str]:
        return [
            name
            for name in source.find_json()
            if not source.detect_prefixes(name).isdisjoint(_GRAPH_PATHS) or _is_graph(source.read_head(name))
        ]

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        for name in names:
            if not source.detect_prefixes(name).isdisjoint(_GRAPH_PATHS):
                for kind, place in (("entity", "entities.item"), ("relation", "relations.item")):
                    for number, row in enumerate(source.read_items(name, place), 1):
                        yield from _parse_safely(row, kind, f"{name}, {kind} {number}")
                continue
            for number, line in enumerate(source.read_lines(name), 1):
                if line.strip():
                    yield from _parse_line(line, f"{name}, line {number}")


class PastedListReader:
    """Reads a list of `[YYYY-MM-DD] - entry`, which assistants write when asked for their memories."""

    name = "a list"

    def find(self, source: ImportSource) -> list[str]:
        return [name for name in source.find_texts() if is_list(source.read_head(name))]

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        for name in names:
            yield from parse_list(source.read_text(name))


def is_list(text: str) -> bool:
    """Return True if most lines of a text are entries, and there are at least MIN_ENTRIES of them."""
    lines = [line for line in text.splitlines() if line.strip() and not _FENCE.match(line)]
    entries = [match for line in lines if (match := _ENTRY.fullmatch(line.strip()))]
    has_date = any(match["day"][0].isdigit() or match["day"].casefold() in _UNKNOWN for match in entries)
    return has_date and len(entries) >= MIN_ENTRIES and len(entries) * 2 > len(lines)


def parse_list(text: str) -> Iterator[ImportedMemory]:
    """Yield the entries of a list. Lines without a date are ignored."""
    for line in text.splitlines():
        if match := _ENTRY.fullmatch(line.strip()):
            day = match["day"][:10]
            yield ImportedMemory(
                match["text"].removesuffix("**").strip(), parse_optional_moment(f"{day}-01" if len(day) == 7 else day)
            )


def _parse_mem0(item: object) -> Item:
    text = item.get("memory") or item.get("content") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(text, str) or not text.strip():
        return SkippedItem(N_("memories without text"))
    if item.get("state") not in (None, "active"):
        return SkippedItem(REPLACED)
    at = parse_optional_moment(item.get("updated_at")) or parse_optional_moment(item.get("created_at"))
    return ImportedMemory(text.strip(), at)


def _is_graph(head: str) -> bool:
    first = next((line for line in head.split("\n") if line.strip()), "")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    if not isinstance(row, dict):
        return False
    return row.get("type") in ("entity", "relation") and (
        {"name", "observations"} <= row.keys() or {"from", "to", "relationType"} <= row.keys()
    )


def _parse_line(line: str, place: str) -> list[Item]:
    try:
        row = json.loads(line)
        return _parse_safely(row, row.get("type"), place)
    except ITEM_ERRORS:
        return [SkippedItem(UNREADABLE_MEMORIES, place)]


def _parse_safely(row: object, kind: object, place: str) -> list[Item]:
    try:
        return [*_parse_facts(row, kind)]
    except ITEM_ERRORS:
        return [SkippedItem(UNREADABLE_MEMORIES, place)]


def _parse_facts(row: Any, kind: object) -> Iterator[Item]:  # parsed JSON
    if kind == "entity":
        name, observations = str(row["name"])[:MAX_ID_CHARS], row.get("observations")
        for observation in observations if isinstance(observations, list) else ():
            yield ImportedMemory(f"{name}: {observation}")
    elif kind == "relation":
        yield ImportedMemory(f"{row['from']} {row['relationType']} {row['to']}")
    else:
        yield SkippedItem(N_("other lines"))
