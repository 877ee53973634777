"""Tests of the bot without a model: it says so and answers from memory only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.app import open_app
from bot.console.address import create_console_address
from bot.console.console import chat_once
from config.errors import ConfigurationError
from config.settings import Settings
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails

HEAD = "No model is available, so I can only search my memory. The weights of qwen2.5-coder-1.5b are not at "


@pytest.fixture
async def person(clock: FakeClock) -> AsyncIterator[Person]:
    """Return a person who talks with a bot without a model."""
    async with open_app(Settings(), clock) as app:
        yield Person(app)


def parse_recalled(said: str) -> str:
    head, _, lines = said.partition("\n\nWhat I remember about that:\n")
    assert head.startswith(HEAD)
    assert head.endswith("download them with `mneme model pull`.")
    return lines


@needs_feature("local_model")
async def test_empty_memory_leaves_only_the_reason(person: Person) -> None:
    said = await person.says("Where do I live?")
    assert said.startswith("The weights of qwen2.5-coder-1.5b are not at ")
    assert "remember" not in said


@needs_feature("local_model")
async def test_only_statements_are_recalled_as_answers(person: Person) -> None:
    await person.says("What is the capital of France?")
    await person.says("My aunt lives in Lyon, in France")
    await person.says("/new")
    lines = parse_recalled(await person.says("Who do I know in France?"))
    assert "My aunt lives in Lyon" in lines
    assert "capital" not in lines


async def test_unreachable_endpoint_leaves_recall(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        person = Person(app)
        await person.says("My cat is called Murka")
        await person.says("/new")
        model.script(*[Fails(500)] * 12)
        said = await person.says("What is my cat called?")
    head, _, lines = said.partition("\n\nWhat I remember about that:\n")
    assert "returned error 500" in head
    assert "My cat is called Murka" in lines


async def test_questions_without_an_answer_are_not_recalled_later(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        person = Person(app)
        model.script(*[Fails(500)] * 24)
        await person.says("Where does the boat Aurora lie?")
        await person.says("The boat Aurora lies in Odesa")
        await person.says("/new")
        recalled = await person.says("/recall boat")
        assert recalled == "- [2026-02-07 12:15, conversation] User: The boat Aurora lies in Odesa"
        await person.says("What do you know about the boat Aurora?")
    request = str(model.requests[-1].body)
    assert "lies in Odesa" in request
    assert "does the boat" not in request


@needs_feature("local_model")
async def test_answer_includes_conversations_and_notes(person: Person) -> None:
    await person.says("My cat is called Murka")
    await person.says("/remember The bicycle is green")
    assert "User: My cat is called Murka" in parse_recalled(await person.says("What is my cat called?"))
    await person.says("/new")
    assert "User: My cat is called Murka" in parse_recalled(await person.says("And the cat?"))
    assert "The bicycle is green" in parse_recalled(await person.says("What colour is the bicycle?"))


@needs_feature("local_model")
async def test_recalled_answers_and_questions_are_not_recalled_again(person: Person) -> None:
    await person.says("There was Murka, the cat")
    for _ in range(3):
        said = await person.says("Tell me about Murka")
        await person.says("/new")
    assert parse_recalled(said).count("There was Murka, the cat") == 1
    assert "Tell me about Murka" not in parse_recalled(said)
    assert "What I remember" not in parse_recalled(said)


@needs_feature("local_model")
async def test_recalled_answers_enter_no_note_or_later_prompt(
    person: Person, start: OpenApp, model: ModelServer, tmp_path: Path
) -> None:
    await person.says("My cat is called Murka")
    await person.says("What is my cat called?")
    async with start() as app:
        repaired = Person(app)
        await repaired.says("Tell me about Murka")
        await repaired.says("/new")
        await repaired.says("And what about Murka now?")
    for request in (*model.requests, *model.consolidations):
        assert "No model is available" not in request.prompt
        assert "What I remember about that" not in request.prompt
    assert "My cat is called Murka" in model.requests[0].prompt
    for file in (tmp_path / "data" / "memory").rglob("*.md"):
        assert "No model is available" not in file.read_text()


@needs_feature("local_model")
async def test_retry_answers_the_message_once_a_model_is_back(
    person: Person, start: OpenApp, model: ModelServer
) -> None:
    await person.says("What is the capital of France?")
    async with start() as app:
        assert await Person(app).says("/retry") == "You said: What is the capital of France?"


@needs_feature("local_model")
async def test_shell_message_without_a_model_exits_with_1(clock: FakeClock, capsys: pytest.CaptureFixture[str]) -> None:
    async with open_app(Settings(), clock) as app:
        assert await chat_once(app, create_console_address("local"), "Where do I live?") == 1
    assert capsys.readouterr().err.startswith("The weights of qwen2.5-coder-1.5b are not at ")


@needs_feature("local_model")
async def test_long_conversation_is_compacted_without_a_model(person: Person) -> None:
    await person.says("My cat is called Murka")
    for n in range(60):
        await person.says(f"Number {n}")
    assert "My cat is called Murka" in parse_recalled(await person.says("What is the cat called?"))
    assert "No model could write a summary" in await person.says("/compact 1")
    assert "My cat is called Murka" in parse_recalled(await person.says("What is the cat called?"))


@needs_feature("local_model")
async def test_unknown_local_model_is_a_wrong_setting(clock: FakeClock) -> None:
    with pytest.raises(ConfigurationError, match=r"LLM_MODEL .* no local model called 'gpt-4o': choose one of"):
        async with open_app(Settings(llm_model="gpt-4o"), clock):
            pass
