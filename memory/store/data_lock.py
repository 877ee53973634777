"""The lock of a data directory, which admits one running bot or one restore."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from memory.errors import StoreError
from memory.store.private_files import make_private_folder

LOCK_NAME = "run.lock"


@contextlib.contextmanager
def lock_data_dir(folder: Path) -> Iterator[None]:
    """Hold the lock of a data directory. Raise StoreError if a bot or a restore holds it."""
    try:
        make_private_folder(folder)
        file = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if os.geteuid() == 0:  # The bot's own user must be able to open it.
            owner = folder.stat()
            os.fchown(file, owner.st_uid, owner.st_gid)
    except OSError as error:
        raise StoreError(f"{folder} can't be used: {error.strerror or error}.") from error
    try:
        try:
            # The kernel releases this lock when the process ends, even if it is killed.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(f"A bot is running on {folder}: stop it first, or set another MNEME_DATA_DIR.") from error
        yield
    finally:
        os.close(file)
