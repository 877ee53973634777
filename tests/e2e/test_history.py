"""Tests of HISTORY.md and the monthly files: append-only, each entry once, bounded search."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memory.errors import MemoryRefused
from memory.files.history import MAX_ENTRY_CHARS, MAX_QUERY_CHARS, MAX_SHOWN_CHARS, HistoryFiles
from memory.files.markdown import MarkdownFiles
from memory.messages import Passage
from pipeline.tools.entries import MAX_HISTORY_RESULTS, history_search_tool
from pipeline.tools.toolbox import ToolContext
from tests.conftest import OpenApp
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says

ANN = "telegram:1"
NOON = datetime(2026, 2, 7, 12, 0, tzinfo=UTC)


def create_history(folder: Path, zone: str = "UTC") -> HistoryFiles:
    return HistoryFiles(MarkdownFiles(folder, lambda _: ZoneInfo(zone), recent_days=7, max_memory_size=8192))


@pytest.fixture
def history(tmp_path: Path) -> HistoryFiles:
    return create_history(tmp_path)


def read_history(folder: Path, name: str = "HISTORY.md", owner: str = ANN) -> str:
    return (folder / owner / name).read_text(encoding="utf-8")


def find_headers(text: str) -> list[str]:
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


async def test_entry_is_in_both_files_with_its_time(history: HistoryFiles, tmp_path: Path) -> None:
    assert await history.append(ANN, NOON, "They talked about tea.", "messages 1-4")
    for name in ("HISTORY.md", "HISTORY-2026-02.md"):
        assert read_history(tmp_path, name).startswith("## 2026-02-07T12:00:00.000Z\nThey talked about tea.\n")


async def test_month_is_that_of_the_chats_zone(tmp_path: Path) -> None:
    kyiv = create_history(tmp_path, "Europe/Kyiv")
    await kyiv.append(ANN, datetime(2026, 1, 31, 21, 59, tzinfo=UTC), "still January", "a")
    await kyiv.append(ANN, datetime(2026, 1, 31, 22, 0, tzinfo=UTC), "February in Kyiv", "b")
    assert "still January" in read_history(tmp_path, "HISTORY-2026-01.md")
    assert "February in Kyiv" in read_history(tmp_path, "HISTORY-2026-02.md")
    assert len(find_headers(read_history(tmp_path))) == 2


async def test_history_is_never_truncated(history: HistoryFiles, tmp_path: Path) -> None:
    former = ""
    for number in range(30):
        await history.append(ANN, NOON + timedelta(days=number * 5), f"entry {number}", f"messages {number}")
        now = read_history(tmp_path)
        assert now.startswith(former)
        former = now
    assert len(find_headers(former)) == 30


async def test_line_left_open_by_a_crash_does_not_swallow_entries(history: HistoryFiles, tmp_path: Path) -> None:
    await history.append(ANN, NOON, "first", "a")
    for name in ("HISTORY.md", "HISTORY-2026-02.md"):
        with (tmp_path / ANN / name).open("a") as file:
            file.write("## 2026-02-07T12:00:00.000Z\ntorn in the mid")
    await history.append(ANN, NOON, "second", "b")
    assert len(find_headers(read_history(tmp_path))) == 3
    assert await history.search(ANN, "second", 5) == ["## 2026-02-07T12:00:00.000Z\nsecond"]


async def test_entry_with_a_known_key_is_not_written_again(history: HistoryFiles, tmp_path: Path) -> None:
    assert await history.append(ANN, NOON, "first telling", "messages 1-4")
    assert not await history.append(ANN, NOON, "second telling", "messages 1-4")
    assert await history.append(ANN, NOON, "another", "messages 1-40")
    assert "second telling" not in read_history(tmp_path)
    assert len(find_headers(read_history(tmp_path))) == 2


@pytest.mark.parametrize("lost", ["HISTORY.md", "HISTORY-2026-02.md"])
async def test_repeated_entry_completes_the_file_missed_by_a_crash(
    history: HistoryFiles, tmp_path: Path, lost: str
) -> None:
    await history.append(ANN, NOON, "They talked.", "messages 1-4")
    (tmp_path / ANN / lost).unlink()
    assert await history.append(ANN, NOON, "They talked.", "messages 1-4")
    for name in ("HISTORY.md", "HISTORY-2026-02.md"):
        assert len(find_headers(read_history(tmp_path, name))) == 1


async def test_repeated_entry_in_the_next_month_is_recognised(history: HistoryFiles, tmp_path: Path) -> None:
    await history.append(ANN, datetime(2026, 1, 31, 23, 59, tzinfo=UTC), "They talked.", "messages 1-4")
    (tmp_path / ANN / "HISTORY.md").unlink()
    await history.append(ANN, datetime(2026, 2, 1, 0, 1, tzinfo=UTC), "They talked.", "messages 1-4")
    assert not (tmp_path / ANN / "HISTORY-2026-02.md").exists()
    assert len(find_headers(read_history(tmp_path))) == 1


async def test_entry_text_can_not_imitate_an_entry_or_key(history: HistoryFiles, tmp_path: Path) -> None:
    forged = "One.\n## 2020-01-01T00:00:00Z\ntwo\r## 2020-01-02T00:00:00Z\nthree\u2028# four\n<!-- messages 5-9 -->"
    await history.append(ANN, NOON, forged, "messages 1-4")
    assert len(find_headers(read_history(tmp_path))) == 1
    assert await history.append(ANN, NOON, "the real five to nine", "messages 5-9")
    assert len(await history.search(ANN, "2020", 5)) == 1


async def test_entry_over_the_limit_is_cut(history: HistoryFiles, tmp_path: Path) -> None:
    await history.append(ANN, NOON, "x" * 1_000_000, "a")
    assert len(read_history(tmp_path)) < MAX_ENTRY_CHARS + 200
    assert "[...]" in read_history(tmp_path)


async def test_secrets_and_lone_surrogates_are_not_written(history: HistoryFiles, tmp_path: Path) -> None:
    await history.append(ANN, NOON, "user: my password is hunter2-secret! \ud83d", "a")
    assert "hunter2" not in read_history(tmp_path)
    assert "[secret]" in read_history(tmp_path)


async def test_concurrent_entries_are_all_written_whole(history: HistoryFiles, tmp_path: Path) -> None:
    await asyncio.gather(*(history.append(ANN, NOON, f"entry {n} " + "y" * 3000, f"key {n}") for n in range(20)))
    for name in ("HISTORY.md", "HISTORY-2026-02.md"):
        assert len(find_headers(read_history(tmp_path, name))) == 20
    assert len(await history.search(ANN, "entry", 50)) == 20


async def test_search_is_newest_first_across_months_ignoring_case(history: HistoryFiles) -> None:
    for month in (11, 12):
        await history.append(ANN, datetime(2025, month, 3, tzinfo=UTC), f"Tea in month {month}.", f"{month}")
    await history.append(ANN, NOON, "No coffee.", "n")
    await history.append(ANN, NOON, "TEA with Ben.", "b")
    await history.append(ANN, NOON, "More tea.", "m")
    found = await history.search(ANN, "tEa", 10)
    assert [entry.splitlines()[1] for entry in found] == [
        "More tea.",
        "TEA with Ben.",
        "Tea in month 12.",
        "Tea in month 11.",
    ]
    assert len(await history.search(ANN, "tea", 2)) == 2


async def test_query_is_not_a_pattern(history: HistoryFiles) -> None:
    await history.append(ANN, NOON, "It cost 12.50 (really).", "a")
    await history.append(ANN, NOON, "It cost 12350.", "b")
    assert len(await history.search(ANN, "12.50", 10)) == 1
    assert await history.search(ANN, "(", 10)


async def test_query_words_match_in_any_order(history: HistoryFiles) -> None:
    await history.append(ANN, NOON, "The boat in Hydra is called Aurora.", "a")
    await history.append(ANN, NOON, "The boat is for sale.", "b")
    assert len(await history.search(ANN, "aurora  BOAT", 10)) == 1
    assert await history.search(ANN, "aurora sale", 10) == []


@pytest.mark.parametrize("query", ["", "  ", "x" * (MAX_QUERY_CHARS + 1)])
async def test_empty_or_overlong_query_is_refused(history: HistoryFiles, query: str) -> None:
    with pytest.raises(MemoryRefused, match="characters"):
        await history.search(ANN, query, 10)


async def test_histories_are_separate_for_each_owner(history: HistoryFiles) -> None:
    await history.append(ANN, NOON, "Ann's tea.", "a")
    assert await history.search("telegram:2", "tea", 10) == []


async def test_history_tool_returns_a_limited_number_of_short_entries(history: HistoryFiles) -> None:
    for number in range(MAX_HISTORY_RESULTS + 5):
        await history.append(ANN, NOON, f"tea {number} " + "z" * 3000, str(number))
    tool = history_search_tool(history)
    context = ToolContext(ANN, ANN)
    found = await tool.run(context, '{"query": "tea"}')
    assert isinstance(found, Passage)
    text = found.text
    assert text.count("## 2026") == MAX_HISTORY_RESULTS
    assert len(text) <= MAX_HISTORY_RESULTS * (MAX_SHOWN_CHARS + 2)
    assert await tool.run(context, '{"query": "cocoa"}') == "nothing found"


async def test_overlong_query_of_a_model_is_an_error_result(start: OpenApp, model: ModelServer) -> None:
    model.script(Calls((("history_search", {"query": "x" * (MAX_QUERY_CHARS + 1)}),)), Says("I found nothing."))
    async with start() as app:
        assert await Person(app).says("What did we say?") == "I found nothing."
    assert "needs a text of 1 to" in model.requests[-1].last
