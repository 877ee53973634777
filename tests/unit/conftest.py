"""Fixtures of the memory tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.files.markdown import MarkdownFiles
from memory.ledger.undo import Undo
from memory.store.database import Database
from memory.store.erasure import PendingErasures
from tests.support.fakes import FakeClock
from tests.support.talk import Store, in_utc


@pytest.fixture
def store(database: Database, clock: FakeClock) -> Store:
    """Return the services on a fresh database."""
    return Store.create(database, clock)


@pytest.fixture
def files(tmp_path: Path) -> MarkdownFiles:
    """Return the Markdown files next to the database."""
    return MarkdownFiles(tmp_path / "memory", in_utc, recent_days=7, max_memory_size=8192)


@pytest.fixture
def undo(database: Database, files: MarkdownFiles, clock: FakeClock) -> Undo:
    """Return the undo of both."""
    return Undo(database, files, PendingErasures(database), clock)
