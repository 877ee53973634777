"""Fixtures of the tests of features: those of the whole program and of the memory."""

from __future__ import annotations

from tests.e2e.conftest import _quick_retries, reminded_often, serve, telegram, wall_clock
from tests.unit.conftest import files, store, undo

__all__ = ["_quick_retries", "files", "reminded_often", "serve", "store", "telegram", "undo", "wall_clock"]
