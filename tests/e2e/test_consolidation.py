"""Tests of consolidation: results, refusals and failures."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.kernel import App
from memory.consolidation.extractor import FALLBACK_MARK, MAX_FALLBACK_CHARS, MAX_FALLBACK_MESSAGES
from memory.consolidation.outcome import ConsolidationResult
from memory.files.markdown import MarkdownFiles
from memory.ledger.ledger import Ledger
from memory.log.sessions import Address
from memory.log.turn_log import Outcome
from memory.messages import Completion, Message, Provenance, Role
from memory.store.database import Database
from memory.store.entry import Author, Operation
from tests.conftest import OpenApp
from tests.support.consolidating import CRASH_POINTS, Bench, Crash, create_answer
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Holds, Says
from tests.support.talk import NOON, assistant, calls, in_utc, result, user

OWNER = "telegram:12345"
LIVES = ("home city", "The user lives in Kyiv.")


@dataclass(slots=True)
class ScriptedPrompt:
    """Prompt function that returns its scripted answers in turn; functions are called, exceptions raised."""

    answers: list[str | Exception | Callable[[], str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def __call__(self, prompt: str, seconds: float) -> Completion:
        self.asked.append(prompt)
        answer = self.answers.pop(0) if self.answers else create_answer()
        if isinstance(answer, Exception):
            raise answer
        return Completion(answer if isinstance(answer, str) else answer())


@pytest.fixture
def prompt() -> ScriptedPrompt:
    return ScriptedPrompt()


@pytest.fixture
def bench(database: Database, clock: FakeClock, tmp_path: Path, prompt: ScriptedPrompt) -> Bench:
    return Bench.create(database, clock, tmp_path / "memory", prompt)


def find_memory_folder(app: App, owner: str = "console:local") -> Path:
    return app.settings.mneme_data_dir / "memory" / owner


def read_file(app: App, name: str, owner: str = "console:local") -> str:
    path = find_memory_folder(app, owner) / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def count_entries(text: str) -> int:
    return sum(line.startswith("## ") for line in text.splitlines())


async def end_conversation(bench: Bench, said: str = "I live in Kyiv.") -> ConsolidationResult | None:
    """Hold a conversation of one exchange and end it."""
    session = await bench.store.session()
    await bench.store.commit_exchange(session, said, "I see.")
    return await bench.end_conversation(session)


def read_memory(bench: Bench) -> str:
    path = bench.memory_path(OWNER)
    return path.read_text() if path.exists() else ""


def read_history(bench: Bench) -> str:
    path = bench.files.get_folder(OWNER) / "HISTORY.md"
    return path.read_text() if path.exists() else ""


# Results of a conversation.


async def test_new_writes_history_memory_and_facts(person: Person, model: ModelServer) -> None:
    await person.says("I live in Kyiv.")
    model.consolidation = lambda _: Says(create_answer("They spoke of Kyiv.", "- The user lives in Kyiv.", LIVES))
    told = await person.says("/new")
    assert "Learned: The user lives in Kyiv (/undo takes it back)" in told
    assert "They spoke of Kyiv." in read_file(person.app, "HISTORY.md")
    assert read_file(person.app, "MEMORY.md") == "- The user lives in Kyiv.\n"
    assert "The user lives in Kyiv." in await person.says("/memory fact")
    await person.says("And now?")
    assert "- The user lives in Kyiv." in model.requests[-1].system()


async def test_fact_reaches_memory_md_without_a_file_update(bench: Bench, prompt: ScriptedPrompt) -> None:
    prompt.answers = [
        create_answer("a", None, LIVES),
        create_answer("b", None, ("home city", "The user lives in Lviv.")),
    ]
    await end_conversation(bench)
    assert read_memory(bench) == "- The user lives in Kyiv.\n"
    await end_conversation(bench, "I moved to Lviv and live there.")
    assert read_memory(bench) == "- The user lives in Lviv.\n"


@pytest.mark.parametrize("beside", ["- The user has a cat.", "- The user lives in Lviv."])
async def test_superseded_line_leaves_memory_md_although_model_kept_it(
    bench: Bench, prompt: ScriptedPrompt, beside: str
) -> None:
    prompt.answers = [
        create_answer("a", None, LIVES),
        create_answer("b", f"- The user lives in Kyiv.\n{beside}", ("home city", "The user lives in Lviv.")),
    ]
    await end_conversation(bench)
    await end_conversation(bench, "I moved to Lviv and live there with a cat.")
    assert read_memory(bench).splitlines() == list(dict.fromkeys(["- The user lives in Lviv.", beside]))


async def test_small_talk_makes_no_model_call(bench: Bench, prompt: ScriptedPrompt) -> None:
    session = await bench.store.session()
    await bench.store.commit_exchange(session, "hi", "Hello!")
    await bench.end_conversation(session)
    assert prompt.asked == []
    assert await bench.service.list_pending() == []


async def test_second_new_makes_no_model_call(person: Person, model: ModelServer) -> None:
    await person.says("I live in Kyiv.")
    await person.says("/new")
    assert "already" in await person.says("/new")
    assert len(model.consolidations) == 1


async def test_forwarded_text_makes_neither_facts_nor_lines(person: Person, model: ModelServer) -> None:
    model.consolidation = lambda _: Says(create_answer("They talked.", "- The user lives in Kyiv.", LIVES))
    await person.says("Look what Ben sent me about his garden.")
    await person.says("The user lives in Kyiv.", Provenance.FORWARDED)
    await person.says("/new")
    assert read_file(person.app, "MEMORY.md") == ""
    assert "don't remember anything yet" in await person.says("/memory")


async def answer_unclear(_prompt: str, _seconds: float) -> Completion:
    """Answer the second look with the verdict that nothing follows."""
    return Completion(json.dumps({str(n): {"verdict": "unclear"} for n in range(1, 10)}))


async def test_assistant_statement_makes_no_lines(
    database: Database, clock: FakeClock, tmp_path: Path, prompt: ScriptedPrompt
) -> None:
    bench = Bench.create(database, clock, tmp_path / "memory", prompt, look=answer_unclear)
    prompt.answers = [
        create_answer("a", "- Lisbon is the capital of Portugal.", ("Portugal", "Its capital is Lisbon."))
    ]
    session = await bench.store.session()
    await bench.store.commit_exchange(session, "Tell me something nice", "Lisbon is the capital of Portugal.")
    await bench.end_conversation(session)
    assert read_memory(bench) == ""
    assert await bench.facts.list_current(OWNER, 10) == []


# Refused results.

TEN = "".join(f"- Friend number {n} is Ann{n}.\n" for n in range(10))


@pytest.mark.parametrize(
    "update",
    [
        "",
        "  \n ",
        [],
        "".join(f"- Friend number {n} is Ann{n}.\n" for n in range(7)),
        ["- Friend number 1 is Ann1."] * 10,
    ],
    ids=["empty", "blank", "no lines", "loses three of ten", "one line ten times"],
)
async def test_update_that_drops_lines_is_refused(bench: Bench, prompt: ScriptedPrompt, update: object) -> None:
    bench.write_memory(OWNER, TEN)
    prompt.answers = [create_answer("They talked.", update)]
    await end_conversation(bench)
    assert read_memory(bench) == TEN
    assert "They talked." in read_history(bench)
    assert await bench.undo.undo(OWNER) is None


async def test_update_with_a_secret_is_refused(bench: Bench, prompt: ScriptedPrompt) -> None:
    prompt.answers = [create_answer("a", "- The password is hunter2-secret!")]
    await end_conversation(bench, "The password is hunter2-secret! of my wifi")
    assert read_memory(bench) == ""
    assert "hunter2" not in read_history(bench)


LONG = "".join(f"- Friend {n} likes tea.\n" for n in range(100))


@pytest.mark.parametrize(
    ("compressed", "why"),
    [
        ("".join(f"- Friend {n} likes tea.\n" for n in range(30)), None),
        ("- All my friends like tea.\n", "too much was lost"),
        ("- All my friends like tea.\n" * 30, "too much was lost"),
        (LONG + "- And more.\n", "it wasn't shorter"),
        ("", "it was left empty"),
        ("".join(f"- Friend {n} likes tea.\n" for n in range(1, 31)), "lines that you wrote were lost"),
    ],
    ids=["shorter", "one line", "one line again and again", "longer", "no answer", "without a typed line"],
)
async def test_overlong_memory_is_compressed_unless_lines_are_lost(
    database: Database, clock: FakeClock, tmp_path: Path, prompt: ScriptedPrompt, compressed: str, why: str | None
) -> None:
    bench = Bench.create(database, clock, tmp_path / "memory", prompt, max_size=1000)
    bench.write_memory(
        OWNER, "- Friend 0 likes tea.\n"
    )  # This line is written by hand. A model wrote the others while there was room.
    roomy = MarkdownFiles(tmp_path / "memory", in_utc, recent_days=7, max_memory_size=10_000)
    async with Ledger(database, roomy, clock, in_utc).change(OWNER, Operation.EDIT, Author.CONSOLIDATION) as change:
        await change.edit_file(lambda _: LONG)
    prompt.answers = [create_answer("a"), compressed]
    done = await end_conversation(bench)
    assert "Write it anew in less than 1000" in prompt.asked[1]
    assert "Friend 0 likes tea" in prompt.asked[1].partition("## Typed by the User")[2].partition("##")[0]
    assert "I live in Kyiv" not in prompt.asked[1]
    taken = bool(compressed) and why is None
    assert (read_memory(bench) == compressed) is taken
    assert done is not None
    assert (why or "refused") in "".join(line.text for line in done.notices) if why else done.warning is None
    if taken:
        await bench.undo.undo(OWNER)
    assert read_memory(bench) == LONG


async def test_typed_lines_over_the_limit_are_not_compressed(
    database: Database, clock: FakeClock, tmp_path: Path, prompt: ScriptedPrompt
) -> None:
    bench = Bench.create(database, clock, tmp_path / "memory", prompt, max_size=1000)
    bench.write_memory(OWNER, LONG)
    prompt.answers = [create_answer("a")]
    done = await end_conversation(bench)
    assert done is not None
    assert done.warning is None
    assert len(prompt.asked) == 1
    assert read_memory(bench).startswith(LONG)


async def test_refused_compression_warns_once_a_week(
    database: Database, clock: FakeClock, tmp_path: Path, prompt: ScriptedPrompt
) -> None:
    bench = Bench.create(database, clock, tmp_path / "memory", prompt, max_size=1000)
    roomy = MarkdownFiles(tmp_path / "memory", in_utc, recent_days=7, max_memory_size=10_000)
    async with Ledger(database, roomy, clock, in_utc).change(OWNER, Operation.EDIT, Author.CONSOLIDATION) as change:
        await change.edit_file(lambda _: LONG)
    warnings = []
    for days in (0, 1, 1, 6):
        clock.forward(days=days)
        prompt.answers = [create_answer("a"), ""]
        done = await end_conversation(bench, f"I live in Kyiv, house {days}")
        warnings.append(done is not None and done.warning is not None)
    assert warnings == [True, False, False, True]


async def test_compression_asks_for_plain_text(
    start: OpenApp, model: ModelServer, clock: FakeClock, tmp_path: Path
) -> None:
    async with start(memory_max_size=1024) as app:
        async with app.memory.ledger.change("console:local", Operation.EDIT, Author.MODEL) as change:
            await change.edit_file(lambda _: LONG)
        person = Person(app)
        await person.says("I live in Kyiv and have a sister")
        await person.says("/new")
    first, second = model.consolidations
    assert "response_format" in first.body
    assert "Write it anew in less than" in str(second.messages[0]["content"])
    assert "response_format" not in second.body


async def test_short_memory_is_not_compressed(bench: Bench, prompt: ScriptedPrompt) -> None:
    bench.write_memory(OWNER, TEN)
    await end_conversation(bench)
    assert "compress" not in prompt.asked[0]


# No usable answer.


@pytest.mark.parametrize("reply", [Says("garbage"), Says("{}"), Says(""), Fails(400), Says('{"history_entry": 3}')])
async def test_garbage_answer_stores_the_last_messages_verbatim(
    person: Person, model: ModelServer, reply: Says
) -> None:
    model.consolidation = lambda _: reply
    for number in range(8):
        await person.says(f"Message {number} " + "x" * 500)
    assert "New conversation" in await person.says("/new")
    history = read_file(person.app, "HISTORY.md")
    lines = [line for line in history.splitlines() if line.startswith(("user: ", "assistant: "))]
    assert FALLBACK_MARK in history
    assert len(lines) == MAX_FALLBACK_MESSAGES
    assert lines[0].startswith("user: Message 3 ")
    assert max(len(line) for line in lines) == MAX_FALLBACK_CHARS + len("assistant: ")


@pytest.mark.parametrize("entry", [7, None, ["They spoke of Kyiv."]])
async def test_answer_without_history_entry_stores_messages_and_facts(
    bench: Bench, prompt: ScriptedPrompt, entry: object
) -> None:
    prompt.answers = [create_answer(entry, ["x"], LIVES)]
    await end_conversation(bench)
    assert read_history(bench).count(FALLBACK_MARK) == 1
    assert "user: I live in Kyiv." in read_history(bench)
    assert "The user lives in Kyiv." in [fact.content for _, fact in await bench.facts.list_current(OWNER, 10)]


async def test_answer_with_trailing_comma_is_parsed(bench: Bench, prompt: ScriptedPrompt) -> None:
    prompt.answers = ['{"history_entry": "They spoke of Kyiv.", "memory_update": "- I live in Kyiv.",}']
    await end_conversation(bench)
    assert "They spoke of Kyiv." in read_history(bench)
    assert FALLBACK_MARK not in read_history(bench)
    assert read_memory(bench) == "- I live in Kyiv.\n"


async def test_new_returns_at_its_timeout_and_discards_late_result(start: OpenApp, model: ModelServer) -> None:
    late = Holds(create_answer("Too late.", "- The user lives in Kyiv.", LIVES))
    model.consolidation = lambda _: late
    async with start(consolidation_timeout=0.2) as app:
        ann = Person(app)
        await ann.says("I live in Kyiv.")
        assert "New conversation" in await ann.says("/new")
        await model.wait_for(lambda: model.disconnects == 1)
        late.release.set()
        assert FALLBACK_MARK in read_file(app, "HISTORY.md")
        assert "Too late" not in read_file(app, "HISTORY.md")
        assert read_file(app, "MEMORY.md") == ""


async def test_failed_consolidation_is_retried_and_announced_with_next_reply(
    person: Person, model: ModelServer
) -> None:
    model.consolidation = lambda _: Says("garbage")
    await person.says("I live in Kyiv.")
    await person.says("/new")
    model.consolidation = lambda _: Says(create_answer("They spoke of Kyiv.", None, LIVES))
    await person.app.jobs.consolidation.run_pending()
    assert "They spoke of Kyiv." in read_file(person.app, "HISTORY.md")
    assert "_Learned: The user lives in Kyiv (/undo takes it back)_" in await person.says("And now?")
    assert "Learned" not in await person.says("And then?")


async def test_consolidation_stops_after_the_second_failure(person: Person, model: ModelServer) -> None:
    model.consolidation = lambda _: Says("garbage")
    await person.says("I live in Kyiv.")
    await person.says("/new")
    for _ in range(3):
        await person.app.jobs.consolidation.run_pending()
    assert len(model.consolidations) == 2
    assert count_entries(read_file(person.app, "HISTORY.md")) == 1


async def test_new_ends_conversation_although_files_are_unwritable(bench: Bench, prompt: ScriptedPrompt) -> None:
    folder = bench.files.get_folder(OWNER)
    folder.parent.mkdir(parents=True)
    folder.write_text("a file where the folder should be")
    prompt.answers = [create_answer("a"), create_answer("a")]
    await end_conversation(bench)
    assert (await bench.store.sessions.read_transcript("telegram:12345")).messages == []
    assert len(await bench.service.list_pending()) == 1
    folder.unlink()
    await bench.run_pending()
    assert count_entries(read_history(bench)) == 1


async def test_consolidation_respects_the_daily_token_limit(start: OpenApp, model: ModelServer) -> None:
    async with start(daily_token_limit=1) as app:
        ann = Person(app)
        await ann.says("I live in Kyiv.")
        assert "New conversation" in await ann.says("/new")
        assert model.consolidations == []
        assert FALLBACK_MARK in read_file(app, "HISTORY.md")


# People come first.


async def test_user_edit_during_consolidation_is_kept(bench: Bench, prompt: ScriptedPrompt) -> None:
    def meanwhile() -> str:
        bench.write_memory(OWNER, "- My own line.\n")
        return create_answer("a", "- The user lives in Kyiv.")

    prompt.answers = [meanwhile]
    await end_conversation(bench)
    assert read_memory(bench) == "- My own line.\n- The user lives in Kyiv.\n"


async def test_user_edit_during_compression_wins_and_compression_is_repeated(
    database: Database, clock: FakeClock, tmp_path: Path, prompt: ScriptedPrompt
) -> None:
    bench = Bench.create(database, clock, tmp_path / "memory", prompt, max_size=1000)
    roomy = MarkdownFiles(tmp_path / "memory", in_utc, recent_days=7, max_memory_size=10_000)
    async with Ledger(database, roomy, clock, in_utc).change(OWNER, Operation.EDIT, Author.CONSOLIDATION) as change:
        await change.edit_file(lambda _: LONG)
    edits = iter(range(10))

    def meanwhile() -> str:
        bench.write_memory(OWNER, f"{LONG}- Mine {(number := next(edits))}.\n")
        before = f"- Mine {number - 1}.\n" if number else ""
        return "".join(f"- Friend {n} likes tea.\n" for n in range(30)) + before

    prompt.answers = [create_answer("a"), *[meanwhile] * 10]
    await end_conversation(bench)
    assert read_memory(bench) == f"{LONG}- Mine 2.\n"
    assert len(prompt.asked) == 4


async def test_memory_with_invalid_utf8_can_be_updated(bench: Bench, prompt: ScriptedPrompt) -> None:
    bench.write_memory(OWNER, "")
    bench.memory_path(OWNER).write_bytes(b"- Caf\xe2\x82 is a place.\n")
    prompt.answers = [create_answer("a", ["- Caf\ufffd\ufffd is a place.", "- The user lives in Kyiv."])]
    await end_conversation(bench)
    assert bench.memory_path(OWNER).read_bytes() == b"- Caf\xe2\x82 is a place.\n- The user lives in Kyiv.\n"


async def test_memory_forgotten_during_consolidation_does_not_come_back(start: OpenApp, model: ModelServer) -> None:
    held = Holds(create_answer("They spoke of Kyiv.", "- The user lives in Kyiv.", LIVES))
    model.consolidation = lambda _: held
    async with start(consolidation_timeout=20) as app:
        ann = Person(app)
        await ann.says("I live in Kyiv.")
        await ann.says("What else?")
        await ann.says("/compact 1")
        running = asyncio.create_task(app.jobs.consolidation.run_pending())
        await model.wait_for(lambda: len(model.consolidations) == 1)
        await ann.says("/forget all confirm")
        held.release.set()
        await running
        assert read_file(app, "HISTORY.md") == read_file(app, "MEMORY.md") == ""
        assert "don't remember anything yet" in await ann.says("/memory")


async def test_undo_after_new_reverts_facts_and_lines_together(person: Person, model: ModelServer) -> None:
    find_memory_folder(person.app).mkdir(parents=True)
    (find_memory_folder(person.app) / "MEMORY.md").write_text("- My own line.\n")
    await person.says("Kyiv is where I live.")
    model.consolidation = lambda _: Says(create_answer("a", "- My own line.\n- The user lives in Kyiv.", LIVES))
    assert "Learned: The user lives in Kyiv (/undo takes it back)" in await person.says("/new")
    assert await person.says("/undo") == "Undone: The user lives in Kyiv."
    assert (await person.says("/memory")).startswith("MEMORY.md: 1\n")
    assert read_file(person.app, "MEMORY.md") == "- My own line.\n"
    assert "nothing to undo" in await person.says("/undo")


# Crashes and restarts.


@pytest.mark.parametrize("point", CRASH_POINTS)
async def test_crash_at_any_step_is_repaired_by_the_next_run(bench: Bench, prompt: ScriptedPrompt, point: str) -> None:
    bench.write_memory(OWNER, "- My own line.\n")
    answer = create_answer("They spoke of Kyiv.", "- My own line.\n- The user lives in Kyiv.", LIVES)
    prompt.answers = [answer, answer]
    bench.crashes.point = point
    with pytest.raises(Crash):
        await end_conversation(bench)
    await bench.run_pending()
    assert read_memory(bench) == "- My own line.\n- The user lives in Kyiv.\n"
    assert count_entries(read_history(bench)) == 1
    assert [entry.content for _, entry in await bench.facts.list_current(OWNER, 10)] == ["The user lives in Kyiv."]
    assert await bench.service.list_pending() == []
    while await bench.undo.undo(OWNER):
        pass
    assert read_memory(bench) == "- My own line.\n"
    assert await bench.facts.list_current(OWNER, 10) == []


async def test_restart_resumes_pending_consolidation(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        ann = Person(app)
        await ann.says("I live in Kyiv.")
        await ann.says("And I have a cat.")
        await ann.says("/compact 1")
    assert model.consolidations == []
    model.consolidation = lambda _: Says(create_answer("They spoke of Kyiv.", None, LIVES))
    async with start() as app:
        app.jobs.consolidation.start()
        await model.wait_for(lambda: len(model.consolidations) == 1)
        ann = Person(app)
        # The second conversation waits in the queue until the first is done.
        await ann.says("/new")
        assert "They spoke of Kyiv." in read_file(app, "HISTORY.md")


async def test_failing_conversation_does_not_delay_others(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        people = [Person(app, Address("telegram", str(number))) for number in (1, 2, 3)]
        for one in people:
            await one.says("I live in Kyiv.")
            await one.says("I have a cat.")
            await one.says("/compact 1")
        shutil.rmtree(find_memory_folder(app, "telegram:1"))
        find_memory_folder(app, "telegram:1").write_text("no folder")
        await app.jobs.consolidation.run_pending()
        assert [count_entries(read_file(app, "HISTORY.md", f"telegram:{n}")) for n in (2, 3)] == [1, 1]


# Compaction.


async def test_compaction_leaves_only_new_messages_to_consolidate(person: Person, model: ModelServer) -> None:
    await person.says("I live in Kyiv.")
    await person.says("I have a cat.")
    await person.says("/compact 1")
    await person.app.jobs.consolidation.run_pending()
    await person.says("/new")
    first, second = (request.last for request in model.consolidations)
    assert "I live in Kyiv." in first
    assert "I have a cat." not in first
    assert "I have a cat." in second
    assert "I live in Kyiv." not in second
    assert count_entries(read_file(person.app, "HISTORY.md")) == 2


async def test_summary_is_in_the_request_once_after_compaction(person: Person, model: ModelServer) -> None:
    await person.says("I live in Kyiv.")
    await person.says("I have a cat.")
    model.script(Says("Summary about Kyiv and its chestnuts."))
    await person.says("/compact 1")
    await person.app.jobs.consolidation.run_pending()
    await person.says("What about Kyiv and its chestnuts?")
    assert model.requests[-1].prompt.count("Summary about Kyiv") == 1


# Many conversations at once, and settings.


async def test_fifty_sessions_are_consolidated_one_at_a_time(
    database: Database, clock: FakeClock, tmp_path: Path
) -> None:
    running = most = 0
    order: list[str] = []

    async def prompt(text: str, seconds: float) -> Completion:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        order.append(text.partition("I live in place ")[2].partition(".")[0])
        running -= 1
        fact = ("home", f"The user lives in place {order[-1]}.")
        return Completion(create_answer(f"Place {order[-1]}.", None, fact))

    bench = Bench.create(database, clock, tmp_path / "memory", prompt)
    sessions = [await bench.store.session(str(number)) for number in range(50)]
    for turn in ("a", "b"):
        for number, session in enumerate(sessions):
            await bench.store.commit_exchange(session, f"I live in place {number}{turn}.", "I see.")
        await asyncio.gather(*(bench.end_conversation(session) for session in sessions))
    assert most == 1
    assert sorted(order) == sorted(f"{number}{turn}" for number in range(50) for turn in "ab")
    for number, session in enumerate(sessions):
        text = (bench.files.get_folder(session.owner) / "HISTORY.md").read_text()
        assert count_entries(text) == 2
        assert text.index(f"Place {number}a.") < text.index(f"Place {number}b.")
        assert [entry.content for _, entry in await bench.facts.list_current(session.owner, 5)] == [
            f"The user lives in place {number}b."
        ]


async def test_pending_conversations_of_an_owner_are_processed_in_order(bench: Bench, prompt: ScriptedPrompt) -> None:
    prompt.answers = [ValueError("out of reach")] * 3
    for city in ("Kyiv", "Lviv", "Odesa"):
        await end_conversation(bench, f"I live in {city}.")
    await bench.run_pending()
    assert [city for asked in prompt.asked[3:] for city in ("Kyiv", "Lviv", "Odesa") if city in asked] == [
        "Kyiv",
        "Lviv",
        "Odesa",
    ]


async def test_consolidation_is_off_without_memory(start: OpenApp, model: ModelServer) -> None:
    async with start(memory_enabled=False) as app:
        ann = Person(app)
        await ann.says("I live in Kyiv.")
        await ann.says("And I have a cat.")
        await ann.says("/compact 1")
        await ann.says("/new")
        await app.jobs.consolidation.run_pending()
        assert model.consolidations == []
        assert not find_memory_folder(app).exists()


async def test_consolidation_without_notices_is_silent(start: OpenApp, model: ModelServer) -> None:
    model.consolidation = lambda _: Says(create_answer("a", None, LIVES))
    async with start(memory_notices=False) as app:
        ann = Person(app)
        await ann.says("I live in Kyiv.")
        await ann.says("And I have a cat.")
        await ann.says("/compact 1")
        await app.jobs.consolidation.run_pending()
        assert "Learned" not in await ann.says("What else?")
        await ann.says("I live in Kyiv, as I said.")
        assert "Learned" not in await ann.says("/new")
        assert "The user lives in Kyiv." in await ann.says("/memory fact")


async def test_questions_and_recalled_text_make_no_facts(
    database: Database, clock: FakeClock, tmp_path: Path, prompt: ScriptedPrompt
) -> None:
    bench = Bench.create(database, clock, tmp_path / "memory", prompt, look=answer_unclear)
    prompt.answers = [create_answer("a", None, LIVES, ("cat", "The user has a cat."))]
    session = await bench.store.session()
    await bench.store.commit_turn(session, user("Do I live in Kyiv?"), assistant("You live in Kyiv."))
    forwarded = Message(Role.USER, "I have a cat.", NOON, provenance=Provenance.FORWARDED)
    await bench.store.commit_turn(session, forwarded, assistant("A cat, then."))
    await bench.end_conversation(session)
    assert await bench.facts.list_current(OWNER, 10) == []


async def test_fact_of_one_word_is_supported_by_that_word(bench: Bench, prompt: ScriptedPrompt) -> None:
    prompt.answers = [create_answer("a", None, ("home city", "Kyiv"))]
    await end_conversation(bench, "I live in Kyiv.")
    assert [entry.content for _, entry in await bench.facts.list_current(OWNER, 10)] == ["home city: Kyiv"]


async def test_conversation_ending_with_tool_messages_does_not_stay_due(bench: Bench, prompt: ScriptedPrompt) -> None:
    session = await bench.store.session("1")
    await bench.store.commit_turn(session, user("I live in Kyiv."), assistant("I see."))
    await bench.store.commit_turn(session, user("And now?"), calls("1"), result("1"), outcome=Outcome.FAILED)
    prompt.answers = [create_answer("They talked.")]
    due = await bench.service.mark_current_due(session)
    assert due is not None
    assert await bench.service.run(due) is not None
    assert await bench.service.list_pending() == []


async def test_stretch_without_spoken_messages_does_not_stay_due(bench: Bench, prompt: ScriptedPrompt) -> None:
    session = await bench.store.session("1")
    await bench.store.commit_turn(session, user("I live in Kyiv."), assistant("I see."))
    due = await bench.service.mark_current_due(session)
    assert due is not None
    prompt.answers = [create_answer("They talked.")]
    await bench.service.run(due)
    await bench.store.commit_turn(session, calls("2"), result("2"), outcome=Outcome.STOPPED)
    await bench.service.mark_current_due(session)
    assert await bench.service.run(due) is None
    assert await bench.service.list_pending() == []
    assert len(prompt.asked) == 1
