"""The table of failures in ARCHITECTURE.md names tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
TABLE = (TESTS.parent / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Failures and the tests")[2]


def test_every_failure_of_the_table_is_shown_by_a_test_that_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)(?:::(test_\w+))?`", TABLE)
    assert len(named) > 60
    for file, test in named:
        text = (TESTS / file).read_text(encoding="utf-8")
        assert not test or re.search(rf"def {test}\(", text), f"{file}::{test}"


def test_the_table_is_complete() -> None:
    numbers = re.findall(r"^\| ([FD])(\d+) \|", TABLE, re.MULTILINE)
    assert {int(number) for kind, number in numbers if kind == "F"} >= set(range(1, 31))
    assert {int(number) for kind, number in numbers if kind == "D"} >= set(range(1, 31))
