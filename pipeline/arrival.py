"""What a channel hands over, the same from there to the sanitiser, and what is asked of a channel."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from config.texts import N_, _
from memory.log.sessions import Address
from memory.messages import Provenance, storable
from memory.reminders.reminder import TaskSound

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from memory.buttons import Keyboard
    from memory.media.media import MediaFile
    from memory.messages import Document, Passage
    from memory.reminders.delivery import TaskRun
    from memory.store.button_rows import OutgoingReply


LONGEST_MESSAGE = 1_000_000
"""Characters of a message that are kept in the log. What the model sees of it is bounded by its window."""

_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # all control characters but tab, line feed and carriage return
    "\u202a-\u202e\u2066-\u2069"  # directional overrides, which make text read as something else
    "\ufeff\ufff9-\ufffb]"
)


@dataclass(frozen=True, slots=True)
class Arrival:
    """One message or command from a person, or a task whose hour has come."""

    address: Address
    text: str
    provenance: Provenance
    received_at: datetime
    channel: Channel
    speaker: str | None = None  # who says it, where several people talk
    speaker_id: str | None = None  # the channel's own
    sender: str | None = None  # what its sender is called, everywhere
    message_id: str | None = None  # the channel's own
    inbox_id: int | None = None  # where the channel keeps it until its turn is committed
    held: bool = False  # it waits for the person's next message (/stop)
    quoted: Passage | None = None  # the message that it answers, for the model to read; not stored
    files: tuple[MediaFile, ...] = ()
    album: str | None = None  # what the messages of one album have in common
    origin: str | None = None  # whom a forward is from, where that is told
    media: tuple[int, ...] = ()  # numbers of what is to be looked at anew, in place of a text
    replaces: str | None = None  # the message whose place the answer takes, since a button under it was pressed
    pressed: str | None = None  # the press, where a button was pressed; message_id is that of the message with it
    alone: bool = False  # its answer is for whoever sent it, where the channel can show it so
    language: str | None = None  # the tag of what its sender's program is set to
    attempts: int = 0  # runs of the program that were killed over it
    task: TaskRun | None = None
    corrects: str | None = None  # the former text of the message, if it was edited after it had been answered

    @property
    def origin_mark(self) -> str:
        """Names the author of a forwarded message; empty for all others."""
        return f"(from {self.origin}) " if self.origin else ""

    @property
    def reply_to(self) -> str | None:
        """The message that the reply quotes: in groups it shows who is answered."""
        return self.message_id if self.speaker is not None else None

    @property
    def is_quiet(self) -> bool:
        return self.task is not None and self.task.reminder.task is TaskSound.QUIET

    @property
    def asker(self) -> str | None:
        """Who may press the buttons under the reply, where several people talk."""
        return self.speaker_id if self.speaker is not None else None


def inbox_ids(arrivals: Iterable[Arrival]) -> list[int]:
    return [arrival.inbox_id for arrival in arrivals if arrival.inbox_id is not None]


def task_arrival(run: TaskRun, channel: Channel, inbox_id: int, attempts: int = 0) -> Arrival:
    return Arrival(
        address=Address.of(run.reminder.session_id),
        text=run.reminder.text,
        provenance=Provenance.TASK,
        received_at=run.received_at,
        channel=channel,
        inbox_id=inbox_id,
        attempts=attempts,
        task=run,
    )


GIVEN_UP = N_(
    "I couldn't answer this message: I crashed on it twice, so I leave it out. Send it again if it wasn't the cause."
)
QUOTED_CHARACTERS = 80
"""How much of a message is quoted to say which one was given up."""


def given_up(arrivals: Iterable[Arrival]) -> str:
    """Says why messages that crashed the program get no answer, and which they are."""
    words = " ".join(" ".join(arrival.text for arrival in arrivals)[:QUOTED_CHARACTERS].split())
    return f"{_(GIVEN_UP)}\n> {words}" if words else _(GIVEN_UP)


def clean(text: str) -> str:
    """`text` in normal form C, without control characters, lone surrogates and directional overrides."""
    # controls go first: a letter and its accent may have stood on both sides of one
    # right-to-left and left-to-right marks stay, as they are part of how Hebrew and Arabic are written
    plain = unicodedata.normalize("NFC", _CONTROLS.sub("", storable(text)))
    plain = plain.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(plain) > LONGEST_MESSAGE:
        note = f"\n[... the rest of {len(plain)} characters was not kept]"
        plain = plain[: LONGEST_MESSAGE - len(note)] + note
    return plain


class Channel(Protocol):
    """Where arrivals come from and answers go. What a channel does not show or keep is left to nothing."""

    def reply_channel(self, arrivals: list[Arrival]) -> ReplyChannel:
        """Where the reply to a turn of these arrivals goes; it answers the last one."""

    async def say(self, arrival: Arrival, text: str, keyboard: Keyboard = (), document: Document | None = None) -> None:
        """Answer an arrival without a turn, and finish it. keyboard: where buttons can be shown, those under it.

        document: a file that goes with the text; it is kept until it has arrived.
        """

    async def may_manage(self, arrival: Arrival) -> bool:
        """Whether who sent it may see and change what everybody in the chat has said."""

    async def is_owner(self, arrival: Arrival) -> bool:
        """Whether the bot belongs to who sent it."""

    def waits(self, arrival: Arrival) -> None:
        """An arrival waits behind a running turn."""
        return

    def begins(self, arrival: Arrival) -> None:
        """The turn of an arrival begins, whether or not it has waited."""
        return

    async def count_attempt(self, arrivals: list[Arrival]) -> None:
        """Keep that work on arrivals begins, where they are kept themselves: a kill is known by it."""
        return

    async def hold(self, arrivals: list[Arrival]) -> None:
        """Keep arrivals for the person's next message, also over a restart."""
        return

    async def interrupted(self, arrivals: list[Arrival]) -> None:
        """The program stops while it works on `arrivals`: tell those whose answer comes after the next start."""
        return

    def busy(self, arrival: Arrival) -> AbstractAsyncContextManager[None]:
        """Show that work goes on, for as long as the context is open. Entering it does not suspend."""
        return contextlib.nullcontext()


class ReplyChannel(Protocol):
    """Where a turn's reply goes. Only `deliver` matters to the outcome; the rest is for show."""

    async def show_text(self, text: str) -> None:
        """Show the answer so far; called again and again while it streams."""
        return

    async def show_tool(self, name: str) -> None:
        """Show that a tool runs."""
        return

    async def show_waiting(self, what: str) -> None:
        """Show what is awaited before the first word of an answer, such as `loading the model`."""
        return

    async def ask(self, question: str, keyboard: Keyboard) -> bool:
        """Put a question of the turn's into the chat, with its answers as buttons; whether anybody can answer there."""
        return False

    async def aside(self, text: str, keyboard: Keyboard) -> OutgoingReply | None:
        """A text beside the reply that none but who is answered sees; None where the channel has no way to show it."""
        return None

    async def outgoing(self, text: str, keyboard: Keyboard) -> OutgoingReply | None:
        """The reply for the outbox, committed with the turn; None where the channel needs none. Ends the show."""
        return None

    async def deliver_uncommitted(self, text: str) -> bool:
        """Show a reply that could not be committed; nothing else will ever send it. Whether it has arrived.

        What it answers is finished then.
        """
        await self.deliver(text)
        return True

    async def deliver(self, text: str) -> None:
        """Hand over the final reply, after the commit."""

    async def speak(self, answer: str) -> None:
        """Let an answer that was delivered be heard as well, where that is wanted."""
        return
