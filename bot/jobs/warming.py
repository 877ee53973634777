"""What takes long the first time is done before anybody waits for it: the first message, or all of a crowd's."""

from __future__ import annotations

import asyncio
import gc
from functools import cache

from memory.capture.capture import captured
from pipeline.models.client import load_sdk

_GREETING = "Hello."
"""Has the phrases of the languages in Latin letters read; those of others are read at their first word."""


async def warm_up() -> None:
    """Import what answers need, and read the classifier and phrases, in a thread: the event loop goes on meanwhile."""
    await asyncio.to_thread(_load)


@cache
def _load() -> None:
    """Load it, once in a process.

    What is loaded stays for good, and there is much of it. So it is not looked through for garbage, neither while it
    grows, which takes a fifth of the time, nor ever after: each full look would stop the event loop for a tenth of a
    second.
    """
    gc.disable()
    try:
        load_sdk()
        captured(_GREETING)
        gc.freeze()
    finally:
        gc.enable()
