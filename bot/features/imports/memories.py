"""Readers for lists of memories: mem0's results, the MCP memory server's lines, and a pasted list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from bot.features.imports.items import MAX_ID_CHARS, ImportedMemory, Item, SkippedItem, parse_moment
from bot.features.imports.source import ImportSource
from config.texts import N_

_ENTRY = re.compile(r"(?:[-*]\s*)?\[(?P<day>\d{4}-\d\d-\d\d|unknown|date unknown)\]\s*[-–—:]\s*(?P<text>.+)")
_FENCE = re.compile(r"\s*```")
MIN_ENTRIES = 2
"""A single line in brackets is not a list."""


class Mem0Reader:
    """Reads the result of mem0's get_all: {"results": [{"memory": ...}]}."""

    name = "mem0"

    def detects(self, source: ImportSource) -> bool:
        return bool(source.find_json("results.item.memory"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.find_json("results.item.memory"):
            for item in source.read_items(name, "results.item"):
                text = item.get("memory") if isinstance(item, dict) else None
                if not isinstance(text, str) or not text.strip():
                    yield SkippedItem(N_("memories without text"))
                    continue
                at = item.get("updated_at") or item.get("created_at")
                yield ImportedMemory(text.strip(), parse_moment(at) if isinstance(at, str) else None)


class McpMemoryReader:
    """Reads the file of the MCP memory server: one entity with observations, or one relation, per line."""

    name = "MCP memory"

    def detects(self, source: ImportSource) -> bool:
        return bool(_find_graphs(source))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in _find_graphs(source):
            for line in source.read_lines(name):
                if line.strip():
                    yield from _parse_facts(json.loads(line))


class PastedListReader:
    """Reads a list of `[YYYY-MM-DD] - entry`, which assistants write when asked for their memories."""

    name = "a list"

    def detects(self, source: ImportSource) -> bool:
        return any(is_list(source.read_head(name)) for name in source.find_by_suffix(".txt", ".md"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.find_by_suffix(".txt", ".md"):
            if is_list(source.read_head(name)):
                yield from parse_list(source.read_text(name))


def is_list(text: str) -> bool:
    """Return True if a text has at least MIN_ENTRIES entries, and they are most of its lines."""
    lines = [line for line in text.splitlines() if line.strip() and not _FENCE.match(line)]
    entries = sum(_ENTRY.fullmatch(line.strip()) is not None for line in lines)
    return entries >= MIN_ENTRIES and entries * 2 > len(lines)


def parse_list(text: str) -> Iterator[ImportedMemory]:
    """Yield the entries of a list. Lines without a date are ignored."""
    for line in text.splitlines():
        if match := _ENTRY.fullmatch(line.strip()):
            known = match["day"][0].isdigit()
            yield ImportedMemory(match["text"].strip(), parse_moment(match["day"]) if known else None)


def _find_graphs(source: ImportSource) -> list[str]:
    return [name for name in source.find_by_suffix(".jsonl", ".json") if _is_graph(source.read_head(name))]


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


def _parse_facts(row: object) -> Iterator[Item]:
    if not isinstance(row, dict):
        raise ValueError("a line is no object")  # A ValueError, since the file's content is wrong.
    if row.get("type") == "entity":
        name, observations = str(row.get("name"))[:MAX_ID_CHARS], row.get("observations")
        for observation in observations if isinstance(observations, list) else ():
            yield ImportedMemory(f"{name}: {observation}")
    elif row.get("type") == "relation":
        yield ImportedMemory(f"{row.get('from')} {row.get('relationType')} {row.get('to')}")
    else:
        yield SkippedItem(N_("other lines"))
