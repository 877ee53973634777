"""Draws the results of `python -m benchmarks.locomo PATH --peers --json FILE` as an SVG picture.

It has a bar for each method and depth: the share of a question's evidence among that many messages. A line in each bar
is the 95% interval.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.locomo_figures import DEPTHS

Figures = dict[str, list[float]]
"""Mean and interval of each figure, in percent."""

COLOURS = ("#9ec5e8", "#4a90c8", "#1f5582")
BAR, GAP, LEFT, TOP = 16, 14, 190, 58
"""Pixels: height of a bar, space between methods, width of the names, space above the first bar."""
PERCENT = 4.4
"""Width of one percent in pixels."""


def draw(title: str, methods: dict[str, Figures]) -> str:
    """Return a complete SVG picture."""
    group = BAR * len(DEPTHS) + GAP
    width, height = LEFT + 100 * PERCENT + 60, TOP + group * len(methods) + 10
    font = 'font-family="sans-serif" font-size="12" fill="#222"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" {font}>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
        f'<text x="12" y="20" font-size="14">{escape(title)}</text>',
    ]
    for number, (depth, colour) in enumerate(zip(DEPTHS, COLOURS, strict=True)):
        x = LEFT + 150 * number
        lines.append(f'<rect x="{x}" y="32" width="12" height="12" fill="{colour}"/>')
        lines.append(f'<text x="{x + 18}" y="42">among the best {depth}</text>')
    for number, (name, figures) in enumerate(methods.items()):
        lines += _draw_bars(name, figures, TOP + group * number)
    return "\n".join([*lines, "</svg>\n"])


def _draw_bars(name: str, figures: Figures, top: int) -> Iterator[str]:
    yield f'<text x="{LEFT - 10}" y="{top + BAR * len(DEPTHS) / 2 + 4:.0f}" text-anchor="end">{escape(name)}</text>'
    for number, (depth, colour) in enumerate(zip(DEPTHS, COLOURS, strict=True)):
        mean, low, high = figures[f"R@{depth}"]
        y = top + BAR * number
        from_, to = LEFT + low * PERCENT, LEFT + high * PERCENT
        yield f'<rect x="{LEFT}" y="{y}" width="{mean * PERCENT:.0f}" height="{BAR - 2}" fill="{colour}"/>'
        yield f'<path d="M{from_:.0f} {y + BAR / 2 - 1:.0f}H{to:.0f}" stroke="#222"/>'
        yield f'<text x="{to + 8:.0f}" y="{y + BAR - 5}">{mean:.0f}%</text>'


def main() -> None:
    """Read the figures and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figures", type=Path, help="what --json wrote, with --peers")
    parser.add_argument("picture", type=Path, help="SVG file to write")
    arguments = parser.parse_args()
    measured = json.loads(arguments.figures.read_text(encoding="utf-8"))
    title = f"How many of the messages that answer a question are found, {measured['questions']} questions"
    arguments.picture.write_text(draw(title, measured["peers"]), encoding="utf-8")


if __name__ == "__main__":
    main()
