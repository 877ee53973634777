"""Tests of scopes: valid patterns, matching paths, and the memories for a path."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.errors import MemoryRefused
from memory.facts.learning import Learning
from memory.search.recall import Recall
from memory.search.search import Search
from memory.search.types import Filter
from memory.store.database import Database
from memory.store.entry import Kind, NewEntry, Priority
from memory.store.reinforcement import Reinforcement
from memory.store.scope import MAX_PATH_CHARS, MAX_SCOPE_CHARS, scope_matches, validate_scope
from memory.text.tokens import TokenCounter
from tests.support.fakes import FakeClock
from tests.support.talk import create_ledger, in_utc

ANN, BEN = "telegram:1", "telegram:2"
UTC_ZONE = ZoneInfo("UTC")
PATTERNS = st.one_of(st.text(max_size=250), st.text("ab/*?[]!-.\\ \n{}", max_size=40))


@given(PATTERNS)
@example("././a")
@example(" ./ a")
@example("[")
@example("a" * 10_000)
def test_valid_scope_is_unchanged_and_matches_itself(text: str) -> None:
    try:
        scope = validate_scope(text)
    except MemoryRefused:
        return
    if scope is not None:
        assert validate_scope(scope) == scope
        assert scope_matches(scope, scope)
        assert scope_matches(scope, f"./{scope}")


@given(PATTERNS, PATTERNS)
@example("[", "[")
@example("[z-a]", "b")
@example("[!]", "!")
@example("**/**/**", "a" * 10_000)
def test_any_scope_and_path_can_be_compared(scope: str, path: str) -> None:
    assert scope_matches(scope, path) in (True, False)


@given(st.text("ab", min_size=1), st.lists(st.text("abc.", min_size=1), max_size=8))
def test_everything_in_a_folder_matches_its_scope(folder: str, parts: list[str]) -> None:
    assert scope_matches(f"{folder}/**", "/".join([folder, *parts]))
    assert scope_matches("**", "/".join([folder, *parts]))
    assert not scope_matches(f"{folder}/**", "/".join([f"{folder}x", *parts]))


@pytest.mark.parametrize(
    ("scope", "paths", "others"),
    [
        (
            "src/api/**",
            ["src/api/a.py", "src/api/v1/a.py", "src/api", "src/api/", "./src/api/x", "src\\api\\x"],
            ["src"],
        ),
        ("*.md", ["README.md", ".md"], ["docs/a.md", "md"]),
        ("**/*.md", ["README.md", "docs/a.md", "docs/b/a.md"], ["a.mdx"]),
        ("docs/*.md", ["docs/a.md"], ["docs/b/a.md", "a.md"]),
        ("src/**/test_*.py", ["src/test_a.py", "src/a/b/test_a.py"], ["src/a/b/a.py"]),
        ("src/[a-c]?.py", ["src/ax.py", "src/cx.py"], ["src/dx.py", "src/a.py", "src/a/.py"]),
        ("src/[!a-c].py", ["src/d.py"], ["src/a.py"]),
        ("Makefile", ["Makefile", "./Makefile"], ["makefile", "a/Makefile"]),
        ("docs/", ["docs"], ["docs/a"]),
        ("[a-z", ["[a-z"], ["a"]),
        ("{a,b}", ["{a,b}"], ["a"]),
        ("!a", ["!a"], ["b"]),
        ("", [], ["", "a"]),
    ],
)
def test_scopes_are_globs(scope: str, paths: list[str], others: list[str]) -> None:
    assert [path for path in paths if not scope_matches(scope, path)] == []
    assert [path for path in others if scope_matches(scope, path)] == []
    assert not scope_matches(None, "a")


@pytest.mark.parametrize(
    "scope", ["**/a/" * 40 + "b", "**/*a/" * 30 + "c", "*a" * 90 + "c", "*?" * 90 + "c", "[ab]*" * 39 + "c"]
)
def test_pattern_of_any_shape_is_matched_quickly(scope: str) -> None:
    # As one regular expression, each of these would take minutes.
    assert not scope_matches(scope, "a/" * 499)
    assert not scope_matches(scope, "a" * 999)


def test_paths_and_scopes_have_a_length_limit() -> None:
    assert scope_matches("**", "a" * MAX_PATH_CHARS)
    assert not scope_matches("**", "a" * (MAX_PATH_CHARS + 1))
    assert not scope_matches("*" * (MAX_SCOPE_CHARS + 1), "a")
    assert validate_scope("a" * MAX_SCOPE_CHARS) == "a" * MAX_SCOPE_CHARS
    with pytest.raises(MemoryRefused, match="at most 200 characters, and this one has 10,000"):
        validate_scope("a" * 10_000)


@pytest.mark.parametrize("scope", ["src/[a-z", "src/a]", "a\nb", "a\x00b"])
def test_invalid_pattern_is_refused(scope: str) -> None:
    with pytest.raises(MemoryRefused, match="isn't a path pattern: write one such as"):
        validate_scope(scope)


@pytest.mark.parametrize(
    ("given_as", "stored"),
    [
        (None, None),
        ("  ", None),
        ("./", None),
        ("./././a", "a"),
        (" ./ src\\api\\** ", "src/api/**"),
        ("[a-z]", "[a-z]"),
    ],
)
def test_scopes_are_stored_in_normal_form(given_as: str | None, stored: str | None) -> None:
    assert validate_scope(given_as) == stored


@pytest.fixture
def learning(database: Database, clock: FakeClock) -> Learning:
    return Learning(database, Search(database), create_ledger(database, clock))


@pytest.fixture
def recall(database: Database) -> Recall:
    return Recall(Search(database), database, TokenCounter(), in_utc)


async def learn(
    learning: Learning,
    content: str,
    scope: str | None = None,
    kind: Kind = Kind.FACT,
    priority: Priority | None = None,
    owner: str = ANN,
) -> int:
    return (await learning.learn(owner, NewEntry(content, kind=kind, scope=scope, priority=priority))).entry.id


async def find_scoped(recall: Recall, path: str, limit: int = 20, owner: str = ANN) -> list[str]:
    return [one.hit.content for one in await recall.find_for_path(owner, path, limit)]


async def test_memories_for_a_path_precede_mentions_of_it(
    learning: Learning, recall: Recall, database: Database
) -> None:
    await learn(learning, "The billing module is old")
    await learn(learning, "weak", "src/billing/**")
    strong = await learn(learning, "strong", "src/**")
    await learn(learning, "high", "**/*.py", Kind.PITFALL)
    await learn(learning, "critical", "src/billing/invoice.py", Kind.POLICY)
    await learn(learning, "The billing of others", "docs/**")
    await Reinforcement(database).count_recall([strong])
    assert await find_scoped(recall, "src/billing/invoice.py") == [
        "critical",
        "high",
        "strong",
        "weak",
        "The billing module is old",
    ]
    assert await find_scoped(recall, "src/billing/invoice.py", limit=2) == ["critical", "high"]
    assert await find_scoped(recall, "docs/billing.md") == ["The billing of others", "The billing module is old"]


async def test_outdated_or_foreign_memories_are_not_for_a_path(
    learning: Learning, recall: Recall, database: Database
) -> None:
    former = (await learning.learn(ANN, NewEntry("api former", name="api", kind=Kind.FACT, scope="src/**"))).entry
    await learning.learn(ANN, NewEntry("api now", kind=Kind.FACT), former.name)
    archived = await learn(learning, "api archived", "src/**")
    await learn(learning, "api of Ben", "src/**", owner=BEN)
    await learn(learning, "about the api, of Ben", owner=BEN)
    async with database.transaction() as connection:
        await connection.execute("UPDATE entries SET archived_at = created_at WHERE id = ?", (archived,))
    assert await find_scoped(recall, "src/api.py") == ["api now"]
    assert await find_scoped(recall, "src/api.py", owner="telegram:3") == []


@pytest.mark.parametrize("path", ["", " ", "/", "///", "\x00", "a" * 10_000, "' OR 1 --", "[", "**"])
async def test_any_text_is_accepted_as_a_path(learning: Learning, recall: Recall, path: str) -> None:
    await learn(learning, "about the api", "src/**")
    assert await find_scoped(recall, path) == []


async def test_search_for_a_path_finds_only_its_memories(learning: Learning, database: Database) -> None:
    await learn(learning, "the api is old", "src/**")
    await learn(learning, "the api is documented", "docs/**")
    await learn(learning, "the api is everywhere")
    search = Search(database)

    async def found(path: str | None) -> set[str]:
        return {hit.content for hit in await search.find("api", ANN, only=Filter(path=path))}

    assert await found("src/api/a.py") == {"the api is old"}
    assert await found("./docs/a.md") == {"the api is documented"}
    assert await found("other/a.md") == set()
    assert len(await found(None)) == 3
