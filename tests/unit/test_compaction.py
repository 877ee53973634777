"""Tests of compaction: its triggers, where it cuts, and that failures lose nothing."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from memory.log.compaction import (
    MAX_EXTRACT_CHARS,
    MAX_SUMMARY_CHARS,
    MAX_TRANSCRIPT_CHARS,
    SUMMARY_TIMEOUT_SECONDS,
    CompactionLimits,
    CompactionResult,
    CompactionService,
    Summarizer,
    extract,
    find_cut,
    format_transcript,
)
from memory.log.sessions import Session
from memory.messages import Completion, Message, Provenance, Role, drop_incomplete_calls
from memory.text.tokens import TokenCounter
from memory.text.wording import find_telling_words
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says as Reply
from tests.support.talk import NOON, Store, assistant, calls, result, system, user

MODEL = "scripted"
LARGE_WINDOW = 200_000
LIMITS = CompactionLimits(max_context_tokens=50_000, keep_last_messages=20, memory_window=50)


@dataclass(slots=True)
class NumberingSummarizer:
    """Summariser that numbers its summaries and appends each to the earlier one."""

    asked: list[tuple[str | None, str]] = field(default_factory=list)

    async def summarize(self, earlier: str | None, transcript: str, seconds: float) -> Completion:
        self.asked.append((earlier, transcript))
        part = f"part {len(self.asked)}"
        return Completion(f"{earlier}; {part}" if earlier else f"Garden plans: {part}")


class FailingModel:
    """Summariser with an unreachable model."""

    async def summarize(self, earlier: str | None, transcript: str, seconds: float) -> Completion:
        raise ConnectionError("the model is out of reach")


class HangingModel:
    """Summariser with a model that never answers."""

    async def summarize(self, earlier: str | None, transcript: str, seconds: float) -> Completion:
        await asyncio.Event().wait()
        return Completion("never")


@dataclass(slots=True)
class ConstantSummarizer:
    """Summariser that always returns the same text."""

    text: str
    is_whole: bool = True

    async def summarize(self, earlier: str | None, transcript: str, seconds: float) -> Completion:
        return Completion(self.text, self.is_whole)


@pytest.fixture
async def session(store: Store) -> Session:
    return await store.session()


def service(
    store: Store,
    summarizer: Summarizer | None,
    limits: CompactionLimits = LIMITS,
    counter: TokenCounter | None = None,
) -> CompactionService:
    return CompactionService(store.sessions, store.entries, summarizer, limits, counter or TokenCounter(), store.clock)


async def compact_if_needed(
    store: Store, compaction: CompactionService, session: Session, model: str, window: int
) -> CompactionResult | None:
    """Compact the current conversation if a turn would do so."""
    transcript = await store.sessions.read_transcript(session.id)
    return await compaction.compact_if_needed(session, transcript, model, window)


async def talk(store: Store, session: Session, exchanges: int, size: int = 10) -> None:
    for n in range(exchanges):
        await store.commit_exchange(session, f"question {n} ".ljust(size, "q"), f"answer {n} ".ljust(size, "a"))


async def archives(store: Store) -> list[str]:
    return [row["content"] for row in await store.database.rows("SELECT content FROM entries ORDER BY id")]


groups = st.one_of(
    st.just([user("u")]),
    st.just([assistant("a")]),
    st.integers(1, 3).map(lambda n: [calls(*map(str, range(n))), *(result(str(i)) for i in range(n))]),
)
logs = st.lists(groups, max_size=20).map(lambda made: [message for group in made for message in group])


@given(logs, st.integers(1, 30))
def test_cut_is_at_a_user_message_between_tool_groups(log: list[Message], keep: int) -> None:
    cut = find_cut(log, keep)
    assert 0 <= cut < max(1, len(log))
    assert cut == 0 or log[cut].role is Role.USER
    assert drop_incomplete_calls(log[:cut]) == log[:cut]
    assert drop_incomplete_calls(log[cut:]) == log[cut:]


@given(logs, st.integers(1, 30))
def test_cut_keeps_the_requested_number_of_messages(log: list[Message], keep: int) -> None:
    cut = find_cut(log, keep)
    places = [i for i, message in enumerate(log) if i > 0 and message.role is Role.USER]
    if len(log) <= keep or not places:
        assert cut == 0
    elif places[0] <= len(log) - keep:
        assert len(log) - cut >= keep
        assert not [i for i in places if cut < i <= len(log) - keep]
    else:
        assert cut == places[0]


async def test_compaction_summarises_old_messages_and_keeps_the_newest(store: Store, session: Session) -> None:
    await talk(store, session, 10)
    done = await service(store, NumberingSummarizer()).compact(session, keep=4)
    assert done is not None
    assert (done.removed, done.kept, done.summarized) == (16, 4, True)
    assert done.archive_name == "archive-2026-02-07-garden-plans-part"
    transcript = await store.sessions.read_transcript(session.id)
    assert transcript.summary == "Garden plans: part 1"
    assert [m.content.split()[1] for m in transcript.messages] == ["8", "8", "9", "9"]
    (marker,) = await store.list_markers(session)
    assert (marker.archive_name, marker.archived_at, marker.first_kept_message_id) == (
        done.archive_name,
        store.clock(),
        transcript.messages[0].id,
    )
    assert await store.sessions.count_messages(session.id) == 20  # The log is append-only.


@pytest.mark.parametrize("exchanges", [0, 1, 5])
async def test_short_conversation_is_not_compacted(store: Store, session: Session, exchanges: int) -> None:
    await talk(store, session, exchanges)
    summaries = NumberingSummarizer()
    assert await service(store, summaries).compact(session, keep=10) is None
    assert summaries.asked == []
    assert await archives(store) == []


async def test_conversation_without_a_place_to_cut_is_not_compacted(store: Store, session: Session) -> None:
    work = [message for n in range(40) for message in (calls(str(n)), result(str(n)))]
    await store.commit_turn(session, user("Tidy my notes"), *work, assistant("Tidy."))
    assert await service(store, NumberingSummarizer()).compact(session, keep=1) is None
    assert await compact_if_needed(store, service(store, NumberingSummarizer()), session, MODEL, LARGE_WINDOW) is None


async def test_compaction_right_after_another_does_nothing(store: Store, session: Session) -> None:
    await talk(store, session, 10)
    compaction = service(store, NumberingSummarizer())
    assert await compaction.compact(session, keep=4) is not None
    assert await compaction.compact(session, keep=4) is None


async def test_conversation_over_fifty_messages_is_compacted(store: Store, session: Session) -> None:
    compaction = service(store, NumberingSummarizer())
    await talk(store, session, 25)
    assert await compact_if_needed(store, compaction, session, MODEL, LARGE_WINDOW) is None
    await talk(store, session, 1)
    done = await compact_if_needed(store, compaction, session, MODEL, LARGE_WINDOW)
    assert done is not None
    assert (done.removed, done.kept) == (32, 20)
    assert await compact_if_needed(store, compaction, session, MODEL, LARGE_WINDOW) is None


async def test_conversation_over_the_token_estimate_is_compacted(store: Store, session: Session) -> None:
    compaction = service(store, NumberingSummarizer())
    for _ in range(7):  # 147,000 characters are 42,000 tokens by estimate, plus 8,000: the limit
        await store.commit_exchange(session, "q" * 10_500, "a" * 10_500)
    assert await compact_if_needed(store, compaction, session, MODEL, LARGE_WINDOW) is None
    await store.commit_exchange(session, "more", "of it")
    with capture_logs() as logs:
        assert await compact_if_needed(store, compaction, session, MODEL, LARGE_WINDOW) is not None
    assert (logs[0]["event"], logs[0]["threshold"], logs[0]["messages"]) == ("context_too_large", 50_000, 16)


@pytest.mark.parametrize(
    ("window", "threshold"), [(200_000, 50_000), (62_500, 50_000), (32_000, 25_600), (8_192, 6_553)]
)
def test_threshold_is_four_fifths_of_window_or_the_setting(store: Store, window: int, threshold: int) -> None:
    assert service(store, None).compute_threshold(window) == threshold


async def test_reported_token_count_replaces_the_estimate(store: Store, session: Session) -> None:
    counter = TokenCounter()
    words = "q" * 10_000
    for _ in range(30):
        counter.observe(MODEL, [words], 1_000)  # This model has ten characters per token.
    for _ in range(8):
        await store.commit_exchange(session, words, words)
    compaction = service(store, NumberingSummarizer(), counter=counter)
    assert await compact_if_needed(store, compaction, session, MODEL, LARGE_WINDOW) is None
    assert await compact_if_needed(store, compaction, session, "another model", LARGE_WINDOW) is not None


async def test_kept_messages_over_the_limit_are_reduced(store: Store, session: Session) -> None:
    for _ in range(10):
        await store.commit_exchange(session, "q" * 10_000, "a" * 10_000)
    compaction = service(store, NumberingSummarizer())
    done = await compact_if_needed(store, compaction, session, MODEL, LARGE_WINDOW)
    assert done is not None
    assert 0 < done.kept < 12
    assert await compact_if_needed(store, compaction, session, MODEL, LARGE_WINDOW) is None


@pytest.mark.parametrize("giant_first", [True, False])
async def test_giant_message_is_not_compacted_forever(store: Store, session: Session, giant_first: bool) -> None:
    summaries = NumberingSummarizer()
    compaction = service(store, summaries)
    if not giant_first:
        await talk(store, session, 3)
    await store.commit_exchange(session, "x" * 900_000, "That is long.")
    for _ in range(5):
        await compact_if_needed(store, compaction, session, MODEL, LARGE_WINDOW)
    assert len(summaries.asked) <= 1
    await talk(store, session, 1)
    for _ in range(5):
        await compact_if_needed(store, compaction, session, MODEL, LARGE_WINDOW)
    assert len(summaries.asked) <= 2
    assert await store.list_visible(session) == ["question 0 ", "answer 0 a"]
    assert max(len(text) for _, text in summaries.asked) <= MAX_TRANSCRIPT_CHARS


async def test_settings_that_exceed_the_window_do_not_compact_every_turn(store: Store, session: Session) -> None:
    summaries = NumberingSummarizer()
    limits = CompactionLimits(max_context_tokens=50_000, keep_last_messages=1000, memory_window=50)
    compaction = service(store, summaries, limits)
    for _ in range(60):
        await talk(store, session, 1)
        await compact_if_needed(store, compaction, session, MODEL, LARGE_WINDOW)
    assert 1 <= len(summaries.asked) <= 8


async def test_disabled_compaction_still_works_on_command(store: Store, session: Session) -> None:
    await talk(store, session, 40)
    compaction = service(store, NumberingSummarizer(), replace(LIMITS, enabled=False))
    assert await compact_if_needed(store, compaction, session, MODEL, LARGE_WINDOW) is None
    assert await compaction.compact(session, keep=10) is not None


@pytest.mark.parametrize(
    "summarizer",
    [
        None,
        FailingModel(),
        HangingModel(),
        ConstantSummarizer(" \n"),
        ConstantSummarizer("They spoke of", is_whole=False),
    ],
)
async def test_archive_without_a_summary_holds_an_extract(
    store: Store, session: Session, summarizer: Summarizer | None
) -> None:
    await store.commit_exchange(session, "My sister Daria\nlives in Odesa", "Noted.")
    await talk(store, session, 5)
    limits = replace(LIMITS, summary_timeout=0.01)
    done = await service(store, summarizer, limits).compact(session, keep=10)
    assert done is not None
    assert not done.summarized
    assert done.archive_name == "archive-2026-02-07-sister-daria-lives"
    assert await archives(store) == ["The user said:\n- My sister Daria lives in Odesa"]
    assert (
        await store.sessions.read_transcript(session.id)
    ).summary == "The user said:\n- My sister Daria lives in Odesa"


def test_summary_timeout_is_fifteen_seconds() -> None:
    assert LIMITS.summary_timeout == SUMMARY_TIMEOUT_SECONDS == 15


async def test_endless_summary_is_cut(store: Store, session: Session) -> None:
    await talk(store, session, 10)
    await service(store, ConstantSummarizer("word " * 100_000)).compact(session, keep=4)
    assert await archives(store) == [("word " * 100_000)[:MAX_SUMMARY_CHARS].strip()]


async def test_earlier_summary_is_passed_on_through_ten_compactions(store: Store, session: Session) -> None:
    summaries = NumberingSummarizer()
    compaction = service(store, summaries)
    for n in range(10):
        await talk(store, session, 5)
        before = (await store.sessions.read_transcript(session.id)).summary
        assert await compaction.compact(session, keep=2) is not None
        assert summaries.asked[n][0] == before
    parts = "; ".join(["Garden plans: part 1", *(f"part {n}" for n in range(2, 11))])
    assert (await store.sessions.read_transcript(session.id)).summary == parts
    assert len(await archives(store)) == len(await store.list_markers(session)) == 10
    assert await store.sessions.count_messages(session.id) == 100


async def test_compactions_without_model_keep_first_and_latest_words(store: Store, session: Session) -> None:
    compaction = service(store, None)
    await store.commit_exchange(session, "I am Olena", "Hello Olena")
    names = []
    for n in range(10):
        await store.commit_exchange(session, f"I want to talk about subject{n:02} {'x' * 400}", "Gladly")
        await talk(store, session, 3)
        done = await compaction.compact(session, keep=2)
        assert done is not None
        names.append(done.archive_name)
    summary = (await store.sessions.read_transcript(session.id)).summary or ""
    assert "Olena" in summary
    assert "subject09" in summary
    assert len(summary) <= MAX_EXTRACT_CHARS + 1
    assert all(f"subject{n:02}" in content for n, content in enumerate(await archives(store)))
    assert len(set(names)) == 10


async def test_transcript_omits_tool_results_and_shortens_long_messages(store: Store, session: Session) -> None:
    summaries = NumberingSummarizer()
    document = f"Lease {'q' * 50_000} signed by Ann"
    await store.commit_turn(session, user(document), calls("1"), result("1", "secret " * 100), assistant("a" * 1000))
    await talk(store, session, 2)
    await service(store, summaries).compact(session, keep=4)
    ((_earlier, asked),) = summaries.asked
    read, answer = asked.split("\nassistant: ")
    assert read.startswith("user: Lease qqq")
    assert read.endswith("signed by Ann")
    assert answer == "a" * 1000
    assert len(asked) <= MAX_TRANSCRIPT_CHARS


async def test_transcript_of_many_messages_includes_each(store: Store, session: Session) -> None:
    text = format_transcript([user(f"{n} " + "q" * 1000) for n in range(60)])
    assert all(f"user: {n} q" in text for n in range(60))


@given(st.lists(st.builds(user, st.text("ab \n", max_size=2000)), max_size=300), st.text(max_size=5000))
def test_transcript_and_extract_are_bounded(said: list[Message], earlier: str) -> None:
    assert len(format_transcript(said)) <= MAX_TRANSCRIPT_CHARS
    assert len(extract(None, said)) <= MAX_EXTRACT_CHARS
    assert 0 < len(extract(earlier, said)) <= MAX_EXTRACT_CHARS + 1


def test_system_messages_are_not_summarised() -> None:
    assert format_transcript([system("rules"), user("hello"), assistant("hi")]) == "user: hello\nassistant: hi"


async def test_stop_during_the_summary_changes_nothing(store: Store, session: Session) -> None:
    await talk(store, session, 10)
    before = await store.sessions.read_transcript(session.id)
    compacting = asyncio.create_task(service(store, HangingModel()).compact(session, keep=4))
    await asyncio.wait([compacting], timeout=0.05)
    compacting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await compacting
    assert await archives(store) == []
    assert await store.sessions.read_transcript(session.id) == before


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("The user asked about Docker health checks.", "archive-2026-02-07-docker-health-checks"),
        ("[Conversation summary]\nThe user talked about 3 cats", "archive-2026-02-07-cats"),
        ("Розгортання бота на сервері", "archive-2026-02-07-розгортання-бота-сервері"),
        ("東京への旅行。宿の予約。", "archive-2026-02-07-東京への旅行-宿の予約"),
        ("12 345 !? --", "archive-2026-02-07"),
        ("docker_compose/health'checks; DROP TABLE", "archive-2026-02-07-docker-compose-health"),
        ("docker docker Docker health", "archive-2026-02-07-docker-health"),
    ],
)
async def test_archive_name_is_readable(store: Store, topic: str, name: str) -> None:
    assert (await store.archive("telegram:1", "content", topic)).name == name


@given(st.text(max_size=300))
def test_archive_name_of_any_topic_can_be_typed(topic: str) -> None:
    assert all(re.fullmatch(r"[^\W_]{1,24}", word) for word in find_telling_words(topic, 3))


async def test_archive_names_of_one_day_never_collide(store: Store) -> None:
    made = await asyncio.gather(*(store.archive("telegram:1", "x", "docker health checks") for _ in range(12)))
    stem = "archive-2026-02-07-docker-health-checks"
    assert sorted(archive.name for archive in made) == sorted([stem, *(f"{stem}-{n}" for n in range(2, 13))])
    assert await store.entries.count_by_kind("telegram:1") == {"archive": 12}


async def test_archive_names_are_separate_for_each_owner(store: Store) -> None:
    one, other = await store.archive("telegram:1", "x", "cats"), await store.archive("telegram:2", "y", "cats")
    assert one.name == other.name
    assert await store.entries.count_by_kind("telegram:1") == {"archive": 1}


async def test_archive_and_marker_are_written_together_or_not_at_all(store: Store, session: Session) -> None:
    await talk(store, session, 4)
    before = await store.sessions.read_transcript(session.id)
    async with store.database.transaction() as connection:
        await connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON markers BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        )
    with pytest.raises(sqlite3.IntegrityError):
        await service(store, NumberingSummarizer()).compact(session, keep=4)
    assert await archives(store) == []
    assert await store.sessions.read_transcript(session.id) == before


async def test_removing_newest_archive_restores_the_summary_before_it(person: Person, model: ModelServer) -> None:
    for number in range(2):
        await person.says(f"question {number}")
        await person.says(f"and {number}")
        model.script(Reply(f"Summary {number}."))
        await person.says("/compact 1")
    listed = await person.says("/memory archive")
    newest = listed.partition(" /memory_")[2].split()[0]
    await person.says("How are you?")
    assert "Summary 1." in model.requests[-1].prompt
    await person.says(f"/forget #{newest}")
    await person.says("And now?")
    prompt = str(model.requests[-1].messages[0]["content"])
    assert "[Conversation summary]\nSummary 0." in prompt
    assert "question 1" not in model.requests[-1].prompt.partition("# Relevant")[0]


@dataclass(slots=True)
class Repeats:
    """Summariser that returns its input and records it."""

    seen: list[tuple[str | None, str]] = field(default_factory=list)

    async def summarize(self, earlier: str | None, transcript: str, seconds: float) -> Completion:
        self.seen.append((earlier, transcript))
        return Completion(" / ".join([*([earlier] if earlier else []), *transcript.splitlines()]))


def told(text: str, provenance: Provenance) -> Message:
    return Message(Role.USER, text, NOON, provenance=provenance)


async def test_summary_of_the_owners_own_task_is_trusted(store: Store, session: Session) -> None:
    for n in range(4):
        answer = Message(Role.ASSISTANT, f"Sunny {n}.", NOON, provenance=Provenance.TASK)
        await store.commit_turn(session, told("Tell me the weather", Provenance.TASK), answer)
    await service(store, Repeats()).compact(session, 1)
    transcript = await store.sessions.read_transcript(session.id)
    assert transcript.summary_provenance is Provenance.TYPED
    assert transcript.summaries == (transcript.summary, None)


async def test_summary_keeps_foreign_text_in_a_separate_passage(store: Store, session: Session) -> None:
    summarizer = Repeats()
    compaction = service(store, summarizer)
    await store.commit_exchange(session, "I live in Lviv", "Noted.")
    await store.commit_turn(session, told("Buy gold now", Provenance.FORWARDED), assistant("An advert."))
    await store.commit_exchange(session, "I like tea", "Noted.")
    for _ in range(2):
        await store.commit_exchange(session, "And so on", "Yes.")
        await compaction.compact(session, 1)
        own, of_others = (await store.sessions.read_transcript(session.id)).summaries
        assert own is not None
        assert of_others is not None
        assert "Lviv" in own
        assert ("gold" in own, "gold" in of_others, "tea" in of_others) == (False, True, False)
        await store.commit_exchange(session, "I drink coffee too", "Noted.")
        await store.commit_exchange(session, "Well then", "Yes.")
    assert len(summarizer.seen) == 3  # Nothing foreign was added before the second compaction.


async def test_summary_of_an_older_version_counts_as_foreign(store: Store, session: Session) -> None:
    await store.commit_exchange(session, "I live in Lviv", "Noted.")
    transcript = replace(
        await store.sessions.read_transcript(session.id), summary="They spoke.", summary_provenance=Provenance.FOREIGN
    )
    assert transcript.summaries == (None, "They spoke.")
