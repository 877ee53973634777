"""Copies excerpts of the recordings into docs/examples.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "examples.md"
BLOCK = re.compile(r"^## ([^\n]+)\n(?:(?!## |```)[^\n]*\n)*```text\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
"""A section of the page: its heading and its chat."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a recording.

    Attributes:
        recording: The name of the file with the recording.
        first: The beginning of the first line. If several lines begin with it, the first of them counts.
        until: The beginning of the line after the excerpt.
    """

    recording: str
    first: str
    until: str = "```"

    def text(self) -> str:
        """Return the excerpt.

        Raises:
            ValueError: The recording has no such lines.
        """
        recorded = Path(__file__).with_name(self.recording).read_text(encoding="utf-8")
        found = re.search(
            rf"^{re.escape(self.first)}.*?(?=^{re.escape(self.until)})", recorded, re.MULTILINE | re.DOTALL
        )
        if found is None:
            raise ValueError(f"{self.recording} has no lines from {self.first!r} to {self.until!r}")
        return found[0].rstrip()


EXCERPTS = {
    "A first conversation": Excerpt("conversations.md", "> Hi! I'm Tom", "> (a photo)"),
    "A correction": Excerpt("pictures.md", "> I moved from Kyiv"),
    "The end of a conversation": Excerpt("telegram.md", "> /new", "> /memory unsure"),
    "A reminder": Excerpt("telegram.md", "> Remind me tonight", "> ["),
    "A photo": Excerpt("conversations.md", "> (a photo)", "> I moved"),
    "A private talk": Excerpt("telegram.md", "> /private"),
    "A family": Excerpt("family.md", "Wednesday", "Thursday"),
    "A group": Excerpt("family.md", "Friday", "Saturday"),
}
"""The excerpts by their headings in docs/examples.md."""


def chats(document: str) -> dict[str, str]:
    """Return the chats of docs/examples.md by their headings."""
    return dict(BLOCK.findall(document))


def updated(document: str) -> str:
    """Return docs/examples.md with its chats replaced by the current recordings."""
    return BLOCK.sub(
        lambda block: block[0].replace(f"\n{block[2]}\n```", f"\n{EXCERPTS[block[1]].text()}\n```"), document
    )
