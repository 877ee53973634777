"""Tags: the words under which entries are put together."""

from __future__ import annotations

import json


def has_tags(tags: str | None, target: str) -> bool:
    """Whether all wanted tags are among an entry's, whatever their case; both are JSON lists."""
    there = {tag.casefold() for tag in json.loads(tags or "[]")}
    return all(tag.casefold() in there for tag in json.loads(target))
