"""Tests of the audit of packages."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from tests.trials.audit import LOCKS, format_verdict, run_audit

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
def test_33_audit_refuses_only_known_weaknesses(packages: list[object], said: str, *, usable: bool) -> None:
    line, may_be_used = format_verdict(json.dumps({"dependencies": packages}))
    assert (may_be_used, "\n" in line) == (usable, False)
    assert said in line


@pytest.mark.parametrize("found", ["", "ConnectionError", "{"])
def test_33_audit_without_network_does_not_fail_the_build(found: str) -> None:
    line, usable = format_verdict(found)
    assert usable
    assert "\n" not in line
    assert "not made" in line


def test_33_audit_ends_in_time() -> None:
    before = time.monotonic()
    assert run_audit(LOCKS, seconds=0.01) == ""
    assert time.monotonic() - before < 5


def test_33_audit_reads_every_lock_file_for_users() -> None:
    installing = ("Makefile", "deploy/install.sh", "deploy/docker/Dockerfile", "docs/deploy.md")
    texts = "".join((ROOT / name).read_text(encoding="utf-8") for name in installing)
    named = {*re.findall(r"requirements[\w-]*\.lock", texts)}
    assert {lock.name for lock in LOCKS} == named - {"requirements-dev.lock"}
    assert len(LOCKS) == 6
