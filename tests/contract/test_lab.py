"""Tests of conversations with servers that refuse as real providers do, without losing memory or tools."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks import live
from config.settings import Settings
from memory.clock import system_clock
from pipeline.models.endpoint import get_provider
from tests.conftest import OpenApp
from tests.support.fakes import Person
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, ChatRequest, Says
from tests.support.servers.personalities import PERSONALITIES, DeepSeek, NativeClaude, Personality

RECALL = Calls((("memory_recall", {"query": "bees"}),))
FACT = '{"history_entry": "They spoke of hives.", "facts": [{"fact": "The user keeps bees.", "quote": "I keep bees."}]}'


@pytest.fixture(params=PERSONALITIES)
def personality(request: pytest.FixtureRequest, model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Personality:
    if request.param == "claude natively":
        there = replace(get_provider("https://api.anthropic.com/v1"), hosts=("127.0.0.1",))
        monkeypatch.setattr("pipeline.models.endpoint.PROVIDERS", (there,))
    model.personality = PERSONALITIES[request.param]()
    return model.personality


def remember_bees(folder: Path) -> None:
    path = folder / "data" / "memory" / "console:local" / "MEMORY.md"
    path.parent.mkdir(parents=True)
    path.write_text("- Keeps bees in Poltava\n", encoding="utf-8")


def assert_complete(request: ChatRequest, *texts: str) -> None:
    """Check that a request has its memory, its tools and the earlier calls with their results."""
    written = json.dumps(request.body, ensure_ascii=False)
    assert "# Memory" in written
    assert "Keeps bees in Poltava" in written
    assert {tool["function"]["name"] for tool in request.body["tools"]} >= {"memory_recall", "note_add"}
    for text in texts:
        assert text in written


async def test_conversation_keeps_memory_tools_and_calls(
    start: OpenApp, model: ModelServer, personality: Personality, tmp_path: Path
) -> None:
    remember_bees(tmp_path)
    async with start(llm_model=personality.model) as app:
        person = Person(app)
        model.script(Says("Good morning."))
        assert await person.says("Good morning") == "Good morning."
        model.script(RECALL, Says("You keep bees."))
        assert await person.says("What do I keep?") == "You keep bees."
        model.script(Says("In Poltava."))
        assert await person.says("And where?") == "In Poltava."
        assert_complete(model.requests[-1], "memory_recall", "Good morning.", "What do I keep?", "You keep bees.")
    async with start(llm_model=personality.model) as app:
        person = Person(app)
        model.script(RECALL, Says("Still bees."))
        assert await person.says("And now?") == "Still bees."
        assert_complete(model.requests[-1], "And where?", "In Poltava.")
        refused = len(model.refused)
        model.script(RECALL, Says("Bees."))
        assert await person.says("Again?") == "Bees."
        assert len(model.refused) == refused, model.refused[refused:]


async def test_parallel_calls_and_a_second_round_go_back(
    start: OpenApp, model: ModelServer, personality: Personality
) -> None:
    both = Calls((("memory_recall", {"query": "bees"}), ("memory_recall", {"query": "honey"})))
    model.script(both, RECALL, Says("Bees and honey."))
    async with start(llm_model=personality.model) as app:
        assert await Person(app).says("Look twice") == "Bees and honey."
    results = [
        m for m in model.requests[-1].messages if m["role"] == "tool" or "The tool answered" in str(m["content"])
    ]
    assert len(results) == 3


async def test_memory_work_succeeds(
    start: OpenApp, model: ModelServer, personality: Personality, tmp_path: Path
) -> None:
    model.otherwise = lambda request: Says("They spoke of bees." if request.is_summary else "I see.")
    model.consolidation = lambda _: Says(FACT)
    async with start(llm_model=personality.model) as app:
        person = Person(app)
        for text in ("My name is Olena.", "I keep bees.", "I live in Poltava."):
            assert (await person.says(text)).startswith("I see.")
        assert "Summarised" in await person.says("/compact 2")
        assert "conversation" in await person.says("/new")
        await model.wait_for(lambda: bool(model.second_looks))
    history = next((tmp_path / "data" / "memory").rglob("HISTORY.md")).read_text(encoding="utf-8")
    assert "They spoke of hives." in history
    assert "think" not in history


@needs_feature("reminders")
async def test_reminder_is_set_by_the_tool(start: OpenApp, model: ModelServer, personality: Personality) -> None:
    at = {"text": "feed the bees", "when": "2026-02-08T08:00"}
    model.script(Calls((("reminder_set", at),)), Says("Done."))
    async with start(llm_model=personality.model) as app:
        person = Person(app)
        assert "Done." in await person.says("Remind me tomorrow at 8 to feed the bees")
        assert "feed the bees" in await person.says("/reminders")


async def test_model_switch_retells_calls_of_the_other_model(
    start: OpenApp, model: ModelServer, personality: Personality, tmp_path: Path
) -> None:
    remember_bees(tmp_path)
    plain = NativeClaude("plain-1") if isinstance(personality, NativeClaude) else Personality("plain-1")
    async with start(llm_model="plain-1", llm_models=(personality.model,)) as app:
        person = Person(app)
        model.personality = plain
        model.script(RECALL, Says("Bees."))
        assert await person.says("What do I keep?") == "Bees."
        model.personality = personality
        if personality.model != plain.model:
            await person.says(f"/model {personality.model}")
        model.script(Says("In Poltava."))
        assert await person.says("And where?") == "In Poltava."
        assert_complete(model.requests[-1], "memory_recall", "bees", "What do I keep?")
        model.script(RECALL, Says("Yes."))
        assert await person.says("Sure?") == "Yes."
        assert_complete(model.requests[-1])


async def test_reasoning_goes_back_to_its_own_model_alone(start: OpenApp, model: ModelServer) -> None:
    model.personality = DeepSeek("deepseek-v4-pro")
    async with start(llm_model="deepseek-v4-pro", llm_models=("other",)) as app:
        person = Person(app)
        model.script(RECALL, Says("Bees."), Says("Yes."))
        await person.says("What do I keep?")
        await person.says("Sure?")
        assert model.refused == []
        answers: list[dict[str, Any]] = [m for m in model.requests[-1].messages if m["role"] == "assistant"]
        assert all("Let me think" in message["reasoning_content"] for message in answers)
        model.personality = Personality("other")
        await person.says("/model other")
        model.script(Says("No."))
        assert await person.says("Really?") == "No."
    assert "reasoning_content" not in model.requests[-1].raw.decode()


@needs_feature("reminders")
async def test_live_benchmark_finds_that_everything_works(model: ModelServer, tmp_path: Path) -> None:
    model.personality = DeepSeek("deepseek-v4-pro")
    model.sees = True
    tomorrow = system_clock() + timedelta(days=1)
    calls = {
        "Call the tool": ("note", {"text": "OK"}),
        "note in your long-term": ("memory_file", {"action": "append", "text": "- Hives are blue"}),
        "Remind me": ("reminder_set", {"text": "feed the bees", "when": f"{tomorrow:%Y-%m-%d}T08:00"}),
    }

    def reply(request: ChatRequest) -> Calls | Says:
        asked = "" if request.is_summary else request.last
        found = next((call for words, call in calls.items() if words in asked), None)
        return Says("They are blue, in Poltava.") if found is None else Calls((found,))

    model.otherwise = reply
    settings = {"openai_base_url": model.url, "llm_model": "deepseek-v4-pro", "mneme_data_dir": tmp_path / "live"}
    rows = await live.run(Settings.model_validate(settings))
    assert [(row.name, row.remark) for row in rows if not row.works] == []
    assert len(rows) > 12
