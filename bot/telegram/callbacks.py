"""Buttons that are pressed: who may, once, and what the button says then goes to the sessions as if it were typed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog
from telegram.error import TelegramError

from bot.commands.command import Access, parse_command
from bot.telegram.access import GroupUnknown
from bot.telegram.calls import chat_of, edit_markup, markup_of
from config.texts import N_, _, use_language
from memory.log.sessions import Address
from memory.messages import Provenance
from memory.store.button_rows import ClaimResult

if TYPE_CHECKING:
    from telegram import Bot

    from bot.sessions import SessionRunner
    from bot.tasks import BackgroundTasks
    from bot.telegram.access import AccessControl
    from bot.telegram.updates import IncomingMessage
    from memory.buttons import PlacedKeyboard
    from memory.mail.mailbox import InboxItem, Mailbox
    from memory.store.button_rows import PressedButton
    from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)

MOST_SHOWN = 1_000
"""Messages of which it is known what buttons they show since one of them was pressed."""
_GONE = N_("This button has expired: send the command instead, /help lists them.")
_TOO_LATE = N_("This button has expired: ask again.")
_BEFORE = N_("That is done already.")
_NOT_YOURS = N_("In a group such a button is for its administrators, or for whoever asked.")
_NOT_LET_IN = N_("This bot is private.")
_UNREAD = N_("That button didn't work: send the command instead, /help lists them.")


class CallbackHandler:
    """Takes presses of buttons to the sessions. Each is answered to Telegram, which shows that it is awaited."""

    def __init__(
        self, bot: Bot, mailbox: Mailbox, door: AccessControl, runner: SessionRunner, tasks: BackgroundTasks
    ) -> None:
        self._bot = bot
        self._buttons = mailbox.buttons
        self._mailbox = mailbox
        self._door = door
        self._runner = runner
        # tasks of their own: Telegram may be asked who looks after a group, and nobody is to wait for that
        self._tasks = tasks
        self._in_hand: set[int] = set()
        self._shown: dict[tuple[str, str | None], tuple[str, ...]] = {}

    def take(self, item: InboxItem, letter: IncomingMessage) -> None:
        """Take a press from the inbox. What goes wrong leaves it there, to be taken again."""
        self._in_hand.add(item.id)
        task = self._tasks.start(self._take(item, letter), "press")
        task.add_done_callback(lambda _: self._in_hand.discard(item.id))

    def reject(self, letter: IncomingMessage) -> None:
        """Answer the press of somebody who may not come in, as strangers are; nothing of it is kept."""
        self._door.strangers.tell(letter.user_id, lambda: self._answer_in_their_language(letter, _NOT_LET_IN))

    def refuse_unread(self, letter: IncomingMessage, *, admitted: bool) -> None:
        """Answer a press that can't be read, which would be shown as awaited for long; nothing of it is kept."""
        if admitted:
            self._tasks.start(self._answer_in_their_language(letter, _UNREAD), "press")
        else:
            self.reject(letter)

    async def _answer_in_their_language(self, letter: IncomingMessage, text: str) -> None:
        """Answer a press that is not taken, in the language that its sender's program is set to."""
        with use_language(letter.arrival.language):
            await self._answer(letter, _(text))

    async def answering(self, item: InboxItem, letter: IncomingMessage, arrival: Arrival) -> Arrival:
        """An arrival that answers a question of ours by a reply, as what it says with that; any other as it is.

        Only typed words answer one, in a group only those of who was asked. An edit says what its message meant.
        """
        typed = arrival.provenance is Provenance.TYPED and arrival.text and not arrival.files
        if letter.quoted_reply is None or not typed or parse_command(arrival.text)[0]:
            return arrival
        pressed_button = await self._buttons.asked(arrival.address.session_id, letter.quoted_reply, arrival.message_id)
        if pressed_button is None or (not letter.private and pressed_button.asker != arrival.speaker_id):
            return arrival
        if not letter.edited and await self._buttons.press(pressed_button, item.id) is not ClaimResult.NOW:
            return arrival
        return replace(arrival, text=f"{pressed_button.said} {arrival.text}", quoted=None)

    def in_hand(self) -> set[int]:
        """The inbox ids of what is being taken."""
        return set(self._in_hand)

    async def _take(self, item: InboxItem, letter: IncomingMessage) -> None:
        with use_language(await self._runner.languages.of(letter.arrival)):
            await self._press(item, letter)

    async def _press(self, item: InboxItem, letter: IncomingMessage) -> None:
        button = await self._button(letter)
        if button is None:
            await self._refuse(item, letter, _(_GONE))
            await self._show(letter, ())
            return
        arrival = replace(
            letter.arrival,
            address=Address.of(button.session_id),
            text=button.said,
            inbox_id=item.id,
            held=item.held,
            attempts=item.attempts,
            replaces=letter.arrival.message_id if button.in_place else None,
        )
        try:
            allowed = letter.private or self._is_theirs(button, arrival) or await self._door.may_manage(arrival)
        except GroupUnknown as error:
            await self._refuse(item, letter, str(error))
            return
        if not allowed:
            await self._refuse(item, letter, _(_NOT_YOURS))
            return
        pressed = await self._buttons.press(button, item.id)
        if pressed is ClaimResult.NOW:
            await self._runner.submit(arrival)
            await self._answer(letter)
        else:
            await self._refuse(item, letter, _(_BEFORE if pressed is ClaimResult.BEFORE else _TOO_LATE))
        # what is in place is shown with the answer, and what may be pressed again stays
        if pressed is ClaimResult.TOO_LATE or not (button.in_place or button.again):
            await self._show(letter, await self._buttons.left(button.reply))

    async def _button(self, letter: IncomingMessage) -> PressedButton | None:
        """The button that was pressed, if it stands in that chat: a client may send whatever it likes."""
        assert letter.press is not None, "only presses come here"  # noqa: S101  # states what the inbox sees to
        button = await self._buttons.find(letter.press.button)
        here = chat_of(letter.arrival.address)
        return button if button is not None and chat_of(Address.of(button.session_id)) == here else None

    async def _refuse(self, item: InboxItem, letter: IncomingMessage, why: str) -> None:
        await self._mailbox.done([item.id])
        await self._answer(letter, why)

    async def _answer(self, letter: IncomingMessage, text: str | None = None) -> None:
        """Tell Telegram that the press has arrived; `text` is shown to who pressed, and to nobody else."""
        assert letter.press is not None, "only presses come here"  # noqa: S101  # the same
        try:
            await self._bot.answer_callback_query(letter.press.query, text)
        except TelegramError as error:  # such as for a press before a downtime: it waits for no answer any more
            log.info("press_not_answered", reason=str(error))

    async def _show(self, letter: IncomingMessage, keyboard: PlacedKeyboard) -> None:
        """Have the message show the buttons that are left. What is still shown for want of that is used up anyway."""
        ids = tuple(button.id for row in keyboard for button in row)
        message = letter.arrival.address.chat_id, letter.arrival.message_id
        # a second press may have come before the first one was shown, so what Telegram said of the message is old
        if ids == self._shown.get(message, letter.press and letter.press.beside):
            return
        if len(self._shown) >= MOST_SHOWN:
            self._shown.clear()
        self._shown[message] = ids
        try:
            arrival = letter.arrival
            await edit_markup(self._bot, arrival.address, arrival.message_id or "0", markup_of(keyboard))
        except TelegramError as error:
            self._shown.pop(message, None)
            log.info("buttons_not_taken_away", reason=str(error))

    def _is_theirs(self, button: PressedButton, arrival: Arrival) -> bool:
        """Whether who presses had the button shown, and may say by themselves what it says."""
        command = self._runner.commands.get(parse_command(button.said)[0])
        return button.asker == arrival.speaker_id and (command is None or command.access is Access.EVERYBODY)
