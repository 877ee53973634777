"""`mneme chat` in a terminal: answers are printed above the prompt."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, WordCompleter
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import ANSI, to_formatted_text
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.output import create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from rich.console import Console

from bot.commands.command import parse_command
from bot.commands.conversation import PRIVATE
from bot.console.console import answer_plain_text, create_typed_arrival, find_language, run_due_tasks, take_due_tasks
from bot.console.terminal_channel import FRAMES_PER_SECOND, TerminalChannel, print_above
from bot.jobs.due import start_checks
from bot.kernel import App
from bot.tasks import BackgroundTasks
from config.texts import _, use_language
from memory.log.sessions import Address
from pipeline.arrival import Arrival

if TYPE_CHECKING:
    from prompt_toolkit.completion import CompleteEvent, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import AnyFormattedText
    from prompt_toolkit.key_binding import KeyPressEvent

QUIT = ("/quit", "/exit")
PROMPT = "> "
CONTINUATION = "  "


async def chat_terminal(app: App, address: Address) -> int:
    """Chat in the terminal until `/quit` or Ctrl-D. Return the exit status."""
    app.start_background_work()
    with use_language(await find_language(app, address)):
        return await _Chat(app, address).run()


async def chat_redirected(app: App, address: Address) -> int:
    """Chat with the prompt on standard error and plain answers on standard output, which is redirected."""
    app.start_background_work()
    prompt: PromptSession[str] = PromptSession(output=create_output(stdout=sys.stderr))
    while True:
        await app.due.show(address.session_id, lambda text: sys.stderr.write(f"{text}\n\n"))
        await run_due_tasks(app, address)
        try:
            text = await prompt.prompt_async(PROMPT)
        except (EOFError, KeyboardInterrupt):
            return 0
        if _quits(text):
            return 0
        if text.strip():
            await answer_plain_text(app, address, text)


def _quits(text: str) -> bool:
    return text.strip().lower() in QUIT


class _History(FileHistory):
    """Input history in a file, without private talks."""

    private = False

    def store_string(self, string: str) -> None:
        if not self.private:
            super().store_string(string)
        # Everything typed after the command is private, even before the answer
        self.private = self.private or _makes_private(string)


def _makes_private(text: str) -> bool:
    return parse_command(text)[0] == PRIVATE


class _CommandCompleter(Completer):
    def __init__(self, app: App, address: Address) -> None:
        self._app = app
        self._address = address

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        commands = {f"/{name}": _(command.description) for name, command in self._app.runner.commands.items()}
        commands[QUIT[0]] = _("Leave the chat.")
        yield from WordCompleter([*commands], meta_dict=commands, sentence=True).get_completions(document, event)

    async def get_completions_async(self, document: Document, event: CompleteEvent) -> AsyncGenerator[Completion]:
        # All at once: a generator that suspends would change the language of its caller
        with use_language(await find_language(self._app, self._address)):
            offered = [*self.get_completions(document, event)]
        for completion in offered:
            yield completion


class _Chat:
    """A chat in one terminal. Messages typed during an answer are shown and wait for its end."""

    def __init__(self, app: App, address: Address) -> None:
        self._app = app
        self._address = address
        self._console = Console()
        self._channel = TerminalChannel(self._console)
        self._answering: asyncio.Task[None] | None = None
        self._tasks = BackgroundTasks()
        self._queued: list[str] = []
        output = create_output()
        if isinstance(output, Vt100_Output):
            output.enable_cpr = False  # The cursor position would be outdated after other output
        path = app.settings.mneme_data_dir / "console_history"
        path.touch(mode=0o600)
        self._history = _History(str(path))
        self._prompt: PromptSession[str] = PromptSession(
            output=output,
            history=self._history,
            completer=_CommandCompleter(app, address),
            complete_while_typing=False,
            multiline=True,
            prompt_continuation=CONTINUATION,
            key_bindings=self._create_key_bindings(),
        )

    async def run(self) -> int:
        model = await self._app.models.get(self._address.owner)
        greeting = _(
            "[bold]Mneme[/bold] with {model}. /help lists the commands, Alt-Enter starts a new line, Ctrl-C stops,"
            " /quit quits.",
            model=model.name,
        )
        self._console.print(f"{greeting}\n", highlight=False)
        self._tasks.start(model.load(), "loading")
        start_checks(self._show_due, self._app.jobs.periodic, self._tasks)
        self._history.private = await self._app.sessions.is_private(self._address.session_id)
        # Also between two prompts, where the terminal would echo typed text
        with self._prompt.app.input.raw_mode():
            while True:
                try:
                    text = await self._prompt.prompt_async(self._build_prompt)
                except KeyboardInterrupt:
                    self._print(_("Ctrl-D quits."), style="dim")
                    continue
                except EOFError:
                    text = QUIT[0]
                if _quits(text):
                    await self._leave()
                    return 0
                if text.strip():
                    self._answering = asyncio.create_task(self._answer([self._create_arrival(text)]))

    async def _show_due(self) -> None:
        await self._app.due.show(self._address.session_id, self._channel.add_reply)
        if tasks := await take_due_tasks(self._app, self._address, self._channel):
            while self._answering is not None and not self._answering.done():
                await asyncio.wait([self._answering])
            self._answering = asyncio.create_task(self._answer(tasks))

    @property
    def _busy(self) -> bool:
        return self._answering is not None and not self._answering.done()

    async def _answer(self, arrivals: list[Arrival]) -> None:
        redrawing = asyncio.create_task(self._redraw())
        try:
            while arrivals:
                await self._app.runner.submit(*arrivals)
                await self._app.runner.wait_until_idle(self._address.session_id)
                private = await self._app.sessions.is_private(self._address.session_id)
                # A waiting /private counts already, so that text typed after it isn't saved in the history
                self._history.private = private or any(map(_makes_private, self._queued))
                texts, self._queued = self._queued, []
                for text in texts:
                    self._echo(text)
                arrivals = [self._create_arrival(text) for text in texts]
        finally:
            redrawing.cancel()

    def _create_arrival(self, text: str) -> Arrival:
        return create_typed_arrival(self._app, self._address, text, self._channel)

    async def _redraw(self) -> None:
        while True:
            self._prompt.app.invalidate()
            await asyncio.sleep(1 / FRAMES_PER_SECOND)

    def _echo(self, text: str) -> None:
        self._print(PROMPT + text.replace("\n", f"\n{CONTINUATION}"))

    def _print(self, text: str, style: str = "") -> None:
        with self._console.capture() as captured:
            self._console.print(text, style=style, markup=False, highlight=False)
        print_above(captured.get(), self._console)

    def _build_prompt(self) -> AnyFormattedText:
        if self._prompt.app.is_done or not self._busy:
            return PROMPT
        typed = self._prompt.default_buffer.document.line_count
        room = self._prompt.app.output.get_size().rows - typed - 1
        waiting = [" ".join(text.split())[: self._console.width - 4] for text in self._queued]
        live = self._channel.render_live(max(1, room - len(waiting)))
        above = [*to_formatted_text(ANSI("".join(f"{line}\n" for line in live)))]
        return [*above, *(("dim", f"{PROMPT}{line}\n") for line in waiting), ("", PROMPT)]

    def _create_key_bindings(self) -> KeyBindings:
        keys = KeyBindings()
        busy, typing = Condition(lambda: self._busy), has_focus(DEFAULT_BUFFER)

        @keys.add("enter", filter=typing)
        def _send(event: KeyPressEvent) -> None:
            if self._busy:
                self._send_later(event)
            else:
                event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter", filter=typing)
        def _new_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c", filter=busy)
        @keys.add("<sigint>", filter=busy)
        def _interrupt(event: KeyPressEvent) -> None:
            self._tasks.start(self._stop(), "stop")

        return keys

    def _send_later(self, event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        text = buffer.text
        if _quits(text):
            buffer.validate_and_handle()
            return
        buffer.append_to_history()
        buffer.reset()
        command = self._app.runner.commands.get(parse_command(text)[0])
        if command is not None and command.immediate:
            self._tasks.start(self._run_now(text), "command")
        elif text.strip():
            self._queued.append(text)

    async def _run_now(self, command: str) -> None:
        self._echo(command)
        await self._app.runner.submit(self._create_arrival(command))

    async def _leave(self) -> None:
        if self._answering is not None:
            self._queued = []
            await self._app.runner.queues.stop(self._address.session_id)
            await self._answering
        await self._tasks.close()

    async def _stop(self) -> None:
        """Stop the current answer, and put waiting messages back into the input line."""
        waiting, self._queued = self._queued, []
        buffer = self._prompt.default_buffer
        if waiting:
            buffer.text = "\n".join([*waiting, buffer.text] if buffer.text else waiting)
            buffer.cursor_position = len(buffer.text)
        stopped, _waiting = await self._app.runner.queues.stop(self._address.session_id)
        if not stopped:
            if not waiting:
                buffer.reset()  # As without a running answer
            self._print(_("Ctrl-D quits."), style="dim")
