"""Whether a model sees pictures, found out by showing it one: some servers drop them without a word."""

from __future__ import annotations

import re
import struct
import zlib
from typing import TYPE_CHECKING

from memory.clock import system_clock
from memory.messages import Image, Message, Role
from pipeline.models.model import ModelRequest

if TYPE_CHECKING:
    from pipeline.models.model import ModelAnswer

COLOUR = "orange"
"""Seldom what a model guesses that sees nothing."""
_RGB = b"\xff\x8c\x00"
_SIDE = 64
"""Pixels; some models refuse smaller pictures."""
TOKENS = 200
"""How long the answer may get: models that think first need some before they say a word."""


def sight_test() -> ModelRequest:
    """The question."""
    asked = Message(
        Role.USER,
        "What colour is this picture? Answer with one word.",
        system_clock(),
        images=(Image("image/png", _png()),),
    )
    return ModelRequest([asked], max_output_tokens=TOKENS, temperature=0.0, purpose="probe")


def names_the_colour(answer: ModelAnswer) -> bool | None:
    """Whether the answer can only come from somebody who saw it; None where it did not come to its end."""
    if re.search(rf"\b{COLOUR}\b", answer.text, re.IGNORECASE):
        return True
    return False if answer.is_whole and answer.text.strip() else None


def _png() -> bytes:
    """A square of that colour."""
    rows = (b"\x00" + _RGB * _SIDE) * _SIDE
    head = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    made = (struct.pack(">I", len(d)) + kind + d + struct.pack(">I", zlib.crc32(kind + d)) for kind, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(made)
