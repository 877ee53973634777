"""Tests of `mneme chat` in a terminal: window, keyboard and streamed answers."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console
from rich.markdown import Markdown

import bot
from bot.console.terminal_channel import MarkdownStream
from config.texts import _, use_language
from memory.store.database import Database
from tests.support.features import needs_feature
from tests.support.mcp_servers import Servers
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Fails, Holds, Says
from tests.support.talk import in_utc
from tests.support.terminals import Terminal, on_terminal

pytestmark = pytest.mark.slow

CODE = Path(bot.__file__).parent.parent
COLUMNS = 60
ALT_ENTER = "\x1b\r"
TALL = "\n\n".join(
    (
        "# A tall answer",
        "It goes on for so long that its paragraphs are broken into lines, *several* of them, at a narrow window.",
        "- first\n- second, with\n  - a list in it\n- third",
        "```python\n" + "\n".join(f"line_{number} = {number}" for number in range(25)) + "\n\nlast = 0\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "1. one\n2. two\n\n3. three",
        "A heading of the other kind\n---",
        "> a quotation\nthat goes on",
        *(f"Paragraph {number}." for number in range(12)),
        "The end.",
    )
)


@pytest.fixture
def environment(model: ModelServer) -> dict[str, str]:
    return {**os.environ, "OPENAI_BASE_URL": model.url, "LLM_MODEL": "scripted", "PYTHONPATH": str(CODE)}


@pytest.fixture
async def terminal(environment: dict[str, str]) -> AsyncIterator[Terminal]:
    async with on_terminal("chat", environment=environment, columns=COLUMNS, rows=10) as opened:
        await opened.wait_until(lambda: opened.lines[-1:] == [">"])
        yield opened


@needs_feature("reminders")
async def test_due_reminder_is_shown_once_at_the_start(environment: dict[str, str], tmp_path: Path) -> None:
    from bot.features.reminders.reminders import Reminders

    database = await Database.open(tmp_path / "data" / "mneme.db")
    reminders = Reminders(database, lambda: datetime(2026, 1, 1, tzinfo=UTC), in_utc)
    wish = reminders.read("console:local", "water the fern", "2026-01-02T09:00")
    await reminders.set("console:local", "console:local", wish)
    async with on_terminal("chat", environment=environment, columns=COLUMNS, rows=10) as opened:
        await opened.wait_until(lambda: "Reminder: water the fern" in opened.lines)
        await opened.wait_until(lambda: opened.lines[-1:] == [">"])
        opened.type("/reminders\r")
        await opened.wait_until(lambda: "Delivered in the last day:" in opened.lines)
    assert await database.value("SELECT state FROM reminders") == "told"
    await database.close()
    async with on_terminal("chat", environment=environment, columns=COLUMNS, rows=10) as opened:
        await opened.wait_until(lambda: opened.lines[-1:] == [">"])
        opened.type("hello\r")
        await opened.wait_until(lambda: any("You said: hello" in line for line in opened.lines))
        assert not any("fern" in line for line in opened.lines)


def render_lines(markdown: str) -> list[str]:
    """Return the lines of a rendered Markdown text without blank ones."""
    console = Console(file=io.StringIO(), width=COLUMNS)
    with console.capture() as captured:
        console.print(Markdown(markdown))
    return [line.rstrip() for line in captured.get().splitlines() if line.strip()]


async def test_private_message_is_not_in_the_prompt_history(terminal: Terminal, tmp_path: Path) -> None:
    async def says(text: str) -> None:
        terminal.type(f"{text}\r")
        await terminal.wait_for_text(f"You said: {text}")
        await terminal.wait_until(lambda: terminal.lines[-1:] == [">"])

    await says("before it")
    terminal.type("/private\r")
    await terminal.wait_for_text("This conversation is private from now on.")
    await says("a quetzal")
    terminal.type("/new\r")
    await terminal.wait_for_text("The private conversation has ended")
    await says("right after it")  # A message right after the end may still be treated as private.
    await says("after it")
    history = (tmp_path / "data" / "console_history").read_text()
    kept = [line[1:] for line in history.splitlines() if line.startswith("+")]
    assert [text for text in kept if text != "right after it"] == ["before it", "/private", "after it"]


async def test_tab_completion_describes_commands_in_the_interface_language(
    environment: dict[str, str],
) -> None:
    german = environment | {"LC_ALL": "", "LC_MESSAGES": "de_DE.UTF-8", "LANG": "fr_FR.UTF-8"}
    async with on_terminal("chat", environment=german, columns=COLUMNS, rows=20) as opened:
        for language in ("de", "uk"):
            await opened.wait_until(lambda: opened.lines[-1:] == [">"])
            if language == "uk":
                opened.type("/language uk\r")
                await opened.wait_until(lambda: any("Українська" in line for line in opened.lines))
                await opened.wait_until(lambda: opened.lines[-1:] == [">"])
            with use_language(language):
                offered = f"/retry {_('Answer the last message again')}"
            opened.type("/re\t")
            await opened.wait_until(partial(_is_offered, opened, offered))
            opened.type("\x15")  # Clear the line.


def _is_offered(terminal: Terminal, offered: str) -> bool:
    return any(offered in " ".join(line.split()) for line in terminal.lines)


async def test_answer_taller_than_the_window_is_shown_once(terminal: Terminal, model: ModelServer) -> None:
    model.script(Says(TALL))
    terminal.type("Go on\r")
    await terminal.wait_until(lambda: terminal.lines[-2:] == ["The end.", ">"])
    assert terminal.lines[terminal.lines.index("> Go on") + 1 : -1] == render_lines(TALL)


async def test_answer_is_shown_while_it_is_written_although_too_tall(
    terminal: Terminal, model: ModelServer, tmp_path: Path
) -> None:
    held = Holds("Begins.\n\n```\n" + "\n".join(f"line {number}" for number in range(30)))
    model.script(held)
    terminal.type("Tell me\r")
    await terminal.wait_for_text("line 29")
    assert "Begins." in terminal.lines
    assert "line 5\n" not in terminal.text  # There is no room for it yet.
    held.release.set()
    await terminal.wait_for_text("line 5\n")
    terminal.type("\x04")
    assert await terminal.wait_for_end() == 0
    assert (tmp_path / "data" / "console_history").stat().st_mode & 0o077 == 0


async def test_progress_is_shown_with_its_seconds(terminal: Terminal, model: ModelServer) -> None:
    model.script(Holds(""))
    terminal.type("Hello\r")
    await terminal.wait_until(lambda: " reading " in terminal.text and " tokens, 1 s" in terminal.text)


async def test_message_sent_during_an_answer_is_shown_and_follows(terminal: Terminal, model: ModelServer) -> None:
    held = Holds("The first answer")
    model.script(held)
    terminal.type("One\r")
    await terminal.wait_for_text("The first answer")
    terminal.type("Two\r/status\rThr")
    await terminal.wait_for_text("An answer is being written.")  # This command runs immediately.
    await terminal.wait_until(lambda: terminal.lines[-2:] == ["> Two", "> Thr"])
    held.release.set()
    await terminal.wait_for_text("You said: Two")
    terminal.type("ee\r")
    await terminal.wait_until(lambda: terminal.lines[-2:] == ["You said: Three", ">"])
    assert [line for line in terminal.lines if line.startswith((">", "The first", "You said"))] == [
        *("> One", "> /status", "The first answer", "> Two", "You said: Two", "> Three", "You said: Three", ">")
    ]


async def test_ctrl_c_stops_the_answer_and_restores_waiting_messages(terminal: Terminal, model: ModelServer) -> None:
    model.script(Holds("The beginning of it"))
    terminal.type("Tell me a story\r")
    await terminal.wait_for_text("The beginning of it")
    terminal.type("Then this\rand that")
    await terminal.wait_until(lambda: terminal.lines[-2:] == ["> Then this", "> and that"])
    terminal.process.send_signal(signal.SIGINT)  # Equals Ctrl-C while the program doesn't read keys itself.
    await terminal.wait_for_text("The beginning of it (stopped)")
    await model.wait_for(lambda: model.disconnects == 1)
    await terminal.wait_until(lambda: terminal.lines[-2:] == ["> Then this", "  and that"])
    terminal.type("\x03")
    await terminal.wait_for_text("Ctrl-D quits.")
    terminal.type("Go on\r")
    await terminal.wait_for_text("You said: Go on")
    terminal.type("\x04")
    assert await terminal.wait_for_end() == 0


async def test_ctrl_d_ends_an_answer_and_the_program(terminal: Terminal, model: ModelServer) -> None:
    model.script(Holds("The beginning of it"))
    terminal.type("Tell me a story\r")
    await terminal.wait_for_text("The beginning of it")
    terminal.type("\x04")
    assert await terminal.wait_for_end() == 0
    assert "The beginning of it (stopped)" in terminal.lines


async def test_quit_command_ends_the_program(terminal: Terminal) -> None:
    await terminal.wait_for_text("/quit quits.")
    terminal.type("/quit\r")
    assert await terminal.wait_for_end() == 0
    assert "You said: /quit" not in terminal.lines


async def test_quit_command_ends_an_answer_too(terminal: Terminal, model: ModelServer) -> None:
    model.script(Holds("The beginning of it"))
    terminal.type("Tell me a story\r")
    await terminal.wait_for_text("The beginning of it")
    terminal.type("/quit\r")
    assert await terminal.wait_for_end() == 0
    assert "The beginning of it (stopped)" in terminal.lines


async def test_alt_enter_adds_a_line_and_paste_is_one_message(terminal: Terminal, model: ModelServer) -> None:
    terminal.type(f"one{ALT_ENTER}two\r")
    await terminal.wait_for_text("You said: one")
    terminal.type("\x1b[200~three\r\nfour\n\x1b[201~\r")
    await terminal.wait_for_text("You said: three")
    asked = [request.messages[-1]["content"] for request in model.requests]
    assert asked[0].startswith("one\ntwo")
    assert asked[1].startswith("three\nfour")


async def test_unfinished_answer_is_marked(terminal: Terminal, model: ModelServer) -> None:
    model.script(Says("One thing.\n\nAnother\nth", finish=None), Says("Something else."))
    terminal.type("Hello\r")
    await terminal.wait_for_text("Something else.")
    await terminal.wait_until(lambda: terminal.lines[-1] == ">")
    at = terminal.lines.index("> Hello")
    assert terminal.lines[at + 1 :] == ["One thing.", "(This answer was interrupted.)", "Something else.", ">"]


async def test_tool_call_is_shown_after_the_whole_text_before_it(terminal: Terminal, model: ModelServer) -> None:
    read = ("memory_file", {"action": "read"})
    model.script(Calls((read,), text="I look.\n\nIt takes\na mom"), Holds(""))
    terminal.type("Hello\r")
    # First the tool's name, then the progress of the next request.
    await terminal.wait_until(
        lambda: terminal.lines[-4:-2] == ["I look.", "It takes a mom"] and " reading " in terminal.lines[-2]
    )


async def test_failure_after_a_partial_answer_is_shown_below_it(terminal: Terminal, model: ModelServer) -> None:
    model.script(Fails(401))
    terminal.type("Hello\r")
    await terminal.wait_for_text("rejected the key")


async def test_terminal_escape_sequences_are_removed(terminal: Terminal, model: ModelServer) -> None:
    model.script(Says("Look: \x1b[2J\x1b[1;1H\x9b2Jgone.\n\nThe end."))
    terminal.type("Hello\r")
    await terminal.wait_until(lambda: terminal.lines[-2:] == ["The end.", ">"])
    assert "> Hello" in terminal.lines


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_markdown_blocks_add_up_to_the_whole_text(step: int) -> None:
    stream, blocks = MarkdownStream(), []
    for end in range(0, len(TALL) + step, step):
        assert stream.continues(TALL[:end])
        blocks.append(stream.take_completed(TALL[:end]))
    blocks.append(stream.take_rest(TALL))
    assert [line for block in blocks for line in render_lines(block)] == render_lines(TALL)
    assert "".join("".join(blocks).split()) == "".join(TALL.split())
    assert not stream.tail


@pytest.mark.parametrize(
    ("text", "finished", "tail"),
    [
        ("One line", "", "One line"),
        ("One.\n\nTwo", "", "One.\n\nTwo"),  # The next line may still change the text before it.
        ("One.\n\nTwo.\n", "One.", "Two.\n"),
        ("1. one\n\n2", "", "1. one\n\n2"),
        ("```\ncode\n\nmore\n", "", "```\ncode\n\nmore\n"),
        ("Title\n---\ntext\n", "Title\n---", "text\n"),
        ("- one\n\n  its second paragraph\n\nnot in it\n", "- one\n\n  its second paragraph", "not in it\n"),
    ],
)
def test_markdown_block_is_finished_once_nothing_can_change_it(text: str, finished: str, tail: str) -> None:
    stream = MarkdownStream()
    assert stream.take_completed(text) == finished
    assert stream.tail == tail


@needs_feature("mcp_tools")
async def test_tool_approval_is_answered_by_typing(
    environment: dict[str, str], model: ModelServer, tmp_path: Path
) -> None:
    servers = Servers(tmp_path)
    environment |= {"MCP_CONFIG": servers(trial=servers.trial())}
    model.script(Calls((("trial__write", {"path": "list.txt"}),)), Says("It is written."))
    async with on_terminal("chat", environment=environment, columns=COLUMNS, rows=30) as terminal:
        await terminal.wait_until(lambda: terminal.lines[-1:] == [">"])
        terminal.type("Write the list\r")
        await terminal.wait_for_text("/yes: Yes, this once")
        await terminal.wait_for_text("waiting for your answer")
        terminal.type("/yes\r")
        await terminal.wait_for_text("I'll run trial/write this once.")
        await terminal.wait_for_text("It is written.")
    assert servers.list_logged("write") == ["list.txt"]


async def test_text_typed_during_startup_is_answered(environment: dict[str, str], model: ModelServer) -> None:
    async with on_terminal("chat", environment=environment, columns=COLUMNS, rows=10) as opened:
        opened.type("Hello there\r")
        await opened.wait_for_text("You said: Hello there")
        opened.type("And ag")
        await opened.wait_until(lambda: opened.lines[-1:] == ["> And ag"])


async def test_half_line_typed_during_startup_is_in_the_prompt(environment: dict[str, str]) -> None:
    async with on_terminal("chat", environment=environment, columns=COLUMNS, rows=10) as opened:
        opened.type("Hello th")
        await opened.wait_until(lambda: opened.lines[-1:] == ["> Hello th"])
        opened.type("ere\r")
        await opened.wait_for_text("You said: Hello there")
