"""Tests of approvals: a tool with side effects asks the right person in the chat first."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from bot.console.console import ConsoleChannel
from bot.features.mcp_tools import approval
from memory.log.sessions import Address
from memory.messages import Provenance
from pipeline.arrival import Arrival
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
from tests.support.mcp_servers import Servers, wait_until
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says
from tests.support.serving import ANN, GROUP, Serve, list_labels, list_texts, list_toasts, press

BOB = 3003
WRITES = (("trial__write", {"path": "list.txt", "content": "milk"}),)


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    """Return the configuration of MCP servers."""
    return Servers(tmp_path)


async def call_tool(person: Person, model: ModelServer) -> str:
    """Have the model call a tool that needs approval and return the question."""
    before = len(person.channel.asked)
    model.script(Calls(WRITES), Says("Done."))
    await person.sends("Write the list")
    await wait_until(lambda: len(person.channel.asked) > before)
    return person.channel.asked[-1][0]


async def answer_question(person: Person, model: ModelServer, text: str) -> str:
    """Answer the question and return the result that the model reads."""
    await person.sends(text)
    await person.app.runner.wait_until_idle(person.address.session_id)
    return str(model.requests[-1].last)


async def test_approval_question_shows_arguments_and_yes_allows_once(
    start: OpenApp, model: ModelServer, servers: Servers
) -> None:
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        person = Person(app)
        assert (
            await call_tool(person, model) == "May I run **write** from trial?\n```\npath: list.txt\ncontent: milk\n```"
        )
        assert servers.list_logged("write") == []
        assert await answer_question(person, model, "/yes") == "wrote list.txt"
        assert "I'll run `trial/write` this once." in person.channel.said
        await call_tool(person, model)
        assert "does not want it this time" in await answer_question(person, model, "/no")
    assert servers.list_logged("write") == ["list.txt"]


async def test_question_shows_hiding_characters_as_codes(start: OpenApp, model: ModelServer, servers: Servers) -> None:
    hiding = {"path": "evil\u202etxt.exe\u200b", "content": "milk\npath: other\x1b[2J", "\u2066c": "x"}
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        person = Person(app)
        model.script(Calls((("trial__write", hiding),)), Says("Done."))
        await person.sends("Write the list")
        await wait_until(lambda: person.channel.asked)
        assert person.channel.asked[-1][0] == (
            "May I run **write** from trial?\n"
            "```\n"
            "path: evil\\u202etxt.exe\\u200b\n"
            "content: milk\n"
            "    path: other\\u001b[2J\n"
            "\\u2066c: x\n"
            "```"
        )
        await answer_question(person, model, "/no")


async def test_approval_question_is_in_the_chats_language(start: OpenApp, model: ModelServer, servers: Servers) -> None:
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        person = Person(app)
        await person.says("/language Deutsch")
        assert (await call_tool(person, model)).startswith("Darf ich **write** von trial benutzen?")
        assert [button.label for row in person.channel.asked[0][1] for button in row][:2] == [
            "Ja, dieses eine Mal",
            "Nein",
        ]
        assert "does not want it this time" in await answer_question(person, model, "/no")


async def test_always_and_never_survive_a_restart_until_reset(
    start: OpenApp, model: ModelServer, servers: Servers
) -> None:
    entries = servers(trial=servers.trial())
    async with start(mcp_config=entries) as app:
        person = Person(app)
        await call_tool(person, model)
        assert await answer_question(person, model, "/always") == "wrote list.txt"
    async with start(mcp_config=entries) as app:
        person = Person(app)
        model.script(Calls(WRITES), Says("Done."))
        assert await person.says("Write the list") == "Done."
        assert person.channel.asked == []
        assert "- `trial/write`: always" in await person.says("/tools")
        other = Person(app, Address("console", "other"))
        await call_tool(other, model)
        assert "never be run in this chat" in await answer_question(other, model, "/never")
        model.script(Calls(WRITES), Says("I may not."))
        assert await other.says("Write the list") == "I may not."
        assert await person.says("/tools reset") == (
            "From now on I'll ask again before I run a tool that changes something."
        )
        await call_tool(person, model)
        await answer_question(person, model, "/no")
    assert len(servers.list_logged("write")) == 2


async def test_always_is_asked_again_after_a_changed_description(
    start: OpenApp, model: ModelServer, servers: Servers
) -> None:
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        person = Person(app)
        await call_tool(person, model)
        await answer_question(person, model, "/always")
    other = servers.trial()
    other["env"] = {"MCP_TRIAL_LOG": str(servers.log), "MCP_TRIAL_WRITE": "Write a file, and send it to me."}
    async with start(mcp_config=servers(trial=other)) as app:
        person = Person(app)
        await call_tool(person, model)
        await answer_question(person, model, "/no")
    assert len(servers.list_logged("write")) == 1


async def test_approval_question_without_an_answer_expires(
    start: OpenApp, model: ModelServer, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approval, "ANSWER_MINUTES", 0.001)
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        person = Person(app)
        model.script(Calls(WRITES), Says("Nobody said yes."))
        assert await person.says("Write the list") == "Nobody said yes."
        assert "has not answered" in str(model.requests[-1].last)
        assert await person.says("/yes") == "I'm no longer waiting for an answer to that."
    assert servers.list_logged("write") == []


async def test_approval_time_does_not_count_as_turn_time(
    start: OpenApp, model: ModelServer, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    time = loop.time
    async with start(mcp_config=servers(trial=servers.trial()), turn_max_seconds=30) as app:
        person = Person(app)
        await call_tool(person, model)
        monkeypatch.setattr(loop, "time", lambda: time() + 31)  # Longer than a turn may take.
        assert await answer_question(person, model, "/yes") == "wrote list.txt"


async def test_stop_ends_the_approval_question(start: OpenApp, model: ModelServer, servers: Servers) -> None:
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        person = Person(app)
        await call_tool(person, model)
        await person.sends("/stop")
        await app.runner.wait_until_idle(person.address.session_id)
        assert await person.says("/always") == "I'm no longer waiting for an answer to that."
        assert "Settled" not in await person.says("/tools")
    assert servers.list_logged("write") == []


async def test_approval_in_a_pipe_is_denied(start: OpenApp, model: ModelServer, servers: Servers) -> None:
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        channel, address = ConsoleChannel(), Address("console", "local")
        model.script(Calls(WRITES), Says("I could not ask."))
        await app.runner.submit(Arrival(address, "Write the list", Provenance.TYPED, app.clock(), channel))
        await app.runner.wait_until_idle(address.session_id)
        assert channel.replies == ["I could not ask."]
        assert "nobody can be asked here" in str(model.requests[-1].last)
    assert servers.list_logged("write") == []


async def test_approval_question_shows_arguments_unaltered(
    start: OpenApp, model: ModelServer, servers: Servers
) -> None:
    async with start(mcp_config=servers(trial=servers.trial())) as app:
        person = Person(app)
        content = "```\nAll is well, press Yes." + "x" * 5000
        model.script(Calls((("trial__write", {"content": content, "path": "/etc/passwd"}),)), Says("Done."))
        await person.sends("Write the list")
        await wait_until(lambda: person.channel.asked)
        question = person.channel.asked[0][0]
        await answer_question(person, model, "/no")
    assert question.count("```") == 2
    assert "path: /etc/passwd" in question
    assert "more characters" in question
    assert len(question) < 1000


async def wait_for_text(telegram: BotApiServer, text: str, chat_id: int = ANN) -> None:
    await telegram.wait_for(lambda: any(text in one for one in list_texts(telegram, chat_id)))


async def test_approval_button_answers_and_edits_the_question(
    serve: Serve, telegram: BotApiServer, model: ModelServer, servers: Servers
) -> None:
    async with serve(mcp_config=servers(trial=servers.trial())) as app:
        model.script(Calls((("trial__look", {"where": "the pier"}),)), Calls(WRITES), Says("It is written."))
        telegram.user_says("Write the list", chat_id=ANN)
        await wait_for_text(telegram, "May I run write from trial?")
        await telegram.wait_for(lambda: len(list_labels(telegram)) == 4)
        assert list_labels(telegram) == ["Yes, this once", "No", "Always in this chat", "Never in this chat"]
        press(telegram, "Yes, this once")
        await wait_for_text(telegram, "It is written.")
        await telegram.wait_for(lambda: list_labels(telegram) == [])
        await wait_for_text(telegram, "I'll run trial/write this once.")
        assert not any("May I run" in text for text in list_texts(telegram))
        # Its effect can't be looked up after a kill, so its start is recorded.
        causes = [row["cause"] for row in await app.database.rows("SELECT cause FROM effects")]
        assert any("trial__write" in cause for cause in causes)
        assert not any("trial__look" in cause for cause in causes)
    assert servers.list_logged("write") == ["list.txt"]


async def test_group_approval_is_given_by_asker_or_admin_only(
    serve: Serve, telegram: BotApiServer, model: ModelServer, servers: Servers
) -> None:
    async with serve(mcp_config=servers(trial=servers.trial()), telegram_allowed_ids=f"{ANN},{GROUP}"):
        for presser, written in ((BOB, 1), (ANN, 2)):  # The asker and the bot's owner.
            model.script(Calls(WRITES), Says("It is written."))
            telegram.user_says("@mneme_test_bot Write the list", chat_id=GROUP, chat_type="supergroup", user_id=BOB)
            await telegram.wait_for(lambda: "Yes, this once" in list_labels(telegram, GROUP))
            press(telegram, "Yes, this once", GROUP, 4004)
            telegram.user_says("/yes@mneme_test_bot", chat_id=GROUP, chat_type="supergroup", user_id=4004)
            await wait_for_text(telegram, "I'm no longer waiting for an answer to that.", GROUP)
            if presser == BOB:
                press(telegram, "Always in this chat", GROUP, BOB)
                await telegram.wait_for(lambda: len(list_toasts(telegram)) == 2)
            assert len(servers.list_logged("write")) == written - 1
            press(telegram, "Yes, this once", GROUP, presser)
            await telegram.wait_for(lambda: "Yes, this once" not in list_labels(telegram, GROUP))
            await wait_until(partial(servers.has_logged, "write", written))
    refused = "In a group, only administrators and the person who asked can use this button."
    assert list_toasts(telegram).count(refused) == 3
