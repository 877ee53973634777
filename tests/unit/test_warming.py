"""What takes long the first time."""

from __future__ import annotations

import gc

from bot.telegram.service import warm_up


async def test_what_was_loaded_is_never_looked_through_for_garbage_and_what_comes_then_is() -> None:
    await warm_up()
    kept = gc.get_freeze_count()
    assert kept > 0
    assert gc.isenabled()
    await warm_up()
    assert gc.get_freeze_count() <= kept  # once in a process: what a test leaves behind is garbage like any other
