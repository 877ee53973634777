"""The console channel, which collects replies for a terminal or a pipe."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import TextIO

from bot.commands.command import parse_command
from bot.kernel import App
from config.texts import _, use_language
from memory.buttons import Keyboard
from memory.log.sessions import Address
from memory.log.turn_log import Outcome
from memory.messages import Document, Provenance
from pipeline.arrival import Arrival, Channel, ReplyChannel, create_task_arrival

MAX_JUDGING_SECONDS = 10.0
"""Maximum time that a one-off command waits for the verification of captured facts."""


class ConsoleChannel(Channel, ReplyChannel):
    """A channel that collects replies. It has no previews and no buttons.

    Messages are not stored in an inbox: after an interruption the user can see what they typed, and type it again.
    """

    def __init__(self) -> None:
        self.replies: list[str] = []
        # Each task starts only once per run, even if the database can't be written
        self.tasks_taken: set[int] = set()
        self._waits = Counter[str]()

    def reply_channel(self, arrivals: list[Arrival]) -> ReplyChannel:
        return self

    async def say(self, arrival: Arrival, text: str, keyboard: Keyboard = (), document: Document | None = None) -> None:
        """Answer without a turn. A file is saved in the current directory."""
        with use_language(arrival.language):
            lines = [] if document is None else [await asyncio.to_thread(_save, document)]
        self.add_reply("\n\n".join([text, *lines]))

    def add_reply(self, text: str) -> None:
        self.replies.append(text)

    async def can_manage(self, arrival: Arrival) -> bool:
        return True

    async def is_owner(self, arrival: Arrival) -> bool:
        return True

    async def deliver(self, text: str) -> None:
        self.replies.append(text)

    async def show_waiting(self, what: str) -> None:
        """Tell the user on standard error what the answer is waiting for.

        Only the second call prints it, so that short waits stay silent.
        """
        self._waits[what] += 1
        if self._waits[what] == 2:
            _print([f"mneme: {what}"], sys.stderr)


def _save(document: Document) -> str:
    """Save a file readable only by its owner, without overwriting another. Return a sentence with its path."""
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
        return _("It was saved to {path}.", path=path)
    raise AssertionError("there is always another name")


def create_typed_arrival(app: App, address: Address, text: str, channel: ConsoleChannel) -> Arrival:
    """Create an arrival from typed text, in the language of the POSIX locale."""
    # Invalid UTF-8 arrives as lone surrogates
    decodable = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    language = next((tag for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (tag := os.environ.get(name))), None)
    return Arrival(address, decodable, Provenance.TYPED, app.clock(), channel, language=language)


async def take_due_tasks(app: App, address: Address, channel: ConsoleChannel) -> list[Arrival]:

    async def is_here(session_id: str) -> bool:
        return session_id == address.session_id

    await app.due.enqueue(address.session_id, is_here)
    waiting = await app.due.list_waiting(address.session_id)
    arrivals = [
        create_task_arrival(run, channel, number) for number, run in waiting if number not in channel.tasks_taken
    ]
    channel.tasks_taken |= {number for number, _run in waiting}
    return arrivals


async def run_due_tasks(app: App, address: Address) -> None:
    channel = ConsoleChannel()
    if arrivals := await take_due_tasks(app, address, channel):
        await app.runner.submit(*arrivals)
        await app.runner.wait_until_idle(address.session_id)
    _print(channel.replies, sys.stdout)


async def find_language(app: App, address: Address) -> str:
    return await app.runner.languages.choose(create_typed_arrival(app, address, "", ConsoleChannel()))


async def chat_once(app: App, address: Address, text: str) -> int:
    """Print the answer to one message. Return the exit status."""
    return await _answer_all(app, address, [text])


async def chat_pipe(app: App, address: Address) -> int:
    """Print the answer to each line of standard input. Return the exit status."""
    # Read bytes, so that invalid UTF-8 doesn't end the program
    lines = (await asyncio.to_thread(sys.stdin.buffer.read)).decode("utf-8", "replace").splitlines()
    return await _answer_all(app, address, [line for line in lines if line.strip()])


async def _answer_all(app: App, address: Address, texts: list[str]) -> int:
    """Answer all messages, then consolidate what earlier runs left of this memory. Return the exit status."""
    due = await app.jobs.consolidation.find_pending_ids(app.sessions.get_owner(address))
    failures = [await answer_plain_text(app, address, text) for text in texts]
    with contextlib.suppress(TimeoutError):  # Facts not verified by then are left to the consolidation
        async with asyncio.timeout(MAX_JUDGING_SECONDS):
            await app.tasks.wait_until_idle()
    if not any(failures):  # The model would fail again, and this might be the last attempt
        await app.jobs.consolidation.run_pending(due)
    return 1 if any(failures) else 0


async def answer_plain_text(app: App, address: Address, text: str) -> bool:
    """Print the answer on standard output, or a failure on standard error. Return True if the turn failed."""
    channel = ConsoleChannel()
    async with _interrupt_stops(app, address):
        failed = await _exchange(app, address, channel, text)
    _print(channel.replies, sys.stderr if failed else sys.stdout)
    return failed


def _print(replies: Iterable[str], file: TextIO) -> None:
    for reply in replies:
        print(reply, file=file, flush=True)


async def _exchange(app: App, address: Address, channel: ConsoleChannel, text: str) -> bool:
    """Submit a message and wait for its turn. Return True if that failed or could not be stored."""
    before = await app.memory.turns.find_last(address.session_id)
    arrival = create_typed_arrival(app, address, text, channel)
    await app.runner.submit(arrival)
    await app.runner.wait_until_idle(address.session_id)
    after = await app.memory.turns.find_last(address.session_id)
    # Without a new turn the message was a command, or could not be stored
    if after is None or (before is not None and before.id == after.id):
        return not parse_command(arrival.text)[0]
    return after.outcome is Outcome.FAILED


@contextlib.asynccontextmanager
async def _interrupt_stops(app: App, address: Address) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    # Keep references, since asyncio may drop unreferenced tasks
    stops: set[asyncio.Task[tuple[bool, int]]] = set()

    def stop() -> None:
        stops.add(asyncio.create_task(app.runner.queues.stop(address.session_id)))

    loop.add_signal_handler(signal.SIGINT, stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        await asyncio.gather(*stops)
