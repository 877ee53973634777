"""Tests of the runner: the order of the systems, and failures of each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.kernel import App
from memory.errors import MnemeError
from memory.log.sessions import Address, Session, SessionState
from memory.log.turn_log import Outcome
from pipeline.order import ORDER, OnFailure, Phase, Step
from pipeline.runner import MAX_PREPARING_TURNS, Pipeline, PipelineError
from pipeline.turn import Turn
from tests.support.fakes import FakeChannel, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Says

NOW = datetime(2026, 2, 7, 12, 15, tzinfo=UTC)
ORDERED = [
    "InputSanitizing",
    "AutoCompaction",
    "ContextBuilding",
    "ToolLoop",
    "ReplyDelivery",
    "MemoryPersist",
]


@dataclass(slots=True)
class FakeSystem:
    """System that records its run and then calls a function of the test."""

    name: str
    ran: list[str]
    does: Callable[[Turn], Awaitable[None]] | None = None

    async def process(self, turn: Turn) -> None:
        self.ran.append(self.name)
        if self.does is not None:
            await self.does(turn)


@dataclass(slots=True)
class Line:
    """Pipeline with all steps, some of which do something."""

    ran: list[str] = field(default_factory=list)
    channel: FakeChannel = field(default_factory=FakeChannel)

    def pipeline(self, **does: Callable[[Turn], Awaitable[None]]) -> Pipeline:
        async def commit(turn: Turn) -> None:
            turn.committed_as = 1

        return Pipeline([FakeSystem(name, self.ran, ({"ReplyDelivery": commit} | does).get(name)) for name in ORDERED])

    def turn(self) -> Turn:
        address = Address("console", "local")
        session = Session(address.session_id, address, address.owner, SessionState.ACTIVE, NOW, NOW)
        return Turn("t1", session, [], self.channel, NOW)


async def fail_unexpectedly(turn: Turn) -> None:
    raise ZeroDivisionError("a bug")


async def fail_with_a_sentence(turn: Turn) -> None:
    raise MnemeError("The well is dry: dig deeper.")


def test_order_equals_the_design() -> None:
    assert [(place.order, place.system) for place in ORDER] == list(zip([10, 18, 20, 30, 40, 50], ORDERED, strict=True))
    optional = [place.system for place in ORDER if place.on_failure is OnFailure.CONTINUE]
    assert optional == ["AutoCompaction", "MemoryPersist"]


def test_order_is_logged_at_start() -> None:
    with capture_logs() as logs:
        Pipeline([FakeSystem(name, []) for name in reversed(ORDERED)])
    assert logs[0]["systems"] == (
        "10 InputSanitizing -> 18 AutoCompaction -> 20 ContextBuilding -> 30 ToolLoop"
        " -> 40 ReplyDelivery -> 50 MemoryPersist"
    )


def test_systems_with_equal_order_are_refused() -> None:
    order = (*ORDER, Step(30, "Second", OnFailure.ABORT, Phase.PREPARE))
    with pytest.raises(PipelineError, match="the same order: 30 ToolLoop, 30 Second"):
        Pipeline([FakeSystem(name, []) for name in [*ORDERED, "Second"]], order)


@pytest.mark.parametrize("names", [ORDERED[:-1], [*ORDERED, "MemoryPersist"], [*ORDERED, "Stranger"]])
def test_missing_duplicate_or_unknown_system_is_refused(names: list[str]) -> None:
    with pytest.raises(PipelineError, match="needs each of"):
        Pipeline([FakeSystem(name, []) for name in names])


async def test_systems_run_in_order() -> None:
    line = Line()
    await line.pipeline().run(line.turn())
    assert line.ran == ORDERED


async def test_log_contains_the_time_of_each_system() -> None:
    line = Line()
    pipeline = line.pipeline()
    with capture_logs() as logs:
        await pipeline.run(line.turn())
    (finished,) = (entry for entry in logs if entry["event"] == "turn_finished")
    assert list(finished["ms"]) == ORDERED
    assert all(ms >= 0 for ms in finished["ms"].values())


async def test_optional_system_that_fails_does_not_stop_the_turn() -> None:
    line = Line()
    turn = line.turn()
    await line.pipeline(AutoCompaction=fail_unexpectedly).run(turn)
    assert line.ran == ORDERED
    assert turn.outcome is Outcome.ANSWERED
    assert turn.failure is None


@pytest.mark.parametrize("system", ["InputSanitizing", "ContextBuilding", "ToolLoop"])
async def test_required_system_that_fails_ends_the_turn_with_its_sentence(system: str) -> None:
    line = Line()
    turn = line.turn()
    await line.pipeline(**{system: fail_with_a_sentence}).run(turn)
    assert turn.failure == "The well is dry: dig deeper."
    assert turn.outcome is Outcome.FAILED
    assert line.ran == [*ORDERED[: ORDERED.index(system) + 1], "ReplyDelivery"]


async def test_unexpected_failure_names_the_turn_and_hides_the_exception() -> None:
    line = Line()
    turn = line.turn()
    await line.pipeline(ToolLoop=fail_unexpectedly).run(turn)
    assert turn.failure == "Something went wrong: send /retry, or look for turn t1 in the log."


async def test_failure_after_the_reply_does_not_change_it() -> None:
    line = Line()
    turn = line.turn()
    await line.pipeline(MemoryPersist=fail_with_a_sentence).run(turn)
    assert line.ran == ORDERED
    assert turn.outcome is Outcome.ANSWERED
    assert line.channel.said == []


async def test_stop_continues_with_the_reply() -> None:
    line, running = Line(), asyncio.Event()

    async def waits(turn: Turn) -> None:
        running.set()
        await asyncio.Event().wait()

    turn = line.turn()
    task = asyncio.create_task(line.pipeline(ToolLoop=waits).run(turn))
    await running.wait()
    turn.stop_requested = True
    task.cancel()
    await task
    assert turn.outcome is Outcome.STOPPED
    assert line.ran == ORDERED[: ORDERED.index("ReplyDelivery") + 1]


async def test_preparation_is_limited_and_stop_in_the_queue_works() -> None:
    line, full, ready = Line(), asyncio.Event(), asyncio.Event()

    async def waits(turn: Turn) -> None:
        if line.ran.count("ContextBuilding") == MAX_PREPARING_TURNS:
            full.set()
        await ready.wait()

    pipeline = line.pipeline(ContextBuilding=waits)
    turns = [line.turn() for _ in range(MAX_PREPARING_TURNS + 1)]
    tasks = [asyncio.create_task(pipeline.run(turn)) for turn in turns]
    await full.wait()
    assert line.ran.count("InputSanitizing") == MAX_PREPARING_TURNS + 1
    assert line.ran.count("AutoCompaction") == MAX_PREPARING_TURNS
    turns[-1].stop_requested = True
    tasks[-1].cancel()
    await tasks[-1]
    assert turns[-1].outcome is Outcome.STOPPED
    assert line.ran[-1] == "ReplyDelivery"
    ready.set()
    await asyncio.gather(*tasks)
    assert {turn.outcome for turn in turns[:-1]} == {Outcome.ANSWERED}


async def test_shutdown_ends_the_turn_at_once() -> None:
    line, running = Line(), asyncio.Event()

    async def waits(turn: Turn) -> None:
        running.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(line.pipeline(ToolLoop=waits).run(line.turn()))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "ReplyDelivery" not in line.ran


async def test_failed_turn_gives_one_sentence_and_is_recorded(
    app: App, person: Person, model: ModelServer, tmp_path: Path
) -> None:
    model.script(Fails(401))
    said = await person.says("Hello")
    assert said == f"The model at {model.url} rejected the key: check OPENAI_API_KEY."
    row = await app.database.row("SELECT outcome, failure FROM turns")
    assert row is not None
    assert tuple(row) == ("failed", said)
    assert [m.content for m in (await app.sessions.read_transcript("console:local")).messages] == ["Hello"]
    assert not (tmp_path / "data" / "memory" / "console:local" / "2026-02-07.md").exists()


async def test_answer_that_can_not_be_stored_is_still_shown(app: App, person: Person, model: ModelServer) -> None:
    await person.says("Hello")
    async with app.database.transaction() as connection:
        for row in await connection.execute_fetchall("PRAGMA page_count"):
            await connection.execute(f"PRAGMA max_page_count = {row[0] + 2}")
    answer = "A long story. " * 1_500
    model.script(Says(answer))
    said = await person.says("Tell me a story")
    assert said.startswith("A long story.")
    assert "is full: free some space" in said
    assert person.channel.said[1:] == [said]
    assert await app.sessions.count_messages("console:local") == 2


class DeafChannel(FakeChannel):
    """Channel that can't show anything."""

    async def show_text(self, text: str) -> None:
        raise OSError("the terminal is gone")

    async def deliver(self, text: str) -> None:
        await super().deliver(text)
        raise OSError("the terminal is gone")


async def test_channel_failure_keeps_the_turn_and_delivers_once(app: App, person: Person, tmp_path: Path) -> None:
    person.channel = DeafChannel()
    assert await person.says("Hello") == "You said: Hello"
    last = await app.memory.turns.find_last("console:local")
    assert last is not None
    assert last.outcome is Outcome.ANSWERED
    assert (tmp_path / "data" / "memory" / "console:local" / "2026-02-07.md").exists()
