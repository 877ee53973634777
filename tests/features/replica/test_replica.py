"""Tests of the replica that Litestream writes while the bot runs, and of takeovers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import shutil
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.main import cli
from bot.features.replica.feature import ReplicaFeature
from bot.features.replica.replica import Replica, ReplicaPlace, ReplicaUnreachable, create_replica
from bot.features.replica.replication import Replication
from bot.features.replica.restoring import ReplicaSource
from bot.kernel import App
from config.errors import ConfigurationError
from memory.clock import Clock
from memory.errors import StoreError
from memory.store.database import Database
from memory.store.entry import Author
from memory.transfer.restore import Restore
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_feature, needs_feature
from tests.support.processes import bot_environment, forked_bot
from tests.support.servers.model import ModelServer
from tests.support.serving import ANN, list_texts, serving
from tests.support.starter import run_mneme

pytestmark = pytest.mark.slow

TIMEOUT_SECONDS = 30


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return the folder of the replica."""
    return tmp_path / "replica"


def get_replication(app: App) -> Replication:
    return find_feature(app, ReplicaFeature).replication


@contextlib.asynccontextmanager
async def replicating(app: App, clock: Clock) -> AsyncIterator[Replication]:
    """Replicate as `mneme run` does."""
    replica = create_replica(app.settings, clock)
    await replica.claim()
    async with get_replication(app).running():
        yield get_replication(app)


async def sync_all(app: App) -> None:
    """Copy the files and wait until the replica has everything."""
    assert app.memory.copies is not None
    await app.memory.copies.update()
    assert await get_replication(app).wait_for_sync(TIMEOUT_SECONDS)


async def take_over_and_read(place: Path, folder: Path, clock: Clock) -> list[str]:
    """Take over the replica as another machine and return the contents of all entries."""
    database = await Database.open(await take_over(place, folder, clock) / "mneme.db")
    entries = [str(row["content"]) for row in await database.rows("SELECT content FROM entries")]
    await database.close()
    return entries


async def take_over(place: Path, folder: Path, clock: Clock, *, replace: bool = True) -> Path:
    """Take over the replica as another machine and return its data directory."""
    replica = Replica(ReplicaPlace(str(place)), folder, clock)
    restore = Restore(folder / "mneme.db", folder / "memory", clock)
    await asyncio.to_thread(ReplicaSource(replica, clock).restore, restore, replace=replace, is_copy=False)
    return folder


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the files that people can edit."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for top in ("memory", "skills")
        for path in (folder / top).rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


@needs_feature("capture")
async def test_replica_brings_memory_and_files_to_another_machine(
    start: OpenApp, place: Path, tmp_path: Path, clock: FakeClock
) -> None:
    data = tmp_path / "data"
    async with start(replica_url=str(place)) as app, replicating(app, clock):
        person = Person(app)
        await person.says("My bees are called Berta and Bruno.")
        await app.memory.long_term.append("console:local", "The hive stands in Poltava.", Author.USER)
        (data / "skills" / "bees").mkdir(parents=True)
        (data / "skills" / "bees" / "SKILL.md").write_text("how to keep them", encoding="utf-8")
        note = data / "memory" / "console:local" / "2019-01-01.md"
        note.write_bytes(b"written by hand, and \xff no text\n")
        await sync_all(app)
        (data / "skills" / "bees" / "SKILL.md").unlink()
        (data / "skills" / "bees" / "HIVES.md").write_text("how to build them", encoding="utf-8")
        await sync_all(app)
    elsewhere = await take_over(place, tmp_path / "elsewhere", clock)
    assert read_files(elsewhere) == read_files(data)
    assert {"memory/console:local/MEMORY.md", "skills/bees/HIVES.md"} <= read_files(elsewhere).keys()
    assert b"Poltava" in read_files(elsewhere)["memory/console:local/MEMORY.md"]
    async with start(mneme_data_dir=elsewhere, replica_url=str(place)) as app, replicating(app, clock):
        assert "Berta" in (await app.memory.entries.list("console:local"))[0].content
        assert await get_replication(app).wait_for_sync(TIMEOUT_SECONDS)


async def test_written_file_has_its_copy_in_the_same_commit(start: OpenApp, tmp_path: Path) -> None:
    """Any commit may be the last in a replica, so a note is either written in it or still pending."""
    async with start(replica_url=str(tmp_path / "replica")) as app:
        await Person(app).says("My bees are called Berta and Bruno.")
        await app.memory.long_term.append("console:local", "The hive stands in Poltava.", Author.USER)
        rows = await app.database.rows("SELECT path, content FROM file_copies")
        copies = {row["path"]: row["content"] for row in rows}
        assert copies == read_files(tmp_path / "data")
        assert await app.database.value("SELECT count(*) FROM turns WHERE note = 'written'") == 1
        # The line is removed again, and its copy too.
        await Person(app).says("/undo")
        copy = "SELECT content FROM file_copies WHERE path = 'memory/console:local/MEMORY.md'"
        assert b"Poltava" not in await app.database.value(copy)


async def test_nothing_is_copied_without_a_replica(start: OpenApp) -> None:
    async with start() as app:
        await Person(app).says("My bees are called Berta and Bruno.")
        assert await app.database.value("SELECT count(*) FROM file_copies") == 0


async def test_second_machine_starts_only_after_a_takeover(
    start: OpenApp, place: Path, tmp_path: Path, clock: FakeClock
) -> None:
    async with start(replica_url=str(place)) as first, replicating(first, clock):
        await Person(first).says("/remember The hive stands in Poltava.")
        await sync_all(first)
        other = tmp_path / "other"
        async with start(mneme_data_dir=other, replica_url=str(place)) as second:
            with pytest.raises(ConfigurationError, match=r"is held by .*: bring its memory here with"):
                async with replicating(second, clock):
                    pass
        with pytest.raises(StoreError, match=r"wrote to it at .*: stop the bot there, or add --yes"):
            await take_over(place, tmp_path / "third", clock, replace=False)
        await get_replication(first).require_place()
        await take_over(place, tmp_path / "third", clock)
        with pytest.raises(ConfigurationError, match="which has taken over"):
            await get_replication(first).require_place()
        # Later writes of the former machine don't reach the replica of the present one.
        await Person(first).says("/remember The second hive stands in Lviv.")
        assert await get_replication(first).wait_for_sync(TIMEOUT_SECONDS)
    async with start(mneme_data_dir=tmp_path / "third", replica_url=str(place)) as app, replicating(app, clock):
        await sync_all(app)
    assert await take_over_and_read(place, tmp_path / "fourth", clock) == ["The hive stands in Poltava."]


async def test_replica_is_restored_again_after_an_unused_takeover(
    start: OpenApp, place: Path, tmp_path: Path, clock: FakeClock
) -> None:
    async with start(replica_url=str(place)) as app, replicating(app, clock):
        await Person(app).says("/remember The hive stands in Poltava.")
        await sync_all(app)
    for name in ("second", "third", "fourth"):
        assert await take_over_and_read(place, tmp_path / name, clock) == ["The hive stands in Poltava."]
    async with start(mneme_data_dir=tmp_path / "fourth", replica_url=str(place)) as app, replicating(app, clock):
        await Person(app).says("/remember The second hive stands in Lviv.")
        await sync_all(app)
    assert len(await take_over_and_read(place, tmp_path / "fifth", clock)) == 2


async def test_restore_says_which_folder_of_the_replica_it_read(
    start: OpenApp, place: Path, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(replica_url=str(place)) as app, replicating(app, clock):
        await sync_all(app)
    for name, words in (("second", "(its folder 1)"), ("third", "(its folder 1; ")):
        monkeypatch.setenv("MNEME_DATA_DIR", str(tmp_path / name))
        arguments = ["restore", "--replica", str(place), "--yes"]
        done = await asyncio.to_thread(CliRunner().invoke, cli, arguments)
        assert done.exit_code == 0
        assert words in done.output
    assert "has not written anything" in done.output


async def test_replica_without_a_database_is_refused_in_a_sentence(
    place: Path, tmp_path: Path, clock: FakeClock
) -> None:
    (tmp_path / "first").mkdir()
    await Replica(ReplicaPlace(str(place)), tmp_path / "first", clock).claim()
    with pytest.raises(StoreError, match="holds no database yet"):
        await take_over(place, tmp_path / "second", clock)
    assert not (tmp_path / "second" / "mneme.db").exists()


async def test_drill_leaves_the_replica_to_the_running_bot(
    start: OpenApp, place: Path, tmp_path: Path, clock: FakeClock
) -> None:
    async with start(replica_url=str(place)) as app, replicating(app, clock):
        await Person(app).says("/remember The hive stands in Poltava.")
        await sync_all(app)
        for _ in range(2):
            arguments = ["restore", "--replica", str(place), "--into", str(tmp_path / secrets.token_hex(4))]
            done = await asyncio.to_thread(CliRunner().invoke, cli, arguments)
            assert done.exit_code == 0, done.output
            assert "The other machine keeps the replica" in done.output
        await get_replication(app).require_place()
        await Person(app).says("/remember The second hive stands in Lviv.")
        await sync_all(app)
    assert len(await take_over_and_read(place, tmp_path / "other", clock)) == 2


async def test_bot_that_lost_the_replica_to_another_ends(place: Path, tmp_path: Path, model: ModelServer) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    async with BotApiServer() as telegram:
        environment = bot_environment(telegram, model, ANN) | {"REPLICA_URL": str(place)}
        async with forked_bot(environment | {"MNEME_DATA_DIR": str(first)}, tmp_path) as former:
            telegram.user_says("hello", chat_id=ANN)
            await telegram.wait_for(lambda: "You said: hello" in list_texts(telegram))
            of_second = environment | {"MNEME_DATA_DIR": str(second)}
            assert await mneme(of_second, "run") == 2
            assert not (second / "mneme.db").exists()
            command = ("restore", "--replica", str(place), "--yes")
            assert await mneme(of_second, *command) == 0
            async with forked_bot(of_second, tmp_path):
                assert await asyncio.wait_for(former.wait(), TIMEOUT_SECONDS) == 2
                telegram.user_says("and now?", chat_id=ANN)
                await telegram.wait_for(lambda: "You said: and now?" in list_texts(telegram), timeout=TIMEOUT_SECONDS)
    assert "has taken over" in (tmp_path / "log").read_text(encoding="utf-8")


async def mneme(environment: dict[str, str], *arguments: str) -> int:
    """Run a command and return its exit status."""
    status, _, _ = await asyncio.to_thread(run_mneme, *arguments, environment=environment)
    return status


async def test_forgotten_text_is_gone_from_disk_and_from_the_replica(
    start: OpenApp, place: Path, tmp_path: Path, clock: FakeClock
) -> None:
    word = secrets.token_hex(12)
    async with start(replica_url=str(place)) as app, replicating(app, clock):
        person = Person(app)
        await person.says(f"/remember The word is {word}.")
        await person.says(f"What is {word}?")
        await sync_all(app)
        await app.memory.forgetting.forget_all("console:local")
        data = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
        assert [path for path in data if word.encode() in path.read_bytes()] == []
        assert any(path.name == "mneme.db" for path in data)
        await app.memory.long_term.append("console:local", "The hive stands in Poltava.", Author.USER)
        await sync_all(app)
    elsewhere = await take_over(place, tmp_path / "elsewhere", clock)
    assert b"Poltava" in read_files(elsewhere)["memory/console:local/MEMORY.md"]
    assert [path for path in elsewhere.rglob("*") if path.is_file() and word.encode() in path.read_bytes()] == []


async def test_unwritable_replica_delays_nothing_and_is_reported_after_an_hour(
    start: OpenApp, place: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "bot.features.replica.replication.CHECK_TIMEOUT_SECONDS", 0.5
    )  # Let the failing check time out quickly.
    told: list[timedelta] = []

    async def tell(age: timedelta) -> None:
        told.append(age)

    async with BotApiServer() as telegram, serving(start, telegram)(replica_url=str(place)) as app:
        replication = get_replication(app)
        async with replicating(app, clock):
            replication.tell = tell
            assert await replication.wait_for_sync(TIMEOUT_SECONDS)
            await asyncio.to_thread(shutil.move, place / "1", place / "away")
            (place / "1").touch()  # The folder is now a file.
            telegram.user_says("hello", chat_id=ANN)
            await telegram.wait_for(lambda: "You said: hello" in list_texts(telegram))
            assert not await replication.wait_for_sync(1)
            telegram.user_says("/status", chat_id=ANN)
            await telegram.wait_for(
                lambda: any("It can't be written at the moment" in text for text in list_texts(telegram))
            )
            clock.forward(minutes=50)
            await replication.check()
            assert told == []
            clock.forward(minutes=20)
            await replication.check()
            await replication.check()
            assert [age.total_seconds() for age in told] == [70 * 60]
            (place / "1").unlink()
            await asyncio.to_thread(shutil.move, place / "away", place / "1")
            async with asyncio.timeout(60):  # Litestream retries at its own pace.
                while replication.sync_age != timedelta():
                    await replication.check()


@needs_feature("metrics")
async def test_metrics_contain_the_age_of_the_replica(start: OpenApp, place: Path, clock: FakeClock) -> None:
    from bot.features.metrics.metrics import Metrics

    metrics = Metrics()
    async with start(replica_url=str(place)) as app:
        page = (await metrics.render(app.database, app.health, app.runner.queues, app.measurements)).decode()
        assert "mneme_replica_age_seconds" not in page  # An age of 0 would be wrong.
        async with replicating(app, clock) as replication:
            assert await replication.wait_for_sync(TIMEOUT_SECONDS)
            clock.forward(seconds=90)
            page = (await metrics.render(app.database, app.health, app.runner.queues, app.measurements)).decode()
    assert "mneme_replica_age_seconds 90.0" in page


async def test_status_shows_the_owner_the_age_of_the_replica(start: OpenApp, place: Path, clock: FakeClock) -> None:
    async with BotApiServer() as telegram, serving(start, telegram)(replica_url=str(place)) as app:
        replication = get_replication(app)
        async with replicating(app, clock):
            telegram.user_says("hello", chat_id=ANN)
            await telegram.wait_for(lambda: "You said: hello" in list_texts(telegram))
            assert await replication.wait_for_sync(TIMEOUT_SECONDS)
            clock.forward(hours=2)
            assert replication.sync_age is not None
            assert replication.tell is not None
            await replication.tell(replication.sync_age)
            await telegram.wait_for(lambda: any("is 2:00:00 old" in text for text in list_texts(telegram)))


async def test_folder_that_is_no_replica_is_refused_with_a_sentence(
    place: Path, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "elsewhere"
    with pytest.raises(StoreError, match=f"There is no replica at {place}"):
        await take_over(place, folder, clock)
    place.write_text("a file", encoding="utf-8")
    with pytest.raises(ReplicaUnreachable, match="can't be used"):
        await take_over(place, folder, clock)
    assert not (folder / "mneme.db").exists()
    for arguments in ([], ["some.zip", "--replica", str(place)]):
        result = CliRunner().invoke(cli, ["restore", *arguments])
        assert isinstance(result.exception, ConfigurationError)
    monkeypatch.setenv("REPLICA_URL", "sftp://anna:password@example.org/mneme")
    result = CliRunner().invoke(cli, ["restore", "--replica", str(place)])
    assert "REPLICA_URL is not valid" in str(result.exception)


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (ReplicaPlace("/mnt/disk/"), {"type": "file", "path": "/mnt/disk/7"}),
        (
            ReplicaPlace("s3://bucket/mneme?endpoint=s3.example.org", "id", "secret"),
            {
                "url": "s3://bucket/mneme/7?endpoint=s3.example.org",
                "access-key-id": "id",
                "secret-access-key": "secret",
            },
        ),
        (
            ReplicaPlace("sftp://anna@example.org:2222/mneme", None, "word", Path("/key"), "ssh-ed25519 AAAA"),
            {
                "url": "sftp://anna@example.org:2222/mneme/7",
                "password": "word",
                "key-path": "/key",
                "host-key": "ssh-ed25519 AAAA",
            },
        ),
    ],
)
def test_litestream_settings_contain_place_and_credentials(
    there: ReplicaPlace, expected: dict[str, str], tmp_path: Path, clock: FakeClock
) -> None:
    settings = json.loads(Replica(there, tmp_path, clock).build_settings(tmp_path / "mneme.db", "7"))
    (database,) = settings["dbs"]
    assert {**database["replica"], "sync-interval": None} == {**expected, "sync-interval": None}
    assert database["path"] == str(tmp_path / "mneme.db")


async def test_replicated_database_leaves_checkpoints_to_litestream(
    start: OpenApp, place: Path, tmp_path: Path, clock: FakeClock
) -> None:
    async with start(replica_url=str(place)) as app, replicating(app, clock):
        await sync_all(app)
        async with app.database.transaction() as connection:
            assert [tuple(row) for row in await connection.execute_fetchall("PRAGMA wal_autocheckpoint")] == [(16_000,)]
        beside = await Database.open(tmp_path / "data" / "mneme.db")
        async with beside.transaction() as connection:
            assert [tuple(row) for row in await connection.execute_fetchall("PRAGMA wal_autocheckpoint")] == [(16_000,)]
        await beside.close()
