"""Tests of conversations with providers that refuse a request, message or tool, or are not ready."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from config.models import ModelWindow
from memory.messages import Message, Role
from pipeline.models.endpoint import Endpoint
from pipeline.models.model import Finish, ModelRequest, ToolSpec
from pipeline.models.openai_model import OpenAIModel
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import NOTHING_LEARNED, ChatRequest, Fails, Reply, Says, Streams
from tests.support.servers.web import Answer

POISON = "the forbidden recipe"
TOO_LONG: dict[str, tuple[int, object]] = {
    "openai": (400, {"error": {"message": "maximum context length is 9", "code": "context_length_exceeded"}}),
    "responses": (400, {"error": {"message": "Your input exceeds the context window of this model."}}),
    "anthropic": (400, {"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"}}),
    "gemini": (400, [{"error": {"message": "The input token count (9) exceeds the maximum number of tokens allowed"}}]),
    "groq": (413, {"error": {"message": "Request too large for model", "code": "rate_limit_exceeded"}}),
    "github": (413, {"error": {"code": "tokens_limit_reached", "message": "Request body too large. Max size: 8"}}),
    "tgi": (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096"}),
    "copilot": (400, {"error": {"message": "prompt token count of 9 exceeds the limit of 8"}}),
    "zhipu": (400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
    "minimax": (
        200,
        {"base_resp": {"status_code": 2013, "status_msg": "invalid params, context window exceeds limit"}},
    ),
    "vllm": (400, {"object": "error", "message": "The prompt (length 9) is longer than the maximum model length of 8"}),
    "proxy": (422, {"detail": "Input is too long for requested model."}),
    "plain text": (400, "request (9 tokens) exceeds the available context size (8 tokens), try increasing it"),
    "no words": (400, {"error": {"message": "Bad Request"}}),
    "nothing": (413, ""),
}


class Bodies:
    """Personality that refuses with exact bodies."""

    content_type = "text/event-stream"

    def __init__(self, refuses: Callable[[dict[str, Any]], tuple[int, object] | None]) -> None:
        self._refuses = refuses

    def refusal(self, path: str, body: dict[str, Any]) -> Answer | None:
        refused = self._refuses(body)
        if refused is None:
            return None
        status, said = refused
        return Answer(status, (said if isinstance(said, str) else json.dumps(said)).encode())

    async def stream(self, path: str, chat: ChatRequest, reply: Reply) -> Any:
        text = reply.text if isinstance(reply, Says) else ""
        yield f"data: {json.dumps({'choices': [{'delta': {'content': text}, 'finish_reason': 'stop'}]})}\n\n".encode()


def read_contents(body: dict[str, Any]) -> str:
    return json.dumps(body["messages"], ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.parametrize("provider", TOO_LONG)
async def test_too_long_request_is_sent_again_shorter(start: OpenApp, model: ModelServer, provider: str) -> None:
    long_one = "word " * 400
    model.personality = Bodies(lambda body: TOO_LONG[provider] if len(read_contents(body)) > 9_000 else None)  # type: ignore[assignment]
    model.otherwise = lambda _: Says("Fine.")
    async with start() as app:
        person = Person(app)
        answers = [await person.says(f"{number}: {long_one}") for number in range(6)]
    assert answers == ["Fine."] * 6
    last = model.requests[-1]
    assert "5: word" in last.raw.decode()
    assert "tools" in last.body
    assert "You are Mneme" in last.raw.decode()


async def test_too_many_tokens_a_minute_is_not_too_long(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = lambda _: Fails(429, "Rate limit reached: tokens per minute exceeded", retry_after=0)
    async with start() as app:
        assert "is getting too many requests" in await Person(app).says("Hello")


@pytest.mark.parametrize(
    "refusal",
    [
        Fails(400, "The response was filtered due to Azure's content management policy", code="content_filter"),
        Fails(400, "Content Exists Risk"),
        Fails(403, "Your input was flagged by moderation"),
        Says("", finish="content_filter"),
    ],
    ids=["azure", "deepseek", "openrouter", "finish"],
)
async def test_filtered_history_does_not_poison_the_conversation(
    start: OpenApp, model: ModelServer, refusal: Reply
) -> None:
    model.otherwise = lambda _: Says("Fine.")
    async with start() as app:
        person = Person(app)
        await person.says(f"Is {POISON} any good?")
        model.otherwise = lambda request: refusal if POISON in read_contents(request.body) else Says("Still fine.")
        assert await person.says("How are you today?") == "Still fine."
    assert "You are Mneme" in read_contents(model.requests[-1].body)
    assert "tools" in model.requests[-1].body


async def test_filtered_message_is_kept_out_from_then_on(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = lambda request: (
        Fails(400, "content policy") if POISON in read_contents(request.body) else Says("Fine.")
    )
    async with start() as app:
        person = Person(app)
        await person.says("Good morning.")
        answer = await person.says(f"Tell me about {POISON}.")
        assert "content filter blocked this message" in answer
        asked = len(model.requests)
        assert await person.says("Good evening, then.") == "Fine."
        assert len(model.requests) == asked + 1  # Nothing was retried.
        await person.says("/new")
        await person.says("What about the forbidden recipe in the kitchen?".replace(POISON, "forbidden kitchen recipe"))
    assert all(POISON not in read_contents(request.body) for request in model.requests[asked:])


async def test_filtered_part_is_consolidated_without_it(start: OpenApp, model: ModelServer, tmp_path: Path) -> None:
    model.otherwise = lambda _: Says("I see.")
    fact = NOTHING_LEARNED.replace("They talked.", "They spoke of hives.")
    model.consolidation = lambda request: (
        Fails(400, "Content Exists Risk") if POISON in read_contents(request.body) else Says(fact)
    )
    async with start() as app:
        person = Person(app)
        for text in ("I keep bees.", f"I like {POISON}.", "I live in Poltava."):
            await person.says(text)
        await person.says("/new")
    history = next((tmp_path / "data" / "memory").rglob("HISTORY.md")).read_text(encoding="utf-8")
    assert "They spoke of hives." in history
    assert POISON not in history
    read = [read_contents(r.body) for r in model.consolidations if POISON not in read_contents(r.body)]
    assert any("I keep bees" in text for text in read)
    assert any("I live in Poltava" in text for text in read)


async def test_filter_that_ends_an_answer_is_reported(start: OpenApp, model: ModelServer) -> None:
    model.script(Says("Once upon a time", finish="content_filter"))
    async with start() as app:
        answer = await Person(app).says("Tell me a tale")
    assert answer.startswith("Once upon a time")
    assert "content filter ended the answer here" in answer


async def test_refusal_of_the_model_is_reported(start: OpenApp, model: ModelServer) -> None:
    pieces = ({"choices": [{"delta": {"refusal": "I can't help with that."}, "finish_reason": "stop"}]},)
    model.script(Streams(pieces))
    async with start() as app:
        assert await Person(app).says("Tell me") == "The model declined: I can't help with that."


TOOLS = tuple(
    ToolSpec(name, "A tool.", json.dumps({"type": "object", "properties": {"at": {"type": "string", "x-note": name}}}))
    for name in ("first", "second", "third", "fourth")
)


def create_model(server: ModelServer) -> OpenAIModel:
    async def connect() -> Endpoint:
        return Endpoint(server.url, "key")

    return OpenAIModel("scripted", ModelWindow(8_000, 1_000), connect, timeout=20)


def create_request() -> ModelRequest:
    return ModelRequest([Message(Role.USER, "Hello", FakeClock()())], tools=TOOLS)


def list_tool_names(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", [])]


@pytest.mark.parametrize(
    "said",
    [
        {"error": {"message": "Invalid schema", "param": "tools[2].function.parameters"}},
        {"error": {"message": "tools.2.custom.input_schema: JSON schema is invalid"}},
        {"error": {"message": "Invalid schema for function 'third': array schema missing items"}},
        [
            {
                "error": {
                    "message": "* GenerateContentRequest.tools[0].function_declarations[2].parameters.items: missing"
                }
            }
        ],
        {"error": {"message": "Bad Request"}},
        {"detail": [{"loc": ["body", "tools", 2, "function", "parameters"], "msg": "wrong", "type": "x"}]},
    ],
    ids=["param", "anthropic", "name", "gemini", "no words", "detail"],
)
async def test_bad_tool_is_left_out_alone_and_remembered(model: ModelServer, said: object) -> None:
    model.personality = Bodies(lambda body: (400, said) if "third" in list_tool_names(body) else None)  # type: ignore[assignment]
    client = create_model(model)
    assert (await client.complete(create_request())).text == "You said: Hello"
    refused = len(model.refused)
    assert (await client.complete(create_request())).text == "You said: Hello"
    await client.close()
    assert len(model.refused) == refused
    assert list_tool_names(model.requests[-1].body) == ["first", "second", "fourth"]


async def test_server_without_tools_is_recognised_without_words(model: ModelServer) -> None:
    model.personality = Bodies(lambda body: (400, "no") if "tools" in body else None)  # type: ignore[assignment]
    client = create_model(model)
    answer = await client.complete(create_request())
    await client.close()
    assert (answer.text, answer.without_tools) == ("You said: Hello", True)


@pytest.mark.parametrize("status", [502, 503])
async def test_loading_server_is_waited_for(start: OpenApp, model: ModelServer, status: int) -> None:
    model.script(*[Fails(status, "Loading model")] * 5, Says("Here I am."))
    async with start() as app:
        person = Person(app)
        assert await person.says("Hello") == "Here I am."
    assert "waiting for the model to load" in person.channel.awaited


async def test_starting_server_is_waited_for(start: OpenApp) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = ModelServer()
    server._web.port = port  # noqa: SLF001  # The address is known before the server listens.
    async with start(openai_base_url=server.url) as app:
        person = Person(app)
        await person.sends("Hello")
        await person.sees_wait("waiting for the model server to start")
        async with server:
            await app.runner.wait_until_idle(person.address.session_id)
    assert person.channel.said == ["You said: Hello"]


async def test_thinking_that_uses_all_tokens_gets_more_room_once(model: ModelServer) -> None:
    def think(request: ChatRequest) -> Reply:
        room = request.body["max_tokens"]
        if room < 400:
            return Streams(({"choices": [{"delta": {"reasoning_content": "Hm."}, "finish_reason": "length"}]},))
        return Streams(
            ({"choices": [{"delta": {"reasoning_content": "Hm.", "content": "Hi"}, "finish_reason": "stop"}]},)
        )

    model.otherwise = think
    client = create_model(model)
    for _ in range(2):
        message = Message(Role.USER, "Hello", FakeClock()())
        answer = await client.complete(ModelRequest([message], max_output_tokens=100))
        assert (answer.text, answer.finish) == ("Hi", Finish.STOP)
    await client.close()
    assert [request.body["max_tokens"] for request in model.requests] == [100, 800, 800]


async def test_thinking_up_to_the_servers_own_limit_gets_more_room(model: ModelServer) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 128}
    thought = {"choices": [{"delta": {"reasoning_content": "Hm."}, "finish_reason": "length"}], "usage": usage}
    model.script(Streams((thought,)), Says("Hi"))
    client = create_model(model)
    answer = await client.complete(ModelRequest([Message(Role.USER, "Hello", FakeClock()())]))
    await client.close()
    assert answer.text == "Hi"
    assert model.requests[1].body["max_tokens"] == 1_000  # Eight times as much, within the model's limit.


async def test_page_of_a_proxy_is_not_shown_as_the_reason(start: OpenApp, model: ModelServer) -> None:
    model.personality = Bodies(lambda _: (400, "<html><h1>400 Bad Request</h1></html>"))  # type: ignore[assignment]
    async with start() as app:
        answer = await Person(app).says("Hello")
    assert "rejected the request (error 400)" in answer
    assert "<" not in answer


async def test_thinking_alone_is_explained(start: OpenApp, model: ModelServer) -> None:
    thought = {"choices": [{"delta": {"reasoning_content": "Hm."}, "finish_reason": "length"}]}
    model.otherwise = lambda _: Streams((thought,))
    async with start() as app:
        assert "used all its tokens for thinking" in await Person(app).says("Hello")


async def test_thinking_is_never_shown_stored_or_sent(start: OpenApp, model: ModelServer, tmp_path: Path) -> None:
    secret = "the user is wrong about everything"
    model.otherwise = lambda _: Says(f"<think>\n{secret}\n</think>\n\nYou are right.")
    async with start() as app:
        person = Person(app)
        for _ in range(3):
            assert await person.says("Am I right?") == "You are right."
        await person.says("/compact 1")
        await person.says("Am I right?")
        await person.says("/new")
    assert all(secret not in text and "think" not in text for text in person.channel.shown)
    assert all(secret not in request.raw.decode() for request in model.requests)
    for path in (tmp_path / "data").rglob("*.md"):
        assert secret not in path.read_text(encoding="utf-8")


async def test_stream_without_finish_reason_ends_with_done(model: ModelServer) -> None:
    model.script(Streams(({"choices": [{"delta": {"content": "Hi"}}]},)))
    client = create_model(model)
    answer = await client.complete(create_request())
    await client.close()
    assert (answer.text, answer.finish) == ("Hi", Finish.STOP)


async def test_keep_alive_comments_are_signs_of_life(model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Bodies):
        async def stream(self, path: str, chat: ChatRequest, reply: Reply) -> Any:
            for _ in range(6):
                yield b": OPENROUTER PROCESSING\n\n"
            async for piece in super().stream(path, chat, reply):
                yield piece

    model.personality = Slow(lambda _: None)  # type: ignore[assignment]

    async def connect() -> Endpoint:
        return Endpoint(model.url, "key")

    client = OpenAIModel("scripted", ModelWindow(8_000, 1_000), connect, timeout=20)
    assert (await client.complete(create_request())).text == "You said: Hello"
    await client.close()


async def test_named_endpoint_serves_the_fallback(start: OpenApp, model: ModelServer) -> None:
    async with ModelServer() as other:
        model.otherwise = lambda _: Fails(400, "out of order")
        settings: dict[str, Any] = {"llm_endpoints": f"spare {other.url} sk-spare"}
        settings["llm_fallback_model"] = "spare:llama-4:70b"
        async with start(**settings) as app:
            assert await Person(app).says("Hello") == "You said: Hello"
    assert other.requests[-1].body["model"] == "llama-4:70b"


async def test_message_from_before_a_restart_waits_for_the_server(
    start: OpenApp, model: ModelServer, clock: FakeClock
) -> None:
    model.script(*[Fails(503, "Loading model")] * 8, Says("Here I am."))
    async with start(llm_timeout=0.5) as app:
        person = Person(app)
        clock.forward(seconds=-60)
        await person.sends("Hello")
        clock.forward(seconds=60)
        await app.runner.wait_until_idle(person.address.session_id)
    assert person.channel.said == ["Here I am."]
