"""Tests that effects before a kill are not repeated with the unanswered message."""

from __future__ import annotations

import pytest

from bot.kernel import App
from memory.messages import ToolCall
from memory.store.database import Database
from memory.store.effects import Effects, record_causes
from pipeline.tools.toolbox import Tool, Toolbox, ToolContext
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Holds, Says
from tests.support.serving import ANN, Serve, list_texts

LIVE = "SELECT n.name FROM names n JOIN entries e ON e.id = n.entry_id WHERE e.deleted_at IS NULL ORDER BY n.name"


async def read_live_names(app: App) -> list[str]:
    return [row["name"] for row in await app.database.rows(LIVE)]


async def run_unanswered(app: App, telegram: BotApiServer, text: str) -> None:
    """Send a command that is carried out but not answered, as after a kill in between."""
    async with app.database.transaction() as connection:
        await connection.execute(
            "CREATE TRIGGER killed BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'killed'); END"
        )
    telegram.user_says(text, chat_id=ANN)
    while not await app.database.value("SELECT count(*) FROM effects"):
        pass
    await app.runner.wait_until_idle(f"telegram:{ANN}")


async def allow_answers(app: App) -> None:
    async with app.database.transaction() as connection:
        await connection.execute("DROP TRIGGER killed")


async def test_undo_before_a_kill_undoes_one_change(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        for n, note in enumerate(("alpha is the first", "beta is the second", "gamma is the third"), 1):
            telegram.user_says(f"/remember {note}", chat_id=ANN)
            await telegram.wait_for(lambda n=n: len(telegram.list_sent(ANN)) == n)  # type: ignore[misc]  # Bound now.
        before = await read_live_names(app)
        async with app.database.transaction() as connection:
            await connection.execute("DELETE FROM effects")
        await run_unanswered(app, telegram, "/undo")
        after = await read_live_names(app)
    async with serve() as app:
        # The trigger still exists, so answering fails again and the sweep continues.
        await allow_answers(app)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 4)
        assert await read_live_names(app) == after
    assert len(after) == len(before) - 1
    assert "I was interrupted after doing this" in list_texts(telegram)[-1]


async def test_remember_before_a_kill_stores_once(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        await run_unanswered(app, telegram, "/remember the spare key is at Ann's")
        await allow_answers(app)
    async with serve() as app:
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert await app.database.value("SELECT count(*) FROM entries") == 1


@pytest.mark.parametrize("repeated", ["the very same", "said anew"])
async def test_tool_call_before_a_kill_is_not_repeated(
    serve: Serve, telegram: BotApiServer, model: ModelServer, repeated: str
) -> None:
    first = ("memory_file", {"action": "append", "text": "- likes tea"})
    again = first if repeated == "the very same" else ("memory_file", {"action": "append", "text": "- tea is liked"})
    model.script(Calls((first,)), Holds("and then it is killed"))
    async with serve() as app:
        telegram.user_says("Please keep that I like tea", chat_id=ANN)
        await telegram.wait_for(lambda: any("killed" in draft for draft in telegram.list_drafts(ANN)))
        app.runner.queues.get(f"telegram:{ANN}").working = []  # A kill doesn't clean up.
    model.script(Calls((again,)), Says("Kept."))
    async with serve() as app:
        await telegram.wait_for(lambda: "Kept." in str(list_texts(telegram)))
        page = (app.settings.mneme_data_dir / "memory" / f"telegram:{ANN}" / "MEMORY.md").read_text()
    assert page.count("tea") == 1
    assert "not run: memory_file" in str(model.requests[-1].last)


async def test_interrupted_new_continues_after_a_kill(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        async with app.database.transaction() as connection:
            await connection.execute(
                "CREATE TRIGGER killed BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'killed'); END"
            )
        telegram.user_says("/new", chat_id=ANN)
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        await allow_answers(app)
    async with serve():
        await telegram.wait_for(lambda: any("New conversation" in text for text in list_texts(telegram)))


async def test_merged_messages_keep_separate_effects_when_repeated_apart(
    database: Database,
) -> None:
    done: list[str] = []

    async def note(context: ToolContext, name: str) -> str:
        """Keep a note."""
        async with database.transaction() as connection:
            await record_causes(connection)
        done.append(name)
        return f"kept {name}"

    toolbox = Toolbox([Tool(note)], Effects(database))
    first, second = (ToolCall(name, "note", f'{{"name": "{name}"}}') for name in ("first", "second"))
    together = ToolContext("ann", "telegram:1", inbox_ids=(1, 2))
    await toolbox.run(together, first)
    # After a kill, the two messages come in one turn each.
    await toolbox.run(ToolContext("ann", "telegram:1", inbox_ids=(1,)), first)
    await toolbox.run(ToolContext("ann", "telegram:1", inbox_ids=(2,)), second)
    # After another kill they come together, and the model calls the second one twice.
    await toolbox.run(together, first)
    await toolbox.run(together, second, [first])
    await toolbox.run(together, second, [first, second])
    assert done == ["first", "second", "second"]
