"""Tests of facts: finding the facts on a subject, superseding a fact, and undoing that."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from zoneinfo import ZoneInfo

import pytest

from memory.errors import MemoryRefused
from memory.facts.fact import CheckedFact, Doubt, Fact
from memory.facts.fact_learner import FactLearner, LearnedMemory
from memory.ledger.ledger import Ledger
from memory.ledger.undo import Undo
from memory.search.search import Search
from memory.store.database import Database
from memory.store.entry import Author, Kind, Nature, NewEntry, Operation, Priority
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says
from tests.support.talk import Store, create_ledger

ANN, BEN = "telegram:1", "telegram:2"


def create_confirmed(subject: str, text: str, kind: Kind, since: date | None = None) -> CheckedFact:
    return CheckedFact(Fact(subject, text, kind, since))


KYIV = create_confirmed("home city", "The user lives in Kyiv.", Kind.FACT)
LVIV = create_confirmed("Home City", "The user lives in Lviv.", Kind.FACT, date(2026, 2, 1))
TEA = create_confirmed("drink", "The user likes tea.", Kind.PREFERENCE)
UTC_ZONE = ZoneInfo("UTC")


class Facts(FactLearner):
    """Fact store in which each call of `learn` is a separate change."""

    def __init__(self, database: Database, ledger: Ledger) -> None:
        super().__init__(database, Search(database))
        self._ledger = ledger

    async def learn(self, owner: str, facts: Sequence[CheckedFact], first_message: int) -> list[LearnedMemory]:
        async with self._ledger.change(owner, Operation.LEARN, Author.CONSOLIDATION) as change:
            return await self.learn_in(change, facts, first_message)


@pytest.fixture
def facts(database: Database, clock: FakeClock) -> Facts:
    return Facts(database, create_ledger(database, clock))


async def read_current(facts: Facts, owner: str = ANN) -> dict[str, str]:
    return {subject: entry.content for subject, entry in await facts.list_current(owner, 100)}


def describe_learned(learned: list[LearnedMemory]) -> list[tuple[str, str | None]]:
    """Return the content of each fact and of the fact that it superseded."""
    return [(one.entry.content, one.superseded.content if one.superseded else None) for one in learned]


async def learn_facts(facts: Facts, owner: str, checked: list[CheckedFact], first_message: int) -> list[LearnedMemory]:
    """Learn facts that replace the known facts on the same subject."""
    known = await facts.find_related(owner, [one.fact for one in checked], first_message)
    looked_at = [
        replace(
            one, replaces=[k for k in known if k.subject == one.fact.subject.casefold() and k.text != one.fact.text]
        )
        for one in checked
    ]
    return await facts.learn(owner, looked_at, first_message)


async def test_fact_becomes_an_entry_with_its_source(facts: Facts, store: Store) -> None:
    assert describe_learned(await learn_facts(facts, ANN, [TEA], 7)) == [("The user likes tea.", None)]
    entry = await store.entries.get(ANN, "drink")
    assert (entry.content, entry.kind, entry.subject) == ("The user likes tea.", Kind.PREFERENCE, "drink")
    assert (entry.author, entry.source_message_id, entry.superseded_by) == (Author.CONSOLIDATION, 7, None)


async def test_known_fact_is_skipped(facts: Facts) -> None:
    await learn_facts(facts, ANN, [TEA], 1)
    again = create_confirmed("Drink", "the user  likes TEA.", Kind.PREFERENCE)
    assert await learn_facts(facts, ANN, [TEA, again], 2) == []
    assert len(await facts.list_current(ANN, 100)) == 1


async def test_newer_fact_supersedes_the_one_on_the_same_subject(facts: Facts, store: Store, clock: FakeClock) -> None:
    await learn_facts(facts, ANN, [KYIV, TEA], 1)
    former = await store.entries.get(ANN, "home city")
    clock.forward(days=3)
    found = await learn_facts(facts, ANN, [LVIV], 9)
    assert describe_learned(found) == [("The user lives in Lviv.", "The user lives in Kyiv.")]
    newer = await store.entries.get(ANN, "home city")
    assert newer.content == "The user lives in Lviv."
    assert f"{newer.valid_from:%Y-%m-%d}" == "2026-02-01"
    old = await store.entries.get(ANN, "home city until 2026-02-10")
    assert (old.id, old.superseded_by) == (former.id, newer.id)
    assert await read_current(facts) == {"home city": "The user lives in Lviv.", "drink": "The user likes tea."}


async def test_known_fact_still_replaces_the_outdated_one(facts: Facts, store: Store) -> None:
    await facts.learn(ANN, [create_confirmed("residence", "The user lives in Kyiv.", Kind.FACT)], 1)
    await facts.learn(ANN, [create_confirmed("home city", "Der Nutzer wohnt in Lviv.", Kind.FACT)], 2)
    known = {memory.text: memory for memory in await facts.find_related(ANN, [LVIV.fact, KYIV.fact], 3)}
    looked_at = replace(LVIV, replaces=[known["The user lives in Kyiv."]], repeats=[known["Der Nutzer wohnt in Lviv."]])
    assert describe_learned(await facts.learn(ANN, [looked_at], 3)) == [
        ("Der Nutzer wohnt in Lviv.", "The user lives in Kyiv.")
    ]
    assert await read_current(facts) == {"home city": "Der Nutzer wohnt in Lviv."}


async def test_identical_fact_still_replaces_the_outdated_one(facts: Facts) -> None:
    await facts.learn(ANN, [create_confirmed("residence", "The user lives in Kyiv.", Kind.FACT), LVIV], 1)
    (kyiv,) = [memory for memory in await facts.find_related(ANN, [KYIV.fact], 3) if "Kyiv" in memory.text]
    await facts.learn(ANN, [replace(LVIV, replaces=[kyiv])], 3)
    assert await read_current(facts) == {"home city": "The user lives in Lviv."}


async def test_candidates_share_a_subject_across_languages(facts: Facts) -> None:
    await facts.learn(ANN, [create_confirmed("home city", "The user lives in Kyiv.", Kind.FACT)], 1)
    await facts.learn(
        ANN, [create_confirmed(f"thing {n}", f"Der Nutzer mag Ding {n}.", Kind.FACT) for n in range(80)], 2
    )
    german = Fact("home city", "Der Nutzer wohnt jetzt in Dresden.", Kind.FACT)
    assert (await facts.find_related(ANN, [german], 9))[0].text == "The user lives in Kyiv."


async def test_candidates_include_old_facts(facts: Facts) -> None:
    for number in range(12):
        await facts.learn(
            ANN, [create_confirmed(f"shop {number}", f"Shop {number} is open till {number}.", Kind.FACT)], 1
        )
    for number in range(200):
        await facts.learn(ANN, [create_confirmed(f"walk {number}", f"Walk {number} of many is open.", Kind.FACT)], 2)
    asked = [Fact(f"shop {number}", f"Shop {number} is closed.", Kind.FACT) for number in range(12)]
    found = {memory.subject for memory in await facts.find_related(ANN, asked, 9)}
    assert {f"shop {number}" for number in range(12)} <= found


async def test_replacement_of_a_vital_fact_is_vital(facts: Facts, store: Store) -> None:
    await facts.learn(ANN, [replace(KYIV, fact=replace(KYIV.fact, nature=Nature.VITAL))], 1)
    await learn_facts(facts, ANN, [LVIV], 2)
    assert (await store.entries.get(ANN, "home city")).nature == Nature.VITAL


async def test_known_fact_becomes_vital_if_an_extraction_says_so(facts: Facts, store: Store) -> None:
    await facts.learn(ANN, [KYIV], 1)
    (known,) = await facts.find_related(ANN, [KYIV.fact], 2)
    again = replace(KYIV, fact=Fact("residence", "Kyiv is home.", Kind.FACT, nature=Nature.VITAL), repeats=[known])
    await facts.learn(ANN, [again], 2)
    assert (await store.entries.get(ANN, "home city")).nature == Nature.VITAL


async def test_chain_of_moves_leaves_one_current_fact(facts: Facts) -> None:
    for city in ("Kyiv", "Lviv", "Odesa", "Kyiv"):
        await learn_facts(facts, ANN, [create_confirmed("home city", f"The user lives in {city}.", Kind.FACT)], 1)
    assert await read_current(facts) == {"home city": "The user lives in Kyiv."}


async def test_facts_on_one_subject_coexist_without_a_verdict(facts: Facts, undo: Undo) -> None:
    await facts.learn(ANN, [create_confirmed("user", "The user works nights.", Kind.FACT)], 1)
    await facts.learn(ANN, [create_confirmed("user", "The user has a sister.", Kind.FACT)], 2)
    assert await read_current(facts) == {"user": "The user works nights.", "user-2": "The user has a sister."}
    assert await undo.undo(ANN)
    assert await read_current(facts) == {"user": "The user works nights."}


async def test_name_of_a_users_note_is_not_taken(facts: Facts, store: Store) -> None:
    await store.entries.add(ANN, NewEntry("A note of mine.", name="drink"))
    await learn_facts(facts, ANN, [TEA], 1)
    assert (await store.entries.get(ANN, "drink")).content == "A note of mine."
    assert (await store.entries.get(ANN, "drink-2")).content == "The user likes tea."


async def test_one_undo_reverts_all_facts_of_a_consolidation(
    facts: Facts, store: Store, undo: Undo, clock: FakeClock
) -> None:
    await learn_facts(facts, ANN, [KYIV], 1)
    before = await store.entries.get(ANN, "home city")
    clock.forward(days=1)
    await learn_facts(facts, ANN, [LVIV, TEA, create_confirmed("job", "The user builds boats.", Kind.FACT)], 2)
    undone = await undo.undo(ANN)
    assert undone is not None
    assert undone.author == Author.CONSOLIDATION
    assert await store.entries.get(ANN, "home city") == before
    assert await read_current(facts) == {"home city": "The user lives in Kyiv."}
    with pytest.raises(MemoryRefused):
        await store.entries.get(ANN, "home city until 2026-02-08")
    assert await undo.undo(ANN)
    assert await read_current(facts) == {}
    assert await undo.undo(ANN) is None


async def test_undone_fact_can_be_learned_again(facts: Facts, undo: Undo) -> None:
    await learn_facts(facts, ANN, [KYIV], 1)
    await learn_facts(facts, ANN, [LVIV], 1)
    await undo.undo(ANN)
    found = await learn_facts(facts, ANN, [LVIV], 1)
    assert describe_learned(found) == [("The user lives in Lviv.", "The user lives in Kyiv.")]


async def test_secrets_are_left_out_and_other_facts_stay(facts: Facts) -> None:
    secrets = [
        create_confirmed("wifi", "The password is hunter2-secret!", Kind.FACT),
        create_confirmed("password: hunter2-secret!", "It is kept in a drawer.", Kind.FACT),
        create_confirmed("card", "The card is 4111 1111 1111 1111 of the user.", Kind.FACT),
    ]
    found = await learn_facts(facts, ANN, [*secrets, TEA], 1)
    assert describe_learned(found) == [("The user likes tea.", None)]
    assert list(await read_current(facts)) == ["drink"]


async def test_facts_are_separate_for_each_owner(facts: Facts, undo: Undo) -> None:
    await learn_facts(facts, ANN, [KYIV], 1)
    await learn_facts(facts, BEN, [LVIV], 1)
    assert await read_current(facts, ANN) == {"home city": "The user lives in Kyiv."}
    assert await read_current(facts, BEN) == {"home city": "The user lives in Lviv."}
    await undo.undo(BEN)
    assert await read_current(facts, ANN) == {"home city": "The user lives in Kyiv."}
    assert await read_current(facts, BEN) == {}


async def test_crash_while_learning_leaves_the_former_fact_unchanged(facts: Facts, store: Store) -> None:
    await learn_facts(facts, ANN, [KYIV], 1)
    with pytest.raises(AttributeError):
        await facts.learn(ANN, [LVIV, None], 1)  # type: ignore[list-item]  # Any failure.
    assert await read_current(facts) == {"home city": "The user lives in Kyiv."}
    assert (await store.entries.get(ANN, "home city")).superseded_by is None


def create_answer(subject: str, fact: str, since: str | None = None) -> Says:
    facts = [{"subject": subject, "fact": fact, "kind": "fact", "since": since}]
    return Says(json.dumps({"history_entry": "They talked.", "memory_update": None, "facts": facts}))


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Pacific/Auckland"])
async def test_recall_shows_both_facts_with_dates_and_prompt_the_new(
    start: OpenApp, model: ModelServer, clock: FakeClock, zone: str
) -> None:
    async with start(timezone=zone) as app:
        ann = Person(app)
        await ann.says("I live in Kyiv.")
        model.consolidation = lambda _: create_answer("home city", "The user lives in Kyiv.", "2025-05-05")
        await ann.says("/new")
        clock.forward(days=10)
        await ann.says("I moved from Kyiv to Lviv.")
        model.consolidation = lambda _: create_answer("home city", "The user lives in Lviv.", "2026-02-15")
        assert "Learned: The user lives in Lviv (" in await ann.says("/new")
        recalled = await ann.says("/recall user lives")
        assert "[2026-02-15 00:00, fact home city] The user lives in Lviv." in recalled
        assert "[superseded, 2025-05-05 00:00 to 2026-02-15 00:00, fact home city until 2026-02-1" in recalled
        await ann.says("Where does the user live in?")
    relevant = next(m["content"] for m in model.requests[-1].messages if "# Relevant Memory" in str(m["content"]))
    assert "The user lives in Lviv." in relevant
    assert "The user lives in Kyiv." not in relevant
    assert "The user lives in Kyiv." not in model.requests[-1].system()


async def test_memory_command_shows_learned_facts(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        ann = Person(app)
        await ann.says("I live in Kyiv.")
        model.consolidation = lambda _: create_answer("home city", "The user lives in Kyiv.")
        await ann.says("/new")
        assert "The user lives in Kyiv." in await ann.says("/memory fact")
        assert "learned from a conversation" in await ann.says("/memory home city")


async def test_captured_fact_learned_in_other_words_is_one_memory(facts: Facts, store: Store) -> None:
    said = NewEntry("We have a cat called Pepper.", kind=Kind.FACT, author=Author.CAPTURE, source_message_id=7)
    await store.entries.add(ANN, said)
    fact = create_confirmed("cat", "The user has a cat named Pepper.", Kind.FACT)
    repeats = await facts.find_related(ANN, [fact.fact], 7)
    await facts.learn(ANN, [replace(fact, repeats=repeats)], 7)
    current = [entry for entry in await store.entries.list(ANN) if entry.superseded_by is None]
    assert [entry.content for entry in current] == ["The user has a cat named Pepper."]


@pytest.mark.parametrize("first_message", [7, 8])
async def test_kind_of_a_capture_is_corrected_by_the_fact(facts: Facts, store: Store, first_message: int) -> None:
    """The capture comes from the messages of the fact, or from earlier messages repeated by the fact."""
    said = NewEntry("Anna has her birthday on 4 March", kind=Kind.DECISION, author=Author.CAPTURE, source_message_id=7)
    await store.entries.add(ANN, said)
    fact = create_confirmed("anna: birthday", "Anna's birthday is on 4 March.", Kind.FACT)
    repeats = await facts.find_related(ANN, [fact.fact], first_message)
    await facts.learn(ANN, [replace(fact, repeats=repeats)], first_message)
    (entry,) = await store.entries.list(ANN)
    assert (entry.kind, entry.priority) == (Kind.FACT, "normal")


async def test_captured_rule_stays_a_rule_when_rewritten(facts: Facts, store: Store) -> None:
    rule = NewEntry("Never deploy on Fridays", kind=Kind.POLICY, author=Author.CAPTURE, source_message_id=7)
    wish = NewEntry(
        "Always answer in German",
        kind=Kind.PREFERENCE,
        priority=Priority.HIGH,
        author=Author.CAPTURE,
        source_message_id=7,
    )
    for new in (rule, wish):
        await store.entries.add(ANN, new)
        fact = create_confirmed(new.content, f"{new.content}, please.", Kind.FACT)
        repeats = [one for one in await facts.find_related(ANN, [fact.fact], 7) if one.text == new.content]
        await facts.learn(ANN, [replace(fact, repeats=repeats)], 7)
    assert {entry.kind for entry in await store.entries.list(ANN)} == {Kind.POLICY, Kind.PREFERENCE}


async def test_doubted_fact_leaves_the_kind_of_a_capture(facts: Facts, store: Store) -> None:
    said = NewEntry("We take the train", kind=Kind.DECISION, author=Author.CAPTURE, source_message_id=7)
    await store.entries.add(ANN, said)
    fact = replace(create_confirmed("travel", "They take the train.", Kind.FACT), doubt=Doubt.UNCLEAR)
    repeats = await facts.find_related(ANN, [fact.fact], 7)
    await facts.learn(ANN, [replace(fact, repeats=repeats)], 7)
    assert {entry.content: entry.kind for entry in await store.entries.list(ANN)}["We take the train"] == Kind.DECISION
