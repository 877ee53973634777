"""Writing settings into `.env`, which holds secrets and keeps what else a person wrote there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dotenv import dotenv_values, set_key, unset_key

if TYPE_CHECKING:
    from pathlib import Path


def write_settings(env_file: Path, **values: str) -> None:
    """Write settings into `env_file`, which only its owner may read; an empty value removes the setting."""
    env_file.touch(mode=0o600)
    present = dotenv_values(env_file)
    for name, value in values.items():
        if value:
            set_key(env_file, name, value)
        elif name in present:
            unset_key(env_file, name)
    env_file.chmod(0o600)
