"""Tests of the shares of memory in a prompt."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from config.models import ModelWindow
from memory.files.notes import Memory
from memory.text.tokens import TokenCounter
from pipeline.prompt.budget import Budget, fit_memory
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer

BUDGET = Budget("scripted", ModelWindow(100_000, 4096), TokenCounter())
FRIDAY = date(2026, 2, 6)


def create_day(lines: int, word: str = "note") -> str:
    return "\n".join(f"[12:{at % 60:02}] User: {word} {at} | Assistant: yes" for at in range(lines))


def count_tokens(memory: Memory) -> int:
    return BUDGET.text(memory.long_term) + sum(BUDGET.text(n) for n in (memory.today, *(n for _, n in memory.recent)))


def test_memory_that_fits_is_shown_whole() -> None:
    memory = Memory("- tea\n", create_day(3), ((FRIDAY, create_day(4)),))
    assert fit_memory(memory, 1000, BUDGET) == memory


def test_long_notes_of_today_leave_other_days_their_share() -> None:
    memory = Memory(
        "- tea\n", create_day(500), tuple((FRIDAY - timedelta(n), create_day(3, f"day{n}")) for n in range(3))
    )
    shown = fit_memory(memory, 1000, BUDGET)
    assert shown.recent == memory.recent
    first, *kept = shown.today.splitlines()
    assert first == f"[... {500 - len(kept)} earlier lines of this day left out ...]"
    assert kept == memory.today.splitlines()[-len(kept) :]
    assert len(kept) > 20
    assert count_tokens(shown) <= 1000


def test_long_days_each_keep_their_newest_lines() -> None:
    memory = Memory("", create_day(500), tuple((FRIDAY - timedelta(n), create_day(200, f"day{n}")) for n in range(4)))
    shown = fit_memory(memory, 2000, BUDGET)
    counts = [len(notes.splitlines()) for _, notes in shown.recent]
    assert len(counts) == 4
    assert max(counts) - min(counts) <= 1
    assert all("199 | Assistant: yes" in notes and "left out" in notes for _, notes in shown.recent)
    assert count_tokens(shown) <= 2000


def test_long_day_gets_the_space_of_short_days() -> None:
    memory = Memory("", create_day(1), ((FRIDAY, create_day(500)), (FRIDAY - timedelta(1), create_day(2))))
    shown = fit_memory(memory, 1000, BUDGET)
    assert shown.today == memory.today
    assert shown.recent[1] == memory.recent[1]
    assert 650 < count_tokens(shown) <= 1000


@pytest.mark.parametrize("tokens", [0, 5, 40])
def test_tiny_budget_holds_almost_nothing(tokens: int) -> None:
    memory = Memory("- tea\n" * 100, create_day(100), ((FRIDAY, create_day(100)),))
    shown = fit_memory(memory, tokens, BUDGET)
    assert BUDGET.text(shown.today) <= tokens
    assert sum(BUDGET.text(notes) for _, notes in shown.recent) <= tokens


async def test_prompt_shows_yesterday_although_today_was_long(
    person: Person, model: ModelServer, tmp_path: Path
) -> None:
    folder = tmp_path / "data" / "memory" / "console:local"
    folder.mkdir(parents=True)
    (folder / "2026-02-07.md").write_text(create_day(5000))
    (folder / "2026-02-06.md").write_text("[09:00] User: the lighthouse | Assistant: yes\n")
    with capture_logs() as logs:
        await person.says("Hello")
    prompt = str(model.requests[-1].messages[0]["content"])
    assert "the lighthouse" in prompt
    assert "earlier lines of this day left out" in prompt
    events = [(str(one["event"]), one["log_level"]) for one in logs if "Memory context" in str(one["event"])]
    context = prompt.partition("# Memory\n\n")[2]
    assert events == [(f"Memory context: {len(context)} chars", "info")]
