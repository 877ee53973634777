"""Tests that a captured statement follows an edit of its message, and that it can be undone."""

from __future__ import annotations

import pytest

from bot.kernel import App
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
from tests.support.features import wait_for_captures
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Fails, Says
from tests.support.serving import ANN, Serve, list_texts


@pytest.mark.parametrize(
    ("said", "edited"),
    [
        ("My exam is on 12 March", "My exam is on 15 March"),
        ("Always answer in German", "Always answer in English"),
    ],
)
@pytest.mark.parametrize("judges", [True, False])
async def test_edit_of_a_remembered_message_corrects_the_memory(
    serve: Serve, telegram: BotApiServer, model: ModelServer, said: str, edited: str, judges: bool
) -> None:
    async with serve() as app:
        message = telegram.find_message_id(telegram.user_says(said, chat_id=ANN))
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await app.runner.wait_until_idle(f"telegram:{ANN}")
        await wait_for_captures(app)
        if not judges:
            model.second_look = lambda _: Fails(500)
        telegram.user_says(edited, chat_id=ANN, edit_of=message)
        await telegram.wait_for(lambda: f"You said: {edited}" in list_texts(telegram)[-1])
        await app.runner.wait_until_idle(f"telegram:{ANN}")
        await wait_for_captures(app)
        rows = await app.database.rows(
            "SELECT content FROM entries WHERE superseded_by IS NULL AND unconfirmed IS NULL AND deleted_at IS NULL"
        )
    assert [row["content"] for row in rows] == [edited]


async def test_undo_in_chat_covers_model_and_capture(app: App, person: Person, model: ModelServer) -> None:
    model.script(
        Says("I will."),
        Calls((("note_add", {"name": "key", "content": "under the pot"}),)),
        Says("Noted."),
        Calls((("memory_file", {"action": "append", "text": "- likes tea"}),)),
        Says("Noted."),
    )
    await person.says("Remember that the gate code is a prime number")
    await person.says("Where is my key? Under the pot. Note it")
    await person.says("Tea is what I drink")
    text = app.settings.mneme_data_dir / "memory" / "console:local" / "MEMORY.md"
    assert text.read_text() == "- the gate code is a prime number (noted 2026-02-07)\n- likes tea\n"
    assert await person.says("/undo") == "Undone: likes tea"
    assert text.read_text() == "- the gate code is a prime number (noted 2026-02-07)\n"
    assert await person.says("/undo") == "Undone: under the pot"
    assert await person.says("/undo") == "Undone: the gate code is a prime number"
    assert text.read_text() == ""
    assert await person.says("/undo") == "There is nothing to undo."
