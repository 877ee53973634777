"""Tests of the tool loop: tools in sequence until there is an answer, and its limits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.kernel import App
from pipeline.tools import toolbox
from pipeline.tools.toolbox import Tool, ToolContext
from tests.conftest import OpenApp
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, ChatRequest, Fails, Garbles, Holds, Reply, Says, Streams

READ = ("memory_file", {"action": "read"})


def create_append_call(text: str) -> tuple[str, object]:
    return "memory_file", {"action": "append", "text": text}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create the memory folder of the console user."""
    made = tmp_path / "data" / "memory" / "console:local"
    made.mkdir(parents=True)
    return made


async def test_tools_in_a_row_see_the_previous_results(person: Person, model: ModelServer) -> None:
    model.script(
        Calls((create_append_call("- a"),)),
        Calls((create_append_call("- b"),)),
        Calls((READ,)),
        Says("Both are there."),
    )
    assert await person.says("Note a and b, then read them back") == "Both are there."
    assert [r.last for r in model.requests[1:]] == [
        "MEMORY.md now also says: - a",
        "MEMORY.md now also says: - b",
        "- a\n- b\n",
    ]
    assert person.channel.tools == ["memory_file"] * 3


async def test_progress_of_each_call_is_shown(person: Person, model: ModelServer) -> None:
    model.script(Calls((READ,)), Says("Empty."))
    await person.says("What do you know?")
    assert [what.split()[0] for what in person.channel.awaited] == ["reading", "thinking", "reading"]


async def test_tool_calls_of_one_answer_run_in_order(person: Person, model: ModelServer) -> None:
    model.script(Calls((create_append_call("- a"), create_append_call("- b"), READ), text="I look."), Says("Done."))
    assert await person.says("Go") == "Done."
    results = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
    assert results[-1] == "- a\n- b\n"
    assert model.refused == []


async def test_tool_calls_are_in_the_next_turns_history(person: Person, model: ModelServer) -> None:
    model.script(Calls((READ,)), Says("Empty."))
    await person.says("What do you know?")
    await person.says("Sure?")
    assert [m["role"] for m in model.requests[-1].messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert model.refused == []


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("memory_file", '{"action": "read"'), "error: the arguments are wrong: Invalid JSON"),
        (("memory_file", "no JSON at all"), "error: the arguments are wrong: Invalid JSON"),
        (("memory_file", '["read"]'), "error: the arguments are wrong: Input should be an object"),
        (("memory_file", {}), "error: the arguments are wrong: action: Field required"),
        (("memory_file", ""), "error: the arguments are wrong: action: Field required"),
        (("memory_file", {"action": "burn"}), "error: the arguments are wrong: action: Input should be 'read'"),
        (("memory_file", {"action": "append", "text": 7}), "error: the arguments are wrong: text: Input should be a"),
        (
            ("memory_file", {"action": "read", "x": 1}),
            "error: the arguments are wrong: memory_file takes no x, only action, text, replacement",
        ),
        (("memory_file", {"action": "append"}), "error: append needs text"),
        (("web_search", {"query": "x"}), "error: there is no tool web_search; there are: memory_file"),
    ],
)
async def test_invalid_call_returns_an_error_to_the_model(
    person: Person, model: ModelServer, call: tuple[str, object], told: str
) -> None:
    model.script(Calls((call,)), Says("I tried."))
    assert await person.says("Go") == "I tried."
    assert model.requests[1].last.startswith(told)


@pytest.mark.parametrize("depth", [100, 3000])
async def test_arguments_nested_too_deep_break_no_later_request(person: Person, model: ModelServer, depth: int) -> None:
    deep = '{"action": ' * depth + '"read"' + "}" * depth
    model.script(Calls((("memory_file", deep),)), Says("It did not work."))
    assert await person.says("Look into your memory") == "It did not work."
    assert await person.says("And now?") == "You said: And now?"
    sent = [c["function"]["arguments"] for m in model.requests[-1].messages for c in m.get("tool_calls", [])]
    assert sent == ["{}"]


async def test_arguments_that_are_no_object_are_not_sent_back(person: Person, model: ModelServer) -> None:
    model.script(Calls((("memory_file", '{"action": "re'),)), Says("I tried."))
    await person.says("Go")
    await person.says("And now?")
    for request in model.requests[1:]:
        sent = [call["function"]["arguments"] for m in request.messages for call in m.get("tool_calls", [])]
        assert [json.loads(arguments) for arguments in sent] == [{}]


async def test_failing_tool_reports_its_error_to_the_model(person: Person, model: ModelServer, folder: Path) -> None:
    model.script(Calls((create_append_call("- a"),)), Says("It did not work."))
    await person.says("Hello")  # The folder is read before it becomes unwritable.
    (folder / ".lock").unlink(missing_ok=True)
    (folder / ".lock").mkdir()
    model.script(Calls((create_append_call("- a"),)), Says("It did not work."))
    assert await person.says("Note a") == "It did not work."
    assert model.requests[-1].last.startswith("error: MEMORY.md can't be written (Is a directory)")


async def test_exception_in_a_tool_is_named_to_the_model() -> None:
    async def divide(context: ToolContext, by: int) -> str:
        """Divide."""
        return str(1 / by)

    assert await Tool(divide).run(ToolContext("o", "s"), '{"by": 0}') == "error: divide failed (ZeroDivisionError)"


async def test_memory_refusal_reaches_the_model_in_words(person: Person, model: ModelServer) -> None:
    model.script(Calls((("memory_file", {"action": "delete", "text": "never said"}),)), Says("There is no such thing."))
    await person.says("Forget that")
    assert model.requests[1].last.startswith('error: "never said" doesn\'t appear in MEMORY.md')


async def test_slow_tool_is_ended_and_reported(
    person: Person, model: ModelServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolbox, "TOOL_TIMEOUT_SECONDS", 0.0)
    model.script(Calls((READ,)), Says("It hangs."))
    assert await person.says("Read") == "It hangs."
    assert model.requests[1].last == "error: memory_file took longer than 0 seconds and was ended"


async def test_long_tool_result_is_cut_with_a_hint(start: OpenApp, model: ModelServer, folder: Path) -> None:
    (folder / "MEMORY.md").write_text("first\n" + "filler\n" * 5000 + "last\n")
    model.script(Calls((READ,)), Says("Long."))
    async with start(window=8_000) as app:
        await Person(app).says("Read it all")
    result = model.requests[1].last
    assert result.startswith("first\n")
    assert result.endswith("last\n")
    assert "characters left out: ask for less at a time ...]" in result
    assert len(result) < 4_500


async def test_model_calls_over_the_limit_end_the_turn(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = lambda _: Calls((create_append_call(f"- {len(model.requests)}"),))
    async with start(turn_max_model_calls=4) as app:
        said = await Person(app).says("Go on for ever")
    assert said.startswith("I called the model 4 times without finishing")
    assert len(model.requests) == 4


async def test_repeated_requests_count_as_model_calls(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = lambda _: Says("")
    async with start(turn_max_model_calls=1) as app:
        said = await Person(app).says("Hello")
    assert said.startswith("I called the model 1 time without")
    assert len(model.requests) == 1


async def test_tool_calls_over_the_limit_end_the_turn(start: OpenApp, model: ModelServer) -> None:
    model.otherwise = lambda _: Calls(
        (create_append_call(f"- {len(model.requests)}a"), create_append_call(f"- {len(model.requests)}b"))
    )
    async with start(turn_max_tool_calls=5) as app:
        said = await Person(app).says("Go on for ever")
    assert said.startswith("This needed more than 5 tool calls, so I stopped")
    assert len(model.requests) == 3


async def test_turn_over_the_time_limit_is_ended(start: OpenApp, model: ModelServer) -> None:
    model.script(Holds("I think"))
    async with start(turn_max_seconds=0.3) as app:
        said = await Person(app).says("Think hard")
    assert said.startswith("This took longer than 0.3 seconds, so I stopped")
    await model.wait_for(lambda: model.disconnects == 1)


async def test_conversation_continues_after_a_turn_hit_a_limit(start: OpenApp, model: ModelServer) -> None:
    model.script(*(Calls((create_append_call(f"- {n}"),)) for n in range(3)))
    async with start(turn_max_model_calls=3) as app:
        person = Person(app)
        await person.says("Go on for ever")
        assert await person.says("Better now?") == "You said: Better now?"
    assert model.refused == []


async def test_identical_call_three_times_ends_the_turn(person: Person, model: ModelServer) -> None:
    model.otherwise = lambda _: Calls((READ,))
    assert (await person.says("Loop")).startswith("I kept calling memory_file with the same input")
    assert len(model.requests) == 3


async def test_reading_after_each_change_is_no_loop(person: Person, model: ModelServer) -> None:
    steps = [
        Calls((READ,)),
        *(call for n in range(4) for call in (Calls((create_append_call(f"- {n}"),)), Calls((READ,)))),
    ]
    model.script(*steps, Says("Four lines."))
    assert await person.says("Count") == "Four lines."


async def test_overlong_context_is_cut_and_sent_again(start: OpenApp, model: ModelServer) -> None:
    async with start(compaction_enabled=False) as app:
        person = Person(app)
        for n in range(6):
            model.script(Says("I see."))
            await person.says(f"Story {n}: " + "once upon a time " * 400)
        model.window = 7_000
        assert (await person.says("And then?")) == "You said: And then?"
    assert len(model.refused) == 1
    assert model.requests[-1].last == "And then?"


async def test_context_that_stays_too_long_ends_in_a_sentence(start: OpenApp, model: ModelServer) -> None:
    model.window = 100
    async with start() as app:
        said = await Person(app).says("Hello")
    assert said == "This conversation is longer than the model scripted can read: try /compact."
    assert len(model.requests) == 2


async def test_empty_answer_to_a_cut_request_is_retried_cut(start: OpenApp, model: ModelServer) -> None:
    async with start(compaction_enabled=False) as app:
        person = Person(app)
        for n in range(6):
            model.script(Says("I see."))
            await person.says(f"Story {n}: " + "once upon a time " * 400)
        model.window = 7_000
        model.script(Says(" "), Says("They lived."))
        assert await person.says("And then?") == "They lived."
    assert len(model.refused) == 1


async def test_empty_answer_is_requested_once_more(person: Person, model: ModelServer) -> None:
    model.script(Says(" \n"), Says("Here I am."))
    assert await person.says("Hello") == "Here I am."
    assert len(model.requests) == 2


async def test_two_empty_answers_end_in_a_sentence(person: Person, model: ModelServer) -> None:
    model.script(Says(""), Says(""))
    assert await person.says("Hello") == "The model scripted sent an empty answer twice: send /retry or rephrase."


async def test_cut_off_answer_is_requested_once_more(person: Person, model: ModelServer) -> None:
    model.script(Says("The answer is fo", finish=None), Says("The answer is 42."))
    assert await person.says("What is the answer?") == "The answer is 42."
    assert person.channel.shown[-1] == "The answer is 42."


@pytest.mark.parametrize("second", [Says("The ans", finish=None), Says(""), Fails(404), Fails(401)])
async def test_answer_cut_off_twice_is_kept_with_a_note(
    app: App, person: Person, model: ModelServer, second: Reply
) -> None:
    model.script(Says("The answer is fo", finish=None), second)
    said = await person.says("What is the answer?")
    assert said.startswith("The ans")
    assert said.endswith("\n\n(The answer was cut off here.)")
    last = await app.memory.turns.find_last("console:local")
    assert last is not None
    assert last.outcome == "answered"


async def test_answer_over_its_length_limit_is_marked(person: Person, model: ModelServer) -> None:
    model.script(Says("Once upon a", finish="length"))
    assert await person.says("Tell me a story") == "Once upon a\n\n(The answer was cut off here.)"
    assert len(model.requests) == 1


async def test_tool_call_that_was_cut_off_does_not_run(person: Person, model: ModelServer, folder: Path) -> None:
    half = {
        "index": 0,
        "id": "a",
        "function": {"name": "memory_file", "arguments": '{"action": "append", "text": "- a"}'},
    }
    delta = {"choices": [{"index": 0, "delta": {"content": "Noting", "tool_calls": [half]}, "finish_reason": "length"}]}
    model.script(Streams((delta,)))
    await person.says("Note a")
    assert not (folder / "MEMORY.md").exists()


async def test_garbled_stream_ends_in_a_sentence(person: Person, model: ModelServer) -> None:
    model.script(Garbles())
    assert await person.says("Hello") == "The model scripted sent an answer that can't be read: try /retry."


async def test_users_question_stays_in_view_despite_long_tool_results(
    start: OpenApp, model: ModelServer, folder: Path
) -> None:
    (folder / "MEMORY.md").write_text("filler line\n" * 300)

    def reads_on(request: ChatRequest) -> Reply:
        reads = sum(m["role"] == "tool" for m in request.messages)
        return (
            Calls((("memory_file", {"action": "read", "text": str(len(model.requests))}),)) if reads < 8 else Says("?")
        )

    model.otherwise = reads_on
    async with start(window=4_000, turn_max_model_calls=12) as app:
        await Person(app).says("What is the colour of my bicycle?")
    assert len(model.requests) == 12
    for request in model.requests:
        assert "What is the colour of my bicycle?" in " ".join(request.said)
        assert request.tokens < 3_100
    assert model.refused == []
