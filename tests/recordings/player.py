"""Plays scripted chats with the real bot at a local Bot API server, and formats the messages as text.

Only the model's sentences are scripted.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.app import open_app
from bot.kernel import App
from bot.telegram.service import run_telegram
from config.settings import Settings
from config.texts import _, use_language
from tests.recordings.scenes import CallbackHandler, Comes, Sends, Step, Waits, Writes
from tests.support.bot_api.chats import BotMessage
from tests.support.bot_api.files import create_document
from tests.support.bot_api.server import BotApiServer
from tests.support.bot_api.text import Entity
from tests.support.features import wait_for_captures
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says

ANN, BOB = 1001, 2002
NOW = datetime(2026, 11, 21, 10, 9, tzinfo=UTC)


@dataclass(slots=True)
class Clock:
    """The clock of the recording."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        """Return the current time."""
        return self.now


def scripted(data: Path, model: ModelServer) -> dict[str, Any]:
    """Return settings with a scripted model."""
    return {
        "mneme_data_dir": data,
        "openai_base_url": model.url,
        "llm_model": "scripted",
        "llm_models": "scripted,another",
    }


@contextlib.asynccontextmanager
async def running(settings: dict[str, Any], telegram: BotApiServer, clock: Clock) -> AsyncIterator[App]:
    """Run the bot with these settings at a local Bot API server."""
    values = {
        "timezone": "UTC",
        "telegram_bot_token": BotApiServer.TOKEN,
        "telegram_api_url": telegram.url,
        "telegram_allowed_ids": str(ANN),
    } | settings
    async with open_app(Settings.model_validate(values), clock) as app:
        service = asyncio.create_task(run_telegram(app))
        try:
            await telegram.wait_for(lambda: telegram.polled or service.done())
            yield app
        finally:
            service.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await service


@dataclass(frozen=True, slots=True)
class Shown:
    """A message in the chat.

    Attributes:
        by_person: Ann wrote it, or pressed that button.
        notes: Notes next to the text, such as the name of a file.
        buttons: The labels, row by row.
    """

    text: str
    at: datetime
    by_person: bool = False
    notes: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()
    buttons: tuple[tuple[str, ...], ...] = ()

    def lines(self) -> list[str]:
        """Return the lines of the recording, with an empty line at the end."""
        if self.by_person:
            return [f"> {self.text}", ""]
        rows = ("  ".join(f"[{label}]" for label in row) for row in self.buttons)
        return [*self.notes, self.text, *rows, ""]


class Recording:
    """Plays steps in Ann's chat and records the messages.

    Args:
        patience: Timeout in seconds for the messages of a step.
    """

    def __init__(
        self, app: App, telegram: BotApiServer, model: ModelServer, clock: Clock, language: str, patience: float = 20
    ) -> None:
        self._app = app
        self._patience = patience
        self._telegram = telegram
        self._model = model
        self._clock = clock
        self._language = language
        self._shown: dict[int, BotMessage] = {}

    async def play(self, steps: Iterable[Step]) -> list[Shown]:
        """Play the steps and return the messages in order."""
        return [shown for step in steps for shown in await self._step(step)]

    async def _step(self, step: Step) -> list[Shown]:
        said = ""
        if isinstance(step, Waits):
            self._clock.now += timedelta(hours=step.hours)
        elif isinstance(step, Writes):
            self._model.script(*step.model(self._language))
            text = step.text[self._language]
            replied = self._telegram.list_sent(ANN)[-1].message_id if step.answers_last else None
            if step.photo:
                self._says(None, ANN, photo=True, caption=text)
            else:
                self._says(text, ANN, reply_to_message_id=replied)
            said = f"{'(a photo) ' if step.photo else ''}{text}"
        elif isinstance(step, Sends):
            self._model.script(Says(step.answer))
            self._says(None, ANN, sends=create_document(step.name, step.content))
            said = f"(a file) {step.name}"
        elif isinstance(step, Comes):
            self._says(step.text, BOB, first_name="Bob")
        else:
            said = f"[{await self._press(step)}]"
        await self._telegram.wait_for(lambda: self._changes() >= step.changes, self._patience)
        # Captured statements are judged after the turn.
        await self._app.runner.wait_until_idle(f"telegram:{ANN}")
        await wait_for_captures(self._app)
        by_person = [Shown(said, self._clock.now, by_person=True)] if said else []
        return by_person + list(self._news())

    def _says(self, text: str | None, user: int, **more: Any) -> None:
        at = {"date": int(self._clock.now.timestamp())}
        self._telegram.user_says(text, chat_id=user, language_code=self._language, fields=at, **more)

    async def _press(self, step: CallbackHandler) -> str:
        with use_language(self._language):
            wanted = step.name[self._language] if step.name else _(step.label)
        message_id, button = next(
            (message.message_id, button)
            for message in reversed(self._telegram.list_sent(ANN))
            for row in (message.reply_markup or {}).get("inline_keyboard", [])
            for button in row
            if button["text"].startswith(wanted)
        )
        before = len(self._telegram.list_calls("answerCallbackQuery"))
        self._telegram.user_presses(button["callback_data"], message_id, ANN, ANN)
        await self._telegram.wait_for(lambda: len(self._telegram.list_calls("answerCallbackQuery")) > before)
        return str(button["text"])

    def _changes(self) -> int:
        """Return the number of messages that are new or changed."""
        return sum(self._is_news(message) for message in self._telegram.list_sent(ANN))

    def _is_news(self, message: BotMessage) -> bool:
        before = self._shown.get(message.message_id)
        return before is None or before.text != message.text

    def _news(self) -> Iterator[Shown]:
        for message in self._telegram.list_sent(ANN):
            if self._is_news(message):
                notes = ["(in place)"] if message.message_id in self._shown else []
                if message.file_name:
                    notes.append(f"({message.file_name})")
                rows = (message.reply_markup or {}).get("inline_keyboard", [])
                buttons = tuple(tuple(str(button["text"]) for button in row) for row in rows)
                text = message.text or message.caption
                yield Shown(text, self._clock.now, notes=tuple(notes), entities=message.entities, buttons=buttons)
            self._shown[message.message_id] = message


def as_lines(shown: Iterable[Shown]) -> str:
    """Format a conversation as text."""
    return "\n".join(line for message in shown for line in message.lines()).rstrip()


def section(title: str, shown: Iterable[Shown]) -> str:
    """Format a conversation with its title as Markdown."""
    return f"## {title}\n\n```text\n{as_lines(shown)}\n```"
