"""Features: the kernel without any, and one of another package."""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from itertools import permutations
from pathlib import Path

import pytest

from bot.app import open_app
from bot.commands.command import CommandCall, command
from bot.feature import Contributions, Feature
from bot.features.registry import FEATURES, installed_features
from bot.kernel import App, Kernel
from bot.telegram.service import run_telegram
from config.errors import ConfigurationError
from config.groups import find_entry_points
from config.settings import Settings
from memory.mail.inbox import put_scheduled
from pipeline.order import OnFailure, Phase, Step
from pipeline.turn import Turn
from tests.conftest import OpenApp
from tests.support.bot_api.files import create_photo
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock, Person
from tests.support.features import INSTALLED, OWN, needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says
from tests.support.serving import ANN, GROUP, list_texts, serving, wait_for_text
from tests.support.starter import run_mneme
from tests.trials.without_features import choose_halves

DOCUMENT = Path(__file__).parents[2] / "docs" / "features.md"
METADATA = "Metadata-Version: 2.1\nName: mneme-moon\nVersion: 1.0\n"


@pytest.fixture
def moon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install the example of docs/features.md as a package, and return its folder."""
    code, project, _settings = re.findall(r"```(?:python|toml)\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    entry = re.search(r"^moon = \"(.+)\"$", project, re.MULTILINE)
    assert entry is not None
    folder = tmp_path / "packages"
    metadata = folder / "mneme_moon-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / "mneme_moon.py").write_text(code)
    (metadata / "METADATA").write_text(METADATA)
    (metadata / "entry_points.txt").write_text(f"[mneme.features]\nmoon = {entry[1]}\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "mneme_moon", raising=False)
    find_entry_points.cache_clear()
    yield folder
    find_entry_points.cache_clear()


async def test_feature_of_another_package_adds_command_tool_and_prompt(
    moon: Path, tmp_path: Path, clock: FakeClock, model: ModelServer
) -> None:
    values = {"mneme_data_dir": tmp_path / "data", "openai_base_url": model.url, "llm_model": "scripted"}
    async with open_app(Settings.model_validate(values), clock) as app:
        person = Person(app)
        said = await person.says("/moon")
        assert re.fullmatch(r"The moon is \d+ days old\.", said)
        assert (await person.says("/help")).endswith("**More**\n- /moon - The age of the moon")
        model.script(Calls((("moon_age", {}),), cites=False), Says("It is waxing."))
        assert await person.says("How old is the moon?") == "It is waxing."
        first, second = model.requests[-2:]
        assert said in str(first.messages[-1]["content"])
        assert second.messages[-1]["content"] == said


@needs_feature("lightrag")
def test_feature_of_another_package_is_listed(moon: Path, tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(moon), "MNEME_DATA_DIR": str(tmp_path), "PATH": "/usr/bin"}
    done = subprocess.run(
        [sys.executable, "-m", "bot", "features"],
        env=environment,
        cwd=DOCUMENT.parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert [name for name, _ in lines] == [*(feature.name for feature in FEATURES), "moon"]
    assert ["moon", "on"] in lines
    assert ["lightrag", "off: LIGHTRAG_URL is not set"] in lines


def test_feature_of_another_package_has_settings_of_its_own(moon: Path, tmp_path: Path) -> None:
    *_, addition = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    code, entries = moon / "mneme_moon.py", moon / "mneme_moon-1.0.dist-info" / "entry_points.txt"
    code.write_text(f"{code.read_text()}\n\n{addition}")
    entries.write_text(entries.read_text().replace(":MoonFeature", ":SwitchableMoonFeature"))

    def start(line: str) -> str:
        (tmp_path / ".env").write_text(line)
        return run_shell(moon, tmp_path, "features")[1]

    assert re.search(r"^moon +on$", start("MOON_AGE=true"), re.MULTILINE)
    assert re.search(r"^moon +off: MOON_AGE is false$", start("MOON_AGE=false"), re.MULTILINE)
    assert "MOON_AGE is not valid: use true or false" in start("MOON_AGE=many")
    assert "the unknown setting MOON_AG: did you mean MOON_AGE?" in start("MOON_AG=true")


def test_package_that_cant_be_loaded_is_named(moon: Path) -> None:
    (moon / "mneme_moon.py").write_text("import a_module_that_does_not_exist")
    with pytest.raises(ConfigurationError, match="The feature moon of mneme-moon can't be loaded"):
        installed_features()


def run_shell(moon: Path, folder: Path, *arguments: str) -> tuple[int, str]:
    """Run a command of the shell with the packages at `moon`. Return its exit status and output."""
    environment = {"PYTHONPATH": str(moon), "MNEME_DATA_DIR": str(folder / "data"), "PATH": "/usr/bin"}
    environment["MNEME_ENV_FILE"] = str(folder / ".env")
    status, output, error = run_mneme(*arguments, environment=environment, folder=DOCUMENT.parents[1])
    return status, output + error


def test_shell_works_with_a_broken_package(moon: Path, tmp_path: Path) -> None:
    (moon / "mneme_moon.py").write_text("import a_module_that_does_not_exist")
    (tmp_path / ".env").write_text("MOON_DAYS=29\n")
    reason = "ModuleNotFoundError: No module named 'a_module_that_does_not_exist'"
    status, said = run_shell(moon, tmp_path, "features")
    assert status == 0
    assert said.endswith(f"\nmoon         broken: mneme-moon can't be loaded ({reason})\n")
    assert run_shell(moon, tmp_path, "memory", "list") == (0, "No results.\n")
    assert f"The feature moon of mneme-moon can't be loaded ({reason})" in run_shell(moon, tmp_path, "doctor")[1]
    status, said = run_shell(moon, tmp_path, "chat", "-m", "hello")
    assert status == 2
    assert said == (
        f"mneme: The feature moon of mneme-moon can't be loaded ({reason}): upgrade or uninstall that package.\n"
    )


def test_command_of_two_packages_is_one_sentence(moon: Path, tmp_path: Path) -> None:
    source = (moon / "mneme_moon.py").read_text()
    (moon / "mneme_tide.py").write_text(source.replace('name = "moon"', 'name = "tide"'))
    metadata = moon / "mneme_tide-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(METADATA.replace("moon", "tide"))
    (metadata / "entry_points.txt").write_text("[mneme.features]\ntide = mneme_tide:MoonFeature\n")
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:9/v1\nLLM_MODEL=scripted\n")
    status, said = run_shell(moon, tmp_path, "features")
    assert status == 0
    clash = re.search(r"^The features .*\.$", said, re.MULTILINE)
    assert clash is not None
    assert "moon (mneme_moon)" in clash[0]
    assert "tide (mneme_tide)" in clash[0]
    assert " both define the command /moon: " in clash[0]
    assert run_shell(moon, tmp_path, "chat", "-m", "hello") == (2, f"mneme: {clash[0]}\n")


async def test_command_of_feature_and_kernel_is_one_sentence(tmp_path: Path, clock: FakeClock) -> None:
    class Undoing(Feature):
        name = "undoing"

        @command("undo", "Undo")
        async def undo(self, call: CommandCall) -> str:
            return ""

        async def open(self, kernel: Kernel) -> Contributions:
            return Contributions(commands=[self])

    values = {"mneme_data_dir": tmp_path, "openai_base_url": "http://127.0.0.1:9/v1", "llm_model": "scripted"}
    with pytest.raises(ConfigurationError, match=r"tests\.features\.test_features both define the command /undo: "):
        async with open_app(Settings.model_validate(values), clock, features=[Undoing()]):
            pass


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((60, 60), r"The feature first \(.*\) and the feature second \(.*\) both have the row 60 in the pipeline"),
        ((60, 30), r"The kernel and the feature second \(.*\) both have the row 30 in the pipeline"),
    ],
)
async def test_features_with_the_same_row_of_the_pipeline_are_named(
    tmp_path: Path, clock: FakeClock, rows: tuple[int, int], said: str
) -> None:
    class Waiting(Feature):
        def __init__(self, name: str, row: int) -> None:
            self.name = name  # type: ignore[misc]  # Two of one class
            self.row = row

        async def open(self, kernel: Kernel) -> Contributions:
            return Contributions(systems=[(Step(self.row, self.name, OnFailure.CONTINUE, Phase.AFTER), self)])

        async def process(self, turn: Turn) -> None:
            pass

    features = [Waiting("first", rows[0]), Waiting("second", rows[1])]
    values = {"mneme_data_dir": tmp_path, "openai_base_url": "http://127.0.0.1:9/v1", "llm_model": "scripted"}
    with pytest.raises(ConfigurationError, match=said):
        async with open_app(Settings.model_validate(values), clock, features=features):
            pass


async def test_feature_that_cant_be_started_is_named(tmp_path: Path, clock: FakeClock) -> None:
    class Broken(Feature):
        name = "broken"

        async def open(self, kernel: Kernel) -> Contributions:
            raise RuntimeError("no")

    values = {"mneme_data_dir": tmp_path, "openai_base_url": "http://127.0.0.1:9/v1", "llm_model": "scripted"}
    with pytest.raises(ConfigurationError, match="The feature broken can't be started"):
        async with open_app(Settings.model_validate(values), clock, features=[Broken()]):
            pass


def test_features_that_tests_name_are_complete() -> None:
    assert set(OWN) >= INSTALLED


async def test_kernel_without_features_answers_and_remembers(
    tmp_path: Path, clock: FakeClock, model: ModelServer
) -> None:
    values = {"mneme_data_dir": tmp_path, "openai_base_url": model.url, "llm_model": "scripted"}
    async with open_app(Settings.model_validate(values), clock, features=()) as app:
        person = Person(app)
        await person.says("Remember that the spare key is at Ann's.")
        await person.says("/new")
        await person.says("Where is the spare key?")
        assert "spare key is at Ann's" in model.requests[-1].prompt
        assert "spare key is at Ann's" in await person.says("/recall spare key")


def start_with(*features: Feature, clock: FakeClock, model: ModelServer, folder: Path) -> OpenApp:
    """Return a function that starts a bot with these features only."""

    @contextlib.asynccontextmanager
    async def start(window: int | None = None, **settings: object) -> AsyncIterator[App]:
        values = {"mneme_data_dir": folder, "openai_base_url": model.url, "llm_model": "scripted"} | settings
        async with open_app(Settings.model_validate(values), clock, features=features) as app:
            yield app

    return start


async def test_telegram_without_features_answers_in_text(
    tmp_path: Path, clock: FakeClock, model: ModelServer, telegram: BotApiServer
) -> None:
    model.script(Says("# Tea\n\nIt is warm."))
    async with serving(start_with(clock=clock, model=model, folder=tmp_path), telegram)():
        telegram.user_calls_guest("@mneme_test_bot hello", chat_id=GROUP, user_id=ANN)
        telegram.user_says("Which tea?", chat_id=ANN)
        await wait_for_text(telegram, "It is warm.")
        telegram.user_says("/help", chat_id=ANN)
        await wait_for_text(telegram, "/settings")
    assert not {"/rich", "/voice"} & {word for text in list_texts(telegram) for word in text.split()}
    assert len(model.requests) == 1
    assert telegram.list_calls("answerGuestQuery") == []


async def test_kernel_without_features_refuses_files_and_drops_tasks(
    tmp_path: Path, clock: FakeClock, model: ModelServer, telegram: BotApiServer
) -> None:
    async with serving(start_with(clock=clock, model=model, folder=tmp_path), telegram)() as app:
        telegram.user_says(chat_id=ANN, sends=create_photo("sea"))
        await wait_for_text(telegram, "I can't watch or open this photo")
        async with app.database.transaction() as connection:
            await put_scheduled(connection, f"telegram:{ANN}", 1, clock(), clock())
        telegram.user_says("hello", chat_id=ANN)
        await wait_for_text(telegram, "You said: hello")
        assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0
    assert len(model.requests) == 1


async def test_bot_without_endpoint_and_model_says_what_to_do(tmp_path: Path, clock: FakeClock) -> None:
    with pytest.raises(ConfigurationError, match="No model is configured: run `mneme setup`"):
        async with open_app(Settings(mneme_data_dir=tmp_path), clock, features=()):
            pass


class Copying(Feature):
    """Copies commits to another machine, as far as the kernel can tell. `replies_at` counts the sent replies."""

    name = "copying"

    def __init__(self, telegram: BotApiServer) -> None:
        self._telegram = telegram
        self.replies_at: list[int] = []
        self.is_taken = False

    async def open(self, kernel: Kernel) -> Contributions:
        return Contributions(safeguards=[self])

    async def wait_until_safe(self) -> None:
        self.replies_at.append(len(self._telegram.list_calls("sendMessage")))

    async def require_place(self) -> None:
        if self.is_taken:
            raise ConfigurationError("Another machine has taken over.")


async def test_safeguard_protects_updates_and_replies(
    tmp_path: Path, clock: FakeClock, model: ModelServer, telegram: BotApiServer
) -> None:
    copying = Copying(telegram)
    async with serving(start_with(copying, clock=clock, model=model, folder=tmp_path), telegram)():
        telegram.user_says("hello", chat_id=ANN)
        await wait_for_text(telegram, "You said: hello")
    assert copying.replies_at == [0, 0, 1]  # After the update, before the reply and after it


async def test_bot_whose_place_was_taken_ends(
    tmp_path: Path, clock: FakeClock, model: ModelServer, telegram: BotApiServer
) -> None:
    copying = Copying(telegram)
    copying.is_taken = True
    telegram.fault("getUpdates", error_code=409, description="Conflict: terminated by other getUpdates request")
    start = start_with(copying, clock=clock, model=model, folder=tmp_path)
    async with start(telegram_bot_token=BotApiServer.TOKEN, telegram_api_url=telegram.url) as app:
        with pytest.raises(ConfigurationError, match="has taken over"):
            await asyncio.wait_for(run_telegram(app), 20)


@pytest.mark.parametrize("number", [2, 3, 19, 21])
def test_each_feature_is_missing_in_a_trial_with_any_other(number: int) -> None:
    names = [f"feature {index}" for index in range(number)]
    halves = choose_halves(names)
    assert all(any(one in half and other not in half for half in halves) for one, other in permutations(names, 2))
    assert len(halves) < number or number <= 3
