"""Tests of the undo of an import, and of the maintenance after it."""

from __future__ import annotations

from pathlib import Path

from bot.features.imports.items import SkippedItem
from bot.features.imports.reporting import MAX_PLACES, ImportReport, format_left_out
from bot.kernel import App
from tests.features.imports.test_import import OWNER, run_import
from tests.support import exports


async def test_database_file_shrinks_in_maintenance_after_an_undo(app: App, tmp_path: Path) -> None:
    """The text is long, so that there are enough free pages."""
    database = app.memory.database

    async def measure() -> int:
        await database.value("PRAGMA wal_checkpoint(TRUNCATE)")
        return database.path.stat().st_size

    before = await measure()
    conversation = exports.create_chatgpt_conversation(0, 100)
    for number in range(100):
        conversation["mapping"][f"m{number}"]["message"]["content"]["parts"] = ["x" * 50_000]
    await run_import(app, exports.write_zip(tmp_path / "a.zip", {"conversations.json": [conversation]}))
    await app.memory.undo.undo(OWNER)
    grown = await measure()
    assert grown > 5_000_000
    await app.jobs.housekeeping.shrink()
    assert await measure() < before * 2


def test_report_names_some_unreadable_places_and_counts_the_others() -> None:
    report = ImportReport("Telegram")
    for number in range(MAX_PLACES + 2):
        report.count_skipped(SkippedItem("messages that can't be read", f"result.json, message {number}"))
    (_left_out, places) = format_left_out(report)
    assert places == "Unreadable: result.json, message 0; result.json, message 1; result.json, message 2 and 2 more."
