"""The audit of the packages: what it says, and what it lets pass."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from tests.trials.audit import LOCKS, audited, verdict

ROOT = Path(__file__).parents[2]
SAFE = {"name": "safe", "version": "1.0", "vulns": []}
WEAK = {"name": "weak", "version": "0.1", "vulns": [{"id": "PYSEC-1"}, {"id": "PYSEC-2"}]}
UNSEEN = {"name": "unseen", "skip_reason": "not found on PyPI"}


@pytest.mark.parametrize(
    ("packages", "said", "usable"),
    [
        ([SAFE, SAFE], "no known weakness in 2 packages", True),
        ([SAFE, WEAK, UNSEEN], "known weaknesses in weak 0.1 (PYSEC-1), weak 0.1 (PYSEC-2)", False),
        ([SAFE, UNSEEN], "nothing is known of 1 of 2 packages here", True),
    ],
)
def test_33_only_a_known_weakness_is_refused_and_only_what_was_looked_up_is_called_safe(
    packages: list[object], said: str, *, usable: bool
) -> None:
    line, may_be_used = verdict(json.dumps({"dependencies": packages}))
    assert (may_be_used, "\n" in line) == (usable, False)
    assert said in line


@pytest.mark.parametrize("found", ["", "ConnectionError", "{"])
def test_33_without_the_network_one_line_says_so_and_the_build_goes_on(found: str) -> None:
    line, usable = verdict(found)
    assert usable
    assert "\n" not in line
    assert "not made" in line


def test_33_an_audit_ends_in_time() -> None:
    before = time.monotonic()
    assert audited(LOCKS, seconds=0.01) == ""
    assert time.monotonic() - before < 5


def test_33_every_lock_file_that_users_install_from_is_read() -> None:
    installing = ("Makefile", "deploy/install.sh", "deploy/docker/Dockerfile", "docs/deploy.md")
    texts = "".join((ROOT / name).read_text(encoding="utf-8") for name in installing)
    named = {*re.findall(r"requirements[\w-]*\.lock", texts)}
    assert {lock.name for lock in LOCKS} == named - {"requirements-dev.lock"}
    assert len(LOCKS) == 5
