"""Tests of activation: layers A, B and C within one budget, and ranking on labelled cases."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.activation import NOW, compute_figures, load_cases, store_cases
from memory.clock import to_text
from memory.search.activation_candidates import ActivatedMemory, Layer
from memory.store.database import Database
from memory.store.decay import Decay
from memory.store.entry import TYPED_KINDS, Entry, Kind, NewEntry, Priority, get_default_priority
from memory.text.tokens import TokenCounter
from tests.support.activating import ActivationBench
from tests.support.blank import write_blank
from tests.support.fakes import FakeClock
from tests.support.talk import Store

OWNER = "telegram:1"
PLENTY = 100_000
count = TokenCounter().count


@pytest.fixture
def activation(database: Database, clock: FakeClock) -> ActivationBench:
    """Return the activation on the database."""
    return ActivationBench.create(database, clock)


async def add_entry(store: Store, kind: Kind, content: str, *, used: int = 1, days: float = 0, **new: object) -> Entry:
    """Add an entry that was reinforced `used` times, last some days ago."""
    owner = str(new.pop("owner", OWNER))
    added = await store.entries.add(owner, NewEntry(content, kind=kind, **new))  # type: ignore[arg-type]  # Keyword arguments.
    async with store.database.transaction() as connection:
        await connection.execute(
            "UPDATE entries SET reinforcement_count = ?, last_reinforced_at = ? WHERE id = ?",
            (used, to_text(store.clock() - timedelta(days=days)), added.id),
        )
    return added


async def list_baseline(activation: ActivationBench, tokens: int = PLENTY, owner: str = OWNER) -> list[str]:
    return list_contents(await activation.select_baseline(owner, tokens, count))


async def list_contextual(activation: ActivationBench, message: str, layer: Layer, tokens: int = PLENTY) -> list[str]:
    rules = await activation.select_baseline(OWNER, tokens, count)
    found = await activation.select_contextual(OWNER, message, rules, tokens - sum_tokens(rules), count)
    return list_contents(one for one in found if one.layer is layer)


def list_contents(activated: Iterable[ActivatedMemory]) -> list[str]:
    return [one.line.partition("] ")[2] for one in activated]


def sum_tokens(activated: Iterable[ActivatedMemory]) -> int:
    return sum(one.tokens for one in activated)


async def test_layer_a_contains_trusted_rules_of_high_priority_only(store: Store, activation: ActivationBench) -> None:
    for kind in (*TYPED_KINDS, Kind.NOTE, Kind.EPISODE):
        for priority in Priority:
            await add_entry(store, kind, f"{kind} {priority}", priority=priority)
            await add_entry(store, kind, f"doubtful {kind} {priority}", priority=priority, trusted=False)
    expected = [f"{k} {p}" for p in ("critical", "high") for k in ("policy", "architecture", "preference")]
    assert await list_baseline(activation) == expected
    assert await activation.activation.count_baseline(OWNER) == len(expected)


async def test_rules_of_equal_priority_are_sorted_by_strength(
    store: Store, activation: ActivationBench, clock: FakeClock
) -> None:
    await add_entry(store, Kind.POLICY, "weak", days=30)
    await add_entry(store, Kind.POLICY, "strong", used=5)
    await add_entry(store, Kind.POLICY, "lesser", used=900, priority=Priority.HIGH)
    for _ in range(3):
        assert await list_baseline(activation) == ["strong", "weak", "lesser"]
        clock.forward(days=3650)


async def test_archived_superseded_or_deleted_memory_never_activates(store: Store, activation: ActivationBench) -> None:
    for kind in TYPED_KINDS:
        live = await add_entry(store, kind, f"{kind} tea")
        for column, value in (("archived_at", "2026"), ("superseded_by", live.id)):
            gone = await add_entry(store, kind, f"{kind} tea {column}", priority=Priority.CRITICAL)
            async with store.database.transaction() as connection:
                await connection.execute(f"UPDATE entries SET {column} = ? WHERE id = ?", (value, gone.id))  # noqa: S608
        await add_entry(store, kind, f"{kind} tea removed", name=f"{kind} removed")
        await store.entries.remove(OWNER, f"{kind} removed")
    rules = await activation.select_baseline(OWNER, PLENTY, count)
    context = await activation.select_contextual(OWNER, "tea", rules, PLENTY, count)
    assert sorted(list_contents([*rules, *context])) == sorted(f"{kind} tea" for kind in TYPED_KINDS)


async def test_activation_is_separate_for_each_owner(store: Store, activation: ActivationBench) -> None:
    for owner in (OWNER, "telegram:2"):
        await add_entry(store, Kind.POLICY, f"Rule of {owner}", owner=owner)
        await add_entry(store, Kind.FACT, f"Tea of {owner}", owner=owner)
        await add_entry(store, Kind.WORKFLOW, f"Brew tea for {owner}", owner=owner)
    assert await list_baseline(activation, owner="telegram:2") == ["Rule of telegram:2"]
    assert await list_baseline(activation, owner="telegram:3") == []
    assert await activation.activation.count_baseline("telegram:3") == 0
    assert await list_contextual(activation, "tea", Layer.CONTEXT) == ["Tea of telegram:1"]
    assert await list_contextual(activation, "tea", Layer.PROCEDURES) == ["Brew tea for telegram:1"]
    assert await activation.select_contextual("telegram:3", "tea", (), PLENTY, count) == ()


async def test_strong_unrelated_memory_does_not_displace_a_relevant_one(
    store: Store, activation: ActivationBench
) -> None:
    await add_entry(store, Kind.FACT, "The lighthouse keeper is called Ida", days=60)
    for number in range(50):
        await add_entry(store, Kind.PITFALL, f"Ship {number} has a leak", used=500)
    assert (await list_contextual(activation, "Who keeps the lighthouse?", Layer.CONTEXT, 60))[0].startswith(
        "The lighth"
    )


async def test_memory_fitting_the_question_precedes_those_fitting_other_sentences(
    store: Store, activation: ActivationBench
) -> None:
    for number in range(40):
        await add_entry(store, Kind.FACT, f"The bus to the office broke down in the morning of day {number}", used=9)
    await add_entry(store, Kind.FACT, "The locker has the number 4711")
    message = "The bus broke down this morning and I was late at the office. What is the number of my locker? Bye now."
    assert (await list_contextual(activation, message, Layer.CONTEXT))[0] == "The locker has the number 4711"


async def test_memories_without_matching_words_are_ranked_by_strength(
    store: Store, activation: ActivationBench
) -> None:
    for number in (3, 9, 1, 5):
        await add_entry(store, Kind.FACT, f"used {number}", used=number)
    assert await list_contextual(activation, "Hello there", Layer.CONTEXT) == ["used 9", "used 5", "used 3", "used 1"]


async def test_matching_memory_activates_at_any_age(store: Store, database: Database, clock: FakeClock) -> None:
    for days in (156, 157, 2000):
        await add_entry(store, Kind.FACT, f"tea of {days} days", days=days)
    assert len(await list_contextual(ActivationBench.create(database, clock), "tea", Layer.CONTEXT)) == 3
    strict = ActivationBench.create(database, clock, Decay(threshold=0.9))
    assert len(await list_contextual(strict, "tea", Layer.CONTEXT)) == 3


async def test_memory_below_threshold_needs_a_match(store: Store, database: Database, clock: FakeClock) -> None:
    await add_entry(store, Kind.FACT, "tea of 156 days", days=156)
    await add_entry(store, Kind.FACT, "tea of 157 days", days=157)
    assert await list_contextual(ActivationBench.create(database, clock), "Hello", Layer.CONTEXT) == ["tea of 156 days"]
    strict = ActivationBench.create(database, clock, Decay(threshold=0.9))
    assert await list_contextual(strict, "Hello", Layer.CONTEXT) == []
    light = ActivationBench.create(database, clock, Decay(type_weights={"fact": 5.0}))
    assert len(await list_contextual(light, "Hello", Layer.CONTEXT)) == 2


async def test_workflows_are_limited_to_three_matching_successful_ones(
    store: Store, activation: ActivationBench
) -> None:
    for number in range(5):
        await add_entry(store, Kind.WORKFLOW, f"Deploy the server {number}: build, ship", name=f"w{number}")
    await add_entry(store, Kind.WORKFLOW, "Bake bread: knead, wait", name="bread", used=900)
    async with store.database.transaction() as connection:
        await connection.execute("UPDATE entries SET success_count = 2, failure_count = 1 WHERE id = 4")
    rules = await activation.select_contextual(OWNER, "How do we deploy the server?", (), PLENTY, count)
    lines = [one.line for one in rules if one.layer is Layer.PROCEDURES]
    assert len(lines) == 3
    assert lines[0] == "- [workflow w3, worked 2 of 3 times] Deploy the server 3: build, ship"
    assert all("not tried yet" in line and "Deploy" in line for line in lines[1:])
    assert await list_contextual(activation, "Good morning", Layer.PROCEDURES) == []


async def test_many_matching_facts_do_not_hide_a_matching_workflow(store: Store, activation: ActivationBench) -> None:
    for number in range(60):
        await add_entry(store, Kind.FACT, f"deploy server {number}")
    await add_entry(store, Kind.WORKFLOW, "How to deploy: first build everything, then tell the others, then ship it")
    assert len(await list_contextual(activation, "deploy server", Layer.PROCEDURES)) == 1


async def test_matching_workflow_precedes_memories_that_are_only_strong(
    store: Store, activation: ActivationBench
) -> None:
    for number in range(60):
        await add_entry(store, Kind.FACT, f"something else altogether, number {number}", used=50)
    await add_entry(store, Kind.FACT, "The server is called otter")
    await add_entry(store, Kind.WORKFLOW, "Deploy the server: build, ship")
    found = await activation.select_contextual(OWNER, "How do we deploy the server?", (), 200, count)
    assert [one.layer for one in found[:3]] == [Layer.CONTEXT, Layer.PROCEDURES, Layer.CONTEXT]
    assert (found[0].relevance > 0, found[2].relevance) == (True, 0)


async def test_memory_with_a_scope_shows_it(store: Store, activation: ActivationBench) -> None:
    await add_entry(store, Kind.POLICY, "Use tabs", scope="src/legacy/**")
    await add_entry(store, Kind.FACT, "Tabs are eight wide", scope="src/legacy/**")
    rules = await activation.select_baseline(OWNER, PLENTY, count)
    assert [one.line for one in rules] == ["- [policy, 2026-02-07, for src/legacy/**] Use tabs"]
    found = await activation.select_contextual(OWNER, "tabs", rules, PLENTY, count)
    assert [one.line for one in found] == ["- [2026-02-07, fact by user, for src/legacy/**] Tabs are eight wide"]


async def test_huge_memory_does_not_displace_others(store: Store, activation: ActivationBench) -> None:
    await add_entry(store, Kind.POLICY, "strong " * 2_000, used=900)
    await add_entry(store, Kind.POLICY, "Answer briefly")
    await add_entry(store, Kind.FACT, "tea " * 2_000, used=900)
    await add_entry(store, Kind.FACT, "Likes tea")
    assert await list_baseline(activation, 60) == ["Answer briefly"]
    assert await list_contextual(activation, "tea", Layer.CONTEXT, 60) == ["Likes tea"]
    assert max(one.tokens for one in await activation.select_baseline(OWNER, PLENTY, count)) <= 135


async def add_rules(store: Store, rules: int) -> None:
    """Add many short rules, the last ones with the highest priority."""
    moment = to_text(store.clock())
    async with store.database.transaction() as connection:
        await connection.execute("INSERT INTO owners (id, name) VALUES (1, ?)", (OWNER,))
        await connection.executemany(
            "INSERT INTO entries (id, owner_id, kind, priority, content, last_reinforced_at, valid_from, author,"
            " created_at) VALUES (?, 1, 'policy', ?, ?, ?, ?, 'user', ?)",
            [(n, "critical" if n > rules - 10 else "high", f"Rule {n}", *[moment] * 3) for n in range(1, rules + 1)],
        )
        await connection.executemany(
            "INSERT INTO names (owner_id, key, name, entry_id) VALUES (1, ?, ?, ?)",
            [(f"m{n}", f"m{n}", n) for n in range(1, rules + 1)],
        )


async def test_budget_holds_the_highest_of_ten_thousand_rules(store: Store, activation: ActivationBench) -> None:
    await add_rules(store, 10_000)
    shown = await activation.select_baseline(OWNER, 800, count)
    assert list_contents(shown)[:10] == [f"Rule {n}" for n in range(9_991, 10_001)]
    assert 750 < sum_tokens(shown) <= 800
    assert await activation.activation.count_baseline(OWNER) == 10_000


async def test_every_rule_that_fits_is_included(store: Store, activation: ActivationBench) -> None:
    await add_rules(store, 120)
    assert len(await list_baseline(activation, 1_200)) == 120


@pytest.mark.parametrize("tokens", [0, -5, 1])
async def test_activation_without_a_budget_is_empty(store: Store, activation: ActivationBench, tokens: int) -> None:
    for kind in TYPED_KINDS:
        await add_entry(store, kind, "tea")
    assert await activation.select_baseline(OWNER, tokens, count) == ()
    assert await activation.select_contextual(OWNER, "tea", (), tokens, count) == ()


async def test_layers_fill_one_budget_in_order(store: Store, activation: ActivationBench) -> None:
    for number in range(5):
        await add_entry(store, Kind.POLICY, f"tea rule {number}")
        await add_entry(store, Kind.FACT, f"tea fact {number}")
        await add_entry(store, Kind.WORKFLOW, f"tea workflow {number}")
    sizes = {}
    for tokens in (20, 75, 90, 260):
        layers = [await list_baseline(activation, tokens)]
        layers += [
            await list_contextual(activation, "tea", layer, tokens) for layer in (Layer.CONTEXT, Layer.PROCEDURES)
        ]
        sizes[tokens] = [len(layer) for layer in layers]
    assert sizes[20][1:] == [0, 0]
    assert sizes[75][0] == 5
    assert 0 < sizes[75][1] < 5
    assert sizes[75][2] == 0
    assert sizes[260] == [5, 5, 3]


contents = st.sampled_from(["tea", "likes green tea in the garden", "绿茶很好喝", "чай " * 30, "x" * 900, "a\nb"])
memories = st.lists(st.tuples(st.sampled_from(TYPED_KINDS), contents, st.integers(1, 2_000)), max_size=25)


@pytest.mark.slow
@given(memories, st.lists(st.integers(0, 2_000), min_size=1, max_size=12))
async def test_budget_is_never_exceeded(kinds: list[tuple[Kind, str, int]], budgets: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(write_blank(Path(folder) / "mneme.db"))
        try:
            store = Store.create(database, FakeClock())
            for kind, content, used in kinds:
                await add_entry(store, kind, content, used=used, priority=get_default_priority(kind))
            activation = ActivationBench.create(database, store.clock)
            for tokens in budgets:
                rules = await activation.select_baseline(OWNER, tokens, count)
                context = await activation.select_contextual(
                    OWNER, "green tea", rules, tokens - sum_tokens(rules), count
                )
                assert sum_tokens([*rules, *context]) <= tokens
                assert count("\n".join(one.line for one in (*rules, *context))) <= tokens
                assert len({one.id for one in (*rules, *context)}) == len(rules) + len(context)
        finally:
            await database.close()


@pytest.mark.slow
async def test_ranking_of_holdout_cases_stays_above_its_floor(database: Database) -> None:
    """The floors are a little below the output of `python -m benchmarks.activation`."""
    cases = [case for case in load_cases() if case.half == "holdout"]
    assert len(cases) >= 30
    await store_cases(database, cases)
    got = await compute_figures(ActivationBench.create(database, lambda: NOW), cases)
    assert got.first >= 0.63, str(got)
    assert got.ndcg >= 0.74, str(got)
    assert got.kept >= 0.84, str(got)
