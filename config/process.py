"""What the process is and may take: its version; handles that are open at once, and time to look for garbage."""

from __future__ import annotations

import contextlib
import gc
import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DISTRIBUTION = "mneme-bot"
"""What is installed is called so; the command is called mneme."""
WANTED = 8192
"""Handles that are enough for everything; many systems give 1,024 until a program asks for more."""
# The clients' parts: Telegram, up to three models, and as much again for files, the database and what is closing.
_SHARES = 8
_LEAST = 4


def program_version() -> str:
    from importlib.metadata import version

    return version(DISTRIBUTION)


def ask_for_handles() -> None:
    """Take as many handles as the system lets the process have, up to WANTED."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def connections(most: int) -> int:
    """How many connections one client may have open: `most`, or its part of the handles where those are few."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else max(_LEAST, min(most, soft // _SHARES))


@contextlib.contextmanager
def loading_for_good() -> Iterator[None]:
    """Load in the block what stays as long as the process, and of which there is much."""
    # the collector would take a fifth of the time, looking at it again and again while it grows
    gc.disable()
    try:
        yield
        # left out of later full collections too: each would stop the event loop for a tenth of a second
        gc.freeze()
    finally:
        gc.enable()
