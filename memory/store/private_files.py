"""Creates folders and files that only their owner can read."""

from __future__ import annotations

from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, all with mode 700. Existing folders keep their mode."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    if not missing:
        folder.mkdir(exist_ok=True)  # Raises if it is a file


def touch_private_file(path: Path) -> None:
    """Create an empty file with mode 600 unless it exists."""
    path.touch(mode=FILE_MODE)
