"""Reads the context window from the header of a GGUF file."""

from __future__ import annotations

import struct
from pathlib import Path

MAX_HEADER_BYTES = 1_000_000
"""Only this much of the file is read. The window is stored before the vocabulary, which is much longer."""
_MAX_ENTRIES = 4096
_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_INTEGERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 10: "<Q", 11: "<q"}
_MAX_TOKENS = 100_000_000


class _HeaderError(Exception):
    """Raised if the bytes are not a GGUF header, or end too early."""


def read_trained_window(weights: Path) -> int | None:
    """Return the context window that a model was trained for, or None if the file doesn't state it. Raises OSError."""
    with weights.open("rb") as file:
        header = _Header(file.read(MAX_HEADER_BYTES))
    try:
        return header.read_context_length()
    except _HeaderError:
        return None


class _Header:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    def read_context_length(self) -> int | None:
        """Return the value of ARCHITECTURE.context_length. The header names the architecture first."""
        version = self._read_number("<I") if self._take(4) == b"GGUF" else 0
        if version not in (2, 3):  # Other versions store lengths in another size.
            return None
        self._read_number("<Q")  # Number of tensors.
        architecture = None
        for _ in range(min(self._read_number("<Q"), _MAX_ENTRIES)):
            key, kind = self._read_text(), self._read_number("<I")
            if key == "general.architecture" and kind == _STRING:
                architecture = self._read_text()
            elif key == f"{architecture}.context_length" and kind in _INTEGERS:
                tokens = self._read_number(_INTEGERS[kind])
                return tokens if 0 < tokens <= _MAX_TOKENS else None
            else:
                self._skip(kind)
        return None

    def _skip(self, kind: int) -> None:
        if kind == _STRING:
            self._take(self._read_number("<Q"))
        elif kind == _ARRAY:
            kind, count = self._read_number("<I"), self._read_number("<Q")
            if kind in _SIZES:
                self._take(_SIZES[kind] * count)
            elif kind == _STRING:
                # Each string takes at least eight bytes, so the loop ends with the content.
                for _ in range(count):
                    self._take(self._read_number("<Q"))
            else:
                raise _HeaderError
        else:
            self._take(_SIZES.get(kind, MAX_HEADER_BYTES))

    def _read_text(self) -> str:
        return self._take(self._read_number("<Q")).decode("utf-8", "replace")

    def _read_number(self, form: str) -> int:
        (number,) = struct.unpack(form, self._take(struct.calcsize(form)))
        return int(number)

    def _take(self, count: int) -> bytes:
        content = self._content[self._position : self._position + count]
        if len(content) < count:
            raise _HeaderError
        self._position += count
        return content
