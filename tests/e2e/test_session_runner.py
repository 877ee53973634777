"""Tests of the session runner: one turn at a time per session, merging, and stopping."""

from __future__ import annotations

import asyncio
import fcntl
from pathlib import Path

import pytest

from bot.kernel import App
from memory.log.sessions import Address
from memory.log.turn_log import Outcome
from memory.messages import Provenance, Role
from pipeline.arrival import Arrival
from tests.conftest import OpenApp
from tests.support.fakes import FakeChannel, Person
from tests.support.figures import parse_figures
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Fails, Holds, Says

READ = Calls((("memory_file", {"action": "read"}),))


async def read_contents(app: App, session: str = "console:local") -> list[str]:
    return [message.content for message in (await app.sessions.read_transcript(session)).messages]


async def read_outcomes(app: App) -> list[str]:
    return [row["outcome"] for row in await app.database.rows("SELECT outcome FROM turns ORDER BY id")]


async def test_messages_during_a_turn_wait_and_are_merged_in_order(
    app: App, person: Person, model: ModelServer
) -> None:
    holds = Holds("First answer")
    model.script(holds, Says("Second answer"))
    await person.sends("one")
    await person.sees("First")
    for text in ("two", "three", "four"):
        await person.sends(text)
    assert len(model.requests) == 1
    assert app.runner.queues.count_waiting("console:local") == 3
    holds.release.set()
    await app.runner.wait_until_idle("console:local")
    assert person.channel.said == ["First answer", "Second answer"]
    assert model.requests[1].said[-3:] == ["two", "three", "four"]
    assert await read_contents(app) == ["one", "First answer", "two", "three", "four", "Second answer"]


async def test_sessions_run_in_parallel(app: App, model: ModelServer) -> None:
    people = [Person(app, Address("console", name)) for name in ("a", "b")]
    holds = [Holds("Hold on"), Holds("Hold on")]
    model.script(*holds)
    for person in people:
        await person.sends(f"I am {person.address.chat_id}")
    for person in people:
        await person.sees("Hold on")  # Neither has been released.
    for hold in holds:
        hold.release.set()
    for person in people:
        await app.runner.wait_until_idle(person.address.session_id)
    assert [await read_contents(app, f"console:{name}") for name in "ab"] == [
        ["I am a", "Hold on"],
        ["I am b", "Hold on"],
    ]


async def test_topics_of_one_chat_are_separate_sessions(app: App, model: ModelServer) -> None:
    topics = [Person(app, Address("telegram", "-100", thread)) for thread in ("1", "2")]
    holds = Holds("Hold on")
    model.script(holds)
    await topics[0].sends("in the first topic")
    await topics[0].sees("Hold on")
    assert await topics[1].says("in the second topic") == "You said: in the second topic"
    assert await topics[0].says("/stop") == "Hold on (stopped)\nStopped."


async def test_stop_is_answered_at_once_and_keeps_the_partial_answer(
    app: App, person: Person, model: ModelServer
) -> None:
    model.script(Holds("The first half"))
    await person.sends("Tell me everything")
    await person.sees("The first half")
    assert await person.says("/stop") == "The first half (stopped)\nStopped."
    assert await read_contents(app) == ["Tell me everything", "The first half (stopped)"]
    assert await read_outcomes(app) == [Outcome.STOPPED]
    await model.wait_for(lambda: model.disconnects == 1)
    assert await person.says("Go on") == "You said: Go on"


async def test_stop_before_the_first_word_keeps_the_question(app: App, person: Person, model: ModelServer) -> None:
    model.script(Holds(""))
    await person.sends("Tell me everything")
    await model.wait_for(lambda: len(model.requests) == 1)
    await person.says("/stop")
    assert person.channel.said == ["", "Stopped."]
    assert await read_contents(app) == ["Tell me everything"]


async def test_stop_right_after_a_message_stops_its_turn(app: App, person: Person, model: ModelServer) -> None:
    model.script(Holds("never"))
    await person.sends("Do it")
    await person.sends("/stop")
    await app.runner.wait_until_idle("console:local")
    assert person.channel.said[-1] == "Stopped."
    assert await read_outcomes(app) == [Outcome.STOPPED]


async def test_stop_precedes_all_unprepared_turns_of_a_crowd(app: App, person: Person, model: ModelServer) -> None:
    app.runner.limiter.max_seconds = 60  # The waiting time is not the subject of this test.
    crowd = [Person(app, Address("console", f"crowd {n}")) for n in range(20)]
    asked = list[int]()

    class Crowded(FakeChannel):
        async def hold(self, arrivals: list[Arrival]) -> None:
            """Channel in which a crowd writes while a /stop is handled."""
            await asyncio.gather(*(one.sends("hello") for one in crowd))
            for _ in range(100):
                await app.database.value("SELECT 1")
            asked.append(len(model.requests))

    person.channel = Crowded()
    model.script(Holds("The first half"))
    await person.sends("Tell me everything")
    await person.sees("The first half")
    await person.sends("and this")
    await person.sends("/stop")
    await person.sees("Stopped.")
    assert asked == [1]
    for one in crowd:
        await app.runner.wait_until_idle(one.address.session_id)
    assert [one.channel.said for one in crowd] == [["You said: hello"]] * 20


async def test_two_stops_at_once_end_the_turn_once(app: App, person: Person, model: ModelServer) -> None:
    model.script(Holds("The first half"))
    await person.sends("Tell me everything")
    await person.sees("The first half")
    await person.sends("/stop")
    await person.sends("/stop")
    await app.runner.wait_until_idle("console:local")
    assert person.channel.said[0] == "The first half (stopped)"
    assert await read_outcomes(app) == [Outcome.STOPPED]


async def test_messages_held_by_stop_are_merged_with_the_next(app: App, person: Person, model: ModelServer) -> None:
    model.script(Holds("Busy"))
    await person.sends("one")
    await person.sees("Busy")
    await person.sends("two")
    await person.sends("three")
    said = await person.says("/stop")
    assert said == "Busy (stopped)\nStopped. 2 waiting messages will be answered together with your next one."
    assert person.channel.held == ["two", "three"]
    assert len(model.requests) == 1
    await person.says("four")
    assert model.requests[1].said[-3:] == ["two", "three", "four"]
    assert app.runner.queues.count_waiting("console:local") == 0


async def test_command_does_not_start_messages_held_by_stop(app: App, person: Person, model: ModelServer) -> None:
    model.script(Holds("Busy"))
    await person.sends("one")
    await person.sees("Busy")
    await person.sends("two")
    await person.says("/stop")
    assert "New conversation" in await person.says("/new")
    assert len(model.requests) == 1
    assert app.runner.queues.count_waiting("console:local") == 1
    await person.says("three")
    assert await read_contents(app) == ["two", "three", "You said: three"]


async def test_retry_after_a_stop_runs_the_stopped_turn(app: App, person: Person, model: ModelServer) -> None:
    model.script(Holds("Busy"))
    await person.sends("one")
    await person.sees("Busy")
    await person.sends("two")
    await person.says("/stop")
    assert await person.says("/retry") == "You said: one"
    assert await person.says("three") == "You said: three"
    assert await read_contents(app) == ["one", "You said: one", "two", "three", "You said: three"]


async def test_arrivals_held_before_a_restart_wait_for_next_message(
    app: App, person: Person, model: ModelServer
) -> None:
    before = Arrival(person.address, "from before", Provenance.TYPED, app.clock(), person.channel, held=True)
    await app.runner.submit(before)
    await app.runner.wait_until_idle("console:local")
    assert model.requests == []
    await person.says("now")
    assert await read_contents(app) == ["from before", "now", "You said: now"]


async def test_stop_without_a_running_turn_says_so(person: Person) -> None:
    assert await person.says("/stop") == "Nothing is running."
    await person.says("Hello")
    assert await person.says("/stop") == "Nothing is running."


async def test_stop_between_tools_keeps_whole_calls_only(app: App, person: Person, model: ModelServer) -> None:
    model.script(READ, Holds("Now I know"))
    await person.sends("Look")
    await person.sees("Now I know")
    await person.says("/stop")
    messages = (await app.sessions.read_transcript("console:local")).messages
    assert [m.role for m in messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    await person.says("And?")
    assert model.refused == []


async def test_stop_during_a_hanging_tool_keeps_no_partial_call(
    app: App, person: Person, model: ModelServer, tmp_path: Path
) -> None:
    await person.says("Hello")
    lock = tmp_path / "data" / "memory" / "console:local" / ".lock"
    with lock.open("w") as held:  # As another Mneme process does while writing.
        fcntl.flock(held, fcntl.LOCK_EX)
        model.script(Calls((("memory_file", {"action": "append", "text": "- a"}),), text="I note it."))
        await person.sends("Note a")
        await person.sees("memory_file")
        assert await person.says("/stop") == "I note it. (stopped)\nStopped."
    assert (await read_contents(app))[2:] == ["Note a", "I note it. (stopped)"]
    await person.says("And?")
    assert model.refused == []


async def test_stop_ends_a_compaction(app: App, person: Person, model: ModelServer) -> None:
    for n in range(3):
        await person.says(f"message {n}")
    model.script(Holds("They spoke"))
    await person.sends("/compact 1")
    await model.wait_for(lambda: model.requests[-1].is_summary)
    assert await person.says("/stop") == "/compact was stopped.\nStopped."
    assert len(await read_contents(app)) == 6
    assert await person.says("Still here?") == "You said: Still here?"


async def test_stop_ends_a_retry_and_keeps_the_partial_answer(app: App, person: Person, model: ModelServer) -> None:
    await person.says("Hello")
    model.script(Holds("Another half"))
    await person.sends("/retry")
    await person.sees("Another half")
    assert await person.says("/stop") == "Another half (stopped)\nStopped."
    assert await read_contents(app) == ["Hello", "Another half (stopped)"]


async def test_status_is_answered_during_a_turn(app: App, person: Person, model: ModelServer) -> None:
    holds = Holds("Thinking")
    model.script(holds)
    await person.sends("Hello")
    await person.sees("Thinking")
    await person.sends("Hello?")
    await person.sends("/status")
    await person.sees("**Queue**")
    queue = parse_figures(person.channel.said[0])["Queue"]
    assert (queue["waiting"], queue[""]) == ("1", "An answer is being written.")
    holds.release.set()
    await app.runner.wait_until_idle("console:local")
    assert person.channel.said[1:] == ["Thinking", "You said: Hello?"]


async def test_retry_replaces_the_last_turn(app: App, person: Person, model: ModelServer) -> None:
    await person.says("Before")
    model.script(Says("A bad answer"), Says("A good answer"))
    await person.says("Say something")
    assert await person.says("/retry") == "A good answer"
    assert await read_contents(app) == ["Before", "You said: Before", "Say something", "A good answer"]
    assert model.requests[-1].said == [
        "Before",
        "You said: Before",
        "Say something",
    ]
    assert await read_outcomes(app) == [Outcome.ANSWERED, Outcome.RETRIED, Outcome.ANSWERED]
    assert await app.sessions.count_messages("console:local") == 4


async def test_retry_repeats_merged_messages_and_forwards_unchanged(
    app: App, person: Person, model: ModelServer
) -> None:
    model.script(Fails(404))
    said = [
        Arrival(person.address, "Look at this", Provenance.TYPED, app.clock(), person.channel),
        Arrival(person.address, "Remember that pigs fly", Provenance.FORWARDED, app.clock(), person.channel),
    ]
    await app.runner.submit(*said)
    await app.runner.wait_until_idle("console:local")
    await person.says("/retry")
    assert model.requests[-1].said[-2:] == [
        "Look at this",
        "[forwarded] Remember that pigs fly",
    ]
    assert await read_outcomes(app) == [Outcome.RETRIED, Outcome.ANSWERED]


async def test_retry_that_failed_can_be_repeated(app: App, person: Person, model: ModelServer) -> None:
    model.script(Fails(404), Fails(404))
    await person.says("Hello")
    assert "wasn't found" in await person.says("/retry")
    assert await person.says("/retry") == "You said: Hello"
    assert await read_contents(app) == ["Hello", "You said: Hello"]


async def test_retry_in_an_empty_conversation_says_so(person: Person) -> None:
    nothing = "There is no message in this conversation that I could answer again."
    assert await person.says("/retry") == nothing
    await person.says("Hello")
    await person.says("/new")
    assert await person.says("/retry") == nothing


async def test_commands_wait_in_order_and_separate_merged_messages(
    app: App, person: Person, model: ModelServer
) -> None:
    holds = Holds("Done")
    model.script(holds)
    await person.sends("one")
    await person.sees("Done")
    for text in ("two", "/new", "three", "four"):
        await person.sends(text)
    holds.release.set()
    await app.runner.wait_until_idle("console:local")
    assert person.channel.said[:2] == ["Done", "You said: two"]
    assert person.channel.said[2].startswith("New conversation. The last one (4 messages) can still be searched")
    assert person.channel.said[3] == "You said: four"
    assert await read_contents(app) == ["three", "four", "You said: four"]


async def test_edited_message_replaces_the_waiting_one(app: App, person: Person, model: ModelServer) -> None:
    def arrival(text: str) -> Arrival:
        return Arrival(person.address, text, Provenance.TYPED, app.clock(), person.channel, message_id="7")

    holds = Holds("Done")
    model.script(holds)
    await person.sends("one")
    await person.sees("Done")
    await app.runner.submit(arrival("tow"))
    assert app.runner.queues.replace_waiting(arrival("two"))
    holds.release.set()
    await app.runner.wait_until_idle("console:local")
    assert await read_contents(app) == ["one", "Done", "two", "You said: two"]
    assert not app.runner.queues.replace_waiting(arrival("three"))


async def test_shutdown_during_a_turn_commits_nothing(start: OpenApp, model: ModelServer) -> None:
    model.script(Holds("Half"))
    async with start() as app:
        person = Person(app)
        await person.sends("Hello")
        await person.sees("Half")
        await person.sends("Are you there?")
    assert person.channel.said == []
    async with start() as app:
        assert await read_outcomes(app) == []
        assert await Person(app).says("Hello again") == "You said: Hello again"
        assert await read_contents(app) == ["Hello again", "You said: Hello again"]


@pytest.mark.parametrize("text", ["Hello", "/new", "/status"])
async def test_unusable_store_is_reported_to_the_user(app: App, person: Person, text: str) -> None:
    async with app.database.transaction() as connection:
        await connection.execute("ALTER TABLE sessions RENAME TO gone")
    assert await person.says(text) == "Database error in mneme.db: no such table: sessions."
    async with app.database.transaction() as connection:
        await connection.execute("ALTER TABLE gone RENAME TO sessions")
    assert await person.says("Better?") == "You said: Better?"
