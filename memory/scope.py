"""Scopes: the paths that a memory is about, as a glob pattern (S4)."""

from __future__ import annotations

from wcmatch import glob

from memory.errors import MemoryRefused
from memory.messages import storable

LONGEST_SCOPE = 200
_FLAGS = glob.GLOBSTAR | glob.DOTGLOB | glob.FORCEUNIX


def usable_scope(scope: str | None) -> str | None:
    """`scope` as it is stored; None for an empty one. Raises MemoryRefused for what is no pattern of paths."""
    pattern = _plain(storable(scope or ""))
    if not pattern:
        return None
    if len(pattern) > LONGEST_SCOPE:
        raise MemoryRefused(f"A scope has at most {LONGEST_SCOPE} characters, and this one has {len(pattern)}.")
    if not pattern.isprintable() or not _is_closed(pattern):
        raise MemoryRefused(f"{pattern!r} is no pattern of paths: write one such as src/api/** or docs/*.md.")
    return pattern


def scope_matches(scope: str | None, path: str) -> bool:
    """Whether a path lies in a scope. A scope that is no pattern matches only itself; none at all, nothing."""
    if not scope:
        return False
    plain = _plain(path)
    return plain == scope or (len(scope) <= LONGEST_SCOPE and glob.globmatch(plain, scope, flags=_FLAGS))


def _plain(path: str) -> str:
    return path.strip().replace("\\", "/").removeprefix("./")


def _is_closed(pattern: str) -> bool:
    """Whether every set of characters that begins in it ends in it."""
    return "[" not in pattern.rpartition("]")[2] and "]" not in pattern.partition("[")[0]
