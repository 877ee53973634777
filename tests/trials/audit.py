"""Check the packages that users install for known vulnerabilities: `python -m tests.trials.audit`.

The check needs the network.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LOCKS = sorted(lock for lock in Path(__file__).parents[2].glob("requirements*.lock") if lock.stem != "requirements-dev")
"""The lock files for users, including those of the embedded model's engine and the small models."""
SECONDS = 60
"""Timeout for the whole audit, so that a hanging network can't block a build."""


def run_audit(locks: Sequence[Path], seconds: float = SECONDS) -> str:
    """Run pip-audit on all lock files and return its JSON, or an empty text if it failed."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes"]
    command += [word for lock in locks for word in ("--requirement", str(lock))]
    command += ["--timeout", "5", "--progress-spinner", "off", "--format", "json"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False).stdout  # noqa: S603  # our own words
    except subprocess.TimeoutExpired:
        return ""


def format_verdict(found: str) -> tuple[str, bool]:
    """Return a line about an audit and whether the packages can be used. Unchecked packages are not called safe."""
    try:
        packages = json.loads(found)["dependencies"]
    except ValueError:
        return "audit: not made, since the list of weaknesses can't be reached; that needs the network", True
    weak = [
        f"{one['name']} {one['version']} ({weakness['id']})" for one in packages for weakness in one.get("vulns", ())
    ]
    if weak:
        return (
            f"audit: known weaknesses in {', '.join(weak)}: run `make lock`, or narrow the range in pyproject.toml",
            False,
        )
    unseen = sum("skip_reason" in one for one in packages)
    if unseen:
        return f"audit: nothing is known of {unseen} of {len(packages)} packages here; that needs PyPI itself", True
    return f"audit: no known weakness in {len(packages)} packages", True


if __name__ == "__main__":
    line, usable = format_verdict(run_audit(LOCKS))
    print(line)  # noqa: T201  # a command
    raise SystemExit(0 if usable else 1)
