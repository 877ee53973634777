"""Tests of memory_recall: several queries, time ranges, every mention, pages, surrounding messages."""

from __future__ import annotations

import re

import pytest

from bot.kernel import App
from memory.log.sessions import Session
from memory.messages import Message, Provenance, Role
from memory.store.entry import Kind, NewEntry
from memory.text.tokens import TokenCounter
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.talk import Store, assistant, user
from tests.support.tool_use import OWNER, call_tools


@pytest.fixture
def store(app: App, clock: FakeClock) -> Store:
    """Return the services on the App's database."""
    return Store.create(app.database, clock)


@pytest.fixture
async def session(store: Store) -> Session:
    """Return the session of the console user."""
    from memory.log.sessions import Address

    return await store.sessions.get_or_create(Address("console", "local"))


def recall(**arguments: object) -> tuple[str, object]:
    return "memory_recall", arguments


async def add_trips(store: Store, session: Session, clock: FakeClock, *cities: str) -> None:
    """Add a conversation for each city, one day apart, the first today."""
    for city in cities:
        await store.commit_exchange(session, f"I visited {city} at last", "How was it?")
        await store.commit_exchange(session, "It was lovely and the food was good", "I am glad.")
        await store.sessions.clear_messages(session.id)
        clock.forward(days=1)


async def test_recall_of_several_queries_merges_the_best_of_each(
    person: Person, model: ModelServer, store: Store, session: Session
) -> None:
    await store.commit_exchange(session, "The lighthouse is white", "I see.")
    await store.commit_exchange(session, "My boat is called Kolibri", "A nice name.")
    await store.sessions.clear_messages(session.id)
    (answer,) = await call_tools(
        person, model, recall(queries=["lighthouse colour", "name of the boat", "white lighthouse"])
    )
    lines = answer.splitlines()
    assert "The lighthouse is white" in lines[0]
    assert "Kolibri" in lines[1]
    assert len(lines) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"queries": "lighthouse"},
        {"query": "lighthouse"},
        {"queries": '["lighthouse", ""]'},
        {"queries": ["lighthouse", None], "since": None, "page": "1", "every": "false", "around": None},
        {"query": ["lighthouse"], "kind": ["messages", "Note"], "path": None},
    ],
)
async def test_recall_accepts_the_argument_styles_of_models(
    person: Person, model: ModelServer, store: Store, session: Session, arguments: dict[str, object]
) -> None:
    await store.commit_exchange(session, "The lighthouse is white", "I see.")
    await store.sessions.clear_messages(session.id)
    (answer,) = await call_tools(person, model, ("memory_recall", arguments))
    assert answer == ("- [2026-02-07 12:15, conversation, message 1] User: The lighthouse is white | Assistant: I see.")


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (
            {"queries": "x", "since": "last May"},
            'error: "last May" isn\'t a date: write it as 2026-02-28, 2026-02 or 2026',
        ),
        ({"queries": "x", "until": "2026-02-30"}, 'error: "2026-02-30" isn\'t a date'),
        ({"since": "2026-03", "until": "2026-02"}, "error: the time from 2026-03 until 2026-02 ends before it begins"),
        ({"queries": "x", "date": "2026"}, "error: the arguments are wrong: memory_recall takes no date, only queries"),
        ({"queries": [{"text": "x"}]}, "error: the arguments are wrong: queries.0: Input should be a valid string"),
        ({"queries": ["x"] * 9}, "error: the arguments are wrong: queries: Value should have at most 8 items"),
        ({"around": 99}, "error: there is no message 99"),
        ({"around": "the first"}, "error: the arguments are wrong: around:"),
        ({"around": 10**30}, "error: there is no message 1000000000000000000000000000000"),
        ({"queries": "nowhere", "kind": "thought"}, "nothing found; there is no kind thought, but note, archive"),
        ({"queries": "nowhere", "every": True}, "nothing found"),
        ({"queries": "???", "every": True}, "nothing found"),
        ({"since": "1999", "until": "1999"}, "nothing found"),
        ({"since": "9999"}, 'error: "9999" isn\'t a date'),
        (["x"], "error: the arguments are wrong: Input should be"),
        ("x", "error: the arguments are wrong: "),
    ],
)
async def test_recall_with_impossible_arguments_returns_one_sentence(
    person: Person, model: ModelServer, arguments: object, answer: str
) -> None:
    (said,) = await call_tools(person, model, ("memory_recall", arguments))
    assert said.startswith(answer)
    assert "\n" not in said


async def test_recall_of_every_mention_groups_by_day_and_counts(
    person: Person, model: ModelServer, store: Store, session: Session, clock: FakeClock
) -> None:
    await add_trips(store, session, clock, "Rome", "Oslo", "Lviv")
    await store.entries.add(OWNER, NewEntry("visited cities: Rome", name="cities", kind=Kind.FACT))
    (answer,) = await call_tools(person, model, recall(queries="visited", every=True))
    assert answer.splitlines()[0] == "4 with all words of a query, 0 more with some of them:"
    assert sorted(answer.split("\n[")[1:]) == [
        "2026-02-07, conversation]\n- 12:15, message 1: User: I visited Rome at last",
        "2026-02-08, conversation]\n- 12:15, message 5: User: I visited Oslo at last",
        "2026-02-09, conversation]\n- 12:15, message 9: User: I visited Lviv at last",
        "entries]\n- [2026-02-10 12:15, fact cities] visited cities: Rome",
    ]


async def test_recall_of_every_mention_lists_complete_matches_first(
    person: Person, model: ModelServer, store: Store, session: Session, clock: FakeClock
) -> None:
    await add_trips(store, session, clock, "Rome", "Oslo")
    (answer,) = await call_tools(person, model, recall(queries=["visited Oslo", "food"], every=True))
    head, whole, some = re.split("\nThese hold .*:\n", answer)
    assert head == "3 with all words of a query, 1 more with some of them:"
    assert [city for city in ("Oslo", "Rome") if city in whole] == ["Oslo"]
    assert whole.count("the food was good") == 2
    assert some == "[2026-02-07, conversation]\n- 12:15, message 1: User: I visited Rome at last"


@pytest.mark.parametrize(
    ("said", "subject"),
    [
        ("Вчера ездили в новый театр с детьми", "театры"),
        ("Gestern waren wir mit den Kindern im Theater", "Theaters"),
        ("昨天我们去了新剧院", "剧院"),
    ],
)
async def test_mentions_are_found_in_other_forms_and_scripts(
    person: Person, model: ModelServer, store: Store, session: Session, said: str, subject: str
) -> None:
    await store.commit_exchange(session, said, "…")
    await store.sessions.clear_messages(session.id)
    question = {"Theaters": "Wie oft waren wir in den Theatern?"}.get(subject, subject)
    (answer,) = await call_tools(person, model, recall(queries=[question], every=True))
    assert said in answer


async def test_pages_of_mentions_are_complete_and_count_the_rest(
    person: Person, model: ModelServer, store: Store, session: Session, clock: FakeClock
) -> None:
    for number in range(130):
        await store.commit_exchange(session, f"I ran {number} kilometres along the river and back home", "Well done!")
        if number % 7 == 0:
            await store.sessions.clear_messages(session.id)
            clock.forward(days=1)
    seen: list[int] = []
    page, left = 1, 130
    while left:
        (answer,) = await call_tools(person, model, recall(queries=["ran"], every=True, page=page, tokens=500))
        assert TokenCounter().count(answer) <= 500
        assert answer.startswith("130 with all words of a query")
        seen += [int(number) for number in re.findall(r"ran (\d+) kilo", answer)]
        more = re.search(r"\n\((\d+) more: page=(\d+)\)$", answer)
        left = int(more[1]) if more else 0
        assert left == 130 - len(seen)
        page += 1
    assert sorted(seen) == list(range(130))
    (answer,) = await call_tools(person, model, recall(queries=["ran"], every=True, page=page, tokens=500))
    assert answer == f"error: there is no page {page}: {page - 1} is the last"


async def test_pages_of_a_search_are_contiguous(
    person: Person, model: ModelServer, store: Store, session: Session
) -> None:
    for number in range(12):
        await store.entries.add(OWNER, NewEntry(f"lighthouse {number} stands on the cliff", name=f"n{number}"))
    seen: list[str] = []
    for page in range(1, 20):
        (answer,) = await call_tools(person, model, recall(queries="lighthouse", page=page, tokens=100))
        assert TokenCounter().count(answer) <= 100
        if answer.startswith("error: there is no page"):
            break
        seen += re.findall(r"note (n\d+)\]", answer)
    assert sorted(seen) == sorted(f"n{number}" for number in range(12))


async def test_recall_omits_and_counts_passages_quoted_in_the_request(
    person: Person, model: ModelServer, store: Store, session: Session
) -> None:
    await store.commit_exchange(session, "The lighthouse is white", "I see.")
    await store.sessions.clear_messages(session.id)
    await store.commit_exchange(session, "My boat is called Kolibri", "A nice name.")
    await store.sessions.clear_messages(session.id)
    queries = ["lighthouse", "my boat"]
    answers = await call_tools(
        person,
        model,
        recall(queries=queries[:1]),
        recall(queries=queries),
        recall(queries=queries[:1], every=True),
        say="What colour is the lighthouse?",
    )
    assert "The lighthouse is white" in str(model.requests[-1])
    assert answers[0] == "(1 quoted to you already)"
    assert answers[1].splitlines() == [
        "(1 quoted to you already)",
        "- [2026-02-07 12:15, conversation, message 3] User: My boat is called Kolibri | Assistant: A nice name.",
    ]
    assert "The lighthouse is white" in answers[2]


async def test_partially_quoted_message_is_recalled_again(
    person: Person, model: ModelServer, store: Store, session: Session
) -> None:
    said = f"The lighthouse is white. {'Seagulls everywhere. ' * 20}The keeper is called Marek."
    await store.commit_exchange(session, said, "I see.")
    await store.sessions.clear_messages(session.id)
    (answer,) = await call_tools(person, model, recall(queries="keeper Marek"), say="What colour is the lighthouse?")
    assert "The keeper is called Marek." in answer


async def test_pages_without_quoted_passages_are_contiguous(
    person: Person, model: ModelServer, store: Store, session: Session
) -> None:
    for number in range(24):
        await store.commit_exchange(session, f"Lighthouse {number} stands on the {'rocky ' * 40}cliff", "I see.")
    await store.sessions.clear_messages(session.id)
    calls = [recall(queries="lighthouse cliff", page=page, tokens=300) for page in range(1, 6)]
    answers = await call_tools(person, model, *calls, say="Which lighthouse stands on the cliff?")
    quoted = {int(number) for number in re.findall(r"Lighthouse (\d+) ", str(model.requests[-1].messages[1]))}
    left_out = int(answers[0].removeprefix("(").partition(" quoted to you already)\n")[0])
    seen: list[int] = []
    for page in answers:
        assert page.startswith(f"({left_out} quoted to you already)\n")
        seen += [int(number) for number in re.findall(r"Lighthouse (\d+) ", page)]
        more = re.search(r"\n\((\d+) more: page=(\d+)\)$", page)
        assert (int(more[1]) if more else 0) == 24 - left_out - len(seen)
        if more is None:
            break
    assert left_out == len(quoted)
    assert sorted([*seen, *quoted]) == list(range(24))


async def test_time_range_limits_a_search_or_lists_all_messages(
    person: Person, model: ModelServer, store: Store, session: Session, clock: FakeClock
) -> None:
    await add_trips(store, session, clock, "Rome", "Oslo", "Lviv")
    answers = await call_tools(
        person,
        model,
        recall(queries="visited", since="2026-02-08", until="2026-02-08"),
        recall(queries="visited", every=True, since="2026-02-09T00:00"),
        recall(since="2026-02", until="2026-02-07"),
    )
    assert [city in answers[0] for city in ("Rome", "Oslo", "Lviv")] == [False, True, False]
    assert [city in answers[1] for city in ("Rome", "Oslo", "Lviv")] == [False, False, True]
    assert answers[2] == (
        "2 found:\n[2026-02-07, conversation]\n- 12:15, message 1: User: I visited Rome at last\n"
        "- 12:15, message 3: User: It was lovely and the food was good"
    )


async def test_recall_around_a_message_shows_its_neighbours(
    person: Person, model: ModelServer, store: Store, session: Session, clock: FakeClock
) -> None:
    await add_trips(store, session, clock, "Rome")
    for number in range(40):
        await store.commit_exchange(session, f"question {number}", f"answer {number}")
    await store.sessions.clear_messages(session.id)
    answers = await call_tools(
        person, model, recall(around=1), recall(around="25", tokens=150), recall(around=84, tokens=2000)
    )
    assert answers[0].splitlines() == [
        "- [2026-02-07 12:15, message 1] User: I visited Rome at last",
        "- [2026-02-07 12:15, message 2] Assistant: How was it?",
        "- [2026-02-07 12:15, message 3] User: It was lovely and the food was good",
        "- [2026-02-07 12:15, message 4] Assistant: I am glad.",
    ]
    numbers = [int(number) for number in re.findall(r", message (\d+)\]", answers[1])]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert 25 in numbers
    assert answers[1].splitlines()[0] == f"(more was said before: around={numbers[0]})"
    assert answers[1].splitlines()[-1] == f"(more was said after: around={numbers[-1]})"
    assert TokenCounter().count(answers[1]) <= 150
    assert "after" not in answers[2].splitlines()[-1]


async def test_message_longer_than_the_budget_is_cut(
    person: Person, model: ModelServer, store: Store, session: Session
) -> None:
    await store.commit_exchange(session, "lighthouse " * 2000, "I see.")
    await store.sessions.clear_messages(session.id)
    (answer,) = await call_tools(person, model, recall(around=1, tokens=100))
    assert 50 < TokenCounter().count(answer) <= 100
    assert answer.startswith("- [2026-02-07 12:15, message 1] User: lighthouse lighthouse")


async def test_messages_of_other_owners_can_not_be_read(person: Person, model: ModelServer, store: Store) -> None:
    other = await store.session("other")
    await store.commit_exchange(other, "the lighthouse is white", "I see.")
    answers = await call_tools(
        person,
        model,
        recall(around=1),
        recall(queries="lighthouse", every=True),
        recall(since="2026-01-01", until="2026-12-31"),
    )
    assert answers[0].startswith("error: there is no message 1")
    assert answers[1:] == ["nothing found", "nothing found"]


@pytest.mark.parametrize("arguments", [{"around": 1}, {"queries": "lighthouse", "every": True}, {"since": "2026-02"}])
async def test_foreign_passage_is_marked_and_blocks_confirmation(
    person: Person, model: ModelServer, store: Store, session: Session, arguments: dict[str, object]
) -> None:
    forwarded = Message(Role.USER, "the lighthouse is white", store.clock(), provenance=Provenance.FORWARDED)
    await store.commit_turn(session, forwarded, assistant("I see.", store.clock()))
    await store.commit_turn(session, user("Fine", store.clock()), assistant("Good.", store.clock()))
    await store.sessions.clear_messages(session.id)
    answers = await call_tools(
        person, model, ("memory_recall", arguments), ("memory_learn", {"fact": "A white lighthouse"})
    )
    assert "User [forwarded]: the lighthouse is white" in answers[0]
    assert "not confirmed" in answers[1]


async def test_recall_all_command_lists_mentions_and_pages(
    person: Person, store: Store, session: Session, clock: FakeClock
) -> None:
    await add_trips(
        store, session, clock, *(f"city number {n} of my long journey through the north" for n in range(60))
    )
    first = await person.says("/recall all visited")
    assert first.startswith("60 with all words of a query, 0 more with some of them:")
    more = re.search(r"\n/recall all visited 2 shows (\d+) more\.$", first)
    assert more is not None
    second = await person.says("/recall all visited 2")
    shown = [re.findall(r"city number (\d+) ", page) for page in (first, second)]
    assert len(shown[0]) == 60 - int(more[1])
    assert not set(shown[0]) & set(shown[1])
    # Not a page number, so a word.
    assert "1 with all words of a query" in await person.says("/recall all visited city 59")
    assert await person.says("/recall all zebra") == "I didn't find anything about that."
