"""Tests of backups: consistent while turns are written, and restored completely or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import shutil
import sqlite3
import stat
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.main import cli
from bot.kernel import App
from memory.errors import StoreError
from memory.store.data_lock import lock_data_dir
from memory.store.database import Database
from memory.store.schema import FIRST_FORMAT, NEWEST_FORMAT
from memory.transfer.backup import Backup
from memory.transfer.exporting import Exporter
from memory.transfer.restore import Restore
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.servers.model import ModelServer

shell = CliRunner()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return the data directory of the bot."""
    return tmp_path / "data"


@pytest.fixture
def backup(data: Path, clock: FakeClock) -> Backup:
    """Return the backup of the bot."""
    return Backup(data / "mneme.db", data / "memory", clock)


def restore_into(folder: Path, clock: FakeClock) -> Restore:
    return Restore(folder / "mneme.db", folder / "memory", clock)


@pytest.fixture
async def lived(start: OpenApp, data: Path) -> Path:
    """Fill a data directory and end the bot."""
    async with start() as app:
        person = Person(app)
        await person.says("My bees are called Berta and Bruno.")
        await person.says("/remember The hive stands in Poltava.")
    (data / "memory" / "console:local" / "MEMORY.md").write_text("# Bees\nBerta, Bruno\n", encoding="utf-8")
    return data


@pytest.fixture
def archive(lived: Path, backup: Backup, tmp_path: Path) -> Path:
    """Write a backup of the filled data directory."""
    path = tmp_path / "away" / "mneme.zip"
    backup.write(path)
    return path


async def export_contents(folder: Path, to: Path) -> dict[str, str]:
    """Export a data directory and return its files by name."""
    database = await Database.open(folder / "mneme.db")
    await Exporter(database, folder / "memory").export(to)
    await database.close()
    return {str(path.relative_to(to)): path.read_text("utf-8") for path in sorted(to.rglob("*")) if path.is_file()}


async def test_backup_restored_elsewhere_exports_the_same(
    lived: Path, archive: Path, tmp_path: Path, clock: FakeClock
) -> None:
    done = restore_into(tmp_path / "new", clock).run(archive, replace=False)
    assert done.kept is None
    assert done.manifest.rows["messages"] == 2
    assert done.manifest.made_at == "2026-02-07T12:15:00.000Z"
    before = await export_contents(lived, tmp_path / "export-before")
    assert before == await export_contents(tmp_path / "new", tmp_path / "export-after")
    assert "memory/console:local/MEMORY.md" in before


def test_backup_and_restored_files_are_private_to_their_owner(
    archive: Path, lived: Path, tmp_path: Path, clock: FakeClock
) -> None:
    restore_into(tmp_path / "new", clock).run(archive, replace=False)
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "new").iterdir()} == {
        "mneme.db": 0o600,
        "memory": 0o700,
        "run.lock": 0o600,
    }
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert [path.name for path in archive.parent.iterdir()] == ["mneme.zip"]


def test_backup_excludes_models_and_settings(lived: Path, backup: Backup, tmp_path: Path) -> None:
    (lived / "models").mkdir()
    (lived / "models" / "large.gguf").write_bytes(b"weights")
    (lived / ".env").write_text("TELEGRAM_BOT_TOKEN=x")
    manifest = backup.write(tmp_path / "b.zip")
    assert all(name == "mneme.db" or name.startswith("memory/") for name in manifest.files)


async def test_backup_under_load_contains_only_whole_turns(
    app: App, person: Person, model: ModelServer, backup: Backup, tmp_path: Path, clock: FakeClock
) -> None:
    done = asyncio.Event()

    async def talk() -> None:
        number = 0
        while not done.is_set():
            number += 1
            await person.says(f"message {number}")

    await person.says("hello")
    talking = asyncio.create_task(talk())
    rows = []
    try:
        for number in range(5):
            before = len(model.requests)
            manifest = await asyncio.to_thread(backup.write, tmp_path / f"{number}.zip")
            await model.wait_for(lambda before=before: len(model.requests) > before + 2)  # type: ignore[misc]
            restore_into(tmp_path / f"restored-{number}", clock).run(tmp_path / f"{number}.zip", replace=False)
            rows.append(manifest.rows)
    finally:
        done.set()
        await talking
    assert rows[0]["turns"] < rows[-1]["turns"]
    for number, counts in enumerate(rows):
        assert counts["messages"] == 2 * counts["turns"]
        with closing(sqlite3.connect(tmp_path / f"restored-{number}" / "mneme.db")) as restored:
            assert restored.execute("PRAGMA foreign_key_check").fetchall() == []
        (note,) = (tmp_path / f"restored-{number}" / "memory" / "console:local").glob("2026-*.md")
        assert note.read_bytes().endswith(b"\n")


def test_rotation_keeps_the_newest_and_unrelated_files(
    lived: Path, backup: Backup, tmp_path: Path, clock: FakeClock
) -> None:
    folder = tmp_path / "nightly"
    folder.mkdir()
    (folder / "mneme-by-hand.zip").write_bytes(b"mine")
    (folder / ".mneme-2026-02-01T000000.000000Z.zip.abc").mkdir()  # Left by a killed backup.
    for _ in range(5):
        clock.forward(days=1)
        made, removed = backup.rotate(folder, 3)
    assert made.name == "mneme-2026-02-12T121500.000000Z.zip"
    assert removed == 1
    assert sorted(path.name for path in folder.iterdir()) == [
        "mneme-2026-02-10T121500.000000Z.zip",
        "mneme-2026-02-11T121500.000000Z.zip",
        "mneme-2026-02-12T121500.000000Z.zip",
        "mneme-by-hand.zip",
    ]


def test_failed_backup_removes_no_older_one(lived: Path, backup: Backup, tmp_path: Path, clock: FakeClock) -> None:
    made, _ = backup.rotate(tmp_path / "nightly", 1)
    database = (lived / "mneme.db").read_bytes()
    (lived / "mneme.db").write_bytes(database[:4096] + b"\xff" * (len(database) - 4096))
    clock.forward(days=1)
    with pytest.raises(StoreError, match="is damaged"):
        backup.rotate(tmp_path / "nightly", 1)
    assert list((tmp_path / "nightly").iterdir()) == [made]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("data/memory/backup.zip", "is inside of what is backed up"),
        ("data", "is a folder: name a file, or use --rotate"),
        ("letter.txt", "already exists and isn't a backup: choose another file"),
        ("letter.txt/backup.zip", "can't be written"),
    ],
)
def test_harmful_backup_target_is_refused(lived: Path, backup: Backup, tmp_path: Path, target: str, said: str) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ann")
    with pytest.raises(StoreError, match=said):
        backup.write(tmp_path / target)
    assert (tmp_path / "letter.txt").read_text() == "Dear Ann"


def test_inaccessible_backup_target_is_one_sentence(
    lived: Path, backup: Backup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = Path.stat

    def refuses(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if self.name == "b.zip":
            raise PermissionError(13, "Permission denied")
        return look(self, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", refuses)
    with pytest.raises(StoreError, match=r"b.zip can't be written \(Permission denied\): choose another place"):
        backup.write(tmp_path / "b.zip")


def test_later_backup_replaces_an_earlier_one(lived: Path, backup: Backup, archive: Path) -> None:
    (lived / "memory" / "console:local" / "MEMORY.md").write_text("new")
    manifest = backup.write(archive)
    with zipfile.ZipFile(archive) as again:
        assert again.read("memory/console:local/MEMORY.md") == b"new"
    assert manifest.files["memory/console:local/MEMORY.md"].size == 3


# Restoring.


async def test_existing_data_is_replaced_only_on_request_and_kept_aside(
    lived: Path, archive: Path, clock: FakeClock, tmp_path: Path
) -> None:
    (lived / "memory" / "console:local" / "MEMORY.md").write_text("later")
    before = await export_contents(lived, tmp_path / "before")
    with pytest.raises(StoreError, match=r"is not empty: add --yes"):
        restore_into(lived, clock).run(archive, replace=False)
    assert await export_contents(lived, tmp_path / "still") == before
    done = restore_into(lived, clock).run(archive, replace=True)
    assert (lived / "memory" / "console:local" / "MEMORY.md").read_text() == "# Bees\nBerta, Bruno\n"
    assert done.kept is not None
    assert await export_contents(done.kept, tmp_path / "kept") == before


def test_damaged_installation_can_be_restored_over(lived: Path, archive: Path, clock: FakeClock) -> None:
    (lived / "mneme.db").write_bytes(b"This is a letter, not a database. " * 200)
    done = restore_into(lived, clock).run(archive, replace=True)
    assert done.kept is not None
    assert (done.kept / "mneme.db").read_bytes().startswith(b"This is a letter")
    with closing(sqlite3.connect(lived / "mneme.db")) as restored:
        assert restored.execute("SELECT count(*) FROM messages").fetchone() == (2,)


def test_data_of_a_running_bot_is_not_restored_over(lived: Path, archive: Path, clock: FakeClock) -> None:
    with lock_data_dir(lived), pytest.raises(StoreError, match=r"A bot is running on .*: stop it first"):
        restore_into(lived, clock).run(archive, replace=True)


async def test_data_open_in_another_program_is_not_restored_over(
    lived: Path, archive: Path, clock: FakeClock, start: OpenApp
) -> None:
    async with start():
        with pytest.raises(StoreError, match="is open in another program, such as `mneme chat`"):
            restore_into(lived, clock).run(archive, replace=True)
    assert (lived / "mneme.db").exists()
    assert not list(lived.glob("before-restore-*/*"))


def write_modified(archive: Path, damage: Callable[[dict[str, bytes], dict[str, object]], None]) -> Path:
    """Write a backup with modified contents."""
    with zipfile.ZipFile(archive) as whole:
        contents = {name: whole.read(name) for name in whole.namelist()}
    manifest = json.loads(contents.pop("manifest.json"))
    damage(contents, manifest)
    path = archive.with_name("damaged.zip")
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("manifest.json", json.dumps(manifest))
        for name, content in contents.items():
            made.writestr(name, content)
    return path


def update_manifest(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    """Update the list of files in the manifest."""
    manifest["files"] = {
        name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in contents.items()
    }


def _add_escaping_part(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    contents["memory/../../escaped.md"] = b"out"
    update_manifest(contents, manifest)


def _add_absolute_part(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    contents["/etc/escaped.md"] = b"out"
    update_manifest(contents, manifest)


def _add_part_elsewhere(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    contents[".env"] = b"TELEGRAM_BOT_TOKEN=theirs"
    update_manifest(contents, manifest)


def _add_unlisted_part(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    contents["memory/more.md"] = b"more"


def _remove_part(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    del contents["memory/console:local/MEMORY.md"]


def _change_part(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    contents["memory/console:local/MEMORY.md"] = b"# Bees\nBerta, Bruna\n"


def _add_bomb(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    contents["memory/console:local/MEMORY.md"] = bytes(50_000_000)


def _miscount_rows(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    manifest["rows"] = {"messages": 99}


def _raise_version(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    manifest["schema_version"] = NEWEST_FORMAT + 1


def _lower_version(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    manifest["schema_version"] = FIRST_FORMAT - 1


def _remove_database(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    del contents["mneme.db"]
    update_manifest(contents, manifest)


def _break_database(contents: dict[str, bytes], manifest: dict[str, object]) -> None:
    contents["mneme.db"] = contents["mneme.db"][:8192]
    update_manifest(contents, manifest)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_add_escaping_part, "'memory/../../escaped.md' in it is a link or points outside of it"),
        (_add_absolute_part, "'/etc/escaped.md' in it is a link or points outside of it"),
        (_add_part_elsewhere, "files in its manifest are missing"),
        (_add_unlisted_part, "files in its manifest are missing"),
        (_remove_part, "files in its manifest are missing"),
        (_change_part, "MEMORY.md was changed"),
        (_add_bomb, "MEMORY.md was changed"),
        (_miscount_rows, "does not hold what was counted"),
        (_raise_version, r"was written by a newer Mneme \(format \d+, this one knows \d+\): upgrade Mneme"),
        (_lower_version, r"was written by an early Mneme .*: take it along with `mneme export DIR` of that version"),
        (_remove_database, "files in its manifest are missing"),
        (_break_database, "is damaged"),
    ],
)
def test_modified_backup_is_refused_and_restores_nothing(
    archive: Path,
    damage: Callable[[dict[str, bytes], dict[str, object]], None],
    said: str,
    tmp_path: Path,
    clock: FakeClock,
) -> None:
    with pytest.raises(StoreError, match=said) as refused:
        restore_into(tmp_path / "new", clock).run(write_modified(archive, damage), replace=True)
    assert "\n" not in str(refused.value)
    assert [path.name for path in (tmp_path / "new").glob("*")] in ([], ["run.lock"])
    assert not list(tmp_path.rglob("escaped.md"))


async def test_export_is_no_backup_and_says_what_takes_it(
    lived: Path, backup: Backup, tmp_path: Path, clock: FakeClock
) -> None:
    await export_contents(lived, tmp_path / "exported")
    with pytest.raises(StoreError, match=r"exported is an export: `mneme import` brings it"):
        restore_into(tmp_path / "new", clock).run(tmp_path / "exported", replace=False)


def test_missing_or_foreign_backup_names_both_ways(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "photos").mkdir()
    for name in ("photos", "absent.zip"):
        with pytest.raises(StoreError, match=r"`mneme restore` takes .* and `mneme import` an export\.$"):
            restore_into(tmp_path / "new", clock).run(tmp_path / name, replace=False)


def test_backup_with_a_link_is_refused(archive: Path, tmp_path: Path, clock: FakeClock) -> None:
    link = zipfile.ZipInfo("memory/link.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(archive, "a") as more:
        more.writestr(link, "/etc/passwd")
    with pytest.raises(StoreError, match=r"'memory/link\.md' in it is a link"):
        restore_into(tmp_path / "new", clock).run(archive, replace=True)


@pytest.mark.parametrize("length", [0, 10, 1000, -1])
def test_backup_that_was_cut_off_is_refused(archive: Path, tmp_path: Path, clock: FakeClock, length: int) -> None:
    archive.write_bytes(archive.read_bytes()[:length])
    with pytest.raises(StoreError, match="is damaged, or no file of Mneme"):
        restore_into(tmp_path / "new", clock).run(archive, replace=True)


def test_flipped_byte_is_noticed_or_harmless(archive: Path, tmp_path: Path, clock: FakeClock) -> None:
    whole = archive.read_bytes()
    with closing(sqlite3.connect(tmp_path / "data" / "mneme.db")) as before:
        said = before.execute("SELECT content FROM messages ORDER BY id").fetchall()
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        archive.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        folder = tmp_path / f"new-{at}"
        try:
            restore_into(folder, clock).run(archive, replace=True)
        except StoreError:
            assert not (folder / "mneme.db").exists()
            continue
        with closing(sqlite3.connect(folder / "mneme.db")) as restored:
            assert restored.execute("SELECT content FROM messages ORDER BY id").fetchall() == said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_restore_by_root_keeps_the_owner_of_the_folder(archive: Path, tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "new").mkdir()
    os.chown(tmp_path / "new", 12345, 54321)
    restore_into(tmp_path / "new", clock).run(archive, replace=False)
    assert {(p.stat().st_uid, p.stat().st_gid) for p in (tmp_path / "new").rglob("*")} == {(12345, 54321)}


# From the shell.


def test_shell_commands_back_up_and_restore_with_a_report(lived: Path, tmp_path: Path) -> None:
    made = shell.invoke(cli, ["backup", "now.zip"])
    assert made.exit_code == 0, made.output
    assert re.fullmatch(r"2 messages, 1 conversation(, .+)? and \d+ files? were written to now\.zip\.\n", made.output)
    done = shell.invoke(cli, ["restore", "now.zip", "--into", "second"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "second" / "mneme.db").is_file()
    replaced = shell.invoke(cli, ["restore", "now.zip", "--yes"])
    assert "The previous data is in " in replaced.output
    refused = shell.invoke(cli, ["backup", "now.zip"])
    assert "now.zip already exists: add --yes to replace that backup" in str(refused.exception)
    assert shell.invoke(cli, ["backup", "--yes", "now.zip"]).exit_code == 0
    nightly = shell.invoke(cli, ["backup", "--rotate", "2", "nightly"])
    assert "was written." in nightly.output
    assert len(list((tmp_path / "nightly").iterdir())) == 1


def test_restore_without_a_terminal_needs_a_flag(lived: Path) -> None:
    shell.invoke(cli, ["backup", "now.zip"])
    refused = shell.invoke(cli, ["restore", "now.zip"])
    assert isinstance(refused.exception, StoreError)
    assert "add --yes" in str(refused.exception)


def test_backup_of_nothing_is_refused(tmp_path: Path) -> None:
    refused = shell.invoke(cli, ["backup", "now.zip"])
    assert isinstance(refused.exception, StoreError)
    assert "to back up" in str(refused.exception)
    shutil.rmtree(tmp_path / "data", ignore_errors=True)


async def test_restore_that_fails_at_the_last_step_changes_nothing(
    lived: Path, archive: Path, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await export_contents(lived, tmp_path / "before")
    rename = type(lived).rename

    def fails(self: Path, target: Path) -> Path:
        if self.parent.name.startswith(".restore-") and self.name == "mneme.db":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(type(lived), "rename", fails)
        with pytest.raises(StoreError, match=r"can't be written \(No space left on device\): nothing was changed"):
            restore_into(lived, clock).run(archive, replace=True)
    assert await export_contents(lived, tmp_path / "after") == before
