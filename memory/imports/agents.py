"""Memories that other agents keep as Markdown: OpenClaw, nanobot, Hermes, and any folder of notes."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from config.texts import N_
from memory.imports.items import ImportedMemory, LeftOut, moment_of, plausible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

    from memory.imports.items import Item
    from memory.imports.source import ImportSource

# Each quantifier is bounded or ends where the next one begins: anybody may have written the text.
_OBSERVED = re.compile(
    r"<!--\s{0,20}observed:\s{0,20}(?P<day>\d{4}-\d\d-\d\d)[^|<>]{0,200}"
    r"(?:\|\s{0,20}status:\s{0,20}(?P<status>\w{1,40}))?[^<>]{0,200}?-->"
)
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_DAY = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)")
_HERMES = "\n§\n"
MAX_MEMORY_CHARS = 2_000
"""Characters of a memory. A longer text is a document."""


class NanobotReader:
    """Reads nanobot's workspace: MEMORY.md and USER.md, and its history, a line for each thing that happened."""

    name = "nanobot"

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def detects(self, source: ImportSource) -> bool:
        return bool(_histories(source))

    def read(self, source: ImportSource) -> Iterator[Item]:
        yield from _notes(source)
        for name in _histories(source):
            for line in source.lines(name):
                if line.strip():
                    row = json.loads(line)
                    at = plausible(datetime.fromisoformat(row["timestamp"]).replace(tzinfo=self._zone))
                    yield ImportedMemory(str(row["content"]).strip(), at)


class HermesReader:
    """Reads the memories of Hermes: MEMORY.md and USER.md, entries parted by a line with a section sign."""

    name = "Hermes"

    def detects(self, source: ImportSource) -> bool:
        return any(_HERMES in source.head(name) for name in source.ending(".md"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        for name in source.ending(".md"):
            for entry in source.text(name).split(_HERMES):
                if said := entry.strip():
                    yield ImportedMemory(" ".join(said.split()))


class OpenClawReader:
    """Reads OpenClaw's workspace: directives with the day on which they were observed, and notes of days."""

    name = "OpenClaw"

    def detects(self, source: ImportSource) -> bool:
        return any(_OBSERVED.search(source.head(name)) for name in source.ending(".md"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        """Directives that are in force, then the notes. Its dreams are not memories."""
        for name in source.ending(".md"):
            text = source.text(name)
            if PurePosixPath(name).name == "DREAMS.md":
                yield LeftOut(N_("notes that are no memories"))
            elif marks := [*_OBSERVED.finditer(text)]:
                yield from _observed(text, marks)
            else:
                yield from _memories(text, _day_of(name))


class MarkdownReader:
    name = "Markdown"

    def detects(self, source: ImportSource) -> bool:
        """Whether it is a folder with notes; a file that is sent is a document like any other."""
        return source.path.is_dir() and bool(source.ending(".md"))

    def read(self, source: ImportSource) -> Iterator[Item]:
        yield from _notes(source)


def _notes(source: ImportSource) -> Iterator[Item]:
    for name in source.ending(".md"):
        yield from _memories(source.text(name), _day_of(name))


def _histories(source: ImportSource) -> list[str]:
    return [name for name in source.ending("history.jsonl") if '"cursor"' in source.head(name).partition("\n")[0]]


def _observed(text: str, marks: list[re.Match[str]]) -> Iterator[Item]:
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        at = moment_of(mark["day"])
        if mark["status"] not in (None, "active"):
            yield LeftOut(N_("memories that another one has replaced"))
            continue
        yield from _memories(text[mark.end() : end], at)


def _memories(text: str, at: datetime | None) -> Iterator[Item]:
    """The items of lists and the paragraphs of a text, without headings, code and comments."""
    text = _FRONT_MATTER.sub("", _without_comments(text))
    is_code, paragraph = False, ""
    # the empty line at the end completes the last paragraph
    for line in [*text.splitlines(), ""]:
        said = line.strip()
        if said.startswith("```"):
            is_code = not is_code
        is_item = re.match(r"(?:[-*+]|\d+[.)])\s+", said)
        ends = not said or is_item is not None or said.startswith(("#", "```")) or is_code
        if ends and paragraph:
            is_note = len(paragraph) <= MAX_MEMORY_CHARS
            yield ImportedMemory(paragraph, at) if is_note else LeftOut(N_("texts too long for a note"))
            paragraph = ""
        if is_code or not said or said.startswith(("#", "```", "---", "===", "|")):
            continue
        said = said[is_item.end() :] if is_item else said
        said = re.sub(r"^\[[ xX]\]\s*", "", said)
        if len(paragraph) <= MAX_MEMORY_CHARS:  # a longer one is left out anyway
            paragraph = f"{paragraph} {said}".strip()


def _without_comments(text: str) -> str:
    """Remove HTML comments. A regular expression would search to the end from each opening without a closing."""
    kept: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[at:start])
        at = end + 3
    return "".join((*kept, text[at:]))


def _day_of(name: str) -> datetime | None:
    match = _DAY.search(PurePosixPath(name).name)
    try:
        return moment_of(match["day"]) if match else None
    except ValueError:
        return None
