"""Tests of long conversations in a small window: nothing overflows, and nothing said is lost."""

from __future__ import annotations

import re

import pytest

from bot.kernel import App
from tests.conftest import OpenApp
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, ChatRequest, Fails, Reply, Says

pytestmark = pytest.mark.slow

WINDOW = 3_300
FACT = re.compile(r"fact-\d+")


def answer(request: ChatRequest) -> Reply:
    """Answer briefly. A summary repeats the facts in its input."""
    if request.is_summary:
        return Says("They spoke of " + ", ".join(dict.fromkeys(FACT.findall(request.last))) + ".")
    return Says("I see.")


@pytest.fixture
def small(model: ModelServer) -> ModelServer:
    """Return the scripted model with a window limit."""
    model.window = WINDOW
    model.otherwise = answer
    return model


async def count_archives(app: App) -> int:
    return int(await app.database.value("SELECT count(*) FROM entries WHERE kind = 'archive'"))


async def test_many_messages_fit_and_first_facts_stay_summarised(start: OpenApp, small: ModelServer) -> None:
    async with start(window=WINDOW) as app:
        person = Person(app)
        for n in range(68):
            fact = f" fact-{n}" if n < 3 else ""
            await person.says(f"message {n}{fact} is about the weather in a town by the sea")
        assert await count_archives(app) >= 3
        assert await app.sessions.count_messages("console:local") == 136
        assert len(await app.database.rows("SELECT id FROM messages")) == 136
    last = small.requests[-1]
    assert re.search(r"\[Conversation summary\]\nThey spoke of fact-0, fact-1, fact-2\.", last.system())
    assert small.refused == []
    assert max(request.tokens for request in small.requests) < WINDOW
    assert set(person.channel.said) == {"I see."}


async def test_conversation_compacted_many_times_survives_restarts(start: OpenApp, small: ModelServer) -> None:
    for run in range(3):
        async with start(window=WINDOW) as app:
            for n in range(14):
                await Person(app).says(f"fact-{run} again, message {n} is about the weather in a town by the sea")
    for fact in ("fact-0", "fact-1", "fact-2"):
        assert fact in small.requests[-1].system() + str(small.requests[-1].messages)
    assert small.refused == []


async def test_message_window_compacts_too(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = answer
    async with start(memory_window=10, compaction_keep_last_messages=4) as app:
        for n in range(30):
            await Person(app).says(f"fact-{n}")
        assert await count_archives(app) == 6
    for request in model.requests:
        assert len(request.messages) <= 14


async def test_message_of_100_kilobytes_neither_overflows_nor_stays(start: OpenApp, small: ModelServer) -> None:
    async with start(window=WINDOW) as app:
        person = Person(app)
        await person.says("My bicycle is fact-1")
        assert await person.says("A log file: " + "error at line 17; " * 6_000) == "I see."
        for n in range(10):
            await person.says(f"message {n}")
    assert small.refused == []
    assert small.requests[1].prompt.count("error at line 17") > 35
    # Excerpts of the log remain in the daily note, the summary and the search results.
    assert small.requests[-1].prompt.count("error at line 17") <= 40


async def test_many_chinese_messages_stay_in_the_window(start: OpenApp, small: ModelServer) -> None:
    async with start(window=WINDOW) as app:
        for n in range(32):
            assert "I see." in await Person(app).says(
                f"第{n}条消息：" + "我们明天去公园散步，然后在河边的小店里喝绿茶。" * 3
            )
        assert await count_archives(app) >= 2
    assert small.refused == []


@pytest.mark.parametrize("language", ["слово за словом ", "palabra por palabra ", "שלום וברכה "])
async def test_long_messages_in_other_scripts_stay_in_the_window(
    start: OpenApp, small: ModelServer, language: str
) -> None:
    async with start(window=WINDOW) as app:
        for _ in range(12):
            assert await Person(app).says(language * 60) == "I see."
    assert small.refused == []


async def test_conversation_full_of_tools_keeps_calls_complete(start: OpenApp, small: ModelServer) -> None:
    def calls_tools(request: ChatRequest) -> Reply:
        if request.is_summary or request.messages[-1]["role"] == "tool":
            return answer(request)
        read = ("memory_file", {"action": "read", "text": f"{len(small.requests)}"})
        return Calls((read, ("memory_file", {"action": "append", "text": f"- line {len(small.requests)}"}), read))

    small.otherwise = calls_tools
    async with start(window=WINDOW) as app:
        for n in range(20):
            assert await Person(app).says(f"message {n} is about the weather in a town by the sea") == "I see."
        assert await count_archives(app) >= 3
    assert small.refused == []


async def test_failing_summary_is_reported_and_the_conversation_continues(start: OpenApp, small: ModelServer) -> None:
    small.otherwise = lambda request: Fails(400) if request.is_summary else Says("I see.")
    async with start(window=WINDOW) as app:
        said = [
            await Person(app).says(f"fact-{n}: message {n} is about the weather in a town by the sea")
            for n in range(40)
        ]
    told = [text for text in said if "couldn't be summarised" in text]
    assert told
    assert all(text.startswith("I see.\n\n_The conversation is long") for text in told)
    assert "The user said:" in small.requests[-1].system()
    assert "fact-0" in small.requests[-1].system()
    assert small.refused == []


async def test_disabled_compaction_drops_the_oldest_messages_from_view(start: OpenApp, small: ModelServer) -> None:
    async with start(window=WINDOW, compaction_enabled=False) as app:
        for n in range(25):
            await Person(app).says(f"message {n} is about the weather in a town by the sea " * 3)
        assert await count_archives(app) == 0
    assert small.refused == []
    assert small.requests[-1].last.startswith("message 24")
    assert len(small.requests[-1].messages) < 40
