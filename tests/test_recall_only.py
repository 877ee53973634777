"""Without any model the bot says so, and answers from memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.app import open_app
from config.settings import ConfigurationError, Settings
from pipeline.recall_only import HEAD
from tests.fakes import Person

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fakes import FakeClock


@pytest.fixture
async def person(clock: FakeClock) -> AsyncIterator[Person]:
    """Somebody who talks with a Mneme that has no model."""
    async with open_app(Settings(), clock) as app:
        yield Person(app)


def recalled(said: str) -> list[str]:
    head, _, lines = said.partition("\n\nWhat I remember about that:\n")
    assert head == HEAD
    return lines.splitlines()


async def test_with_an_empty_memory_it_says_that_it_can_only_recall(person: Person) -> None:
    assert await person.says("Where do I live?") == (
        f"{HEAD}\n\nI noted your message; I remember nothing about it yet."
    )


async def test_it_answers_from_the_conversation_and_from_memory(person: Person, tmp_path: Path) -> None:
    await person.says("Remember that my bicycle is green")
    await person.says("My cat is called Murka")
    assert recalled(await person.says("What is my cat called?")) == ["- My cat is called Murka"]
    await person.says("/new")
    assert "- My cat is called Murka" in recalled(await person.says("And the cat?"))
    assert "- my bicycle is green" in recalled(await person.says("What colour is the bicycle?"))


async def test_what_it_recalled_is_not_recalled_again(person: Person) -> None:
    await person.says("My cat is called Murka")
    for _ in range(3):
        said = await person.says("Tell me about Murka")
        await person.says("/new")
    assert recalled(said).count("- My cat is called Murka") == 1
    assert "What I remember" not in said.removeprefix(f"{HEAD}\n\nWhat I remember about that:")


async def test_the_time_and_the_headings_are_no_memories(person: Person) -> None:
    assert "remember nothing about it" in await person.says("What happens on Saturday, in today's notes, now?")


async def test_a_long_conversation_is_compacted_without_a_model_too(person: Person) -> None:
    await person.says("My cat is called Murka")
    for n in range(30):
        await person.says(f"Number {n}")
    assert "- My cat is called Murka" in recalled(await person.says("What is the cat called?"))
    assert "extracted (no model made a summary)" in await person.says("/compact 1")
    assert "- My cat is called Murka" in recalled(await person.says("What is the cat called?"))


async def test_a_local_model_that_there_is_not_is_a_wrong_setting(clock: FakeClock) -> None:
    with pytest.raises(ConfigurationError, match=r"LLM_MODEL .* no local model called 'gpt-4o': choose one of"):
        async with open_app(Settings(llm_model="gpt-4o"), clock):
            pass
