"""Tests of separating an answer from thinking and written calls, in pieces of any size."""

from __future__ import annotations

import json

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from pipeline.models.answer import AnswerBuilder, ThinkingSplitter
from pipeline.models.model import ToolSpec
from pipeline.models.schemas import repair_schema
from pipeline.models.written_calls import read_written_calls
from tests.support.servers.personalities import find_gemini_dislike

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOLS = {"weather": SCHEMA, "search": {"type": "object", "properties": {"query": {"type": "string"}}}}
KYIV = ("weather", {"city": "Kyiv", "days": 2})
OBJECT = '{"name": "weather", "arguments": {"city": "Kyiv", "days": 2}}'


def split_in_pieces(text: str, sizes: list[int]) -> ThinkingSplitter:
    splitter = ThinkingSplitter()
    at = 0
    for size in sizes:
        splitter.feed(text[at : at + size])
        at += size
    splitter.feed(text[at:])
    splitter.close()
    return splitter


@pytest.mark.parametrize(
    ("written", "thinking", "answer"),
    [
        ("Hello", "", "Hello"),
        ("<think>Hm.</think>Hello", "Hm.", "Hello"),
        ("\n<think>\nHm.\n</think>\n\nHello", "\nHm.\n", "\nHello"),
        ("Hm.\n</think>\n\nHello", "Hm.\n", "Hello"),
        ("Hm.</think>Hello", "Hm.", "Hello"),
        ("<thought>Hm.</thought>Hello", "Hm.", "Hello"),
        ("<THINK>Hm.</Think>Hello", "Hm.", "Hello"),
        ("[THINK]Hm.[/THINK]Hello", "Hm.", "Hello"),
        ("◁think▷Hm.◁/think▷Hello", "Hm.", "Hello"),
        ("<think></think>Hello", "", "Hello"),
        ("<think>a</think>Hello <think>b</think>you", "ab", "Hello you"),
        ("<think>Hm. I never end", "Hm. I never end", ""),
        ("<think>a</think>Hello</think>", "a", "Hello"),
        ("Use `<think>` and `</think>` for it", "", "Use `<think>` and `</think>` for it"),
        ("```\n<think>\nx\n</think>\n```\nThat is it", "", "```\n<think>\nx\n</think>\n```\nThat is it"),
        ('The tag "<think>" opens it', "", 'The tag "<think>" opens it'),
        ("The tag <think> opens it", "", "The tag <think> opens it"),
        ("1 < 2 and <b>bold</b> [1]", "", "1 < 2 and <b>bold</b> [1]"),
    ],
)
@given(sizes=st.lists(st.integers(1, 5), max_size=30))
def test_thinking_is_separated_in_any_pieces(written: str, thinking: str, answer: str, sizes: list[int]) -> None:
    done = split_in_pieces(written, sizes)
    assert (done.thinking, done.text.lstrip("\n")) == (thinking, answer.lstrip("\n"))


@given(st.text(alphabet="abc <>/thinkTHINK`\n[]◁▷", max_size=60), st.lists(st.integers(1, 4), max_size=30))
def test_thinking_split_does_not_depend_on_the_pieces(text: str, sizes: list[int]) -> None:
    whole, cut = split_in_pieces(text, []), split_in_pieces(text, sizes)
    assert (whole.text, whole.thinking) == (cut.text, cut.thinking)


FORMS = {
    "bare": OBJECT,
    "fenced": f"```json\n{OBJECT}\n```",
    "list": f"[{OBJECT}]",
    "parameters": OBJECT.replace("arguments", "parameters"),
    "hermes": f"<tool_call>\n{OBJECT}\n</tool_call>",
    "hermes without end": f"<tool_call>{OBJECT}",
    "mistral": f"[TOOL_CALLS][{OBJECT}]",
    "mistral object": f"[TOOL_CALLS] {OBJECT}",
    "mistral with args": '[TOOL_CALLS]weather[ARGS]{"city": "Kyiv", "days": 2}',
    "llama": f"<|python_tag|>{OBJECT.replace('arguments', 'parameters')}<|eom_id|>",
    "function tag": '<function=weather>{"city": "Kyiv", "days": 2}</function>',
    "qwen coder": """<tool_call>
<function=weather>
<parameter=city>
Kyiv
</parameter>
<parameter=days>
2
</parameter>
</function>
</tool_call>""",
    "minimax": """<minimax:tool_call><invoke name="weather"><parameter name="city">Kyiv</parameter>
<parameter name="days">2</parameter></invoke></minimax:tool_call>""",
    "glm": """<tool_call>weather
<arg_key>city</arg_key>
<arg_value>Kyiv</arg_value>
<arg_key>days</arg_key>
<arg_value>2</arg_value>
</tool_call>""",
    "deepseek": """<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather
```json
{"city": "Kyiv", "days": 2}
```<｜tool▁call▁end｜><｜tool▁calls▁end｜>""",
    "kimi": """<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>
{"city": "Kyiv", "days": 2}<|tool_call_end|><|tool_calls_section_end|>""",
    "functools": 'functools[{"name": "weather", "arguments": {"city": "Kyiv", "days": 2}}]',
    "python": '[weather(city="Kyiv", days=2)]',
    "gemma": '```tool_code\nprint(weather(city="Kyiv", days=2))\n```',
    "openai": json.dumps({"type": "function", "function": {"name": "weather", "arguments": json.dumps(KYIV[1])}}),
}


@pytest.mark.parametrize("form", FORMS)
def test_written_call_is_read_in_every_form(form: str) -> None:
    assert read_written_calls(FORMS[form], TOOLS) == ("", [KYIV])


def test_written_call_keeps_the_text_around_it() -> None:
    call = f"<tool_call>{OBJECT}</tool_call>"
    text, calls = read_written_calls(f"Let me look.\n{call}\n{call}", TOOLS)
    assert (text, calls) == ("Let me look.", [KYIV, KYIV])


def test_written_call_of_an_unknown_tool_is_dropped() -> None:
    written = '<tool_call>{"name": "format_disk", "arguments": {}}</tool_call>Done.'
    assert read_written_calls(written, TOOLS) == ("Done.", [])


@pytest.mark.parametrize(
    "text",
    [
        f"You could write this:\n\n{OBJECT}",
        f"Write `<tool_call>{OBJECT}</tool_call>` to call it",
        f"```\n<tool_call>{OBJECT}</tool_call>\n```\nis how models call tools.",
        "<tool_call> is the tag that models use.",
        '{"name": "Olena", "arguments": "none"}',
        '{"name": "delete_everything", "arguments": {}}',
        "[1, 2, 3]",
        "weather(city=Kyiv) is no call",
    ],
)
def test_text_about_calls_stays_text(text: str) -> None:
    assert read_written_calls(text, TOOLS) == (text, [])


@given(st.text(max_size=200))
def test_written_calls_of_any_text_raise_nothing(text: str) -> None:
    for form in (text, f"<tool_call>{text}", f"[TOOL_CALLS]{text}", f"<function={text}", f"<|python_tag|>{text}"):
        read_written_calls(form, TOOLS)


def test_written_call_is_hidden_while_it_streams() -> None:
    builder = AnswerBuilder("m")
    shown = []
    for char in f"I look. <tool_call>{OBJECT}</tool_call>":
        builder.add_text(char)
        shown.append(builder.visible)
    assert max(shown, key=len) in ("I look. <tool_call", "I look.")
    builder.finish_reason = "stop"
    answer = builder.build([ToolSpec("weather", "", json.dumps(SCHEMA))])
    assert answer.text == "I look."
    assert [call.name for call in answer.tool_calls] == ["weather"]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SCHEMAS = st.recursive(
    st.fixed_dictionaries({"type": st.sampled_from(["string", "array", "object", "integer", ["array", "null"]])})
    | st.booleans(),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array"]),
            "properties": st.dictionaries(st.text("ab", min_size=1, max_size=2), inner, max_size=3),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "prefixItems": st.lists(inner, max_size=2),
            "required": st.lists(st.text("abc", min_size=1, max_size=2), max_size=2),
        },
    ),
    max_leaves=6,
)


@example({"prefixItems": [{"type": "array", "prefixItems": [False]}]})
@given(SCHEMAS)
def test_repaired_schema_is_accepted_and_repair_is_idempotent(schema: object) -> None:
    made = repair_schema(schema)
    assert find_gemini_dislike(made, "parameters") is None
    assert made["type"] == "object"
    assert set(made.get("required", ())) <= made["properties"].keys()
    assert repair_schema(made) == made


@given(JSON_VALUES)
def test_repair_accepts_any_json(value: object) -> None:
    repair_schema(value)


def test_repair_leaves_valid_schemas_unchanged() -> None:
    assert repair_schema(SCHEMA) == SCHEMA
