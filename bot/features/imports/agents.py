"""Readers for the Markdown memories of other agents: OpenClaw, nanobot, Hermes, and any folder of notes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import PurePosixPath
from zoneinfo import ZoneInfo

from bot.features.imports.items import ImportedMemory, Item, SkippedItem, parse_moment, require_plausible
from bot.features.imports.source import ImportSource
from config.texts import N_

# The text is untrusted, so all quantifiers are bounded or can't overlap.
_OBSERVED = re.compile(
    r"<!--\s{0,20}observed:\s{0,20}(?P<day>\d{4}-\d\d-\d\d)[^|<>]{0,200}"
    r"(?:\|\s{0,20}status:\s{0,20}(?P<status>\w{1,40}))?[^<>]{0,200}?-->"
)
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_DAY = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)")
_HERMES = "\n§\n"
MAX_MEMORY_CHARS = 2_000
"""A longer text is a document."""


class NanobotReader:
    """Reads nanobot's workspace: MEMORY.md, USER.md, and its history with one event per line."""

    name = "nanobot"

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def detects(self, source: ImportSource) -> bool:
        return bool(_list_histories(source))

    def read(self, source: ImportSource) -> Iterator[Item]:
        yield from _list_notes(source)
        for name in _list_histories(source):
            for line in source.read_lines(name):
                if line.strip():
                    row = json.loads(line)
                    at = require_plausible(datetime.fromisoformat(row["timestamp"]).replace(tzinfo=self._zone))
                    yield ImportedMemory(str(row["content"]).strip(), at)


class HermesReader:
    """Reads the memories of Hermes: MEMORY.md and USER.md, with a section sign between entries."""

    name = "Hermes"

    def detects(self, source: ImportSource) -> bool:
        return any(_HERMES in source.read_head(name) for name in source.find_by_suffix(".md"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.find_by_suffix(".md"):
            for entry in source.read_text(name).split(_HERMES):
                if said := entry.strip():
                    yield ImportedMemory(" ".join(said.split()))


class OpenClawReader:
    """Reads OpenClaw's workspace: dated directives and daily notes."""

    name = "OpenClaw"

    def detects(self, source: ImportSource) -> bool:
        return any(_OBSERVED.search(source.read_head(name)) for name in source.find_by_suffix(".md"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        """Yield active directives, then the notes. Its dreams are left out."""
        for name in source.find_by_suffix(".md"):
            text = source.read_text(name)
            if PurePosixPath(name).name == "DREAMS.md":
                yield SkippedItem(N_("notes that aren't memories"))
            elif marks := [*_OBSERVED.finditer(text)]:
                yield from _parse_observations(text, marks)
            else:
                yield from _parse_memories(text, _parse_day(name))


class MarkdownReader:
    name = "Markdown"

    def detects(self, source: ImportSource) -> bool:
        """Return True for a folder with notes. A single Markdown file is treated as a document."""
        return source.path.is_dir() and bool(source.find_by_suffix(".md"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        yield from _list_notes(source)


def _list_notes(source: ImportSource) -> Iterator[Item]:
    for name in source.find_by_suffix(".md"):
        yield from _parse_memories(source.read_text(name), _parse_day(name))


def _list_histories(source: ImportSource) -> list[str]:
    return [
        name
        for name in source.find_by_suffix("history.jsonl")
        if '"cursor"' in source.read_head(name).partition("\n")[0]
    ]


def _parse_observations(text: str, marks: list[re.Match[str]]) -> Iterator[Item]:
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        at = parse_moment(mark["day"])
        if mark["status"] not in (None, "active"):
            yield SkippedItem(N_("memories that were replaced"))
            continue
        yield from _parse_memories(text[mark.end() : end], at)


def _parse_memories(text: str, at: datetime | None) -> Iterator[Item]:
    """Yield the list items and paragraphs of a text, without headings, code and comments."""
    text = _FRONT_MATTER.sub("", _remove_comments(text))
    is_code, paragraph = False, ""
    # The added empty line completes the last paragraph.
    for line in [*text.splitlines(), ""]:
        said = line.strip()
        if said.startswith("```"):
            is_code = not is_code
        is_item = re.match(r"(?:[-*+]|\d+[.)])\s+", said)
        ends = not said or is_item is not None or said.startswith(("#", "```")) or is_code
        if ends and paragraph:
            is_note = len(paragraph) <= MAX_MEMORY_CHARS
            yield ImportedMemory(paragraph, at) if is_note else SkippedItem(N_("texts too long for a note"))
            paragraph = ""
        if is_code or not said or said.startswith(("#", "```", "---", "===", "|")):
            continue
        said = said[is_item.end() :] if is_item else said
        said = re.sub(r"^\[[ xX]\]\s*", "", said)
        if len(paragraph) <= MAX_MEMORY_CHARS:  # Longer ones are left out later.
            paragraph = f"{paragraph} {said}".strip()


def _remove_comments(text: str) -> str:
    """Remove HTML comments in linear time, which a regular expression can't with many unclosed ones."""
    kept: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[at:start])
        at = end + 3
    return "".join((*kept, text[at:]))


def _parse_day(name: str) -> datetime | None:
    match = _DAY.search(PurePosixPath(name).name)
    try:
        return parse_moment(match["day"]) if match else None
    except ValueError:
        return None
