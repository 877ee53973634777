"""Zip files: how entries are written, and what entries of a file from elsewhere may be."""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import PurePosixPath

BROKEN = (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What reading a damaged, encrypted or exotic zip file raises."""
_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""Zip knows no earlier time, and none is told."""


def entry_of(name: str) -> zipfile.ZipInfo:
    """An entry to write, readable for its owner only."""
    entry = zipfile.ZipInfo(name, _EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | 0o600) << 16
    return entry


def is_plain(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry is a file, and not a folder, a link or a device."""
    mode = entry.external_attr >> 16
    return stat.S_IFMT(mode) in (0, stat.S_IFREG) and not entry.is_dir()


def stays_inside(name: str) -> bool:
    """Whether a name leads to where it is unpacked and nowhere else, on any system."""
    parts = PurePosixPath(name).parts
    plain = bool(parts) and "/".join(parts) == name and not name.startswith("/")
    return plain and not any(part == ".." or "\\" in part or "\0" in part for part in parts)
