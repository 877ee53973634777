"""Presses of buttons. Each button works once, and its command goes to the sessions as if it were typed."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import structlog
from telegram import Bot, MessageEntity
from telegram.error import TelegramError

from bot.commands.command import Access, parse_command
from bot.sessions import SessionRunner
from bot.tasks import BackgroundTasks
from bot.telegram.access import PRIVATE, AccessControl, GroupUnknown
from bot.telegram.calls import build_markup, edit_chunk, edit_markup, get_chat_id
from bot.telegram.failures import SendFailed
from bot.telegram.rendering import Chunk
from bot.telegram.undo_hints import has_undo_hint, remove_undo_hints
from bot.telegram.updates import NO, YES, ChosenPeople, IncomingMessage, Press
from config.texts import N_, _, use_language
from memory.buttons import PlacedKeyboard
from memory.log.sessions import Address
from memory.mail.inbox import InboxItem
from memory.mail.mailbox import Mailbox
from memory.messages import Provenance
from memory.store.button_rows import ClaimResult, PressedButton, insert_chosen
from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)

MAX_SHOWN_MESSAGES = 1_000
_UNDO = "undo"
_OF_REACTIONS = {YES: ("confirm", "done"), NO: ("forget",)}
"""The commands of the buttons that a reaction stands for."""
_GONE = N_("This button has expired: send the command instead, /help lists them.")
_TOO_LATE = N_("This button has expired: ask again.")
_BEFORE = N_("That's already done.")
_NOT_YOURS = N_("In a group, only administrators and the person who asked can use this button.")
_UNREAD = N_("That button didn't work: send the command instead, /help lists them.")


class CallbackHandler:
    """Checks presses of buttons and submits their commands. Telegram shows a spinner until each press is answered."""

    def __init__(
        self, bot: Bot, mailbox: Mailbox, access: AccessControl, runner: SessionRunner, tasks: BackgroundTasks
    ) -> None:
        self._bot = bot
        self._buttons = mailbox.buttons
        self._mailbox = mailbox
        self._access = access
        self._runner = runner
        # Background tasks, since asking Telegram for the administrators of a group must not block the inbox
        self._tasks = tasks
        self._active: set[int] = set()
        self._shown: dict[tuple[str, str | None], tuple[str, ...]] = {}
        self._texts: dict[str, Chunk] = {}

    def take(self, item: InboxItem, message: IncomingMessage) -> None:
        """Handle a press from the inbox in the background. After a failure it stays in the inbox and is tried again."""
        self._active.add(item.id)
        task = self._tasks.start(self._take(item, message), "press")
        task.add_done_callback(lambda _: self._active.discard(item.id))
        if message.press is not None and message.press.query is not None:
            query = message.press.query
            task.add_done_callback(lambda _: self._texts.pop(query, None))

    def keep_text(self, press: Press, message: Mapping[str, Any]) -> None:
        """Keep the text of a message with a hint at /undo in memory, until the press of its button is handled.

        Args:
            message: Telegram's JSON of the message.
        """
        text = message.get("text")
        if press.query is None or not isinstance(text, str) or not has_undo_hint(text):
            return
        if len(self._texts) >= MAX_SHOWN_MESSAGES:
            self._texts.clear()
        with contextlib.suppress(TypeError, ValueError, LookupError, AttributeError):  # Unknown entities
            self._texts[press.query] = Chunk(text, MessageEntity.de_list(message.get("entities") or [], None))

    def reject(self, message: IncomingMessage) -> None:
        """Answer the press of a stranger without storing anything."""
        self._access.strangers.tell(message.user_id, lambda: self._answer_in_their_language(message, PRIVATE))

    def refuse_unread(self, message: IncomingMessage, *, admitted: bool) -> None:
        """Answer a press that can't be read, without storing it. Otherwise the button would show a spinner for long."""
        if admitted:
            self._tasks.start(self._answer_in_their_language(message, _UNREAD), "press")
        else:
            self.reject(message)

    async def _answer_in_their_language(self, message: IncomingMessage, text: str) -> None:
        with use_language(message.arrival.language):
            await self._answer(message, _(text))

    async def resolve_answer(self, item: InboxItem, message: IncomingMessage, arrival: Arrival) -> Arrival:
        """Turn a reply to one of the bot's questions into the command that it answers. Return other arrivals unchanged.

        Only typed words count as an answer, in a group only from the user who was asked. An edited answer works too.
        """
        typed = arrival.provenance is Provenance.TYPED and arrival.text and not arrival.files
        if message.quoted_reply is None or not typed or parse_command(arrival.text)[0]:
            return arrival
        pressed_button = await self._buttons.find_question(
            arrival.address.session_id, message.quoted_reply, arrival.message_id
        )
        if pressed_button is None or (not message.private and pressed_button.asker != arrival.speaker_id):
            return arrival
        if not message.edited and await self._buttons.press(pressed_button, item.id) is not ClaimResult.NOW:
            return arrival
        return replace(arrival, text=f"{pressed_button.said} {arrival.text}", quoted=None)

    async def resolve_choice(self, item: InboxItem, chosen: ChosenPeople, arrival: Arrival) -> Arrival | None:
        """Turn a choice of people into the command of its button. Ignore a choice that no button has asked for."""
        button = await self._buttons.find_request(arrival.address.owner, chosen.request)
        if button is None or await self._buttons.press(button, item.id) is not ClaimResult.NOW:
            await self._mailbox.inbox.finish([item.id])
            return None
        for person in chosen.people:
            await self._access.access.contacts.store(person.number, person.name, person.username)
        text = insert_chosen(button.said, [person.number for person in chosen.people])
        # Telegram reports the choice in the chat, also if the button is in a topic
        return replace(arrival, address=Address.parse(button.session_id), text=text, hides_keyboard=True)

    def list_active_inbox_ids(self) -> set[int]:
        return set(self._active)

    async def _take(self, item: InboxItem, message: IncomingMessage) -> None:
        with use_language(await self._runner.languages.choose(message.arrival)):
            await self._press(item, message)

    async def _press(self, item: InboxItem, message: IncomingMessage) -> None:
        button = await self._find_button(message)
        if button is None and message.press is not None and message.press.reaction is not None:
            await self._mailbox.inbox.finish([item.id])  # A reaction to something else
            return
        if button is None:
            await self._refuse(item, message, _(_GONE))
            await self._show(message, ())
            return
        arrival = replace(
            message.arrival,
            address=Address.parse(button.session_id),
            text=button.said,
            inbox_id=item.id,
            held=item.held,
            attempts=item.attempts,
            replaces=message.arrival.message_id if button.in_place else None,
        )
        try:
            allowed = message.private or self._can_press(button, arrival) or await self._access.can_manage(arrival)
        except GroupUnknown as error:
            await self._refuse(item, message, str(error))
            return
        if not allowed:
            await self._refuse(item, message, _(_NOT_YOURS))
            return
        pressed = await self._buttons.press(button, item.id)
        if pressed is ClaimResult.NOW:
            await self._runner.submit(arrival)
            await self._answer(message)
        else:
            await self._refuse(item, message, _(_BEFORE if pressed is ClaimResult.BEFORE else _TOO_LATE))
        # A message that the command edits gets its buttons from the answer, and reusable buttons stay
        if pressed is ClaimResult.TOO_LATE or not (button.in_place or button.again):
            remaining = await self._buttons.list_remaining(button.reply)
            is_undone = pressed is ClaimResult.NOW and parse_command(button.said)[0] == _UNDO
            await self._show(message, remaining, is_undone=is_undone)

    async def _find_button(self, message: IncomingMessage) -> PressedButton | None:
        """Return the pressed button if it belongs to that chat. A client may send any id."""
        assert message.press is not None, "only presses come here"  # noqa: S101  # Ensured by the inbox
        chat_id = get_chat_id(message.arrival.address)
        if message.press.reaction is not None:
            commands = _OF_REACTIONS[message.press.reaction]
            return await self._buttons.find_only(message.arrival.address.owner, message.arrival.message_id, commands)
        button = await self._buttons.find(message.press.button)
        return button if button is not None and get_chat_id(Address.parse(button.session_id)) == chat_id else None

    async def _refuse(self, item: InboxItem, message: IncomingMessage, why: str) -> None:
        await self._mailbox.inbox.finish([item.id])
        await self._answer(message, why)

    async def _answer(self, message: IncomingMessage, text: str | None = None) -> None:
        """Confirm a press to Telegram. Only the user who pressed sees `text`."""
        assert message.press is not None, "only presses come here"  # noqa: S101  # As above
        if message.press.query is None:
            return
        try:
            await self._bot.answer_callback_query(message.press.query, text)
        except TelegramError as error:  # For example, after a downtime Telegram no longer waits for an answer
            log.info("press_not_answered", reason=str(error))

    async def _show(self, message: IncomingMessage, keyboard: PlacedKeyboard, *, is_undone: bool = False) -> None:
        """Update the buttons under the message. If that fails, those still shown have no effect.

        Args:
            is_undone: whether Undo was pressed. Then /undo would take back another change than the message says.
        """
        ids = tuple(button.id for row in keyboard for button in row)
        shown_in = message.arrival.address.chat_id, message.arrival.message_id
        # What Telegram reports may be outdated: a second press can arrive before the first was handled
        if ids == self._shown.get(shown_in, message.press and message.press.keyboard):
            return
        if len(self._shown) >= MAX_SHOWN_MESSAGES:
            self._shown.clear()
        self._shown[shown_in] = ids
        try:
            await self._edit(message, keyboard, is_undone=is_undone)
        except (TelegramError, SendFailed) as error:
            self._shown.pop(shown_in, None)
            log.info("buttons_not_taken_away", reason=str(error))

    async def _edit(self, message: IncomingMessage, keyboard: PlacedKeyboard, *, is_undone: bool) -> None:
        arrival, markup = message.arrival, build_markup(keyboard)
        message_id = arrival.message_id or "0"
        shown = self._texts.get(message.press.query or "") if message.press is not None else None
        if is_undone and shown is not None:
            without = remove_undo_hints(shown, is_last=not keyboard)
            if without is not None:
                await edit_chunk(self._bot, arrival.address, message_id, without, markup)
                return
        await edit_markup(self._bot, arrival.address, message_id, markup)

    def _can_press(self, button: PressedButton, arrival: Arrival) -> bool:
        """Return True if the button was shown to this user and its command needs no administrator, or was offered."""
        command = self._runner.commands.get(parse_command(button.said)[0])
        may_press = command is None or command.access is Access.EVERYBODY or command.offered
        return button.asker == arrival.speaker_id and may_press
