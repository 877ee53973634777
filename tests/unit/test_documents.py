"""Tests that the documents name existing files, links, modules and tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.recordings import excerpts
from tests.support.features import whole_program

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
FAILURES = "docs/failures.md"
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
    if path.name != "CHANGELOG.md"  # It describes past states.
)
QUOTED = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)")
PROJECT = re.compile(r"(?:bot|pipeline|memory|config|tests|docs|deploy|benchmarks)/[\w./*-]*")
"""A path from the root of the project."""
TEST = re.compile(r"((?:tests/)?(?:unit|contract|e2e|features(?:/\w+)*)/test_\w+\.py)(?:::(test_\w+))?")
"""A test, from the root or, in the table of failures, from tests/."""
MODULE = re.compile(r"python -m ((?:benchmarks|tests)\.[\w.]+)")
OF_USERS = re.compile(r"memory/OWNER/|deploy/docker/backups")
"""Paths that Mneme creates at run time: files of the data directory and backups of the container."""


def find_names(document: str) -> list[str]:
    """Return everything that a document names in backticks."""
    return QUOTED.findall((ROOT / document).read_text(encoding="utf-8"))


@whole_program
@pytest.mark.parametrize("document", DOCUMENTS)
def test_path_named_in_a_document_exists(document: str) -> None:
    named = [name for name in find_names(document) if PROJECT.fullmatch(name) and not OF_USERS.match(name)]
    missing = [name for name in named if not any(ROOT.glob(name.rstrip("/")))]
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS)
def test_link_in_a_document_has_a_target(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = [link for link in LINK.findall(text) if "://" not in link]
    missing = [link for link in links if not ((ROOT / document).parent / link).exists()]
    assert not missing


@whole_program
@pytest.mark.parametrize("document", DOCUMENTS)
def test_test_named_in_a_document_exists(document: str) -> None:
    for file, test in (found.groups() for name in find_names(document) if (found := TEST.fullmatch(name))):
        path = TESTS / file.removeprefix("tests/")
        assert path.exists(), file
        assert not test or re.search(rf"def {test}\(", path.read_text(encoding="utf-8")), f"{file}::{test}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_module_run_in_a_document_exists(document: str) -> None:
    for module in MODULE.findall((ROOT / document).read_text(encoding="utf-8")):
        path = ROOT / module.rstrip(".").replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


def test_table_of_failures_is_complete() -> None:
    table = (ROOT / FAILURES).read_text(encoding="utf-8")
    assert len([name for name in find_names(FAILURES) if TEST.fullmatch(name)]) > 60
    numbers = re.findall(r"^\| ([FD])(\d+) \|", table, re.MULTILINE)
    assert {int(number) for kind, number in numbers if kind == "F"} >= set(range(1, 31))
    assert {int(number) for kind, number in numbers if kind == "D"} >= set(range(1, 31))


@pytest.mark.parametrize("title", excerpts.EXCERPTS)
def test_example_chat_is_an_excerpt_of_its_recording(title: str) -> None:
    shown = excerpts.chats(excerpts.PAGE.read_text(encoding="utf-8"))
    assert shown[title] == excerpts.EXCERPTS[title].text(), "`python -m tests.recordings` updates it"


def test_every_example_chat_is_an_excerpt() -> None:
    page = excerpts.PAGE.read_text(encoding="utf-8")
    assert list(excerpts.chats(page)) == list(excerpts.EXCERPTS)
    assert page.count("```text") == len(excerpts.EXCERPTS)
