"""Readers for the Markdown memories of other agents: OpenClaw, nanobot, Hermes, and any folder of notes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from zoneinfo import ZoneInfo

from bot.features.imports.items import (
    ITEM_ERRORS,
    UNREADABLE_MEMORIES,
    ImportedMemory,
    Item,
    SkippedItem,
    parse_optional_moment,
    require_plausible,
)
from bot.features.imports.memories import REPLACED
from bot.features.imports.source import ImportSource
from config.texts import N_

# The text is untrusted, so all quantifiers are bounded or can't overlap.
_OBSERVED = re.compile(
    r"<!--\s{0,20}observed:\s{0,20}(?P<day>\d{4}-\d\d-\d\d)[^|<>]{0,200}"
    r"(?:\|\s{0,20}status:\s{0,20}(?P<status>\w{1,40}))?[^<>]{0,200}?-->"
)
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_DAY = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)")
_HERMES_SEPARATOR = "\n§\n"
MAX_MEMORY_CHARS = 2_000
"""Maximum length of a memory. A longer text is considered a document."""
_MEMORY_FILES = frozenset({"USER.md", "MEMORY.md"})
_MEMORY_FOLDERS = frozenset({"memory", "memories", "users"})
"""Folders with memories. The other files of a workspace are instructions, templates and skills."""
_PROJECT_FILES = frozenset({"license", "licence", "readme", "changelog", "contributing", "code_of_conduct", "security"})
"""Names, without extensions, of files that most projects have."""
_PLACEHOLDER = re.compile(
    r"(?:[^()\n]{0,80}:)?\s*[*_]{0,2}\([^()\n]{0,200}\)[*_]{0,2}|[^:\n]{1,80}:\s*[*_]{0,3}|[*_][^*_\n]{1,300}[*_]"
)
"""A text in parentheses in place of a value, a label without a value, or an instruction in italics."""
NOT_MEMORIES = N_("notes that aren't memories")
NOT_FILLED_IN = N_("lines that aren't filled in")


class NanobotReader:
    """Reads nanobot's workspace: MEMORY.md, USER.md, and its history with one event per line."""

    name = "nanobot"

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def find(self, source: ImportSource) -> list[str]:
        histories = [name for name in source.find_by_suffix("history.jsonl") if _is_history(source.read_head(name))]
        return [*source.find_by_suffix(".md"), *histories] if histories else []

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        for name in names:
            if name.lower().endswith(".md"):
                yield from _read_memory_file(source, name)
                continue
            for number, line in enumerate(source.read_lines(name), 1):
                if line.strip():
                    yield from self._parse_event(line, f"{name}, line {number}")

    def _parse_event(self, line: str, place: str) -> list[Item]:
        try:
            row = json.loads(line)
            at = require_plausible(datetime.fromisoformat(row["timestamp"]).replace(tzinfo=self._zone))
            return [*_parse_memories(str(row["content"]), at)]
        except ITEM_ERRORS:
            return [SkippedItem(UNREADABLE_MEMORIES, place)]


class HermesReader:
    """Reads the memories of Hermes: MEMORY.md and USER.md, with a section sign between entries."""

    name = "Hermes"

    def find(self, source: ImportSource) -> list[str]:
        notes = source.find_by_suffix(".md")
        return notes if any(_HERMES_SEPARATOR in source.read_head(name) for name in notes) else []

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        for name in names:
            if not _is_memory_file(name) and _HERMES_SEPARATOR not in source.read_head(name):
                yield SkippedItem(NOT_MEMORIES)
                continue
            for entry in source.read_text(name).split(_HERMES_SEPARATOR):
                if text := entry.strip():
                    yield _create_memory(" ".join(text.split()), None)


class OpenClawReader:
    """Reads OpenClaw's workspace: dated directives and daily notes."""

    name = "OpenClaw"

    def find(self, source: ImportSource) -> list[str]:
        notes = source.find_by_suffix(".md")
        return notes if any(_OBSERVED.search(source.read_head(name)) for name in notes) else []

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        """Yield the active directives and the notes. Replaced directives and dreams are skipped."""
        for name in names:
            text = source.read_text(name)
            if marks := [*_OBSERVED.finditer(text)]:
                yield from _parse_observations(text, marks)
            else:
                yield from _read_memory_file(source, name)


class MarkdownReader:
    name = "Markdown"

    def find(self, source: ImportSource) -> list[str]:
        """Return the notes of a folder. A single Markdown file is treated as a document."""
        return source.find_by_suffix(".md") if source.path.is_dir() else []

    def read(self, source: ImportSource, names: Sequence[str]) -> Iterator[Item]:
        is_workspace = any(PurePosixPath(name).name in _MEMORY_FILES for name in names)
        for name in names:
            if is_workspace:
                yield from _read_memory_file(source, name)
            elif PurePosixPath(name).stem.casefold() in _PROJECT_FILES:
                yield SkippedItem(NOT_MEMORIES)
            else:
                yield from _parse_memories(source.read_text(name), _parse_day(name))


def _is_history(head: str) -> bool:
    return '"cursor"' in head.partition("\n")[0]


def _is_memory_file(name: str) -> bool:
    path = PurePosixPath(name)
    return path.name in _MEMORY_FILES or not _MEMORY_FOLDERS.isdisjoint(path.parts[:-1])


def _read_memory_file(source: ImportSource, name: str) -> Iterator[Item]:
    if _is_memory_file(name):
        yield from _parse_memories(source.read_text(name), _parse_day(name))
    else:
        yield SkippedItem(NOT_MEMORIES)


def _parse_observations(text: str, marks: list[re.Match[str]]) -> Iterator[Item]:
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        at = parse_optional_moment(mark["day"])
        if mark["status"] not in (None, "active"):
            yield SkippedItem(REPLACED)
            continue
        yield from _parse_memories(text[mark.end() : end], at)


def _parse_memories(text: str, at: datetime | None) -> Iterator[Item]:
    """Yield the list items and paragraphs of a text. Headings, code and comments are skipped."""
    text = _FRONT_MATTER.sub("", _remove_comments(text))
    is_code, paragraph = False, ""
    # The added empty line completes the last paragraph.
    for raw_line in [*text.splitlines(), ""]:
        line = raw_line.strip()
        if line.startswith("```"):
            is_code = not is_code
        is_item = re.match(r"(?:[-*+]|\d+[.)])\s+", line)
        ends_paragraph = not line or is_item is not None or line.startswith(("#", "```")) or is_code
        if ends_paragraph and paragraph:
            yield _create_memory(paragraph, at)
            paragraph = ""
        if is_code or not line or line.startswith(("#", "```", "---", "===", "|")):
            continue
        line = line[is_item.end() :] if is_item else line
        if line.startswith("[ ]"):
            yield SkippedItem(NOT_FILLED_IN)
            continue
        line = re.sub(r"^\[[xX]\]\s*", "", line)
        if len(paragraph) <= MAX_MEMORY_CHARS:  # `_create_memory` skips longer ones.
            paragraph = f"{paragraph} {line}".strip()


def _create_memory(text: str, at: datetime | None) -> Item:
    if len(text) > MAX_MEMORY_CHARS:
        return SkippedItem(N_("texts too long for a note"))
    return SkippedItem(NOT_FILLED_IN) if _PLACEHOLDER.fullmatch(text) else ImportedMemory(text, at)


def _remove_comments(text: str) -> str:
    """Remove HTML comments in linear time. A regular expression is quadratic if many comments are unclosed."""
    kept: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[at:start])
        at = end + 3
    return "".join((*kept, text[at:]))


def _parse_day(name: str) -> datetime | None:
    match = _DAY.search(PurePosixPath(name).name)
    return parse_optional_moment(match["day"]) if match else None
