"""Tests of servers that refuse a part of a request: it is left out then and later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from config.models import ModelWindow
from memory.messages import Message, Role
from pipeline.models.endpoint import Endpoint
from pipeline.models.model import ModelRequest
from pipeline.models.openai_model import OpenAIModel
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import NOTHING_LEARNED, ChatRequest, Fails, Refuses, Says, Wrong

QWEN = Refuses(Wrong.LATER_SYSTEM, "System message must be at the beginning.", 400)
QWEN_LLAMA_CPP = Refuses(Wrong.LATER_SYSTEM, "raise_exception: System message must come first (jinja template)", 500)
MISTRAL = Refuses(Wrong.SAME_ROLE, "Conversation roles must alternate user/assistant/user/assistant/...", 400)
GEMMA = Refuses(Wrong.SYSTEM, "System role not supported", 400)
LM_STUDIO = Refuses(Wrong.SYSTEM, "Error rendering prompt with jinja template: Only user and assistant", streamed=True)
FORMAT = Refuses("response_format", "'response_format.type' must be 'json_schema' or 'text'", 400)
UNUSABLE_FORMAT = Refuses("response_format", "not implemented", 501)
STREAM_OPTIONS = Refuses("stream_options", "[{'type': 'extra_forbidden', 'loc': ['body', 'stream_options']}]", 422)
NAMED = Refuses("stream_options", "Unrecognized request argument supplied", 400, param="stream_options")
TOOLS = Refuses("tools", "registry.example/library/gemma does not support tools", 400)
JINJA = Refuses("tools", "tools param requires --jinja flag", 500)
TEMPERATURE = Refuses("temperature", "Unsupported value: 'temperature' does not support 0.7", 400, param="temperature")

SERVERS = {
    "no system message": (GEMMA,),
    "no system message, and roles that alternate": (GEMMA, MISTRAL),
    "no system message, said in the stream": (LM_STUDIO,),
    "no response_format": (FORMAT,),
    "neither stream_options nor tools": (STREAM_OPTIONS, TOOLS),
    "no stream_options by name, no tools by flag": (NAMED, JINJA),
    "nothing optional at all": (FORMAT, STREAM_OPTIONS, TOOLS, TEMPERATURE, GEMMA, MISTRAL),
}
WORDLESS = {
    "no response_format, without a word": (UNUSABLE_FORMAT,),
    "no tools, without a word": (Refuses("tools"),),
    "no system message, without a word": (Refuses(Wrong.SYSTEM),),
    "neither tools nor temperature, without a word": (Refuses("tools"), Refuses("temperature")),
}
"""Servers that refuse without naming a reason. Each refused request is sent once more without optional fields."""
CONTENT_AS_IT_IS = {
    "no later system message": (QWEN,),
    "roles that alternate, and no later system message": (QWEN, MISTRAL),
}
"""Servers to which nothing that they refuse is ever sent."""


@pytest.mark.parametrize("server", [*SERVERS, *WORDLESS, *CONTENT_AS_IT_IS])
async def test_server_with_a_refusal_answers_consolidates_and_compacts(
    start: OpenApp, model: ModelServer, server: str, tmp_path: Path
) -> None:
    model.refuses = (SERVERS | WORDLESS | CONTENT_AS_IT_IS)[server]
    model.otherwise = lambda request: Says("They spoke of bees." if request.is_summary else "I see.")
    model.consolidation = lambda _: Says(NOTHING_LEARNED.replace("They talked.", "They spoke of hives."))
    async with start() as app:
        person = Person(app)
        for text in ("My name is Olena.", "I keep bees.", "I live in Poltava."):
            assert (await person.says(text)).startswith("I see.")
        assert "Summarised" in await person.says("/compact 2")
        assert (await person.says("Where do I live?")).startswith("I see.")
        assert "conversation" in await person.says("/new")
    history = next((tmp_path / "data" / "memory").rglob("HISTORY.md")).read_text(encoding="utf-8")
    assert "They spoke of hives." in history
    assert bool(model.refused) == (server not in CONTENT_AS_IT_IS)


@needs_feature("capture")
async def test_refused_reasoning_effort_is_left_out_of_later_summaries(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = lambda request: Says("They spoke of bees." if request.is_summary else "I see.")
    async with start() as app:
        person = Person(app)
        for refuses in ((), (Refuses("reasoning_effort", "Unrecognized request argument: reasoning_effort"),)):
            model.refuses = refuses
            for _ in range(2):
                for text in ("My name is Olena.", "I keep bees.", "I live in Poltava."):
                    await person.says(text)
                assert "Summarised" in await person.says("/compact 1")
    asked = [request.body.get("reasoning_effort") for request in model.requests if request.is_summary]
    assert asked == ["low", "low", None, None]
    # The check of captured facts comes before the summary and discovers the refusal for both.
    assert len(model.refused) == 1
    assert {r.body.get("reasoning_effort") for r in model.requests if not r.is_summary} == {None}


def accepted_requests(model: ModelServer) -> list[ChatRequest]:
    """Return the requests that the server accepted."""
    return [r for r in model.requests if not any(dislike.applies(r) for dislike in model.refuses)]


@pytest.mark.parametrize("server", SERVERS)
async def test_refused_part_is_sent_once_also_after_a_restart(start: OpenApp, model: ModelServer, server: str) -> None:
    model.refuses = SERVERS[server]

    async def talk(person: Person) -> None:
        consolidated = len(model.consolidations)
        for text in ("My name is Olena.", "I keep bees.", "I live in Poltava."):
            await person.says(text)
        await person.says("/new")
        await model.wait_for(lambda: len(model.consolidations) > consolidated)
        await person.says("Hello again")

    async with start() as app:
        await talk(Person(app))
        once = len(model.refused)
        await talk(Person(app))
    assert 0 < once <= 25
    async with start() as app:
        await talk(Person(app))
    assert len(model.refused) == once


@pytest.mark.parametrize(
    ("refuses", "roles", "requests"),
    [
        ((QWEN,), "system user assistant user", 2),
        ((QWEN_LLAMA_CPP,), "system user assistant user", 4),  # The SDK repeats a request that fails with 500.
        ((MISTRAL,), "system user assistant user", 2),
        ((Refuses(Wrong.LATER_SYSTEM, status=422),), "user assistant user", 3),
        ((GEMMA,), "user assistant user", 3),
        ((LM_STUDIO,), "user assistant user", 3),
    ],
)
async def test_messages_are_rearranged_only_as_needed(
    model: ModelServer, refuses: tuple[Refuses, ...], roles: str, requests: int
) -> None:
    now = FakeClock()()
    spoken = [(Role.SYSTEM, "rules"), (Role.SYSTEM, "memory"), (Role.USER, "one"), (Role.ASSISTANT, "two")]
    spoken += [(Role.SYSTEM, "relevant"), (Role.USER, "three"), (Role.USER, "four")]
    model.refuses = refuses

    async def connect() -> Endpoint:
        return Endpoint(model.url, "key")

    client = OpenAIModel("scripted", ModelWindow(8_000, 1_000), connect, timeout=20)
    try:
        await client.complete(ModelRequest([Message(role, text, now) for role, text in spoken]))
    finally:
        await client.close()
    sent = model.requests[-1].messages
    assert [message["role"] for message in sent] == roles.split()
    assert "\n\n".join(message["content"] for message in sent) == "\n\n".join(text for _, text in spoken)
    assert len(model.requests) == requests


async def test_rearranged_messages_lose_no_text(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = lambda _: Says("Bees, you say.")
    sent: dict[str, list[Any]] = {}
    for kind, refuses in (("free", ()), ("strict", (GEMMA, MISTRAL))):
        model.refuses = refuses
        async with start(mneme_data_dir=f"data-{kind}") as app:
            person = Person(app)
            await person.says("I keep bees.")
            await person.says("What do I keep?")
        sent[kind] = accepted_requests(model)[-1].messages
    assert [message["role"] for message in sent["strict"]] == ["user", "assistant", "user"]
    written = "\n".join(message["content"] for message in sent["strict"])
    for message in sent["free"]:
        assert message["content"] in written


async def test_model_without_tools_may_write_json_that_resembles_calls(start: OpenApp, model: ModelServer) -> None:
    model.refuses = (TOOLS,)
    call = '{"name": "memory_recall", "arguments": {"query": "bees"}}'
    model.script(Says(call))
    async with start() as app:
        person = Person(app)
        answer = await person.says("Give me an example of JSON")
        assert answer.startswith(call)
        assert "can't use tools here" in answer
        assert "can't use tools here" not in await person.says("Thanks")


async def test_unrelated_error_removes_no_part_of_the_request(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = lambda _: Fails(400, "the request is not to my liking")
    async with start() as app:
        person = Person(app)
        assert "rejected the request (the request is not to my liking)" in await person.says("Something")
        model.otherwise = lambda _: Says("Fine.")
        assert await person.says("Something else") == "Fine."
    assert {"tools", "stream_options"} <= model.requests[-1].body.keys()


async def test_tools_refused_in_a_long_request_are_kept(start: OpenApp, model: ModelServer) -> None:
    def strict(request: ChatRequest) -> Says | Fails:
        return Fails(400, "no") if request.tokens > 7_000 and "tools" in request.body else Says("Fine.")

    model.otherwise = strict
    async with start() as app:
        person = Person(app)
        assert (await person.says("bees " * 6_000)).startswith("Fine.")
        await person.says("/new")
        assert await person.says("Hello") == "Fine."
    assert "tools" in model.requests[-1].body


async def test_refused_part_is_tried_again_after_a_month(start: OpenApp, model: ModelServer, clock: FakeClock) -> None:
    model.refuses = (TOOLS,)
    async with start() as app:
        await Person(app).says("Hello")
    model.refuses = ()
    clock.forward(days=29)
    async with start() as app:
        await Person(app).says("Hello")
    assert "tools" not in model.requests[-1].body
    clock.forward(days=2)
    async with start() as app:
        await Person(app).says("Hello")
    assert "tools" in model.requests[-1].body


async def test_part_refused_by_one_model_is_sent_to_another(start: OpenApp, model: ModelServer) -> None:
    model.refuses = (STREAM_OPTIONS,)
    async with start() as app:
        await Person(app).says("Hello")
    assert "stream_options" not in model.requests[-1].body
    model.refuses = ()
    async with start(llm_model="another") as app:
        await Person(app).says("Hello")
    assert "stream_options" in model.requests[-1].body
