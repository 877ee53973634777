"""Tests that background work yields to people, and that /new doesn't wait for a slow model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import bot.jobs.background
from bot.jobs.background import BackgroundConsolidation
from bot.kernel import App
from bot.languages import Languages
from bot.tasks import BackgroundTasks
from config.models import ModelWindow
from memory.errors import Postponed
from memory.messages import Completion, Message, Role
from memory.runtime.jobs import JobLog
from memory.runtime.preferences import PreferenceStore
from memory.store.database import Database
from pipeline.models.endpoint import Endpoint
from pipeline.models.model import ModelRequest
from pipeline.models.openai_model import OpenAIModel
from pipeline.models.routing import YieldingModel
from tests.conftest import OpenApp
from tests.support.consolidating import Bench, create_answer
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Holds, Reply, Says

LIVES = ("home city", "The user lives in Kyiv.")


@pytest.fixture
async def yielding(model: ModelServer) -> AsyncIterator[YieldingModel]:
    """Return a model with one slot in front of the scripted server."""

    async def connect() -> Endpoint:
        return Endpoint(model.url, "none")

    inner = OpenAIModel("scripted", ModelWindow(8_192, 1_024), connect, timeout=20)
    yield YieldingModel(inner)
    await inner.close()


def request(text: str, *, background: bool = False) -> ModelRequest:
    return ModelRequest([Message(Role.USER, text, datetime(2026, 2, 7, tzinfo=UTC))], background=background)


async def test_request_of_a_person_ends_a_background_request(yielding: YieldingModel, model: ModelServer) -> None:
    model.script(Holds(""), Says("Here you are."))
    behind = asyncio.create_task(yielding.complete(request("sort", background=True)))
    await model.wait_for(lambda: len(model.requests) == 1)
    assert (await yielding.complete(request("a question"))).text == "Here you are."
    with pytest.raises(Postponed):
        await behind
    await model.wait_for(lambda: model.disconnects == 1)


async def test_background_request_is_postponed_while_a_person_waits(
    yielding: YieldingModel, model: ModelServer
) -> None:
    held = Holds("A long answer")
    model.script(held)
    front = asyncio.create_task(yielding.complete(request("a question")))
    await model.wait_for(lambda: len(model.requests) == 1)
    with pytest.raises(Postponed):
        await yielding.complete(request("sort", background=True))
    quiet = asyncio.create_task(yielding.wait_until_idle())
    held.release.set()
    assert (await front).text == "A long answer"
    await quiet
    assert (await yielding.complete(request("sort", background=True))).text == "You said: sort"
    assert len(model.requests) == 2


async def test_cancelled_background_request_is_not_postponed(yielding: YieldingModel, model: ModelServer) -> None:
    model.script(Holds(""))
    behind = asyncio.create_task(yielding.complete(request("sort", background=True)))
    await model.wait_for(lambda: len(model.requests) == 1)
    behind.cancel()
    with pytest.raises(asyncio.CancelledError):
        await behind
    await model.wait_for(lambda: model.disconnects == 1)


async def test_postponed_consolidation_stays_due(
    database: Database, clock: FakeClock, tmp_path: Path, yielding: YieldingModel, model: ModelServer
) -> None:
    async def prompt(text: str, seconds: float) -> Completion:
        return (await yielding.complete(request(text, background=True))).completion

    bench = Bench.create(database, clock, tmp_path / "memory", prompt)
    background = BackgroundConsolidation(
        bench.service,
        bench.notices,
        Languages(PreferenceStore(database)),
        yielding.wait_until_idle,
        JobLog(database),
        BackgroundTasks(),
    )
    session = await bench.store.session()
    await bench.store.commit_exchange(session, "I live in Kyiv.", "I see.")
    assert await bench.service.mark_current_due(session) is not None
    replies: Iterator[Reply] = iter([Holds(""), Says(create_answer("They spoke of Kyiv.", None, LIVES))])
    model.consolidation = lambda _: next(replies)
    running = asyncio.create_task(background.run_pending())
    await model.wait_for(lambda: len(model.consolidations) == 1)
    await yielding.complete(request("a question"))
    await running
    assert len(model.consolidations) == 2
    history = (bench.files.get_folder(session.owner) / "HISTORY.md").read_text()
    assert "They spoke of Kyiv." in history
    assert "[raw-fallback]" not in history
    assert await bench.service.list_pending() == []


async def test_new_returns_while_a_slow_model_consolidates(
    start: OpenApp, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot.jobs.background, "ANSWER_SECONDS", 0)
    late = Holds(create_answer("They spoke of Kyiv.", None, LIVES))
    model.consolidation = lambda _: late
    async with start() as app:
        app.start_background_work()
        person = Person(app)
        await person.says("Kyiv is home these days.")
        said = await person.says("/new")
        assert said.startswith("New conversation.")
        assert said.endswith("I'm still going through it, and will tell you below a later answer what I learned.")
        late.release.set()
        await wait_for_notice(app)
        assert "_Learned: The user lives in Kyiv (/undo takes it back)_" in await person.says("And now?")


async def wait_for_notice(app: App) -> None:
    """Wait for a notice."""
    async with asyncio.timeout(20):
        while not await app.database.value("SELECT count(*) FROM notices"):  # noqa: ASYNC110  # There is no event to wait for.
            await asyncio.sleep(0)


async def test_stopped_new_keeps_the_conversation_and_its_consolidation(start: OpenApp, model: ModelServer) -> None:
    replies: Iterator[Reply] = iter([Holds(""), Says(create_answer("They spoke of Kyiv.", None, LIVES))])
    model.consolidation = lambda _: next(replies)
    async with start() as app:
        person = Person(app)
        await person.says("I live in Kyiv.")
        await person.sends("/new")
        await model.wait_for(lambda: len(model.consolidations) == 1)
        assert "/new was stopped." in await person.says("/stop")
        await person.says("And where do I live?")
        assert "I live in Kyiv." in [message["content"] for message in model.requests[-1].messages]
        await app.jobs.consolidation.run_pending()
        assert "The user lives in Kyiv." in await person.says("/memory fact")
