"""Tests of the model client against a real server: refusals, gaps, broken streams."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest

from bot.kernel import App
from config.models import ModelWindow
from memory.messages import Completion, Message, Role, ToolCall
from pipeline.models.capabilities import Part
from pipeline.models.endpoint import Endpoint
from pipeline.models.memory_prompts import ModelConsolidator
from pipeline.models.model import ContextOverflow, Finish, ModelError, ModelRequest, ToolSpec, Usage
from pipeline.models.openai_model import ModelDefaults, OpenAIModel
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Fails, Garbles, Holds, Reply, Says, ShowsPage, Streams

TOOL = ToolSpec("look", "Look something up.", '{"type": "object", "properties": {"at": {"type": "string"}}}')


@contextlib.asynccontextmanager
async def create_client(
    url: str, patience: float = 20, temperature: float | None = 0.7, longest: int | None = None
) -> AsyncIterator[OpenAIModel]:
    async def connect() -> Endpoint:
        return Endpoint(url, "key")

    client = OpenAIModel(
        "scripted",
        ModelWindow(8_000, 1_000),
        connect,
        timeout=patience,
        defaults=ModelDefaults(temperature, longest),
    )
    try:
        yield client
    finally:
        await client.close()


@pytest.fixture
async def client(model: ModelServer) -> AsyncIterator[OpenAIModel]:
    async with create_client(model.url, longest=500) as opened:
        yield opened


def request(text: str = "Hello") -> ModelRequest:
    return ModelRequest([Message(Role.USER, text, FakeClock()())], tools=(TOOL,))


def create_chunk(delta: object, finish: str | None = None, **more: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]} | more


@pytest.mark.parametrize(("finish", "is_whole"), [("stop", True), ("length", False), (None, False)])
async def test_consolidator_reports_whether_answer_is_whole(
    client: OpenAIModel, model: ModelServer, finish: str | None, is_whole: bool
) -> None:
    answer = '{"history_entry": "They talked.", "memory_update": null}'
    model.consolidation = lambda _: Says(answer, finish)
    asked = "You are a memory consolidation agent."
    assert await ModelConsolidator(client, FakeClock())(asked, 20) == Completion(answer, is_whole)


async def test_answer_streams_in_pieces_and_is_returned_whole(client: OpenAIModel, model: ModelServer) -> None:
    model.script(Says("Good morning to you"))
    shown: list[str] = []

    async def show(text: str) -> None:
        shown.append(text)

    answer = await client.complete(request(), show)
    assert len(shown) > 2
    assert all(later.startswith(earlier) for earlier, later in pairwise(shown))
    assert shown[-1] == answer.text == "Good morning to you"
    assert answer.finish is Finish.STOP
    assert answer.usage == Usage(model.requests[0].tokens, 4)


async def test_progress_is_reported_until_the_first_words(model: ModelServer) -> None:
    loading = asyncio.Event()
    told: list[str] = []

    async def connect() -> Endpoint:
        await asyncio.wait_for(loading.wait(), 20)
        return Endpoint(model.url, "key")

    async def tell(what: str) -> None:
        told.append(what)
        loading.set()

    client = OpenAIModel("scripted", ModelWindow(8_000, 1_000), connect, timeout=20)
    asked = ModelRequest([Message(Role.USER, "word " * 1000, FakeClock()())], on_wait=tell)
    await client.complete(asked)
    model.script(Streams((create_chunk({"reasoning": "Hm."}), create_chunk({"content": "Hi"}, "stop"))))
    await client.complete(asked)
    await client.close()
    assert told == ["loading the model", "reading 1,300 tokens", "reading 1,300 tokens", "thinking"]


async def test_capability_check_does_not_start_the_model() -> None:
    async def connect() -> Endpoint:
        raise AssertionError("a model on this machine would be loaded")

    client = OpenAIModel("scripted", ModelWindow(8_000, 1_000), connect, timeout=20)
    assert await client.can(Part.TOOLS)
    assert await client.can(Part.IMAGES)
    assert await client.can(Part.SECOND_LOOK)


async def test_preload_starts_model_before_the_first_answer(model: ModelServer) -> None:
    started: list[str] = []

    async def connect() -> Endpoint:
        started.append("once")
        if len(started) == 1:
            raise ModelError("There is no room for it.")
        return Endpoint(model.url, "key")

    client = OpenAIModel("scripted", ModelWindow(8_000, 1_000), connect, timeout=20)
    await client.load()  # The sender of a message sees the reason.
    assert started == ["once"]
    await client.load()
    assert started == ["once", "once"]
    assert model.requests == []
    assert (await client.complete(request())).text == "You said: Hello"
    await client.close()


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (Fails(401), "The model at {url} rejected the key: check OPENAI_API_KEY."),
        (Fails(403), "The model at {url} rejected the key: check OPENAI_API_KEY."),
        (Fails(404), "The model scripted wasn't found at {url}: check LLM_MODEL and OPENAI_BASE_URL."),
        (ShowsPage(), "There is a web page at {url}, but no model: check OPENAI_BASE_URL."),
        (Fails(402), "The account at {url} has no credit left: top it up, or change OPENAI_API_KEY."),
    ],
)
async def test_refusal_is_explained_with_a_remedy(
    client: OpenAIModel, model: ModelServer, failure: Fails, sentence: str
) -> None:
    model.script(failure)
    with pytest.raises(ModelError) as caught:
        await client.complete(request())
    assert str(caught.value) == sentence.format(url=model.url)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (Fails(429), "The model at {url} is getting too many requests: wait a moment, then send /retry."),
        (Fails(429, code="insufficient_quota"), "The account at {url} has no credit left"),
        (Fails(500), "The model at {url} returned error 500: try /retry later."),
    ],
)
async def test_overloaded_server_is_asked_three_times(
    client: OpenAIModel, model: ModelServer, failure: Fails, sentence: str
) -> None:
    model.script(failure, failure, failure)
    with pytest.raises(ModelError) as caught:
        await client.complete(request())
    assert str(caught.value).startswith(sentence.format(url=model.url))
    assert len(model.requests) == 3


async def test_recovered_server_gives_the_answer(client: OpenAIModel, model: ModelServer) -> None:
    model.script(Fails(500), Fails(429, retry_after=0), Says("Back again."))
    assert (await client.complete(request())).text == "Back again."


async def test_retry_after_is_respected(client: OpenAIModel, model: ModelServer) -> None:
    model.script(Fails(429, retry_after=1), Says("Back again."))
    before = time.monotonic()
    assert (await client.complete(request())).text == "Back again."
    assert time.monotonic() - before >= 1


async def test_local_endpoint_bypasses_the_environment_proxy(
    model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with create_client(model.url) as client:
        assert (await client.complete(request())).text


async def test_unreachable_endpoint_is_named_in_the_error() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        async with create_client(url, patience=2) as client:
            with pytest.raises(ModelError) as caught:
                await client.complete(request())
    assert str(caught.value) == (
        f"No server answers at {url}: check OPENAI_BASE_URL, and that the model's server is running."
    )


async def test_silent_server_times_out(model: ModelServer) -> None:
    model.script(Holds(""))
    async with create_client(model.url, patience=0.2) as client:
        with pytest.raises(ModelError, match=r"didn't answer within 0\.2 seconds: try /retry"):
            await client.complete(request())
    await model.wait_for(lambda: model.disconnects == 1)


@pytest.mark.parametrize("reply", [Holds("Half an"), Says("Half an", finish=None)])
async def test_stream_interrupted_midway_is_a_cut_off_answer(model: ModelServer, reply: Reply) -> None:
    model.script(reply)
    async with create_client(model.url, patience=0.2) as client:
        answer = await client.complete(request())
    assert (answer.text, answer.finish, answer.usage) == ("Half an", Finish.CUT_OFF, None)


async def test_stream_interrupted_before_first_word_is_an_error(client: OpenAIModel, model: ModelServer) -> None:
    model.script(Says("", finish=None))
    with pytest.raises(ModelError, match="can't be reached, or it closed the connection"):
        await client.complete(request())


async def test_stream_without_json_is_an_error(client: OpenAIModel, model: ModelServer) -> None:
    model.script(Garbles())
    with pytest.raises(ModelError, match="sent an answer that can't be read"):
        await client.complete(request())


async def test_error_inside_a_stream_is_reported(client: OpenAIModel, model: ModelServer) -> None:
    model.script(Streams(({"error": {"message": "the GPU is on fire"}},)))
    with pytest.raises(
        ModelError, match=r"The model scripted failed while it was answering \(the GPU is on fire\): try /retry\."
    ):
        await client.complete(request())


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 8192 tokens, however you requested 9000",
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Your input exceeds the context window of this model.",
        "'max_tokens' is too large: 4096. This model's maximum context length is 4096 tokens",
    ],
)
async def test_overflow_messages_of_all_servers_are_recognised(
    client: OpenAIModel, model: ModelServer, said: str
) -> None:
    model.script(Fails(400, said))
    with pytest.raises(ContextOverflow, match="try /compact"):
        await client.complete(request())
    assert len(model.requests) == 1


async def test_rate_limit_in_tokens_is_not_an_overflow(client: OpenAIModel, model: ModelServer) -> None:
    model.script(*[Fails(429, "Rate limit reached: too many tokens per min")] * 3)
    with pytest.raises(ModelError, match="is getting too many requests"):
        await client.complete(request())


@pytest.mark.parametrize("status", [400, 422])
async def test_refused_parameter_is_left_out_from_then_on(client: OpenAIModel, model: ModelServer, status: int) -> None:
    model.script(Fails(status, "Unsupported value: 'temperature'", param="temperature"))
    assert (await client.complete(request())).text == "You said: Hello"
    assert (await client.complete(request())).text == "You said: Hello"
    assert ["temperature" in r.body for r in model.requests] == [True, False, False]


async def test_reasoning_model_gets_max_completion_tokens(client: OpenAIModel, model: ModelServer) -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    model.script(Fails(400, said, param="max_tokens", code="unsupported_parameter"))
    await client.complete(request())
    assert model.requests[0].body["max_tokens"] == 500
    assert model.requests[1].body["max_completion_tokens"] == 500
    assert "max_tokens" not in model.requests[1].body


async def test_refused_parameter_named_only_in_words_is_recognised(client: OpenAIModel, model: ModelServer) -> None:
    model.script(Fails(400, "stream_options: Extra inputs are not permitted"))
    await client.complete(request())
    assert "stream_options" not in model.requests[1].body
    assert "temperature" in model.requests[1].body


async def test_model_without_tools_is_asked_without_them(client: OpenAIModel, model: ModelServer) -> None:
    model.script(Fails(400, "registry/library/gemma does not support tools"))
    assert (await client.complete(request())).text == "You said: Hello"
    assert ["tools" in r.body for r in model.requests] == [True, False]


async def test_refusal_of_required_parameter_is_an_error(client: OpenAIModel, model: ModelServer) -> None:
    model.script(Fails(400, "Invalid model", param="model"))
    with pytest.raises(ModelError, match=r"rejected the request \(Invalid model\)"):
        await client.complete(request())
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "strange",
    [
        {"choices": []},
        {"choices": None},
        {},
        create_chunk({}),
        create_chunk(None),
        {"choices": [{"index": 0}]},
        create_chunk({"role": "assistant", "content": None, "tool_calls": None}),
        create_chunk({"content": ""}, finish=""),
        create_chunk({"content": [{"type": "thinking", "thinking": "hm"}]}),
        create_chunk({"reasoning_content": "let me think"}),
        create_chunk({}, usage=None),
        create_chunk({}, usage={}),
        create_chunk({"tool_calls": []}),
    ],
)
async def test_chunks_without_content_are_skipped(client: OpenAIModel, model: ModelServer, strange: object) -> None:
    model.script(
        Streams((strange, create_chunk({"content": "Hi"}), strange, create_chunk({"content": "!"}, "stop"), strange))
    )
    answer = await client.complete(request())
    assert (answer.text, answer.finish) == ("Hi!", Finish.STOP)


async def test_surrogate_pair_split_over_chunks_is_joined(client: OpenAIModel, model: ModelServer) -> None:
    model.script(
        Streams(
            (
                create_chunk({"content": "Hi \ud83d"}),
                create_chunk({"content": "\ude00\ud83d"}),
                create_chunk({"content": "!"}, "stop"),
            )
        )
    )
    shown: list[str] = []

    async def show(text: str) -> None:
        text.encode()
        shown.append(text)

    answer = await client.complete(request(), show)
    assert answer.text == shown[-1] == "Hi 😀\ufffd!"


async def test_usage_with_cached_tokens_is_read(client: OpenAIModel, model: ModelServer) -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 64}}
    model.script(Streams((create_chunk({"content": "Hi"}, "stop"), {"choices": [], "usage": usage})))
    assert (await client.complete(request())).usage == Usage(90, 3, 64)


async def test_usage_of_zero_tokens_is_ignored(client: OpenAIModel, model: ModelServer) -> None:
    zero = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    model.script(Streams((create_chunk({"content": "Hi"}, "stop", usage=zero),)))
    assert (await client.complete(request())).usage is None


def call(name: str | None, arguments: object, **more: object) -> dict[str, object]:
    return {"function": {"name": name, "arguments": arguments}} | more


LOOK_AT_A_AND_B = [("look", {"at": "a"}), ("look", {"at": "b"})]


@pytest.mark.parametrize(
    "chunks",
    [
        [  # As the standard says: an index, the id and the name once.
            call("look", "", index=0, id="1"),
            call(None, '{"at": ', index=0),
            call(None, '"a"}', index=0),
            call("look", '{"at": "b"}', index=1, id="2"),
        ],
        [  # Interleaved.
            call("look", "", index=0, id="1"),
            call("look", "", index=1, id="2"),
            call(None, '{"at": "b"}', index=1),
            call(None, '{"at": "a"}', index=0),
        ],
        [  # Each call whole, all with one index.
            call("look", '{"at": "a"}', index=0, id="1"),
            call("look", '{"at": "b"}', index=0, id="2"),
        ],
        [  # Without an index.
            call("look", '{"at": "a"}', id="1"),
            call("look", '{"at": "b"}', id="2"),
        ],
        [  # Without an index or an id, in pieces.
            call("look", ""),
            call(None, '{"at": "a"}'),
            call("look", '{"at": "b"}'),
        ],
        [  # Id and name in every chunk.
            call("look", '{"at": ', index=0, id="1"),
            call("look", '"a"}', index=0, id="1"),
            call("look", '{"at": "b"}', index=1, id="2"),
        ],
        [  # The arguments as an object.
            call("look", {"at": "a"}, index=0, id="1"),
            call("look", {"at": "b"}, index=1, id="2"),
        ],
    ],
)
@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
async def test_tool_calls_are_assembled_from_all_chunk_styles(
    client: OpenAIModel, model: ModelServer, chunks: list[object], finish: str
) -> None:
    model.script(Streams((*(create_chunk({"tool_calls": [c]}) for c in chunks), create_chunk({}, finish))))
    answer = await client.complete(request())
    assert [(c.name, json.loads(c.arguments)) for c in answer.tool_calls] == LOOK_AT_A_AND_B
    assert answer.finish is Finish.TOOL_CALLS
    assert len({c.id for c in answer.tool_calls}) == 2
    assert all(c.id for c in answer.tool_calls)


async def test_tool_call_history_keeps_ids_and_tools_keep_schemas(client: OpenAIModel, model: ModelServer) -> None:
    now = FakeClock()()
    history = [
        Message(Role.USER, "Where?", now),
        Message(Role.ASSISTANT, "", now, tool_calls=(ToolCall("abcdefgh1", "look", '{"at": "a"}'),)),
        Message(Role.TOOL, "here", now, tool_call_id="abcdefgh1"),
    ]
    await client.complete(ModelRequest(history, tools=(TOOL,)))
    sent = model.requests[0]
    assert sent.messages[1]["tool_calls"] == [
        {"id": "abcdefgh1", "type": "function", "function": {"name": "look", "arguments": '{"at": "a"}'}}
    ]
    assert sent.messages[2] == {"role": "tool", "content": "here", "tool_call_id": "abcdefgh1"}
    assert sent.body["tools"][0]["function"]["parameters"] == json.loads(TOOL.parameters)


async def test_fallback_model_answers_if_the_first_fails(start: OpenApp, model: ModelServer) -> None:
    model.script(Fails(404), Says("I stand in."))
    async with start(llm_fallback_model="spare") as app:
        person = Person(app)
        assert await person.says("Hello") == "I stand in."
        rows = await app.database.rows("SELECT model FROM usage")
    assert [r.body["model"] for r in model.requests] == ["scripted", "spare"]
    assert [row["model"] for row in rows] == ["spare"]
    assert person.channel.shown[-1] == "I stand in."


async def test_fallback_failure_reports_the_first_failure(start: OpenApp, model: ModelServer) -> None:
    model.script(Fails(401), Fails(404))
    async with start(llm_fallback_model="spare") as app:
        assert "rejected the key" in await Person(app).says("Hello")


async def test_summaries_are_made_by_the_fast_model(start: OpenApp, model: ModelServer) -> None:
    async with start(llm_fast_model="quick") as app:
        person = Person(app)
        for n in range(3):
            await person.says(f"Message {n}")
        await person.says("/compact 1")
    assert model.requests[-1].is_summary
    assert model.requests[-1].body["model"] == "quick"
    assert model.requests[-1].body["temperature"] == 0.3
    assert model.requests[-1].body["max_tokens"] == 500


@pytest.mark.parametrize("finish", ["length", None])
async def test_summary_cut_off_is_requested_again_and_shorter(
    app: App, person: Person, model: ModelServer, finish: str | None
) -> None:
    for n in range(3):
        await person.says(f"Message {n}")
    model.script(Says("They planned a garden, and then", finish), Says("They planned a garden."))
    await person.says("/compact 1")
    first, again = model.requests[-2:]
    assert again.is_summary
    assert len(again.last) > len(first.last)
    assert await app.database.value("SELECT content FROM entries") == "They planned a garden."


async def test_summary_cut_off_twice_is_rejected(app: App, person: Person, model: ModelServer) -> None:
    for n in range(3):
        await person.says(f"Message {n}")
    model.otherwise = lambda _: Says("They planned a garden, and then", "length")
    await person.says("/compact 1")
    assert await app.database.value("SELECT content FROM entries") == "The user said:\n- Message 0\n- Message 1"


@pytest.mark.parametrize(
    ("finish", "meant"),
    [
        ("max_tokens", Finish.LENGTH),
        ("MAX_TOKENS", Finish.LENGTH),
        ("content_filter", Finish.FILTERED),
        ("error", Finish.CUT_OFF),
        ("end_turn", Finish.STOP),
    ],
)
async def test_finish_reasons_of_all_servers_are_recognised(
    client: OpenAIModel, model: ModelServer, finish: str, meant: Finish
) -> None:
    model.script(Says("And so on and so", finish))
    assert (await client.complete(request())).finish is meant


async def test_usage_of_each_call_is_recorded(app: App, person: Person, model: ModelServer) -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 64}}
    model.script(
        Calls((("memory_file", {"action": "read"}),)), Streams((create_chunk({"content": "Hi"}, "stop", usage=usage),))
    )
    await person.says("Hello")
    rows = await app.database.rows("SELECT * FROM usage ORDER BY id")
    assert [(r["purpose"], r["prompt_tokens"], r["completion_tokens"], r["cached_tokens"]) for r in rows] == [
        ("turn", model.requests[0].tokens, 0, 0),
        ("turn", 90, 3, 64),
    ]
    assert {r["session_id"] for r in rows} == {"console:local"}


async def test_usage_missing_from_answer_is_estimated(app: App, person: Person, model: ModelServer) -> None:
    model.script(Streams((create_chunk({"content": "Good day to you"}, "stop"),)))
    await person.says("Hello")
    row = await app.database.row("SELECT prompt_tokens, completion_tokens FROM usage")
    assert row is not None
    assert row["prompt_tokens"] == pytest.approx(model.requests[0].tokens, rel=0.25)
    assert row["completion_tokens"] == 4


def answer_with_usage(tokens: int, text: str = "Fine.") -> Streams:
    usage = {"prompt_tokens": tokens, "completion_tokens": 0}
    return Streams((create_chunk({"content": text}, "stop", usage=usage),))


async def test_daily_token_limit_is_explained_and_ends_at_midnight(
    start: OpenApp, model: ModelServer, clock: FakeClock
) -> None:
    model.script(answer_with_usage(500))
    async with start(daily_token_limit=500) as app:
        person = Person(app)
        assert await person.says("Hello") == "Fine."
        said = await person.says("And again")
        assert said == (
            "Today's limit of 500 tokens is used up: write again tomorrow. The setting for this is DAILY_TOKEN_LIMIT."
        )
        assert len(model.requests) == 1
        clock.forward(hours=12)
        assert await person.says("Good morning") == "You said: Good morning"


async def test_daily_token_limit_counts_background_work(start: OpenApp, model: ModelServer) -> None:
    model.script(answer_with_usage(10), answer_with_usage(10), answer_with_usage(1000, "A summary."))
    async with start(daily_token_limit=500) as app:
        person = Person(app)
        await person.says("Hello")
        await person.says("How are you?")
        assert "Summarised" in await person.says("/compact 1")
        assert "limit of 500 tokens is used up" in await person.says("And again")
        await person.says("/retry")
        assert "No model could write a summary" in await person.says("/compact 1")
    assert len(model.requests) == 3


async def test_stop_closes_the_request(person: Person, model: ModelServer) -> None:
    model.script(Holds("I think"))
    await person.sends("Think hard")
    await person.sees("I think")
    await person.says("/stop")
    await model.wait_for(lambda: model.disconnects == 1)


async def test_address_without_v1_is_retried_with_it(model: ModelServer) -> None:
    async with create_client(model.url.removesuffix("/v1")) as client:
        for _ in range(2):
            assert (await client.complete(request())).text == "You said: Hello"
    assert len(model.requests) == 2


async def test_unknown_model_is_looked_up_below_v1_only_once(model: ModelServer) -> None:
    async with create_client(model.url) as client:
        model.script(Fails(404), Fails(404))
        with pytest.raises(ModelError, match="wasn't found at"):
            await client.complete(request())
    assert len(model.requests) == 1
