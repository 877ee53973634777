"""Search filters: scopes, which are glob patterns of the paths that a memory is about (S4), and tags."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase

from config.secrets import find_secret
from config.texts import _, format_number
from memory.errors import MemoryRefused
from memory.messages import make_storable

MAX_SCOPE_CHARS = 200
MAX_PATH_CHARS = 1_000
"""Longer paths match no pattern."""
_WILD = frozenset("*?[")


def validate_scope(scope: str | None) -> str | None:
    """Return a scope as it is stored, or None if it is empty. Raise MemoryRefused if it is not a path pattern."""
    pattern = _normalise(make_storable(scope or ""))
    if not pattern:
        return None
    if len(pattern) > MAX_SCOPE_CHARS:
        raise MemoryRefused(
            _(
                "A scope can have at most {most} characters, and this one has {has}: shorten it.",
                most=MAX_SCOPE_CHARS,
                has=format_number(len(pattern)),
            )
        )
    if not pattern.isprintable() or not _is_closed(pattern):
        raise MemoryRefused(
            _("{text!r} isn't a path pattern: write one such as src/api/** or docs/*.md.", text=pattern)
        )
    if (secret := find_secret(pattern)) is not None:
        raise MemoryRefused(
            _("This scope looks like {secret}, which I never store: leave it out and try again.", secret=_(secret))
        )
    return pattern


def scope_matches(scope: str | None, path: str) -> bool:
    """Return True if a path matches a scope. An invalid pattern matches only itself, an empty one nothing."""
    pattern, plain = _normalise(scope or ""), _normalise(path)
    if not pattern or len(pattern) > MAX_SCOPE_CHARS or len(plain) > MAX_PATH_CHARS:
        return bool(pattern) and plain == pattern
    return plain == pattern or _lies_in(plain, pattern)


def _lies_in(path: str, pattern: str) -> bool:
    """Match a path: `**` matches any number of folders, other wildcards a part of one name."""
    # Name by name: a single regular expression for `**/a/**/a/**/a/**/b` takes seconds.
    parts = path.rstrip("/").split("/")
    # The possible numbers of path names that the pattern has consumed so far.
    reached = {0}
    for name in pattern.rstrip("/").split("/"):
        if name == "**":
            reached = set(range(min(reached), len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and _fits(parts[at], name)}
        if not reached:
            return False
    return len(parts) in reached


def _fits(part: str, name: str) -> bool:
    # Most names have no wildcards, and compiling a pattern is slow.
    return part == name or (not _WILD.isdisjoint(name) and fnmatchcase(part, name))


def _normalise(path: str) -> str:
    plain = path.replace("\\", "/").strip()
    while plain.startswith("./"):
        plain = plain.removeprefix("./").lstrip()
    return plain


def _is_closed(pattern: str) -> bool:
    """Return True if all brackets are closed."""
    return "[" not in pattern.rpartition("]")[2] and "]" not in pattern.partition("[")[0]


def has_tags(tags: str | None, target: str) -> bool:
    """Return True if an entry has all wanted tags, ignoring case. Both are JSON lists."""
    there = {tag.casefold() for tag in json.loads(tags or "[]")}
    return all(tag.casefold() in there for tag in json.loads(target))
