"""Tests of imports from other programs: they can be searched, occur once, have dates, and one undo reverts them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import zipfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.features.imports.date_orders import DateStatistics
from bot.features.imports.importing import ImportDone
from bot.features.imports.items import MAX_CHAT_MESSAGES, ImportedConversation, ImportRefused
from bot.features.imports.opening import open_source
from bot.features.imports.whatsapp import WhatsAppReader
from bot.features.imports.writer import ImportWriter, Planned
from bot.features.imports.written_dates import Stamp
from bot.kernel import App
from memory.facts.fact import Doubt
from memory.ledger.undo import MEMORIES_PER_WRITE, Undo
from memory.log.sessions import Address
from memory.messages import Provenance
from memory.search.types import MESSAGE_KIND, Filter
from memory.store import erasure
from memory.store.database import Database
from tests.conftest import OpenApp
from tests.support import exports
from tests.support.bot_api.files import create_document
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_import_learning, find_importer
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says
from tests.support.serving import ANN, Serve, list_texts, press

ALL = {**exports.CONVERSATIONS, **exports.MEMORIES}
FOLDERS = {"claude-parts", "openclaw", "nanobot", "hermes", "markdown"}
OWNER = "console:local"


async def run_import(app: App, path: Path) -> ImportDone:
    session = await app.sessions.get_or_create(Address("console", "local"))
    return await find_importer(app).run(path, session)


async def export_contents(app: App, folder: Path) -> dict[str, str]:
    """Return the files of an export without changes, sessions and manifest."""
    await app.memory.portable.export(folder)
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    left_out = {"rows/changes.jsonl", "rows/sessions.jsonl", "manifest.json"}
    return {name: path.read_text(encoding="utf-8") for name, path in files.items() if name not in left_out}


@pytest.mark.parametrize("messages", [10, MAX_CHAT_MESSAGES + 20])
@pytest.mark.parametrize("form", exports.CONVERSATIONS)
async def test_conversations_are_imported_once_with_their_days(
    app: App, person: Person, tmp_path: Path, form: str, messages: int
) -> None:
    await person.says("/remember The spare key is at Ann's.")
    before = await export_contents(app, tmp_path / "before")
    program, write = exports.CONVERSATIONS[form]
    file = write(tmp_path, messages)
    done = await run_import(app, file)
    assert (done.report.program, done.report.messages) == (program, messages)
    assert done.report.first == exports.create_moment(0)
    rows = await app.memory.database.rows("SELECT content, provenance, created_at FROM spoken ORDER BY created_at, id")
    rows = [row for row in rows if "number" in row["content"]]
    assert [row["content"].split()[1] for row in rows] == [f"number{number}" for number in range(messages)]
    assert {row["provenance"] for row in rows} == {Provenance.IMPORTED}
    found = await person.says(f"/recall number{messages - 1}")
    assert exports.create_text(messages - 1) in found
    assert f"{program} [imported]" in found or form not in ("chatgpt", "claude", "gemini")
    assert f"[{exports.create_moment(messages - 2):%Y-%m-%d}" in found.splitlines()[0]
    again = await run_import(app, file)
    assert again.change is None
    assert again.report.is_empty
    assert f"Undone: Imported from {program}" in await person.says("/undo")
    assert await export_contents(app, tmp_path / "after") == before


@pytest.mark.parametrize("form", exports.MEMORIES)
async def test_imported_memories_are_unconfirmed_until_a_person_confirms(
    app: App, person: Person, tmp_path: Path, form: str
) -> None:
    await person.says("/remember The spare key is at Ann's.")
    before = await export_contents(app, tmp_path / "before")
    program, write = exports.MEMORIES[form]
    done = await run_import(app, write(tmp_path, 10))
    assert (done.report.program, done.report.memories) == (program, 10)
    entries = await app.memory.entries.list_unconfirmed(OWNER)
    assert len(entries) == 10
    assert {entry.kind for entry in entries} == {"fact"}
    assert not any(entry.trusted for entry in entries)
    assert (
        await run_import(app, write(tmp_path, 10) if form in ("mem0", "list") else _find_only_file(tmp_path))
    ).change is None
    await person.says("/undo")
    assert await export_contents(app, tmp_path / "after") == before


def _find_only_file(folder: Path) -> Path:
    return next(path for path in folder.iterdir() if path.name not in ("before", "after", "data"))


async def test_later_export_adds_new_messages_of_each_conversation(app: App, tmp_path: Path) -> None:
    await run_import(app, exports.write_chatgpt(tmp_path, 15))
    later = exports.write_chatgpt(tmp_path, 30, "later.zip")
    done = await run_import(app, later)
    assert (done.report.conversations, done.report.messages, done.report.known) == (2, 15, 1)
    assert await app.memory.database.value("SELECT count(*) FROM messages") == 30
    await app.memory.undo.undo(OWNER)
    assert await app.memory.database.value("SELECT count(*) FROM messages") == 15
    assert (await run_import(app, later)).report.messages == 15


async def test_message_changed_since_import_is_replaced_until_undone(app: App, tmp_path: Path) -> None:
    await run_import(app, exports.write_chatgpt(tmp_path, 10))
    conversation = exports.create_chatgpt_conversation(0, 10)
    conversation["mapping"]["m4"]["message"]["content"]["parts"] = ["I moved to Lisbon"]
    changed = exports.write_zip(tmp_path / "b.zip", {"conversations.json": [conversation]})
    done = await run_import(app, changed)
    assert (done.report.messages, done.report.changed) == (0, 1)
    texts = await read_texts(app)
    assert texts[4] == "I moved to Lisbon"
    assert len(texts) == 10
    hits = await app.memory.search.find("Lisbon", OWNER, only=Filter(kinds=[MESSAGE_KIND]))
    assert hits[0].content == "I moved to Lisbon"
    assert (await run_import(app, changed)).change is None
    await app.memory.undo.undo(OWNER)
    assert await read_texts(app) == [exports.create_text(number) for number in range(10)]


async def read_texts(app: App) -> list[str]:
    rows = await app.memory.database.rows(
        "SELECT s.content FROM spoken s JOIN conversations c ON c.id = s.conversation_id"
        " ORDER BY c.started_at, c.id, s.id"
    )
    return [row["content"] for row in rows]


async def test_secrets_are_masked_and_counted(app: App, tmp_path: Path) -> None:
    conversation = exports.create_chatgpt_conversation(0, 2)
    conversation["mapping"]["m0"]["message"]["content"]["parts"] = [
        "my key is sk-proj-abcdefghijklmnopqrstuvwx1234567890"
    ]
    done = await run_import(app, exports.write_zip(tmp_path / "b.zip", {"conversations.json": [conversation]}))
    assert done.report.secrets == 1
    contents = [row["content"] for row in await app.memory.database.rows("SELECT content FROM messages ORDER BY id")]
    assert not any("abcdefghij" in content for content in contents)


async def test_account_data_is_not_read(app: App, tmp_path: Path) -> None:
    for form in ("chatgpt", "claude", "claude-parts", "telegram-account"):
        (tmp_path / form).mkdir()
        await run_import(app, exports.CONVERSATIONS[form][1](tmp_path / form, 10))
    dump = json.dumps(await export_contents(app, tmp_path / "kept"))
    assert not any(personal in dump for personal in ("example.org", "380441234567", "203.0.113.7"))


async def test_file_that_is_no_export_is_refused_unchanged(app: App, tmp_path: Path) -> None:
    before = await export_contents(app, tmp_path / "before")
    zeros = tmp_path / "zeros.zip"
    with zipfile.ZipFile(zeros, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("conversations.json", "w") as part:
        for _ in range(100):
            part.write(b"\0" * 2**20)
    nested = exports.write_zip(tmp_path / "nested.zip", {"inner.zip": zeros.read_bytes()})
    foreign = tmp_path / "foreign.json"
    foreign.write_text('{"some": ["thing"]}')
    broken = tmp_path / "broken.zip"
    broken.write_bytes(exports.write_chatgpt(tmp_path, 10).read_bytes()[:500])
    dates = tmp_path / "dates.txt"
    dates.write_text("99.99.23, 09:00 - Ann: hello\n")
    for path in (zeros, nested, foreign, broken, dates, tmp_path / "missing.zip"):
        with pytest.raises(ImportRefused, match="nothing was imported"):
            await run_import(app, path)
    assert await export_contents(app, tmp_path / "after") == before


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    form=st.sampled_from(sorted(name for name in ALL if name not in FOLDERS)),
    # A fraction of the length, because zip files contain dates and vary in length.
    share=st.floats(0, 1, exclude_max=True),
    flipped=st.integers(0, 255),
)
async def test_damaged_export_is_imported_whole_or_not_at_all(
    app: App, tmp_path: Path, form: str, share: float, flipped: int
) -> None:
    folder = tmp_path / form
    folder.mkdir(exist_ok=True)
    whole = ALL[form][1](folder, 10)
    content = bytearray(whole.read_bytes())
    place = int(share * len(content))
    damaged = folder / f"damaged{whole.suffix}"
    if flipped:
        content[place] ^= flipped
    else:
        del content[place:]
    damaged.write_bytes(content)
    counting = "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM entries)"
    before = await app.memory.database.value(counting)
    try:
        done = await run_import(app, damaged)
    except ImportRefused:
        assert await app.memory.database.value(counting) == before
        return
    if done.change is not None:
        added = done.report.messages + done.report.memories + 1
        assert await app.memory.database.value(counting) == before + added
        await app.memory.undo.undo(OWNER, done.change)
    assert await app.memory.database.value(counting) == before


async def test_import_undone_while_running_leaves_nothing(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undone: list[object] = []
    write = ImportWriter.write

    async def write_and_undo(self: ImportWriter, batch: Sequence[Planned]) -> None:
        await write(self, batch)
        if not undone:
            undone.append(await app.memory.undo.undo(OWNER))

    monkeypatch.setattr(ImportWriter, "write", write_and_undo)
    with pytest.raises(ImportRefused, match="undone while it was running"):
        await run_import(app, exports.write_chatgpt(tmp_path, 1_000))
    await app.memory.traces.remove()
    assert await app.memory.database.value("SELECT count(*) FROM messages") == 0


async def test_undo_of_an_import_killed_midway_ends_at_next_start(
    start: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    async def kill(_database: Database, _conversation: int) -> None:
        raise Killed

    counting = "SELECT count(*) FROM messages"
    async with start() as app:
        await run_import(app, exports.write_chatgpt(tmp_path, 20))
        with monkeypatch.context() as patched:
            patched.setattr(erasure, "_shorten", kill)
            with pytest.raises(Killed):
                await app.memory.undo.undo(OWNER)
        assert await app.memory.database.value(counting) == 20
    async with start() as app:
        await app.memory.traces.remove()
        assert await app.memory.database.value(counting) == 0
        assert await app.memory.database.value("SELECT count(*) FROM imported") == 0


def write_many_memories(folder: Path, count: int) -> Path:
    results = [{"memory": f"Memory number{number} about the ferry"} for number in range(count)]
    path = folder / "many.json"
    path.write_text(json.dumps({"results": results}))
    return path


async def test_undo_of_a_large_import_lets_others_write(app: App, tmp_path: Path) -> None:
    await run_import(app, write_many_memories(tmp_path, 10 * MEMORIES_PER_WRITE))
    undoing = asyncio.create_task(app.memory.undo.undo(OWNER))
    counts = []
    while not undoing.done():
        await app.memory.preferences.change("console:other", tools=None)
        counts.append(await app.memory.database.value("SELECT count(*) FROM entries"))
    undone = await undoing
    # Other writes happened between slices, and memories disappeared step by step.
    assert len(set(counts)) > 3
    assert undone is not None
    assert len(undone.names) == 10 * MEMORIES_PER_WRITE + 1
    assert undone.outcomes[-1].text.startswith("Imported from mem0: 500 memories")
    assert await app.memory.database.value("SELECT count(*) FROM entries") == 0
    assert await app.memory.undo.undo(OWNER) is None
    assert (await run_import(app, tmp_path / "many.json")).report.memories == 10 * MEMORIES_PER_WRITE


@pytest.mark.parametrize("ending", ["start", "undo", "number"])
@pytest.mark.parametrize("slices", [1, 2, 4])
async def test_undo_killed_between_slices_is_finished(
    start: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slices: int, ending: str
) -> None:
    class Killed(BaseException):
        pass

    whole, ran = Undo._undo_slice, []  # noqa: SLF001  # The kill comes between these steps.

    async def killed(*arguments: Any) -> Any:
        ran.append(True)
        if len(ran) > slices:
            raise Killed
        return await whole(*arguments)

    async with start() as app:
        await Person(app).says("/remember The spare key is at Ann's.")
        before = await export_contents(app, tmp_path / "before")
        done = await run_import(app, write_many_memories(tmp_path, 3 * MEMORIES_PER_WRITE + 7))
        with monkeypatch.context() as patched:
            patched.setattr(Undo, "_undo_slice", killed)
            with pytest.raises(Killed):
                await app.memory.undo.undo(OWNER)
        if ending != "start":
            assert await app.memory.undo.undo(OWNER, done.change if ending == "number" else None) is not None
            assert await export_contents(app, tmp_path / "finished") == before
    async with start() as app:
        assert await export_contents(app, tmp_path / "after") == before
        assert [entry.content for entry in await app.memory.entries.list(OWNER)] == ["The spare key is at Ann's."]
        undone = await app.memory.undo.undo(OWNER)
        assert undone is not None
        assert undone.operation != "import"


async def test_large_import_ends_when_its_undo_begins(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undoing: list[asyncio.Task[object]] = []
    write = ImportWriter.write

    async def write_and_begin_undo(self: ImportWriter, batch: Sequence[Planned]) -> None:
        await write(self, batch)
        if not undoing:
            undoing.append(asyncio.create_task(app.memory.undo.undo(OWNER)))

    monkeypatch.setattr(ImportWriter, "write", write_and_begin_undo)
    with contextlib.suppress(ImportRefused):
        await run_import(app, write_many_memories(tmp_path, 20 * MEMORIES_PER_WRITE))
    await undoing[0]
    await app.memory.traces.remove()
    assert await app.memory.database.value("SELECT count(*) FROM entries") == 0
    assert await app.memory.database.value("SELECT count(*) FROM imported") == 0


@pytest.mark.parametrize(
    ("days", "orders"),
    [
        (["14.3.23"], ["dmy", "ymd"]),  # The format decides, as in the next test.
        (["31.3.23"], ["dmy"]),
        (["3.14.23"], ["mdy"]),
        (["2023.3.14"], ["ymd"]),
        (["1.2.23", "2.2.23", "1.3.23"], ["dmy"]),
        (["1.30.23", "2.1.23"], ["mdy"]),
        (["2.1.23", "2.2.23", "3.1.23"], ["mdy"]),
        (["3.1.24", "1.2.24"], ["dmy"]),  # The other order would give a date in the future.
        (["5.1.23", "6.1.23"], ["dmy", "mdy"]),
        (["29.1.23", "1.29.23"], []),
        (["99.99.23"], []),
    ],
)
def test_day_order_is_decided_by_the_whole_chat(days: list[str], orders: list[str]) -> None:
    statistics = DateStatistics(date(2024, 2, 1))
    for day in days:
        first, second, third = day.split(".")
        statistics.add(Stamp((first, second, third), 9, 0, 0, None))
    assert statistics.choose_orders() == orders


@pytest.mark.parametrize(
    ("lines", "days"),
    [
        (["1/5/23, 9:24 AM - A: x", "1/6/23, 9:24 PM - B: x"], [(1, 5), (1, 6)]),
        (["05/01/2023, 21:24 - A: x", "06/01/2023, 21:24 - B: x"], [(1, 5), (1, 6)]),
        (["14.03.23, 21:24 - A: x"], [(3, 14)]),
        (["2023-01-05 21:24 - A: x"], [(1, 5)]),
        (["1/5/23, 21:24 - A: x"], None),  # This may be from the US with a 24-hour clock, or from Spain.
    ],
)
def test_format_decides_if_several_day_orders_are_possible(
    tmp_path: Path, lines: list[str], days: list[tuple[int, int]] | None
) -> None:
    file = tmp_path / "chat.txt"
    file.write_text("\n".join(lines), encoding="utf-8")
    reader = WhatsAppReader(ZoneInfo("UTC"), date(2024, 2, 1))
    with open_source(file) as source:
        if days is None:
            with pytest.raises(ImportRefused, match="days from the months"):
                list(reader.read(source, reader.find(source)))
            return
        (conversation,) = reader.read(source, reader.find(source))
    assert isinstance(conversation, ImportedConversation)
    assert [(message.at.month, message.at.day) for message in conversation.messages] == days


async def test_iphone_export_with_seconds_and_marks_is_read(app: App, tmp_path: Path) -> None:
    file = tmp_path / "_chat.txt"
    file.write_text(
        "\u200e[3/14/23, 9:00:05\u202fPM] Ann: hello\n[3/15/23, 12:01:00\u202fAM] Bob: and again\n",
        encoding="utf-8",
    )
    await run_import(app, file)
    rows = await app.memory.database.rows("SELECT speaker, created_at FROM messages ORDER BY id")
    assert [tuple(row) for row in rows] == [("Ann", "2023-03-14T21:00:05.000Z"), ("Bob", "2023-03-15T00:01:00.000Z")]


async def test_sent_export_is_offered_and_imported_by_one_tap(
    serve: Serve, telegram: BotApiServer, tmp_path: Path
) -> None:
    file = exports.write_chatgpt(tmp_path, 20)
    async with serve() as app:
        telegram.user_says(chat_id=ANN, sends=create_document("export.zip", file.read_bytes(), "application/zip"))
        await telegram.wait_for(
            lambda: "This is an export of ChatGPT: 2 conversations" in "".join(list_texts(telegram))
        )
        assert await app.memory.database.value("SELECT count(*) FROM imported") == 0
        press(telegram, "Import")
        await telegram.wait_for(
            lambda: "Imported from ChatGPT: 2 conversations (20 messages" in list_texts(telegram)[-1]
        )
        assert await app.memory.database.value("SELECT count(*) FROM imported") == 2
        press(telegram, "Undo")
        await telegram.wait_for(lambda: "Undone: Imported from ChatGPT" in list_texts(telegram)[-1])
        assert await app.memory.database.value("SELECT count(*) FROM imported") == 0


async def test_document_that_is_no_export_is_read_as_usual(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        telegram.user_says(chat_id=ANN, sends=create_document("note.md", b"# Boat\n\n- paint it\n", "text/markdown"))
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 1)
        assert "export" not in list_texts(telegram)[-1]


async def test_pasted_memory_list_is_offered_and_confirmed_by_one_tap(app: App, person: Person) -> None:
    answer = await person.says("Identity\n[2025-03-14] - I live in Lviv.\n[unknown] - I prefer tea.")
    assert "This looks like a list of memories" in answer
    assert await app.memory.entries.list(OWNER) == []
    assert "2 memories" in await person.says("/import")
    assert "2 memories are confirmed" in await person.says("/confirm imported")
    assert await app.memory.entries.list_unconfirmed(OWNER) == []
    entries = {entry.content: entry for entry in await app.memory.entries.list(OWNER, "fact")}
    assert entries["I live in Lviv."].trusted
    assert f"{entries['I live in Lviv.'].valid_from:%Y-%m-%d}" == "2025-03-14"
    await person.says("/undo")
    assert len(await app.memory.entries.list_unconfirmed(OWNER)) == 2


async def test_import_in_a_private_talk_is_refused(person: Person) -> None:
    await person.says("/private")
    await person.says("[2025-03-14] - I live in Lviv.\n[unknown] - I prefer tea.")
    assert "This wasn't saved, because the conversation is private" in await person.says("/import")


LEARNED = {
    "subject": "ferry",
    "fact": "The user took the ferry to Odesa, message number8.",
    "kind": "fact",
    "message": 9,
    "quote": exports.create_text(8),
}


def script_learning(model: ModelServer, *facts: object) -> None:
    """Script a consolidation that learns facts from any text and asks to forget a known one."""
    forget = [{"subject": "spare-key", "message": 9, "quote": exports.create_text(8)}]
    answer = {"history_entry": "They talked.", "memory_update": "- a new page", "facts": facts, "forget": forget}
    model.consolidation = lambda _: Says(json.dumps(answer))


async def test_fact_learned_from_an_import_is_unconfirmed_until_undone(
    app: App, person: Person, model: ModelServer, tmp_path: Path
) -> None:
    await person.says("/remember The spare key is at Ann's.")
    before = await export_contents(app, tmp_path / "before")
    done = await run_import(app, exports.write_chatgpt(tmp_path, 10))
    await find_import_learning(app).run_requested()
    assert not model.consolidations  # Learning wasn't requested yet.
    script_learning(
        model, LEARNED, LEARNED | {"subject": "other", "fact": "They keep bees.", "quote": "They keep bees."}
    )
    agreeing, model.second_look = model.second_look, lambda _: Says("I can't tell.")
    assert "newest imported conversation" in await person.says("/import learn")
    await find_import_learning(app).run_requested()
    assert "no imported conversations left to learn from" in await person.says("/import learn")
    (entry,) = await app.memory.entries.list_unconfirmed(OWNER)
    assert (entry.content, entry.unconfirmed) == (LEARNED["fact"], Doubt.IMPORTED)
    assert entry.valid_from is not None
    assert entry.valid_from.date() == exports.FIRST.date()
    notice = await app.memory.database.value("SELECT text FROM notices")
    assert "I learned 1 memory from your imported conversations" in notice
    assert not await app.memory.database.value("SELECT count(*) FROM entries WHERE content LIKE '%new page%'")
    model.second_look = agreeing
    await app.jobs.consolidation.review()
    (entry,) = await app.memory.entries.list_unconfirmed(OWNER)  # A later second look doesn't confirm imported facts.
    await app.memory.undo.undo(OWNER, done.change)
    after = await export_contents(app, tmp_path / "after")
    assert {name for name in before if after[name] != before[name]} == {"rows/usage.jsonl", "rows/notices.jsonl"}


async def test_learning_from_imports_respects_its_daily_token_limit(
    start: OpenApp, model: ModelServer, clock: FakeClock, tmp_path: Path
) -> None:
    async with start(import_daily_tokens=1) as app:
        await run_import(app, exports.write_chatgpt(tmp_path, 30))
        assert await find_import_learning(app).request(OWNER) == 3
        await find_import_learning(app).run_requested()
        await find_import_learning(app).run_requested()
        assert len(model.consolidations) == 1
        assert "number29" in str(model.consolidations[0].messages)  # The newest conversation is the first.
        clock.forward(days=1)
        await find_import_learning(app).run_requested()
        assert len(model.consolidations) == 2


async def test_conversation_without_a_usable_answer_is_tried_three_times(
    app: App, model: ModelServer, tmp_path: Path
) -> None:
    await run_import(app, exports.write_chatgpt(tmp_path, 10))
    model.consolidation = lambda _: Says("I would rather not.")
    await find_import_learning(app).request(OWNER)
    await find_import_learning(app).run_requested()
    assert len(model.consolidations) == 3
