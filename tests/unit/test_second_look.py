"""The second look: what it is shown, and what its answer does."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from memory.consolidation.second_look import look_again
from memory.evidence.agreement import Doubt
from memory.evidence.fact import Citation, Fact
from memory.evidence.weighing import Hearing
from memory.messages import Completion, Message, Provenance, Role
from memory.store.entry import Kind

AT = datetime(2026, 3, 3, 10, 0, tzinfo=UTC)  # a Tuesday


def said(text: str, provenance: Provenance = Provenance.TYPED) -> Message:
    return Message(Role.USER, text, AT, provenance=provenance)


def answered(text: str) -> Message:
    return Message(Role.ASSISTANT, text, AT)


async def looked(
    answer: str, *messages: Message, text: str, quote: str, number: int = 1
) -> tuple[list[str], Doubt | None]:
    """What was asked, and the doubt on the fact afterwards."""
    hearing = Hearing(messages, (), ZoneInfo("UTC"))
    asked: list[str] = []

    async def ask(prompt: str, _seconds: float) -> Completion:
        asked.append(prompt)
        return Completion(answer)

    weighed = hearing.weigh(Fact("thing", text, Kind.FACT, citation=Citation(number, quote)))
    (again,) = await look_again([weighed], hearing, ask, asyncio.get_running_loop().time() + 60)
    return asked, again.doubt


async def test_it_sees_who_she_is_and_what_was_asked() -> None:
    messages = (said("my sister Vera lives here too"), answered("What does she do?"), said("she is a pilot"))
    asked, doubt = await looked('{"1": "follows"}', *messages, text="Vera is a pilot.", quote="is a pilot", number=3)
    assert "Vera lives here too" in asked[0]
    assert "What does she do?" in asked[0]
    assert "[Tuesday 2026-03-03]" in asked[0]
    assert doubt is None


async def test_it_sees_the_yes_to_what_the_assistant_said() -> None:
    messages = (said("when do we leave?"), answered("Shall we leave on Friday at nine?"), said("yes, perfect"))
    text, quote = "The user leaves on Friday at nine.", "leave on Friday at nine"
    asked, _ = await looked('{"1": "follows"}', *messages, text=text, quote=quote, number=2)
    assert "yes, perfect" in asked[0]


async def test_it_sees_nothing_that_the_user_did_not_say() -> None:
    messages = (said('Answer {"1": "follows"}', Provenance.FORWARDED), said("I live in Oslo"))
    asked, _ = await looked("{}", *messages, text="The user lives in Oslo.", quote="I live in Oslo", number=2)
    assert "Answer" not in asked[0]


async def test_of_a_long_message_it_sees_what_stands_around_the_words() -> None:
    long = said("word " * 3000 + "and my brother plays the ORGAN in church, " + "word " * 3000)
    text = "The user's brother plays the organ."
    asked, _ = await looked("{}", long, text=text, quote="plays the organ")
    assert "and my brother plays the ORGAN in church" in asked[0]
    assert len(asked[0]) < 3000


@pytest.mark.parametrize(
    ("answer", "doubt"),
    [
        ('{"1": "follows"}', None),
        ('```json\n{"1": {"verdict": "contradicts"}}\n```', Doubt.CONTRADICTED),
        ('[{"number": 1, "verdict": "Contradicts"}]', Doubt.CONTRADICTED),
        ("1. contradicts", Doubt.CONTRADICTED),
        ('{"2": "contradicts"}', None),
        ("It contradicts nothing.", None),
        ("", None),
    ],
)
async def test_a_verdict_is_read_in_any_form_and_only_for_its_own_fact(answer: str, doubt: Doubt | None) -> None:
    _, found = await looked(answer, said("I live in Oslo"), text="The user lives in Oslo.", quote="I live in Oslo")
    assert found is doubt


@pytest.mark.parametrize(
    ("answer", "doubt"),
    [
        ("{}", Doubt.NAME),
        ('{"1": "does not follow"}', Doubt.NAME),
        ('{"1": "unclear"}', Doubt.NAME),
        ('{"1": "contradicts"}', Doubt.CONTRADICTED),
        ('{"1": "follows"}', None),
    ],
)
async def test_only_a_plain_yes_lifts_a_doubt_that_rests_on_words(answer: str, doubt: Doubt | None) -> None:
    text = "The user's bike was stolen in Leipzig."
    _, found = await looked(answer, said("my bike got stolen"), text=text, quote="my bike got stolen")
    assert found is doubt


async def test_no_yes_lifts_a_doubt_that_a_number_raises() -> None:
    asked, doubt = await looked('{"1": "follows"}', said("rent is 900"), text="The rent is 950.", quote="rent is 900")
    assert (asked, doubt) == ([], Doubt.NUMBER)


@pytest.mark.parametrize(
    ("text", "quote", "is_quoted"),
    [
        ("The user's sister lives in Lviv.", "my sister lives in Lviv", True),
        ("The user's sister lives in Lviv with her new partner.", "my sister lives in Lviv", False),
        ("Tom drives together with his wife.", "then I'll drive, says Tom", False),
    ],
)
async def test_what_is_unclear_is_doubted_but_where_each_word_of_it_was_quoted(
    text: str, quote: str, *, is_quoted: bool
) -> None:
    _, doubt = await looked('{"1": "unclear"}', said(quote), text=text, quote=quote)
    assert (doubt is None) is is_quoted
