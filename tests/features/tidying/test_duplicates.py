"""Tests of finding memories with the same content."""

from __future__ import annotations

from itertools import count, permutations
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.features.tidying.tidying import find_duplicates
from memory.store.entry import Entry, Kind
from tests.support.talk import NOON

ids = count(1)


def create_entry(content: str, **other: object) -> Entry:
    """Return an entry with the content."""
    values: dict[str, object] = {
        "id": next(ids), "owner": "telegram:1", "name": "m", "aliases": (), "kind": Kind.FACT, "content": content,
        "tags": (), "scope": None, "priority": "normal", "author": "user", "trusted": True, "source_message_id": None,
        "reinforcement_count": 1, "last_reinforced_at": NOON, "outcome": None, "steps": (), "success_count": 0,
        "failure_count": 0, "created_at": NOON, "subject": None, "valid_from": NOON, "superseded_by": None,
        "archived_at": None,
    }  # fmt: skip
    return Entry(**(values | other))  # type: ignore[arg-type]  # Column values.


def group_duplicates(*entries: Entry) -> list[list[str]]:
    return [[one.content for one in group] for group in find_duplicates(entries)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Likes green tea", "likes green tea."),
        ("The user likes green tea", "Likes green tea"),
        ("Always run 3 tests before a release", "Always run 3 tests before the release"),
        ("Don't use tabs in Python", "Don't use tabs in Python!"),
        ("Запасной ключ — у Анны", "запасной ключ у Анны"),
        ("我最喜欢的颜色是蓝色", "我最喜欢的颜色是蓝色。"),
    ],
)
def test_equal_content_is_a_duplicate(one: str, other: str) -> None:
    assert group_duplicates(create_entry(one), create_entry(other)) == [[one, other]]
    assert group_duplicates(create_entry(other), create_entry(one)) == [[other, one]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The meeting room is number 12", "The meeting room is number 21"),
        ("The freezer stands at -18 degrees", "The freezer stands at 18 degrees"),
        ("The rent of the flat is $900", "The rent of the flat is €900"),
        ("Likes green tea", "Does not like green tea"),
        ("Likes green tea", "Never likes green tea"),
        ("The team meets on Monday in the big room", "The team meets on Tuesday in the big room"),
        ("Alexander has a red bicycle", "Alexandra has a red bicycle"),
        ("Takes vitamin C every morning", "Takes vitamin D every morning"),
        ("Takes vitamin A every morning", "Takes vitamin E every morning"),
        ("Prefers C++ for small games", "Prefers C# for small games"),
        ("His birthday is in the middle of May", "Her birthday is in the middle of May"),
        ("Takes the white pill with water every morning before breakfast",
         "Takes the white pill with water every morning after breakfast"),
        ("Flies from Kyiv on Monday", "Flies to Kyiv on Monday"),
        ("Flies from Kyiv to Lviv", "Flies from Lviv to Kyiv"),
        ("The bicycle is red", "The bicycle was red"),
        ("Anna drinks strong black coffee", "Anna drinks strong black coffee daily"),
        ("Under the pot is the spare key", "The spare key is under the pot"),
        ("Likes tea", "Likes green tea in the garden"),
        ("Anna works as a nurse", "Anna worked as a nurse"),
        ("Александр любит зелёный чай", "Александра любит зелёный чай"),
        ("Анна работала в большом банке", "Анна работает в большом банке"),
        ("Её машина стоит во дворе", "Его машина стоит во дворе"),
        ("Анна любит зелёный чай", "Анна не любит зелёный чай"),
        ("Зустріч у понеділок о десятій", "Зустріч у вівторок о десятій"),
        ("Мій брат живе у Львові", "Твій брат живе у Львові"),
        ("我最喜欢的颜色是蓝色", "我最喜欢的颜色是红色"),
        ("我喜欢绿茶", "我不喜欢绿茶"),
        ("我们公司的新办公室在北京市朝阳区建国路附近的一座很高的大楼里面三层",
         "我们公司的新办公室在北京市朝阳区建国路附近的一座很高的大楼里面五层"),
        ("", ""),
        ("It is", "It was"),
    ],
)  # fmt: skip
def test_content_that_differs_in_one_word_is_separate(one: str, other: str) -> None:
    assert group_duplicates(create_entry(one), create_entry(other)) == []
    assert group_duplicates(create_entry(other), create_entry(one)) == []


@pytest.mark.parametrize(
    "other",
    [
        {"kind": Kind.POLICY},
        {"scope": "src/**"},
        {"trusted": False},
    ],
)
def test_equal_content_of_another_kind_scope_or_trust_is_separate(other: dict[str, object]) -> None:
    assert group_duplicates(create_entry("Likes green tea"), create_entry("Likes green tea", **other)) == []


def test_duplicates_have_one_subject() -> None:
    tea = {subject: create_entry("Likes green tea", subject=subject) for subject in (None, "drinks", "breakfast")}
    assert [[one.subject for one in group] for group in find_duplicates([tea["drinks"], tea["breakfast"]])] == []
    for order in permutations(tea.values()):
        assert [len(group) for group in find_duplicates(order)] == [2]


def test_many_duplicates_are_all_found() -> None:
    assert [len(group) for group in find_duplicates([create_entry("Likes green tea") for _ in range(500)])] == [500]


words = st.sampled_from("tea green cup garden Anna Kyiv 5 12 not never his her чай зелёный ключ 茶 绿色 C A".split())
contents = st.lists(words, max_size=8).map(" ".join)
kinds = st.sampled_from([Kind.FACT, Kind.POLICY])


@given(
    st.lists(st.builds(lambda content, kind: create_entry(content, kind=kind), contents | st.text(max_size=40), kinds))
)
def test_groups_are_disjoint_and_of_one_kind(entries: list[Entry]) -> None:
    groups = find_duplicates(entries)
    members = [one.id for group in groups for one in group]
    assert len(members) == len(set(members))
    assert all(len(group) > 1 and len({one.kind for one in group}) == 1 for group in groups)
    firsts = {group[0].id for group in groups}
    left = [one for one in entries if one.id in firsts or one.id not in members]
    assert find_duplicates(left) == []


@given(contents, contents)
def test_similarity_is_symmetric(one: str, other: str) -> None:
    assert bool(group_duplicates(create_entry(one), create_entry(other))) == bool(
        group_duplicates(create_entry(other), create_entry(one))
    )


def test_composed_and_decomposed_letters_are_equal() -> None:
    composed, decomposed = "Ёлка стоит в углу", normalize("NFD", "Ёлка стоит в углу")
    assert group_duplicates(create_entry(decomposed), create_entry(composed)) == [[decomposed, composed]]
