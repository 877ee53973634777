"""A linear model over hashed signs, in pure Python: what its parts share, and the file that holds its weights.

Signs are strings in groups; each sign adds what its bucket counts, and a group of many as much as one of few. The
file has a line of JSON, which tells its origin and what else its reader needs, and packed weights of eight bits.
"""

from __future__ import annotations

import array
import json
import math
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path


def hashed(groups: Iterable[Iterable[str]], buckets: int) -> list[set[int]]:
    """Where the signs are counted, by their groups; the same on every machine. buckets: a power of two."""
    return [{zlib.crc32(sign.encode("utf-8", "replace")) & (buckets - 1) for sign in group} for group in groups]


def counted(groups: Iterable[Collection[int]], weights: Sequence[int]) -> float:
    """What the signs in these buckets add up to, in units of the weights."""
    return sum(sum(map(weights.__getitem__, group)) / math.sqrt(len(group)) for group in groups if group)


def read(path: Path) -> tuple[dict[str, Any], array.array[int]]:
    """What the first line of a file of weights says, and all its weights.

    Raises ValueError where it holds something else; zlib.error where it is damaged.
    """
    line, _, packed = path.read_bytes().partition(b"\n")
    return json.loads(line), array.array("b", zlib.decompress(packed))


def written(header: Mapping[str, Any], weights: bytes) -> bytes:
    """A file of weights."""
    return json.dumps(header).encode() + b"\n" + zlib.compress(weights, 9)
