"""Tests of export and import. An imported export that is exported again is identical."""

from __future__ import annotations

import asyncio
import io
import json
import os
import stat
import tempfile
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import StoreError
from memory.files.markdown import MarkdownFiles
from memory.ledger.long_term import LongTermMemory
from memory.ledger.undo import Undo
from memory.log.sessions import Marker
from memory.search.search import Search
from memory.store.button_rows import OutgoingReply
from memory.store.database import Database
from memory.store.entry import Author, Kind, NewEntry
from memory.store.erasure import PendingErasures
from memory.transfer import importing
from memory.transfer.archive import TooLarge, stays_inside
from memory.transfer.backup import Backup
from memory.transfer.exporting import TABLES, Exporter
from memory.transfer.import_fields import LEFT_OUT, TAKEN
from memory.transfer.importing import Importer
from tests.support.blank import write_blank
from tests.support.fakes import FakeClock
from tests.support.talk import Store, assistant, calls, create_ledger, in_utc, result, user

MINE, THEIRS = "telegram:1", "telegram:2"
WEIRD = 'line\u2028separator\u2029 \x85 \r\n tab\t quote" \\ back\\slash 🙂 e\u0301 \u202e \x1f end'


def open_files(root: Path) -> MarkdownFiles:
    return MarkdownFiles(root / "memory", in_utc, recent_days=7, max_memory_size=8192)


async def fill(database: Database, root: Path, clock: FakeClock) -> None:
    """Store all kinds of data for two owners."""
    store, files = Store.create(database, clock), open_files(root)
    for number, (chat, owner) in enumerate((("1", MINE), ("2", THEIRS)), 1):
        session = await store.session(chat)
        async with database.transaction() as connection:
            await connection.execute(
                "INSERT INTO inbox (channel, update_id, session_id, payload, received_at) VALUES (?, ?, ?, ?, '')",
                ("telegram", number, session.id, json.dumps({"text": f"of {owner}"})),
            )
            await connection.execute(
                "INSERT INTO usage (at, session_id, purpose, model, prompt_tokens, cached_tokens, completion_tokens)"
                " VALUES ('2026', ?, 'turn', 'scripted', 1, 2, 3)",
                (session.id,),
            )
            await connection.execute("INSERT INTO members VALUES ('telegram', ?, '2026', 0)", (number,))
            await connection.execute(
                "INSERT INTO preferences (chat, language) VALUES (?, 'de')", (session.address.owner,)
            )
        turn = await store.commit_turn(
            session, user(f"{WEIRD} of {owner}"), calls("1"), result("1"), assistant("lighthouse"),
            inbox=(number,), reply=OutgoingReply("telegram", f"reply of {owner}"),
        )  # fmt: skip
        await store.commit_turn(session, user("again"), assistant("yes"), replaces=turn)
        archive = await store.archive(owner, f"archive of {owner}")
        transcript = await store.sessions.read_transcript(session.id)
        assert transcript.conversation_id is not None
        await store.mark(
            transcript.conversation_id, Marker(archive.name, archive.id, clock(), transcript.messages[0].id or 0)
        )
        former = await store.entries.add(owner, NewEntry(WEIRD, name="former", kind="recipe", tags=("a", "ключ")))
        newer = await store.entries.add(owner, NewEntry(f"lighthouse of {owner}", name="newer"))
        async with database.transaction() as connection:
            await connection.execute("UPDATE entries SET superseded_by = ? WHERE id = ?", (newer.id, former.id))
        await store.entries.rename(owner, "newer", "newest")
        await store.entries.add(owner, NewEntry("removed", name="removed"))
        await store.entries.remove(owner, "removed")
        await LongTermMemory(files, create_ledger(database, clock, files)).append(
            owner, f"likes tea, {owner}", Author.USER
        )
        await files.append_today(owner, clock(), WEIRD)
        await store.sessions.clear_messages(session.id)
        await store.commit_exchange(session, "a new conversation", "yes")


@pytest.fixture
async def full(database: Database, tmp_path: Path, clock: FakeClock) -> Exporter:
    """Return an installation with all kinds of data."""
    await fill(database, tmp_path / "data", clock)
    return Exporter(database, tmp_path / "data" / "memory")


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[Database]:
    """Open the database of a new installation in `new`."""
    opened = await Database.open(write_blank(tmp_path / "new" / "mneme.db"))
    yield opened
    await opened.close()


def read_contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def read_imported_files(folder: Path) -> dict[str, bytes]:
    """Return the files of an export that an import reads."""
    left = {"manifest.json", *(f"rows/{table}.jsonl" for table in LEFT_OUT)}
    return {name: data for name, data in read_contents(folder).items() if name not in left}


def damage(folder: Path, name: str, change: str) -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    match change:
        case "missing":
            path.unlink()
        case "cut in a line":
            path.write_text(text[:-10], encoding="utf-8")
        case "cut after a line":
            path.write_text("".join(lines[:-1]), encoding="utf-8")
        case "a line twice":
            path.write_text(text + lines[-1], encoding="utf-8")
        case "no utf-8":
            path.write_bytes(b"\xff\xfe" + path.read_bytes())
        case _:
            path.write_text("".join([*lines[:-1], change, "\n"]), encoding="utf-8")


async def test_export_round_trips_through_an_import(full: Exporter, empty: Database, tmp_path: Path) -> None:
    await full.export(tmp_path / "one")
    counts = json.loads((tmp_path / "one" / "manifest.json").read_text())["rows"]
    done = await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "one")
    assert done.rows == {table: counts[table] for table in TAKEN}
    exported = await Exporter(empty, tmp_path / "new" / "memory").export(tmp_path / "two")
    assert {table: count for table, count in exported.items() if count} == {t: n for t, n in done.rows.items() if n}
    assert read_imported_files(tmp_path / "one") == read_imported_files(tmp_path / "two")
    assert set(read_contents(tmp_path / "one")) == {
        "manifest.json",
        *(f"rows/{table}.jsonl" for table in TABLES),
        *(f"entries/{owner}/{kind}.md" for owner in (MINE, THEIRS) for kind in ("note", "recipe", "archive")),
        *(f"memory/{owner}/{name}.md" for owner in (MINE, THEIRS) for name in ("MEMORY", "2026-02-07")),
    }


async def test_entries_page_shows_the_outcome_of_an_episode(
    database: Database, tmp_path: Path, clock: FakeClock
) -> None:
    episode = NewEntry("The disk was full", name="disk", kind=Kind.EPISODE, outcome="Logs were moved")
    await Store.create(database, clock).entries.add(MINE, episode)
    await Exporter(database, tmp_path / "memory").export(tmp_path / "one")
    page = read_contents(tmp_path / "one")[f"entries/{MINE}/episode.md"]
    assert b"The disk was full\n\nOutcome: Logs were moved" in page


async def test_export_omits_only_tables_of_this_installation(database: Database) -> None:
    rows = await database.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'search%' AND name NOT LIKE 'sqlite%'"
    )
    assert {row["name"] for row in rows} - TABLES.keys() == {
        "buttons",
        "claim_codes",
        "decay",
        "documents",
        "effects",
        "embedding_models",
        "endpoints",
        "file_copies",
        "job_attempts",
        "jobs",
        "moves",
        "previews",
        "published",
        "reactions",
        "refused",
        "set_aside",
        "speakers",
        "traces",
        "vectors",
    }


async def test_search_and_undo_work_after_an_import(
    full: Exporter, database: Database, empty: Database, tmp_path: Path, clock: FakeClock
) -> None:
    before = [await Search(database).find(query) for query in ("lighthouse", "february", "newest", "quote")]
    await full.export(tmp_path / "one")
    await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "one")
    assert [await Search(empty).find(query) for query in ("lighthouse", "february", "newest", "quote")] == before
    async with empty.transaction() as connection:
        await connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
    undo = Undo(empty, open_files(tmp_path / "new"), PendingErasures(empty), clock)
    undone = [await undo.undo(MINE) for _ in range(3)]
    assert [change.operation for change in undone if change] == ["edit", "remove", "add"]
    store = Store.create(empty, clock)
    assert (await store.entries.get(MINE, "newer")).name == "newest"
    await store.commit_exchange(await store.session("1"), "life goes on", "yes")


async def test_export_of_one_owner_contains_no_other_and_is_importable(
    full: Exporter, empty: Database, tmp_path: Path
) -> None:
    await full.export(tmp_path / "one", MINE)
    for name, data in read_contents(tmp_path / "one").items():
        assert THEIRS.encode() not in data, name
        assert THEIRS not in name
    await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "one")
    await Exporter(empty, tmp_path / "new" / "memory").export(tmp_path / "two", MINE)
    assert read_imported_files(tmp_path / "one") == read_imported_files(tmp_path / "two")
    assert [hit.name for hit in await Search(empty).find("lighthouse", MINE)] == ["newest"]


async def test_chat_that_changed_its_owner_is_exported_in_parts(
    database: Database, empty: Database, tmp_path: Path, clock: FakeClock
) -> None:
    async def talk(*, shared: bool, text: str) -> None:
        store = Store.create(database, clock, shared_owner=shared)
        session = await store.session("1")
        await store.commit_turn(session, user(text), reply=OutgoingReply("telegram", text))
        await store.sessions.clear_messages(session.id)

    await talk(shared=False, text="said alone")
    await talk(shared=True, text="said to all")
    portable = Exporter(database, tmp_path / "data" / "memory")
    await portable.export(tmp_path / "one", MINE)
    assert not any(b"said to all" in data for data in read_contents(tmp_path / "one").values())
    await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "one")
    assert [hit.content for hit in await Search(empty).find("said")] == ["said alone"]


async def test_import_reads_memory_and_log_and_names_the_rest(full: Exporter, empty: Database, tmp_path: Path) -> None:
    await full.export(tmp_path / "one")
    (tmp_path / "one" / "memory" / MINE / "run.sh").write_text("echo")
    (tmp_path / "one" / "memory" / "telegram:9").mkdir()
    (tmp_path / "one" / "memory" / "telegram:9" / "MEMORY.md").write_text("- nobody's")
    done = await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "one")
    for table in LEFT_OUT:
        assert await empty.value(f"SELECT count(*) FROM {table}") == 0, table  # noqa: S608  # The names are constants.
    assert done.left_out == (
        "who was let in (2)",
        "messages received (2)",
        "messages to be sent (2)",
        "settings of chats (2)",
        "figures of use (2)",
        "files that are no memory (2)",
    )
    assert {path.name for path in (tmp_path / "new" / "memory").rglob("*")} == {
        MINE, THEIRS, "MEMORY.md", "2026-02-07.md"
    }  # fmt: skip


async def test_import_keeps_members_of_an_installation_without_memory(
    full: Exporter, empty: Database, tmp_path: Path
) -> None:
    await full.export(tmp_path / "one")
    await empty.write("INSERT INTO members VALUES ('telegram', 7, '2026', 0)")
    await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "one")
    assert [row["user_id"] for row in await empty.rows("SELECT user_id FROM members")] == [7]


def test_every_exported_table_is_imported_or_left_out() -> None:
    assert TABLES.keys() == {*TAKEN} | LEFT_OUT.keys()


SNAPSHOT = {"id": 1, "owner_id": 1, "content": "x", "deleted_at": None, "archived_at": None, "superseded_by": None}


def snapshot(**changed: object) -> str:
    return json.dumps({"row": SNAPSHOT | changed, "names": []})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "field", "value"),
    [
        ("owners", "id", 1 << 40),  # It would be in the index range of another owner.
        ("owners", "id", True),
        ("owners", "name", ""),
        ("owners", "name", "erased:1"),
        ("sessions", "id", "telegram:9"),
        ("sessions", "owner", "telegram:9"),
        ("sessions", "state", "OWNED"),
        ("sessions", "metadata", "{"),
        ("sessions", "metadata", "[]"),
        ("sessions", "private", 2),
        ("sessions", "created_at", "yesterday"),
        ("conversations", "consolidation_due", -1),
        ("turns", "outcome", "great"),
        ("messages", "id", (1 << 63) - 1),  # No message could follow it.
        ("messages", "role", "root"),
        ("messages", "content", None),
        ("messages", "content", 7),
        ("messages", "provenance", "trusted"),
        ("messages", "created_at", "2026-02-30T12:00:00.000Z"),
        ("messages", "created_at", 0),
        ("messages", "tool_calls", '[{"id": "1"}]'),
        ("messages", "tool_calls", "[" * 100_000),
        ("messages", "media", '["1"]'),
        ("entries", "tags", "none"),
        ("entries", "tags", "[1]"),
        ("entries", "priority", "supreme"),
        ("entries", "author", "root"),
        ("entries", "trusted", 2),
        ("entries", "valid_until", "soon"),
        ("entries", "reinforcement_count", 1e308),
        ("entries", "strength", float("inf")),
        ("entries", "content", "x" * 2_000_001),
        ("names", "key", "another"),
        ("names", "owner_id", 1),
        ("markers", "archive_id", "1"),
        ("changes", "operation", "grant"),
        ("changes", "before", "{}"),
        ("changes", "before", snapshot(id=2)),
        ("changes", "before", snapshot(**{"content = 'x', owner_id": 2})),
        ("changes", "before", snapshot(id=1, owner_id=2)),
        ("changes", "before", snapshot(content=["x"])),
    ],
)
async def test_import_refuses_values_that_no_export_contains(
    full: Exporter, empty: Database, tmp_path: Path, table: str, field: str, value: object
) -> None:
    await full.export(tmp_path / "one")
    path = tmp_path / "one" / "rows" / f"{table}.jsonl"
    *rest, last = path.read_text(encoding="utf-8").splitlines()
    row = json.loads(last) | ({"entry_id": 1, "owner_id": 1} if field == "before" else {})
    path.write_text("".join(f"{line}\n" for line in (*rest, json.dumps(row | {field: value}))))
    with pytest.raises(StoreError, match=r"is damaged .*: nothing was changed"):
        await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "one")
    for table in TAKEN:
        assert await empty.value(f"SELECT count(*) FROM {table}") == 0  # noqa: S608  # The names are constants.


async def test_reminder_exported_during_its_delivery_is_due_again(
    full: Exporter, database: Database, empty: Database, tmp_path: Path
) -> None:
    at = "2026-02-07T13:00:00.000Z"
    await database.write(
        "INSERT INTO reminders (owner_id, session_id, text, repeat, first, zone, state, told_for, outbox_id,"
        " created_at) VALUES (1, ?, 'pills', 'once', '2026-02-07T13:00', 'UTC', 'telling', ?, 1, ?)",
        (MINE, at, at),
    )
    await full.export(tmp_path / "one")
    await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "one")
    (row,) = await empty.rows("SELECT state, next_at, outbox_id FROM reminders")
    assert tuple(row) == ("waiting", at, None)


async def test_export_into_a_non_empty_folder_is_refused(full: Exporter, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "letter.txt").write_text("dear")
    with pytest.raises(StoreError, match="is not empty: choose a new folder"):
        await full.export(tmp_path / "one")
    assert set(read_contents(tmp_path / "one")) == {"letter.txt"}


async def test_export_into_an_impossible_folder_is_refused(full: Exporter, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="can't be written"):
        await full.export(tmp_path / "file" / "one")
    with pytest.raises(StoreError, match="is inside of what is exported"):
        await full.export(tmp_path / "data" / "memory" / "one")


async def test_export_of_an_unknown_owner_is_refused(full: Exporter, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="telegram:9 has no data"):
        await full.export(tmp_path / "one", "telegram:9")
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize("there_before", [False, True])
async def test_28_export_is_readable_by_its_owner_only(full: Exporter, tmp_path: Path, *, there_before: bool) -> None:
    one = tmp_path / "one"
    if there_before:
        one.mkdir()
        one.chmod(0o777)
    (tmp_path / "data" / "memory" / MINE / "2026-02-07.md").chmod(0o666)
    await full.export(one)
    open_to_others = [path for path in (one, *one.rglob("*")) if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert open_to_others == []


async def test_28_import_is_readable_by_its_owner_only(full: Exporter, empty: Database, tmp_path: Path) -> None:
    one = tmp_path / "one"
    await full.export(one)
    for path in (one, *one.rglob("*")):
        path.chmod(0o777)
    root = tmp_path / "new" / "memory"
    await Importer(empty, root).run(one)
    assert [path for path in (root, *root.rglob("*")) if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


@pytest.mark.parametrize(
    "name", [f"memory/{MINE}/MEMORY.md", "memory/elsewhere", "rows/entries.jsonl", "manifest.json"]
)
@pytest.mark.parametrize("kind", ["link", "pipe"])
async def test_28_import_follows_no_links_and_reads_no_pipes(
    full: Exporter, empty: Database, tmp_path: Path, name: str, kind: str
) -> None:
    one, elsewhere = tmp_path / "one", tmp_path / "elsewhere"
    await full.export(one)
    (one / name).unlink(missing_ok=True)
    elsewhere.mkdir()
    (elsewhere / "private.md").write_text("nothing of yours")
    if kind == "link":
        (one / name).symlink_to(elsewhere if name.endswith("elsewhere") else elsewhere / "private.md")
    else:
        os.mkfifo(one / name)
    root = tmp_path / "new" / "memory"
    with pytest.raises(StoreError, match="isn't part of an export: nothing was changed"):
        await Importer(empty, root).run(one)
    assert not root.exists()
    assert await empty.value("SELECT count(*) FROM entries") == 0


async def test_import_into_a_non_empty_installation_is_refused(
    full: Exporter, database: Database, empty: Database, tmp_path: Path
) -> None:
    await full.export(tmp_path / "one")
    before = read_contents(tmp_path / "data" / "memory")
    found = r"not empty \(16 messages, 4 conversations, 8 memories\): import into a new MNEME_DATA_DIR"
    with pytest.raises(StoreError, match=found):
        await Importer(database, tmp_path / "data" / "memory").run(tmp_path / "one")
    assert read_contents(tmp_path / "data" / "memory") == before
    memory = tmp_path / "new" / "memory" / MINE / "MEMORY.md"
    memory.parent.mkdir(parents=True)
    memory.write_text("written by hand")
    with pytest.raises(StoreError, match="not empty"):
        await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "one")
    assert memory.read_text() == "written by hand"


async def test_export_of_an_early_version_is_imported(full: Exporter, empty: Database, tmp_path: Path) -> None:
    await full.export(tmp_path / "one")
    manifest = tmp_path / "one" / "manifest.json"
    counts = json.loads(manifest.read_text())["rows"]
    manifest.unlink()
    (tmp_path / "one" / "contents.json").write_text(json.dumps(counts))
    turns = tmp_path / "one" / "rows" / "turns.jsonl"
    turns.write_text(
        "".join(json.dumps(json.loads(line) | {"private": 0}) + "\n" for line in turns.read_text().splitlines())
    )
    done = await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "one")
    assert done.rows == {table: counts[table] for table in TAKEN}


async def test_import_of_a_backup_is_refused(
    empty: Database, tmp_path: Path, database: Database, clock: FakeClock
) -> None:
    Backup(database.path, tmp_path / "memory", clock).write(tmp_path / "backup.zip")
    with pytest.raises(StoreError, match="`mneme restore` brings it back"):
        await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "backup.zip")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("manifest.json", "missing"),
        ("manifest.json", "cut in a line"),
        ("manifest.json", "[]"),
        ("manifest.json", '{"schema_version": 40, "rows": {"owners": "many"}}'),
        ("manifest.json", '{"schema_version": 40, "rows": {"diaries": 1}}'),
        ("rows/messages.jsonl", "missing"),
        ("rows/messages.jsonl", "cut in a line"),
        ("rows/messages.jsonl", "cut after a line"),
        ("rows/messages.jsonl", "a line twice"),
        ("rows/messages.jsonl", "no utf-8"),
        ("rows/messages.jsonl", "[1]"),
        ("rows/messages.jsonl", "{}"),
        ("rows/messages.jsonl", "[" * 100_000),
        ("rows/owners.jsonl", "cut after a line"),
        ("rows/owners.jsonl", '{"id": 2, "name": null}'),
        ("rows/owners.jsonl", '{"id": 2, "name": ["a"]}'),
        ("rows/owners.jsonl", '{"id": 2, "name": "\\ud800"}'),
        ("rows/owners.jsonl", '{"id": 99999999999999999999999, "name": "a"}'),
        ("rows/owners.jsonl", '{"id": 2, "name": "a", "colour": "red"}'),
        ("rows/owners.jsonl", '{"id": 77, "name": "a"}'),
    ],
)
async def test_damaged_export_imports_nothing(
    full: Exporter, empty: Database, tmp_path: Path, name: str, change: str
) -> None:
    await full.export(tmp_path / "one")
    damage(tmp_path / "one", name, change)
    with pytest.raises(StoreError, match=r"damaged|missing|incomplete|isn't a complete backup|newer Mneme"):
        await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "one")
    for table in TABLES:
        assert await empty.value(f"SELECT count(*) FROM {table}") == 0  # noqa: S608  # The names are constants.
    assert read_contents(tmp_path / "new" / "memory") == {}
    assert not any(".import" in path.name for path in (tmp_path / "new").iterdir())


async def test_folder_without_an_export_is_refused(empty: Database, tmp_path: Path) -> None:
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(StoreError, match="isn't a complete backup or export"):
            await Importer(empty, tmp_path / "new" / "memory").run(folder)


@pytest.mark.slow
@given(st.lists(st.text(max_size=40), max_size=5), st.text(max_size=20))
@settings(max_examples=15)
def test_any_text_survives_export_and_import(texts: list[str], name: str) -> None:
    async def work(folder: Path) -> None:
        clock = FakeClock()
        here, there = [await Database.open(write_blank(folder / place / "mneme.db")) for place in ("here", "there")]
        store = Store.create(here, clock)
        session = await store.session(f"1{name}/..")
        for number, text in enumerate(texts):
            await store.commit_exchange(session, text, text)
            await store.entries.add(session.owner, NewEntry(f"{text}.", name=f"{number}{name}", kind=f"k{name}"))
        await LongTermMemory(
            open_files(folder / "here"), create_ledger(here, clock, open_files(folder / "here"))
        ).append(session.owner, f"x{name}", Author.USER)
        await Exporter(here, folder / "here" / "memory").export(folder / "one", session.owner)
        await Importer(there, folder / "there" / "memory").run(folder / "one")
        await Exporter(there, folder / "there" / "memory").export(folder / "two")
        assert read_imported_files(folder / "one") == read_imported_files(folder / "two")
        assert len(await store.entries.list(session.owner)) == len(texts)
        await here.close()
        await there.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(work(Path(folder)))


@pytest.mark.parametrize("owner", ["..", ".", "a/b", "a%2Fb", "a_b", "../x", ""])
def test_owner_folder_is_unique_and_inside_the_root(tmp_path: Path, owner: str) -> None:
    folder = open_files(tmp_path).get_folder(owner)
    assert folder.resolve().parent == (tmp_path / "memory").resolve()
    others = {"..", ".", "a/b", "a%2Fb", "a_b", "../x", ""} - {owner}
    assert folder not in {open_files(tmp_path).get_folder(other) for other in others}


async def test_zip_file_equals_the_folder_and_is_importable(full: Exporter, empty: Database, tmp_path: Path) -> None:
    await full.export(tmp_path / "one", MINE)
    (tmp_path / "one.zip").write_bytes(await full.export_zip(MINE, 10_000_000))
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o100600}
    assert held == read_contents(tmp_path / "one")
    await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "one.zip")
    await Exporter(empty, tmp_path / "new" / "memory").export(tmp_path / "two", MINE)
    assert read_imported_files(tmp_path / "one") == read_imported_files(tmp_path / "two")
    assert [hit.name for hit in await Search(empty).find("lighthouse", MINE)] == ["newest"]


async def test_zip_file_over_the_size_limit_is_refused(full: Exporter) -> None:
    size = len(await full.export_zip(MINE, 10_000_000))
    assert len(await full.export_zip(MINE, size)) == size
    for most in (size - 1, size // 2, 0):
        with pytest.raises(TooLarge):
            await full.export_zip(MINE, most)


async def test_zip_file_contains_no_secrets(database: Database, tmp_path: Path, clock: FakeClock) -> None:
    store = Store.create(database, clock)
    key = "sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2"
    await store.commit_exchange(await store.session("1"), f"my key is {key}", "It is safe.")
    open_files(tmp_path).get_folder(MINE).mkdir(parents=True)
    (open_files(tmp_path).get_folder(MINE) / "MEMORY.md").write_text(f"- {key}\n")
    packed = await Exporter(database, tmp_path / "memory").export_zip(MINE, 10_000_000)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist()]
    assert not any(key in text for text in texts)
    assert sum("[secret]" in text for text in texts) >= 2


def repack(source: Path, target: Path, *extra: tuple[zipfile.ZipInfo, bytes], without: str = "") -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            if entry.filename != without:
                new.writestr(entry, old.read(entry))
        for entry, content in extra:
            new.writestr(entry, content)


def create_link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    ("entry", "content", "said"),
    [
        (zipfile.ZipInfo(f"memory/{MINE}/../../../escaped.md"), b"x", "points outside"),
        (zipfile.ZipInfo("/etc/mneme-escaped"), b"x", "points outside"),
        (zipfile.ZipInfo("memory\\..\\..\\escaped.md"), b"x", "points outside"),
        (create_link(f"memory/{MINE}/linked.md"), b"/etc/passwd", "is a link"),
        (zipfile.ZipInfo("manifest.json"), b"{}", "something twice"),
    ],
    ids=lambda value: value.filename if isinstance(value, zipfile.ZipInfo) else None,
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
async def test_zip_file_with_a_path_outside_is_refused_whole(
    full: Exporter, empty: Database, tmp_path: Path, entry: zipfile.ZipInfo, content: bytes, said: str
) -> None:
    (tmp_path / "one.zip").write_bytes(await full.export_zip(MINE, 10_000_000))
    repack(tmp_path / "one.zip", tmp_path / "bad.zip", (entry, content))
    root = tmp_path / "new" / "memory"
    with pytest.raises(StoreError, match=said):
        await Importer(empty, root).run(tmp_path / "bad.zip")
    assert not root.exists()
    assert not list(tmp_path.rglob("*escaped*"))
    assert await empty.value("SELECT count(*) FROM entries") == 0


async def test_zip_file_that_unpacks_to_too_much_is_refused(
    full: Exporter, empty: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.zip").write_bytes(await full.export_zip(MINE, 10_000_000))
    repack(tmp_path / "one.zip", tmp_path / "bomb.zip", (zipfile.ZipInfo("memory/zeros.md"), b"0" * 1_000_000))
    monkeypatch.setattr(importing, "MAX_UNPACKED_BYTES", 1_000_000)
    with pytest.raises(StoreError, match="more than an export can"):
        await Importer(empty, tmp_path / "new" / "memory").run(tmp_path / "bomb.zip")


@pytest.mark.parametrize("damage_done", ["cut off", "a bit turned", "no zip", "a table missing"])
async def test_damaged_zip_file_restores_nothing(
    full: Exporter, empty: Database, tmp_path: Path, damage_done: str
) -> None:
    path, packed = tmp_path / "one.zip", bytearray(await full.export_zip(MINE, 10_000_000))
    path.write_bytes(packed)
    match damage_done:
        case "cut off":
            path.write_bytes(packed[: len(packed) // 2])
        case "a bit turned":
            with zipfile.ZipFile(path) as archive:
                entry = archive.getinfo("rows/messages.jsonl")
            packed[entry.header_offset + len(entry.FileHeader()) + entry.compress_size // 2] ^= 1
            path.write_bytes(packed)
        case "no zip":
            path.write_text("PK, as they say")
        case _:
            repack(path, tmp_path / "less.zip", without="rows/messages.jsonl")
            path = tmp_path / "less.zip"
    root = tmp_path / "new" / "memory"
    with pytest.raises(StoreError, match="nothing was changed"):
        await Importer(empty, root).run(path)
    assert not root.exists()
    assert await empty.value("SELECT count(*) FROM owners") == 0


names = st.text(st.characters(codec="utf-8"), max_size=20)


@given(st.lists(names | st.sampled_from(["..", ".", "", "memory", "/", "a\\b", "C:"]), max_size=5).map("/".join))
def test_name_inside_an_archive_resolves_below_its_folder(name: str) -> None:
    if stays_inside(name):
        place = Path(os.path.normpath(Path("/somewhere") / name))
        assert place.is_relative_to("/somewhere")
        assert place != Path("/somewhere")
        assert "\\" not in name
