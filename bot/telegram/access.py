"""Access control: admission of users and groups, answers to strangers, and notices to the owner."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import structlog
from telegram import ChatMember, ChatMemberRestricted, Update, User
from telegram.constants import ChatMemberStatus, ChatType
from telegram.error import TelegramError

from bot.commands.command import parse_command
from bot.commands.people import admission_buttons
from bot.languages import Languages
from bot.tasks import BackgroundTasks
from bot.telegram import CHANNEL
from bot.telegram.calls import PollingBot, get_chat_id, send_part
from bot.telegram.chat_migrations import ChatMigrations, parse_migration
from bot.telegram.failures import describe_error, parsing_answer
from bot.telegram.outbox import OutboxSender
from bot.telegram.rendering import render
from bot.telegram.strangers import Strangers
from bot.telegram.updates import IncomingMessage
from config.texts import N_, _, in_english, use_language
from memory.access import CODE_ATTEMPTS, AccessList, Tally
from memory.buttons import Button, Keyboard
from memory.errors import MnemeError
from memory.log.sessions import Address
from memory.messages import Provenance
from memory.store.button_rows import OutgoingReply
from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)

_INTRODUCTION = N_(
    "Hello, I'm {name}. I answer when you mention me (@{username}) or reply to one of my messages.\n\n"
    "What I save: those messages with their authors and attachments, and my answers{memory}. I don't save anything"
    " else that is said here.\n\n"
    "Who can see it: everyone here, because I use it to answer all of you, and the people who run me; no other chat."
    " What you tell me in private never appears here. /memory, /forget and /undo are for this group's administrators"
    " and for my owner."
)
_MEMORY = N_(", and the facts and wishes that I learn from them")


def format_introduction(me: User, *, remembers: bool) -> str:
    """Return the bot's introduction to a group. With `remembers` it mentions that the bot learns facts."""
    return _(_INTRODUCTION, name=me.first_name, username=me.username, memory=_(_MEMORY) if remembers else "")


def parse_addition(update: Update) -> tuple[int, User] | None:
    """Return the group to which the bot was added and the user who added it, or None for other updates."""
    change = update.my_chat_member
    if change is None or change.chat.type not in (ChatType.GROUP, ChatType.SUPERGROUP):
        return None
    if _is_member(change.old_chat_member) or not _is_member(change.new_chat_member):
        return None
    return change.chat.id, change.from_user


def _is_member(member: ChatMember) -> bool:
    if isinstance(member, ChatMemberRestricted):
        return member.is_member
    return member.status not in (ChatMemberStatus.LEFT, ChatMemberStatus.BANNED)


MAX_ASKED_OWNERS = 3
"""Maximum number of users in TELEGRAM_ALLOWED_IDS who are asked about a stranger if the bot has no owner."""
TROUBLE_SECONDS = 86_400.0
"""Seconds until the owner is told the same reason of a failure again."""
_WELCOME = N_("Welcome! This bot is yours now, and the code can't be used again. Write to me!")
_WRONG_CODE = N_(
    "This bot is private, and that code isn't valid. If the bot is yours, run `mneme setup` for a new code; otherwise"
    " ask its owner to let you in."
)
_MOVED = N_(
    "Telegram gave the group “{group}” a new id. I still work there and know everything about it. Please update the"
    " settings too: replace {former} with {present} in TELEGRAM_ALLOWED_IDS."
)
_REFUSED = N_(
    "Telegram rejected my token for {duration} (hours, minutes, seconds), as happens while a self-hosted server starts"
    " or a connection fails. It works again, and I'll answer the messages from that time now."
)
_SILENT = N_(
    "I may not write in “{chat}” at the moment: allow me to send messages there, or open the topic again. What I have"
    " to say there waits until then."
)
_NO_ANSWER = N_("I couldn't answer in the chat “{chat}”: {reason}")
_NOT_LET_IN = N_("I'm private, and this group isn't allowed to use me yet. I've asked my owner.")
_GROUP_WAITS = N_(
    "{name} added me to the group “{group}”. To let me answer there, add {id} to TELEGRAM_ALLOWED_IDS and restart me."
)
PRIVATE = N_("This bot is private.")
_OWNER_ASKED = N_("This bot is private, so I've asked its owner whether you may use it. Please write again later.")
_OWNER_BUSY = N_(
    "This bot is private, and its owner was asked about too many people just now. Please write again in an hour."
)
_OWNERLESS = N_("This bot is private. If it's yours, send /start followed by the code that `mneme setup` shows.")


class GroupUnknown(MnemeError):
    """Telegram did not answer a question about a group."""


@dataclass(eq=False)
class AccessControl:
    """Admits users and groups, and rejects strangers with one answer each.

    Args:
        allowed: the users and groups that the settings admit.
        remembers: whether memory is on.
        asks_for_role: whether the owner decides if a new user belongs to the family.
    """

    bot: PollingBot
    outbox: OutboxSender
    access: AccessList
    migrations: ChatMigrations
    languages: Languages
    allowed: frozenset[int]
    remembers: bool
    tasks: BackgroundTasks
    asks_for_role: bool = False
    _turned_away: Tally = field(default_factory=Tally, init=False)
    _troubles: dict[str, float] = field(default_factory=dict, init=False)
    _unasked: Tally = field(default_factory=Tally, init=False)  # Strangers about whom the owner couldn't be asked
    _wrong_codes: Tally = field(default_factory=Tally, init=False)

    def __post_init__(self) -> None:
        self.strangers = Strangers(self.tasks)

    async def is_allowed(self, message: IncomingMessage) -> bool:
        """Return True if the chat belongs to an admitted user or group. An empty list of ids admits no one.

        The id of a private chat is that of its user, so a press there with another user id comes from a stranger.
        """
        is_own = not message.private or message.user_id == get_chat_id(message.arrival.address)
        return is_own and await self.serves(message.arrival.address.session_id)

    async def serves(self, session_id: str) -> bool:
        """Return True if a chat is still admitted. Access may have been revoked since."""
        chat = get_chat_id(Address.parse(session_id))
        return self._is_allowed(chat) or (chat > 0 and await self.access.is_member(chat))

    def _is_allowed(self, chat: int) -> bool:
        """Return True if the settings admit a chat under its present id or a former one."""
        is_known = chat in self.allowed or self.migrations.is_moving(chat)
        return is_known or not self.allowed.isdisjoint(self.migrations.find_former_ids(chat))

    async def can_manage(self, arrival: Arrival) -> bool:
        """Return True for the user of a private chat, administrators of a group, and the owner. Raises GroupUnknown."""
        if arrival.speaker is None:
            return True
        user = int(arrival.speaker_id or 0)
        if await self.is_owner(user):
            return True
        try:
            with parsing_answer():
                member = await self.bot.get_chat_member(get_chat_id(arrival.address), user)
        except TelegramError as error:
            log.warning("group_unknown", reason=describe_error(error))
            raise GroupUnknown(
                _("Telegram didn't tell me who the administrators of this group are: try again in a moment.")
            ) from error
        return member.status in (ChatMemberStatus.OWNER, ChatMemberStatus.ADMINISTRATOR)

    async def is_owner(self, user: int) -> bool:
        return user in self.allowed or user in await self.access.list_owner_ids()

    async def reject(self, message: IncomingMessage) -> None:
        """Answer a stranger once, or a limited number of wrong codes. The right code makes the stranger the owner.

        Answers and log lines are limited. Otherwise strangers could fill the disk and use up Telegram's rate limit.
        """
        user, chat = message.user_id, get_chat_id(message.arrival.address)
        typed = message.private and message.arrival.provenance is Provenance.TYPED
        name, code = parse_command(message.arrival.text) if typed else ("", "")
        if name == "start" and code:
            if await self.access.claim(user, code):
                log.info("bot_claimed", user=user)
                with use_language(message.arrival.language):
                    await self._answer(message.arrival.address, _(_WELCOME))
            elif (tries := self._wrong_codes.add(user)) <= CODE_ATTEMPTS:
                log.warning("claim_refused", user=user, tries=tries)
                times = CODE_ATTEMPTS if await self.access.awaits_claim() else 1
                self.strangers.tell(user, lambda: self._tell(message.arrival, _WRONG_CODE), times)
        elif self._turned_away.add(chat) == 1:
            log.info("not_let_in", chat=chat, user=user)
        if message.private and not code:
            owners = await self._list_owners()
            # Once for these owners, since later ones haven't been asked. Again if these couldn't be asked
            rounds = self._unasked.get(user)
            if not rounds or self.access.can_ask:
                self.strangers.tell((user, rounds, *owners), lambda: self._greet(message, owners))

    async def _greet(self, message: IncomingMessage, owners: Sequence[int]) -> None:
        """Tell a stranger how to get access, and ask the owner. The stranger's message is neither shown nor stored."""
        user = message.user_id
        if not owners:
            await self._tell(message.arrival, _OWNERLESS)
            return
        if not await self.access.should_ask_about(user):
            is_refused = await self.access.is_refused(user)
            if not is_refused:
                self._unasked.add(user)
            await self._tell(message.arrival, PRIVATE if is_refused else _OWNER_BUSY)
            return
        await self._tell(message.arrival, _OWNER_ASKED)
        for contact in message.contacts:
            await self.access.contacts.store(contact.number, contact.name, contact.username)
        name = await self.access.contacts.describe(user)
        for owner in owners:
            address = Address(CHANNEL, str(owner))
            with use_language(await self.languages.get_for_chat(address.owner)):
                row = (
                    *admission_buttons((user,), asks_for_role=self.asks_for_role),
                    Button(_("No"), f"/keepout_{user}"),
                )
                text = _("{name} would like to use this bot.", name=name)
            await self._answer(address, text, (row,), unasked=True)

    async def _list_owners(self) -> list[int]:
        # Ids in the settings belong to the owner or were added by the owner
        claimed = (await self.access.list_owner_ids())[:1]
        return claimed or sorted(user for user in self.allowed if user > 0)[:MAX_ASKED_OWNERS]

    async def handle_group_update(self, update: Update) -> None:
        """Introduce the bot to a group that adds it, and follow a group that gets another id or gives more rights."""
        if update.my_chat_member is not None:
            self.outbox.retry_forbidden(update.my_chat_member.chat.id)
        if (added := parse_addition(update)) is not None:
            await self._introduce(*added)
        if (move := parse_migration(update)) is not None:
            await self.follow(*move)

    async def _introduce(self, group: int, by: User) -> None:
        """Introduce the bot. In a group that isn't admitted, only an admitted user's invitation is answered."""
        address = Address(CHANNEL, str(group))
        if self._is_allowed(group):
            with use_language(by.language_code):
                text = format_introduction(self.bot.bot, remembers=self.remembers)
            await self._answer(address, text)
        elif by.id in self.allowed or await self.access.is_member(by.id):
            owners = await self._list_owners()
            self.strangers.tell((group, *owners), lambda: self._ask_for_group(address, by))
        elif self._turned_away.add(group) == 1:
            log.info("not_let_in", chat=group, user=by.id)

    async def follow(self, former: int, present: int) -> bool:
        """Go on in a group under its new id. Return True if that worked. Raises StoreError.

        The bot can't change its settings, so it asks the owner to do it.
        """
        if former not in self.allowed:
            return False
        if not self.migrations.is_known(former, present):
            log.warning("group_moved", former=former, now=present, remedy="change its id in TELEGRAM_ALLOWED_IDS")
            if not await self.migrations.follow(former, present):
                return False
            if present not in self.allowed:
                title = await self._read_title(present)
                await self.notify_owners(
                    lambda: _(_MOVED, group=title, former=former, present=present), or_else=present
                )
            self.outbox.kick(Address(CHANNEL, str(present)).session_id)
        return True

    async def _ask_for_group(self, address: Address, by: User) -> None:
        await self._say(address, by.language_code, _NOT_LET_IN)
        group, title = get_chat_id(address), await self._read_title(get_chat_id(address))
        await self.notify_owners(lambda: _(_GROUP_WAITS, name=by.full_name, group=title, id=group))

    async def notify_of_refusals(self, duration: timedelta) -> None:
        """Tell the owner that Telegram refused the token for a while and accepts it again. Raises StoreError."""
        await self.notify_owners(lambda: _(_REFUSED, duration=duration))

    async def notify_of_silence(self, address: Address) -> None:
        """Tell the owner that the bot may not write in a chat now. Raises StoreError."""
        name = await self._read_title(get_chat_id(address))
        await self.notify_owners(lambda: _(_SILENT, chat=name))

    async def notify_of_trouble(self, address: Address, text: Callable[[], str]) -> None:
        """Tell the owner why a chat got no answer, each reason once a day. Raises StoreError."""
        reason, now = text(), time.monotonic()
        reason = in_english(reason)
        if now - self._troubles.get(reason, -math.inf) < TROUBLE_SECONDS:
            return
        self._troubles[reason] = now
        name = await self.access.contacts.describe_chat(address.owner)
        await self.notify_owners(lambda: _(_NO_ANSWER, chat=name, reason=text()))

    async def _read_title(self, chat: int) -> str:
        with contextlib.suppress(TelegramError), parsing_answer():
            found = await self.bot.get_chat(chat)
            return found.title or found.full_name or str(chat)
        return str(chat)

    async def notify_owners(self, text: Callable[[], str], or_else: int | None = None) -> None:
        """Send a notice about the whole bot to each owner, or without an owner to the chat `or_else`."""
        owners = await self._list_owners() or ([] if or_else is None else [or_else])
        for address in [Address(CHANNEL, str(chat)) for chat in owners]:
            with use_language(await self.languages.get_for_chat(address.owner)):
                await self._answer(address, text(), unasked=True)

    async def _answer(self, address: Address, text: str, keyboard: Keyboard = (), *, unasked: bool = False) -> None:
        await self.outbox.mailbox.outbox.answer(
            address.session_id, OutgoingReply(CHANNEL, text, keyboard=keyboard), unasked=unasked
        )
        self.outbox.hurry(address.session_id)

    async def _tell(self, arrival: Arrival, text: str, **values: object) -> None:
        await self._say(arrival.address, arrival.language, text, **values)

    async def _say(self, address: Address, language: str | None, text: str, **values: object) -> None:
        # Past the outbox, which would store data about a stranger
        with use_language(language):
            await send_part(self.bot, address, render(_(text, **values))[0])
