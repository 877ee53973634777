"""Which sentences of a message are looked up by themselves."""

from __future__ import annotations

import pytest

from memory.search.questions import MOST, asked_in


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("It rains. When did Ann move to Leeds? Bye for now.", ["When did Ann move to Leeds?"]),
        ("Es regnet. Wann war mein Termin. Ich gehe los.", ["Wann war mein Termin."]),
        ("J'ai froid. Où est ma voiture ? Il pleut.", ["Où est ma voiture ?"]),
        ("Llueve. ¿Cuándo toca mi hija el piano? Me voy.", ["¿Cuándo toca mi hija el piano?"]),
        ("Пришёл домой поздно. Когда мой поезд. Дождь идёт.", ["Когда мой поезд."]),
        ("Іде дощ. Нагадай, де спить моя кішка. Я вдома.", ["Нагадай, де спить моя кішка."]),
        ("今天下雨了。我的办公室在哪里？我累了。", ["我的办公室在哪里？"]),
        ("It rains. I forgot where Ann lives. Bye for now.", ["I forgot where Ann lives."]),
        ("It rains. Tell me what Ann said about dogs. Bye for now.", ["Tell me what Ann said about dogs."]),
        ("By the way: who painted the fence", ["who painted the fence"]),
        ("Who keeps Rex? It rains. Who keeps Tom?", ["Who keeps Rex?", "Who keeps Tom?"]),
    ],
)
def test_a_sentence_that_asks_or_refers_back_is_cut_out(message: str, asked: list[str]) -> None:
    assert asked_in(message) == asked


@pytest.mark.parametrize(
    "message",
    [
        "When did Ann move to Leeds?",
        "When Ann moved, who helped her?",
        "In May, who helped Ann?",
        "When did Dr. Smith call?",
        "who painted the fence",
        "It rains. I walked home.",
        "What a week!",
        "The film was long, which was boring. I left.",
        "Thanks! How are you?",
        "",
    ],
)
def test_a_message_that_asks_as_a_whole_or_nothing_is_left_as_it_is(message: str) -> None:
    assert asked_in(message) == []


def test_of_many_questions_those_at_the_beginning_and_the_end_are_taken() -> None:
    questions = [f"Who keeps dog {number}?" for number in range(1, 101)]
    assert asked_in(" ".join(questions)) == [*questions[: MOST // 2], *questions[-MOST // 2 :]]
