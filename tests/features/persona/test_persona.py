"""Tests of the bot's name and character."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.errors import ConfigurationError
from memory.log.sessions import Address
from tests.conftest import OpenApp
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer


async def test_name_and_character_are_in_the_system_message(start: OpenApp, model: ModelServer, tmp_path: Path) -> None:
    file = tmp_path / "persona.txt"
    file.write_text("You speak like a patient gardener.\n")
    async with start(bot_name="Ada", persona=file) as app:
        await Person(app).says("hello")
        first = str(model.requests[-1].messages[0]["content"])
        assert first.startswith("You are Ada, ")
        assert "patient gardener" in first
        await Person(app).says("again")
        assert model.requests[-1].messages[0]["content"] == first


async def test_chat_chooses_its_own_character(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        ann, bob = Person(app), Person(app, Address("telegram", "1002"))
        assert "pirate" in await ann.says("/persona You are a pirate.")
        await ann.says("hello")
        assert "You are a pirate." in model.requests[-1].system()
        await bob.says("hello")
        assert "pirate" not in model.requests[-1].system()
        assert "default" in await ann.says("/persona default")
        await ann.says("hello again")
        assert "pirate" not in model.requests[-1].system()


async def test_character_is_kept_over_a_restart(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        await Person(app).says("/persona You are a pirate.")
    async with start() as app:
        await Person(app).says("hello")
        assert "You are a pirate." in model.requests[-1].system()


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00x", b"x" * 9_000])
async def test_unusable_file_stops_the_start_with_a_sentence(
    start: OpenApp, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "persona.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"PERSONA: .*persona\.txt"):
        async with start(persona=file):
            pass


async def test_long_text_is_refused(start: OpenApp) -> None:
    async with start() as app:
        assert "1000 characters or less" in await Person(app).says(f"/persona {'x' * 1_001}")
