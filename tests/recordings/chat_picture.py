"""Draws a Telegram chat as an SVG, with bubbles, times, buttons and dates.

An SVG can't measure text, so widths are estimated for common sans-serif fonts, with some reserve.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from typing import NamedTuple

from tests.recordings.player import Shown

WIDTH = 480
HEADER = 52  # The height of the white bar in HEAD.
MARGIN = 12
PADDING = 10
TEXT_SIZE, SMALL_SIZE = 14, 11
LINE_HEIGHT = 19
BUTTON_HEIGHT = 32
MAX_TEXT_WIDTH = 330
STYLES = {
    "bold": "font-weight:600",
    "italic": "font-style:italic",
    "code": "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px",
    "bot_command": "fill:#168acd",
    "url": "fill:#168acd",
    "text_link": "fill:#168acd",
}
SHEET = """\
text{font:14px -apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:#0f1419;white-space:pre}
.small{font-size:11px}.got{fill:#8d99a3}.sent{fill:#5fa45a}.on{fill:#fff}.title{font-size:15px;font-weight:600}
.middle{text-anchor:middle}.end{text-anchor:end}.label{fill:#fff;font-weight:500;font-size:13px}
"""
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">
<title>A chat with {title} in Telegram</title><style>{sheet}</style>
<defs><linearGradient id="sky" x1="0" y1="0" x2="1" y2="1">
<stop stop-color="#d7e6c3"/><stop offset=".55" stop-color="#a9cba4"/><stop offset="1" stop-color="#86b6a4"/>
</linearGradient>
<linearGradient id="face" x2="0" y2="1"><stop stop-color="#7f8cf5"/><stop offset="1" stop-color="#5a50c8"/>
</linearGradient>
<clipPath id="edge"><rect width="{width}" height="{height}" rx="16"/></clipPath></defs>
<g clip-path="url(#edge)"><rect width="{width}" height="{height}" fill="url(#sky)"/>
<rect width="{width}" height="52" fill="#fff"/><circle cx="34" cy="26" r="18" fill="url(#face)"/>
<text x="34" y="32" class="on middle title">{initial}</text>
<text x="64" y="23" class="title">{title}</text><text x="64" y="39" class="small got">bot</text>
"""
FOOT = """\
</g><rect x=".5" y=".5" width="{inner_width}" height="{inner_height}" rx="16" fill="none" stroke="#b9c4cc"/></svg>
"""


class Word(NamedTuple):
    """A word, or the space between two words, with its CSS style."""

    text: str
    style: str


def estimated_width(text: str, size: int = TEXT_SIZE) -> float:
    """Estimate the width in pixels for a sans-serif font."""
    return sum(_em(character) for character in text) * size


def _em(character: str) -> float:
    if character in "iljtfrI.,:;'|!()[]/ ":
        return 0.33
    if character in "mwMW@%":
        return 0.88
    if ord(character) > 0x2E7F:
        return 1.1
    return 0.69 if character.isupper() else 0.57


def styled_words(shown: Shown) -> Iterator[Word]:
    """Split the text into words, each with the style of the entities at its beginning."""
    units = shown.text.encode("utf-16-le")
    styles = [""] * (len(units) // 2)
    for entity in shown.entities:
        for unit in range(entity.offset, entity.end):
            styles[unit] = ";".join(filter(None, (styles[unit], STYLES.get(entity.type, ""))))
    at = 0
    characters = []
    for character in shown.text:
        characters.append((character, styles[at]))
        at += len(character.encode("utf-16-le")) // 2

    def kind(styled: tuple[str, str]) -> tuple[bool, bool, str]:
        return styled[0] == "\n", styled[0] == " ", styled[1]

    for (is_end, _is_space, style), run in groupby(characters, kind):
        text = "".join(character for character, _style in run)
        yield from (Word("\n", "") for _end in text) if is_end else (Word(text, style),)


def wrapped(words: Iterable[Word], max_width: float) -> list[list[Word]]:
    """Wrap words into lines. A line is only wider than `max_width` if it is a single word."""
    lines: list[list[Word]] = [[]]
    for word in words:
        if word.text == "\n":
            lines.append([])
        elif lines[-1] and _line_width([*lines[-1], word]) > max_width:
            lines.append([] if word.text.isspace() else [word])
        else:
            lines[-1].append(word)
    return lines


def _line_width(line: Sequence[Word]) -> float:
    return estimated_width("".join(word.text for word in line).rstrip())


@dataclass(slots=True)
class _Canvas:
    """The drawn parts, and the vertical position of the next one."""

    y: float = HEADER + MARGIN
    parts: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, height: float, look: str, radius: int = 12) -> None:
        self.parts.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="{radius}" {look}/>'
        )

    def text(self, x: float, y: float, words: Sequence[Word], kind: str = "") -> None:
        spans = "".join(
            f'<tspan style="{word.style}">{escape(word.text)}</tspan>' if word.style else escape(word.text)
            for word in words
        )
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}">{spans}</text>')

    def day(self, name: str) -> None:
        width = estimated_width(name, SMALL_SIZE) + 24
        self.box((WIDTH - width) / 2, self.y, width, 22, 'fill="#5b7f67" fill-opacity=".75"', 11)
        self.text(WIDTH / 2, self.y + 15, [Word(name, "")], "small on middle")
        self.y += 32

    def message(self, shown: Shown) -> None:
        lines = wrapped(styled_words(shown), MAX_TEXT_WIDTH)
        time = f"{shown.at:%H:%M}" + (" ✓✓" if shown.by_person else "")
        for_time = estimated_width(time, SMALL_SIZE) + 8
        width = max(map(_line_width, lines))
        if _line_width(lines[-1]) + for_time <= max(width, MAX_TEXT_WIDTH):
            width = max(width, _line_width(lines[-1]) + for_time)
        else:
            lines.append([])
        rows = shown.buttons
        if rows:
            labels = max(sum(estimated_width(label, 13) + 32 for label in row) for row in rows)
            width = max(width, labels - 2 * PADDING)
        width += 2 * PADDING
        height = len(lines) * LINE_HEIGHT + PADDING
        x = WIDTH - MARGIN - width if shown.by_person else MARGIN
        self.box(x, self.y, width, height, 'fill="#e7fbd0"' if shown.by_person else 'fill="#fff"')
        for number, line in enumerate(lines):
            if line:
                self.text(x + PADDING, self.y + 19 + number * LINE_HEIGHT, line)
        self.text(
            x + width - PADDING,
            self.y + height - 7,
            [Word(time, "")],
            f"small end {'sent' if shown.by_person else 'got'}",
        )
        self.y += height
        for row in rows:
            self.y += 4
            each = (width - 4 * (len(row) - 1)) / len(row)
            for number, label in enumerate(row):
                left = x + number * (each + 4)
                self.box(left, self.y, each, BUTTON_HEIGHT, 'fill="#4c7a63" fill-opacity=".7"', 8)
                self.text(left + each / 2, self.y + 21, [Word(label, "")], "label middle")
            self.y += BUTTON_HEIGHT
        self.y += 8


def drawn(messages: Iterable[Shown], title: str) -> str:
    """Draw a chat with the bot `title` and return the SVG."""
    canvas = _Canvas()
    for day, of_day in groupby(messages, lambda shown: f"{shown.at.day} {shown.at:%B}"):
        canvas.day(day)
        for shown in of_day:
            canvas.message(shown)
    height = canvas.y + MARGIN - 8
    frame = {
        "width": WIDTH,
        "height": round(height),
        "inner_width": WIDTH - 1,
        "inner_height": round(height) - 1,
        "title": escape(title),
        "initial": escape(title[0]),
    }
    return "\n".join([HEAD.format_map(frame | {"sheet": SHEET}), *canvas.parts, FOOT.format_map(frame)])
