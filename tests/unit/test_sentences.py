"""Tests of word classes, sentences, requests in sentences, and values in sentences."""

from __future__ import annotations

import pytest

from memory.text.classes import WORD_CLASSES
from memory.text.phrases import asks_for_reminder
from memory.text.sentences import remove_remember_request, split_sentences
from memory.text.values import differ_in_value, insert_value


def test_word_classes_have_unique_names() -> None:
    names = [line.split()[0] for line in WORD_CLASSES.read_text(encoding="utf-8").splitlines()]
    assert len(names) == len(set(names))


def test_sentences_are_split_without_code_and_quotations() -> None:
    text = 'I live in Cork. Dr. Ann said "Move. Now."\n```\nmy = 1\n```\n> quoted\nOn 4. March I left!'
    assert [typed for typed, _ in split_sentences(text)] == [
        "I live in Cork.",
        'Dr. Ann said "Move. Now."',
        "On 4. March I left!",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Remember that my dog is Rex", "my dog is Rex"),
        ("ok, please remember: my dog is Rex, thanks", "my dog is Rex"),
        ("Merk dir, dass mein Hund Rex heißt", "mein Hund Rex heißt"),
        ("请记住我喜欢绿茶", "我喜欢绿茶"),
        ("Remember that my dog is Rex. What do dogs eat?", "my dog is Rex."),
        ("Do you remember my dog?", "Do you remember my dog?"),
        ("Remember my dog?", "Remember my dog?"),
        ("My dog is Rex", "My dog is Rex"),
        ("Remember that", "Remember that"),
        ("", ""),
    ],
)
def test_request_to_remember_is_removed_from_its_words(text: str, words: str) -> None:
    assert remove_remember_request(text) == words


@pytest.mark.parametrize("text", ["Remind me of the oven", "и напомни мне про печь", "rappelle-moi d’acheter du pain"])
def test_request_for_a_reminder_is_recognized(text: str) -> None:
    assert asks_for_reminder(text)
    assert not asks_for_reminder("I bought a new oven")


@pytest.mark.parametrize(
    ("former", "correction", "text"),
    [
        ("My exam is on 12 March", "15 March", "My exam is on 15 March"),
        ("My sister is called Anna", "she is called Hanna", "My sister is called Hanna"),
        ("Meine Prüfung ist am 12. März", "am 15. März", "Meine Prüfung ist am 15. März"),
        ("Мою сестру звати Анна", "її звати Ганна", "Мою сестру звати Ганна"),
        ("My brother Ivan lives in Kyiv", "Lviv", None),
        ("I like tea", "coffee", None),
    ],
)
def test_corrected_value_replaces_the_only_one_of_its_kind(former: str, correction: str, text: str | None) -> None:
    assert insert_value(former, correction) == text


def test_rules_that_differ_in_a_value_contradict_each_other() -> None:
    assert differ_in_value("Always answer in German", "always answer in English.")
    assert differ_in_value("Use at most 3 sentences", "Use at most 5 sentences")
    assert not differ_in_value("Always answer in German", "Always answer in one sentence")
    assert not differ_in_value("Never use emojis", "Never use tables")
