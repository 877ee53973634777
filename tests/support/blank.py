"""An empty database to be copied, because creating one is slower than most tests."""

from __future__ import annotations

import asyncio
import functools
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from memory.store.database import Database


def write_blank(path: Path) -> Path:
    """Write an empty database to `path` and return it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(_read_blank())
    return path


@functools.cache
def _read_blank() -> bytes:
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as thread:
        path = Path(folder) / "mneme.db"
        thread.submit(asyncio.run, _create(path)).result()  # A test may run an event loop in this thread.
        return path.read_bytes()


async def _create(path: Path) -> None:
    await (await Database.open(path)).close()
