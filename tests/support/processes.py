"""`mneme run` as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path


@contextlib.asynccontextmanager
async def running_bot(environment: Mapping[str, str], folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start the bot in `folder`, with its log there; it is killed at the end of the block if it still runs."""
    with (folder / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "run", env=environment, stderr=log, cwd=folder
        )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
