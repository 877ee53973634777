"""Tests of splitting a message into the questions to search for."""

from __future__ import annotations

import pytest

from memory.search.query_splitting import MAX_PIECES, MAX_QUESTIONS, PIECE_WORDS, find_questions, split_pieces


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
def test_sentence_that_asks_or_refers_back_is_extracted(message: str, asked: list[str]) -> None:
    assert find_questions(message) == asked


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
def test_message_that_asks_as_a_whole_is_not_split(message: str) -> None:
    assert find_questions(message) == []


def test_many_questions_keep_the_first_and_the_last() -> None:
    questions = [f"Who keeps dog {number}?" for number in range(1, 101)]
    assert find_questions(" ".join(questions)) == [*questions[: MAX_QUESTIONS // 2], *questions[-MAX_QUESTIONS // 2 :]]


def test_text_without_punctuation_is_cut_at_a_possible_question() -> None:
    spoken = "the bus broke down again and i walked home so where did ann put the red ladder and then it rained all day"
    assert split_pieces(spoken) == ["where did ann put the red ladder and then it"]


@pytest.mark.parametrize(
    ("spoken", "asked"),
    [
        (
            "l'autobus si è rotto di nuovo e ho camminato fino a casa ti ricordi la scala rossa di anna",
            "scala rossa di anna",
        ),
        (
            "バスがまた壊れて家まで歩いて帰ったらとても疲れたけどアンナの赤いはしごを置いた場所を教えてほしい",
            "アンナの赤いはしご",
        ),
    ],
)
def test_text_in_other_languages_is_cut_into_overlapping_pieces(spoken: str, asked: str) -> None:
    pieces = split_pieces(spoken)
    assert any(asked in piece for piece in pieces)
    assert len(pieces) > 2
    assert all(piece in spoken and len(piece) < 0.7 * len(spoken) for piece in pieces)


def test_long_message_has_few_pieces() -> None:
    pieces = split_pieces(" ".join(f"word{number}" for number in range(1_000)))
    assert len(pieces) == MAX_PIECES
    assert pieces[0].startswith("word0 ")
    assert pieces[-1].endswith("word999")
    assert {len(piece.split()) for piece in pieces} == {PIECE_WORDS}


def test_short_message_has_no_pieces() -> None:
    assert split_pieces("i wonder where did ann put the red ladder") == []
