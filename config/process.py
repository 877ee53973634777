"""The process: its version, its limit of file handles, its allocator and its garbage collector."""

from __future__ import annotations

import contextlib
import gc
import resource
import sys
from collections.abc import Iterator

DISTRIBUTION = "mneme-bot"
"""The name of the package. The command is `mneme`."""
WANTED_HANDLES = 8192
"""Enough for everything. Many systems allow 1,024 until a program asks for more."""
# One heap for all threads, and large blocks from the system. By default, each thread has its own heaps, which grow to
# 128 MB and keep what prompts and answers took.
_MALLOC_OPTIONS = {-8: 1, -3: 64 * 1024, -1: 128 * 1024}
"""Values of glibc's M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD."""
# Telegram and up to three models have one share each. The rest is for files, the database and closing connections.
_CLIENT_SHARES = 8
_MIN_CONNECTIONS = 4


def get_program_version() -> str:
    from importlib.metadata import version

    return version(DISTRIBUTION)


def raise_handle_limit() -> None:
    """Raise the limit of open file handles to WANTED_HANDLES, or as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = WANTED_HANDLES if hard == resource.RLIM_INFINITY else min(hard, WANTED_HANDLES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def return_freed_memory() -> None:
    """Let the C library return freed memory to the system. Call it before threads start.

    In a conversation of 1,000 messages, a bot took 349 MB without this, and 104 MB with it.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # Another C library than glibc
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in _MALLOC_OPTIONS.items():
            mallopt(option, value)


def limit_connections(limit: int) -> int:
    """Lower a client's limit of connections if the process has few file handles."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit if soft == resource.RLIM_INFINITY else max(_MIN_CONNECTIONS, min(limit, soft // _CLIENT_SHARES))


@contextlib.contextmanager
def loading_for_good() -> Iterator[None]:
    """Exclude the objects created in the block, such as large modules, from garbage collection."""
    # Collections while they are loaded would take a fifth of the time.
    gc.disable()
    try:
        yield
        # Otherwise each later full collection would block the event loop for a tenth of a second.
        gc.freeze()
    finally:
        gc.enable()


@contextlib.contextmanager
def hidden_modules(*names: str) -> Iterator[None]:
    """Let imports of these packages fail in the block, if nothing has imported them yet.

    Libraries import some packages if they are installed, for functions that Mneme doesn't use.
    """
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # Makes the import fail
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
