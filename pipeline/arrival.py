"""Incoming messages, and the protocols that a channel implements to receive them and to send replies."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from config.texts import N_, _
from memory.buttons import Keyboard
from memory.errors import MnemeError
from memory.log.sessions import Address
from memory.media.media import MediaFile
from memory.messages import Document, Passage, Provenance, make_storable
from memory.store.button_rows import OutgoingReply
from pipeline.scheduled import ScheduledRun

MAX_MESSAGE_CHARS = 1_000_000
"""Maximum length of a message in the log. The model may see less of it, since its window is smaller."""

_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # Control characters except tab, line feed and carriage return.
    "\u202a-\u202e\u2066-\u2069"  # Directional overrides, which can disguise text.
    "\ufeff\ufff9-\ufffb]"
)


@dataclass(frozen=True, slots=True)
class Arrival:
    """One message or command from a person, or a scheduled task that is due."""

    address: Address
    text: str
    provenance: Provenance
    received_at: datetime
    channel: Channel
    speaker: str | None = None  # The sender's name, in groups only.
    speaker_id: str | None = None  # The channel's ID of the sender.
    sender: str | None = None  # The sender's name, in private chats too.
    message_id: str | None = None  # The channel's ID of the message.
    inbox_id: int | None = None  # The inbox row, which exists until the turn is committed.
    held: bool = False  # Stopped with /stop; waits for the person's next message.
    quoted: Passage | None = None  # The message that this one replies to. The model reads it; it is not stored.
    files: tuple[MediaFile, ...] = ()
    album: str | None = None  # The same for all messages of an album.
    origin: str | None = None  # The author of a forwarded message, if known.
    media: tuple[int, ...] = ()  # Numbers of stored media to read again; the text is empty then.
    replaces: str | None = None  # The message that the answer replaces: a button below it was pressed.
    pressed: str | None = None  # The ID of a button press; `message_id` is the message with the button.
    alone: bool = False  # Only the sender should see the answer, if the channel can do that.
    language: str | None = None  # The language tag of the sender's app.
    attempts: int = 0  # How often the program was killed while it worked on this.
    task: ScheduledRun | None = None
    hides_keyboard: bool = False  # The reply removes the keyboard with which people were chosen.
    corrects: str | None = None  # The former text of a message that was edited after it had been answered.

    @property
    def origin_mark(self) -> str:
        """A prefix that names the author of a forwarded message, or an empty string."""
        return f"(from {self.origin}) " if self.origin else ""

    @property
    def reply_to(self) -> str | None:
        """The message that the reply quotes. Only groups need it, to show who is answered."""
        return self.message_id if self.speaker is not None else None

    @property
    def is_quiet(self) -> bool:
        return self.task is not None and self.task.is_quiet

    @property
    def asker(self) -> str | None:
        """The ID of the only person who may press the buttons below the reply. None in private chats."""
        return self.speaker_id if self.speaker is not None else None


async def is_read_by_owner(arrival: Arrival) -> bool:
    """Return True if only the bot's owner reads the answer. The members of a group read each other's answers."""
    try:
        return arrival.speaker is None and await arrival.channel.is_owner(arrival)
    except MnemeError:
        return False


def collect_inbox_ids(arrivals: Iterable[Arrival]) -> list[int]:
    return [arrival.inbox_id for arrival in arrivals if arrival.inbox_id is not None]


def create_task_arrival(run: ScheduledRun, channel: Channel, inbox_id: int, attempts: int = 0) -> Arrival:
    return Arrival(
        address=Address.parse(run.session_id),
        text=run.text,
        provenance=Provenance.TASK,
        received_at=run.received_at,
        channel=channel,
        inbox_id=inbox_id,
        attempts=attempts,
        task=run,
    )


GIVEN_UP = N_(
    "I couldn't answer this message: I crashed on it twice, so I skipped it. Send it again if it wasn't the cause."
)
MAX_QUOTED_CHARS = 80


def explain_given_up(arrivals: Iterable[Arrival]) -> str:
    """Return the notice for messages that crashed the program, with the beginning of their text."""
    words = " ".join(" ".join(arrival.text for arrival in arrivals)[:MAX_QUOTED_CHARS].split())
    return f"{_(GIVEN_UP)}\n> {words}" if words else _(GIVEN_UP)


def clean(text: str) -> str:
    """Normalise text to NFC and remove control characters, lone surrogates and directional overrides."""
    # Remove control characters before normalising: one may separate a letter from its accent.
    # Right-to-left and left-to-right marks stay, since Hebrew and Arabic texts need them.
    plain = unicodedata.normalize("NFC", _CONTROLS.sub("", make_storable(text)))
    plain = plain.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(plain) > MAX_MESSAGE_CHARS:
        note = f"\n[... the rest of {len(plain)} characters was not kept]"
        plain = plain[: MAX_MESSAGE_CHARS - len(note)] + note
    return plain


class Channel(Protocol):
    """The source of arrivals. Methods with a default are optional."""

    def reply_channel(self, arrivals: list[Arrival]) -> ReplyChannel:
        """Return the channel for the reply to a turn. The reply answers the last of its arrivals."""

    async def say(self, arrival: Arrival, text: str, keyboard: Keyboard = (), document: Document | None = None) -> None:
        """Answer an arrival without a turn, and mark it as done.

        Args:
            keyboard: The buttons below the text, if the channel can show buttons.
            document: A file to send with the text. It is stored until it is delivered.
        """

    def show_progress(self, arrival: Arrival, text: str) -> None:
        """Show how far the command of an arrival is, until `say` answers it. Called repeatedly."""
        return

    async def can_manage(self, arrival: Arrival) -> bool:
        """Return True if the sender may see and change the memory of the whole chat."""

    async def is_owner(self, arrival: Arrival) -> bool:
        """Return True if the sender owns the bot."""

    async def take_offer(self, arrival: Arrival, name: str, argument: str) -> str | None:
        """Return the newest command with that name that was offered to the sender by a button, and use the button up.

        Args:
            argument: The argument that the command must have, or an empty string for any.
        """
        return None

    async def can_choose_people(self, arrival: Arrival) -> bool:
        """Return True if the sender can choose people by a button there, see `PEOPLE`."""
        return False

    async def tell_owner(self, arrival: Arrival, text: Callable[[], str]) -> None:
        """Tell the owner why an arrival of somebody else got no answer. `text` is translated when it is called."""
        return

    def on_queued(self, arrival: Arrival) -> None:
        """Called when an arrival has to wait for a running turn."""
        return

    def on_started(self, arrival: Arrival) -> None:
        """Called when the turn of an arrival begins."""
        return

    async def count_attempt(self, arrivals: list[Arrival]) -> None:
        """Record that work on the arrivals begins. A message that kills the program is recognised by this count."""
        return

    async def hold(self, arrivals: list[Arrival]) -> None:
        """Store arrivals until the person's next message, also across a restart."""
        return

    async def notify_interrupted(self, arrivals: list[Arrival]) -> None:
        """Tell the senders of unfinished arrivals that the program stops and answers after its next start."""
        return

    def busy(self, arrival: Arrival) -> AbstractAsyncContextManager[None]:
        """Show that the bot is working while the context is open. Entering it never suspends."""
        return contextlib.nullcontext()


class ReplyChannel(Protocol):
    """The destination of a turn's reply. A failing `show_...` method never changes the outcome of the turn."""

    async def show_text(self, text: str) -> None:
        """Show the answer so far. Called repeatedly while the answer streams."""
        return

    async def show_tool(self, name: str) -> None:
        """Show that a tool is running."""
        return

    async def show_waiting(self, what: str) -> None:
        """Show the reason for a delay before the first word, such as `loading the model`."""
        return

    async def ask(self, question: str, keyboard: Keyboard) -> bool:
        """Send a question with the answers as buttons. Return False if people can't answer in this channel."""
        return False

    def can_send_files(self) -> bool:
        return False

    def prepare_file(self, caption: str) -> OutgoingReply | None:
        """Return a message for the outbox that carries a file. None if the channel sends no files."""
        return None

    async def prepare_private_reply(self, text: str, keyboard: Keyboard) -> OutgoingReply | None:
        """Return a message for the outbox that only the sender can see. None if the channel has no such messages."""
        return None

    async def prepare_reply(self, text: str, keyboard: Keyboard) -> OutgoingReply | None:
        """End the preview and return the reply for the outbox, or None if the channel doesn't use the outbox."""
        return None

    async def deliver_uncommitted(self, text: str) -> bool:
        """Send a reply that could not be committed, bypassing the outbox. Return True if it was delivered.

        A delivered reply finishes the messages that it answers.
        """
        await self.deliver(text)
        return True

    async def deliver(self, text: str) -> None:
        """Send the final reply, after the commit."""

    async def on_delivered(self, answer: str) -> None:
        """Called with each delivered answer. The channel may send something in addition, such as a voice message."""
        return
