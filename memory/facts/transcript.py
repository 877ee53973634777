"""Messages as a model reads them in a prompt."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from config.secrets import without_secrets
from memory.messages import Provenance, Role

if TYPE_CHECKING:
    from collections.abc import Iterable
    from zoneinfo import ZoneInfo

    from memory.messages import Message

BEGINNING, END = 120, 200
"""How much of a long text is shown: what it is about, and what it ends with, such as a question."""


def transcript(messages: Iterable[tuple[int | None, Message]], zone: ZoneInfo) -> str:
    """The messages, a line each, under their days: a time before each line would be most of what the model reads.

    Each comes with the number that answers are to name it by, or None. zone: where the days begin.
    """
    lines: list[str] = []
    for day, of_day in itertools.groupby(messages, key=lambda line: line[1].created_at.astimezone(zone).date()):
        lines.append(f"[{day:%A} {day}]")
        for number, message in of_day:
            who = message.speaker or message.role.value
            if message.role is Role.USER and message.provenance is not Provenance.TYPED:
                who += f" ({message.provenance})"
            lines.append(f"{'' if number is None else f'[{number}] '}{who}: {one_line(message.content)}")
    return "\n".join(lines)


def one_line(text: str) -> str:
    """A text in one line of a prompt, without secrets."""
    return " ".join(without_secrets(text).split())


def shortened(text: str) -> str:
    """The beginning and the end of an answer, or of a document."""
    plain = one_line(text)  # masked before it is cut: half a key is no longer known for one
    return plain if len(plain) <= BEGINNING + END else f"{plain[:BEGINNING]} … {plain[-END:]}"
