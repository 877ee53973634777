"""Tests of the working history of a turn: pruning, copies and complete tool calls."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from memory.log.conversation import InMemoryConversation
from memory.messages import Message, Role, drop_incomplete_calls
from tests.support.talk import assistant, calls, result, system, user


def tokens(messages: Iterable[Message]) -> int:
    """Count four characters per token and at least one token per message."""
    return sum(1 + len(message.content) // 4 for message in messages)


def conversation(messages: Iterable[Message] = ()) -> InMemoryConversation:
    memory = InMemoryConversation(tokens)
    memory.add_many(messages)
    return memory


texts = st.text("abc ", max_size=60)
groups = st.one_of(
    texts.map(lambda text: [system(text)]),
    texts.map(lambda text: [user(text)]),
    texts.map(lambda text: [assistant(text)]),
    st.tuples(st.integers(1, 3), texts).map(
        lambda made: [calls(*map(str, range(made[0]))), *(result(str(n), made[1]) for n in range(made[0]))]
    ),
)
talks = st.lists(groups, max_size=15).map(lambda made: [message for group in made for message in group])


def is_part_in_order(part: list[Message], whole: list[Message]) -> bool:
    rest = iter(whole)
    return all(any(message is other for other in rest) for message in part)


@given(talks, st.integers(0, 200))
def test_pruning_respects_the_budget_unless_system_messages_exceed_it(talk: list[Message], budget: int) -> None:
    memory = conversation(talk)
    memory.prune(budget)
    asked_by_system = tokens(memory.by_role(Role.SYSTEM))
    if asked_by_system <= budget:
        assert tokens(memory.all()) <= budget
    else:
        assert [m.role for m in memory.all() if m.role is not Role.SYSTEM] in ([], [Role.USER])


@given(talks, st.integers(0, 200))
def test_pruning_keeps_system_messages_and_order_and_returns_the_count(talk: list[Message], budget: int) -> None:
    memory = conversation(talk)
    dropped = memory.prune(budget)
    kept = memory.all()
    assert [m for m in kept if m.role is Role.SYSTEM] == [m for m in talk if m.role is Role.SYSTEM]
    assert is_part_in_order(kept, talk)
    assert dropped == len(talk) - len(kept) == len(talk) - memory.count()


@given(talks, st.integers(0, 200))
def test_pruning_keeps_tool_calls_with_their_results(talk: list[Message], budget: int) -> None:
    memory = conversation(talk)
    memory.prune(budget)
    assert drop_incomplete_calls(memory.all()) == memory.all()


@given(talks, st.integers(0, 200))
def test_pruning_drops_the_oldest_and_no_more_than_needed(talk: list[Message], budget: int) -> None:
    memory = conversation(talk)
    memory.prune(budget)
    said = [m for m in talk if m.role is not Role.SYSTEM]
    kept = [m for m in memory.all() if m.role is not Role.SYSTEM]
    if tokens(memory.by_role(Role.SYSTEM)) > budget:
        return
    assert kept == said[len(said) - len(kept) :]
    if len(kept) < len(said):
        newest_lost = said[: len(said) - len(kept)]
        group = [newest_lost.pop()]
        while group[0].role is Role.TOOL:
            group.insert(0, newest_lost.pop())
        assert tokens([*memory.all(), *group]) > budget


@given(talks)
def test_pruning_to_the_exact_cost_changes_nothing(talk: list[Message]) -> None:
    memory = conversation(talk)
    assert memory.prune(tokens(talk)) == 0
    assert memory.all() == talk


@given(talks, st.integers(0, 200))
def test_pruning_is_idempotent(talk: list[Message], budget: int) -> None:
    memory = conversation(talk)
    memory.prune(budget)
    assert memory.prune(budget) == 0


def test_system_messages_over_budget_keep_the_last_user_message() -> None:
    rules, first, answer, last = system("rules " * 20), user("first"), assistant("answer"), user("last")
    memory = conversation([rules, first, answer, last, assistant("thinking")])
    with capture_logs() as logs:
        assert memory.prune(5) == 3
    assert memory.all() == [rules, last]
    assert [(line["event"], line["budget"]) for line in logs] == [("system_messages_exceed_budget", 5)]


def test_negative_budget_is_an_error() -> None:
    memory = conversation([user("hello")])
    with pytest.raises(ValueError, match="below zero: -1"):
        memory.prune(-1)
    assert memory.count() == 1


def test_empty_conversation_is_pruned_to_nothing() -> None:
    assert conversation().prune(0) == 0


def test_default_counter_uses_four_characters_per_token() -> None:
    memory = InMemoryConversation()
    memory.add_many([user("x" * 400), user("y" * 400)])
    memory.prune(110)
    assert memory.all() == [user("y" * 400)]


def test_messages_are_found_by_recency_and_by_role() -> None:
    memory = conversation([system("s"), user("one"), assistant("two"), user("three")])
    assert [m.content for m in memory.recent(2)] == ["two", "three"]
    assert [m.content for m in memory.by_role(Role.USER)] == ["one", "three"]
    assert memory.recent(0) == memory.recent(-3) == []
    assert len(memory.recent(99)) == memory.count() == 4


def test_returned_lists_are_copies() -> None:
    memory = conversation([user("hello")])
    for handed_out in (memory.all(), memory.recent(5), memory.by_role(Role.USER)):
        handed_out.clear()
    given_in = [assistant("hi")]
    memory.add_many(given_in)
    given_in.clear()
    assert [m.content for m in memory.all()] == ["hello", "hi"]


def test_cleared_conversation_is_empty_and_usable() -> None:
    memory = conversation([user("hello")])
    memory.clear()
    assert memory.count() == 0
    memory.add(user("again"))
    assert memory.all() == [user("again")]


def test_concurrent_threads_lose_nothing_and_keep_their_order() -> None:
    memory = conversation()
    together = threading.Barrier(8)

    def talk(name: int) -> None:
        together.wait()
        for n in range(60):
            memory.add(user(f"{name} {n}"))
            memory.add_many([assistant(f"{name} {n} a"), assistant(f"{name} {n} b")])
            memory.all()
            memory.prune(10**6)

    threads = [threading.Thread(target=talk, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = [message.content for message in memory.all()]
    assert len(said) == 8 * 60 * 3
    for name in range(8):
        own = [text for text in said if text.startswith(f"{name} ")]
        assert own == [f"{name} {n}{part}" for n in range(60) for part in ("", " a", " b")]
    pairs = [(a, b) for a, b in pairwise(said) if a.endswith(" a")]
    assert all(b == f"{a[:-1]}b" for a, b in pairs)


@given(talks)
def test_complete_groups_keeps_whole_groups(talk: list[Message]) -> None:
    assert drop_incomplete_calls(talk) == talk


@given(
    st.lists(st.one_of(st.just(user("u")), st.just(calls("1", "2")), st.sampled_from("123").map(result)), max_size=8)
)
def test_complete_groups_pairs_each_call_with_its_results(history: list[Message]) -> None:
    repaired = drop_incomplete_calls(history)
    open_calls: set[str | None] = set()
    for message in repaired:
        if message.role is Role.TOOL:
            assert message.tool_call_id in open_calls
            open_calls.discard(message.tool_call_id)
            continue
        assert not open_calls
        open_calls = {call.id for call in message.tool_calls}
    assert not open_calls
    assert [m for m in repaired if m.role is Role.USER] == [m for m in history if m.role is Role.USER]


@pytest.mark.parametrize(
    ("history", "repaired"),
    [
        ([user("u"), calls("1"), user("v")], [user("u"), user("v")]),
        ([user("u"), result("1"), user("v")], [user("u"), user("v")]),
        ([calls("1", "2"), result("1")], []),
        ([calls("1"), result("2")], []),
        ([calls("1"), result("1"), result("1")], []),
        ([calls("1"), user("u"), result("1")], [user("u")]),
        # A provider accepts results in any order.
        ([calls("1", "2"), result("2"), result("1")], [calls("1", "2"), result("2"), result("1")]),
    ],
)
def test_complete_groups_drops_incomplete_tool_calls(history: list[Message], repaired: list[Message]) -> None:
    assert drop_incomplete_calls(history) == repaired
