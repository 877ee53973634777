"""Reads JSON from servers, in which any field may be missing, null or of another type."""

from __future__ import annotations


def get_value(value: object, *names: str) -> object:
    """Return the value under a path of names, or None if it is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def get_items(value: object, name: str) -> list[object]:
    """Return the list under a name, or an empty one."""
    result = get_value(value, name)
    return result if isinstance(result, list) else []


def get_text(value: object, *names: str) -> str:
    """Return the text under a path of names, or an empty one."""
    result = get_value(value, *names)
    return result if isinstance(result, str) else ""


def get_count(value: object, *names: str) -> int:
    """Return the number under a path of names, or 0."""
    result = get_value(value, *names)
    return int(result) if isinstance(result, int | float) and not isinstance(result, bool) else 0
