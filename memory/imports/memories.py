"""Readers for lists of memories: mem0's results, the MCP memory server's lines, and a pasted list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from config.texts import N_
from memory.imports.items import MAX_ID_CHARS, ImportedMemory, Item, LeftOut, moment_of
from memory.imports.source import ImportSource

_ENTRY = re.compile(r"(?:[-*]\s*)?\[(?P<day>\d{4}-\d\d-\d\d|unknown|date unknown)\]\s*[-–—:]\s*(?P<text>.+)")
_FENCE = re.compile(r"\s*```")
MIN_ENTRIES = 2
"""A single line in brackets is not a list."""


class Mem0Reader:
    """Reads the result of mem0's get_all: {"results": [{"memory": ...}]}."""

    name = "mem0"

    def detects(self, source: ImportSource) -> bool:
        return bool(source.json_with("results.item.memory"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.json_with("results.item.memory"):
            for item in source.items(name, "results.item"):
                text = item.get("memory") if isinstance(item, dict) else None
                if not isinstance(text, str) or not text.strip():
                    yield LeftOut(N_("memories without text"))
                    continue
                at = item.get("updated_at") or item.get("created_at")
                yield ImportedMemory(text.strip(), moment_of(at) if isinstance(at, str) else None)


class McpMemoryReader:
    """Reads the file of the MCP memory server: one entity with observations, or one relation, per line."""

    name = "MCP memory"

    def detects(self, source: ImportSource) -> bool:
        return bool(_graphs(source))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in _graphs(source):
            for line in source.lines(name):
                if line.strip():
                    yield from _facts(json.loads(line))


class PastedListReader:
    """Reads a list of `[YYYY-MM-DD] - entry`, which assistants write when asked for their memories."""

    name = "a list"

    def detects(self, source: ImportSource) -> bool:
        return any(is_list(source.head(name)) for name in source.ending(".txt", ".md"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.ending(".txt", ".md"):
            if is_list(source.head(name)):
                yield from list_entries(source.text(name))


def is_list(text: str) -> bool:
    """Return True if a text has at least MIN_ENTRIES entries, and they are most of its lines."""
    lines = [line for line in text.splitlines() if line.strip() and not _FENCE.match(line)]
    entries = sum(_ENTRY.fullmatch(line.strip()) is not None for line in lines)
    return entries >= MIN_ENTRIES and entries * 2 > len(lines)


def list_entries(text: str) -> Iterator[ImportedMemory]:
    """Yield the entries of a list. Lines without a date are ignored."""
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
        raise ValueError("a line is no object")  # A ValueError, since the file's content is wrong.
    if row.get("type") == "entity":
        name, observations = str(row.get("name"))[:MAX_ID_CHARS], row.get("observations")
        for observation in observations if isinstance(observations, list) else ():
            yield ImportedMemory(f"{name}: {observation}")
    elif row.get("type") == "relation":
        yield ImportedMemory(f"{row.get('from')} {row.get('relationType')} {row.get('to')}")
    else:
        yield LeftOut(N_("other lines"))
