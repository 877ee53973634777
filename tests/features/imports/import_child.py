"""Inspect files to import under a memory limit and print the answers as a line of JSON.

Run as `python -m tests.features.imports.import_child MEGABYTES FILE...`.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.features.imports.importing import ForeignImport
from bot.features.imports.items import ImportRefused
from memory.files.markdown import MarkdownFiles
from memory.ledger.ledger import Ledger
from memory.log.sessions import Address, SessionService
from memory.store.database import Database


def clock() -> datetime:
    return datetime.now(UTC)


def zone_of(_name: str) -> ZoneInfo:
    return ZoneInfo("UTC")


async def look(folder: Path, paths: list[Path]) -> None:
    database = await Database.open(folder / "mneme.db", clock=clock)
    try:
        await look_with(database, folder, paths)
    finally:
        await database.close()


async def look_with(database: Database, folder: Path, paths: list[Path]) -> None:
    files = MarkdownFiles(folder, zone_of, recent_days=7, max_memory_size=8192)
    imports = ForeignImport(database, Ledger(database, files, clock, zone_of), zone_of)
    session = await SessionService(database, clock).get_or_create(Address("console", "local"))
    for path in paths:
        began = time.monotonic()
        try:
            report = await imports.look(path, session)
            answer = f"{report.messages} messages, {report.memories} memories"
        except ImportRefused as error:
            answer = str(error)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_000
        seconds = round(time.monotonic() - began, 1)
        row = {"file": path.name, "answer": answer, "seconds": seconds, "peak_mb": peak}
        sys.stdout.write(f"{json.dumps(row)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    limit = int(sys.argv[1]) * 1_000_000
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(look(Path(name), [Path(argument) for argument in sys.argv[2:]]))
