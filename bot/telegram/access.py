"""Who may come in, and what those are told who may not; what happens to the groups that the bot is in."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import structlog
from telegram import ChatMemberRestricted
from telegram.constants import ChatMemberStatus, ChatType
from telegram.error import TelegramError

from bot.commands.command import parse_command
from bot.commands.people import admission_buttons
from bot.telegram import CHANNEL
from bot.telegram.calls import SendFailed, chat_of, readable, reason_of, send_part
from bot.telegram.rendering import render
from config.texts import N_, _, use_language
from memory.access import CODE_ATTEMPTS, Tally
from memory.buttons import Button
from memory.errors import MnemeError, StoreError
from memory.log.sessions import Address
from memory.messages import Provenance

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

    from telegram import ChatMember, Update, User

    from bot.languages import Languages
    from bot.sessions import SessionRunner
    from bot.tasks import BackgroundTasks
    from bot.telegram.calls import PollingBot
    from bot.telegram.outbox import OutboxSender
    from bot.telegram.updates import IncomingMessage
    from memory.access import AccessList
    from memory.buttons import Keyboard
    from memory.mail.chat_migration import ChatMigration
    from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)

_INTRODUCTION = N_(
    "Hello, I am {name}. I answer whoever mentions me (@{username}) or replies to one of my messages.\n\n"
    "What I keep: those messages with who wrote them, what is sent with them, and my answers{memory}. Nothing else "
    "that is said here.\n\n"
    "Who may see it: everybody here, since I answer all of you from it, and whoever runs me; no other chat. What "
    "somebody tells me in private never comes here. /memory, /forget and /undo are for this group's administrators and "
    "for my owner."
)
_MEMORY = N_(", and the facts and wishes that I learn from them")


def introduction(me: User, *, remembers: bool) -> str:
    """What a group is told when the bot is added. remembers: whether it keeps more than conversations."""
    return _(_INTRODUCTION, name=me.first_name, username=me.username, memory=_(_MEMORY) if remembers else "")


def added_to(update: Update) -> tuple[int, User] | None:
    """The group that the bot was added to, and who added it; None for anything else."""
    change = update.my_chat_member
    if change is None or change.chat.type not in (ChatType.GROUP, ChatType.SUPERGROUP):
        return None
    if _is_in(change.old_chat_member) or not _is_in(change.new_chat_member):
        return None
    return change.chat.id, change.from_user


def group_move(update: Update) -> tuple[int, int] | None:
    """The former and the present id of a group that became a supergroup; None for anything else.

    The last message of the group says it, and the first one of the supergroup. Both are Telegram's own.
    """
    message = update.message
    if message is None:
        return None
    if message.migrate_to_chat_id is not None and message.chat.type == ChatType.GROUP:
        return message.chat.id, message.migrate_to_chat_id
    if message.migrate_from_chat_id is not None and message.chat.type == ChatType.SUPERGROUP:
        return message.migrate_from_chat_id, message.chat.id
    return None


def _is_in(member: ChatMember) -> bool:
    if isinstance(member, ChatMemberRestricted):
        return member.is_member
    return member.status not in (ChatMemberStatus.LEFT, ChatMemberStatus.BANNED)


class ChatMigrations:
    """Knows which groups have another id now, and moves what is kept of them."""

    def __init__(self, moving: ChatMigration, runner: SessionRunner) -> None:
        self._moving = moving
        self._runner = runner
        self._present: dict[int, int] = {}
        self._on_the_way: set[int] = set()
        self._one_at_a_time = asyncio.Lock()

    async def start(self) -> None:
        moves = await self._moving.known(CHANNEL)
        self._present = {int(former): int(present) for former, present in moves.items()}

    def former_of(self, chat: int) -> set[int]:
        return {former for former, present in self._present.items() if present == chat}

    def is_known(self, former: int, present: int) -> bool:
        """Whether a group has moved there already."""
        return self._present.get(former) == present

    def is_on_the_way(self, chat: int) -> bool:
        """Whether a group is being moved from or to that id: what arrives meanwhile waits in the inbox."""
        return chat in self._on_the_way

    def sent_on(self, letter: IncomingMessage) -> IncomingMessage:
        """A letter that was written under the former id of its chat, as one to the present one.

        Messages are counted anew there, so the number of this one means nothing any more.
        """
        present = self._present.get(chat_of(letter.arrival.address))
        if present is None:
            return letter
        address = replace(letter.arrival.address, chat_id=str(present))
        return replace(letter, arrival=replace(letter.arrival, address=address, message_id=None))

    async def follow(self, former: int, present: int) -> bool:
        """Move what is kept of a group; whether it goes on under its new id. Raises StoreError.

        What runs there is ended uncommitted, and comes again from the inbox under the new id.
        """
        old, new = Address(CHANNEL, str(former)), Address(CHANNEL, str(present))
        async with self._one_at_a_time:
            if self.is_known(former, present):
                return True
            self._on_the_way |= {former, present}
            has_moved = False
            try:
                await self._runner.let_go(old.owner)
                has_moved = await self._moving.move(old, new)
            finally:
                if has_moved:
                    self._present[former] = present
                else:
                    self._runner.take_back(old.owner)
                self._on_the_way.clear()
            return has_moved


MOST_A_MINUTE = 10
"""Sentences for strangers in any minute: what Telegram lets us send is for those who may come in."""
MINUTE = 60.0
MOST_WAITING = 100
"""Strangers who wait to be told something; who comes while it is full is told when they write again."""
PATIENCE = 5.0
"""Seconds that one sentence may take."""

MOST_ASKED = 3
"""How many of those in TELEGRAM_ALLOWED_IDS are asked about a stranger, where nobody has claimed the bot."""
_WELCOME = N_("Welcome! This bot is yours now, and nobody else can use that code. Write to me!")
_WRONG_CODE = N_(
    "This bot is private, and that code does not open it. If it is yours, run `mneme setup` for a fresh one; "
    "otherwise ask its owner to add your id {user_id} to TELEGRAM_ALLOWED_IDS."
)
_MOVED = N_(
    "Telegram gave the group {former} a new id, {present}. I go on there with all that I know of it; so that the "
    "settings say so too, put {present} into TELEGRAM_ALLOWED_IDS in the place of {former}."
)
_REFUSED = N_(
    "For {duration} (hours, minutes, seconds) Telegram refused my token, as it does while a server of its kind starts "
    "or something on the way fails. That is over: what was written to me meanwhile comes now."
)
_REPLICA_OLD = N_(
    "The replica of what I remember is {duration} old (hours, minutes, seconds): if this machine burned now, all since "
    "then would be lost. `mneme doctor` on the machine says why."
)
_NOT_LET_IN = N_(
    "I am private, and this group is not let in yet. For me to answer here, my owner has to put {group} into "
    "TELEGRAM_ALLOWED_IDS and to restart me."
)
_STRANGER = N_(
    "This bot is private. If it is yours, send /start followed by the code that `mneme setup` shows; "
    "otherwise ask its owner to add your id {user_id} to TELEGRAM_ALLOWED_IDS."
)


class Strangers:
    """Tells strangers something, each once, and only so many of them a minute."""

    def __init__(self, tasks: BackgroundTasks, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._told = Tally()
        self._waiting: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue(MOST_WAITING)
        self._moments: deque[float] = deque(maxlen=MOST_A_MINUTE)
        tasks.start(self._work(), "strangers")

    def tell(self, whom: int, say: Callable[[], Awaitable[None]], times: int = 1) -> bool:
        """Say something to a stranger who was told something less than `times` before; whether it will be said."""
        if self._waiting.full() or self._told.of(whom) >= times:
            return False
        self._told.add(whom)
        self._waiting.put_nowait(say)
        return True

    def pause(self) -> float:
        """Seconds until the next one may be told."""
        if len(self._moments) < MOST_A_MINUTE:
            return 0
        return max(0.0, self._moments[0] + MINUTE - self._now())

    async def _work(self) -> None:
        while True:
            say = await self._waiting.get()
            await asyncio.sleep(self.pause())
            self._moments.append(self._now())
            await self._say(say)

    async def _say(self, say: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await say()
        except SendFailed as failure:
            log.info("stranger_not_told", reason=failure.reason)
            await asyncio.sleep(min(failure.pause, MINUTE))  # where Telegram's limit is reached, the owner goes first
        except (StoreError, TimeoutError) as error:
            log.info("stranger_not_told", reason=type(error).__name__)
        except Exception:
            log.exception("stranger_not_told")  # the next one is still to be told


class GroupUnknown(MnemeError):
    """Telegram can't be asked about a group."""


@dataclass(eq=False)
class AccessControl:
    """Lets in whom it should, and turns away everybody else, each once.

    allowed: the users and groups that the settings let in; remembers: whether memory is on; asks_for_role: whether the
    owner says of who comes in if they belong to the family.
    """

    bot: PollingBot
    outbox: OutboxSender
    access: AccessList
    moves: ChatMigrations
    languages: Languages
    allowed: frozenset[int]
    remembers: bool
    tasks: BackgroundTasks
    asks_for_role: bool = False
    _turned_away: Tally = field(default_factory=Tally, init=False)
    _wrong_codes: Tally = field(default_factory=Tally, init=False)

    def __post_init__(self) -> None:
        self.strangers = Strangers(self.tasks)

    async def is_allowed(self, letter: IncomingMessage) -> bool:
        """Exact ids only: an allowed or claimed user, or an allowed group; an empty list admits nobody.

        A private chat has its person's number: a press there that is anybody else's is a stranger's.
        """
        is_own = not letter.private or letter.user_id == chat_of(letter.arrival.address)
        return is_own and await self.serves(letter.arrival.address.session_id)

    async def serves(self, session_id: str) -> bool:
        """Whether a chat may still be spoken to unasked: who was let in then may have been shut out since."""
        chat = chat_of(Address.of(session_id))
        # a person's own chat has the person's number
        return self._is_allowed(chat) or (chat > 0 and await self.access.is_member(chat))

    def _is_allowed(self, chat: int) -> bool:
        """Whether the settings let a chat in, by an id that it has or had."""
        is_known = chat in self.allowed or self.moves.is_on_the_way(chat)
        return is_known or not self.allowed.isdisjoint(self.moves.former_of(chat))

    async def may_manage(self, arrival: Arrival) -> bool:
        """Whether who sent it may see and change what everybody in the chat has said: in a group not every guest.

        Raises GroupUnknown.
        """
        if arrival.speaker is None:
            return True
        user = int(arrival.speaker_id or 0)
        if await self.is_owner(user):
            return True
        try:
            with readable():
                member = await self.bot.get_chat_member(chat_of(arrival.address), user)
        except TelegramError as error:
            log.warning("group_unknown", reason=reason_of(error))
            raise GroupUnknown(_("Telegram does not say who looks after this group: try again in a moment.")) from error
        return member.status in (ChatMemberStatus.OWNER, ChatMemberStatus.ADMINISTRATOR)

    async def is_owner(self, user: int) -> bool:
        """Whether the bot belongs to a user, who was not only let in."""
        return user in self.allowed or user in await self.access.owners()

    async def reject(self, letter: IncomingMessage) -> None:
        """Answer a stranger once, and a few wrong codes while there is one; with the right one the bot becomes theirs.

        What is told and logged is bounded, or strangers could fill the disk and use up what Telegram lets us send.
        """
        user, chat = letter.user_id, chat_of(letter.arrival.address)
        typed = letter.private and letter.arrival.provenance is Provenance.TYPED
        name, code = parse_command(letter.arrival.text) if typed else ("", "")
        if name == "start" and code:
            if await self.access.claim(user, code):
                log.info("bot_claimed", user=user)
                with use_language(letter.arrival.language):
                    await self._answer(letter.arrival.address, _(_WELCOME))
            elif (tries := self._wrong_codes.add(user)) <= CODE_ATTEMPTS:
                log.warning("claim_refused", user=user, tries=tries)
                times = CODE_ATTEMPTS if await self.access.awaits_claim() else 1
                self.strangers.tell(user, lambda: self._tell(letter.arrival, _WRONG_CODE, user_id=user), times)
        elif self._turned_away.add(chat) == 1:
            log.info("not_let_in", chat=chat, user=user)
        if letter.private and not code:
            self.strangers.tell(user, lambda: self._greet(letter))

    async def _greet(self, letter: IncomingMessage) -> None:
        """Tell a stranger how to come in, and ask the owner. Of what they wrote nothing is told, or kept."""
        await self._tell(letter.arrival, _STRANGER, user_id=letter.user_id)
        owners, user = await self._owners(), letter.user_id
        if not owners or not await self.access.is_to_be_asked_about(user):
            return
        for owner in owners:
            address = Address(CHANNEL, str(owner))
            with use_language(await self.languages.of_chat(address.owner)):
                row = (*admission_buttons(user, asks_for_role=self.asks_for_role), Button(_("No"), f"/keepout_{user}"))
                text = _("{name} (id {user}) would like to use this bot.", name=letter.name, user=user)
            await self._answer(address, text, (row,), unasked=True)

    async def _owners(self) -> list[int]:
        """Whom to tell what concerns the whole bot."""
        # who stands in the settings was put there by the owner, or is the owner
        claimed = (await self.access.owners())[:1]
        return claimed or sorted(user for user in self.allowed if user > 0)[:MOST_ASKED]

    async def see_group(self, update: Update) -> None:
        """Say in a group what it should know of us when it adds us, and when Telegram gives it another id."""
        if (added := added_to(update)) is not None:
            await self._introduce(*added)
        if (move := group_move(update)) is not None:
            await self.follow(*move)

    async def _introduce(self, group: int, by: User) -> None:
        """Say what is kept; in a group that is not let in, only the bot's own people are told what to do."""
        address = Address(CHANNEL, str(group))
        if self._is_allowed(group):
            with use_language(by.language_code):
                text = introduction(self.bot.bot, remembers=self.remembers)
            await self._answer(address, text)
        elif by.id in self.allowed or await self.access.is_member(by.id):
            self.strangers.tell(group, lambda: self._say(address, by.language_code, _NOT_LET_IN, group=group))
        elif self._turned_away.add(group) == 1:
            log.info("not_let_in", chat=group, user=by.id)

    async def follow(self, former: int, present: int) -> bool:
        """Go on in a group under the id that Telegram has given it; whether that is so. Raises StoreError.

        The settings can't be changed from here, so the owner is asked to.
        """
        if former not in self.allowed:
            return False
        if not self.moves.is_known(former, present):
            log.warning("group_moved", former=former, now=present, remedy="change its id in TELEGRAM_ALLOWED_IDS")
            if not await self.moves.follow(former, present):
                return False
            if present not in self.allowed:
                await self._tell_owners(lambda: _(_MOVED, former=former, present=present), or_else=present)
            self.outbox.kick(Address(CHANNEL, str(present)).session_id)
        return True

    async def tell_of_refusals(self, duration: timedelta) -> None:
        """Tell the owner that Telegram refused the token for so long, and does no longer. Raises StoreError."""
        await self._tell_owners(lambda: _(_REFUSED, duration=duration))

    async def tell_of_replica(self, age: timedelta) -> None:
        """Tell the owner that the replica is so old. Raises StoreError."""
        await self._tell_owners(lambda: _(_REPLICA_OLD, duration=age))

    async def _tell_owners(self, text: Callable[[], str], or_else: int | None = None) -> None:
        """Tell what concerns the whole bot, to each in their language. or_else: the chat, where there is no owner."""
        owners = await self._owners() or ([] if or_else is None else [or_else])
        for address in [Address(CHANNEL, str(chat)) for chat in owners]:
            with use_language(await self.languages.of_chat(address.owner)):
                await self._answer(address, text(), unasked=True)

    async def _answer(self, address: Address, text: str, keyboard: Keyboard = (), *, unasked: bool = False) -> None:
        await self.outbox.mailbox.answer(address.session_id, text, keyboard=keyboard, unasked=unasked)
        self.outbox.hurry(address.session_id)

    async def _tell(self, arrival: Arrival, text: str, **values: object) -> None:
        await self._say(arrival.address, arrival.language, text, **values)

    async def _say(self, address: Address, language: str | None, text: str, **values: object) -> None:
        # past the outbox, which would keep something of who was not let in
        with use_language(language):
            await send_part(self.bot, address, render(_(text, **values))[0])
