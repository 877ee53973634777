"""What takes long the first time is done before anybody waits for it: the first message, or all of a crowd's."""

from __future__ import annotations

import asyncio

from memory.learning.capture import captured
from pipeline.endpoint.client import load_sdk

_GREETING = "Hello."
"""Has the phrases of the languages in Latin letters read; those of others are read at their first word."""


async def warm_up() -> None:
    """Import what answers are asked for with, and read the phrases, in a thread: the event loop goes on meanwhile."""
    await asyncio.to_thread(_load)


def _load() -> None:
    load_sdk()
    captured(_GREETING)
