"""The console channel: the same conversation at a terminal, or through a pipe."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from typing import TYPE_CHECKING

from bot.chat.arrivals import Arrival
from bot.chat.commands import parse_command
from memory.errors import MnemeError
from memory.log.sessions import Address
from memory.log.turn_log import Outcome
from memory.messages import Provenance
from pipeline.turn import Incoming

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner

    from bot.app import App
    from memory.log.turn_log import OutgoingReply
    from pipeline.turn import ReplyChannel

CHANNEL = "console"
REFRESH_PER_SECOND = 8


class InvalidChatName(MnemeError):
    """`--session` was given something that can't name a chat."""


def console_address(chat: str) -> Address:
    """The address of the console's chat of that name. Raises InvalidChatName."""
    if not chat or len(chat) > 64 or not all(c.isalnum() or c in "-_." for c in chat):
        raise InvalidChatName("--session takes up to 64 letters, digits, '-', '_' and '.', such as: work.")
    return Address(CHANNEL, chat)


class ConsoleChannel:
    """One chat at a terminal. Its base shows nothing while an answer is written; replies are collected."""

    def __init__(self) -> None:
        self.replies: list[str] = []

    def reply_channel(self, arrival: Arrival) -> ReplyChannel:
        """The console itself: there is one conversation on it."""
        return self

    async def say(self, arrival: Arrival, text: str) -> None:
        """Answer without a turn."""
        await self.deliver(text)

    async def hold(self, arrivals: list[Arrival]) -> None:
        """Nothing to keep: what was typed is in memory and on the screen."""

    async def interrupted(self, arrivals: list[Arrival]) -> None:
        """Nothing to tell: who sits here has ended it, and nothing is taken up again."""

    @contextlib.asynccontextmanager
    async def busy(self, arrival: Arrival) -> AsyncIterator[None]:
        """Show nothing."""
        yield

    async def show_text(self, text: str) -> None:
        """Show nothing: a pipe gets the answer whole."""

    async def show_tool(self, name: str) -> None:
        """Show nothing."""

    async def outgoing(self, text: str) -> OutgoingReply | None:
        """No outbox: the reply is on the screen as soon as it is delivered."""
        return None

    async def deliver_uncommitted(self, text: str) -> None:
        """Show it like any other."""
        await self.deliver(text)

    async def deliver(self, text: str) -> None:
        """Collect the final reply."""
        self.replies.append(text)


class TerminalChannel(ConsoleChannel):
    """A chat on a terminal: Markdown that streams, a spinner while nothing does."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._live: Live | None = None

    @contextlib.asynccontextmanager
    async def busy(self, arrival: Arrival) -> AsyncIterator[None]:
        """A spinner until the first words come, then the words; both make way for the final reply."""
        from rich.live import Live

        with Live(
            _spinner("thinking"), console=self._console, transient=True, refresh_per_second=REFRESH_PER_SECOND
        ) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    async def show_text(self, text: str) -> None:
        """Show the answer so far."""
        from rich.markdown import Markdown

        if self._live is not None:
            self._live.update(Markdown(text))

    async def show_tool(self, name: str) -> None:
        """Show which tool runs."""
        if self._live is not None:
            self._live.update(_spinner(name))

    async def deliver(self, text: str) -> None:
        """Show the final reply."""
        from rich.markdown import Markdown

        if self._live is not None:
            self._live.update("")
        if text:
            self._console.print(Markdown(text))
            self._console.print()


async def chat_once(app: App, address: Address, text: str) -> int:
    """Answer one message on standard output; the exit status."""
    return await _chat_plain(app, address, [text])


async def chat_pipe(app: App, address: Address) -> int:
    """Answer each line of standard input; the exit status."""
    # bytes, so that what is no UTF-8 arrives as such and does not end the program
    lines = (await asyncio.to_thread(sys.stdin.buffer.read)).decode("utf-8", "replace").splitlines()
    return await _chat_plain(app, address, [line for line in lines if line.strip()])


async def chat_terminal(app: App, address: Address) -> int:
    """Talk at the terminal until end of file (Ctrl-D); the exit status."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import FileHistory
    from rich.console import Console

    console = Console()
    channel = TerminalChannel(console)
    history = app.settings.mneme_data_dir / "console_history"
    history.touch(mode=0o600)
    prompt: PromptSession[str] = PromptSession(
        history=FileHistory(str(history)),
        completer=WordCompleter([f"/{name}" for name in app.commands], sentence=True),
        complete_while_typing=False,
    )
    app.begin_background_work()
    console.print(f"[bold]Mneme[/bold] with {app.model.name}. /help lists commands, Ctrl-C stops, Ctrl-D leaves.\n")
    while True:
        try:
            text = await prompt.prompt_async("> ")
        except KeyboardInterrupt:
            console.print("Ctrl-D leaves.", style="dim")
            continue
        except EOFError:
            return 0
        if text.strip():
            async with _interrupt_stops(app, address):
                await _exchange(app, address, channel, text)


async def _chat_plain(app: App, address: Address, texts: Iterable[str]) -> int:
    status = 0
    for text in texts:
        channel = ConsoleChannel()
        async with _interrupt_stops(app, address):
            failed = await _exchange(app, address, channel, text)
        for reply in channel.replies:
            print(reply, file=sys.stderr if failed else sys.stdout, flush=True)  # the channel's output
        status = 1 if failed else status
    return status


async def _exchange(app: App, address: Address, channel: ConsoleChannel, text: str) -> bool:
    """Send one message and wait for its answer; whether its turn failed, or could not even be kept."""
    before = await app.turns.last(address.session_id)
    incoming = Incoming(_decodable(text), Provenance.TYPED, app.clock())
    await app.runner.submit(Arrival(address, incoming, channel))
    await app.runner.drained(address.session_id)
    after = await app.turns.last(address.session_id)
    if after is None or (before is not None and before.id == after.id):
        return not parse_command(incoming.text)[0]
    return after.outcome is Outcome.FAILED


@contextlib.asynccontextmanager
async def _interrupt_stops(app: App, address: Address) -> AsyncIterator[None]:
    """Ctrl-C is /stop for as long as the context is open."""
    loop = asyncio.get_running_loop()
    stops: set[asyncio.Task[tuple[bool, int]]] = set()

    def stop() -> None:
        stops.add(asyncio.create_task(app.runner.stop(address.session_id)))

    loop.add_signal_handler(signal.SIGINT, stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        await asyncio.gather(*stops)


def _decodable(text: str) -> str:
    """`text` with bytes that were no UTF-8 shown as such: the terminal hands them over as lone surrogates."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _spinner(what: str) -> Spinner:
    from rich.spinner import Spinner

    return Spinner("dots", text=f" {what} …", style="dim")
