"""Tests of parsing a model's answer to a consolidation, tier by tier."""

from __future__ import annotations

import json
import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.consolidation.consolidation_answer import (
    MAX_FACT_CHARS,
    MAX_FACTS,
    MAX_HISTORY_ENTRY_CHARS,
    MAX_SUBJECT_CHARS,
    ConsolidationAnswer,
    parse_answer,
)
from memory.facts.fact import Fact
from memory.messages import Completion
from memory.store.entry import Kind

PLAIN = '{"history_entry": "They met.", "memory_update": "- Ann likes tea"}'
MET = ConsolidationAnswer("They met.", "- Ann likes tea")


def answer(**fields: object) -> str:
    return json.dumps({"history_entry": "They met.", "memory_update": None} | fields)


def parse_facts(*facts: object) -> tuple[Fact, ...]:
    parsed = parse_answer(Completion(answer(facts=list(facts))))
    assert parsed is not None
    return parsed.facts


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"\n  {PLAIN}\n",
        f"```json\n{PLAIN}\n```",
        f"```\n{PLAIN}\n```\n",
        f"  ```JSON \n\n{PLAIN}```  ",
    ],
)
def test_object_as_whole_text_is_read_with_or_without_fences(text: str) -> None:
    assert parse_answer(Completion(text)) == MET


@pytest.mark.parametrize(
    "text",
    [
        f"Here it is: {PLAIN} I hope that helps.",
        f"Sure!\n```json\n{PLAIN}\n```\nAnything else?",
        f"{PLAIN} {PLAIN.replace('They met', 'They never met')}",
        f"{PLAIN}}}}}",
        f"<think>an object like {{this}} or {{}}</think>{PLAIN}",
    ],
)
def test_first_usable_object_is_found_among_other_words(text: str) -> None:
    assert parse_answer(Completion(text)) == MET


def test_braces_quotes_and_backslashes_in_strings_are_not_counted() -> None:
    entry = 'He wrote "}{" and C:\\dir\\ and a brace } at the end \\'
    text = f"Well: {answer(history_entry=entry)} so."
    assert parse_answer(Completion(text)) == ConsolidationAnswer(entry, None)


def test_line_breaks_in_strings_are_accepted() -> None:
    text = '{"history_entry": "They\nmet.", "memory_update": "- one\n- two"}'
    assert parse_answer(Completion(text)) == ConsolidationAnswer("They\nmet.", "- one\n- two")


def test_fields_of_a_cut_off_answer_are_read() -> None:
    text = '```json\n{"history_entry": "They \\"met\\".", "memory_update": "- Ann", "facts": [{"subject": "n'
    assert parse_answer(Completion(text, is_whole=False)) == ConsolidationAnswer('They "met".', "- Ann", is_whole=False)


def test_cut_off_update_is_ignored() -> None:
    assert parse_answer(Completion('{"history_entry": "They met.", "memory_update": "- Ann li')) == ConsolidationAnswer(
        "They met.", None, is_whole=False
    )


FACT = '{"subject": "home", "fact": "The user lives in Lviv."}'
LIVES = Fact("home", "The user lives in Lviv.", Kind.FACT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"history_entry": "They met.", "memory_update": "- Ann likes tea",}', MET),
        ('Sure: {"history_entry": "They met."\n "memory_update": "- Ann likes tea",\n} done', MET),
        ('{"result": {"history_entry": "They met.", "memory_update": "- Ann likes tea",}}', MET),
        (
            f'{{"history_entry": "They met.", "facts": [{FACT},], "memory_update": "- Ann likes tea",}}',
            ConsolidationAnswer("They met.", "- Ann likes tea", (LIVES,)),
        ),
        (
            '{"history_entry": "They met.", "facts": ["The user lives in Lviv.",], "memory_update": null,}',
            ConsolidationAnswer("They met.", None, (Fact("The user lives in", "The user lives in Lviv.", Kind.FACT),)),
        ),
        ("{history_entry: 'They met.', memory_update: '- Ann likes tea'}", MET),
    ],
)
def test_broken_object_loses_no_field(text: str, expected: ConsolidationAnswer) -> None:
    assert parse_answer(Completion(text)) == expected


def test_text_with_unescaped_quotation_marks_is_not_cut() -> None:
    text = '{"history_entry": "They met.", "memory_update": "- Ann said "yes" to tea\n- Ben", "facts": []}'
    assert parse_answer(Completion(text)) == ConsolidationAnswer("They met.", '- Ann said "yes" to tea\n- Ben')
    text = '{"history_entry": "Ann said "yes" to tea.", "memory_update": "- Ann likes tea"}'
    parsed = parse_answer(Completion(text))
    assert parsed is not None
    assert parsed.memory_update == "- Ann likes tea"
    assert (parsed.history_entry or "").startswith("Ann said")
    assert (parsed.history_entry or "").endswith("to tea.")


def test_cut_off_list_keeps_its_whole_items() -> None:
    text = f'{{"history_entry": "They met.", "facts": [{FACT}, {{"subject": "job", "fa'
    assert parse_answer(Completion(text, is_whole=False)) == ConsolidationAnswer(
        "They met.", None, (LIVES,), is_whole=False
    )


def test_entry_of_wrong_type_is_none_and_others_are_read() -> None:
    text = '{"history_entry": 7, "memory_update": ["x"]}'
    assert parse_answer(Completion(text)) == ConsolidationAnswer(None, "x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I can't do that.",
        "[]",
        "null",
        "{}",
        answer(history_entry=""),
        answer(history_entry=" \n"),
        answer(history_entry=12),
        answer(history_entry=None),
        answer(history_entry=["They met."]),
        answer(memory_update={"a": 1}).replace("They met.", ""),
        "{" * 5000,
        "[" * 200_000,
        '{"a":' * 100_000,
    ],
)
def test_text_without_usable_answer_is_none(text: str) -> None:
    assert parse_answer(Completion(text)) is None


@pytest.mark.parametrize("update", [12, {"a": 1}, [1, 2], ["- Ann", None], True])
def test_update_of_wrong_type_is_ignored(update: object) -> None:
    parsed = parse_answer(Completion(answer(memory_update=update)))
    # Another tier may still find the history entry.
    assert parsed is None or parsed.memory_update is None


def test_repeated_placeholder_is_ignored() -> None:
    assert parse_answer(Completion(answer(history_entry="<one to four sentences>"))) is None
    parsed = parse_answer(Completion(answer(memory_update="<the current memory>")))
    assert parsed is None or parsed.memory_update is None


def test_update_as_a_list_of_lines_is_joined() -> None:
    assert parse_answer(Completion(answer(memory_update=["- Ann", "- Ben"]))) == ConsolidationAnswer(
        "They met.", "- Ann\n- Ben"
    )


def test_entry_over_the_limit_is_cut() -> None:
    parsed = parse_answer(Completion(answer(history_entry="x" * 50_000)))
    assert parsed is not None
    assert len(parsed.history_entry or "") == MAX_HISTORY_ENTRY_CHARS


def test_facts_are_read_with_kind_and_day() -> None:
    assert parse_facts(
        {"subject": "home city", "fact": "The user lives in Lviv.", "kind": "fact", "since": "2026-02-01"},
        {"subject": "coffee", "fact": "The user drinks no coffee.", "kind": "preference", "since": None},
        {"subject": "editor", "fact": "The user writes in Vim.", "kind": "archive", "since": "yesterday"},
    ) == (
        Fact("home city", "The user lives in Lviv.", Kind.FACT, date(2026, 2, 1)),
        Fact("coffee", "The user drinks no coffee.", Kind.PREFERENCE),
        Fact("editor", "The user writes in Vim.", Kind.FACT),
    )


def test_facts_over_the_limit_of_twelve_are_dropped() -> None:
    many = [{"subject": f"thing {n}", "fact": f"The user owns thing {n}."} for n in range(40)]
    assert [fact.subject for fact in parse_facts(*many)] == [f"thing {n}" for n in range(MAX_FACTS)]


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"subject": "name"},
        {"subject": "name", "fact": ""},
        {"subject": "name", "fact": ["Ann"]},
    ],
)
def test_fact_of_wrong_shape_is_skipped_and_others_stay(wrong: object) -> None:
    good = {"subject": "name", "fact": "The user is Ann.", "kind": ["fact"], "since": 2026}
    assert parse_facts(wrong, good) == (Fact("name", "The user is Ann.", Kind.FACT),)


def test_fact_of_one_word_is_shown_with_its_subject() -> None:
    assert parse_facts({"subject": "home city", "fact": "Kyiv"})[0].text == "home city: Kyiv"


def test_facts_over_the_length_limit_are_cut() -> None:
    fact = parse_facts({"subject": "s" * 1000, "fact": "a long tale " * 1000})[0]
    assert (len(fact.subject), len(fact.text)) == (MAX_SUBJECT_CHARS, MAX_FACT_CHARS)


def test_lone_surrogates_are_replaced() -> None:
    text = (
        '{"history_entry": "Hi \\ud83d", "memory_update": "- \\ude00 Ann",'
        ' "facts": [{"subject": "mood \\ud83d", "fact": "The user is \\ud83d glad."}]}'
    )
    parsed = parse_answer(Completion(text))
    assert parsed is not None
    for said in (parsed.history_entry, parsed.memory_update, parsed.facts[0].subject, parsed.facts[0].text):
        assert said is not None
        assert said.encode()


def test_huge_answer_of_blanks_is_read_quickly() -> None:
    began = time.perf_counter()
    assert parse_answer(Completion("```json\n" + "\n " * 100_000 + "x")) is None
    assert time.perf_counter() - began < 2


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
NEARLY_RIGHT = st.fixed_dictionaries(
    {
        "history_entry": JSON_VALUES | st.text(),
        "memory_update": JSON_VALUES | st.text(),
        "facts": st.lists(
            st.fixed_dictionaries({"subject": JSON_VALUES, "fact": JSON_VALUES, "kind": JSON_VALUES}) | JSON_VALUES
        ),
    }
).map(json.dumps)
PIECES = st.lists(
    st.sampled_from(["{", "}", '"', "\\", "history_entry", '"history_entry": "a"', ":", ",", "```", "\n"])
)


@given(
    st.text()
    | NEARLY_RIGHT
    | st.tuples(st.text(max_size=5), NEARLY_RIGHT, st.integers(0, 200)).map(lambda t: (t[0] + t[1])[: -t[2] or None])
    | PIECES.map("".join)
)
def test_any_text_gives_none_or_a_checked_answer(text: str) -> None:
    parsed = parse_answer(Completion(text))
    if parsed is None:
        return
    history = parsed.history_entry or ""
    assert len(history) <= MAX_HISTORY_ENTRY_CHARS
    assert (history + (parsed.memory_update or "")).encode() is not None
    assert len(parsed.facts) <= MAX_FACTS
    for fact in parsed.facts:
        assert fact.subject.strip()
        assert fact.text.strip()
        assert len(fact.text.encode()) <= 4 * MAX_FACT_CHARS


@pytest.mark.parametrize(
    "text",
    [
        '"history_entry": "They met.", "facts": [], "memory_update": null',
        "history_entry: They met.\nmemory_update: null",
        "**history_entry**: They met.\nfacts: none",
    ],
)
def test_parse_answer_without_braces_reads_the_fields(text: str) -> None:
    assert parse_answer(Completion(text)) == ConsolidationAnswer("They met.", None)


def test_parse_answer_without_braces_reads_facts() -> None:
    text = 'history_entry: They met.\nfacts: [{"subject": "home", "fact": "The user lives in Kyiv."}]\n'
    answer = parse_answer(Completion(text))
    assert answer is not None
    assert [fact.text for fact in answer.facts] == ["The user lives in Kyiv."]
