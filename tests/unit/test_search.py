"""Tests of search: any query is valid, stable order, filters, owners, languages, and a consistent index."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.files.markdown import MarkdownFiles
from memory.forgetting import Forgetting
from memory.ledger.undo import Undo
from memory.log.compaction import CompactionLimits, CompactionService
from memory.log.sessions import Address
from memory.log.turn_log import Outcome
from memory.messages import Message, Role
from memory.search.search import PASSAGES, Search
from memory.search.types import MESSAGE_KIND, PASSAGE_KINDS, Filter
from memory.store.database import Database
from memory.store.entry import Kind, NewEntry
from memory.store.erasure import PendingErasures
from memory.store.index import reindex
from memory.text.tokens import TokenCounter
from memory.text.words import extract_query_terms, format_date_words, is_chatter, is_small_talk, prepare_for_index
from tests.support.blank import write_blank
from tests.support.fakes import FakeClock
from tests.support.talk import Store, assistant, calls, in_utc, result, user

OWNER = "telegram:12345"
ODD_QUERIES = [
    "",
    " \n\t",
    "what's up?",
    "foo-bar AND NOT (baz) OR * NEAR/3 ^x",
    '"',
    "'; DROP TABLE entries; --",
    "body: {name tags}: a",
    "owner : o1",
    "\x00",
    "a\x00b",
    "\ud83d",
    "🙂👩‍👩‍👧‍👦",
    "пʼять",
    "鍵",
    "备用钥匙在哪里",
    "กุญแจ",
    "a" * 10_000,
    "word " * 2_000,
    "鍵" * 10_000,
    "' ' '",
    "l'",
    "\u0301",
    "ﷺ" * 100,
]


@pytest.fixture
def search(database: Database) -> Search:
    """Return the search on the database."""
    return Search(database)


async def add_note(store: Store, name: str, content: str, owner: str = OWNER, kind: str = "note") -> int:
    return (await store.entries.add(owner, NewEntry(content, name=name, kind=kind))).id


async def search_names(search: Search, query: str, owner: str | None = OWNER, **only: Any) -> list[str]:
    """Return the names of entries and the texts of messages, best first."""
    hits = await search.find(query, owner, only=Filter(**only))
    return [hit.name or hit.content for hit in hits]


async def check_index(database: Database) -> None:
    """Raise StoreError if the index differs from a rebuilt one."""
    async with database.transaction() as connection:
        await connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")


@pytest.mark.parametrize("query", ODD_QUERIES)
async def test_odd_text_is_a_valid_query(store: Store, search: Search, query: str) -> None:
    await add_note(store, "key", "foo-bar: what's up, word?")
    assert isinstance(await search.find(query, OWNER), list)
    assert isinstance(await search.find(query), list)


@given(st.lists(st.text(max_size=200), min_size=1, max_size=30))
def test_any_text_can_be_stored_found_and_used_as_query(texts: list[str]) -> None:
    async def work() -> None:
        async with open_store() as store:
            search = Search(store.database)
            for number, text in enumerate(texts):
                await add_note(store, f"n{number}", f"{text}\nneedle")
            for text in texts:
                await search.find(text, OWNER)
            assert len(await search.find("needle", OWNER)) == len(texts)
            await check_index(store.database)

    asyncio.run(work())


async def test_operators_in_a_query_are_plain_words(store: Store, search: Search) -> None:
    await add_note(store, "a", "cats and dogs")
    await add_note(store, "b", "only cats")
    assert set(await search_names(search, "cats NOT dogs")) == {"a", "b"}
    assert await search_names(search, "dog*") == ["a"]
    assert await search_names(search, "name:cats") == await search_names(search, "name cats")


async def test_query_of_stop_words_finds(store: Store, search: Search) -> None:
    await add_note(store, "hamlet", "To be, or not to be")
    assert await search_names(search, "to be or not to be") == ["hamlet"]


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("war museum", "The museum of the war"),
        ("hat", "She bought a hat"),
        ("Ann's", "a letter to Ann"),
        ("Ann", "Ann’s café"),
        ("O'Brien", "the café of O'Brien"),
        ("o’brien", "O'Brien came"),
        ("Strasse", "unsere Straße"),
        ("STRASSE", "unsere Straße"),
        ("café", "the CAFE at the corner"),
        ("ｗｉｆｉ", "the wifi is slow"),
        ("ΣΊΣΥΦΟΣ", "ο Σίσυφος"),
        ("fi", "ﬁ"),
        ("ключи", "Где мои ключами"),
        ("п’ять", "п'ять козаків"),
        ("пʼять", "п'ять козаків"),
        ("п'ять", "пʼять козаків"),
        ("елка", "новогодняя ёлка"),
        ("Häuser", "mein Haus am See, und die Häuser"),
        ("wo sind die Schlüssel", "Ersatzschlüssel: der Schlüsselbund"),
        ("דירה", "הדירה"[1:]),
        ("كتاب", "كِتَاب"[:1] + "تاب"),
    ],
)
async def test_word_is_found_by_its_other_forms(store: Store, search: Search, query: str, content: str) -> None:
    await add_note(store, "n", content)
    assert await search_names(search, query) == ["n"]


@pytest.mark.parametrize(
    ("content", "query", "other"),
    [
        ("备用钥匙在邻居安娜那里", "钥匙", "匙钥"),
        ("予備の鍵は隣のアンナさんが持っています", "アンナ", "ナンア"),
        ("予備の鍵は隣のアンナさんが持っています", "ｱﾝﾅ", "隣鍵"),
        ("กุญแจสำรองอยู่กับเพื่อนบ้าน", "กุญแจ", "แจกุญ"[::-1]),
        ("여분의 열쇠는 이웃 안나가 가지고 있다", "열쇠", "쇠열"),
        ("ລະຫັດຢູ່ໃນຕູ້", "ລະຫັດ", "ດຫລ"),
    ],
)
async def test_languages_without_spaces_are_found_by_words(
    store: Store, search: Search, content: str, query: str, other: str
) -> None:
    await add_note(store, "n", content)
    await add_note(store, "m", "something else")
    assert await search_names(search, query) == ["n"]
    assert await search_names(search, other) == []


async def test_single_character_is_found(store: Store, search: Search) -> None:
    await add_note(store, "n", "予備の鍵は隣")
    assert await search_names(search, "鍵") == ["n"]


@pytest.mark.parametrize(
    "forms",
    [
        "ключ ключа ключу ключом ключи ключей ключам ключами ключах",
        "стена стены стене стену стеной стенам стенами стенах",
        "сусідка сусідки сусідку сусідкою",
        "зелёный зелёного зелёному зелёным зеленые зелёных",
        "старий старого старому старим старих старими",
    ],
)
async def test_cyrillic_forms_find_each_other(store: Store, search: Search, forms: str) -> None:
    words = forms.split()
    for word in words:
        await add_note(store, word, f"здесь {word} лежит")
    for word in words:
        assert set(await search_names(search, word)) == set(words)


async def test_equal_scores_are_sorted_newest_first(store: Store, search: Search, clock: FakeClock) -> None:
    for number in range(6):
        await add_note(store, f"n{number}", "the same words")
        clock.forward(minutes=number % 2)
    expected = ["n5", "n4", "n3", "n2", "n1", "n0"]
    assert await search_names(search, "same words") == expected
    await reindex(store.database)
    assert await search_names(search, "same words") == expected


async def test_hits_carry_scores_and_none_is_cut_off(store: Store, search: Search) -> None:
    await add_note(store, "best", "apple apple apple")
    for number in range(60):
        await add_note(store, f"n{number}", f"apple and {'pear ' * number}")
    hits = await search.find("apple", OWNER)
    assert len(hits) == 61
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    assert hits[0].name == "best"
    assert [hit.id for hit in await search.find("apple", OWNER, limit=3)] == [hit.id for hit in hits[:3]]


async def test_names_tags_and_scope_are_searched_but_not_aliases(store: Store, search: Search) -> None:
    await store.entries.add(OWNER, NewEntry("body", name="title", tags=("label",), scope="docs/guide/**"))
    await store.entries.alias(OWNER, "title", "nickname")
    for query in ("body", "title", "label", "guide"):
        assert await search_names(search, query) == ["title"]
    assert await search_names(search, "nickname") == []
    await store.entries.rename(OWNER, "title", "heading")
    assert await search_names(search, "title") == []
    assert await search_names(search, "heading") == ["heading"]


async def test_outcome_of_an_episode_is_searched_also_after_undo(store: Store, search: Search, tmp_path: Path) -> None:
    episode = NewEntry("The server ran out of disk", name="disk", kind=Kind.EPISODE, outcome="Old logs were moved")
    await store.entries.add(OWNER, episode)
    assert (await search.find("moved", OWNER))[0].outcome == "Old logs were moved"
    await store.entries.remove(OWNER, "disk")
    assert await search_names(search, "moved") == []
    files = MarkdownFiles(tmp_path, in_utc, recent_days=7, max_memory_size=8192)
    await Undo(store.database, files, PendingErasures(store.database), store.clock).undo(OWNER)
    assert await search_names(search, "moved") == ["disk"]
    await check_index(store.database)


async def test_filters_limit_hits_by_kind_time_and_scope(store: Store, search: Search, clock: FakeClock) -> None:
    start = clock.now
    for day, (name, kind, scope) in enumerate(
        [("a", Kind.NOTE, None), ("b", Kind.FACT, "src/**"), ("c", "recipe", None), ("d", Kind.NOTE, "docs/**")]
    ):
        clock.now = start + timedelta(days=day)
        await store.entries.add(OWNER, NewEntry("apple", name=name, kind=kind, scope=scope))

    async def left(**only: Any) -> str:
        return "".join(sorted(await search_names(search, "apple", **only)))

    assert await left() == "abcd"
    assert await left(kinds=["note"]) == "ad"
    assert await left(kinds={"recipe", Kind.FACT}) == "bc"
    assert await left(kinds=[]) == ""
    assert await left(path="src/api/users.py") == "b"
    assert await left(path="src/**") == "b"
    assert await left(path="source/users.py") == ""
    assert await left(since=start + timedelta(days=1)) == "bcd"
    assert await left(until=start + timedelta(days=1)) == "a"
    assert await left(since=start + timedelta(days=1), until=start + timedelta(days=3), kinds=["note", "fact"]) == "b"
    kyiv = (start + timedelta(days=2)).astimezone(ZoneInfo("Europe/Kyiv"))
    assert await left(since=kyiv) == "cd"


async def test_archived_and_superseded_entries_are_found_unless_filtered_out(store: Store, search: Search) -> None:
    now, former, archived = [await add_note(store, name, "apple") for name in ("now", "former", "archived")]
    async with store.database.transaction() as connection:
        await connection.execute("UPDATE entries SET superseded_by = ? WHERE id = ?", (now, former))
        await connection.execute("UPDATE entries SET archived_at = created_at WHERE id = ?", (archived,))
    assert await search_names(search, "apple") == ["archived", "former", "now"]
    assert await search_names(search, "apple", archived=False) == ["former", "now"]
    assert await search_names(search, "apple", archived=True) == ["archived"]
    assert await search_names(search, "apple", current=True) == ["archived", "now"]


async def test_owners_find_only_their_own_entries(store: Store, search: Search) -> None:
    await add_note(store, "mine", "apple")
    await add_note(store, "theirs", "apple", "telegram:2")
    await store.commit_exchange(await store.session("2"), "an apple a day", "keeps the doctor away")
    assert await search_names(search, "apple") == ["mine"]
    assert set(await search_names(search, "apple", "telegram:2")) == {
        "theirs",
        "an apple a day",
        "keeps the doctor away",
    }
    assert await search_names(search, "apple", "telegram:3") == []
    assert len(await search_names(search, "apple", None)) == 4
    for query in ("o1", "o2", "owner o2", "telegram"):
        assert await search_names(search, query) == []


async def test_owners_find_only_their_own_entries_with_largest_ids(store: Store, search: Search) -> None:
    async with store.database.transaction() as connection:  # Raises the next id far beyond any real one.
        await connection.execute("INSERT OR REPLACE INTO sqlite_sequence (name, seq) VALUES ('entries', 1 << 37)")
    for owner in (OWNER, "telegram:2", "telegram:3"):
        await add_note(store, f"of {owner}", "apple", owner)
    for owner in (OWNER, "telegram:2", "telegram:3"):
        assert await search_names(search, "apple", owner) == [f"of {owner}"]
    await store.entries.remove("telegram:2", "of telegram:2")
    assert await search_names(search, "apple", "telegram:2") == []
    assert set(await search_names(search, "apple", None)) == {f"of {OWNER}", "of telegram:3"}
    await check_index(store.database)


async def test_message_is_found_by_words_speaker_date_and_neighbours(
    store: Store, search: Search, clock: FakeClock
) -> None:
    session = await store.session()
    await store.commit_turn(session, Message(Role.USER, "Where is the lighthouse?", clock(), speaker="Olena"))
    await store.commit_turn(session, assistant("In Odesa.", clock()))
    await store.commit_turn(session, user("Thanks a lot", clock()))
    await store.commit_turn(session, user("Unrelated matters", clock()))
    hits = await search.find("lighthouse", OWNER)
    assert [hit.content for hit in hits] == ["Where is the lighthouse?", "In Odesa.", "Thanks a lot"]
    assert hits[0].score > hits[1].score > hits[2].score
    assert (hits[0].kind, hits[0].name, hits[0].source, hits[1].source) == (MESSAGE_KIND, None, "Olena", "assistant")
    assert (await search_names(search, "olena"))[0] == "Where is the lighthouse?"
    assert len(await search_names(search, "february saturday")) == 4
    assert await search_names(search, "march") == []


async def test_neighbours_are_in_one_conversation(store: Store, search: Search) -> None:
    session = await store.session()
    await store.commit_exchange(session, "the lighthouse", "is white")
    await store.sessions.clear_messages(session.id)
    await store.commit_exchange(session, "something", "else")
    assert await search_names(search, "lighthouse") == ["the lighthouse", "is white"]


async def test_tool_calls_and_results_are_not_searched(store: Store, search: Search) -> None:
    session = await store.session()
    await store.commit_turn(session, user("say it"), calls("1"), result("1", "apple result"), assistant("done"))
    assert await search_names(search, "apple memory_file") == []


async def test_retried_turn_leaves_the_index(store: Store, search: Search) -> None:
    session = await store.session()
    await store.commit_exchange(session, "before", "yes")
    first = await store.commit_exchange(session, "the zebra question", "a wrong answer")
    await store.commit_turn(session, user("the zebra question"), assistant("a right answer"), replaces=first)
    assert await search_names(search, "wrong") == []
    assert (await search_names(search, "zebra"))[0] == "the zebra question"
    assert (await search_names(search, "zebra")).count("the zebra question") == 1
    await check_index(store.database)


async def test_deleted_session_leaves_the_index(store: Store, search: Search) -> None:
    session, other = await store.session(), await store.session("2")
    await store.commit_exchange(session, "a zebra", "yes")
    await store.commit_exchange(other, "another zebra", "no")
    assert await store.sessions.delete(session.id)
    assert await search_names(search, "zebra", None) == ["another zebra", "no"]
    await check_index(store.database)


async def test_forgotten_text_leaves_the_index(store: Store, search: Search, tmp_path: Path) -> None:
    await add_note(store, "mine", "zebra")
    await store.commit_exchange(await store.session(), "a zebra", "yes")
    await store.commit_exchange(await store.session("2"), "another zebra", "no")
    files = MarkdownFiles(tmp_path, in_utc, recent_days=7, max_memory_size=8192)
    await Forgetting(store.database, files, PendingErasures(store.database)).forget_all(OWNER)
    assert await search_names(search, "zebra", None) == ["another zebra", "no"]
    await check_index(store.database)


async def test_failed_turn_is_found(store: Store, search: Search) -> None:
    session = await store.session()
    await store.commit_turn(session, user("a zebra?"), outcome=Outcome.FAILED)
    assert await search_names(search, "zebra") == ["a zebra?"]


@contextlib.asynccontextmanager
async def open_store() -> AsyncIterator[Store]:
    """Open a temporary store for one example."""
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(write_blank(Path(folder) / "mneme.db"))
        try:
            yield Store.create(database, FakeClock())
        finally:
            await database.close()


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["exchange", "exchange", "exchange", "tools", "retry", "new", "compact", "delete", "note"]),
            st.sampled_from(["1", "2"]),
            st.sampled_from(["apple", "銀の鍵", "ключами", "Straße l'été", "", "ok"]),
        ),
        max_size=25,
    )
)
def test_index_always_equals_a_rebuilt_one(steps: list[tuple[str, str, str]]) -> None:
    async def work() -> None:
        async with open_store() as store:
            for step, chat, text in steps:
                await run_step(store, step, chat, text)
            await check_index(store.database)
            search = Search(store.database)
            queries = ["apple", "鍵", "ключ", "strasse", "user", "february", "ok"]
            before = [await search.find(query) for query in queries]
            await reindex(store.database)
            assert [await search.find(query) for query in queries] == before

    asyncio.run(work())


async def run_step(store: Store, step: str, chat: str, text: str) -> None:
    session = await store.sessions.get_or_create(Address("telegram", chat))
    last = await store.turns.find_last(session.id)
    match step:
        case "exchange":
            await store.commit_turn(session, user(f"{text} asked"), user(text), assistant(f"{text} answered"))
        case "tools":
            await store.commit_turn(session, user(text), calls("1"), result("1", text), assistant(f"{text} done"))
        case "retry" if last is not None:
            await store.commit_turn(session, *last.user_messages, assistant(f"{text} again"), replaces=last.id)
        case "new":
            await store.sessions.clear_messages(session.id)
        case "compact":
            limits = CompactionLimits(50_000, 20, 50)
            service = CompactionService(store.sessions, store.entries, None, limits, TokenCounter(), store.clock)
            await service.compact(session, 2)
        case "delete":
            await store.sessions.delete(session.id)
        case "note" if text:
            await store.entries.add(session.owner, NewEntry(text))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("?!", []),
        ("The key", ['"key"']),
        ("the", ['"the"']),
        ("Ann's key", ['"ann"', '"key"']),
        ("l'été de Paul", ['"été"', '"paul"', '"paul" *']),
        ("wo sind die Schlüssel", ['"schlüssel"', '"schlussel" *']),
        ("die hard", ['"die"', '"hard"']),
        ("鍵は", ['"鍵 は"']),
        ("鍵", ['"鍵"']),
        ("ключами", ['"ключ"']),
        ("key KEY Key", ['"key"']),
    ],
)
def test_query_terms_are_stemmed_and_quoted(text: str, terms: list[str]) -> None:
    assert extract_query_terms(text) == terms


def test_query_has_at_most_40_terms() -> None:
    assert len(extract_query_terms(" ".join(f"w{n}" for n in range(1000)))) == 40


@given(st.text(max_size=300))
def test_query_term_can_not_escape_its_quotes(text: str) -> None:
    for term in extract_query_terms(text):
        assert term.startswith('"')
        assert term.removesuffix(" *").endswith('"')
        assert '"' not in term.removesuffix(" *")[1:-1]


@pytest.mark.parametrize(
    ("text", "indexed"),
    [
        (None, None),
        ("Plain words", "Plain words"),
        ("Straße", "strasse"),
        ("ﬁn", "fin"),
        ("Ключами от дома", "ключ от дом"),
        ("鍵は", " 鍵  は "),
        ("ann’s café", "ann’s café"),
    ],
)
def test_indexable_text_changes_only_with_a_rebuilding_migration(text: str | None, indexed: str | None) -> None:
    """If a change is intended, add REBUILD to the end of MIGRATIONS and update the expectation."""
    assert prepare_for_index(text) == indexed


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        ("2026-02-07T12:15:00.000Z", "2026 February 7 Saturday"),
        ("nonsense", None),
        (None, None),
    ],
)
def test_date_is_found_by_year_month_day_and_weekday(moment: str | None, words: str | None) -> None:
    assert format_date_words(moment) == words


@pytest.mark.parametrize(
    "text", ["ok", "Thanks!", "Good morning 🙂", "спасибо", "你好", "", "how are you?", "Danke, ja"]
)
def test_greetings_and_acknowledgements_are_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text", ["key?", "ok, the key is at Ann's", "谢谢你的钥匙", "7", "no " * 7, "No, I never work"]
)
def test_informative_word_is_no_small_talk(text: str) -> None:
    assert not is_small_talk(text)


def test_moment_of_the_clock_is_a_date() -> None:
    assert format_date_words(datetime(2026, 5, 3, tzinfo=UTC).isoformat()) == "2026 May 3 Sunday"


async def test_owner_of_most_entries_finds_only_their_own(store: Store, search: Search) -> None:
    for number in range(40):
        await store.entries.add(OWNER, NewEntry(f"apple {number}", name=f"mine {number}"))
    for number in range(4):
        await store.entries.add("telegram:other", NewEntry("apple apple apple", name=f"theirs {number}"))
    assert {hit.owner for hit in await search.find("apple", OWNER)} == {OWNER}
    assert len(await search.find("apple", OWNER)) == 40
    assert len(await search.find("apple", OWNER, limit=2)) == 2
    assert len(await search.find("apple", "telegram:other")) == 4


async def test_reading_only_the_best_messages_omits_none_of_them(
    store: Store, search: Search, clock: FakeClock
) -> None:
    session = await store.session()
    for number in range(90):
        await store.commit_exchange(
            session, f"{'lighthouse ' * (1 + number % 7)} number {number}", f"the lighthouse {number}"
        )
        if number % 10 == 0:
            clock.forward(minutes=1)
            await add_note(store, f"n{number}", f"a lighthouse {'word ' * (number % 4)}", owner=session.owner)
    best = (await search.find_for_message("lighthouse", session.owner, 0)).passages
    everything = await search.find("lighthouse", session.owner, only=Filter(kinds=PASSAGE_KINDS, archived=False))
    assert len(best) == PASSAGES < len(everything)
    assert [(hit.kind, hit.id) for hit in best] == [(hit.kind, hit.id) for hit in everything][:PASSAGES]


@pytest.mark.parametrize(
    "text",
    [
        "How are you doing today?",
        "Wie geht es dir heute so?",
        "¿Cómo estás hoy?",
        "Comment vas-tu aujourd'hui ?",
        "Как твои дела?",
        "Як ти сьогодні?",
    ],
)
def test_question_about_wellbeing_is_chatter(text: str) -> None:
    assert is_chatter(text)
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "What do you know about me?",
        "What did you tell me yesterday?",
        "What did you say last time?",
        "Was weißt du über mich?",
        "When did you see her?",
        "Как ты мне советовал?",
        "How is your sister doing?",
    ],
)
def test_question_about_oneself_or_earlier_talk_is_no_chatter(text: str) -> None:
    assert not is_chatter(text)
