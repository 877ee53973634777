"""How long an answer is waited for."""

from __future__ import annotations

import asyncio
import contextlib
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


@contextlib.asynccontextmanager
async def patiently(silence: float, seconds: float | None) -> AsyncIterator[Callable[[], None]]:
    """Raises TimeoutError in a block that takes longer than `seconds`, or hears nothing for `silence` seconds.

    The block calls what it is given whenever it has heard something.
    """
    now = asyncio.get_running_loop().time
    end = math.inf if seconds is None else now() + seconds
    async with asyncio.timeout_at(min(now() + silence, end)) as limit:

        def heard() -> None:
            if not limit.expired():  # the block is on its way out then
                limit.reschedule(min(now() + silence, end))

        yield heard
