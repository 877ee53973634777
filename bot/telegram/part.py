"""The interfaces through which features extend the Telegram channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bot.tasks import BackgroundTasks
from memory.log.sessions import Address
from memory.messages import Document
from pipeline.arrival import Arrival

if TYPE_CHECKING:  # Heavy: the terminal and the command line don't load Telegram's library
    from telegram import Bot, Update

    from bot.kernel import App
    from bot.telegram.access import AccessControl
    from bot.telegram.calls import Markup
    from bot.telegram.features import ServerFeatures
    from bot.telegram.updates import UpdateParser


@dataclass(frozen=True, slots=True)
class Connection:
    """The running channel, from which a feature creates its part.

    Attributes:
        server: The optional features of the Bot API server.
        tasks: Background tasks that end before the channel is closed.
    """

    app: App
    bot: Bot
    access: AccessControl
    server: ServerFeatures
    tasks: BackgroundTasks


class UpdateHandler(Protocol):
    """Handles certain updates instead of the inbox. They are not stored, so a crash loses them."""

    @property
    def kinds(self) -> Sequence[str]:
        """The types of updates to request from Telegram, in addition to those of the channel."""

    def handle(self, update: Update, parser: UpdateParser) -> bool:
        """Handle an update in the background. Return False if it is for the channel."""


class AnswerFormat(Protocol):
    """Sends some answers in another format than text with entities."""

    async def convert(self, address: Address, markdown: str) -> FormattedAnswer | None:
        """Convert an answer. Return None to send it as text, for example if the server doesn't know the format."""


class FormattedAnswer(Protocol):
    """An answer in another format, which is sent as a single message."""

    async def send(
        self, bot: Bot, address: Address, reply_to: str | None, markup: Markup, *, preview_id: str | None, silent: bool
    ) -> str:
        """Send the answer, or edit the message `preview_id`. Return the message's id. Raises SendFailed."""


class AnswerAttachment(Protocol):
    """Creates a document that follows an answer, such as a voice message."""

    async def create(self, arrivals: list[Arrival], answer: str) -> Document | None:
        """Return the document for a delivered answer, or None if the chat doesn't want one."""


@dataclass(frozen=True, slots=True)
class TelegramPart:
    """A feature's part of the Telegram channel."""

    handlers: Sequence[UpdateHandler] = ()
    formats: Sequence[AnswerFormat] = ()
    attachments: Sequence[AnswerAttachment] = ()
