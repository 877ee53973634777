"""JSON that nobody has checked: servers leave out what they have nothing to say in, or send something else."""

from __future__ import annotations


def at(value: object, *names: str) -> object:
    """What stands under these names, one inside of the other; None where it does not."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def items(value: object, name: str) -> list[object]:
    """The list under a name; an empty one where there is none."""
    found = at(value, name)
    return found if isinstance(found, list) else []
