"""The console channel as a person and a script use it: another process, its output and its exit status."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bot
from bot.cli.console import InvalidChatName, console_address
from tests.servers.model import Fails, Holds, Says

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.servers.model import ModelServer

CODE = Path(bot.__file__).parent.parent
PATIENCE = 30
"""Seconds that a test waits for the program before it fails."""


@pytest.fixture
def environment(model: ModelServer) -> dict[str, str]:
    """What the program finds in its environment; its working directory is the test's own."""
    return {**os.environ, "OPENAI_BASE_URL": model.url, "LLM_MODEL": "scripted", "PYTHONPATH": str(CODE)}


class Mneme:
    """Runs `mneme` and waits for its end."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment

    async def __call__(self, *arguments: str | bytes, stdin: bytes = b"", **changes: str) -> tuple[int, str, str]:
        """Its exit status, and what it wrote to standard output and to standard error."""
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


async def test_one_message_is_answered_and_remembered_by_the_next_run(mneme: Mneme, model: ModelServer) -> None:
    assert await mneme("chat", "-m", "My name is Olena") == (0, "You said: My name is Olena\n", "")
    await mneme("chat", "-m", "What is my name?")
    assert [m["content"] for m in model.requests[1].messages[1:3]] == [
        "My name is Olena",
        "You said: My name is Olena",
    ]
    await mneme("chat", "--session", "work", "-m", "What is my name?")
    assert "Olena" not in model.requests[2].prompt


async def test_a_turn_that_fails_is_said_on_standard_error(mneme: Mneme, model: ModelServer) -> None:
    model.script(Fails(401))
    status, out, err = await mneme("chat", "-m", "Hello")
    assert (status, out) == (1, "")
    assert err == f"The model at {model.url} refuses the key: check OPENAI_API_KEY.\n"


async def test_commands_work_and_a_retry_is_judged_by_its_turn(mneme: Mneme, model: ModelServer) -> None:
    model.script(Says("Fine."), Fails(400))
    status, out, err = await mneme("chat", stdin=b"Hello\n/retry\n")
    assert (status, out) == (1, "Fine.\n")
    assert "error 400" in err
    status, out, err = await mneme("chat", stdin=b"/retry\n/status\n")
    assert (status, err) == (0, "")
    assert out.startswith("You said: Hello\n- **Conversation**: 2 messages\n")


async def test_every_line_of_a_pipe_is_answered_and_one_failure_told_by_the_exit_status(
    mneme: Mneme, model: ModelServer
) -> None:
    model.script(Says("Один."), Fails(400))
    status, out, err = await mneme("chat", stdin="Привіт\n\n  \ntwo\n你好\n/stop\n".encode())
    assert (status, out) == (1, "Один.\nYou said: 你好\nNothing is running.\n")
    assert "error 400" in err


async def test_two_runs_that_start_at_once_on_a_fresh_data_directory_both_answer(mneme: Mneme) -> None:
    runs = [mneme("chat", "--session", name, "-m", name) for name in "ab"]
    assert list(await asyncio.gather(*runs)) == [(0, f"You said: {name}\n", "") for name in "ab"]


async def test_bytes_that_are_no_utf_8_do_no_harm_in_any_locale(mneme: Mneme) -> None:
    told = (0, "You said: caf\ufffd\n", "")
    assert await mneme("chat", "-m", b"caf\xe9", LC_ALL="C") == told
    assert await mneme("chat", stdin=b"caf\xe9\n", LC_ALL="C.UTF-8") == told


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("MEMORY_WINDOW=1", "MEMORY_WINDOW is not usable: "),
        ("MEMORY_WINDOWS=5", ".env sets MEMORY_WINDOWS, which no setting is called: did you mean MEMORY_WINDOW?"),
        ("TIMEZONE=Mars/Olympus", "TIMEZONE is not usable: an IANA time zone such as Europe/Kyiv is needed."),
        ("LIGHTRAG_URL=http://localhost:9621", "LIGHTRAG_URL needs MEMORY_SCOPE=shared"),
    ],
)
async def test_a_wrong_setting_is_one_line_and_status_2(
    mneme: Mneme, environment: dict[str, str], line: str, sentence: str
) -> None:
    environment.pop("TIMEZONE")
    Path(".env").write_text(f"{line}\n")
    status, out, err = await mneme("chat", "-m", "Hello")
    assert (status, out) == (2, "")
    assert err.startswith(f"mneme: {sentence}")
    assert err.count("\n") == 1


async def test_a_local_model_that_there_is_not_is_a_wrong_setting(mneme: Mneme) -> None:
    status, out, err = await mneme("chat", "-m", "Hello", OPENAI_BASE_URL="", LLM_MODEL="gpt-4o")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "no local model called 'gpt-4o'" in err


async def test_wrong_use_is_status_2(mneme: Mneme) -> None:
    assert (await mneme("chat", "--nonsense"))[0] == 2


async def test_a_data_directory_that_can_not_be_used_is_one_sentence_and_status_1(mneme: Mneme, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    status, out, err = await mneme("chat", "-m", "Hello", MNEME_DATA_DIR=str(tmp_path / "file" / "data"))
    assert (status, out) == (1, "")
    assert err == f"mneme: {tmp_path / 'file' / 'data'} can't be used: Not a directory.\n"


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 65, ".." + "/.."])
def test_a_chat_has_a_plain_name(name: str) -> None:
    with pytest.raises(InvalidChatName, match="--session takes up to 64 letters"):
        console_address(name)


def test_the_console_is_one_session_for_each_name() -> None:
    assert console_address("local").session_id == "console:local"


BRACKETED_PASTE = "\x1b[?2004h"
"""What the program sends a terminal when it begins to read a line."""


class Terminal:
    """`mneme chat` on a terminal of its own."""

    def __init__(self, keyboard: int, process: asyncio.subprocess.Process) -> None:
        self._keyboard = keyboard
        self.process = process
        self._written = ""
        self._seen = 0
        self._prompts = 0
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(keyboard, self._read)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the program has left
            self._written += os.read(self._keyboard, 65536).decode(errors="replace")
        # the program asks where the cursor is and waits for the answer
        if self._written.endswith("\x1b[6n"):
            os.write(self._keyboard, b"\x1b[1;1R")
        self._changed.set()

    @property
    def text(self) -> str:
        """All that was ever written, without what moves the cursor and sets colours."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._written)

    def types(self, keys: str) -> None:
        os.write(self._keyboard, keys.encode())

    async def shows(self, text: str) -> None:
        """Wait until the screen shows `text` after what was waited for last."""
        await self._until(lambda: self.text.find(text, self._seen) >= 0)
        self._seen = self.text.index(text, self._seen) + len(text)

    async def prompts(self) -> None:
        """Wait until the program asks for input once more."""
        self._prompts += 1
        await self._until(lambda: self._written.count(BRACKETED_PASTE) >= self._prompts)

    async def _until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not happened():
                self._changed.clear()
                await self._changed.wait()

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._keyboard)
        os.close(self._keyboard)


@pytest.fixture
async def terminal(environment: dict[str, str]) -> AsyncIterator[Terminal]:
    keyboard, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        "chat",
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
        start_new_session=True,
    )
    os.close(theirs)
    opened = Terminal(keyboard, process)
    yield opened
    opened.close()
    if process.returncode is None:
        process.kill()
    await process.wait()


async def test_a_terminal_shows_the_answer_as_it_comes_and_ctrl_d_leaves(
    terminal: Terminal, model: ModelServer, tmp_path: Path
) -> None:
    holds = Holds("The beginning of it")
    model.script(holds)
    await terminal.shows("Mneme with scripted. /help lists commands, Ctrl-C stops, Ctrl-D leaves.")
    await terminal.prompts()
    terminal.types("Tell me a story\r")
    await terminal.shows("The beginning of it")
    holds.release.set()
    await terminal.prompts()
    terminal.types("/status\r")
    await terminal.shows("2 messages")
    await terminal.prompts()
    terminal.types("\x04")
    assert await asyncio.wait_for(terminal.process.wait(), PATIENCE) == 0
    assert (tmp_path / "data" / "console_history").stat().st_mode & 0o077 == 0


async def test_ctrl_c_stops_the_answer_and_not_the_program(terminal: Terminal, model: ModelServer) -> None:
    model.script(Holds("The beginning of it"))
    await terminal.prompts()
    terminal.types("Tell me a story\r")
    await terminal.shows("The beginning of it")
    terminal.process.send_signal(signal.SIGINT)  # what the terminal does for Ctrl-C
    await terminal.shows("The beginning of it (stopped)")
    await model.wait_for(lambda: model.disconnects == 1)
    await terminal.prompts()
    terminal.types("\x03")  # while the program reads a line it gets the key itself
    await terminal.shows("Ctrl-D leaves.")
    await terminal.prompts()
    terminal.types("Go on\r")
    await terminal.shows("You said: Go on")
    await terminal.prompts()
    terminal.types("\x04")
    assert await asyncio.wait_for(terminal.process.wait(), PATIENCE) == 0
