import asyncio
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from openai import AsyncOpenAI, AuthenticationError
from openai.types.chat import (
    ChatCompletionMessageParam,
    ChatCompletionToolParam,
    ChatCompletionUserMessageParam,
)

from bot.app import open_app
from bot.features.local_model.choice import find_own_weights
from bot.features.local_model.embedded import EmbeddedServer, PromptState
from bot.features.local_model.engine import EmbeddedModelError
from bot.features.local_model.model_files import pull, pull_file
from config.hub_files import parse_hub_file
from config.models import LocalModel, ModelWindow, load_catalogue
from config.settings import Settings
from memory.messages import Message, Role
from pipeline.models.endpoint import Endpoint
from pipeline.models.model import ModelError, ModelRequest
from pipeline.models.openai_model import OpenAIModel
from tests.support.fakes import Person
from tests.support.servers.hub import serve_hub

SMALL_MODEL = load_catalogue().get_local("smollm2-135m")
# The smallest model with the template of the larger ones. Both use the same marks around messages.
WITH_TOOLS = replace(SMALL_MODEL, chat_template="qwen2.5-tools")
CLOCK: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "current_time",
        "description": "The time now.",
        "parameters": {
            "type": "object",
            "properties": {"timezone": {"type": "string", "enum": ["UTC"]}},
            "required": ["timezone"],
        },
    },
}


@pytest.fixture(scope="session")
def weights() -> Path:
    """Return the real weights of the smallest model, downloaded once and shared between runs."""
    shared = os.environ.get("MNEME_TEST_MODELS") or Path.home() / ".cache" / "mneme-tests"
    return pull(SMALL_MODEL, Path(shared), lambda _: None)


@pytest.fixture
async def server(weights: Path) -> AsyncIterator[EmbeddedServer]:
    running = EmbeddedServer(WITH_TOOLS, weights, threads=1)
    yield running
    await running.stop()


def create_client(server: EmbeddedServer, base_url: str) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=base_url, api_key=server.api_key)


def has_ended(pid: int, seconds: float) -> bool:
    """Return whether a process ends within a number of seconds."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], seconds)[0])
    finally:
        os.close(watched)


async def render_prompt(server: EmbeddedServer, messages: list[dict[str, object]], *, tools: bool) -> str:
    """Render a conversation with llama.cpp and the server's chat template."""
    base_url = await server.start()
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {server.api_key}"}) as http:
        asked = {"messages": messages} | ({"tools": [CLOCK]} if tools else {})
        answer = await http.post(base_url.removesuffix("v1") + "apply-template", json=asked)
    prompt: str = answer.raise_for_status().json()["prompt"]
    return prompt


async def test_model_starts_streams_and_ends_with_stop(server: EmbeddedServer) -> None:
    base_url = await server.start()
    pid = server.pid
    assert pid is not None
    asked: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Say hello."}]
    async with create_client(server, base_url) as model:
        stream = await model.chat.completions.create(
            model=SMALL_MODEL.name,
            messages=asked,
            max_tokens=12,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert len([piece for piece in pieces if piece]) > 1
    usage = chunks[-1].usage
    assert usage is not None
    assert 0 < usage.completion_tokens <= 12
    await server.stop()
    assert server.pid is None
    assert has_ended(pid, 0)


async def test_second_question_reuses_the_evaluated_prompt(server: EmbeddedServer) -> None:
    async with create_client(server, await server.start()) as model:
        long = "You know this. " + " ".join(f"The number after {n} is {n + 1}." for n in range(14))
        cached = []
        for question in ("What comes after 7?", "What comes after 9?"):
            asked: list[ChatCompletionMessageParam] = [
                {"role": "system", "content": long},
                {"role": "user", "content": question},
            ]
            answer = await model.chat.completions.create(model="any", messages=asked, max_tokens=1)
            assert answer.usage is not None
            details = answer.usage.prompt_tokens_details
            cached.append((details.cached_tokens or 0) / answer.usage.prompt_tokens if details else 0)
    assert cached[0] < 0.1
    assert cached[1] > 0.9


async def test_prompt_state_is_restored_at_next_start_unless_forgotten(weights: Path, tmp_path: Path) -> None:
    question = [ChatCompletionUserMessageParam(role="user", content="The sea is wide and the boat is small. " * 7)]

    async def cached(*, forgetting: bool = False) -> int:
        state = PromptState(tmp_path / "state", SMALL_MODEL.name)
        server = EmbeddedServer(WITH_TOOLS, weights, threads=1, state=state)
        async with create_client(server, await server.start()) as asked:
            assert not list((tmp_path / "state").glob("*"))
            answer = await asked.chat.completions.create(model=SMALL_MODEL.name, messages=question, max_tokens=1)
        if forgetting:
            await server.forget()
        await server.stop()
        assert answer.usage is not None
        assert answer.usage.prompt_tokens_details is not None
        return answer.usage.prompt_tokens_details.cached_tokens or 0

    assert await cached() == 0
    kept = tmp_path / "state" / SMALL_MODEL.name
    assert kept.stat().st_mode & 0o777 == 0o600
    assert await cached() > 50
    await EmbeddedServer(WITH_TOOLS, weights, state=PromptState(kept.parent, kept.name)).forget()
    assert not kept.exists()
    assert await cached(forgetting=True) == 0
    assert await cached() == 0


async def test_abandoned_question_stops_the_evaluation(server: EmbeddedServer) -> None:
    numbers = " ".join(str(number * 7919 % 1000) for number in range(200))
    asked: list[ChatCompletionMessageParam] = [{"role": "user", "content": numbers}]
    async with create_client(server, await server.start()) as model:
        stream = await model.chat.completions.create(
            model="any", messages=asked, stream=True, extra_body={"return_progress": True}
        )
        await anext(aiter(stream))  # The first report comes long before the whole prompt is evaluated.
        await stream.close()
        again = await model.chat.completions.create(
            model="any", messages=asked, stream=True, extra_body={"return_progress": True}
        )
        # The first report says how much of the prompt was evaluated before, without evaluating the rest.
        report = (await anext(aiter(again))).model_extra or {}
        await again.close()
    progress = report["prompt_progress"]
    assert progress["total"] > 400
    assert progress["cache"] < progress["total"] * 0.7


def create_conversation(times: int) -> list[ChatCompletionMessageParam]:
    """Return a conversation with enough uses of the clock for the smallest model to imitate them."""
    conversation: list[ChatCompletionMessageParam] = []
    for number in range(times):
        conversation += [
            {"role": "user", "content": "What time is it?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": str(number),
                        "type": "function",
                        "function": {"name": "current_time", "arguments": '{"timezone": "UTC"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": str(number), "content": "It is noon."},
            {"role": "assistant", "content": "It is noon."},
        ]
    return [*conversation, {"role": "user", "content": "What time is it?"}]


async def test_tool_call_is_recognised_whole_and_streamed(server: EmbeddedServer) -> None:
    asked = create_conversation(2)
    async with create_client(server, await server.start()) as model:
        whole = await model.chat.completions.create(
            model="any", messages=asked, tools=[CLOCK], temperature=0, max_tokens=60
        )
        calls = whole.choices[0].message.tool_calls or []
        assert [call.function.name for call in calls if call.type == "function"] == ["current_time"]
        assert whole.choices[0].finish_reason == "tool_calls"
        stream = await model.chat.completions.create(
            model="any", messages=asked, tools=[CLOCK], temperature=0, max_tokens=60, stream=True
        )
        pieces = [
            call.function
            async for chunk in stream
            for call in chunk.choices[0].delta.tool_calls or []
            if call.function is not None
        ]
    assert "".join(piece.name or "" for piece in pieces) == "current_time"
    assert json.loads("".join(piece.arguments or "" for piece in pieces)) == {"timezone": "UTC"}


async def test_prompt_begins_with_tools_and_keeps_system_messages_in_place(
    server: EmbeddedServer,
) -> None:
    prompt = await render_prompt(
        server,
        [
            {"role": "system", "content": "FIRST"},
            {"role": "user", "content": "QUESTION"},
            {"role": "assistant", "content": "ANSWER"},
            {"role": "system", "content": "NOTE"},
            {"role": "user", "content": "MORE"},
        ],
        tools=True,
    )
    order = ["# Tools", "current_time", "FIRST", "QUESTION", "ANSWER", "system\nNOTE", "MORE"]
    places = [prompt.index(text) for text in order]
    assert places == sorted(places)
    assert prompt.endswith("<|im_start|>assistant\n")


async def test_prompt_shows_earlier_calls_in_the_requested_form(
    server: EmbeddedServer,
) -> None:
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "current_time", "arguments": '{"timezone": "UTC"}'},
    }
    prompt = await render_prompt(
        server,
        [
            {"role": "user", "content": "What time is it?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "It is noon."},
        ],
        tools=True,
    )
    shown = 'Tool call:\n```json\n{"name": "current_time", "arguments": {"timezone": "UTC"}}\n```<|im_end|>'
    assert shown in prompt
    assert "It is noon.\n</tool_response>\nNow answer in plain words.<|im_end|>" in prompt


async def test_prompt_without_tools_mentions_none(server: EmbeddedServer) -> None:
    prompt = await render_prompt(server, [{"role": "user", "content": "Hi"}], tools=False)
    assert prompt == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


async def test_port_refuses_clients_without_the_key(server: EmbeddedServer) -> None:
    base_url = await server.start()
    assert base_url.startswith("http://127.0.0.1:")
    async with AsyncOpenAI(base_url=base_url, api_key="guessed") as stranger:
        with pytest.raises(AuthenticationError):
            await stranger.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hi"}])


async def test_concurrent_starts_share_one_process(server: EmbeddedServer) -> None:
    assert len(set(await asyncio.gather(*(server.start() for _ in range(5))))) == 1


async def test_killed_model_is_started_again(server: EmbeddedServer) -> None:
    await server.start()
    killed = server.pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    assert has_ended(killed, 10)
    assert server.pid is None
    async with create_client(server, await server.start()) as model:
        assert [served.id async for served in await model.models.list()] == [SMALL_MODEL.name]
    assert server.pid not in (None, killed)


@pytest.mark.parametrize(
    ("number", "others_killed", "sentence"),
    [
        (signal.SIGKILL, 0, "smollm2-135m was killed by the system or by another program: /retry starts it again."),
        (signal.SIGKILL, 1, "There is not enough memory for smollm2-135m, which needs about 0.3 GB: free some, or "),
        (signal.SIGSEGV, 0, "smollm2-135m crashed (Segmentation fault): /retry starts it again; "),
        (signal.SIGILL, 0, "This machine's processor lacks instructions that the embedded model's engine needs: "),
    ],
)
async def test_model_crash_during_a_request_is_explained(
    server: EmbeddedServer,
    number: signal.Signals,
    others_killed: int,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = tmp_path / "vmstat"
    events.write_text("pgfault 5\noom_kill 3\n")
    monkeypatch.setattr("bot.features.local_model.embedded._MEMORY_EVENTS", events)

    async def connect() -> Endpoint:
        url = await server.start()
        assert server.pid is not None
        events.write_text(f"pgfault 5\noom_kill {3 + others_killed}\n")
        os.kill(server.pid, number)
        return Endpoint(url, server.api_key, server.explain_loss)

    asking = OpenAIModel(SMALL_MODEL.name, SMALL_MODEL.window, connect, timeout=60)
    asked = ModelRequest([Message(Role.USER, "Hello", datetime(2026, 2, 7, tzinfo=UTC))])
    with pytest.raises(ModelError) as raised:
        await asking.complete(asked)
    await asking.close()
    assert str(raised.value).startswith(sentence)


async def test_cancelled_start_leaves_no_process_and_can_be_repeated(
    server: EmbeddedServer,
) -> None:
    loading = asyncio.create_task(server.start())
    await asyncio.sleep(0)  # Let the task start.
    loading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loading
    assert server.pid is None
    await server.start()


def run_bot(text: str, weights: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a Python program in place of the bot."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", text, str(weights)]
    return subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=False)  # noqa: S603 - fixed text


def test_model_ends_with_a_killed_bot(weights: Path) -> None:
    bot = (
        "import asyncio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from config.models import load_catalogue\n"
        "from bot.features.local_model.embedded import EmbeddedServer\n"
        "async def main():\n"
        "    model = load_catalogue().get_local('smollm2-135m')\n"
        "    server = EmbeddedServer(model, Path(sys.argv[1]), threads=1)\n"
        "    await server.start()\n"
        "    print(server.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    done = run_bot(bot, weights)
    assert done.returncode == -signal.SIGKILL
    assert has_ended(int(done.stdout), 10)


async def start_failing(model: LocalModel, path: Path, load_seconds: float = 60) -> str:
    with pytest.raises(EmbeddedModelError) as raised:
        await EmbeddedServer(model, path, threads=1, load_seconds=load_seconds).start()
    return str(raised.value)


async def test_missing_weights_error_says_how_to_fetch_them(tmp_path: Path) -> None:
    assert "download them with `mneme model pull`" in await start_failing(SMALL_MODEL, tmp_path / "weights.gguf")


async def test_wrong_size_error_says_how_to_fetch_the_file_again(tmp_path: Path) -> None:
    path = tmp_path / "weights.gguf"
    path.write_bytes(b"short")
    assert "has 5 bytes, but smollm2-135m has 98362432" in await start_failing(SMALL_MODEL, path)


async def test_invalid_model_file_error_names_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "weights.gguf"
    path.write_bytes(b"garbage" * 100)
    said = await start_failing(replace(SMALL_MODEL, size_bytes=700), path)
    assert "couldn't be loaded" in said
    assert "invalid magic" in said
    assert "`mneme model pull`" in said


def test_low_memory_error_says_how_much_is_needed(weights: Path) -> None:
    bot = (
        "import asyncio, dataclasses, resource, sys\n"
        "from pathlib import Path\n"
        "from config.models import load_catalogue\n"
        "from bot.features.local_model.embedded import EmbeddedServer\n"
        "from bot.features.local_model.engine import EmbeddedModelError\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "model = dataclasses.replace(load_catalogue().get_local('smollm2-135m'), n_ctx=100_000)\n"
        "try:\n"
        "    asyncio.run(EmbeddedServer(model, Path(sys.argv[1]), threads=1).start())\n"
        "except EmbeddedModelError as error:\n"
        "    print(error)\n"
    )
    assert run_bot(bot, weights).stdout.startswith(
        b"There is not enough memory for smollm2-135m, which needs about 0.3 GB"
    )


async def test_slow_load_is_given_up(weights: Path) -> None:
    assert "was not loaded within 0.001 seconds" in await start_failing(SMALL_MODEL, weights, load_seconds=0.001)


async def test_missing_package_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert "deploy/install.sh --local" in await start_failing(SMALL_MODEL, tmp_path)


async def test_stop_without_a_start_does_nothing(tmp_path: Path) -> None:
    await EmbeddedServer(SMALL_MODEL, tmp_path).stop()


@pytest.fixture
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute in one thread. On a busy machine, several wait for each other in busy loops."""
    monkeypatch.setattr("bot.features.local_model.embedded._MAX_THREADS", 1)


@pytest.mark.usefixtures("_one_thread")
async def test_model_file_of_the_user_is_served(weights: Path, tmp_path: Path) -> None:
    own = tmp_path / "My Own Model.gguf"
    own.symlink_to(weights)
    settings = Settings(llm_model=str(own), llm_context_tokens=2048, memory_enabled=False)
    assert find_own_weights(settings) == own
    question = Message(Role.USER, "Say hello.", datetime(2026, 2, 7, tzinfo=UTC))
    async with open_app(settings) as app:
        # Few tokens, because this model talks until its limit. The next test has a whole turn.
        answer = await app.models.usual.complete(ModelRequest([question], max_output_tokens=8))
        assert app.models.usual.name == "My Own Model"
        assert app.models.usual.window == ModelWindow(2048, 512)
    assert answer.text.strip()


@pytest.mark.usefixtures("_one_thread")
async def test_model_file_pulled_from_the_hub_is_served(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "Someone/Small-GGUF/small-Q4_1.gguf"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = Settings(llm_model=name, memory_enabled=False)
    with serve_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.files[name] = weights.read_bytes()
        pull_file(parse_hub_file(name), settings.models_dir, lambda _: None)
    async with open_app(settings) as app:
        answer = await Person(app).says("Say hello.")
        # The header of the file says 8192.
        assert app.models.usual.window.max_input_tokens == 8192
    assert answer.strip()
