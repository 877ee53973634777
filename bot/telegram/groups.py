"""What happens to the groups that the bot is in: it is added, a group gets another id, under which all goes on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from telegram import ChatMemberRestricted
from telegram.constants import ChatMemberStatus, ChatType

from bot.telegram import CHANNEL
from bot.telegram.calls import chat_of
from config.texts import N_, _
from memory.log.sessions import Address

if TYPE_CHECKING:
    from telegram import ChatMember, Update, User

    from bot.sessions import SessionRunner
    from bot.telegram.updates import IncomingMessage
    from memory.mail.chat_migration import ChatMigration

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
