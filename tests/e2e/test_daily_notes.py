"""Tests of daily notes: retried answers are removed, and failed writes repeated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from bot.kernel import App
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Holds, Says


@pytest.fixture
def today(tmp_path: Path) -> Path:
    """Return the path of today's note of the console user."""
    return tmp_path / "data" / "memory" / "console:local" / "2026-02-07.md"


@pytest.fixture
def events() -> Iterator[list[structlog.typing.EventDict]]:
    """Capture the log."""
    with structlog.testing.capture_logs() as logged:
        yield logged


async def test_retried_answer_is_removed_from_note_and_later_prompts(
    person: Person, model: ModelServer, today: Path
) -> None:
    model.script(Says("It is in Lviv."), Says("It is in Kyiv."))
    await person.says("Where is it?")
    await person.says("/retry")
    assert today.read_text() == "[12:15] User: Where is it? | Assistant: It is in Kyiv.\n"
    await person.says("/new")
    await person.says("Good day to you all")
    assert "Lviv" not in model.requests[-1].prompt
    assert "It is in Kyiv." in model.requests[-1].prompt


async def test_retried_answer_is_removed_although_the_retry_failed(
    person: Person, model: ModelServer, today: Path
) -> None:
    model.script(Says("It is in Lviv."), Says(""), Says(""))
    await person.says("Where is it?")
    assert "empty answer" in await person.says("/retry")
    await person.says("/new")
    await person.says("Good day to you all")
    assert "Lviv" not in model.requests[-1].prompt
    assert "Lviv" not in today.read_text()


async def test_retry_on_the_next_day_removes_the_earlier_line(
    person: Person, model: ModelServer, today: Path, clock: FakeClock
) -> None:
    model.script(Says("Yes."), Says("It is in Lviv."), Says("It is in Kyiv."))
    await person.says("Are you there?")
    await person.says("Where is it?")
    clock.forward(days=1)
    await person.says("/retry")
    assert today.read_text() == "[12:15] User: Are you there? | Assistant: Yes.\n"
    assert today.with_name("2026-02-08.md").read_text() == "[12:15] User: Where is it? | Assistant: It is in Kyiv.\n"


async def test_retry_removes_only_one_of_two_equal_lines(person: Person, model: ModelServer, today: Path) -> None:
    model.script(Says("Yes."), Says("Yes."), Says("No."))
    await person.says("Tea?")
    await person.says("Tea?")
    await person.says("/retry")
    assert today.read_text() == "[12:15] User: Tea? | Assistant: Yes.\n[12:15] User: Tea? | Assistant: No.\n"


async def test_line_that_could_not_be_written_is_written_later(
    person: Person, model: ModelServer, today: Path, clock: FakeClock, events: list[structlog.typing.EventDict]
) -> None:
    today.mkdir(parents=True)  # A folder in place of the file.
    assert await person.says("one") == (
        "You said: one\n\n_2026-02-07.md can't be read and was left out: check its type and permissions._"
    )
    warned = [event for event in events if event["log_level"] == "warning"]
    assert [event["event"] for event in warned] == [
        "memory_file_unreadable",
        "Failed to append memory entry",
    ]
    assert not any("exc_info" in event for event in warned)
    today.rmdir()
    clock.forward(minutes=5)
    await person.says("two")
    assert today.read_text() == (
        "[12:15] User: one | Assistant: You said: one\n[12:20] User: two | Assistant: You said: two\n"
    )


async def test_line_missed_by_a_crash_is_written_later(start: OpenApp, today: Path) -> None:
    async with start() as app:
        await Person(app).says("one")
        async with app.database.transaction() as connection:
            await connection.execute("UPDATE turns SET note = 'due'")
    today.unlink()
    async with start() as app:
        await Person(app).says("two")
    assert today.read_text().splitlines() == [
        "[12:15] User: one | Assistant: You said: one",
        "[12:15] User: two | Assistant: You said: two",
    ]


async def test_messages_without_memory_are_not_noted_later(start: OpenApp, today: Path) -> None:
    async with start(memory_enabled=False) as app:
        await Person(app).says("one")
    async with start() as app:
        await Person(app).says("two")
    assert today.read_text() == "[12:15] User: two | Assistant: You said: two\n"


async def test_stopped_turn_is_not_noted(app: App, person: Person, model: ModelServer, today: Path) -> None:
    model.script(Holds("Once upon a time"))
    await person.sends("Tell me a story")
    await person.sees("Once")
    await person.says("/stop")
    await app.runner.wait_until_idle("console:local")
    assert not today.exists()


async def test_appended_note_is_logged_without_its_text(
    person: Person, events: list[structlog.typing.EventDict]
) -> None:
    await person.says("the lighthouse")
    appended = [event for event in events if str(event["event"]).startswith("Appended memory entry")]
    line = "[12:15] User: the lighthouse | Assistant: You said: the lighthouse"
    assert [(event["event"], event["log_level"]) for event in appended] == [
        (f"Appended memory entry ({len(line)} chars)", "info")
    ]


@pytest.mark.parametrize("name", ["MEMORY.md", "2026-02-06.md", "2026-02-07.md"])
async def test_unreadable_file_is_left_out_with_a_notice(
    person: Person, model: ModelServer, today: Path, name: str
) -> None:
    today.parent.mkdir(parents=True, exist_ok=True)
    for other in ("MEMORY.md", "2026-02-06.md", "2026-02-07.md"):
        (today.parent / other).write_text(f"- says {other}\n")
    (today.parent / name).unlink()
    (today.parent / name).mkdir()
    for _ in range(2):
        assert f"_{name} can't be read and was left out" in await person.says("Hello")
    prompt = str(model.requests[-1].messages[0]["content"])
    for other in ("MEMORY.md", "2026-02-06.md", "2026-02-07.md"):
        assert (f"- says {other}" in prompt) is (other != name)
