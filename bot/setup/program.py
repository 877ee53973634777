"""Names the program as this user can run it from the current directory."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

# The settings file of a bot installed by deploy/install.sh, which contains the bot's name.
_SERVER = re.compile(r"/etc/mneme/([a-z][a-z0-9-]*)\.env")


def find_server_bot(env_file: Path) -> str | None:
    """Return the name of a bot that was installed on a server, or None in a checkout."""
    server = _SERVER.fullmatch(str(env_file))
    return server[1] if server is not None else None


def find_program(env_file: Path) -> str:
    """Return the command that runs this installation, such as `mneme`, `.venv/bin/mneme` or `sudo mneme @work`."""
    if (server := find_server_bot(env_file)) is not None:
        return "sudo mneme" if server == "mneme" else f"sudo mneme @{server}"
    script = Path(sys.prefix) / "bin" / "mneme"
    on_path = shutil.which("mneme")
    if not script.exists() or (on_path is not None and Path(on_path).resolve() == script.resolve()):
        return "mneme"
    return str(script.relative_to(Path.cwd())) if script.is_relative_to(Path.cwd()) else str(script)
