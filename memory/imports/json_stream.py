"""JSON documents of any size, read piece by piece. ijson is imported at the first one: most starts see none."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def events(file: IO[bytes]) -> Iterator[tuple[str, str, Any]]:
    """Where in the document, what begins or ends there, and its value. Raises ValueError where it is damaged."""
    import ijson

    try:
        yield from ijson.parse(file, use_float=True)
    except ijson.JSONError as error:
        raise ValueError(str(error)) from error


def items(file: IO[bytes], prefix: str) -> Iterator[Any]:
    """The values at a path, as ijson writes it, one after another. Raises ValueError where it is damaged."""
    import ijson

    try:
        yield from ijson.items(file, prefix, use_float=True)
    except ijson.JSONError as error:
        raise ValueError(str(error)) from error
