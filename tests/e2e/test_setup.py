"""Tests of `mneme setup` in a terminal: questions, stored settings, and interruptions."""

from __future__ import annotations

import asyncio
import io
import json
import os
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import bot
from bot.features.registry import installed_features
from bot.setup.model import set_up_model
from bot.setup.program import find_program
from bot.setup.questions import complete_url, write_settings
from bot.setup.setup import build_claim_link, render_qr_code, set_up_time_zone
from config.loading import load_settings
from config.models import load_catalogue
from config.settings import MemoryScope
from memory.access import AccessList
from memory.clock import system_clock
from memory.runtime.endpoints import EndpointStore
from memory.store.database import Database
from tests.support.bot_api.server import BotApiServer
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Fails, Refuses, Says
from tests.support.terminals import Terminal, on_terminal

pytestmark = pytest.mark.slow

CODE = Path(bot.__file__).parent.parent
ENV = Path(".env")
TOKEN = BotApiServer.TOKEN
WRONG_TOKEN = "7654321:Wrong-token-for-a-local-server-only"


@pytest.fixture(autouse=True)
def without_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIMEZONE", raising=False)


@pytest.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    async with BotApiServer() as server:
        yield server


@pytest.fixture
def environment(telegram: BotApiServer) -> dict[str, str]:
    return {**os.environ, "TELEGRAM_API_URL": telegram.url, "PYTHONPATH": str(CODE)}


@pytest.fixture
async def setup(environment: dict[str, str]) -> AsyncIterator[Terminal]:
    async with on_terminal("setup", environment=environment, columns=100, rows=60) as opened:
        await opened.wait_for_question("use only the terminal):")
        yield opened


async def choose_service(setup: Terminal) -> None:
    """Choose the endpoint by address. Its number depends on the machine."""
    await setup.wait_for_question("Number [1]:")
    offered = next(line for line in setup.lines if "by address" in line)
    setup.type(f"{offered.split()[0]}\r")
    await setup.wait_for_question("(empty: OpenAI):")


async def enter_address(setup: Terminal, address: str, key: str = "") -> None:
    setup.type(f"{address}\r")
    await setup.wait_for_question("API key (not shown; empty: none):")
    setup.type(f"{key}\r")


async def answer_zone_and_people(setup: Terminal, zone: str = "", people: str = "") -> None:
    await setup.wait_for_text("Your time zone, or a city or country [")
    setup.type(f"{zone}\r")
    await setup.wait_for_text("Who will use the bot?")
    setup.type(f"{people}\r")


async def keep_answers(setup: Terminal) -> None:
    """Keep the token, the model, the time zone and the people."""
    await setup.wait_for_question("@mneme_test_bot):")
    setup.type("\r")
    await setup.wait_for_text("Choose another model?")
    setup.type("\r\r\r")


@pytest.mark.parametrize(
    ("zone", "number", "expected"),
    [("", "", ("Europe/Kyiv", MemoryScope.FAMILY)), ("Tokyo", "1", ("Asia/Tokyo", MemoryScope.CHAT))],
    ids=["kept", "changed"],
)
async def test_setup_shows_present_answers_and_changes_them(
    environment: dict[str, str],
    telegram: BotApiServer,
    model: ModelServer,
    zone: str,
    number: str,
    expected: tuple[str, MemoryScope],
) -> None:
    write_settings(ENV, TELEGRAM_BOT_TOKEN=TOKEN, OPENAI_BASE_URL=model.url, LLM_MODEL="scripted")
    write_settings(ENV, TIMEZONE="Europe/Kyiv", MEMORY_SCOPE="family")
    before = ENV.read_text()
    async with on_terminal("setup", environment=environment, columns=100, rows=60) as setup:
        await setup.wait_for_question("Another token (not shown; empty: keep @mneme_test_bot):")
        setup.type("\r")
        await setup.wait_for_question("Choose another model? [y/N]:")
        setup.type("\r")
        await setup.wait_for_question("Your time zone, or a city or country [Europe/Kyiv]:")
        setup.type(f"{zone}\r")
        await setup.wait_for_question("Number [2]:")
        setup.type(f"{number}\r")
        assert await setup.wait_for_end() == 0
    settings = load_settings(ENV)
    assert (settings.timezone, settings.memory_scope) == expected
    assert (ENV.read_text() == before) is not bool(zone)


@needs_feature("mcp_tools", "web_tools")
async def test_setup_ends_with_a_link_to_claim_the_bot(setup: Terminal, model: ModelServer, tmp_path: Path) -> None:
    from bot.features.web_tools.settings import WebToolsSettings

    large = {"id": "large", "max_model_len": 12_345}
    model.pages["/v1/models"] = {"object": "list", "data": [{"id": "small"}, large]}
    model.refuses = (Refuses("stream_options", "stream_options is not supported"),)
    note = Calls((("note", {"text": "OK"}),))
    model.otherwise = lambda request: note if "tool_choice" in request.body else Says("OK")
    setup.type("my token\r")
    await setup.wait_for_text("That isn't a bot token")
    await setup.wait_for_question("use only the terminal):")
    setup.type(f"{WRONG_TOKEN}\r")
    await setup.wait_for_text("Telegram doesn't know this token")
    await setup.wait_for_question("use only the terminal):")
    assert not ENV.exists()
    setup.type(f"{TOKEN}\r")
    await choose_service(setup)
    setup.type("not an address\r")
    await setup.wait_for_text("That isn't an address")
    await enter_address(setup, f"{model.url.removeprefix('http://').removesuffix('/v1')}", key="key-of-mine")
    await setup.wait_for_question("(number or name):")
    setup.type("2\r")
    await answer_zone_and_people(setup, zone="Kyiv", people="2")
    await setup.wait_for_question("Tool (empty: none):")
    setup.type("pagess\r")
    await setup.wait_for_text("Enter search or pages, or nothing.")
    setup.type("pages\r")
    await setup.wait_for_question("read pages? [y/N]:")
    setup.type("y\r")
    assert await setup.wait_for_end() == 0
    assert TOKEN not in setup.text
    assert "key-of-mine" not in setup.text
    settings = load_settings(ENV)
    assert (str(settings.openai_base_url), settings.llm_model) == (model.url, "large")
    assert (settings.timezone, settings.memory_scope) == ("Europe/Kyiv", MemoryScope.FAMILY)
    assert f"Start the bot with `{sys.prefix}/bin/mneme run`." in setup.text.replace("\n", " ")
    assert settings.group(WebToolsSettings).web_search
    assert stat.S_IMODE(ENV.stat().st_mode) == 0o600
    link = next(line for line in setup.lines if "https://t.me/mneme_test_bot?start=" in line)
    database = await Database.open(tmp_path / "data" / "mneme.db")
    access = AccessList(database, "telegram", system_clock)
    assert await access.awaits_claim()
    assert await access.claim(12345, link.partition("start=")[2])
    assert not await access.awaits_claim()
    facts = await EndpointStore(database, system_clock).read(model.url, "large")
    assert (facts.context_tokens, facts.refused) == (12_345, frozenset({"stream_options", "pictures"}))
    await database.close()
    entries = json.loads((tmp_path / "data" / "mcp.json").read_text())["mcpServers"]
    assert entries == {"pages": {"command": "uvx", "args": ["mcp-server-fetch>=2026.10.24"]}}
    assert sum("█" in line for line in setup.lines) > 10


async def test_setup_offers_local_model_server_first_and_explains_choices(
    model: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model.pages["/v1/models"] = {"object": "list", "data": [{"id": "qwen"}, {"id": "nomic-embed-text"}]}
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n"))  # The first offer, and its only model.
    for patience in ("_CONNECT_SECONDS", "_ANSWER_SECONDS"):  # The machine may be busy.
        monkeypatch.setattr(f"pipeline.models.local_servers.{patience}", 20)
    calls_tools = await asyncio.to_thread(
        set_up_model, ENV, installed_features(), {"LM Studio": 9, "Ollama": urlsplit(model.url).port or 0}
    )
    lines = capsys.readouterr().out.splitlines()
    assert not calls_tools
    assert any(line.startswith("    tools: no; reminders in plain words and commands still work") for line in lines)
    offered = [line.split("  ", 2)[-1] for line in lines if line.startswith("  ") and line[2] != " "]
    assert [line[:18] for line in offered[:2]] == ["Ollama on this mac", "A service or anoth"]
    assert all(line.startswith("The embedded model") for line in offered[2:])
    assert all("memory" in line for line in offered[:3])
    assert "(qwen)" in offered[0]
    settings = load_settings(ENV)
    assert (str(settings.openai_base_url), settings.llm_model) == (model.url, "qwen")


async def test_setup_explains_a_wrong_model_and_goes_back(setup: Terminal, model: ModelServer) -> None:
    setup.type("\r")
    await choose_service(setup)
    model.script(Fails(404))
    await enter_address(setup, model.url)
    await setup.wait_for_question("Model:")  # Nothing is listed there.
    setup.type("no-such-model\r")
    await setup.wait_for_text("no-such-model wasn't found at")
    await setup.wait_for_question("Number [1]:")
    setup.type("3\r")
    await setup.wait_for_text("Which model should answer?", times=2)
    assert not ENV.exists()


async def test_setup_asks_for_a_wrong_address_again(setup: Terminal, model: ModelServer) -> None:
    model.pages["/v1/models"] = {"object": "list", "data": [{"id": "small"}]}
    setup.type("\r")
    await choose_service(setup)
    await enter_address(setup, "127.0.0.1:9")
    await setup.wait_for_text("No server answers at http://127.0.0.1:9: check the address and its port.")
    await setup.wait_for_question("Number [1]:")
    setup.type("1\r")
    await setup.wait_for_question("Base URL [http://127.0.0.1:9]:")
    await enter_address(setup, model.url)
    await setup.wait_for_question("(number or name) [small]:")
    setup.type("\r")
    await setup.wait_for_text("The model small answers")
    await setup.wait_for_text("Your time zone")
    assert load_settings(ENV).llm_model == "small"


async def test_setup_offers_no_tools_to_a_model_that_calls_none(setup: Terminal, model: ModelServer) -> None:
    model.pages["/v1/models"] = {"object": "list", "data": [{"id": "small"}]}
    setup.type("\r")
    await choose_service(setup)
    await enter_address(setup, model.url)
    await setup.wait_for_question("(number or name) [small]:")
    setup.type("\r")
    await setup.wait_for_text("tools: no; ")
    await setup.wait_for_text("Your time zone, or a city or country [")
    setup.type("\r")
    assert await setup.wait_for_end() == 0
    assert "The model can use tools" not in setup.text
    assert "search the web" not in setup.text


async def test_setup_saves_an_address_that_does_not_answer_on_request(setup: Terminal) -> None:
    setup.type("\r")
    await choose_service(setup)
    await enter_address(setup, "127.0.0.1:9")
    await setup.wait_for_question("Number [1]:")
    setup.type("2\r")
    await setup.wait_for_question("Model:")
    setup.type("mine\r")
    await setup.wait_for_text("Your time zone")
    assert load_settings(ENV).llm_model == "mine"


async def test_setup_without_key_of_openai_goes_back(setup: Terminal) -> None:
    setup.type("\r")
    await choose_service(setup)
    setup.type("\r")
    await setup.wait_for_question("OpenAI API key (not shown; empty: back):")
    setup.type("\r")
    await setup.wait_for_text("Which model should answer?", times=2)


def test_time_zone_is_asked_until_it_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Atlantis\nUSA\nUnited States\nnew york\n"))
    monkeypatch.setattr("bot.setup.setup.find_system_zone", lambda: "Asia/Tokyo")
    set_up_time_zone(ENV)
    said = " ".join(capsys.readouterr().out.split())
    assert "[Asia/Tokyo]" in said
    assert "That isn't a place with a time zone" in said
    assert "Which one: " in said
    assert said.endswith("in America/New_York.")
    assert load_settings(ENV).timezone == "America/New_York"
    set_up_time_zone(ENV)  # Asks nothing, or the empty input would abort it


def test_program_is_named_as_it_can_be_run_from_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "checkout" / ".venv" / "bin" / "mneme"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    monkeypatch.setattr("sys.prefix", str(tmp_path / "checkout" / ".venv"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir("/")
    assert find_program(ENV) == str(program).removeprefix("/")
    monkeypatch.chdir("/usr")
    assert find_program(ENV) == str(program)
    monkeypatch.chdir(tmp_path / "checkout")
    assert find_program(ENV) == ".venv/bin/mneme"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mneme").symlink_to(program)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    assert find_program(ENV) == "mneme"
    assert find_program(Path("/etc/mneme/mneme.env")) == "sudo mneme"
    assert find_program(Path("/etc/mneme/work.env")) == "sudo mneme @work"


@pytest.mark.parametrize("answers", [[], [f"{TOKEN}\r"], [f"{TOKEN}\r", "service"], ["\r"]])
async def test_ctrl_c_at_each_question_leaves_working_settings(setup: Terminal, answers: list[str]) -> None:
    for answer in answers:
        if answer == "service":
            await choose_service(setup)
        else:
            setup.type(answer)
            await setup.wait_for_question("Number [1]:")
    assert await setup.end_with_ctrl_c() == 130
    assert "Setup was cancelled. The answers saved so far are kept." in setup.lines
    assert (load_settings(ENV).telegram_bot_token is not None) == (TOKEN in "".join(answers))


@needs_feature("local_model")
async def test_setup_without_token_and_endpoint_uses_the_embedded_model(setup: Terminal) -> None:
    setup.type("\r")
    await setup.wait_for_question("Number [1]:")
    offered = next(line for line in setup.lines if "The embedded model" in line)
    setup.type(f"{offered.split()[0]}\r")
    await setup.wait_for_text("Your time zone, or a city or country [")
    setup.type("\r")
    assert await setup.wait_for_end() == 0
    assert f"Start chatting with `{sys.prefix}/bin/mneme chat`." in " ".join(setup.lines)
    assert ENV.read_text().startswith("TIMEZONE=")


@pytest.mark.parametrize(
    ("memory", "names"),
    [
        (16_000_000_000, ["qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b"]),
        (2_000_000_000, ["qwen2.5-coder-0.5b"]),
        (1_000_000_000, []),
    ],
)
def test_setup_offers_only_embedded_models_that_fit_into_memory(memory: int, names: list[str]) -> None:
    fitting = load_catalogue().list_fitting(memory)
    assert [model.name for model in fitting if model.is_measured] == names


async def test_setup_with_unpriced_model_says_what_limits_it(
    model: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    write_settings(ENV, OPENAI_BASE_URL=model.url, LLM_MODEL="scripted", CHAT_DAILY_COST="0.5")
    await asyncio.to_thread(set_up_model, ENV, installed_features(), {"Ollama": 9})
    assert "set CHAT_DAILY_TOKENS, which limits every model." in " ".join(capsys.readouterr().out.split())


@needs_feature("local_model")
async def test_setup_can_choose_a_smaller_embedded_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bot.features.local_model.setup.get_memory_bytes", lambda: 2_000_000_000)
    monkeypatch.setattr("sys.stdin", io.StringIO("2\n"))
    await asyncio.to_thread(set_up_model, ENV, installed_features(), {"Ollama": 9})
    assert "qwen2.5-coder-0.5b was chosen" in capsys.readouterr().out
    assert load_settings(ENV).llm_model == "qwen2.5-coder-0.5b"


@needs_feature("local_model")
async def test_setup_offers_models_of_hub_as_not_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bot.features.local_model.setup.get_memory_bytes", lambda: 16_000_000_000)
    monkeypatch.setattr("sys.stdin", io.StringIO("4\n"))
    await asyncio.to_thread(set_up_model, ENV, installed_features(), {"Ollama": 9})
    said = " ".join(capsys.readouterr().out.split())
    assert "The embedded model qwen3-4b, not measured here, from the hub, free and private; 2.5 GB to download" in said
    assert f"qwen3-4b was chosen: download it with `{sys.prefix}/bin/mneme model pull qwen3-4b`." in said
    assert load_settings(ENV).llm_model == "qwen3-4b"


async def test_setup_in_a_narrow_window_shows_no_qr_code(environment: dict[str, str], model: ModelServer) -> None:
    write_settings(ENV, TELEGRAM_BOT_TOKEN=TOKEN, OPENAI_BASE_URL=model.url, LLM_MODEL="scripted")
    write_settings(ENV, TIMEZONE="Europe/Kyiv", MEMORY_SCOPE="chat")
    async with on_terminal("setup", environment=environment, columns=36, rows=60) as setup:
        await keep_answers(setup)
        assert await setup.wait_for_end() == 0
        assert "https://t.me/mneme_test_bot?start=" in setup.text.replace("\n", "")
        assert "█" not in setup.text


SWITCHES = {"supports_guest_queries": False, "has_topics_enabled": False, "can_read_all_group_messages": True}


@pytest.mark.parametrize(("answer", "supported"), [("", True), ("", False), ("n", True)])
async def test_setup_switches_on_the_settings_at_telegram(
    environment: dict[str, str], telegram: BotApiServer, model: ModelServer, answer: str, supported: bool
) -> None:
    telegram.bot.update(SWITCHES)
    telegram.supports.settings = supported
    write_settings(ENV, TELEGRAM_BOT_TOKEN=TOKEN, OPENAI_BASE_URL=model.url, LLM_MODEL="scripted")
    write_settings(ENV, TIMEZONE="Europe/Kyiv", MEMORY_SCOPE="chat")
    async with on_terminal("setup", environment=environment, columns=100, rows=60) as setup:
        await keep_answers(setup)
        await setup.wait_for_question("Switch them on? [Y/n]:")
        setup.type(f"{answer}\r")
        does = supported and not answer
        rest = "You can switch on Guest Mode and Threaded Mode and Group Privacy yourself: open"
        await setup.wait_for_text("They are on now." if does else rest)
        assert "  Guest Mode: you can mention the bot in chats" in setup.text
    changed = {name: not value for name, value in SWITCHES.items()}
    calls = telegram.list_calls("setMySettings")
    assert [call.params for call in calls] == ([] if answer else [changed | {"allows_users_to_create_topics": True}])
    assert {name: telegram.bot[name] for name in SWITCHES} == (changed if does else SWITCHES)


async def test_setup_mentions_only_what_is_off_at_telegram(
    environment: dict[str, str], telegram: BotApiServer, model: ModelServer
) -> None:
    telegram.bot.update({"supports_guest_queries": True, "has_topics_enabled": False})
    write_settings(ENV, TELEGRAM_BOT_TOKEN=TOKEN, OPENAI_BASE_URL=model.url, LLM_MODEL="scripted")
    write_settings(ENV, TIMEZONE="Europe/Kyiv", MEMORY_SCOPE="chat")
    async with on_terminal("setup", environment=environment, columns=100, rows=60) as setup:
        await keep_answers(setup)
        await setup.wait_for_question("Switch them on? [Y/n]:")
        assert "Threaded Mode" in setup.text
        assert "Guest Mode" not in setup.text
        assert "Group Privacy" not in setup.text


@pytest.mark.parametrize(
    ("typed", "whole"),
    [
        ("localhost:1234", "http://localhost:1234"),
        (" 192.168.1.5:8080/v1/ ", "http://192.168.1.5:8080/v1"),
        ("nas:11434/v1", "http://nas:11434/v1"),
        ("api.example.org/v1", "https://api.example.org/v1"),
        ("http://api.example.org/v1/chat/completions", "http://api.example.org/v1"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("", ""),
        ("ftp://example.org", None),
        ("a b", None),
        ("http://", None),
        ("localhost:port", None),
    ],
)
def test_incomplete_address_is_completed(typed: str, whole: str | None) -> None:
    assert complete_url(typed) == whole


def test_write_settings_keeps_other_lines_and_is_atomic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ENV.write_text("# mine\nTIMEZONE=Europe/Kyiv\nLLM_MODEL=old\n")
    write_settings(ENV, OPENAI_BASE_URL="http://localhost:1/v1", LLM_MODEL="it's new")
    assert ENV.read_text().startswith("# mine\nTIMEZONE=Europe/Kyiv\n")
    assert load_settings(ENV).llm_model == "it's new"
    before = ENV.read_text()

    def full(*_arguments: object, **_more: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("bot.setup.questions.set_key", full)
    with pytest.raises(OSError, match="no space"):
        write_settings(ENV, LLM_MODEL="newer")
    assert ENV.read_text() == before
    assert [path.name for path in Path().iterdir()] == [".env"]


def test_qr_code_of_a_link_fits_into_forty_columns() -> None:
    picture = render_qr_code(build_claim_link("a_bot_with_a_name_of_32_letters_", "ABCDEFGHJK"))
    assert len({len(line) for line in picture}) == 1
    assert len(picture[0]) <= 41
