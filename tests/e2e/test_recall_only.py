"""Without any model the bot says so, and answers from memory; what it says then is nowhere taken for a model's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.app import open_app
from bot.console.console import chat_once, console_address
from config.errors import ConfigurationError
from config.settings import Settings
from tests.support.fakes import Person
from tests.support.servers.model import Fails

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.conftest import OpenApp
    from tests.support.fakes import FakeClock
    from tests.support.servers.model import ModelServer

HEAD = "No model answers, so I can only recall, not think. The weights of qwen2.5-coder-1.5b are not at "


@pytest.fixture
async def person(clock: FakeClock) -> AsyncIterator[Person]:
    """Somebody who talks with a Mneme that has no model."""
    async with open_app(Settings(), clock) as app:
        yield Person(app)


def recalled(said: str) -> str:
    head, _, lines = said.partition("\n\nWhat I remember about that:\n")
    assert head.startswith(HEAD)
    assert head.endswith("fetch them with `mneme model pull`.")
    return lines


async def test_with_an_empty_memory_it_says_why_no_model_answers(person: Person) -> None:
    said = await person.says("Where do I live?")
    assert said.startswith("The weights of qwen2.5-coder-1.5b are not at ")
    assert "remember" not in said


async def test_only_what_states_something_is_an_answer(person: Person) -> None:
    await person.says("What is the capital of France?")
    await person.says("My aunt lives in Lyon, in France")
    await person.says("/new")
    lines = recalled(await person.says("Who do I know in France?"))
    assert "My aunt lives in Lyon" in lines
    assert "capital" not in lines


async def test_an_endpoint_that_is_down_leaves_what_is_remembered(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        person = Person(app)
        await person.says("My cat is called Murka")
        await person.says("/new")
        model.script(*[Fails(500)] * 12)
        said = await person.says("What is my cat called?")
    head, _, lines = said.partition("\n\nWhat I remember about that:\n")
    assert "answered with error 500" in head
    assert "My cat is called Murka" in lines


async def test_it_answers_from_what_was_said_and_noted(person: Person) -> None:
    await person.says("My cat is called Murka")
    await person.says("/remember The bicycle is green")
    assert "User: My cat is called Murka" in recalled(await person.says("What is my cat called?"))
    await person.says("/new")
    assert "User: My cat is called Murka" in recalled(await person.says("And the cat?"))
    assert "The bicycle is green" in recalled(await person.says("What colour is the bicycle?"))


async def test_neither_what_it_recalled_nor_the_question_is_recalled_again(person: Person) -> None:
    await person.says("There was Murka, the cat")
    for _ in range(3):
        said = await person.says("Tell me about Murka")
        await person.says("/new")
    assert recalled(said).count("There was Murka, the cat") == 1
    assert "Tell me about Murka" not in recalled(said)
    assert "What I remember" not in recalled(said)


async def test_its_sentences_reach_neither_a_note_nor_a_later_models_prompt(
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
        assert "No model answers" not in request.prompt
        assert "What I remember about that" not in request.prompt
    assert "My cat is called Murka" in model.requests[0].prompt
    for file in (tmp_path / "data" / "memory").rglob("*.md"):
        assert "No model answers" not in file.read_text()


async def test_a_message_that_no_model_answered_is_answered_by_retry(
    person: Person, start: OpenApp, model: ModelServer
) -> None:
    await person.says("What is the capital of France?")
    async with start() as app:
        assert await Person(app).says("/retry") == "You said: What is the capital of France?"


async def test_one_message_from_the_shell_exits_1_when_no_model_answered(
    clock: FakeClock, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_app(Settings(), clock) as app:
        assert await chat_once(app, console_address("local"), "Where do I live?") == 1
    assert capsys.readouterr().err.startswith("The weights of qwen2.5-coder-1.5b are not at ")


async def test_a_long_conversation_is_compacted_without_a_model_too(person: Person) -> None:
    await person.says("My cat is called Murka")
    for n in range(60):
        await person.says(f"Number {n}")
    assert "My cat is called Murka" in recalled(await person.says("What is the cat called?"))
    assert "in extracts, since no model made a summary" in await person.says("/compact 1")
    assert "My cat is called Murka" in recalled(await person.says("What is the cat called?"))


async def test_a_local_model_that_there_is_not_is_a_wrong_setting(clock: FakeClock) -> None:
    with pytest.raises(ConfigurationError, match=r"LLM_MODEL .* no local model called 'gpt-4o': choose one of"):
        async with open_app(Settings(llm_model="gpt-4o"), clock):
            pass
