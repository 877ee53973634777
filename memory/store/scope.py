"""What narrows a search: scopes, the paths that a memory is about as a glob pattern (S4), and tags."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase

from config.secrets import secret_in
from config.texts import _, number
from memory.errors import MemoryRefused
from memory.messages import storable

LONGEST_SCOPE = 200
LONGEST_PATH = 1_000
"""Characters of a path that is matched; a longer one lies in no scope."""
_WILD = frozenset("*?[")


def usable_scope(scope: str | None) -> str | None:
    """`scope` as it is stored; None for an empty one. Raises MemoryRefused for what is no pattern of paths."""
    pattern = _plain(storable(scope or ""))
    if not pattern:
        return None
    if len(pattern) > LONGEST_SCOPE:
        raise MemoryRefused(
            _(
                "A scope has at most {most} characters, and this one has {has}.",
                most=LONGEST_SCOPE,
                has=number(len(pattern)),
            )
        )
    if not pattern.isprintable() or not _is_closed(pattern):
        raise MemoryRefused(
            _("{text!r} is no pattern of paths: write one such as src/api/** or docs/*.md.", text=pattern)
        )
    if (secret := secret_in(pattern)) is not None:
        raise MemoryRefused(
            _("This scope looks like {secret}, which I never store: leave it out and try again.", secret=_(secret))
        )
    return pattern


def scope_matches(scope: str | None, path: str) -> bool:
    """Whether a path lies in a scope. A scope that is no pattern matches only itself; none at all, nothing."""
    pattern, plain = _plain(scope or ""), _plain(path)
    if not pattern or len(pattern) > LONGEST_SCOPE or len(plain) > LONGEST_PATH:
        return bool(pattern) and plain == pattern
    return plain == pattern or _lies_in(plain, pattern)


def _lies_in(path: str, pattern: str) -> bool:
    """Whether `pattern` is one of `path`: `**` stands for any number of folders, all else for a part of one name."""
    # part by part: as one regular expression `**/a/**/a/**/a/**/b` takes seconds
    parts = path.rstrip("/").split("/")
    # how many parts of the path the pattern may have consumed so far
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
    # most names are no patterns, and to make one ready takes most of the time
    return part == name or (not _WILD.isdisjoint(name) and fnmatchcase(part, name))


def _plain(path: str) -> str:
    plain = path.replace("\\", "/").strip()
    while plain.startswith("./"):
        plain = plain.removeprefix("./").lstrip()
    return plain


def _is_closed(pattern: str) -> bool:
    """Whether every set of characters that begins in it ends in it."""
    return "[" not in pattern.rpartition("]")[2] and "]" not in pattern.partition("[")[0]


def has_tags(tags: str | None, target: str) -> bool:
    """Whether all wanted tags are among an entry's, whatever their case; both are JSON lists."""
    there = {tag.casefold() for tag in json.loads(tags or "[]")}
    return all(tag.casefold() in there for tag in json.loads(target))
