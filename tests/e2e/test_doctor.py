"""Tests of `mneme doctor` in broken installations, as listed in docs/troubleshooting.md."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest
from telegram import Bot

from bot.doctor.examination import examine
from bot.doctor.finding import Finding, Verdict, split_remedy
from bot.features.registry import installed_features
from bot.services import MemoryServices
from config.settings import Settings
from memory.clock import system_clock
from memory.runtime.endpoints import EndpointStore
from memory.store.database import Database
from memory.store.entry import Kind, NewEntry
from memory.text.tokens import TokenCounter
from memory.transfer.backup import Backup
from tests.support.bot_api.server import BotApiServer
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Refuses, Says
from tests.support.starter import run_mneme

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| ([\w ]+): (ok|note|warning|failed) \| (.+?) \|$", PAGE, re.MULTILINE)
KEY = "sk-a-key-that-nobody-may-see-0123456789"


@dataclass(slots=True)
class Installation:
    """A working installation with a running Telegram and a running model."""

    data: Path
    telegram: BotApiServer
    model: ModelServer
    environment: dict[str, str] = field(default_factory=dict)

    async def doctor(self, *arguments: str) -> tuple[int, str]:
        """Run the doctor as a process and return exit status and output."""
        environment = os.environ | self.environment
        status, said, complaint = await asyncio.to_thread(run_mneme, "doctor", *arguments, environment=environment)
        assert complaint == ""
        return status, said

    async def findings(self) -> dict[str, Finding]:
        """Return the findings by name, without starting a process."""
        with mock.patch.dict(os.environ, self.environment):
            return {finding.name: finding for finding in await examine(features=installed_features())}


@pytest.fixture
async def installation(tmp_path: Path, model: ModelServer) -> AsyncIterator[Installation]:
    """Set up an installation with one memory and its backup."""
    data = tmp_path / "mneme"
    await remember(data, "The guest wifi is called Kolibri")
    nightly = tmp_path / "mneme-backups" / "mneme" / "nightly"
    await asyncio.to_thread(Backup(data / "mneme.db", data / "memory", system_clock).rotate, nightly, 3)
    model.pages["/v1/models"] = {"data": [{"id": "scripted", "max_model_len": 32768}]}
    async with BotApiServer() as telegram:
        environment = {
            "PYTHONPATH": str(ROOT),
            "MNEME_DATA_DIR": str(data),
            "TELEGRAM_BOT_TOKEN": BotApiServer.TOKEN,
            "TELEGRAM_API_URL": telegram.url,
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": KEY,
            "LLM_MODEL": "scripted",
        }
        yield Installation(data, telegram, model, environment)


async def remember(data: Path, text: str, kind: Kind = Kind.NOTE, name: str = "wifi") -> None:
    """Add an entry to the data directory."""
    database = await Database.open(data / "mneme.db")
    settings = Settings.model_validate({"mneme_data_dir": data})
    try:
        memory = MemoryServices(settings, database, TokenCounter(), system_clock)
        await memory.entries.add("console:local", NewEntry(text, name=name, kind=kind))
    finally:
        await database.close()


def run(*command: str) -> None:
    """Run a command, or skip the test if this machine doesn't allow it."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # Constants.
    if done.returncode != 0:
        pytest.skip(f"{' '.join(command[:2])} is not possible here: {done.stderr.strip()}")


@contextlib.contextmanager
def mounted(folder: Path, size: str) -> Iterator[None]:
    """Mount a small disk at `folder`."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    run("mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(folder))
    try:
        yield
    finally:
        run("umount", str(folder))


WEBHOOK = {
    "TELEGRAM_WEBHOOK_URL": "https://bot.example.org/mine-alone",
    "TELEGRAM_WEBHOOK_SECRET": "a-secret-of-the-webhook",
    "METRICS_PORT": "9464",
}


@contextlib.asynccontextmanager
async def wrong_token(broken: Installation) -> AsyncIterator[None]:
    broken.environment["TELEGRAM_BOT_TOKEN"] = "7654321:another-token-that-nobody-has-given-out"
    yield


@contextlib.asynccontextmanager
async def no_network(broken: Installation) -> AsyncIterator[None]:
    broken.environment["TELEGRAM_API_URL"] = "https://telegram.invalid"  # A name that never resolves.
    yield


@contextlib.asynccontextmanager
async def stale_webhook(broken: Installation) -> AsyncIterator[None]:
    async with Bot(BotApiServer.TOKEN, base_url=f"{broken.telegram.url}/bot") as bot:
        await bot.set_webhook("https://old.example.org/a-secret-path")
    yield
    assert "a-secret-path" not in (await broken.doctor())[1]


@contextlib.asynccontextmanager
async def lost_webhook(broken: Installation) -> AsyncIterator[None]:
    async with stale_webhook(broken):
        broken.environment |= WEBHOOK
        yield


@contextlib.asynccontextmanager
async def closed_webhook(broken: Installation) -> AsyncIterator[None]:
    broken.environment |= WEBHOOK
    async with Bot(BotApiServer.TOKEN, base_url=f"{broken.telegram.url}/bot") as bot:
        await bot.set_webhook(WEBHOOK["TELEGRAM_WEBHOOK_URL"])
    broken.telegram.user_says("hello", chat_id=1001)
    broken.telegram.sends_to("http://127.0.0.1:9")
    await broken.telegram.wait_for(lambda: broken.telegram.webhook_error)
    yield
    assert "mine-alone" not in (await broken.doctor())[1]


@contextlib.asynccontextmanager
async def model_down(broken: Installation) -> AsyncIterator[None]:
    broken.environment |= {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "LLM_TIMEOUT": "1"}
    yield


@contextlib.asynccontextmanager
async def no_tools(broken: Installation) -> AsyncIterator[None]:
    broken.model.refuses = (Refuses("tools", "this model does not support tools"),)
    yield


@contextlib.asynccontextmanager
async def no_price(broken: Installation) -> AsyncIterator[None]:
    broken.environment["CHAT_DAILY_COST"] = "0.5"
    yield


@contextlib.asynccontextmanager
async def read_only(broken: Installation) -> AsyncIterator[None]:
    if os.geteuid() != 0:  # Root may write despite the mode.
        broken.data.chmod(0o500)
        yield
        broken.data.chmod(0o700)
        return
    with mounted(broken.data, "1g"):
        await remember(broken.data, "The guest wifi is called Kolibri")
        run("mount", "-o", "remount,ro", str(broken.data))
        yield


@contextlib.asynccontextmanager
async def full_disk(broken: Installation) -> AsyncIterator[None]:
    with mounted(broken.data, "2m"):
        await remember(broken.data, "The guest wifi is called Kolibri")
        with contextlib.suppress(OSError), (broken.data / "filling").open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        yield


@contextlib.asynccontextmanager
async def damaged(broken: Installation) -> AsyncIterator[None]:
    with (broken.data / "mneme.db").open("r+b") as file:
        file.seek(8192)
        file.write(os.urandom(16384))
    yield


@contextlib.asynccontextmanager
async def out_of_step(broken: Installation) -> AsyncIterator[None]:
    # Empty the index alone, not the indexed rows.
    with contextlib.closing(sqlite3.connect(broken.data / "mneme.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO search (search) VALUES ('delete-all')")
    yield


@contextlib.asynccontextmanager
async def unknown_zone(broken: Installation) -> AsyncIterator[None]:
    broken.environment |= {"TIMEZONE": "", "TZ": "Mars/Phobos"}
    yield


@contextlib.asynccontextmanager
async def wrong_clock(broken: Installation) -> AsyncIterator[None]:
    broken.telegram.be_ahead(600)
    yield


@contextlib.asynccontextmanager
async def wrong_zone(broken: Installation) -> AsyncIterator[None]:
    broken.environment["TIMEZONE"] = "Mars/Phobos"
    yield


@contextlib.asynccontextmanager
async def old_backup(broken: Installation) -> AsyncIterator[None]:
    nightly = broken.data.parent / "mneme-backups" / "mneme" / "nightly"
    for backup in nightly.iterdir():
        backup.unlink()
    week_ago = datetime.now(UTC) - timedelta(days=7)
    Backup(broken.data / "mneme.db", broken.data / "memory", lambda: week_ago).rotate(nightly, 3)
    yield


@contextlib.asynccontextmanager
async def replica_taken(broken: Installation) -> AsyncIterator[None]:
    from bot.features.replica.replica import Replica, ReplicaPlace

    place, elsewhere = broken.data.parent / "replica", broken.data.parent / "elsewhere"
    elsewhere.mkdir()
    await Replica(ReplicaPlace(str(place)), elsewhere, system_clock).take(None)
    broken.environment["REPLICA_URL"] = str(place)
    yield


@contextlib.asynccontextmanager
async def embedder_down(broken: Installation) -> AsyncIterator[None]:
    broken.environment |= {"EMBEDDING_MODEL": "some-embedder", "EMBEDDING_BASE_URL": "http://127.0.0.1:9/v1"}
    yield


@contextlib.asynccontextmanager
async def full_file(broken: Installation) -> AsyncIterator[None]:
    folder = broken.data / "memory" / "console:local"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "MEMORY.md").write_text("".join(f"- A line that was typed, {number}\n" for number in range(300)))
    yield


@contextlib.asynccontextmanager
async def contradicting_rules(broken: Installation) -> AsyncIterator[None]:
    for text in ("Always answer in German", "Always answer in English"):
        await remember(broken.data, text, Kind.POLICY, text)
    yield


@contextlib.asynccontextmanager
async def graph_down(broken: Installation) -> AsyncIterator[None]:
    broken.environment |= {"LIGHTRAG_URL": "http://127.0.0.1:9", "MEMORY_SCOPE": "shared"}
    yield


@contextlib.asynccontextmanager
async def tools_down(broken: Installation) -> AsyncIterator[None]:
    broken.data.joinpath("mcp.json").write_text('{"mcpServers": {"files": {"command": "no-such-program-here"}}}')
    yield


BREAKS: dict[str, Callable[[Installation], AbstractAsyncContextManager[None]]] = {
    "the bot does not start: the token is wrong": wrong_token,
    "the bot does not answer: there is no network": no_network,
    "the bot gets no messages: a webhook was left over": stale_webhook,
    "the bot gets no messages: another program has set the webhook": lost_webhook,
    "the bot gets no messages: Telegram can't reach its webhook": closed_webhook,
    "the bot only sends error messages: the model is down": model_down,
    "the model never notes anything: it does not support tools": no_tools,
    "a chat costs more than CHAT_DAILY_COST: the model's price is unknown": no_price,
    "nothing is stored: the data directory is read-only": read_only,
    "nothing is stored: the disk is full": full_disk,
    "the database is damaged": damaged,
    "searches miss something: the index doesn't match the database": out_of_step,
    "nothing is added to MEMORY.md: it is full of handwritten lines": full_file,
    "the bot follows another rule than it should: two contradict each other": contradicting_rules,
    "days and times are wrong: the machine's zone is unknown": unknown_zone,
    "days and times are wrong: the clock is wrong": wrong_clock,
    "a setting is wrong, such as the time zone": wrong_zone,
    "the last backup is old": old_backup,
    "the bot does not start: another machine holds its replica": replica_taken,
    "search by meaning finds nothing: the embedding model is down": embedder_down,
    "LightRAG is down": graph_down,
    "the bot has lost a tool: its server does not start": tools_down,
}


def test_troubleshooting_page_lists_each_broken_installation() -> None:
    assert [symptom for symptom, *_ in ROWS] == list(BREAKS)


OF_FEATURES = {
    "LightRAG is down": "lightrag",
    "the bot does not start: another machine holds its replica": "replica",
    "the bot has lost a tool: its server does not start": "mcp_tools",
    "the bot gets no messages: another program has set the webhook": "metrics",
    "the bot gets no messages: Telegram can't reach its webhook": "metrics",
    "search by meaning finds nothing: the embedding model is down": "vectors",
}


@pytest.mark.parametrize(
    ("symptom", "name", "verdict", "remedy"),
    [pytest.param(*row, marks=needs_feature(*filter(None, [OF_FEATURES.get(row[0])])), id=row[0]) for row in ROWS],
)
async def test_broken_installation_gets_verdict_and_remedy_of_the_page(
    installation: Installation, symptom: str, name: str, verdict: str, remedy: str
) -> None:
    async with BREAKS[symptom](installation):
        found = await installation.findings()
    assert found[name].verdict == verdict, found
    assert found[name].remedy == remedy
    others = {n: f for n, f in found.items() if f.verdict in (Verdict.WARNING, Verdict.FAILED) and n != name}
    assert not others, others


async def test_working_installation_has_only_good_findings(installation: Installation) -> None:
    note = Calls((("note", {"text": "OK"}),))
    installation.model.sees = True
    installation.model.otherwise = lambda request: note if "tool_choice" in request.body else Says("OK")
    status, said = await installation.doctor()
    assert status == 0
    *lines, empty, summary = said.splitlines()
    assert {line.split()[0] for line in lines} == {"ok"}, said
    assert (empty, summary) == ("", "No problems found.")
    assert "reads 32,768 tokens, according to the server" in said
    assert "@mneme_test_bot" in said
    assert all(f"model: {name}: works" in said for name in ("tools", "tool results", "another turn", "JSON", "images"))


async def test_intended_webhook_is_found_once_set(installation: Installation) -> None:
    installation.environment |= WEBHOOK
    before = (await installation.findings())["webhook"]
    assert (before.verdict, before.remedy) == ("warning", "Start the bot, which sets the webhook.")
    async with Bot(BotApiServer.TOKEN, base_url=f"{installation.telegram.url}/bot") as bot:
        await bot.set_webhook(WEBHOOK["TELEGRAM_WEBHOOK_URL"])
    after = (await installation.findings())["webhook"]
    assert (after.verdict, after.found) == ("ok", "Telegram sends the bot's messages to bot.example.org")


async def test_each_selectable_model_is_asked_once(installation: Installation) -> None:
    installation.environment |= {"LLM_MODELS": "scripted,other", "LLM_FALLBACK_MODEL": "scripted"}
    found = await installation.findings()
    assert {name for name in found if "model" in name and ": " not in name} == {"model", "model other"}
    assert found["model other"].verdict is Verdict.OK


async def test_doctor_output_contains_no_secret(installation: Installation) -> None:
    installation.telegram.fault("getMe", error_code=500, description=f"bot{BotApiServer.TOKEN} failed", times=None)
    installation.model.refuses = (Refuses("messages", f"Incorrect API key: {KEY}", status=500, streamed=True),)
    _, said = await installation.doctor()
    assert BotApiServer.TOKEN not in said
    assert KEY not in said
    assert "[secret]" in said


async def test_doctor_without_settings_creates_nothing(tmp_path: Path, installation: Installation) -> None:
    installation.environment = {"PYTHONPATH": str(ROOT), "MNEME_DATA_DIR": str(tmp_path / "new"), "LLM_MODEL": "none"}
    status, said = await installation.doctor("--json")
    found = {finding["name"]: finding["verdict"] for finding in json.loads(said)}
    assert not (tmp_path / "new").exists()
    assert [found[name] for name in ("data directory", "database", "token")] == ["note"] * 3
    assert (status, found["model"], "last backup" in found) == (1, "failed", False)


async def test_file_in_place_of_the_data_directory_is_a_failure(tmp_path: Path, installation: Installation) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for data in ("file", "file/below"):
        installation.environment["MNEME_DATA_DIR"] = str(tmp_path / data)
        found = await installation.findings()
        assert found["data directory"].verdict is Verdict.FAILED
        assert found["data directory"].remedy == "Move it away, or set another MNEME_DATA_DIR."


async def test_database_of_another_version_is_a_failure_and_unchanged(
    installation: Installation,
) -> None:
    verdicts = []
    for schema in (99, 3):
        with contextlib.closing(sqlite3.connect(installation.data / "mneme.db")) as connection:
            connection.execute(f"PRAGMA user_version = {schema}")
        verdicts.append((await installation.findings())["database"].verdict)
        with contextlib.closing(sqlite3.connect(installation.data / "mneme.db")) as connection:
            assert connection.execute("PRAGMA user_version").fetchone()[0] == schema
    assert verdicts == [Verdict.FAILED, Verdict.FAILED]


async def test_endpoint_features_found_by_the_doctor_are_stored(installation: Installation) -> None:
    installation.model.refuses = (Refuses("response_format", "response_format is not supported"),)
    await installation.doctor()
    assert await read_endpoint(installation) == (frozenset({"response_format", "pictures"}), 32768)
    installation.model.refuses = ()
    await installation.doctor()
    assert await read_endpoint(installation) == (frozenset({"pictures"}), 32768)


async def read_endpoint(installation: Installation) -> tuple[frozenset[str], int | None]:
    """Return the stored features and window of the model's endpoint."""
    database = await Database.open(installation.data / "mneme.db")
    try:
        facts = await EndpointStore(database, system_clock).read(installation.model.url, "scripted")
    finally:
        await database.close()
    return facts.refused, facts.context_tokens


async def test_doctor_neither_waits_for_writers_nor_blocks_them(
    installation: Installation,
) -> None:
    with contextlib.closing(sqlite3.connect(installation.data / "mneme.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE being_written (id INTEGER)")
        found = await asyncio.create_task(installation.findings())
        connection.execute("COMMIT")
    assert (found["database"].verdict, found["search index"].verdict) == (Verdict.OK, Verdict.OK)


async def test_doctor_counts_faded_and_archived_memories(installation: Installation) -> None:
    for number in range(3):
        await remember(installation.data, f"Ate soup number {number}", Kind.FACT, f"soup {number}")
    with contextlib.closing(sqlite3.connect(installation.data / "mneme.db")) as connection:
        connection.create_function("strength", -1, lambda *_: 0.0)
        connection.execute("UPDATE entries SET last_reinforced_at = '2020-01-01T00:00:00.000Z' WHERE kind = 'fact'")
        connection.execute("UPDATE entries SET archived_at = '2021-01-01T00:00:00.000Z' WHERE content LIKE '%number 2'")
        connection.commit()
    finding = (await installation.findings())["memory"]
    assert finding.found == "4 entries; 2 have faded and are used only if they fit a message, 1 are archived"
    assert "soup" not in str(await installation.findings())


@pytest.mark.parametrize(
    ("line", "found", "remedy"),
    [
        (
            "LLM_EXTRA_BODY={bad",
            "LLM_EXTRA_BODY is not valid",
            'Give a JSON object, such as {"top_k": 20}.',
        ),
        ("LLM_MODLE=foo", ".env contains the unknown setting LLM_MODLE", "Did you mean LLM_MODEL?"),
        ("MEMORY_WINDOW=many", "MEMORY_WINDOW is not valid", "Use a whole number."),
    ],
)
async def test_wrong_setting_is_split_into_problem_and_remedy(line: str, found: str, remedy: str) -> None:
    Path(".env").write_text(f"{line}\n")
    finding = (await examine())[0]
    assert (finding.found, finding.remedy) == (found, remedy)


async def test_model_server_that_is_off_is_reported_at_once(installation: Installation) -> None:
    installation.environment |= {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "LLM_TIMEOUT": "60"}
    async with asyncio.timeout(30):
        found = (await installation.findings())["model"]
    assert found.found == "No server answers at http://127.0.0.1:9/v1"


async def test_each_wrong_setting_is_one_finding_without_consequences() -> None:
    Path(".env").write_text("LLM_MODLE=foo\nMEMORY_WINDOW=many\n")
    findings = await examine(features=installed_features())
    assert [finding.name for finding in findings] == ["settings", "settings", "other checks", "versions"]
    assert [finding.found for finding in findings[:2]] == [
        ".env contains the unknown setting LLM_MODLE",
        "MEMORY_WINDOW is not valid",
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It broke (OSError: no): try again", ("It broke (OSError: no)", "Try again.")),
        ("It broke :) and again", ("It broke :) and again", "")),
        ("PERSONA: it's missing: leave it out.", ("PERSONA: it's missing", "Leave it out.")),
    ],
)
def test_colon_in_brackets_does_not_divide_problem_and_remedy(text: str, parts: tuple[str, str]) -> None:
    assert split_remedy(text) == parts


async def test_remedy_for_a_missing_backup_removes_the_warning(installation: Installation, tmp_path: Path) -> None:
    nightly = tmp_path / "mneme-backups" / "mneme" / "nightly"
    shutil.rmtree(nightly.parent)
    finding = (await installation.findings())["last backup"]
    assert finding.verdict is Verdict.WARNING
    command = re.match(r"Run `mneme (.+?)` every night", finding.remedy)
    assert command is not None
    environment = os.environ | installation.environment
    await asyncio.to_thread(run_mneme, *command[1].split(), environment=environment)
    assert (await installation.findings())["last backup"].verdict is Verdict.OK


async def test_backup_with_any_name_counts_in_a_given_folder(installation: Installation, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    data = installation.data
    await asyncio.to_thread(Backup(data / "mneme.db", data / "memory", system_clock).write, folder / "b.zip")
    (folder / "photos.zip").write_bytes(b"no backup")
    with mock.patch.dict(os.environ, installation.environment):
        findings = {finding.name: finding for finding in await examine(folder)}
    assert findings["last backup"].found.startswith(f"{folder / 'b.zip'} is 0 hours old")
