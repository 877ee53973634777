"""Reads untrusted JSON documents in bounded memory.

ijson streams, but it stores the path of every nesting level, whole keys, strings and numbers, and all events of a chunk
at once. So each chunk is checked before ijson reads it, with methods of bytes, which takes ten seconds per gigabyte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any

MAX_DEPTH = 64
"""Maximum nesting of lists and objects. Exports have fewer than 20."""
MAX_KEY_BYTES = 2_000
MAX_STRING_BYTES = 8 * 1024**2
MAX_NUMBER_BYTES = 400
MAX_VALUE_BYTES = 16 * 1024**2
MAX_VALUE_ITEMS = 1_000_000
"""Maximum number of items in one value that is built in memory, such as a conversation."""
MAX_PATH_DEPTH = 8
CHUNK_BYTES = 4_096
"""Bytes that are parsed at once. The events of a chunk are in memory together."""

_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SEPARATORS = bytes.maketrans(b"[]{},:\t\r\n", b" " * 9)


class TooComplex(ValueError):
    """A document is nested too deeply, or something in it is too long."""


class BoundedJson:
    """A file of JSON for ijson to read. Raises TooComplex before a chunk that exceeds the limits is handed over.

    Args:
        file: The document. Bytes that are no JSON pass through, since the parser refuses them.
        max_value_items: The number of items between two calls of `begin_value`, if the reader builds values. Their
            bytes are limited to MAX_VALUE_BYTES then.
    """

    def __init__(self, file: IO[bytes], *, max_value_items: int | None = None) -> None:
        self._file = file
        self._max_value_items = max_value_items
        self._depth = 0
        self._in_string = False
        self._is_escaped = False  # the next byte follows a backslash
        self._string_bytes = 0  # of the current string, or of the last one until something follows it
        self._outside = b""  # the last bytes outside strings, since a number may continue in the next chunk
        self._value_bytes = 0
        self._value_items = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next chunk, with the whole of a string that begins in it."""
        chunks = [self._file.read(CHUNK_BYTES if size < 0 else min(size, CHUNK_BYTES))]
        if chunks[0]:
            self.check(chunks[0])
        # The parser would scan an unfinished string again for each chunk.
        while self._in_string and chunks[-1]:
            chunks.append(self._file.read(CHUNK_BYTES))
            self.check(chunks[-1])
        return b"".join(chunks)

    def begin_value(self) -> None:
        """Count the size of the next value from here."""
        self._value_bytes = self._value_items = 0

    def check(self, chunk: bytes) -> None:
        """Check the next bytes of the document. Raises TooComplex."""
        outside = self._check_strings(chunk)
        if max(map(len, (self._outside + outside).translate(_SEPARATORS).split()), default=0) > MAX_NUMBER_BYTES:
            raise TooComplex("a number is too long")
        self._outside = b"" if self._in_string else (self._outside + outside)[-MAX_NUMBER_BYTES - 1 :]
        brackets = outside.translate(None, delete=_NO_BRACKETS)
        for bracket in brackets:
            self._depth += 1 if bracket in b"[{" else -1
            if self._depth > MAX_DEPTH:
                raise TooComplex("it is nested too deeply")
        if self._max_value_items is not None:
            self._value_bytes += len(chunk)
            self._value_items += len(brackets) + outside.count(b",")
            if self._value_bytes > MAX_VALUE_BYTES or self._value_items > self._max_value_items:
                raise TooComplex("a value is too large")

    def _check_strings(self, chunk: bytes) -> bytes:
        """Return the bytes outside strings, with a quotation mark for each string."""
        if self._is_escaped:
            chunk = b"_" + chunk[1:]
        # Pairs of backslashes first, so that each remaining one escapes the next character.
        chunk = chunk.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        self._is_escaped = chunk.endswith(b"\\")
        pieces = chunk.split(b'"')
        strings, outside = (pieces[::2], pieces[1::2]) if self._in_string else (pieces[1::2], pieces[::2])
        if self._string_bytes + max(map(len, strings), default=0) > MAX_KEY_BYTES:
            self._check_lengths(pieces)
        else:
            self._in_string ^= not len(pieces) % 2
            if self._in_string:
                self._string_bytes = len(pieces[-1]) + (self._string_bytes if len(pieces) == 1 else 0)
        return b'"'.join(outside)

    def _check_lengths(self, pieces: Sequence[bytes]) -> None:
        """Check the strings of a chunk in which at least one exceeds the limit of keys."""
        for number, piece in enumerate(pieces):
            if number:
                self._in_string = not self._in_string
                self._string_bytes = 0 if self._in_string else self._string_bytes
            if self._in_string:
                self._string_bytes += len(piece)
                if self._string_bytes > MAX_STRING_BYTES:
                    raise TooComplex("a string is too long")
            elif self._string_bytes > MAX_KEY_BYTES and (following := piece.lstrip()):
                if following.startswith(b":"):
                    raise TooComplex("a key is too long")
                self._string_bytes = 0


def parse_events(file: IO[bytes]) -> Iterator[tuple[str, str, Any]]:
    """Yield each event of a document with its path and value. Raises ValueError for a damaged document.

    Paths are those of ijson.parse, down to MAX_PATH_DEPTH. What is nested deeper has an empty path.
    """
    import ijson  # Imported late, since few starts import a JSON document.

    paths: list[str] = [""]  # of the containers that are open, and of the current value in each
    try:
        for event, value in ijson.basic_parse(BoundedJson(file), use_float=True, buf_size=CHUNK_BYTES):
            if event == "map_key":
                yield paths[-2], event, value
                paths[-1] = _join_path(paths, value)
            elif event in ("end_map", "end_array"):
                paths.pop()
                yield paths[-1], event, value
            else:
                yield paths[-1], event, value
                if event == "start_array":
                    paths.append("")
                    paths[-1] = _join_path(paths, "item")
                elif event == "start_map":
                    paths.append("")
    except ijson.JSONError as error:
        raise ValueError(str(error)) from error


def _join_path(paths: Sequence[str], key: str) -> str:
    if len(paths) > MAX_PATH_DEPTH:
        return ""
    return f"{paths[-2]}.{key}" if paths[-2] else key


def parse_values(file: IO[bytes], prefix: str) -> Iterator[Any]:
    """Yield the values at a path, as ijson writes paths. Raises ValueError for a damaged document."""
    import ijson

    bounded = BoundedJson(file, max_value_items=MAX_VALUE_ITEMS)
    try:
        for value in ijson.items(bounded, prefix, use_float=True, buf_size=CHUNK_BYTES):
            bounded.begin_value()
            yield value
            del value  # Keep only one value in memory.
    except ijson.JSONError as error:
        raise ValueError(str(error)) from error


class ValueBuilder:
    """Builds one value from events, such as a message, within the same limits."""

    def __init__(self) -> None:
        from ijson.common import ObjectBuilder  # Imported late, as above.

        self._builder = ObjectBuilder()
        self._bytes = self._items = 0

    def add(self, event: str, value: Any) -> None:  # as returned by ijson
        self._items += 1
        self._bytes += len(value) if isinstance(value, str) else 0
        if self._items > MAX_VALUE_ITEMS or self._bytes > MAX_VALUE_BYTES:
            raise TooComplex("a value is too large")
        self._builder.event(event, value)

    @property
    def value(self) -> Any:
        return self._builder.value
