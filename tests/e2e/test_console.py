"""Tests of the console channel in a separate process: output and exit status."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

import bot
from bot.console.address import InvalidChatName, create_console_address
from tests.support.consolidating import create_answer
from tests.support.features import needs_feature
from tests.support.figures import parse_figures
from tests.support.memory_clients import find_free_port
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Says
from tests.support.starter import run_mneme
from tests.support.terminals import PATIENCE

pytestmark = pytest.mark.slow

CODE = Path(bot.__file__).parent.parent


@pytest.fixture
def environment(model: ModelServer) -> dict[str, str]:
    """Return the environment of the program."""
    return {**os.environ, "OPENAI_BASE_URL": model.url, "LLM_MODEL": "scripted", "PYTHONPATH": str(CODE)}


class Mneme:
    """Runs `mneme` and waits for its end."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment

    async def __call__(self, *arguments: str | bytes, stdin: bytes = b"", **changes: str) -> tuple[int, str, str]:
        """Return exit status, standard output and standard error."""
        if "LC_ALL" not in changes:
            environment = self._environment | changes
            return await asyncio.to_thread(run_mneme, *arguments, environment=environment, stdin=stdin)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bot",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment | changes,
        )
        out, err = await asyncio.wait_for(process.communicate(stdin), PATIENCE)
        assert process.returncode is not None
        return process.returncode, out.decode(), err.decode()


@pytest.fixture
def mneme(environment: dict[str, str]) -> Mneme:
    return Mneme(environment)


async def test_message_is_answered_and_remembered_by_the_next_run(mneme: Mneme, model: ModelServer) -> None:
    assert await mneme("chat", "-m", "Olena is what they call me") == (0, "You said: Olena is what they call me\n", "")
    await mneme("chat", "-m", "What is my name?")
    assert [m["content"] for m in model.requests[1].messages[1:3]] == [
        "Olena is what they call me",
        "You said: Olena is what they call me",
    ]
    await mneme("chat", "--session", "work", "-m", "What is my name?")
    assert "Olena" not in model.requests[2].prompt


@needs_feature("mcp_tools")
async def test_all_folders_have_mode_700_and_files_600(mneme: Mneme, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        for message in ("The gate code is on the fridge", "/remember The wifi is called Kolibri", "/new", "/export"):
            await mneme("chat", "-m", message)
        for command in ("backup copies/copy.zip", "export out", "mcp add weather -- true"):
            assert (await mneme(*command.split()))[0] == 0
        for command in ("import out", "restore copies/copy.zip --yes"):
            assert (await mneme(*command.split(), MNEME_DATA_DIR=f"{command[:6]}/deep/data"))[0] == 0
    finally:
        os.umask(before)
    made = [path for path in tmp_path.rglob("*") if not path.is_symlink()]
    assert len([path for path in made if path.suffix == ".md"]) > 5
    wrong = [path for path in made if stat.S_IMODE(path.stat().st_mode) != (0o700 if path.is_dir() else 0o600)]
    assert wrong == []


async def test_wait_for_a_server_that_does_not_answer_is_announced(mneme: Mneme) -> None:
    nowhere = f"http://127.0.0.1:{find_free_port()}/v1"
    status, _out, err = await mneme("chat", "-m", "Hello", OPENAI_BASE_URL=nowhere, LLM_TIMEOUT="4")
    assert status == 1
    assert err.splitlines()[0] == "mneme: waiting for the model server to start"
    assert "No server answers at http://127.0.0.1" in err


async def test_failed_turn_is_reported_on_standard_error(mneme: Mneme, model: ModelServer) -> None:
    model.script(Fails(401))
    status, out, err = await mneme("chat", "-m", "Hello")
    assert (status, out) == (1, "")
    assert err == f"The model at {model.url} rejected the key: check OPENAI_API_KEY.\n"


async def test_commands_work_and_retry_sets_the_exit_status(mneme: Mneme, model: ModelServer) -> None:
    model.script(Says("Fine."), Fails(404))
    status, out, err = await mneme("chat", stdin=b"Hello\n/retry\n")
    assert (status, out) == (1, "Fine.\n")
    assert "wasn't found" in err
    status, out, err = await mneme("chat", stdin=b"/retry\n/status\n")
    assert (status, err) == (0, "")
    said, _, shown = out.partition("\n")
    assert said == "You said: Hello"
    assert parse_figures(shown)["Context"]["messages"] == "2"


async def test_consolidation_failed_in_one_run_is_retried_by_another(
    mneme: Mneme, model: ModelServer, tmp_path: Path
) -> None:
    history = tmp_path / "data" / "memory" / "console:local" / "HISTORY.md"
    await mneme("chat", "-m", "I live in Kyiv.")
    model.consolidation = lambda _: Says("no idea")
    await mneme("chat", "-m", "/new")
    assert len(model.consolidations) == 1
    assert "[raw-fallback]" in history.read_text()
    model.consolidation = lambda _: Says(
        create_answer("They spoke of Kyiv.", None, ("home", "The user lives in Kyiv."))
    )
    await mneme("chat", "--session", "other", "-m", "Hello")
    assert len(model.consolidations) == 1, "whose conversation it was sorts it"
    nexts = (("chat", "-m", "Hello again"), ("chat", "-m", "/new"), ("chat",))
    for number, arguments in enumerate(nexts, 1):  # Each starts from the state of the first runs.
        data = shutil.copytree(tmp_path / "data", tmp_path / f"data-{number}")
        status, _, err = await mneme(*arguments, stdin=b"Hello again\n", MNEME_DATA_DIR=str(data))
        assert (status, err) == (0, "")
        assert "They spoke of Kyiv." in (data / history.relative_to(tmp_path / "data")).read_text()
        assert "Learned: The user lives in Kyiv" in (await mneme("chat", "-m", "So?", MNEME_DATA_DIR=str(data)))[1]
        assert len(model.consolidations) == 1 + number


async def test_consolidation_is_not_given_up_while_the_model_fails(mneme: Mneme, model: ModelServer) -> None:
    await mneme("chat", "-m", "I live in Kyiv.")
    model.consolidation = lambda _: Fails(401)
    await mneme("chat", "-m", "/new")
    model.otherwise = lambda _: Fails(401)
    assert (await mneme("chat", "-m", "Hello"))[0] == 1
    assert len(model.consolidations) == 1


async def test_each_line_of_a_pipe_is_answered_despite_failures(mneme: Mneme, model: ModelServer) -> None:
    model.script(Says("Один."), Fails(404))
    status, out, err = await mneme("chat", stdin="Привіт\n\n  \ntwo\n你好\n/stop\n".encode())
    assert (status, out) == (1, "Один.\nYou said: 你好\nNothing is running.\n")
    assert "wasn't found" in err


async def test_two_runs_in_a_fresh_data_directory_both_answer(mneme: Mneme) -> None:
    runs = [mneme("chat", "--session", name, "-m", name) for name in "ab"]
    assert list(await asyncio.gather(*runs)) == [(0, f"You said: {name}\n", "") for name in "ab"]


async def test_invalid_utf8_is_accepted_in_any_locale(mneme: Mneme) -> None:
    told = (0, "You said: caf\ufffd\n", "")
    assert await mneme("chat", "-m", b"caf\xe9", LC_ALL="C") == told
    assert await mneme("chat", stdin=b"caf\xe9\n", LC_ALL="C.UTF-8") == told


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("MEMORY_WINDOW=1", "MEMORY_WINDOW is not valid: "),
        ("MEMORY_WINDOWS=5", ".env contains the unknown setting MEMORY_WINDOWS: did you mean MEMORY_WINDOW?"),
        ("TIMEZONE=Mars/Olympus", "TIMEZONE is not valid: use an IANA time zone such as Europe/Kyiv."),
        pytest.param(
            "LIGHTRAG_URL=http://localhost:9621",
            "LIGHTRAG_URL needs MEMORY_SCOPE=shared",
            marks=needs_feature("lightrag"),
        ),
    ],
)
async def test_wrong_setting_is_one_line_and_status_2(
    mneme: Mneme, environment: dict[str, str], line: str, sentence: str
) -> None:
    environment.pop("TIMEZONE")
    Path(".env").write_text(f"{line}\n")
    status, out, err = await mneme("chat", "-m", "Hello")
    assert (status, out) == (2, "")
    assert err.startswith(f"mneme: {sentence}")
    assert err.count("\n") == 1


@needs_feature("local_model")
async def test_unknown_local_model_is_a_wrong_setting(mneme: Mneme) -> None:
    status, out, err = await mneme("chat", "-m", "Hello", OPENAI_BASE_URL="", LLM_MODEL="gpt-4o")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "no local model called 'gpt-4o'" in err


@needs_feature("local_model")
async def test_missing_weights_file_is_a_wrong_setting(mneme: Mneme, tmp_path: Path) -> None:
    path = tmp_path / "my-own.gguf"
    status, out, err = await mneme("chat", "-m", "hello", OPENAI_BASE_URL="", LLM_MODEL=str(path))
    assert (status, out) == (2, "")
    assert err == f"mneme: LLM_MODEL names {path}, which can't be read (No such file or directory).\n"


async def test_wrong_usage_is_status_2(mneme: Mneme) -> None:
    assert (await mneme("chat", "--nonsense"))[0] == 2


async def test_unusable_data_directory_is_one_sentence_and_status_1(mneme: Mneme, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    status, out, err = await mneme("chat", "-m", "Hello", MNEME_DATA_DIR=str(tmp_path / "file" / "data"))
    assert (status, out) == (1, "")
    assert err == f"mneme: {tmp_path / 'file' / 'data'} can't be used: Not a directory.\n"


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 65, ".." + "/.."])
def test_chat_name_must_be_plain(name: str) -> None:
    with pytest.raises(InvalidChatName, match="--session takes up to 64 letters"):
        create_console_address(name)


def test_console_has_one_session_for_each_name() -> None:
    assert create_console_address("local").session_id == "console:local"
