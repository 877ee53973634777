"""The console channel: the same conversation at a terminal, or through a pipe."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from bot.commands.command import parse_command
from config.texts import _, use_language
from memory.errors import MnemeError
from memory.log.sessions import Address
from memory.log.turn_log import Outcome
from memory.messages import Provenance
from pipeline.arrival import Arrival, Channel, ReplyChannel, task_arrival

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from bot.app import App
    from memory.buttons import Keyboard
    from memory.messages import Document

CHANNEL = "console"
MAX_JUDGING_SECONDS = 10.0
"""How long a program that ends with its answer waits until a model has judged what was captured."""


class InvalidChatName(MnemeError):
    """`--session` was given something that can't name a chat."""


def console_address(chat: str) -> Address:
    """The address of the console's chat of that name. Raises InvalidChatName."""
    if not chat or len(chat) > 64 or not all(c.isalnum() or c in "-_." for c in chat):
        raise InvalidChatName("--session takes up to 64 letters, digits, '-', '_' and '.', such as: work.")
    return Address(CHANNEL, chat)


class ConsoleChannel(Channel, ReplyChannel):
    """One chat at a terminal. It shows nothing while an answer is written, asks nobody, and collects the replies.

    Nothing is kept and nobody told when the program ends: what was typed is on the screen, and does not come again.
    """

    def __init__(self) -> None:
        self.replies: list[str] = []
        # each is begun once by a program, also where the disk does not take that it was done
        self.tasks_taken: set[int] = set()

    def reply_channel(self, arrivals: list[Arrival]) -> ReplyChannel:
        return self

    async def say(self, arrival: Arrival, text: str, keyboard: Keyboard = (), document: Document | None = None) -> None:
        """Answer without a turn. A file is written where the program was started."""
        with use_language(arrival.language):
            where = [] if document is None else [await asyncio.to_thread(_saved, document)]
        self.show_beside("\n\n".join([text, *where]))

    def show_beside(self, text: str) -> None:
        self.replies.append(text)

    async def may_manage(self, arrival: Arrival) -> bool:
        """Who sits here may."""
        return True

    async def is_owner(self, arrival: Arrival) -> bool:
        return True

    async def deliver(self, text: str) -> None:
        self.replies.append(text)


def _saved(document: Document) -> str:
    """Write a file that only its owner may read, and overwrite none; the sentence that says where it is."""
    target = Path.cwd() / document.name
    others = (target.with_stem(f"{target.stem}-{number}") for number in itertools.count(2))
    for path in itertools.chain([target], others):
        try:
            path.touch(mode=0o600, exist_ok=False)
            path.write_bytes(document.content)
        except FileExistsError:
            continue
        except OSError as error:
            path.unlink(missing_ok=True)
            return _("It can't be written to {path} ({reason}).", path=path, reason=error.strerror)
        return _("It is in {path}.", path=path)
    raise AssertionError("there is always another name")


def typed_arrival(app: App, address: Address, text: str, channel: ConsoleChannel) -> Arrival:
    """A message typed at the console; its language is that of the POSIX locale."""
    # bytes that were no UTF-8 come from the terminal as lone surrogates
    decodable = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    language = next((tag for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (tag := os.environ.get(name))), None)
    return Arrival(address, decodable, Provenance.TYPED, app.clock(), channel, language=language)


async def task_arrivals(app: App, address: Address, channel: ConsoleChannel) -> list[Arrival]:
    """The tasks of a chat that are due, also those that an earlier program left unfinished."""

    async def is_here(session_id: str) -> bool:
        return session_id == address.session_id

    await app.memory.tasks.put_in(address.session_id, is_here)
    waiting = await app.memory.tasks.waiting(address.session_id)
    arrivals = [task_arrival(run, channel, number) for number, run in waiting if number not in channel.tasks_taken]
    channel.tasks_taken |= {number for number, _run in waiting}
    return arrivals


async def do_tasks(app: App, address: Address) -> None:
    channel = ConsoleChannel()
    if arrivals := await task_arrivals(app, address, channel):
        await app.runner.submit(*arrivals)
        await app.runner.idle(address.session_id)
    _print(channel.replies, sys.stdout)


async def spoken_at(app: App, address: Address) -> str:
    return await app.runner.languages.of(typed_arrival(app, address, "", ConsoleChannel()))


async def chat_once(app: App, address: Address, text: str) -> int:
    """Answer one message on standard output; the exit status."""
    return await _answer_all(app, address, [text])


async def chat_pipe(app: App, address: Address) -> int:
    """Answer each line of standard input; the exit status."""
    # bytes, so that what is no UTF-8 arrives as such and does not end the program
    lines = (await asyncio.to_thread(sys.stdin.buffer.read)).decode("utf-8", "replace").splitlines()
    return await _answer_all(app, address, [line for line in lines if line.strip()])


async def _answer_all(app: App, address: Address, texts: list[str]) -> int:
    """Answer each message, then sort what an earlier program left of this memory; the exit status."""
    due = await app.jobs.consolidation.find_pending_ids(app.sessions.owner_of(address))
    failures = [await answer_plainly(app, address, text) for text in texts]
    with contextlib.suppress(TimeoutError):  # what is not judged by then is left to the consolidation
        async with asyncio.timeout(MAX_JUDGING_SECONDS):
            await app.jobs.capture.idle()
    if not any(failures):  # a model that gives no answer has none for this either, and it would be the last try
        await app.jobs.consolidation.run_pending(due)
    return 1 if any(failures) else 0


async def answer_plainly(app: App, address: Address, text: str) -> bool:
    """Answer a message as it is on standard output, or say on standard error why not; whether its turn failed."""
    channel = ConsoleChannel()
    async with _interrupt_stops(app, address):
        failed = await _exchange(app, address, channel, text)
    _print(channel.replies, sys.stderr if failed else sys.stdout)
    return failed


def _print(replies: Iterable[str], file: TextIO) -> None:
    for reply in replies:
        print(reply, file=file, flush=True)  # the channel's output


async def _exchange(app: App, address: Address, channel: ConsoleChannel, text: str) -> bool:
    """Send one message and wait for its answer; whether its turn failed, or could not even be kept."""
    before = await app.memory.turns.last(address.session_id)
    arrival = typed_arrival(app, address, text, channel)
    await app.runner.submit(arrival)
    await app.runner.idle(address.session_id)
    after = await app.memory.turns.last(address.session_id)
    # no new turn: a command makes none, and a message that could not be stored has failed
    if after is None or (before is not None and before.id == after.id):
        return not parse_command(arrival.text)[0]
    return after.outcome is Outcome.FAILED


@contextlib.asynccontextmanager
async def _interrupt_stops(app: App, address: Address) -> AsyncIterator[None]:
    """Ctrl-C is /stop for as long as the context is open."""
    loop = asyncio.get_running_loop()
    # referenced here, since asyncio alone may drop a task before it has ended
    stops: set[asyncio.Task[tuple[bool, int]]] = set()

    def stop() -> None:
        stops.add(asyncio.create_task(app.runner.queues.stop(address.session_id)))

    loop.add_signal_handler(signal.SIGINT, stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        await asyncio.gather(*stops)
