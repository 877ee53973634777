"""End-to-end tests of one turn: message, pipeline, answer, log and files."""

from __future__ import annotations

from pathlib import Path

from bot.kernel import App
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says


async def test_message_is_answered_and_noted(app: App, person: Person, model: ModelServer, tmp_path: Path) -> None:
    model.script(Says("Add a healthcheck section.\nThen restart."))
    assert await person.says("How do I configure\nDocker health checks?") == "Add a healthcheck section.\nThen restart."
    note = tmp_path / "data" / "memory" / "console:local" / "2026-02-07.md"
    assert note.read_text() == (
        "[12:15] User: How do I configure Docker health checks? | Assistant: Add a healthcheck section. Then restart.\n"
    )
    assert await app.sessions.count_messages("console:local") == 2


async def test_request_after_a_restart_contains_conversation_and_notes(
    start: OpenApp, model: ModelServer, clock: FakeClock
) -> None:
    async with start() as app:
        await Person(app).says("My name is Olena")
        await Person(app).says("/new")
    clock.forward(minutes=5)
    async with start() as app:
        await Person(app).says("What is my name?")
    request = model.requests[-1]
    assert "# Memory\n\n## Today's Notes\n[12:15] User: My name is Olena | Assistant:" in request.system()
    assert [m["role"] for m in request.messages] == ["system", "user"]


async def test_model_writes_long_term_memory_with_its_tool(person: Person, model: ModelServer, tmp_path: Path) -> None:
    model.script(Calls((("memory_file", {"action": "append", "text": "- Likes green tea"}),)), Says("Noted."))
    assert await person.says("Green tea is what I drink") == "Noted."
    assert (tmp_path / "data" / "memory" / "console:local" / "MEMORY.md").read_text() == "- Likes green tea\n"
    assert model.requests[1].last == "MEMORY.md now also says: - Likes green tea"
