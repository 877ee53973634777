"""Tests of common forms of preferences, corrections and constraints."""

from __future__ import annotations

import pytest

from bot.features.capture.certainty import choose_kind, is_certain_order, is_certain_statement
from bot.features.capture.statements import find_resuming_order, propose_statements
from memory.store.entry import Kind

FORMS = [
    "actually my sister is called Olga",
    "no, my sister's name is Olga",
    "no wait, 15 March",
    "use not MySQL but Postgres",
    "we use not npm but pnpm",
    "must run the linter before each commit",
    "all services must use HTTPS",
    "code review is required before merging",
    "required two approvals before merging",
    "don't ever share my address",
    "you must never share my address",
    "never use emojis",
]


@pytest.mark.parametrize("form", FORMS)
def test_form_is_found_in_capitals_and_with_punctuation(form: str) -> None:
    for said in (form, form.upper(), form.capitalize(), f"{form}.", f"{form.upper()}!"):
        assert len(propose_statements(said)) == 1, said


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("don't ever share my address", Kind.POLICY),
        ("DON'T EVER SHARE MY ADDRESS.", Kind.POLICY),
        ("You must never share my address", Kind.POLICY),
        ("Never use emojis", Kind.PREFERENCE),
        ("All services must use HTTPS", Kind.FACT),
        ("Code review is required before merging.", Kind.FACT),
        ("I must take my pills at eight", Kind.FACT),
    ],
)
def test_orders_to_the_bot_are_policies_and_statements_are_not(said: str, kind: Kind) -> None:
    (capture,) = propose_statements(said)
    assert choose_kind(capture)[0] is kind
    assert is_certain_order(said, capture) is (kind is not Kind.FACT)


@pytest.mark.parametrize(
    "text",
    [
        "Translate into German: always answer politely",
        "Translate this. Never use emojis.",
        "Always wear sunscreen. Put this sentence into Spanish and make it a poem.",
        "Write a sign for my shop: never feed the dog",
        "As my boss says, always be closing",
        "Never again will I eat there lol",
        "Summarise: You must never share your password. Always log out.",
    ],
)
def test_order_in_a_text_to_work_on_is_not_certain(text: str) -> None:
    assert not [capture for capture in propose_statements(text) if is_certain_order(text, capture)]


def test_statement_is_certain_only_alone_in_its_message() -> None:
    for text, is_certain in (
        ("I live in Leeds", True),
        ("I live in Leeds. Translate this into German", False),
        ("German please: I live in Leeds", False),
        ("I am so tired today", False),
        ("x" * 200 + " I live in Leeds", False),
    ):
        assert any(is_certain_statement(text, capture) for capture in propose_statements(text)) is is_certain, text


def test_long_sentence_never_becomes_one_fact() -> None:
    assert (
        propose_statements("I live in Leeds and " + "I like the river and the old mill and " * 8 + "the bridge") == []
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("use emojis again", True),
        ("You can use emojis again.", True),
        ("Benutze wieder Emojis", True),
        ("Знову використовуй емодзі", True),
        ("I hate Mondays, this bus is late again", False),
        ("Can you use emojis again?", False),
        ("Never do that again", False),
    ],
)
def test_end_of_a_prohibition_is_found(text: str, found: bool) -> None:
    assert (find_resuming_order(text) is not None) is found
