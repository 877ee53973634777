"""Tests of the warm-up."""

from __future__ import annotations

import gc

from bot.features.capture.feature import warm_up


async def test_warm_up_excludes_loaded_objects_from_garbage_collection() -> None:
    await warm_up()
    kept = gc.get_freeze_count()
    assert kept > 0
    assert gc.isenabled()
    await warm_up()
    assert gc.get_freeze_count() <= kept  # Once in a process. Later garbage is collected as usual.
