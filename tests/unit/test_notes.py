"""Tests of daily notes and of the memory section of the prompt."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.files.notes import Memory, format_daily_note, format_exchange_notes, remove_visible
from memory.messages import Message
from tests.support.talk import NOON, assistant, calls, result, user

ZONE = ZoneInfo("UTC")
FRIDAY, THURSDAY = date(2026, 2, 6), date(2026, 2, 5)


def test_memory_context_has_three_parts_in_order() -> None:
    memory = Memory(
        long_term="Olena drinks green tea.\nShe lives in Lviv.\n",
        today="[09:10] User: Good morning | Assistant: Good morning!\n[09:12] User: Any news? | Assistant: None.\n",
        recent=(
            (FRIDAY, "[18:00] User: Book a table | Assistant: Where?\n[18:01] User: At Anna's | Assistant: Done.\n"),
            (THURSDAY, "[07:30] User: Wake me | Assistant: At what time?\n"),
        ),
    )
    assert memory.to_context() == (
        "## Long-term Memory\n"
        "Olena drinks green tea.\n"
        "She lives in Lviv.\n"
        "\n"
        "## Recent Context\n"
        "### 2026-02-06\n"
        "[18:00] User: Book a table | Assistant: Where?\n"
        "[18:01] User: At Anna's | Assistant: Done.\n"
        "\n"
        "### 2026-02-05\n"
        "[07:30] User: Wake me | Assistant: At what time?\n"
        "\n"
        "## Today's Notes\n"
        "[09:10] User: Good morning | Assistant: Good morning!\n"
        "[09:12] User: Any news? | Assistant: None."
    )


@pytest.mark.parametrize(
    ("memory", "context"),
    [
        (Memory("", "", ()), ""),
        (Memory(" \n", "\n\n", ((FRIDAY, " \n"),)), ""),
        (Memory("tea", "", ()), "## Long-term Memory\ntea"),
        (Memory("", "note", ()), "## Today's Notes\nnote"),
        (Memory("", "", ((FRIDAY, ""), (THURSDAY, "note"))), "## Recent Context\n### 2026-02-05\nnote"),
        (Memory("tea", "", ((FRIDAY, "note"),)), "## Long-term Memory\ntea\n\n## Recent Context\n### 2026-02-06\nnote"),
    ],
)
def test_memory_context_leaves_out_empty_parts(memory: Memory, context: str) -> None:
    assert memory.to_context() == context


def test_note_holds_200_characters_of_question_and_300_of_answer() -> None:
    bounded = f"[12:00] User: {'q' * 200} | Assistant: {'a' * 300}"
    assert format_daily_note(NOON, "q" * 201, "a" * 301) == bounded
    assert format_daily_note(NOON, "q" * 200, "a" * 300) == bounded


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\n\n"])
def test_note_replaces_each_line_break_with_one_space(line_break: str) -> None:
    note = format_daily_note(NOON, f"one{line_break}two", f"three {line_break} four{line_break}")
    assert note == "[12:00] User: one two | Assistant: three four"


@given(st.text(max_size=400), st.text(max_size=400))
def test_note_is_one_storable_line_of_bounded_length(asked: str, answered: str) -> None:
    note = format_daily_note(NOON, asked, answered)
    assert len(note.splitlines()) == 1
    assert len(note) <= len("[12:00] User:  | Assistant: ") + 500
    assert note.encode().decode() == note


def test_note_of_a_huge_blank_message_is_written_quickly() -> None:
    note = format_daily_note(NOON, "x" + " " * 1_000_000 + "y", "\n" * 1_000_000)
    assert note == "[12:00] User: x | Assistant: "


def test_exchange_is_noted_from_question_and_final_answer() -> None:
    log = [user("Note this"), calls("1"), result("1"), assistant("Noted.")]
    assert format_exchange_notes(log, ZONE) == ["[12:00] User: Note this | Assistant: Noted."]


def test_merged_messages_are_noted_as_one_question() -> None:
    assert format_exchange_notes([user("Hello"), user("Are you there?"), assistant("Yes")], ZONE) == [
        "[12:00] User: Hello Are you there? | Assistant: Yes"
    ]


@pytest.mark.parametrize("log", [[], [user("Hello")], [assistant("Hi")], [user("Hello"), calls("1"), result("1")]])
def test_turn_without_question_or_final_answer_is_not_noted(log: list[Message]) -> None:
    assert format_exchange_notes(log, ZONE) == []


def test_failed_question_is_not_paired_with_the_next_answer() -> None:
    log = [user("Lost", turn=1), user("Found", turn=2), assistant("Here", turn=2), user("Open", turn=3)]
    assert format_exchange_notes(log, ZONE) == ["[12:00] User: Found | Assistant: Here"]


def test_note_shows_the_time_in_the_zone_of_the_chat() -> None:
    late = datetime(2026, 2, 7, 22, 59, tzinfo=UTC)
    assert format_exchange_notes([user("Hi"), assistant("Hi", late)], ZoneInfo("Europe/Kyiv"))[0].startswith("[00:59]")


def create_exchange(text: str, at: datetime = NOON, turn: int = 1) -> list[Message]:
    return [user(text, at, turn), assistant("Yes", at, turn)]


def format_line(text: str, time: str = "12:00") -> str:
    return f"[{time}] User: {text} | Assistant: Yes"


def test_notes_omit_exchanges_visible_in_the_conversation() -> None:
    memory = Memory("tea", f"{format_line('one')}\n{format_line('two')}\n", ((FRIDAY, format_line("three")),))
    shown = remove_visible(memory, create_exchange("two"), ZONE)
    assert shown == Memory("tea", format_line("one"), ((FRIDAY, format_line("three")),))


def test_notes_omit_as_many_equal_exchanges_as_are_visible() -> None:
    memory = Memory("", "\n".join([format_line("ping")] * 3), ())
    visible = [*create_exchange("ping", turn=1), *create_exchange("ping", turn=2)]
    assert remove_visible(memory, visible, ZONE).today == format_line("ping")


def test_handwritten_lines_in_a_note_stay() -> None:
    memory = Memory("", f"# Saturday\n\n{format_line('one')}\nremember the milk\n", ())
    assert remove_visible(memory, create_exchange("one"), ZONE).today == "# Saturday\n\nremember the milk"


def test_exchange_before_midnight_in_another_zone_matches_its_days_note() -> None:
    kyiv = ZoneInfo("Europe/Kyiv")
    before, after = datetime(2026, 2, 6, 21, 59, tzinfo=UTC), datetime(2026, 2, 6, 22, 0, tzinfo=UTC)
    memory = Memory("", format_line("late", "00:00"), ((FRIDAY, format_line("late", "23:59")),))
    visible = [*create_exchange("late", before, 1), *create_exchange("late", after, 2)]
    shown = remove_visible(memory, visible, kyiv)
    assert shown.to_context() == ""


def test_equal_exchange_of_another_day_is_not_omitted() -> None:
    friday_noon = NOON.replace(day=6)
    memory = Memory(
        "",
        format_line("good morning"),
        ((FRIDAY, format_line("good morning")), (THURSDAY, format_line("good morning"))),
    )
    shown = remove_visible(memory, create_exchange("good morning", friday_noon), ZONE)
    assert shown == Memory("", format_line("good morning"), ((FRIDAY, ""), (THURSDAY, format_line("good morning"))))
