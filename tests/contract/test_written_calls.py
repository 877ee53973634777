"""Tests of tool calls that small models write into their answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says

CALL = (
    '{"name": "memory_file", "arguments": {"action": "append", "text": "- Has a red bicycle", '
    '"quote": "My bicycle is red"}}'
)


@pytest.mark.parametrize(
    "written", [CALL, f"```json\n{CALL}\n```", f"Tool call:\n```json\n{CALL}\n```", f"```\n{CALL}```\n"]
)
async def test_call_that_is_the_whole_answer_runs(
    person: Person, model: ModelServer, tmp_path: Path, written: str
) -> None:
    model.script(Says(written), Says("Noted."))
    assert await person.says("My bicycle is red") == "Noted."
    assert (tmp_path / "data" / "memory" / "console:local" / "MEMORY.md").read_text() == "- Has a red bicycle\n"


@pytest.mark.parametrize(
    "answer",
    [
        f"You could write this:\n\n{CALL}",
        '{"name": "delete_everything", "arguments": {}}',
        '{"name": "memory_file"}',
        '{"name": "Olena", "arguments": "none"}',
        "{not json}",
    ],
)
async def test_answer_resembling_a_call_stays_an_answer(person: Person, model: ModelServer, answer: str) -> None:
    model.script(Says(answer))
    assert await person.says("Show me a call") == answer
    assert len(model.requests) == 1
