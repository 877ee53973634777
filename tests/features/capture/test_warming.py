"""Tests of the warm-up."""

from __future__ import annotations

import asyncio
import gc

import pytest

from bot.features.capture.statements import warm_up
from bot.kernel import App, serve_features
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer


async def test_warm_up_excludes_loaded_objects_from_garbage_collection() -> None:
    await warm_up()
    kept = gc.get_freeze_count()
    assert kept > 0
    assert gc.isenabled()
    await warm_up()
    assert gc.get_freeze_count() <= kept  # Once in a process. Later garbage is collected as usual.


async def test_first_turn_waits_until_the_classifier_is_loaded(
    app: App, person: Person, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = asyncio.Event()

    async def load() -> None:
        await loaded.wait()

    monkeypatch.setattr("bot.features.capture.statements.warm_up", load)
    async with serve_features(app):
        answer = asyncio.create_task(person.says("hello"))
        while not person.channel.begun:
            await app.database.value("SELECT 1")
        assert model.requests == []
        loaded.set()
        assert await answer == "You said: hello"
