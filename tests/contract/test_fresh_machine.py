"""Test of the README's commands on a fresh machine. `make fresh` runs it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "trials" / "fresh_machine.sh"
CANNOT = 77


@pytest.mark.skipif("MNEME_TEST_FRESH" not in os.environ, reason="takes minutes and 3 GB: `make fresh` runs it")
def test_readme_commands_lead_to_an_answer_in_bare_debian() -> None:
    tried = subprocess.run([SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # noqa: S603  # Our own script.
    if tried.returncode == CANNOT:
        pytest.skip(tried.stdout.strip().splitlines()[-1])
    assert tried.returncode == 0, tried.stdout


def test_script_says_why_it_can_not_run() -> None:
    without_tools = {"PATH": "/nonexistent"}
    bash = next(path for path in ("/bin/bash", "/usr/bin/bash") if Path(path).exists())
    tried = subprocess.run(  # noqa: S603  # Our own script.
        [bash, SCRIPT], env=without_tools, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert tried.returncode == CANNOT
    assert "skipped, " in tried.stdout.splitlines()[-1]
