"""Property test of consolidation: no answer and no crash loses what a person wrote."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.messages import Completion
from memory.store.database import Database
from tests.support.blank import write_blank
from tests.support.consolidating import CRASH_POINTS, Bench, Crash, create_answer
from tests.support.fakes import FakeClock

PERSON_S_LINES = [f"- The user's own line {name}." for name in ("one", "two", "three", "four")]
STATED = ["I live in Kyiv with a cat.", "I like green tea.", "My own line five is about boats.", "I moved to Lviv."]

UPDATES = st.one_of(
    st.none(),
    st.text(max_size=40),
    st.lists(
        st.sampled_from([*PERSON_S_LINES, *(f"- {said}" for said in STATED), "- made up", "# Head", ""]), max_size=8
    ),
    st.just("- I live in Kyiv. " * 3000),
    st.just([PERSON_S_LINES[0]] * 8),
)
FACTS = st.lists(
    st.tuples(st.sampled_from(["home city", "drink", "boats"]), st.sampled_from([*STATED, "He is a spy."])), max_size=14
)
VALID = st.tuples(st.text(max_size=20), UPDATES, FACTS).map(
    lambda t: create_answer(f"They talked. {t[0]}", t[1], *t[2])
)
ANSWERS = st.one_of(
    st.text(max_size=50),
    st.just(""),
    VALID,
    st.tuples(VALID, st.integers(1, 60)).map(lambda t: t[0][: -t[1]]),
    VALID.map(lambda text: f"Here: ```json\n{text}\n``` done"),
    st.just('{"history_entry": "' + "huge " * 20_000 + '"'),
)
ROUNDS = st.lists(st.tuples(ANSWERS, ANSWERS, st.sampled_from([None, *CRASH_POINTS])), min_size=1, max_size=4)


async def live_through(rounds: list[tuple[str, str, str | None]], folder: Path) -> None:
    answers = [answer for first, second, _ in rounds for answer in (first, second)]

    async def prompt(text: str, seconds: float) -> Completion:
        return Completion(answers.pop(0) if answers else "")

    clock = FakeClock()
    database = await Database.open(write_blank(folder / "mneme.db"))
    try:
        bench = Bench.create(database, clock, folder / "memory", prompt, max_size=600)
        session = await bench.store.session()
        bench.write_memory(session.owner, "\n".join(PERSON_S_LINES) + "\n")
        for number, (_, _, crash) in enumerate(rounds):
            await bench.store.commit_exchange(session, STATED[number], f"answer {number}")
            bench.crashes.point = crash
            try:
                await bench.end_conversation(session)
            except Crash:
                await bench.store.ledger.finish_edits()  # As a restart does.
                await bench.run_pending()
            bench.crashes.point = None
            clock.forward(hours=1)
        await bench.run_pending()
        kept = bench.memory_path(session.owner).read_text()
        versions = await database.rows("SELECT before FROM changes WHERE entry_id = 0")
        everything = "\n".join([kept, *(row["before"] for row in versions)]).splitlines()
        assert [line for line in PERSON_S_LINES if line not in everything] == []
        logged = {row["content"] for row in await database.rows("SELECT content FROM messages")}
        for number in range(len(rounds)):
            assert {STATED[number], f"answer {number}"} <= logged
        assert await bench.service.list_pending() == []
        history = (bench.files.get_folder(session.owner) / "HISTORY.md").read_text()
        keys = [line for line in history.splitlines() if line.startswith("<!--")]
        assert len(keys) == len(set(keys))
        assert len(kept.encode()) <= 600
    finally:
        await database.close()


@pytest.mark.slow
@given(ROUNDS)
def test_lines_and_messages_survive_any_answer_and_crash(
    rounds: list[tuple[str, str, str | None]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(live_through(rounds, Path(folder)))
