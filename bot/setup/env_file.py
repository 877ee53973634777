"""Writing settings into `.env`, which holds secrets and keeps what else a person wrote there."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from dotenv import dotenv_values, set_key, unset_key

if TYPE_CHECKING:
    from pathlib import Path


def write_settings(env_file: Path, **values: str) -> None:
    """Write settings into `env_file`, which only its owner may read; an empty value removes the setting.

    All of them or none: whatever interrupts this leaves the file as it was.
    """
    target = env_file.resolve()  # a link stays one
    draft = target.with_name(f"{target.name}.{os.getpid()}.draft")
    try:
        draft.touch(mode=0o600)
        if target.exists():
            shutil.copyfile(target, draft)
        present = dotenv_values(draft, encoding="utf-8")
        for name, value in values.items():
            if value:
                set_key(draft, name, value, encoding="utf-8")
            elif name in present:
                unset_key(draft, name, encoding="utf-8")
        draft.chmod(0o600)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
